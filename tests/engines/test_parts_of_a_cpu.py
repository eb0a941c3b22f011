"""One pair on parts of a CPU: the tiles of a sweep are computed by all of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
import spans
from saving import key

import pysw_cl
from pysw_cl.engines.rowscan.engine import RowscanEngine
from pysw_cl.engines.wavefront.engine import WavefrontEngine
from pysw_cl.errors import DeviceError, DeviceMemoryError, RecomputedWarning, Stopped
from pysw_cl.opencl.device import get_runtime
from pysw_cl.tiles.tile import TileJob, TileResult

PLAN: dict[str, Any] = {"tile_cells": 1 << 12, "form": "ticketed"}
PLAN |= {"lanes": "vector", "T": 4, "alpha": 2, "chunk": 16, "B": 2}
ROWS = {"engine": "rowscan", "tile_cells": 1 << 12, "alpha": 1, "B": 2}
MODES: list[dict[str, Any]] = [
    {"mode": "local"}, {"mode": "local", "prune": False}, {"mode": "global", "max_cost": None},
    {"mode": "global", "free_ends": (True, False), "max_cost": None},
]  # fmt: skip


@pytest.fixture(scope="module")
def parts() -> list[Any]:
    """Two parts of the device, or the whole of it in two contexts."""
    device = get_runtime("auto").device
    if device.type & cl.device_type.CPU and device.max_compute_units > 1:
        with_one = [cl.device_partition_property.EQUALLY, device.max_compute_units // 2, 0]
        return list(device.create_sub_devices(with_one)[:2])
    pytest.skip("parts of a CPU are needed")


def drawn(rng: np.random.Generator) -> tuple[str, str]:
    m, n = rng.integers(1, 500, 2)
    a = rng.integers(0, 4, m)
    b = np.resize(a[rng.random(m) > 0.1], n) if m > 20 else rng.integers(0, 4, n)
    b = np.where(rng.random(n) < 0.1, rng.integers(0, 4, n), b)
    return tuple("".join("ACGT"[one] for one in codes) for codes in (a, b))  # type: ignore[return-value]


@pytest.mark.parametrize("plan", [PLAN, ROWS], ids=["wavefront", "rowscan"])
@pytest.mark.parametrize("mode", MODES)
def test_results_are_those_of_one(
    mode: dict[str, Any], plan: dict[str, Any], parts: list[Any]
) -> None:
    rng, names = np.random.default_rng(len(str(mode))), set[str]()
    for k in range(12):
        a, b = drawn(rng)
        how = {**mode, "output": ("path", "ends")[k % 2]}
        found = pysw_cl.align(a, b, device=parts, timeline=True, plan=plan, **how)
        names |= spans.check(found, apart=True)
        wanted = pysw_cl.align(a, b, device=parts[0], plan=PLAN, **how)
        assert key(found) == key(wanted) and not wanted.stats.spans, (a, b, how)
        assert found.plan.engine == plan.get("engine", "wavefront")
    assert len(names) == 2


def test_short_queries_row_by_row(parts: list[Any], tmp_path: Path) -> None:
    """Fewer rows than devices, ends of several best cells, and a run that others go on with."""
    rng = np.random.default_rng(6)
    b = "".join(rng.choice([*"ACGT"], 900))
    for a in ("A", b[:1], b[100:102], b[300:340] + b[350:380]):
        how: dict[str, Any] = {"gap_cost": 1}
        one, both = ({"device": device, "plan": ROWS} for device in (parts[0], parts))
        wanted, found = (pysw_cl.align(a, b, **how, **on) for on in (one, both))
        assert key(found) == key(wanted)
        tops = [pysw_cl.align_top(a, b, k=3, **how, **on) for on in (one, both)]
        assert [*map(key, tops[0])] == [*map(key, tops[1])]
        ends = [pysw_cl.best_ends(a, b, k=9, **how, **on) for on in (one, both)]
        assert [*map(tuple, ends[0])] == [*map(tuple, ends[1])]
    saved: dict[str, Any] = {"checkpoint": tmp_path / "kept", "disk_size": 1 << 16}
    with pytest.raises(Stopped):
        pysw_cl.align(a, b, **how, **both, **saved, stop_after=0.0)
    assert key(pysw_cl.resume(tmp_path / "kept", device=parts[1], plan=ROWS)) == key(wanted)


def test_a_time_line_of_both(parts: list[Any]) -> None:
    """Both compute tiles of the sweep, and the first one the path."""
    a, b = ("ACGTTGCA" * 60, "ACGTTCA" * 70)
    how: dict[str, Any] = {"plan": PLAN, "prune": False, "timeline": True}
    found = pysw_cl.align(a, b, device=parts, **how)
    first, second = sorted(spans.check(found, apart=True))
    assert (first[-8:], second[-8:]) == (", 1 of 2", ", 2 of 2")
    assert {one.device for one in found.stats.spans if one.what == "path"} == {first}
    alone = pysw_cl.align(a, b, device=parts[0], **how)
    assert spans.check(alone, apart=True) == {alone.plan.device}


def fails(
    monkeypatch: pytest.MonkeyPatch,
    when: Callable[[Any, int], bool],
    engine: Any = WavefrontEngine,
) -> None:
    """Tiles fail ``when`` this says so of their device and their number."""
    real, count = engine.tile, [0]

    def tile(self: Any, job: TileJob, *more: Any) -> TileResult:
        count[0] += 1
        if when(self.runtime.device, count[0]):
            raise DeviceError("a launch failed")
        found: TileResult = real(self, job, *more)
        return found

    monkeypatch.setattr(engine, "tile", tile)


@pytest.mark.parametrize("plan", [PLAN, ROWS], ids=["wavefront", "rowscan"])
def test_one_that_fails_is_left_out(
    plan: dict[str, Any], parts: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, engine = np.random.default_rng(4), RowscanEngine if plan is ROWS else WavefrontEngine
    for first, gone in ((1, 1), (7, 1), (30, 1), (4, 0)):
        a, b = ("".join(rng.choice([*"ACGT"], 300)) for _ in "ab")
        wanted = pysw_cl.align(a, b, device=parts[0], plan=PLAN, output="ends")
        with monkeypatch.context() as patch:
            fails(
                patch,
                lambda device, count, first=first, gone=gone: (  # type: ignore[misc]
                    device == parts[gone] and count >= first
                ),
                engine,
            )
            with pytest.warns(RecomputedWarning, match=r"others go on: a launch failed"):
                found = pysw_cl.align(a, b, device=parts, plan=plan, output="ends")
        assert key(found) == key(wanted) and len(found.stats.failed) == 1


@pytest.mark.parametrize("plan", [PLAN, ROWS, None], ids=["wavefront", "rowscan", "held"])
@pytest.mark.parametrize("gone", [0, 1])
def test_a_device_without_free_memory(
    plan: Any, gone: int, parts: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others go on; without one the error says it, and what to do."""
    a = "ACGTTGCATT" * 30
    b = a[:120] + "ACCA" + a[130:]
    calls: list[Callable[[Any], Any]] = [
        lambda device: key(pysw_cl.align(a, b, device=device, plan=plan)),
        lambda device: [*map(key, pysw_cl.align_top(a, b, k=3, device=device, plan=plan))],
        lambda device: [*map(tuple, pysw_cl.best_ends(a, b, device=device, plan=plan))],
    ]
    for call in calls:
        wanted = call(parts[1 - gone])
        with monkeypatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore", RecomputedWarning)
            without_memory(patch, [parts[gone]])
            assert call(parts) == wanted
            without_memory(patch, parts)
            with pytest.raises(DeviceMemoryError, match=r"ran out of memory.*other programs"):
                call(parts)


