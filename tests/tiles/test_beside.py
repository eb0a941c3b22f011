"""Sweeps with a helper, which computes the last columns, against those by one engine."""

from __future__ import annotations

import gc
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import spans
from aligning import needs_lanes
from failing import failing
from saving import key

import pysw_cl
from pysw_cl.drivers import align_pair
from pysw_cl.engines.plans import default_plan, make_plan
from pysw_cl.engines.reference import ReferenceEngine
from pysw_cl.engines.wavefront.engine import WavefrontEngine
from pysw_cl.errors import DeviceError, RecomputedWarning
from pysw_cl.opencl.device import get_runtime
from pysw_cl.opencl.several import meant
from pysw_cl.planning.choose import columns_beside
from pysw_cl.planning.model.times import Machine
from pysw_cl.scoring.scoring import make_scoring
from pysw_cl.sequences.view import View
from pysw_cl.tiles import beside
from pysw_cl.tiles.beside import columns_of_helper
from pysw_cl.tiles.graph import Rectangle
from pysw_cl.tiles.tile import Bound, Limits, TileJob, TileResult

SCORES: list[dict[str, Any]] = [
    {"sub_score": (1, -3), "gap_cost": (3, 2)},
    {"sub_score": (2, -1), "gap_cost": 1},
    {"sub_score": (1, -1), "gap_cost": (10, 1)},
]
MODES: list[dict[str, Any]] = [
    {"mode": "local"},
    {"mode": "local", "prune": False},
    {"mode": "global", "max_cost": None},
    {"mode": "global", "max_cost": None, "free_ends": (True, False)},
    {"mode": "global", "max_cost": None, "free_ends": (False, False, False, True)},
    {"mode": "global", "max_cost": None, "free_ends": True},
]
SMALL: dict[str, Any] = {"tile_cells": 1 << 10, "traceback.least_side": 16, "form": "ticketed"}
SMALL |= {"held.score_cells": 0, "held.path_cells": 0}
SMALL |= {"lanes": "vector", "T": 4, "alpha": 2, "chunk": 16, "B": 2}


class Helper(ReferenceEngine):
    """Counts its tiles, and calls ``before(count)`` before each."""

    before: Callable[[int], object] = staticmethod(lambda count: None)
    count = 0

    def tile(self, job: TileJob) -> TileResult:
        self.count += 1
        self.before(self.count)
        return super().tile(job)


