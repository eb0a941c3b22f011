"""Who is told that kernels are built, which may take seconds: the log, and a thread's listener."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

LOG = logging.getLogger("pysw_cl")


class Build(NamedTuple):
    """The build of one program, or its reading from a file."""

    #: The names of the device, and of the kernel that it is built for.
    device: str
    kernel: str
    #: Its number among the programs of the present call, from 1, and the most that this needs.
    number: int
    expected: int
    #: Is it read from a file that is kept (`pysw_cl.opencl.kernel_store`)?
    kept: bool

    def __str__(self) -> str:
        return f"building kernels for {self.device}: {self.number} of at most {self.expected}"


class _Thread(threading.local):
    """The most programs that this thread's present call needs, how many it had, and who listens."""

    expected = number = 0
    listener: Callable[[Build], None] | None = None


_here = _Thread()


@contextmanager
def listening(listener: Callable[[Build], None]) -> Iterator[None]:
    """A context in which ``listener`` is told of each build that begins in this thread."""
    before, _here.listener = _here.listener, listener
    try:
        yield
    finally:
        _here.listener = before


@contextmanager
def expecting(count: int) -> Iterator[None]:
    """A call of this thread, with those inside it, that needs at most ``count`` programs."""
    before = _here.expected
    if not before:
        _here.expected, _here.number = count, 0
    try:
        yield
    finally:
        _here.expected = before


def begun(device: str, kernel: str, kept: bool = False) -> None:
    """A build begins, or the reading of one that is ``kept``."""
    _here.number = _here.number + 1 if _here.expected else 1
    build = Build(device, kernel, _here.number, max(_here.number, _here.expected), kept)
    LOG.info("%s", build)
    if _here.listener is not None:
        _here.listener(build)
