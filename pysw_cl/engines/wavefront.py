"""The OpenCL wavefront engine: CUDAlign's two-level wavefront over one tile.

Method: Sandes & de Melo, PPoPP 2010 and thesis 2011 (external diagonals, cells delegation, short
and long phase, horizontal and vertical bus); the ticketed form is described in docs/algorithm.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InternalError
from ..grid import Grid, fit
from ..opencl.buffers import Buffers
from ..opencl.device import Runtime
from ..opencl.program import BoundKernel, KernelSpec
from ..plan import Plan
from ..scoring import Scoring
from ..tile import NEG, REACH, Edge, Hit
from .base import TileJob, TileResult, Walk

#: Cells that a tile collects at least room for when several best ones are wanted.
LEAST_HITS = 1 << 14

MOST = 2**31 - 1

_TILE = (
    "query target left_h left_x right_h right_x bus m:int n:int stride:int strips:int tap_lane:int "
    "tap_r:int query_pad:int target_pad:int gap_open:int gap_extend:int state record known "
    "hits capacity:int"
)
_FORM = {
    "ticketed": "ticket progress chunk:int dirs",
    "two-phase": "diagonal:int first_block:int blocks:int phase:int",
}
_SCORE = {"match": "match:int mismatch:int", "matrix": "matrix wide:int"}
_NAME = {"ticketed": "wavefront_ticketed", "two-phase": "wavefront_two_phase"}


def kernel_spec(form: str, lanes: str, score: str) -> KernelSpec:
    """The wavefront kernel of a form ("ticketed", "two-phase"), lane set and score file."""
    files = (
        "base.clh",
        "groups.clh",
        f"lanes/{lanes}.clh",
        f"score/{score}.clh",
        "recurrence.clh",
        "strip.clh",
        "best.clh",
        "wavefront.cl",
    )
    return KernelSpec(_NAME[form], files, tuple(f"{_TILE} {_FORM[form]} {_SCORE[score]}".split()))


TRACE = KernelSpec(
    "trace",
    ("base.clh", "trace.cl"),
    tuple("dirs n:int row:int column:int state:int linear:int moves result".split()),
)


def _score_arguments(scoring: Scoring, buffers: Buffers) -> tuple[str, int, int, dict[str, Any]]:
    """(score file, padding code of the query, of the target, kernel arguments).

    Padding must never raise a score.  Compare-and-select gives it the mismatch score, which is
    fine up to 0; otherwise the table gets a row and a column of its own.
    """
    pair = scoring.match_mismatch
    if pair is not None and pair[1] <= 0:
        return "match", 254, 253, {"match": pair[0], "mismatch": pair[1]}
    q, t = scoring.matrix.shape
    # a substitution this bad is never better than two gaps: it is worth no more than the floor
    bad = min(0, scoring.lowest) - 2 * (scoring.gap_open + scoring.gap_extend) - 1
    table = np.full((q + 1, t + 1), bad, np.int32)
    table[:q, :t] = scoring.matrix
    return "matrix", q, t, {"matrix": buffers.of(table.ravel()), "wide": t + 1}


class DeviceDirections:
    """A tile's moves in device memory (4 bits a cell); walked there by one work-item."""

    def __init__(self, engine: WavefrontEngine, buffers: Buffers, dirs: Any, job: TileJob):
        self._engine, self._buffers, self._dirs = engine, buffers, dirs
        self._m, self._n = len(job.query), len(job.target)
        self._linear = int(job.scoring.gap_open == 0)

    def walk(self, row: int, column: int, state: int) -> Walk:
        """See :class:`pysw_cl.engines.base.Directions`."""
        if not (0 < row <= self._m and 0 < column <= self._n):
            raise InternalError(f"walk from ({row}, {column}) outside {self._m} x {self._n}")
        engine = self._engine
        with Buffers(engine.runtime) as buffers:
            moves, result = buffers.empty(row + column), buffers.empty(20)
            defines = {"T": engine.plan.T, "R": engine.plan.alpha}
            kernel = BoundKernel(engine.runtime, TRACE, defines)
            kernel.bind(dirs=self._dirs, n=self._n, row=row, column=column, state=state)
            kernel.bind(linear=self._linear, moves=moves, result=result).launch(1, 1)
            row, column, state, ended, made = (int(v) for v in buffers.read(result, 5))
            return Walk(buffers.read(moves, made, dtype=np.uint8), row, column, state, bool(ended))

    def release(self) -> None:
        """Free the device memory."""
        self._buffers.free()


