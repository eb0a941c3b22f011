"""The row scan engine: a tile is swept row by row, parallel along the target.

Method: Khajeh-Saeed, Poole & Perot (2010, J Comput Phys 229, 4247-4258); Khajeh-Saeed & Perot
(2011, GPU Computing Gems Emerald Edition, chapter 13).  The kernel (cl/rowscan/rowscan.cl) says how
a row is computed.  Unlike in the papers, gaps may have any length, and a segment of the row stays
on its group from row to row.  The papers' form has three launches a row
(cl/rowscan/three_launches.cl), with the work-efficient scan (Blelloch 1990); `bench/rowscan.py`
compares the bytes that they move with the rate at which a device copies memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime, stopwatch
from ...opencl.program import BoundKernel
from ...planning.execution import ByRows
from ...scoring.precision import UNREACHABLE
from ...tiles.contract import Engine, persistently
from ...tiles.edges import Ints, repeated
from ...tiles.sweep import by_parts, collected
from ...tiles.tile import NO_HITS, TileJob, TileResult
from ..common import bind, collected_cells, edge_of, hits_of, least_of, room_for_cells, scored_spec
from ..plans import default_plan
from ..wavefront.engine import WavefrontEngine
from ..wavefront.tile import shape_of
from .plan import RECORD_WORDS, THREE_LAUNCH, RowscanPlan

#: Arguments of kernels by their names.
Values = dict[str, Any]
#: Bits of H - E^ in a word of a column.
DIFFERENCE_BITS = 20
#: Rows of three launches that are enqueued together; at most two such groups wait.
ROWS_AT_ONCE = 64


class Swept(NamedTuple):
    """What a sweep of a tile found."""

    #: H and E^ of the right edge, H and F^ of the bottom edge (None: it is not wanted).
    right: Sequence[Ints]
    bottom: Sequence[Ints] | None
    #: The highest score, and the best cells (score, row, column), of which the first counts.
    top: int
    best: Ints
    launches: int


class RowscanEngine(Engine):
    """Computes tiles on one OpenCL device, row by row.  Tiles with stored moves or forbidden pairs
    are the wavefront's, and those where opening a gap costs 2^20 or more."""

    plan: RowscanPlan

    def __init__(self, runtime: Runtime, plan: RowscanPlan) -> None:
        self.runtime, self.plan = runtime, plan
        self.watch = stopwatch(runtime.times)

    @cached_property
    def for_moves(self) -> WavefrontEngine:
        made = WavefrontEngine(self.runtime, default_plan(self.runtime))
        made.failures = self.failures
        return made

    def tile(self, job: TileJob, capacity: int = 0) -> TileResult:
        """Compute one tile.  ``capacity``: cells that are collected at most; 0: as the job asks."""
        wide = job.scoring.gap_open >> DIFFERENCE_BITS
        if job.store_moves or job.forbidden is not None or wide:
            return self.for_moves.tile(job, capacity)
        if job.rows or job.columns:
            return by_parts(self.tile, job, job.rows, job.columns)
        if job.best and job.count > 1 and not capacity:
            return collected(self.tile, job, self.plan.tuning.engine.least_hits)
        return persistently(self, partial(self._launched, job, capacity))

    def _launched(self, job: TileJob, capacity: int) -> TileResult:
        """The tile's result, by the form of the plan.  ``capacity``: 0: only the best cell."""
        (m, n), scoring = job.size, job.scoring
        score = scoring.source.file
        with Buffers(self.runtime, small=True) as buffers:
            values = {
                "query": buffers.of(job.query),
                "m": m,
                "n": n,
                "gap_open": scoring.gap_open,
                "gap_extend": scoring.gap_extend,
                "corner": job.corner,
                "least": least_of(job),
                "hits": room_for_cells(buffers, capacity),
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
            swept = sweep(plan, job, buffers, values, kernels)
            hits, reached = hits_of(swept.best, 1) if job.best else NO_HITS, 0
            if capacity:
                reached, cells = collected_cells(buffers, values["hits"], capacity)
                hits = hits_of(cells, job.count)
            self.peak_bytes = max(self.peak_bytes, buffers.bytes)
        return TileResult(
            None if swept.bottom is None else edge_of(job, *swept.bottom),
            edge_of(job, *swept.right),
            hits,
            swept.top if job.best else None,
            cells={f"rowscan/{plan.lane_set.family}/32": m * n},
            launches=swept.launches,
            reached=reached,
            execution=ByRows(self.plan),
        )


def _by_one_launch(
    plan: RowscanPlan, job: TileJob, buffers: Buffers, values: Values, kernels: list[BoundKernel]
) -> Swept:
    """Compute a tile in one launch.  ``values``: the arguments that all forms have."""
    (m, n), read = job.size, buffers.read
    segments, groups = -(-n // plan.segment), plan.groups_of(n)
    level = job.above.h.strides == job.above.x.strides == (0,)
    top = job.above.read(0, 1) if level else job.above
    words = np.zeros((2, m), np.uint64)
    words[0] = job.left.h.view(np.uint32)
    words[0] |= (job.left.h - job.left.x).astype(np.uint64) << np.uint64(32)
    asked: Values = {**plan.segments(shape_of(job)), "ticket": np.zeros(1, np.int32)}
    asked |= {"target": job.target, "top_h": top.h, "top_x": top.x, "columns": words}
    values |= buffers.several(asked)
    values |= {"level": int(level), "bottom": int(job.bottom), "segments": segments}
    bind(kernels[0], buffers, values)
    kernels[0].launch(groups, plan.lane_set.group(plan.T))
    h, x = read(values["columns"], 2 * m, 2 * m * (segments & 1)).reshape(m, 2).T
    if n % plan.segment == 0:  # a segment that is not cut short has H - E^ and a tag
        x = h - (x & np.int32((1 << DIFFERENCE_BITS) - 1))
    best = read(values["record"], RECORD_WORDS * groups).reshape(-1, RECORD_WORDS)
    below = [read(values[f"bottom_{name}"], n) for name in "hx"] if job.bottom else None
    return Swept((h, x), below, int(best[:, 3].max()), best[best[:, 1] < m], 1)


def _by_three_launches(
    plan: RowscanPlan, job: TileJob, buffers: Buffers, values: Values, kernels: list[BoundKernel]
) -> Swept:
    (m, n), read = job.size, buffers.read
    groups = -(-n // plan.segment)
    columns, portions = groups * plan.segment, -(-groups // plan.segment)
    above, extend = job.above, np.int32(job.scoring.gap_extend)
    level = above.x.strides == (0,)  # one number, repeated without memory
    first_f = repeated(int(above.x[0]) - int(extend), n) if level else above.x - extend
    letters = np.zeros(columns, np.uint8)
    letters[:n] = job.target
    asked: Values = plan.lines(shape_of(job)) | {"left_h": job.left.h, "left_x": job.left.x}
    best, totals = asked["best_score"] // 4, np.zeros(portions * plan.segment, np.int32)
    values |= buffers.several(asked | {"target": letters, "totals": totals})
    values["portions"] = portions
    for name, cells in (("h", above.h), ("f", first_f)):  # then columns that do not exist
        buffers.write(values[name], cells)
        buffers.write(values[name], repeated(UNREACHABLE, columns - n), 4 * n)
    buffers.write(values["best_score"], repeated(UNREACHABLE, best))
    for kernel in kernels:
        bind(kernel, buffers, values, later=("row", "last"))
    (sweep, scan, correction), before = kernels, None
    for row in range(m):  # few of them wait for the device
        sweep.bind(row=row).launch(groups, plan.T)
        scan.bind(row=row).launch(1, plan.T)
        often = (row + 1) % ROWS_AT_ONCE == 0
        last = correction.bind(row=row, last=int(job.bottom and row == m - 1))
        done = last.launch(groups, plan.T, at_once=often)
        if often:
            if before is not None:
                last.runtime.wait(before)
            before = done
    right = [read(values[name], m) for name in ("right_h", "right_x")]
    bottom = [read(values[name], n) for name in ("h", "f")] if job.bottom else None
    scores, *places = (read(values[f"best_{name}"], best) for name in ("score", "row", "column"))
    top = int(scores.max())
    found = np.stack([scores, *places], 1)[(scores == top) & (top >= values["least"])]
    return Swept(right, bottom, top, found, 3 * m)


#: The kernels in the order of their launches, and their arguments but for those of the scores.
KERNELS = {
    "rowscan_cells": (
        "query target n:int row:int gap_open:int gap_extend:int left_h corner:int right_x "
        "h f bare local_e totals"
    ),
    "rowscan_totals": "row:int gap_extend:int left_x totals portions:int hits filled",
    "rowscan_correction": (
        "n:int row:int gap_open:int gap_extend:int local_e totals bare h f last:int right_h "
        "right_x best_score best_row best_column least:int hits capacity:int filled"
    ),
}
_ARGUMENTS = (
    "query target m:int n:int gap_open:int gap_extend:int top_h top_x level:int columns corner:int "
    "bottom_h bottom_x bottom:int ticket segments:int record least:int hits capacity:int"
)
#: Each form: its file, its kernels with their arguments, and what runs them.
ONE = "rowscan/rowscan.cl", {"rowscan": _ARGUMENTS}, _by_one_launch
THREE = "rowscan/three_launches.cl", KERNELS, _by_three_launches
