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
from ...planning.plan import LANE_SETS, Plan
from ...scoring.precision import Bounds, worst
from ...tiles.contract import TileJob, TileResult
from ...tiles.tile import NEG, REACH, Edge, Hit, KeptEdge
from .kernel import (
    backwards,
    kernel_spec,
    may_slope,
    planned,
    score_arguments,
    stage_bytes,
    state_bytes,
)

MOST = 2**31 - 1

#: A group's record: score, row, column of its best cell, the highest score it saw, and the columns
#: that it walked in 8, 16 and 32 bits and that it pruned (64-bit numbers).
RECORD_WORDS = 12


@dataclass(frozen=True)
class Link:
    """A tile's place in a chain of tiles below each other
    (:mod:`pysw_cl.engines.wavefront.chain`): the ``plan`` of all, the ``bus`` and the best score
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
        m, n = job.size
        fits, self.score = planned(plan, job, bool(runtime.advice["permute"]))
        if link is not None:
            fits = link.plan
        if fits is None:
            raise InternalError(f"no strips of {plan} end at the rows {job.rows}")
        self.plan = plan = plan.for_moves(m, n) if job.directions else fits
        self.sloped = LANE_SETS[plan.lanes].narrow == "packed" and may_slope(plan, job.scoring)
        form, B = plan.form, plan.B
        if job.directions and form == "two-phase":
            form, B = "ticketed", 1  # one group, which waits for no other
        self.grid = fit(m, n, B, plan.T, plan.alpha, form, int(runtime.advice["least_T"]))
        at_work = B if link else self.grid.B
        self.warps = warps_of(runtime, plan, at_work) if form == "ticketed" else 1
        self.walkers = -(-self.grid.B // self.warps) * self.warps
        # not in lanes that meet at barriers: some compilers lose track of conditional ones
        self.prunes = job.after is not None and not capacity and (job.best or job.floor is None)
        self.prunes &= LANE_SETS[plan.lanes].wide != "scalar32"
        lowest = REACH if job.floor is None else 1
        self.threshold = lowest
        if job.threshold is not None:
            self.threshold = max(lowest, min(job.threshold, MOST))
        self.dirs: Any = None
        self.launches = 0
        self._bind()

    def _widths(self) -> tuple[int, ...]:
        """8 bits are for local comparisons with small numbers, where the best cell is looked for:
        its score is what tells that they were left."""
        widths, job = LANE_SETS[self.plan.lanes].widths, self.job
        if job.floor is None or not job.best or Bounds.of(job.scoring).limit8 < 0:
            return tuple(width for width in widths if width != 8)
        return widths

    def _defines(self) -> dict[str, int]:
        grid, job = self.grid, self.job
        steps = LANE_SETS[self.plan.lanes].steps
        if self.plan.lanes == "scalar32":
            steps = self.runtime.advice["steps"]
        defines = {
            "T": grid.T,
            "R": grid.alpha,
            "LOCAL": int(job.floor is not None),
            "BEST": 2 if self.capacity else int(job.best),
            "STORE_MOVES": int(job.directions),
            "FORBIDDEN_PAIRS": int(job.blocked is not None),
            "TICKETED": int(grid.form == "ticketed"),
            "UNROLL": steps,
        }
        if self.prunes:
            defines["PRUNE"] = 1
        if self.warps > 1:
            defines["WARPS"] = self.warps
        if LANE_SETS[self.plan.lanes].narrow == "packed":
            defines |= {"CHUNK": self.plan.chunk, "SKEWED_SCORES": int(self.sloped)}
        return defines

    def _bind(self) -> None:
        """All buffers and arguments."""
        grid, job, buffers, scoring = self.grid, self.job, self.buffers, self.job.scoring
        link, own = self.link, buffers.empty if self.link else buffers.apart
        query_pad, target_pad, scores = score_arguments(scoring, self.score, self.sloped, buffers)
        bounds = Bounds.of(scoring)
        codes = np.full(grid.padded_rows, query_pad, np.uint8)
        codes[: grid.m] = job.query
        narrow = LANE_SETS[self.plan.lanes].narrow
        kept, held = (link.kept, link.held) if link is not None else ([], buffers)
        if not kept:
            kept += 2 * [held.of(job.target)]
            if narrow == "vector":
                kept[1] = held.of(backwards(job.target, grid.T, target_pad))
        target, letters = kept
        left_h, left_x = _left(job, grid, buffers)
        self.stride = grid.n + 2 * grid.T
        chunk = min(self.plan.chunk, grid.n + grid.T)
        tap_lane, tap_r = grid.tap if job.bottom else (grid.T - 1, grid.alpha - 1)
        rows = grid.padded_rows if job.right else 1
        self.right = buffers.empty(4 * rows), buffers.empty(4 * rows)
        self.lines = grid.bus_lines(job.rows)
        lines, height = 2 + len(job.rows), 8 * grid.padded_rows
        self.crossed = (own if job.columns else buffers.empty)(height * len(job.columns))
        if link is not None:
            self.bus, self.lines = link.bus, link.lines(grid.strips)
        else:
            self.bus = (own if job.rows else buffers.empty)(8 * self.stride * lines)
        if link is None or link.above is None:
            top = 2 * self.stride * int(self.lines[0])
            buffers.write(self.bus, job.top.h, 4 * top)
            buffers.write(self.bus, job.top.x, 4 * (top + self.stride))
        self.record = buffers.of(new_records(self.walkers))
        self.hits = buffers.of(np.zeros(1 + 3 * self.capacity, np.int32))
        blocked = job.blocked is not None
        spec = kernel_spec(grid.form, self.plan.lanes, self.score, self._widths(), blocked)
        self.kernel = BoundKernel(self.runtime, spec, self._defines())
        self.kernel.bind(
            query=buffers.of(codes),
            target=target,
            letters=letters,
            left_h=left_h,
            left_x=left_x,
            right_h=self.right[0],
            right_x=self.right[1],
            bus=self.bus,
            m=grid.m,
            n=grid.n,
            stride=self.stride,
            strips=grid.strips,
            outlet_lane=tap_lane,
            outlet_row=tap_r,
            right=int(job.right),
            query_pad=query_pad,
            target_pad=target_pad,
            gap_open=scoring.gap_open,
            gap_extend=scoring.gap_extend,
            chunk=chunk,
            highest=bounds.highest,
            depth=bounds.depth,
            limit8=bounds.limit8,
            rows_after=min(job.after[0], MOST) if job.after is not None else 0,
            columns_after=min(job.after[1], MOST) if job.after is not None else 0,
            state=buffers.empty(state_bytes(self.plan, grid.T, grid.alpha, self.walkers)),
            profiles=buffers.empty(16 * grid.T * self.walkers * scores.get("wide", 0)),
            stages=buffers.empty(stage_bytes(chunk, self.walkers)),
            argmax_scratch=buffers.empty(
                4 * self.walkers * (8 + 2 * (grid.alpha + 1) * grid.T + 2 * chunk)
            ),
            record=self.record,
            shared_best=link.known if link else buffers.of(np.array([self.threshold], np.int32)),
            hits=self.hits,
            capacity=self.capacity,
            lines=buffers.of(self.lines),
            columns=buffers.of(np.array(job.columns or (0,), np.int32)),
            column_count=len(job.columns),
            crossed=self.crossed,
            **scores,
        )
        if job.blocked is not None:
            pairs, places = grid.blocked_steps(job.blocked)
            self.kernel.bind(forbidden=buffers.of(pairs), forbidden_places=buffers.of(places))
            self.kernel.bind(forbidden_score=worst(scoring))
        if grid.form == "ticketed":
            directions = job.directions
            size = moves_bytes(grid.m, grid.n, grid.T, grid.alpha)
            self.dirs = buffers.lasting(size) if directions else buffers.empty(4)
            self.ticket = link.ticket if link else buffers.of(np.zeros(1, np.int32))
            self.progress = buffers.of(new_progress(grid.strips, grid.T))
            above = (self.progress, grid.strips)  # which is far enough
            if link is not None and link.above is not None:
                above = link.above.progress, link.above.grid.strips - 1
            self.kernel.bind(
                ticket=self.ticket,
                progress=self.progress,
                progress_above=above[0],
                progress_above_at=above[1],
                moves=self.dirs,
            )

    def run(self) -> None:
        """Enqueue everything."""
        self.buffers.send()
        if self.grid.form == "ticketed":
            self._ticketed()
        else:
            self._two_phase()

    def _ticketed(self) -> None:
        groups = self.walkers // self.warps
        self.event = self.kernel.launch(groups, self.warps * self._group())
        self.launches = 1

    @property
    def tickets(self) -> int:
        """How many tickets there are: when all are taken, all that is left is in the hands of
        groups that run."""
        return -(-self.grid.strips // self.warps)

    def _two_phase(self) -> None:
        self.kernel.bind(blocks=self.grid.B)
        for launch in self.grid.launches():
            self.kernel.bind(
                diagonal=launch.diagonal, phase=launch.phase, first_block=launch.first
            ).launch(launch.count, self._group())
            self.launches += 1
            if self.launches % 64 == 0:
                self.runtime.queue.flush()

    def _group(self) -> int:
        return LANE_SETS[self.plan.lanes].group(self.grid.T)

    def result(self) -> tuple[TileResult, int]:
        """What the tile gives, without moves, and how many cells could have been collected."""
        grid, job, read = self.grid, self.job, self.buffers.read
        right = self._edge(*self.right, grid.m) if job.right else None
        bottom = self._line(int(self.lines[grid.strips])) if job.bottom else None
        if bottom is not None and self.link is not None and self.prunes:
            # the tile below may raise it meanwhile (prune.clh): each number is old or new
            least = bottom.h - np.int32(job.scoring.gap_open)
            bottom = Edge(bottom.h, np.clip(bottom.x, least, bottom.h))
        best: tuple[Hit, ...] = ()
        top, found = None, 0
        records = read(self.record, RECORD_WORDS * self.walkers).reshape(-1, RECORD_WORDS)
        if job.best:
            best = tuple(sorted(self._hits(records))[:1])
            top = int(records[:, 3].max())
        if self.capacity:
            found = int(read(self.hits, 1)[0])
            collected = read(self.hits, 3 * min(found, self.capacity), 1).reshape(-1, 3)
            best = tuple(self._hits(collected))
        cells = self._cells(records)
        pruned = cells.pop("pruned", 0)
        rows = {
            row: self._kept(self.bus, grid.n, 2 * (2 + k) * self.stride, (5 + 2 * k) * self.stride)
            for k, row in enumerate(job.rows)
        }
        height = grid.padded_rows
        columns = {
            column: self._kept(self.crossed, grid.m, 2 * k * height, (2 * k + 1) * height)
            for k, column in enumerate(job.columns)
        }
        spent = cells, self.launches, None, pruned
        return TileResult(bottom, right, best, top, *spent, rows=rows, columns=columns), found

    def _line(self, line: int) -> Edge:
        """A line of the bus."""
        at = 2 * self.stride * line, (2 * line + 1) * self.stride
        return self._edge(self.bus, self.bus, self.grid.n, *at)

    def _kept(self, buffer: Any, length: int, h_at: int, x_at: int) -> KeptEdge:
        """An inner row or column, which stays in its buffer."""
        read = partial(read_kept, self.runtime)
        lent = self.link is not None
        return KeptEdge(length, buffer, h_at, x_at, read, self.job.floor is None, lent)

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
        total, lanes = self.grid.m * self.grid.n, LANE_SETS[self.plan.lanes]
        walked = np.ascontiguousarray(records[:, 4:]).view(np.int64).sum(axis=0).tolist()
        cells = [total * columns // sum(walked) for columns in walked]
        cells[walked.index(max(walked))] += total - sum(cells)
        family = lanes.narrow or lanes.wide.removesuffix("32")
        names = [*(f"wavefront/{family}/{w}" for w in (8, 16, 32)), "pruned"]
        return {name: count for name, count in zip(names, cells, strict=True) if count}


def warps_of(runtime: Runtime, plan: Plan, B: int) -> int:
    """Warps of a work-group of the ticketed form, where B are at work: as many on each of a unit's
    schedulers; 1 where lanes are no warps, or the device wants groups of one."""
    schedulers = int(runtime.advice["warps"])
    if LANE_SETS[plan.lanes].wide != "warp32" or not schedulers:
        return 1
    return schedulers * -(-B // (schedulers * runtime.info.compute_units))


def new_records(walkers: int) -> NDArray[np.int32]:
    """The records of groups that have done nothing yet."""
    records = np.zeros((walkers, RECORD_WORDS), np.int32)
    records[:, :4] = NEG
    return records


def new_progress(strips: int, T: int) -> NDArray[np.int32]:
    """How far strips are that have not begun; behind them, what is far enough for all."""
    progress = np.full(strips + 1, -T, np.int32)
    progress[-1] = MOST
    return progress


def read_kept(runtime: Runtime, buffer: Any, count: int, place: int) -> NDArray[np.int32]:
    """``count`` numbers of a buffer that outlived its tile, from ``place`` on; whatever else is
    enqueued."""
    with Buffers(runtime.beside(0)) as buffers:
        return buffers.read(buffer, count, place)


def moves_bytes(m: Any, n: Any, T: int, alpha: int) -> Any:
    """Memory of the moves of a tile, or of many (arrays of m and n): a lane's column takes 32 bits
    for each 8 rows or part of them; whole strips, T columns more."""
    return 4 * -(-alpha // 8) * T * (n + T) * -(-m // (T * alpha))


#: Rows from which on a left edge that is the same everywhere is filled in on the device.
LEAST_FILLED = 1 << 16


def _left(job: TileJob, grid: Grid, buffers: Buffers) -> tuple[Any, Any]:
    """The left edge's H with the corner in front, and its X, padded below with what row m has at
    least in column 1: so a padding row never beats a cell of row m.  H(m, 0) itself must not become
    the diagonal of the padding, where nothing else reads it."""
    m, scoring = grid.m, job.scoring
    last = int(job.left.h[m - 1])
    low = last if last < REACH else last - scoring.gap_open - scoring.gap_extend
    if job.floor is not None and last >= job.floor:
        low = max(low, job.floor)
    below = grid.padded_rows - m
    h_below, x_below = np.full((2, below), low, np.int32)
    x_below -= scoring.gap_open
    h_parts = [np.array([job.corner], np.int32), job.left.h[: m - (below > 0)], h_below]
    if below:
        h_parts.insert(2, h_below[:1])
    return (
        _joined(h_parts, grid.padded_rows + 1, buffers),
        _joined([job.left.x, x_below], grid.padded_rows, buffers),
    )


def _joined(parts: list[NDArray[np.int32]], count: int, buffers: Buffers) -> Any:
    """A buffer of ``count`` numbers."""
    if count < LEAST_FILLED:
        return buffers.of(np.concatenate(parts))
    buffer, place = buffers.empty(4 * count), 0
    for part in parts:
        if len(part):
            buffers.write(buffer, part, place)
        place += part.nbytes
    return buffer
