"""The row scan with three launches a row: every row against the reference, whatever gaps span."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from aligning import needs_lanes
from contract_engines import assert_tile, random_job
from helpers import decode, match_scoring, random_codes, random_scoring

import pysw_cl
from pysw_cl.engines.reference import ReferenceEngine
from pysw_cl.engines.registry import engine_for
from pysw_cl.engines.rowscan.engine import KERNELS
from pysw_cl.engines.rowscan.plan import RowscanPlan
from pysw_cl.errors import PlanError
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning.facts import DeviceFacts
from pysw_cl.scoring.scoring import Scoring
from pysw_cl.sequences.view import Codes
from pysw_cl.tiles.contract import Engine
from pysw_cl.tiles.edges import Border
from pysw_cl.tiles.tile import TileJob

PLAN = {"engine": "rowscan", "form": "three-launch"}
REFERENCE = ReferenceEngine()
#: Work-items of a group and columns of an item.  A group has T x R columns, a portion of totals as
#: many groups.
SHAPES = [(4, 2), (1, 1), (2, 4), (8, 1)]
DEAREST = (1 << 20) - 1
COSTS = [
    (0, 0), (0, 1), (3, 0), (3, 1), (0, DEAREST), (DEAREST, 0), (DEAREST, DEAREST), (200, 7),
]  # fmt: skip

every_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)
both_floors = pytest.mark.parametrize("local", [True, False], ids=["local", "global"])


@cache
def engine_of(T: int, R: int) -> Engine:
    needs_lanes("scalar32")
    return engine_for("auto", {**PLAN, "T": T, "alpha": R})


def job_of(query: Codes, target: Codes, scoring: Scoring, local: bool, **more: Any) -> TileJob:
    """The tile that is a whole matrix."""
    border = Border(local, scoring.gap_open, scoring.gap_extend)
    top, left = (border.read(0, len(codes)) for codes in (target, query))
    return TileJob(query, target, scoring, 0 if local else None, 0, top, left, best=True, **more)


def torn(rng: np.random.Generator, apart: int) -> tuple[Codes, Codes]:
    """A word, and its halves so far apart."""
    word = random_codes(rng, 12, 3)
    between = np.full(apart, 3, np.uint8)  # a letter that the word does not have
    return word, np.concatenate([word[:6], between, word[6:]])


@every_shape
@both_floors
@pytest.mark.parametrize("cost", COSTS, ids=str)
def test_every_row(shape: tuple[int, int], local: bool, cost: tuple[int, int]) -> None:
    """Gaps longer than a work-group, than a portion of totals, and as long as the row: each row is
    the bottom edge of a tile that ends there."""
    T, R = shape
    rng = np.random.default_rng(T)
    group = T * R
    engine = engine_of(T, R)
    for apart in (0, group + 1, group * group + 3, 700):
        query, target = torn(rng, apart)
        for match in (5, 1000):
            scoring = match_scoring(match, -4, *cost)
            rows = range(1, len(query) + 1) if match == 1000 else (len(query),)
            for row in rows:
                job = job_of(query[:row], target, scoring, local)
                assert_tile(engine.tile(job), REFERENCE.tile(job), cost[0])


@pytest.mark.parametrize("shape", [*SHAPES, (64, 4)], ids=str)
def test_what_a_gap_loses_exceeds_32_bits(shape: tuple[int, int]) -> None:
    """Over groups, portions and the row; a score that could outlast 31 bits is still there."""
    rng = np.random.default_rng(3)
    scoring = match_scoring(DEAREST, -DEAREST, 1, DEAREST - 1)
    query, target = random_codes(rng, 40, 4), random_codes(rng, 5000, 4)
    target[:40] = query
    job = job_of(query, target, scoring, True)
    assert_tile(engine_of(*shape).tile(job), REFERENCE.tile(job), 1)


@every_shape
@both_floors
def test_sizes_and_scorings(shape: tuple[int, int], local: bool) -> None:
    """One row, one column, columns that fill no group; matrices, linear gaps, few best cells."""
    rng = np.random.default_rng(4)
    group = shape[0] * shape[1]
    sizes = [(1, 1), (1, 50), (50, 1), (3, group), (3, group - 1 or 1), (3, group + 1)]
    sizes += [(5, group * group + 1), *((int(a), int(b)) for a, b in rng.integers(1, 70, (6, 2)))]
    for k, (m, n) in enumerate(sizes):
        scoring = random_scoring(rng, 4 if k % 2 else 7, linear=k % 4 == 0)
        job = random_job(
            rng, m, n, scoring, local, best=True, bottom=k % 3 > 0, count=1 if k % 4 else 9
        )
        assert_tile(engine_of(*shape).tile(job), REFERENCE.tile(job), scoring.gap_open)


@both_floors
@pytest.mark.parametrize("count", [1, 3, 100_000])
def test_ties_and_more_cells_than_there_are(local: bool, count: int) -> None:
    """Of equal scores the first in row-major order, in whatever group it is."""
    rng = np.random.default_rng(5)
    for unit in (1, 2, 3, 40):
        for cost in ((0, 0), (2, 1)):
            query, target = (
                np.resize(random_codes(rng, unit, 2), length).astype(np.uint8)
                for length in (20, 90)
            )
            job = job_of(query, target, match_scoring(1, -1, *cost), local, count=count)
            found, wanted = engine_of(4, 2).tile(job), REFERENCE.tile(job)
            assert_tile(found, wanted, cost[0])
            assert len(found.hits) <= min(count, 20 * 90)


def test_more_cells_than_the_list_holds() -> None:
    """All cells have one score, so the tile is halved until they fit."""
    needs_lanes("scalar32")
    engine = engine_for("auto", {**PLAN, "T": 4, "alpha": 2, "engine.least_hits": 1})
    job = job_of(*(np.zeros(k, np.uint8) for k in (9, 31)), match_scoring(1, -1, 0, 0), True)
    for count in (1, 2, 40):
        for low in (None, 3):
            asked = replace(job, count=count, threshold=low)
            assert_tile(engine.tile(asked), REFERENCE.tile(asked), 0)


@pytest.mark.parametrize("level", [7, -7])
def test_a_level_row_above(level: int) -> None:
    """One number for all columns, which is not stored for each."""
    rng = np.random.default_rng(6)
    scoring = match_scoring(2, -1, 3, 1)
    job = random_job(rng, 20, 45, scoring, False)
    one = np.array([level, level - 2], np.int32)
    top = replace(job.top, h=np.broadcast_to(one[:1], 45), x=np.broadcast_to(one[1:], 45))
    job = replace(job, top=top)
    assert_tile(engine_of(4, 2).tile(job), REFERENCE.tile(job), 3)


# --- the plan ------------------------------------------------------------------------------------


def test_the_form_is_asked_for() -> None:
    """It has lanes and numbers of its own, and is no device's default."""
    needs_lanes("scalar32")
    runtime = get_runtime("auto")
    usual, plan = engine_for("auto", {"engine": "rowscan"}).plan, engine_for("auto", PLAN).plan
    assert usual.form == runtime.info.form
    assert (plan.form, plan.lanes) == ("three-launch", "scalar32")
    assert plan.T in range(1, runtime.device.max_work_group_size + 1)
    given = engine_for("auto", plan.overrides()).plan
    assert given == replace(plan, alpha_fixed=True, B_fixed=True)
    assert engine_for("auto", plan).plan == plan


