"""Slabs: rows of a sweep that are computed together.  What a sweep found: best cells, a map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain, pairwise, product
from math import isnan, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..planning.execution import Execution
from ..planning.geometry import TileRows
from ..scoring.precision import LOCAL_LIMIT, UNREACHABLE_BELOW
from ..sequences.view import Frame
from .edges import Edge, Edges, Ints, Sink
from .tile import NO_HITS, Area, Cells, Costs, Hit, Hits, Limits, TileResult, Want, best_first

#: A map has at most so many rows and columns of rectangles; more tiles than that are merged.
MOST = 64


@dataclass(frozen=True, eq=False)
class TileMap:
    """The matrix as R x C rectangles, at most 64 x 64.

    ``rows`` (int64, R + 1) and ``columns`` (int64, C + 1) are the cuts, rising, in letters of the
    whole query and target.  ``scores`` (float64, R x C) is the highest score met in a rectangle (on
    several devices maybe in columns beside it), NaN where none was looked for: in pruned tiles and
    in global comparisons.  ``pruned`` (float64,
    R x C) is the share of a rectangle's cells that were skipped, from 0 to 1."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    scores: NDArray[np.float64]
    pruned: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        shape: tuple[int, int],
        tops: Mapping[Area, float],
        skipped: Mapping[Area, float],
        start: int = 0,
    ) -> TileMap:
        """The map of a sweep over ``shape`` (rows, columns), whose areas begin at row ``start``.
        ``tops``: the highest score of areas.  ``skipped``: the share of areas that was skipped."""
        areas = [*{**tops, **skipped}]
        if not areas or areas == [(start, start + shape[0], 0, shape[1])]:  # the same, but fast
            sides = np.array([0, shape[0]]), np.array([0, shape[1]])
            values = [*tops.values()] or [nan], [*skipped.values()] or [0]
            return cls(*sides, np.array([values[0]], float), np.array([values[1]], float))
        rows = np.unique([0, shape[0], *(row - start for area in areas for row in area[:2])])
        columns = np.unique([0, shape[1], *(column for area in areas for column in area[2:])])
        scores = np.full((len(rows) - 1, len(columns) - 1), np.nan)
        skipped_cells = np.zeros(scores.shape)

        def inside(area: Area) -> tuple[slice, slice]:
            high, low = np.searchsorted(rows + start, (area.row, area.row_end)).tolist()
            left, right = np.searchsorted(columns, (area.column, area.column_end)).tolist()
            return slice(high, low), slice(left, right)

        for area, top in tops.items():
            scores[inside(area)] = top
        for area, share in skipped.items():
            skipped_cells[inside(area)] = share
        skipped_cells *= np.outer(np.diff(rows), np.diff(columns))
        for axis, cuts in enumerate((rows, columns)):
            first = _groups(len(cuts) - 1)
            scores = np.fmax.reduceat(scores, first, axis=axis)
            skipped_cells = np.add.reduceat(skipped_cells, first, axis=axis)
        rows, columns = (cuts[[*_groups(len(cuts) - 1), -1]] for cuts in (rows, columns))
        return cls(rows, columns, scores, skipped_cells / np.outer(np.diff(rows), np.diff(columns)))

    @classmethod
    def joined(cls, shape: tuple[int, int], slabs: Mapping[int, TileMap]) -> TileMap:
        """The map of ``shape`` from those of slabs, by first rows; rows of none have no score."""
        tops, skipped = dict[Area, float](), dict[Area, float]()
        for first, slab in slabs.items():
            sides = product(pairwise((slab.rows + first).tolist()), pairwise(slab.columns.tolist()))
            areas = [Area(*rows, *columns) for rows, columns in sides]
            scores, shares = slab.scores.ravel().tolist(), slab.pruned.ravel().tolist()
            tops |= {a: score for a, score in zip(areas, scores, strict=True) if not isnan(score)}
            skipped |= {a: share for a, share in zip(areas, shares, strict=True) if share}
        return cls.of(shape, tops, skipped)

    def facts(self) -> dict[str, Any]:
        """The map as JSON: scores as integers (None for NaN), pruned cells as counts."""
        cells = np.outer(np.diff(self.rows), np.diff(self.columns))
        return {
            "rows": self.rows.tolist(),
            "columns": self.columns.tolist(),
            "scores": [[None if isnan(s) else int(s) for s in row] for row in self.scores],
            "pruned": np.rint(self.pruned * cells).astype(np.int64).tolist(),
        }

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any]) -> TileMap:
        rows, columns = (np.array(facts[side], np.int64) for side in ("rows", "columns"))
        cells = np.outer(np.diff(rows), np.diff(columns))
        scores = np.array(facts["scores"], np.float64)  # None becomes NaN
        return cls(rows, columns, scores, np.array(facts["pruned"], np.int64) / cells)

    def in_sequences(self, frame: Frame, scale: int) -> TileMap:
        """This map of a frame's rows and columns as a map of the whole sequences.  Scores are
        divided by ``scale``, the scoring's.  On the minus strand the rows' order is reversed."""
        if frame.row == frame.column == 0 and scale == 1 and not frame.minus:
            return self
        columns, scores = self.columns + frame.column, self.scores / scale
        if not frame.minus:
            return TileMap(self.rows + frame.row, columns, scores, self.pruned)
        return TileMap(frame.row_end - self.rows[::-1], columns, scores[::-1], self.pruned[::-1])


