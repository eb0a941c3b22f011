"""What computes the tiles of a sweep at once: each needs nothing but plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial

from ..errors import DeviceError
from .contract import Engine
from .graph import TileRow
from .tile import Area, TileJob, TileResult


class InThreads:
    """Several engines, each of which computes in a thread of its own the next tile whose edges are
    there, those of upper rows first.  They are equal where they capture special rows and columns.
    One that fails is left out, and its tile is computed by another one; the error of the last one
    is raised.  ``leave_out`` gets the error of another one, with its number among those left."""

    def __init__(
        self, engines: Sequence[Engine], leave_out: Callable[[DeviceError], object] = str
    ) -> None:
        self._engines, self._leave_out = list(engines), leave_out

    def __call__(self, rows: Iterator[TileRow]) -> None:
        """Compute all tiles of some rows.  Another error ends that, once those begun are done."""
        free, left = list(self._engines), dict[TileRow, list[Area]]()
        again = list[tuple[TileRow, Area, TileJob]]()
        running: dict[Future[TileResult], tuple[TileRow, Area, TileJob, Engine]] = {}
        with ThreadPoolExecutor(len(free)) as threads:
            while True:
                busy = {row for row, *_ in running.values()} | {row for row, *_ in again}
                found = again.pop() if free and again else None
                if free and (found := found or next_tile(rows, left, busy)) is not None:
                    engine = free.pop()
                    tile = partial(engine.tile, found[2])
                    running[threads.submit(engine.noted, tile, found[1])] = *found, engine
                elif not running:
                    return
                else:
                    for done in wait(running, return_when=FIRST_COMPLETED).done:
                        row, area, job, engine = running.pop(done)
                        try:
                            result = done.result()
                        except DeviceError as error:
                            if len(self._engines) == 1:
                                raise
                            error.device = self._engines.index(engine)
                            del self._engines[error.device]
                            self._leave_out(error)
                            again.append((row, area, job))
                        else:
                            row.take(area, result)
                            free.append(engine)


def next_tile(
    rows: Iterator[TileRow],
    left: dict[TileRow, list[Area]],
    busy: set[TileRow],
    hurry: Callable[[Area], float] = lambda area: 0.0,
) -> tuple[TileRow, Area, TileJob] | None:
    """A tile whose edges are there, the one with most ``hurry``, of equals the uppermost; None if
    there is none now.  ``left``: the rows that are not done, with the tiles that are not begun; one
    of each ``busy`` row is being computed."""
    while True:
        for row, areas in list(left.items()):
            if not areas and row not in busy:
                del left[row]
        last = next(reversed(left), None)
        if last is None or (last.below.done and not last.alone):
            new = next(rows, None)
            if new is not None:
                left[new] = list(new.areas)
        ready = (row for row in left if left[row] and row not in busy and row.ready(left[row][0]))
        found = max(ready, key=lambda row: hurry(left[row][0]), default=None)
        if found is None:
            return None
        area = left[found].pop(0)
        if (job := found.begin(area)) is not None:
            return found, area, job
