"""Which cells of a local comparison count as ends, and which of them are apart."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..tiles.tile import NO_HITS, Area, Cells
from .problem import Problem

#: So many cells are looked at together; those that are left then, one by one.  And at first, of
#: the best ones.
BLOCK, LEAST = 1 << 12, 1 << 8
#: A table of the cells that are left has so many rows and columns at most, or as many cells.
MOST = 1 << 13
#: So many tiles may be under way.
UNDER_WAY = 64


class Matches:
    """The cells of a matrix where an alignment ends in a match: it comes from the diagonal, its
    pair scores above 0, and the next pair of the diagonal does not, or there is none.

    It comes from there if the cell before it has the score without the pair's, or if that is 0.  So
    of all cells down to a score the ends are known that are higher by the highest pair."""

    def __init__(self, problem: Problem, least: int) -> None:
        self._codes = [side.read(0, len(side)) for side in (problem.query, problem.target)]
        self._shape, self._scores, self._least = problem.shape, problem.scoring.matrix, least
        #: Ends of the ``least`` score need cells of this one.
        self.floor = max(1, least - problem.scoring.highest)

    def among(self, cells: Cells, last: list[int]) -> tuple[Cells, list[int]]:
        """The ends that are known of sorted ``cells``, the last of all cells but those behind
        ``last`` (nothing: there is no other); and behind what the others are."""
        if last:
            last = [last[0] + int(self._scores.max()), 0, 0]
        n, (score, row, column) = self._shape[1], cells.T
        high = score >= max([self._least, *(one + 1 for one in last[:1])])
        some = np.flatnonzero(high & self._match(row, column) & ~self._match(row + 1, column + 1))
        before = score[some] - self._pair(row[some], column[some])
        diagonal = row * (n + 1) + column
        wanted, known = diagonal[some] - n - 2, before == 0
        order = np.argsort(wanted)
        if len(some):
            at = order[np.searchsorted(wanted[order], diagonal).clip(max=len(some) - 1)]
            known[at[(wanted[at] == diagonal) & (before[at] == score)]] = True
        return cells[some[known]], last

    def needed(self, cells: Cells) -> Cells:
        """Those of some cells that may be ends, or come before one."""
        row, column = cells[:, 1], cells[:, 2]
        here, following, after = (self._match(row + k, column + k) for k in range(3))
        some: Cells = cells[(here & ~following) | (following & ~after)]
        return some

    def _match(self, row: Any, column: Any) -> Any:
        """Which cells have a pair that scores above 0?"""
        inside = (row <= self._shape[0]) & (column <= self._shape[1])
        inside[inside] = self._pair(row[inside], column[inside]) > 0
        return inside

    def _pair(self, row: Any, column: Any) -> Any:
        return self._scores[self._codes[0][row - 1], self._codes[1][column - 1]]


def apart(
    cells: Cells, count: int, separation: int, kept: Cells = NO_HITS.some, both: bool = False
) -> Cells:
    """Cells that are ``kept``, and sorted ``cells`` after them, up to ``count``, no two nearer than
    ``separation``: the greater distance of rows and columns counts, with ``both`` the lesser."""
    if separation <= (not both):  # different cells are 1 apart
        return np.concatenate([kept, cells[: count - len(kept)]])
    near, start, size = separation - 1, 0, max(LEAST, 4 * count)
    while start < len(cells) and len(kept) < count:
        left = cells[start : start + size]
        low, size = left[:, 1:].min(axis=0), 4 * size
        spans = (left[:, 1:].max(axis=0) + 1 - low).tolist()
        whole = math.prod(min(span, len(left)) for span in spans) <= MOST**2
        some = left if whole else left[:MOST]
        start += len(some)
        sides = [
            np.arange(first, first + span) if span <= len(some) else _each_once(side)
            for first, span, side in zip(low.tolist(), spans, some[:, 1:].T, strict=True)
        ]
        chosen = _apart(some, sides, kept, near, count - len(kept), both)
        kept = np.concatenate([kept, some[chosen]])
    return kept


def _each_once(numbers: NDArray[Any]) -> NDArray[Any]:
    """As `np.unique`, which takes several times as long."""
    ordered = np.sort(numbers)
    return ordered[np.diff(ordered, prepend=-1) > 0]


def _apart(
    cells: Cells, sides: list[NDArray[Any]], kept: Cells, near: int, count: int, both: bool
) -> list[int]:
    """The numbers of the first ``count`` cells that are not ``near`` one that is kept, or one
    before them that is found.  A table of some rows and columns (``sides``), those of the cells
    among them, says what is left."""
    (top, bottom), (first, last) = (_ranges(side, side, near) for side in sides)
    free = np.ones([len(side) for side in sides], np.bool_)
    before = [_ranges(side, kept[:, k], near) for k, side in enumerate(sides, 1)]
    for area in zip(*before[0], *before[1], strict=True):
        _take(free, both, *area)
    found: list[int] = []
    flat, width = free.reshape(-1), len(sides[1])
    for start in range(0, len(cells), BLOCK):
        block = cells[start : start + BLOCK]
        at = [np.searchsorted(side, block[:, k]) for k, side in enumerate(sides, 1)]
        places = at[0] * width + at[1]
        for k in np.flatnonzero(flat[places]).tolist():
            if flat[places[k]]:
                y, x = divmod(int(places[k]), width)
                _take(free, both, top[y], bottom[y], first[x], last[x])
                found.append(start + k)
                if len(found) == count:
                    return found
    return found


def _take(free: NDArray[Any], both: bool, above: int, below: int, left: int, right: int) -> None:
    """No cell is free in these rows and columns; with ``both``, in either."""
    if both:
        free[above:below] = free[:, left:right] = False
    free[above:below, left:right] = False


def _ranges(side: NDArray[Any], middle: NDArray[Any], near: int) -> tuple[list[int], list[int]]:
    """Where in the sorted ``side`` the places begin and end that are ``near`` each of these."""
    ends = np.searchsorted(side, middle - near), np.searchsorted(side, middle + near, "right")
    return ends[0].tolist(), ends[1].tolist()


class Left:
    """The cells after the ``last`` one, not nearer than ``separation`` to one that is ``kept``, in
    rows and columns, or, with ``both``, in either; with ``matches`` those that it needs."""

    def __init__(
        self, last: list[int], kept: Cells, separation: int, both: bool, matches: Matches | None
    ) -> None:
        self._last, self._kept, self._near = last, kept[:, 1:], separation - 1
        self._both, self._matches = both, matches
        #: Which cells of an area are not near; several devices compute some areas at once.
        self._free = lru_cache(UNDER_WAY)(self._free_in)

    def _free_in(self, area: Area) -> NDArray[np.bool_]:
        free = np.ones(area.shape, np.bool_)
        places, near = self._kept - (area.row + 1, area.column + 1), self._near
        inside = (places > -near) & (places < near + np.array(free.shape))
        here: Any = inside.any(axis=1) if self._both else inside.all(axis=1)
        spans = np.maximum(0, np.hstack([places - near, places + near + 1]))[here]
        for y, x, bottom, right in spans.tolist():
            _take(free, self._both, y, bottom, x, right)
        return free

    def any_in(self, area: Area) -> bool:
        return bool(self._free(area).any())

    def of(self, area: Area, cells: Cells) -> Cells:
        score, row, column = cells.T
        least, last_row, last_column = self._last
        after = score < least
        if not after.all():
            below = (row > last_row) | ((row == last_row) & (column > last_column))
            cells = cells[after | ((score == least) & below)]
        cells = cells if self._matches is None else self._matches.needed(cells)
        free = self._free(area)
        return cells[free[cells[:, 1] - area.row - 1, cells[:, 2] - area.column - 1]]
