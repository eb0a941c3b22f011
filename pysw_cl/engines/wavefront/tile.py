"""One tile on one OpenCL device: its buffers, its kernel, its launches, what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InternalError
from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel
from ...planning.geometry import Grid, fit
from ...planning.plan import Plan
from ...scoring.precision import UNREACHABLE_BELOW, Bounds, worst
from ...tiles.edges import DeviceEdge, Edge
from ...tiles.tile import Hit, TileJob, TileResult
from .arguments import (
    MOST,
    ForbiddenArguments,
    Scores,
    TicketedArguments,
    TileArguments,
    TwoPhaseArguments,
    bind,
    counted,
    new_progress,
)
from .descriptors import RECORD_WORDS, RecordWord
from .kernel import Program, may_skew, planned, scores_of
from .tile_memory import Memory, left_of, letters_of, scratch_of


@dataclass(frozen=True)
class Link:
    """A tile's place in a chain of tiles below each other
    (:mod:`pysw_cl.engines.wavefront.pipeline`): the ``plan`` of all, the ``bus`` and the best score
    ``known`` that they share, a ``ticket`` that no other has, the tile ``above``, which may still
    be computed (None: the tile's top is given), and the target's letters, which the first one
    ``kept`` in memory ``held`` by the chain.

    ``first``: strips above it.  ``reads``, ``writes``: the lines of the bus that its first strip
    reads and its last one writes.
    """

    plan: Plan
    bus: Any
    known: Any
    ticket: Any
    above: TileRun | None
    kept: list[Any]
    held: Buffers
    first: int
    reads: int
    writes: int

    def lines(self, strips: int) -> NDArray[np.int32]:
        """The lines of the bus that its strips read, and the one that the last one writes.  Lines 0
        and 1 take turns through the whole chain; between two tiles lies a line of a ring."""
        lines = (np.arange(strips + 1) + self.first).astype(np.int32) & 1
        lines[0], lines[strips] = self.reads, self.writes
        return lines


class TileRun:
    """A tile that is being computed; :meth:`run` and then :meth:`result`.

    ``capacity``: how many cells of at least the job's threshold are collected; 0: the best only.
    ``link``: the tile's place in a chain, for which ``plan`` is the one that all of it takes.
    """

    def __init__(
        self,
        runtime: Runtime,
        plan: Plan,
        job: TileJob,
        buffers: Buffers,
        capacity: int = 0,
        link: Link | None = None,
    ) -> None:
        self.runtime, self.job, self.buffers, self.capacity = runtime, job, buffers, capacity
        self.link = link
        self.program, self.grid = _shaped(runtime, plan, job, capacity, link)
        warps = self.program.warps
        self.strip_groups = -(-self.grid.B // warps) * warps
        lowest = UNREACHABLE_BELOW if job.floor is None else 1
        self.threshold = lowest
        if job.threshold is not None:
            self.threshold = max(lowest, min(job.threshold, MOST))
        self.memory = Memory.of(job, self.grid, self.strip_groups, capacity, buffers, link)
        ticketed = self.program.form == "ticketed"
        self.ticketed = self._ticketed_arguments() if ticketed else None
        self.kernel = self._bound()
        self.launches = 0

    def _bound(self) -> BoundKernel:
        """The kernel with all arguments but those that each launch of two phases has."""
        job, buffers, program = self.job, self.buffers, self.program
        scores = scores_of(job.scoring, program.score, program.skewed, buffers)
        parts: list[Any] = [self._arguments(scores), scores.arguments]
        if job.forbidden is not None:
            pairs, places = map(buffers.of, self.grid.forbidden_steps(job.forbidden))
            parts.append(ForbiddenArguments(pairs, places, worst(job.scoring)))
        if self.ticketed is not None:
            parts.append(self.ticketed)
        kernel = program.kernel(self.runtime)
        bind(kernel, buffers, *parts, later=() if self.ticketed else (TwoPhaseArguments,))
        return kernel

    def _arguments(self, scores: Scores) -> TileArguments:
        grid, job, buffers, link = self.grid, self.job, self.buffers, self.link
        plan, memory = self.program.plan, self.memory
        chunk = min(plan.chunk, grid.n + grid.T)
        left_h, left_x = left_of(job, grid, buffers)
        outlet_lane, outlet_row = (
            grid.last_row_outlet if job.bottom else (grid.T - 1, grid.alpha - 1)
        )
        rows_after, columns_after = job.after or (0, 0)
        known = buffers.of(np.array([self.threshold], np.int32)) if link is None else link.known
        return TileArguments.of(
            letters_of(job, grid, plan, scores, buffers, link),
            scores,
            scratch_of(plan, grid, chunk, self.strip_groups, scores, buffers),
            left_h=left_h,
            left_x=left_x,
            right_h=memory.right[0],
            right_x=memory.right[1],
            bus=memory.bus,
            m=grid.m,
            n=grid.n,
            stride=memory.stride,
            strips=grid.strips,
            outlet_lane=outlet_lane,
            outlet_row=outlet_row,
            right=int(job.right),
            chunk=chunk,
            rows_after=min(rows_after, MOST),
            columns_after=min(columns_after, MOST),
            record=memory.record,
            shared_best=known,
            hits=memory.hits,
            capacity=self.capacity,
            lines=buffers.of(memory.lines),
            columns=buffers.of(np.array(job.columns or (0,), np.int32)),
            column_count=len(job.columns),
            crossed=memory.crossed,
        )

    def _ticketed_arguments(self) -> TicketedArguments:
        grid, buffers, link = self.grid, self.buffers, self.link
        dirs = None
        if self.job.store_moves:
            dirs = buffers.lasting(int(moves_bytes(grid.m, grid.n, grid.T, grid.alpha)))
        ticket = link.ticket if link else buffers.of(np.zeros(1, np.int32))
        progress = buffers.of(new_progress(grid.strips, grid.T))
        before, before_at = progress, grid.strips  # which is far enough
        if link is not None and link.above is not None:
            above = link.above
            before, before_at = above.progress, above.grid.strips - 1
        return TicketedArguments(ticket, progress, before, before_at, dirs)

    @property
    def dirs(self) -> Any:
        """The buffer of its moves; None if they are not kept."""
        return None if self.ticketed is None else self.ticketed.moves

    @property
    def ticket(self) -> Any:
        """The buffer of the next ticket (ticketed form)."""
        return None if self.ticketed is None else self.ticketed.ticket

    @property
    def progress(self) -> Any:
        """The buffer that says how far its strips are (ticketed form)."""
        return None if self.ticketed is None else self.ticketed.progress

    def run(self) -> None:
        """Enqueue everything."""
        self.buffers.send()
        if self.ticketed is None:
            self._two_phase()
            return
        groups = self.strip_groups // self.program.warps
        self.event = self.kernel.launch(groups, self.program.group)
        self.launches = 1

    @property
    def tickets(self) -> int:
        """How many tickets there are: when all are taken, all that is left is in the hands of
        groups that run."""
        return -(-self.grid.strips // self.program.warps)

    def _two_phase(self) -> None:
        for launch in self.grid.launches():
            block = TwoPhaseArguments(launch.diagonal, launch.first, self.grid.B, launch.phase)
            self.kernel.bind(**vars(block)).launch(launch.count, self.program.group)
            self.launches += 1
            if self.launches % 64 == 0:
                self.runtime.queue.flush()

    def result(self) -> tuple[TileResult, int]:
        """What the tile gives, without moves, and how many cells could have been collected."""
        grid, job, memory, read = self.grid, self.job, self.memory, self.buffers.read
        right = self._edge(*memory.right, grid.m) if job.right else None
        bottom = self._line(int(memory.lines[grid.strips])) if job.bottom else None
        if bottom is not None and self.link is not None and self.program.prunes:
            # the tile below may raise it meanwhile (prune.clh): each number is old or new
            least = bottom.h - np.int32(job.scoring.gap_open)
            bottom = Edge(bottom.h, np.clip(bottom.x, least, bottom.h))
        best: tuple[Hit, ...] = ()
        top, found = None, 0
        records = read(memory.record, RECORD_WORDS * self.strip_groups).reshape(-1, RECORD_WORDS)
        if job.best:
            best = tuple(sorted(self._hits(records))[:1])
            top = int(records[:, RecordWord.TOP].max())
        if self.capacity:
            found = int(read(memory.hits, 1)[0])
            collected = read(memory.hits, 3 * min(found, self.capacity), 1).reshape(-1, 3)
            best = tuple(self._hits(collected))
        cells = self._cells(records)
        pruned = cells.pop("pruned", 0)
        stride, height = memory.stride, grid.padded_rows
        rows = {
            row: self._kept(memory.bus, grid.n, 2 * (2 + k) * stride, (5 + 2 * k) * stride)
            for k, row in enumerate(job.rows)
        }
        columns = {
            column: self._kept(memory.crossed, grid.m, 2 * k * height, (2 * k + 1) * height)
            for k, column in enumerate(job.columns)
        }
        spent = cells, self.launches, None, pruned
        return TileResult(bottom, right, best, top, *spent, rows=rows, columns=columns), found

    def _line(self, line: int) -> Edge:
        """A line of the bus."""
        bus, stride = self.memory.bus, self.memory.stride
        return self._edge(bus, bus, self.grid.n, 2 * stride * line, (2 * line + 1) * stride)

    def _kept(self, buffer: Any, length: int, h_at: int, x_at: int) -> DeviceEdge:
        """An inner row or column, which stays in its buffer."""
        read = partial(read_kept, self.runtime)
        lent = self.link is not None
        return DeviceEdge(length, buffer, h_at, x_at, read, self.job.floor is None, lent)

    def _edge(self, h: Any, x: Any, length: int, h_at: int = 0, x_at: int = 0) -> Edge:
        """An edge from two buffers, or two places of one."""
        edge = Edge(self.buffers.read(h, length, h_at), self.buffers.read(x, length, x_at))
        return edge.restored() if self.job.floor is None else edge

    def _hits(self, cells: NDArray[np.int32]) -> list[Hit]:
        """(score, row, column) of real cells; a group without a hit recorded no score."""
        real = (cells[:, 0] >= self.threshold) & (cells[:, 1] <= self.grid.m)
        return [Hit(*map(int, cell[:3])) for cell in cells[real]]

    def _cells(self, records: NDArray[np.int32]) -> dict[str, int]:
        """The tile's cells by lane set and width, and the pruned ones as "pruned", as the groups
        counted columns of strips."""
        total, family = self.grid.m * self.grid.n, self.program.plan.lane_set.family
        traced = counted(records)
        cells = [total * columns // sum(traced) for columns in traced]
        cells[traced.index(max(traced))] += total - sum(cells)
        names = [*(f"wavefront/{family}/{w}" for w in (8, 16, 32)), "pruned"]
        return {name: count for name, count in zip(names, cells, strict=True) if count}


def _shaped(
    runtime: Runtime, plan: Plan, job: TileJob, capacity: int, link: Link | None
) -> tuple[Program, Grid]:
    """The program that computes a tile, and how it is cut."""
    m, n = job.size
    fits, score = planned(plan, job, runtime.traits.byte_permute)
    if link is not None:
        fits = link.plan
    if fits is None:
        raise InternalError(f"no strips of {plan} end at the rows {job.rows}")
    plan = plan.for_moves(m, n) if job.store_moves else fits
    form, B, local = plan.form, plan.B, job.floor is not None
    if job.store_moves and form == "two-phase":
        form, B = "ticketed", 1  # one group, which waits for no other
    grid = fit(m, n, B, plan.T, plan.alpha, form, runtime.traits.least_T)
    prunes = job.after is not None and not capacity and (job.best or not local)
    program = Program(
        plan=plan,
        form=grid.form,
        T=grid.T,
        score=score,
        widths=_widths(plan, job),
        local=local,
        best=2 if capacity else int(job.best),
        moves=job.store_moves,
        forbidden=job.forbidden is not None,
        prunes=prunes and plan.lane_set.prunes,
        skewed=may_skew(plan, job.scoring),
        warps=warps_of(runtime, plan, B if link else grid.B) if form == "ticketed" else 1,
    )
    return program, grid


def _widths(plan: Plan, job: TileJob) -> tuple[int, ...]:
    """8 bits are for local comparisons with small numbers, where the best cell is looked for: its
    score is what tells that they were left."""
    widths = plan.lane_set.widths
    if job.floor is None or not job.best or Bounds.of(job.scoring).limit8 < 0:
        return tuple(width for width in widths if width != 8)
    return widths


def warps_of(runtime: Runtime, plan: Plan, B: int) -> int:
    """Warps of a work-group of the ticketed form, where B are at work: as many on each of a unit's
    schedulers; 1 where lanes are no warps, or the device wants groups of one."""
    schedulers = runtime.traits.schedulers
    if not plan.lane_set.of_warps or not schedulers:
        return 1
    return schedulers * -(-B // (schedulers * runtime.info.compute_units))


def read_kept(runtime: Runtime, buffer: Any, count: int, place: int) -> NDArray[np.int32]:
    """``count`` numbers of a buffer that outlived its tile, from ``place`` on; whatever else is
    enqueued."""
    with Buffers(runtime.beside(0)) as buffers:
        return buffers.read(buffer, count, place)


def moves_bytes(m: Any, n: Any, T: int, alpha: int) -> Any:
    """Memory of the moves of a tile, or of many (arrays of m and n): a lane's column takes 32 bits
    for each 8 rows or part of them; whole strips, T columns more."""
    return 4 * -(-alpha // 8) * T * (n + T) * -(-m // (T * alpha))
