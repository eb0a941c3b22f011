"""Paths by tiles that are computed side by side, ahead of the walk, are those of tiles one by one,
wherever the guess is wrong, too; and such tiles hold what the reference engine gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from aligning import needs_lanes
from contract_engines import column_of, full_matrices, random_edge, row_of
from helpers import match_scoring, mutated, random_codes, random_pair, random_scoring
from numpy.typing import NDArray
from saving import key

import pysw_cl
from pysw_cl.drivers import ahead, pace, traceback
from pysw_cl.drivers import path as path_module
from pysw_cl.drivers.ahead import Ahead
from pysw_cl.drivers.path import Path, path_bytes
from pysw_cl.engines.base import TileJob
from pysw_cl.engines.reference import Matrices, ReferenceEngine
from pysw_cl.engines.sweep import Area
from pysw_cl.engines.tile_set import TOP_LINE, Part, SideBySide, TileSet
from pysw_cl.engines.wavefront import WavefrontEngine
from pysw_cl.errors import DeviceError
from pysw_cl.opencl.buffers import Buffers
from pysw_cl.opencl.device import get_runtime
from pysw_cl.plan import make_plan
from pysw_cl.scoring import Scoring
from pysw_cl.tile import NEG, REACH, Edge, EdgeArray, Edges, Ints, KeptEdge, View

PLANS: dict[str, dict[str, Any]] = {
    "vector": {"lanes": "vector", "T": 8, "alpha": 4, "chunk": 16, "B": 2},
    "packed": {"lanes": "packed", "alpha": 3, "chunk": 32, "B": 4},
}
every_plan = pytest.mark.parametrize("lanes", list(PLANS))


@dataclass
class Seen:
    """What happened in walks: cells of the grid walked one by one, sets of tiles of each level,
    crossings that were looked at and refused, tiles of a set at most."""

    alone: int = 0
    levels: list[int] = field(default_factory=list)
    looked: int = 0
    refused: int = 0
    walked: int = 0
    engines: list[SideBySide] = field(default_factory=list)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Tiles go side by side on any device, and only where a path's part of the matrix is."""
    monkeypatch.setitem(get_runtime("auto").advice, "ahead", True)
    found = Seen()
    step, right, run_set = traceback._step, Ahead._right, SideBySide._set
    begin, walk = SideBySide.__enter__, SideBySide.walk

    def counted_step(*args: Any) -> None:
        found.alone += 1
        step(*args)

    def counted_right(self: Ahead, *args: Any) -> bool:
        good = right(self, *args)
        found.looked, found.refused = found.looked + 1, found.refused + (not good)
        return good

    def checked_set(self: SideBySide, level: Any, parts: list[Part], *args: Any) -> TileSet:
        found.levels.append(level if isinstance(level, int) else -1)
        rows = self._query[True].size
        for part in parts:
            assert 0 <= part.area.row < part.area.row_end <= rows
            assert 0 <= part.area.column < part.area.column_end <= self.columns
        return run_set(self, level, parts, *args)

    def entered(self: SideBySide) -> SideBySide:
        found.engines.append(self)
        return begin(self)

    def counted_walk(self: SideBySide, *args: Any) -> Any:
        found.walked += 1
        return walk(self, *args)

    monkeypatch.setattr(traceback, "_step", counted_step)
    monkeypatch.setattr(Ahead, "_right", counted_right)
    monkeypatch.setattr(SideBySide, "_set", checked_set)
    monkeypatch.setattr(SideBySide, "__enter__", entered)
    monkeypatch.setattr(SideBySide, "walk", counted_walk)
    return found


def plan_of(lanes: str) -> dict[str, Any]:
    needs_lanes(lanes)
    wishes = PLANS[lanes]
    warp = {"T": 2 * int(get_runtime("auto").advice["warp"])} if lanes == "packed" else {}
    return {"form": "ticketed", **wishes, **warp}


def constants(patch: pytest.MonkeyPatch, **more: Any) -> None:
    """Every level and stage on pairs of a few thousand letters."""
    values = {"SIDE": 128, "LEAST_SIDES": 2, "PRUNED_SIDE": 0, "SLACK": 20, "BEGUN": 8}
    values |= {"LEAST_MARGIN": 20, "MARGIN": 1 / 16, "MOST_TILES": 1024}
    for name, value in (values | more).items():
        if name in ("PATH_BYTES", "SIDE_BYTES"):
            patch.setattr(path_module, name, value)
        else:
            patch.setattr(traceback if name == "LEAST_SIDE" else ahead, name, value)
    if "LEAST_SIDE" not in more:
        patch.setattr(traceback, "LEAST_SIDE", 1100)


