"""The schedule checker's launch of strips that groups share, with groups of different speeds.

It repeats next_strip(), better_strip(), go_on() and leave_strip() of
cl/wavefront/strip_sync.clh, and checks each step as the other launches do
(:mod:`schedule_tile`).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from schedule_launches import block_of
from schedule_tile import STALE, Lanes, ScheduleTile, StripSweep

from pysw_cl.errors import InternalError

#: As in strip_sync.clh: blocks ready from which on an earlier strip is worth a change, and blocks
#: between two looks for such a strip.
BLOCKS_READY, BLOCKS_A_VISIT = 8, 8
#: Blocks' times that a group waits before it leaves its strip, and that pass until it looks for
#: another one again.
SHORT_WAIT, PAUSE = 0.1, 0.05


@dataclass
class SharedStrips:
    """One launch over one tile.  ``speeds``: blocks that each group does in a unit of time; 0: the
    group begins only when all others have ended, as where groups run one after another.
    ``chunk``, ``again``, ``portions``: as of `schedule_launches.Ticketed`."""

    tile: ScheduleTile
    chunk: int
    in_flight: int
    speeds: tuple[float, ...]
    again: bool = False
    portions: bool = False
    #: For each strip: columns that it has published, the step at which it goes on, its lanes, and
    #: the group that holds it.
    progress: list[int] = field(init=False)
    steps: list[int] = field(init=False)
    lanes: dict[int, Lanes] = field(init=False, default_factory=dict)
    held: list[int | None] = field(init=False)
    #: Strips that are done.
    done: int = 0
    #: How often a group has left a strip that was not done.
    left: int = 0

    def __post_init__(self) -> None:
        strips = self.tile.grid.strips
        self.progress, self.steps = [-self.tile.grid.T] * strips, [0] * strips
        self.held = [None] * strips

    def run(self) -> float:
        """Run the launch; returns the time at which the last group ends."""
        now, order = 0.0, 0
        groups = {k: self._group(k) for k in range(len(self.speeds))}
        late = [k for k in groups if not self.speeds[k]]
        times = [(0.0, k, k) for k in groups if self.speeds[k]]
        order = len(times)
        while times or late:
            if not times:
                times = [(now, order, late.pop(0))]
            now, _, k = heapq.heappop(times)
            order += 1
            try:
                heapq.heappush(times, (now + next(groups[k]), order, k))
            except StopIteration:
                continue
        return now

    def _end(self) -> int:
        return self.tile.grid.n + self.tile.grid.T

    def _ready(self, strip: int, blocks: int) -> bool:
        """Can a strip that no group holds do so many blocks?"""
        if self.held[strip] is not None or self.steps[strip] == self._end():
            return False
        n = self.tile.grid.n
        above = n if strip == 0 else self.progress[strip - 1]
        return above >= min(self.steps[strip] + blocks * self.chunk, n)

    def _next(self) -> int | None:
        """next_strip(), but for its wait."""
        flying = range(self.done, min(self.done + self.in_flight, self.tile.grid.strips))
        ready = [strip for strip in flying if self._ready(strip, BLOCKS_READY)]
        if ready and ready[0] >= self.even_from:
            return min(ready, key=lambda strip: (self.steps[strip], -strip))
        return next(iter(ready), next((one for one in flying if self._ready(one, 1)), None))

    def _better(self, strip: int) -> bool:
        """better_strip()."""
        first = range(self.done, strip)
        if strip < self.even_from:
            return any(self._ready(one, BLOCKS_READY) for one in first)
        behind = self.steps[strip] - 2 * BLOCKS_READY * self.chunk
        later = range(strip + 1, self.tile.grid.strips)
        return any(self.steps[one] < behind and self._ready(one, BLOCKS_READY) for one in later)

    @property
    def even_from(self) -> int:
        """The first of the last strips, which are swept evenly: one for each group and the rest."""
        strips, groups = self.tile.grid.strips, len(self.speeds)
        rest = strips % groups
        return max(strips - groups - rest, 0) if rest else strips

    def _group(self, k: int) -> Iterator[float]:
        """One group; yields the time until its next step."""
        block_time = 1 / (self.speeds[k] or 1)
        portion = [STALE] * self.chunk if self.portions else None
        while self.done < self.tile.grid.strips:
            strip = self._next()
            if strip is None:
                if all(one is None for one in self.held):
                    raise InternalError(f"{self.tile.grid}: no strip can go on, and none is held")
                yield PAUSE
                continue
            self.held[strip] = k
            yield from self._visit(k, strip, portion, block_time)
            self.held[strip] = None
            self.left += self.steps[strip] < self._end()
            while self.done < self.tile.grid.strips and self.steps[self.done] == self._end():
                self.done += 1

    def _visit(
        self, k: int, strip: int, portion: list[int] | None, block_time: float
    ) -> Iterator[float]:
        """A group sweeps a strip until it leaves it."""
        tile, n, T = self.tile, self.tile.grid.n, self.tile.grid.T
        s = self.lanes.setdefault(strip % self.in_flight, Lanes.clear(T))
        if self.steps[strip] == 0:
            s = self.lanes[strip % self.in_flight] = Lanes.clear(T)
        w = StripSweep(strip, strip, strip, n, group=k, portion=portion)
        visits = 0
        while (start := self.steps[strip]) < self._end():
            end, careful = block_of(tile, strip, start, self.chunk)
            need, waited = min(end, n), 0.0
            while strip and self.progress[strip - 1] < need and waited < SHORT_WAIT:
                yield PAUSE
                waited += PAUSE
            if strip and self.progress[strip - 1] < need:
                return
            visits += 1
            if visits > BLOCKS_A_VISIT:
                visits = 0
                if self._better(strip):
                    return
            w.published = self.progress[strip - 1] if strip else None
            for _ in tile.sweep_block(s, w, start, end, careful, self.again):
                yield block_time / self.chunk / (1 + self.again)
            done = end - (T - 1)
            if (tile.record.written[strip + 1, : max(0, min(done, n)), 0] < 0).any():
                raise tile.fault(w, end, f"{done} columns published before they are written")
            self.progress[strip], self.steps[strip] = done, end


def speed_share(launch: SharedStrips) -> float:
    """Blocks that a launch has done in a unit of time, over the sum of its groups' speeds."""
    grid = launch.tile.grid
    blocks = grid.strips * np.ceil((grid.n + grid.T) / launch.chunk)
    return float(blocks / launch.run() / sum(launch.speeds))
