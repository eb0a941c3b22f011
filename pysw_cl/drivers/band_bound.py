"""An upper bound on the score of paths that leave a diagonal band, and the band of a sweep.

The bound is that of Ukkonen (1985), Inf Control 64, 100-118, for affine gaps, any substitution
scores and any letters; docs/algorithm.md, Bands, has the proof."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from ..planning.parameters import BandTuning
from ..sequences.view import View
from ..tiles.edges import Edge
from .problem import Problem

Longs = NDArray[np.int64]

#: Codes counted in one call; NumPy copies each into 8 bytes.
COUNTED = 1 << 20


def _most_gained(counts: Longs, gains: Longs) -> set[tuple[int, int]]:
    """The highest gain of s letters of a sequence in s letter pairs, as a function of s.

    Letter i occurs ``counts[i]`` times and gains at most ``gains[i]``.  The highest gain takes the
    best letters first, so it is concave in s: the minimum of the lines ``first + gain * s``.
    Returns the lines as (gain, first)."""
    negated, which = np.unique(-np.maximum(gains, 0), return_inverse=True)
    counts = np.bincount(which, counts).astype(np.int64)
    before, gained = np.cumsum(counts) - counts, np.cumsum(-counts * negated)
    firsts = gained + (counts + before) * negated
    return set(zip((-negated).tolist(), firsts.tolist(), strict=True))


class BandScoreBound:
    """The highest score of a path that leaves a diagonal band, by how often each letter occurs.

    A gap costs o, and e for each letter.  A path with s letter pairs has m + n - 2 s gap letters.
    Its score is the sum of (score + 2 e) over its pairs, minus e (m + n), minus o for each gap.

    Two diagonals run through the ends of a global path: 0 and n - m.  A path that comes to the k-th
    diagonal outside those two has at most min(m, n) - k pairs and, for k > 0, a gap in each
    sequence.  If any end is free, the bound charges nothing for gaps."""

    def __init__(self, problem: Problem) -> None:
        scoring, self.problem = problem.scoring, problem
        (self.m, self.n), self.free = problem.shape, any(problem.free)
        opening, self.extension = (0, 0) if self.free else (scoring.gap_open, scoring.gap_extend)
        self._costs = self.extension * (self.m + self.n) + 2 * opening
        #: The k of the whole matrix.
        self.widest = min(self.m, self.n)

    @cached_property
    def _lines(self) -> set[tuple[int, int]]:
        query, target = _counts(self.problem.query), _counts(self.problem.target)
        used = np.ix_(np.flatnonzero(query), np.flatnonzero(target))
        gain = self.problem.scoring.matrix[used].astype(np.int64) + 2 * self.extension
        by_query = _most_gained(query[query > 0], gain.max(axis=1))
        return by_query | _most_gained(target[target > 0], gain.max(axis=0))

    def pairs(self, count: Longs) -> Longs:
        """The highest sum of (score + 2 e) over ``count`` letter pairs."""
        return reduce(np.minimum, (first + gain * count for gain, first in self._lines))

    def beyond(self, k: int) -> int:
        """The highest score of a path that comes to the k-th diagonal outside the ends or further
        (k >= 1).  It never rises with k.  For k = 0: about the highest score of any path."""
        return int(self.pairs(np.array(self.widest - k))) - self._costs

    def width(self, score: int) -> int:
        """The least k such that paths of this score or more stay within k diagonals of the ends."""
        return bisect_left(range(self.widest), True, key=lambda k: self.beyond(k + 1) < score)


def _counts(view: View) -> Longs:
    """How often each code occurs."""
    counts = np.zeros(1 << 8 * view.codes.itemsize, np.int64)
    for start in range(0, len(view), COUNTED):
        codes = view.read(start, min(start + COUNTED, len(view)))
        counts += np.bincount(codes, minlength=len(counts))
    return counts


class Band:
    """The band with k diagonals outside each end, as the `Corridor` of a sweep.

    With ``least``, the sweep skips cells that are on no path of this score or more (Fickett 1984).
    It decides at the bottom edge of each tile row: H of a cell plus the highest score of the rest.
    If no cell can reach ``least``, it skips nothing from there on.  With free ends it never skips.

    With ``stops``, the sweep ends early once its paths will probably not reach ``least``."""

    def __init__(
        self, bound: BandScoreBound, k: int, least: int | None, stops: BandTuning | None
    ) -> None:
        last = bound.n - bound.m  # the diagonal of the matrix's last cell; the first one's is 0
        #: The first and the last diagonal.
        self.low, self.high = min(0, last) - k, max(0, last) + k
        #: First row of a tile row -> its columns [start, stop).
        self.spans: dict[int, tuple[int, int]] = {}
        #: Where the sweep ended early, the best score that it would probably have found.
        self.foreseen: int | None = None
        #: The score that the sweep looks for; None: any.
        self.wanted = least
        self._least = None if bound.free else least
        self._bound, self._stops = bound, stops
        self._first, self._last = 0, self.high

    def columns(self, row: int, row_end: int) -> tuple[int, int]:
        first = max(0, row + self.low, self._first)
        self.spans[row] = first, min(self._bound.n, row_end + self._last)
        return self.spans[row]

    def passed(self, row: int, column: int, edge: Edge) -> bool:
        """Narrow the band by the cells of ``row`` after ``column``; False ends the sweep."""
        if self._least is None:
            return True
        bound, h = self._bound, edge.h.astype(np.int64)
        at = np.arange(column + 1, column + 1 + len(h))
        if column == 0:  # with the border cell, which is one gap
            at, h = np.arange(len(h) + 1), np.append(bound.problem.edges.left.h_at(row - 1), h)
        rows_left, columns_left = bound.m - row, bound.n - at
        rest = h - bound.extension * (rows_left + columns_left)
        possible = rest + bound.pairs(np.minimum(rows_left, columns_left))
        if self._stops and not self._goes_on(row, int(possible.max()), self._least, self._stops):
            return False
        live = possible >= self._least
        if not live.any():
            self._least, self._last = None, self.high
            return True
        self._first = max(0, int(at[live][0]) - 1)
        # a path that later comes to diagonal d has at most n - row - d pairs left
        needed = self._least - int(rest[live].max())
        self._last = self.low + bisect_left(
            range(self.low + 1, self._last + 1),
            True,
            key=lambda d: int(bound.pairs(np.array(max(0, bound.n - row - d)))) < needed,
        )
        return True

    def _goes_on(self, row: int, possible: int, least: int, tuning: BandTuning) -> bool:
        """Will the best path, which after ``row`` rows can still score ``possible``, probably reach
        ``least``?  No, if it lost more than (slack * share of rows + early) * the allowed loss."""
        highest, share = self._bound.beyond(0), row / self._bound.m
        lost, allowed = highest - possible, highest - least
        if possible >= least and lost <= allowed * (tuning.slack * share + tuning.early):
            return True
        slack = tuning.slack - (tuning.slack - tuning.least_slack) * share
        self.foreseen = int(highest - slack * lost / share)
        return False
