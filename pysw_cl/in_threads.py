"""Work on pieces of an array in a few threads: NumPy and zlib let others run meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Done = TypeVar("Done")
#: Pieces that are worked on side by side.
AT_ONCE = min(8, os.cpu_count() or 1)


def in_threads(work: Callable[[Item], Done], items: Iterable[Item]) -> Iterator[Done]:
    """``work`` of each item, in order; at most `AT_ONCE` items and results are held."""
    listed = iter(items)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while some := list(islice(listed, AT_ONCE)):
            yield from pool.map(work, some) if len(some) > 1 else map(work, some)
