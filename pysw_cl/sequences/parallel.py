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


def in_threads(
    work: Callable[[Given], Found], things: Iterable[Given], few: int = FEW
) -> Iterator[Found]:
    """What ``work`` makes of each thing, in order; by threads where there are ``few`` or more."""
    things = iter(things)
    first = list(islice(things, few))
    waiting = chain(first, things)
    if len(first) < few:
        yield from map(work, waiting)
        return
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while some := list(islice(waiting, AT_ONCE)):
            yield from pool.map(work, some)
