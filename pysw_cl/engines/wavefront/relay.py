"""A pipeline over several devices: tiles below each other, which the devices compute in turn.

The row above a tile is the bottom row of a tile on another device.  A thread copies the columns
that are done from device to device, and then tells the kernel below that it may go on, as the strip
above tells it on one device.  So the strips in flight on all devices are one wavefront, and a
device is idle only while the wavefront grows and shrinks (docs/algorithm.md, Several devices)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import DeviceError
from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.program import running
from ...planning.choose import pipeline_slots
from ...planning.execution import InStrips
from ...planning.program import Given
from ...tiles.contract import LostError
from ...tiles.edges import Edge
from ...tiles.tile import TileJob, TileResult
from ..common import edge_of
from .descriptors import ProgressWord
from .kernel import MOST
from .pipeline import RunningPipeline
from .tile import TileRun

#: Where no column of the row above is done yet.
NONE = -(1 << 20)
#: Seconds for which the end of the thread that copies is waited for where a device is lost.
LOST_SECONDS = 5.0
#: The queues of the thread that copies, and of the one that ends.
COPIES, ENDS = 90, 91


class Lane(RunningPipeline):
    """The tiles of one device.  Those of other devices lie between them."""

    apart = True
    #: For each tile, how many columns of the row above it are there.
    there: Any = None

    #: Its queue for what is copied while tiles are computed.
    copies: Runtime

    def _row_above(self, job: TileJob) -> tuple[int, tuple[Any, int] | None]:
        if self.there is None:
            self.there = self._own.sent(np.full(self._most_tiles, NONE, np.int32))
            self.runtime.queue.finish()
        return 2 * self._count, None if job.top is not None else (self.there, self._count)

    @property
    def places(self) -> int:
        """The groups that run at once."""
        return self.plan.B // self.newest.program.warps

    def groups_of(self, job: TileJob) -> int:
        """The groups of the launch of a tile."""
        rows = self.newest.program.warps * self.plan.strip_rows
        return min(self.places, -(-job.size[0] // rows))

    def tell(self, tile: int, columns: int, side: Runtime) -> None:
        """So many columns of the row above a tile are there; on the queue of ``side``."""
        with Buffers(side) as buffers:
            buffers.write(self.there, np.array([columns], np.int32), 4 * tile)
            side.queue.finish()


@contextmanager
def failing(turn: int) -> Iterator[None]:
    """What fails in this context is the device of this number."""
    try:
        yield
    except DeviceError as error:
        error.device = turn
        raise


class Place:
    """Where the thread that copies is: at which device, and since when; and shall it end?"""

    def __init__(self) -> None:
        self.now, self.over = (0, time.monotonic()), threading.Event()

    @contextmanager
    def at(self, turn: int) -> Iterator[None]:
        if self.over.is_set():  # memory of devices may be released
            raise DeviceError("the pipeline has ended")
        self.now = turn, time.monotonic()
        with failing(turn):
            yield


class Feed:
    """What goes from the bottom row of the newest tile of the lane ``above`` to the row above that
    of ``lane``, which has a ``number`` there."""

    def __init__(self, above: Lane, lane: Lane, number: int) -> None:
        self.source, self.above, self.to = above.newest, above, lane.newest
        self.lane, self.number = lane, number
        self._columns, self.ended = 0, threading.Event()
        #: Has the launch of the source begun?
        self._runs = False
        #: What was copied of H and X.
        self._cells = np.empty((2, self.to.grid.n), np.int32)

    def step(self, least: int, place: Place) -> None:
        """Copy what is done since the last call, ``least`` columns or the rest."""
        source, to, n = self.source, self.to, self.source.grid.n
        with place.at(self.above.number):
            start, done = self._columns, self._done()
            if done < min(n, start + least):
                return
            to.began = to.began if start else time.perf_counter()  # it has waited so far
            with Buffers(self.above.copies) as buffers:
                line = 2 * source.stride * int(source.lines[-1]) + start
                for cells, half in zip(self._cells, (0, source.stride), strict=True):
                    cells[start:done] = buffers.read(source.made["bus"], done - start, line + half)
        side = self.lane.copies
        with place.at(self.lane.number), Buffers(side) as buffers:
            line = 2 * to.stride * int(to.lines[0]) + start
            for cells, half in zip(self._cells, (0, to.stride), strict=True):
                buffers.write(to.made["bus"], cells[start:done], 4 * (line + half))
            side.queue.finish()
            self.lane.tell(self.number, done if done < n else MOST, side)
        self._columns = done
        if done == n:
            self.ended.set()

    def edge(self) -> Edge:
        """The bottom edge that was copied, all of it."""
        return edge_of(self.source.job, *self._cells)

    def _done(self) -> int:
        """The columns of the source's bottom row that are done."""
        source = self.source
        if source.done or not running(source.runtime, source.event):
            return source.grid.n
        at = (source.grid.strips - 1) * source.execution.progress_words + ProgressWord.COLUMNS
        with Buffers(self.above.copies) as buffers:
            # before its first ticket is taken, its buffers may hold an earlier tile's
            self._runs = self._runs or bool(buffers.read(source.made["ticket"], 1)[0])
            done = int(buffers.read(source.made["progress"], 1, at)[0]) if self._runs else 0
            return min(source.grid.n, done)


