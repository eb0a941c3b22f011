"""Global comparisons of similar sequences in a band: work in O(k n) instead of O(m n).

A path that leaves the band of diagonals around the two ends by k + 1 has so few letter pairs, and
so many gap letters, that its score is bounded by a number known beforehand (`bound.py`).  A
sweep of the band alone whose score is above that bound has found every optimal path, each with its
exact values; otherwise the band is widened.  Methods: Fickett (1984), Nucleic Acids Res 12, 175-179
(a limit that grows until the score proves itself); Ukkonen (1985), Inf Control 64, 100-118 (the
band).  docs/algorithm.md has the proof, ties included.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from math import isqrt
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..planning.cost import Cost
from ..planning.plan import Plan
from ..scoring.scoring import Scoring
from ..tiles.contract import Engine
from ..tiles.edges import Edge, Edges, Source
from ..tiles.slabs import SweepResult, cuts
from ..tiles.special_lines import RestartPoints
from ..tiles.sweep import Progress
from ..tiles.tile import Area, Hit
from .band_bound import Band, BandScoreBound
from .find_end import find_end
from .problem import Problem
from .traceback_state import path_bytes


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


class _Row(Source):
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


@dataclass(frozen=True)
class _Beside(Source):
    """The left edge of a tile beside which nothing is computed: one gap from its corner."""

    row: int
    corner: int
    gaps: tuple[int, int]

    def read(self, start: int, stop: int) -> Edge:
        """Cells of rows ``start+1 .. stop``."""
        edge = Edge.one_gap(self.corner, stop - self.row, *self.gaps)
        return edge.part(start - self.row, stop - self.row)


@dataclass
class BandGrid(RestartPoints):
    """The rows between the tiles of a band, kept in memory: where a walk back can start again.

    ``places``: where the rows are cut, 0 included.  Memory is 8 bytes a cell of those rows, or
    about 8 m (1 + width / tile rows): `_Growth` sees to it that a path's memory has room for it.
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
        """See :class:`RestartPoints`; the cell is on the band."""
        place = self.places[bisect_right(self.places, row - 1) - 1]
        return place, self.band.spans[place][0]

    def sides(self, area: Area) -> tuple[Source, Source]:
        """See :class:`RestartPoints`."""
        top: Source = self.rows[area.row] if area.row else self.edges.top
        if not area.column:
            return top, self.edges.left
        gaps = self.scoring.gap_open, self.scoring.gap_extend
        corner = int(top.read(area.column - 1, area.column).h[0])
        return top, _Beside(area.row, corner, gaps)


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
    cost: Cost,
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
    is sure to prove the score found so far; one that is much of the work stops where it will
    probably prove nothing.  ``cost``: the model that says what pays.  ``save``: keep what a walk
    back needs.  ``prunes``: if no band pays, the whole matrix is pruned by ``least``.
    ``progress(done, total)`` never falls, from band to band.
    """
    m, n = len(problem.query), len(problem.target)
    found, done = Banded(), 0
    tiles = BandTiles(m, n, plan, engine.row_quantum, cost)
    growth = _Growth(problem, tiles, assumed, save, prunes)
    while (one := growth.next()) is not None:
        low, high = one.diagonals
        tuning, scoring = plan.tuning.band, problem.scoring
        band = Band(low, high, growth.bound, scoring, one.least, one.stops, tuning)
        grid, edges = None, problem.edges
        if save:
            grid = BandGrid(edges, band, one.places[:-1], problem.scoring)
            edges = grid.saving()
        tell = progress
        if progress is not None and not one.sure:
            tell = _part(progress, done, one.cells)
        end, swept = find_end(
            engine, problem, edges=edges, shape=one.shape, corridor=band, progress=tell
        )
        found.sweeps.append(swept)
        done += one.cells * band.ended // m
        if growth.proves(one, band, end.score):
            if progress is not None:
                progress(m * n, m * n)
            found.end, found.grid = end, grid
            break
    found.least = growth.best
    return found


def _part(progress: Progress, spent: int, cells: int) -> Progress:
    """The progress of a sweep of so many ``cells`` after others that ``spent`` some."""
    return lambda done, total: progress(spent + done * cells // total, total)


class _Try(NamedTuple):
    """A band to be swept: its diagonals, how it is cut, the most cells that are computed, memory of
    the rows between tiles, and the share that it takes of the whole matrix's work; the score for
    which it is swept (None: any), whether it is sure to be proven, and whether it stops where that
    will not be reached."""

    diagonals: tuple[int, int]
    shape: tuple[int, int]
    places: list[int]
    cells: int
    saved: int
    work: float
    least: int | None
    sure: bool
    stops: bool


class _Growth:
    """Which band is next: see :func:`find_end_banded`.  ``best``: the best score found so far."""

    def __init__(
        self,
        problem: Problem,
        tiles: BandTiles,
        assumed: int | None,
        save: bool,
        prunes: bool,
    ) -> None:
        m, n = tiles.m, tiles.n
        tuning, trace = tiles.plan.tuning.band, tiles.plan.tuning.traceback
        self.bound = BandScoreBound(problem)
        self.best: int | None = None
        self._tiles = tiles
        self._first = self._tiles.rows(abs(n - m) + 1) // 4 + 1
        self._assumed = assumed
        self._k = self._first if assumed is None else self.bound.width(assumed)
        self._proving, self._spent = self.bound.widest, 0.0
        self._score: int | None = None
        self._most = tuning.most_beside_pruning if prunes else tuning.most_covered
        self._room = trace.grid_share * path_bytes(trace, m, n) if save else math.inf
        self._tuning = tuning

    def next(self) -> _Try | None:
        """The next band; None where none pays."""
        while self._k < self.bound.widest:
            found = self._try(self._k)
            if found.saved > self._room:
                return None
            if found.sure or self._assumed is not None:
                return found if found.work <= self._most else None
            if self._spent + found.work <= self._tuning.most_waste:
                return found
            if self._score is None:
                tried = self._spent + found.work <= self._tuning.most_tried
                tried &= len(found.places) > self._tuning.least_stops
                if not tried or self.bound.free:
                    return None
                return found._replace(least=self.bound.beyond(self._k + 1) + 1, stops=True)
            self._k = self._proving
        return None

    def _try(self, k: int) -> _Try:
        low, high = self.bound.diagonals(k)
        shape = self._tiles.shape(high - low + 1)
        places = cuts(self._tiles.m, shape[0], self._tiles.quantum)
        cells, saved, work = self._tiles.cost(low, high, places)
        sure = k == self._proving
        least = self._score if sure else None
        if self._assumed is not None:
            least = self._assumed
        return _Try((low, high), shape, places, cells, saved, work, least, sure, False)

    def proves(self, one: _Try, band: Band, score: int) -> bool:
        """Does the band prove the score found in it?  If not, what it tells of the next is kept."""
        k = self._k
        swept = sum(
            (row_end - row) * (band.spans[row][1] - band.spans[row][0])
            for row, row_end in pairwise(one.places)
            if row in band.spans
        )
        self._spent += one.work * swept / one.cells
        if band.foreseen is not None:
            self._k = max(k + k // 4 + 1, self.bound.width(band.foreseen))
            return False
        self.best = score if self.best is None else max(score, self.best)
        if score > self.bound.beyond(k + 1) and (one.least is None or score >= one.least):
            return True
        self._proving = self.bound.width(score)
        wider = max(2 * k, self._first)
        straight = score == self._score or self._proving <= 2 * wider
        self._k = self._proving if straight else wider
        self._score, self._assumed = score, None
        return False


@dataclass(frozen=True)
class BandTiles:
    """How a band of an m x n matrix is cut: rows of tiles as wide as the band and their own rows
    together.  ``quantum``: what tiles' rows are best a multiple of; ``model``: what they take."""

    m: int
    n: int
    plan: Plan
    quantum: int
    model: Cost

    def rows(self, width: int) -> int:
        """Rows of a tile where the band has ``width`` diagonals: many enough to keep the device
        busy, few enough to compute little beside the band."""
        least, longest = self.plan.tuning.band.least_rows, self.plan.tuning.sweep.longest_side
        most = min(isqrt(self.plan.tile_cells), self.m, longest)
        best = self._best_rows(width, most) if most > least else most
        rows = min(max(least, best, width // 4), most)
        return max(1, rows // self.quantum) * self.quantum

    def _best_rows(self, width: int, most: int) -> int:
        """Rows with which a tile's rows take little work each."""
        tuning, found = self.plan.tuning.band, []
        rows = float(tuning.least_rows)
        while rows <= most:
            shape = int(rows), int(rows) + width
            found.append((int(rows), self.model.matrix(self.plan, *shape, shape) / int(rows)))
            rows *= 2**0.5
        least = min(work for _, work in found)
        return max(rows for rows, work in found if work <= tuning.most_slower * least)

    def shape(self, width: int) -> tuple[int, int]:
        """Rows and columns of a tile."""
        rows = self.rows(width)
        return rows, min(self.n, rows + width, self._widest(rows))

    def _widest(self, rows: int) -> int:
        """Columns at most of a tile of so many rows."""
        return max(1, min(self.plan.tuning.sweep.longest_side, self.plan.tile_cells // rows))

    def cost(self, low: int, high: int, places: list[int]) -> tuple[int, int, float]:
        """How many cells the sweep of a band computes at most that is cut at these rows, memory of
        the rows between its tiles, and the share that it takes of the whole matrix's work."""
        shapes = Counter(
            (row_end - row, min(self.n, row_end + high) - max(0, row + low))
            for row, row_end in pairwise(places)
        )
        cells, saved, work = 0, 0, 0.0
        for (rows, columns), count in shapes.items():
            cells += count * rows * columns
            saved += count * 8 * columns
            most = rows, self._widest(rows)
            work += count * self.model.matrix(self.plan, rows, columns, most)
        return cells, saved, work / self._whole

    @cached_property
    def _whole(self) -> float:
        """The work of the whole matrix."""
        rows, columns = self.plan.tile_shape(self.m, self.n)
        rows = min(self.m, -(-rows // self.quantum) * self.quantum)
        return self.model.matrix(self.plan, self.m, self.n, (rows, columns))
