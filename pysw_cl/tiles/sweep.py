"""The sweep: computes a rectangle of any size forward, tile by tile, with streaming edges.

This is the tile contract as drivers see it (docs/algorithm.md, Tiles).  It is written once, over
:meth:`Engine.tile`, which every engine has.  So special rows, pruning, progress and cancellation
are the same for every engine.  Where an engine has a pipeline, tiles as wide as the rectangle
follow each other on the device (:mod:`pysw_cl.tiles.sweep_pipeline`).
"""

from __future__ import annotations

from .best_cells import BestCells
from .contract import Engine
from .edges import Edges
from .graph import Executor, TileGraph
from .slabs import Slab, Slabs, SweepResult
from .sweep_pipeline import SlabPipeline
from .sweep_state import Progress, Rectangle, SweepState
from .tile import Limits, Want


def sweep(
    engine: Engine,
    rectangle: Rectangle,
    edges: Edges,
    want: Want | None = None,
    limits: Limits | None = None,
    *,
    shape: tuple[int, int] | None = None,
    slabs: Slabs | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> SweepResult:
    """Compute all cells of a rectangle.

    Tiles are computed in rows from top to bottom, each row from left to right.  Edges stream: a
    source is read when a tile needs it, and a sink is written when a tile is done.  So a neighbour
    in another thread, which gives the left edge or takes the right one, works at the same time,
    one tile row ahead or behind.

    ``shape``: rows and columns of a tile (default: one tile).  Tiles also end at special rows and
    columns, if the engine cannot capture them inside a tile or there is a corridor.
    ``slabs``: how the rectangle is cut into slabs (default: as few as possible).
    ``progress(done, total)`` is called with cells after every tile; an exception that it raises
    ends the sweep.
    ``executor``: what computes the tiles (default: ``engine``, one by one).
    """
    want, limits = want or Want(), limits or Limits()
    state = SweepState(
        rectangle,
        edges,
        BestCells(*rectangle.shape, rectangle.floor, want, limits.bound),
        slabs or Slabs(rectangle.m, edges, shape or rectangle.shape),
        limits.corridor,
        progress,
    )
    pipeline = None if executor is not None else SlabPipeline(engine, state)
    graph = TileGraph(engine, state)
    slab: Slab | None = state.slabs.begin(0)
    while slab is not None:
        computed = None if pipeline is None else pipeline.compute_from(slab)
        if computed is None:
            rows = graph.rows(slab)
            if executor is not None:
                executor.compute(rows)
            for row in rows:
                for area in row.areas:
                    job = row.begin(area)
                    if job is not None:
                        row.take(area, engine.tile(job))
            state.finish(slab)
            computed = slab.end, None
        end, slab = computed
        if not graph.goes_on:
            break
        if slab is None and end < rectangle.m:
            slab = state.slabs.begin(end)
    return state.result
