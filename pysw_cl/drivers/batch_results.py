"""The results of many pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..results.pair_paths import PathWords
from ..results.stats import Stats

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

#: The rows of a batch's forward results, and of its traceback's.
FOUND = ("score", "query_end", "target_end", "matches", "columns")
TRACED = ("query_start", "target_start", "matches", "columns")
#: The ``how`` of `BatchEngine.start` for each output, and those of paths.
HOW = {"score": "score", "ends": "ends", "matches": "traceback", "path": "cigar"}
PATHS = ("traceback", "cigar")
#: Which pairs are wanted whose paths are to be found: their numbers, and their scores in the
#: scoring's integers.
Choose = Callable[[NDArray[np.int64], NDArray[Any]], NDArray[np.bool_]]

#: A coordinate that is not known.
UNKNOWN = -1


def fields_of(output: str, strand: str, second_best: bool = False) -> tuple[str, ...]:
    """The fields of a row.  Where a query may be on the minus strand, a row of "ends" or "matches"
    has its start, too: there a path ends at the start of the query as given."""
    names = FIELDS[output] + ("second_best",) * second_best
    if strand == "plus":
        return names
    if output in ("ends", "matches"):
        names = ("score", "query_start", *names[1:])
    return (*names, "strand")


@dataclass
class PairResults:
    """The results of all pairs."""

    #: A column for each field but the CIGAR, of 32 bits, or of 64 where a number needs them; the
    #: score in the scoring's integers.
    values: dict[str, NDArray[np.signedinteger]]
    #: The paths; None if they are not wanted.
    paths: PathWords | None
    #: Is the query on the minus strand?
    minus: NDArray[np.bool_]
    #: Was the pair aligned alone?
    alone: NDArray[np.bool_]
    #: Was it left out, because of its score?
    left: NDArray[np.bool_]
    #: Letters of each query.
    query_lengths: NDArray[np.int64]
    stats: Stats = field(default_factory=Stats)
    #: Why each path that was computed again was wrong.
    wrong: list[str] = field(default_factory=list)

    @classmethod
    def empty(cls, count: int, names: Sequence[str]) -> PairResults:
        """Results of ``count`` pairs with the fields ``names``, to be filled in."""
        numbers = [name for name in names if name not in ("cigar", "strand")]
        values: dict[str, NDArray[Any]] = {name: np.empty(count, np.int32) for name in numbers}
        if "query_start" in values and "target_start" not in values:
            values["query_start"][:] = UNKNOWN
        return cls(
            values,
            PathWords(count) if "cigar" in names else None,
            np.zeros(count, np.bool_),
            np.zeros(count, np.bool_),
            np.zeros(count, np.bool_),
            np.zeros(count, np.int64),
        )

    def put(self, name: str, k: int, value: int) -> None:
        """The value of one pair."""
        if abs(value) > np.iinfo(np.int32).max:
            self.values[name] = self.values[name].astype(np.int64)
        self.values[name][k] = value

    def beside(self, names: Sequence[str]) -> PairResults:
        """Results of the same pairs with other fields.  What is known of the pairs, and what they
        cost, is shared."""
        other = PairResults.empty(len(self.alone), names)
        return replace(
            other,
            alone=self.alone,
            left=self.left,
            query_lengths=self.query_lengths,
            stats=self.stats,
            wrong=self.wrong,
        )

    def take(self, other: PairResults, chosen: NDArray[np.bool_]) -> None:
        """Take over the ``chosen`` pairs of other results with the same fields."""
        for name, values in self.values.items():
            values[chosen] = other.values[name][chosen]


@dataclass
class PathCells:
    """Cells of pairs whose whole matrices were swept for their paths."""

    all: int = 0
    #: Near the ends of the paths (`Part.near`), and between their starts and ends.
    near: int = 0
    between: int = 0
