"""Global comparisons of similar sequences in a band: work in O(k n) instead of O(m n).

A path that leaves the band of diagonals around the two ends by k + 1 has so few letter pairs, and
so many gap letters, that its score is bounded by a number known beforehand (:class:`Reach`).  A
sweep of the band alone whose score is above that bound has found every optimal path, each with its
exact values; otherwise the band is widened.  Methods: Fickett (1984), Nucleic Acids Res 12, 175-179
(a limit that grows until the score proves itself); Ukkonen (1985), Inf Control 64, 100-118 (the
band).  docs/algorithm.md has the proof, ties included.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines.base import Engine
from ..engines.sweep import LONGEST_SIDE, Area, Progress, SweepResult, cuts
from ..errors import InputError
from ..plan import Plan
from ..scoring import Scoring
from ..tile import Band, Codes, Edge, EdgeArray, Edges, Hit, Source
from .problem import Problem
from .score import find_end

#: Rows of a tile on the band are at least this many, and at least so many for each lane in flight:
#: with fewer, devices idle between tiles.
LEAST_ROWS, LEAST_ALPHA = 4096, 8
#: Sweeps that may prove nothing compute at most this share of the matrix, all together.
MOST_WASTE = 1 / 8
#: A band that covers more than this share of the matrix is not worth its own sweep.
MOST_COVERED = 0.9


def check_max_cost(value: Any, mode: str) -> None:
    """Raise InputError unless this is a ``max_cost`` for a ``mode``: "auto", None, or, for global
    comparisons, a number that is not negative."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return
    number = isinstance(value, int | float | np.integer | np.floating)
    if not number or isinstance(value, bool) or not 0 <= float(value) < math.inf:
        raise InputError(f"max_cost must be 'auto', None or a number from 0 on, not {value!r}")
    if mode != "global":
        raise InputError(f"max_cost={value!r} is for mode 'global'; in mode {mode!r} leave it out")


def assumed_score(problem: Problem, max_cost: Any) -> int | None:
    """The score, in the scoring's own integers, that an alignment of at most ``max_cost`` reaches;
    None for "auto"."""
    if isinstance(max_cost, str):
        return None
    scoring = problem.scoring
    best = min(len(problem.query), len(problem.target)) * scoring.highest
    return int(best - math.floor(max_cost * scoring.scale))


@dataclass(frozen=True)
class _Pairs:
    """The most that s letters of one sequence can gain in s letter pairs: its letters by falling
    ``gains``, each with how many letters come ``before`` it and how many there are."""

    gains: NDArray[np.int64]
    before: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, counts: NDArray[np.int64], gains: NDArray[np.int64]) -> _Pairs:
        order = np.argsort(-gains, kind="stable")
        ordered = counts[order]
        return cls(np.maximum(gains[order], 0), np.cumsum(ordered) - ordered, ordered)

    def most(self, count: int) -> int:
        """The most that ``count`` letters gain."""
        return int((self.gains * np.clip(count - self.before, 0, self.counts)).sum())


