"""The sweep: a rectangle of any size, cut into tiles, with streaming edges.

This is the tile contract as drivers see it (docs/algorithm.md, Tiles).  It is written once, over
the one thing an engine does, :meth:`Engine.tile`; so special rows, pruning, meeting an opposite
edge, progress and cancellation are the same for every engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from math import isqrt
from typing import NamedTuple

import numpy as np

from ..scoring.scoring import Scoring
from .contract import Below, Engine, TileJob, TileResult
from .tile import (
    REACH,
    Bound,
    Edge,
    EdgeArray,
    Edges,
    Goal,
    Hit,
    KeptEdge,
    Limits,
    Pairs,
    Sink,
    Source,
    View,
    Want,
    pairs_inside,
)

Progress = Callable[[int, int], None]

#: Longest side of a tile: its edges are held on the device, 16 bytes a cell.
LONGEST_SIDE = 1 << 23


class Area(NamedTuple):
    """Rows ``[row, row_end)`` and columns ``[column, column_end)`` of a sweep, counted from 0."""

    row: int
    row_end: int
    column: int
    column_end: int

    @property
    def cells(self) -> int:
        """Cells inside."""
        return (self.row_end - self.row) * (self.column_end - self.column)

    def pairs(self, pairs: Pairs | None) -> Pairs | None:
        """Those of ``pairs`` that lie inside, counted from the corner."""
        return pairs_inside(pairs, self.row, self.row_end, self.column, self.column_end)


@dataclass
class SweepResult:
    """What a sweep found: the best cells, the highest score of each tile computed (where it was
    looked for), the areas skipped, cells pruned inside other tiles, the crossings of a goal's edge
    as (index along the edge, "H" or "gap"), and what it cost."""

    hits: list[Hit] = field(default_factory=list)
    tops: dict[Area, int] = field(default_factory=dict)
    pruned: list[Area] = field(default_factory=list)
    thinned: dict[Area, int] = field(default_factory=dict)
    crossings: list[tuple[int, str]] = field(default_factory=list)
    cells: dict[str, int] = field(default_factory=dict)
    launches: int = 0

    @property
    def pruned_cells(self) -> int:
        """Cells that were not computed."""
        return sum(area.cells for area in self.pruned) + sum(self.thinned.values())


def cuts(length: int, step: int, quantum: int, forced: tuple[int, ...] = ()) -> list[int]:
    """Where ``[0, length)`` is cut: at every forced place, and between them in even pieces of at
    most about ``step``, whole multiples of ``quantum`` where possible."""
    places = sorted({0, length, *(f for f in forced if 0 < f < length)})
    out = [0]
    for start, end in pairwise(places):
        pieces = -(-(end - start) // max(step, quantum))
        size = -(-(end - start) // pieces)
        size = -(-size // quantum) * quantum
        out += [*range(start + size, end, size), end]
    return out


def tile_shape(m: int, n: int, cells: int, busy_rows: int = 0) -> tuple[int, int]:
    """Rows and columns of tiles of at most ``cells`` cells: squares where the matrix allows.

    Where only the sides are a limit, a matrix that is too long for one tile is cut into tiles of
    ``busy_rows``, which keep a whole device busy, as wide as they may be, because a tile's first
    and last columns give work to few groups.
    """
    if cells >= LONGEST_SIDE**2 and max(m, n) > LONGEST_SIDE and m > busy_rows > 0:
        return busy_rows, max(1, min(n, cells // busy_rows))
    rows = min(m, max(1, isqrt(cells)))
    columns = max(1, min(n, cells // rows, LONGEST_SIDE))
    return max(1, min(m, cells // columns, LONGEST_SIDE)), columns


def sweep(
    engine: Engine,
    query: View,
    target: View,
    scoring: Scoring,
    floor: int | None,
    edges: Edges,
    want: Want | None = None,
    limits: Limits | None = None,
    *,
    shape: tuple[int, int] | None = None,
    progress: Progress | None = None,
    blocked: Pairs | None = None,
) -> SweepResult:
    """Compute the rectangle of ``query`` (m codes) x ``target`` (n codes).

    ``floor`` is 0 (local) or None.  Edges stream: tiles are done in bands from top to bottom, each
    from left to right; a source is read when a tile needs it and a sink written when it is there.
    ``shape``: rows and columns of a tile (default: one tile); where the engine cannot take special
    rows and columns inside one, or in a corridor, tiles also end at each of them.
    ``progress(done, total)`` is called with cells after every tile; an exception that it raises
    ends the sweep.
    ``blocked``: pairs of letters that are never aligned.
    """
    want, limits = want or Want(), limits or Limits()
    job = Sweep(engine, query, target, scoring, floor, edges, want, limits, blocked)
    return job.run(shape, progress)


@dataclass
class Sweep:
    """A sweep to be made: see :func:`sweep`.

    ``below``: what follows, where all of it is one tile of those that follow each other.
    """

    engine: Engine
    query: View
    target: View
    scoring: Scoring
    floor: int | None
    edges: Edges
    want: Want
    limits: Limits
    blocked: Pairs | None = None
    below: Below | None = None

    def __post_init__(self) -> None:
        self.m, self.n = len(self.query), len(self.target)
        self.result = SweepResult()
        self.inner = self.engine.inner and self.limits.corridor is None
        self._promised: TileJob | None = None

    def promise(self) -> TileJob:
        """The one tile that this sweep is, before the row above it is there to be read."""
        whole = Area(0, self.m, 0, self.n)
        left = self.edges.left.read(0, self.m)
        assert isinstance(self.edges.top, EdgeArray)
        self._promised = self._job(whole, self.edges.corner, self.edges.top, left)
        return self._promised

    def run(self, shape: tuple[int, int] | None, progress: Progress | None) -> SweepResult:
        """Make it."""
        m, n = self.m, self.n
        rows, columns = shape or (m, n)
        forced = () if self.inner else tuple(self.edges.rows)
        strip = self.engine.strip_rows(rows, columns)
        quantum = strip if self.inner else self.engine.row_quantum
        row_cuts = cuts(m, rows, quantum, forced)
        if not forced and rows % quantum == 0 and 0 < 4 * (m % rows) < rows < m:
            row_cuts = [*range(0, m, rows), m]  # whole tiles and little that is left
        band_above = EdgeArray(n if len(row_cuts) > 2 else 0)
        done, corner_below, reached = 0, self.edges.corner, n
        for row, row_end in pairwise(row_cuts):
            left = self.edges.left.read(row, row_end)
            corner, corner_below = corner_below, int(left.h[-1])
            above = band_above if row else self.edges.top
            first, last = self._inside(row, row_end)
            if last > reached:
                band_above.write(reached, self._beside(above, reached, last - reached))
            if first > 0:
                corner = int(above.read(first - 1, first).h[0])
                left = self._beside(above, first, len(left))
                beside = left.part(len(left) - 1, len(left))
            reached = last
            done += (row_end - row) * (n - (last - first))
            for column, column_end in pairwise(self._column_cuts(first, last, columns)):
                area = Area(row, row_end, column, column_end)
                top = above.read(column, column_end)
                next_corner = int(top.h[-1])
                bottom, right = self._tile(area, corner, top, left)
                if right is not None:
                    left = right
                if bottom is not None and row_end < m:
                    band_above.write(column, bottom)
                corner = next_corner
                done += area.cells
                if progress is not None:
                    progress(done, m * n)
            if self.limits.corridor is not None and row_end < m:
                inside = band_above.read(first, last)
                if not self.limits.corridor.passed(row_end, first, inside):
                    break
                if first > 0:  # the corner of the next tile, where that starts in the same column
                    band_above.write(first - 1, beside)
        return self.result

    def _inside(self, row: int, row_end: int) -> tuple[int, int]:
        """The columns of the corridor in these rows; what lies beside them is skipped."""
        if self.limits.corridor is None:
            return 0, self.n
        first, last = self.limits.corridor.columns(row, row_end)
        beside = Area(row, row_end, 0, first), Area(row, row_end, last, self.n)
        self.result.pruned += [area for area in beside if area.cells]
        return first, last

    def _beside(self, above: Source, column: int, length: int) -> Edge:
        """Cells beside the corridor, reached by one gap from cell ``column`` (from 1) above."""
        gaps = self.scoring.gap_open, self.scoring.gap_extend
        return Edge.one_gap(int(above.read(column - 1, column).h[0]), length, *gaps)

    def _column_cuts(self, first: int, last: int, step: int) -> list[int]:
        forced = () if self.inner else tuple(place - first for place in self.edges.columns)
        return [first + place for place in cuts(last - first, step, 1, forced)]

    def _tile(
        self, area: Area, corner: int, top: Edge, left: Edge
    ) -> tuple[Edge | None, Edge | None]:
        """One tile, its sinks served; gives its bottom and right edges."""
        if self._promised is None and self._hopeless(area, corner, top, left):
            done = self._skipped(area)
            self.result.pruned.append(area)
        else:
            done = self.engine.tile(self._promised or self._job(area, corner, top, left))
            if done.top is not None:
                self.result.tops[area] = done.top
            if done.pruned:
                self.result.thinned[area] = done.pruned
        result = self.result
        result.launches += done.launches
        for kind, count in done.cells.items():
            result.cells[kind] = result.cells.get(kind, 0) + count
        self._keep(Hit(h.score, area.row + h.row, area.column + h.column) for h in done.hits)
        self._serve(area, done)
        return done.bottom, done.right

    def _job(self, area: Area, corner: int, top: Edge | EdgeArray, left: Edge) -> TileJob:
        last = area.row_end == self.m
        below = self.edges.bottom is not None or self.m in self.edges.rows
        wanted = self.want.where in ("last_row", "border") or self._goal("bottom") is not None
        return TileJob(
            query=self.query.read(area.row, area.row_end),
            target=self.target.read(area.column, area.column_end),
            scoring=self.scoring,
            floor=self.floor,
            corner=corner,
            top=top,
            left=left,
            best=self.want.where == "all",
            threshold=self._threshold(),
            count=self.want.count,
            bottom=not last or below or wanted,
            right=area.column_end < self.n or self._right_wanted(),
            blocked=area.pairs(self.blocked),
            after=self._after(area),
            rows=_between(self.edges.rows, area.row, area.row_end),
            columns=_between(self.edges.columns, area.column, area.column_end),
            below=self.below,
        )

    def _prunes(self) -> bool:
        """Is one best cell all that is looked for?"""
        return self.want.count == 1 and self.want.where != "none"

    def _after(self, area: Area) -> tuple[int, int] | None:
        """Rows and columns beyond a tile that may be pruned."""
        bound = self.limits.bound
        if bound is None or not self._prunes():
            return None
        return (
            self.m - area.row_end + bound.rows_left,
            self.n - area.column_end + bound.columns_left,
        )

    def _right_wanted(self) -> bool:
        """Does anybody want the whole rectangle's right edge?"""
        edges = self.edges
        at_end = self.want.where in ("last_column", "border", "corner")
        sinks = edges.right is not None or self.n in edges.columns
        return at_end or sinks or self._goal("right") is not None

    def _threshold(self) -> int | None:
        """Score that a cell must reach to matter: the caller's, or the k-th best so far."""
        if len(self.result.hits) >= self.want.count:
            return self.result.hits[-1].score
        return self.want.threshold

    def _keep(self, hits: Iterator[Hit]) -> None:
        least = self.want.threshold
        found = [h for h in hits if least is None or h.score >= least]
        if found:
            self.result.hits = sorted([*self.result.hits, *found])[: self.want.count]

    def _serve(self, area: Area, done: TileResult) -> None:
        edges, bottom, right = self.edges, done.bottom, done.right
        for column, cells in done.columns.items():
            _give(edges.columns[area.column + column], area.row, cells)
        for row, cells in done.rows.items():
            _give(edges.rows[area.row + row], area.column, cells)
        if right is not None and area.column_end in edges.columns:
            edges.columns[area.column_end].write(area.row, right)
        if bottom is not None and area.row_end in edges.rows:
            edges.rows[area.row_end].write(area.column, bottom)
        where = self.want.where
        if right is not None and area.column_end == self.n:
            if edges.right is not None:
                edges.right.write(area.row, right)
            if where in ("last_column", "border"):
                self._keep(self._edge_hits(right, lambda k: (area.row + k + 1, self.n)))
            if where == "corner" and area.row_end == self.m:
                corner = right.part(len(right) - 1, len(right))
                self._keep(self._edge_hits(corner, lambda _: (self.m, self.n)))
            self._meet("right", area.row, right)
        if area.row_end == self.m and bottom is not None:
            if edges.bottom is not None:
                edges.bottom.write(area.column, bottom)
            if where in ("last_row", "border"):
                inner = len(bottom) - int(where == "border" and area.column_end == self.n)
                inside = bottom.part(0, inner)
                self._keep(self._edge_hits(inside, lambda k: (self.m, area.column + k + 1)))
            self._meet("bottom", area.column, bottom)

    def _edge_hits(self, edge: Edge, cell: Callable[[int], tuple[int, int]]) -> Iterator[Hit]:
        order = np.argsort(-edge.h.astype(np.int64), kind="stable")[: self.want.count]
        return (Hit(int(edge.h[k]), *cell(int(k))) for k in order if edge.h[k] >= REACH)

    def _goal(self, side: str) -> Goal | None:
        goal = self.limits.goal
        return goal if goal is not None and goal.side == side else None

    def _meet(self, side: str, start: int, edge: Edge) -> None:
        goal = self._goal(side)
        if goal is None:
            return
        other = goal.opposite.read(start, start + len(edge))
        through_h = edge.h.astype(np.int64) + other.h == goal.score
        through_gap = edge.x.astype(np.int64) + other.x + self.scoring.gap_open == goal.score
        self.result.crossings += [(start + int(k) + 1, "H") for k in np.flatnonzero(through_h)]
        self.result.crossings += [(start + int(k) + 1, "gap") for k in np.flatnonzero(through_gap)]

    def _hopeless(self, area: Area, corner: int, top: Edge, left: Edge) -> bool:
        """Block pruning (Sandes & de Melo, CUDAlign 2.1), ties included: no path through this
        area can beat the best cell known, nor equal it at an earlier cell."""
        bound = self.limits.bound
        if bound is None or not self._prunes():
            return False
        best = self._best_known(bound)
        start = max(corner, int(top.h.max()), int(left.h.max()))
        if self.floor is not None:
            start = max(start, self.floor)
        rows_left = self.m - area.row + bound.rows_left
        columns_left = self.n - area.column + bound.columns_left
        reach = start + min(rows_left, columns_left) * max(bound.match, 0)
        if reach < best.score:
            return True
        return reach == best.score and (area.row + 1, area.column + 1) > (best.row, best.column)

    def _best_known(self, bound: Bound) -> Hit:
        given = Hit(bound.score, bound.row, bound.column)
        return min([given, *self.result.hits])

    def _skipped(self, area: Area) -> TileResult:
        def edge(length: int) -> Edge:
            if self.floor is None:
                return Edge.lost(length)
            h = np.full(length, self.floor, np.int32)
            return Edge(h, (h - np.int32(self.scoring.gap_open)).astype(np.int32))

        n, m = area.column_end - area.column, area.row_end - area.row
        rows = _between(self.edges.rows, area.row, area.row_end)
        columns = _between(self.edges.columns, area.column, area.column_end)
        inner = {row: edge(n) for row in rows}, {column: edge(m) for column in columns}
        return TileResult(edge(n), edge(m), rows=inner[0], columns=inner[1])


def _give(sink: Sink, start: int, cells: Edge | KeptEdge) -> None:
    """Write cells that nobody else has to a sink; if they are all of an array's, without a copy."""
    lent = isinstance(cells, KeptEdge) and cells.lent
    if isinstance(sink, EdgeArray) and len(cells) == len(sink) and not lent:
        sink.take(cells)
    else:
        sink.write(start, cells.read(0, len(cells)) if isinstance(cells, KeptEdge) else cells)


def _between(places: Iterable[int], start: int, stop: int) -> tuple[int, ...]:
    """Those of ``places`` strictly between, sorted, counted from ``start``."""
    return tuple(sorted(place - start for place in places if start < place < stop))
