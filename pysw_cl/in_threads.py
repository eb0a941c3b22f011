"""Work on pieces of an array in a few threads: NumPy and zlib let others run meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

Given = TypeVar("Given")
Found = TypeVar("Found")
#: Pieces that are worked on side by side; fewer than a few are not worth threads.
AT_ONCE, FEW = min(16, os.cpu_count() or 1), 4


def in_threads(work: Callable[[Given], Found], things: Iterable[Given]) -> Iterator[Found]:
    """What ``work`` makes of each thing, in order; by threads where there are many."""
    things = iter(things)
    first = list(islice(things, FEW))
    waiting = chain(first, things)
    if len(first) < FEW:
        yield from map(work, waiting)
        return
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while some := list(islice(waiting, AT_ONCE)):
            yield from pool.map(work, some)


def each_at_once(work: Callable[..., Found], *given: Iterable[Given]) -> list[Found]:
    """What ``work`` makes of a few large things, each in a thread of its own."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(work, *given))
