"""The sweep: computes a rectangle of any size forward, tile by tile, with streaming edges.

This is the tile contract as drivers see it (docs/algorithm.md, Tiles).  It is written once, over
:meth:`Engine.tile`, which every engine has.  So special rows, pruning, progress and cancellation
are the same for every engine.  Where an engine has a pipeline, slabs of one tile each, as wide as
the rectangle, follow each other on the device.  A tile that an engine cannot compute whole is a
small sweep, too (`by_parts`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from ..errors import DeviceError
from ..planning.geometry import cuts, may_be_wide
from ..planning.path_grid import spread, strip_rows
from ..scoring.precision import LOCAL_LIMIT
from ..sequences.view import View
from .contract import Engine, LostError, persistently
from .edges import Edge, EdgeArray, Edges
from .graph import Progress, Rectangle, SweepState, TileRow
from .slabs import BestCells, Slab, Slabs, SweepResult
from .tile import Area, Hits, Limits, TileJob, TileResult, Want

#: So many cells are collected at most where fewer were too few.
MANY = 1 << 20


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
) -> SweepResult:
    """Compute a rectangle of m x n cells.

    Tiles are computed in rows from top to bottom, each row from left to right, or by the engine's
    executor.  Edges stream: a
    source is read when a tile needs it, and a sink is written when a tile is done.  So a neighbour
    in another thread, which gives the left edge or takes the right one, works at the same time,
    one tile row ahead or behind.

    ``shape``: rows and columns of a tile (default: one tile).  Tiles also end at special rows and
    columns, if the engine cannot capture them inside a tile or there is a corridor.
    ``slabs``: how the rectangle is cut into slabs (default: as few as possible), and which of its
    rows are computed; the top edge is that above the first of them.
    ``progress(done, total)`` is called with cells after every tile; an exception that it raises
    ends the sweep."""
    want, limits, (m, n) = want or Want(), limits or Limits(), rectangle.shape
    best = BestCells(m, n, rectangle.floor, want, limits)
    slabs = slabs or Slabs(m, edges, shape or (m, n))
    state = SweepState(rectangle, edges, best, slabs, limits.corridor, progress)
    executor = engine.executor(rectangle)
    devices = engine.devices if executor is not None else 0
    pipeline = None if executor is not None else _pipeline_of(engine, state)
    row: int = slabs.start
    while state.goes_on and row < slabs.stop:
        slab = state.begun.popleft() if state.begun else slabs.begin(row)
        end = None if pipeline is None else pipeline.compute_from(slab)
        if end is not None:
            row = end
            continue
        rows = _tile_rows(engine, state, slab, devices)
        if executor is not None:
            executor(rows)
        for tiles in rows:
            for area in tiles.areas:
                job = tiles.begin(area)
                if job is not None:
                    tiles.take(area, engine.noted(partial(engine.tile, job), area))
        state.finish(slab)
        row = slab.end
    return state.result


def _tile_rows(engine: Engine, state: SweepState, slab: Slab, devices: int) -> Iterator[TileRow]:
    """The tile rows of a slab, cut for an engine, `spread` over so many devices."""
    captures, height = engine.captures_inside and state.corridor is None, slab.rows
    rows, step = state.slabs.shape(height)
    if devices:
        shape = rows, step
        rows, step = spread(engine.plan, height, state.n, devices, shape) or shape
    special_rows = () if captures else tuple(row - slab.start for row in state.edges.rows)
    special_columns = () if captures else tuple(slab.columns)
    places = [slab.start, slab.end]
    if height > rows or special_rows:  # else one tile, as high as it is
        plan = engine.plan
        quantum = strip_rows(plan, rows, step) if captures else plan.strip_rows
        found = cuts(height, rows, quantum, special_rows, tiles=True)
        places = [slab.start + place for place in found]

    def columns(first: int, last: int) -> list[int]:
        special = [place - first for place in special_columns]
        return [first + place for place in cuts(last - first, step, 1, special)]

    return state.rows(slab, places, columns)


def _pipeline_of(engine: Engine, state: SweepState) -> SlabPipeline | None:
    """The pipeline of an engine, if it has one in which tiles should follow each other here."""
    want, slabs = state.best.want, state.slabs
    if state.corridor is not None or state.rectangle.forbidden is not None:
        return None
    if want.count > 1 or want.each_tile:
        return None
    height = slabs.stop - slabs.start
    pruned = state.best.bound is not None
    rows = engine.piped_rows(state.rectangle, height, len(state.edges.rows) + 1, pruned)
    if rows is None or not may_be_wide(rows[0], state.n, slabs.shape(height)):
        return None
    slabs.pipelined(rows, engine.devices)
    return SlabPipeline(engine, state)


class SlabPipeline:
    """The slabs of a sweep whose tiles are as wide as the rectangle and follow each other."""

    def __init__(self, engine: Engine, state: SweepState) -> None:
        self._engine, self._state = engine, state
        #: Does the engine have a pipeline for these tiles?
        self._able = True
        #: The bottom edge of the last tile that is done, where it was read.
        self._bottom: Edge | None = None

    def compute_from(self, slab: Slab) -> int | None:
        """Compute a slab and those that follow it in the pipeline.  Gives the row where they end.
        None: the pipeline cannot begin with this slab, and nothing was computed."""
        begun = self._state.begun
        begun.appendleft(slab)
        end = persistently(self._engine, self._compute_begun, lambda: begun[0].start)
        if begun and begun[0] is slab:
            begun.popleft()
            return None
        return begun[0].start if end is None else end

    def _compute_begun(self) -> int | None:
        """Compute the first slab that is begun and those that follow it in a pipeline; gives the
        row where they end.  None: it cannot begin there."""
        state, begun, stop = self._state, self._state.begun, self._state.slabs.stop
        slab, corner, source = begun[0], self._state.corner, self._state.edges.left
        area = self._area(slab)
        if not self._able or slab.end == stop or not self._is_one_tile(slab):
            return None
        left, top = source.read(slab.start, slab.end), state.above.read(0, state.n)
        if state.best.excluded(area, corner, top, left):
            return None
        slab.found = SweepResult()  # without what a device found of it that failed
        job, pipeline = state.job(slab, area, corner, top, left), None  # type: Any, Any
        try:
            pipeline = self._engine.pipeline(job, stop - slab.end)
            if pipeline is None:
                self._able = False
                state.slabs.pipelined(None)
                return None
            columns = [one for one in state.edges.columns.values() if isinstance(one, EdgeArray)]
            thread = ThreadPoolExecutor(1)  # while the first tiles are computed
            with suppress(RuntimeError):  # none begins where the interpreter ends
                for column in columns:
                    column.prepare(thread)
            try:
                end = self._compute(pipeline)
            finally:
                thread.shutdown(wait=False, cancel_futures=True)
        except BaseException as error:
            lost = error.device if isinstance(error, LostError) else None
            try:
                if isinstance(error, DeviceError) and begun[0] is not slab:
                    corner = source.h_at(begun[0].start - 1)
                    state.above = pipeline.bottom() if self._bottom is None else self._bottom
                state.corner = corner
            except DeviceError:
                raise LostError(str(error)) from None
            finally:
                with suppress(DeviceError):  # the first error tells more
                    if pipeline is not None:
                        pipeline.close(lost)
            raise
        with suppress(DeviceError):  # all is there
            pipeline.close()
        return end

    def _compute(self, pipeline: Any) -> int:
        """Compute the slabs from the first one that is begun, which the pipeline has already."""
        state, begun, stop = self._state, self._state.begun, self._state.slabs.stop
        inside, last, accepting, tuning = 1, 0, True, self._engine.plan.tuning.sweep
        source, now, most, first = state.edges.left, time.monotonic(), 0, begun[0]
        tell_at, moved = now + tuning.tell_seconds, now
        state.corner = source.h_at(begun[0].end - 1)
        while inside:
            while True:
                done = pipeline.done()  # asked first: a tile that is done makes way for the next
                end, waits = begun[-1].end, len(begun) > inside
                if accepting and (waits or end < stop) and pipeline.accepts():
                    if not waits:
                        begun.append(state.slabs.begin(end))
                    waiting = begun[inside]
                    if source.ready(waiting.start, waiting.end):
                        accepting = self._put(waiting, pipeline)
                        inside += accepting
                        continue
                if done:
                    break
                now = time.monotonic()
                if now >= tell_at:
                    underway = pipeline.underway()
                    state.advance(None, underway)
                    moved, most = (now, underway) if underway > most else (moved, most)
                    if pipeline.seen and now > moved + tuning.hang_seconds:
                        raise pipeline.lost(f"nothing computed for {tuning.hang_seconds:g} s")
                    tell_at = now + tuning.tell_seconds
                time.sleep(tuning.look_seconds)
            slab, inside = begun[0], inside - 1
            area, last = self._area(slab), slab.end
            result = pipeline.take(bottom=not inside or state.gives_bottom(slab))
            try:
                state.take(slab, area, result)
            except DeviceError as error:
                if slab is first or self._bottom is not None:
                    raise
                raise LostError(str(error)) from None  # the row above is no longer known
            begun.popleft()
            self._bottom = result.bottom
            self._engine.note(area, *result.ran)
            if not inside and result.bottom is not None:  # for the tiles that are computed next
                state.above = result.bottom
            state.finish(slab)
            state.advance(area, pipeline.underway())
            moved, most = time.monotonic(), 0
        return last

    def _put(self, slab: Slab, pipeline: Any) -> bool:
        """Begin a slab below those in the pipeline; False where it cannot follow them."""
        state = self._state
        if not self._is_one_tile(slab):
            return False
        left = state.edges.left.read(slab.start, slab.end)
        job = state.job(slab, self._area(slab), state.corner, None, left)
        if not pipeline.put(job, slab.end == state.slabs.stop):
            return False
        state.corner = int(left.h[-1])
        return True

    def _area(self, slab: Slab) -> Area:
        return Area(slab.start, slab.end, 0, self._state.n)

    def _is_one_tile(self, slab: Slab) -> bool:
        state, slabs = self._state, self._state.slabs
        special_rows, _ = state.special_lines(slab, self._area(slab))
        # tiles of few rows may be less wide, and those of all rows less high
        shapes = map(slabs.shape, {slab.rows, slabs.stop - slabs.start})
        return not special_rows and any(
            slab.rows <= shape[0] and may_be_wide(slab.rows, state.n, shape) for shape in shapes
        )


def by_parts(
    tile: Callable[[TileJob], TileResult],
    job: TileJob,
    rows: tuple[int, ...],
    columns: tuple[int, ...],
    ignored: Callable[[Area], bool] = lambda area: False,
) -> TileResult:
    """The result of ``job``, computed by ``tile`` in parts that are cut at ``rows`` and ``columns``
    (sorted, inside the tile), without moves.  The best cells of ``ignored`` parts do not count."""
    m, n = job.size
    bottom, right = EdgeArray(n), EdgeArray(m)
    special_rows = {row: EdgeArray(n) for row in job.rows}
    special_columns = {column: EdgeArray(m) for column in job.columns}
    sinks = bottom if job.bottom else None, right if job.right else None
    edges = Edges(job.corner, job.above, job.left, *sinks, special_rows, special_columns)
    whole = Rectangle(View(job.query), View(job.target), job.scoring, job.floor, job.forbidden)
    state = SweepState(whole, edges, _PartCells(job), Slabs(m, edges, (m, n)))
    slab = Slab(0, m, special_columns)
    for parts in state.rows(slab, [0, *rows, m], lambda *_: [0, *columns, n]):
        for area in parts.areas:
            part = parts.begin(area)
            assert part is not None
            if ignored(area):  # (without the search for a best cell: that is another build)
                part = replace(part, threshold=LOCAL_LIMIT)  # no cell has this score
            parts.take(area, tile(part))
    found = TileResult(
        bottom.read(0, n) if job.bottom else None,
        right.read(0, m) if job.right else None,
        state.best.hits,
        max(slab.found.tops.values(), default=None),
        pruned=slab.found.pruned_cells,
        rows={row: edge.read(0, n) for row, edge in special_rows.items()},
        columns={column: edge.read(0, m) for column, edge in special_columns.items()},
    )
    found.add_cost(slab.found)
    return found


class _PartCells(BestCells):
    """The best cells of a tile that is computed in parts."""

    def __init__(self, job: TileJob) -> None:
        want = Want("all" if job.best else "none", job.count, job.threshold)
        super().__init__(*job.size, job.floor, want, Limits(beyond=job.after or (0, 0)))
        self._pruned = job.after is not None

    def threshold(self, area: Area) -> int | None:
        """That of the last best cell, and one more for a part whose cells all come after it."""
        if len(self.hits) < self.want.count:
            return self.want.threshold
        self.hits = Hits(self.hits.cells, self.want.count)
        last, one_row = self.hits[-1], area.row_end == area.row + 1
        later = last.row <= area.row or (one_row and last.column <= area.column)
        return int(last.score) + int(later)


def collected(tile: Callable[..., TileResult], job: TileJob, least_hits: int) -> TileResult:
    """The result of ``job`` with its ``count`` best cells.

    ``tile(job)`` computes any tile, and ``tile(job, capacity)`` collects at most ``capacity`` cells
    that reach the job's threshold, and counts all (`TileResult.reached`).  If they exceed the
    capacity, which is ``least_hits`` or more, the threshold rises to the count-th best of them.  If
    it cannot, because too many scores are equal, the tile is halved; of equal cells those of the
    first half come first."""
    m, n = job.size
    least, capacity = job.threshold, min(m * n, max(4 * job.count, least_hits))
    while True:
        done = tile(replace(job, threshold=least), capacity)
        hits = Hits(done.hits.some, job.count)
        if done.reached <= capacity:
            return replace(done, hits=hits)
        if len(hits) < job.count or (least is not None and hits[-1].score <= least):
            # one row is halved by columns
            halves = ((m // 2,), ()) if m > 1 else ((), (n // 2,))
            return by_parts(tile, replace(job, threshold=least), *halves)
        least, capacity = hits[-1].score, max(capacity, min(4 * capacity, MANY))
