"""Pairs of an iterable, read and aligned in lists of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PyswError
from ..results.alignment import Stats
from .advice import Tally, tally_of
from .reaching import renumbered

if TYPE_CHECKING:
    from .many import PairAligner

#: Pairs that are read at once, if they are short, and letters from which on they are not.
AT_ONCE, SHORT = 1 << 10, 1 << 20


@dataclass(frozen=True)
class ReadLimits:
    """How many pairs are read before they are aligned: a list ends soon after one of these."""

    pairs: int = 1 << 17
    letters: int = 1 << 26


#: The limits of `align_many`.
LIMITS = ReadLimits()


def in_lists(pairs: Iterable[Any], limits: ReadLimits) -> Iterator[list[Any]]:
    """The pairs in lists.  Long pairs are read one by one, short ones many at once."""
    source, found, letters, size = iter(pairs), list[Any](), 0, 1
    while some := list(islice(source, size)):
        found += some
        try:
            more = sum(map(len, chain.from_iterable(some)))
        except TypeError:  # no pairs: the error comes with its number
            more = 0
        letters += more
        size = min(2 * size, AT_ONCE) if more < SHORT else max(1, size // 4)
        if len(found) >= limits.pairs or letters >= limits.letters:
            yield found
            found, letters = [], 0
        size = min(size, limits.pairs - len(found))
    if found:
        yield found


def align_iterated(
    aligner: PairAligner, pairs: Iterable[Any], limits: ReadLimits
) -> tuple[NDArray[Any], Stats, str | None, Tally]:
    """What `PairAligner.align` finds for all pairs, which are not kept, and the letters that are
    scored as others."""
    tally, stats = Tally(aligner.options.scoring), Stats()
    tables: list[NDArray[Any]] = []
    said: list[str] = []
    first = 0
    for some in chain(in_lists(pairs, limits), [[]]):
        if tables and not some:
            break
        try:
            rows, more, wrong = aligner.align(some, None, first)
        except PyswError as error:
            if error.pair is None or not first:
                raise
            raise renumbered(error, first + error.pair) from None
        if aligner.options.min_score is not None:
            rows["pair"] += first
        tally_of(chain.from_iterable(some), tally)
        tables.append(rows)
        stats = stats.plus(more)
        said += [] if wrong is None else [wrong]
        first += len(some)
    rows = tables[0] if len(tables) == 1 else np.concatenate(tables)
    return rows, stats, "; ".join(said) or None, tally
