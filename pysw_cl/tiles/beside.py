"""The last columns of a matrix, computed by a slower device meanwhile (docs/algorithm.md, A CPU
beside a GPU):

             0                     columns                       n
          0  +------------------------------------------+--------+
             |                                          | helper |
             |            the engine, first             +--------+
             |                                          | engine |
          m  +------------------------------------------+--------+

The helper computes strips from the top, each when the right edge of the first part is there.  When
the engine has computed the first part, it computes what is left of the second one.  So it waits for
one strip at most, however slow the helper is, and does all of its work if it fails."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial

import numpy as np

from ..errors import DeviceError, RecomputedWarning, Stopped, warn
from ..planning.choose import columns_beside
from ..planning.execution import Execution, InStrips
from ..sequences.kmers import related
from .contract import Engine
from .edges import EdgeArray, EdgePipe, Edges, Part, Sink, Source
from .graph import Progress, Rectangle
from .slabs import SweepResult
from .sweep import sweep
from .tile import Area, Hits, Limits, Want


def columns_of_helper(engine: Engine, whole: Rectangle, limits: Limits) -> tuple[int, int]:
    """How many of the last columns of a matrix the engine's helper computes, and in strips of how
    many rows; no columns where nothing is gained, as where much is pruned."""
    (m, n), helper = whole.shape, engine.helper
    if helper is None or engine.piped_rows(whole, m) is None:
        return 0, 0
    columns, rows = columns_beside(engine.plan, helper.plan, m, n)
    pruned = columns and limits.bound is not None
    if pruned and (whole.floor is None or related(whole.query.read(0, m), whole.target.read(0, n))):
        return 0, 0
    return columns, rows


class SweepBeside:
    """A sweep of a matrix by an engine and its helper, which computes strips of so many ``rows`` of
    the last ``columns``.  The other arguments are those of `sweep`."""

    def __init__(
        self,
        engine: Engine,
        columns: int,
        rows: int,
        whole: Rectangle,
        edges: Edges,
        want: Want,
        limits: Limits,
        progress: Progress,
    ) -> None:
        self._engine, self._rows, self._spans = engine, rows, engine.spans
        self._whole, self._edges, self._want, self._limits = whole, edges, want, limits
        self._shape, self._progress, self._first = whole.shape, progress, whole.shape[1] - columns
        #: The right edge of the first part.
        self._right = EdgePipe(len(whole.query))
        #: How many rows of the second part are done, and the edge below them.
        self._done = 0
        self._above: Source = Part(edges.top, self._first)
        self._error: BaseException | None = None  # of the helper
        #: What strips found; a lock for that, and for special rows, to which both threads write.
        self._found, self._lock = list[tuple[Area, SweepResult]](), threading.Lock()

    def run(self) -> SweepResult:
        m, engine, helper = self._shape[0], self._engine, self._engine.helper
        assert helper is not None
        most, area = engine.plan.tuning.sweep.hang_seconds, Area(0, m, 0, self._first)
        thread = threading.Thread(target=self._strips, args=(helper,), name="helper", daemon=True)
        thread.start()
        try:
            first = self._sweep(engine, area, right=self._right)
        finally:
            self._right.close(Stopped("the first part is not computed"))
            thread.join(most)
        with self._lock:  # nothing is taken from a strip any more
            error, self._error = self._error, None  # the frames of an error refer to this object
            if thread.is_alive():
                self._error = error = DeviceError(f"a strip takes {most:g} s")
        if isinstance(error, DeviceError | MemoryError):
            engine.helper, name = None, helper.plan.device
            engine.failures.failed.append(name)
            warn(f"{name} failed, others go on: {error}", RecomputedWarning)
        elif error is not None:
            try:
                raise error
            finally:
                del error  # this frame is one of those
        parts = [*self._found, (area, first)]
        if self._done < m:
            parts.append(self._rest(first.execution))
        result, count = SweepResult(), self._want.count
        for area, found in parts:
            cells = result.hits.some, found.hits.moved(area.row, area.column)
            result.hits = Hits(np.concatenate(cells), count)
            found.tops = {_in(area, part): top for part, top in found.tops.items()}
            found.skipped = {_in(area, part): count for part, count in found.skipped.items()}
            result.add(found)
        return result

    def _strips(self, helper: Engine) -> None:
        """Compute strips of the second part until the first one is done, or the helper fails."""
        m, n = self._shape
        helper.failures, helper.stage = self._engine.failures, self._engine.stage
        try:
            while self._done < m and not self._right.ready(m - 1, m):
                end = min(m, self._done + self._rows)
                self._right.read(end - 1, end)
                area, below = Area(self._done, end, self._first, n), EdgeArray(n - self._first)
                found = self._sweep(helper, area, below)
                with self._lock:
                    if self._error is not None:
                        return
                    self._found.append((area, found))
                    self._done, self._above = end, below
        except Stopped:
            return
        except BaseException as error:
            self._error = error

    def _rest(self, first: Execution | None) -> tuple[Area, SweepResult]:
        """Compute what is left of the second part, as the ``first`` one: that program is built."""
        engine, usual, (m, n) = self._engine, self._engine.plan, self._shape
        area = Area(self._done, m, self._first, n)
        if isinstance(first, InStrips):
            tuning = usual.tuning.with_values({"sections.least_cells": 1 << 62})
            engine.plan = replace(first.plan, alpha_fixed=True, B_fixed=True, tuning=tuning)
        try:
            return area, self._sweep(engine, area)
        finally:
            engine.plan = usual

    def _sweep(
        self, engine: Engine, area: Area, below: Sink | None = None, right: Sink | None = None
    ) -> SweepResult:
        """Sweep a part of the matrix, with these sinks and its parts of the special lines."""
        whole, edges, (m, n), (row, end, column, stop) = self._whole, self._edges, self._shape, area
        corner, above = edges.corner, (edges.top, edges.left)
        if column:
            corner = self._right.h_at(row - 1) if row else edges.top.h_at(column - 1)
            above = self._above, Part(self._right, row)
        rows = {
            at - row: Part(line, column, self._lock)
            for at, line in edges.rows.items()
            if row < at <= end
        }
        columns = {
            at - column: Part(line, row) if column else line
            for at, line in edges.columns.items()
            if column < at <= stop
        }
        bound = self._limits.bound
        if bound is not None:
            bound = replace(bound, row=bound.row - row, column=bound.column - column)
        if column:
            engine.spans = None if self._spans is None else []
        given = Edges(corner, *above, below, right, rows, columns)
        found = sweep(
            engine,
            whole.inside(area),
            given,
            replace(self._want, where=_where(self._want.where, end == m, stop == n)),
            Limits(bound, beyond=(m - end, n - stop)),
            shape=engine.plan.tile_shape(*area.shape),
            progress=partial(self._tell, m * column) if engine is self._engine else None,
        )
        if column and self._spans is not None:
            spans = engine.spans or ()
            self._spans.extend(one._replace(area=one.area and _in(area, one.area)) for one in spans)
            engine.spans = self._spans
        return found

    def _tell(self, before: int, done: int, total: int) -> None:
        m, n = self._shape
        self._progress(before + done + self._done * (n - self._first), m * n)


def _where(where: str, last_row: bool, last_column: bool) -> str:
    """Where the best cells of the matrix are, in a part that has its last row or column or both."""
    if where == "all" or (last_row and last_column):
        return where
    own = "last_row" if last_row else "last_column"
    return own if where in (own, "border") and (last_row or last_column) else "none"


def _in(area: Area, part: Area) -> Area:
    """An area that is counted in another one, as one of the matrix."""
    rows, columns = part.row + area.row, part.column + area.column
    return Area(rows, rows + part.shape[0], columns, columns + part.shape[1])
