"""``align_top`` with strands and ranges: merged lists of the definition, and parts of sequences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers import Case, decode, match_scoring, mutated, random_codes
from suboptimal import Local, by_definition, check_invariants, plain

import pysw_cl
from pysw_cl.errors import InputError, SequenceError
from pysw_cl.scoring.scoring import Scoring

REFERENCE: dict[str, Any] = {"engine": "reference"}
PLANS: list[Any] = [REFERENCE, None, {"held.top_cells": 0}, {"held.path_cells": 300}]
IDS = ["reference", "default", "tiles", "tiles first"]
every_plan = pytest.mark.parametrize("plan", PLANS, ids=IDS)


def dna(rng: np.random.Generator, longest: int) -> Case:
    """A pair that is related on both strands, with few letters and repeats, which make ties."""
    scoring: Scoring = match_scoring(*(int(v) for v in (rng.integers(1, 4), -rng.integers(0, 4))),
                                     *(int(v) for v in rng.integers(0, 4, 2)))  # fmt: skip
    query = random_codes(rng, int(rng.integers(1, longest + 1)), 4)
    parts = [mutated(rng, query, len(query), 4), (3 - query)[::-1], random_codes(rng, 5, 4)]
    chosen = [parts[k] for k in rng.permutation(3)[: rng.integers(1, 4)]]
    return Case(query, np.concatenate(chosen).astype(np.uint8), scoring)


def asked(scoring: Scoring) -> dict[str, Any]:
    """The scoring as `align_top` takes it; the nucleotides' codes are 0 to 3."""
    affine = (scoring.gap_open, scoring.gap_extend)
    return {
        "sub_score": scoring.match_mismatch,
        "gap_cost": affine if scoring.gap_open else scoring.gap_extend,
    }


def by_strand(case: Case, strand: str, k: int, least: int = 1) -> list[tuple[Any, ...]]:
    """The best of each strand's list, plus first among equals, in coordinates as given."""
    found: list[tuple[str, Local]] = []
    if strand != "minus":
        found += [("plus", one) for one in by_definition(case, k, least)]
    if strand != "plus":
        turned = replace(case, query=(3 - case.query)[::-1])
        found += [("minus", one) for one in by_definition(turned, k, least)]
    found.sort(key=lambda one: -one[1].score)  # stable
    m, rows = len(case.query), []
    for name, one in found[:k]:
        span = one.query_start, one.query_end
        if name == "minus":
            span = m - one.query_end, m - one.query_start
        rows.append((name, one.score, *span, one.target_start, one.target_end, one.moves))
    return rows


def rows_of(found: list[pysw_cl.Alignment]) -> list[tuple[Any, ...]]:
    """Results as `by_strand` gives them."""
    moves = {"=": 0, "X": 0, "D": 1, "I": 2}
    rows = []
    for one in found:
        assert one.runs is not None
        way = [moves[op] for op, length in one.runs for _ in range(length)]
        place = one.query_start, one.query_end, one.target_start, one.target_end
        rows.append((one.strand, one.score, *place, way))
        assert one.rescore() == one.score
    return rows


@every_plan
@pytest.mark.parametrize("strand", ["minus", "both"])
def test_is_the_definition_on_each_strand(strand: str, plan: Any) -> None:
    rng = np.random.default_rng(40)
    for _ in range(25):
        case, k = dna(rng, 25), int(rng.integers(1, 9))
        least = int(rng.integers(1, 4))
        found = pysw_cl.align_top(
            decode(case.query, case.scoring),
            decode(case.target, case.scoring),
            k=k,
            strand=strand,
            min_score=least,
            plan=plan,
            **asked(case.scoring),
        )
        assert rows_of(found) == by_strand(case, strand, k, least), f"{case} {k=} {least=}"


