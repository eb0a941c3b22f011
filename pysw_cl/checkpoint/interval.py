"""The heights of slabs: how many rows lie between two saved special rows.

More special rows lose less work when a run ends, and shorten the traceback.  Fewer take less disk
space and less time to save.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import ceil

from ..planning.parameters import SavingTuning, default_tuning
from .edges import SlabWriter


def final_bytes(tuning: SavingTuning) -> int:
    """Bytes that stay reserved for the last slab, which has no special row, and the result."""
    return 2 * tuning.file_bytes


def size_of(tuning: SavingTuning, disk_size: int | None, used: int, free: int) -> int:
    """Bytes that a folder may take in all.

    ``used`` of them are taken, and ``free`` are free on the disk.  ``disk_size`` None: the lesser
    of ``tuning.most_bytes`` and what is used plus half of what is free.
    """
    return min(tuning.most_bytes, used + free // 2) if disk_size is None else disk_size


def disk_budget(tuning: SavingTuning, disk_size: int | None, used: int, free: int) -> int:
    """Bytes that the folder may still take; the arguments are those of :func:`size_of`."""
    return size_of(tuning, disk_size, used, free) - used - final_bytes(tuning)


class _DiskSpace:
    """The disk space of a folder of ``size`` bytes, and how many special rows fit in the rest."""

    def __init__(self, tuning: SavingTuning, size: int, used: int, row_bytes: int) -> None:
        self.size, self.used = size, used
        #: Bytes of a special row: an estimate, later those of the last slab on disk.
        self.row_bytes = row_bytes
        self._reserved = final_bytes(tuning)
        #: Slabs that were begun, up to the last one whose size is unknown.
        self._pending: list[SlabWriter] = []

    def begin(self, slab: SlabWriter) -> None:
        """Count a slab that will be written."""
        self._pending.append(slab)

    def rows_left(self) -> int:
        """Special rows that still fit."""
        while self._pending and self._pending[0].bytes:
            self.row_bytes = self._pending.pop(0).bytes
            self.used += self.row_bytes
        pending = len(self._pending) * self.row_bytes
        return max(0, self.size - self.used - pending - self._reserved) // self.row_bytes

    def least_size(self) -> int:
        """The least size of the folder with space for one more row."""
        return self.used + self._reserved + self.row_bytes


class _Speed:
    """Times of the slabs that were computed in this run, by ``clock``."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        #: Seconds that one row of the last slab took; 0 before there is one.
        self.row_seconds = 0.0
        #: Seconds that the writer took for a slab, on average.
        self.save_seconds = 0.0
        self._slabs, self._since = 0, clock()

    def restart(self) -> None:
        """The next slab begins now."""
        self._since = self._clock()

    def computed(self, height: int, writer_seconds: float) -> None:
        """A slab of so many rows is computed; the writer has worked so long in all."""
        self._slabs += 1
        now = self._clock()
        self.row_seconds, self._since = (now - self._since) / height, now
        self.save_seconds = writer_seconds / self._slabs


class SlabHeights:
    """Chooses the heights of the slabs of m x n cells: even, and multiples of ``quantum`` rows
    where possible.

    ``device_rows``: rows that keep the whole device busy, once the first ones are ``pipeline_lag``
    columns ahead of the last.  ``disk_size``: bytes that the folder may take; None: as in
    :func:`size_of`, and at most ``tuning.most_rows`` special rows.  ``used``, ``free``: bytes that
    the folder takes and that are free on its disk.  ``stop_at``: when the run has to end, by
    ``clock``.  Speed and file size are predicted from the last slab.
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
        row_bytes = ceil(tuning.cell_bytes * n) + tuning.file_bytes
        self._space = _DiskSpace(tuning, size_of(tuning, disk_size, used, free), used, row_bytes)
        self._speed = _Speed(clock)
        self._stop_at = stop_at
        #: Heights are multiples of this: the engine's own, or that of its pipeline.
        self.quantum = self._own_quantum = quantum
        #: Are slabs computed in a pipeline, the next one begun before the last is done?
        self._in_pipeline = False
        #: The least height that keeps the number of special rows within ``tuning.most_rows``.
        self._fewest = ceil(m / tuning.most_rows) if disk_size is None else 1
        #: The least height of a slab alone: its work is many times that of filling the device.
        self._alone = max(
            self._fewest, min(device_rows * ceil(tuning.fill_times * pipeline_lag / n), m)
        )
        #: The least height now: alone, or in the pipeline.
        self._least = self._alone
        #: The height chosen last.
        self._height = 0

    @property
    def disk_size(self) -> int:
        """Bytes that the folder may take in all."""
        return self._space.size

    def pipelined(self, rows: tuple[int, int] | None) -> None:
        """From now on slabs follow each other in a pipeline: of at least so many rows, in
        multiples of the second number (None: in no pipeline)."""
        self._in_pipeline = rows is not None
        least, self.quantum = rows or (self._alone, self._own_quantum)
        self._least = max(self._fewest, least)
        self._speed.restart()

    def rows_left(self) -> int:
        """Special rows that still fit on the disk."""
        return self._space.rows_left()

    def least_size(self) -> int:
        """The least ``disk_size`` with space for one more row."""
        return self._space.least_size()

    def slabs(self, rows: int) -> int:
        """How many slabs so many rows will have."""
        return max(1, rows // self._shortest(rows)) if rows else 0

    def height(self, todo: int, rows: int) -> int:
        """The height of the next slab.  ``todo`` rows are left to be computed in all, ``rows`` of
        them above the next slab that is saved already."""
        shortest = self._shortest(todo)
        height = ceil(rows / max(1, rows // shortest))
        row_seconds = self._speed.row_seconds
        if self._stop_at is not None and row_seconds and not self._in_pipeline:
            height = min(height, int((self._stop_at - self._clock()) / row_seconds))
        height = ceil(max(1, height) / self.quantum) * self.quantum
        self._height = min(rows, height)
        return self._height

    def saving(self, slab: SlabWriter) -> None:
        """A slab was begun and will be written to disk."""
        self._space.begin(slab)

    def computed(self, height: int, busy: float) -> None:
        """The next slab is computed; ``busy``: seconds that the writer has worked in all."""
        self._speed.computed(height, busy)

    def _shortest(self, todo: int) -> int:
        """The least height of the next slab: that of the device and of the disk space, and long
        enough that saving costs little.  It grows by ``tuning.most_growth`` times at most."""
        height = max(self._least, ceil(todo / (self.rows_left() + 1)))
        row_seconds = self._speed.row_seconds
        if row_seconds:
            tuning = self._tuning
            times = tuning.least_times_beside if self._in_pipeline else tuning.least_times
            seconds = times * self._speed.save_seconds
            if not self._in_pipeline:
                seconds = max(tuning.least_seconds, seconds)
            most = tuning.most_growth * self._height
            height = max(height, min(most, ceil(seconds / row_seconds)))
        return height
