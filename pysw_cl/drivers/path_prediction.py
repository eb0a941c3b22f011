"""Predicts where a path crosses special rows and columns, from their H alone.

Special rows and columns cut the matrix into grid cells.  A traceback enters a grid cell at its last
row or column and leaves it at its top or left edge, where the next one begins.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple, Protocol

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


class Lines(Protocol):
    """Special rows and columns, with grid cells between them."""

    def cell(self, row: int, column: int, tile: int = 0) -> Cell | None:
        """The grid cell around a cell of the matrix, in this tile or a later one."""

    def entry(self, cell: Cell, row: int, column: int) -> Entry:
        """Where a path to (row, column) probably enters the grid cell."""

    def h_at(self, row: int, column: int) -> int | None:
        """H of a cell of the matrix, if it is on a special row or column; else None."""


class SweptLines(Lines):
    """The special rows and columns of a sweep, up to the cell (rows, columns)."""

    grid: RestartPoints
    #: The score of a match.
    match: int
    #: The longest side of a grid cell.
    side: int
    #: Every so many cells of a special row or column are read.
    spacing: int

    def entry(self, cell: Cell, row: int, column: int) -> Entry:
        """See :class:`Lines`."""
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


class GridLines(SweptLines):
    """The special rows and columns of a sweep of the whole matrix."""

    grid: RestartGrid

    def __init__(
        self, grid: RestartGrid, rows: int, columns: int, match: int, spacing: int
    ) -> None:
        self.grid, self.match, self.spacing = grid, match, spacing
        self._rows = [0, *sorted(row for row in grid.rows if row < rows), rows]
        self._columns = [0, *sorted(column for column in grid.columns if column < columns), columns]
        self.side = int(max(*np.diff(self._rows), *np.diff(self._columns)))

    def cell(self, row: int, column: int, tile: int = 0) -> Cell | None:
        """See :class:`Lines`."""
        if row < 1 or column < 1:
            return None
        a, b = bisect_left(self._rows, row), bisect_left(self._columns, column)
        rows, columns = self._rows[a - 1 : a + 1], self._columns[b - 1 : b + 1]
        return Cell(0, Area(*rows, *columns))

    def h_at(self, row: int, column: int) -> int | None:
        """See :class:`Lines`."""
        if row in self.grid.rows:
            return self.grid.rows[row].h_at(column - 1)
        if column in self.grid.columns:
            return self.grid.columns[column].h_at(row - 1)
        return None


class BandLines(SweptLines):
    """The special rows of a sweep of a diagonal band."""

    grid: BandGrid

    def __init__(self, grid: BandGrid, rows: int, columns: int, match: int, spacing: int) -> None:
        self.grid, self.match, self.spacing = grid, match, spacing
        self._rows = [*(row for row in grid.places if row < rows), rows]
        self._most = columns
        areas = [self._area(k) for k in range(len(self._rows) - 1)]
        self.side = max(max(a.row_end - a.row, a.column_end - a.column) for a in areas)

    def _area(self, k: int) -> Area:
        """The part of the band between special row k and the next."""
        row, row_end = self._rows[k : k + 2]
        first, last = self.grid.band.spans[row]
        return Area(row, row_end, first, min(last, self._most))

    def cell(self, row: int, column: int, tile: int = 0) -> Cell | None:
        """See :class:`Lines`."""
        if row < 1:
            return None
        area = self._area(bisect_left(self._rows, row) - 1)
        return Cell(0, area) if area.column < column <= area.column_end else None

    def h_at(self, row: int, column: int) -> int | None:
        """See :class:`Lines`."""
        return self.grid.rows[row].h_at(column - 1) if row in self.grid.rows else None


def swept_lines(
    grid: RestartPoints, rows: int, columns: int, match: int, spacing: int
) -> SweptLines:
    """The special rows and columns of a sweep, up to the cell (rows, columns).  A match scores
    ``match``; every ``spacing``-th of their cells is read."""
    if isinstance(grid, BandGrid):
        return BandLines(grid, rows, columns, match, spacing)
    assert isinstance(grid, RestartGrid)
    return GridLines(grid, rows, columns, match, spacing)


class SetLines:
    """The special rows and columns of a tile batch, on the device."""

    def __init__(self, tiles: TileSet) -> None:
        self.tiles = tiles
        #: The tile that the path is in.
        self.at = 0

    def cell(self, row: int, column: int, tile: int = 0) -> Cell | None:
        """See :class:`Lines`."""
        steps = self.tiles.steps
        for k in range(tile, len(self.tiles.parts)):
            area = self.tiles.parts[k].area
            if area.row < row <= area.row_end and area.column < column <= area.column_end:
                r = area.row + (row - area.row - 1) // steps[0] * steps[0]
                c = area.column + (column - area.column - 1) // steps[1] * steps[1]
                return Cell(
                    k,
                    Area(
                        r,
                        min(r + steps[0], area.row_end),
                        c,
                        min(c + steps[1], area.column_end),
                    ),
                )
        return None

    def entry(self, cell: Cell, row: int, column: int) -> Entry:
        """See :class:`Lines`."""
        whole, area = self.tiles.parts[cell.tile].area, cell.area
        r, c = area.row - whole.row, area.column - whole.column
        a, b = r // self.tiles.steps[0], c // self.tiles.steps[1]
        above, before = self.tiles.entry_candidates[cell.tile, :, a, b].tolist()
        if above[0] >= before[0]:
            return Entry(area.row, min(area.column + above[1] + 1, column), above[2])
        return Entry(min(area.row + before[1] + 1, row), area.column, before[2])

    def h_at(self, row: int, column: int) -> int | None:
        """See :class:`Lines`."""
        rows, columns = self.tiles.steps
        for k, part in enumerate(self.tiles.parts):
            a = part.area
            inside = a.row <= row <= a.row_end and a.column <= column <= a.column_end
            on_row = (row - a.row) % rows == 0 and row < a.row_end and column > a.column
            on_column = (column - a.column) % columns == 0 and column < a.column_end and row > a.row
            if inside and (on_row or on_column):
                return self.tiles.h_at(k, row, column)
        return None
