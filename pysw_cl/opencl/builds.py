"""Who is told that kernels are built: the log, and whoever listens.

A build takes seconds on some devices, once: drivers keep what they built on disk.  Some generate
machine code only at a program's first launch, which counts as part of its build.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

LOG = logging.getLogger("pysw_cl")


@dataclass
class Build:
    """The build of one program, or its reading from the driver's cache."""

    #: The device's name.
    device: str
    #: The kernel that it is built for.
    kernel: str
    #: Its number among the programs of the present call, from 1.
    number: int
    #: The most programs that the call is expected to need, of which some may be built already.
    expected: int
    #: Is it read from a file that is kept (`pysw_cl.opencl.kernel_store`)?
    kept: bool = False
    #: Has it ended?
    over: bool = False

    def __str__(self) -> str:
        return f"building kernels for {self.device}: {self.number} of at most {self.expected}"


#: Called with a build and whether it has ended; from any thread.
Listener = Callable[[Build, bool], None]


class _Call(threading.local):
    """A call of this thread: the most programs that it needs, how many it had, and their builds."""

    expected = number = 0
    builds: list[Build]


_listeners: list[Listener] = []
_call, _lock = _Call(), threading.Lock()


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """A context in which ``listener`` is told of each build, of every thread, when it begins and
    when it ends."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextmanager
def expecting(count: int) -> Iterator[None]:
    """A call of this thread that needs at most ``count`` programs.  A call inside another one
    belongs to it.  When it returns, its builds have ended."""
    if _call.expected:
        yield
        return
    _call.expected, _call.number, _call.builds = count, 0, []
    try:
        yield
    finally:
        _call.expected = 0
        for build in _call.builds:
            ended(build)


def begun(device: str, kernel: str, kept: bool = False) -> Build | None:
    """A build begins, or the reading of one that is ``kept``; None if nobody is told of it."""
    inside = _call.expected > 0
    _call.number += inside
    if not _listeners and not LOG.isEnabledFor(logging.INFO):
        return None
    number = _call.number if inside else 1
    build = Build(device, kernel, number, max(number, _call.expected), kept)
    LOG.info("%s", build)
    if inside:
        _call.builds.append(build)
    for listener in list(_listeners):
        listener(build, False)
    return build


def ended(build: Build | None) -> None:
    """A build has ended, or failed.  It ends once, whoever finds out first."""
    with _lock:
        if build is None or build.over:
            return
        build.over = True
    for listener in list(_listeners):
        listener(build, True)
