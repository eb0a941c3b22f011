"""Tiles below each other, each begun while those above it are still computed.

A launch keeps a whole device busy only once its first strips are far ahead of its last ones, and no
longer when its first ones are done.  Here the next launch is enqueued on another queue as soon as
all strips of the last one are taken, so that its groups run where others have ended: its first
strip follows the last one above as any strip follows another (docs/algorithm.md, Chains).  It waits
for groups that run only, so it cannot keep them from running.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DeviceError, InternalError
from ..opencl.buffers import Buffers, Pool
from ..opencl.device import Runtime
from ..plan import LANE_SETS, Plan
from .base import Below, TileJob, TileResult
from .tile_kernel import planned
from .tile_run import TileRun

#: Tiles of a chain that a device computes at once; and others that are begun or kept meanwhile.
DEPTH, MORE = 6, 3
#: Seconds between two looks at how far they are.
LOOK_AGAIN = 0.0003


@dataclass
class Place:
    """A tile's place in the chain (:class:`pysw_cl.engines.tile_run.Link`)."""

    plan: Plan
    bus: Any
    known: Any
    above: TileRun | None
    kept: list[Any]
    held: Buffers
    first: int  # strips above it
    room: int  # the line of the bus that its first strip reads
    last: int  # the one that its last strip writes

    def lines(self, strips: int) -> NDArray[np.int32]:
        """See Link.  Lines 0 and 1 take turns through the whole chain; between two tiles, and for
        inner rows, lie lines of their own."""
        lines = (np.arange(strips + 1) + self.first).astype(np.int32) & 1
        lines[0], lines[strips] = self.room, self.last
        return lines


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
        if job.below is None or not runtime.advice["ahead"] or not _alone(job):
            return None
        m = job.size[0]
        narrow = LANE_SETS[plan.lanes].narrow
        if plan.form != "ticketed" or narrow is None:
            return None
        whole = replace(job, query=np.broadcast_to(job.query[:1], m + job.below.rows))
        fits, _ = planned(plan, whole, bool(runtime.advice["permute"]))
        if fits is None or m % (fits.T * fits.alpha):
            return None
        return cls(runtime, fits, job, depth)

    def __init__(self, runtime: Runtime, plan: Plan, job: TileJob, depth: int) -> None:
        self.runtime, self.plan = runtime, plan
        self._places = depth + MORE
        self._pools: list[Pool] = []
        self._own = Buffers(runtime)
        stride = job.size[1] + 2 * plan.T
        self._bus = self._own.empty(8 * stride * (2 + self._places + 1))
        self._known = self._own.empty(4)
        self._letters: list[Any] = []
        self._begun: list[Begun] = []
        self._count, self._strips = 0, 0  # tiles begun so far, and their strips
        self._last: TileRun | None = None
        self.bytes = 0
        self._begin(job)
        self._own.write(self._known, np.array([self._begun[0].run.threshold], np.int32))
        runtime.queue.finish()
        self._start(self._begun[0])
        self._done: Begun | None = None

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

        try:
            for index in range(len(self._pools)):
                self.runtime.beside(index).queue.finish()
        except cl.Error as error:
            raise DeviceError(f"{self.runtime.info.name} failed: {error}") from None
        self._release()
        for one in self._begun:
            one.buffers.free()
        self._begun.clear()
        for pool in self._pools:
            pool.forget()
        self._own.free()

    def _release(self) -> None:
        """What the last result lent is needed no longer."""
        if self._done is not None:
            self._done.buffers.free()
            self._done = None

    def _look(self) -> None:
        """Notice which tiles are done."""
        for one in self._begun:
            one.done = one.done or self._complete(one.run.event)
            if not one.done:
                break  # nor are those below it

    def _complete(self, event: Any) -> bool:
        import pyopencl as cl

        state = int(event.command_execution_status)
        if state < 0:
            raise DeviceError(f"{self.runtime.info.name} failed: OpenCL error {state}")
        return state == cl.command_execution_status.COMPLETE

    def _go_on(self) -> bool:
        """Begin the next tile if it is time; says whether."""
        self._look()
        last = self._begun[-1]
        if last.below is None or len(self._begun) >= self._places - 1 or not self._taken(last):
            return False
        self._begin(last.below.tile())
        self._start(self._begun[-1])
        return True

    def _taken(self, one: Begun) -> bool:
        """Are all strips of a tile in the hands of groups that run, or done?"""
        side = self.runtime.beside(self._count % self._places)  # whose queue has nothing to do
        with Buffers(side) as buffers:
            return bool(buffers.read(one.run.ticket, 1)[0] >= one.run.tickets)

    def _begin(self, job: TileJob) -> None:
        index, plan = self._count % self._places, self.plan
        side = self.runtime.beside(index)
        if index == len(self._pools):
            self._pools.append(Pool(side, int(side.device.max_mem_alloc_size)))
        below = job.below
        if below is not None and job.size[0] % (plan.T * plan.alpha):
            raise InternalError(f"a tile of {job.size[0]} rows ends inside a strip of a chain")
        lines = [2 + (self._count + k) % (self._places + 1) for k in (0, 1)]
        letters = self._letters, self._own
        place = Place(plan, self._bus, self._known, self._last, *letters, self._strips, *lines)
        buffers = Buffers(side, pool=self._pools[index])
        run = TileRun(side, plan, job, buffers, link=place)
        self._begun.append(Begun(job, run, buffers, below))
        self._last, self._count = run, self._count + 1
        self._strips += run.grid.strips

    def _start(self, one: Begun) -> None:
        one.run.run()
        one.run.runtime.queue.flush()
        own = sum(b.buffers.bytes for b in self._begun)
        self.bytes = max(self.bytes, self._own.bytes + own)


def _alone(job: TileJob) -> bool:
    """Is there nothing about a tile that chains do not do?"""
    plain = not job.directions and job.blocked is None and job.count == 1
    return plain and not job.rows
