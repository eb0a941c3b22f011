"""A local matrix in parts side by side, each swept by a device of its own, all at once
(docs/algorithm.md, Parts side by side):

             0            end of A          end of B           n
          0  +--------------+------+----------+------+---------+
             |      A       | overlap   B     | overlap    C   |
          m  +--------------+------+----------+------+---------+

A part begins its sweep some columns early, from zeros: no H of a local matrix is below 0.  Where
two parts meet, both have computed the same column.  If it is equal, all cells of the right part are
true; if not, all columns to the right are swept again from the left part's.  As in sections
(:mod:`pysw_cl.planning.sections`), but the host compares."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np

from ..errors import DeviceError, Stopped
from ..planning.execution import InStrips
from ..sequences.kmers import related
from .contract import Beside, Engine, left_out, persistently
from .edges import DeviceEdge, Edge, EdgeArray, Edges, Part, Source
from .graph import Progress, Rectangle
from .slabs import SweepResult
from .sweep import sweep
from .tile import Area, Hits, Limits, Want

#: A score prunes little if it is at most this share of what all rows or columns could score.
WEAK = 1 / 100
#: Columns after a part's last one that it sweeps, too, for strips of a GPU end slowly where the
#: last column is kept, each after the one above.
MORE = 256
#: Cells of an edge that are copied, or compared, at once: few, for the caches.
PIECE = 1 << 16


def parts_beside(engine: Engine, whole: Rectangle, limits: Limits) -> Sequence[Beside]:
    """The parts in which devices sweep a matrix; none where one sweep of all is better: an
    alignment probably leads from part to part, or much is pruned."""
    if whole.floor is None or whole.forbidden is not None:
        return ()
    (m, n), bound, parts = whole.shape, limits.bound, engine.beside(whole)
    pruned = bound is not None and bound.score > WEAK * min(m, n) * bound.match
    if not parts or pruned or related(whole.query.read(0, m), whole.target.read(0, n)):
        return ()
    return parts


class _Column(EdgeArray):
    """A column that a part keeps, in memory that was made before.  It comes from the device in
    pieces: new memory takes longer than copies."""

    def __init__(self, length: int, engine: Engine, gate: Any) -> None:
        super().__init__(length)
        self._engine, self._gate = engine, gate

    def write(self, start: int, edge: Edge | DeviceEdge) -> None:
        for first in range(0, len(edge), PIECE):
            piece = partial(edge.read, first, min(first + PIECE, len(edge)))
            cells = persistently(self._engine, piece)
            with self._gate:
                super().write(start + first, cells)


class _Gate:
    """The lock for what several threads write to; the thread of a part that nobody waits for any
    more does not get it."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock, self.lost = lock, False

    def __enter__(self) -> None:
        self._lock.acquire()
        if self.lost:
            self._lock.release()
            raise Stopped("nobody waits for this part")

    def __exit__(self, *_: object) -> None:
        self._lock.release()


@dataclass(eq=False)
class _Part:
    """A part, and how far it is."""

    engine: Engine
    #: Its rows and columns; the columns where its sweep begins and ends; rows swept at once.
    area: Area
    first: int
    last: int
    rows: int
    gate: _Gate
    #: The edge above the rows that are not done, from its first column on.
    above: Source
    #: The column left of the area, as this part has it, and the last one.
    own: _Column
    right: _Column
    #: Rows that are done, and those that are told of.
    done: int = 0
    told: float = 0.0
    found: list[tuple[Area, SweepResult]] = field(default_factory=list)
    #: What ended it.
    error: BaseException | None = None


