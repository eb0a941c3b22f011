"""Seconds on the device by kernel, from the events of launches, for runs that ask for them."""

from __future__ import annotations

import threading
from typing import Any

#: Events that are kept before those of finished launches are read and dropped.
MOST_KEPT = 1024


class KernelTimes:
    """The times of launches on queues with profiling.  Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: list[tuple[str, Any]] = []
        self._nanoseconds: dict[str, int] = {}

    def add(self, name: str, event: Any) -> None:
        """Count a launch of a kernel by its event."""
        with self._lock:
            self._kept.append((name, event))
            if len(self._kept) >= MOST_KEPT:
                self._read_finished()

    def total(self) -> dict[str, int]:
        """Nanoseconds by kernel of all launches so far; waits for them."""
        with self._lock:
            kept, self._kept = self._kept, []
            for name, event in kept:
                self._read(name, event)
            return dict(self._nanoseconds)

    def _read_finished(self) -> None:
        """Read and drop the events of launches that are over."""
        import pyopencl as cl

        still, complete = [], cl.command_execution_status.COMPLETE
        for name, event in self._kept:
            if event.command_execution_status == complete:
                self._read(name, event)
            else:
                still.append((name, event))
        self._kept = still

    def _read(self, name: str, event: Any) -> None:
        import pyopencl as cl

        try:
            event.wait()
            note_memory = int(event.profile.end) - int(event.profile.start)
        except cl.Error:  # it failed, which is reported where its results are read
            return
        self._nanoseconds[name] = self._nanoseconds.get(name, 0) + note_memory


class Stopwatch:
    """What kernels take from when this is made; nothing without ``times``."""

    def __init__(self, times: KernelTimes | None) -> None:
        self._times = times
        self._before = {} if times is None else times.total()

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds by kernel; waits for what was launched."""
        if self._times is None:
            return {}
        total = self._times.total().items()
        note_memory = {name: now - self._before.get(name, 0) for name, now in total}
        return {name: value / 1e9 for name, value in note_memory.items() if value}
