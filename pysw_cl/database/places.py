"""All places of a whole query in a subject: the best one, then the best beside those before.

Places are alignments of all query letters with a part of the subject; on a strand no two share a
subject's letter.  Windows of the subject, with as many letters before each as a path can take, are
compared together.  The best place of the best window is the next one.  Only the windows that have
letters of it are compared again, without these letters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines.batch.scores import FREE_QUERY, path_reach
from ..scoring.scoring import Scoring

#: Letters of a window at least, and in reaches of paths.
LETTERS, LEAST = 4096, 4
Table = NDArray[Any]


def further_places(
    align: Callable[[str, list[tuple[int, int]]], Table],
    scoring: Scoring,
    m: int,
    n: int,
    known: tuple[str, int, int],
    strands: tuple[str, ...],
    least: float,
) -> Iterator[Table]:
    """The places of ``m`` query letters in ``n`` letters that score at least ``least``, beside the
    ``known`` best one (its strand, start and end): the best first; among equal ones plus, and then
    the one that ends first.  ``align(strand, spans)`` gives the table of the query with these parts
    of the subject; each place is a table of one row."""
    reach = path_reach(scoring, np.array([m]), None, False, FREE_QUERY)
    before = n if reach is None else int(reach[0])
    size = max(LETTERS, LEAST * before)
    # a strand, the first letter, the first one where a path may end that no other has, and the stop
    windows: dict[tuple[str, int, int, int], Any] = {
        (one, max(0, first - before), first, min(first + size, n)): None
        for one in strands
        for first in range(0, n, size)
    }
    strand, start, stop = known
    while True:
        for one in [x for x in windows if x[0] == strand and x[1] < stop and start < x[3]]:
            del windows[one]
            if start > one[2]:
                windows[(*one[:3], start)] = None
            if stop < one[3]:
                windows[strand, stop, max(stop, one[2]), one[3]] = None
        for own in strands:
            some = [x for x, place in windows.items() if place is None and x[0] == own]
            table: Any = align(own, [(x[1], x[3]) for x in some]) if some else None
            for k, one in enumerate(some):
                score, begin, end = table[["score", "target_start", "target_end"]][k].item()
                windows[one] = (-score, own != "plus", end, begin, table[k : k + 1])
                if score < least or begin == end:
                    del windows[one]
        if not windows:
            return
        strand = min(windows, key=lambda x: windows[x][:3])[0]
        *_, stop, start, place = min(windows.values(), key=lambda found: found[:3])
        yield place
