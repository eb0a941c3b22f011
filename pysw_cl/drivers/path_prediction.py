"""Predicts where a path crosses special rows and columns, from their H alone.

Special rows and columns cut the matrix into grid cells.  A traceback enters a grid cell at its last
row or column and leaves it at its top or left edge, where the next one begins.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

import numpy as np

from ..tiles.contract import TileSet
from ..tiles.special_lines import RestartGrid, RestartPoints
from ..tiles.tile import Area
from .band_doubling import BandGrid


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


class SweptLines:
    """The special rows and columns of a sweep of the whole matrix, or the rows of one of a diagonal
    band, up to the cell (rows, columns).  A match scores ``match``; every ``spacing``-th of their
    cells is read."""

    def __init__(
        self, grid: RestartPoints, rows: int, columns: int, match: int, spacing: int
    ) -> None:
        assert isinstance(grid, BandGrid | RestartGrid)
        self.grid, self.match, self.spacing = grid, match, spacing
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

    def entry(self, cell: Cell, row: int, column: int) -> Entry:
        """Where a path to (row, column) probably enters the grid cell."""
        area, (top, left) = cell.area, self.grid.sides(cell.area)
        best, found = None, Entry(area.row, area.column, 0)
        for source, first, along, across in (
            (top, area.column, column - area.column, row - area.row),
            (left, area.row, row - area.row, column - area.column),
        ):
            h = source.read_h(first, first + along, self.spacing)
            places = np.arange(0, along, self.spacing)
            possible = h + self.match * np.minimum(across, along - 1 - places)
            at = int(possible.argmax())
            if best is None or possible[at] > best:
                best, place = possible[at], first + self.spacing * at + 1
                found = Entry(area.row, place, int(h[at]))
                if source is left:
                    found = Entry(place, area.column, int(h[at]))
        return found

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

    def cell(self, row: int, column: int, tile: int = 0) -> Cell | None:
        """See :class:`SweptLines`."""
        steps = self.tiles.steps
        for k in range(tile, len(self.tiles.parts)):
            area = self.tiles.parts[k].area
            if area.row < row <= area.row_end and area.column < column <= area.column_end:
                r = area.row + (row - area.row - 1) // steps[0] * steps[0]
                c = area.column + (column - area.column - 1) // steps[1] * steps[1]
                ends = min(r + steps[0], area.row_end), min(c + steps[1], area.column_end)
                return Cell(k, Area(r, ends[0], c, ends[1]))
        return None

    def entry(self, cell: Cell, row: int, column: int) -> Entry:
        """See :class:`SweptLines`."""
        whole, area = self.tiles.parts[cell.tile].area, cell.area
        r, c = area.row - whole.row, area.column - whole.column
        a, b = r // self.tiles.steps[0], c // self.tiles.steps[1]
        above, before = self.tiles.entry_candidates[cell.tile, :, a, b].tolist()
        if above[0] >= before[0]:
            return Entry(area.row, min(area.column + above[1] + 1, column), above[2])
        return Entry(min(area.row + before[1] + 1, row), area.column, before[2])

    def h_at(self, row: int, column: int) -> int | None:
        """See :class:`SweptLines`."""
        rows, columns = self.tiles.steps
        for k, part in enumerate(self.tiles.parts):
            a = part.area
            inside = a.row <= row <= a.row_end and a.column <= column <= a.column_end
            on_row = (row - a.row) % rows == 0 and row < a.row_end and column > a.column
            on_column = (column - a.column) % columns == 0 and column < a.column_end and row > a.row
            if inside and (on_row or on_column):
                return self.tiles.h_at(k, row, column)
        return None


Lines = SweptLines | SetLines
