"""What paths that leave a band of diagonals can score at most, and the band that follows from it.

The bound is that of Ukkonen (1985), Inf Control 64, 100-118, for affine gaps, any substitution
scores and any letters; docs/algorithm.md, Bands, has the proof.
"""

from __future__ import annotations

from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from ..planning.parameters import BandTuning, default_tuning
from ..scoring.scoring import Scoring
from ..sequences.view import View
from ..tiles.edges import Edge
from .problem import Problem

Longs = NDArray[np.int64]

#: Codes that are counted at once: NumPy makes 8 bytes of each.
COUNTED = 1 << 20


def _most_gained(counts: Longs, gains: Longs) -> set[tuple[int, int]]:
    """The most that s letters of a sequence can gain in s letter pairs, those first that gain the
    most, where letters occur so often and gain so much each: the least of some lines (gain, first),
    ``first + gain s``."""
    different, which = np.unique(-np.maximum(gains, 0), return_inverse=True)
    counts = np.bincount(which, counts).astype(np.int64)
    before, gained = np.cumsum(counts) - counts, np.cumsum(-counts * different)
    firsts = gained + (counts + before) * different
    return set(zip((-different).tolist(), firsts.tolist(), strict=True))


class BandScoreBound:
    """What paths that leave a band can score at most; depends on the letters, not on their order.

    A path with s letter pairs has m + n - 2 s gap letters, so it scores the sum of (score + 2 e)
    over its pairs, less e (m + n), less o for each gap.  A path that goes k diagonals
    beyond both ends of the matrix has at most min(m, n) - k pairs, and, for k > 0, a gap in each
    sequence.  Where an end is free, gaps count as free.
    """

    def __init__(self, problem: Problem) -> None:
        scoring, free = problem.scoring, problem.free
        self._problem = problem
        self.m, self.n = len(problem.query), len(problem.target)
        ends = (free.lead_query, free.trail_query, free.lead_target, free.trail_target)
        self.free = any(ends)
        opening, self.extension = (0, 0) if self.free else (scoring.gap_open, scoring.gap_extend)
        self._costs = self.extension * (self.m + self.n) + 2 * opening
        #: the widest band there is: the whole matrix
        self.widest = min(self.m, self.n)

    @cached_property
    def _lines(self) -> set[tuple[int, int]]:
        query, target = _counts(self._problem.query), _counts(self._problem.target)
        used = np.ix_(np.flatnonzero(query), np.flatnonzero(target))
        gain = self._problem.scoring.matrix[used].astype(np.int64) + 2 * self.extension
        by_query = _most_gained(query[query > 0], gain.max(axis=1))
        return by_query | _most_gained(target[target > 0], gain.max(axis=0))

    def pairs(self, count: Longs) -> Longs:
        """The most that so many letter pairs gain: the sum of their (score + 2 e)."""
        return reduce(np.minimum, (first + gain * count for gain, first in self._lines))

    def beyond(self, k: int) -> int:
        """The most that a path can score that goes k >= 1 diagonals, or more, beyond the ends; it
        never rises with k.  For k = 0 about the most that any path can."""
        return int(self.pairs(np.array(self.widest - k))) - self._costs

    def width(self, score: int) -> int:
        """The least k so that every path that scores ``score`` or more stays within k diagonals of
        the ends."""
        low, high = 0, self.widest
        while low < high:
            middle = (low + high) // 2
            if self.beyond(middle + 1) < score:
                high = middle
            else:
                low = middle + 1
        return low

    def diagonals(self, k: int) -> tuple[int, int]:
        """The first and the last diagonal of the band of k diagonals beyond the ends."""
        ahead = self.n - self.m
        return min(0, ahead) - k, max(0, ahead) + k


def _counts(view: View) -> Longs:
    """How often each code occurs."""
    counts = np.zeros(256, np.int64)
    for start in range(0, len(view), COUNTED):
        codes = view.read(start, min(start + COUNTED, len(view)))
        counts += np.bincount(codes, minlength=256)
    return counts


class Band:
    """The diagonals ``low`` to ``high`` of a matrix, both included, as a sweep asks for them
    (:class:`pysw_cl.tiles.tile.Corridor`).

    With ``least``, what lies on no path of this score or more is left out row by row: the best
    that is still possible after each cell of a tile's bottom edge is added to its H (Fickett 1984).
    Nothing is left out any more where no cell can reach ``least``, nor with free ends.
    ``spans``: the columns of the rows that were asked for, by the first of the rows.

    With ``stops``, the sweep ends where paths lose so much that they will probably not reach
    ``least``.  ``foreseen``: the score that they will probably have, or None; ``ended``: after how
    many rows.
    """

    def __init__(
        self,
        low: int,
        high: int,
        bound: BandScoreBound,
        scoring: Scoring,
        least: int | None = None,
        stops: bool = False,
        tuning: BandTuning | None = None,
    ) -> None:
        self.low, self.high = low, high
        self.spans: dict[int, tuple[int, int]] = {}
        self.foreseen: int | None = None
        self.ended = bound.m
        self._stops, self._tuning = stops, tuning or default_tuning().band
        self._bound, self._scoring = bound, scoring
        self._least = None if bound.free else least
        self._first, self._last = 0, high

    def columns(self, row: int, row_end: int) -> tuple[int, int]:
        """The columns ``[start, stop)`` of rows ``[row, row_end)``, counted from 0."""
        first = max(0, row + self.low, self._first)
        self.spans[row] = first, min(self._bound.n, row_end + self._last)
        return self.spans[row]

    def passed(self, row: int, column: int, edge: Edge) -> bool:
        """Take the cells of row ``row`` (from 1) that follow the first ``column`` ones."""
        if self._least is None:
            return True
        bound, h = self._bound, edge.h.astype(np.int64)
        at = np.arange(column + 1, column + 1 + len(h))
        if column == 0:  # the border: one gap
            border = -self._scoring.gap_open - row * self._scoring.gap_extend
            at, h = np.arange(len(h) + 1), np.concatenate(([border], h))
        rows_left, columns_left = bound.m - row, bound.n - at
        rest = h - bound.extension * (rows_left + columns_left)
        possible = rest + bound.pairs(np.minimum(rows_left, columns_left))
        if self._stops and not self._goes_on(row, int(possible.max())):
            return False
        live = possible >= self._least
        if not live.any():
            self._least, self._last = None, self.high
            return True
        self._first = max(0, int(at[live][0]) - 1)
        # a path that goes on to a diagonal d has at most n - row - d pairs left
        most = int(rest[live].max())
        low, high = self.low, self._last
        while low < high:
            middle = (low + high + 1) // 2
            if most + int(bound.pairs(np.array(max(0, bound.n - row - middle)))) >= self._least:
                low = middle
            else:
                high = middle - 1
        self._last = low
        return True

    def _goes_on(self, row: int, possible: int) -> bool:
        """Will paths that can score so much after row ``row`` probably reach ``least``?"""
        assert self._least is not None
        most, share = self._bound.beyond(0), row / self._bound.m
        lost, may = most - possible, most - self._least
        tuning = self._tuning
        if possible >= self._least and lost <= may * (tuning.slack * share + tuning.early):
            return True
        sure = tuning.slack - (tuning.slack - tuning.least_slack) * share
        self.foreseen, self.ended = int(most - sure * lost / share), row
        return False