class Reach:
    """What paths that leave a band can score at most; depends on the letters, not on their order.

    A path with s letter pairs has m + n - 2 s gap letters, so it scores the sum of (score + 2 e)
    over its pairs, less e (m + n), less o for each gap.  A path that goes k diagonals
    beyond both ends of the matrix has at most min(m, n) - k pairs, and, for k > 0, a gap in each
    sequence.  Where an end is free, gaps count as free.
    """

    def __init__(self, problem: Problem) -> None:
        scoring, free = problem.scoring, problem.free
        self.m, self.n = len(problem.query), len(problem.target)
        ends = (free.lead_query, free.trail_query, free.lead_target, free.trail_target)
        opening, extension = (0, 0) if any(ends) else (scoring.gap_open, scoring.gap_extend)
        rows, columns = (
            _counts(view.read(0, len(view))) for view in (problem.query, problem.target)
        )
        gain = scoring.matrix[np.ix_(*(np.flatnonzero(c) for c in (rows, columns)))] + 2 * extension
        gain = gain.astype(np.int64)
        self._sides = (
            _Pairs.of(rows[rows > 0], gain.max(axis=1)),
            _Pairs.of(columns[columns > 0], gain.max(axis=0)),
        )
        self._costs = extension * (self.m + self.n) + 2 * opening
        #: the widest band there is: the whole matrix
        self.widest = min(self.m, self.n)

    def beyond(self, k: int) -> int:
        """The most that a path can score that goes k >= 1 diagonals, or more, beyond the ends; it
        never rises with k."""
        return min(side.most(self.widest - k) for side in self._sides) - self._costs

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

    def band(self, k: int) -> Band:
        """The band of k diagonals beyond the ends."""
        ahead = self.n - self.m
        return Band(min(0, ahead) - k, max(0, ahead) + k)


def _counts(codes: Codes) -> NDArray[np.int64]:
    return np.bincount(codes).astype(np.int64)


class _Row:
    """The cells of a saved row from ``start`` to ``stop``, in memory; those that follow are reached
    by one gap from them, as in a sweep."""

    def __init__(self, start: int, stop: int, scoring: Scoring) -> None:
        self._start, self._cells = start, EdgeArray(stop - start)
        self._gaps = scoring.gap_open, scoring.gap_extend

    def write(self, start: int, edge: Edge) -> None:
        """Keep the cells that follow the first ``start`` ones."""
        self._cells.write(start - self._start, edge)

    def read(self, start: int, stop: int) -> Edge:
        """Cells ``start+1 .. stop``; the first must not come before those that are kept."""
        inside = self._cells.read(start - self._start, stop - self._start)
        more = stop - start - len(inside)
        if not more:
            return inside
        return inside.joined(Edge.one_gap(int(self._cells.h[-1]), more, *self._gaps))


@dataclass
class BandGrid:
    """The rows between the tiles of a band, kept in memory: where a walk back can start again.

    ``places``: where the rows are cut, 0 included.  Memory is 8 bytes a cell of those rows, or
    about 8 m (1 + width / tile rows).
    """

    edges: Edges
    band: Band
    columns: int
    places: list[int]
    scoring: Scoring
    rows: dict[int, _Row] = field(init=False)

    def __post_init__(self) -> None:
        self.rows = {
            row_end: _Row(*self.band.columns(row, row_end, self.columns), self.scoring)
            for row, row_end in pairwise(self.places)
        }

    def saving(self) -> Edges:
        """The edges with the rows among them, to be filled by a sweep."""
        return replace(self.edges, rows=self.rows)

    def start(self, row: int, column: int) -> tuple[int, int]:
        """The corner (row, column) from which cell (row, column), from 1 and on the band, is
        computed."""
        place = self.places[bisect_right(self.places, row - 1) - 1]
        return place, self.band.columns(place, row, self.columns)[0]

    def edges_of(self, area: Area) -> Edges:
        """Edges of an area whose upper left corner is a ``start``."""
        top: Source = self.rows[area.row] if area.row else self.edges.top
        left = self.edges.left.read(area.row, area.row_end)
        corner = self.edges.corner
        if area.column:
            corner = int(top.read(area.column - 1, area.column).h[0])
            gaps = self.scoring.gap_open, self.scoring.gap_extend
            left = Edge.one_gap(corner, len(left), *gaps)
        elif area.row:
            corner = int(self.edges.left.read(area.row - 1, area.row).h[0])
        inside = top.read(area.column, area.column_end)
        return Edges(corner, EdgeArray.of(inside), EdgeArray.of(left))


@dataclass
class Banded:
    """What was found in a band: the best end (None: no band that pays is proven to hold it), the
    rows to walk back from, if they were wanted, and every sweep that was made."""

    end: Hit | None = None
    grid: BandGrid | None = None
    sweeps: list[SweepResult] = field(default_factory=list)


