"""The five kernels of SSCA#1, over the functions that users call.

main is the target of all comparisons, and match the query (Bader et al. 2006, CTWatch Quarterly 2,
4B; Khajeh-Saeed & Perot 2011, GPU Computing Gems, chapter 13)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..api.ends import best_ends, trace_ends
from ..api.fits import best_fits
from ..database.sets import Star, align_stars, score_matrices
from ..results.alignment import Alignment
from ..sequences.coded import Alphabet
from .codons import ACGT, ALPHABET, BASES, similarity

#: Ends of kernel 1, alignments of kernel 2, and places of each of them of kernel 3.
ENDS, ALIGNMENTS, PLACES = 200, 100, 100
#: Ends, and starts, are so far apart; the least score of kernel 3; how much longer places may be.
APART, PLACE_SCORE, LONGEST = 5, 10, 2


@dataclass(frozen=True, eq=False)
class Rules:
    """What a variant compares with, and which results count."""

    #: The scores of kernels 1 to 3 with their alphabet, and the cost ``open + k * extend`` of gaps.
    sub_score: tuple[Any, Alphabet]
    gap_cost: tuple[int, int]
    #: The least score of kernel 1, and in how many sequences its ends are apart.
    least: int
    apart_in: Any
    #: The costs of kernels 4 and 5, as scores, and the bases (ASCII) of each code.
    costs: dict[str, Any]
    bases: NDArray[np.uint8]
    #: The most codons of an alignment in either sequence, by the length of main.
    limit: Callable[[int], float]
    #: How many alignments are printed.
    shown: int

    @property
    def scoring(self) -> dict[str, Any]:
        return {"sub_score": self.sub_score, "gap_cost": self.gap_cost}


CODONS, LETTERS = (similarity(), ALPHABET), Alphabet("ACGT").scores(5, -3)
COSTS = {"sub_score": (0, -20), "gap_cost": (0, 30)}
SIMPLE = {"sub_score": (0, -1), "gap_cost": (0, 2)}
RULES = {
    "ornl": Rules(CODONS, (5, 2), 21, "both", COSTS, BASES, lambda n: 6 * int(2 * np.log2(n)), 10),
    "spec": Rules(CODONS, (8, 1), 20, "either", COSTS, BASES, lambda n: 120, 6),
    "paper": Rules(LETTERS, (8, 1), 20, "either", SIMPLE, ACGT, lambda n: np.inf, 6),
}


def kernel_1(main: Any, match: Any, rules: Rules, device: Any) -> NDArray[Any]:
    """The best ends: of matches that do not go on, and apart."""
    return best_ends(
        match, main, k=ENDS, min_separation=APART, apart_in=rules.apart_in, ends="matches",
        min_score=rules.least, device=device, **rules.scoring,
    )  # fmt: skip


def kernel_2(main: Any, match: Any, ends: Any, rules: Rules, device: Any) -> list[Alignment]:
    """The alignments of ends, without those that are too long or begin near a better one."""
    kept, starts = list[Alignment](), np.zeros((0, 2), np.int64)
    highest, limit = max(ends["score"], default=None), rules.limit(len(main))
    for one in trace_ends(match, main, ends, highest=highest, device=device, **rules.scoring):
        start = one.query_start, one.target_start
        size = max(one.query_end - start[0], one.target_end - start[1])
        apart = bool((abs(starts - start).max(axis=1) >= APART).all())
        if apart and size <= limit and len(kept) < ALIGNMENTS:
            kept.append(one)
            starts = np.concatenate([starts, [start]])
    return kept


def kernel_3(main: Any, queries: Sequence[Any], rules: Rules, device: Any) -> NDArray[Any]:
    """The best places of queries in main, without those that are too long."""
    lengths, count = np.array([len(one) for one in queries], np.int64), PLACES + PLACES // 4
    while True:
        found = best_fits(
            queries, main, k=count, min_separation=APART, min_score=PLACE_SCORE, device=device,
            **rules.scoring,
        )  # fmt: skip
        sizes = found["target_end"] - found["target_start"]
        good = found[sizes <= LONGEST * lengths[found["query"]]]
        every, left = (np.bincount(one["query"], minlength=len(lengths)) for one in (found, good))
        if ((left >= PLACES) | (every < count)).all():
            first = np.cumsum(left) - left
            chosen: NDArray[Any] = good[np.arange(len(good)) - first[good["query"]] < PLACES]
            return chosen
        count *= 2


def kernel_4(sets: list[list[Any]], rules: Rules, device: Any) -> list[NDArray[Any]]:
    """The costs of all pairs in each set of sequences of bases: the least ones."""
    scores = score_matrices(sets, mode="global", device=device, **rules.costs)
    return [-one for one in scores]


def kernel_5(
    sets: list[list[Any]], costs: list[NDArray[Any]], rules: Rules, device: Any
) -> list[Star]:
    """The alignment of each set around the sequence that costs the others least."""
    return align_stars(sets, [-one for one in costs], device=device, **rules.costs)
