"""``align`` on a device against the reference: score, ends and path, letter for letter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from aligning import (
    ALL,
    NO_FREE_ENDS,
    ODD,
    SCALAR,
    SMALL,
    USUAL,
    Kernels,
    align_case,
    case_of,
    check,
    cuts,
    ends,
    needs_lanes,
    ran_here,
    small_grid,
)
from helpers import (
    ALL_FREE_ENDS,
    Case,
    FreeEnds,
    cases,
    fault,
    make_scoring,
    match_scoring,
    mutated,
    random_case,
    random_codes,
    random_pair,
    random_scoring,
)
from hypothesis import HealthCheck, given, settings, strategies as st

from pysw_cl.scoring.scoring import Scoring
from pysw_cl.tiles.special_lines import SweptGrid

Test = Callable[..., None]


def on(*choice: Kernels) -> Any:
    """Run a test with each of these kernels."""
    return pytest.mark.parametrize("kernels", choice, ids=str)


def differential(examples: int, *choice: Kernels) -> Callable[[Test], Test]:
    """A test of (kernels, case, mode, free_ends, cut, prune) with cases from hypothesis."""

    def decorate(test: Test) -> Test:
        given_cases = given(
            case=cases(longest=300),
            mode=st.sampled_from(["local", "global"]),
            free_ends=st.sampled_from(ALL_FREE_ENDS),
            cut=cuts(),
            prune=st.booleans(),
        )
        checks = [HealthCheck.too_slow, HealthCheck.data_too_large]
        limits = settings(max_examples=examples, deadline=None, suppress_health_check=checks)
        decorated: Test = on(*choice)(limits(given_cases(test)))
        return decorated

    return decorate


@differential(25, *SMALL, USUAL)
def test_any_case(
    kernels: Kernels, case: Case, mode: str, free_ends: FreeEnds, cut: dict[str, Any], prune: bool
) -> None:
    needs_lanes(kernels)
    check(case, mode, free_ends, kernels, prune=prune, **cut)


def with_a_matrix(scoring: Scoring) -> Scoring:
    """This scoring, with another score for one pair of letters if all pairs have one of two."""
    matrix = scoring.matrix.copy()
    matrix[0, 1] -= scoring.match_mismatch is not None
    return make_scoring(matrix, scoring.gap_open, scoring.gap_extend)


def without_a_matrix(scoring: Scoring) -> Scoring:
    """A scoring like this one that kernels compare letters for: (match, mismatch)."""
    match, mismatch = scoring.matrix[0, 0], min(0, *scoring.matrix[0])
    gaps = scoring.gap_open, scoring.gap_extend
    return match_scoring(int(match), int(mismatch), *gaps, letters=scoring.letters)


@differential(12, *ODD)
def test_any_case_in_odd_shapes(
    kernels: Kernels, case: Case, mode: str, free_ends: FreeEnds, cut: dict[str, Any], prune: bool
) -> None:
    """With matrices, and pruned: others would build as many kernels again.  Match and mismatch have
    odd shapes in the contract of tiles, without pruning."""
    needs_lanes(kernels)
    check(replace(case, scoring=with_a_matrix(case.scoring)), mode, free_ends, kernels, **cut)


@differential(12, *SCALAR)
def test_any_case_in_work_items(
    kernels: Kernels, case: Case, mode: str, free_ends: FreeEnds, cut: dict[str, Any], prune: bool
) -> None:
    """Matrices in one of the forms, for the compiler's sake."""
    needs_lanes(kernels)
    if kernels.form == "two-phase":
        case = replace(case, scoring=without_a_matrix(case.scoring))
    check(case, mode, free_ends, kernels, prune=prune, **cut)


@pytest.mark.long
@differential(400, *ALL)
def test_many_cases(
    kernels: Kernels, case: Case, mode: str, free_ends: FreeEnds, cut: dict[str, Any], prune: bool
) -> None:
    needs_lanes(kernels)
    check(case, mode, free_ends, kernels, prune=prune, **cut)


@pytest.mark.long
@on(*ALL)
@pytest.mark.parametrize("mode", ["local", "global"])
def test_longer_pairs(kernels: Kernels, mode: str) -> None:
    needs_lanes(kernels)
    rng = np.random.default_rng(71)
    for _ in range(4):
        pair = random_pair(rng, 4, *(int(x) for x in rng.integers(800, 1800, 2)))
        case = Case(*pair, random_scoring(rng, 4))
        for free_ends in (NO_FREE_ENDS, (True, True, True, True), (False, True, True, False)):
            check(
                case,
                mode,
                free_ends,
                kernels,
                chunk=100,
                traceback_tile_cells=20_000,
                grid=(4, 200),
            )


@on(*SMALL)
@pytest.mark.parametrize("free_ends", ALL_FREE_ENDS, ids=lambda f: "".join("01"[x] for x in f))
def test_all_free_ends(kernels: Kernels, free_ends: FreeEnds) -> None:
    needs_lanes(kernels)
    rng = np.random.default_rng(72)
    for k in range(8):
        case = random_case(rng, longest=50, linear=k % 4 == 0)
        check(
            case,
            "global",
            free_ends,
            kernels,
            tile_cells=300,
            traceback_tile_cells=200,
            grid=(3, 8),
        )


