"""One tile on one OpenCL device: its buffers, its kernel, its launches and its result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InternalError
from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel
from ...planning import sizes
from ...planning.geometry import Grid, fit
from ...planning.lane_sets import MIXED
from ...planning.plan import Plan
from ...planning.score_files import may_skew, seldom_waits, widths_of
from ...planning.sizes import RECORD_WORDS
from ...scoring.precision import UNREACHABLE_BELOW, worst
from ...tiles.edges import DeviceEdge, Edge
from ...tiles.tile import NO_HITS, Hits, TileJob, TileResult
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
from .descriptors import RecordWord
from .exact_sums import exact_sums
from .kernel import Program, mixed_macros, planned, profile_letters, scores_of
from .tile_memory import Memory, left_of, letters_of, scratch_of


@dataclass(frozen=True)
class PipelineMemory:
    """Memory that the tiles of a pipeline share (:mod:`pysw_cl.engines.wavefront.pipeline`)."""

    #: Owns all of it.
    buffers: Buffers
    #: The horizontal bus.
    bus: Any
    #: The best score so far.
    best: Any
    #: One ticket counter for each tile, each ``ticket_bytes`` apart.
    tickets: Any
    ticket_bytes: int
    #: The target's letters, for wide and for narrow lanes; empty until the first tile sends them.
    letters: list[Any]


@dataclass(frozen=True)
class Link:
    """A tile's place in a pipeline of tiles below each other."""

    #: The plan of all tiles.
    plan: Plan
    shared: PipelineMemory
    #: The buffer of this tile's ticket counter.
    ticket: Any
    #: The tile above, which may still be running; None: the tile's top edge is given.
    above: TileRun | None
    #: Strips in the tiles above.
    first_strip: int
    #: The lines of the bus that its first strip reads and its last one writes.
    top_line: int
    bottom_line: int

    def lines(self, strips: int) -> NDArray[np.int32]:
        """The line of the bus that each strip reads, and last the line that the last strip writes.
        Strips alternate between lines 0 and 1 through the whole pipeline, but the row between two
        tiles has a line of its own."""
        lines = (np.arange(strips + 1) + self.first_strip).astype(np.int32) & 1
        lines[0], lines[strips] = self.top_line, self.bottom_line
        return lines


