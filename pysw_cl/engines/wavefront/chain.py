"""Tiles below each other, each begun while those above it are still computed.

A launch keeps a whole device busy only once its first strips are far ahead of its last ones, and no
longer when its first ones are done.  Here the next launch is enqueued on another queue as soon as
all strips of the last one are taken, so that its groups run where others have ended: its first
strip follows the last one above as any strip follows another (docs/algorithm.md, Chains).  It waits
for groups that run only, so it cannot keep them from running.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import DeviceError, InternalError
from ...opencl.buffers import Buffers, Pool, part_align
from ...opencl.device import Runtime
from ...opencl.program import running
from ...planning.lane_sets import LANE_SETS
from ...planning.plan import Plan
from ...tiles.contract import Below, TileJob, TileResult
from .kernel import planned
from .tile import Link, TileRun

#: Tiles of a chain that a device computes at once; and others that are begun or kept meanwhile.
DEPTH, MORE = 6, 3
#: Tiles of a chain at most: each has a ticket of its own, which is 0 before anything runs.
MOST_TILES = 512
#: Seconds between two looks at how far they are.
LOOK_AGAIN = 0.0003


@dataclass
class Begun:
    """A tile on the device."""

    job: TileJob
    run: TileRun
    buffers: Buffers
    below: Below | None
    done: bool = False


class Chain:
    """A chain of tiles that begins with ``job``; :meth:`tile` computes them one by one.

    All have its target, scoring and columns, and their last rows are where strips end.
    """

    @classmethod
    def of(cls, runtime: Runtime, plan: Plan, job: TileJob, depth: int = DEPTH) -> Chain | None:
        """For a tile and those below it; None where they are better computed one by one."""
        if job.below is None or not runtime.traits.speculative or not _alone(job):
            return None
        m = job.size[0]
        narrow = LANE_SETS[plan.lanes].narrow
        if plan.form != "ticketed" or narrow is None:
            return None
        whole = replace(job, query=np.broadcast_to(job.query[:1], m + job.below.rows))
        fits, _ = planned(plan, whole, runtime.traits.byte_permute)
        if fits is None or m % (fits.T * fits.alpha) or not _room(runtime, fits, job, depth):
            return None
        return cls(runtime, fits, job, depth)

    def __init__(self, runtime: Runtime, plan: Plan, job: TileJob, depth: int) -> None:
        self.runtime, self.plan = runtime, plan
        self._places = depth + MORE
        self._sides: list[tuple[Runtime, Pool]] = []
        self._own = Buffers(runtime)
        self._letters: list[Any] = []
        self._begun: list[Begun] = []
        self._done: Begun | None = None
        self._count, self._strips = 0, 0  # tiles begun so far, and their strips
        self._last: TileRun | None = None
        self.bytes = 0
        try:
            self._bus = self._own.empty(_bus_bytes(plan, job, self._places))
            self._known = self._own.empty(4)
            self._apart = part_align(runtime)
            self._tickets = self._own.empty(MOST_TILES * self._apart)
            none = np.broadcast_to(np.int32(0), MOST_TILES * self._apart // 4)
            self._own.write(self._tickets, none)
            self._begin(job)
            self._own.write(self._known, np.array([self._begun[0].run.threshold], np.int32))
            runtime.queue.finish()
            self._start(self._begun[0])
        except BaseException:
            with suppress(DeviceError):  # which it was, most likely
                self.close()
            raise

    def __contains__(self, job: TileJob) -> bool:
        return any(one.job is job for one in self._begun)

    def tile(self, job: TileJob) -> TileResult:
        """The next tile's result, which is lent where it stays on the device."""
        self._release()
        first = self._begun[0]
        if first.job is not job:
            raise InternalError("the tiles of a chain are asked for in another order")
        while self._go_on() or not first.done:
            time.sleep(LOOK_AGAIN)
        if len(self._begun) == 1:
            self._go_on()  # the next one must not wait to be asked for: its top stays here
        result, _ = first.run.result()
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

    def _go_on(self) -> bool:
        """Begin the next tile if it is time; says whether."""
        self._look()
        last = self._begun[-1]
        if last.below is None or self._count == MOST_TILES:
            return False
        if not self._room_for(last) or not self._taken(last):
            return False
        job, last.below = last.below.tile(), None
        if job is None or (job.below is not None and job.size[0] % (self.plan.T * self.plan.alpha)):
            return False  # the chain ends here
        self._begin(job)
        self._start(self._begun[-1])
        return True

    def _room_for(self, last: Begun) -> bool:
        """Is there room for one more like the ``last``?"""
        if len(self._begun) == 1:
            return True
        asked = sum(one.buffers.bytes for one in (*self._begun, last))
        return len(self._begun) < self._places - 1 and _spare(self.runtime, self._own.bytes, asked)

    def _taken(self, one: Begun) -> bool:
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
        self._begun.append(Begun(job, run, buffers, job.below))
        self._last, self._count = run, self._count + 1
        self._strips += run.grid.strips

    def _start(self, one: Begun) -> None:
        import pyopencl as cl

        self.bytes = max(self.bytes, self._own.bytes + sum(pool.bytes for _, pool in self._sides))
        queue = one.run.runtime.queue
        try:
            one.run.run()
            queue.flush()
        except cl.Error as error:
            raise DeviceError(f"{self.runtime.info.name} failed: {error}") from None


def _bus_bytes(plan: Plan, job: TileJob, places: int) -> int:
    """Memory of the lines that the tiles of a chain share."""
    return 8 * (job.size[1] + 2 * plan.T) * (2 + places + 1)


def _room(runtime: Runtime, plan: Plan, job: TileJob, depth: int) -> bool:
    """Does the device hold a chain that has two tiles like ``job`` at least?"""
    bus = _bus_bytes(plan, job, depth + MORE)
    rows = (1 + 8 + 8 * job.right + 8 * len(job.columns)) * job.size[0]
    whole = bus <= int(runtime.device.max_mem_alloc_size)
    return whole and _spare(runtime, bus, 2 * rows)


def _spare(runtime: Runtime, own: int, asked: int) -> bool:
    """Is half of the memory left beside what a chain itself takes and what its tiles ask for, which
    pools may keep in four times as much?"""
    return own + 4 * asked <= int(runtime.device.global_mem_size) // 2


def _alone(job: TileJob) -> bool:
    """Is there nothing about a tile that chains do not do?"""
    plain = not job.directions and job.blocked is None and job.count == 1
    return plain and not job.rows