def _groups(count: int) -> list[int]:
    """The first piece of each group, if ``count`` pieces form at most `MOST` even groups."""
    groups = min(count, MOST)
    return [group * count // groups for group in range(groups)]


class BestCells:
    """The best cells found so far in a rectangle of ``m`` x ``n`` cells: `hits`, at most
    ``want.count``.  ``limits``: its bound allows pruning (None: no tile is skipped)."""

    def __init__(self, m: int, n: int, floor: int | None, want: Want, limits: Limits) -> None:
        self.m, self.n, self.floor, self.want = m, n, floor, want
        bound, (rows, columns) = limits.bound, limits.beyond
        #: The rows and columns of the matrix from the first of the rectangle on.
        self._all = m + rows, n + columns
        # Only one best cell can be bounded by the best score known.
        self.bound = bound if want.count == 1 and want.where != "none" else None
        self._pruned = self.bound is not None
        #: Are they looked for in the bottom edge of a tile, in the right edge?
        self.in_last_row = want.where in ("last_row", "border")
        self.in_last_column = want.where in ("last_column", "border", "corner")
        self.hits = Hits(NO_HITS.some, want.count)
        #: The score of the last of ``want.count``, among the first so many of them.
        self._least, self._chosen = 0, 0

    def threshold(self, area: Area) -> int | None:
        """The score that a cell of a tile must reach: the caller's, or that of the last best."""
        if self.want.among is not None and not self.want.among.any_in(area):
            return LOCAL_LIMIT
        cells, count = self.hits.some, self.want.count
        if len(cells) < count or self.want.each_tile:
            return self.want.threshold
        if 2 * (len(cells) - self._chosen) > count:  # not for a few more
            self._least = int(np.partition(cells[:, 0], -count)[-count])
            cells = cells[cells[:, 0] >= self._least]
            # equal ones are sorted where they are many
            if len(cells) > 2 * count:
                cells = best_first(cells, count).astype(cells.dtype)
            self.hits = Hits(cells, count)
            self._chosen = len(self.hits.some)
        return self._least

    def add(self, area: Area, result: TileResult) -> None:
        """Look for better cells in the result of a tile and in the edges that it has."""
        found, among = result.hits.moved(area.row, area.column), self.want.among
        self._add(found if among is None else among.of(area, found))
        where, right, bottom = self.want.where, result.right, result.bottom
        if right is not None and area.column_end == self.n and self.in_last_column:
            first = self.m if where == "corner" else area.row + 1
            self._add_best(right.h[first - area.row - 1 :], first, self.n, down=True)
        if bottom is not None and area.row_end == self.m and self.in_last_row:
            # With "border" the corner was looked at in the last column.
            count = len(bottom) - int(where == "border" and area.column_end == self.n)
            self._add_best(bottom.h[:count], self.m, area.column + 1, down=False)

    def _add_best(self, h: Ints, row: int, column: int, *, down: bool) -> None:
        """Add the best reachable cells of an edge that begins at a cell and goes down or right."""
        count = self.want.count
        if not len(h):
            return
        if count == 1:
            places = np.array([h.argmax()])  # the first one
        else:  # those that may be among the best
            least = np.partition(h, -count)[-count] if count < len(h) else h.min()
            places = np.flatnonzero(h >= least)
        lowest = UNREACHABLE_BELOW if self.want.threshold is None else self.want.threshold
        places = places[h[places] >= max(lowest, UNREACHABLE_BELOW)]
        cells = np.full((len(places), 3), (0, row, column), np.int64)
        cells[:, 0] = h[places]
        cells[:, 1 if down else 2] += places
        self._add(cells)

    def _add(self, cells: Cells) -> None:
        if len(cells):
            here = self.hits.some
            self.hits = Hits(np.concatenate([here, cells]) if len(here) else cells, self.want.count)

    # Pruning

    def after(self, area: Area) -> tuple[int, int] | None:
        """How many rows and columns of the matrix follow a tile; None where it is not pruned."""
        rows, columns = self._all[0] - area.row_end, self._all[1] - area.column_end
        return (rows, columns) if self._pruned else None

    def excluded(self, area: Area, corner: int, top: Edge, left: Edge) -> bool:
        """Is it certain that no path through this tile beats the best cell, nor equals it at an
        earlier cell?  Method: block pruning (Sandes & de Melo, CUDAlign 2.1), with ties."""
        bound = self.bound
        if bound is None:
            return False
        best = min(chain(self.hits, [Hit(bound.score, bound.row, bound.column)]))
        start = max(corner, top.highest, left.highest)
        if self.floor is not None:
            start = max(start, self.floor)
        longest = min(self._all[0] - area.row, self._all[1] - area.column)
        most = start + longest * max(bound.match, 0)
        later = (area.row + 1, area.column + 1) > (best.row, best.column)
        return most < best.score or (most == best.score and later)


@dataclass
class SweepResult(Costs):
    """What a sweep found, and what it cost."""

    hits: Hits = NO_HITS
    #: The highest score of each computed tile that looked for it.
    tops: dict[Area, int] = field(default_factory=dict)
    #: The best cell of each tile that has one, where `Want.each_tile` asks for them.
    bests: dict[Area, Hit] = field(default_factory=dict)
    #: How many cells were skipped in each area.
    skipped: dict[Area, int] = field(default_factory=dict)
    #: How the largest tile was computed, and its cells.
    execution: Execution | None = None
    most: int = 0

    @property
    def pruned_cells(self) -> int:
        return sum(self.skipped.values())

    def tile_map(self, shape: tuple[int, int], start: int = 0) -> TileMap:
        """The map of a part of this shape that begins at a row."""
        skipped = {area: count / area.cells for area, count in self.skipped.items()}
        return TileMap.of(shape, self.tops, skipped, start)

    def add(self, other: SweepResult) -> None:
        """Add the result of a part of the sweep, but for its best cells."""
        self.tops |= other.tops
        self.bests |= other.bests
        self.skipped |= other.skipped
        self.add_cost(other)
        self.add_execution(other.execution, other.most)

    def add_execution(self, execution: Execution | None, cells: int) -> None:
        """A tile of so many cells was computed like this."""
        if execution is not None and cells > self.most:
            self.execution, self.most = execution, cells


@dataclass
class Slab:
    """Rows ``[start, end)`` of a sweep."""

    start: int
    end: int
    #: The sink of each special column, by its number; it gets the cells of these rows.
    columns: Mapping[int, Sink]
    #: The sink of its last row (None: not wanted).
    bottom: Sink | None = None
    #: The result of its tiles, but for best cells.
    found: SweepResult = field(default_factory=SweepResult)

    @property
    def rows(self) -> int:
        return self.end - self.start


class Slabs:
    """How the rows ``[start, stop)`` of a sweep are cut into slabs, from top to bottom; each is
    decided when it begins, in a pipeline before those above it are computed.  By default there is
    one slab; in a pipeline there are as many as are useful, each ending at the next special row at
    the latest.  ``most``: the most rows and columns of a tile."""

    start = 0

    def __init__(self, m: int, edges: Edges, most: tuple[int, int]) -> None:
        self.stop, self._edges, self._most = m, edges, most
        self._height: int | None = None
        #: Where slabs of several devices end.
        self._cuts = list[int]()

    def shape(self, rows: int) -> tuple[int, int]:
        """Rows and columns of the tiles of a slab of so many rows."""
        return self._most

    def pipelined(self, rows: TileRows | None, devices: int = 1) -> None:
        """From now on slabs of so many rows follow each other; None: no longer."""
        self._height = None
        if rows is None or (devices == 1 and self._most[0] >= self.stop):
            return
        self._height = rows.height(self._most[0])
        if devices > 1:
            self._cuts = [self.start + end for end in rows.cuts(self.stop - self.start)]

    def begin(self, row: int) -> Slab:
        end = self.stop
        if self._height is not None:
            ends = [place for place in (*self._edges.rows, *self._cuts) if place > row]
            end = min([self.stop, *ends, *([] if self._cuts else [row + self._height])])
        return Slab(row, end, self._edges.columns)

    def computed(self, slab: Slab, hits: Hits) -> None:
        """A slab is computed, its edges are written.  ``hits``: the best cells so far."""