class TileRun:
    """The computation of one tile: :meth:`run` starts it, :meth:`result` waits for it.

    ``capacity``: at most so many cells of at least the job's threshold are collected; 0: only the
    best cell.  ``link``: the tile's place in a pipeline, if any; ``plan`` is then the pipeline's.
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
        self.program, self.grid, self._later = _shaped(runtime, plan, job, capacity, link)
        warps = self.program.warps
        self.strip_groups = -(-self.grid.B // warps) * warps
        self.threshold = least_score(job)
        self.memory = Memory.of(job, self.grid, self.strip_groups, capacity, buffers, link)
        ticketed = self.program.form == "ticketed"
        self.ticketed = self._ticketed_arguments() if ticketed else None
        self.kernel = self._bound()
        self.launches = 0

    def _bound(self) -> BoundKernel:
        """The kernel with its arguments, except those that each two-phase launch sets."""
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
        places = sizes.strip_places(self.strip_groups, self.program.shares_strips)
        chunk = min(plan.chunk, grid.n + grid.T)
        left_h, left_x = left_of(job, grid, buffers)
        outlet_lane, outlet_row = (
            grid.last_row_outlet if job.bottom else (grid.T - 1, grid.alpha - 1)
        )
        rows_after, columns_after = job.after or (0, 0)
        best = link.shared.best if link else buffers.of(np.array([self.threshold], np.int32))
        return TileArguments.of(
            letters_of(job, grid, plan, scores, buffers, link),
            scores,
            scratch_of(self.program, bool(job.columns), chunk, places, scores, buffers),
            left_h=left_h,
            left_x=left_x,
            right_h=memory.right[0],
            right_x=memory.right[1],
            bus=memory.bus,
            m=grid.m,
            n=grid.n,
            alpha=grid.alpha,
            stride=memory.stride,
            strips=grid.strips,
            outlet_lane=outlet_lane,
            outlet_row=outlet_row,
            right=int(job.right),
            chunk=chunk,
            rows_after=min(rows_after, MOST),
            columns_after=min(columns_after, MOST),
            record=memory.record,
            shared_best=best,
            hits=memory.hits,
            capacity=self.capacity,
            lines=buffers.of(memory.lines),
            columns=buffers.of(np.array(job.columns or (0,), np.int32)),
            column_count=len(job.columns),
            crossed=memory.crossed,
        )

    def _ticketed_arguments(self) -> TicketedArguments:
        grid, buffers, link = self.grid, self.buffers, self.link
        moves = None
        if self.job.store_moves:
            moves = buffers.lasting(int(sizes.moves_bytes(grid.m, grid.n, grid.T, grid.alpha)))
        ticket = link.ticket if link else buffers.of(np.zeros(1, np.int32))
        shared = self.program.shares_strips
        progress = buffers.of(new_progress(grid.strips, grid.T, shared))
        before, before_at = progress, grid.strips  # this one lets every strip begin
        if link is not None and link.above is not None:
            above = link.above
            before, before_at = above.progress, above.grid.strips - 1
        before_at *= sizes.progress_words(shared)
        return TicketedArguments(ticket, progress, before, before_at, moves)

    @property
    def moves(self) -> Any:
        """The buffer of the tile's moves; None if they are not stored."""
        return None if self.ticketed is None else self.ticketed.moves

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
            self._later.build_meanwhile(self.runtime, self.event)

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

    def result(self, bottom_wanted: bool = True) -> tuple[TileResult, int]:
        """The tile's result, without moves, and how many cells reached the threshold.
        ``bottom_wanted``: is the bottom edge read, if the job asks for it?"""
        grid, job, memory, read = self.grid, self.job, self.memory, self.buffers.read
        right = self._edge(*memory.right, grid.m) if job.right else None
        wanted = job.bottom and bottom_wanted
        bottom = self._line(int(memory.lines[grid.strips])) if wanted else None
        if bottom is not None and self.link is not None and self.program.prunes:
            # the tile below may be raising this line (prune.clh): numbers are old or new
            least = bottom.h - np.int32(job.scoring.gap_open)
            bottom = Edge(bottom.h, np.clip(bottom.x, least, bottom.h))
        best = NO_HITS
        top, found = None, 0
        records = read(memory.record, RECORD_WORDS * self.strip_groups).reshape(-1, RECORD_WORDS)
        if job.best:
            best = self._hits(records, 1)
            top = int(records[:, RecordWord.TOP].max())
        if self.capacity:
            found = int(read(memory.hits, 1)[0])
            collected = read(memory.hits, 3 * min(found, self.capacity), 1).reshape(-1, 3)
            best = self._hits(collected, job.count)
        cells = cells_by_width(self.program, grid, records)
        pruned = cells.pop("pruned", 0)
        stride, height = memory.stride, grid.padded_rows
        rows = {
            row: self._device_edge(memory.bus, grid.n, 2 * (2 + k) * stride, (5 + 2 * k) * stride)
            for k, row in enumerate(job.rows)
        }
        columns = {
            column: self._device_edge(memory.crossed, grid.m, 2 * k * height, (2 * k + 1) * height)
            for k, column in enumerate(job.columns)
        }
        costs = cells, self.launches, None, pruned
        return TileResult(bottom, right, best, top, *costs, rows=rows, columns=columns), found

    def _line(self, line: int) -> Edge:
        """A line of the bus."""
        bus, stride = self.memory.bus, self.memory.stride
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


def least_score(job: TileJob) -> int:
    """The least score of a best cell."""
    lowest = UNREACHABLE_BELOW if job.floor is None else 1
    return lowest if job.threshold is None else max(lowest, min(job.threshold, MOST))


