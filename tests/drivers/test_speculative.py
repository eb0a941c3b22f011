"""Paths by tiles that are computed side by side, ahead of the walk, are those of tiles one by one,
wherever the guess is wrong, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import spy, tune
from saving import key
from speculating import (
    Seen,
    both,
    constants,
    every_plan,
    pairs,
    plan_of,
    text,
    watched,
)

import pysw_cl
from pysw_cl.drivers.band_doubling import BandGrid
from pysw_cl.drivers.path_prediction import SetLines, SweptLines


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """What happens in this test."""
    return watched(monkeypatch)


KINDS = ["similar", "inside", "long gap", "rotated", "few letters", "repeats", "unrelated"]
MODES: list[dict[str, Any]] = [
    {"mode": "local"},
    {"mode": "local", "prune": False},
    {"mode": "global", "max_cost": None},
    {"mode": "global", "free_ends": True, "max_cost": None},
]
SCORINGS: list[dict[str, Any]] = [
    {"sub_score": (1, -3), "gap_cost": (3, 2)},
    {"sub_score": (2, -1), "gap_cost": 1},
    {"sub_score": (1, -1), "gap_cost": (10, 1)},
]
ODD: list[dict[str, Any]] = [
    {},
    {"margin": 0, "slack": 0},
    {"path_bytes": 0, "side_bytes": 0},
    {"most_tiles": 2, "side": 300, "begun": 64},
    {"path_bytes": 1 << 20, "side_bytes": 20, "least_side": 400},
    {"margin": 0.1, "pruned_side": 700},
]


@every_plan
def test_paths_are_those_of_tiles_one_by_one(
    lanes: str, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, rng = plan_of(lanes), np.random.default_rng(5)
    count = 0
    for k, kind in enumerate(KINDS):
        for j, mode in enumerate(MODES):
            constants(monkeypatch, **{"first_cells": 4, **ODD[(k + j) % len(ODD)]})
            a, b = pairs(kind, rng, int(rng.integers(2300, 5000)))
            both(seen, a, b, plan, **mode, **SCORINGS[(k + 2 * j) % len(SCORINGS)])
            count += kind != "unrelated" or mode["mode"] == "global"
    assert len(seen.engines) >= count - 2
    assert seen.alone < count  # where the path is near its start, mostly
    assert {-1, 0, 1} <= set(seen.levels)
    assert seen.looked > 100


@every_plan
def test_paths_in_a_band(lanes: str, seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the band keeps is rows only, and nothing to the left of its tiles."""
    plan, rng = plan_of(lanes), np.random.default_rng(11)
    tune(monkeypatch, {"band.least_rows": 128, "band.most_tried": 0.7})
    lines: list[type] = []
    spy(monkeypatch, SweptLines, "__init__", lambda self, grid, *_: lines.append(type(grid)))
    for k in range(24):
        constants(monkeypatch, **{**ODD[k % len(ODD)], "side": 128})
        a, b = pairs(("similar", "few letters", "repeats")[k % 3], rng, 2300 + 100 * k)
        how: dict[str, Any] = {"mode": "global", **SCORINGS[k // 2 % len(SCORINGS)]}
        how["free_ends"] = (False, k % 5 == 4, False, False)
        found, _ = both(seen, a, b, plan, max_cost="auto" if k % 2 else 1500, **how)
        whole = pysw_cl.align(a, b, plan=plan, device="auto", max_cost=None, **how)
        assert key(found) == key(whole)
    assert lines.count(BandGrid) > 12 and seen.alone < 6


@every_plan
@pytest.mark.parametrize("side", [128, 256])
@pytest.mark.parametrize("slack", [0, 710])
def test_a_guess_that_is_wrong(
    lanes: str, side: int, slack: int, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the grid is cut another path could gain more, to the right of the one that is best, and
    is taken for it: the best one comes to a tile that was pruned for the other, with too low a
    score (``slack`` 0) or too far away."""
    plan, rng = plan_of(lanes), np.random.default_rng(1)
    constants(monkeypatch, least_side=1500, slack=slack, side=side)

    def all_match(down: Any, across: int, *_: Any) -> Any:
        return np.minimum(down, across)

    monkeypatch.setattr("pysw_cl.drivers.path_prediction.promise", all_match)
    strip = plan["T"] * plan["alpha"]
    cut = -(-1500 // strip) * strip
    query = rng.integers(0, 4, 3000)
    query[cut - 600 : cut] = query[cut : cut + 600]
    noisy = query[cut - 600 : cut].copy()
    noisy[::6] = (noisy[::6] + 1) % 4
    query[cut - 900 : cut - 600] = noisy[300:]
    target = np.concatenate([noisy, query[cut:]])
    found, _ = both(seen, text(query), text(target), plan, sub_score=(1, -3), gap_cost=(10, 2))
    assert found.query_end == 3000 and found.target_end == len(target)
    assert seen.refused


def test_strips_that_are_higher_than_cells(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles have whole strips, those beside the guess and in the last rows of a grid, too."""
    plan, rng = {**plan_of("vector"), "T": 16, "alpha": 16}, np.random.default_rng(4)
    constants(monkeypatch, least_side=300, margin=4)
    for k in range(30):
        a, b = pairs(("unrelated", "similar")[k % 2], rng, int(rng.integers(300, 1500)))
        how: dict[str, Any] = {"max_cost": None} if k % 3 else {}
        both(
            seen,
            a,
            b,
            plan,
            mode=("local", "global")[k % 3 > 0],
            **how,
            **SCORINGS[k % len(SCORINGS)],
        )
    assert seen.traced > 20


@every_plan
def test_guesses_of_any_kind(lanes: str, seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a path enters a cell is guessed at random, often near what is true, with any H."""
    plan, rng = plan_of(lanes), np.random.default_rng(6)

    def guessing(kind: Any) -> None:
        real = kind.way

        def guess(
            self: Any, row: int, column: int, h: int | None, tile: int, most: int
        ) -> np.ndarray:
            way = list[Any]()
            while len(way) < most:
                found = real(self, row, column, h, tile, 1)
                if not len(found):
                    break
                tile, *area, r, c, h = found[0].tolist()
                h += int(rng.choice([0, -300, 5, 40, 2000]))
                if rng.random() < 0.1:
                    r, c = area[0], int(rng.integers(area[2] + 1, column + 1))
                elif rng.random() < 0.1:
                    r, c = int(rng.integers(area[0] + 1, row + 1)), area[2]
                row, column = r, c
                way.append((tile, *area, row, column, h))
            return np.array(way, np.int64).reshape(-1, 8)

        monkeypatch.setattr(kind, "way", guess)

    for kind in (SweptLines, SetLines):
        guessing(kind)
    tune(monkeypatch, {"band.least_rows": 128})
    for k in range(18):
        slack = int(rng.choice([0, 10, 1024]))
        constants(monkeypatch, slack=slack, least_side=int(rng.choice([600, 1500])))
        a, b = pairs(KINDS[k % 4], rng, int(rng.integers(2300, 6000)))
        mode = (MODES[0], MODES[2], {"mode": "global", "max_cost": 1500})[k % 3]
        both(seen, a, b, plan, **mode, **SCORINGS[k % len(SCORINGS)])
    assert seen.refused > 10


@every_plan
def test_wrong_guesses_cost_little(lanes: str, seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path through noise is rarely where it is guessed."""
    plan, rng = plan_of(lanes), np.random.default_rng(8)
    constants(monkeypatch)
    a, b = pairs("unrelated", rng, 14000)
    found, alone = both(seen, a, b, plan, **MODES[2], **SCORINGS[0])
    traced, least = (sum(x.stats.cells.values()) - len(a) * len(b) for x in (found, alone))
    assert traced < 5 * least and seen.traced < 40


@every_plan
@pytest.mark.parametrize("across", [False, True])
def test_a_path_that_ends_just_behind_a_cut(
    lanes: str, across: bool, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tiles, which reach a little beyond the guess, do not reach beyond the path's end."""
    plan, rng = plan_of(lanes), np.random.default_rng(2)
    constants(monkeypatch, least_side=1500)
    a = rng.integers(0, 4, 1545)
    q, t = (np.concatenate([a, rng.integers(0, 4, length)]) for length in (1455, 1000))
    query, target = (text(t), text(q)) if across else (text(q), text(t))
    both(seen, query, target, plan, sub_score=(1, -3), gap_cost=(3, 2))
    assert seen.traced
