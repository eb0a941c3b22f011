"""The launches of the schedule checker: which work-group sweeps which strip, and what it waits for.

They repeat what the kernels of two_phase.cl, one_tile.cl and sections.cl in cl/wavefront do
around the sweep of a strip, and what the host does around a pipeline of tiles
(:mod:`pysw_cl.engines.wavefront.pipeline`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from schedule_tile import STALE, Lanes, ScheduleTile, StripSweep

from pysw_cl.errors import InternalError
from pysw_cl.planning.geometry import SHORT, Grid

#: Which warp of the ticketed launches does the next step: a random one that need not wait; the one
#: with the earliest or the latest ticket; the first group until it ends, then the next one.
ORDERS = ("random", "earliest", "latest", "one_by_one")


def block_columns(grid: Grid, block: int) -> tuple[int, int]:
    """Steps [start, end) of a block; at step s lane l computes column s - l."""
    return block * grid.n // grid.B, (block + 1) * grid.n // grid.B


def run_two_phase(tile: ScheduleTile, again: bool, portions: bool) -> int:
    """Run all launches of the two-phase form; returns how many there were.

    ``portions``: blocks load their portion of the bus at once, as narrow lanes do.  A block whose
    lanes still have delegated cells does not.
    """
    grid = tile.grid
    B, T = grid.B, grid.T
    states: dict[int, Lanes] = {}
    launches = 0
    for launch in grid.launches():
        slots = set()
        for block in range(launch.first, launch.first + launch.count):
            strip, first = launch.diagonal - block, block == 0 and launch.phase == SHORT
            w = StripSweep(strip, strip if strip < grid.strips else -1, -1, 0, launches, block)
            if first and strip >= B:
                w.leave = strip - B
                states[strip % B].column += grid.n
            elif first:
                states[strip % B] = Lanes.clear(T)
            if strip % B in slots:
                raise tile.fault(w, 0, "two groups of a launch use the same lanes")
            slots.add(strip % B)
            start, end = block_columns(grid, block)
            start, end = (start, start + T) if launch.phase == SHORT else (start + T, end)
            w.portion = [STALE] * (end - start) if portions and not first else None
            careful = tile.has_other_outlet(strip) or first
            list(tile.sweep_block(states[strip % B], w, start, end, careful, again))
        launches += 1
    return launches


@dataclass
class TicketedLaunch:
    """One launch of the ticketed form over one tile or a tile batch.

    Ticket k is for tile k modulo the number of tiles, and for ``warps`` neighbouring strips of it:
    one for each warp of the group that takes the ticket.
    """

    tiles: list[ScheduleTile]
    groups: int
    warps: int = 1
    #: In a pipeline, the launch of the tile above; None: the tile's top edge is given.
    above: TicketedLaunch | None = None
    #: The next free ticket.
    ticket: int = 0
    #: For each tile, the columns that each strip has published.
    progress: list[list[int]] = field(init=False)
    #: Warps that have not ended.
    running: int = field(init=False)

    def __post_init__(self) -> None:
        self.progress = [[-tile.grid.T] * tile.grid.strips for tile in self.tiles]
        self.running = self.groups * self.warps
        #: By group and turn: the ticket that the group's first warp took for all of them.
        self.taken: dict[tuple[int, int], int] = {}

    @property
    def tickets(self) -> int:
        """The number of tickets: each tile gets as many as the highest tile needs."""
        strips = max(tile.grid.strips for tile in self.tiles)
        return -(-strips // self.warps) * len(self.tiles)

    def next_ticket(self, group: int, turn: int) -> int:
        """next_ticket() of cl/wavefront/ticketed.clh."""
        if (group, turn) not in self.taken:
            self.taken[group, turn] = self.ticket
            self.ticket += 1
        return self.taken[group, turn]

    def far(self, tile: int, strip: int) -> int | None:
        """Columns that the strip above has published; None if the top edge is given."""
        if strip > 0:
            return self.progress[tile][strip - 1]
        return None if self.above is None else self.above.progress[0][-1]


@dataclass
class Ticketed:
    """Ticketed launches, simulated step by step in a chosen order.

    ``chunk``: steps of a block at most.  ``order``: one of ORDERS.  ``again``: sweep each block
    twice.  ``portions``: as for `run_two_phase`.  ``places``: tiles of a pipeline whose bottom line
    may wait to be read by the host (None: any number).  A launch begins when all tickets of the one
    before it are taken and a place is free.
    """

    launches: list[TicketedLaunch]
    chunk: int
    order: str
    again: bool
    portions: bool
    rng: np.random.Generator
    places: int | None = None

    def run(self) -> int:
        """Run all launches; returns how many there were."""
        #: The (launch, ticket) of each warp; keys are (launch, group, warp).
        self.tickets_held: dict[tuple[int, int, int], tuple[int, int]] = {}
        alive: dict[tuple[int, int, int], Iterator[bool]] = {}
        waiting: set[tuple[int, int, int]] = set()
        begun = read = 0
        while alive or begun < len(self.launches):
            if begun < len(self.launches) and self._may_begin(begun, read):
                launch = self.launches[begun]
                for g in range(launch.groups):
                    for warp in range(launch.warps):
                        key = (begun, g, warp)
                        alive[key], self.tickets_held[key] = self._warp(key), (begun, -1)
                begun += 1
                waiting = set()
            elif len(waiting) == len(alive):
                if read == self._read(read, begun):
                    raise InternalError(f"the groups {sorted(waiting)} wait for ever")
                read, waiting = self._read(read, begun), set()
                continue
            if read < begun and (self.order != "random" or self.rng.random() < 0.02):
                read = self._read(read, begun)
            key = self._next(list(alive), waiting)
            try:
                waiting = set() if next(alive[key]) else waiting | {key}
            except StopIteration:
                del alive[key]
                self.launches[key[0]].running -= 1
                waiting = set()
        self._read(read, begun)
        return len(self.launches)

    def _may_begin(self, k: int, read: int) -> bool:
        """May launch k begin, when the host has read the results of ``read`` launches?"""
        if k == 0:
            return True
        free = self.places is None or k - read < self.places - 1
        return free and self.launches[k - 1].ticket >= self.launches[k - 1].tickets

    def _read(self, read: int, begun: int) -> int:
        """The host reads the bottom lines of finished launches, in order; returns how many launches
        it has read so far."""
        while read < begun and self.launches[read].running == 0:
            for tile in self.launches[read].tiles:
                tile.check_line(tile.grid.strips, tile.bottom())
            read += 1
        return read

    def _next(
        self, alive: list[tuple[int, int, int]], waiting: set[tuple[int, int, int]]
    ) -> tuple[int, int, int]:
        if self.order == "one_by_one":
            # the warps of a group share a processor, so all of them make progress
            ready = [key for key in alive if key[:2] == alive[0][:2] and key not in waiting]
            return ready[0] if ready else alive[0]
        ready = [key for key in alive if key not in waiting]
        if self.order == "random":
            return ready[int(self.rng.integers(len(ready)))]
        held = [self.tickets_held[key] for key in ready]
        return ready[held.index(min(held) if self.order == "earliest" else max(held))]

    def _warp(self, key: tuple[int, int, int]) -> Iterator[bool]:
        """wavefront_ticketed() of cl/wavefront/one_tile.cl; yields False when it has to wait."""
        number, group, warp = key
        launch, turn = self.launches[number], 0
        portion = [STALE] * self.chunk if self.portions else None
        while (ticket := launch.next_ticket(group, turn)) < launch.tickets:
            turn += 1
            self.tickets_held[key] = number, ticket
            yield True
            k, strip = ticket % len(launch.tiles), ticket // len(launch.tiles)
            strip = strip * launch.warps + warp
            if strip < launch.tiles[k].grid.strips:
                yield from self._strip(key, launch, k, strip, portion)

    def _strip(
        self,
        key: tuple[int, int, int],
        launch: TicketedLaunch,
        k: int,
        strip: int,
        portion: list[int] | None,
    ) -> Iterator[bool]:
        tile, progress = launch.tiles[k], launch.progress[k]
        n, T = tile.grid.n, tile.grid.T
        group = key[1] * launch.warps + key[2]
        w = StripSweep(strip, strip, strip, n, launch=key[0], group=group, portion=portion)
        s = Lanes.clear(T)
        start = 0
        while start < n + T:
            end, careful = block_of(tile, strip, start, self.chunk)
            while (published := launch.far(k, strip)) is not None and published < min(end, n):
                yield False
            w.published = published
            for _ in tile.sweep_block(s, w, start, end, careful, self.again):
                yield True
            done = end - (T - 1)
            if (tile.record.written[strip + 1, : max(0, min(done, n)), 0] < 0).any():
                raise tile.fault(w, end, f"{done} columns published before they are written")
            progress[strip] = done
            yield True  # others may run before this one's next step
            start = end


def block_of(tile: ScheduleTile, strip: int, start: int, chunk: int) -> tuple[int, bool]:
    """Where the block that starts at this step ends (block_end() of
    cl/wavefront/strip_sync.clh), and whether in it a lane may enter or leave the strip or be at
    a special column."""
    n, T = tile.grid.n, tile.grid.T
    limit, captures = tile.until(start)
    past = 0 if captures else (start + strip * (T - 1)) % chunk
    end = min(start + chunk - past, limit)
    if start < T:
        return min(end, T), True
    if start < n:
        return min(end, n), tile.has_other_outlet(strip) or captures
    return end, True
