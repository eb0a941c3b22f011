"""A progress callback that draws a bar of one line on a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

_WIDTH = 30


def duration(seconds: float) -> str:
    """A time span as ``m:ss`` or ``h:mm:ss``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Estimate:
    """The time that a run has left, from what its progress callback is told.

    The first cells take longer than others, because kernels are built for them: as soon as there
    are more, the speed is that of those that follow.
    """

    def __init__(self) -> None:
        self._told: list[tuple[float, int]] = []

    def seconds_left(self, done: int, total: int, now: float) -> float | None:
        """Seconds that are left at ``now``, or None while nothing tells a speed."""
        if len(self._told) < 2 and (not self._told or done > self._told[-1][1]):
            self._told.append((now, done))
        for then, before in reversed(self._told):
            if done > before:
                return (total - done) * (now - then) / (done - before)
        return None


class ProgressBar:
    """A progress callback that draws cells done, GCUPS and the time left on ``stream``.

    Speed and time left (`Estimate`) count from the first call of a run, so what an earlier run had
    done is no part of them.  Nothing is drawn before ``delay`` seconds have passed, so a short run
    leaves no trace; after that the line is drawn again at most every ``interval`` seconds.
    ``begin`` starts another run on the same line, so that many short ones show, too.  ``clear``
    wipes it.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        delay: float = 0.5,
        interval: float = 0.1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._interval = interval
        self._clock = clock
        self._first: tuple[float, int] | None = None
        self._estimate = Estimate()
        self._next = clock() + delay
        self._drawn = 0
        self._label = ""

    def begin(self, label: str) -> None:
        """The next run starts now; ``label`` stands before its bar."""
        self._first, self._estimate = None, Estimate()
        self._label = label

    def __call__(self, done: int, total: int) -> None:
        now = self._clock()
        if self._first is None:
            self._first = now, done
        left = self._estimate.seconds_left(done, total, now)
        if now < self._next or total <= 0:
            return
        self._next = now + self._interval
        share = min(1.0, done / total)
        started, before = self._first
        rate = (done - before) / max(now - started, 1e-9)
        speed = "" if left is None else f"{rate / 1e9:8.2f} GCUPS  {duration(left)} left"
        filled = int(share * _WIDTH)
        bar = "#" * filled + "." * (_WIDTH - filled)
        self._draw(f"{self._label}[{bar}] {share:6.1%} {speed}".rstrip())

    def clear(self) -> None:
        """Wipe the line, if one was drawn."""
        if self._drawn:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._stream.flush()
            self._drawn = 0

    def _draw(self, line: str) -> None:
        self._stream.write("\r" + line.ljust(self._drawn))
        self._stream.flush()
        self._drawn = max(self._drawn, len(line))


@contextmanager
def progress_bar(stream: TextIO) -> Iterator[ProgressBar | None]:
    """A progress bar on a stream that is a terminal, wiped at the end; else None."""
    if not stream.isatty():
        yield None
        return
    bar = ProgressBar(stream)
    try:
        yield bar
    finally:
        bar.clear()
