"""Pairs of an iterable, read and aligned in lists of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from math import prod
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
class PartLimits:
    """How many pairs are read before they are aligned."""

    #: Pairs: a path is a few Python objects.
    pairs: int = 1 << 14
    #: Letters of queries and targets: they are copied, and a path takes two bytes a letter.
    letters: int = 1 << 26
    #: Cells (None: any number): about a second of a CPU's work, so that results and progress come
    #: in time.
    cells: int | None = 1 << 35


#: The limits of `align_many`.
LIMITS = PartLimits(pairs=1 << 17, cells=None)


def in_lists(pairs: Iterable[Any], limits: PartLimits) -> Iterator[list[Any]]:
    """The pairs in lists.  A list ends with the pair that reaches one of the limits; without one of
    cells it ends soon after, because short pairs are read many at once."""
    source, found, letters, cells, size = iter(pairs), list[Any](), 0, 0, 1
    while some := list(islice(source, size)):
        found += some
        more = 0
        with suppress(TypeError):  # no pairs: the error comes with its number
            if set(map(len, some)) == {2}:
                more = sum(map(len, chain.from_iterable(some)))
                cells += 0 if limits.cells is None else prod(map(len, some[0]))
        letters += more
        if limits.cells is None:
            size = min(2 * size, AT_ONCE) if more < SHORT else max(1, size // 4)
        full = len(found) >= limits.pairs or letters >= limits.letters
        if full or (limits.cells is not None and cells >= limits.cells):
            yield found
            found, letters, cells = [], 0, 0
        size = max(1, min(size, limits.pairs - len(found)))
    if found:
        yield found


def align_iterated(
    aligner: PairAligner, pairs: Iterable[Any], limits: PartLimits
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
