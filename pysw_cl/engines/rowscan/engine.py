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
from ...opencl.device import Runtime, Stopwatch
from ...opencl.program import BoundKernel
from ...planning.execution import ByRows
from ...tiles.contract import Engine
from ...tiles.sweep import by_parts, collected
from ...tiles.tile import NO_HITS, TileJob, TileResult
from ..common import bind, collected_cells, edge_of, hits_of, least_of, scored_spec
from ..plans import default_plan
from ..wavefront.engine import WavefrontEngine
from .plan import RECORD_WORDS, THREE_LAUNCH, RowscanPlan
from .three_launches import KERNELS, Swept, Values, sweep

#: Bits of H - E^ in a word of a column.
DIFFERENCE_BITS = 20


class RowscanEngine(Engine):
    """Computes tiles on one OpenCL device, row by row.

    Tiles with stored moves or forbidden pairs are the wavefront's, and those where opening a gap
    costs 2^20 or more."""

    plan: RowscanPlan

    def __init__(self, runtime: Runtime, plan: RowscanPlan) -> None:
        self.runtime, self.plan = runtime, plan
        self.peak_bytes = 0
        self._watch = Stopwatch(runtime.times)

    @cached_property
    def for_moves(self) -> WavefrontEngine:
        """See `Engine`."""
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
            return self.for_moves.tile(job, capacity)
        if job.rows or job.columns:
            return by_parts(self.tile, job, job.rows, job.columns)
        if job.best and job.count > 1 and not capacity:
            return collected(self.tile, job, self.plan.tuning.engine.least_hits)
        with Buffers(self.runtime, small=True) as buffers:
            found = self._computed(job, buffers, capacity)
            self.peak_bytes = max(self.peak_bytes, buffers.bytes)
        return replace(found, execution=ByRows(self.plan))

    def _computed(self, job: TileJob, buffers: Buffers, capacity: int) -> TileResult:
        """The tile's result, by the form of the plan.  ``capacity``: 0: only the best cell."""
        (m, n), scoring = job.size, job.scoring
        score = scoring.source.file
        hits_at = buffers.of(np.zeros(1 + 3 * capacity, np.int32))
        values = {
            "query": buffers.of(job.query),
            "m": m,
            "n": n,
            "gap_open": scoring.gap_open,
            "gap_extend": scoring.gap_extend,
            "corner": job.corner,
            "least": least_of(job),
            "hits": hits_at,
            "capacity": capacity,
            **scoring.source.arguments(score, buffers.of),
        }
        plan = self.plan.for_tile(scoring, m, n)
        file, arguments, sweep = THREE if plan.form == THREE_LAUNCH else ONE
        defines = {
            "T": plan.T,
            "R": plan.alpha,
            "LOCAL": int(job.floor is not None),
            "BEST": 2 if capacity else int(job.best),
            **scoring.source.defines,
        }
        kernels = []
        for k, (name, own) in enumerate(arguments.items()):
            spec = scored_spec(name, file, own, plan.lane_set.wide, score, scored=k == 0)
            kernels.append(BoundKernel(self.runtime, spec, defines))
        swept = sweep(self.runtime, plan, job, buffers, values, kernels)
        hits, reached = hits_of(swept.best, 1) if job.best else NO_HITS, 0
        if capacity:
            reached, cells = collected_cells(buffers, hits_at, capacity)
            hits = hits_of(cells, job.count)
        return TileResult(
            None if swept.bottom is None else edge_of(job, *swept.bottom),
            edge_of(job, *swept.right),
            hits,
            swept.top if job.best else None,
            cells={f"rowscan/{plan.lane_set.family}/32": m * n},
            launches=swept.launches,
            reached=reached,
        )


def _sweep(
    runtime: Runtime,
    plan: RowscanPlan,
    job: TileJob,
    buffers: Buffers,
    values: Values,
    kernels: list[BoundKernel],
) -> Swept:
    """Compute a tile in one launch; as :func:`pysw_cl.engines.rowscan.three_launches.sweep`."""
    (m, n), read = job.size, buffers.read
    segments, groups = -(-n // plan.segment), plan.groups_of(n)
    level = job.above.h.strides == job.above.x.strides == (0,)
    top = job.above.read(0, 1) if level else job.above
    words = np.zeros((2, m), np.uint64)
    words[0] = job.left.h.view(np.uint32)
    words[0] |= (job.left.h - job.left.x).astype(np.uint64) << np.uint64(32)
    columns, record = buffers.of(words), buffers.empty(4 * RECORD_WORDS * groups)
    bottom = [buffers.empty(4 * n if job.bottom else 4) for _ in range(2)]
    values |= {
        "target": buffers.of(job.target),
        "top_h": buffers.of(top.h),
        "top_x": buffers.of(top.x),
        "level": int(level),
        "columns": columns,
        "bottom_h": bottom[0],
        "bottom_x": bottom[1],
        "bottom": int(job.bottom),
        "ticket": buffers.of(np.zeros(1, np.int32)),
        "segments": segments,
        "record": record,
    }
    bind(kernels[0], buffers, values)
    kernels[0].launch(groups, plan.lane_set.group(plan.T))
    h, x = read(columns, 2 * m, 2 * m * (segments & 1)).reshape(m, 2).T
    if n % plan.segment == 0:  # a segment that is not cut short has H - E^ and a tag
        x = h - (x & np.int32((1 << DIFFERENCE_BITS) - 1))
    best = read(record, RECORD_WORDS * groups).reshape(-1, RECORD_WORDS)
    below = [read(part, n) for part in bottom] if job.bottom else None
    return Swept((h, x), below, int(best[:, 3].max()), best[best[:, 1] < m], 1)


#: Each form: the file of its kernels, their names and arguments, of which the first also has those
#: of the scores, and what runs them.
ONE = (
    "rowscan/rowscan.cl",
    {
        "rowscan": (
            "query target m:int n:int gap_open:int gap_extend:int top_h top_x level:int columns "
            "corner:int bottom_h bottom_x bottom:int ticket segments:int record least:int hits "
            "capacity:int"
        )
    },
    _sweep,
)
THREE = "rowscan/three_launches.cl", KERNELS, sweep
