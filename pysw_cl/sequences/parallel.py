"""Work on pieces of an array in a few threads, for NumPy and zlib, which release Python's lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

Given = TypeVar("Given")
Found = TypeVar("Found")
#: The most pieces that are worked on at once, and the fewest that are worth threads.
AT_ONCE, FEW = min(16, os.cpu_count() or 1), 4


def in_threads(
    work: Callable[[Given], Found], things: Iterable[Given], few: int = FEW
) -> Iterator[Found]:
    """``work(thing)`` for each thing, in order; in threads if there are ``few`` things or more."""
    things = iter(things)
    first = list(islice(things, few))
    waiting = chain(first, things)
    if len(first) < few:
        yield from map(work, waiting)
        return
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while some := list(islice(waiting, AT_ONCE)):
            yield from pool.map(work, some)
