"""A line on a terminal that says that kernels are built, where that takes a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from ..opencl.builds import Build, listening

#: Seconds of builds before anything is said.
DELAY = 1.0


class BuildLine:
    """Listens to builds: writes one line to ``stream`` as long as kernels are built, from ``delay``
    seconds after the first build began.  It is wiped when the build has ended."""

    def __init__(self, stream: TextIO, delay: float = DELAY) -> None:
        self._stream, self._delay = stream, delay
        self._lock = threading.Lock()
        self._first: float | None = None
        self._timer: threading.Timer | None = None
        self._building: list[Build] = []
        self._drawn = 0

    def __call__(self, build: Build, ended: bool) -> None:
        with self._lock:
            if ended:
                self._building = [one for one in self._building if one is not build]
                if not self._building:
                    self._wipe()
                return
            now = time.monotonic()
            self._first = now if self._first is None else self._first
            self._building.append(build)
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(max(0, self._first + self._delay - now), self._draw)
            self._timer.daemon = True
            self._timer.start()

    def close(self) -> None:
        """Say no more."""
        with self._lock:
            self._building = []
            if self._timer is not None:
                self._timer.cancel()
            self._wipe()

    def _draw(self) -> None:
        with self._lock:
            if self._building:
                build = self._building[-1]
                numbers = f"{build.number} of at most {build.expected}"
                line = f"building kernels for this device, once: {numbers}"
                self._stream.write("\r" + line.ljust(self._drawn))
                self._stream.flush()
                self._drawn = len(line)

    def _wipe(self) -> None:
        if self._drawn:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._stream.flush()
            self._drawn = 0


@contextmanager
def builds_shown(stream: TextIO) -> Iterator[None]:
    """A context in which builds are shown on ``stream``, if it is a terminal."""
    if not stream.isatty():
        yield
        return
    line = BuildLine(stream)
    try:
        with listening(line):
            yield
    finally:
        line.close()
