"""A quick look at two sequences: the likely path, and which cells a sweep computes beside it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from aligning import needs_lanes

import pysw_cl
from pysw_cl.api.calibrate import path_times
from pysw_cl.drivers.pair_forecast import UNSURE, LikelyPath, likely_paths, sweep_share
from pysw_cl.engines.registry import setting_of
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning.lane_sets import LANE_SETS
from pysw_cl.planning.model.runs import sweep_of, swept_again
from pysw_cl.planning.model.times import GENERIC
from pysw_cl.planning.plan import Plan
from pysw_cl.planning.program import Given, Seen
from pysw_cl.scoring.scoring import Scoring, cached_scoring, make_scoring
from pysw_cl.sequences.alphabet import COMPLEMENT
from pysw_cl.sequences.view import Frame

ACGT = np.frombuffer(b"ACGT", np.uint8)
PROTEIN = np.frombuffer(b"ARNDCQEGHILKMFPSTWYV", np.uint8)
DNA = cached_scoring((1, -3), (3, 2), None, "error")
SMALL: dict[str, Any] = {"lanes": "vector", "T": 4, "alpha": 2, "chunk": 16, "B": 2}


def letters(seed: int, length: int, alphabet: np.ndarray = ACGT) -> np.ndarray:
    return np.random.default_rng(seed).choice(alphabet, length)


def copy_of(query: np.ndarray, changed: float) -> np.ndarray:
    """With mismatches, and a gap of one or two letters for one change in ten."""
    rng = np.random.default_rng(3)
    target = np.where(rng.random(len(query)) < 1.3 * changed, rng.choice(ACGT, len(query)), query)
    gaps = np.flatnonzero(rng.random(len(query)) < changed / 20)
    target = np.delete(target, np.concatenate([gaps, np.minimum(gaps + 1, len(query) - 1)]))
    return np.insert(target, gaps[gaps < len(target)], ord("A"))


def path_of(
    query: np.ndarray, target: np.ndarray, scoring: Scoring = DNA, both: bool = False
) -> LikelyPath | None:
    frame = Frame((query, target), 0, len(query), 0, len(target))
    setting = setting_of(get_runtime("auto"), None, scoring, "local")
    return next(iter(likely_paths(setting, frame, both)), None)


A, X = letters(1, 6000), letters(2, 3000)
PAIRS = {
    "equal": (A, A),
    "3%": (A, copy_of(A, 0.03)),
    "13%": (A, copy_of(A, 0.13)),
    "inside": (A[1500:3500], copy_of(A, 0.05)),
    "overlap": (A[1500:], copy_of(A[:3500], 0.05)),
    "insert": (A, np.concatenate([A[:2500], X[:1000], A[2500:]])),
    "moved": (A, np.roll(copy_of(A, 0.05), 1500)),
    "inverted": (A, np.concatenate([A[:2000], COMPLEMENT[A[2000:4000][::-1]], A[4000:]])),
}


@pytest.mark.parametrize("scoring", [((1, -3), (3, 2)), ((2, -3), (5, 2))], ids=str)
@pytest.mark.parametrize("pair", PAIRS)
def test_score_place_and_pruned_cells(pair: str, scoring: Any) -> None:
    """Where pieces are put in, moved or inverted the path is not straight: that is what the
    interval is for."""
    needs_lanes("vector")
    (query, target), (sub, gap) = PAIRS[pair], scoring
    made = cached_scoring(sub, gap, None, "error")
    path = path_of(query, target, made)
    assert path is not None
    plan = {**SMALL, "lanes": "vector32"}  # all cells take as long
    score = pysw_cl.align(query, target, output="ends", plan=plan, sub_score=sub, gap_cost=gap)
    if pair not in ("insert", "moved", "inverted"):
        assert path.score == pytest.approx(score.score, rel=0.15)
        ends = path.row + path.down, path.column + path.right
        assert ends == pytest.approx((score.query_end, score.target_end), rel=0.08)
    setting = setting_of(get_runtime("auto"), plan, made, "local")
    (m, n), strips = (len(query), len(target)), sweep_of(setting, len(query), len(target)).widest
    assert strips is not None and sweep_share(setting, strips, (m, n), path, False) == 1.0
    foreseen = sweep_share(setting, strips, (m, n), path, True)
    computed = 1 - score.stats.pruned / (m * n)
    assert foreseen / (1 + UNSURE) <= computed <= foreseen * (1 + UNSURE)


@pytest.mark.parametrize("length", [1, 15, 16, 100, 5000, 400_000])
def test_unrelated(length: int) -> None:
    assert path_of(letters(1, length), letters(2, length)) is None
    for letter in b"AN":
        same = np.full(length, letter, np.uint8)
        assert path_of(same, same) is None


def test_strands_and_letters() -> None:
    query = letters(1, 20_000)
    target, reverse = copy_of(query, 0.05), COMPLEMENT[query[::-1]]
    plus, both = path_of(query, target), path_of(reverse, target, both=True)
    assert path_of(reverse, target) is None and plus is not None and both is not None
    assert both.score == pytest.approx(plus.score, rel=0.05)
    assert path_of(query | np.uint8(32), target) is not None  # lower case
    query[5000:9000], target[5000:9000] = ord("N"), ord("N")
    assert path_of(query, target) is not None
    blosum = cached_scoring("BLOSUM62", (10, 1), None, "error")
    protein = letters(4, 3000, PROTEIN)
    changed = np.where(np.random.default_rng(5).random(3000) < 0.2, ord("W"), protein)
    like = path_of(protein, changed, blosum)
    assert like is not None and (like.down, like.right) == pytest.approx((3000, 3000), abs=150)
    assert path_of(protein, letters(6, 3000, PROTEIN), blosum) is None
    four = make_scoring((5 * np.eye(4, dtype=int) - 3, "DEFG"), (3, 2))
    other = letters(7, 3000, np.frombuffer(b"DEFG", np.uint8))
    assert path_of(other, other, four) is not None


def test_two_of_millions_take_no_time() -> None:
    query = letters(1, 2_000_000)
    target, taken = copy_of(query, 0.05), []
    for _ in range(3):
        started = time.perf_counter()
        assert path_of(query, target) is not None
        taken.append(time.perf_counter() - started)
    assert min(taken) < 0.3


def test_strips_of_a_gpu_wait_for_each_other() -> None:
    """As measured on an H100: pairs that one round of strips does take as long as all cells."""
    sizes: dict[str, Any] = {"B": 12 * 132, "T": 64, "alpha": 25, "chunk": 128}
    sizes |= {"form": "ticketed", "tile_cells": LANE_SETS["packed"].defaults.tile_cells}
    plan = Plan(lanes="packed", machine=GENERIC.on(4 * 132), **sizes)
    plan = replace(plan, tuning=plan.tuning.with_values({"sweep.longest_side": 1 << 30}))
    made, shares = Given(plan, DNA, seen=Seen(few=True, alike=True)), []
    for m in (255_572, 638_930, 10_000_000, 40_000_000):
        strips, path = sweep_of(made, m, m).widest, LikelyPath(0.0, 0.0, m, m, 0.75 * m)
        assert strips is not None
        shares.append(sweep_share(made, strips, (m, m), path, True))
        assert sweep_share(made, strips, (m, m), LikelyPath(), True) == 1.0
    assert shares[:2] == pytest.approx([0.99, 0.99], abs=0.05)
    assert shares[3] < shares[2] < 0.7
    # a score that is known leaves the first strips and columns
    assert sweep_share(made, strips, (m, m), LikelyPath(), True, 0.8 * m) < 0.2


def test_what_a_traceback_does_and_takes() -> None:
    setting = setting_of(get_runtime("auto"), None, DNA, "local")
    small = swept_again(setting, 20_000, 20_000, (20_000.0, 20_000.0))
    assert small == {("path", "call"): 1, ("path", "row"): 20_000}
    large = swept_again(setting, 10**6, 10**6, (10.0**6, 10.0**6))
    assert large["path", "cell"] == pytest.approx(10**12 / 15, rel=0.01)
    short = swept_again(setting, 10**6, 10**6, (0.0, 0.0))
    assert short["path", "cell"] == pytest.approx(10**12 / 225, rel=0.01)
    found = path_times(get_runtime("auto"), {}, budget=0.0)["path"]
    assert 0 < found["call"] + found["row"] < 1 and 0 < found["cell"] < 1e-6
