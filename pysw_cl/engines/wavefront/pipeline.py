"""Tiles below each other, each begun while those above it are still computed.

A launch does not fill the device while its wavefront grows and shrinks.  So the next tile's launch
is enqueued on another queue as soon as all tickets of the last one are taken, and its groups run
where others have ended.  Its first strip waits for the last strip above as any strip waits for the
one above it (docs/algorithm.md, The two-level wavefront).  It waits only for groups that are
running already, so it cannot block them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import DeviceError
from ...opencl.buffers import Buffers, Pool
from ...opencl.device import Runtime
from ...opencl.program import running
from ...planning.choose import half_holds, in_strips, pipeline_lines, pipeline_slots
from ...planning.execution import InStrips
from ...planning.program import Given
from ...planning.sizes import bus_bytes
from ...tiles.contract import HANGING, LostError
from ...tiles.edges import Edge
from ...tiles.tile import TileJob, TileResult
from ..common import least_of
from .kernel import in_time, scores_of, target_codes
from .tile import Link, TileRun, shape_of


class HostRoom:
    """Memory of the host for what is read of a tile: new memory takes longer to write."""

    def __init__(self) -> None:
        self._cells = np.empty(0, np.int32)

    def __call__(self, count: int) -> NDArray[np.int32]:
        if len(self._cells) < count:
            self._cells = np.empty(count, np.int32)
        return self._cells


class RunningPipeline:
    """A pipeline of tiles whose first one is ``job``.  All tiles have the same target, scoring and
    columns, and all but the last end where a strip ends.  ``chosen``: how the first one is computed
    (`choose_pipeline`); ``note_memory`` gets the bytes that the pipeline holds."""

    #: Are the tiles above its own, but for the first one, computed elsewhere?
    apart = False
    #: The number of its device, where several have such pipelines.
    number = 0
    #: The tile that was begun last.
    newest: TileRun

    def __init__(
        self,
        runtime: Runtime,
        chosen: InStrips,
        given: Given,
        job: TileJob,
        note_memory: Callable[[int], None],
    ) -> None:
        self.runtime, self._note_memory = runtime, note_memory
        first = in_time(runtime, chosen)
        #: How all tiles are computed: as the first one.
        self.plan, self._score, self._given = first.plan, first.program.score, given
        self._slots, self._lines = pipeline_slots(self.plan), pipeline_lines(self.plan, self.apart)
        self._most_tiles = self.plan.tuning.pipeline.most_tiles
        #: The queue and the buffers of each slot.
        self._sides: list[tuple[Runtime, Pool]] = []
        self._own, self._room = Buffers(runtime), HostRoom()
        #: Tiles that were begun and not taken out.
        self._begun: list[TileRun] = []
        #: The tile that was taken out last: its result uses its memory.
        self._done: TileRun | None = None
        self._count, self._strips = 0, 0  # tiles begun so far, and their strips
        try:
            self._ticket_bytes = runtime.facts.part_align
            numbers = self._most_tiles * self._ticket_bytes // 4
            self._tickets = self._own.sent(np.zeros(numbers, np.int32))
            scores = scores_of(job.scoring, self._score, first.program.skewed, self._own)
            #: Buffers that all tiles share, by the names of the kernel's arguments.
            self.shared = self._own.several(
                {
                    "bus": bus_bytes(job.size[1], self.plan.T, self._lines),
                    "shared_best": np.array([least_of(job)], np.int32),
                    **target_codes(job.target, first.program, scores),
                }
            )
            self.shared.setdefault("letters", self.shared["target"])
            runtime.queue.finish()
            self._begin(job)
        except BaseException:
            with suppress(DeviceError):  # the device has failed already, most likely
                self.close()
            raise

    def accepts(self) -> bool:
        """Is there memory for one more tile, which cannot block those above?  Does not wait."""
        self._update()
        if self._count == self._most_tiles:
            return False
        return not self._begun or (self._fits(self._begun[-1]) and self._taken(self._begun[-1]))

    def put(self, job: TileJob, last: bool) -> bool:
        """Begin the next tile below; its ``top`` is None.  ``last``: no tile follows it.  False if
        it cannot follow; then it was not begun."""
        if not last and job.size[0] % self.plan.strip_rows:
            return False
        self._begin(job)
        return True

    def done(self) -> bool:
        """Is the first tile done?  Does not wait."""
        self._update()
        return bool(self._begun) and self._begun[0].done

    def underway(self) -> int:
        """How many cells the tiles that were not taken out have behind them, about: by the columns
        that each strip has told the one below.  Does not wait."""
        cells, idle = 0, self.seen
        with Buffers(self.runtime.beside(self._count % self._slots)) as buffers:
            for one in self._begun:
                if one.done:
                    cells += one.job.size[0] * one.job.size[1]
                elif idle and buffers.read(one.made["ticket"], 1)[0]:
                    # (before its first ticket is taken, its buffers may hold an earlier tile's)
                    cells += one.cells_behind(buffers)
        return cells

    def take(self, bottom: bool) -> TileResult:
        """Wait for the first tile and take it out.  Edges of its result on the device are valid
        until the next call.  ``bottom``: is its bottom edge wanted on the host, too?"""
        result = self._begun[0].result(bottom)
        self._release()
        self._done = self._begun.pop(0)
        result.ran = self.number, self._done.began, self._done.ended
        return result

    @property
    def seen(self) -> bool:
        """Does `underway` tell of tiles that are being computed?"""
        return len(self._begun) < self._slots

    def bottom(self) -> Edge | None:
        """The bottom edge of the tile above those that were not taken out, which is computed."""
        assert self._done is not None
        return self._done.result().bottom

    def lost(self, why: str) -> LostError:
        return LostError(f"{self.runtime.info.name} failed: {why}")

    def close(self, lost: int | None = None) -> None:
        """Wait for what is on the device, and give its memory back; not from one that is
        ``lost``."""
        if lost is not None:
            HANGING.append(self)
            return
        with self.runtime.failing(), ExitStack() as last_first:
            last_first.callback(self._own.free)
            for _, pool in self._sides:
                last_first.callback(pool.forget)
            last_first.callback(self._begun.clear)
            for one in self._begun:
                last_first.callback(one.buffers.free)
            last_first.callback(self._release)
            for side, _ in self._sides:  # if one fails, the others are waited for nevertheless
                last_first.callback(side.queue.finish)

    def _release(self) -> None:
        """Free the memory of the tile that was taken out last."""
        if self._done is not None:
            self._done.buffers.free()
            self._done = None

    def _update(self) -> None:
        """Mark the tiles that are done."""
        for one in self._begun:
            one.done = one.done or not running(self.runtime, one.event)
            if not one.done:
                break  # nor are those below it
            one.ended = one.ended or time.perf_counter()

    def _fits(self, last: TileRun) -> bool:
        """Do a slot and the memory suffice for one more tile like the ``last`` one?"""
        if len(self._begun) == 1:
            return True
        asked = sum(one.buffers.bytes for one in (*self._begun, last))
        room = half_holds(self._given.device, self._own.bytes, asked)
        return len(self._begun) < self._slots - 1 and room

    def _taken(self, one: TileRun) -> bool:
        if not running(self.runtime, one.event):
            return True
        side = self.runtime.beside(self._count % self._slots)  # its queue is idle
        with Buffers(side) as buffers:
            return bool(buffers.read(one.made["ticket"], 1)[0] >= one.tickets)

    def _row_above(self, job: TileJob) -> tuple[int, tuple[Any, int] | None]:
        """The number of the line above the next tile, which is before that of the line below it,
        and `Link.above`."""
        if not self._count:
            return 0, None
        last = self.newest
        at = (last.grid.strips - 1) * last.execution.progress_words
        return self._count, (last.made["progress"], at)

    def _begin(self, job: TileJob) -> None:
        index, count = self._count % self._slots, self._count
        if index == len(self._sides):
            side = self.runtime.beside(index)
            self._sides.append((side, Pool(side, int(side.device.max_mem_alloc_size))))
        side, pool = self._sides[index]
        execution = in_strips(self.plan, self._score, shape_of(job), self._given, linked=True)
        # strips alternate between lines 0 and 1 through the whole pipeline, but the rows between
        # tiles have lines of their own
        strips = execution.grid.strips
        lines = (np.arange(strips + 1) + self._strips).astype(np.int32) & 1
        between, above = self._row_above(job)
        lines[0], lines[strips] = (2 + (between + k) % (self._lines - 2) for k in (0, 1))
        ticket = self._tickets.get_sub_region(count * self._ticket_bytes, 4)
        link = Link({**self.shared, "ticket": ticket}, lines, above, self._room)
        self.newest = TileRun(execution, job, Buffers(side, pool=pool), 0, link)
        self._begun.append(self.newest)
        self._count, self._strips = count + 1, self._strips + strips
        self._note_memory(self._own.bytes + sum(pool.bytes for _, pool in self._sides))
        with self.runtime.failing():
            self.newest.run()
            side.queue.flush()
