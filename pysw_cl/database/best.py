"""The best hits of a query, as the scores of one part of a database after the other come in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
#: Scores by which the others are chosen that are sorted.
SAMPLE = 1 << 14


class Best:
    """The hits that score ``least``, and with ``top`` are among so many best ones: the highest
    score first, then the first one in the source; with ``ties`` all that score as much as the last
    of these, too.  ``records``: the places in the source of some ranks.

    What is kept does not depend on the parts, nor on their order."""

    def __init__(
        self, least: int, top: int | None, ties: bool, records: Callable[[Ints], Ints]
    ) -> None:
        self._least, self._top, self._ties, self._of = least, top, ties, records
        self.scores, self.ranks, self.records = (np.zeros(0, np.int64) for _ in range(3))

    def add(self, scores: NDArray[np.integer[Any]], first: int) -> None:
        """The scores of subjects from the rank ``first`` on."""
        least, top = self._least, self._top
        if top is not None and len(scores) > top:  # the longest ones tell what most cannot reach
            some = scores[: max(4 * top, SAMPLE)]
            least = max(least, int(np.partition(some, len(some) - top)[-top]))
        at = np.flatnonzero(scores >= least)
        if not len(at):
            return
        ranks = first + at
        new = scores[at].astype(np.int64), ranks, self._of(ranks)
        old = self.scores, self.ranks, self.records
        every = [np.concatenate(pair) for pair in zip(old, new, strict=True)]
        order = np.lexsort((every[2], -every[0]))
        if top is not None and len(order) >= top:
            self._least = int(every[0][order[top - 1]])
            equal = np.count_nonzero(every[0] >= self._least)
            order = order[: equal if self._ties else top]
        self.scores, self.ranks, self.records = (column[order] for column in every)
