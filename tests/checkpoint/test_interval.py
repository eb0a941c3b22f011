"""How far apart special rows lie, on a clock of the test's own."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from pysw_cl.checkpoint import sweep
from pysw_cl.checkpoint.sweep import SavedRun, SlabHeights
from pysw_cl.planning.parameters import SavingTuning

GIB = 1 << 30
CLOCK = SimpleNamespace()


@pytest.fixture(autouse=True)
def own_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "time", CLOCK)


class Run:
    """Bands of a run at so many cells a second, with rows of so many bytes."""

    def __init__(self, m: int, n: int, speed: float, **how: Any) -> None:
        self.now, self.m, self.n, self.speed = 0.0, m, n, speed
        plan: Any = SimpleNamespace(strip_rows=1000, tuning=SimpleNamespace(saving=SavingTuning()))
        plan.device_rows, plan.pipeline_lag = how.get("device", (2000, 0))
        store: Any = SimpleNamespace(used=lambda: 0, free=lambda: how.get("free", 1 << 50))
        CLOCK.monotonic = lambda: self.now
        run = SavedRun(store, how.get("stop_at"), how.get("disk_size"))
        self.decides = SlabHeights(m, n, plan, run)
        self.decides.pipelined(how.get("chain"))

    def heights(self, row_bytes: int, writer_seconds: float = 0.0, begun: int = 1) -> list[int]:
        """``begun``: bands that the device works on at once."""
        todo, heights, done = self.m, [], 0
        files: list[Any] = []
        while todo or done < len(heights):
            while todo and len(heights) < done + begun:
                heights.append(self.decides.height(todo, todo))
                files.append(SimpleNamespace(bytes=0))
                self.decides.begun.append(files[-1])
                todo -= heights[-1]
            self.now += heights[done] * self.n / self.speed
            files[done].bytes = row_bytes
            self.decides.computed(heights[done], (done + 1) * writer_seconds)
            done += 1
        assert sum(heights) == self.m
        assert all(height % self.decides.quantum == 0 for height in heights[:-1])
        return heights


def test_a_slow_device_gets_all_rows() -> None:
    heights = Run(5_000_000, 5_000_000, 4e9).heights(1_500_000)
    assert 120 <= len(heights) <= SavingTuning().most_rows


def test_a_fast_device_gets_few() -> None:
    """2 seconds a band after the first ones, which grow step by step."""
    run = Run(5_000_000, 5_000_000, 1e12)
    heights = run.heights(1_500_000)
    assert len(heights) < 20
    assert heights[0] == 40_000 and heights[-2] * run.n / run.speed > 1.9
    assert all(two <= 4 * one + 1000 for one, two in pairwise(heights))


def test_the_writer_is_never_the_slow_one() -> None:
    run = Run(10**8, 10**8, 3e12)
    heights = run.heights(30_000_000, writer_seconds=1.0)
    assert min(heights[2:-1]) * run.n / run.speed > 49


def test_the_disk_size_is_kept() -> None:
    for size in (1 * GIB, 20 * GIB):
        run = Run(10**8, 10**8, 3e10, disk_size=size)
        heights = run.heights(30_000_000)
        assert 0.8 * size < 30_000_000 * len(heights) <= size + 30_000_000
    run = Run(10**8, 10**8, 3e10, free=3 * GIB)
    assert 30_000_000 * len(run.heights(30_000_000)) < 1.6 * GIB


def test_work_for_every_group() -> None:
    """All have some, and the first wait for the last a hundredth of the time at most."""
    for fill, least in ((1, 100_000), (100_000, 100_000), (100_001, 200_000), (300_000, 300_000)):
        how: dict[str, Any] = {"device": (100_000, fill), "disk_size": 50 * GIB}
        heights = Run(2_000_000, 10**7, 1e9, **how).heights(3_000_000)
        assert len(heights) > 1 and min(heights[:-1]) >= least
    how["device"] = 10**9, fill
    assert Run(2_000_000, 10**7, 1e9, **how).heights(3_000_000) == [2_000_000]


def test_a_run_that_is_to_stop_has_a_row_by_then() -> None:
    run = Run(10**8, 10**8, 1e11, stop_at=3000.0)
    decides, todo = run.decides, run.m
    while run.now < 3000:
        height = decides.height(todo, todo)
        todo -= height
        run.now += height * run.n / run.speed
        decides.computed(height, 0)
    assert run.now < 3010


# Bands that follow each other


def test_little_is_waited_for_in_a_chain() -> None:
    """A band needs no seconds, only what tiles need and as many rows as there may be."""
    run = Run(5_000_000, 5_000_000, 1e12, chain=(60_000, 12_000))
    heights = run.heights(1_500_000, begun=7)
    assert set(heights[:5]) == {72_000} and max(heights) <= 96_000
    run = Run(5_000_000, 5_000_000, 1e12, chain=(12_000, 12_000))
    heights = run.heights(1_500_000, begun=7)
    assert min(heights[:-1]) >= 5_000_000 / SavingTuning().most_rows and max(heights) <= 60_000


def test_a_chain_waits_for_the_writer() -> None:
    run = Run(10**8, 10**8, 3e12, chain=(400_000, 20_000))
    heights = run.heights(30_000_000, writer_seconds=20.0, begun=7)
    seconds = [height * run.n / run.speed for height in heights]
    assert seconds[0] < 32 and min(seconds[20:-1]) > 39 and max(seconds) < 50
    assert all(two <= 4 * one + 20_000 for one, two in pairwise(heights))


@pytest.mark.parametrize("begun", [1, 3, 8])
def test_a_chain_keeps_the_disk_size(begun: int) -> None:
    """Bands that are begun take room: one row is taken to need as much as the last one did."""
    for size in (1 * GIB, 20 * GIB):
        for row_bytes in (30_000_000, 100_000_000):
            run = Run(10**8, 10**8, 3e10, disk_size=size, chain=(10_000, 5_000))
            heights = run.heights(row_bytes, begun=begun)
            assert 0.5 * size < row_bytes * len(heights) <= size + row_bytes


def test_a_chain_ends() -> None:
    """Then bands are as high as they are without."""
    wanted = Run(5_000_000, 5_000_000, 1e12).heights(1_500_000)
    run = Run(5_000_000, 5_000_000, 1e12, chain=(60_000, 12_000))
    assert run.decides.height(5_000_000, 5_000_000) == 72_000
    run.decides.pipelined(None)
    assert run.heights(1_500_000) == wanted
