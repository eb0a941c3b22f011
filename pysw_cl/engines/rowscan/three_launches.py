"""The row scan in its published form: three launches for each row of a tile.

Method: Khajeh-Saeed, Poole & Perot (2010, J Comput Phys 229, 4247-4258), with the work-efficient
scan (Blelloch 1990).  The kernels (cl/rowscan/three_launches.cl) say what each launch computes.
Unlike in the paper, gaps may have any length: the totals of work-groups are scanned, too.

Each launch reads and writes whole lines of 32-bit numbers, a work-item ``alpha`` neighbours at
once.  Bytes that a cell moves through global memory (``alpha`` R):

    launch      reads                         writes
    cells       letter 1, H 4, F 4            F 4, H~ 4, 4/R of E
    totals      4 a group                     4 a group
    correction  H~ 4, 4/R of E, 4 a group     H 4

That is 25 bytes and 8/R, and 16 for each group of R T columns (:func:`traffic_bytes`).  Where the
best cell is looked for, 4/R more are read.  For comparison with the rate at which a device copies
memory, divide by the seconds of the three kernels (`Engine.kernel_seconds`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, wait
from ...scoring.precision import UNREACHABLE
from ...tiles.edges import Ints, repeated
from ...tiles.tile import NO_HITS, TileJob, TileResult
from ..common import collected_cells, edge_of, hits_of, least_of, scored_spec, scores_of
from .plan import RowscanPlan

#: The kernels in the order of their launches, and their arguments; `rowscan_cells` also has those
#: of the scores.
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
#: Rows that are enqueued together.  No more than twice as many wait for the device.
ROWS_AT_ONCE = 64


def traffic_bytes(m: int, n: int, plan: RowscanPlan, best: bool = True) -> int:
    """Bytes that the launches of an m x n tile read from and write to global memory; ``best``: the
    best cell is looked for.  See the module for what is counted."""
    runs, groups = -(-n // plan.alpha), -(-n // plan.segment)
    return m * (25 * n + (12 if best else 8) * runs + 16 * groups)


class ThreeLaunches:
    """The computation of one tile: it begins when this is made, :meth:`result` waits for it.

    ``capacity``: at most so many cells of at least the job's threshold are collected; 0: only the
    best cell.
    """

    def __init__(
        self, runtime: Runtime, plan: RowscanPlan, job: TileJob, buffers: Buffers, capacity: int
    ) -> None:
        self.runtime, self.plan, self.job = runtime, plan, job
        self.buffers, self.capacity = buffers, capacity
        self._groups = -(-job.size[1] // plan.segment)
        self._least = least_of(job)
        #: The buffers that are read in the end.
        self._h, self._f = self._row_above()
        self._right = [buffers.empty(4 * job.size[0]) for _ in range(2)]
        self._hits = buffers.of(np.zeros(1 + 3 * capacity, np.int32))
        self._best = self._best_cells()
        kernels = self._kernels()
        buffers.send()
        self._launch(*kernels)

    def _row_above(self) -> tuple[Any, Any]:
        """H of the row above the tile, and F of its first row."""
        above, extend = self.job.above, np.int32(self.job.scoring.gap_extend)
        if above.x.strides == (0,):  # one number, repeated without memory
            f = repeated(int(above.x[0]) - int(extend), len(above))
        else:
            f = above.x - extend
        return self._line(above.h), self._line(f)

    def _line(self, cells: Ints) -> Any:
        """A line that begins with ``cells``; columns that do not exist are unreachable."""
        size = self._groups * self.plan.segment
        line = self.buffers.empty(4 * size)
        self.buffers.write(line, cells)
        self._fill(line, size - len(cells), 4 * len(cells))
        return line

    def _fill(self, line: Any, count: int, offset: int = 0) -> None:
        """Make ``count`` numbers from byte ``offset`` on unreachable."""
        if count:
            self.buffers.write(line, repeated(UNREACHABLE, count), offset)

    def _best_cells(self) -> list[Any]:
        """The score, row and column of each work-item's best cell; they are not used unless the
        best is looked for."""
        items = self._groups * self.plan.T if self.job.best else 1
        score, row, column = (self.buffers.empty(4 * items) for _ in range(3))
        self._fill(score, items)
        return [score, row, column]

    def _kernels(self) -> list[BoundKernel]:
        """The kernels, with all that is the same in each row."""
        job, plan, buffers = self.job, self.plan, self.buffers
        (_, n), scoring, columns = job.size, job.scoring, self._groups * plan.segment
        letters = np.zeros(columns, np.uint8)
        letters[:n] = job.target
        portions = -(-self._groups // plan.segment)
        score, scores = scores_of(scoring, buffers)
        values: dict[str, Any] = {
            "query": buffers.of(job.query),
            "target": buffers.of(letters),
            "n": n,
            "gap_open": scoring.gap_open,
            "gap_extend": scoring.gap_extend,
            "left_h": buffers.of(job.left.h),
            "left_x": buffers.of(job.left.x),
            "corner": job.corner,
            "right_h": self._right[0],
            "right_x": self._right[1],
            "h": self._h,
            "f": self._f,
            "bare": buffers.empty(4 * columns),
            "local_e": buffers.empty(4 * self._groups * plan.T),
            "totals": buffers.of(np.zeros(portions * plan.segment, np.int32)),
            "portions": portions,
            "best_score": self._best[0],
            "best_row": self._best[1],
            "best_column": self._best[2],
            "least": self._least,
            "hits": self._hits,
            "capacity": self.capacity,
            "filled": buffers.empty(4),
            **scores,
        }
        defines = {
            "T": plan.T,
            "R": plan.alpha,
            "LOCAL": int(job.floor is not None),
            "BEST": 2 if self.capacity else int(job.best),
            **scoring.source.defines,
        }
        made = []
        for name, arguments in KERNELS.items():
            about = "rowscan/three_launches.cl", arguments, plan.lane_set.wide, score
            spec = scored_spec(name, *about, scored=name == "rowscan_cells")
            kernel = BoundKernel(self.runtime, spec, defines)
            made.append(
                kernel.bind(**{key: values[key] for key in kernel.spec.places if key in values})
            )
        return made

    def _launch(self, cells: BoundKernel, totals: BoundKernel, correction: BoundKernel) -> None:
        """Enqueue all rows, and let few of them wait for the device."""
        m, T, before = self.job.size[0], self.plan.T, None
        for row in range(m):
            cells.bind(row=row).launch(self._groups, T)
            totals.bind(row=row).launch(1, T)
            last = int(self.job.bottom and row == m - 1)
            done = correction.bind(row=row, last=last).launch(self._groups, T)
            if (row + 1) % ROWS_AT_ONCE == 0:
                self.runtime.queue.flush()
                if before is not None:
                    wait(self.runtime, before)
                before = done

    def result(self) -> TileResult:
        """The tile's result, and how many cells reached the threshold."""
        job, read, (m, n) = self.job, self.buffers.read, self.job.size
        right = edge_of(job, *(read(part, m) for part in self._right))
        bottom = edge_of(job, read(self._h, n), read(self._f, n)) if job.bottom else None
        hits = NO_HITS
        top, found = None, 0
        if job.best:
            cells = np.stack([read(part, self._groups * self.plan.T) for part in self._best], 1)
            top = int(cells[:, 0].max())
            hits = hits_of(cells[cells[:, 0] == top], 1) if top >= self._least else NO_HITS
        if self.capacity:
            found, collected = collected_cells(self.buffers, self._hits, self.capacity)
            hits = hits_of(collected, job.count)
        kind = f"rowscan/{self.plan.lane_set.family}/32"
        return TileResult(bottom, right, hits, top, {kind: m * n}, 3 * m, reached=found)
