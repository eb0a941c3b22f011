"""The counting engine: the wavefront's schedule, walked lane by lane without any score.

It does what the kernels' strip body and their two forms do (cl/strip.clh, cl/wavefront.cl), step
for step and from the same :mod:`pysw_cl.grid`, but a lane holds the names of cells instead of
their values.  So it sees whether each value is the one that the recurrence asks for, how often
each cell is computed, when each cell of the horizontal bus is written and read, whether each
blocked pair is met by its lane, and how many lanes are busy on each internal diagonal.  Whatever
breaks a rule raises InternalError.

The idea of an engine that only counts, driven like any other, is boxtree's ``constant_one``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import InternalError
from ..grid import SHORT, Grid, fit
from ..plan import Plan
from ..tile import Edge, Pairs
from .base import TileJob, TileResult, Walk
from .parts import by_parts

Names = NDArray[np.int64]

#: The name of a value that stands for no cell.
NOTHING = -1
#: The column of a lane that is in no strip, as in cl/strip.clh.
NOWHERE = -(1 << 29)
#: Which group of a ticketed launch goes on: any, the one with the earliest or latest ticket that
#: can, or each only when the one before it has ended.
ORDERS = ("random", "earliest", "latest", "one_by_one")


@dataclass
class TileCount:
    """What was seen of one tile.

    ``cells`` (m x n): how often each cell was computed.  ``busy``: for each chain of strips that
    the same lanes walk, how many of them computed a cell on each internal diagonal.  ``written``
    and ``read`` (strips + 1, n, 3): for each boundary between strips and each column the (launch,
    group, step) of the bus cell's first write and read; -1: by the host, or never.
    """

    grid: Grid
    cells: NDArray[np.int64]
    busy: list[NDArray[np.int64]]
    written: NDArray[np.int64]
    read: NDArray[np.int64]


@dataclass
class _Lanes:
    """strip_t with names: of the bottom H, of F below it, of the diagonal; rows and columns."""

    h: Names
    f: Names
    diagonal: Names
    query: Names  # row base of the query codes
    target: Names  # column of the target code, from 1
    row: Names
    column: Names

    @classmethod
    def clear(cls, T: int) -> _Lanes:
        h, f, diagonal, query, target = (np.full(T, NOTHING, np.int64) for _ in range(5))
        row, column = np.zeros(T, np.int64), np.full(T, NOWHERE, np.int64)
        return cls(h, f, diagonal, query, target, row, column)

    def copy(self) -> _Lanes:
        return _Lanes(*(getattr(self, name).copy() for name in self.__dataclass_fields__))


@dataclass
class _Walk:
    """walk_t: a strip that is entered (or -1), one that is left (or -1) and from which step on."""

    strip: int
    enter: int
    leave: int = -1
    leave_at: int = 0
    launch: int = 0
    group: int = 0
    #: columns that the strip above has published; ticketed form only
    published: int | None = None


def _down(values: Names, first: int) -> Names:
    return np.concatenate(([first], values[:-1]))


@dataclass
class _Tile:
    """The memory of one tile, and the steps that work on it."""

    grid: Grid
    tap: tuple[int, int]
    blocked: Pairs | None = None
    rows: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    bus: Names = field(init=False)
    stamps: dict[tuple[str, int, int], tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        grid = self.grid
        n, strips = grid.n, grid.strips
        self.width = n + 1  # cell (row, column) has the name row * width + column
        self.lines = grid.bus_lines(self.rows).tolist()
        self.bus = np.full((2 + len(self.rows), n), NOTHING, np.int64)
        self.bus[0] = np.arange(1, n + 1)
        self.count = np.zeros((strips * grid.T, n), np.int64)
        self.right = np.zeros(strips * grid.T, np.int64)
        #: how often each lane gave its cells of each inner column
        self.caught = np.zeros((len(self.columns), strips * grid.T), np.int64)
        self.written = np.full((strips + 1, n, 3), -1, np.int64)
        self.read = self.written.copy()
        #: strips s, s + chains, ... are one chain: the same lanes walk them without a pause
        self.chains = strips if grid.form == "ticketed" else grid.B
        walked = [len(range(c, strips, self.chains)) for c in range(min(strips, self.chains))]
        self.busy = [np.zeros(length * n + grid.T, np.int64) for length in walked]
        #: rows of a strip that meet blocked pairs, by strip and step; the pairs that were met
        self.meets: dict[tuple[int, int], list[int]] = {}
        self.met: list[tuple[int, int]] = []
        if self.blocked is not None:
            steps, places = grid.blocked_steps(self.blocked)
            strip_of = np.repeat(np.arange(len(places) - 1), np.diff(places))
            for strip, (step, row) in zip(strip_of.tolist(), steps.tolist(), strict=True):
                self.meets.setdefault((strip, step), []).append(row)

    def fault(self, w: _Walk, step: int, what: str) -> InternalError:
        return InternalError(
            f"{self.grid}: strip {w.strip}, launch {w.launch}, group {w.group}, step {step}: {what}"
        )

    def outlet(self, strip: int) -> tuple[int, int]:
        """(lane, row in it) that writes the bottom row of a strip."""
        last = strip == self.grid.strips - 1
        return self.tap if last else (self.grid.T - 1, self.grid.alpha - 1)

    def take(self, w: _Walk, j: int, count: bool) -> int:
        """bus_load: the name of the top H and F at column j of the strip that is entered."""
        if w.published is not None and w.enter > 0 and j >= w.published:
            raise self.fault(w, j, f"column {j} of the strip above is not published")
        line = self.lines[w.enter]
        self.stamp(w, j, "read", line, j)
        if count:
            self.read[w.enter, j] = w.launch, w.group, j
        return int(self.bus[line, j])

    def give(self, w: _Walk, strip: int, at: int, j: int, s: _Lanes, lane: int, r: int) -> None:
        """Write the bottom row of ``strip`` at column ``at``."""
        if w.published is not None and strip > 0 and at >= w.published:
            raise self.fault(w, j, f"column {at} may still be read by the strip above")
        line = self.lines[strip + 1]
        self.stamp(w, j, "write", line, at)
        name = s.h[lane] - (self.grid.alpha - 1 - r) * self.width
        bottom = strip * self.grid.strip_rows + lane * self.grid.alpha + r + 1
        if s.h[lane] == NOTHING or name != bottom * self.width + at + 1:
            raise self.fault(w, j, f"bottom row of strip {strip} gets cell {name} in column {at}")
        self.bus[line, at] = name
        if self.written[strip + 1, at, 0] < 0:
            self.written[strip + 1, at] = w.launch, w.group, j

    def stamp(self, w: _Walk, j: int, kind: str, line: int, at: int) -> None:
        """Groups of one two-phase launch run in any order: what one writes no other touches."""
        if self.grid.form == "ticketed":
            return
        for other in ("write",) if kind == "read" else ("write", "read"):
            launch, group = self.stamps.get((other, line, at), (-1, -1))
            if launch == w.launch and group != w.group:
                raise self.fault(w, j, f"{kind} of bus column {at} races with group {group}")
        self.stamps[kind, line, at] = w.launch, w.group

    def column_step(self, s: _Lanes, w: _Walk, j: int, top: int, target: int, count: bool) -> None:
        """One step of all lanes: what each uses must be what its cell needs."""
        grid, width = self.grid, self.width
        up, f, diagonal = _down(s.h, top), _down(s.f, top), s.diagonal
        s.target, s.diagonal = _down(s.target, target), up
        here = s.column + (j + 1)
        live = (here >= 1) & (here <= grid.n)
        cell = s.row * width + here
        bottom = cell + grid.alpha * width
        good = (diagonal == cell - 1) & (s.h == bottom - 1) & (f == cell)
        good &= (s.target == here) & (s.query == s.row)
        if (live & ~good).any():
            raise self.fault(w, j, f"lanes {np.flatnonzero(live & ~good)} use wrong cells")
        s.h = np.where(live, bottom, NOTHING)
        s.f = s.h.copy()
        for row in self.meets.get((w.strip, j), ()) if count else ():
            lane, r = divmod(row, grid.alpha)
            self.met.append((int(s.row[lane]) + r, int(here[lane]) - 1))
        if count:
            self.count[s.row[live] // grid.alpha, here[live] - 1] += 1
            turn, chain = divmod(w.strip, self.chains)
            self.busy[chain][turn * grid.n + j] += int(live.sum())

    def catch(self, s: _Lanes, w: _Walk, j: int, k: int, count: bool) -> None:
        """The lane that is at inner column k in this step gives its cells."""
        column = self.columns[k]
        lane, R = j - (column - 1), self.grid.alpha
        row = w.strip * self.grid.strip_rows + lane * R
        if s.h[lane] != (row + R) * self.width + column:
            raise self.fault(w, j, f"lane {lane} is not at column {column}")
        self.caught[k, row // R] += count

    def walk_carefully(
        self, s: _Lanes, w: _Walk, start: int, end: int, count: bool
    ) -> Iterator[None]:
        """walk_carefully() of cl/strip.clh."""
        T, R, n = self.grid.T, self.grid.alpha, self.grid.n
        for j in range(start, end):
            leaving = j - w.leave_at
            if w.leave >= 0 and 0 <= leaving < T:
                row = w.leave * self.grid.strip_rows + leaving * R
                if s.h[leaving] != (row + R) * self.width + n:
                    raise self.fault(w, j, f"lane {leaving} leaves without column {n}")
                self.right[row // R] += count
                s.column[leaving] = NOWHERE
            if w.enter >= 0 and j < T:
                row = w.enter * self.grid.strip_rows + j * R
                s.diagonal[j], s.h[j] = row * self.width, (row + R) * self.width
                s.query[j] = s.row[j] = row
                s.column[j] = -j
            inside = w.enter >= 0 and j < n
            top = self.take(w, j, count) if inside else NOTHING
            self.column_step(s, w, j, top, j + 1 if inside else NOTHING, count)
            for k, column in enumerate(self.columns):
                if 0 <= j - (column - 1) < T:
                    self.catch(s, w, j, k, count)
            lane, r = self.outlet(w.strip)
            if w.enter >= 0 and 0 <= j - lane < n:
                self.give(w, w.strip, j - lane, j, s, lane, r)
            if w.leave >= 0 and w.leave_at == 0:
                lane, r = self.outlet(w.leave)
                if j < lane:
                    self.give(w, w.leave, n + j - lane, j, s, lane, r)
            yield

    def walk_on(self, s: _Lanes, w: _Walk, start: int, end: int, count: bool) -> Iterator[None]:
        """walk_on() of cl/strip.clh: every lane is busy, the last lane's last row goes down."""
        lane, r = self.grid.T - 1, self.grid.alpha - 1
        for j in range(start, end):
            self.column_step(s, w, j, self.take(w, j, count), j + 1, count)
            if (s.h == NOTHING).any():
                raise self.fault(w, j, "an idle lane in the main loop")
            self.give(w, w.strip, j - lane, j, s, lane, r)
            yield

    def walk_portion(
        self, s: _Lanes, w: _Walk, start: int, end: int, careful: bool, again: bool
    ) -> Iterator[None]:
        """walk_portion() of cl/best.clh; ``again``: a second time, as for a best cell."""
        before = s.copy() if again else s
        walk = self.walk_carefully if careful else self.walk_on
        yield from walk(s, w, start, end, True)
        if again:
            yield from self.walk_carefully(before, w, start, end, False)

    def until(self, step: int) -> tuple[int, bool]:
        """Up to which step the same inner columns are met as from ``step`` on; are there any?"""
        spans = [(column - 1, column - 1 + self.grid.T) for column in self.columns]
        ends = [at for span in spans for at in span if at > step]
        met = any(start <= step < end for start, end in spans)
        return min([*ends, self.grid.n + self.grid.T]), met

    def tapped(self, strip: int) -> bool:
        """Is the bottom row of this strip another than the last lane's last?"""
        return self.outlet(strip) != (self.grid.T - 1, self.grid.alpha - 1)

    def result(self) -> TileCount:
        """Check what only the whole tile shows: both edges complete, padding walked once too."""
        grid = self.grid
        lane, r = self.tap
        bottom = (grid.strips - 1) * grid.strip_rows + lane * grid.alpha + r + 1
        edges = {bottom: self.lines[grid.strips]}
        edges |= {row: 2 + k for k, row in enumerate(self.rows)}
        for row, line in edges.items():
            if not np.array_equal(self.bus[line], row * self.width + np.arange(1, grid.n + 1)):
                raise InternalError(f"{grid}: line {line} of the bus is not row {row}")
        if not (self.caught == 1).all():
            raise InternalError(f"{grid}: an inner column is not given once by each lane")
        if not (self.right == 1).all():
            raise InternalError(f"{grid}: the right edge is not written once by each lane")
        if self.blocked is not None and sorted(map(list, self.met)) != self.blocked.T.tolist():
            raise InternalError(f"{grid}: blocked pairs {self.blocked.T.tolist()}, met {self.met}")
        cells = self.count.repeat(grid.alpha, axis=0)[: grid.m]
        return TileCount(grid, cells, [b[:-1] for b in self.busy], self.written, self.read)


