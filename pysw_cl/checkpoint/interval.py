"""How many rows lie between two special rows: what the disk may take, and what saving costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import ceil

from ..planning.parameters import SavingTuning, default_tuning
from .edges import SlabWriter


def final_bytes(tuning: SavingTuning) -> int:
    """Room that is left for the last slab, which has no row, and the result."""
    return 2 * tuning.file_bytes


def size_of(tuning: SavingTuning, disk_size: int | None, used: int, free: int) -> int:
    """Bytes that a folder may take, of which ``used`` are taken, on a disk with so many ``free``;
    None: ``tuning.most_bytes``, or half of what is free."""
    return min(tuning.most_bytes, used + free // 2) if disk_size is None else disk_size


def disk_budget(tuning: SavingTuning, disk_size: int | None, used: int, free: int) -> int:
    """Bytes that it may still take."""
    return size_of(tuning, disk_size, used, free) - used - final_bytes(tuning)


class SlabHeights:
    """Heights of bands for m x n cells, even and in multiples of ``quantum`` where possible.

    ``device_rows``: rows that keep the whole device busy, once the first ones are ``pipeline_lag``
    columns ahead of the last.  ``disk_size``: bytes that the folder may take in all (None: those of
    ``tuning``, half of what is ``free`` on the disk, and no more rows than it says); ``used``: what
    it takes already; ``stop_at``: when the run is to end, by ``clock``.  Speed and size are
    those of the last band.
    """

    def __init__(
        self,
        m: int,
        n: int,
        *,
        quantum: int,
        device_rows: int,
        pipeline_lag: int = 0,
        disk_size: int | None,
        used: int,
        free: int,
        stop_at: float | None,
        tuning: SavingTuning | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._tuning = tuning = tuning or default_tuning().saving
        self.disk_size = size_of(tuning, disk_size, used, free)
        self.n, self.quantum, self.used, self.stop_at = n, quantum, used, stop_at
        self._own_quantum, self._beside = quantum, False
        self._fewest = ceil(m / tuning.most_rows) if disk_size is None else 1
        self._filling = max(
            self._fewest, min(device_rows * ceil(tuning.fill_times * pipeline_lag / n), m)
        )
        self._least = self._filling
        self._row_bytes = ceil(tuning.cell_bytes * n) + tuning.file_bytes
        self._slabs, self._height, self._since = 0, 0, clock()
        self._row_seconds = self._save_seconds = 0.0
        self._pending: list[SlabWriter] = []

    def chained(self, rows: tuple[int, int] | None) -> None:
        """From now on bands follow each other without a pause: of at least so many rows, in
        multiples of the second number (None: they do not)."""
        self._beside = rows is not None
        least, self.quantum = rows or (self._filling, self._own_quantum)
        self._least, self._since = max(self._fewest, least), self._clock()

    def rows_left(self) -> int:
        """Special rows for which there is room."""
        while self._pending and self._pending[0].bytes:
            self._row_bytes = self._pending.pop(0).bytes
            self.used += self._row_bytes
        pending = len(self._pending) * self._row_bytes
        left = self.disk_size - self.used - pending - final_bytes(self._tuning)
        return max(0, left) // self._row_bytes

    def least_size(self) -> int:
        """A size of the folder that has room for one row."""
        return self.used + final_bytes(self._tuning) + self._row_bytes

    def slabs(self, rows: int) -> int:
        """Bands for so many rows."""
        return max(1, rows // self._shortest(rows)) if rows else 0

    def height(self, todo: int, rows: int) -> int:
        """Height of the next band: ``todo`` rows are to be computed in all, ``rows`` before the
        next saved one."""
        shortest = self._shortest(todo)
        height = ceil(rows / max(1, rows // shortest))
        if self.stop_at is not None and self._row_seconds and not self._beside:
            height = min(height, int((self.stop_at - self._clock()) / self._row_seconds))
        height = ceil(max(1, height) / self.quantum) * self.quantum
        self._height = min(rows, height)
        return self._height

    def saving(self, slab: SlabWriter) -> None:
        """A band is on its way to disk."""
        self._pending.append(slab)

    def computed(self, height: int, busy: float) -> None:
        """The next band is computed; ``busy``: seconds that the writer has worked so far."""
        self._slabs += 1
        now = self._clock()
        self._row_seconds, self._since = (now - self._since) / height, now
        self._save_seconds = busy / self._slabs

    def _shortest(self, todo: int) -> int:
        height = max(self._least, ceil(todo / (self.rows_left() + 1)))
        if self._row_seconds:
            tuning = self._tuning
            times = tuning.least_times_beside if self._beside else tuning.least_times
            seconds = max(tuning.least_seconds * (not self._beside), times * self._save_seconds)
            most = tuning.most_growth * self._height
            height = max(height, min(most, ceil(seconds / self._row_seconds)))
        return height
