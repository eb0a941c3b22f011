"""A tile of the schedule checker: the wavefront's steps, with numbers of cells for scores.

It repeats every step of the kernels' strip sweeps (in cl/wavefront), with
the same :mod:`pysw_cl.planning.geometry`.  Where a kernel's lane holds the score of a cell, a lane
here holds the number of that cell.  So each step can check that every lane uses the cells that its
recurrence needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pysw_cl.errors import InternalError
from pysw_cl.planning.geometry import Grid
from pysw_cl.sequences.view import Pairs

Cells = NDArray[np.int64]

#: Numbers that stand for no cell.  NOTHING: in a lane that is in no strip.  AFTER: enters the first
#: lane after the last column.  STALE: in a group's portion of the bus, not written by this block.
NOTHING, AFTER, STALE = -1, -2, -3
#: The column of a lane that is in no strip, as in cl/wavefront/strip.clh.
NOWHERE = -(1 << 29)


@dataclass
class TileCount:
    """What the sweep of one tile did."""

    grid: Grid
    #: m x n: how often each cell was computed.
    cells: NDArray[np.int64]
    #: For each sequence of strips that the same lanes sweep without a pause: how many lanes
    #: computed a cell on each internal diagonal.
    busy: list[NDArray[np.int64]]
    #: (strips + 1, n, 3): for each boundary between strips and each column, the (launch, group,
    #: step) of the first write of the bus cell; -1: by the host, or never.
    written: NDArray[np.int64]
    #: The same of the first read.
    read: NDArray[np.int64]


@dataclass
class Lanes:
    """The kernels' strip_t, with numbers of cells; an item for each lane."""

    #: The cells of the bottom H, of the F that leaves downward, and of the diagonal H.
    h: Cells
    f: Cells
    diagonal: Cells
    #: The first row of the query codes.
    query: Cells
    #: The column of the target code, from 1.
    target: Cells
    #: The lane's first row.
    row: Cells
    #: The column of the last step, minus the step's number and 1.
    column: Cells

    @classmethod
    def clear(cls, T: int) -> Lanes:
        """Lanes that are in no strip."""
        h, f, diagonal, query, target = (np.full(T, NOTHING, np.int64) for _ in range(5))
        row, column = np.zeros(T, np.int64), np.full(T, NOWHERE, np.int64)
        return cls(h, f, diagonal, query, target, row, column)

    def copy(self) -> Lanes:
        """A copy, for sweeping a block a second time."""
        return Lanes(*(getattr(self, name).copy() for name in self.__dataclass_fields__))


@dataclass
class StripSweep:
    """The sweep of one strip."""

    strip: int
    #: The strip that lanes enter, or -1.
    enter: int
    #: The strip that lanes leave, or -1.
    leave: int = -1
    #: The step in which the first lane leaves it.
    leave_at: int = 0
    launch: int = 0
    group: int = 0
    #: Ticketed form: columns that the strip above has published; None: the top edge is given.
    published: int | None = None
    #: The block's portion of the bus in the group's own memory; None: each step uses the bus.
    portion: list[int] | None = None


def _down(values: Cells, first: int) -> Cells:
    """Each lane gets the value of the lane before it; the first lane gets ``first``."""
    return np.concatenate(([first], values[:-1]))


@dataclass
class ScheduleRecord:
    """What the lanes of one tile have done so far."""

    #: By group of alpha rows and column: how often the lane's cells were computed.
    count: NDArray[np.int64]
    #: By group of alpha rows: how often the right edge was written.
    right: NDArray[np.int64]
    #: By special column and group of alpha rows: how often its cells were stored.
    captured: NDArray[np.int64]
    #: First writes and reads of the bus: see `TileCount`.
    written: NDArray[np.int64]
    read: NDArray[np.int64]
    #: By strip, step and lane: the cell whose moves are stored there.
    moves: NDArray[np.int64]
    #: Busy lanes: see `TileCount`.
    busy: list[NDArray[np.int64]]
    #: Forbidden pairs that were met.
    met: list[tuple[int, int]]

    @classmethod
    def of(cls, grid: Grid, columns: int, sequences: int) -> ScheduleRecord:
        """Of a tile with so many special columns, before its first step."""
        strips, n, T = grid.strips, grid.n, grid.T
        swept = [len(range(k, strips, sequences)) for k in range(min(strips, sequences))]
        return cls(
            count=np.zeros((strips * T, n), np.int64),
            right=np.zeros(strips * T, np.int64),
            captured=np.zeros((columns, strips * T), np.int64),
            written=np.full((strips + 1, n, 3), -1, np.int64),
            read=np.full((strips + 1, n, 3), -1, np.int64),
            moves=np.full((strips, n + T, T), NOTHING, np.int64),
            busy=[np.zeros(length * n + T, np.int64) for length in swept],
            met=[],
        )