def find_end_banded(
    engine: Engine,
    problem: Problem,
    plan: Plan,
    *,
    assumed: int | None = None,
    save: bool = False,
    progress: Progress | None = None,
) -> Banded:
    """The best end of a global comparison, as :func:`find_end` gives it, from a band where that
    pays.

    ``assumed``: a score that the best one is thought to reach; the first band is the one that
    proves it.  Else a narrow one is first.  A band that proves nothing is doubled, but never made
    wider than what proves the score found so far.  ``save``: keep what a walk back needs.
    ``progress(done, total)`` never falls, from band to band.
    """
    m, n = len(problem.query), len(problem.target)
    reach, found, whole = Reach(problem), Banded(), m * n
    tiles = _Tiles(m, n, plan, engine.row_quantum)
    first = tiles.rows(abs(n - m) + 1) // 4 + 1
    k = first if assumed is None else reach.width(assumed)
    trusted, proving, score, spent = assumed is not None, reach.widest, None, 0
    while k < reach.widest:
        band = reach.band(k)
        shape = tiles.shape(band)
        places = cuts(m, shape[0], engine.row_quantum)
        cells = _cells(band, places, n)
        sure = k == proving
        limit = MOST_COVERED * whole if sure or trusted else MOST_WASTE * whole - spent
        if cells > limit:
            if sure or score is None:
                break
            k = proving
            continue
        grid, edges = None, problem.edges
        if save:
            grid = BandGrid(edges, band, n, places[:-1], problem.scoring)
            edges = grid.saving()
        tell = progress
        if progress is not None and not sure:
            tell = _part(progress, spent, cells)
        end, swept = find_end(engine, problem, edges=edges, shape=shape, band=band, progress=tell)
        found.sweeps.append(swept)
        spent += cells
        if end.score > reach.beyond(k + 1):
            if progress is not None:
                progress(whole, whole)
            found.end, found.grid = end, grid
            break
        proving = reach.width(end.score)
        k = proving if end.score == score else min(max(2 * k, first), proving)
        score, trusted = end.score, False
    return found


def rising(progress: Progress) -> Progress:
    """``progress`` that never falls back, whatever several sweeps report one after the other."""
    most = 0

    def tell(done: int, total: int) -> None:
        nonlocal most
        most = max(most, done)
        progress(most, total)

    return tell


def _part(progress: Progress, spent: int, cells: int) -> Progress:
    """The progress of a sweep of so many ``cells`` after others that ``spent`` some."""
    return lambda done, total: progress(spent + done * cells // total, total)


@dataclass(frozen=True)
class _Tiles:
    """How a band is cut: tiles as wide as the band and their own rows together."""

    m: int
    n: int
    plan: Plan
    quantum: int

    def rows(self, width: int) -> int:
        """Rows of a tile where the band has ``width`` diagonals: many enough to keep the device
        busy, few enough to compute little beside the band."""
        plan, most = self.plan, (isqrt(width * width + 4 * self.plan.tile_cells) - width) // 2
        rows = max(LEAST_ROWS, LEAST_ALPHA * plan.B * plan.T, width // 4)
        rows = min(rows, most, self.m, LONGEST_SIDE)
        return max(1, rows // self.quantum) * self.quantum

    def shape(self, band: Band) -> tuple[int, int]:
        """Rows and columns of a tile."""
        width = band.high - band.low + 1
        rows = self.rows(width)
        return rows, max(1, min(self.n, rows + width, self.plan.tile_cells // rows, LONGEST_SIDE))


def _cells(band: Band, places: list[int], n: int) -> int:
    """How many cells a sweep of the band computes that is cut at these rows."""
    total = 0
    for row, row_end in pairwise(places):
        first, last = band.columns(row, row_end, n)
        total += (row_end - row) * (last - first)
    return total
