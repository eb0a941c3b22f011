"""Slabs of one tile each that follow each other in an engine's pipeline."""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress
from functools import cached_property

from ..errors import DeviceError
from ..planning.geometry import is_piped, may_be_wide
from ..sequences.view import Codes
from .contract import Engine, TilePipeline
from .edges import EdgeArray
from .slabs import Slab
from .sweep_state import SweepState
from .tile import Area, TileResult


class SlabPipeline:
    """The slabs of a sweep whose tiles are as wide as the rectangle and follow each other."""

    def __init__(self, engine: Engine, state: SweepState) -> None:
        self.engine, self.state = engine, state
        self._m, self._n = state.rectangle.m, state.rectangle.n
        special = state.corridor is not None or state.rectangle.forbidden is not None
        special |= state.best.want.count > 1 or state.best.want.each_tile
        rows = None if special else engine.piped_rows(self._m, self._n)
        if rows is None or not may_be_wide(rows[0], self._n, state.slabs.shape(self._m)):
            rows = None
        #: Can tiles follow each other, and should they?
        self._able = rows is not None
        state.slabs.pipelined(rows)

    @cached_property
    def _target(self) -> Codes:
        """The codes of the whole target."""
        return self.state.rectangle.target.read(0, self._n)

    def compute_from(self, slab: Slab) -> tuple[int, Slab | None] | None:
        """Compute a slab and those that follow it in the pipeline.

        Gives the row where they end, and the next slab if it was begun (it has to be computed
        otherwise).  None: the pipeline cannot begin with this slab, and nothing was computed.
        """
        state = self.state
        if not self._able or slab.end == self._m or not self._is_one_tile(slab):
            return None
        left, top = state.edges.left.read(slab.start, slab.end), state.above.read(0, self._n)
        area = self._area(slab)
        if state.best.excluded(area, state.corner, top, left):
            return None
        job = state.job(slab, area, state.corner, top, left, self._target)
        begun = self.engine.pipeline(job, self._m - slab.end)
        if begun is None:
            self._able = False
            state.slabs.pipelined(None)
            return None
        try:
            found = self._compute(slab, begun)
        except BaseException:
            with suppress(DeviceError):  # the first error tells more
                begun.close()
            raise
        begun.close()
        return found

    def _compute(self, first: Slab, pipeline: TilePipeline) -> tuple[int, Slab | None]:
        """Compute the slabs from ``first`` on, which the pipeline has already."""
        state, m = self.state, self._m
        begun, waiting, last, accepting = deque([first]), None, first.end, True
        tuning = self.engine.plan.tuning.sweep
        tell_at = time.monotonic() + tuning.tell_seconds
        state.corner = state.edges.left.h_at(first.end - 1)
        while begun:
            while True:
                done = pipeline.done()  # asked first: a tile that is done makes way for the next
                end = begun[-1].end
                if accepting and waiting is None and end < m and pipeline.accepts():
                    waiting = state.slabs.begin(end)
                left = state.edges.left
                if accepting and waiting and left.ready(waiting.start, waiting.end):
                    accepting = self._put(waiting, pipeline)
                    if accepting:
                        begun.append(waiting)
                        waiting = None
                        continue
                if done:
                    break
                now = time.monotonic()
                if now >= tell_at:
                    state.advance(None, pipeline.underway())
                    tell_at = now + tuning.tell_seconds
                time.sleep(tuning.look_seconds)
            slab = begun.popleft()
            bottom = not begun or state.gives_bottom(slab)
            self._take(slab, pipeline.take(bottom), pipeline.underway(), is_last=not begun)
            last = slab.end
        return last, waiting

    def _put(self, slab: Slab, pipeline: TilePipeline) -> bool:
        """Begin a slab below those in the pipeline; False where it cannot follow them."""
        state = self.state
        if not self._is_one_tile(slab):
            return False
        left = state.edges.left.read(slab.start, slab.end)
        job = state.job(slab, self._area(slab), state.corner, None, left, self._target)
        if not pipeline.put(job, slab.end == self._m):
            return False
        state.corner = int(left.h[-1])
        return True

    def _take(self, slab: Slab, result: TileResult, underway: int, *, is_last: bool) -> None:
        """Take the result of a slab.  The last one in the pipeline gives its bottom edge to the
        tiles that are computed next.  ``underway``: see `SweepState.advance`."""
        state, area = self.state, self._area(slab)
        state.take(slab, area, result)
        if is_last and result.bottom is not None:
            below = EdgeArray(self._n)
            below.take(result.bottom)
            state.above = below
        state.advance(area, underway)
        state.finish(slab)

    def _area(self, slab: Slab) -> Area:
        return Area(slab.start, slab.end, 0, self._n)

    def _is_one_tile(self, slab: Slab) -> bool:
        state = self.state
        special_rows, _ = state.special_lines(slab, self._area(slab))
        # tiles of few rows may be less wide, and those of all rows less high
        shapes = map(state.slabs.shape, {slab.rows, self._m})
        return not special_rows and any(is_piped(slab.rows, self._n, shape) for shape in shapes)
