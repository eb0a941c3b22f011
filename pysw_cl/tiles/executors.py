"""Executors: other ways through the graph of a sweep's tiles than one by one.

A tile needs nothing but plain values, so it may be computed by another device, or on another
machine.  Whatever computes the tiles, the results are the same to the last cell.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice
from threading import Condition, Thread

from .codec import pack_job, pack_result, unpack_job, unpack_result
from .contract import Engine, EngineLike
from .graph import TileRow
from .tile import Area, TileJob, TileResult

#: Makes an engine in another process; it can be pickled.
MakeEngine = Callable[[], Engine]


class InThreads:
    """Several engines, each of which computes in a thread of its own the next tile whose edges are
    there; those of upper rows first.

    ``engines``: of any kinds, but equal where they capture special rows and columns.
    """

    def __init__(self, engines: Sequence[Engine]) -> None:
        self._engines = list(engines)

    def compute(self, rows: Iterator[TileRow]) -> None:
        """See `Executor`.  The first error of a thread ends all of them, and is raised."""
        frontier = _Frontier(rows)
        threads = [Thread(target=frontier.work, args=(engine,)) for engine in self._engines]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException as error:  # such as Ctrl-C: no thread begins another tile
            frontier.stop(error)
            raise
        if frontier.error is not None:
            raise frontier.error


class _Frontier:
    """The tiles whose edges are there."""

    def __init__(self, rows: Iterator[TileRow]) -> None:
        self._rows, self._changed = rows, Condition()
        #: The rows that are not done: the tiles that are left of each, and is one being computed?
        self._open: list[tuple[TileRow, list[Area]]] = []
        self._busy: set[TileRow] = set()
        self._every = False  # was the last row begun?
        self.error: BaseException | None = None

    def stop(self, error: BaseException) -> None:
        """No thread begins another tile."""
        with self._changed:
            self.error = self.error or error
            self._changed.notify_all()

    def work(self, engine: Engine) -> None:
        """Compute tiles until all are done."""
        try:
            while (found := self._next()) is not None:
                row, area, job = found
                result = engine.tile(job)
                with self._changed:
                    row.take(area, result)
                    self._busy.remove(row)
                    self._changed.notify_all()
        except BaseException as error:
            self.stop(error)

    def _next(self) -> tuple[TileRow, Area, TileJob] | None:
        """The next tile to compute; waits for its edges.  None: there is no other one."""
        with self._changed:
            while self.error is None:
                found = self._ready()
                if found is None:
                    if self._every and not self._open:
                        return None
                    self._changed.wait()
                    continue
                row, area = found
                job = row.begin(area)
                if job is not None:
                    self._busy.add(row)
                    return row, area, job
                self._changed.notify_all()  # it was skipped
            return None

    def _ready(self) -> tuple[TileRow, Area] | None:
        """A tile whose edges are there, which is taken from its row."""
        self._open = [one for one in self._open if one[1] or one[0] in self._busy]
        for row, areas in self._open:
            if areas and row not in self._busy and row.ready(areas[0]):
                return row, areas.pop(0)
        last = self._open[-1][0] if self._open else None
        if self._every or (last is not None and (last.alone or not last.below.done)):
            return None
        for new in islice(self._rows, 1):
            self._open.append((new, list(new.areas)))
            return self._ready()
        self._every = True
        self._changed.notify_all()
        return None


class OnWorkers(EngineLike):
    """An engine whose tiles are computed by the workers of an executor (``concurrent.futures``),
    which may be other processes or other machines: tiles go there and back as bytes.

    ``make``: a function of a module that makes the engine of a worker, once in each.  ``like``: an
    engine of the same kind here, which says how tiles are cut.
    """

    def __init__(self, pool: concurrent.futures.Executor, make: MakeEngine, like: Engine) -> None:
        super().__init__(like)
        self._pool, self._make = pool, make

    def tile(self, job: TileJob) -> TileResult:
        return unpack_result(self._pool.submit(computed, self._make, pack_job(job)).result())


def computed(make: MakeEngine, job: bytes) -> bytes:
    """The packed result of a packed job, by a worker."""
    return pack_result(_engine(make).tile(unpack_job(job)))


@cache
def _engine(make: MakeEngine) -> Engine:
    """The worker's engine."""
    return make()
