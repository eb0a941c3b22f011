"""Words of what host and kernels tell each other, by name: one definition for both sides.

Kernels get these names as macros (:func:`macros`), which are joined in front of their files: word
``ROWS`` of `TileWord` is ``TILE_ROWS`` there, and ``TILE_WORDS`` is how many there are.
"""

from __future__ import annotations

from enum import IntEnum


class TileWord(IntEnum):
    """64-bit words that describe a tile of a tile batch (wavefront.cl and tile_edges.cl in
    cl/wavefront).  Places
    count 32-bit numbers from the start of the buffer that keeps the edges of all."""

    #: Its rows, whole strips; its columns.
    ROWS = 0
    COLUMNS = 1
    #: Where its letters begin in the query; in the target.
    QUERY = 2
    TARGET = 3
    #: Place of its bus; numbers of a half of one line of it (H, then F^).
    BUS = 4
    STRIDE = 5
    #: Place of its left edge: H of the corner and of its rows, then E^ of its rows.
    LEFT = 6
    #: Place of its special columns: H, then E^ of its rows for each; how many there are.
    CROSSED = 7
    KEPT = 8
    #: Strips of the tiles before it: where its strips begin in `progress`.
    FIRST = 9
    #: Where its moves begin, in 32-bit words.
    MOVES = 10
    #: Where its letters begin in the target as narrow lanes read it.
    LETTERS = 11
    #: Rows and columns at most from its last corner to where a path leaves it.
    OFFSET = 12


class SourceWord(IntEnum):
    """64-bit words that say where the edges of a tile lie in another tile's
    (cl/wavefront/tile_edges.cl)."""

    #: Places of H and F^ along its top.
    TOP_H = 0
    TOP_X = 1
    #: Places of H and E^ along its left side.
    LEFT_H = 2
    LEFT_X = 3
    #: Place of its corner's H.
    CORNER = 4


class TracedWord(IntEnum):
    """64-bit words that describe a tile whose moves are kept (cl/traceback/traceback.cl)."""

    #: Its upper left corner: its cells begin a row below and a column after it.
    ROW = 0
    COLUMN = 1
    #: Its rows; its columns.
    ROWS = 2
    COLUMNS = 3
    #: Where its moves begin, in 32-bit words.
    MOVES = 4


class FoundWord(IntEnum):
    """32-bit words of what a traceback through tiles found (cl/traceback/traceback.cl).  For
    each tile the row,
    column and state follow with which the path came there and the moves that it had made, then all
    moves, a byte each."""

    #: The place that it came to, numbered as corners are, and the state there.
    ROW = 0
    COLUMN = 1
    STATE = 2
    #: Did the path end there?
    ENDED = 3
    #: How many moves it made.
    MADE = 4
    #: The tile where it ended; the number of tiles where no later one has the cell that it came to.
    TILE = 5


class RecordWord(IntEnum):
    """32-bit words of what a work-group (or warp) says of its work (cl/wavefront/best.clh)."""

    #: Its best cell.
    SCORE = 0
    ROW = 1
    COLUMN = 2
    #: The highest score that it saw.
    TOP = 3
    #: Columns of strips that it swept in 8, 16 and 32 bits, and that it pruned: 64-bit numbers.
    COLUMNS8 = 4
    COLUMNS16 = 6
    COLUMNS32 = 8
    PRUNED = 10


#: Of a tile's bus: the line that holds its top edge.  Special rows follow, two lines come before.
TOP_LINE = 2
#: 32-bit words of a record.
RECORD_WORDS = 12


def macros(prefix: str, words: type[IntEnum], size: int | None = None) -> tuple[str, ...]:
    """What names ``words`` in a kernel, for the files that it is joined from."""
    named = [f"{prefix}_{word.name}={word.value}" for word in words]
    return (*named, f"{prefix}_WORDS={len(words) if size is None else size}")


TILE_MACROS = (*macros("TILE", TileWord), f"TOP_LINE={TOP_LINE}")
SOURCE_MACROS = macros("SOURCE", SourceWord)
TRACE_MACROS = (*macros("TRACED", TracedWord), *macros("FOUND", FoundWord))
RECORD_MACROS = macros("RECORD", RecordWord, RECORD_WORDS)
