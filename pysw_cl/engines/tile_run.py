"""One tile on one OpenCL device: its buffers, its kernel, its launches, what comes back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..grid import Grid, fit
from ..opencl.buffers import Buffers
from ..opencl.device import Runtime
from ..opencl.program import BoundKernel, KernelSpec
from ..plan import LANE_SETS, Plan
from ..precision import Bounds, worst
from ..scoring import Scoring
from ..tile import NEG, REACH, Edge, Hit
from .base import TileJob, TileResult

MOST = 2**31 - 1

#: Columns from which on a profile pays.
LEAST_PROFILED = 64

_TILE = (
    "query target letters left_h left_x right_h right_x bus m:int n:int stride:int strips:int "
    "tap_lane:int tap_r:int query_pad:int target_pad:int gap_open:int gap_extend:int chunk:int "
    "highest:int depth:int limit8:int state stages profiles record known tallies hits capacity:int"
)
_FORM = {
    "ticketed": "ticket progress dirs",
    "two-phase": "diagonal:int first_block:int blocks:int phase:int",
}
_SCORE = {"match": "match:int mismatch:int", "matrix": "matrix wide:int"}
_NAME = {"ticketed": "wavefront_ticketed", "two-phase": "wavefront_two_phase"}


def kernel_spec(
    form: str, lanes: str, score: str, widths: tuple[int, ...] | None = None
) -> KernelSpec:
    """The wavefront kernel of a form ("ticketed", "two-phase"), lane set and score file, with the
    narrow lanes of all the set's widths or some."""
    lane_set = LANE_SETS[lanes]
    widths = lane_set.widths if widths is None else widths
    at_width = (f"score/{score}.clh", "recurrence.clh")
    files = [f"NARROW={sum(widths)}", "base.clh", "names.clh", "groups.clh", "WIDTH=32"]
    files += [f"lanes/{lane_set.wide}.clh", *at_width, "strip.clh"]
    for width in widths:
        files += [f"WIDTH={width}", f"narrow/{lane_set.narrow}.clh", *at_width, "narrow.clh"]
    files += ["WIDTH=32", "best.clh", "wavefront.cl"]
    arguments = f"{_TILE} {_FORM[form]} {_SCORE[score]}".split()
    return KernelSpec(_NAME[form], tuple(files), tuple(arguments))


def planned(plan: Plan, job: TileJob) -> Plan:
    """The plan for one tile: narrow lanes do not keep moves, and every portion of a tile must be
    proven to fit 16 bits."""
    instead = LANE_SETS[plan.lanes].instead
    rows = plan.T * plan.alpha
    bounds = Bounds.of(job.scoring)
    if instead is None:
        return plan
    narrow = _simple(job.scoring) or _profiled(plan, job)
    if narrow and not job.directions and bounds.fits16(job.scoring, rows, plan.chunk):
        return plan
    return replace(plan, lanes=instead[0], T=min(plan.T, instead[1]))


def _simple(scoring: Scoring) -> bool:
    """Match and mismatch by compare and select: padding, which never matches, must not gain."""
    return scoring.match_mismatch is not None and scoring.match_mismatch[1] <= 0


def _table(scoring: Scoring) -> NDArray[np.int32]:
    """The substitution matrix with a row and a column for padding, which never gains; no score is
    below the one that is never used anyway."""
    q, t = scoring.matrix.shape
    table = np.full((q + 1, t + 1), min(0, scoring.lowest), np.int32)
    table[:q, :t] = scoring.matrix
    return np.maximum(table, worst(scoring))


def _profiled(plan: Plan, job: TileJob) -> bool:
    """Narrow lanes take a matrix as a profile of bytes, 16 rows a lane, made anew for each strip."""
    scoring = job.scoring
    small = (
        plan.alpha <= 16 and scoring.highest <= 127 and max(worst(scoring), scoring.lowest) >= -128
    )
    return small and len(job.target) >= LEAST_PROFILED


def _score_arguments(scoring: Scoring, buffers: Buffers) -> tuple[str, int, int, dict[str, Any]]:
    """(score file, padding code of the query, of the target, kernel arguments).

    Padding must never raise a score.  Compare-and-select gives it the mismatch score, which is
    fine up to 0; otherwise the table gets a row and a column of its own.
    """
    pair = scoring.match_mismatch
    if pair is not None and _simple(scoring):
        return "match", 254, 253, {"match": pair[0], "mismatch": max(pair[1], worst(scoring))}
    q, t = scoring.matrix.shape
    return "matrix", q, t, {"matrix": buffers.of(_table(scoring).ravel()), "wide": t + 1}


