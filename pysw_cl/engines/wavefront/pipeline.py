"""Tiles below each other, each begun while those above it are still computed.

A launch does not fill the device while its wavefront grows and shrinks.  So the next tile's launch
is enqueued on another queue as soon as all tickets of the last one are taken, and its groups run
where others have ended.  Its first strip waits for the last strip above as any strip waits for the
one above it (docs/algorithm.md, The two-level wavefront).  It waits only for groups that are
running already, so it cannot block them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pyopencl as cl

from ...errors import DeviceError
from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.pools import Pool
from ...opencl.program import running
from ...planning.choose import (
    Given,
    choose_pipeline,
    half_holds,
    in_strips,
    pipeline_bus_bytes,
    pipeline_slots,
)
from ...planning.execution import InStrips
from ...planning.plan import Plan
from ...tiles.tile import TileJob, TileResult
from ..common import least_of
from .kernel import build_later, in_time, scores_of, target_codes
from .tile import Link, TileRun, given_of, shape_of


class RunningPipeline:
    """A pipeline of tiles whose first one is ``job``.  It implements
    :class:`pysw_cl.tiles.contract.TilePipeline`.

    All tiles have the same target, scoring and columns, and end where a strip ends.
    """

    @classmethod
    def of(
        cls,
        runtime: Runtime,
        plan: Plan,
        job: TileJob,
        rows_below: int,
        note_memory: Callable[[int], None],
    ) -> RunningPipeline | None:
        """A pipeline for a tile with ``rows_below`` rows below it; None if tiles are better
        computed one by one.  ``note_memory`` gets the bytes that the pipeline holds."""
        given = given_of(runtime, plan, job)
        chosen = choose_pipeline(shape_of(job), rows_below, given)
        if chosen is None:
            return None
        first, later = in_time(runtime, chosen)
        begun = cls(runtime, first, given, job, note_memory)
        if later is not None:
            build_later(runtime, later, begun._begun[0].event)
        return begun

    def __init__(
        self,
        runtime: Runtime,
        first: InStrips,
        given: Given,
        job: TileJob,
        note_memory: Callable[[int], None],
    ) -> None:
        self.runtime, self._note_memory = runtime, note_memory
        #: How all tiles are computed: as the first one.
        self.plan, self._score, self._given = first.plan, first.program.score, given
        plan = self.plan
        self._slots = pipeline_slots(plan)
        self._most_tiles = plan.tuning.pipeline.most_tiles
        #: The queue and the buffers of each slot.
        self._sides: list[tuple[Runtime, Pool]] = []
        self._own = Buffers(runtime)
        #: Tiles that were begun and not taken out.
        self._begun: list[TileRun] = []
        #: The tile that was taken out last: its result uses its memory.
        self._done: TileRun | None = None
        self._count, self._strips = 0, 0  # tiles begun so far, and their strips
        self._last: TileRun | None = None
        try:
            self._ticket_bytes = runtime.facts.part_align
            self._tickets = self._own.of(
                np.zeros(self._most_tiles * self._ticket_bytes // 4, np.int32)
            )
            scores = scores_of(job.scoring, self._score, first.program.skewed, self._own)
            self._shared = self._own.several(
                {
                    "bus": pipeline_bus_bytes(plan, job.size[1]),
                    "shared_best": np.array([least_of(job)], np.int32),
                    **target_codes(job.target, first.program, scores),
                }
            )
            self._shared.setdefault("letters", self._shared["target"])
            self._begin(job)
            runtime.queue.finish()
            self._start(self._begun[0])
        except BaseException:
            with suppress(DeviceError):  # the device has failed already, most likely
                self.close()
            raise

    def __len__(self) -> int:
        return len(self._begun)

    def accepts(self) -> bool:
        """Is there memory for one more tile, and can its groups no longer block those above?"""
        self._update()
        if self._count == self._most_tiles:
            return False
        if not self._begun:
            return True
        return self._fits(self._begun[-1]) and self._taken(self._begun[-1])

    def put(self, job: TileJob, last: bool) -> bool:
        """Begin the next tile."""
        if not last and job.size[0] % self.plan.strip_rows:
            return False
        self._begin(job)
        self._start(self._begun[-1])
        return True

    def done(self) -> bool:
        """Is the first tile done?"""
        self._update()
        return bool(self._begun) and self._begun[0].done

    def underway(self) -> int:
        """By the columns that each strip has told the one below."""
        cells, idle = 0, len(self._begun) < self._slots
        with Buffers(self.runtime.beside(self._count % self._slots)) as buffers:
            for one in self._begun:
                if one.done:
                    cells += one.job.size[0] * one.job.size[1]
                elif idle and buffers.read(one.made["ticket"], 1)[0]:
                    # (before its first ticket is taken, its buffers may hold an earlier tile's)
                    cells += one.cells_behind(buffers)
        return cells

    def take(self, bottom: bool) -> TileResult:
        """The first tile's result.  Its edges on the device are valid until the next call."""
        self._release()
        result = self._begun[0].result(bottom)
        self._done = self._begun.pop(0)
        return result

    def close(self) -> None:
        """Wait for what is on the device, and give its memory back."""
        failed: cl.Error | None = None
        try:
            for side, _ in self._sides:
                try:
                    side.queue.finish()
                except cl.Error as error:  # wait for the others nevertheless
                    failed = error
        finally:
            self._release()
            for one in self._begun:
                one.buffers.free()
            self._begun.clear()
            for _, pool in self._sides:
                pool.forget()
            self._own.free()
        if failed is not None:
            raise DeviceError(f"{self.runtime.info.name} failed: {failed}") from None

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

    def _fits(self, last: TileRun) -> bool:
        """Do a slot and the memory suffice for one more tile like the ``last`` one?"""
        if len(self._begun) == 1:
            return True
        asked = sum(one.buffers.bytes for one in (*self._begun, last))
        room = half_holds(self._given.device, self._own.bytes, asked)
        return len(self._begun) < self._slots - 1 and room

    def _taken(self, one: TileRun) -> bool:
        """Are all tickets of a tile taken?"""
        if not running(self.runtime, one.event):
            return True
        side = self.runtime.beside(self._count % self._slots)  # its queue is idle
        with Buffers(side) as buffers:
            return bool(buffers.read(one.made["ticket"], 1)[0] >= one.tickets)

    def _begin(self, job: TileJob) -> None:
        """Prepare the next tile: its buffers and its kernel."""
        index, count = self._count % self._slots, self._count
        if index == len(self._sides):
            side = self.runtime.beside(index)
            self._sides.append((side, Pool(side, int(side.device.max_mem_alloc_size))))
        side, pool = self._sides[index]
        execution = in_strips(self.plan, self._score, shape_of(job), self._given, linked=True)
        # strips alternate between lines 0 and 1 through the whole pipeline, but the row between two
        # tiles has a line of its own
        strips = execution.grid.strips
        lines = (np.arange(strips + 1) + self._strips).astype(np.int32) & 1
        lines[0], lines[strips] = (2 + (count + k) % (self._slots + 1) for k in (0, 1))
        ticket = self._tickets.get_sub_region(count * self._ticket_bytes, 4)
        last = self._last
        above = None if last is None else (last.made["progress"], last.grid.strips - 1)
        buffers = Buffers(side, pool=pool)
        link = Link({**self._shared, "ticket": ticket}, lines, above)
        run = TileRun(side, execution, job, buffers, link=link)
        self._begun.append(run)
        self._last, self._count = run, count + 1
        self._strips += strips

    def _start(self, one: TileRun) -> None:
        """Enqueue a prepared tile."""
        taken = self._own.bytes + sum(pool.bytes for _, pool in self._sides)
        self._note_memory(taken)
        queue = one.runtime.queue
        with self.runtime.failing():
            one.run()
            queue.flush()
