"""Narrow lanes against the reference on random cases: thousands by default, a million if long."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from aligning import align_case
from helpers import ALL_FREE_ENDS, Case, random_pair
from whole_reference import align_reference
from widths import SMALL, check_tile, engine_of, odd_job, odd_scoring, told

#: Kernels of each: local or not, compare and select or a matrix, best cell or only edges.
PLANS: list[dict[str, Any]] = [
    {},
    {"T": 16, "alpha": 3, "chunk": 40},
    {"T": 64, "alpha": 16, "chunk": 1024},
    {"T": 4, "alpha": 5, "chunk": 3},
]
CASES, LONG_CASES = 170, 62_500  # of each plan, floor and kind of scores: 16 times as many


def plan_name(plan: dict[str, Any]) -> str:
    whole = {**SMALL, **plan}
    return f"{whole['T']}x{whole['alpha']}"


plans = pytest.mark.parametrize("plan", PLANS, ids=plan_name)
both_floors = pytest.mark.parametrize("local", [True, False], ids=["local", "global"])
both_kinds = pytest.mark.parametrize("simple", [True, False], ids=["match", "matrix"])


def check_cases(
    plan: dict[str, Any], local: bool, simple: bool, cases: int, most: int
) -> dict[int, int]:
    """So many odd tiles; gives the cells by width."""
    rng = np.random.default_rng([cases, local, simple, *map(ord, plan_name(plan))])
    engine, total = engine_of(**plan), {8: 0, 16: 0, 32: 0}
    for _ in range(cases):
        # a profile needs 64 columns
        job = odd_job(rng, local, simple, most if simple else most + 60, best=local)
        try:
            found = check_tile(engine, job)
        except AssertionError as error:
            raise AssertionError(told(job)) from error
        for width in total:
            total[width] += found[width]
    return total


def assert_mixed(total: dict[int, int], local: bool) -> None:
    """Each width did a good part of the work."""
    assert total[16] > 0.03 * sum(total.values())
    assert (total[8] > 0.01 * sum(total.values())) == local


@plans
@both_floors
@both_kinds
def test_random_tiles(plan: dict[str, Any], local: bool, simple: bool) -> None:
    assert_mixed(check_cases(plan, local, simple, CASES, 70), local)


@both_kinds
def test_random_tiles_in_two_phases(simple: bool) -> None:
    """Blocks of strips, whose lanes enter and leave in 32 bits."""
    rng = np.random.default_rng(1)
    engine, narrow = engine_of(form="two-phase", B=2), 0
    for _ in range(100):
        job = odd_job(rng, True, simple, 130, best=True)
        if len(job.target) >= 16:
            narrow += check_tile(engine, job)[16]
    assert narrow > 0


@pytest.mark.parametrize("count", [2, 40])
def test_random_collections(count: int) -> None:
    """Several best cells: those found in narrow lanes and in wide ones."""
    rng = np.random.default_rng(count)
    for _ in range(150):
        check_tile(engine_of(), odd_job(rng, True, True, 60, best=True, count=count))


@pytest.mark.parametrize("plan", PLANS[::2], ids=plan_name)
@pytest.mark.parametrize("mode", ["local", "global"])
def test_random_comparisons(plan: dict[str, Any], mode: str) -> None:
    """Whole comparisons, with all free ends, in tiles of all sizes: score and ends."""
    rng = np.random.default_rng(3)
    engine_of(**plan)  # skips what the device does not run
    widths: set[str] = set()
    for k in range(160):
        scoring = odd_scoring(rng, k % 4 > 0)
        m, n = (int(v) for v in rng.integers(1, 90, 2))
        case = Case(*random_pair(rng, len(scoring.matrix), m, n), scoring)
        free = ALL_FREE_ENDS[k % 16] if mode == "global" else (False,) * 4
        whole = {**SMALL, "B": 3, **plan, "tile_cells": (400, 5000, 1 << 33)[k % 3]}
        found = align_case(case, mode, free, output="ends", plan=whole, device="auto")
        wanted = align_reference(case.query, case.target, scoring, mode, free)
        ends = found.score, found.query_end, found.target_end
        assert ends == (wanted.score, wanted.query_end, wanted.target_end), (k, free, case)
        widths |= {kind.rpartition("/")[2] for kind in found.stats.cells}
    assert widths == ({"8", "16", "32"} if mode == "local" else {"16", "32"})


@pytest.mark.long
@plans
@both_floors
@both_kinds
def test_a_million_random_tiles(plan: dict[str, Any], local: bool, simple: bool) -> None:
    """One million tiles in all: half an hour on one core."""
    assert_mixed(check_cases(plan, local, simple, LONG_CASES, 40), local)
