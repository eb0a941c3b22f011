"""Predicts where a path crosses special rows and columns, from their H alone.

They cut the matrix into grid cells.  A traceback leaves each at its top or left edge.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..scoring.scoring import Scoring
from ..tiles.special_lines import RestartGrid, RestartPoints
from ..tiles.tile import Area
from .band_doubling import BandGrid

if TYPE_CHECKING:
    from ..engines.wavefront.tile_batch_layout import TileSet

Floats = NDArray[np.float64]
#: Entries that a device looks for at once.
AHEAD = 32
#: A width above 0 that is none.
TINY = 1e-9


class Cell(NamedTuple):
    """A grid cell that a path may run through."""

    #: The tile that it is part of.
    tile: int
    #: Its area, as far as it was computed.
    area: Area


class Entry(NamedTuple):
    """Where a forward path probably enters a grid cell: the matrix cell before it, and its H."""

    row: int
    column: int
    h: int


def similarity(rate: float, match: int) -> float:
    """How alike sequences are where each row and column of their path adds ``rate`` to H, from 0
    (it does not grow) to 1 (all letters match)."""
    return min(1.0, max(0.0, 2 * rate / match)) if match else 0.0


def rate_of(h: int | None, before: int, letters: int, match: int, extend: int) -> float:
    """What each of so many rows and columns of a path adds to H, from ``before`` to ``h``; of a
    path of matches, if ``h`` is not known."""
    gained = match / 2 if h is None else (h - before) / max(1, letters)
    return min(match / 2, max(-float(extend), gained))


def promise(down: Floats, across: int, rate: float, match: int, extend: int) -> Floats:
    """What a path probably gains on its way over so many rows ``down`` and columns ``across``.

    Each row and column adds ``rate``, and each more of the one than of the other costs a letter of
    a gap.  Where sequences are not alike, a path goes a little aside for less: many ways score
    nearly the same there.
    """
    total, lean = down + across, abs(down - across)
    wide = total * ((1 - similarity(rate, match)) / 4) + TINY
    near = np.minimum(lean, wide)
    cost = lean - near * (1 - near / (2 * wide))
    gain: Floats = rate * total - (rate + extend) * cost
    return gain


class SweptLines:
    """The special rows and columns of a sweep of the whole matrix, or the rows of one of a diagonal
    band, up to the cell (rows, columns).  Every ``spacing``-th of their cells is read."""

    def __init__(
        self, grid: RestartPoints, rows: int, columns: int, scoring: Scoring, spacing: int
    ) -> None:
        assert isinstance(grid, BandGrid | RestartGrid)
        self.grid, self.spacing = grid, spacing
        self.match, self.extend = max(0, scoring.highest), scoring.gap_extend
        #: The spans of a band by row; None: cells end at special columns.
        self._band = grid.band.spans if isinstance(grid, BandGrid) else None
        self._down = {} if isinstance(grid, BandGrid) else grid.columns
        self._rows = [0, *sorted(row for row in grid.rows if row < rows), rows]
        self._columns = [0, *sorted(column for column in self._down if column < columns), columns]
        widths = np.diff(self._columns)
        if self._band is not None:
            widths = np.array([b - a for a, b in map(self._span, self._rows[:-1])])
        #: The longest side of a grid cell.
        self.side = int(max(*np.diff(self._rows), *widths))

    def _span(self, row: int, column: int = 1) -> tuple[int, int]:
        """The columns of the grid cell below a special row that has this column."""
        if self._band is not None:
            first, last = self._band[row]
            return first, min(last, self._columns[-1])
        b = bisect_left(self._columns, column)
        return self._columns[b - 1], self._columns[b]

    def cell(self, row: int, column: int, tile: int = 0) -> Cell | None:
        """The grid cell around a cell of the matrix, in this tile or a later one."""
        if row < 1 or column < 1:
            return None
        a = bisect_left(self._rows, row)
        first, last = self._span(self._rows[a - 1], column)
        area = Area(self._rows[a - 1], self._rows[a], first, last)
        return Cell(0, area) if first < column <= last else None

    def entry(self, cell: Cell, row: int, column: int, h: int | None) -> Entry:
        """Where a path to (row, column), with this H if it is known, probably enters the cell."""
        area, (top, left) = cell.area, self.grid.sides(cell.area)
        down, across = row - area.row, column - area.column
        diagonal = min(down, across)  # the rate is that of a path that came straight
        edge, at = (top, column - diagonal) if down == diagonal else (left, row - diagonal)
        known = h if diagonal > 1 and at else None
        before = 0 if known is None else edge.h_at(at - 1)
        rate = rate_of(known, before, 2 * diagonal, self.match, self.extend)
        found = []
        for edge, first, along, beside in (
            (top, area.column, across, down),
            (left, area.row, down, across),
        ):
            values = edge.read_h(first, first + along, self.spacing)
            rest = np.arange(along - 1, -1, -self.spacing, dtype=np.float64)
            possible = values + promise(rest, beside, rate, self.match, self.extend)
            at = int(possible.argmax())
            place = first + self.spacing * at + 1
            corner = (area.row, place) if edge is top else (place, area.column)
            found.append((float(possible[at]), Entry(*corner, int(values[at]))))
        return max(found, key=itemgetter(0))[1]

    def h_at(self, row: int, column: int) -> int | None:
        """H of a cell of the matrix, if it is on a special row or column; else None."""
        if row in self.grid.rows:
            return self.grid.rows[row].h_at(column - 1)
        return self._down[column].h_at(row - 1) if column in self._down else None


class SetLines:
    """The special rows and columns of a tile batch, on the device."""

    def __init__(self, tiles: TileSet) -> None:
        self.tiles = tiles
        #: The tile that the path is in.
        self.at = 0
        #: The entries that are known, by the tile and the cell of the matrix that a path goes to.
        self._known: dict[tuple[int, int, int], Entry] = {}

    def cell(self, row: int, column: int, tile: int = 0) -> Cell | None:
        """See :class:`SweptLines`."""
        steps = self.tiles.steps
        for k in range(tile, len(self.tiles.parts)):
            area = self.tiles.parts[k].area
            if area.holds(row, column):
                r = area.row + (row - area.row - 1) // steps[0] * steps[0]
                c = area.column + (column - area.column - 1) // steps[1] * steps[1]
                ends = min(r + steps[0], area.row_end), min(c + steps[1], area.column_end)
                return Cell(k, Area(r, ends[0], c, ends[1]))
        return None

    def entry(self, cell: Cell, row: int, column: int, h: int | None) -> Entry:
        """See :class:`SweptLines`."""
        if (cell.tile, row, column) not in self._known:
            before = row, column
            for tile, *entry in self.tiles.entries(cell.tile, row, column, AHEAD):
                self._known[(tile, *before)] = found = Entry(*entry)
                before = found.row, found.column
        return self._known[cell.tile, row, column]

    def h_at(self, row: int, column: int) -> int | None:
        """See :class:`SweptLines`."""
        rows, columns = self.tiles.steps
        for k, part in enumerate(self.tiles.parts):
            area = part.area
            on_row = area.holds(row + 1, column) and (row - area.row) % rows == 0
            on_column = area.holds(row, column + 1) and (column - area.column) % columns == 0
            if on_row or on_column:
                return self.tiles.h_at(k, row, column)
        return None


Lines = SweptLines | SetLines
