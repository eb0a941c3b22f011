"""Global comparisons of similar sequences in a band: work in O(k n) instead of O(m n).

A path that leaves the band of diagonals around the two ends by k + 1 has so few letter pairs, and
so many gap letters, that its score is bounded by a number known beforehand (`reach.py`).  A
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

from ..engines.base import Engine
from ..engines.sweep import LONGEST_SIDE, Area, Progress, SweepResult, cuts
from ..errors import InputError
from ..plan import Plan
from ..scoring import Scoring
from ..tile import NEG, Edge, EdgeArray, Edges, Hit, Source
from .problem import Problem
from .reach import Band, Reach
from .score import find_end

#: Rows of a tile on the band are at least this many, and at least so many for each lane in flight:
#: with fewer, devices idle between tiles.
LEAST_ROWS, LEAST_ALPHA = 4096, 8
#: Sweeps that may prove nothing compute at most this share of the matrix, all together.
MOST_WASTE = 1 / 8
#: A band that covers more than this share of the matrix is not worth its own sweep; nor one that
#: covers more than the other share where the whole matrix is pruned by what bands have found.
MOST_COVERED, MOST_BESIDE_PRUNING = 0.9, 0.5


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


class _Row:
    """The cells of a saved row that were written, in memory; those that follow are reached by one
    gap from them, as in a sweep."""

    def __init__(self, scoring: Scoring) -> None:
        self._start, self._cells = 0, Edge.lost(0)
        self._gaps = scoring.gap_open, scoring.gap_extend

    def write(self, start: int, edge: Edge) -> None:
        """Keep the cells that follow the first ``start`` ones."""
        if not len(self._cells):
            self._start = start
        self._cells = self._cells.joined(edge)

    def read(self, start: int, stop: int) -> Edge:
        """Cells ``start+1 .. stop``; one that comes before those that are kept is lost."""
        if start < self._start:
            return Edge.lost(1).joined(self.read(start + 1, stop))
        inside = self._cells.part(start - self._start, stop - self._start)
        more = stop - start - len(inside)
        if more <= 0:
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
    places: list[int]
    scoring: Scoring
    rows: dict[int, _Row] = field(init=False)

    def __post_init__(self) -> None:
        self.rows = {row: _Row(self.scoring) for row in self.places[1:]}

    def saving(self) -> Edges:
        """The edges with the rows among them, to be filled by a sweep."""
        return replace(self.edges, rows=self.rows)

    def start(self, row: int, column: int) -> tuple[int, int]:
        """The corner (row, column) from which cell (row, column), from 1 and on the band, is
        computed."""
        place = self.places[bisect_right(self.places, row - 1) - 1]
        return place, self.band.spans[place][0]

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
    rows to walk back from, if they were wanted, every sweep that was made, and the ``least`` that
    the best score is."""

    end: Hit | None = None
    grid: BandGrid | None = None
    sweeps: list[SweepResult] = field(default_factory=list)
    least: int | None = None


def find_end_banded(
    engine: Engine,
    problem: Problem,
    plan: Plan,
    *,
    assumed: int | None = None,
    save: bool = False,
    prunes: bool = False,
    progress: Progress | None = None,
) -> Banded:
    """The best end of a global comparison, as :func:`find_end` gives it, from a band where that
    pays.

    ``assumed``: a score that the best one is thought to reach; the first band is the one that
    proves it.  Else a narrow one is first.  A band that proves nothing is widened, at most to what
    is sure to prove the score found so far.  ``save``: keep what a walk back needs.
    ``prunes``: if no band pays, the whole matrix is pruned by ``least``.
    ``progress(done, total)`` never falls, from band to band.
    """
    m, n = len(problem.query), len(problem.target)
    reach, found, whole = Reach(problem), Banded(), m * n
    tiles = _Tiles(m, n, plan, engine.row_quantum)
    first = tiles.rows(abs(n - m) + 1) // 4 + 1
    k = first if assumed is None else reach.width(assumed)
    trusted, proving, score, spent = assumed is not None, reach.widest, None, 0
    most_covered = MOST_BESIDE_PRUNING if prunes else MOST_COVERED
    while k < reach.widest:
        low, high = reach.diagonals(k)
        shape = tiles.shape(high - low + 1)
        places = cuts(m, shape[0], engine.row_quantum)
        cells = _cells(low, high, places, n)
        sure = k == proving
        limit = most_covered * whole if sure or trusted else MOST_WASTE * whole - spent
        if cells > limit:
            if sure or score is None:
                break
            k = proving
            continue
        least = assumed if trusted else score if sure else None
        band = Band(low, high, reach, problem.scoring, least)
        grid, edges = None, problem.edges
        if save:
            grid = BandGrid(edges, band, places[:-1], problem.scoring)
            edges = grid.saving()
        tell = progress
        if progress is not None and not sure:
            tell = _part(progress, spent, cells)
        end, swept = find_end(
            engine, problem, edges=edges, shape=shape, corridor=band, progress=tell
        )
        found.sweeps.append(swept)
        found.least = max(end.score, NEG if found.least is None else found.least)
        spent += cells
        if end.score > reach.beyond(k + 1) and (least is None or end.score >= least):
            if progress is not None:
                progress(whole, whole)
            found.end, found.grid = end, grid
            break
        proving = reach.width(end.score)
        wider = max(2 * k, first)
        k = proving if end.score == score or proving <= 2 * wider else wider
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

    def shape(self, width: int) -> tuple[int, int]:
        """Rows and columns of a tile."""
        rows = self.rows(width)
        return rows, max(1, min(self.n, rows + width, self.plan.tile_cells // rows, LONGEST_SIDE))


def _cells(low: int, high: int, places: list[int], n: int) -> int:
    """How many cells the sweep of a band computes at most that is cut at these rows."""
    return sum(
        (row_end - row) * (min(n, row_end + high) - max(0, row + low))
        for row, row_end in pairwise(places)
    )
