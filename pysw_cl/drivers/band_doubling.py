"""Global comparisons of similar sequences in a diagonal band: O(k n) work instead of O(m n).

If a band's score is above the bound of paths that leave it (`band_bound.py`), its sweep has found
every optimal path, with exact values.  Otherwise the band is widened.  Methods: Fickett (1984),
Nucleic Acids Res 12, 175-179 (a limit that grows until the score proves itself); Ukkonen (1985),
Inf Control 64, 100-118 (the band).  docs/algorithm.md has the proof, ties included."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import inf, isqrt
from typing import NamedTuple

from ..planning.geometry import cuts
from ..planning.path_grid import path_bytes
from ..planning.plan import Plan
from ..tiles.edges import DeviceEdge, Edge, LevelEdge, Source
from ..tiles.slabs import SweepResult
from ..tiles.special_lines import RestartPoints
from ..tiles.tile import Area, Hit
from .band_bound import Band, BandScoreBound
from .problem import Problem


class _Row(Source):
    """A special row of a band, or the left edge of one of its tiles: cells after those written are
    one gap away, as in the sweep."""

    def __init__(self, gap_open: int, gap_extend: int) -> None:
        self._start, self._cells, self._gaps = 0, Edge.unreachable(0), (gap_open, gap_extend)

    def write(self, start: int, edge: Edge | DeviceEdge) -> None:
        if not len(self._cells):
            self._start = start
        self._cells = self._cells.joined(edge.read(0, len(edge)))

    def read(self, start: int, stop: int) -> Edge:
        if start < self._start:  # a cell before the first one written
            return Edge.unreachable(1).joined(self.read(start + 1, stop))
        end = self._start + len(self._cells)
        inside = self._cells.read(start - self._start, stop - self._start)
        if stop <= end:
            return inside
        beyond = Edge.one_gap(int(self._cells.h[-1]), stop - end, *self._gaps)
        return inside.joined(beyond.read(max(0, start - end), stop - end))


class BandGrid(RestartPoints):
    """The rows between the tile rows of a band, which begin at ``places``: the traceback's restart
    points.  `BandChoice` tries no band whose rows exceed the path's memory."""

    def __init__(self, problem: Problem, band: Band, places: list[int]) -> None:
        self.edges, self.band, self._places = problem.edges, band, places
        self._gaps = problem.scoring.gap_open, problem.scoring.gap_extend
        #: Sinks of the sweep; there are no special columns.
        self.rows, self.columns = {row: _Row(*self._gaps) for row in places[1:]}, dict[int, _Row]()

    def start(self, row: int, column: int) -> tuple[int, int]:
        place = self._places[bisect_right(self._places, row - 1) - 1]
        return place, self.band.spans[place][0]

    def sides(self, area: Area) -> tuple[Source, Source]:
        top: Source = self.rows[area.row] if area.row else self.edges.top
        if not area.column:
            return top, self.edges.left
        left = _Row(*self._gaps)
        left.write(area.row - 1, LevelEdge(top.h_at(area.column - 1), 0, 1))
        return top, left


@dataclass
class Banded:
    """What the sweeps of bands found."""

    #: The best end; None: no band that is worth its work proves it.
    end: Hit | None = None
    grid: BandGrid | None = None
    sweeps: list[SweepResult] = field(default_factory=list)
    #: The highest score found: the best score is no lower.  None: no sweep came to its end.
    least: int | None = None


class _Try(NamedTuple):
    """A band to be swept."""

    band: Band
    #: Rows and columns of a tile, and the cuts between tile rows, from 0 to m.
    shape: tuple[int, int]
    places: list[int]
    #: As in `BandTiles.cost`.
    cells: int
    saved: int
    work: float
    #: Will the band surely prove its score?
    sure: bool


