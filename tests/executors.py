"""Executors: other ways through the graph of a sweep's tiles than one by one.

A tile needs nothing but plain values, so it may be computed by another device, or on another
machine.  Whatever computes the tiles, the results are the same to the last cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from functools import cache

from pysw_cl.checkpoint.band import result_facts, result_of
from pysw_cl.tiles.contract import Engine
from pysw_cl.tiles.graph import TileRow
from pysw_cl.tiles.tile import Area, TileJob, TileResult


class InThreads:
    """Several engines, each of which computes in a thread of its own the next tile whose edges are
    there, those of upper rows first.  They are equal where they capture special rows and
    columns."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        self._engines = list(engines)

    def __call__(self, rows: Iterator[TileRow]) -> None:
        """Compute all tiles of some rows.  The first error ends that, once those begun are done."""
        free, left = list(self._engines), dict[TileRow, list[Area]]()
        running: dict[Future[TileResult], tuple[TileRow, Area, Engine]] = {}
        with ThreadPoolExecutor(len(free)) as threads:
            while True:
                busy = {row for row, _, _ in running.values()}
                if free and (found := _next_tile(rows, left, busy)) is not None:
                    row, area, job = found
                    engine = free.pop()
                    running[threads.submit(engine.tile, job)] = row, area, engine
                elif not running:
                    return
                else:
                    for done in wait(running, return_when=FIRST_COMPLETED).done:
                        row, area, engine = running.pop(done)
                        row.take(area, done.result())
                        free.append(engine)


def _next_tile(
    rows: Iterator[TileRow], left: dict[TileRow, list[Area]], busy: set[TileRow]
) -> tuple[TileRow, Area, TileJob] | None:
    """A tile whose edges are there; None if there is none now.  ``left``: the rows that are not
    done, with the tiles that are not begun; one of each ``busy`` row is being computed."""
    while True:
        for row, areas in list(left.items()):
            while areas and row not in busy and row.ready(areas[0]):
                area = areas.pop(0)
                if (job := row.begin(area)) is not None:
                    return row, area, job
            if not areas and row not in busy:
                del left[row]
        last = next(reversed(left), None)
        if last is not None and (last.alone or not last.below.done):
            return None
        new = next(rows, None)
        if new is None:
            return None
        left[new] = list(new.areas)


class OnWorkers(Engine):
    """An engine whose tiles are computed by the workers of an executor (``concurrent.futures``),
    which may be other processes or other machines: tiles are plain values.  ``make``, a
    function of a module, makes each worker's engine; ``like``, one of that kind, says how tiles are
    cut."""

    def __init__(self, pool: Executor, make: Callable[[], Engine], like: Engine) -> None:
        self.plan, self.captures_inside = like.plan, like.captures_inside
        self._pool, self._make = pool, make

    def tile(self, job: TileJob) -> TileResult:
        return self._pool.submit(computed, self._make, job).result()


def computed(make: Callable[[], Engine], job: TileJob) -> TileResult:
    """The result of a job, by a worker; its edges are read from the device."""
    return result_of(*result_facts(_engine(make).tile(job)))


@cache
def _engine(make: Callable[[], Engine]) -> Engine:
    """The worker's engine."""
    return make()