def without_memory(monkeypatch: pytest.MonkeyPatch, devices: list[Any]) -> None:
    """No buffer can be made on these devices."""
    for device in devices:
        get_runtime(device).forget()
    contexts, real = [get_runtime(device).context for device in devices], cl.Buffer

    def made(context: Any, *given: Any, **named: Any) -> Any:
        if context in contexts:
            raise cl.MemoryError("clCreateBuffer failed: MEM_OBJECT_ALLOCATION_FAILURE")
        return real(context, *given, **named)

    monkeypatch.setattr(cl, "Buffer", made)


def test_an_error_of_the_caller_is_not_the_device_s(parts: list[Any]) -> None:
    def progress(done: int, total: int) -> None:
        if done:
            raise DeviceError("mine")

    a = "ACGTTGCA" * 40
    with pytest.raises(DeviceError, match="mine"):
        pysw_cl.align(a, a, device=parts, plan=PLAN, output="ends", progress=progress)


def test_all_fail(parts: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    fails(monkeypatch, lambda _, count: count > 5)
    a = "ACGTTGCA" * 40
    with (
        pytest.warns(RecomputedWarning),
        pytest.raises(DeviceError, match="a launch failed"),
    ):
        pysw_cl.align(a, a, device=parts, plan=PLAN, output="ends")
