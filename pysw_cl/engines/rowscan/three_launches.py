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

That is 25 bytes and 8/R, and 16 for each group of R T columns (`bench/rowscan.py` compares it with
the rate at which a device copies memory).  Where the best cell is looked for, 4/R more are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, wait
from ...scoring.precision import UNREACHABLE
from ...tiles.edges import Ints, repeated
from ...tiles.tile import TileJob
from ..common import bind
from .plan import RowscanPlan

#: Arguments of kernels by their names.
Values = dict[str, Any]

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
#: Rows that are enqueued together.  No more than twice as many wait for the device.
ROWS_AT_ONCE = 64


class Swept(NamedTuple):
    """What a sweep of a tile found."""

    #: H and E^ of the right edge, H and F^ of the bottom edge (None: it is not wanted).
    right: Sequence[Ints]
    bottom: Sequence[Ints] | None
    #: The highest score, and the best cells, of which the first in row-major order counts: score,
    #: row, column.
    top: int
    best: Ints
    launches: int


def sweep(
    runtime: Runtime,
    plan: RowscanPlan,
    job: TileJob,
    buffers: Buffers,
    values: Values,
    kernels: list[BoundKernel],
) -> Swept:
    """Compute a tile by three ``kernels``.  ``values``: the arguments that all forms have."""
    (m, n), read = job.size, buffers.read
    groups = -(-n // plan.segment)
    columns, items, portions = groups * plan.segment, groups * plan.T, -(-groups // plan.segment)
    above, extend = job.above, np.int32(job.scoring.gap_extend)
    if above.x.strides == (0,):  # one number, repeated without memory
        first_f = repeated(int(above.x[0]) - int(extend), n)
    else:
        first_f = above.x - extend
    letters = np.zeros(columns, np.uint8)
    letters[:n] = job.target

    def line(cells: Ints, size: int) -> Any:
        """A line that begins with ``cells``; columns that do not exist are unreachable."""
        made = buffers.empty(4 * size)
        buffers.write(made, cells)
        if size > len(cells):
            buffers.write(made, repeated(UNREACHABLE, size - len(cells)), 4 * len(cells))
        return made

    best = items if job.best else 1
    values |= {
        "target": buffers.of(letters),
        "left_h": buffers.of(job.left.h),
        "left_x": buffers.of(job.left.x),
        "right_h": buffers.empty(4 * m),
        "right_x": buffers.empty(4 * m),
        "h": line(above.h, columns),
        "f": line(first_f, columns),
        "bare": buffers.empty(4 * columns),
        "local_e": buffers.empty(4 * items),
        "totals": buffers.of(np.zeros(portions * plan.segment, np.int32)),
        "portions": portions,
        "best_score": line(repeated(UNREACHABLE, best), best),
        "best_row": buffers.empty(4 * best),
        "best_column": buffers.empty(4 * best),
        "filled": buffers.empty(4),
    }
    for kernel in kernels:
        bind(kernel, buffers, values, later=("row", "last"))
    _launch(runtime, kernels, m, groups, plan.T, job.bottom)
    right = [read(values[name], m) for name in ("right_h", "right_x")]
    bottom = [read(values[name], n) for name in ("h", "f")] if job.bottom else None
    cells = [read(values[f"best_{name}"], best) for name in ("score", "row", "column")]
    top = int(cells[0].max())
    found = np.stack(cells, 1)[(cells[0] == top) & (top >= values["least"])]
    return Swept(right, bottom, top, found, 3 * m)


def _launch(
    runtime: Runtime, kernels: list[BoundKernel], m: int, groups: int, T: int, bottom: bool
) -> None:
    """Enqueue all rows, and let few of them wait for the device."""
    (cells, totals, correction), before = kernels, None
    for row in range(m):
        cells.bind(row=row).launch(groups, T)
        totals.bind(row=row).launch(1, T)
        done = correction.bind(row=row, last=int(bottom and row == m - 1)).launch(groups, T)
        if (row + 1) % ROWS_AT_ONCE == 0:
            runtime.queue.flush()
            if before is not None:
                wait(runtime, before)
            before = done
