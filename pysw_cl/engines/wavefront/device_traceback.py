"""Tracebacks over moves that are stored in device memory (cl/traceback/traceback.cl)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InternalError
from ...opencl.buffers import Buffers, RetainedBuffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, KernelSpec, wait
from ...tiles.edges import Ints
from ...tiles.tile import Traced
from .descriptors import TRACE_MACROS, FoundWord, TracedWord
from .tile import TileRun

TRACE = KernelSpec(
    "traceback",
    ("base.clh", *TRACE_MACROS, "traceback/traceback.cl"),
    tuple("moves tiles count:int row:int column:int state:int linear:int found".split()),
)
#: Bytes of a result before the entries into tiles and the moves.
PLACE_BYTES = 4 * len(FoundWord)


#: What waits for a traceback and returns its result; see `begin_traceback`.
Found = Callable[[], tuple[Traced, int, Ints]]


def traceback_defines(runtime: Runtime, T: int, alpha: int) -> dict[str, int]:
    """The kernel's macros for moves that ``T`` lanes of ``alpha`` rows stored."""
    group = min(runtime.traits.traceback_group_size, int(runtime.device.max_work_group_size))
    return {"T": T, "R": alpha, "TRACEBACK_GROUP_SIZE": group}


def begin_traceback(
    runtime: Runtime,
    defines: dict[str, int],
    moves: Any,
    tiles: NDArray[np.int64],
    linear: bool,
    start: tuple[int, int, int],
    buffers: Buffers,
    aside: Buffers,
    most_moves: int | None = None,
) -> tuple[Any, Found]:
    """Enqueue a traceback through tiles in one launch; returns its event, and what waits for it.

    ``defines``: see :func:`traceback_defines`.  ``moves``: the buffer with the moves of all tiles.
    ``tiles``: a row of `TracedWord` for each, in the order in which a path meets them; corners are
    not negative.  ``linear``: have gaps no opening cost?  ``start``: row, column and state of the
    first cell, in the coordinates of the corners (state: see
    :class:`pysw_cl.tiles.tile.StoredMoves`).  The traceback starts in the first tile that has the
    cell, and goes on in the next tile of the list that has the cell where it left the last one.
    ``buffers`` hold its memory until it is done; ``aside`` reads the result, on the same queue or
    another.  ``most_moves``: of the path; None: the rows and columns before the start.

    The result: the path, with the place that it came to; the index of the tile where it ended, or
    the number of tiles if no later one has the cell; for each tile the row, column and state with
    which the path entered it and the moves made before, or -1 if it did not.
    """
    row, column, state = start
    tiles = np.ascontiguousarray(tiles, np.int64).reshape(-1, len(TracedWord))
    head = PLACE_BYTES + 16 * len(tiles)
    size = head + (row + column if most_moves is None else most_moves)
    found, table = buffers.empty(size), buffers.of(tiles)
    kernel = BoundKernel(runtime, TRACE, defines)
    kernel.bind(moves=moves, tiles=table, count=len(tiles), row=row, column=column, state=state)
    kernel.bind(linear=int(linear), found=found)
    buffers.write(found, np.full(4 * len(tiles), -1, np.int32), PLACE_BYTES)
    buffers.send()
    done = kernel.launch(1, defines["TRACEBACK_GROUP_SIZE"], at_once=aside is not buffers)

    def traced() -> tuple[Traced, int, Ints]:
        if aside is not buffers:
            wait(runtime, done)
        items = aside.read(found, size, dtype=np.uint8)
        row, column, state, ended, made, tile = items[:PLACE_BYTES].view(np.int32).tolist()
        trace = Traced(items[head:][:made].copy(), row, column, state, bool(ended))
        return trace, tile, items[PLACE_BYTES:head].view(np.int32).reshape(-1, 4)

    return done, traced


class DeviceMoves:
    """The stored moves of one tile in device memory (4 bits a cell), which are traced there."""

    def __init__(self, run: TileRun, retained: RetainedBuffers):
        self._runtime, self._retained, self._grid = run.runtime, retained, run.grid
        self._dirs, self._linear = run.made["moves"], run.job.scoring.gap_open == 0
        self._defines = traceback_defines(run.runtime, run.grid.T, run.grid.alpha)

    def trace(self, row: int, column: int, state: int) -> Traced:
        m, n = self._grid.m, self._grid.n
        if not (0 < row <= m and 0 < column <= n):
            raise InternalError(f"traceback from ({row}, {column}) outside {m} x {n}")
        tiles = np.array([[0, 0, m, n, 0]], np.int64)
        moves = self._runtime, self._defines, self._dirs, tiles, self._linear
        with Buffers(self._runtime, small=True) as buffers:
            return begin_traceback(*moves, (row, column, state), buffers, buffers)[1]()[0]

    def release(self) -> None:
        """Give the device memory back."""
        moves, self._dirs = self._dirs, None
        if moves is not None:
            self._retained.give(moves)
