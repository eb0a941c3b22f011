"""How far guesses of a path go: along edges of pruned tiles, and after launches that were right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import spy, tune
from speculating import HOW, constants, every_plan, pairs, plan_of, text, watched

import pysw_cl
from pysw_cl.drivers.traceback import SpeculativeTraceback

#: Scores beside which what pruned tiles leave (4,096 below what may matter) is little.
LARGE: dict[str, Any] = {"sub_score": (20, -60), "gap_cost": (60, 40)}
#: The first level is pruned and those inside it are not.
LEVELS = {"side": 64, "pruned_side": 2000, "least_side": 64, "margin": 1}


@every_plan
def test_guesses_go_on_along_edges_of_pruned_tiles(
    lanes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a pruned tile leaves is less than the path's only by the gap that leads from there to
    where the path goes, so guesses inside it count that gap: all of the path is found at once."""
    plan = plan_of(lanes)
    seen = watched(monkeypatch)
    constants(monkeypatch, **LEVELS)
    tune(monkeypatch, {"traceback.pieces": 4})
    a, b = pairs("similar", np.random.default_rng(3), 20_000)
    found = pysw_cl.align(a, b, plan=plan, **LARGE, **HOW)
    assert found.rescore() == found.score > 300_000
    assert len(seen.levels) <= 8  # 70 where no gap is counted
    assert seen.traced <= 3 and not seen.refused and not seen.alone


@every_plan
def test_a_launch_that_was_right_is_not_followed_by_a_small_one(
    lanes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where memory ends launches, not guesses, as many tiles go into the next ones as before."""
    plan = plan_of(lanes)
    seen = watched(monkeypatch)
    constants(monkeypatch, **LEVELS, first_cells=6, cells=6, path_bytes=0, side_bytes=60)
    most: list[int] = []

    def begun(path: SpeculativeTraceback, *_: Any) -> None:
        most.extend(path.most_tiles)

    spy(monkeypatch, SpeculativeTraceback, "_parts", begun)
    rng = np.random.default_rng(3)
    a = rng.integers(0, 4, 20_000)
    b = np.concatenate([rng.integers(0, 4, 333), a])
    found = pysw_cl.align(text(a), text(b), plan=plan, **LARGE, **HOW)
    assert found.cigar == "20000="
    assert seen.traced > 4 and not seen.alone  # several launches of a level, each right
    assert len(most) > len(set(most)) <= 3  # those of each level, whenever they are looked at
