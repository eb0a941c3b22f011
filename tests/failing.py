"""Devices that fail: calls of OpenCL that raise, at a random one of them or from then on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyopencl as cl

CALLS = "enqueue_nd_range_kernel", "enqueue_copy"


class Failing:
    """Counts the calls of a context (None: of all), of which some fail."""

    def __init__(self, context: Any = None, first: int = 1 << 62, forever: bool = False) -> None:
        self.context, self.first, self.forever = context, first, forever
        self.calls = self.failed = 0

    def call(self, real: Callable[..., Any], queue: Any, *given: Any, **named: Any) -> Any:
        if self.context is None or queue.context == self.context:
            self.calls += 1
            if self.calls == self.first or (self.forever and self.calls > self.first):
                self.failed += 1
                raise cl.RuntimeError("the device is gone")
        return real(queue, *given, **named)


@contextmanager
def failing(context: Any = None, first: int = 1 << 62, forever: bool = False) -> Iterator[Failing]:
    """The ``first`` of these calls fails, or all from it on."""
    one, before = Failing(context, first, forever), {name: getattr(cl, name) for name in CALLS}
    for name, real in before.items():
        call = lambda *given, real=real, **named: one.call(real, *given, **named)  # noqa: E731
        setattr(cl, name, call)
    try:
        yield one
    finally:
        for name, real in before.items():
            setattr(cl, name, real)