GAPS = {
    "linear": (0, 2),
    "free": (0, 0),
    "affine": (5, 1),
    "extend above open": (1, 4),
    "zero extend": (4, 0),
}


@on(*SMALL, *SCALAR)
@pytest.mark.parametrize("gaps", GAPS.values(), ids=GAPS)
def test_kinds_of_gaps(kernels: Kernels, gaps: tuple[int, int]) -> None:
    """Relatives with long gaps and short repeats, where gaps of many lengths tie."""
    needs_lanes(kernels)
    rng = np.random.default_rng(73)
    for mode, (match, mismatch) in product(("local", "global"), ((1, -1), (2, -3), (1, 0))):
        query = random_codes(rng, 70, 4)
        case = Case(query, mutated(rng, query, 60, 4), match_scoring(match, mismatch, *gaps))
        found = check(case, mode, NO_FREE_ENDS, kernels, traceback_tile_cells=400, grid=(3, 16))
        assert found.plan.form == kernels.form


#: Rows and columns around one lane, one strip, the minimum size and padding: one letter, targets
#: shorter than T under several strips, one row, one column, whole strips and one more.
SHAPES = [
    (1, 1), (1, 200), (200, 1), (2, 2), (7, 3), (8, 4), (9, 3), (33, 1), (33, 2), (33, 3), (17, 7),
    (16, 8), (25, 15), (300, 5), (300, 15), (129, 16), (257, 31), (127, 33), (128, 32), (3, 300),
]  # fmt: skip


@on(*ALL)
@pytest.mark.parametrize("mode", ["local", "global"])
def test_shapes(kernels: Kernels, mode: str) -> None:
    needs_lanes(kernels)
    rng, scoring = np.random.default_rng(74), match_scoring(2, -1, 2, 1)
    if kernels in ODD:
        scoring = with_a_matrix(scoring)
    for m, n in SHAPES:
        case = Case(*random_pair(rng, 4, m, n), scoring)
        for free_ends in (NO_FREE_ENDS, (True, False, False, True)):
            check(case, mode, free_ends, kernels)


@on(*SMALL, USUAL, SCALAR[0])
def test_nothing_in_common(kernels: Kernels) -> None:
    """Without a positive score a local alignment is empty and ends at (0, 0)."""
    needs_lanes(kernels)
    nowhere_positive = make_scoring([[-1, -2], [-2, 0]], 1, 1)
    for case in (
        case_of("AAAAAAAAAAAA", "CCCCCCCCCCCCCCC", match_scoring(1, -3, 3, 2)),
        case_of("ACACACACA", "CCACACAC", nowhere_positive),
        case_of("A", "C", match_scoring(5, 0, 0, 0)),
    ):
        found = check(case, "local", NO_FREE_ENDS, kernels)
        assert (found.score, ends(found), found.cigar) == (0, (0, 0, 0, 0), "")
        assert (found.matches, found.columns, found.identity) == (0, 0, 0.0)


@on(*SMALL)
def test_gaps_alone_may_be_the_best(kernels: Kernels) -> None:
    """With free ends the border belongs to the matrix: nothing aligned scores 0."""
    needs_lanes(kernels)
    case = case_of("AAAAAAAAAAAAA", "CCCCCCC", match_scoring(1, -5, 3, 1))
    for free_ends in ALL_FREE_ENDS:
        found = check(case, "global", free_ends, kernels)
        nothing_pays = (free_ends[0] and free_ends[3]) or (free_ends[1] and free_ends[2])
        assert (found.score == 0) == nothing_pays


@on(*SMALL, USUAL, *SCALAR)
def test_a_gap_longer_than_a_tile(kernels: Kernels) -> None:
    """The path stays in one gap through several tiles, in either direction."""
    needs_lanes(kernels)
    rng = np.random.default_rng(75)
    left, right, middle = (random_codes(rng, size, 4) for size in (40, 45, 150))
    scoring = match_scoring(6, -4, 2, 1)
    long, short = np.concatenate([left, middle, right]), np.concatenate([left, right])
    for pair in ((long, short), (short, long)):
        for mode in ("local", "global"):
            check(
                Case(*pair, scoring),
                mode,
                NO_FREE_ENDS,
                kernels,
                tile_cells=900,
                traceback_tile_cells=300,
                grid=(16, 12),
            )


def similar(length: int, seed: int = 76) -> Case:
    """A random pair of relatives."""
    rng = np.random.default_rng(seed)
    query = rng.integers(0, 4, length).astype(np.uint8)
    return Case(query, mutated(rng, query, length, 4), match_scoring(1, -3, 3, 2))