class Relay:
    """A pipeline of several devices, with the methods and arguments of `RunningPipeline`, of which
    ``chosen`` has one for each."""

    def __init__(
        self,
        runtimes: Sequence[Runtime],
        chosen: Sequence[InStrips],
        given: Given,
        job: TileJob,
        note_memory: Callable[[int], None],
    ) -> None:
        self._runtimes, self._chosen, self._given = list(runtimes), chosen, given
        self._note_memory, self._plan = note_memory, chosen[0].plan
        self.lanes: list[Lane] = []
        #: The tiles that were begun and not taken out, each with the number of its lane; what goes
        #: between tiles; the bottom edge of the last tile that was taken out.
        self._begun: list[tuple[int, TileRun]] = []
        self._feeds: list[Feed] = []
        self._bottom: Edge | None = None
        self.count, self._place = 0, Place()
        #: The error that ended the thread.
        self._error = list[BaseException]()
        self._thread: threading.Thread | None = None
        try:
            self._begin(job)
            self._thread = threading.Thread(target=self._copy, name="relay", daemon=True)
            self._thread.start()
        except BaseException:
            with suppress(DeviceError):
                self.close()
            raise

    def accepts(self) -> bool:
        turn = self.count % len(self._runtimes)
        if turn == len(self.lanes):
            return True
        lane = self.lanes[turn]
        groups = max((run.groups for number, run in self._begun if number == turn), default=1)
        with failing(turn):
            return self._has_room(lane, groups) and lane.accepts()

    def _has_room(self, lane: Lane, groups: int) -> bool:
        """May a launch of so many groups follow?  A driver may have fewer channels to a device than
        there are queues, and what is in a channel waits for the launch before it to begin.  So a
        launch never waits for groups that wait for a copy: it might be in front of that copy."""
        feeds = [feed for feed in self._feeds if feed.lane is lane and not feed.ended.is_set()]
        waiting = sum(feed.to.groups for feed in feeds)
        return not waiting or waiting + groups <= lane.places

    def put(self, job: TileJob, last: bool) -> bool:
        if not last and any(job.size[0] % lane.plan.strip_rows for lane in self.lanes):
            return False
        if self.count >= len(self._runtimes):
            lane = self.lanes[self.count % len(self._runtimes)]
            while not self._has_room(lane, lane.groups_of(job)):  # it is higher than those before
                self._check()
                time.sleep(self._plan.tuning.pipeline.relay_seconds)
        self._begin(job)
        return True

    def done(self) -> bool:
        self._check()
        for turn, lane in enumerate(self.lanes):
            with failing(turn):
                lane.done()
        return bool(self._begun) and self._begun[0][1].done

    def underway(self) -> int:
        cells = 0
        for turn, lane in enumerate(self.lanes):
            with failing(turn):
                cells += lane.underway()
        return cells

    @property
    def seen(self) -> bool:
        return all(lane.seen for lane in self.lanes)

    def take(self, bottom: bool) -> TileResult:
        turn, run = self._begun[0]
        feed = next((feed for feed in self._feeds if feed.source is run), None)
        while feed is not None and not feed.ended.wait(0.1):
            self._check()
        with failing(turn):  # the edge is there if the device fails later
            result = self.lanes[turn].take(feed is None)
        if feed is not None:
            self._feeds.remove(feed)
            result.bottom = feed.edge()
        del self._begun[0]
        self._bottom = result.bottom
        return result

    def bottom(self) -> Edge | None:
        return self._bottom

    def lost(self, why: str) -> LostError:
        turn, _ = self._begun[0]  # all rows above its tile are there
        error = self.lanes[turn].lost(why)
        error.device = turn
        return error

    def close(self, lost: int | None = None) -> None:
        """As `RunningPipeline.close`; kernels that wait for a row above end with any result."""
        self._place.over.set()
        gone, most = {lost}, self._plan.tuning.sweep.hang_seconds
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(0.1)
            turn, since = self._place.now
            if time.monotonic() > since + (LOST_SECONDS if turn == lost else most):
                gone.add(turn)  # it is in a call that does not come back
                break
        for feed in self._feeds:
            if not feed.ended.is_set() and feed.lane.number not in gone:
                try:
                    feed.lane.tell(feed.number, MOST, feed.lane.runtime.beside(ENDS))
                except DeviceError:  # its kernel may wait for ever
                    gone.add(feed.lane.number)
        with ExitStack() as every:
            every.callback(self._error.clear)  # its frames refer to this: a cycle keeps memory
            for turn, lane in enumerate(self.lanes):
                every.callback(lane.close, turn if turn in gone else None)

    def _begin(self, job: TileJob) -> None:
        count = len(self._runtimes)
        turn, number = self.count % count, self.count // count
        with failing(turn):
            if turn == len(self.lanes):
                runtime, about = self._runtimes[turn], (job, self._note_memory)
                own, slots = replace(self._given, device=runtime.facts), pipeline_slots(self._plan)
                with runtime.failing():
                    # one after the other, so that no two have one channel of a driver of eight
                    for queue in (COPIES, *range(slots)):
                        runtime.beside(queue)
                lane = Lane(runtime, self._chosen[turn], own, *about)
                lane.number = turn
                lane.copies = lane.runtime.beside(COPIES)
                self.lanes.append(lane)
            else:
                lane = self.lanes[turn]
                lane.put(job, last=True)
        if self.count:
            self._feeds.append(Feed(self.lanes[turn - 1], lane, number))
        self._begun.append((turn, lane.newest))
        self.count += 1

    def _check(self) -> None:
        """Raise the error of the thread that copies, or of the device that it waits for."""
        if self._error:
            raise self._error[0]
        now, most = self._place.now, self._plan.tuning.sweep.hang_seconds
        if time.monotonic() > now[1] + most:
            time.sleep(min(1.0, most))  # this process may have been stopped
            if self._place.now == now:
                with failing(now[0]):
                    raise self.lanes[now[0]].lost(f"a copy has taken {most:g} s")

    def _copy(self) -> None:
        """Copy rows from device to device, and the best score, until all is over."""
        share_at, tuning = 0.0, self._plan.tuning.pipeline
        try:
            while not self._place.over.is_set():
                for feed in [feed for feed in self._feeds if not feed.ended.is_set()]:
                    feed.step(tuning.relay_columns, self._place)
                self._place.now = 0, time.monotonic()
                if time.monotonic() >= share_at:
                    self._share()
                    share_at = time.monotonic() + tuning.share_seconds
                time.sleep(tuning.relay_seconds)
        except BaseException as error:
            if not self._place.over.is_set():  # else nobody asks for it
                self._error.append(error)

    def _share(self) -> None:
        """Tell all devices the best score, so that all prune with it."""
        found = []
        for turn, lane in enumerate(list(self.lanes)):
            side = lane.copies
            with self._place.at(turn), Buffers(side) as buffers:
                shared = lane.shared["shared_best"]
                found.append((int(buffers.read(shared, 1)[0]), side, shared))
        best = max(score for score, *_ in found)
        for turn, (score, side, shared) in enumerate(found):
            if score < best:
                with self._place.at(turn), Buffers(side) as buffers:
                    buffers.write(shared, np.array([best], np.int32))
                    side.queue.finish()
