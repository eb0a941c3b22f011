"""Routes scikit-bio's own names through this package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any

from skbio import alignment
from skbio.alignment import _pair

from . import pairs
from .pairs import ORIGINAL

#: The device of the block of `use` that this thread or task is in, in a list; None outside.
_device: ContextVar[Any] = ContextVar("pysw_cl.skbio device", default=None)
#: The device of `install`, if it was called.
_everywhere: list[Any] = []


def install(device: Any = "auto") -> None:
    """Route scikit-bio's `pair_align`, `pair_align_nucl` and `pair_align_prot` through this
    package, for code that cannot be edited, until `uninstall`.

    Names that were bound before (``from skbio.alignment import pair_align``) are not routed.
    """
    _put_dispatchers()
    _everywhere[:] = [device]


def uninstall() -> None:
    """Take back `install`; inside `use` calls are still routed."""
    _everywhere.clear()


@contextmanager
def use(device: Any = "auto") -> Iterator[None]:
    """`install` for a block of code, in this thread or task only; blocks may be nested."""
    _put_dispatchers()
    token = _device.set([device])
    try:
        yield
    finally:
        _device.reset(token)


def _put_dispatchers() -> None:
    for name, original in ORIGINAL.items():
        if getattr(alignment, name) is original:
            dispatcher = _dispatcher(name, original)
            setattr(alignment, name, dispatcher)
            setattr(_pair, name, dispatcher)


def _dispatcher(name: str, original: Any) -> Any:
    ours = getattr(pairs, name)

    @wraps(original)
    def route(*args: Any, **kwargs: Any) -> Any:
        chosen = _device.get() or _everywhere
        return ours(*args, **kwargs, device=chosen[0]) if chosen else original(*args, **kwargs)

    return route