def _run_two_phase(tile: _Tile, again: bool) -> int:
    """The launches of the two-phase form, each with its kernel's work for every group."""
    grid = tile.grid
    B, T = grid.B, grid.T
    states: dict[int, _Lanes] = {}
    launches = 0
    for launch in grid.launches():
        slots = set()
        for block in range(launch.first, launch.first + launch.count):
            strip, first = launch.diagonal - block, block == 0 and launch.phase == SHORT
            w = _Walk(strip, strip if strip < grid.strips else -1, launch=launches, group=block)
            if first and strip >= B:
                w.leave = strip - B
                states[strip % B].column += grid.n
            elif first:
                states[strip % B] = _Lanes.clear(T)
            if strip % B in slots:
                raise tile.fault(w, 0, "two groups of a launch use the same lanes")
            slots.add(strip % B)
            start, end = grid.block_columns(block)
            start, end = (start, start + T) if launch.phase == SHORT else (start + T, end)
            careful = tile.tapped(strip) or first
            list(tile.walk_portion(states[strip % B], w, start, end, careful, again))
        launches += 1
    return launches


@dataclass
class _Ticketed:
    """One launch of the ticketed form: its groups, and who gets on when."""

    tile: _Tile
    chunk: int
    order: str
    again: bool
    rng: np.random.Generator

    def run(self) -> int:
        grid = self.tile.grid
        self.ticket, self.progress = 0, [-grid.T] * grid.strips
        self.holds = [-1] * grid.B
        alive = {g: self._group(g) for g in range(grid.B)}
        waiting: set[int] = set()
        while alive:
            if len(waiting) == len(alive):
                raise InternalError(f"{grid}: the groups {sorted(waiting)} wait for ever")
            g = self._next(list(alive), waiting)
            try:
                waiting = set() if next(alive[g]) else waiting | {g}
            except StopIteration:
                del alive[g]
                waiting = set()
        return 1

    def _next(self, alive: list[int], waiting: set[int]) -> int:
        if self.order == "one_by_one":
            return alive[0]
        ready = [g for g in alive if g not in waiting]
        if self.order == "random":
            return int(self.rng.choice(ready))
        key = [self.holds[g] for g in ready]
        return ready[key.index(min(key) if self.order == "earliest" else max(key))]

    def _group(self, g: int) -> Iterator[bool]:
        """wavefront_ticketed() of cl/wavefront.cl; gives whether it got on by one step."""
        tile, n, T = self.tile, self.tile.grid.n, self.tile.grid.T
        while self.ticket < tile.grid.strips:
            strip = self.holds[g] = self.ticket
            self.ticket += 1
            yield True
            w = _Walk(strip, strip, strip, n, group=g)
            s = _Lanes.clear(T)
            start = 0
            while start < n + T:
                limit, catches = tile.until(start)
                end, careful = min(start + self.chunk, limit), True
                if start < T:
                    end = min(T, limit)
                elif start < n:
                    end = min(end, n)
                    careful = tile.tapped(strip) or catches
                if strip > 0:
                    while self.progress[strip - 1] < min(end, n):
                        yield False
                    w.published = self.progress[strip - 1]
                for _ in tile.walk_portion(s, w, start, end, careful, self.again):
                    yield True
                done = end - (T - 1)
                if (tile.written[strip + 1, : max(0, min(done, n)), 0] < 0).any():
                    raise tile.fault(w, end, f"{done} columns published before they are written")
                self.progress[strip] = done
                start = end