class BandChoice:
    """Chooses the next band of a global comparison.

    The first band is the one that proves the score ``assumed``; None: a narrow one.  A band that
    proves nothing is widened, at most to the band that surely proves the score found so far.  A
    large band stops early once it will probably prove nothing.  A band that takes too large a share
    of the whole matrix's work, by the model of the plan (`Plan.cost`), is not chosen.

    ``save``: are the rows kept that the traceback restarts from?  ``prunes``: without a proof the
    caller prunes the whole matrix by ``best``."""

    def __init__(
        self, problem: Problem, plan: Plan, assumed: int | None, save: bool, prunes: bool
    ) -> None:
        m, n = problem.shape
        tuning, trace = plan.tuning.band, plan.tuning.traceback
        self._tiles = tiles = BandTiles(m, n, plan)
        self.bound, self._tuning = BandScoreBound(problem), tuning
        self.best: int | None = None
        self._first = tiles.rows(abs(n - m) + 1) // 4 + 1
        self._assumed = assumed
        self._k = self._first if assumed is None else self.bound.width(assumed)
        # the k that surely proves the last score, and the work of all sweeps so far
        self._proving, self._spent = self.bound.widest, 0.0
        # the score of the last sweep that came to its end
        self._score: int | None = None
        self._most = tuning.most_beside_pruning if prunes else tuning.most_covered
        self._row_bytes = trace.grid_share * path_bytes(trace, m, n) if save else inf

    def next(self) -> _Try | None:
        """The next band; None if the whole matrix takes less work."""
        while self._k < self.bound.widest:
            found = self._try(self._k)
            if found.saved > self._row_bytes:
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
                return self._try(self._k, stops=True)
            self._k = self._proving
        return None

    def _try(self, k: int, stops: bool = False) -> _Try:
        """The band with k diagonals outside each end; ``stops``: see `Band`."""
        sure = k == self._proving
        least = self._score if sure else None
        if self._assumed is not None:
            least = self._assumed
        elif stops:
            least = self.bound.beyond(k + 1) + 1
        band = Band(self.bound, k, least, self._tuning if stops else None)
        shape = self._tiles.shape(band.high - band.low + 1)
        places = cuts(self._tiles.m, shape[0], self._tiles.plan.strip_rows)
        return _Try(band, shape, places, *self._tiles.cost(band.low, band.high, places), sure)

    def proves(self, one: _Try, score: int) -> bool:
        """Does the band prove the score found in it?  If not, the next k is set."""
        k, band = self._k, one.band
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
        if score > self.bound.beyond(k + 1) and (band.wanted is None or score >= band.wanted):
            return True
        self._proving = self.bound.width(score)
        wider = max(2 * k, self._first)
        skip_to_proof = score == self._score or self._proving <= 2 * wider
        self._k = self._proving if skip_to_proof else wider
        self._score, self._assumed = score, None
        return False


@dataclass(frozen=True)
class BandTiles:
    """The tile rows of a band: r rows and w diagonals make a tile row of r + w columns."""

    m: int
    n: int
    plan: Plan

    def rows(self, width: int) -> int:
        """Rows of a tile of a band of this width: the device is busy, and little lies outside."""
        tuning, longest = self.plan.tuning.band, self.plan.tuning.sweep.longest_side
        most = best = min(isqrt(self.plan.tile_cells), self.m, longest)
        if most > tuning.least_rows:  # the most of which each takes little more than the least work
            work, side = dict[int, float](), float(tuning.least_rows)
            while side <= most:
                shape = int(side), int(side) + width
                work[int(side)] = self.plan.matrix_cost(*shape, shape) / int(side)
                side *= 2**0.5
            enough = tuning.most_slower * min(work.values())
            best = max(rows for rows, each in work.items() if each <= enough)
        rows = min(max(tuning.least_rows, best, width // 4), most)
        strip = self.plan.strip_rows
        return max(1, rows // strip) * strip

    def shape(self, width: int) -> tuple[int, int]:
        rows = self.rows(width)
        return rows, min(self.n, rows + width, self._widest(rows))

    def _widest(self, rows: int) -> int:
        """The most columns of a tile of ``rows`` rows."""
        return max(1, min(self.plan.tuning.sweep.longest_side, self.plan.tile_cells // rows))

    def cost(self, low: int, high: int, places: list[int]) -> tuple[int, int, float]:
        """The cost of the band of diagonals ``low`` to ``high`` that is cut at ``places``: cells at
        most, bytes of the rows between tile rows, work as a share of the whole matrix's."""
        shapes = Counter(
            (row_end - row, min(self.n, row_end + high) - max(0, row + low))
            for row, row_end in pairwise(places)
        )
        cells, saved, work = 0, 0, 0.0
        for (rows, columns), count in shapes.items():
            cells += count * rows * columns
            saved += count * 8 * columns
            work += count * self.plan.matrix_cost(rows, columns, (rows, self._widest(rows)))
        return cells, saved, work / self._whole

    @cached_property
    def _whole(self) -> float:
        """The work of the whole matrix."""
        rows, columns = self.plan.tile_shape(self.m, self.n)
        rows = min(self.m, -(-rows // self.plan.strip_rows) * self.plan.strip_rows)
        return self.plan.matrix_cost(self.m, self.n, (rows, columns))
