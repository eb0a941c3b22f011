"""The work that a comparison has left, in cells that take as long to sweep.

Pruned cells take no time, so their number is no measure of it.  A local sweep computes a cell if
the best path through it may still reach the best score.  That score probably goes on rising as it
did, which says about how many cells of the rest are pruned.  The work of a traceback follows from
the grid cells that its path probably runs through (`path_prediction`).

Nothing here changes a result.
"""

from __future__ import annotations

from math import isqrt

import numpy as np

from ..planning.path_grid import grid_places, most_pieces
from ..planning.plan import Plan
from ..tiles.contract import Engine
from ..tiles.special_lines import RestartPoints
from ..tiles.sweep import Swept
from ..tiles.tile import Area, Hit
from .path_prediction import swept_lines
from .problem import Problem

#: A cell with stored moves takes at most as long as so many cells of a sweep.
MOST_SLOWER = 25
#: A cell that is swept again for a path takes as long as so many cells of the first sweep: grid
#: cells are small, and their scores mostly need 16 bits.  Of 2 CPU cores.
AGAIN = 1.8
#: Points a side at which a part of the matrix is looked at.
POINTS = 48
#: Pruned cells, as a share of the matrix, from which on the sweep tells how well pruning works.
LEAST_SKIPPED = 0.005


def path_work(engine: Engine, plan: Plan, m: int, n: int, between: int = 0) -> int:
    """The work of a traceback from corner to corner, before anything is known of it.

    Special rows with ``between`` rows between them (0: as many as a sweep keeps in memory) and
    special columns cut the matrix into grid cells.  Those on the way are swept again, up to where
    the path enters them, and tiles with moves follow the path."""
    tuning = plan.tuning.traceback
    most = most_pieces(tuning, m, n)
    rows, columns = (grid_places(tuning, side, 1, most)[1] for side in (m, n))
    rows = between or rows
    cells = max(m, n) * (rows + columns) / 2
    if _is_large(engine, plan, rows, columns):
        return int(AGAIN * cells + _traced(plan, m, n))
    # tiles with moves end where the path leaves them, which is a third less on average
    return int(min(_traced(plan, m, n), MOST_SLOWER * cells * 2 / 3))


def _is_large(engine: Engine, plan: Plan, rows: int, columns: int) -> bool:
    """Is a grid cell swept again for a path, because its moves take too much memory?"""
    return rows * columns > plan.traceback_tile_cells and engine.tile_batches is None


def _traced(plan: Plan, rows: int, columns: int) -> float:
    """The work of tiles with moves along a path through so many rows and columns."""
    return min(plan.traced_row * min(rows, columns), MOST_SLOWER * rows * columns)


