"""Slabs of one tile each that follow each other in an engine's pipeline."""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress

from ..errors import DeviceError
from ..planning.geometry import is_piped, may_be_wide
from ..sequences.view import Codes
from .contract import Pipeline, TilePipeline
from .edges import EdgeArray
from .slabs import Slab
from .sweep_state import SweepState
from .tile import Area, TileJob, TileResult


class SlabPipeline:
    """The slabs of a sweep whose tiles are as wide as the rectangle and follow each other."""

    def __init__(self, state: SweepState) -> None:
        self.state = state
        #: The codes of the whole target, once they were read.
        self._target: Codes | None = None
        self._pipeline, rows = self._choose()
        state.slabs.pipelined(rows)

    def _choose(self) -> tuple[Pipeline | None, tuple[int, int] | None]:
        """The engine's pipeline with the rows of its tiles; None where tiles cannot follow each
        other, or had better not."""
        state, rectangle = self.state, self.state.rectangle
        pipeline, n = state.engine.pipeline, rectangle.n
        simple = state.corridor is None and rectangle.forbidden is None
        simple = simple and state.best.want.count == 1 and not state.best.want.each_tile
        if pipeline is None or not simple:
            return None, None
        rows = pipeline.rows(rectangle.m, n)
        if rows is None or not may_be_wide(rows[0], n, state.slabs.shape(rectangle.m)):
            return None, None
        return pipeline, rows

    def compute_from(self, slab: Slab) -> tuple[int, Slab | None] | None:
        """Compute a slab and those that follow it in the pipeline.

        Gives the row where they end, and the next slab if it was begun (it has to be computed
        otherwise).  None: the pipeline cannot begin with this slab, and nothing was computed.
        """
        rows_below = self.state.rectangle.m - slab.end
        if self._pipeline is None or rows_below == 0:
            return None
        job = self._first_job(slab)
        if job is None:
            return None
        pipeline = self._pipeline.start(job, rows_below)
        if pipeline is None:
            self._pipeline = None
            self.state.slabs.pipelined(None)
            return None
        try:
            found = self._compute(slab, pipeline)
        except BaseException:
            with suppress(DeviceError):  # the first error tells more
                pipeline.close()
            raise
        pipeline.close()
        return found

    def _compute(self, first: Slab, pipeline: TilePipeline) -> tuple[int, Slab | None]:
        """Compute the slabs from ``first`` on, which the pipeline has already."""
        state, m = self.state, self.state.rectangle.m
        begun, waiting, last, accepting = deque([first]), None, first.end, True
        tuning = state.engine.plan.tuning.sweep
        tell_at = time.monotonic() + tuning.tell_seconds
        state.corner = state.edges.left.h_at(first.end - 1)
        while begun:
            while True:
                done = pipeline.done()  # asked first: a tile that is done makes way for the next
                end = begun[-1].end
                if accepting and waiting is None and end < m and pipeline.accepts():
                    waiting = state.slabs.begin(end)
                if accepting and waiting is not None and self._left_is_ready(waiting):
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

    def _first_job(self, slab: Slab) -> TileJob | None:
        """The job of a slab that is one tile; None where it is more, or may be skipped."""
        state = self.state
        if not self._is_one_tile(slab):
            return None
        left = state.edges.left.read(slab.start, slab.end)
        top = state.above.read(0, state.rectangle.n)
        area = self._area(slab)
        if state.best.excluded(area, state.corner, top, left):
            return None
        return state.job(slab, area, state.corner, top, left, self._whole_target())

    def _put(self, slab: Slab, pipeline: TilePipeline) -> bool:
        """Begin a slab below those in the pipeline; False where it cannot follow them."""
        state = self.state
        if not self._is_one_tile(slab):
            return False
        left = state.edges.left.read(slab.start, slab.end)
        job = state.job(slab, self._area(slab), state.corner, None, left, self._whole_target())
        if not pipeline.put(job, slab.end == state.rectangle.m):
            return False
        state.corner = int(left.h[-1])
        return True

    def _take(self, slab: Slab, result: TileResult, underway: int, *, is_last: bool) -> None:
        """Take the result of a slab.  The last one in the pipeline gives its bottom edge to the
        tiles that are computed next.  ``underway``: see `SweepState.advance`."""
        state, area = self.state, self._area(slab)
        state.take(slab, area, result)
        if is_last and result.bottom is not None:
            below = EdgeArray(state.rectangle.n)
            below.take(result.bottom)
            state.above = below
        state.advance(area, underway)
        state.finish(slab)

    def _area(self, slab: Slab) -> Area:
        return Area(slab.start, slab.end, 0, self.state.rectangle.n)

    def _is_one_tile(self, slab: Slab) -> bool:
        state = self.state
        m, n = state.rectangle.m, state.rectangle.n
        special_rows, _ = state.special_lines(slab, self._area(slab))
        # tiles of few rows may be less wide, and those of all rows less high
        shapes = map(state.slabs.shape, {slab.rows, m})
        return not special_rows and any(is_piped(slab.rows, n, shape) for shape in shapes)

    def _left_is_ready(self, slab: Slab) -> bool:
        return self.state.edges.left.ready(slab.start, slab.end)

    def _whole_target(self) -> Codes:
        if self._target is None:
            self._target = self.state.rectangle.target.read(0, self.state.rectangle.n)
        return self._target