def cells_by_width(program: Program, grid: Grid, records: NDArray[np.int32]) -> dict[str, int]:
    """A tile's cells by lane set and width, and pruned ones as "pruned", in proportion to the
    columns of strips that the groups counted."""
    total, family = grid.m * grid.n, program.plan.lane_set.family
    swept = counted(records)
    cells = [total * columns // sum(swept) for columns in swept]
    cells[swept.index(max(swept))] += total - sum(cells)
    small = MIXED if MIXED in program.widths else 8
    names = [*(f"wavefront/{family}/{w}" for w in (small, 16, 32)), "pruned"]
    return {name: count for name, count in zip(names, cells, strict=True) if count}


def _shaped(
    runtime: Runtime, plan: Plan, job: TileJob, capacity: int, link: Link | None
) -> tuple[Program, Grid, Program | None]:
    """The program that computes a tile, how the tile is cut into strips, and a program that is to
    be built meanwhile."""
    permute, size = runtime.traits.byte_permute, job.size
    fits, score = planned(plan, job, permute, alone=not capacity)
    if link is not None:
        fits = link.plan
    if fits is None:
        raise InternalError(f"no strips of {plan} end at the rows {job.rows}")
    program, grid = _program_of(runtime, fits, score, job, capacity, link is not None)
    if link is not None or fits.lanes != plan.lane_set.mixed:
        return program, grid, None
    if program.in_time(runtime, fits.cost.tile(fits, fits.alpha, *size)):
        return program, grid, None
    usual, _ = planned(plan, job, permute, alone=False)
    assert usual is not None  # the other lanes are chosen beside it
    later = program if _is_long(usual, size) else None
    return *_program_of(runtime, usual, score, job, capacity, False), later


def _is_long(plan: Plan, size: tuple[int, int]) -> bool:
    """Is a tile so long computed that lanes of 11 bits are built meanwhile, for later calls?"""
    return plan.cost.tile(plan, plan.alpha, *size) >= plan.tuning.engine.mixed_meanwhile


def link_plan(
    runtime: Runtime, plan: Plan, usual: Plan, score: str, job: TileJob, whole: TileJob
) -> tuple[Plan, Program | None]:
    """The plan of the tiles of a pipeline that begins with ``job``: ``usual``, or lanes of 11 bits
    whose strips end at the end of ``job``, if they are sooner done with the ``whole``; and a
    program that is to be built meanwhile."""
    below = replace(whole, rows=(job.size[0],))
    fits, _ = planned(plan, below, runtime.traits.byte_permute, seldom_waits(plan, job.size[1]))
    if fits is None or fits.lanes != plan.lane_set.mixed:
        return usual, None
    program, _ = _program_of(runtime, fits, score, job, 0, True)
    seconds = fits.cost.tile(fits, fits.alpha, *whole.size)
    if program.in_time(runtime, seconds):
        return fits, None
    return usual, program if _is_long(usual, whole.size) else None


def _program_of(
    runtime: Runtime, fits: Plan, score: str, job: TileJob, capacity: int, linked: bool
) -> tuple[Program, Grid]:
    """The program of a tile by the plan that ``fits`` it, and the tile's strips.  ``linked``: is it
    a pipeline's?"""
    m, n = job.size
    plan = fits.for_moves(m, n) if job.store_moves else fits
    form, B, local = plan.form, plan.B, job.floor is not None
    if job.store_moves and form == "two-phase":
        form, B = "ticketed", 1  # a single group waits for no other
    grid = fit(m, n, B, plan.T, plan.alpha, form, runtime.traits.least_T)
    prunes = job.after is not None and not capacity and (job.best or not local)
    apart = bool(capacity) or job.store_moves or job.forbidden is not None
    apart |= grid.form != "ticketed"
    widths = widths_of(plan, job.scoring, local, job.best, apart)
    if MIXED in widths and not exact_sums(runtime):
        widths = tuple(width for width in widths if width != MIXED)
    program = Program(
        plan=plan,
        form=grid.form,
        T=grid.T,
        score=score,
        widths=widths,
        mixed=mixed_macros(job.scoring, widths),
        local=local,
        best=2 if capacity else int(job.best),
        moves=job.store_moves,
        forbidden=job.forbidden is not None,
        prunes=prunes and plan.lane_set.prunes,
        skewed=may_skew(plan, job.scoring),
        letters=profile_letters(plan, job.scoring, score),
        warps=warps_of(runtime, plan, B if linked else grid.B) if form == "ticketed" else 1,
    )
    return program, grid


def warps_of(runtime: Runtime, plan: Plan, B: int) -> int:
    """See :func:`pysw_cl.planning.sizes.warps_of`."""
    schedulers, units = runtime.traits.schedulers, runtime.info.compute_units
    return sizes.warps_of(plan.lane_set, schedulers, units, B)


def read_device(runtime: Runtime, buffer: Any, count: int, place: int) -> NDArray[np.int32]:
    """Read ``count`` numbers of a buffer from ``place`` on, without waiting for what is enqueued on
    other queues."""
    with Buffers(runtime.beside(0)) as buffers:
        return buffers.read(buffer, count, place)
