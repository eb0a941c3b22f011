"""Sweeps in parts side by side against those by one engine."""

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
from pysw_cl.engines.several import SeveralEngine
from pysw_cl.engines.wavefront.engine import WavefrontEngine
from pysw_cl.errors import DeviceError, RecomputedWarning
from pysw_cl.opencl.device import get_runtime
from pysw_cl.opencl.several import meant
from pysw_cl.planning.choose import helped_columns, shared_columns
from pysw_cl.planning.facts import Share
from pysw_cl.planning.model.times import Machine
from pysw_cl.planning.program import Given, Seen
from pysw_cl.scoring.scoring import make_scoring
from pysw_cl.sequences.view import View
from pysw_cl.tiles import beside
from pysw_cl.tiles.beside import SweepBeside, parts_beside
from pysw_cl.tiles.contract import Beside
from pysw_cl.tiles.edges import Border, EdgeArray, Edges
from pysw_cl.tiles.graph import Rectangle
from pysw_cl.tiles.sweep import sweep
from pysw_cl.tiles.tile import Bound, Limits, TileJob, TileResult, Want

SCORES: list[dict[str, Any]] = [
    {"sub_score": (1, -3), "gap_cost": (3, 2)},
    {"sub_score": (2, -1), "gap_cost": 1},
    {"sub_score": (1, -1), "gap_cost": (10, 1)},
]
MODES: list[dict[str, Any]] = [{"mode": "local"}, {"mode": "local", "prune": False}]
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
    def given(columns: int, rows: int, helper: Any = None, overlap: int = 20) -> Iterator[Any]:
        helper = helper or Helper()

        def parts(engine: Any, whole: Rectangle, limits: Limits) -> list[Beside]:
            m, n = whole.shape
            if engine.helper is None or whole.floor is None:
                return []
            helper.failures, helper.stage = engine.failures, engine.stage
            own = Beside(engine, n - columns, overlap, m)
            return [own, Beside(helper, n, overlap, rows)]

        with monkeypatch.context() as patch:
            patch.setattr(WavefrontEngine, "helper", helper)
            patch.setattr(align_pair, "parts_beside", parts)
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
    """``same``: the helper is another engine of the same device.  Some parts begin as the one
    before ends, some do not."""
    rng, runtime, again = np.random.default_rng(len(str(mode))), get_runtime("auto"), set[bool]()
    for k in range(12):
        (a, b), told = drawn(rng, 2, 300), list[int]()
        if k % 4 == 3:  # nothing is alike
            b = "".join(rng.choice([*"ACGT"], len(b)))
        how = {**SCORES[k % 3], **mode, "output": ("path", "ends", "score")[k // 3 % 3]}
        how |= {"plan": SMALL, "strand": ("plus", "both")[k % 2]}
        wanted = pysw_cl.align(a, b, **how)
        columns, rows = int(rng.integers(1, len(b))), int(np.exp(rng.uniform(0, 6)))
        helper = WavefrontEngine(runtime, default_plan(runtime)) if same else None
        overlap = int(np.exp(rng.uniform(0, 6)))
        with helped(columns, rows, helper, overlap) as helper:
            found = pysw_cl.align(
                a, b, **how, timeline=True, progress=lambda *done, told=told: told.append(done[0])
            )
        assert key(found) == key(wanted), (a, b, how, columns, rows, overlap)
        spans.check(found, None)
        sweeps = [one for one in found.stats.spans if one.area is not None]
        again.add(sum(one.area.cells for one in sweeps) > len(a) * len(b) * (1 + k % 2))
        assert told == sorted(told) or how["strand"] == "both"
    assert again == {True, False}


def codes_of(letters: str) -> View:
    return View(np.array(["ACGT".index(one) for one in letters], np.uint8))


def test_three_parts() -> None:
    """Special lines are as those of one, too."""
    needs_lanes("vector")
    rng, runtime = np.random.default_rng(4), get_runtime("auto")
    plan = make_plan(runtime, SMALL)
    joint = SeveralEngine([runtime] * 3, plan, None)
    for k in range(12):
        a, b = drawn(rng, 200, 300)
        if k % 3:
            b = "".join(rng.choice([*"ACGT"], len(b)))
        m, n = len(a), len(b)
        whole = Rectangle(codes_of(a), codes_of(b), make_scoring((1, -3), (3, 2)), 0)
        border = Border(True, 3, 2)
        lines = [EdgeArray(n), EdgeArray(m)], [EdgeArray(n), EdgeArray(m)]
        results = []
        for some, parts in zip(lines, (False, True), strict=True):
            rows, columns = {m // 2 // 8 * 8: some[0]}, {n // 2: some[1]}
            edges, want = Edges(0, border, border, rows=rows, columns=columns), Want("all")
            if not parts:
                results.append(sweep(ReferenceEngine(), whole, edges, want))
                continue
            ends, overlap = sorted(rng.choice(n - 1, 2, False) + 1), int(rng.integers(1, 40))
            every = zip(joint.tracers, (*map(int, ends), n), strict=True)
            which = [Beside(engine, end, overlap, m) for engine, end in every]
            about = joint, which, whole, edges, want, Limits(), lambda done, total: None
            results.append(SweepBeside(*about).run())
        assert list(results[0].hits) == list(results[1].hits)
        for one, other in zip(*lines, strict=True):
            x, y = one.read(0, len(one)), other.read(0, len(other))
            assert np.array_equal(x.h, y.h) and np.array_equal(x.x, y.x)


@pytest.mark.parametrize("rows", [1, 40])
def test_the_engine_does_what_the_helper_did_not(helped: Any, rows: int) -> None:
    """It waits for one strip of a helper that is slow."""
    a, b = drawn(np.random.default_rng(5), 250, 300)
    wanted = pysw_cl.align(a, b)
    with helped(len(b) // 2, rows) as helper:
        helper.before = lambda count: time.sleep(1.0)
        found = pysw_cl.align(a, b, plan=SMALL)
    assert key(found) == key(wanted) and 1 <= helper.count <= 4


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


def test_a_helper_that_hangs(helped: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is left out after a while, and changes nothing if it wakes up when the path is traced.  An
    error of another kind is raised."""
    rng, trace, over = np.random.default_rng(9), align_pair.trace_in_parts, threading.Event()

    def late(*given: Any) -> Any:
        over.set()
        time.sleep(0.05)
        return trace(*given)

    monkeypatch.setattr(align_pair, "trace_in_parts", late)
    for _ in range(8):
        a, b = drawn(rng, 250, 300)
        wanted = pysw_cl.align(a, b)
        over.clear()
        with helped(len(b) // 2, 10, overlap=3) as helper:
            helper.before = lambda count: over.wait()
            with pytest.warns(RecomputedWarning, match="others go on: nothing computed for"):
                found = pysw_cl.align(a, b, plan=SMALL | {"sweep.hang_seconds": 0.2})
        assert key(found) == key(wanted) and len(found.stats.failed) == 1
        assert not found.stats.recomputed
    with helped(len(b) // 2, 10) as helper:
        helper.before = lambda count: 1 // 0
        with pytest.raises(ZeroDivisionError):
            pysw_cl.align(a, b, plan=SMALL)


@pytest.mark.parametrize("output", ["path", "score"])
@pytest.mark.parametrize("side", [64, 200])
def test_a_call_that_fails_once(helped: Any, side: int, output: Any) -> None:
    """It is done again, also while columns and special lines of a part are read."""
    a, b = drawn(np.random.default_rng(8), side, side + 1)
    plan = {**SMALL, "tile_cells": 1 << 30}
    wanted = pysw_cl.align(a, b, plan=plan, output=output)
    for first in range(1, 25):
        with helped(side // 3, side), failing(None, first), warnings.catch_warnings():
            warnings.simplefilter("ignore", RecomputedWarning)
            found = pysw_cl.align(a, b, plan=plan, output=output)
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
    with helped(len(b) // 2, 10):
        monkeypatch.setattr(WavefrontEngine, "tile", gone)
        with pytest.raises(DeviceError, match="the device is gone"):
            pysw_cl.align(a, b, plan=SMALL)
    assert not any(one.name == "beside" for one in threading.enumerate())


def test_a_run_that_is_stopped(helped: Any) -> None:
    """Its threads end, or are not waited for, and nothing of it is kept."""
    a, b = drawn(np.random.default_rng(7), 250, 300)
    over, begun, wanted = threading.Event(), list[float](), pysw_cl.align(a, b)

    def stop(*done: int) -> None:
        if done[0]:  # the sweep has begun
            begun.append(time.monotonic())
            raise KeyboardInterrupt

    for hangs in (False, True):
        gc.collect()
        with helped(len(b) // 2, 10) as helper, pytest.raises(KeyboardInterrupt):
            helper.before = lambda count, hangs=hangs: hangs and over.wait()
            pysw_cl.align(a, b, plan=SMALL | {"sweep.hang_seconds": 0.2}, progress=stop)
        assert time.monotonic() < begun[-1] + 2
        if not hangs:
            assert not any(one.name == "beside" for one in threading.enumerate())
            assert not any(isinstance(one, beside.SweepBeside) for one in gc.get_objects())
    over.set()
    assert len(begun) == 2 and key(pysw_cl.align(a, b)) == key(wanted)


def test_when_parts_are_of_use() -> None:
    """Their columns take all devices equally long; small matrices, and a device that nobody has
    measured, are not worth while."""
    fast, slow = (default_plan(meant(name)[0]) for name in ("NVIDIA H200", "cpu"))
    slow = replace(slow, B=8 * slow.B, machine=slow.machine.on(8 * slow.machine.schedulers))
    runtime = meant("NVIDIA H200")[0]
    given = Given(fast, make_scoring((1, -3), (3, 2)), True, runtime.facts, Seen(True))
    for side in (12_000_000, 33_000_000):
        (first, last), overlap, rows = helped_columns(given, slow, side, side)
        columns = side - first
        pace = fast.least_cost(side, side) / slow.least_cost(side, side)
        assert last == side and 0.6 * pace < columns / side < 1.6 * pace
        assert 0.05 < rows * columns * slow.least_cost(side, side) / side**2 < 0.2
        assert 0 < overlap < columns / 60
        for devices in (2, 4, 8):
            shares = (Share(runtime.facts, fast.B),) * devices
            ends, overlap = shared_columns(replace(given, shares=shares), side, side)
            sizes = np.diff([0, *ends]) + overlap * (np.arange(devices) > 0)
            assert len(ends) == devices and ends[-1] == side and np.ptp(sizes) < 1000
    assert helped_columns(given, slow, 2_000_000, 2_000_000)[0] == []
    assert helped_columns(given, slow, 100, 12_000_000)[0] == []
    unknown = replace(slow, machine=Machine({}))
    assert helped_columns(given, unknown, 12_000_000, 12_000_000)[0] == []
    assert shared_columns(given, 12_000_000, 12_000_000)[0] == []


def test_what_is_swept_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Local matrices of unrelated sequences, of which little is pruned."""
    engine = WavefrontEngine(get_runtime("auto"), make_plan(get_runtime("auto")))
    some, rng = [Beside(engine, 5, 1, 5)], np.random.default_rng(1)
    codes = [View(rng.integers(0, 4, 3000).astype(np.uint8)) for _ in range(2)]
    scoring = make_scoring((1, -3), (3, 2))
    assert parts_beside(engine, Rectangle(*codes, scoring, 0), Limits()) == ()
    monkeypatch.setattr(WavefrontEngine, "beside", lambda *_: some)
    for floor, bound, b, wanted in (
        (0, None, 1, some),
        (None, None, 1, ()),
        (0, Bound(0, 9, 9, 1), 1, some),
        (0, Bound(500, 9, 9, 1), 1, ()),
        (0, None, 0, ()),
    ):
        whole = Rectangle(codes[0], codes[b], scoring, floor)
        assert parts_beside(engine, whole, Limits(bound)) == wanted
