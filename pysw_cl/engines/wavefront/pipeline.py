"""Tiles below each other, each begun while those above it are still computed.

A launch keeps a whole device busy only once its first strips are far ahead of its last ones, and no
longer when its first ones are done.  Here the next launch is enqueued on another queue as soon as
all strips of the last one are taken, so that its groups run where others have ended: its first
strip follows the last one above as any strip follows another (docs/algorithm.md, Chains).  It waits
for groups that run only, so it cannot keep them from running.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import DeviceError
from ...opencl.buffers import Buffers, Pool, part_align
from ...opencl.device import Runtime
from ...opencl.program import running
from ...planning.lane_sets import LANE_SETS
from ...planning.plan import Plan
from ...tiles.tile import TileJob, TileResult
from .kernel import planned
from .tile import Link, TileRun


@dataclass
class PipelinedTile:
    """A tile on the device."""

    job: TileJob
    run: TileRun
    buffers: Buffers
    done: bool = False


class RunningPipeline:
    """A chain of tiles that begins with ``job``: see
    :class:`pysw_cl.tiles.contract.TilePipeline`, whose calls these are.

    All have its target, scoring and columns, and their last rows are where strips end.
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
        """For a tile above so many rows; None where they are better computed one by one.
        ``note_memory`` is told how much memory the chain took."""
        if not rows_below or not runtime.traits.speculative or not _alone(job):
            return None
        m = job.size[0]
        narrow = LANE_SETS[plan.lanes].narrow
        if plan.form != "ticketed" or narrow is None:
            return None
        whole = replace(job, query=np.broadcast_to(job.query[:1], m + rows_below))
        fits, _ = planned(plan, whole, runtime.traits.byte_permute)
        if fits is None or m % (fits.T * fits.alpha) or not fits_memory(runtime, fits, job):
            return None
        return cls(runtime, fits, job, note_memory)

    def __init__(
        self,
        runtime: Runtime,
        plan: Plan,
        job: TileJob,
        note_memory: Callable[[int], None],
    ) -> None:
        self.runtime, self.plan, self._note_memory = runtime, plan, note_memory
        self._places = places_of(plan)
        self._most = plan.tuning.pipeline.most_tiles
        self._sides: list[tuple[Runtime, Pool]] = []
        self._own = Buffers(runtime)
        self._letters: list[Any] = []
        self._begun: list[PipelinedTile] = []
        self._done: PipelinedTile | None = None
        self._count, self._strips = 0, 0  # tiles begun so far, and their strips
        self._last: TileRun | None = None
        try:
            self._bus = self._own.empty(_bus_bytes(plan, job, self._places))
            self._known = self._own.empty(4)
            self._apart = part_align(runtime)
            self._tickets = self._own.empty(self._most * self._apart)
            none = np.broadcast_to(np.int32(0), self._most * self._apart // 4)
            self._own.write(self._tickets, none)
            self._begin(job)
            self._own.write(self._known, np.array([self._begun[0].run.threshold], np.int32))
            runtime.queue.finish()
            self._start(self._begun[0])
        except BaseException:
            with suppress(DeviceError):  # which it was, most likely
                self.close()
            raise

    def __len__(self) -> int:
        return len(self._begun)

    def accepts(self) -> bool:
        """Is there room for one more tile, and will its groups not keep those above it waiting?"""
        self._look()
        if self._count == self._most:
            return False
        if not self._begun:
            return True
        return self._has_room(self._begun[-1]) and self._taken(self._begun[-1])

    def put(self, job: TileJob, last: bool) -> bool:
        """Begin the next tile."""
        if not last and job.size[0] % (self.plan.T * self.plan.alpha):
            return False
        self._begin(job)
        self._start(self._begun[-1])
        return True

    def done(self) -> bool:
        """Is the first tile done?"""
        self._look()
        return bool(self._begun) and self._begun[0].done

    def take(self) -> TileResult:
        """The first tile's result, which is lent where it stays on the device."""
        self._release()
        result, _ = self._begun[0].run.result()
        self._done = self._begun.pop(0)
        return result

    def close(self) -> None:
        """Wait for what is on the device, and give its memory back."""
        import pyopencl as cl

        failed: cl.Error | None = None
        try:
            for side, _ in self._sides:
                try:
                    side.queue.finish()
                except cl.Error as error:  # the others are waited for all the same
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
        """What the last result lent is needed no longer."""
        if self._done is not None:
            self._done.buffers.free()
            self._done = None

    def _look(self) -> None:
        """Notice which tiles are done."""
        for one in self._begun:
            one.done = one.done or not running(self.runtime, one.run.event)
            if not one.done:
                break  # nor are those below it

    def _has_room(self, last: PipelinedTile) -> bool:
        """Is there room for one more like the ``last``?"""
        if len(self._begun) == 1:
            return True
        asked = sum(one.buffers.bytes for one in (*self._begun, last))
        return len(self._begun) < self._places - 1 and _spare(self.runtime, self._own.bytes, asked)

    def _taken(self, one: PipelinedTile) -> bool:
        """Are all strips of a tile in the hands of groups that run, or done?"""
        if not running(self.runtime, one.run.event):
            return True
        side = self.runtime.beside(self._count % self._places)  # whose queue has nothing to do
        with Buffers(side) as buffers:
            return bool(buffers.read(one.run.ticket, 1)[0] >= one.run.tickets)

    def _begin(self, job: TileJob) -> None:
        index, plan = self._count % self._places, self.plan
        if index == len(self._sides):
            side = self.runtime.beside(index)
            self._sides.append((side, Pool(side, int(side.device.max_mem_alloc_size))))
        side, pool = self._sides[index]
        lines = [2 + (self._count + k) % (self._places + 1) for k in (0, 1)]
        letters = self._letters, self._own
        ticket = self._tickets.get_sub_region(self._count * self._apart, 4)
        shared = plan, self._bus, self._known, ticket
        link = Link(*shared, self._last, *letters, self._strips, *lines)
        buffers = Buffers(side, pool=pool)
        run = TileRun(side, plan, job, buffers, link=link)
        self._begun.append(PipelinedTile(job, run, buffers))
        self._last, self._count = run, self._count + 1
        self._strips += run.grid.strips

    def _start(self, one: PipelinedTile) -> None:
        import pyopencl as cl

        taken = self._own.bytes + sum(pool.bytes for _, pool in self._sides)
        self._note_memory(taken)
        queue = one.run.runtime.queue
        try:
            one.run.run()
            queue.flush()
        except cl.Error as error:
            raise DeviceError(f"{self.runtime.info.name} failed: {error}") from None


def places_of(plan: Plan) -> int:
    """Tiles of a chain that are computed at once, begun or kept meanwhile."""
    return plan.tuning.pipeline.depth + plan.tuning.pipeline.more


def _bus_bytes(plan: Plan, job: TileJob, places: int) -> int:
    """Memory of the lines that the tiles of a chain share."""
    return 8 * (job.size[1] + 2 * plan.T) * (2 + places + 1)


def fits_memory(runtime: Runtime, plan: Plan, job: TileJob) -> bool:
    """Does the device hold a chain that has two tiles like ``job`` at least?"""
    bus = _bus_bytes(plan, job, places_of(plan))
    rows = (1 + 8 + 8 * job.right + 8 * len(job.columns)) * job.size[0]
    whole = bus <= int(runtime.device.max_mem_alloc_size)
    return whole and _spare(runtime, bus, 2 * rows)


def _spare(runtime: Runtime, own: int, asked: int) -> bool:
    """Is half of the memory left beside what a chain itself takes and what its tiles ask for, which
    pools may keep in four times as much?"""
    return own + 4 * asked <= int(runtime.device.global_mem_size) // 2


def _alone(job: TileJob) -> bool:
    """Is there nothing about a tile that chains do not do?"""
    plain = not job.store_moves and job.forbidden is None and job.count == 1
    return plain and not job.rows
