"""Paths by tiles side by side: memory, and what happens where it lacks; progress, interrupts, walks
that are saved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import fault, spy, tune, use_engine
from saving import key
from speculating import (
    HOW,
    Seen,
    constants,
    every_plan,
    plan_of,
    related,
    watched,
)

import pysw_cl
from pysw_cl.engines.wavefront.engine import WavefrontEngine
from pysw_cl.engines.wavefront.tile_batch import WavefrontTileBatch
from pysw_cl.errors import DeviceError
from pysw_cl.opencl.buffers import Buffers
from pysw_cl.planning import parameters
from pysw_cl.planning.path_grid import path_bytes


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """What happens in this test."""
    return watched(monkeypatch)


@every_plan
def test_progress_never_falls(lanes: str, seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(lanes)
    constants(monkeypatch, most_tiles=3)
    told: list[tuple[int, int]] = []
    a, b = related(np.random.default_rng(4), 4000)
    pysw_cl.align(a, b, plan=plan, progress=lambda *now: told.append(now), **HOW)
    assert seen.traced > 5 and seen.alone < 3
    done, totals = zip(*told, strict=True)
    assert list(done) == sorted(done)
    assert set(totals) == {totals[0]} and done[-1] == totals[0] > len(a) * len(b)
    assert sum(len(a) * len(b) < now < totals[0] for now in done) > 5


@every_plan
def test_an_interrupt_gives_the_memory_back(
    lanes: str, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(lanes)
    constants(monkeypatch, most_tiles=3)
    a, b = related(np.random.default_rng(4), 4000)

    def progress(done: int, total: int) -> None:
        if seen.traced == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pysw_cl.align(a, b, plan=plan, progress=progress, **HOW)
    assert seen.traced == 2
    assert [tiles._buffers.bytes for tiles in seen.engines] == [0]


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("__init__", 1),
        ("named", 1),
        ("named", 4),
        ("_launch", 3),
        ("moves", 2),
        ("trace", 2),
        ("_take", 7),
    ],
)
def test_where_memory_lacks_tiles_go_one_by_one(
    name: str, calls: int, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of("vector")
    constants(monkeypatch, most_tiles=3)
    a, b = related(np.random.default_rng(4), 4000)
    wanted = pysw_cl.align(a, b, plan=plan, **HOW)
    assert seen.alone < 3
    lacks = DeviceError("out of memory")
    owner = Buffers if name == "named" else WavefrontTileBatch
    fault(monkeypatch, owner, name, lacks, range(calls, 1 << 30))
    found = pysw_cl.align(a, b, plan=plan, **HOW)
    assert key(found) == key(wanted)
    assert seen.alone >= 3
    assert all(tiles._buffers.bytes == 0 for tiles in seen.engines)


def test_a_grid_that_needs_no_finer_lines(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cells are hardly larger than tiles with moves, and are traced one by one."""
    plan = plan_of("vector")
    a, b = related(np.random.default_rng(4), 1000)
    wanted = pysw_cl.align(a, b, plan=plan, **HOW)
    constants(monkeypatch, side=64, least_side=20, pieces=16)
    seen.alone = 0
    assert key(pysw_cl.align(a, b, plan=plan, **HOW)) == key(wanted)
    assert seen.alone > 3


def test_where_memory_lacks_fewer_tiles_take_less(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path that may take much of a device's memory goes on with what any path may take."""
    plan = plan_of("vector")
    constants(monkeypatch, most_tiles=3, path_bytes=1 << 40)
    a, b = related(np.random.default_rng(4), 4000)
    fault(monkeypatch, WavefrontTileBatch, "_launch", DeviceError("out of memory"), range(4, 5))
    found = pysw_cl.align(a, b, plan=plan, **HOW)
    assert found.rescore() == found.score
    assert len(seen.engines) == 2 and seen.traced and seen.alone < 3


@every_plan
@pytest.mark.parametrize("limit", [(0, 400), (1 << 20, 100), (1 << 22, 50)])
def test_memory_stays_below_its_limit(
    lanes: str, limit: tuple[int, int], seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(lanes)
    constants(monkeypatch, path_bytes=limit[0], side_bytes=limit[1])
    rng = np.random.default_rng(4)
    a, b = related(rng, 6000)
    held: list[int] = []

    def noted(_: None, engine: WavefrontEngine, size: int) -> None:
        held.append(engine._room.edge_bytes)

    spy(monkeypatch, WavefrontEngine, "note_memory", after=noted)
    found = pysw_cl.align(a, b, plan=plan, **HOW)
    assert seen.traced and not seen.alone
    assert found.stats.device_bytes <= path_bytes(parameters.usual.traceback, len(a), len(b))
    # the first grid is on the device all the time, at least one row and one column, packed
    assert 3 * (len(a) + len(b)) <= held[-1] <= max(held) <= found.stats.device_bytes


MOST = 1 << 18


class SmallLevels(WavefrontEngine):
    """An engine on a device with small buffers, for tile batches only: the tiles of a level take at
    most ``MOST`` bytes."""

    def tile_batch(self, *args: Any) -> WavefrontTileBatch | None:
        tiles = super().tile_batch(*args)
        if tiles is not None:
            tiles.most_bytes = MOST
        return tiles


def test_a_level_is_no_larger_than_one_buffer_may_be(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of("vector")
    constants(monkeypatch)
    a, b = related(np.random.default_rng(4), 6000)
    sizes: list[int] = []
    use_engine(monkeypatch, SmallLevels)
    spy(monkeypatch, Buffers, "named", lambda buffers, name, size: sizes.append(size))
    pysw_cl.align(a, b, plan=plan, **HOW)
    assert max(sizes) <= MOST and seen.traced > 5 and not seen.alone


@every_plan
def test_a_walk_that_is_saved_goes_on_where_it_was(
    lanes: str, seen: Seen, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """Each part of it is saved, and a later run begins behind the last one."""
    plan = plan_of(lanes)
    constants(monkeypatch, most_tiles=3)
    tune(monkeypatch, {"saving.least_seconds": 0, "saving.least_times": 0})
    a, b = related(np.random.default_rng(4), 4000)
    wanted = pysw_cl.align(a, b, plan=plan, **HOW)
    parts = seen.traced
    seen.traced = 0

    def progress(done: int, total: int) -> None:
        if seen.traced == 3:
            seen.traced = 0
            raise KeyboardInterrupt

    runs = 0
    while True:
        runs += 1
        try:
            found = pysw_cl.align(
                a, b, plan=plan, progress=progress, checkpoint=tmp_path / "saved", **HOW
            )
        except KeyboardInterrupt:
            continue
        break
    assert key(found) == key(wanted)
    assert 2 < runs <= parts
