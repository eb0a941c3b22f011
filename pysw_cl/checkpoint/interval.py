"""How many rows lie between two special rows: what the disk may take, and what saving costs."""

from __future__ import annotations

import time
from math import ceil

from .edges import BandWriter

#: A band takes at least so long: launches cost little beside it, and a crash loses little by it.
LEAST_SECONDS = 2.0
#: A band takes at least so many times as long as its saving keeps the writer busy; and where the
#: device goes on with the next meanwhile, which leaves the writer a processor of its own.
LEAST_TIMES, LEAST_TIMES_BESIDE = 50, 2
#: A band is at most so many times as high as the last one for these two reasons: pruning, which
#: makes a band fast, may end in the next.
MOST_GROWTH = 4
#: A band has so many times the columns, one row of groups below the other, that it takes to give
#: all groups work.
FILL_TIMES = 100
#: Without a given size: so many rows at most, and so many bytes.
MOST_ROWS, MOST_BYTES = 128, 10 << 30
#: What a row is taken to need before one was written: bytes a cell, and a file's index.
CELL_BYTES, FILE_BYTES = 1.0, 2000
#: Room left for the last band, which has no row, and the result.
FINAL_BYTES = 2 * FILE_BYTES


def room(disk_size: int | None, used: int, free: int) -> int:
    """Bytes that a folder may still take, of which ``used`` are taken, on a disk with so many
    ``free``; None: `MOST_BYTES`, or half of what is free."""
    size = min(MOST_BYTES, used + free // 2) if disk_size is None else disk_size
    return size - used - FINAL_BYTES


class Pace:
    """Heights of bands for m x n cells, even and in multiples of ``quantum`` where possible.

    ``busy_rows``: rows that keep the whole device busy, once the first ones are ``fill`` columns
    ahead of the last.  ``disk_size``: bytes that the folder may take in all (None: `MOST_BYTES`,
    half of what is ``free`` on the disk, and no more than `MOST_ROWS` rows); ``used``: what it
    takes already; ``stop_at``: when the run is to end, by time.monotonic.  Speed and size are those
    of the last band.
    """

    def __init__(
        self,
        m: int,
        n: int,
        *,
        quantum: int,
        busy_rows: int,
        fill: int = 0,
        disk_size: int | None,
        used: int,
        free: int,
        stop_at: float | None,
    ) -> None:
        self.disk_size = min(MOST_BYTES, used + free // 2) if disk_size is None else disk_size
        self.n, self.quantum, self.used, self.stop_at = n, quantum, used, stop_at
        self._own_quantum, self._beside = quantum, False
        self._fewest = ceil(m / MOST_ROWS) if disk_size is None else 1
        self._filling = max(self._fewest, min(busy_rows * ceil(FILL_TIMES * fill / n), m))
        self._least = self._filling
        self._row_bytes = ceil(CELL_BYTES * n) + FILE_BYTES
        self._bands, self._height, self._since = 0, 0, time.monotonic()
        self._row_seconds = self._save_seconds = 0.0
        self._pending: list[BandWriter] = []

    def chained(self, rows: tuple[int, int] | None) -> None:
        """From now on bands follow each other without a pause: of at least so many rows, in
        multiples of the second number (None: they do not)."""
        self._beside = rows is not None
        least, self.quantum = rows or (self._filling, self._own_quantum)
        self._least, self._since = max(self._fewest, least), time.monotonic()

    def rows_left(self) -> int:
        """Special rows for which there is room."""
        while self._pending and self._pending[0].bytes:
            self._row_bytes = self._pending.pop(0).bytes
            self.used += self._row_bytes
        pending = len(self._pending) * self._row_bytes
        return max(0, self.disk_size - self.used - pending - FINAL_BYTES) // self._row_bytes

    def least_size(self) -> int:
        """A size of the folder that has room for one row."""
        return self.used + FINAL_BYTES + self._row_bytes

    def bands(self, rows: int) -> int:
        """Bands for so many rows."""
        return max(1, rows // self._shortest(rows)) if rows else 0

    def height(self, todo: int, rows: int) -> int:
        """Height of the next band: ``todo`` rows are to be computed in all, ``rows`` before the
        next saved one."""
        shortest = self._shortest(todo)
        height = ceil(rows / max(1, rows // shortest))
        if self.stop_at is not None and self._row_seconds and not self._beside:
            height = min(height, int((self.stop_at - time.monotonic()) / self._row_seconds))
        height = ceil(max(1, height) / self.quantum) * self.quantum
        self._height = min(rows, height)
        return self._height

    def saving(self, band: BandWriter) -> None:
        """A band is on its way to disk."""
        self._pending.append(band)

    def computed(self, height: int, busy: float) -> None:
        """The next band is computed; ``busy``: seconds that the writer has worked so far."""
        self._bands += 1
        now = time.monotonic()
        self._row_seconds, self._since = (now - self._since) / height, now
        self._save_seconds = busy / self._bands

    def _shortest(self, todo: int) -> int:
        height = max(self._least, ceil(todo / (self.rows_left() + 1)))
        if self._row_seconds:
            times = LEAST_TIMES_BESIDE if self._beside else LEAST_TIMES
            seconds = max(LEAST_SECONDS * (not self._beside), times * self._save_seconds)
            height = max(height, min(MOST_GROWTH * self._height, ceil(seconds / self._row_seconds)))
        return height