def test_groups_fit_the_device() -> None:
    small = DeviceFacts(memory=1 << 30, largest=1 << 28, most_items=24)
    assert RowscanPlan().in_form("three-launch", small).T == 16
    assert RowscanPlan().in_form("two-phase", small) == RowscanPlan()


@pytest.mark.parametrize(
    ("wishes", "words"),
    [
        ({"engine": "wavefront", "form": "three-launch"}, "does not exist for wavefront"),
        ({**PLAN, "form": "four-launch"}, "three-launch"),
        ({**PLAN, "lanes": "vector32"}, "has scalar32 lanes, not vector32"),
        ({**PLAN, "alpha": 3}, "alpha in"),
    ],
)
def test_plans_that_do_not_exist(wishes: dict[str, Any], words: str) -> None:
    needs_lanes("vector32")
    with pytest.raises(PlanError, match=words):
        engine_for("auto", wishes)


# --- what users call -----------------------------------------------------------------------------


def test_results_are_those_of_every_engine() -> None:
    needs_lanes("scalar32")
    rng = np.random.default_rng(8)
    scoring = match_scoring(1, -1, 0, 1)
    a, b = (decode(random_codes(rng, k, 4), scoring) for k in (60, 900))
    b = b[:300] + a[:30] + b[300:700] + a[30:] + b[700:]
    options: list[dict[str, Any]] = [
        {},
        {"gap_cost": (2, 0), "strand": "both"},
        {"mode": "global", "free_ends": (True, True, False, False)},
        {"mode": "global", "sub_score": "BLOSUM62"},
    ]
    for one in options:
        usual, found = (pysw_cl.align(a, b, **one, plan=plan) for plan in (None, PLAN))
        assert found == usual
        assert any(kind.startswith("rowscan/scalar/") for kind in found.stats.cells)
    for k in (3, 5000):
        ends = [pysw_cl.best_ends(a, b, k=k, plan=plan) for plan in ({}, PLAN)]
        assert ends[0].tolist() == ends[1].tolist()


def test_kernel_seconds() -> None:
    """Of each launch, for a rate to be computed from."""
    needs_lanes("scalar32")
    rng = np.random.default_rng(9)
    engine = engine_for("auto", {**PLAN, "T": 4, "alpha": 2}, timed=True)
    query, target = random_codes(rng, 5, 4), random_codes(rng, 3000, 4)
    assert engine.tile(job_of(query, target, match_scoring(2, -1, 3, 1), True)).launches == 15
    assert set(engine.kernel_seconds) == set(KERNELS)