class TileRun:
    """A tile that is being computed; :meth:`run` and then :meth:`result`.

    ``capacity``: how many cells of at least the job's threshold are collected; 0: the best only.
    """

    def __init__(
        self, runtime: Runtime, plan: Plan, job: TileJob, buffers: Buffers, capacity: int = 0
    ) -> None:
        self.runtime, self.job, self.buffers, self.capacity = runtime, job, buffers, capacity
        self.plan = plan = planned(plan, job)
        m, n = len(job.query), len(job.target)
        form, B = plan.form, plan.B
        if job.directions and form == "two-phase":
            form, B = "ticketed", 1  # one group, which waits for no other
        self.grid = fit(m, n, B, plan.T, plan.alpha, form)
        lowest = REACH if job.floor is None else 1
        self.threshold = lowest
        if job.threshold is not None:
            self.threshold = max(lowest, min(job.threshold, MOST))
        self.dirs: Any = None
        self.launches = 0
        self._bind()

    def _widths(self) -> tuple[int, ...]:
        """8 bits are for local comparisons with small numbers."""
        widths, job = LANE_SETS[self.plan.lanes].widths, self.job
        if job.floor is None or Bounds.of(job.scoring).limit8 < 0:
            return tuple(width for width in widths if width != 8)
        return widths

    def _defines(self) -> dict[str, int]:
        grid, job = self.grid, self.job
        steps = self.runtime.advice["steps"] if LANE_SETS[self.plan.lanes].work_items else 2
        return {
            "T": grid.T,
            "R": grid.alpha,
            "LOCAL": int(job.floor is not None),
            "BEST": 2 if self.capacity else int(job.best),
            "DIRS": int(job.directions),
            "TICKETED": int(grid.form == "ticketed"),
            "STEPS": steps,
        }

    def _bind(self) -> None:
        """All buffers and arguments."""
        grid, job, buffers, scoring = self.grid, self.job, self.buffers, self.job.scoring
        score, query_pad, target_pad, score_arguments = _score_arguments(scoring, buffers)
        bounds = Bounds.of(scoring)
        codes = np.full(grid.padded_rows, query_pad, np.uint8)
        codes[: grid.m] = job.query
        letters = np.full(grid.n + 2 * grid.T, target_pad, np.uint8)
        letters[grid.T : grid.T + grid.n] = job.target[::-1]
        left_h, left_x = _left(job, grid)
        self.stride = grid.n + 2 * grid.T
        bus = np.full((4, self.stride), NEG, np.int32)
        bus[0, : grid.n], bus[1, : grid.n] = job.top.h, job.top.x
        tap_lane, tap_r = grid.tap if job.bottom else (grid.T - 1, grid.alpha - 1)
        self.right = buffers.empty(4 * grid.padded_rows), buffers.empty(4 * grid.padded_rows)
        self.bus = buffers.of(bus)
        self.record = buffers.of(np.full((grid.B, 4), NEG, np.int32))
        self.tallies = buffers.of(np.zeros((grid.B, 3), np.int64))
        self.hits = buffers.of(np.zeros(1 + 3 * self.capacity, np.int32))
        spec = kernel_spec(grid.form, self.plan.lanes, score, self._widths())
        self.kernel = BoundKernel(self.runtime, spec, self._defines())
        self.kernel.bind(
            query=buffers.of(codes),
            target=buffers.of(job.target),
            letters=buffers.of(letters),
            left_h=buffers.of(left_h),
            left_x=buffers.of(left_x),
            right_h=self.right[0],
            right_x=self.right[1],
            bus=self.bus,
            m=grid.m,
            n=grid.n,
            stride=self.stride,
            strips=grid.strips,
            tap_lane=tap_lane,
            tap_r=tap_r,
            query_pad=query_pad,
            target_pad=target_pad,
            gap_open=scoring.gap_open,
            gap_extend=scoring.gap_extend,
            chunk=self.plan.chunk,
            highest=bounds.highest,
            depth=bounds.depth,
            limit8=bounds.limit8,
            state=buffers.empty(4 * grid.B * (3 * grid.alpha + 5) * grid.T),
            profiles=buffers.empty(16 * grid.T * grid.B * score_arguments.get("wide", 0)),
            stages=buffers.empty(8 * grid.B * self.plan.chunk),
            record=self.record,
            known=buffers.of(np.array([self.threshold], np.int32)),
            tallies=self.tallies,
            hits=self.hits,
            capacity=self.capacity,
            **score_arguments,
        )

    def run(self) -> None:
        """Enqueue everything."""
        if self.grid.form == "ticketed":
            self._ticketed()
        else:
            self._two_phase()

    def _ticketed(self) -> None:
        grid, buffers = self.grid, self.buffers
        self.dirs = buffers.empty(moves_bytes(grid) if self.job.directions else 4)
        self.kernel.bind(
            ticket=buffers.of(np.zeros(1, np.int32)),
            progress=buffers.of(np.full(grid.strips, -grid.T, np.int32)),
            dirs=self.dirs,
        ).launch(grid.B, self._group())
        self.launches = 1

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
        right = Edge(read(self.right[0], grid.m), read(self.right[1], grid.m))
        bottom = None
        if job.bottom:
            at = 2 * self.stride * (grid.strips & 1)
            bottom = Edge(read(self.bus, grid.n, at), read(self.bus, grid.n, at + self.stride))
        if job.floor is None:
            right = right.restored()
            bottom = bottom.restored() if bottom is not None else None
        best: tuple[Hit, ...] = ()
        top, found = None, 0
        if job.best:
            records = read(self.record, 4 * grid.B).reshape(-1, 4)
            best = tuple(sorted(self._hits(records))[:1])
            top = int(records[:, 3].max())
        if self.capacity:
            found = int(read(self.hits, 1)[0])
            collected = read(self.hits, 3 * min(found, self.capacity), 1).reshape(-1, 3)
            best = tuple(self._hits(collected))
        return TileResult(bottom, right, best, top, self._cells(), self.launches), found

    def _hits(self, cells: NDArray[np.int32]) -> list[Hit]:
        """(score, row, column) of real cells; a group without a hit recorded no score."""
        real = (cells[:, 0] >= self.threshold) & (cells[:, 1] <= self.grid.m)
        return [Hit(*map(int, cell[:3])) for cell in cells[real]]

    def _cells(self) -> dict[str, int]:
        """The tile's cells by lane set and width, as the groups counted columns of strips."""
        total = self.grid.m * self.grid.n
        columns = self.buffers.read(self.tallies, 3 * self.grid.B, dtype=np.int64)
        by_width = dict(zip((8, 16, 32), columns.reshape(-1, 3).sum(axis=0).tolist(), strict=True))
        walked, name, cells = sum(by_width.values()), LANE_SETS[self.plan.lanes], {}
        left = total
        for width in sorted(by_width, key=lambda width: by_width[width]):
            share = total * by_width[width] // walked
            cells[width] = share
            left -= share
        cells[max(by_width, key=lambda width: by_width[width])] += left
        family = name.narrow or name.wide.removesuffix("32")
        return {f"wavefront/{family}/{width}": cells[width] for width in cells if cells[width]}


def moves_bytes(grid: Grid) -> int:
    """Memory of a tile's moves: 4 bits a cell, whole strips, T columns more."""
    return 4 * -(-grid.alpha // 8) * grid.T * (grid.n + grid.T) * grid.strips


def _left(job: TileJob, grid: Grid) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The left edge with the corner in front, padded below with what row m has at least in column
    1: so a padding row never beats a cell of row m.  H(m, 0) itself must not become the diagonal of
    the padding, where nothing else reads it."""
    m, scoring = grid.m, job.scoring
    last = int(job.left.h[m - 1])
    low = last if last < REACH else last - scoring.gap_open - scoring.gap_extend
    if job.floor is not None:
        low = max(low, job.floor)
    left_h = np.full(grid.padded_rows + 1, low, np.int32)
    left_x = np.full(grid.padded_rows, low - scoring.gap_open, np.int32)
    left_h[0] = job.corner
    left_h[1 : m + 1] = job.left.h
    left_x[:m] = job.left.x
    if m < grid.padded_rows:
        left_h[m] = low
    return left_h, left_x