def text(codes: NDArray[Any], letters: str = "ACGT") -> str:
    return "".join(letters[code] for code in codes)


def pairs(kind: str, rng: np.random.Generator, length: int) -> tuple[str, str]:
    """Two related sequences."""
    letters = 2 if kind == "few letters" else 4
    a = rng.integers(0, letters, length)
    if kind == "repeats":
        a = np.resize(a[:97], length)
    b = a.copy()
    b[rng.integers(0, length, length // 20)] = rng.integers(0, letters, length // 20)
    for _ in range(length // 100):
        at = int(rng.integers(0, len(b)))
        b = np.delete(b, at) if rng.random() < 0.5 else np.insert(b, at, rng.integers(0, letters))
    if kind == "long gap":
        at = int(rng.integers(length // 4, 3 * length // 4))
        b = np.insert(b, at, rng.integers(0, letters, int(rng.integers(1, length // 3))))
    if kind == "rotated":
        b = np.roll(b, length // 3)
    if kind == "inside":
        a, b = (np.concatenate([s[:-300], rng.integers(0, letters, 700)]) for s in (a, b))
    if kind == "unrelated":
        b = rng.integers(0, letters, length)
    return text(a), text(b)


def both(
    seen: Seen, a: str, b: str, plan: dict[str, Any], **options: Any
) -> tuple[pysw_cl.Alignment, pysw_cl.Alignment]:
    """Side by side, and one by one."""
    options = {"output": "path", "device": "auto", "plan": plan, **options}
    found = pysw_cl.align(a, b, **options)
    with pytest.MonkeyPatch.context() as alone:
        alone.setattr(WavefrontEngine, "side_by_side", lambda *_: None)
        before = seen.alone
        wanted = pysw_cl.align(a, b, **options)
        seen.alone = before
    assert key(found) == key(wanted), (a, b, options)
    return found, wanted


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
    {"MARGIN": 0, "LEAST_MARGIN": 0, "SLACK": 0},
    {"PATH_BYTES": 0, "SIDE_BYTES": 0},
    {"MOST_TILES": 2, "SIDE": 300, "BEGUN": 64},
    {"PATH_BYTES": 1 << 20, "SIDE_BYTES": 20, "LEAST_SIDE": 400},
    {"LEAST_MARGIN": 1, "PRUNED_SIDE": 700},
]


@every_plan
def test_paths_are_those_of_tiles_one_by_one(
    lanes: str, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, rng = plan_of(lanes), np.random.default_rng(5)
    count = 0
    for k, kind in enumerate(KINDS):
        for j, mode in enumerate(MODES):
            constants(monkeypatch, **ODD[(k + j) % len(ODD)])
            a, b = pairs(kind, rng, int(rng.integers(2300, 5000)))
            both(seen, a, b, plan, **mode, **SCORINGS[(k + 2 * j) % len(SCORINGS)])
            count += kind != "unrelated" or mode["mode"] == "global"
    assert len(seen.engines) >= count - 2
    assert seen.alone < count  # where the path is near its start, mostly
    assert {-1, 0, 1} <= set(seen.levels)
    assert seen.looked > 100


@every_plan
def test_a_guess_that_is_wrong(lanes: str, seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row where the grid is cut is crossed by a path that scores more there, but ends soon: the
    tile above was pruned for that one."""
    plan, rng = plan_of(lanes), np.random.default_rng(1)
    constants(monkeypatch, LEAST_SIDE=1500, SLACK=0)
    for before, other in ((300, 940), (700, 800)):
        q = rng.integers(0, 4, 3000)
        t = np.concatenate([q[1500 - before : 2600], q[1540 - other : 1540], q[2600:]])
        refused = seen.refused
        found, _ = both(seen, text(q), text(t), plan, sub_score=(1, -3), gap_cost=(10, 0))
        assert found.query_start == 1500 - before
        assert seen.refused > refused


@every_plan
@pytest.mark.parametrize("across", [False, True])
def test_a_path_that_ends_just_behind_a_cut(
    lanes: str, across: bool, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tiles, which reach a little beyond the guess, do not reach beyond the path's end."""
    plan, rng = plan_of(lanes), np.random.default_rng(2)
    constants(monkeypatch, LEAST_SIDE=1500)
    a = rng.integers(0, 4, 1545)
    q, t = (np.concatenate([a, rng.integers(0, 4, length)]) for length in (1455, 1000))
    query, target = (text(t), text(q)) if across else (text(q), text(t))
    both(seen, query, target, plan, sub_score=(1, -3), gap_cost=(3, 2))
    assert seen.walked
