"""The row scan engine: a tile is swept row by row, parallel along the target.

Method: Khajeh-Saeed, Poole & Perot (2010, J Comput Phys 229, 4247-4258); Khajeh-Saeed & Perot
(2011, GPU Computing Gems Emerald Edition, chapter 13).  The kernel (cl/rowscan/rowscan.cl) says how
a row is computed.  Unlike in the papers, gaps may have any length, and a segment of the row stays
on its group from row to row.  The papers' form, with three launches a row, is in
:mod:`.three_launches`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.kernel_times import Stopwatch
from ...opencl.program import BoundKernel
from ...planning.execution import ByRows
from ...tiles.contract import Engine
from ...tiles.edges import Ints
from ...tiles.tile import NO_HITS, TileJob, TileResult
from ...tiles.tile_split import by_parts, collected
from ..common import collected_cells, edge_of, hits_of, least_of, scored_spec, scores_of
from ..wavefront.engine import WavefrontEngine
from .plan import MOST_GROUPS, RECORD_WORDS, THREE_LAUNCH, RowscanPlan
from .three_launches import ThreeLaunches

#: Bits of H - E^ in a word of a column.
DIFFERENCE_BITS = 20
_ARGUMENTS = (
    "query target m:int n:int gap_open:int gap_extend:int top_h top_x level:int columns "
    "corner:int bottom_h bottom_x bottom:int ticket segments:int record least:int hits capacity:int"
)


class RowscanEngine(Engine):
    """Computes tiles on one OpenCL device, row by row.

    Tiles with stored moves or forbidden pairs are the wavefront's, and those where opening a gap
    costs 2^20 or more."""

    name = "rowscan"
    plan: RowscanPlan

    def __init__(self, runtime: Runtime, plan: RowscanPlan) -> None:
        self.runtime, self.plan = runtime, plan
        self.peak_bytes = 0
        self._watch = Stopwatch(runtime.times)

    @property
    def for_moves(self) -> Engine:
        """See `Engine`."""
        return self._wavefront

    @cached_property
    def _wavefront(self) -> WavefrontEngine:
        from ..plans import default_plan

        return WavefrontEngine(self.runtime, default_plan(self.runtime))

    @property
    def kernel_seconds(self) -> dict[str, float]:
        """See `Engine`."""
        return self._watch.seconds

    def tile(self, job: TileJob, capacity: int = 0) -> TileResult:
        """Compute one tile; see :class:`pysw_cl.tiles.tile.TileJob`.  ``capacity``: at most so many
        cells are collected; 0: as many as the job asks for."""
        wide = job.scoring.gap_open >> DIFFERENCE_BITS
        if job.store_moves or job.forbidden is not None or wide:
            return self._wavefront.tile(job, capacity)
        if job.rows or job.columns:
            return by_parts(self.tile, job, job.rows, job.columns)
        if job.best and job.count > 1 and not capacity:
            return collected(self.tile, job, self.plan.tuning.engine.least_hits)
        form = ThreeLaunches if self.plan.form == THREE_LAUNCH else _Run
        with Buffers(self.runtime, small=True) as buffers:
            found = form(self.runtime, self.plan, job, buffers, capacity).result()
            self.peak_bytes = max(self.peak_bytes, buffers.bytes)
        return replace(found, execution=ByRows(self.plan))


class _Run:
    """One launch: a tile."""

    def __init__(
        self, runtime: Runtime, plan: RowscanPlan, job: TileJob, buffers: Buffers, capacity: int
    ) -> None:
        (m, n), scoring = job.size, job.scoring
        self.job, self.buffers, self.capacity = job, buffers, capacity
        self.plan = plan = plan.for_tile(scoring, m, n)
        segments = -(-n // plan.segment)
        # where groups may not wait for each other, one sweeps all segments
        self.groups = min(plan.B, segments, MOST_GROUPS) if plan.form == "ticketed" else 1
        self.least = least_of(job)
        level = job.above.h.strides == job.above.x.strides == (0,)
        top = job.above.read(0, 1) if level else job.above
        score, scores = scores_of(scoring, buffers)
        words = np.zeros((2, m), np.uint64)
        words[0] = job.left.h.view(np.uint32)
        words[0] |= (job.left.h - job.left.x).astype(np.uint64) << np.uint64(32)
        self._columns, self._line = buffers.of(words), segments & 1
        self._bottom = [buffers.empty(4 * n if job.bottom else 4) for _ in range(2)]
        self._record = buffers.empty(4 * RECORD_WORDS * self.groups)
        self._hits = buffers.of(np.zeros(1 + 3 * capacity, np.int32))
        defines = {
            "T": plan.T,
            "R": plan.alpha,
            "LOCAL": int(job.floor is not None),
            "BEST": 2 if capacity else int(job.best),
            **job.scoring.source.defines,
        }
        lanes = plan.lane_set
        spec = scored_spec("rowscan", "rowscan/rowscan.cl", _ARGUMENTS, lanes.wide, score)
        kernel = BoundKernel(runtime, spec, defines)
        kernel.bind(
            query=buffers.of(job.query),
            target=buffers.of(job.target),
            m=m,
            n=n,
            gap_open=scoring.gap_open,
            gap_extend=scoring.gap_extend,
            top_h=buffers.of(top.h),
            top_x=buffers.of(top.x),
            level=int(level),
            columns=self._columns,
            corner=job.corner,
            bottom_h=self._bottom[0],
            bottom_x=self._bottom[1],
            bottom=int(job.bottom),
            ticket=buffers.of(np.zeros(1, np.int32)),
            segments=segments,
            record=self._record,
            least=self.least,
            hits=self._hits,
            capacity=capacity,
            **scores,
        )
        buffers.send()
        kernel.launch(self.groups, lanes.group(plan.T))

    def result(self) -> TileResult:
        """The tile's result."""
        job, read, (m, n) = self.job, self.buffers.read, self.job.size
        right = edge_of(job, *self._last_column())
        bottom = edge_of(job, *(read(part, n) for part in self._bottom)) if job.bottom else None
        hits = NO_HITS
        top, found = None, 0
        if job.best:
            records = read(self._record, RECORD_WORDS * self.groups).reshape(-1, RECORD_WORDS)
            top = int(records[:, 3].max())
            hits = hits_of(records[records[:, 1] < m], 1)
        if self.capacity:
            found, cells = collected_cells(self.buffers, self._hits, self.capacity)
            hits = hits_of(cells, job.count)
        kind = f"rowscan/{self.plan.lane_set.family}/32"
        return TileResult(bottom, right, hits, top, {kind: m * n}, 1, reached=found)

    def _last_column(self) -> tuple[Ints, Ints]:
        """H and E^ of the last column.  A segment that is not cut short has H - E^ and a tag."""
        m, n = self.job.size
        words = self.buffers.read(self._columns, 2 * m, 2 * m * self._line).reshape(m, 2)
        h, upper = words[:, 0], words[:, 1]
        if n % self.plan.segment:
            return h, upper
        return h, h - (upper & np.int32((1 << DIFFERENCE_BITS) - 1))