@every_plan
def test_ranges(plan: Any) -> None:
    """A part of each sequence, as if the rest were not there; results count in the whole."""
    rng = np.random.default_rng(41)
    for _ in range(15):
        case = dna(rng, 40)
        a, b = (decode(codes, case.scoring) for codes in (case.query, case.target))
        i, iend = (
            sorted(rng.choice(len(a) + 1, 2, replace=False).tolist()) if len(a) > 1 else (0, 1)
        )
        j, jend = (
            sorted(rng.choice(len(b) + 1, 2, replace=False).tolist()) if len(b) > 1 else (0, 1)
        )
        for strand in ("plus", "minus", "both"):
            how = {"k": 5, "plan": plan, "strand": strand, **asked(case.scoring)}
            found = pysw_cl.align_top(a, b, query_range=(i, iend), target_range=(j, jend), **how)
            part = pysw_cl.align_top(a[i:iend], b[j:jend], **how)
            moved = [
                (one[0], one[1], one[2] + i, one[3] + i, one[4] + j, one[5] + j, one[6])
                for one in rows_of(part)
            ]
            assert rows_of(found) == moved
            assert all(len(one.query) == len(a) and len(one.target) == len(b) for one in found)


def test_strands_share_no_pair() -> None:
    """A palindrome against itself: the same letters stand opposite each other on both strands,
    which are different pairs."""
    found = pysw_cl.align_top("ACGCGT", "ACGCGT", k=2, strand="both")
    assert [(one.strand, one.score, one.cigar) for one in found] == [
        ("plus", 6, "6="),
        ("minus", 6, "6="),
    ]


def test_first_is_align_and_one_strand_alone_is_in_both() -> None:
    rng = np.random.default_rng(42)
    for _ in range(10):
        case = dna(rng, 60)
        a, b = (decode(codes, case.scoring) for codes in (case.query, case.target))
        how = asked(case.scoring)
        both = pysw_cl.align_top(a, b, k=12, strand="both", **how)
        one = pysw_cl.align(a, b, strand="both", **how)
        assert ([plain(both[0])] if both else []) == ([plain(one)] if one.score else [])
        for strand in ("plus", "minus"):
            of_strand = [found for found in both if found.strand == strand]
            alone = pysw_cl.align_top(a, b, k=12, strand=strand, **how)
            assert [plain(f) for f in of_strand] == [plain(f) for f in alone[: len(of_strand)]]
            check_invariants(of_strand) if strand == "plus" else None


def test_stats_and_progress_of_both() -> None:
    """What was computed before a result is its cost; progress never falls."""
    calls: list[tuple[int, int]] = []
    found = pysw_cl.align_top(
        "ACGTTGCA" * 20,
        "TTGCAACG" * 20,
        k=6,
        strand="both",
        progress=lambda *call: calls.append(call),
    )
    cells = 160 * 160
    assert found[0].stats.total_cells >= 2 * cells
    assert all(one.stats.launches > 0 and one.stats.seconds > 0 for one in found)
    shares = [done / total for done, total in calls]
    assert shares == sorted(shares)
    assert len({total for _, total in calls}) == 1 and calls[-1][1] > 2 * cells
    assert calls[-1][0] == calls[-1][1]


@pytest.mark.parametrize("output", ["score", "ends"])
def test_output_on_the_minus_strand(output: str) -> None:
    full = pysw_cl.align_top("ACGTACGTTTGGGG", "CCAAACGTAC", k=3, strand="both")
    found = pysw_cl.align_top("ACGTACGTTTGGGG", "CCAAACGTAC", k=3, strand="both", output=output)
    assert [(one.score, one.strand) for one in found] == [(one.score, one.strand) for one in full]
    for one, other in zip(found, full, strict=True):
        known = output == "ends"
        end = one.query_end if one.strand == "plus" else one.query_start
        expected = other.query_end if other.strand == "plus" else other.query_start
        assert end == (expected if known else None)
        assert one.target_end == (other.target_end if known else None)
        assert one.cigar is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"strand": "down"}, "strand must be"),
        ({"strand": "both", "sub_score": "BLOSUM62"}, "takes nucleotides"),
        ({"query_range": 3}, "query_range takes"),
        ({"query_range": (2, 9)}, r"query_range is \[2, 9\)"),
        ({"target_range": (2, 2)}, r"target_range is \[2, 2\)"),
    ],
)
def test_errors(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        pysw_cl.align_top("ACGT", "ACGT", **options)


def test_letters_outside_a_range_are_not_looked_at() -> None:
    found = pysw_cl.align_top("!!ACGT", "ACGT", k=1, query_range=(2, 6))
    assert plain(found[0]) == (4, 2, 6, 0, 4, "4=")
    with pytest.raises(SequenceError, match="'!' at position 2"):
        pysw_cl.align_top("!!ACGT", "ACGT", query_range=(1, 6))
