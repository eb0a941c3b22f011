"""What is found out about many pairs."""

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
    """Results of all pairs: ``values[name]`` (int64, the score as the scoring counts it) and CIGARs
    (none without paths).  ``wrong``: what was wrong with paths that were computed again."""

    values: dict[str, NDArray[np.int64]]
    cigars: NDArray[np.object_]
    stats: Stats = field(default_factory=Stats)
    wrong: list[str] = field(default_factory=list)

    @classmethod
    def empty(cls, count: int, names: Sequence[str]) -> PairResults:
        """Room for ``count`` pairs."""
        values = {name: np.zeros(count, np.int64) for name in names if name != "cigar"}
        return cls(values, np.full(count if "cigar" in names else 0, "", object))