@dataclass
class ScheduleTile:
    """The memory of one tile, and the steps that work on it."""

    grid: Grid
    last_row_outlet: tuple[int, int]
    forbidden: Pairs | None = None
    #: Special rows and columns.
    rows: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    #: Rows of the tiles above it in a pipeline.
    first_row: int = 0
    #: The bus, and which line of it each strip reads; None: the tile has a bus of its own.
    bus: Cells | None = None
    lines: list[int] | None = None
    #: The (launch, group) of the last access to a bus cell, by kind of access, line and column.
    stamps: dict[tuple[str, int, int], tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        grid = self.grid
        n, strips = grid.n, grid.strips
        self.width = n + 1  # cell (row, column) has the number row * width + column
        if self.lines is None:
            self.lines = grid.bus_lines(self.rows).tolist()
        if self.bus is None:
            self.bus = np.full((2 + len(self.rows), n), NOTHING, np.int64)
            self.bus[0] = self.row_of_cells(0)
        #: The same lanes sweep strips s, s + sequences, s + 2 sequences ... without a pause.
        self.sequences = strips if grid.form == "ticketed" else grid.B
        self.record = ScheduleRecord.of(grid, len(self.columns), self.sequences)
        #: By strip and step: the rows of the strip that meet a forbidden pair then.
        self.meets: dict[tuple[int, int], list[int]] = {}
        if self.forbidden is not None:
            steps, places = grid.forbidden_steps(self.forbidden)
            strip_of = np.repeat(np.arange(len(places) - 1), np.diff(places))
            for strip, (step, row) in zip(strip_of.tolist(), steps.tolist(), strict=True):
                self.meets.setdefault((strip, step), []).append(row)

    def row_of_cells(self, row: int) -> Cells:
        """The numbers of the cells of a row of the tile; row 0 is its top edge."""
        return (self.first_row + row) * self.width + np.arange(1, self.grid.n + 1)

    def line(self, strip: int) -> Cells:
        """The line of the bus that a strip reads."""
        assert self.bus is not None
        assert self.lines is not None
        row: Cells = self.bus[self.lines[strip]]
        return row

    def fault(self, w: StripSweep, step: int, what: str) -> InternalError:
        """The error for a violated rule: what happened, and where."""
        return InternalError(
            f"{self.grid}: strip {w.strip}, launch {w.launch}, group {w.group}, step {step}: {what}"
        )

    def outlet(self, strip: int) -> tuple[int, int]:
        """(lane, row in it) that writes the bottom row of a strip."""
        last = strip == self.grid.strips - 1
        return self.last_row_outlet if last else (self.grid.T - 1, self.grid.alpha - 1)

    def has_other_outlet(self, strip: int) -> bool:
        """Is the bottom row of this strip another one than the last row of the last lane?"""
        return self.outlet(strip) != (self.grid.T - 1, self.grid.alpha - 1)

    # --- the bus ---------------------------------------------------------------------------------

    def take(self, w: StripSweep, j: int, count: bool) -> int:
        """bus_load: the cell of the top H and F at column j of the strip that lanes enter."""
        if w.published is not None and j >= w.published:
            raise self.fault(w, j, f"column {j} of the strip above is not published")
        self.stamp(w, j, "read", w.enter, j)
        if count:
            self.record.read[w.enter, j] = w.launch, w.group, j
        return int(self.line(w.enter)[j])

    def take_portion(self, w: StripSweep, start: int, end: int, count: bool) -> None:
        """stage_load: load into the portion the cells that enter in steps [start, end)."""
        assert w.portion is not None
        if len(w.portion) < end - start:
            raise self.fault(w, start, f"a block of {end - start} steps does not fit the portion")
        for j in range(start, min(end, self.grid.n)):
            w.portion[j - start] = self.take(w, j, count)

    def entering(self, w: StripSweep, j: int, start: int, count: bool) -> int:
        """The cell that enters the first lane in step j of a block that begins at ``start``."""
        if w.enter < 0 or j >= self.grid.n:
            return AFTER
        return self.take(w, j, count) if w.portion is None else w.portion[j - start]

    def store(self, w: StripSweep, strip: int, at: int, j: int, cell: int) -> None:
        """Write the bottom row of ``strip`` at column ``at``, which is this cell."""
        if w.published is not None and at >= w.published:
            raise self.fault(w, j, f"column {at} may still be read by the strip above")
        self.stamp(w, j, "write", strip + 1, at)
        lane, r = self.outlet(strip)
        bottom = strip * self.grid.strip_rows + lane * self.grid.alpha + r + 1
        if cell != self.row_of_cells(bottom)[at]:
            raise self.fault(w, j, f"bottom row of strip {strip} gets cell {cell} in column {at}")
        self.line(strip + 1)[at] = cell
        if self.record.written[strip + 1, at, 0] < 0:
            self.record.written[strip + 1, at] = w.launch, w.group, j

    def stamp(self, w: StripSweep, j: int, kind: str, strip: int, at: int) -> None:
        """Check that no group of a two-phase launch accesses a bus cell that another one writes,
        because groups run in any order."""
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
        """One step of all lanes.  Each lane must use the cells that its own cell needs.

        This block must have written what enters the first lane, even if that lane is idle: a packed
        word may hold that lane and a busy one.
        """
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
            self.record.met.append((int(s.row[lane]) + r, int(here[lane]) - 1))
        if count:
            if grid.form == "ticketed":
                self.record.moves[w.strip, j] = s.h
            self.record.count[(s.row[live] - self.first_row) // grid.alpha, here[live] - 1] += 1
            turn, sequence = divmod(w.strip, self.sequences)
            self.record.busy[sequence][turn * grid.n + j] += int(live.sum())

    def capture(self, s: Lanes, w: StripSweep, j: int, k: int, count: bool) -> None:
        """The lane that is at special column k in this step stores its cells."""
        column = self.columns[k]
        lane, R = j - (column - 1), self.grid.alpha
        row = w.strip * self.grid.strip_rows + lane * R
        if s.h[lane] != (self.first_row + row + R) * self.width + column:
            raise self.fault(w, j, f"lane {lane} is not at column {column}")
        self.record.captured[k, row // R] += count

    def leave(self, s: Lanes, w: StripSweep, j: int, count: bool) -> None:
        """The lane that has computed the last column of its strip stores its right edge."""
        lane, R = j - w.leave_at, self.grid.alpha
        if w.leave < 0 or not 0 <= lane < self.grid.T:
            return
        row = w.leave * self.grid.strip_rows + lane * R
        if s.h[lane] != (self.first_row + row + R) * self.width + self.grid.n:
            raise self.fault(w, j, f"lane {lane} leaves without column {self.grid.n}")
        self.record.right[row // R] += count
        s.column[lane] = NOWHERE

    def enter(self, s: Lanes, w: StripSweep, j: int) -> None:
        """Lane j takes the left edge of its rows."""
        if w.enter < 0 or j >= self.grid.T:
            return
        row = self.first_row + w.enter * self.grid.strip_rows + j * self.grid.alpha
        s.diagonal[j], s.h[j] = row * self.width, (row + self.grid.alpha) * self.width
        s.query[j] = s.row[j] = row
        s.column[j] = -j

    def bottom_cell(self, s: Lanes, lane: int, r: int) -> int:
        """The cell that row r of a lane has computed."""
        below = self.grid.alpha - 1 - r
        return NOTHING if s.h[lane] == NOTHING else int(s.h[lane]) - below * self.width

    def sweep_carefully(
        self, s: Lanes, w: StripSweep, start: int, end: int, count: bool
    ) -> Iterator[None]:
        """Steps in which lanes may enter or leave: sweep_carefully() of strip_steps.clh, and the
        masked steps of narrow.clh, which write what leaves the last lane into the portion of the
        bus."""
        n = self.grid.n
        for j in range(start, end):
            self.leave(s, w, j, count)
            self.enter(s, w, j)
            inside = w.enter >= 0 and j < n
            top = self.entering(w, j, start, count)
            self.column_step(s, w, j, top, j + 1 if inside else NOTHING, count)
            for k, column in enumerate(self.columns):
                if 0 <= j - (column - 1) < self.grid.T:
                    self.capture(s, w, j, k, count)
            lane, r = self.outlet(w.strip)
            if w.portion is not None:
                w.portion[j - start] = self.bottom_cell(s, lane, r)
            elif w.enter >= 0 and 0 <= j - lane < n:
                self.store(w, w.strip, j - lane, j, self.bottom_cell(s, lane, r))
            if w.leave >= 0 and w.leave_at == 0:
                lane, r = self.outlet(w.leave)
                if j < lane:
                    self.store(w, w.leave, n + j - lane, j, self.bottom_cell(s, lane, r))
            yield

    def sweep_on(
        self, s: Lanes, w: StripSweep, start: int, end: int, count: bool
    ) -> Iterator[None]:
        """Steps in which all lanes are busy and the outlet is the last row of the last lane."""
        lane, r = self.grid.T - 1, self.grid.alpha - 1
        for j in range(start, end):
            self.column_step(s, w, j, self.entering(w, j, start, count), j + 1, count)
            if (s.h == NOTHING).any():
                raise self.fault(w, j, "an idle lane in the main loop")
            if w.portion is not None:
                w.portion[j - start] = self.bottom_cell(s, lane, r)
            else:
                self.store(w, w.strip, j - lane, j, self.bottom_cell(s, lane, r))
            yield

    def sweep_block(
        self, s: Lanes, w: StripSweep, start: int, end: int, careful: bool, again: bool
    ) -> Iterator[None]:
        """Sweep a block of a strip; ``again``: twice, as for its best cell."""
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
                self.store(w, w.strip, at, end - 1, w.portion[at + lane - start])

    def until(self, step: int) -> tuple[int, bool]:
        """The step up to which lanes are at the same special columns as in ``step``, and whether
        there is any such column."""
        spans = [(column - 1, column - 1 + self.grid.T) for column in self.columns]
        ends = [at for span in spans for at in span if at > step]
        met = any(start <= step < end for start, end in spans)
        return min([*ends, self.grid.n + self.grid.T]), met

    # --- checks of the whole tile ----------------------------------------------------------------

    def check_line(self, strip: int, row: int) -> None:
        """Check that the line that this strip would read holds this row of the tile."""
        if not np.array_equal(self.line(strip), self.row_of_cells(row)):
            raise InternalError(f"{self.grid}: the bus above strip {strip} is not row {row}")

    def bottom(self) -> int:
        """The row that the last strip writes to the bus."""
        lane, r = self.last_row_outlet
        return (self.grid.strips - 1) * self.grid.strip_rows + lane * self.grid.alpha + r + 1

    def check_moves(self) -> None:
        """Check that each lane's moves are stored where a traceback reads them: at the strip's step
        ``column + lane``."""
        grid = self.grid
        lane, column = np.arange(grid.T)[:, None], np.arange(grid.n)[None, :]
        for strip in range(grid.strips):
            row = self.first_row + strip * grid.strip_rows + (lane + 1) * grid.alpha
            found = self.record.moves[strip, column + lane, lane]
            if not np.array_equal(found, row * self.width + column + 1):
                raise InternalError(f"{grid}: moves of strip {strip} are not where they belong")

    def result(self) -> TileCount:
        """Check that edges are complete and that padding is swept once, too; return the counts."""
        grid = self.grid
        for row in self.rows:
            self.check_line(row // grid.strip_rows, row)
        if not (self.record.captured == 1).all():
            raise InternalError(f"{grid}: a special column is not stored once by each lane")
        if not (self.record.right == 1).all():
            raise InternalError(f"{grid}: the right edge is not written once by each lane")
        if (
            self.forbidden is not None
            and sorted(map(list, self.record.met)) != self.forbidden.T.tolist()
        ):
            raise InternalError(
                f"{grid}: forbidden pairs {self.forbidden.T.tolist()}, met {self.record.met}"
            )
        if grid.form == "ticketed":
            self.check_moves()
        cells = self.record.count.repeat(grid.alpha, axis=0)[: grid.m]
        return TileCount(
            grid, cells, [b[:-1] for b in self.record.busy], self.record.written, self.record.read
        )
