"""Slabs: rows of a sweep that are computed together; what a sweep found, and a coarse map of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise, product
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..planning.execution import Execution
from ..planning.geometry import piped_height
from ..sequences.view import Frame
from .edges import Edges, Sink
from .tile import NO_HITS, Area, Costs, Hit, Hits

#: A map has at most so many rows and columns of rectangles; more tiles than that are merged.
MOST = 64


@dataclass(frozen=True, eq=False)
class TileMap:
    """The matrix as R x C rectangles, at most 64 x 64.

    ``rows`` (int64, R + 1) and ``columns`` (int64, C + 1) are the cuts, rising, in letters of the
    whole query and target.  ``scores`` (float64, R x C) is the highest score met in a rectangle,
    NaN where none was looked for: in pruned tiles and in global comparisons.  ``pruned`` (float64,
    R x C) is the share of a rectangle's cells that were skipped, from 0 to 1.
    """

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
        rows = _cuts(shape[0], [(area.row - start, area.row_end - start) for area in areas])
        columns = _cuts(shape[1], [(area.column, area.column_end) for area in areas])
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
        cells = np.outer(np.diff(rows), np.diff(columns))
        return cls(rows, columns, scores, skipped_cells / cells)

    @classmethod
    def joined(cls, shape: tuple[int, int], slabs: Mapping[int, TileMap]) -> TileMap:
        """The map of ``shape`` from the maps of slabs, by their first rows.

        Rows of no slab have no score and no pruned cells."""
        tops: dict[Area, float] = {}
        skipped: dict[Area, float] = {}
        for first, slab in slabs.items():
            sides = product(pairwise((slab.rows + first).tolist()), pairwise(slab.columns.tolist()))
            for (rows, columns), score, share in zip(
                sides, slab.scores.flat, slab.pruned.flat, strict=True
            ):
                if not np.isnan(score):
                    tops[Area(*rows, *columns)] = float(score)
                if share:
                    skipped[Area(*rows, *columns)] = float(share)
        return cls.of(shape, tops, skipped)

    def facts(self) -> dict[str, Any]:
        """The map as JSON: scores as integers (None for NaN), pruned cells as counts."""
        cells = np.outer(np.diff(self.rows), np.diff(self.columns))
        scores = [[None if np.isnan(s) else int(s) for s in row] for row in self.scores]
        pruned = np.rint(self.pruned * cells).astype(np.int64)
        return {
            "rows": self.rows.tolist(),
            "columns": self.columns.tolist(),
            "scores": scores,
            "pruned": pruned.tolist(),
        }

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any]) -> TileMap:
        """The map from the result of :meth:`facts`."""
        rows, columns = (np.array(facts[side], np.int64) for side in ("rows", "columns"))
        cells = np.outer(np.diff(rows), np.diff(columns))
        scores = np.array(facts["scores"], np.float64)  # None becomes NaN
        return cls(rows, columns, scores, np.array(facts["pruned"], np.int64) / cells)

    def in_sequences(self, frame: Frame, scale: int) -> TileMap:
        """This map of a frame's rows and columns as a map of the whole sequences.

        Scores are divided by ``scale``, the scoring's.  On the minus strand the order of the rows
        is reversed."""
        if frame.row == frame.column == 0 and scale == 1 and not frame.minus:
            return self
        columns, scores = self.columns + frame.column, self.scores / scale
        if not frame.minus:
            return TileMap(self.rows + frame.row, columns, scores, self.pruned)
        return TileMap(frame.row_end - self.rows[::-1], columns, scores[::-1], self.pruned[::-1])


def _cuts(length: int, spans: list[tuple[int, int]]) -> NDArray[np.int64]:
    places = {0, length, *(place for span in spans for place in span)}
    return np.array(sorted(places), np.int64)


def _groups(count: int) -> list[int]:
    """The first piece of each group, if ``count`` pieces form at most `MOST` even groups."""
    groups = min(count, MOST)
    return [group * count // groups for group in range(groups)]


@dataclass
class SweepResult(Costs):
    """What a sweep found, and what it cost."""

    #: The best cells, the best first.
    hits: Hits = NO_HITS
    #: The highest score of each computed tile that looked for it.
    tops: dict[Area, int] = field(default_factory=dict)
    #: The best cell of each tile that has one, where `Want.each_tile` asks for them.
    bests: dict[Area, Hit] = field(default_factory=dict)
    #: The areas that were skipped, and how many cells were skipped inside each other tile.
    pruned: list[Area] = field(default_factory=list)
    thinned: dict[Area, int] = field(default_factory=dict)
    #: How the largest tile was computed, and its cells.
    execution: Execution | None = None
    most: int = 0

    @property
    def pruned_cells(self) -> int:
        """All skipped cells."""
        return sum(area.cells for area in self.pruned) + sum(self.thinned.values())

    def tile_map(self, shape: tuple[int, int], start: int = 0) -> TileMap:
        """The map of a part of this shape that begins at a row."""
        skipped = dict.fromkeys(self.pruned, 1.0)
        skipped |= {area: count / area.cells for area, count in self.thinned.items()}
        return TileMap.of(shape, self.tops, skipped, start)

    def add(self, other: SweepResult) -> None:
        """Add the result of a part of the sweep, but for its best cells."""
        self.tops |= other.tops
        self.bests |= other.bests
        self.pruned += other.pruned
        self.thinned |= other.thinned
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
        """Its number of rows."""
        return self.end - self.start


class Slabs:
    """How a sweep of ``m`` rows is cut into slabs; each is decided when it begins.

    Slabs begin and are computed from top to bottom.  In a pipeline a slab may begin before those
    above it are computed.  By default there is one slab; in a pipeline there are as many as are
    useful, each ending at the next special row at the latest.  ``most``: the most rows and columns
    of a tile.  The rows ``[start, stop)`` are computed.
    """

    start = 0

    def __init__(self, m: int, edges: Edges, most: tuple[int, int]) -> None:
        self.stop, self._edges, self._most = m, edges, most
        self._height: int | None = None

    def shape(self, rows: int) -> tuple[int, int]:
        """Rows and columns of the tiles of a slab of so many rows."""
        return self._most

    def pipelined(self, rows: tuple[int, int] | None) -> None:
        """From now on slabs follow each other in a pipeline (None: in no pipeline).

        ``rows``: the least height of a slab, and what heights should be a multiple of."""
        self._height = None
        if rows is not None and self._most[0] < self.stop:
            self._height = piped_height(*rows, self._most[0])

    def begin(self, row: int) -> Slab:
        """The slab that starts at a row."""
        end = self.stop
        if self._height is not None:
            ends = [special for special in self._edges.rows if special > row]
            end = min([self.stop, row + self._height, *ends])
        return Slab(row, end, self._edges.columns)

    def computed(self, slab: Slab, hits: Hits) -> None:
        """A slab is computed and its edges are written; ``hits``: the best cells of the sweep so
        far."""
