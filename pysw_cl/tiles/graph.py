"""A sweep in progress, as a graph of tiles: a tile needs the edges of those above it and to its
left.

:class:`SweepState` makes the job of each tile, takes its result, and gives its edges to the sinks
that want them.  :class:`TileRow` has the tiles side by side: one after the other of them may be
computed as soon as the row above has come that far (`TileRow.ready`).  :mod:`pysw_cl.tiles.sweep`
computes them one by one, in an engine's pipeline, or in the order of an executor."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from ..planning.geometry import places_inside
from ..scoring.scoring import Scoring
from ..sequences.view import Pairs, View, pairs_inside
from .edges import DeviceEdge, Edge, EdgeArray, Edges, LevelEdge, Part, Source
from .slabs import BestCells, Slab, Slabs, SweepResult
from .tile import Area, Corridor, Hit, TileJob, TileResult

#: Is called with the cells that are done and the cells in all.
Progress = Callable[[int, int], None]
R = TypeVar("R", bound="Rectangle")


@dataclass(frozen=True)
class Rectangle:
    """The codes of a sweep, and what all of its tiles have in common."""

    #: The codes of the rows, and of the columns.
    query: View
    target: View
    scoring: Scoring
    #: The least H: 0 (local) or None (global).
    floor: int | None
    #: Pairs of letters that are never aligned (None: none).
    forbidden: Pairs | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.query), len(self.target)

    def level(self, length: int) -> Edge:
        """An edge of a tile that is skipped: it holds the floor, or unreachable cells."""
        if self.floor is None:
            return Edge.unreachable(length)
        return LevelEdge(self.floor, self.scoring.gap_open, length)

    def inside(self: R, area: Area) -> R:
        query, target = self.query.slice(area.row, area.row_end), self.target.slice(*area[2:])
        forbidden = pairs_inside(self.forbidden, *area)
        return replace(self, query=query, target=target, forbidden=forbidden)

    def tile(self, area: Area, edges: Edges, **more: Any) -> TileJob:
        """A part as one tile, whose ``edges`` are counted from its corner and whose bottom and
        right ones are not needed.  ``more``: other fields of the tile."""
        m, n = area.shape
        return TileJob(
            self.query.read(area.row, area.row_end),
            self.target.read(area.column, area.column_end),
            self.scoring,
            self.floor,
            edges.corner,
            edges.top.read(0, n),
            edges.left.read(0, m),
            bottom=False,
            right=False,
            forbidden=pairs_inside(self.forbidden, *area),
            **more,
        )


def _stay(lines: Mapping[int, Any]) -> bool:
    """May special lines stay on a device?  Parts of longer ones are copied at once."""
    return not any(isinstance(line, Part) for line in lines.values())


class SweepState:
    """The input of a sweep, and how far it is.  ``best``: the best cells so far.  ``slabs``: how
    the rows are cut into slabs.  ``corridor``: the part that is computed (None: all)."""

    def __init__(
        self,
        rectangle: Rectangle,
        edges: Edges,
        best: BestCells,
        slabs: Slabs,
        corridor: Corridor | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.rectangle, self.edges, self.best, self.slabs = rectangle, edges, best, slabs
        self.corridor, self._progress = corridor, progress
        self.m, self.n = rectangle.shape
        #: The edge above the next tiles, and H at the upper left corner of these.
        self.above: Source = edges.top
        self.corner = edges.corner
        #: What the finished slabs found, and their cost; cells done, skipped ones included.
        self.result, self._done = SweepResult(), 0
        #: Slabs that were begun and are not computed.
        self.begun = deque[Slab]()
        #: Does the corridor let the sweep go on?  Where do its columns end in the tile row above?
        self.goes_on, self._last_above = True, self.n
        #: The columns whose codes were read last, and these.
        self._columns, self._target = (0, 0), np.zeros(0, np.uint8)

    def job(self, slab: Slab, area: Area, corner: int, top: Edge | None, left: Edge) -> TileJob:
        rectangle, best = self.rectangle, self.best
        if self._columns != area[2:]:
            self._columns, self._target = area[2:], rectangle.target.read(*area[2:])
        right = self.edges.right is not None or self.n in slab.columns or best.in_last_column
        rows, columns = self.special_lines(slab, area)
        return TileJob(
            query=rectangle.query.read(area.row, area.row_end),
            target=self._target,
            scoring=rectangle.scoring,
            floor=rectangle.floor,
            corner=corner,
            top=top,
            left=left,
            best=best.want.where == "all",
            threshold=best.threshold(area),
            count=best.want.count if best.want.among is None else area.cells,
            bottom=area.row_end < self.slabs.stop or self.gives_bottom(slab),
            right=right or area.column_end < self.n,
            forbidden=pairs_inside(rectangle.forbidden, *area),
            after=best.after(area),
            rows=rows,
            columns=columns,
            rows_stay=area.column_end - area.column == self.n and _stay(self.edges.rows),
            columns_stay=area.row_end - area.row == slab.rows and _stay(slab.columns),
        )

    def gives_bottom(self, slab: Slab) -> bool:
        """Does anything but the tiles below need the bottom edges of a slab's last tiles?"""
        edges = self.edges
        if slab.bottom is not None or slab.end in edges.rows:
            return True
        return slab.end == self.m and (edges.bottom is not None or self.best.in_last_row)

    def special_lines(self, slab: Slab, area: Area) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The special rows and columns inside a tile, counted from its corner."""
        rows = places_inside(self.edges.rows, area.row, area.row_end)
        return rows, places_inside(slab.columns, area.column, area.column_end)

    def take(self, slab: Slab, area: Area, result: TileResult) -> None:
        """Count a tile, give its edges to their sinks, and look for better cells in it."""
        edges, bottom, right, found = self.edges, result.bottom, result.right, slab.found
        if result.top is not None:
            found.tops[area] = result.top
        if self.best.want.each_tile and result.hits:
            best = result.hits[0]
            found.bests[area] = Hit(best.score, area.row + best.row, area.column + best.column)
        if result.pruned:
            found.skipped[area] = result.pruned
        found.add_cost(result)
        found.add_execution(result.execution, area.cells)
        for column, cells in result.columns.items():
            slab.columns[area.column + column].write(area.row, cells)
        for row, cells in result.rows.items():
            edges.rows[area.row + row].write(area.column, cells)
        for sink, start, edge in (
            (slab.columns.get(area.column_end), area.row, right),
            (edges.right if area.column_end == self.n else None, area.row, right),
            (edges.rows.get(area.row_end), area.column, bottom),
            (slab.bottom if area.row_end == slab.end else None, area.column, bottom),
            (edges.bottom if area.row_end == self.m else None, area.column, bottom),
        ):
            if sink is not None and edge is not None:
                sink.write(start, edge)
        self.best.add(area, result)

    def skipped(self, slab: Slab, area: Area) -> TileResult:
        """The result of a tile that is not computed."""
        rows, columns = self.special_lines(slab, area)
        right, bottom = map(self.rectangle.level, area.shape)
        below, beside = dict.fromkeys(rows, bottom), dict.fromkeys(columns, right)
        return TileResult(bottom, right, pruned=area.cells, rows=below, columns=beside)

    def advance(self, area: Area | None, underway: int = 0) -> None:
        """Count a tile that is done, if any, and report it.  ``underway``: cells that tiles which
        are being computed have behind them."""
        self._done += 0 if area is None else area.cells
        if self._progress is not None:
            self._progress(self._done + underway, self.m * self.n)

    def finish(self, slab: Slab) -> None:
        """All tiles of a slab are done."""
        self.result.add(slab.found)
        self.result.hits = self.best.hits
        self.slabs.computed(slab, self.best.hits)

    def rows(
        self, slab: Slab, rows: Iterable[int], columns: Callable[[int, int], Iterable[int]]
    ) -> Iterator[TileRow]:
        """The tile rows of a slab from the first to the last one.  ``rows``: where they are cut,
        the ends of the slab included; ``columns(start, stop)``: where a range of columns is.  One
        row may be taken as soon as the one before was; in a corridor, when all tiles of that are
        done, after which the corridor may end the sweep."""
        corridor = self.corridor
        for row, row_end in pairwise(rows):
            left, above = self.edges.left.read(row, row_end), self.above
            corner, self.corner = self.corner, int(left.h[-1])
            first, last = 0, self.n
            if corridor is not None:
                first, last = corridor.columns(row, row_end)
                self._skip_outside(slab, Area(row, row_end, first, last))
                if first > 0:
                    corner, left = above.h_at(first - 1), self._gap_from(above, first, len(left))
            areas = [Area(row, row_end, *places) for places in pairwise(columns(first, last))]
            one = TileRow(self, slab, areas, above, corner, left)
            self.above = below = one.below
            yield one
            if corridor is None:
                continue
            below.done = self.n
            if row_end < self.m:
                self.goes_on = corridor.passed(row_end, first, below.read(first, last))
                if not self.goes_on:
                    return
                if first > 0:  # the next tile's corner, if it starts in this column
                    below.write(first - 1, left.read(len(left) - 1, len(left)))

    def _skip_outside(self, slab: Slab, inside: Area) -> None:
        """Areas beside a corridor count as pruned; a gap reaches the cells above it."""
        row, row_end, first, last = inside
        outside = Area(row, row_end, 0, first), Area(row, row_end, last, self.n)
        slab.found.skipped |= {area: area.cells for area in outside if area.cells}
        self._done += sum(area.cells for area in outside)
        if last > self._last_above:
            assert isinstance(self.above, EdgeArray)
            reached = self._gap_from(self.above, self._last_above, last - self._last_above)
            self.above.write(self._last_above, reached)
        self._last_above = last

    def _gap_from(self, above: Source, column: int, length: int) -> Edge:
        """Cells outside the corridor, reached by one gap from cell ``column`` (from 1) above."""
        scoring = self.rectangle.scoring
        return Edge.one_gap(above.h_at(column - 1), length, scoring.gap_open, scoring.gap_extend)


class _Below(EdgeArray):
    """The edge below a tile row, which is there up to a column, and grows with each tile."""

    done = 0

    def __init__(self, length: int) -> None:
        super().__init__(length)
        #: Runs of it that take no memory, by their first cells.
        self._small = dict[int, Any]()

    def write(self, start: int, edge: Edge | DeviceEdge) -> None:
        if edge.small:
            self._small[start] = edge
        else:
            super().write(start, edge)

    def read(self, start: int, stop: int) -> Edge:
        kept: Edge | None = self._small.get(start)
        if kept is not None and len(kept) == stop - start:
            return kept
        while self._small:
            first, edge = self._small.popitem()
            super().write(first, edge.read(0, len(edge)))
        return super().read(start, stop)

    h_at = Source.h_at

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
        self.below = _Below(state.n if areas[0].row_end < state.slabs.stop else 0)

    def ready(self, area: Area) -> bool:
        """Is the edge above this tile there?"""
        return self._above.ready(area.column, area.column_end)

    def begin(self, area: Area) -> TileJob | None:
        """The job of the next tile.  None: no path through it matters, so it is done."""
        state = self._state
        self._top = self._above.read(area.column, area.column_end)
        if state.best.excluded(area, self._corner, self._top, self._left):
            self.take(area, state.skipped(self._slab, area))
            return None
        return state.job(self._slab, area, self._corner, self._top, self._left)

    def take(self, area: Area, done: TileResult) -> None:
        """Take the result of the tile that was begun last, whose edges are those of the tiles below
        it and to its right, too."""
        self._state.take(self._slab, area, done)
        if done.bottom is not None and len(self.below):
            self.below.write(area.column, done.bottom)
        self._left = self._left if done.right is None else done.right
        self._corner, self.below.done = self._top.h_at(len(self._top) - 1), area.column_end
        self._state.advance(area)


def next_tile(
    rows: Iterator[TileRow],
    left: dict[TileRow, list[Area]],
    busy: set[TileRow],
    hurry: Callable[[Area], float] = lambda area: 0.0,
) -> tuple[TileRow, Area, TileJob] | None:
    """A tile whose edges are there, the one with most ``hurry``, of equals the uppermost; None if
    there is none now.  ``left``: the rows that are not done, with the tiles that are not begun; one
    of each ``busy`` row is being computed."""
    while True:
        for row, areas in list(left.items()):
            if not areas and row not in busy:
                del left[row]
        last = next(reversed(left), None)
        if last is None or (last.below.done and not last.alone):
            new = next(rows, None)
            if new is not None:
                left[new] = list(new.areas)
        ready = (row for row in left if left[row] and row not in busy and row.ready(left[row][0]))
        found = max(ready, key=lambda row: hurry(left[row][0]), default=None)
        if found is None:
            return None
        area = left[found].pop(0)
        if (job := found.begin(area)) is not None:
            return found, area, job
