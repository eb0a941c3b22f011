"""The search contract: what an engine computes for a database search.

A database comes in parts, which stay on the device for as long as there is room.  The engine gives
the exact score of each query with each subject of a part.  All else is done above it: which hits
are the best, where they end, and their paths, which are found pair by pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...sequences.alphabet import Letters
from ...sequences.sequence_set import SequenceSet

Scores = NDArray[np.int32]
#: Is called now and then with the cells that were computed since.
CellsDone = Callable[[int], None]


class SearchEngine:
    """Searches on one or more devices, with a scoring, mode and free ends, which it is made with.
    One thread at a time calls it.  Sequences have any lengths, but no score leaves 32 bits: who
    calls has asked `Bounds.check_range` about the longest ones."""

    #: Letters of the subjects that are held at any time: of all parts, if they stay, else of two.
    most_letters: int
    #: How many subjects, all of a length, keep it busy.
    streams: int
    #: Cells that were computed, by the lanes that computed them, such as "search/vector/8".
    cells: Counter[str]
    #: Of several devices those that failed, while others did their work.
    failed: Sequence[Any] = ()

    def hold(self, subjects: SequenceSet) -> Any:
        """Put a part on the device, perhaps while scores of another one are computed.  What this
        gives is for `scores` and `free`; the part itself where there is nothing to do.

        No subject is empty, and their lengths never rise.  They may overlap, and nothing lies
        between or beside them.
        Letters are ASCII in either case, perhaps in a file that is mapped into memory.  Queries and
        subjects have letters of the scoring's alphabet only, or others that it has a code for."""
        return subjects

    def scores(self, queries: Iterable[Letters], held: Any, done: CellsDone) -> Iterator[Scores]:
        """The scores of one query after the other, none empty, with the subjects of a part in their
        order; in the scoring's own integers.

        The engine may compute ahead of what is taken, so that the device always has work.  An
        array is the caller's until the next one is asked for."""
        raise NotImplementedError

    def free(self, held: Any) -> None:
        """Let go of a part."""

    def close(self) -> None:
        """Free all memory of the device."""


class Pairs(SearchEngine):
    """Compares pair by pair, also the few subjects that another engine's lanes do not suit."""

    def of(self, query: Letters, subjects: SequenceSet) -> Scores:
        """The scores of a query with some subjects."""
        raise NotImplementedError
