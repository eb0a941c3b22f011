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


@dataclass(frozen=True)
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

    def __str__(self) -> str:
        return f"building kernels for {self.device}: {self.number} of at most {self.expected}"


#: Called with a build and whether it has ended; from any thread.
Listener = Callable[[Build, bool], None]

_listeners: list[Listener] = []
_call = threading.local()


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
    belongs to it."""
    if getattr(_call, "expected", 0):
        yield
        return
    _call.expected, _call.number = count, 0
    try:
        yield
    finally:
        _call.expected = 0


def begun(device: str, kernel: str) -> Build | None:
    """A build begins; None if nobody is told of it."""
    inside = bool(getattr(_call, "expected", 0))
    if inside:
        _call.number += 1
    if not _listeners and not LOG.isEnabledFor(logging.INFO):
        return None
    number = _call.number if inside else 1
    build = Build(device, kernel, number, max(number, _call.expected if inside else 1))
    LOG.info("%s", build)
    for listener in list(_listeners):
        listener(build, False)
    return build


def ended(build: Build | None) -> None:
    """A build has ended, or failed."""
    if build is not None:
        for listener in list(_listeners):
            listener(build, True)
