"""One pair on several devices: large matrices are computed by all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from ..errors import DeviceError
from ..opencl.buffers import RetainedBuffers
from ..opencl.device import Runtime
from ..planning.choose import choose_turns, of_columns, shared_columns
from ..planning.facts import Share
from ..planning.geometry import TileRows
from ..planning.path_grid import spread
from ..planning.plan import Plan
from ..planning.program import Given
from ..sequences.kmers import related
from ..tiles.contract import Beside, Engine, Executor, left_out
from ..tiles.graph import Rectangle, TileRow, next_tile
from ..tiles.tile import Area, TileJob, TileResult
from .plans import default_plan
from .rowscan.engine import RowscanEngine
from .wavefront.engine import WavefrontEngine
from .wavefront.relay import Relay
from .wavefront.tile import given_of, shape_of

#: Letters of two sequences whose comparison tells how fast devices are.
LARGE = 1 << 28


def share_tiles(
    engines: Sequence[Engine], leave_out: Callable[[DeviceError], object], rows: Iterator[TileRow]
) -> None:
    """Compute all tiles of some rows by several engines, each of which computes in a thread of its
    own the next tile whose edges are there, those of upper rows first.  They are equal where they
    capture special rows and columns.

    One that fails is left out, and its tile is computed by another one; the error of the last one
    is raised.  ``leave_out`` gets the error of another one, with its number among those left.
    Another error ends that, once the tiles that are begun are done."""
    free, known, left = list(engines), list(engines), dict[TileRow, list[Area]]()
    running: dict[Future[TileResult], tuple[TileRow, Area, Engine]] = {}
    with ThreadPoolExecutor(len(free)) as threads:
        while True:
            busy = {row for row, *_ in running.values()}
            if free and (found := next_tile(rows, left, busy)) is not None:
                engine, (row, area, job) = free.pop(), found
                begun = threads.submit(engine.noted, partial(engine.tile, job), area)
                running[begun] = row, area, engine
            elif not running:
                return
            else:
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    row, area, engine = running.pop(done)
                    try:
                        result = done.result()
                    except DeviceError as error:
                        if len(known) == 1:
                            raise
                        error.device = known.index(engine)
                        del known[error.device]
                        leave_out(error)
                        left[row].insert(0, area)
                    else:
                        row.take(area, result)
                        free.append(engine)


class Shared(Engine):
    """An engine of the first of several devices, each of which has one that computes tiles, too.
    ``of_one``: the class of an engine of one device."""

    of_one: Any
    runtime: Runtime
    names: list[str]

    def __init__(self, runtimes: Sequence[Runtime], plan: Plan, *more: Any) -> None:
        self._runtimes, self.devices = [one.unpolled() for one in runtimes], len(runtimes)
        self.of_one.__init__(self, self._runtimes[0], plan, *more)
        self._workers: list[Engine] = [self.of_one(one, plan, *more) for one in self._runtimes]
        self.names = [f"{plan.device}, {k + 1} of {self.devices}" for k in range(self.devices)]

    def leave_out(self, error: DeviceError) -> str | None:
        if self.devices == 1:
            return None
        gone = self._runtimes.pop(error.device).info
        del self._workers[error.device], self.names[error.device]
        self.devices -= 1
        if self.runtime is not self._runtimes[0]:
            self.runtime = self._runtimes[0]
            self._begin_anew()
        return f"{gone.index} ({gone.name})"

    def _begin_anew(self) -> None:
        """Forget what was kept on the first device, which is another one now."""

    def executor(self, whole: Rectangle) -> Executor | None:
        if self.devices == 1 or spread(self.plan, *whole.shape, self.devices) is None:
            return None
        return partial(share_tiles, self.tracers, partial(left_out, self))

    @property
    def tracers(self) -> Sequence[Engine]:
        """The workers, told what is noted of them."""
        for one, name in zip(self._workers, self.names, strict=True):
            one.spans, one.stage, one.names = self.spans, self.stage, [name]
            one.failures = self.failures
        return self._workers


class SeveralRowscans(Shared, RowscanEngine):
    """Computes the tiles of sweeps on all ``runtimes``, row by row."""

    of_one = RowscanEngine

    @cached_property
    def for_moves(self) -> WavefrontEngine:
        made = SeveralEngine(self._runtimes, default_plan(self.runtime))
        made.failures = self.failures
        return made


def shares_of(runtimes: Sequence[Runtime], plan: Plan) -> tuple[Share, ...]:
    """The groups that GPUs run at once, on a slower one fewer, so that a column takes a strip on
    each as long as on the fastest one, by their profiles.  All have B if the ``plan`` says it."""
    facts, parts = [one.facts for one in runtimes], [plan.B] * len(runtimes)
    if not plan.B_fixed and any(one != facts[0] for one in facts):
        plans = [default_plan(one) for one in runtimes]
        seconds = [own.least_cost(LARGE, LARGE) for own in plans]
        column = min(own.B * each for own, each in zip(plans, seconds, strict=True))
        parts = [max(1, round(column / each)) for each in seconds]
    return tuple(map(Share, facts, parts))


class SeveralEngine(Shared, WavefrontEngine):
    """Computes pipelines, or the tiles of sweeps, on all ``runtimes``; paths, see `tracers`."""

    of_one = WavefrontEngine
    #: The rows that are computed now, if they are pruned and the sequences are alike, or 0.
    _alike = 0

    def _begin_anew(self) -> None:
        vars(self).pop("_row_scan", None)
        self._room = RetainedBuffers()

    def tile(self, job: TileJob, capacity: int = 0) -> TileResult:
        """Special lines are not lost with the device if it fails before the path is traced."""
        return super().tile(replace(job, rows_stay=False, columns_stay=False), capacity)

    def executor(self, whole: Rectangle) -> Executor | None:
        """On devices whose tiles do not follow each other: CPUs."""
        return None if self._speculative else super().executor(whole)

    def expect_path(self, whole: Rectangle, steps: tuple[int, int]) -> None:
        super().expect_path(whole, steps)
        for one in self._runtimes[1:]:  # what others build for the first one
            one.building.update(self._runtimes[0].building)

    def piped_rows(
        self, whole: Rectangle, rows: int, pieces: int = 1, pruned: bool = False
    ) -> TileRows | None:
        (m, n), self._alike = whole.shape, 0
        if self._speculative and self.devices > 1 and pruned and whole.floor is not None:
            self._alike = rows * related(whole.query.read(0, m), whole.target.read(0, n))
        return super().piped_rows(whole, rows, pieces)

    def beside(self, whole: Rectangle) -> Sequence[Beside]:
        (m, n), self._alike = whole.shape, 0
        given = self._given(whole)
        ends, overlap = shared_columns(given, m, n)
        plan = of_columns(given).plan
        for one in self._workers if ends else ():
            one.plan = plan
        parts = zip(self.tracers, ends, strict=False)
        return [Beside(one, end, overlap, m) for one, end in parts]

    def _given(self, whole: Rectangle) -> Given:
        return self._together(super()._given(whole))

    def _together(self, given: Given) -> Given:
        shares = shares_of(self._runtimes, self.plan) if self.devices > 1 else ()
        return replace(given, shares=shares, alike_rows=self._alike)

    def pipeline(self, job: TileJob, rows_below: int) -> Any:
        if self.devices == 1:
            return super().pipeline(job, rows_below)
        given, shape = self._together(given_of(self.runtime, self.plan, job)), shape_of(job)
        chosen = choose_turns(shape, rows_below, given)
        return Relay(self._runtimes, chosen, given, job, self.note_memory) if chosen else None