class SweepBeside:
    """A sweep of a matrix in parts.  The other arguments are those of `sweep`.

    The first part is computed by the calling thread.  What another one has not begun when that is
    done, or what a device did that failed, is computed by the engine of all."""

    def __init__(
        self,
        engine: Engine,
        parts: Sequence[Beside],
        whole: Rectangle,
        edges: Edges,
        want: Want,
        limits: Limits,
        progress: Progress,
    ) -> None:
        self._engine, self._whole, self._edges, self._want = engine, whole, edges, want
        self._limits, self._progress, self._spans = limits, progress, engine.spans
        self._helper, self._lock = engine.helper, threading.Lock()
        starts = [0, *(part.end for part in parts)]
        self._parts = [self._part(*one) for one in zip(parts, starts, strict=False)]
        #: Is the first part done; shall all end?
        self._late = self._over = False
        self._thread, self._most = threading.current_thread(), 0

    def _part(self, one: Beside, start: int) -> _Part:
        (m, n), gate = self._whole.shape, _Gate(self._lock)
        first, last = max(0, start - one.overlap), min(n, one.end + MORE)
        columns = _Column(m, one.engine, gate), _Column(m, one.engine, gate)
        about = Area(0, m, start, one.end), first, last, one.rows, gate
        return _Part(one.engine, *about, Part(self._edges.top, first), *columns)

    def run(self) -> SweepResult:
        engine, first, m = self._engine, self._parts[0], len(self._whole.query)
        try:
            self._compute_all()
            engine.peak_bytes = max(
                x.peak_bytes for x in (engine, *(p.engine for p in self._parts))
            )
            for part in self._parts:
                if part.done < m:
                    self._rest(part, first)
            result, joined = SweepResult(), self._joined()
        finally:
            engine.spans = self._spans
            for part in self._parts:
                part.error = None  # its frames refer to this object
        for part in self._parts:
            for area, found in part.found:
                if part in joined:
                    cells = result.hits.some, found.hits.moved(area.row, area.column)
                    result.hits = Hits(np.concatenate(cells), self._want.count)
                    result.add(found)
                else:
                    result.add_cost(found)
        return result

    def _compute_all(self) -> None:
        """Compute all parts at once, and go on without the devices that failed."""
        first, *others = self._parts
        threads = [
            threading.Thread(target=self._beside, args=(one,), name="beside", daemon=True)
            for one in others
        ]
        begun, makes = time.monotonic(), ThreadPoolExecutor(1)
        try:
            with suppress(RuntimeError):  # none begins where the interpreter ends
                for thread in threads:
                    thread.start()
                for before, part in pairwise(self._parts):
                    before.right.prepare(makes)
                    part.own.prepare(makes)
            self._compute(first)
            self._late = True
            self._wait(threads, time.monotonic() - begun)
        except BaseException:
            self._over = True
            for thread in filter(threading.Thread.is_alive, threads):
                thread.join(self._engine.plan.tuning.sweep.hang_seconds)
            raise
        finally:
            makes.shutdown(wait=False, cancel_futures=True)
        for part in self._parts:
            error, part.error = part.error, None
            try:
                if error is not None:
                    self._leave(part, error)
            finally:
                del error  # this frame is one of those of an error

    def _compute(self, part: _Part) -> None:
        """Sweep a part, but for what is not begun when the first one is done."""
        m = part.area.row_end
        try:
            while part.done < m and not self._late:
                end = min(m, part.done + part.rows)
                below, swept = self._sweep_rows(part.engine, part, end)
                with part.gate:
                    part.found.append(swept)
                    part.done, part.above = end, below
        except (DeviceError, MemoryError) as error:
            part.error = error

    def _beside(self, part: _Part) -> None:
        try:
            self._compute(part)
        except BaseException as error:
            part.error = error
        if part.gate.lost:
            part.error = None

    def _wait(self, threads: list[threading.Thread], seconds: float) -> None:
        """Wait for the other parts.  One that tells nothing for a minute (`sweep.hang_seconds`) and
        the ``seconds`` that the first one took is lost."""
        if self._parts[0].error is not None:
            seconds = inf  # nobody knows how long they take
        most, moved = self._engine.plan.tuning.sweep.hang_seconds + seconds, time.monotonic()
        for part, thread in zip(self._parts[1:], threads, strict=True):
            told = -1.0
            while thread.is_alive() and time.monotonic() < moved + most:
                moved, told = (moved if told == part.told else time.monotonic()), part.told
                thread.join(0.05)
                self._report(part)
            with self._lock:
                part.gate.lost = thread.is_alive()
            if part.gate.lost:
                part.error = DeviceError(f"nothing computed for {most:g} s")

    def _leave(self, part: _Part, error: BaseException) -> None:
        """Go on without a device that failed; raises another error, or if there is no other."""
        engine = self._engine
        try:
            if part.engine is self._helper and isinstance(error, MemoryError):
                error = DeviceError(str(error))
            if isinstance(error, DeviceError):
                devices = [*(engine.tracers or [engine]), engine.helper]
                error.device = devices.index(part.engine)
                if left_out(engine, error):
                    return
            raise error
        finally:
            del error

    def _rest(self, part: _Part, first: _Part) -> None:
        """Compute what is left of a part by the engine of all; that of a helper as the ``first``
        part: its program is built."""
        engine, usual, how = self._engine, self._engine.plan, None
        if first.found:
            how = first.found[0][1].execution
        if isinstance(how, InStrips) and part.engine is self._helper:
            tuning = usual.tuning.with_values({"sections.least_cells": 1 << 62})
            engine.plan = replace(how.plan, alpha_fixed=True, B_fixed=True, tuning=tuning)
        if part.gate.lost:  # its thread may wake up, and write
            part.gate, columns = _Gate(self._lock), (part.own, part.right)
            part.own, part.right = (_Column(len(one), engine, part.gate) for one in columns)
            for one, old in zip((part.own, part.right), columns, strict=True):
                one.write(0, old.read(0, len(old)))
        try:
            part.found.append(self._sweep_rows(engine, part, part.area.row_end)[1])
        finally:
            engine.plan = usual

    def _joined(self) -> list[_Part]:
        """The parts, but for those that did not begin as the one before them ended: these are swept
        again as one."""
        (m, n), seams = self._whole.shape, [*pairwise(self._parts)]
        equal = partial(_equal, self._whole.scoring.gap_extend)
        columns = [(a.right, b.own) for a, b in seams]
        try:
            with ThreadPoolExecutor(len(seams)) as threads:
                every = [*threads.map(equal, *zip(*columns, strict=True))]
        except RuntimeError:  # the interpreter ends
            every = [equal(*two) for two in columns]
        for k, (before, part) in enumerate(seams, 1):
            column = part.area.column
            if column in self._edges.columns:
                self._edges.columns[column].write(0, before.right.read(0, m))
            if every[k - 1]:
                continue
            again = self._part(Beside(self._engine, n, 0, m), column)
            again.told = m
            again.found.append(self._sweep_rows(self._engine, again, m, before.right)[1])
            self._parts.append(again)
            return [*self._parts[:k], again]
        return self._parts

    def _sweep_rows(
        self, engine: Engine, part: _Part, end: int, left: Source | None = None
    ) -> tuple[EdgeArray, tuple[Area, SweepResult]]:
        """Sweep the rows of a part from those that are done up to ``end``; the edge below them, if
        rows follow, and what was swept and found.  ``left``: the edge to its left, if known."""
        edges, limits, row, first = self._edges, Limits(), part.done, part.first
        area, beside = Area(row, end, first, part.last), left or self._edges.left
        bound, (m, n) = self._limits.bound, self._whole.shape
        if bound is not None and left is not None:  # (columns are equal where nothing is pruned)
            moved = replace(bound, row=bound.row - row, column=bound.column - first)
            limits = Limits(moved, beyond=(m - end, n - part.last))
        corner = edges.top.h_at(first - 1) if first else edges.corner
        if row:
            corner = beside.h_at(row - 1)
        below = EdgeArray(part.last - first)
        sides = corner, part.above, Part(beside, row), below if end < m else None, None
        engine.spans = None if self._spans is None else []
        found = sweep(
            engine,
            self._whole.inside(area),
            Edges(*sides, *self._lines(part, end)),
            self._want,
            limits,
            shape=engine.plan.tile_shape(*area.shape),
            progress=partial(self._tell, part, row, end),
        )
        for span in engine.spans or ():
            inside = span.area and _in(area, span.area, part.area)
            if self._spans is not None and (inside is None or inside.cells):
                self._spans.append(span._replace(area=inside))
        for name in ("tops", "skipped"):
            known: dict[Area, Any] = getattr(found, name)
            own = {_in(area, one, part.area): value for one, value in known.items()}
            setattr(found, name, {one: value for one, value in own.items() if one.cells})
        return below, (area, found)

    def _lines(self, part: _Part, end: int) -> tuple[dict[int, Part], dict[int, Any]]:
        """The parts of special rows and columns in the rows of a part up to ``end``, and of its own
        first and last column."""
        row, first, (column, stop) = part.done, part.first, part.area[2:]
        rows = {
            at - row: Part(line, first, part.gate, column - first)
            for at, line in self._edges.rows.items()
            if row < at <= end
        }
        columns: dict[int, Any] = {
            at - first: Part(line, row, part.gate)
            for at, line in self._edges.columns.items()
            if column < at < stop
        }
        for at, own in ((column, part.own), (stop, part.right)):
            if first < at < part.last:
                whole = end - row == len(own)
                columns[at - first] = own if whole else Part(own, row)
        return rows, columns

    def _tell(self, part: _Part, row: int, end: int, done: int, total: int) -> None:
        """Cells of some rows of a part are done."""
        part.told = max(part.told, row + (end - row) * done / total)
        self._report(part)

    def _report(self, part: _Part) -> None:
        if threading.current_thread() is self._thread:
            cells = sum(int(one.told * (one.area.cells // one.area.row_end)) for one in self._parts)
            self._most = max(self._most, cells)
            self._progress(self._most, self._whole.shape[0] * self._whole.shape[1])
        elif self._over or part.gate.lost:
            raise Stopped("nobody waits for this part")


def _equal(extend: int, a: EdgeArray, b: EdgeArray) -> bool:
    """Do the same cells follow two last columns?  A gap that comes to 0 at most does not count: of
    it lanes of 11 bits know no more."""
    for start in range(0, len(a), PIECE):
        one, other = (edge.read(start, min(start + PIECE, len(a))) for edge in (a, b))
        gap, other_gap = (np.maximum(edge.x, extend) for edge in (one, other))
        if not (np.array_equal(one.h, other.h) and np.array_equal(gap, other_gap)):
            return False
    return True


def _in(swept: Area, part: Area, area: Area) -> Area:
    """A part of what was swept, which is counted in that, as one of the matrix inside an area."""
    row, row_end, *sides = part
    column, stop = (min(max(swept.column + side, area.column), area.column_end) for side in sides)
    return Area(swept.row + row, swept.row + row_end, column, stop)
