"""Paths that several devices trace in parts are those of one device."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from failing import failing
from helpers import device_has
from joining import waiting
from saving import key
from speculating import every_plan, pairs, plan_of

import pysw_cl
from pysw_cl.drivers import parallel_traceback
from pysw_cl.engines.wavefront.engine import WavefrontEngine
from pysw_cl.errors import DeviceError, RecomputedWarning
from pysw_cl.opencl import several as named
from pysw_cl.opencl.device import Runtime, get_runtime
from pysw_cl.planning.execution import InStrips
from pysw_cl.tiles.edges import DeviceEdge
from pysw_cl.tiles.tile import TileJob, TileResult

KINDS = ["similar", "inside", "long gap", "rotated", "few letters", "repeats", "unrelated"]
WAYS: list[dict[str, Any]] = [
    {"sub_score": (1, -3), "gap_cost": (3, 2)},
    {"sub_score": (2, -1), "gap_cost": 1, "strand": "both"},
    {"mode": "global", "max_cost": None},
    {"mode": "global", "max_cost": None, "free_ends": (True, False, True, True)},
]
#: The grid has many lines, in memory, and paths of some letters are traced in parts.
FINE = {"tile_cells": 1 << 13, "traceback.least_side": 40, "traceback.pieces": 12}
FINE |= {"speculation.side": 10, "speculation.least_sides": 1}


class Several:
    """Engines of other contexts trace parts; the parts that were joined have so many moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
        device_has(monkeypatch, speculative=True)
        made = [get_runtime(cl.Context([get_runtime("auto").device])) for _ in range(count)]
        for one in made:
            one.traits = replace(one.traits, speculative=True)
        self.runtimes: list[Runtime] = made
        self.joined: list[int] = []
        self.left_out = 0
        joining = waiting(parallel_traceback._joining, self.joined)

        def tracers(engine: WavefrontEngine) -> list[WavefrontEngine]:
            return [engine, *(WavefrontEngine(one, engine.plan) for one in self.runtimes)]

        def left_out(engine: Any, error: Exception) -> None:
            self.left_out += 1

        monkeypatch.setattr(WavefrontEngine, "tracers", property(tracers))
        monkeypatch.setattr(parallel_traceback, "_joining", joining)
        monkeypatch.setattr(parallel_traceback, "left_out", left_out)


@every_plan
@pytest.mark.parametrize("way", range(len(WAYS)))
def test_paths(lanes: str, way: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, plan, how = np.random.default_rng(way), plan_of(lanes) | FINE, WAYS[way]
    some = [pairs(kind, rng, 700) for kind in KINDS]
    wanted = [key(pysw_cl.align(a, b, plan=plan, **how)) for a, b in some]
    several = Several(monkeypatch, 1 + way % 3)
    found = [key(pysw_cl.align(a, b, plan=plan, **how)) for a, b in some]
    assert found == wanted
    assert len(several.joined) > 3 and sum(several.joined) > 1000
    assert not several.left_out


@every_plan
def test_a_device_that_fails(lanes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, plan = np.random.default_rng(5), plan_of(lanes) | FINE
    a, b = pairs("similar", rng, 900)
    wanted = key(pysw_cl.align(a, b, plan=plan))
    several = Several(monkeypatch, 2)
    with failing(several.runtimes[0].context, 0, True):
        assert key(pysw_cl.align(a, b, plan=plan)) == wanted
    assert several.left_out == 1


def on_several(
    monkeypatch: pytest.MonkeyPatch,
    before: Callable[[WavefrontEngine, TileJob], None],
    after: Callable[[WavefrontEngine, TileResult], None] = lambda *_: None,
    **plan: Any,
) -> pysw_cl.Alignment:
    """A pair on three devices, which has the result of one.  ``before`` is called with each engine
    and its tile, ``after`` with the result."""
    devices = []
    for k in range(3):
        one = get_runtime(cl.Context([get_runtime("auto").device]))
        one.traits = replace(one.traits, speculative=False)
        one.info = replace(one.info, index=f"0:{k}")
        devices.append(one)
    a, b = pairs("similar", np.random.default_rng(6), 900)
    how: dict[str, Any] = {"plan": plan_of("vector") | FINE | plan}
    wanted, tile = key(pysw_cl.align(a, b, **how)), WavefrontEngine._in_strips

    def watched(engine: WavefrontEngine, how: InStrips, job: TileJob, *more: Any) -> TileResult:
        before(engine, job)
        done = tile(engine, how, job, *more)
        after(engine, done)
        return done

    monkeypatch.setattr(WavefrontEngine, "_in_strips", watched)
    monkeypatch.setattr(named, "devices_of", lambda device: devices)
    found = pysw_cl.align(a, b, device=["0", "1", "2"], **how)
    assert key(found) == wanted
    return found


def test_those_that_fail_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first device fails while others trace, and so does the second one; not the third one."""
    main, part_failed = threading.current_thread(), threading.Event()

    def before(engine: WavefrontEngine, job: TileJob) -> None:
        index, mine = engine.runtime.info.index, threading.current_thread() is main
        if job.store_moves and index == "0:1" and not mine:
            part_failed.set()
            raise DeviceError("the second one is gone")
        if job.store_moves and index == "0:0" and part_failed.wait(60):
            raise DeviceError("the first one is gone")

    with pytest.warns(RecomputedWarning, match="is gone"):
        stats = on_several(monkeypatch, before).stats
    assert sorted(one[:3] for one in stats.failed) == ["0:0", "0:1"]


def test_an_engine_is_used_by_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though matrices of any size are spread over all devices."""
    users = dict[int, set[int]]()

    def before(engine: WavefrontEngine, job: TileJob) -> None:
        if engine.stage == "path":
            users.setdefault(id(engine), set()).add(threading.get_ident())
            time.sleep(1e-3)  # parts are traced as long as others

    on_several(monkeypatch, before, traceback_tile_cells=1 << 9, tile_cells=1 << 12)
    assert len(users) == 3 and all(len(threads) == 1 for threads in users.values())


def test_the_device_of_the_sweep_fails_before_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its only tile had all special lines."""

    def gone(*_: Any) -> Any:
        raise DeviceError("it is gone")

    def before(engine: WavefrontEngine, job: TileJob) -> None:
        if job.store_moves and engine.runtime.info.index == "0:0":
            gone()

    def after(engine: WavefrontEngine, done: TileResult) -> None:
        for line in (*done.rows.values(), *done.columns.values()):
            if isinstance(line, DeviceEdge) and engine.runtime.info.index == "0:0":
                line.copy = gone

    with pytest.warns(RecomputedWarning, match="it is gone"):
        found = on_several(monkeypatch, before, after, tile_cells=1 << 30)
    assert [one[:3] for one in found.stats.failed] == ["0:0"]
