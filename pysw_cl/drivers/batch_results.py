"""The results of many pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..results.alignment import Stats

#: The fields of a row for each output, in order.
FIELDS: dict[str, tuple[str, ...]] = {
    "score": ("score",),
    "ends": ("score", "query_end", "target_end"),
    "matches": ("score", "query_end", "target_end", "matches", "columns"),
    "path": (
        "score",
        "query_start",
        "query_end",
        "target_start",
        "target_end",
        "matches",
        "columns",
        "cigar",
    ),
}


@dataclass
class PairResults:
    """The results of all pairs."""

    #: A column for each field but the CIGAR; the score in the scoring's integers.
    values: dict[str, NDArray[np.int64]]
    #: A CIGAR for each pair; empty without paths.
    cigars: NDArray[np.object_]
    stats: Stats = field(default_factory=Stats)
    #: Why each path that was computed again was wrong.
    wrong: list[str] = field(default_factory=list)

    @classmethod
    def empty(cls, count: int, names: Sequence[str]) -> PairResults:
        """Results of ``count`` pairs with the fields ``names``, to be filled in."""
        values = {name: np.zeros(count, np.int64) for name in names if name != "cigar"}
        return cls(values, np.full(count if "cigar" in names else 0, "", object))