@pytest.fixture
def helped(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Engines have a helper for so many of the last columns, in strips of so many rows."""
    needs_lanes("vector")

    @contextmanager
    def given(columns: int, rows: int, helper: Any = None) -> Iterator[Any]:
        helper = helper or Helper()
        with monkeypatch.context() as patch:
            patch.setattr(WavefrontEngine, "helper", helper)
            patch.setattr(
                align_pair,
                "columns_of_helper",
                lambda engine, *_: (columns, rows) if engine.helper else (0, 0),
            )
            yield helper

    return given


def drawn(rng: np.random.Generator, least: int, most: int) -> tuple[str, str]:
    m, n = rng.integers(least, most, 2).tolist()
    a = rng.integers(0, 4, m)
    b = np.resize(a[rng.random(m) > 0.1], n) if m > 20 else rng.integers(0, 4, n)
    b = np.where(rng.random(n) < 0.1, rng.integers(0, 4, n), b)
    return tuple("".join("ACGT"[one] for one in codes) for codes in (a, b))  # type: ignore[return-value]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("same", [True, False])
def test_results_are_those_of_one(mode: dict[str, Any], same: bool, helped: Any) -> None:
    """``same``: the helper is another engine of the same device."""
    rng, seen, runtime = np.random.default_rng(len(str(mode))), 0, get_runtime("auto")
    for k in range(6):
        (a, b), told = drawn(rng, 2, 300), list[int]()
        how = {**SCORES[k % 3], **mode, "output": ("path", "ends", "score")[k // 3 % 3]}
        how |= {"plan": SMALL, "strand": ("plus", "both")[k % 2]}
        wanted = pysw_cl.align(a, b, **how)
        columns, rows = int(rng.integers(1, len(b))), int(np.exp(rng.uniform(0, 6)))
        helper = WavefrontEngine(runtime, default_plan(runtime)) if same else None
        with helped(columns, rows, helper) as helper:
            found = pysw_cl.align(
                a, b, **how, timeline=True, progress=lambda *done, told=told: told.append(done[0])
            )
        assert key(found) == key(wanted), (a, b, how, columns, rows)
        seen += len(spans.check(found, 1 + (k % 2)))
        assert told == sorted(told) or how["strand"] == "both"
    assert seen == 6 if same else seen > 9


@pytest.mark.parametrize("rows", [1, 40])
def test_the_engine_does_what_the_helper_did_not(helped: Any, rows: int) -> None:
    """It waits for one strip of a helper that is slow."""
    a, b = drawn(np.random.default_rng(5), 250, 300)
    wanted = pysw_cl.align(a, b)
    with helped(len(b) // 2, rows) as helper:
        helper.before = lambda count: time.sleep(1.0)
        found = pysw_cl.align(a, b, plan=SMALL)
    assert key(found) == key(wanted) and 1 <= helper.count <= 3


@pytest.mark.parametrize(("first", "error"), [(1, DeviceError), (2, MemoryError), (5, DeviceError)])
def test_a_helper_that_fails(
    helped: Any, first: int, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not asked again for the second strand."""
    a, b = drawn(np.random.default_rng(6), 250, 300)
    wanted = pysw_cl.align(a, b, output="ends", strand="both")
    tile = WavefrontEngine.tile

    def slowly(self: WavefrontEngine, job: TileJob, capacity: int = 0) -> TileResult:
        time.sleep(0.02)
        return tile(self, job, capacity)

    def fail(count: int) -> None:
        if count >= first:
            raise error("the device is gone")

    with helped(len(b) // 2, 10) as helper:
        helper.before = fail
        monkeypatch.setattr(WavefrontEngine, "tile", slowly)
        with pytest.warns(RecomputedWarning, match="others go on: the device is gone"):
            found = pysw_cl.align(a, b, plan=SMALL, output="ends", strand="both")
    assert key(found) == key(wanted) and len(found.stats.failed) == 1


def test_a_helper_that_hangs(helped: Any) -> None:
    """It is left out after a while, and an error of another kind is raised."""
    a, b = drawn(np.random.default_rng(9), 250, 300)
    wanted, over = pysw_cl.align(a, b), threading.Event()
    with helped(len(b) // 2, 10) as helper:
        helper.before = lambda count: over.wait()
        with pytest.warns(RecomputedWarning, match="others go on: a strip takes 0.2 s"):
            found = pysw_cl.align(a, b, plan=SMALL | {"sweep.hang_seconds": 0.2})
    over.set()
    assert key(found) == key(wanted) and len(found.stats.failed) == 1
    with helped(len(b) // 2, 10) as helper:
        helper.before = lambda count: 1 // 0
        with pytest.raises(ZeroDivisionError):
            pysw_cl.align(a, b, plan=SMALL)


@pytest.mark.parametrize("side", [64, 200])
def test_a_call_that_fails_once(helped: Any, side: int) -> None:
    """It is done again, also while special lines of a part are read."""
    a, b = drawn(np.random.default_rng(8), side, side + 1)
    plan = {**SMALL, "tile_cells": 1 << 30}
    wanted = pysw_cl.align(a, b, plan=plan)
    for first in range(1, 25):
        with helped(side // 3, side), failing(None, first), warnings.catch_warnings():
            warnings.simplefilter("ignore", RecomputedWarning)
            found = pysw_cl.align(a, b, plan=plan)
        assert key(found) == key(wanted), first


@pytest.mark.parametrize("error", [DeviceError, ValueError])
def test_an_error_leaves_no_cycle(helped: Any, error: type[Exception]) -> None:
    """It would keep memory of devices, which drivers release when no kernel runs."""

    def before(count: int) -> None:
        raise error("gone")

    a, b = drawn(np.random.default_rng(8), 250, 300)
    with helped(len(b) // 2, 10) as helper:
        helper.before = before
        gc.collect()
        gc.disable()
        try:
            with suppress(ValueError), warnings.catch_warnings():
                warnings.simplefilter("ignore", RecomputedWarning)
                pysw_cl.align(a, b, plan=SMALL)
            assert helper.count
            assert not any(isinstance(one, beside.SweepBeside) for one in gc.get_objects())
        finally:
            gc.enable()


def test_an_engine_that_fails_ends_the_helper(helped: Any, monkeypatch: Any) -> None:
    def gone(self: WavefrontEngine, job: TileJob, capacity: int = 0) -> TileResult:
        raise DeviceError("the device is gone")

    a, b = drawn(np.random.default_rng(7), 250, 300)
    with helped(len(b) // 2, 10) as helper:
        monkeypatch.setattr(WavefrontEngine, "tile", gone)
        with pytest.raises(DeviceError, match="the device is gone"):
            pysw_cl.align(a, b, plan=SMALL)
    assert helper.count == 0


def test_when_a_helper_is_of_use() -> None:
    """Its columns are as many as it computes in the time of a round; few rounds, or a device that
    nobody has measured, are not worth while."""
    fast, slow = (default_plan(meant(name)[0]) for name in ("NVIDIA H200", "cpu"))
    slow = replace(slow, B=8 * slow.B, machine=slow.machine.on(8 * slow.machine.schedulers))
    for side in (12_000_000, 33_000_000):
        columns, rows = columns_beside(fast, slow, side, side)
        share = columns / side
        pace = fast.least_cost(side, side) / slow.least_cost(side, side)
        assert 0.6 * pace < share < 1.6 * pace
        assert 0.1 < rows * columns * slow.least_cost(side, side) / side**2 < 0.4
    assert columns_beside(fast, slow, 2_000_000, 2_000_000)[0] == 0
    assert columns_beside(fast, slow, 100, 12_000_000)[0] == 0
    unknown = replace(slow, machine=Machine({}))
    assert columns_beside(fast, unknown, 12_000_000, 12_000_000)[0] == 0


def test_an_engine_alone_has_no_helper() -> None:
    codes = View(np.zeros(10, np.uint8))
    whole = Rectangle(codes, codes, make_scoring((1, -3), (3, 2)), 0)
    engine = WavefrontEngine(get_runtime("auto"), make_plan(get_runtime("auto")))
    assert columns_of_helper(engine, whole, Limits()) == (0, 0)


def test_a_global_matrix_that_is_pruned_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only its last part would know a score that some path has."""
    engine = WavefrontEngine(get_runtime("auto"), make_plan(get_runtime("auto")))
    engine.helper = engine
    monkeypatch.setattr(WavefrontEngine, "piped_rows", lambda *_: (1, 1))
    monkeypatch.setattr(beside, "columns_beside", lambda *_: (5, 5))
    codes, scoring = View(np.zeros(10, np.uint8)), make_scoring((1, -3), (3, 2))
    for floor, bound, columns in ((None, None, 5), (None, Bound(1, 9, 9, 1), 0), (0, None, 5)):
        whole = Rectangle(codes, codes, scoring, floor)
        assert columns_of_helper(engine, whole, Limits(bound))[0] == columns
