"""Predicts where a path crosses special rows and columns, from their H alone.

They cut the matrix into grid cells.  A traceback leaves each at its top or left edge."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..scoring.precision import UNREACHABLE_BELOW
from ..scoring.scoring import Scoring
from ..tiles.edges import Ints
from ..tiles.special_lines import RestartGrid, RestartPoints
from ..tiles.tile import Area
from .band_doubling import BandGrid

if TYPE_CHECKING:
    from ..engines.wavefront.tile_batch_layout import TileSet

Places = NDArray[np.int64]
#: Tiles from a path's on that may have a cell beside it.
BESIDE = 4
#: Of long special lines about so many cells are read for a grid cell.
READ = 1024
#: A width above 0 that is none.
TINY = 1e-9


def similarity(rate: Any, match: int) -> Any:
    """How alike sequences are where each row and column of their path adds ``rate`` to H, from 0
    (it does not grow) to 1 (all letters match); of an array, of each."""
    return np.clip(2 * rate / match, 0, 1) if match else 0 * rate


def rate_of(h: Any, before: Any, letters: Any, match: int, extend: int) -> Any:
    """What each of so many rows and columns of a path adds to H, from ``before`` to ``h``; of a
    path of matches, if ``h`` is not known.  Of arrays, of each."""
    gained = match / 2 if h is None else (h - before) / np.maximum(1, letters)
    return np.clip(gained, -float(extend), match / 2)


def promise(down: Any, across: int, rate: float, match: int, extend: int) -> Any:
    """What a path probably gains on its way over so many rows ``down`` and columns ``across``.

    Each row and column adds ``rate``, and each more of the one than of the other costs a letter of
    a gap.  Where sequences are not alike, a path goes a little aside for less: many ways score
    nearly the same there."""
    total, lean = down + across, abs(down - across)
    wide = total * ((1 - similarity(rate, match)) / 4) + TINY
    near = np.minimum(lean, wide)
    cost = lean - near * (1 - near / (2 * wide))
    return rate * total - (rate + extend) * cost


class SweptLines:
    """The special rows and columns of a sweep of the whole matrix, or the rows of one of a diagonal
    band, up to the cell (rows, columns).  At most every ``spacing``-th of their cells is read."""

    def __init__(
        self, grid: RestartPoints, rows: int, columns: int, scoring: Scoring, spacing: int
    ) -> None:
        assert isinstance(grid, BandGrid | RestartGrid)
        self.grid = grid
        self.match, self.extend = max(0, scoring.highest), scoring.gap_extend
        self._rows = np.array([0, *sorted(row for row in grid.rows if row < rows), rows])
        inner = sorted(column for column in grid.columns if column < columns)
        self._columns = np.array([0, *inner, columns])
        #: The columns of the grid cells below each row of a band; else they end at special columns.
        self._spans: Places | None = None
        if isinstance(grid, BandGrid):
            spans = [grid.band.spans[row] for row in self._rows[:-1].tolist()]
            self._spans = np.minimum(np.array(spans), columns)
        widths = np.diff(self._columns if self._spans is None else self._spans).ravel()
        #: The longest side of a grid cell.
        self.side = int(max(*np.diff(self._rows), *widths))
        self.spacing = max(spacing, self.side // READ)

    def cells(self, places: Places, tiles: Places) -> Places:
        """For each cell of the matrix (row, column) the grid cell around it: its tile, the given
        one or one of the next, or -1 if there is none, and its `Area`."""
        rows, columns = places.T
        a, b = self._rows.searchsorted(rows), self._columns.searchsorted(columns)
        spans = np.stack([self._columns[b - 1], self._columns[b]], axis=1)
        first, last = (spans if self._spans is None else self._spans[a - 1]).T
        there = (rows > 0) & (first < columns) & (columns <= last)
        return np.column_stack([there - 1, self._rows[a - 1], self._rows[a], first, last])

    def way(self, row: int, column: int, h: int | None, tile: int, most: int) -> Places:
        """Through which grid cells, ``most`` of them, a path to (row, column), with this H if it is
        known, probably leads, one after the other backward: a row of `cells` for each, in ``tile``
        or later ones, and behind it the row, column and H of the cell before the grid cell."""
        found = list[Any]()
        while len(found) < most and (h is None or h >= UNREACHABLE_BELOW):
            cell = self.cells(np.array([[row, column]]), np.zeros(1, np.int64))[0].tolist()
            if cell[0] < 0:
                break
            row, column, h = self._entry(Area(*cell[1:]), row, column, h)
            found.append((*cell, row, column, h))
        return np.array(found, np.int64).reshape(-1, 8)

    def _entry(self, area: Area, row: int, column: int, h: int | None) -> tuple[int, int, int]:
        """Where a path to (row, column), with this H if it is known, probably enters a cell."""
        down, across = row - area.row, column - area.column
        diagonal, found = min(down, across), []
        above, beside = self.grid.sides(area)
        top = above.read_h(area.column, column, self.spacing)
        left = beside.read_h(area.row, row, self.spacing)
        # the rate is that of a path that came straight, from where H was read near there
        edge, at = (top, across - diagonal) if down == diagonal else (left, down - diagonal)
        known = h if diagonal > 1 else None
        before = int(edge[max(0, at - 1) // self.spacing])
        rate = rate_of(known, before, 2 * diagonal, self.match, self.extend)
        sides = (top, area.column, across, down), (left, area.row, down, across)
        for values, first, along, aside in sides:
            rest = np.arange(along - 1, -1, -self.spacing, dtype=np.float64)
            possible = values + promise(rest, aside, rate, self.match, self.extend)
            at = int(possible.argmax())
            place = first + self.spacing * at + 1
            corner = (area.row, place) if values is top else (place, area.column)
            found.append((float(possible[at]), (*corner, int(values[at]))))
        return max(found, key=itemgetter(0))[1]

    def h_at(self, row: int, column: int) -> int | None:
        """H of a cell of the matrix, if it is on a special row or column; else None."""
        if row in self.grid.rows:
            return self.grid.rows[row].h_at(column - 1)
        return self.grid.columns[column].h_at(row - 1) if column in self.grid.columns else None


class SetLines:
    """The special rows and columns of a tile batch, on the device, as `SweptLines` has them."""

    def __init__(self, tiles: TileSet) -> None:
        self.tiles = tiles
        #: The tile that the path is in.
        self.at = 0
        self._areas = np.array([part.area for part in tiles.parts]).reshape(-1, 2, 2)
        #: What waits for what was asked for last, by what that is.
        self._asked = dict[Any, Callable[[], Ints]]()

    def cells(self, places: Places, tiles: Places) -> Places:
        near = np.minimum(tiles[:, None] + np.arange(BESIDE), len(self._areas) - 1)
        corners, ends = np.moveaxis(self._areas[near], -1, 0)
        holds = ((places[:, None] > corners) & (places[:, None] <= ends)).all(axis=2)
        this = np.arange(len(places)), holds.argmax(axis=1)
        corners, ends, steps = corners[this], ends[this], np.array(self.tiles.steps)
        starts = corners + (places - corners - 1) // steps * steps
        areas = np.stack([starts, np.minimum(starts + steps, ends)], axis=2).reshape(-1, 4)
        return np.column_stack([np.where(holds[this], near[this], -1), areas])

    def ask(self, row: int, column: int, tile: int, most: int) -> None:
        """Begin to look for a way that is probably wanted next."""
        self._asked = {(row, column, tile, most): self.tiles.entries(tile, row, column, most)}

    def way(self, row: int, column: int, h: int | None, tile: int, most: int) -> Places:
        if (row, column, tile, most) not in self._asked:
            self.ask(row, column, tile, most)
        found = self._asked.pop((row, column, tile, most))().astype(np.int64)
        places = np.vstack([[(row, column)], found[:, 1:3]])[:-1]
        return np.column_stack([self.cells(places, found[:, 0]), found[:, 1:]])

    def h_at(self, row: int, column: int) -> int | None:
        rows, columns = self.tiles.steps
        for k, part in enumerate(self.tiles.parts):
            area = part.area
            on_row = area.holds(row + 1, column) and (row - area.row) % rows == 0
            on_column = area.holds(row, column + 1) and (column - area.column) % columns == 0
            if on_row or on_column:
                return self.tiles.h_at(k, row, column)
        return None


Lines = SweptLines | SetLines
