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
from ..database.sets import align_stars, score_matrices
from ..sequences.coded import Alphabet
from .codons import ALPHABET, BASES, similarity

#: Ends of kernel 1, alignments of kernel 2, and places of each of them of kernel 3.
ENDS, ALIGNMENTS, PLACES = 200, 100, 100
#: Ends, and starts, are so far apart; the least score of kernel 3; how much longer places may be.
APART, PLACE_SCORE, LONGEST = 5, 10, 2


@dataclass(frozen=True, eq=False)
class Rules:
    """What a variant compares with, and which results count."""

    #: The scores of kernels 1 to 3 with their alphabet, and the cost ``open + k * extend`` of gaps.
    scoring: dict[str, Any]
    #: The least score of kernel 1, and in how many sequences its ends are apart.
    least: int
    apart_in: Any
    #: The costs of kernels 4 and 5, as scores, and the bases (ASCII) of each code.
    costs: dict[str, Any]
    bases: NDArray[np.uint8]
    #: The most codons of an alignment, by the length of main, and how many alignments are printed.
    limit: Callable[[int], float]
    shown: int


_CODONS = similarity(), ALPHABET
ORNL = {"sub_score": _CODONS, "gap_cost": (5, 2)}
SPEC = {"sub_score": _CODONS, "gap_cost": (8, 1)}
LETTERS = {"sub_score": Alphabet("ACGT").scores(5, -3), "gap_cost": (8, 1)}
COSTS = {"sub_score": (0, -20), "gap_cost": (0, 30)}
ACGT = np.array([[*b"ACGT"]], np.uint8).T
SIMPLE = {"sub_score": (0, -1), "gap_cost": (0, 2)}
RULES = {
    "ornl": Rules(ORNL, 21, "both", COSTS, BASES, lambda n: 6 * int(2 * np.log2(n)), 10),
    "spec": Rules(SPEC, 20, "either", COSTS, BASES, lambda n: 120, 6),
    "paper": Rules(LETTERS, 20, "either", SIMPLE, ACGT, lambda n: np.inf, 0),
}


def kernel_1(main: Any, match: Any, rules: Rules, device: Any) -> NDArray[Any]:
    """The best ends: of matches that do not go on, and apart."""
    return best_ends(
        match, main, k=ENDS, min_separation=APART, apart_in=rules.apart_in, ends="matches",
        min_score=rules.least, device=device, **rules.scoring,
    )  # fmt: skip


def kernel_2(main: Any, match: Any, ends: Any, rules: Rules, device: Any) -> list[Any]:
    """The alignments of ends, without those that are too long or begin near a better one."""
    kept, limit = list[Any](), rules.limit(len(main))
    highest = max(ends["score"], default=None)
    found: Any = trace_ends(match, main, ends, highest=highest, device=device, **rules.scoring)
    for one in found:
        y, x = one.query_start, one.target_start
        near = (max(abs(y - r.query_start), abs(x - r.target_start)) < APART for r in kept)
        short = max(one.query_end - y, one.target_end - x) <= limit
        if short and len(kept) < ALIGNMENTS and not any(near):
            kept.append(one)
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
            return np.asarray(good[np.arange(len(good)) - first[good["query"]] < PLACES])
        count *= 2


def kernel_4(sets: Any, rules: Rules, device: Any) -> list[NDArray[Any]]:
    """The costs of all pairs in each set of sequences of bases: the least ones."""
    return [-one for one in score_matrices(sets, mode="global", device=device, **rules.costs)]


def kernel_5(sets: Any, costs: Any, rules: Rules, device: Any) -> list[Any]:
    """The alignment of each set around the sequence that costs the others least."""
    return align_stars(sets, [-one for one in costs], device=device, **rules.costs)