class SweepForecast:
    """How much of a sweep is left to compute.

    ``prunes``: are cells skipped that cannot matter?  ``known``: the best score that is known
    before the sweep, 0 for none; ``best``: the best cell that earlier runs of it found.
    """

    def __init__(
        self,
        problem: Problem,
        prunes: bool,
        known: int = 0,
        best: Hit | None = None,
    ) -> None:
        self.m, self.n = len(problem.query), len(problem.target)
        #: Cells computed so far, and about how many of the tiles that are being computed.
        self.computed, self.underway = 0, 0.0
        #: The share of the last tile's cells that were computed.
        self._share = 1.0
        self._local, self._prunes = problem.mode == "local", prunes
        self._match = max(1, problem.scoring.highest)
        self._extend = problem.scoring.gap_extend
        #: The best score, its cell, and where the sweep is.
        self._score, self._at = max(0, known), Area(0, 0, 0, self.n)
        self._best = best
        if best is not None:
            self._score = max(self._score, best.score)
        #: Cells that were skipped, and those that could have been by the rule below.
        self._skipped, self._skippable = 0.0, 0.0
        self._before = 0

    @property
    def work(self) -> float:
        """What was done so far, in cells that take as long as most."""
        return self.computed + self.underway

    def add(self, swept: Swept, first_row: int = 0) -> None:
        """A tile is done, or some are underway.  ``first_row``: the row where the sweep begins."""
        if swept.area is not None:
            self._add(swept, swept.area.down(first_row), first_row)
        self.underway = swept.underway * self._share

    def _add(self, swept: Swept, area: Area, first_row: int) -> None:
        """A tile is done."""
        delta = swept.computed - self._before
        self._before = swept.computed
        self.computed += delta
        self._at, self._share = area, min(1.0, delta / max(1, area.cells))
        if swept.best is not None and swept.best.score >= self._score:
            best = swept.best
            self._score, self._best = best.score, Hit(best.score, first_row + best.row, best.column)
        self._skipped += max(0, area.cells - delta)
        if self._local and self._prunes:
            self._skippable += area.cells - self._live(area, self._score, 0.0, 12)

    def restart(self) -> None:
        """Another sweep goes on where this one ended: what it computes is counted anew."""
        self._before = 0

    def left(self, done: int) -> float:
        """The cells left to compute, of which ``done`` in all are done."""
        cells = self.m * self.n
        if not self._prunes or done >= cells:
            return float(cells - done)
        if not self._local:
            return min(cells - done, self._left_in_band(done / self.n))
        rise, at = self._rise, self._at
        parts = (
            Area(at.row, at.row_end, at.column_end, self.n),
            Area(max(at.row_end, done // self.n), self.m, 0, self.n),
        )
        live = sum(self._live(part, self._score, rise, POINTS) for part in parts if part.cells > 0)
        rest = max(0, cells - done)
        works = 1.0
        if self._skippable > LEAST_SKIPPED * cells:
            works = min(1.0, self._skipped / self._skippable)
        return min(rest, rest - works * (rest - min(rest, live)))

    def _left_in_band(self, row: float) -> float:
        """The cells that a global comparison has left to compute from this row on.  What it prunes
        leaves a band of even width along the diagonal, which is found from what is computed."""
        if row < 1 or not self.computed:
            return self.m * self.n - row * self.n
        slope, narrow, wide = self.n / self.m, 0.0, float(self.n)

        def cells(half: float, rows: float) -> float:
            """The cells of the band in its first rows."""
            middle = slope * (np.arange(POINTS) + 0.5) * rows / POINTS
            widths = np.minimum(self.n, middle + half) - np.maximum(0, middle - half)
            return float(widths.mean() * rows)

        for _ in range(20):
            half = (narrow + wide) / 2
            if cells(half, row) < self.computed + self.underway:
                narrow = half
            else:
                wide = half
        return cells(wide, self.m) - cells(wide, row)

    @property
    def final(self) -> float:
        """The best score that the sweep will probably find."""
        return min(
            self._score + self._rise * (self.m - self._row), self._match * min(self.m, self.n)
        )

    def again(self) -> float:
        """The cells that a sweep of as large a matrix computes that is pruned by `final`."""
        if not (self._local and self._prunes):
            return float(self.m * self.n)
        whole = Area(0, self.m, 0, self.n)
        return self._live(whole, self.final, 0.0, POINTS, path=False)

    @property
    def path_share(self) -> float:
        """The share of a path from corner to corner that the path will probably have."""
        if not self._local:
            return 1.0
        most = self._match * min(self.m, self.n)
        return min(1.0, 1.3 * self.final / most + 0.02)

    @property
    def _row(self) -> int:
        """The row up to which the best score is known."""
        return self._at.row_end if self._at.column_end == self.n else self._at.row

    @property
    def _rise(self) -> float:
        """By how much the best score rises in a row."""
        best = self._best
        if best is None:
            return 0.0
        return min(float(self._match), best.score / max(1, best.row, self._at.row))

    def _live(self, area: Area, score: float, rise: float, points: int, path: bool = True) -> float:
        """The cells of ``area`` that are not pruned while the best score is ``score`` at its first
        row and rises by ``rise`` a row.

        A cell is computed if H and a match for each row or column left reach the best score.  H is
        that of the best path, less a gap to the cell; elsewhere it is next to nothing.
        """
        rows, columns = area.row_end - area.row, area.column_end - area.column
        steps = (np.arange(points) + 0.5) / points
        i = (area.row + rows * steps)[:, None]
        j = (area.column + columns * steps)[None, :]
        best = score + rise * (i - area.row)
        possible = self._match * np.minimum(self.m - i, self.n - j)
        if path and self._best is not None:
            beside = j - (self._best.column + (i - self._best.row))
            slope = np.where(beside > 0, self._extend, self._extend + rise)
            possible = possible + np.maximum(0, best - slope * np.abs(beside))
        return float(np.mean(possible >= best)) * rows * columns


class PathForecast:
    """The work of a traceback from ``end``, by the grid cells that it probably runs through."""

    def __init__(
        self, engine: Engine, plan: Plan, problem: Problem, grid: RestartPoints, end: Hit
    ) -> None:
        self._letters, works = [end.row + end.column], []
        match, spacing = max(0, problem.scoring.highest), plan.tuning.speculation.spacing
        row, column = end.row, end.column
        if row and column:
            lines = swept_lines(grid, row, column, match, spacing)
            while (cell := lines.cell(row, column)) is not None and row and column:
                area, entry = cell.area, lines.entry(cell, row, column)
                rows, columns = row - area.row, column - area.column
                traced = _traced(plan, max(1, row - entry.row), max(1, column - entry.column))
                large = _is_large(engine, plan, rows, columns)
                works.append(traced + (AGAIN * rows * columns if large else 0))
                row, column = entry.row, entry.column
                self._letters.append(row + column)
                if problem.floor is not None and entry.h <= 0:
                    break
        if len(self._letters) == 1:
            self._letters.append(0)
            works.append(_traced(plan, end.row, end.column))
        #: Work left at each of these places, from the start of the path on.
        self._left = np.concatenate([[0.0], np.cumsum(works[::-1])])
        self._letters.reverse()

    def left(self, row: int, column: int) -> float:
        """The work left when the path is traced back to this cell."""
        return float(np.interp(row + column, self._letters, self._left))


def band_path_work(plan: Plan, m: int, n: int, cells: int) -> float:
    """The work of a traceback in a band of ``cells`` cells."""
    again = cells / 2 if cells > isqrt(plan.traceback_tile_cells) * max(m, n) else 0
    return again + _traced(plan, m, n)


class TopForecast:
    """The work of further alignments of a matrix, each by its score."""

    #: Letters of each side for each match of the score.
    LETTERS = 1.5
    #: Columns of grid tiles that are computed again for a row of a path: what changes spreads.
    TILES = 10
    #: An alignment takes this much beside its cells, for launches and the host.  Of 2 CPU cores.
    EACH = 2e8

    def __init__(self, plan: Plan, problem: Problem) -> None:
        m, n = len(problem.query), len(problem.target)
        tuning, self._match = plan.tuning.traceback, max(1, problem.scoring.highest)
        self._most, self._row = min(m, n), plan.traced_row
        rows, columns = (grid_places(tuning, side, 1)[1] for side in (m, n))
        self._tile, self._columns = float(rows * columns), columns
        self._each = min(self.EACH, m * n / 4)

    def work(self, score: int) -> float:
        """The work of an alignment with this score."""
        letters = min(self._most, self.LETTERS * score / self._match)
        again = letters * (min(self._row, self._most) + self.TILES * self._columns)
        return self._tile + self._each + again

    @property
    def each(self) -> float:
        """The work of any alignment beside its cells."""
        return self._each