class WavefrontEngine:
    """Computes tiles on one OpenCL device according to a plan."""

    name = "wavefront"

    def __init__(self, runtime: Runtime, plan: Plan) -> None:
        self.runtime = runtime
        self.plan = plan
        self.row_quantum = plan.T * plan.alpha
        self.peak_bytes = 0

    def tile(self, job: TileJob) -> TileResult:
        """Compute one tile; see :class:`pysw_cl.engines.base.TileJob`."""
        plan = self.plan
        m, n = len(job.query), len(job.target)
        form, B = plan.form, plan.B
        if job.directions and form == "two-phase":
            form, B = "ticketed", 1  # one group, which waits for no other
        grid = fit(m, n, B, plan.T, plan.alpha, form)
        buffers = Buffers(self.runtime)
        try:
            if job.best and job.count > 1:
                return self._collect(job, grid, buffers)
            return self._run(job, grid, buffers)[0]
        except BaseException:
            buffers.free()
            raise

    def _collect(self, job: TileJob, grid: Grid, buffers: Buffers) -> TileResult:
        """The ``count`` best cells.  All cells of at least a threshold are collected; where they
        are too many, the threshold rises to the count-th best of those that were kept, which is
        sound because so many reach it.  Where it cannot rise, because that many are equal, the
        tile is halved: the first half's cells come first among equals."""
        capacity, least = max(4 * job.count, LEAST_HITS), job.threshold
        while True:
            done, found = self._run(replace(job, threshold=least), grid, buffers, capacity)
            hits = tuple(sorted(done.hits)[: job.count])
            if found <= capacity:
                return replace(done, hits=hits)
            if len(hits) < job.count or (least is not None and hits[-1].score <= least):
                return self._collect_halves(replace(job, threshold=least))
            least = hits[-1].score

    def _collect_halves(self, job: TileJob) -> TileResult:
        m, n, count = len(job.query), len(job.target), job.count
        across = m > 1  # one row is halved by columns
        at = m // 2 if across else n // 2
        if across:
            corner = int(job.left.h[at - 1])
            one = replace(job, query=job.query[:at], left=job.left.part(0, at), bottom=True)
            two = replace(job, query=job.query[at:], left=job.left.part(at, m), corner=corner)
        else:
            corner = int(job.top.h[at - 1])
            one = replace(job, target=job.target[:at], top=job.top.part(0, at))
            two = replace(job, target=job.target[at:], top=job.top.part(at, n), corner=corner)
        first = self.tile(one)
        if len(first.hits) == count:  # an equal cell of the second half would come later
            two = replace(two, threshold=first.hits[-1].score + 1)
        if across:
            assert first.bottom is not None
            second = self.tile(replace(two, top=first.bottom))
            right, bottom = first.right.joined(second.right), second.bottom
        else:
            second = self.tile(replace(two, left=first.right))
            right = second.right
            bottom = None
            if first.bottom is not None and second.bottom is not None:
                bottom = first.bottom.joined(second.bottom)
        row, column = (at, 0) if across else (0, at)
        moved = (Hit(h.score, h.row + row, h.column + column) for h in second.hits)
        assert first.top is not None
        assert second.top is not None
        return TileResult(
            bottom,
            right,
            tuple(sorted([*first.hits, *moved])[:count]),
            max(first.top, second.top),
            {kind: first.cells[kind] + second.cells[kind] for kind in first.cells},
            first.launches + second.launches,
        )

    def moves_bytes(self, rows: int, columns: int) -> int:
        """Memory of the moves of a tile: 4 bits a cell, whole strips, T columns more."""
        strips = -(-rows // self.row_quantum)
        return 4 * -(-self.plan.alpha // 8) * self.plan.T * (columns + self.plan.T) * strips

    def _run(
        self, job: TileJob, grid: Grid, buffers: Buffers, capacity: int = 0
    ) -> tuple[TileResult, int]:
        plan, scoring = self.plan, job.scoring
        m, n, rows = grid.m, grid.n, grid.padded_rows
        score, query_pad, target_pad, score_arguments = _score_arguments(scoring, buffers)
        codes = np.full(rows, query_pad, np.uint8)
        codes[:m] = job.query
        left_h, left_x = _left(job, m, rows)
        stride = n + 2 * grid.T
        bus = np.full((4, stride), NEG, np.int32)
        bus[0, :n], bus[1, :n] = job.top.h, job.top.x
        lowest = REACH if job.floor is None else 1
        threshold = lowest if job.threshold is None else max(lowest, min(job.threshold, MOST))
        record = np.full((grid.B, 4), NEG, np.int32)

        hits = buffers.of(np.zeros(1 + 3 * capacity, np.int32))
        right_h, right_x = buffers.empty(4 * rows), buffers.empty(4 * rows)
        bus_buffer, record_buffer = buffers.of(bus), buffers.of(record)
        defines = {
            "T": grid.T,
            "R": grid.alpha,
            "LOCAL": int(job.floor is not None),
            "BEST": 2 if capacity else int(job.best),
            "DIRS": int(job.directions),
            "TICKETED": int(grid.form == "ticketed"),
            "STEPS": self.runtime.advice["steps"] if plan.lanes == "scalar32" else 2,
        }
        kernel = BoundKernel(self.runtime, kernel_spec(grid.form, plan.lanes, score), defines)
        tap_lane, tap_r = grid.tap if job.bottom else (grid.T - 1, grid.alpha - 1)
        kernel.bind(
            query=buffers.of(codes),
            target=buffers.of(job.target),
            left_h=buffers.of(left_h),
            left_x=buffers.of(left_x),
            right_h=right_h,
            right_x=right_x,
            bus=bus_buffer,
            m=m,
            n=n,
            stride=stride,
            strips=grid.strips,
            tap_lane=tap_lane,
            tap_r=tap_r,
            query_pad=query_pad,
            target_pad=target_pad,
            gap_open=scoring.gap_open,
            gap_extend=scoring.gap_extend,
            state=buffers.empty(4 * grid.B * (3 * grid.alpha + 5) * grid.T),
            record=record_buffer,
            known=buffers.of(np.array([threshold], np.int32)),
            hits=hits,
            capacity=capacity,
            **score_arguments,
        )
        group = grid.T if plan.lanes == "scalar32" else 1
        if grid.form == "ticketed":
            dirs, launches = self._ticketed(kernel, grid, buffers, group, job.directions)
        else:
            dirs, launches = None, self._two_phase(kernel, grid, group)

        right = Edge(buffers.read(right_h, m), buffers.read(right_x, m))
        bottom = None
        if job.bottom:
            at = 2 * stride * (grid.strips & 1)
            bottom = Edge(buffers.read(bus_buffer, n, at), buffers.read(bus_buffer, n, at + stride))
        best: tuple[Hit, ...] = ()
        top, found = None, 0
        if job.best:
            records = buffers.read(record_buffer, record.size).reshape(record.shape)
            best, top = tuple(sorted(_hits(records, threshold, m))[:1]), int(records[:, 3].max())
        if capacity:
            found = int(buffers.read(hits, 1)[0])
            collected = buffers.read(hits, 3 * min(found, capacity), 1).reshape(-1, 3)
            best = tuple(_hits(collected, threshold, m))
        if job.floor is None:
            right = right.restored()
            bottom = bottom.restored() if bottom is not None else None
        self.peak_bytes = max(self.peak_bytes, buffers.bytes)
        directions = None
        if job.directions:
            directions = DeviceDirections(self, buffers, dirs, job)
        else:
            buffers.free()
        cells = {f"wavefront/{plan.lanes}/32": m * n}
        return TileResult(bottom, right, best, top, cells, launches, directions), found

    def _ticketed(
        self, kernel: BoundKernel, grid: Grid, buffers: Buffers, group: int, directions: bool
    ) -> tuple[Any, int]:
        dirs = buffers.empty(self.moves_bytes(grid.m, grid.n) if directions else 4)
        kernel.bind(
            ticket=buffers.of(np.zeros(1, np.int32)),
            progress=buffers.of(np.full(grid.strips, -grid.T, np.int32)),
            chunk=self.plan.chunk,
            dirs=dirs,
        ).launch(grid.B, group)
        return dirs, 1

    def _two_phase(self, kernel: BoundKernel, grid: Grid, group: int) -> int:
        kernel.bind(blocks=grid.B)
        launches = 0
        for launch in grid.launches():
            kernel.bind(diagonal=launch.diagonal, phase=launch.phase, first_block=launch.first)
            kernel.launch(launch.count, group)
            launches += 1
            if launches % 64 == 0:
                self.runtime.queue.flush()
        return launches


def _left(job: TileJob, m: int, rows: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The left edge with the corner in front and padded below.  With padding rows, H(m, 0) must
    not become their diagonal: nothing else reads it."""
    left_h = np.full(rows + 1, NEG, np.int32)
    left_x = np.full(rows, NEG, np.int32)
    left_h[0] = job.corner
    left_h[1 : m + 1] = job.left.h
    left_x[:m] = job.left.x
    if m < rows:
        left_h[m] = NEG
    return left_h, left_x


def _hits(cells: NDArray[np.int32], threshold: int, m: int) -> list[Hit]:
    """(score, row, column) of real cells as hits; a group without a hit recorded no score."""
    return [Hit(*map(int, c[:3])) for c in cells if c[0] >= threshold and c[1] <= m]
