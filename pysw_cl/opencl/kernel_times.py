"""Seconds on the device by kernel, from the events of launches, for runs that ask for them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
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
        import pyopencl as cl

        with self._lock:
            self._kept.append((name, event))
            if len(self._kept) >= MOST_KEPT:
                complete = cl.command_execution_status.COMPLETE
                self._read(lambda event: event.command_execution_status == complete)

    def total(self) -> dict[str, int]:
        """Nanoseconds by kernel of all launches so far; waits for them."""
        with self._lock:
            self._read(lambda event: True)
            return dict(self._nanoseconds)

    def _read(self, wanted: Callable[[Any], bool]) -> None:
        """Read and drop the wanted events, but those of launches that failed, which is reported
        where their results are read."""
        import pyopencl as cl

        kept, self._kept = self._kept, []
        for name, event in kept:
            if not wanted(event):
                self._kept.append((name, event))
                continue
            with suppress(cl.Error):
                event.wait()
                taken = int(event.profile.end) - int(event.profile.start)
                self._nanoseconds[name] = self._nanoseconds.get(name, 0) + taken


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
        taken = {name: now - self._before.get(name, 0) for name, now in total}
        return {name: value / 1e9 for name, value in taken.items() if value}
