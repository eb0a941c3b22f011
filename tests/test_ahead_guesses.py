"""How far guesses of a path go: along edges of pruned tiles, and after launches that were right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from side_by_side import HOW, constants, every_plan, pairs, plan_of, text, watched

import pysw_cl
from pysw_cl.drivers import traceback
from pysw_cl.drivers.speculative_traceback import MOST_TILES, Ahead

#: Scores beside which what pruned tiles leave (4,096 below what may matter) is little.
LARGE: dict[str, Any] = {"sub_score": (20, -60), "gap_cost": (60, 40)}
#: The first level is pruned and those inside it are not.
LEVELS = {"SIDE": 64, "PRUNED_SIDE": 2000, "LEAST_SIDE": 64, "LEAST_MARGIN": 16, "MARGIN": 1 / 256}


@every_plan
def test_guesses_go_on_along_edges_of_pruned_tiles(
    lanes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a pruned tile leaves is less than the path's only by the gap that leads from there to
    where the path goes, so guesses inside it count that gap: all of the path is found at once."""
    plan = plan_of(lanes)
    seen = watched(monkeypatch)
    constants(monkeypatch, **LEVELS)
    monkeypatch.setattr(traceback, "MOST_PIECES", 4)
    a, b = pairs("similar", np.random.default_rng(3), 20_000)
    found = pysw_cl.align(a, b, plan=plan, **LARGE, **HOW)
    assert found.rescore() == found.score > 300_000
    assert len(seen.levels) <= 8  # 70 where no gap is counted
    assert seen.walked <= 3 and not seen.refused and not seen.alone


@every_plan
def test_a_launch_that_was_right_is_not_followed_by_a_small_one(
    lanes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where memory ends launches, not guesses, as many tiles go into the next ones as before."""
    plan = plan_of(lanes)
    seen = watched(monkeypatch)
    constants(monkeypatch, **LEVELS, FIRST_CELLS=6, CELLS=6, PATH_BYTES=0, SIDE_BYTES=60)
    most: list[int] = []
    parts = Ahead._parts

    def watched_parts(self: Ahead, *args: Any) -> Any:
        most.extend(self.most_tiles)
        return parts(self, *args)

    monkeypatch.setattr(Ahead, "_parts", watched_parts)
    rng = np.random.default_rng(3)
    a = rng.integers(0, 4, 20_000)
    b = np.concatenate([rng.integers(0, 4, 333), a])
    found = pysw_cl.align(text(a), text(b), plan=plan, **LARGE, **HOW)
    assert found.cigar == "20000="
    assert seen.walked > 4 and not seen.alone  # several launches of a level, each right
    assert len(most) and min(most) == MOST_TILES