@on(*SMALL)
def test_pruning_changes_nothing_but_the_work(kernels: Kernels) -> None:
    needs_lanes(kernels)
    for seed in range(5):
        case = similar(400, seed)
        plan = kernels.plan(tile_cells=2500)
        on_, off = (
            align_case(case, "local", NO_FREE_ENDS, plan=plan, output="ends", prune=prune)
            for prune in (True, False)
        )
        assert (on_.score, ends(on_)) == (off.score, ends(off))
        assert off.stats.pruned == 0 and off.stats.total_cells == 400 * 400
        assert on_.stats.pruned > 0
        assert on_.stats.pruned + on_.stats.total_cells == 400 * 400
        on_path = check(case, "local", NO_FREE_ENDS, kernels, tile_cells=2500, prune=True)
        off_path = check(case, "local", NO_FREE_ENDS, kernels, tile_cells=2500, prune=False)
        assert on_path.cigar == off_path.cigar


@on(*SMALL)
def test_pruning_keeps_the_first_of_equal_ends(kernels: Kernels) -> None:
    """A tile that could still equal the best is skipped only if all its cells come later."""
    needs_lanes(kernels)
    scoring = match_scoring(1, -1, 1, 1)
    unit = "ACGTTGCA"
    for query, target in (
        (unit * 6, unit * 2),
        (unit * 2, unit * 6),
        ("A" * 40, "A" * 40),
        ("C" * 20 + unit, unit + "G" * 30 + unit),
    ):
        case = case_of(query, target, scoring)
        for tile_cells in (64, 200, 1000):
            check(case, "local", NO_FREE_ENDS, kernels, tile_cells=tile_cells)


@on(*SMALL, USUAL)
@pytest.mark.parametrize("mode", ["local", "global"])
def test_score_and_ends_cost_no_path(
    kernels: Kernels, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not asked for is None, and nothing is kept or computed twice for it."""
    needs_lanes(kernels)
    case = random_case(np.random.default_rng(77), 250)
    m, n = len(case.query), len(case.target)
    free_ends = (False, True, True, False)
    plan = kernels.plan(tile_cells=m * n // 5)
    path = align_case(case, mode, free_ends, plan=plan)
    assert path.stats.total_cells > m * n

    fault(monkeypatch, SweptGrid, "over", AssertionError("special rows for a score"))
    for output in ("score", "ends"):
        found = align_case(case, mode, free_ends, plan=plan, output=output, prune=False)
        ran_here(found, kernels)
        assert found.score == path.score
        assert found.stats.total_cells == m * n and found.stats.pruned == 0
        assert (found.runs, found.cigar, found.query_start, found.target_start) == (None,) * 4
        at_end = (path.query_end, path.target_end) if output == "ends" else (None, None)
        assert (found.query_end, found.target_end) == at_end
        with pytest.raises(ValueError, match="output='path'"):
            found.rescore()


def test_progress_counts_cells() -> None:
    case, seen = similar(200), []
    align_case(
        case,
        "local",
        NO_FREE_ENDS,
        plan={"tile_cells": 10_000},
        progress=lambda done, total: seen.append((done, total)),
        output="score",
    )
    assert len(seen) > 1 and seen == sorted(seen)
    assert seen[-1] == (40_000, 40_000) and {total for _, total in seen} == {40_000}


def test_the_same_pair_in_every_type() -> None:
    """str, bytes, arrays of letters and scikit-bio sequences give one result; case is folded."""
    skbio = pytest.importorskip("skbio")

    import pysw_cl

    a, b = "ACGTTACGATTGCA", "ACGTACGATAGCA"
    expected = pysw_cl.align(a, b)
    assert (expected.score, expected.cigar) == (6, "6=")
    for kind in (
        str.lower,
        str.encode,
        lambda x: np.frombuffer(x.encode(), np.uint8),
        lambda x: skbio.DNA(x),
        lambda x: pysw_cl.Sequence("x", "", np.frombuffer(x.encode(), np.uint8)),
    ):
        found = pysw_cl.align(kind(a), kind(b))
        assert (found.score, ends(found), found.cigar) == (6, ends(expected), "6=")
        assert str(found).count("\n") == str(expected).count("\n")


def test_a_wildcard_scores_nothing() -> None:
    import pysw_cl

    strict = pysw_cl.align("ACGTNNACGT", "ACGTACACGT", mode="global")
    lenient = pysw_cl.align("ACGTNNACGT", "ACGTACACGT", mode="global", wildcard="N")
    assert (strict.score, lenient.score) == (8 - 6, 8)
    assert strict.cigar == lenient.cigar == "4=2X4="


def test_plans_on_the_reference_engine() -> None:
    """The same driver over the reference engine: tiles, saved grids and recursion included."""
    rng = np.random.default_rng(78)
    for mode in ("local", "global"):
        case = random_case(rng, 120)
        with small_grid(3, 8):
            whole, cut = (
                align_case(case, mode, NO_FREE_ENDS, plan={"engine": "reference", **sizes})
                for sizes in ({}, {"tile_cells": 300, "traceback_tile_cells": 100})
            )
        assert set(cut.stats.cells) == {"reference/numpy/64"}
        assert (cut.score, ends(cut), cut.cigar) == (whole.score, ends(whole), whole.cigar)
