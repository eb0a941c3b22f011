"""A tile of the schedule checker: the wavefront's steps, with the names of cells for values.

It does what the kernels' strip bodies do (strip.clh and narrow.clh in cl/wavefront/), step for
step and from the same :mod:`pysw_cl.planning.geometry`.  A lane holds the name of the cell
whose value it would hold, so each step can be asked whether every lane uses the cells that its
recurrence needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..errors import InternalError
from ..planning.geometry import Grid
from ..sequences.view import Pairs

Names = NDArray[np.int64]

#: Names that stand for no cell: of a lane that is in no strip; of what enters the first lane after
#: the last column; of what an earlier block, or nobody, left in a group's portion of the bus.
NOTHING, AFTER, STALE = -1, -2, -3
#: The column of a lane that is in no strip, as in cl/wavefront/strip.clh.
NOWHERE = -(1 << 29)


@dataclass
class TileCount:
    """What was seen of one tile.

    ``cells`` (m x n): how often each cell was computed.  ``busy``: for each chain of strips that
    the same lanes sweep, how many of them computed a cell on each internal diagonal.  ``written``
    and ``read`` (strips + 1, n, 3): for each boundary between strips and each column the (launch,
    group, step) of the bus cell's first write and read; -1: by the host, or never.
    """

    grid: Grid
    cells: NDArray[np.int64]
    busy: list[NDArray[np.int64]]
    written: NDArray[np.int64]
    read: NDArray[np.int64]


@dataclass
class Lanes:
    """strip_t with names: of the bottom H, of F below it, of the diagonal; rows and columns."""

    h: Names
    f: Names
    diagonal: Names
    query: Names  # row base of the query codes
    target: Names  # column of the target code, from 1
    row: Names
    column: Names

    @classmethod
    def clear(cls, T: int) -> Lanes:
        """Lanes that are in no strip."""
        h, f, diagonal, query, target = (np.full(T, NOTHING, np.int64) for _ in range(5))
        row, column = np.zeros(T, np.int64), np.full(T, NOWHERE, np.int64)
        return cls(h, f, diagonal, query, target, row, column)

    def copy(self) -> Lanes:
        """The same lanes, to sweep a block again."""
        return Lanes(*(getattr(self, name).copy() for name in self.__dataclass_fields__))


@dataclass
class StripSweep:
    """A strip that is entered (or -1), one that is left (or -1) and from which step on."""

    strip: int
    enter: int
    leave: int = -1
    leave_at: int = 0
    launch: int = 0
    group: int = 0
    #: columns that the strip above has published, None for the first strip of a tile with nothing
    #: above it; ticketed form only
    published: int | None = None
    #: a block's portion of the bus, in a group's own memory; None: each step reads the bus itself
    portion: list[int] | None = None


def _down(values: Names, first: int) -> Names:
    return np.concatenate(([first], values[:-1]))


@dataclass
class ScheduleTile:
    """The memory of one tile, and the steps that work on it.

    ``first_row``: rows of the tiles above it in a chain.  ``bus``, ``lines``: the bus and which of
    its lines each strip reads; None: the tile has a bus of its own.
    """

    grid: Grid
    last_row_outlet: tuple[int, int]
    forbidden: Pairs | None = None
    rows: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    first_row: int = 0
    bus: Names | None = None
    lines: list[int] | None = None
    stamps: dict[tuple[str, int, int], tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        grid = self.grid
        n, strips = grid.n, grid.strips
        self.width = n + 1  # cell (row, column) has the name row * width + column
        if self.lines is None:
            self.lines = grid.bus_lines(self.rows).tolist()
        if self.bus is None:
            self.bus = np.full((2 + len(self.rows), n), NOTHING, np.int64)
            self.bus[0] = self.row_of_names(0)
        self.count = np.zeros((strips * grid.T, n), np.int64)
        self.right = np.zeros(strips * grid.T, np.int64)
        #: how often each lane gave its cells of each inner column
        self.caught = np.zeros((len(self.columns), strips * grid.T), np.int64)
        self.written = np.full((strips + 1, n, 3), -1, np.int64)
        self.read = self.written.copy()
        #: the cell whose moves each lane stores in each step of each strip
        self.moves = np.full((strips, n + grid.T, grid.T), NOTHING, np.int64)
        #: strips s, s + chains, ... are one chain: the same lanes sweep them without a pause
        self.chains = strips if grid.form == "ticketed" else grid.B
        swept = [len(range(c, strips, self.chains)) for c in range(min(strips, self.chains))]
        self.busy = [np.zeros(length * n + grid.T, np.int64) for length in swept]
        #: rows of a strip that meet blocked pairs, by strip and step; the pairs that were met
        self.meets: dict[tuple[int, int], list[int]] = {}
        self.met: list[tuple[int, int]] = []
        if self.forbidden is not None:
            steps, places = grid.forbidden_steps(self.forbidden)
            strip_of = np.repeat(np.arange(len(places) - 1), np.diff(places))
            for strip, (step, row) in zip(strip_of.tolist(), steps.tolist(), strict=True):
                self.meets.setdefault((strip, step), []).append(row)

    def row_of_names(self, row: int) -> Names:
        """The names of the cells of a row of the tile, its top edge being row 0."""
        return (self.first_row + row) * self.width + np.arange(1, self.grid.n + 1)

    def line(self, strip: int) -> Names:
        """The line of the bus that a strip reads."""
        assert self.bus is not None
        assert self.lines is not None
        row: Names = self.bus[self.lines[strip]]
        return row

    def fault(self, w: StripSweep, step: int, what: str) -> InternalError:
        """What broke a rule, and where."""
        return InternalError(
            f"{self.grid}: strip {w.strip}, launch {w.launch}, group {w.group}, step {step}: {what}"
        )

    def outlet(self, strip: int) -> tuple[int, int]:
        """(lane, row in it) that writes the bottom row of a strip."""
        last = strip == self.grid.strips - 1
        return self.last_row_outlet if last else (self.grid.T - 1, self.grid.alpha - 1)

    def tapped(self, strip: int) -> bool:
        """Is the bottom row of this strip another than the last lane's last?"""
        return self.outlet(strip) != (self.grid.T - 1, self.grid.alpha - 1)

    # --- the bus ---------------------------------------------------------------------------------

    def take(self, w: StripSweep, j: int, count: bool) -> int:
        """bus_load: the name of the top H and F at column j of the strip that is entered."""
        if w.published is not None and j >= w.published:
            raise self.fault(w, j, f"column {j} of the strip above is not published")
        self.stamp(w, j, "read", w.enter, j)
        if count:
            self.read[w.enter, j] = w.launch, w.group, j
        return int(self.line(w.enter)[j])

    def take_portion(self, w: StripSweep, start: int, end: int, count: bool) -> None:
        """stage_load: what enters in steps [start, end)."""
        assert w.portion is not None
        if len(w.portion) < end - start:
            raise self.fault(w, start, f"a block of {end - start} steps has no room")
        for j in range(start, min(end, self.grid.n)):
            w.portion[j - start] = self.take(w, j, count)

    def entering(self, w: StripSweep, j: int, start: int, count: bool) -> int:
        """What the first lane takes in step j of a block that begins at step ``start``."""
        if w.enter < 0 or j >= self.grid.n:
            return AFTER
        return self.take(w, j, count) if w.portion is None else w.portion[j - start]

    def give(self, w: StripSweep, strip: int, at: int, j: int, name: int) -> None:
        """Write the bottom row of ``strip`` at column ``at``: the cell of this name."""
        if w.published is not None and at >= w.published:
            raise self.fault(w, j, f"column {at} may still be read by the strip above")
        self.stamp(w, j, "write", strip + 1, at)
        lane, r = self.outlet(strip)
        bottom = strip * self.grid.strip_rows + lane * self.grid.alpha + r + 1
        if name != self.row_of_names(bottom)[at]:
            raise self.fault(w, j, f"bottom row of strip {strip} gets cell {name} in column {at}")
        self.line(strip + 1)[at] = name
        if self.written[strip + 1, at, 0] < 0:
            self.written[strip + 1, at] = w.launch, w.group, j

    def stamp(self, w: StripSweep, j: int, kind: str, strip: int, at: int) -> None:
        """Groups of one two-phase launch run in any order: what one writes no other touches."""
        if self.grid.form == "ticketed":
            return
        assert self.lines is not None
        line = self.lines[strip]
        for other in ("write",) if kind == "read" else ("write", "read"):
            launch, group = self.stamps.get((other, line, at), (-1, -1))
            if launch == w.launch and group != w.group:
                raise self.fault(w, j, f"{kind} of bus column {at} races with group {group}")
        self.stamps[kind, line, at] = w.launch, w.group

    # --- the steps -------------------------------------------------------------------------------

    def column_step(
        self, s: Lanes, w: StripSweep, j: int, top: int, target: int, count: bool
    ) -> None:
        """One step of all lanes: what each uses must be what its cell needs.  What enters the first
        lane has to be something that this block put there, whether or not that lane is at work:
        it may share a word with one that is."""
        grid, width = self.grid, self.width
        if top == STALE:
            raise self.fault(w, j, "the first lane takes what its block has not put there")
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
            if grid.form == "ticketed":
                self.moves[w.strip, j] = s.h
            self.count[(s.row[live] - self.first_row) // grid.alpha, here[live] - 1] += 1
            turn, chain = divmod(w.strip, self.chains)
            self.busy[chain][turn * grid.n + j] += int(live.sum())

    def catch(self, s: Lanes, w: StripSweep, j: int, k: int, count: bool) -> None:
        """The lane that is at inner column k in this step gives its cells."""
        column = self.columns[k]
        lane, R = j - (column - 1), self.grid.alpha
        row = w.strip * self.grid.strip_rows + lane * R
        if s.h[lane] != (self.first_row + row + R) * self.width + column:
            raise self.fault(w, j, f"lane {lane} is not at column {column}")
        self.caught[k, row // R] += count

    def leave(self, s: Lanes, w: StripSweep, j: int, count: bool) -> None:
        """The lane that has done the last column of its strip gives its right edge."""
        lane, R = j - w.leave_at, self.grid.alpha
        if w.leave < 0 or not 0 <= lane < self.grid.T:
            return
        row = w.leave * self.grid.strip_rows + lane * R
        if s.h[lane] != (self.first_row + row + R) * self.width + self.grid.n:
            raise self.fault(w, j, f"lane {lane} leaves without column {self.grid.n}")
        self.right[row // R] += count
        s.column[lane] = NOWHERE

    def enter(self, s: Lanes, w: StripSweep, j: int) -> None:
        """Lane j takes the left edge of its rows."""
        if w.enter < 0 or j >= self.grid.T:
            return
        row = self.first_row + w.enter * self.grid.strip_rows + j * self.grid.alpha
        s.diagonal[j], s.h[j] = row * self.width, (row + self.grid.alpha) * self.width
        s.query[j] = s.row[j] = row
        s.column[j] = -j

    def bottom_name(self, s: Lanes, lane: int, r: int) -> int:
        """The cell that row r of a lane is at."""
        below = self.grid.alpha - 1 - r
        return NOTHING if s.h[lane] == NOTHING else int(s.h[lane]) - below * self.width

    def sweep_carefully(
        self, s: Lanes, w: StripSweep, start: int, end: int, count: bool
    ) -> Iterator[None]:
        """Steps in which lanes may enter or leave: sweep_carefully() of strip.clh, and the masked
        steps of narrow.clh, whose portion of the bus takes what leaves the last lane."""
        n = self.grid.n
        for j in range(start, end):
            self.leave(s, w, j, count)
            self.enter(s, w, j)
            inside = w.enter >= 0 and j < n
            top = self.entering(w, j, start, count)
            self.column_step(s, w, j, top, j + 1 if inside else NOTHING, count)
            for k, column in enumerate(self.columns):
                if 0 <= j - (column - 1) < self.grid.T:
                    self.catch(s, w, j, k, count)
            lane, r = self.outlet(w.strip)
            if w.portion is not None:
                w.portion[j - start] = self.bottom_name(s, lane, r)
            elif w.enter >= 0 and 0 <= j - lane < n:
                self.give(w, w.strip, j - lane, j, self.bottom_name(s, lane, r))
            if w.leave >= 0 and w.leave_at == 0:
                lane, r = self.outlet(w.leave)
                if j < lane:
                    self.give(w, w.leave, n + j - lane, j, self.bottom_name(s, lane, r))
            yield

    def sweep_on(
        self, s: Lanes, w: StripSweep, start: int, end: int, count: bool
    ) -> Iterator[None]:
        """Steps in which every lane is busy and the last lane's last row goes down: walk_on()."""
        lane, r = self.grid.T - 1, self.grid.alpha - 1
        for j in range(start, end):
            self.column_step(s, w, j, self.entering(w, j, start, count), j + 1, count)
            if (s.h == NOTHING).any():
                raise self.fault(w, j, "an idle lane in the main loop")
            if w.portion is not None:
                w.portion[j - start] = self.bottom_name(s, lane, r)
            else:
                self.give(w, w.strip, j - lane, j, self.bottom_name(s, lane, r))
            yield

    def sweep_block(
        self, s: Lanes, w: StripSweep, start: int, end: int, careful: bool, again: bool
    ) -> Iterator[None]:
        """A block of a strip; ``again``: a second time, as for a best cell."""
        before = s.copy() if again else s
        sweep = self.sweep_carefully if careful else self.sweep_on
        if w.portion is not None:
            self.take_portion(w, start, end, True)
        yield from sweep(s, w, start, end, True)
        if again:
            if w.portion is not None:
                self.take_portion(w, start, end, False)
            yield from self.sweep_carefully(before, w, start, end, False)
        if w.portion is not None:
            lane, _ = self.outlet(w.strip)
            for at in range(max(start - lane, 0), min(end - lane, self.grid.n)):
                self.give(w, w.strip, at, end - 1, w.portion[at + lane - start])

    def until(self, step: int) -> tuple[int, bool]:
        """Up to which step the same inner columns are met as from ``step`` on; are there any?"""
        spans = [(column - 1, column - 1 + self.grid.T) for column in self.columns]
        ends = [at for span in spans for at in span if at > step]
        met = any(start <= step < end for start, end in spans)
        return min([*ends, self.grid.n + self.grid.T]), met

    # --- what only the whole tile shows ----------------------------------------------------------

    def check_line(self, strip: int, row: int) -> None:
        """Does the line that this strip would read hold this row of the tile?"""
        if not np.array_equal(self.line(strip), self.row_of_names(row)):
            raise InternalError(f"{self.grid}: the bus above strip {strip} is not row {row}")

    def bottom(self) -> int:
        """The row that the last strip gives."""
        lane, r = self.last_row_outlet
        return (self.grid.strips - 1) * self.grid.strip_rows + lane * self.grid.alpha + r + 1

    def check_moves(self) -> None:
        """Are the moves of each lane's cells where a walk back looks for them: in the strip's step
        ``column + lane``?"""
        grid = self.grid
        lane, column = np.arange(grid.T)[:, None], np.arange(grid.n)[None, :]
        for strip in range(grid.strips):
            row = self.first_row + strip * grid.strip_rows + (lane + 1) * grid.alpha
            found = self.moves[strip, column + lane, lane]
            if not np.array_equal(found, row * self.width + column + 1):
                raise InternalError(f"{grid}: moves of strip {strip} are not where they belong")

    def result(self) -> TileCount:
        """Check what only the whole tile shows: edges complete, padding swept once too."""
        grid = self.grid
        for row in self.rows:
            self.check_line(row // grid.strip_rows, row)
        if not (self.caught == 1).all():
            raise InternalError(f"{grid}: an inner column is not given once by each lane")
        if not (self.right == 1).all():
            raise InternalError(f"{grid}: the right edge is not written once by each lane")
        if self.forbidden is not None and sorted(map(list, self.met)) != self.forbidden.T.tolist():
            raise InternalError(
                f"{grid}: blocked pairs {self.forbidden.T.tolist()}, met {self.met}"
            )
        if grid.form == "ticketed":
            self.check_moves()
        cells = self.count.repeat(grid.alpha, axis=0)[: grid.m]
        return TileCount(grid, cells, [b[:-1] for b in self.busy], self.written, self.read)
