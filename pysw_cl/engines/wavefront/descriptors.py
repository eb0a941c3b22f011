"""The words of descriptors and records that the host and the kernels exchange, by name.

This is the one definition for both sides.  Kernels get the names as macros (:func:`macros`), in
front of their source files: word ``ROWS`` of `TileWord` is ``TILE_ROWS`` there, and ``TILE_WORDS``
is the number of words."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...planning.sizes import PROGRESS_WORDS, RECORD_WORDS


class TileWord(IntEnum):
    """64-bit words that describe a tile of a tile batch, or a section of a tile (ticketed.clh and
    tile_edges.cl in cl/wavefront).  Places count 32-bit numbers from the start of the buffer that
    holds the edges of all tiles."""

    #: Rows; in a tile batch whole strips.
    ROWS = 0
    COLUMNS = 1
    #: The first letter in the query.
    QUERY = 2
    #: The first letter in the target.
    TARGET = 3
    #: Place of the bus.
    BUS = 4
    #: 32-bit numbers in half a line of the bus (H, then F^).
    STRIDE = 5
    #: Place of the left edge: H of the corner and of the rows, then E^ of the rows; with padding.
    LEFT = 6
    #: Place of the special columns: for each, H of the rows, then E^.
    CROSSED = 7
    #: The number of special columns.
    KEPT = 8
    #: Strips of all tiles before it: where its strips begin in `progress`.
    FIRST = 9
    #: Where the moves begin, in 32-bit words.
    MOVES = 10
    #: The first letter in the target as narrow lanes read it.
    LETTERS = 11
    #: The most rows and columns between the last corner and the cell where a path leaves the tile.
    OFFSET = 12
    #: Of a section, the place of its right edge: H of the rows, then E^, both with the padding.
    RIGHT = 13


class SourceWord(IntEnum):
    """64-bit words: places of edges among another tile's special lines (tile_edges.cl)."""

    #: Places of the top edge's H and F^.
    TOP_H = 0
    TOP_X = 1
    #: Places of the left edge's H and E^.
    LEFT_H = 2
    LEFT_X = 3
    #: Place of the corner's H.
    CORNER = 4


class TracedWord(IntEnum):
    """64-bit words that describe a tile whose moves are stored (cl/traceback/traceback.cl)."""

    #: The upper left corner.  The first cell is one row below and one column to the right.
    ROW = 0
    COLUMN = 1
    #: Rows and columns of the tile.
    ROWS = 2
    COLUMNS = 3
    #: Where the moves begin, in 32-bit words.
    MOVES = 4


class StartWord(IntEnum):
    """32-bit words: a piece of the path of a traceback (cl/traceback/traceback.cl)."""

    #: The first of the tiles that it may lead through, and their number.
    FIRST = 0
    COUNT = 1
    #: The cell where it starts at first, in the coordinates of the corners, its state there, and
    #: 0; in the order of `FoundWord`.
    ROW = 2
    COLUMN = 3
    STATE = 4
    ENDED = 5
    #: Where its `FoundWord` are, in 32-bit words, and its moves, in bytes.
    RESULT = 6
    PATH = 7


class FoundWord(IntEnum):
    """32-bit words: the result of a traceback through tiles (cl/traceback/traceback.cl).  Behind
    them follow, for each tile, the row, column and state with which the path entered it and the
    moves made before (-1: it did not)."""

    #: The last cell, in the coordinates of the corners, and the state there.
    ROW = 0
    COLUMN = 1
    STATE = 2
    #: 1: the path ended there.
    ENDED = 3
    #: The number of moves.
    MADE = 4
    #: The first four words of where it was traced from.
    FROM = 5


FOUND_WORDS = 9


class RecordWord(IntEnum):
    """32-bit words: what a work-group (or a warp of it) did (cl/wavefront/best.clh)."""

    #: The best cell.
    SCORE = 0
    ROW = 1
    COLUMN = 2
    #: The highest score.
    TOP = 3
    #: Columns of strips, as 64-bit numbers: swept in 8, 16 and 32 bits, pruned, and swept in
    #: blocks that outgrew the narrowest lanes.
    COLUMNS8 = 4
    COLUMNS16 = 6
    COLUMNS32 = 8
    PRUNED = 10
    AGAIN = 12


class ProgressWord(IntEnum):
    """32-bit words of a line of `progress` where groups share strips (strip_sync.clh in
    cl/wavefront): one line for each strip, and another one for all."""

    #: Columns done.  (For all: a number that lets any strip begin.)
    COLUMNS = 0
    #: 0: no group has the strip; 1: one has; 2: it is done.
    HELD = 1
    #: The step at which it goes on.
    STEP = 2
    #: For all: the number of strips done.
    DONE = 3


def descriptors(count: int, words: Mapping[TileWord, Any]) -> NDArray[np.int64]:
    """A row of `TileWord` for each of so many tiles; words that are not given are 0."""
    tiles = np.zeros((count, len(TileWord)), np.int64)
    for word, values in words.items():
        tiles[:, word] = values
    return tiles


#: The line of a tile's bus that holds its top edge, after the two lines of ordinary strips.
#: Special rows follow.
TOP_LINE = 2


def macros(prefix: str, words: type[IntEnum], size: int | None = None) -> tuple[str, ...]:
    """The macros that name ``words`` in a kernel, as items of `KernelSpec.files`."""
    named = [f"{prefix}_{word.name}={word.value}" for word in words]
    return (*named, f"{prefix}_WORDS={len(words) if size is None else size}")


TILE_MACROS = (*macros("TILE", TileWord), f"TOP_LINE={TOP_LINE}")
SOURCE_MACROS = macros("SOURCE", SourceWord)
TRACE_MACROS = (
    *macros("TRACED", TracedWord),
    *macros("START", StartWord),
    *macros("FOUND", FoundWord, FOUND_WORDS),
)
PROGRESS_MACROS = macros("PROGRESS", ProgressWord, PROGRESS_WORDS)
RECORD_MACROS = macros("RECORD", RecordWord, RECORD_WORDS)
