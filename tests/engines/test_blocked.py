"""Tiles with blocked pairs, which no path aligns: every engine does what the reference does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from contract_engines import assert_tile, make_engine, random_job, random_pairs
from helpers import match_scoring, random_scoring, tune
from schedule_checker import ScheduleChecker

from pysw_cl.engines.plans import make_plan
from pysw_cl.engines.reference import ReferenceEngine
from pysw_cl.engines.wavefront import engine as wavefront
from pysw_cl.opencl.device import get_runtime
from pysw_cl.sequences.view import View, pairs_inside
from pysw_cl.tiles.edges import Border, EdgeArray, Edges
from pysw_cl.tiles.graph import Rectangle
from pysw_cl.tiles.sweep import sweep
from pysw_cl.tiles.tile import Want

SCORING = match_scoring(2, -1, 3, 1)
REFERENCE = ReferenceEngine()
SIZES = [(1, 2), (1, 40), (40, 1), (30, 3), (8, 8), (9, 16), (41, 40), (70, 33), (23, 90)]
#: Narrow lanes leave these tiles to the others.
TRIED = ["reference", "default", "narrow-ticketed", "ticketed", "scalar-two-phase"]
TRIED += [f"two-phase-{B}" for B in (1, 2, 3, 4, 5)]

both_floors = pytest.mark.parametrize("local", [True, False], ids=["local", "global"])


@pytest.mark.parametrize("name", TRIED)
@both_floors
def test_tile_is_the_reference(name: str, local: bool) -> None:
    """Edges and best cell, from edges that hold anything they may."""
    rng = np.random.default_rng(1)
    for m, n in SIZES:
        job = random_job(rng, m, n, SCORING, local, base=int(rng.integers(-9, 9)), best=local)
        job = replace(job, forbidden=random_pairs(rng, m, n))
        assert_tile(make_engine(name).tile(job), REFERENCE.tile(job), SCORING.gap_open)


@pytest.mark.parametrize(("name", "local"), [("ticketed", True), ("two-phase-3", False)])
def test_other_scorings(name: str, local: bool) -> None:
    """Matrices, linear gaps, gaps that cost nothing."""
    rng = np.random.default_rng(2)
    for k in range(16):
        scoring = random_scoring(rng, 4 if k % 2 else 7, linear=k % 4 == 0)
        m, n = (int(v) for v in rng.integers(2, 70, 2))
        job = random_job(rng, m, n, scoring, local, best=True, bottom=k % 5 > 0)
        job = replace(job, forbidden=random_pairs(rng, m, n))
        assert_tile(make_engine(name).tile(job), REFERENCE.tile(job), scoring.gap_open)


def test_many_rows_a_lane() -> None:
    """More than one word of bits."""
    runtime, rng = get_runtime("auto"), np.random.default_rng(7)
    plan = make_plan(runtime, {"lanes": "scalar32", "T": 2, "alpha": 17, "chunk": 9})
    for m, n in [(90, 50), (300, 20)]:
        job = random_job(rng, m, n, SCORING, True, best=True)
        job = replace(job, forbidden=random_pairs(rng, m, n))
        found = wavefront.WavefrontEngine(runtime, plan).tile(job)
        assert_tile(found, REFERENCE.tile(job), SCORING.gap_open)


@pytest.mark.parametrize("name", ["ticketed", "two-phase-3"])
@both_floors
def test_walks(name: str, local: bool) -> None:
    """Kept moves: from every cell the same way, over no blocked pair."""
    rng = np.random.default_rng(3)
    for m, n in [(23, 19), (9, 40)]:
        job = random_job(rng, m, n, SCORING, local, store_moves=True)
        job = replace(job, forbidden=random_pairs(rng, m, n))
        found, wanted = (engine.tile(job).moves for engine in (make_engine(name), REFERENCE))
        assert found is not None
        assert wanted is not None
        forbidden = set(zip(*job.forbidden.tolist(), strict=True))
        for _ in range(12):
            row, column = (int(v) for v in rng.integers(1, (m + 1, n + 1)))
            state = int(rng.integers(3))
            one, other = found.trace(row, column, state), wanted.trace(row, column, state)
            assert one.moves.tolist() == other.moves.tolist()
            assert (one.row, one.column, one.ended) == (other.row, other.column, other.ended)
            for move in one.moves.tolist():
                assert move or (row - 1, column - 1) not in forbidden
                row, column = row - (move != 1), column - (move != 2)
        found.release()


@pytest.mark.parametrize("name", ["reference", "narrow-ticketed"])
@pytest.mark.parametrize("across", [True, False], ids=["rows", "columns"])
def test_several_best(name: str, across: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where so many cells are equal that a tile is halved, its pairs go with their halves."""
    tune(monkeypatch, {"engine.least_hits": 4})
    rng = np.random.default_rng(4)
    m, n = (30, 17) if across else (1, 60)
    job = random_job(rng, m, n, SCORING, True, best=True, count=5)
    letters = np.zeros(m, np.uint8), np.zeros(n, np.uint8)  # of one kind: nothing but ties
    job = replace(job, query=letters[0], target=letters[1])
    for count in (1, 3, 5, 40):
        one = replace(job, count=count, forbidden=random_pairs(rng, m, n))
        assert_tile(make_engine(name).tile(one), REFERENCE.tile(one), SCORING.gap_open)


@pytest.mark.parametrize("name", ["reference", "narrow-ticketed"])
def test_sweep_hands_each_tile_its_own(name: str) -> None:
    rng = np.random.default_rng(5)
    m, n = 61, 47
    query, target = rng.integers(0, 2, m).astype(np.uint8), rng.integers(0, 2, n).astype(np.uint8)
    border, forbidden = Border(True, 3, 1), random_pairs(rng, m, n)
    results = []
    for engine, shape in ((REFERENCE, None), (make_engine(name), (13, 20))):
        bottom, right = EdgeArray(n), EdgeArray(m)
        edges = Edges(0, border, border, bottom, right)
        done = sweep(
            engine,
            Rectangle(View(query), View(target), SCORING, 0, forbidden),
            edges,
            Want("all"),
            shape=shape,
        )
        lines = bottom.read(0, n), right.read(0, m)
        results.append((done.hits, *((line.h.tolist(), line.x.tolist()) for line in lines)))
    assert results[0] == results[1]


def test_pairs_inside() -> None:
    pairs = np.array([[0, 0, 3, 3, 7], [2, 9, 0, 5, 5]])
    assert pairs_inside(None, 0, 9, 0, 9) is None
    assert pairs_inside(pairs, 4, 7, 0, 10) is None
    found = pairs_inside(pairs, 3, 8, 5, 10)
    assert found is not None
    assert found.tolist() == [[0, 4], [0, 0]]


@pytest.mark.parametrize("form", ["ticketed", "two-phase"])
def test_each_pair_is_met_by_its_lane(form: str) -> None:
    """The schedule, without any score: every pair once, when its row's lane is at its column."""
    rng = np.random.default_rng(6)
    for k in range(24):
        plan = make_plan(None, {"form": form, "T": 4, "alpha": 1 + k % 3, "B": 1 + k % 4})
        m, n = (int(v) for v in rng.integers(2, 80, 2))
        job = random_job(rng, m, n, SCORING, True, store_moves=k % 5 == 0)
        engine = ScheduleChecker(plan, seed=k, again=k % 2 > 0)
        engine.tile(replace(job, forbidden=random_pairs(rng, m, n)))
        (count,) = engine.counts
        assert (count.cells == 1).all()
