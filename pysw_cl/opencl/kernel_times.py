"""Seconds on the device by kernel, from the events of launches, for runs that ask for them."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import suppress
from typing import Any

#: Events that are kept before those of finished launches are read and dropped.
MOST_KEPT = 1024


class KernelTimes:
    """The times of launches on queues with profiling.  Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: list[tuple[str, Any]] = []
        self._nanoseconds = Counter[str]()

    def add(self, name: str, event: Any) -> None:
        """Count a launch of a kernel by its event."""
        with self._lock:
            self._kept.append((name, event))
            if len(self._kept) >= MOST_KEPT:
                self._read(False)

    def total(self) -> Counter[str]:
        """Nanoseconds by kernel of all launches so far; waits for them."""
        with self._lock:
            self._read(True)
            return self._nanoseconds.copy()

    def _read(self, waits: bool) -> None:
        """Read and drop the events of launches that are over, or of all.  Those that failed do not
        count, which is reported where their results are read."""
        import pyopencl as cl

        kept, self._kept = self._kept, []
        for name, event in kept:
            if not waits and event.command_execution_status != cl.command_execution_status.COMPLETE:
                self._kept.append((name, event))
                continue
            with suppress(cl.Error):
                event.wait()
                self._nanoseconds[name] += int(event.profile.end) - int(event.profile.start)


class Stopwatch:
    """What kernels take from when this is made; nothing without ``times``."""

    def __init__(self, times: KernelTimes | None) -> None:
        self._times = times
        self._before = Counter[str]() if times is None else times.total()

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds by kernel; waits for what was launched."""
        if self._times is None:
            return {}
        return {name: took / 1e9 for name, took in (self._times.total() - self._before).items()}
