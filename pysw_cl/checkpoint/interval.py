"""The time and the disk space of a job, and the heights of slabs: the rows between two saved
special rows.

More special rows lose less work when a run ends, and shorten the traceback.  Fewer take less disk
space and less time to save."""

from __future__ import annotations

import time
from math import ceil

from ..errors import Stopped
from ..planning.parameters import SavingTuning
from ..planning.plan import Plan
from .container import EdgeWriter
from .store import Store


def reserved(tuning: SavingTuning) -> int:
    """Bytes that stay reserved for the last slab, which has no special row, and the result."""
    return 2 * tuning.file_bytes


class SavedRun:
    """A run that saves to ``store``: when it has to stop (``stop_at``, by time.monotonic), and how
    many bytes the folder may take (``disk_size``).  ``before``: seconds of earlier runs."""

    def __init__(self, store: Store, stop_at: float | None, disk_size: int | None) -> None:
        self.store, self.stop_at, self.disk_size = store, stop_at, disk_size
        self.started, self.before = time.monotonic(), 0.0

    def space(self, tuning: SavingTuning) -> tuple[int, int]:
        """Bytes that the folder may take in all (by default the lesser of ``most_bytes`` and what
        it takes now with half of what is free on its disk), and takes now."""
        used, size = self.store.used(), self.disk_size
        if size is None:
            size = min(tuning.most_bytes, used + self.store.free() // 2)
        return size, used

    def seconds(self) -> float:
        """The seconds of the job so far, earlier runs included."""
        return self.before + time.monotonic() - self.started

    def late(self) -> bool:
        return self.stop_at is not None and time.monotonic() >= self.stop_at

    def stopped(self, what: str) -> Stopped:
        """The exception to raise then; its message says that ``what`` is done."""
        return Stopped(f"stopped as asked; {what} done; {self.store.how}")


class SlabHeights:
    """Chooses the heights of the slabs of m x n cells: even, and whole strips of the plan where
    possible.  Without a ``disk_size`` there are at most ``most_rows`` special rows.  Speed and file
    size are predicted from the last slab."""

    def __init__(self, m: int, n: int, plan: Plan, run: SavedRun) -> None:
        self._stop_at, self._tuning = run.stop_at, plan.tuning.saving
        tuning = self._tuning
        #: Bytes that the folder may take in all, and takes.
        self.disk_size, self._used = run.space(tuning)
        #: Bytes of a special row: an estimate, later those of the last slab on disk.
        self._row_bytes = ceil(tuning.cell_bytes * n) + tuning.file_bytes
        #: Slabs that were begun, up to the last one whose size is unknown.
        self._begun: list[EdgeWriter] = []
        #: Seconds that one row of the last slab took (0 before there is one), that the writer took
        #: for a slab on average, the slabs so far, and when the next one began.
        self._row_seconds = self._save_seconds = 0.0
        self._slabs, self._since = 0, time.monotonic()
        #: Heights are multiples of this: the engine's own, or that of its pipeline.
        self.quantum = self._own_quantum = plan.strip_rows
        #: Are slabs computed in a pipeline, the next one begun before the last is done?
        self._in_pipeline = False
        #: The least height that keeps the number of special rows within ``tuning.most_rows``.
        self._fewest = ceil(m / tuning.most_rows) if run.disk_size is None else 1
        #: The least height of a slab alone: its work is many times that of filling the device.
        filling = plan.device_rows * ceil(tuning.fill_times * plan.pipeline_lag / n)
        self._alone = max(self._fewest, min(filling, m))
        #: The least height now, and the height chosen last.
        self._least, self._height = self._alone, 0

    def pipelined(self, rows: tuple[int, int] | None) -> None:
        """From now on slabs follow each other in a pipeline: of at least so many rows, in
        multiples of the second number (None: in no pipeline)."""
        self._in_pipeline = rows is not None
        least, self.quantum = rows or (self._alone, self._own_quantum)
        self._least, self._since = max(self._fewest, least), time.monotonic()

    def rows_left(self) -> int:
        """Special rows that still fit on the disk."""
        while self._begun and self._begun[0].bytes:
            self._row_bytes = self._begun.pop(0).bytes
            self._used += self._row_bytes
        left = self.disk_size - self._used - reserved(self._tuning)
        return max(0, left // self._row_bytes - len(self._begun))

    def least_size(self) -> int:
        """The least ``disk_size`` with space for one more row."""
        return self._used + reserved(self._tuning) + self._row_bytes

    def height(self, todo: int, rows: int) -> int:
        """The height of the next slab: ``todo`` rows are left, ``rows`` up to a saved slab."""
        height = ceil(rows / max(1, rows // self._shortest(todo)))
        if self._stop_at is not None and self._row_seconds and not self._in_pipeline:
            height = min(height, int((self._stop_at - time.monotonic()) / self._row_seconds))
        self._height = min(rows, ceil(max(1, height) / self.quantum) * self.quantum)
        return self._height

    def saving(self, slab: EdgeWriter) -> None:
        """A slab was begun and will be written to disk."""
        self._begun.append(slab)

    def computed(self, height: int, busy: float) -> None:
        """The next slab is computed; ``busy``: seconds that the writer has worked in all."""
        self._slabs += 1
        now = time.monotonic()
        self._row_seconds, self._since = (now - self._since) / height, now
        self._save_seconds = busy / self._slabs

    def _shortest(self, todo: int) -> int:
        """The least height of the next slab: that of the device and of the disk space, and long
        enough that saving costs little.  It grows by ``tuning.most_growth`` times at most."""
        height = max(self._least, ceil(todo / (self.rows_left() + 1)))
        if self._row_seconds:
            tuning, saving = self._tuning, self._save_seconds
            seconds = max(tuning.least_seconds, tuning.least_times * saving)
            if self._in_pipeline:
                seconds = tuning.least_times_beside * saving
            most = tuning.most_growth * self._height
            height = max(height, min(most, ceil(seconds / self._row_seconds)))
        return height