@dataclass(frozen=True)
class _Straight:
    """Moves for a driver that walks back: the diagonal, until it leaves the tile."""

    def walk(self, row: int, column: int, state: int) -> Walk:
        steps = min(row, column)
        return Walk(np.zeros(steps, np.uint8), row - steps, column - steps, 0, False)

    def release(self) -> None:
        """Nothing to free."""


class CountingEngine:
    """An engine that walks the wavefront's schedule of ``plan`` (form, B, T, alpha, chunk).

    Its edges count: H grows by 1 a row downwards and by 1 a column to the right, X stays, so that
    edges that start as H(i, j) = i + j tell everywhere how many cells a sweep has come along.
    It finds no best cell, and its walks go straight.  ``counts`` gets what was seen of each tile;
    ``order`` is one of ORDERS, ``seed`` decides the random one, and ``again`` walks each portion
    twice, as the kernels do where it may hold the best cell.
    """

    name = "counting"

    def __init__(
        self, plan: Plan, *, order: str = "random", seed: int = 0, again: bool = False
    ) -> None:
        if order not in ORDERS:
            raise InternalError(f"order {order!r} is not one of {', '.join(ORDERS)}")
        self.plan = replace(plan, engine=self.name)
        self.row_quantum = plan.T * plan.alpha
        self.peak_bytes, self.inner = 0, plan.form == "ticketed"
        self.order, self.again = order, again
        self.counts: list[TileCount] = []
        self._rng = np.random.default_rng(seed)

    def chained_rows(self, *_: object) -> None:
        """See Engine: never."""

    def packs(self, *_: object) -> bool:
        """See Engine: never."""
        return False

    def packed_edge(self, *_: object) -> None:
        """See Engine: it does not."""

    def settle(self) -> None:
        """See Engine: nothing is left."""

    def side_by_side(self, *_: object) -> None:
        """Tiles are done one by one."""

    def strip_rows(self, rows: int, columns: int) -> int:
        """That of the plan, whatever the size."""
        return self.row_quantum

    def moves_bytes(self, rows: int, columns: int) -> int:
        """As if they were packed, 4 bits a cell."""
        return rows * columns // 2

    def tile(self, job: TileJob) -> TileResult:
        """Count one tile; see :class:`pysw_cl.engines.base.TileJob`."""
        plan, m, n = self.plan, len(job.query), len(job.target)
        form, B = plan.form, plan.B
        if job.directions and form == "two-phase":
            form, B = "ticketed", 1
        grid = fit(m, n, B, plan.T, plan.alpha, form)
        if grid.form == "two-phase" and (job.rows or job.columns):
            return by_parts(self.tile, job, job.rows, job.columns)
        if not grid.at_ends(job.rows):
            return by_parts(self.tile, job, job.rows, ())
        tap = grid.tap if job.bottom else (grid.T - 1, grid.alpha - 1)
        tile = _Tile(grid, tap, job.blocked, job.rows, job.columns)
        if grid.form == "ticketed":
            launches = _Ticketed(tile, plan.chunk, self.order, self.again, self._rng).run()
        else:
            launches = _run_two_phase(tile, self.again)
        count = tile.result()
        self.counts.append(count)
        bottom = Edge(job.top.h + np.int32(m), job.top.x)
        return TileResult(
            bottom=bottom if job.bottom else None,
            right=Edge(job.left.h + np.int32(n), job.left.x),
            cells={f"counting/{grid.form}/0": int(count.cells.sum())},
            launches=launches,
            rows={i: Edge(job.top.h + np.int32(i), job.top.x.copy()) for i in job.rows},
            columns={j: Edge(job.left.h + np.int32(j), job.left.x.copy()) for j in job.columns},
            directions=_Straight() if job.directions else None,
        )
