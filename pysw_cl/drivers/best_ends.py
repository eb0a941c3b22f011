"""The best cells of a local comparison: where alignments end, exactly, in order.

Method: kernel 1 of SSCA#1 (Bader et al. 2006), which asks for the k best end points of
Smith-Waterman, with a least distance between two of them (Khajeh-Saeed & Perot 2011, GPU Computing
Gems, chapter 13).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..planning.plan_fields import tile_shape
from ..tiles.contract import Engine
from ..tiles.graph import Progress
from ..tiles.sweep import sweep
from ..tiles.tile import NO_HITS, Area, Cells, Want
from .problem import Problem

#: The least score is guessed from this share of the target, if that has so many cells.
SHARE, LEAST_CELLS = 64, 1 << 20
#: So many cells are looked at together; those that are left then, one by one.
BLOCK = 1 << 12
#: A table of the cells that are left has so many rows and columns at most, or as many cells.
MOST = 1 << 13
#: No two cells are so far apart.
FARTHEST = 1 << 40
#: So many cells may always be held at once.
HELD = 1 << 21
#: So many cells of a tile are looked at together.
TILE = 1 << 20


def best_ends(
    engine: Engine,
    problem: Problem,
    count: int,
    separation: int,
    least: int,
    progress: Progress | None = None,
) -> Cells:
    """The ``count`` best cells of a local comparison, by falling score and then row-major, of those
    that score at least ``least``.

    With a ``separation`` s above 0, a cell is left out if both its row and its column are less than
    s from those of a cell before it that is kept.  ``progress(done, total)`` is told of sweeps of
    the whole matrix.  A sweep gives the best cells, as many as are held at once, that were not
    looked at and are not near a cell that is kept; a further one follows if too few are apart.
    """
    m, n = problem.shape
    separation = min(separation, FARTHEST)
    if separation > 1:  # a square of so many rows and columns has one
        count = min(count, -(-m // separation) * -(-n // separation))
    count = min(count, m * n)
    if separation > 1 and m * n <= 16 * HELD:  # few of so few cells may be apart
        last, kept, left = [FARTHEST, 0, 0], NO_HITS.some, True
    else:
        wanted = count if separation <= 1 else min(4 * count, m * n)
        found = _best(engine, problem, wanted, least, progress)
        kept, left = apart(found, count, separation), len(found) == wanted
        last = found[-1].tolist() if left else []
    guess, wanted = least, max(4 * count, HELD)
    while left and len(kept) < count:
        among = _Left(last, kept, separation)
        want = Want("all", wanted, guess, among=among)
        found = _collected(engine, problem, want, least, progress)
        kept, left = apart(found, count, separation, kept), len(found) == wanted
        if left:  # the next ones probably span no more scores than twice as many
            last, first = found[-1].tolist(), int(found[0, 0])
            guess = max(least, 3 * last[0] - 2 * first)
    return kept


def apart(cells: Cells, count: int, separation: int, kept: Cells = NO_HITS.some) -> Cells:
    """Cells that are ``kept``, and sorted ``cells`` after them, up to ``count``, of which no two
    are nearer than ``separation``, where the distance is the greater one of rows and columns."""
    if separation <= 1:  # different cells are 1 apart
        return cells[:count]
    near, start = separation - 1, 0
    while start < len(cells) and len(kept) < count:
        low, high = cells[start:, 1:].min(axis=0), cells[start:, 1:].max(axis=0) + 1
        whole = math.prod((high - low).tolist()) <= MOST**2
        some = cells[start : None if whole else start + MOST]
        start += len(some)
        if whole:
            sides = [np.arange(*ends) for ends in zip(low, high, strict=True)]
        else:
            sides = [np.unique(side) for side in some[:, 1:].T]
        found = _apart(some, sides, kept, near, count - len(kept))
        kept = np.concatenate([kept, some[found]])
    return kept


def _apart(
    cells: Cells, sides: list[NDArray[Any]], kept: Cells, near: int, count: int
) -> list[int]:
    """The numbers of the first ``count`` cells that are not ``near`` one that is kept, or one
    before them that is found.

    A table of some rows and columns (``sides``), those of the cells among them, says what is
    left."""
    (top, bottom), (first, last) = (_ranges(side, side, near) for side in sides)
    free = np.ones([len(side) for side in sides], np.bool_)
    before = [_ranges(side, kept[:, k], near) for k, side in enumerate(sides, 1)]
    for a, b, c, d in zip(*before[0], *before[1], strict=True):
        free[a:b, c:d] = False
    found: list[int] = []
    flat, width = free.reshape(-1), len(sides[1])
    for start in range(0, len(cells), BLOCK):
        block = cells[start : start + BLOCK]
        at = [np.searchsorted(side, block[:, k]) for k, side in enumerate(sides, 1)]
        places = at[0] * width + at[1]
        for k in np.flatnonzero(flat[places]).tolist():
            if flat[places[k]]:
                y, x = divmod(int(places[k]), width)
                free[top[y] : bottom[y], first[x] : last[x]] = False
                found.append(start + k)
                if len(found) == count:
                    return found
    return found


def _ranges(side: NDArray[Any], middle: NDArray[Any], near: int) -> tuple[list[int], list[int]]:
    """Where in the sorted ``side`` the places begin and end that are ``near`` each of these."""
    ends = np.searchsorted(side, middle - near), np.searchsorted(side, middle + near, "right")
    return ends[0].tolist(), ends[1].tolist()


class _Left:
    """The cells that come after the ``last`` one and are not nearer than ``separation`` to one that
    is ``kept``."""

    def __init__(self, last: list[int], kept: Cells, separation: int) -> None:
        self._last, self._kept, self._near = last, kept[:, 1:], separation - 1
        self._free = np.zeros((0, 0), np.bool_)

    def any_in(self, area: Area) -> bool:
        """Has the area any?"""
        self._free = np.ones(area.shape, np.bool_)
        places, near = self._kept - (area.row + 1, area.column + 1), self._near
        inside = ((places > -near) & (places < near + np.array(self._free.shape))).all(axis=1)
        for y, x in places[inside].tolist():
            self._free[max(0, y - near) : y + near + 1, max(0, x - near) : x + near + 1] = False
        return bool(self._free.any())

    def of(self, area: Area, cells: Cells) -> Cells:
        """Those among the cells of the area that `any_in` was asked about last."""
        score, row, column = cells.T
        least, last_row, last_column = self._last
        after = score < least
        if not after.all():
            below = (row > last_row) | ((row == last_row) & (column > last_column))
            cells = cells[after | ((score == least) & below)]
        if self._free.all():
            return cells
        chosen: Cells = cells[self._free[cells[:, 1] - area.row - 1, cells[:, 2] - area.column - 1]]
        return chosen


def _best(
    engine: Engine, problem: Problem, wanted: int, least: int, progress: Progress | None = None
) -> Cells:
    """The ``wanted`` best cells of at least ``least``, or all if there are fewer.

    A sweep that collects all cells above a score that somewhat more than these reach takes as long
    as one that finds the best alone.  It is guessed to be that of about the cell that stands for
    twice as many in the first part of the target."""
    guess, columns = least, len(problem.target) // SHARE
    if len(problem.query) * columns >= LEAST_CELLS:
        part = replace(problem, target=problem.target.slice(0, columns))
        place = 2 + -(-2 * wanted // SHARE)
        cells = _best(engine, part, place, least)
        guess = int(cells[-1, 0]) if len(cells) == place else least
    return _collected(engine, problem, Want("all", wanted, guess), least, progress)


def _collected(
    engine: Engine, problem: Problem, want: Want, least: int, progress: Progress | None
) -> Cells:
    """The best cells that are wanted, the best first; if these are too few, of ``least`` or
    more."""
    shape = engine.plan.tile_shape(*problem.shape)
    if want.among is not None and shape[0] * shape[1] > TILE:  # all cells of a tile are looked at
        shape = tile_shape(*problem.shape, TILE)
    swept = sweep(engine, problem, problem.edges, want, shape=shape, progress=progress)
    found = swept.hits.cells
    if len(found) < want.count and want.threshold != least:
        return _collected(engine, problem, replace(want, threshold=least), least, progress)
    return found
