"""Block pruning inside tiles: what it may skip, what it leaves, and that no result changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from aligning import needs_lanes
from widths import made_job

import pysw_cl
from pysw_cl.drivers import align_pair
from pysw_cl.drivers.band_doubling import Banded
from pysw_cl.engines.reference import ReferenceEngine
from pysw_cl.engines.registry import engine_for
from pysw_cl.scoring.scoring import make_scoring

PLANS: list[dict[str, Any]] = [
    {"lanes": "vector", "T": 4, "alpha": 2, "chunk": 7, "B": 3},
    {"lanes": "vector", "T": 16, "alpha": 3, "chunk": 5, "B": 2, "form": "two-phase"},
    {"lanes": "vector32", "T": 4, "alpha": 2, "chunk": 9, "B": 2},
    {"lanes": "packed", "alpha": 3, "chunk": 11, "B": 3},
]
plans = pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan['lanes']}-{plan['alpha']}")
REFERENCE = ReferenceEngine()


def relatives(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Codes of a sequence and of one derived from it: equal, changed, moved, or of one letter."""
    query = rng.integers(0, int(rng.choice([1, 2, 4, 4])), n)
    target = query.copy()
    changed = rng.random(n) < rng.choice([0, 0.02, 0.2])
    target[changed] = rng.integers(0, 4, int(changed.sum()))
    if rng.random() < 0.5:
        target = np.roll(target, int(rng.integers(n)))
    return query, np.concatenate([target, target[: int(rng.integers(n // 2))]])


@plans
def test_a_pruned_tile_has_the_same_best(plan: dict[str, Any]) -> None:
    """Its edges are exact, or too low for what is found to be reached from there."""
    needs_lanes(plan["lanes"])
    engine = engine_for("auto", plan)
    rng = np.random.default_rng(5)
    pruned = 0
    for k in range(40):
        scoring = make_scoring(*[((1, -3), (3, 2)), ((5, -4), (10, 1)), ((2, -1), (0, 1))][k % 3])
        query, target = relatives(rng, int(rng.integers(20, 130)))
        job = made_job(query, target, scoring, True, 0, 0, best=True)
        exact = REFERENCE.tile(job)
        threshold = None if k % 2 else exact.hits[0].score - int(rng.integers(0, 3))
        after = (0, 0) if k % 4 else tuple(int(v) for v in rng.integers(0, 40, 2))
        job = replace(job, threshold=threshold, after=after)
        found = engine.tile(job)
        assert found.hits == exact.hits
        assert found.pruned + sum(found.cells.values()) == len(query) * len(target)
        pruned += found.pruned
        best, highest = exact.hits[0], scoring.highest
        for side in ("bottom", "right"):
            edge, whole = getattr(found, side), getattr(exact, side)
            other = (edge.h != whole.h) | (edge.x != whole.x)
            assert found.pruned or not other.any()
            assert (edge.h >= 0).all()
            assert ((edge.x >= edge.h - scoring.gap_open) & (edge.x <= edge.h)).all()
            # what is not exact leads nowhere
            places, along = np.flatnonzero(other), len(edge) - 1 + after[side == "bottom"]
            left = np.minimum(along - places, after[side == "right"])
            assert (edge.h[places] + highest * left < best.score).all()
    assert pruned


@plans
def test_a_path_that_goes_on_is_not_pruned(plan: dict[str, Any]) -> None:
    """With enough rows and columns after the tile every block may still lead to the best."""
    needs_lanes(plan["lanes"])
    engine = engine_for("auto", plan)
    query = np.random.default_rng(6).integers(0, 4, 500)  # longer than any strip is high
    job = made_job(query, query, make_scoring(), True, 0, 0, best=True)
    assert engine.tile(replace(job, after=(0, 0))).pruned
    for after in ((1000, 1000), (2**40, 2**40)):
        assert engine.tile(replace(job, after=after)).pruned == 0
    assert engine.tile(replace(job, after=(0, 0), count=3)).pruned == 0  # more than the best


@pytest.mark.parametrize("plan", [*PLANS, {"T": 16, "alpha": 8, "chunk": 16, "B": 1}], ids=str)
def test_below_what_was_pruned_at_a_lower_score(plan: dict[str, Any]) -> None:
    """The top edge is what was left there when little was known of the best score: far below what
    is left today, so that both do not fit 16 bits.  Nearly all is pruned nevertheless."""
    needs_lanes(plan.get("lanes", "vector"))
    engine = engine_for("auto", plan)
    rng = np.random.default_rng(8)
    query, target = rng.integers(0, 4, 128), rng.integers(0, 4, 900)
    job = made_job(query, target, make_scoring(), True, 100_000, 0, best=True)
    found = engine.tile(replace(job, after=(0, 0), threshold=500_000))
    assert found.hits == () and found.pruned > 0.95 * 128 * 900


def test_how_much_of_an_identical_pair() -> None:
    """Nearly half of it and more, with the usual plan."""
    letters = np.frombuffer(b"ACGT", np.uint8)[np.random.default_rng(7).integers(0, 4, 40_000)]
    for output in ("ends", "path"):
        found = pysw_cl.align(letters, letters, output=output)
        whole = pysw_cl.align(letters, letters, output=output, prune=False)
        assert (found.score, found.query_end) == (40_000, 40_000)
        assert found.stats.pruned >= 0.45 * 40_000**2
        assert whole.stats.pruned == 0
        if output == "path":
            assert found.cigar == whole.cigar == "40000="


FREE: list[Any] = [False, True, (True, False), (False, True), (True, False, False, True)]


@plans
@pytest.mark.parametrize("shift", [0, 700])
def test_global_pairs_are_pruned_by_a_score_that_is_known(
    plan: dict[str, Any], shift: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Score, ends and path are those of all cells, whatever less is known, ties included; numbers
    may be far below 0."""
    needs_lanes(plan["lanes"])
    known: list[int] = []
    monkeypatch.setattr(align_pair.Search, "banded", lambda *_: Banded(least=known[0]))
    rng = np.random.default_rng(9 + shift)
    pruned = 0
    for k in range(25):
        query, target = relatives(rng, int(rng.integers(20, 130)))
        target = np.concatenate([rng.integers(0, 4, shift), target])
        a, b = (np.frombuffer(b"ACGT", np.uint8)[side].tobytes() for side in (query, target))
        how: dict[str, Any] = {
            "mode": "global", "free_ends": FREE[k % len(FREE)], "output": ("path", "ends")[k % 2],
            "sub_score": [(1, -3), (5, -4), (2, -1)][k % 3],
            "gap_cost": [(3, 2), (10, 1), 1][k % 3],
        }  # fmt: skip
        tiles = {"tile_cells": int(rng.choice([300, 2000, 1 << 30])), "traceback_tile_cells": 500}
        whole = {"engine": "reference"}
        right = pysw_cl.align(a, b, **how, plan=whole, prune=False, max_cost=None)
        known[:] = [int(right.score) - int(rng.choice([0, 0, 1, 7, 100]))]
        found = pysw_cl.align(a, b, **how, plan={**plan, **tiles})
        assert found.score == right.score
        assert (found.query_end, found.target_end) == (right.query_end, right.target_end)
        if how["output"] == "path":
            assert found.cigar == right.cigar
            assert (found.query_start, found.target_start) == (
                right.query_start,
                right.target_start,
            )
        pruned += found.stats.pruned
    assert pruned


def test_free_ends_of_similar_pairs_take_little() -> None:
    """A narrow band knows nearly the best score, and the whole matrix is pruned by it."""
    rng = np.random.default_rng(4)
    query = rng.integers(0, 4, 60_000)
    target = np.where(rng.random(len(query)) < 0.05, (query + 1) % 4, query)
    a, b = (np.frombuffer(b"ACGT", np.uint8)[side].tobytes() for side in (query, target))
    plan = {"B": 2}  # bands are as high as the lanes at work want
    for free in (True, (True, False)):
        how: dict[str, Any] = {"mode": "global", "free_ends": free, "output": "ends", "plan": plan}
        found = pysw_cl.align(a, b, **how)
        assert found.stats.total_cells < 0.6 * len(a) * len(b)
        whole = pysw_cl.align(a, b, prune=False, max_cost=None, **how)
        assert (found.score, found.query_end) == (whole.score, whole.query_end)
