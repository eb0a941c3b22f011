"""Tracebacks over moves that are stored in device memory (cl/traceback/traceback.cl)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InternalError
from ...opencl.buffers import Buffers, RetainedBuffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, KernelSpec
from ...tiles.contract import Part
from ...tiles.edges import Ints
from ...tiles.tile import Traced
from .descriptors import FOUND_WORDS, TRACE_MACROS, FoundWord, TracedWord
from .tile import TileRun

TRACE = KernelSpec(
    "traceback",
    ("base.clh", *TRACE_MACROS, "traceback/traceback.cl"),
    tuple("moves table starts turn:int linear:int found".split()),
)
#: Paths of one tile are traced at once if they have so few moves, or one.
PATHS = 1 << 26


class Start(NamedTuple):
    """Where a piece of a path is traced from at first: row, column and state (see
    :class:`pysw_cl.tiles.tile.StoredMoves`) of a cell, in the coordinates of the corners; and the
    tiles that it may lead through, from ``first`` to before ``last``."""

    row: int
    column: int
    state: int
    first: int
    last: int


#: A path, with the place that it came to, and for each of the tiles the row, column and state with
#: which the path entered it and the moves made before, or -1 if it did not.
Found = tuple[Traced, Ints]


def traceback_defines(runtime: Runtime, T: int, alpha: int) -> dict[str, int]:
    """The kernel's macros for moves that ``T`` lanes of ``alpha`` rows stored."""
    group = min(runtime.traits.traceback_group_size, int(runtime.device.max_work_group_size))
    return {"T": T, "R": alpha, "TRACEBACK_GROUP_SIZE": group}


def begin_pieces(
    runtime: Runtime,
    defines: dict[str, int],
    moves: Any,
    tiles: NDArray[np.int64],
    linear: bool,
    starts: list[Start],
    buffers: Buffers,
    aside: Buffers,
    turns: int = 1,
) -> Callable[[], list[Found]]:
    """Enqueue the tracebacks of pieces of a path, or of paths of their own; returns what waits for
    them and gives each, of its tiles alone.

    All pieces are traced side by side.  From wherever they start, they meet the path before long,
    so where they end is probably right.  They are traced again from where those before ended, in
    as many ``turns`` as there are pieces; most turns find that nothing has changed.

    ``defines``: see :func:`traceback_defines`.  ``moves``: the buffer with the moves of all tiles.
    ``tiles``: a row of `TracedWord` for each, in the order in which a path meets them; corners are
    not negative.  ``linear``: have gaps no opening cost?  ``starts``: of the path's pieces, the
    first of which is right.  It starts in the first of its tiles that has the cell, and goes on in
    the next one that has the cell where it left the last.  ``buffers`` hold the memory until it is
    done; ``aside`` reads the result, on the same queue or another."""
    tiles = np.ascontiguousarray(tiles, np.int64).reshape(-1, len(TracedWord))
    corners = tiles[:, TracedWord.ROW] + tiles[:, TracedWord.COLUMN]
    ends = corners + tiles[:, TracedWord.ROWS] + tiles[:, TracedWord.COLUMNS]
    sizes = [FOUND_WORDS + 4 * (one.last - one.first) for one in starts]
    heads = 2 * np.cumsum([0, *sizes])
    lengths = list[int]()
    for row, column, _, first, last in starts:
        end = max(row + column, ends[first:last].max(initial=0))
        lengths.append(end - corners[first:last].min(initial=end))
    paths = 4 * heads[-1] + np.cumsum([0, *lengths])
    table = [
        [first, last - first, row, column, state, 0, head, path]
        for (row, column, state, first, last), head, path in zip(starts, heads, paths, strict=False)
    ]
    found = buffers.empty(int(paths[-1]))
    kernel = BoundKernel(runtime, TRACE, defines).bind(moves=moves, table=buffers.of(tiles))
    kernel.bind(starts=buffers.of(np.array(table, np.int32)), linear=int(linear), found=found)
    buffers.send()
    at_once, group = aside is not buffers, defines["TRACEBACK_GROUP_SIZE"]
    for turn in range(turns):
        left = len(starts) - turn
        done = kernel.bind(turn=turn).launch(left, group, at_once and left == 1)

    def pieces() -> list[Found]:
        if aside is not buffers:
            runtime.wait(done)
        items, each = aside.read(found, int(paths[-1]), dtype=np.uint8), list[Found]()
        for k, size in enumerate(sizes):
            last = min(k, turns - 1) % 2
            words = items[4 * (heads[k] + last * size) :][: 4 * size].view(np.int32)
            row, column, state, ended, made = words[: FoundWord.MADE + 1].tolist()
            traced = Traced(items[paths[k] :][:made], row, column, state, bool(ended))
            each.append((traced, words[FOUND_WORDS:].reshape(-1, 4)))
        return each

    return pieces


def one_path(found: list[Found], starts: list[Start], tiles: int) -> Found:
    """The path through so many tiles whose pieces, with these starts, were ``found``."""
    whole, made = np.full((tiles, 4), -1, np.int32), 0
    for one, (traced, entries) in zip(starts, found, strict=True):
        entries[entries[:, 3] >= 0, 3] += made
        whole[one.first : one.last] = entries
        made += len(traced.moves)
    every = np.concatenate([one.moves for one, _ in found])
    return replace(found[-1][0], moves=every), whole


def pieces_of(parts: list[Part], start: tuple[int, int, int], piece: int) -> list[Start]:
    """Pieces of a path, of ``piece`` tiles each: all but the first start where the path probably
    comes to their first tile."""
    known = {k: (*part.start, 0) for k, part in enumerate(parts) if part.start is not None}
    known[0] = start
    wanted = range(0, len(parts) - piece // 2, piece) or [0]
    places = (next((k for k in range(at, len(parts)) if k in known), 0) for at in wanted)
    cuts = sorted(set(places))
    return [
        Start(*known[first], first, last)
        for first, last in zip(cuts, [*cuts[1:], len(parts)], strict=True)
    ]


class DeviceMoves:
    """The stored moves of one tile in device memory (4 bits a cell), which are traced there."""

    def __init__(self, run: TileRun, retained: RetainedBuffers):
        self._runtime, self._retained, self._grid = run.runtime, retained, run.grid
        self._dirs, self._linear = run.made["moves"], run.job.scoring.gap_open == 0
        self._defines = traceback_defines(run.runtime, run.grid.T, run.grid.alpha)

    def trace(self, row: int, column: int, state: int) -> Traced:
        return self._traced([Start(row, column, state, 0, 1)])[0]

    def each(self, cells: Sequence[tuple[int, int]]) -> list[Traced]:
        starts, found = [Start(*cell, 0, 0, 1) for cell in cells], list[Traced]()
        at_once = max(1, PATHS // (self._grid.m + self._grid.n))
        while len(found) < len(cells):
            found += self._traced(starts[len(found) :][:at_once])
        return found

    def _traced(self, starts: Sequence[Start]) -> list[Traced]:
        m, n = self._grid.m, self._grid.n
        for row, column, *_ in starts:
            if not (0 < row <= m and 0 < column <= n):
                raise InternalError(f"traceback from ({row}, {column}) outside {m} x {n}")
        tiles = np.array([[0, 0, m, n, 0]], np.int64)
        moves = self._runtime, self._defines, self._dirs, tiles, self._linear
        with Buffers(self._runtime, small=True) as buffers:
            return [traced for traced, _ in begin_pieces(*moves, [*starts], buffers, buffers)()]

    def release(self) -> None:
        moves, self._dirs = self._dirs, None
        if moves is not None:
            self._retained.give(moves)
