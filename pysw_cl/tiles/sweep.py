"""The sweep: computes a rectangle of any size forward, tile by tile, with streaming edges.

This is the tile contract as drivers see it (docs/algorithm.md, Tiles).  It is written once, over
:meth:`Engine.tile`, which every engine has.  So special rows, pruning, progress and cancellation
are the same for every engine.  Where an engine has a pipeline, tiles as wide as the rectangle
follow each other on the device (:mod:`pysw_cl.tiles.sweep_pipeline`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ..planning.geometry import cuts, tile_rows
from ..scoring.scoring import Scoring
from ..sequences.view import Pairs, View
from .best_cells import BestCells
from .contract import Engine
from .edges import Edge, EdgeArray, Edges, Source
from .slabs import Slab, Slabs, SweepResult, WholeSlabs
from .sweep_pipeline import SlabPipeline
from .sweep_state import Progress, Rectangle, SweepState
from .tile import Area, Limits, Want

__all__ = ["Progress", "sweep"]


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

    Tiles are computed in rows from top to bottom, each row from left to right.  Edges stream: a
    source is read when a tile needs it, and a sink is written when a tile is done.  So a neighbour
    in another thread, which gives the left edge or takes the right one, works at the same time,
    one tile row ahead or behind.

    ``floor``: 0 (local) or None.
    ``shape``: rows and columns of a tile (default: one tile).  Tiles also end at special rows and
    columns, if the engine cannot capture them inside a tile or there is a corridor.
    ``slabs``: how the rectangle is cut into slabs (default: `WholeSlabs`).
    ``progress(done, total)`` is called with cells after every tile; an exception that it raises
    ends the sweep.
    ``forbidden``: pairs of letters that are never aligned.
    """
    want, limits = want or Want(), limits or Limits()
    rectangle = Rectangle(query, target, scoring, floor, forbidden)
    state = SweepState(
        engine,
        rectangle,
        edges,
        BestCells(rectangle.m, rectangle.n, floor, want, limits.bound),
        limits.corridor,
        slabs or WholeSlabs(rectangle.m, edges, shape or (rectangle.m, rectangle.n)),
        progress or (lambda done, total: None),
    )
    pipeline, tile_rows = SlabPipeline(state), _TileRows(state)
    slab: Slab | None = state.slabs.begin(0)
    while slab is not None:
        computed = pipeline.compute_from(slab)
        if computed is None:
            for row, row_end, step in tile_rows.of(slab):
                tile_rows.compute(slab, row, row_end, step)
                if not tile_rows.goes_on:
                    break
            state.finish(slab)
            computed = slab.end, None
        end, slab = computed
        if not tile_rows.goes_on:
            break
        if slab is None and end < rectangle.m:
            slab = state.slabs.begin(end)
    return state.result


class _TileRows:
    """The slabs whose tiles are computed one by one, in rows of tiles side by side."""

    def __init__(self, state: SweepState) -> None:
        self.state, self.n = state, state.rectangle.n
        #: Does the corridor let the sweep go on?
        self.goes_on = True
        #: The end of the corridor's columns in the tile row above.
        self._last_above = self.n
        #: Are special rows and columns captured inside a tile?
        self._captures = state.engine.captures_inside and state.corridor is None

    def of(self, slab: Slab) -> Iterator[tuple[int, int, int]]:
        """The rows of each tile row of a slab, from the first to the end, and the columns of a tile
        at most."""
        rows, columns = self.state.slabs.shape(slab.rows)
        for row, row_end in pairwise(self._row_cuts(slab, rows, columns)):
            yield row, row_end, columns

    def compute(self, slab: Slab, row: int, row_end: int, step: int) -> None:
        """Compute the tiles side by side in rows ``[row, row_end)``, with ``step`` columns at
        most."""
        state, corridor = self.state, self.state.corridor
        below = EdgeArray(self.n if row_end < state.rectangle.m else 0)
        left = state.edges.left.read(row, row_end)
        corner, state.corner = state.corner, int(left.h[-1])
        above, last_outside = state.above, None
        first, last = self._corridor_columns(slab, row, row_end)
        if last > self._last_above:
            assert isinstance(above, EdgeArray)
            outside = self._gap_from(above, self._last_above, last - self._last_above)
            above.write(self._last_above, outside)
        if first > 0:
            corner = above.h_at(first - 1)
            left = self._gap_from(above, first, len(left))
            last_outside = left.part(len(left) - 1, len(left))
        self._last_above = last
        state.done += (row_end - row) * (self.n - (last - first))
        for column, column_end in pairwise(self._column_cuts(slab, first, last, step)):
            area = Area(row, row_end, column, column_end)
            top = above.read(column, column_end)
            if state.best.excluded(area, corner, top, left):
                done = state.take_skipped(slab, area)
            else:
                codes = state.rectangle.target.read(column, column_end)
                done = state.engine.tile(state.job(slab, area, corner, top, left, codes))
                state.take(slab, area, done)
            bottom = done.bottom
            left = left if done.right is None else done.right
            if bottom is not None and row_end < state.rectangle.m:
                if len(bottom) == self.n and corridor is None:
                    below.take(bottom)
                else:
                    below.write(column, bottom)
            corner = int(top.h[-1])
            state.advance(area)
        if corridor is not None and row_end < state.rectangle.m:
            self.goes_on = corridor.passed(row_end, first, below.read(first, last))
            if last_outside is not None:  # the next tile's corner, if it starts in this column
                below.write(first - 1, last_outside)
        state.above = below

    def _row_cuts(self, slab: Slab, rows: int, columns: int) -> list[int]:
        """The row where a slab starts, and the rows where its tiles end."""
        height, engine = slab.rows, self.state.engine
        special = () if self._captures else tuple(r - slab.start for r in self.state.edges.rows)
        if height <= rows and not special:  # one tile, as high as it is
            return [slab.start, slab.start + height]
        quantum = engine.strip_rows(rows, columns) if self._captures else engine.row_quantum
        return [slab.start + place for place in tile_rows(height, rows, quantum, special)]

    def _column_cuts(self, slab: Slab, first: int, last: int, step: int) -> list[int]:
        """The column ``first``, and the columns where the tiles of a row end."""
        if last - first <= step and (self._captures or not slab.columns):
            return [first, last]
        special = () if self._captures else tuple(place - first for place in slab.columns)
        return [first + place for place in cuts(last - first, step, 1, special)]

    def _corridor_columns(self, slab: Slab, row: int, row_end: int) -> tuple[int, int]:
        """The columns of the corridor in these rows; the areas outside count as pruned."""
        corridor = self.state.corridor
        if corridor is None:
            return 0, self.n
        first, last = corridor.columns(row, row_end)
        outside = Area(row, row_end, 0, first), Area(row, row_end, last, self.n)
        slab.found.pruned += [area for area in outside if area.cells]
        return first, last

    def _gap_from(self, above: Source, column: int, length: int) -> Edge:
        """Cells outside the corridor, reached by one gap from cell ``column`` (from 1) above."""
        scoring = self.state.rectangle.scoring
        return Edge.one_gap(above.h_at(column - 1), length, scoring.gap_open, scoring.gap_extend)
