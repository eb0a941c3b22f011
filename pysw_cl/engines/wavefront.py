"""The OpenCL wavefront engine: CUDAlign's two-level wavefront over one tile.

Method: Sandes & de Melo, PPoPP 2010 and thesis 2011 (external diagonals, cells delegation, short
and long phase, horizontal and vertical bus); the ticketed form is described in docs/algorithm.md.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import InternalError
from ..grid import fit
from ..opencl.buffers import Buffers, Room
from ..opencl.device import Runtime
from ..opencl.program import BoundKernel, KernelSpec
from ..plan import Plan
from ..tile import Hit, pairs_inside
from .base import TileJob, TileResult, Walk
from .tile_run import TileRun, moves_bytes

#: Cells that a tile collects at least room for when several best ones are wanted.
LEAST_HITS = 1 << 14

TRACE = KernelSpec(
    "trace",
    ("base.clh", "trace.cl"),
    tuple("dirs n:int row:int column:int state:int linear:int found".split()),
)
#: Bytes of what a walk finds before its moves: row, column, state, whether it ended, moves made.
PLACE_BYTES = 20


class DeviceDirections:
    """A tile's moves in device memory (4 bits a cell), and the kernel that walks them there."""

    def __init__(self, run: TileRun, room: Room):
        self._runtime, self._dirs, self._room = run.runtime, run.dirs, room
        walkers = int(run.runtime.advice["walkers"])
        walkers = min(walkers, int(run.runtime.device.max_work_group_size))
        self._defines = {"T": run.grid.T, "R": run.grid.alpha, "WALKERS": walkers}
        self._m, self._n = run.grid.m, run.grid.n
        self._linear = int(run.job.scoring.gap_open == 0)

    def walk(self, row: int, column: int, state: int) -> Walk:
        """See :class:`pysw_cl.engines.base.Directions`."""
        if not (0 < row <= self._m and 0 < column <= self._n):
            raise InternalError(f"walk from ({row}, {column}) outside {self._m} x {self._n}")
        size = PLACE_BYTES + row + column
        with Buffers(self._runtime, small=True) as buffers:
            found = buffers.empty(size)
            kernel = BoundKernel(self._runtime, TRACE, self._defines)
            kernel.bind(dirs=self._dirs, n=self._n, row=row, column=column, state=state)
            kernel.bind(linear=self._linear, found=found).launch(1, self._defines["WALKERS"])
            walked = buffers.read(found, size, dtype=np.uint8)
        row, column, state, ended, made = walked[:PLACE_BYTES].view(np.int32).tolist()
        return Walk(walked[PLACE_BYTES:][:made].copy(), row, column, state, bool(ended))

    def release(self) -> None:
        """Give the device memory back."""
        dirs, self._dirs = self._dirs, None
        if dirs is not None:
            self._room.give(dirs)


class WavefrontEngine:
    """Computes tiles on one OpenCL device according to a plan."""

    name = "wavefront"

    def __init__(self, runtime: Runtime, plan: Plan) -> None:
        self.runtime = runtime
        self.plan = plan
        self.row_quantum = plan.T * plan.alpha
        self.peak_bytes = 0
        self._room = Room()

    def tile(self, job: TileJob) -> TileResult:
        """Compute one tile; see :class:`pysw_cl.engines.base.TileJob`."""
        if job.best and job.count > 1:
            return self._collect(job)
        return self._run(job)[0]

    def _run(self, job: TileJob, capacity: int = 0) -> tuple[TileResult, int]:
        with Buffers(self.runtime, small=True, room=self._room) as buffers:
            run = TileRun(self.runtime, self.plan, job, buffers, capacity)
            run.run()
            result, found = run.result()
            self.peak_bytes = max(self.peak_bytes, buffers.bytes)
        if job.directions:
            result = replace(result, directions=DeviceDirections(run, self._room))
        return result, found

    def _collect(self, job: TileJob) -> TileResult:
        """The ``count`` best cells.  All cells of at least a threshold are collected; where they
        are too many, the threshold rises to the count-th best of those that were kept, which is
        sound because so many reach it.  Where it cannot rise, because that many are equal, the
        tile is halved: the first half's cells come first among equals."""
        capacity, least = max(4 * job.count, LEAST_HITS), job.threshold
        while True:
            done, found = self._run(replace(job, threshold=least), capacity)
            hits = tuple(sorted(done.hits)[: job.count])
            if found <= capacity:
                return replace(done, hits=hits)
            if len(hits) < job.count or (least is not None and hits[-1].score <= least):
                return self._collect_halves(replace(job, threshold=least))
            least = hits[-1].score

    def _collect_halves(self, job: TileJob) -> TileResult:
        m, n, count = len(job.query), len(job.target), job.count
        job, blocked = replace(job, right=True), job.blocked
        across = m > 1  # one row is halved by columns
        at = m // 2 if across else n // 2
        if across:
            corner = int(job.left.h[at - 1])
            one = replace(job, query=job.query[:at], left=job.left.part(0, at), bottom=True)
            two = replace(job, query=job.query[at:], left=job.left.part(at, m), corner=corner)
            parts = (0, at, 0, n), (at, m, 0, n)
        else:
            corner = int(job.top.h[at - 1])
            one = replace(job, target=job.target[:at], top=job.top.part(0, at))
            two = replace(job, target=job.target[at:], top=job.top.part(at, n), corner=corner)
            parts = (0, m, 0, at), (0, m, at, n)
        one, two = (
            replace(half, blocked=pairs_inside(blocked, *part))
            for half, part in zip((one, two), parts, strict=True)
        )
        first = self.tile(one)
        if len(first.hits) == count:  # an equal cell of the second half would come later
            two = replace(two, threshold=first.hits[-1].score + 1)
        if across:
            assert first.bottom is not None
            second = self.tile(replace(two, top=first.bottom))
            assert first.right is not None
            assert second.right is not None
            right, bottom = first.right.joined(second.right), second.bottom
        else:
            assert first.right is not None
            second = self.tile(replace(two, left=first.right))
            assert second.right is not None
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
        """Memory of the moves of a tile: see :func:`pysw_cl.engines.tile_run.moves_bytes`."""
        plan = self.plan.for_moves(rows, columns)
        return moves_bytes(fit(rows, columns, 1, plan.T, plan.alpha, "ticketed"))
