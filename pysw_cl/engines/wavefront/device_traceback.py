"""Paths walked back over moves that are kept in device memory (cl/traceback/traceback.cl)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InternalError
from ...opencl.buffers import Buffers, RetainedBuffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, KernelSpec, wait
from ...tiles.tile import Traced
from .descriptors import TRACE_MACROS, FoundWord, TracedWord
from .tile import TileRun

TRACE = KernelSpec(
    "traceback",
    ("base.clh", *TRACE_MACROS, "traceback/traceback.cl"),
    tuple("moves tiles count:int row:int column:int state:int linear:int found".split()),
)
#: What a walk finds before its moves, and before where it came into tiles.
PLACE_BYTES = 4 * len(FoundWord)


class RunningTraceback(NamedTuple):
    """A walk that was enqueued: its event, and what waits for it and returns what it found."""

    event: Any
    found: Callable[[], tuple[Traced, int, NDArray[np.int32]]]


def traceback_defines(runtime: Runtime, T: int, alpha: int) -> dict[str, int]:
    """What the kernel is built with for moves that were kept by ``T`` lanes of ``alpha`` rows."""
    strip_groups = min(runtime.traits.traceback_group_size, int(runtime.device.max_work_group_size))
    return {"T": T, "R": alpha, "TRACEBACK_GROUP_SIZE": strip_groups}


@dataclass(frozen=True)
class TiledMoves:
    """Moves of many tiles that are kept in device memory.

    ``defines``: see :func:`traceback_defines`.  ``dirs``: the buffer that holds the moves.
    ``tiles``: a row of `TracedWord` for each, one at least, in the order that a path comes to them,
    corners at 0 or more.  ``linear``: gaps have no opening cost.
    """

    runtime: Runtime
    defines: dict[str, int]
    dirs: Any
    tiles: NDArray[np.int64]
    linear: bool

    def trace(
        self, start: tuple[int, int, int], most_moves: int | None = None
    ) -> tuple[Traced, int, NDArray[np.int32]]:
        """Walk back through the tiles in one launch: see :meth:`begin`; this waits for it."""
        with Buffers(self.runtime, small=True) as buffers:
            return self.begin(start, buffers, buffers, most_moves).found()

    def begin(
        self,
        start: tuple[int, int, int],
        buffers: Buffers,
        aside: Buffers,
        most_moves: int | None = None,
    ) -> RunningTraceback:
        """Enqueue a walk back through the tiles in one launch, in ``buffers`` that live until it is
        done; ``aside``: what reads them then, of the same queue or another.

        ``start``: row, column and state of the cell that the walk starts from, counted as the
        corners are (state: see :class:`pysw_cl.tiles.contract.StoredMoves`).  It starts in the
        first tile that has the cell, and where it leaves a tile it goes on in the next one in the
        list that has the cell it comes to.  ``most_moves``: no path in these tiles has more; None:
        rows and columns that lie before the start.

        Found are the walk, its place counted as the corners are, and the tile where the path ended,
        or the number of tiles where no later one has the cell that it came to; and for each tile
        the row, column and state with which the path came there and how many moves it had made,
        which is -1 where it did not.
        """
        runtime, (row, column, state) = self.runtime, start
        tiles = np.ascontiguousarray(self.tiles, np.int64).reshape(-1, len(TracedWord))
        head = PLACE_BYTES + 16 * len(tiles)
        size = head + (row + column if most_moves is None else most_moves)
        found, table = buffers.empty(size), buffers.of(tiles)
        kernel = BoundKernel(runtime, TRACE, self.defines)
        kernel.bind(
            moves=self.dirs, tiles=table, count=len(tiles), row=row, column=column, state=state
        )
        kernel.bind(linear=int(self.linear), found=found)
        buffers.write(found, np.full(4 * len(tiles), -1, np.int32), PLACE_BYTES)
        buffers.send()
        done = kernel.launch(1, self.defines["TRACEBACK_GROUP_SIZE"], at_once=aside is not buffers)

        def traced() -> tuple[Traced, int, NDArray[np.int32]]:
            if aside is not buffers:
                wait(runtime, done)
            items = aside.read(found, size, dtype=np.uint8)
            row, column, state, ended, made, tile = items[:PLACE_BYTES].view(np.int32).tolist()
            trace = Traced(items[head:][:made].copy(), row, column, state, bool(ended))
            return trace, tile, items[PLACE_BYTES:head].view(np.int32).reshape(-1, 4)

        return RunningTraceback(done, traced)


class DeviceMoves:
    """A tile's moves in device memory (4 bits a cell), walked there."""

    def __init__(self, run: TileRun, room: RetainedBuffers):
        self._runtime, self._dirs, self._room = run.runtime, run.dirs, room
        self._defines = traceback_defines(run.runtime, run.grid.T, run.grid.alpha)
        self._m, self._n = run.grid.m, run.grid.n
        self._linear = run.job.scoring.gap_open == 0

    def trace(self, row: int, column: int, state: int) -> Traced:
        """See :class:`pysw_cl.tiles.contract.StoredMoves`."""
        if not (0 < row <= self._m and 0 < column <= self._n):
            raise InternalError(f"walk from ({row}, {column}) outside {self._m} x {self._n}")
        tiles = np.array([[0, 0, self._m, self._n, 0]], np.int64)
        moves = TiledMoves(self._runtime, self._defines, self._dirs, tiles, self._linear)
        return moves.trace((row, column, state))[0]

    def release(self) -> None:
        """Give the device memory back."""
        dirs, self._dirs = self._dirs, None
        if dirs is not None:
            self._room.give(dirs)
