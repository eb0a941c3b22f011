"""Tracebacks over moves that are stored in device memory (cl/traceback/traceback.cl)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InternalError
from ...opencl.buffers import Buffers, RetainedBuffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, KernelSpec, wait
from ...tiles.contract import Part
from ...tiles.edges import Ints
from ...tiles.tile import Traced
from .descriptors import TRACE_MACROS, FoundWord, TracedWord
from .tile import TileRun

TRACE = KernelSpec(
    "traceback",
    ("base.clh", *TRACE_MACROS, "traceback/traceback.cl"),
    tuple("moves table starts first:int linear:int found".split()),
)


class Start(NamedTuple):
    """Where a path is traced from: row, column and state (see
    :class:`pysw_cl.tiles.tile.StoredMoves`) of a cell, in the coordinates of the corners; and the
    tiles that it may lead through, from ``first`` to before ``last``."""

    row: int
    column: int
    state: int
    first: int
    last: int
    #: The start of an earlier launch whose path this one goes on with, whatever its cell is.
    after: int = -1


#: A path, with the place that it came to; the index of the tile where it ended, or the number of
#: its tiles if no later one has the cell; for each of them the row, column and state with which the
#: path entered it and the moves made before, or -1 if it did not.
Found = tuple[Traced, int, Ints]


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
    starts: list[Start],
    buffers: Buffers,
    aside: Buffers,
) -> tuple[Any, Callable[[], list[Found]]]:
    """Enqueue tracebacks through tiles; returns the last event, and what waits for it and gives
    what each found.

    ``defines``: see :func:`traceback_defines`.  ``moves``: the buffer with the moves of all tiles.
    ``tiles``: a row of `TracedWord` for each, in the order in which a path meets them; corners are
    not negative.  ``linear``: have gaps no opening cost?  ``starts``: those that go on with others
    come last, in a launch of their own.  A traceback starts in the first of its tiles that has the
    cell, and goes on in the next one that has the cell where it left the last.  ``buffers`` hold
    its memory until it is done; ``aside`` reads the result, on the same queue or another.
    """
    tiles = np.ascontiguousarray(tiles, np.int64).reshape(-1, len(TracedWord))
    corners = tiles[:, TracedWord.ROW] + tiles[:, TracedWord.COLUMN]
    ends = corners + tiles[:, TracedWord.ROWS] + tiles[:, TracedWord.COLUMNS]
    heads = np.cumsum([0, *(len(FoundWord) + 4 * (one.last - one.first) for one in starts)])
    lengths = list[int]()
    for row, column, _, first, last, after in starts:
        end = row + column if after < 0 else ends[first:last].max()
        lengths.append(end - corners[first:last].min(initial=end))
    paths = 4 * heads[-1] + np.cumsum([0, *lengths])
    table = [
        [first, last - first, row, column, state, -1 if after < 0 else heads[after], head, path]
        for (row, column, state, first, last, after), head, path in zip(
            starts, heads, paths, strict=False
        )
    ]
    found = buffers.empty(int(paths[-1]))
    kernel = BoundKernel(runtime, TRACE, defines).bind(moves=moves, table=buffers.of(tiles))
    kernel.bind(starts=buffers.of(np.array(table, np.int32)), linear=int(linear), found=found)
    buffers.write(found, np.full(heads[-1], -1, np.int32), 0)
    buffers.send()
    at_once, first = aside is not buffers, sum(one.after < 0 for one in starts)
    done = kernel.bind(first=0).launch(first, defines["TRACEBACK_GROUP_SIZE"], at_once)
    if first < len(starts):
        kernel.bind(first=first)
        done = kernel.launch(len(starts) - first, defines["TRACEBACK_GROUP_SIZE"], at_once)

    def traced() -> list[Found]:
        if aside is not buffers:
            wait(runtime, done)
        items = aside.read(found, int(paths[-1]), dtype=np.uint8)
        results = list[Found]()
        for head, end, path in zip(heads, heads[1:], paths, strict=False):
            words = items[4 * head : 4 * end].view(np.int32)
            row, column, state, ended, made, tile = words[: len(FoundWord)].tolist()
            trace = Traced(items[path : path + made].copy(), row, column, state, bool(ended))
            results.append((trace, tile, words[len(FoundWord) :].reshape(-1, 4)))
        return results

    return done, traced


def pieces_of(parts: list[Part], start: tuple[int, int, int], piece: int) -> list[Start]:
    """Pieces of a path, of ``piece`` tiles each, that are traced side by side.

    All but the first start where the path probably comes to their first tile.  From wherever they
    start, they meet the path before long.  So where they end is right, and all but the first are
    traced again from where the one before ended.
    """
    known = {k: (*part.start, 0) for k, part in enumerate(parts) if part.start is not None}
    known[0] = start
    wanted = range(0, len(parts) - piece // 2, piece) or [0]
    places = (next((k for k in range(at, len(parts)) if k in known), 0) for at in wanted)
    cuts = sorted(set(places))
    guessed = [
        Start(*known[first], first, last)
        for first, last in zip(cuts, [*cuts[1:], len(parts)], strict=True)
    ]
    return [*guessed, *(one._replace(after=k) for k, one in enumerate(guessed[1:]))]


def joined(found: list[Found], tiles: int) -> tuple[Traced, Ints]:
    """The path that pieces of it make (`pieces_of`), as far as each begins where the one before
    ended, and its entries into the ``tiles``."""
    count = (len(found) + 1) // 2
    trace, _, entries = found[0]
    moves, made = [trace.moves], len(trace.moves)
    whole, filled = np.full((tiles, 4), -1, np.int32), len(entries)
    whole[:filled] = entries
    for (guess, *_), (piece, _, own) in zip(found[: count - 1], found[count:], strict=True):
        if trace.ended or (guess.row, guess.column, guess.state) != (
            trace.row,
            trace.column,
            trace.state,
        ):
            break
        part = whole[filled : filled + len(own)]
        part[:] = own
        part[own[:, 3] >= 0, 3] += made
        moves.append(piece.moves)
        filled, made, trace = filled + len(own), made + len(piece.moves), piece
    return replace(trace, moves=np.concatenate(moves)), whole


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
            start = Start(row, column, state, 0, 1)
            return begin_traceback(*moves, [start], buffers, buffers)[1]()[0][0]

    def release(self) -> None:
        """Give the device memory back."""
        moves, self._dirs = self._dirs, None
        if moves is not None:
            self._retained.give(moves)
