"""Which results are printed: those that score enough, or the best of each query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappush, heappushpop
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..results.formats.row import Row


def select(
    chunks: Iterable[Iterable[Row]], least: float | None, top: int | None
) -> Iterator[Iterable[Row]]:
    """The rows that score at least ``least``; with ``top``, of each query at most so many, the best
    first, and equal scores in the order they came in.

    The rows of a query come one after the other.  At most ``top`` of them are held."""
    query, best = None, _Best(top or 0)
    for chunk in chunks:
        if least is not None:
            chunk = [row for row in chunk if row.score >= least]
        if top is None:
            yield chunk
            continue
        done: list[Row] = []
        for row in chunk:
            if row.query is not query:
                done += best.taken()
                query = row.query
            best.add(row)
        yield done
    yield best.taken()


class _Best:
    """The best rows of a query."""

    def __init__(self, most: int) -> None:
        self._most, self._count = most, 0
        self._heap: list[tuple[float, int, Row]] = []  # the worst of them first

    def add(self, row: Row) -> None:
        """Take a row, or leave it if there are enough that are at least as good."""
        self._count += 1
        ranked = row.score, -self._count, row
        if len(self._heap) < self._most:
            heappush(self._heap, ranked)
        elif row.score > self._heap[0][0]:
            heappushpop(self._heap, ranked)

    def taken(self) -> list[Row]:
        """The best first; they are forgotten."""
        found = [row for _, _, row in sorted(self._heap, reverse=True)]
        self._heap, self._count = [], 0
        return found
