"""One pair on parts of a CPU: the tiles of a sweep are computed by all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
import spans
from saving import key

import pysw_cl
from pysw_cl.engines.wavefront.engine import WavefrontEngine
from pysw_cl.errors import DeviceError, RecomputedWarning
from pysw_cl.opencl.device import get_runtime
from pysw_cl.tiles.tile import TileJob, TileResult

PLAN: dict[str, Any] = {"sweep.spread_cells": 0, "tile_cells": 1 << 12, "form": "ticketed"}
PLAN |= {"lanes": "vector", "T": 4, "alpha": 2, "chunk": 16, "B": 2}
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


@pytest.mark.parametrize("mode", MODES)
def test_results_are_those_of_one(mode: dict[str, Any], parts: list[Any]) -> None:
    rng = np.random.default_rng(len(str(mode)))
    for k in range(12):
        a, b = drawn(rng)
        how = {**mode, "output": ("path", "ends")[k % 2], "plan": PLAN}
        found = pysw_cl.align(a, b, device=parts, timeline=True, **how)
        spans.check(found, apart=True)
        wanted = pysw_cl.align(a, b, device=parts[0], **how)
        assert key(found) == key(wanted) and not wanted.stats.spans, (a, b, how)


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


def fails(monkeypatch: pytest.MonkeyPatch, when: Callable[[Any, int], bool]) -> None:
    """Tiles fail ``when`` this says so of their device and their number."""
    real, count = WavefrontEngine.tile, [0]

    def tile(self: WavefrontEngine, job: TileJob, *more: Any) -> TileResult:
        count[0] += 1
        if when(self.runtime.device, count[0]):
            raise DeviceError("a launch failed")
        return real(self, job, *more)

    monkeypatch.setattr(WavefrontEngine, "tile", tile)


def test_one_that_fails_is_left_out(parts: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    for first in (1, 7, 30):
        a, b = ("".join(rng.choice([*"ACGT"], 300)) for _ in "ab")
        wanted = pysw_cl.align(a, b, device=parts[0], plan=PLAN, output="ends")
        with monkeypatch.context() as patch:
            fails(patch, lambda device, count, first=first: device == parts[1] and count >= first)  # type: ignore[misc]
            with pytest.warns(RecomputedWarning, match=r"others go on: a launch failed"):
                found = pysw_cl.align(a, b, device=parts, plan=PLAN, output="ends")
        assert key(found) == key(wanted)


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
