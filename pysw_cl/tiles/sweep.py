"""The sweep: a rectangle of any size, cut into tiles, with streaming edges.

This is the tile contract as drivers see it (docs/algorithm.md, Tiles).  It is written once, over
the one thing that every engine does, :meth:`Engine.tile`; so special rows, pruning, progress and
cancellation are the same for every engine.  Where an engine has a pipeline, tiles that are as wide
as the rectangle follow each other on the device.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..errors import DeviceError
from ..scoring.precision import UNREACHABLE_BELOW
from ..scoring.scoring import Scoring
from ..sequences.view import Codes, Pairs, View
from .contract import Engine, Pipeline, TilePipeline
from .edges import DeviceEdge, Edge, EdgeArray, Edges, Sink, Source
from .slabs import Slab, Slabs, SweepResult, WholeSlabs, cuts
from .tile import Area, Bound, Hit, Limits, TileJob, TileResult, Want

Progress = Callable[[int, int], None]


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
    slabs: Slabs | None = None,
    progress: Progress | None = None,
    forbidden: Pairs | None = None,
) -> SweepResult:
    """Compute the rectangle of ``query`` (m codes) x ``target`` (n codes).

    ``floor`` is 0 (local) or None.  Edges stream: tiles are done in rows from top to bottom, each
    row from left to right; a source is read when a tile needs it and a sink written when a tile is
    done, so a neighbour in another thread that takes the right edge, or gives the left one, works
    at the same time, one row of tiles behind or ahead.
    ``shape``: rows and columns of a tile (default: one tile); where the engine cannot take special
    rows and columns inside one, or in a corridor, tiles also end at each of them.
    ``slabs``: how the rectangle is cut into slabs (default: `WholeSlabs`).
    ``progress(done, total)`` is called with cells after every tile; an exception that it raises
    ends the sweep.
    ``forbidden``: pairs of letters that are never aligned.
    """
    want, limits = want or Want(), limits or Limits()
    slabs = slabs or WholeSlabs(len(query), edges, shape or (len(query), len(target)))
    one = _Sweep(engine, query, target, scoring, floor, edges, want, limits, forbidden)
    return one.run(slabs, progress or (lambda done, total: None))


@dataclass
class _Sweep:
    """A sweep that is made: see :func:`sweep`."""

    engine: Engine
    query: View
    target: View
    scoring: Scoring
    floor: int | None
    edges: Edges
    want: Want
    limits: Limits
    forbidden: Pairs | None

    def __post_init__(self) -> None:
        self.m, self.n = len(self.query), len(self.target)
        self.result = SweepResult()
        self._captures = self.engine.captures_inside and self.limits.corridor is None
        self._above: Source = self.edges.top
        self._corner = self.edges.corner  # of the slab that is begun next
        self._reached = self.n  # the end of the corridor's columns in the row above
        self._codes: Codes | None = None  # the target's, where all tiles have all of it
        self._done = 0
        self._goes_on = True

    def run(self, slabs: Slabs, progress: Progress) -> SweepResult:
        """Make it."""
        self.slabs, self.progress = slabs, progress
        pipeline, rows = self._pipeline()
        slabs.pipelined(rows)
        slab: Slab | None = slabs.begin(0)
        while slab is not None and self._goes_on:
            end, following, begun = slab.end, None, None
            job = self._first_job(slab) if pipeline is not None and end < self.m else None
            if pipeline is not None and job is not None:
                begun = pipeline.start(job, self.m - end)
                if begun is None:
                    pipeline = None
                    slabs.pipelined(None)
            if begun is None:
                self._tile_by_tile(slab)
            else:
                end, following = self._in_pipeline(slab, begun)
            if following is None and end < self.m and self._goes_on:
                following = slabs.begin(end)
            slab = following
        return self.result

    # Slabs whose tiles are computed one by one

    def _tile_by_tile(self, slab: Slab) -> None:
        """Compute a slab."""
        rows, columns = self.slabs.shape(slab.rows)
        for row, row_end in pairwise(self._row_cuts(slab, rows, columns)):
            below = EdgeArray(self.n if row_end < self.m else 0)
            self._tile_row(slab, row, row_end, columns, below)
            self._above = below
            if not self._goes_on:
                break
        self._finish(slab)

    def _tile_row(self, slab: Slab, row: int, row_end: int, step: int, below: EdgeArray) -> None:
        """Compute the tiles side by side in rows ``[row, row_end)``."""
        left = self.edges.left.read(row, row_end)
        corner, self._corner = self._corner, int(left.h[-1])
        above, beside = self._above, None
        first, last = self._inside(slab, row, row_end)
        if last > self._reached:
            assert isinstance(above, EdgeArray)
            above.write(self._reached, self._beside(above, self._reached, last - self._reached))
        if first > 0:
            corner = above.h_at(first - 1)
            left = self._beside(above, first, len(left))
            beside = left.part(len(left) - 1, len(left))
        self._reached = last
        self._done += (row_end - row) * (self.n - (last - first))
        for column, column_end in pairwise(self._column_cuts(slab, first, last, step)):
            area = Area(row, row_end, column, column_end)
            top = above.read(column, column_end)
            bottom, right = self._tile(slab, area, corner, top, left)
            if right is not None:
                left = right
            if bottom is not None and row_end < self.m:
                if len(bottom) == self.n and self.limits.corridor is None:
                    below.take(bottom)
                else:
                    below.write(column, bottom)
            corner = int(top.h[-1])
            self._done += area.cells
            self.progress(self._done, self.m * self.n)
        corridor = self.limits.corridor
        if corridor is not None and row_end < self.m:
            self._goes_on = corridor.passed(row_end, first, below.read(first, last))
            if beside is not None:  # the corner of the next tile, if that starts in this column
                below.write(first - 1, beside)

    def _row_cuts(self, slab: Slab, rows: int, columns: int) -> list[int]:
        """Where the tiles of a slab end, and at first where it starts."""
        height = slab.rows
        forced = () if self._captures else tuple(row - slab.start for row in self.edges.rows)
        strip = self.engine.strip_rows(rows, columns)
        quantum = strip if self._captures else self.engine.row_quantum
        places = cuts(height, rows, quantum, forced)
        if not forced and rows % quantum == 0 and 0 < 4 * (height % rows) < rows < height:
            places = [*range(0, height, rows), height]  # whole tiles and little that is left
        return [slab.start + place for place in places]

    def _column_cuts(self, slab: Slab, first: int, last: int, step: int) -> list[int]:
        forced = () if self._captures else tuple(place - first for place in slab.columns)
        return [first + place for place in cuts(last - first, step, 1, forced)]

    def _inside(self, slab: Slab, row: int, row_end: int) -> tuple[int, int]:
        """The columns of the corridor in these rows; what lies beside them is skipped."""
        if self.limits.corridor is None:
            return 0, self.n
        first, last = self.limits.corridor.columns(row, row_end)
        beside = Area(row, row_end, 0, first), Area(row, row_end, last, self.n)
        slab.found.pruned += [area for area in beside if area.cells]
        return first, last

    def _beside(self, above: Source, column: int, length: int) -> Edge:
        """Cells beside the corridor, reached by one gap from cell ``column`` (from 1) above."""
        gaps = self.scoring.gap_open, self.scoring.gap_extend
        return Edge.one_gap(above.h_at(column - 1), length, *gaps)

    def _tile(
        self, slab: Slab, area: Area, corner: int, top: Edge, left: Edge
    ) -> tuple[Edge | None, Edge | None]:
        """One tile, its sinks served; gives its bottom and right edges."""
        if self._hopeless(area, corner, top, left):
            done = self._skipped(slab, area)
            slab.found.pruned.append(area)
        else:
            codes = self.target.read(area.column, area.column_end)
            done = self.engine.tile(self._job(slab, area, corner, top, left, codes))
            self._count(slab, area, done)
        self._serve(slab, area, done)
        return done.bottom, done.right

    # Slabs of one tile each that follow each other

    def _pipeline(self) -> tuple[Pipeline | None, tuple[int, int] | None]:
        """The engine's pipeline and rows of its tiles; None where tiles are not to follow each
        other."""
        pipeline = self.engine.pipeline
        alone = self.limits.corridor is None and self.forbidden is None and self.want.count == 1
        if pipeline is None or not alone or self.slabs.shape(self.m)[1] < self.n:
            return None, None
        rows = pipeline.rows(self.m, self.n)
        return (None if rows is None else pipeline), rows

    def _is_one_tile(self, slab: Slab) -> bool:
        rows, columns = self.slabs.shape(slab.rows)
        inner = _between(self.edges.rows, slab.start, slab.end)
        return rows >= slab.rows and columns >= self.n and not inner

    def _first_job(self, slab: Slab) -> TileJob | None:
        """The tile that a slab is, if it is one that has to be computed."""
        if not self._is_one_tile(slab):
            return None
        left, top = self.edges.left.read(slab.start, slab.end), self._above.read(0, self.n)
        area = Area(slab.start, slab.end, 0, self.n)
        if self._hopeless(area, self._corner, top, left):
            return None
        return self._job(slab, area, self._corner, top, left, self._whole_target())

    def _in_pipeline(self, first: Slab, pipeline: TilePipeline) -> tuple[int, Slab | None]:
        """Compute slabs that follow each other, of which the first is begun.  Gives the row where
        they end, and the slab from there on, if it was begun and does not follow."""
        begun, waiting = deque([first]), None
        self._corner, follows = self._corner_below(first), True
        try:
            while begun:
                while True:
                    done = pipeline.done()  # asked for first: what is done makes way for the next
                    end = begun[-1].end
                    if follows and waiting is None and end < self.m and pipeline.accepts():
                        waiting = self.slabs.begin(end)
                    if follows and waiting is not None and self._left_is_there(waiting):
                        follows = self._put(waiting, pipeline)
                        if follows:
                            begun.append(waiting)
                            waiting = None
                            continue
                    if done:
                        break
                    time.sleep(self.engine.plan.tuning.sweep.look_seconds)
                last = self._take(begun.popleft(), pipeline.take(), bool(begun))
        except BaseException:
            with suppress(DeviceError):  # what ends the sweep says more
                pipeline.close()
            raise
        pipeline.close()
        return last, waiting

    def _take(self, slab: Slab, result: TileResult, more: bool) -> int:
        """A slab of a pipeline is computed; ``more``: others that are begun follow it."""
        area = Area(slab.start, slab.end, 0, self.n)
        self._count(slab, area, result)
        self._serve(slab, area, result)
        if not more and result.bottom is not None:
            below = EdgeArray(self.n)
            below.take(result.bottom)
            self._above = below
        self._done += area.cells
        self.progress(self._done, self.m * self.n)
        self._finish(slab)
        return slab.end

    def _corner_below(self, slab: Slab) -> int:
        return self.edges.left.h_at(slab.end - 1)

    def _left_is_there(self, slab: Slab) -> bool:
        return self.edges.left.ready(slab.start, slab.end)

    def _put(self, slab: Slab, pipeline: TilePipeline) -> bool:
        """Have a slab follow those that are begun; says whether it can."""
        if not self._is_one_tile(slab):
            return False
        left = self.edges.left.read(slab.start, slab.end)
        area = Area(slab.start, slab.end, 0, self.n)
        job = self._job(slab, area, self._corner, None, left, self._whole_target())
        if not pipeline.put(job, slab.end == self.m):
            return False
        self._corner = int(left.h[-1])
        return True

    def _whole_target(self) -> Codes:
        if self._codes is None:
            self._codes = self.target.read(0, self.n)
        return self._codes

    # What both have in common

    def _finish(self, slab: Slab) -> None:
        self.result.add(slab.found)
        self.slabs.computed(slab, self.result.hits)

    def _count(self, slab: Slab, area: Area, done: TileResult) -> None:
        """Take what a tile says of itself."""
        found = slab.found
        if done.top is not None:
            found.tops[area] = done.top
        if done.pruned:
            found.thinned[area] = done.pruned
        found.launches += done.launches
        for kind, count in done.cells.items():
            found.cells[kind] = found.cells.get(kind, 0) + count
        self._keep(Hit(h.score, area.row + h.row, area.column + h.column) for h in done.hits)

    def _job(
        self, slab: Slab, area: Area, corner: int, top: Edge | None, left: Edge, target: Codes
    ) -> TileJob:
        last = area.row_end == self.m
        below = self.edges.bottom is not None or self.m in self.edges.rows
        below |= slab.bottom is not None or self.want.where in ("last_row", "border")
        return TileJob(
            query=self.query.read(area.row, area.row_end),
            target=target,
            scoring=self.scoring,
            floor=self.floor,
            corner=corner,
            top=top,
            left=left,
            best=self.want.where == "all",
            threshold=self._threshold(),
            count=self.want.count,
            bottom=not last or below,
            right=area.column_end < self.n or self._right_wanted(slab),
            forbidden=area.pairs(self.forbidden),
            after=self._after(area),
            rows=_between(self.edges.rows, area.row, area.row_end),
            columns=_between(slab.columns, area.column, area.column_end),
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

    def _right_wanted(self, slab: Slab) -> bool:
        """Does anybody want the whole rectangle's right edge?"""
        at_end = self.want.where in ("last_column", "border", "corner")
        return at_end or self.edges.right is not None or self.n in slab.columns

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

    def _serve(self, slab: Slab, area: Area, done: TileResult) -> None:
        """Give a tile's edges to their sinks, and look for the best cell on them."""
        edges, bottom, right, where = self.edges, done.bottom, done.right, self.want.where
        for column, cells in done.columns.items():
            _give(slab.columns[area.column + column], area.row, cells)
        for row, cells in done.rows.items():
            _give(edges.rows[area.row + row], area.column, cells)
        if right is not None and area.column_end in slab.columns:
            slab.columns[area.column_end].write(area.row, right)
        if bottom is not None and area.row_end in edges.rows:
            edges.rows[area.row_end].write(area.column, bottom)
        if bottom is not None and slab.bottom is not None and area.row_end == slab.end:
            slab.bottom.write(area.column, bottom)
        if right is not None and area.column_end == self.n:
            if edges.right is not None:
                edges.right.write(area.row, right)
            if where in ("last_column", "border"):
                self._keep(self._edge_hits(right, lambda k: (area.row + k + 1, self.n)))
            if where == "corner" and area.row_end == self.m:
                corner = right.part(len(right) - 1, len(right))
                self._keep(self._edge_hits(corner, lambda _: (self.m, self.n)))
        if area.row_end == self.m and bottom is not None:
            if edges.bottom is not None:
                edges.bottom.write(area.column, bottom)
            if where in ("last_row", "border"):
                inner = len(bottom) - int(where == "border" and area.column_end == self.n)
                inside = bottom.part(0, inner)
                self._keep(self._edge_hits(inside, lambda k: (self.m, area.column + k + 1)))

    def _edge_hits(self, edge: Edge, cell: Callable[[int], tuple[int, int]]) -> Iterator[Hit]:
        order = np.argsort(-edge.h.astype(np.int64), kind="stable")[: self.want.count]
        return (Hit(int(edge.h[k]), *cell(int(k))) for k in order if edge.h[k] >= UNREACHABLE_BELOW)

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
        most = start + min(rows_left, columns_left) * max(bound.match, 0)
        if most < best.score:
            return True
        return most == best.score and (area.row + 1, area.column + 1) > (best.row, best.column)

    def _best_known(self, bound: Bound) -> Hit:
        given = Hit(bound.score, bound.row, bound.column)
        return min([given, *self.result.hits])

    def _skipped(self, slab: Slab, area: Area) -> TileResult:
        """What a tile gives that was not computed."""

        def edge(length: int) -> Edge:
            if self.floor is None:
                return Edge.lost(length)
            h = np.full(length, self.floor, np.int32)
            return Edge(h, (h - np.int32(self.scoring.gap_open)).astype(np.int32))

        n, m = area.column_end - area.column, area.row_end - area.row
        rows = _between(self.edges.rows, area.row, area.row_end)
        columns = _between(slab.columns, area.column, area.column_end)
        inner = {row: edge(n) for row in rows}, {column: edge(m) for column in columns}
        return TileResult(edge(n), edge(m), rows=inner[0], columns=inner[1])


def _give(sink: Sink, start: int, cells: Edge | DeviceEdge) -> None:
    """Write cells that nobody else has to a sink; if they are all of an array's, without a copy."""
    lent = isinstance(cells, DeviceEdge) and cells.lent
    if isinstance(sink, EdgeArray) and len(cells) == len(sink) and not lent:
        sink.take(cells)
    else:
        sink.write(start, cells.read(0, len(cells)) if isinstance(cells, DeviceEdge) else cells)


def _between(places: Iterable[int], start: int, stop: int) -> tuple[int, ...]:
    """Those of ``places`` strictly between, sorted, counted from ``start``."""
    return tuple(sorted(place - start for place in places if start < place < stop))
