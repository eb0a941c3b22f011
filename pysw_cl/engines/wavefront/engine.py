"""The OpenCL wavefront engine: CUDAlign's two-level wavefront over one tile.

Method: Sandes & de Melo, PPoPP 2010 and thesis 2011 (external diagonals, cells delegation, short
and long phase, horizontal and vertical bus); the ticketed form is described in docs/algorithm.md.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from math import lcm
from weakref import WeakSet

from ...errors import DeviceError, PlanError
from ...opencl.buffers import Buffers, RetainedBuffers
from ...opencl.device import Runtime
from ...opencl.kernel_times import Stopwatch
from ...planning.geometry import fit
from ...planning.lane_sets import LANE_SETS
from ...planning.plan import Plan, make_plan
from ...scoring.scoring import Scoring
from ...sequences.view import View
from ...tiles.contract import (
    EdgeCompression,
    Engine,
    Pipeline,
    TileBatches,
    TilePipeline,
)
from ...tiles.edges import DeviceEdge
from ...tiles.tile import TileJob, TileResult
from ...tiles.tile_split import by_parts
from ..reference import ReferenceEngine
from .compressed_edge import CELL_BYTES, CompressedEdge, holds
from .device_traceback import DeviceMoves
from .kernel import planned
from .pipeline import RunningPipeline
from .tile import TileRun, moves_bytes, warps_of
from .tile_batch import WavefrontTileBatch


class WavefrontEngine(Engine):
    """Computes tiles on one OpenCL device according to a plan."""

    name = "wavefront"

    def __init__(self, runtime: Runtime, plan: Plan) -> None:
        self.runtime = runtime
        self.plan = plan
        self.row_quantum = plan.T * plan.alpha
        self.peak_bytes, self.captures_inside = 0, plan.form == "ticketed"
        self._room, self._watch = RetainedBuffers(), Stopwatch(runtime.times)
        self.compressed_edges: WeakSet[CompressedEdge] = WeakSet()

    def tile(self, job: TileJob) -> TileResult:
        """Compute one tile; see :class:`pysw_cl.tiles.tile.TileJob`."""
        if job.rows or job.columns:
            inner = len(job.rows), len(job.columns)
            if not self.captures_inside or not self.in_memory(*job.size, *inner):
                return by_parts(self.tile, job, job.rows, job.columns)
            if planned(self.plan, job, self.runtime.traits.byte_permute)[0] is None:
                return by_parts(self.tile, job, job.rows, ())
        if job.best and job.count > 1:
            return self._collect(job)
        return self._run(job)[0]

    # Each is made when it is asked for: an engine that held them would outlive its last user.

    @property
    def pipeline(self) -> Pipeline | None:
        """Tiles that follow each other, where the device computes ahead."""
        return WavefrontPipeline(self) if self._ahead else None

    @property
    def tile_batches(self) -> TileBatches | None:
        """Many tiles in one launch, where the device computes ahead."""
        return WavefrontTileBatches(self) if self._ahead else None

    @property
    def edge_compression(self) -> EdgeCompression | None:
        """Edges in fewer bytes, where they stay on the device."""
        return WavefrontEdgeCompression(self) if self._ahead else None

    @property
    def _ahead(self) -> bool:
        return self.captures_inside and self.runtime.traits.speculative

    def _run(self, job: TileJob, capacity: int = 0) -> tuple[TileResult, int]:
        with Buffers(self.runtime, small=True, room=self._room) as buffers:
            run = TileRun(self.runtime, self.plan, job, buffers, capacity)
            run.run()
            result, found = run.result()
            self.note_memory(buffers.bytes)
        inner = (*result.rows.values(), *result.columns.values())
        self._room.edges.update(edge for edge in inner if isinstance(edge, DeviceEdge))
        if job.store_moves:
            result = replace(result, moves=DeviceMoves(run, self._room))
        return result, found

    def note_memory(self, size: int) -> None:
        """Count memory that a job takes, beside the edges that stayed on the device before it."""
        self.peak_bytes = max(self.peak_bytes, size + self.edge_bytes)

    @property
    def edge_bytes(self) -> int:
        """Memory of the edges on the device that somebody still has."""
        return self._room.edge_bytes + sum(edge.bytes for edge in self.compressed_edges)

    def _collect(self, job: TileJob) -> TileResult:
        """The ``count`` best cells.  All cells of at least a threshold are collected; where they
        are too many, the threshold rises to the count-th best of those that were kept, which is
        sound because so many reach it.  Where it cannot rise, because that many are equal, the
        tile is halved: the first half's cells come first among equals."""
        least = job.threshold
        capacity = max(4 * job.count, self.plan.tuning.engine.least_hits)
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

    @property
    def kernel_seconds(self) -> dict[str, float]:
        """As of an engine whose runtime measures (`Runtime.timed`)."""
        return self._watch.seconds

    def strip_rows(self, rows: int, columns: int) -> int:
        """Rows of a strip of a tile of this size: inner rows at multiples cost nothing, and lanes
        that take over where narrow ones cannot do the tile have strips that end there, too."""
        plan = self.plan.for_size(rows, columns)
        if plan is None or plan.alpha_fixed or not self.captures_inside:
            return self.row_quantum
        wide = plan.without_narrow()
        every = (plan.T * alpha for alpha in range(plan.alpha, 1, -1))
        return next((strip for strip in every if wide.for_size(rows, columns, (strip,))), plan.T)

    def in_memory(self, m: int, n: int, rows: int, columns: int) -> bool:
        """Does the device hold so many inner rows and columns of a tile of this size, with half of
        its memory to spare?"""
        across = 8 * (n + 2 * self.plan.T) * (2 + rows)
        down = 8 * (m + self.row_quantum) * columns
        piece, limit = (
            int(getattr(self.runtime.device, name))
            for name in ("max_mem_alloc_size", "global_mem_size")
        )
        return max(across, down) <= piece and across + down <= limit // 2

    def moves_bytes(self, rows: int, columns: int) -> int:
        """Memory of the moves of a tile: see :func:`pysw_cl.engines.wavefront.tile.moves_bytes`."""
        plan = self.plan.for_moves(rows, columns)
        grid = fit(rows, columns, 1, plan.T, plan.alpha, "ticketed")
        return int(moves_bytes(grid.m, grid.n, grid.T, grid.alpha))

    def another(self, cells: int) -> Engine | None:
        """The reference engine where ``cells`` are few; else the two-phase form with 32-bit lanes
        on the same device, or the ticketed one if that was it."""
        tuning = self.plan.tuning.engine
        if cells <= tuning.recomputed_cells:
            return ReferenceEngine()
        plan = self.plan
        traceback_tile_cells = min(plan.traceback_tile_cells, tuning.recomputed_moves)
        other = replace(
            plan.without_narrow(), form="two-phase", traceback_tile_cells=traceback_tile_cells
        )
        if (other.lanes, other.form) == (plan.lanes, plan.form):
            other = replace(other, form="ticketed")
        try:
            return WavefrontEngine(self.runtime, make_plan(self.runtime, other))
        except PlanError:
            return None


