"""Which cells a sweep of similar sequences computes: foreseen, and as engines count them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import pysw_cl
from pysw_cl.api.calibrate_similar import _sweep_times, fitted_similar, mutated
from pysw_cl.engines.settings import setting_of
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning.model.similar import (
    ALL,
    Shares,
    SimilarPath,
    relative_time,
    shares_under,
    swept_again,
)
from pysw_cl.planning.model.times import GENERIC, Times
from pysw_cl.scoring.scoring import Scoring, cached_scoring
from pysw_cl.sequences.resemblance import resemblance

ACGT = np.frombuffer(b"ACGT", np.uint8)
DNA = cached_scoring((1, -3), (3, 2), None, "error")
SMALL: dict[str, Any] = {"lanes": "vector", "T": 4, "alpha": 4, "chunk": 16, "B": 2}


def letters(seed: int, length: int) -> np.ndarray:
    return np.random.default_rng(seed).choice(ACGT, length)


A = letters(1, 5000)
X = letters(2, 3000)


def copy_of(query: np.ndarray, changed: float) -> np.ndarray:
    return mutated(query, changed, np.random.default_rng(3))


PAIRS = {
    "equal": (A, A),
    "3%": (A, copy_of(A, 0.03)),
    "13%": (A, copy_of(A, 0.13)),
    "inside": (A[1500:3500], copy_of(A, 0.05)),
    "overlap": (A[1500:], copy_of(A[:3500], 0.05)),
    "insert": (A, np.concatenate([A[:2500], X[:1000], A[2500:]])),
    "deletion": (np.concatenate([A[:2500], X[:1000], A[2500:]]), A),
    "moved": (A, np.roll(copy_of(A, 0.05), 1500)),
}


@pytest.mark.parametrize("scoring", [((1, -3), (3, 2)), ((2, -3), (5, 2))], ids=str)
@pytest.mark.parametrize("pair", PAIRS)
def test_pruned_cells(pair: str, scoring: Any) -> None:
    query, target = PAIRS[pair]
    sub, gap = scoring
    made = cached_scoring(sub, gap, None, "error")
    found = pysw_cl.align(query, target, output="score", plan=SMALL, sub_score=sub, gap_cost=gap)
    shares, path = foreseen(query, target, made)
    computed = 1 - found.stats.pruned / (len(query) * len(target))
    assert shares.computed == pytest.approx(computed, rel=0.15)
    assert path.score == pytest.approx(found.score, rel=0.1)
    near = sum(count for name, count in found.stats.cells.items() if not name.endswith("/8"))
    assert shares.near == pytest.approx(near / (len(query) * len(target)), abs=0.06)


def foreseen(
    query: np.ndarray, target: np.ndarray, scoring: Scoring = DNA
) -> tuple[Shares, SimilarPath]:
    look = resemblance(query, target)
    assert look is not None
    setting = setting_of(get_runtime("auto"), SMALL, scoring, "local")
    path = SimilarPath.of(look, len(query), len(target), scoring)
    return shares_under(setting, path), path


def test_a_score_that_is_known_prunes_an_unrelated_sequence() -> None:
    setting = setting_of(get_runtime("auto"), SMALL, DNA, "local")
    nowhere = SimilarPath.nowhere(5000, 5000, DNA)
    assert shares_under(setting, nowhere) == ALL
    # cells from which 3000 is reached: those with 3000 rows and columns left
    assert shares_under(setting, nowhere, 3000).computed == pytest.approx(0.16, abs=0.02)


def test_where_the_path_is() -> None:
    _, path = foreseen(*PAIRS["inside"])
    assert path.extent == pytest.approx((2000, 2000), abs=60)
    _, path = foreseen(*PAIRS["moved"])
    assert path.extent == pytest.approx((3500, 3500), abs=60)


def test_what_a_traceback_does() -> None:
    setting = setting_of(get_runtime("auto"), None, DNA, "local")
    small = swept_again(setting, 20_000, 20_000, (20_000.0, 20_000.0))
    assert small == Counter({("path", "call"): 1, ("path", "row"): 20_000})
    large = swept_again(setting, 10**6, 10**6, (10.0**6, 10.0**6))
    assert large["path", "cell"] == pytest.approx(10**12 / 15, rel=0.01)
    short = swept_again(setting, 10**6, 10**6, (0.0, 0.0))
    assert short["path", "cell"] == pytest.approx(10**12 / 225, rel=0.01)
    assert 0 < short["path", "row"] <= 2048


def test_cells_near_the_path_take_longer() -> None:
    half = Shares(0.3, 0.2)
    assert relative_time(half, GENERIC, 8) == pytest.approx(0.7)
    assert relative_time(half, GENERIC, 16) == pytest.approx(0.5)
    times = Times({"similar/8": {"near": 3.0, "pruned": 0.1}})
    assert relative_time(half, times, 8) == pytest.approx(0.95)


class _Pair:
    """A pair with the seconds that known times give."""

    def __init__(self, side: int, changed: float, times: Times) -> None:
        self.query = letters(side, side)
        self.target = copy_of(self.query, changed)
        setting = setting_of(get_runtime("auto"), None, DNA, "local")
        m, n = side, len(self.target)
        look = resemblance(self.query, self.target)
        assert look is not None
        path = SimilarPath.of(look, m, n, DNA)
        whole = pysw_cl.predict(m, n).parts["sweep"]
        sweep = whole * relative_time(shares_under(setting, path), times, 8)
        counts = swept_again(setting, m, n, path.extent)
        self.device, self.whole, self.score = [sweep], [whole], [sweep + 0.001]
        traced = sum(times.of("path")[name] * count for (_, name), count in counts.items())
        self.path = [self.score[0] + traced]


def test_times_are_found_again() -> None:
    known = Times({"similar": {"near": 2.5}, "path": {"call": 0.01, "row": 2e-6}})
    known.by_subject["path"]["cell"] = 0.0  # type: ignore[index]
    pairs = [_Pair(*one, known) for one in ((20_000, 0.04), (40_000, 0.14), (60_000, 0.07))]
    found = fitted_similar(get_runtime("auto"), pairs)  # type: ignore[arg-type]
    near = next(own for subject, own in found.items() if subject.startswith("similar"))
    assert near == pytest.approx({"near": 2.5, "pruned": 0.0}, rel=0.01)
    assert found["path"]["row"] == pytest.approx(2e-6, rel=0.01)
    assert found["path"]["call"] == pytest.approx(0.01, rel=0.01)


def test_in_wide_lanes_pruned_cells_are_the_difference() -> None:
    sweeps = [(0.6, Shares(0.3, 0.2)), (0.7, Shares(0.4, 0.2)), (0.58, Shares(0.3, 0.2))]
    assert _sweep_times(sweeps, 16) == pytest.approx((1.0, 0.2))
    assert _sweep_times(sweeps, 8) == pytest.approx((1.5, 0.0))
