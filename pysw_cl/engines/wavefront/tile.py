"""One tile on one OpenCL device: its buffers, its kernel, its launches and its result."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel
from ...planning import sizes
from ...planning.choose import Given
from ...planning.execution import InStrips, TileShape
from ...planning.geometry import Grid
from ...planning.lane_sets import MIXED
from ...planning.plan import Plan
from ...planning.program import Program
from ...planning.sizes import RECORD_WORDS
from ...scoring.precision import UNREACHABLE_BELOW, worst
from ...sequences.relation import related
from ...sequences.view import Codes
from ...tiles.edges import DeviceEdge, Edge
from ...tiles.tile import NO_HITS, Hits, TileJob, TileResult
from .arguments import (
    MOST,
    ForbiddenArguments,
    TicketedArguments,
    TileArguments,
    TwoPhaseArguments,
    bind,
    counted,
)
from .descriptors import RecordWord
from .kernel import build_later, in_time, kernel_of, scores_of
from .link import Link
from .tile_memory import Memory, letters_of, scratch_of

#: Letters of a target that are looked at first.
FEW = 64


class TileRun:
    """The computation of one tile: :meth:`run` starts it, :meth:`result` waits for it.

    ``capacity``: at most so many cells of at least the job's threshold are collected; 0: only the
    best cell.  ``link``: the tile's place in a pipeline, if any.
    """

    def __init__(
        self,
        runtime: Runtime,
        execution: InStrips,
        job: TileJob,
        buffers: Buffers,
        capacity: int = 0,
        link: Link | None = None,
    ) -> None:
        self.runtime, self.job, self.buffers, self.capacity = runtime, job, buffers, capacity
        self.link = link
        self.execution, self._later = in_time(runtime, execution)
        self.program, self.grid = self.execution.program, self.execution.grid
        self.strip_groups = self.execution.strip_groups
        self.threshold = least_score(job)
        self.scores = scores_of(job.scoring, self.program.score, self.program.skewed, buffers)
        self.memory = Memory.of(
            job, self.execution, self.scores, self.threshold, capacity, buffers, link
        )
        ticketed = self.program.form == "ticketed"
        self.ticketed = self._ticketed_arguments() if ticketed else None
        self.kernel = self._bound()
        self.launches = 0

    def _bound(self) -> BoundKernel:
        """The kernel with its arguments, except those that each two-phase launch sets."""
        job, buffers, program = self.job, self.buffers, self.program
        parts: list[Any] = [self._arguments(), self.scores.arguments]
        if job.forbidden is not None:
            pairs, places = map(buffers.of, self.grid.forbidden_steps(job.forbidden))
            parts.append(ForbiddenArguments(pairs, places, worst(job.scoring)))
        if self.ticketed is not None:
            parts.append(self.ticketed)
        kernel = kernel_of(program, self.runtime)
        bind(kernel, buffers, *parts, later=() if self.ticketed else (TwoPhaseArguments,))
        return kernel

    def _arguments(self) -> TileArguments:
        grid, job, memory = self.grid, self.job, self.memory
        made = memory.buffers
        outlet_lane, outlet_row = (
            grid.last_row_outlet if job.bottom else (grid.T - 1, grid.alpha - 1)
        )
        rows_after, columns_after = job.after or (0, 0)
        return TileArguments.of(
            letters_of(made),
            self.scores,
            scratch_of(made),
            left_h=made["left_h"],
            left_x=made["left_x"],
            right_h=made["right_h"],
            right_x=made["right_x"],
            bus=made["bus"],
            m=grid.m,
            n=grid.n,
            alpha=grid.alpha,
            stride=memory.stride,
            strips=grid.strips,
            outlet_lane=outlet_lane,
            outlet_row=outlet_row,
            right=int(job.right),
            chunk=self.execution.chunk,
            rows_after=min(rows_after, MOST),
            columns_after=min(columns_after, MOST),
            record=made["record"],
            shared_best=made["best"],
            hits=made["hits"],
            capacity=self.capacity,
            lines=made["lines"],
            columns=made["columns"],
            column_count=len(job.columns),
            crossed=made["crossed"],
        )

    def _ticketed_arguments(self) -> TicketedArguments:
        made, link = self.memory.buffers, self.link
        before, before_at = made["progress"], self.grid.strips  # this one lets every strip begin
        if link is not None and link.above is not None:
            above = link.above
            before, before_at = above.progress, above.grid.strips - 1
        before_at *= sizes.progress_words(self.program.shares_strips)
        return TicketedArguments(made["ticket"], made["progress"], before, before_at, made["moves"])

    @property
    def ticket(self) -> Any:
        """The buffer of the ticket counter (ticketed form)."""
        return None if self.ticketed is None else self.ticketed.ticket

    @property
    def progress(self) -> Any:
        """The buffer of the columns that each strip has published (ticketed form)."""
        return None if self.ticketed is None else self.ticketed.progress

    def run(self) -> None:
        """Enqueue all launches."""
        self.buffers.send()
        if self.ticketed is None:
            self._two_phase()
            return
        groups = self.strip_groups // self.program.warps
        self.event = self.kernel.launch(groups, self.program.group, self._later is not None)
        self.launches = 1
        if self._later is not None:
            build_later(self.runtime, self._later, self.event)

    @property
    def tickets(self) -> int:
        """The number of tickets.  When all are taken, running groups have all unfinished strips."""
        return -(-self.grid.strips // self.program.warps)

    def cells_behind(self, buffers: Buffers) -> int:
        """How many cells the strips have behind them, about (ticketed form).  ``buffers``: of a
        queue on which nothing waits for the tile."""
        grid, words = self.grid, sizes.progress_words(self.program.shares_strips)
        columns = buffers.read(self.progress, words * grid.strips)[::words]
        return int(np.clip(columns, 0, grid.n).mean() * grid.m)

    def _two_phase(self) -> None:
        for launch in self.grid.launches():
            block = TwoPhaseArguments(launch.diagonal, launch.first, self.grid.B, launch.phase)
            self.kernel.bind(**vars(block)).launch(launch.count, self.program.group)
            self.launches += 1
            if self.launches % 64 == 0:
                self.runtime.queue.flush()

    def result(self, bottom_wanted: bool = True) -> TileResult:
        """The tile's result, without moves.
        ``bottom_wanted``: is the bottom edge read, if the job asks for it?"""
        grid, job, memory, read = self.grid, self.job, self.memory, self.buffers.read
        made = memory.buffers
        right = self._edge(made["right_h"], made["right_x"], grid.m) if job.right else None
        wanted = job.bottom and bottom_wanted
        bottom = self._line(int(memory.lines[grid.strips])) if wanted else None
        if bottom is not None and self.link is not None and self.program.prunes:
            # the tile below may be raising this line (prune.clh): numbers are old or new
            least = bottom.h - np.int32(job.scoring.gap_open)
            bottom = Edge(bottom.h, np.clip(bottom.x, least, bottom.h))
        best = NO_HITS
        top, found = None, 0
        records = read(made["record"], RECORD_WORDS * self.strip_groups).reshape(-1, RECORD_WORDS)
        if job.best:
            best = self._hits(records, 1)
            top = int(records[:, RecordWord.TOP].max())
        if self.capacity:
            found = int(read(made["hits"], 1)[0])
            collected = read(made["hits"], 3 * min(found, self.capacity), 1).reshape(-1, 3)
            best = self._hits(collected, job.count)
        cells = cells_by_width(self.program, grid, records)
        pruned = cells.pop("pruned", 0)
        stride, height = memory.stride, grid.padded_rows
        rows: dict[int, DeviceEdge] = {}
        columns: dict[int, DeviceEdge] = {}
        for k, row in enumerate(job.rows):
            at = 2 * (2 + k) * stride, (5 + 2 * k) * stride
            rows[row] = self._device_edge(made["bus"], grid.n, *at)
        for k, column in enumerate(job.columns):
            at = 2 * k * height, (2 * k + 1) * height
            columns[column] = self._device_edge(made["crossed"], grid.m, *at)
        done = bottom, right, best, top, cells, self.launches
        how: Any = {"reached": found, "execution": self.execution}
        return TileResult(*done, pruned=pruned, rows=rows, columns=columns, **how)

    def _line(self, line: int) -> Edge:
        """A line of the bus."""
        bus, stride = self.memory.buffers["bus"], self.memory.stride
        return self._edge(bus, bus, self.grid.n, 2 * stride * line, (2 * line + 1) * stride)

    def _device_edge(self, buffer: Any, length: int, h_at: int, x_at: int) -> DeviceEdge:
        """A special row or column, which stays in its buffer."""
        read = partial(read_device, self.runtime)
        temporary = self.link is not None  # the pipeline uses the memory again
        return DeviceEdge(length, buffer, h_at, x_at, read, self.job.floor is None, temporary)

    def _edge(self, h: Any, x: Any, length: int, h_at: int = 0, x_at: int = 0) -> Edge:
        """Read an edge from two buffers, or from two places of one."""
        edge = Edge(self.buffers.read(h, length, h_at), self.buffers.read(x, length, x_at))
        return edge.restored() if self.job.floor is None else edge

    def _hits(self, cells: NDArray[np.int32], count: int) -> Hits:
        """The first (score, row, column) that are inside the tile and reach the threshold.  A group
        that found no cell has recorded an unreachable score."""
        real = (cells[:, 0] >= self.threshold) & (cells[:, 1] <= self.grid.m)
        return Hits((cells if real.all() else cells[real])[:, :3], count)


def shape_of(job: TileJob) -> TileShape:
    """What is asked of a tile, as far as it decides how it is computed."""
    level = job.top is not None and job.top.h.strides == job.top.x.strides == (0,)
    level = level and (job.floor is not None or bool(job.above.h[0] >= UNREACHABLE_BELOW))
    return TileShape(
        *job.size,
        best=job.best,
        collects=job.best and job.count > 1,
        bottom=job.bottom,
        right=job.right,
        rows=job.rows,
        columns=job.columns,
        moves=job.store_moves,
        forbidden=job.forbidden is not None,
        level=level,
        after=job.after is not None,
    )


def given_of(
    runtime: Runtime, plan: Plan, job: TileJob, row_scan: Plan | None = None, overlap: int = 0
) -> Given:
    """What decides, beside its shape, how a tile is computed; see `Given`."""
    local, facts = job.floor is not None, runtime.facts
    return Given(plan, job.scoring, local, facts, SeenTile(job), row_scan, overlap)


def of_four(codes: Codes) -> bool:
    """Are these none but the first four letters of the alphabet?  The first ones are looked at
    first: they tell most proteins."""
    return all(int(letters.max()) < 4 for letters in (codes[:FEW], codes))


@dataclass(frozen=True)
class SeenTile:
    """What the letters and the edges of a tile say: see `pysw_cl.planning.choose.Seen`."""

    job: TileJob

    def four(self) -> bool:
        """See `Seen`."""
        return of_four(self.job.target)

    def excess(self) -> int:
        """See `Seen`."""
        job, top = self.job, self.job.above.h
        level = top.strides == (0,)
        highest = max(int(top[0] if level else top.max()), int(job.left.h.max()), job.corner)
        return highest - (int(top[0]) if job.floor is None else job.floor)

    def related(self) -> bool:
        """See `Seen`."""
        return related(self.job.query, self.job.target)


def least_score(job: TileJob) -> int:
    """The least score of a best cell."""
    lowest = UNREACHABLE_BELOW if job.floor is None else 1
    return lowest if job.threshold is None else max(lowest, min(job.threshold, MOST))


def cells_by_width(program: Program, grid: Grid, records: NDArray[np.int32]) -> dict[str, int]:
    """A tile's cells by lane set and width, and pruned ones as "pruned", in proportion to the
    columns of strips that the groups counted."""
    total, family = grid.m * grid.n, program.plan.lane_set.family
    swept = counted(records)
    every = sum(swept)
    cells = [total * columns // every for columns in swept]
    cells[swept.index(max(swept))] += total - sum(cells)
    small, found = MIXED if MIXED in program.widths else 8, {}
    for width, count in zip((small, 16, 32, 0), cells, strict=True):
        if count:
            found[f"wavefront/{family}/{width}" if width else "pruned"] = count
    return found


def read_device(runtime: Runtime, buffer: Any, count: int, place: int) -> NDArray[np.int32]:
    """Read ``count`` numbers of a buffer from ``place`` on, without waiting for what is enqueued on
    other queues."""
    with Buffers(runtime.beside(0)) as buffers:
        return buffers.read(buffer, count, place)
