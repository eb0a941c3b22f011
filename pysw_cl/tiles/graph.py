"""A sweep as a graph of tiles: a tile needs the edges of the tiles above it and to its left.

:class:`TileRow` has the tiles side by side.  One after the other of them may be computed as soon as
the row above has come that far (`TileRow.ready`).  :mod:`pysw_cl.tiles.sweep` computes them one by
one, :mod:`pysw_cl.tiles.executors` in other orders.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Protocol

from ..planning.geometry import cuts, tile_rows
from .contract import Engine
from .edges import Edge, EdgeArray, Source
from .slabs import Slab
from .sweep_state import SweepState
from .tile import Area, TileJob, TileResult


class _Below(EdgeArray):
    """The edge below a tile row, which is there up to a column, and grows with each tile."""

    done = 0

    def ready(self, start: int, stop: int) -> bool:
        return self.done >= stop


class TileRow:
    """The tiles side by side in some rows of a sweep, from left to right."""

    def __init__(
        self,
        state: SweepState,
        slab: Slab,
        areas: list[Area],
        above: Source,
        corner: int,
        left: Edge,
    ) -> None:
        self._state, self._slab, self.areas, self._above = state, slab, areas, above
        #: H at the upper left corner of the next tile, the edge to its left, and that above it.
        self._corner, self._left, self._top = corner, left, left
        #: Are all of its tiles done before the next row is taken?
        self.alone = state.corridor is not None
        #: The edge below the tiles; nobody needs that of the last row.
        self.below = _Below(state.rectangle.n if areas[0].row_end < state.rectangle.m else 0)

    def ready(self, area: Area) -> bool:
        """Is the edge above this tile there?"""
        return self._above.ready(area.column, area.column_end)

    def begin(self, area: Area) -> TileJob | None:
        """The job of the next tile.  None: no path through it matters, so it is done."""
        state = self._state
        self._top = self._above.read(area.column, area.column_end)
        if state.best.excluded(area, self._corner, self._top, self._left):
            self._pass_on(area, state.take_skipped(self._slab, area))
            return None
        codes = state.rectangle.target.read(area.column, area.column_end)
        return state.job(self._slab, area, self._corner, self._top, self._left, codes)

    def take(self, area: Area, done: TileResult) -> None:
        """Take the result of the tile that was begun last."""
        self._state.take(self._slab, area, done)
        self._pass_on(area, done)

    def _pass_on(self, area: Area, done: TileResult) -> None:
        """Give the edges of a tile to those below it and to its right."""
        below, bottom = self.below, done.bottom
        if bottom is not None and len(below):
            if len(bottom) == len(below) and self._state.corridor is None:
                below.take(bottom)
            else:
                below.write(area.column, bottom)
        self._left = self._left if done.right is None else done.right
        self._corner, below.done = int(self._top.h[-1]), area.column_end
        self._state.advance(area)


class Executor(Protocol):
    """What computes the tiles of a sweep."""

    def compute(self, rows: Iterator[TileRow]) -> None:
        """Compute all tiles of these rows, which `TileGraph.rows` gives."""


class TileGraph:
    """The tile rows of a sweep."""

    def __init__(self, engine: Engine, state: SweepState) -> None:
        self.engine, self.state, self.n = engine, state, state.rectangle.n
        #: Does the corridor let the sweep go on?
        self.goes_on = True
        #: The end of the corridor's columns in the tile row above.
        self._last_above = self.n
        #: Are special rows and columns captured inside a tile?
        self._captures = engine.captures_inside and state.corridor is None

    def rows(self, slab: Slab) -> Iterator[TileRow]:
        """The tile rows of a slab from the first to the last one.

        One may be taken as soon as the one before was; in a corridor, when all tiles of that are
        done, after which the corridor may end the sweep."""
        state, corridor = self.state, self.state.corridor
        rows, step = state.slabs.shape(slab.rows)
        for row, row_end in pairwise(self._row_cuts(slab, rows, step)):
            left, above = state.edges.left.read(row, row_end), state.above
            corner, state.corner = state.corner, int(left.h[-1])
            first, last = 0, self.n
            if corridor is not None:
                first, last = corridor.columns(row, row_end)
                self._skip_outside(slab, Area(row, row_end, first, last))
                if first > 0:
                    corner, left = above.h_at(first - 1), self._gap_from(above, first, len(left))
            areas = self._areas(slab, row, row_end, first, last, step)
            one = TileRow(state, slab, areas, above, corner, left)
            state.above = below = one.below
            yield one
            if corridor is None:
                continue
            below.done = self.n
            if row_end < state.rectangle.m:
                self.goes_on = corridor.passed(row_end, first, below.read(first, last))
                if not self.goes_on:
                    return
                if first > 0:  # the next tile's corner, if it starts in this column
                    below.write(first - 1, left.read(len(left) - 1, len(left)))

    def _skip_outside(self, slab: Slab, inside: Area) -> None:
        """The areas beside those of a corridor count as pruned; the cells above it that are not
        computed are reached by a gap."""
        state, (row, row_end, first, last) = self.state, inside
        outside = Area(row, row_end, 0, first), Area(row, row_end, last, self.n)
        slab.found.pruned += [area for area in outside if area.cells]
        state.done += sum(area.cells for area in outside)
        if last > self._last_above:
            assert isinstance(state.above, EdgeArray)
            reached = self._gap_from(state.above, self._last_above, last - self._last_above)
            state.above.write(self._last_above, reached)
        self._last_above = last

    def _areas(
        self, slab: Slab, row: int, row_end: int, first: int, last: int, step: int
    ) -> list[Area]:
        """The tiles of some rows in the columns ``[first, last)``, with ``step`` columns at
        most."""
        places = [first, last]
        if last - first > step or (slab.columns and not self._captures):
            special = () if self._captures else tuple(place - first for place in slab.columns)
            places = [first + place for place in cuts(last - first, step, 1, special)]
        return [Area(row, row_end, *columns) for columns in pairwise(places)]

    def _row_cuts(self, slab: Slab, rows: int, columns: int) -> list[int]:
        """The row where a slab starts, and the rows where its tiles end."""
        height, engine = slab.rows, self.engine
        special = () if self._captures else tuple(r - slab.start for r in self.state.edges.rows)
        if height <= rows and not special:  # one tile, as high as it is
            return [slab.start, slab.start + height]
        quantum = engine.strip_rows(rows, columns) if self._captures else engine.row_quantum
        return [slab.start + place for place in tile_rows(height, rows, quantum, special)]

    def _gap_from(self, above: Source, column: int, length: int) -> Edge:
        """Cells outside the corridor, reached by one gap from cell ``column`` (from 1) above."""
        scoring = self.state.rectangle.scoring
        return Edge.one_gap(above.h_at(column - 1), length, scoring.gap_open, scoring.gap_extend)
