"""Strips whose narrow lanes are all at the same column: local comparisons with a query profile."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from contract_engines import assert_edge, assert_tile
from helpers import make_scoring
from widths import REFERENCE, by_width, check_tile, engine_of, made_job, odd_job, told

from pysw_cl.planning.geometry import TileShape
from pysw_cl.planning.plan import Plan
from pysw_cl.planning.program import Given, planned, striped
from pysw_cl.scoring.scoring import Scoring
from pysw_cl.tiles.tile import TileJob

#: Fewest rows of a lane that stripes have, others that leave a rest of those corrected at once, and
#: many.  (Kernels of one T are those of any number of rows.)
PLANS: dict[str, dict[str, Any]] = {
    "T4": {"T": 4, "alpha": 17, "chunk": 7},
    "T16": {"T": 16, "alpha": 20, "chunk": 40},
    "T64": {"T": 64, "alpha": 18, "chunk": 100},
    "many": {"T": 4, "alpha": 63, "chunk": 30},
}
every_plan = pytest.mark.parametrize("plan", list(PLANS))


def protein(
    low: int = -4, high: int = 11, gaps: tuple[int, int] = (10, 1), seed: int = 5
) -> Scoring:
    """A matrix of 20 letters, highest on its diagonal."""
    matrix = np.random.default_rng(seed).integers(low, 3, (20, 20))
    np.fill_diagonal(matrix, high)
    return make_scoring(matrix, *gaps)


def is_striped(plan: Plan, job: TileJob) -> bool:
    """Would a tile have all lanes at the same column?"""
    score = Given(plan, job.scoring, job.floor is not None).narrow(len(job.target))
    return score is not None and striped(plan, plan.form, score, job.floor is not None)


def related(rng: np.random.Generator, m: int, n: int, scoring: Scoring, **more: Any) -> TileJob:
    """A tile with a long similar part, with gaps, somewhere."""
    query, target = rng.integers(0, 20, m), rng.integers(0, 20, n)
    size = min(m, n) * 2 // 3
    a, b, gap = int(rng.integers(m - size + 1)), int(rng.integers(n - size + 1)), size // 3
    part = query[a : a + size].copy()
    part[rng.random(size) < 0.2] = 3
    part = np.delete(part, slice(gap, gap + gap // 2))
    target[b : b + len(part)] = part
    return made_job(query, target, scoring, True, 0, 0, **more)


@every_plan
@pytest.mark.parametrize("best", [True, False])
def test_edges_of_every_kind(plan: str, best: bool) -> None:
    """Any matrix, gap costs from nothing to very much, edges that jump: the reference's results,
    in every width."""
    rng = np.random.default_rng([7, best, len(plan)])
    engine, seen, striped_tiles = engine_of(**PLANS[plan]), np.zeros(3, np.int64), 0
    for _ in range(60):
        job = odd_job(rng, True, False, 190, best=best)
        if len(job.target) < 64:
            continue
        try:
            found = check_tile(engine, job)
        except AssertionError as error:
            raise AssertionError(told(job)) from error
        striped_tiles += is_striped(engine.plan, job)
        seen += [found[8], found[16], found[32]]
    assert striped_tiles > 10
    assert (seen[0] > 0) == best
    assert seen[1] > 0


@every_plan
@pytest.mark.parametrize("gaps", [(10, 1), (0, 0), (0, 1), (3, 0), (40, 7)])
def test_gaps_across_lanes(plan: str, gaps: tuple[int, int]) -> None:
    """Long gaps in both directions cross lanes and strips; 8 bits, and 16 where scores are high."""
    rng = np.random.default_rng([11, *gaps])
    engine = engine_of(**PLANS[plan])
    for k in range(6):
        job = related(rng, 150 + 97 * k, 400 - 41 * k, protein(gaps=gaps), best=True)
        assert is_striped(engine.plan, job)
        found = check_tile(engine, job)
        assert found[32] == 0
        assert check_tile(engine, replace(job, best=False))[8] == 0


@every_plan
def test_blocks_of_32_bits(plan: str) -> None:
    """Edges too far apart for 16 bits: a block is done in 32, and later ones in fewer again."""
    rng = np.random.default_rng(13)
    engine = engine_of(**PLANS[plan])
    query, target = rng.integers(0, 20, 300), rng.integers(0, 20, 900)
    left = np.where(np.arange(300) < 100, 66_000, 0)
    scoring = protein(gaps=(10, 20))
    found = check_tile(engine, made_job(query, target, scoring, True, 0, left, best=True))
    assert found[32] > 0
    assert found[16] > 0


@every_plan
@pytest.mark.parametrize("best", [True, False])
def test_special_rows_and_columns(plan: str, best: bool) -> None:
    """Rows where strips end, and any columns, are those of the reference."""
    rng = np.random.default_rng(17)
    engine = engine_of(**PLANS[plan])
    rows = engine.plan.strip_rows
    job = related(rng, 2 * rows + 31, 333, protein(), best=best)
    job = replace(job, rows=(rows, 2 * rows), columns=(1, 2, 63, 64, 65, 199, 332))
    found, wanted = engine.tile(job), REFERENCE.tile(job)
    assert_tile(found, wanted, 10)
    for row in job.rows:
        assert_edge(found.rows[row], wanted.rows[row], 10)
    for column in job.columns:
        assert_edge(found.columns[column], wanted.columns[column], 10)


@every_plan
def test_the_best_cells(plan: str) -> None:
    """Collected cells and ties, among rows of many strips."""
    rng = np.random.default_rng(19)
    engine = engine_of(**PLANS[plan])
    unit = rng.integers(0, 20, 40)
    query, target = np.tile(unit, 9), np.tile(unit, 8)
    job = made_job(query, target, protein(), True, 0, 0, best=True, count=50)
    check_tile(engine, job)
    check_tile(engine, replace(job, count=1))


@every_plan
def test_pruned_tiles(plan: str) -> None:
    """A tile of equal letters ends at its corner, and blocks far from the diagonal are pruned."""
    rng = np.random.default_rng(23)
    engine = engine_of(**PLANS[plan])
    query = rng.integers(0, 20, 3 * engine.plan.strip_rows)
    job = made_job(query, query, protein(), True, 0, 0, best=True, after=(0, 0), right=False)
    found, wanted = engine.tile(replace(job, bottom=False)), REFERENCE.tile(job)
    assert found.hits == wanted.hits
    assert found.pruned > 0
    assert sum(by_width(found.cells).values()) + found.pruned == len(query) ** 2


def test_one_build_does_for_all_heights() -> None:
    rng, builds = np.random.default_rng(3), set()
    job = related(rng, 900, 700, protein(), best=True)
    for alpha in (17, 20, 41, 64):
        engine = engine_of(T=16, alpha=alpha, chunk=64)
        check_tile(engine, job)
        builds.add(len(engine.runtime.programs))
    assert len(builds) == 1


def test_strips_are_about_equal() -> None:
    """The last strip is not a small rest, and with few strips all groups have some."""
    plan = replace(engine_of(T=64, alpha=16, chunk=256).plan, alpha_fixed=False, B=2)
    for m in (9000, 20_000, 33_000, 35_000, 70_000):
        one = planned(Given(plan, protein()), TileShape(m, m), "matrix")
        assert one is not None and striped(one, "ticketed", "matrix", True)
        strips = -(-m // one.strip_rows)
        assert strips * one.strip_rows - m < 4 * 64 * strips + 64


def test_large_tiles_get_stripes_and_small_ones_do_not() -> None:
    engine = engine_of(T=64, alpha=16, chunk=256)
    plan = replace(engine.plan, alpha_fixed=False)
    given, sizes = Given(plan, protein()), (300, 1000, 35_000)
    chosen = {n: planned(given, TileShape(n, n), "matrix") for n in sizes}
    assert [striped(p, "ticketed", "matrix", True) for p in chosen.values() if p] == [
        False,
        False,
        True,
    ]
    unfloored = planned(Given(plan, protein(), False), TileShape(35_000, 35_000), "matrix")
    assert unfloored is not None and not striped(unfloored, "ticketed", "matrix", False)
    at_rows = planned(Given(plan, protein()), TileShape(35_000, 35_000, rows=(1024,)), "matrix")
    assert at_rows is not None and not striped(at_rows, "ticketed", "matrix", True)
