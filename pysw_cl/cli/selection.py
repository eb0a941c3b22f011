"""Which results are printed: those that score enough, or the best of each query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import nlargest
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..results.formats.row import Row


def select(
    chunks: Iterable[Iterable[Row]], least: float | None, top: int | None
) -> Iterator[Iterable[Row]]:
    """The rows that score at least ``least``; with ``top``, of each query at most so many, the best
    first, and equal scores in the order they came in.

    The rows of a query come one after the other.  At most ``top`` of them, and those of a
    chunk, are held."""
    best: list[Row] = []
    for chunk in chunks:
        if least is not None:
            chunk = [row for row in chunk if row.score >= least]
        if top is None:
            yield chunk
            continue
        done: list[Row] = []
        for _, rows in groupby(chunk, lambda row: id(row.query)):
            some = list(rows)
            if best and best[0].query is not some[0].query:
                done, best = done + best, []
            best = nlargest(top, best + some, key=lambda row: row.score)
        yield done
    yield best