@dataclass(frozen=True)
class WavefrontPipeline:
    """See :class:`pysw_cl.tiles.contract.Pipeline`."""

    engine: WavefrontEngine

    def rows(self, rows: int, columns: int) -> tuple[int, int] | None:
        """What all groups do at once is shared by the tiles that are on the device at once."""
        engine, tuning = self.engine, self.engine.plan.tuning.pipeline
        if rows * columns < tuning.least_cells:
            return None
        plan = engine.plan.for_size(rows, columns)
        if plan is None or plan.lane_set.narrow is None:
            return None
        quantum = plan.T * plan.alpha * warps_of(engine.runtime, plan, plan.B)
        wide = engine.plan.without_narrow()  # whose strips are to end there, too
        quantum = lcm(quantum, wide.T * wide.alpha)
        return max(1, plan.device_rows // tuning.depth // quantum) * quantum, quantum

    def start(self, job: TileJob, rows_below: int) -> TilePipeline | None:
        """See :class:`pysw_cl.tiles.contract.Pipeline`."""
        engine = self.engine
        return RunningPipeline.of(engine.runtime, engine.plan, job, rows_below, engine.note_memory)


@dataclass(frozen=True)
class WavefrontTileBatches:
    """See :class:`pysw_cl.tiles.contract.TileBatches`."""

    engine: WavefrontEngine

    def start(
        self, query: View, target: View, scoring: Scoring, floor: int | None, rows: int
    ) -> WavefrontTileBatch | None:
        """See :class:`pysw_cl.tiles.contract.TileBatches`."""
        if LANE_SETS[self.engine.plan.lanes].narrow is None:
            return None
        tiles = WavefrontTileBatch(self.engine, query, target, scoring, floor, rows)
        return tiles if tiles.able else None


@dataclass(frozen=True)
class WavefrontEdgeCompression:
    """See :class:`pysw_cl.tiles.contract.EdgeCompression`."""

    engine: WavefrontEngine
    cell_bytes: float = CELL_BYTES

    def fits(self, scoring: Scoring, rows: int, columns: int, lines: int) -> bool:
        """See :class:`pysw_cl.tiles.contract.EdgeCompression`."""
        return holds(scoring) and self.engine.in_memory(rows, columns, lines, lines)

    def compressed(self, cells: DeviceEdge) -> CompressedEdge | None:
        """See :class:`pysw_cl.tiles.contract.EdgeCompression`."""
        with suppress(DeviceError):  # no memory: it stays as it is
            edge = CompressedEdge(self.engine.runtime, len(cells), cells.lost)
            self.engine.compressed_edges.add(edge)
            self.engine.note_memory(0)
            edge.take(0, cells.buffer, cells.h_place, cells.x_place, len(cells))
            return edge if edge.ok else None
        return None
