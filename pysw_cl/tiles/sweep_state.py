"""A sweep in progress: edges in -> tile -> edges out.

:class:`SweepState` makes the job of each tile, takes its result, and gives its edges to the sinks
that want them.  The order of the tiles is decided in :mod:`pysw_cl.tiles.sweep` and
:mod:`pysw_cl.tiles.sweep_pipeline`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

from ..scoring.scoring import Scoring
from ..sequences.view import Codes, Pairs, View
from .best_cells import BestCells
from .edges import DeviceEdge, Edge, EdgeArray, Edges, Sink, Source
from .slabs import Slab, Slabs, SweepResult
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
    #: The least H: 0 (local) or None.
    floor: int | None
    #: Pairs of letters that are never aligned (None: none).
    forbidden: Pairs | None = None

    @cached_property
    def m(self) -> int:
        """Its rows."""
        return len(self.query)

    @cached_property
    def n(self) -> int:
        """Its columns."""
        return len(self.target)

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.m, self.n

    def inside(self: R, area: Area) -> R:
        """A part of it."""
        query, target = self.query.slice(area.row, area.row_end), self.target.slice(*area[2:])
        forbidden = area.pairs(self.forbidden)
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
            forbidden=area.pairs(self.forbidden),
            **more,
        )


@dataclass
class SweepState:
    """The input of a sweep, and how far it is."""

    rectangle: Rectangle
    edges: Edges
    #: The best cells so far.
    best: BestCells
    #: How the rectangle is cut into slabs.
    slabs: Slabs
    #: The part of the rectangle that is computed (None: all).
    corridor: Corridor | None = None
    progress: Progress | None = None
    #: What the finished slabs found, and their cost.
    result: SweepResult = field(default_factory=SweepResult)
    #: Cells done, skipped ones included.
    done: int = 0

    def __post_init__(self) -> None:
        #: The edge above the next tiles, and H at the upper left corner of these.
        self.above: Source = self.edges.top
        self.corner: int = self.edges.corner

    def job(
        self, slab: Slab, area: Area, corner: int, top: Edge | None, left: Edge, target: Codes
    ) -> TileJob:
        """The job of the tile ``area``, whose columns have the codes ``target``."""
        rectangle, best = self.rectangle, self.best
        right = self.edges.right is not None or rectangle.n in slab.columns
        right |= best.in_last_column
        rows, columns = self.special_lines(slab, area)
        return TileJob(
            query=rectangle.query.read(area.row, area.row_end),
            target=target,
            scoring=rectangle.scoring,
            floor=rectangle.floor,
            corner=corner,
            top=top,
            left=left,
            best=best.in_tiles,
            threshold=best.threshold(area),
            count=best.want.count if best.want.among is None else area.cells,
            bottom=area.row_end < rectangle.m or self.gives_bottom(slab),
            right=right or area.column_end < rectangle.n,
            forbidden=area.pairs(rectangle.forbidden),
            after=best.after(area),
            rows=rows,
            columns=columns,
        )

    def gives_bottom(self, slab: Slab) -> bool:
        """Does anything but the tiles below need the bottom edges of a slab's last tiles?"""
        edges = self.edges
        if slab.bottom is not None or slab.end in edges.rows:
            return True
        return slab.end == self.rectangle.m and (edges.bottom is not None or self.best.in_last_row)

    def special_lines(self, slab: Slab, area: Area) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The special rows and columns inside a tile, counted from its corner."""
        if not (self.edges.rows or slab.columns):
            return (), ()
        return (
            places_between(self.edges.rows, area.row, area.row_end),
            places_between(slab.columns, area.column, area.column_end),
        )

    def take(self, slab: Slab, area: Area, result: TileResult) -> None:
        """Take the result of a tile that was computed."""
        found = slab.found
        if result.top is not None:
            found.tops[area] = result.top
        if self.best.want.each_tile and result.hits:
            best = result.hits[0]
            found.bests[area] = Hit(best.score, area.row + best.row, area.column + best.column)
        if result.pruned:
            found.thinned[area] = result.pruned
        found.add_cost(result)
        found.add_execution(result.execution, area.cells)
        self._pass_on(slab, area, result)

    def take_skipped(self, slab: Slab, area: Area) -> TileResult:
        """Take a tile that is skipped: no path through it matters, so its edges hold the floor or
        unreachable cells."""
        slab.found.pruned.append(area)
        floor, gap_open = self.rectangle.floor, self.rectangle.scoring.gap_open
        level = partial(Edge.level, 0 if floor is None else floor, gap_open=gap_open)
        edge = Edge.unreachable if floor is None else level
        (m, n), (rows, columns) = area.shape, self.special_lines(slab, area)
        bottom, right = edge(n), edge(m)
        inner = dict.fromkeys(rows, bottom), dict.fromkeys(columns, right)
        result = TileResult(bottom, right, rows=inner[0], columns=inner[1])
        self._pass_on(slab, area, result)
        return result

    def _pass_on(self, slab: Slab, area: Area, result: TileResult) -> None:
        """Give the edges of a tile to their sinks, and look for better cells in it."""
        edges, bottom, right = self.edges, result.bottom, result.right
        for column, cells in result.columns.items():
            _write_or_take(slab.columns[area.column + column], area.row, cells)
        for row, cells in result.rows.items():
            _write_or_take(edges.rows[area.row + row], area.column, cells)
        for sink, start, edge in (
            (slab.columns.get(area.column_end), area.row, right),
            (edges.right if area.column_end == self.rectangle.n else None, area.row, right),
            (edges.rows.get(area.row_end), area.column, bottom),
            (slab.bottom if area.row_end == slab.end else None, area.column, bottom),
            (edges.bottom if area.row_end == self.rectangle.m else None, area.column, bottom),
        ):
            if sink is not None and edge is not None:
                sink.write(start, edge)
        self.best.add(area, result)

    def advance(self, area: Area | None, underway: int = 0) -> None:
        """Count a tile that is done, if any, and report it.  ``underway``: cells that tiles which
        are being computed have behind them."""
        self.done += 0 if area is None else area.cells
        if self.progress is not None:
            self.progress(self.done + underway, self.rectangle.m * self.rectangle.n)

    def finish(self, slab: Slab) -> None:
        """All tiles of a slab are done."""
        self.result.add(slab.found)
        self.result.hits = self.best.hits
        self.slabs.computed(slab, self.best.hits)


def _write_or_take(sink: Sink, start: int, cells: Edge | DeviceEdge) -> None:
    """Write a special row or column of a tile to its sink.  An array that has room for just these
    cells takes them without a copy, if they stay valid."""
    if isinstance(sink, EdgeArray) and len(cells) == len(sink) and not cells.temporary:
        sink.take(cells)
    else:
        sink.write(start, cells.read(0, len(cells)))


def places_between(places: Iterable[int], start: int, stop: int) -> tuple[int, ...]:
    """The ``places`` strictly between ``start`` and ``stop``, sorted, counted from ``start``."""
    return tuple(sorted(place - start for place in places if start < place < stop))
