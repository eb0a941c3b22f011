"""The width of a batch's lanes: the bounds themselves, and pairs at their edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from aligning import NO_FREE_ENDS
from helpers import ALL_FREE_ENDS, Case, make_scoring, match_scoring
from many import check, skip_lanes

from pysw_cl.engines.batch.scores import (
    counts_fit,
    global_fits,
    local_floor,
    local_limit,
    local_width,
)
from pysw_cl.scoring.scoring import Scoring

SCORINGS = [
    match_scoring(1, -3, 3, 2),
    match_scoring(5, -4, 10, 1),
    match_scoring(2, -30_000, 0, 0),
    match_scoring(1, -1, 0, 1),
    match_scoring(1, -1, 0, 5000),
    match_scoring(1, -1, 5000, 0),
    match_scoring(3, -2, 50, 20),
    match_scoring(127, -127, 1, 1),
    match_scoring(0, -1, 1, 1),
    make_scoring([[11, -4, 0], [-4, 2, -9], [0, -9, 4]], 10, 1),
]


def same(length: int, letter: int = 0) -> Any:
    """A run of one letter."""
    return np.full(length, letter, np.uint8)


def widths(stats: Any) -> set[int]:
    """The widths that cells were computed in."""
    return {int(kind.rpartition("/")[2]) for kind in stats.cells}


@pytest.mark.parametrize("scoring", SCORINGS, ids=lambda s: f"{s.highest},{s.gap_open}")
@pytest.mark.parametrize("width", [8, 16])
def test_what_is_formed_from_a_sure_score_fits(scoring: Scoring, width: int) -> None:
    scoring = scoring.clamped()
    lowest, highest = -(1 << (width - 1)), (1 << (width - 1)) - 1
    floor, limit = local_floor(scoring, width), local_limit(scoring, width)
    gap = floor - scoring.gap_open - scoring.gap_extend
    assert min(gap - scoring.gap_extend, floor + scoring.lowest, floor - 1) == lowest or (
        floor == lowest + 1
    )
    assert floor + limit + max(scoring.highest, 1) == highest
    assert local_floor(scoring, 32) == 0


def test_starting_width() -> None:
    found = [local_width(scoring.clamped()) for scoring in SCORINGS]
    assert found == [8, 8, 8, 8, 16, 16, 8, 16, 8, 8]


@pytest.mark.parametrize("width", [8, 16])
@pytest.mark.parametrize(
    "scoring",
    [
        match_scoring(1, -3, 3, 2),
        match_scoring(1, -30_000, 3, 2),
        match_scoring(3, -1, 0, 0),
        match_scoring(7, -4, 0, 2),
        make_scoring([[5, -4], [-4, 2]], 10, 1),
    ],
    ids=["affine", "mismatch", "free gaps", "linear", "matrix"],
)
def test_local_runs_of_matches_climb_through_the_limit(width: int, scoring: Scoring) -> None:
    """One more match than a width is sure of is computed wider, and only that pair."""
    skip_lanes("vector")
    if width == 16:  # the same edge, with fewer letters
        matrix = np.maximum(scoring.matrix, -30) * 300
        scoring = make_scoring(matrix, scoring.gap_open, scoring.gap_extend)
    limit = local_limit(scoring.clamped(), width)
    length = limit // scoring.highest
    cases = [
        Case(same(length + more), np.concatenate([same(3, 1), same(length + 5)]), scoring)
        for more in (-1, 0, 1, 2)
    ]
    few = [Case(same(20), same(20), scoring)] * 20  # so that the width is not given up
    for free in (cases[:2] + few, cases[:3] + few, cases[2:]):
        scores = [min(len(c.query), length + 5) * scoring.highest for c in free]
        stats = check(free, "local", NO_FREE_ENDS, "vector", ["score", "ends", "path"])
        for cost in stats:
            assert min(widths(cost)) == width
            outgrown = sum(
                len(c.query) * len(c.target) for c, s in zip(free, scores, strict=True) if s > limit
            )
            assert cost.cells.get(f"batch/vector/{2 * width}", 0) == cost.again == outgrown


@pytest.mark.parametrize("length", [126, 127, 128, 129, 200, 254, 255, 256, 257, 300])
def test_local_scores_around_the_powers_of_two(length: int) -> None:
    for scoring in (match_scoring(1, -3, 3, 2), match_scoring(1, -2, 0, 1)):
        cases = [Case(same(length + k), same(length), scoring) for k in (-1, 0, 1, 9)]
        check(cases, "local", NO_FREE_ENDS, "vector")


def test_a_width_that_is_outgrown_is_left_out() -> None:
    scoring = match_scoring(9, -3, 3, 2)
    cases = [Case(same(60), same(60), scoring)] * 200
    (cost,) = check(cases, "local", NO_FREE_ENDS, "vector", ["score"])
    assert widths(cost) == {8, 16}


def test_global_bounds() -> None:
    scoring = match_scoring(500, -1, 0, 100)
    m, n = np.array([1, 1, 65, 66, 162]), np.array([323, 325, 65, 66, 162])
    assert global_fits(scoring, m, n, 16).tolist() == [True, False, True, False, False]
    assert counts_fit(np.array([16_000, 16_000]), np.array([16_766, 16_767]), 16).tolist() == [
        True,
        False,
    ]
    huge = match_scoring(1, -1, 5000, 0)
    assert global_fits(huge, np.array([9]), np.array([9]), 16).tolist() == [True]
    assert global_fits(
        match_scoring(1, -1, 11_000, 0), np.array([9]), np.array([9]), 16
    ).tolist() == [False]


@pytest.mark.parametrize("free_ends", [NO_FREE_ENDS, *ALL_FREE_ENDS[1::5]], ids=str)
def test_global_values_at_the_edge_of_16_bits(free_ends: tuple[bool, bool, bool, bool]) -> None:
    """Gaps as long, and runs of matches as high, as 16 bits hold, and one letter more."""
    for scoring, sizes in (
        (match_scoring(500, -1, 0, 100), [(1, 322), (1, 323), (1, 324), (323, 1), (325, 2)]),
        (match_scoring(500, -30_000, 7, 100), [(64, 64), (65, 65), (66, 66), (65, 70)]),
        (match_scoring(1, -1, 5000, 0), [(3, 300), (300, 3)]),
        (match_scoring(1, -1, 5000, 5000), [(1, 1), (2, 1), (1, 3)]),
        (match_scoring(9, -30_000, 10_000, 8), [(20, 30), (300, 200)]),
        (make_scoring([[500, -400], [-400, 300]], 900, 90), [(60, 64), (66, 66), (300, 4)]),
    ):
        for letter in (0, 1):
            cases = [Case(same(m), same(n, letter), scoring) for m, n in sizes]
            check(cases, "global", free_ends, "vector")


def test_huge_costs_in_local_mode() -> None:
    rng = np.random.default_rng(0)
    for scoring in (
        match_scoring(1, -1, 5000, 0),
        match_scoring(1, -1, 0, 5000),
        match_scoring(300, -30_000, 40_000, 30_000),
        match_scoring(30_000, -1, 5, 5),
        make_scoring([[900, -30_000], [-30_000, 127]], 400, 400),
    ):
        cases = [Case(*rng.integers(0, 2, (2, 70), np.uint8), scoring) for _ in range(40)]
        check(cases, "local", NO_FREE_ENDS, "vector")
