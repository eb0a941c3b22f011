"""All places of a whole query in a subject: the best one, then the best beside those before.

Places are alignments of all query letters with a part of the subject; on a strand no two share a
subject's letter.  Windows of the subject, with as many letters before each as a path can take, are
compared together.  The best place of the best window is the next one.  Only the windows that have
letters of it are compared again, without these letters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..engines.batch.scores import path_reach
from ..engines.common import FreeEnd
from ..scoring.scoring import Scoring

#: Letters of a window at least, and in reaches of paths.
LETTERS, LEAST = 4096, 4


class Window(NamedTuple):
    """Letters of a subject from ``low`` to ``stop``.  Paths that end up to ``first`` are those of
    others."""

    strand: str
    low: int
    first: int
    stop: int

    def without(self, start: int, stop: int, reach: int) -> Iterator[Window]:
        """What is left of it without some letters, which it has."""
        if start > self.first:
            yield self._replace(stop=start)
        if stop < self.stop:
            yield self._replace(low=stop, first=max(stop, self.first))


class Place(NamedTuple):
    """The table of `align_many` with one path, on a strand; in places of the whole subject."""

    strand: str
    table: NDArray[Any]

    @property
    def span(self) -> tuple[int, int]:
        """Its letters of the subject."""
        return int(self.table["target_start"][0]), int(self.table["target_end"][0])

    @property
    def order(self) -> Any:
        """The best one comes first; among equal ones plus, and then the one that ends first."""
        return -self.table["score"][0], self.strand != "plus", self.span[1]


def further_places(
    align: Callable[[str, list[tuple[int, int]]], NDArray[Any]],
    scoring: Scoring,
    m: int,
    n: int,
    known: tuple[str, int, int],
    strands: tuple[str, ...],
    least: float,
) -> Iterator[Place]:
    """The places of ``m`` query letters in ``n`` letters that score at least ``least``, in their
    order, beside the ``known`` best one (its strand, start and end).

    ``align(strand, spans)`` gives the table of the query with these parts of the subject."""
    ends = FreeEnd.LEAD_QUERY | FreeEnd.TRAIL_QUERY
    reach = path_reach(scoring, np.array([m]), None, False, ends)
    most = n if reach is None else int(reach[0])
    size = max(LETTERS, LEAST * most)
    left = [
        Window(strand, max(0, first - most), first, min(first + size, n))
        for strand in strands
        for first in range(0, n, size)
    ]
    good = dict[Window, Place]()
    taken = known
    while True:
        for one in [*good, *left]:
            if one.strand == taken[0] and one.low < taken[2] and taken[1] < one.stop:
                good.pop(one, None)
                left = [x for x in left if x is not one]
                left.extend(one.without(*taken[1:], most))
        for strand in strands:
            some = [one for one in left if one.strand == strand]
            if not some:
                continue
            table = align(strand, [(one.low, one.stop) for one in some])
            for k in np.flatnonzero(table["score"] >= least).tolist():
                place = Place(strand, table[k : k + 1])
                if place.span[0] < place.span[1]:
                    good[some[k]] = place
        if not good:
            return
        best = min(good.values(), key=lambda one: one.order)
        yield best
        taken, left = (best.strand, *best.span), []
