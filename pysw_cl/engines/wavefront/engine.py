"""The OpenCL wavefront engine: CUDAlign's two-level wavefront over one tile.

Method: Sandes & de Melo, PPoPP 2010 and thesis 2011 (external diagonals, cells delegation, short
and long phase, horizontal and vertical bus); the ticketed form is described in docs/algorithm.md.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from math import lcm
from weakref import WeakSet

from ...errors import DeviceError
from ...opencl.buffers import Buffers, Room
from ...opencl.device import Runtime
from ...planning.geometry import fit
from ...planning.lane_sets import LANE_SETS
from ...planning.plan import Plan
from ...scoring.scoring import Scoring
from ...tiles.contract import TileJob, TileResult
from ...tiles.tile import EdgeArray, KeptEdge, View
from ...tiles.tile_split import by_parts
from .chain import DEPTH, Chain
from .compressed_edge import PackedEdge, holds
from .device_traceback import DeviceDirections
from .kernel import planned
from .tile import TileRun, moves_bytes, warps_of
from .tile_batch import SideBySide

#: Cells from which on tiles follow each other: seconds of work.
LEAST_CHAINED = 1 << 43
#: Cells that a tile collects at least room for when several best ones are wanted.
LEAST_HITS = 1 << 14


class WavefrontEngine:
    """Computes tiles on one OpenCL device according to a plan."""

    name = "wavefront"

    def __init__(self, runtime: Runtime, plan: Plan) -> None:
        self.runtime = runtime
        self.plan = plan
        self.row_quantum = plan.T * plan.alpha
        self.peak_bytes, self.inner = 0, plan.form == "ticketed"
        self._room = Room()
        self._chain: Chain | None = None
        self._packed: WeakSet[PackedEdge] = WeakSet()

    def tile(self, job: TileJob) -> TileResult:
        """Compute one tile; see :class:`pysw_cl.tiles.contract.TileJob`."""
        if self._chain is not None and job not in self._chain:
            self.settle()
        if self._chain is None:
            self._chain = Chain.of(self.runtime, self.plan, job)
        if self._chain is not None:
            return self._chained(self._chain, job)
        if isinstance(job.top, EdgeArray):
            job = replace(job, top=job.top.read(0, len(job.top)))
        if job.rows or job.columns:
            inner = len(job.rows), len(job.columns)
            if not self.inner or not self._in_memory(*job.size, *inner):
                return by_parts(self.tile, job, job.rows, job.columns)
            if planned(self.plan, job, self.runtime.traits.byte_permute)[0] is None:
                return by_parts(self.tile, job, job.rows, ())
        if job.best and job.count > 1:
            return self._collect(job)
        return self._run(job)[0]

    def _chained(self, chain: Chain, job: TileJob) -> TileResult:
        """A tile of a chain, which goes on as long as there is one below."""
        try:
            result = chain.tile(job)
        except BaseException:
            with suppress(DeviceError):  # which it was, or the next job says
                self.settle()
            raise
        self.took(chain.bytes)
        return result

    def _run(self, job: TileJob, capacity: int = 0) -> tuple[TileResult, int]:
        with Buffers(self.runtime, small=True, room=self._room) as buffers:
            run = TileRun(self.runtime, self.plan, job, buffers, capacity)
            run.run()
            result, found = run.result()
            self.took(buffers.bytes)
        inner = (*result.rows.values(), *result.columns.values())
        self._room.edges.update(edge for edge in inner if isinstance(edge, KeptEdge))
        if job.directions:
            result = replace(result, directions=DeviceDirections(run, self._room))
        return result, found

    def took(self, size: int) -> None:
        """Count memory that a job takes, beside the edges that stayed on the device before it."""
        self.peak_bytes = max(self.peak_bytes, size + self.edge_bytes)

    @property
    def edge_bytes(self) -> int:
        """Memory of the edges on the device that somebody still has."""
        return self._room.edge_bytes + sum(edge.bytes for edge in self._packed)

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
                m, n = job.size  # one row is halved by columns
                halves = ((m // 2,), ()) if m > 1 else ((), (n // 2,))
                return by_parts(self.tile, replace(job, threshold=least), *halves)
            least = hits[-1].score

    def strip_rows(self, rows: int, columns: int) -> int:
        """Rows of a strip of a tile of this size: inner rows at multiples cost nothing, and lanes
        that take over where narrow ones cannot do the tile have strips that end there, too."""
        plan = self.plan.for_size(rows, columns)
        if plan is None or plan.fixed or not self.inner:
            return self.row_quantum
        wide = plan.without_narrow()
        every = (plan.T * alpha for alpha in range(plan.alpha, 1, -1))
        return next((strip for strip in every if wide.for_size(rows, columns, (strip,))), plan.T)

    def side_by_side(
        self, query: View, target: View, scoring: Scoring, floor: int | None, rows: int
    ) -> SideBySide | None:
        """See :class:`pysw_cl.tiles.contract.Engine`."""
        narrow = LANE_SETS[self.plan.lanes].narrow
        if narrow is None or self.plan.form != "ticketed" or not self.runtime.traits.speculative:
            return None
        tiles = SideBySide(self, query, target, scoring, floor, rows)
        return tiles if tiles.able else None

    def _in_memory(self, m: int, n: int, rows: int, columns: int) -> bool:
        """Does the device hold so many inner rows and columns of a tile of this size, with half of
        its memory to spare?"""
        across = 8 * (n + 2 * self.plan.T) * (2 + rows)
        down = 8 * (m + self.row_quantum) * columns
        piece, limit = (
            int(getattr(self.runtime.device, name))
            for name in ("max_mem_alloc_size", "global_mem_size")
        )
        return max(across, down) <= piece and across + down <= limit // 2

    def chained_rows(self, rows: int, columns: int) -> tuple[int, int] | None:
        """See :class:`pysw_cl.tiles.contract.Engine`: what all groups do at once is shared by the
        tiles that are on the device at once."""
        plan = self.plan.for_size(rows, columns)
        if plan is None or not self.inner or not self.runtime.traits.speculative:
            return None
        if LANE_SETS[plan.lanes].narrow is None or rows * columns < LEAST_CHAINED:
            return None
        quantum = plan.T * plan.alpha * warps_of(self.runtime, plan, plan.B)
        wide = self.plan.without_narrow()  # whose strips are to end there, too
        quantum = lcm(quantum, wide.T * wide.alpha)
        return max(1, plan.busy_rows // DEPTH // quantum) * quantum, quantum

    def packs(self, scoring: Scoring, rows: int, columns: int, lines: int) -> bool:
        """See :class:`pysw_cl.tiles.contract.Engine`."""
        if not self.inner or not self.runtime.traits.speculative or not holds(scoring):
            return False
        return self._in_memory(rows, columns, lines, lines)

    def packed_edge(self, cells: KeptEdge) -> PackedEdge | None:
        """See :class:`pysw_cl.tiles.contract.Engine`."""
        with suppress(DeviceError):  # no memory: it stays as it is
            edge = PackedEdge(self.runtime, len(cells), cells.lost)
            self._packed.add(edge)
            self.took(0)
            edge.take(0, cells.buffer, cells.h_at, cells.x_at, len(cells))
            return edge if edge.ok else None
        return None

    def settle(self) -> None:
        """See :class:`pysw_cl.tiles.contract.Engine`."""
        chain, self._chain = self._chain, None
        if chain is not None:
            chain.close()

    def moves_bytes(self, rows: int, columns: int) -> int:
        """Memory of the moves of a tile: see :func:`pysw_cl.engines.wavefront.tile.moves_bytes`."""
        plan = self.plan.for_moves(rows, columns)
        grid = fit(rows, columns, 1, plan.T, plan.alpha, "ticketed")
        return int(moves_bytes(grid.m, grid.n, grid.T, grid.alpha))
