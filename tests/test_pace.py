"""How far apart special rows lie, on a clock of the test's own."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from pysw_cl.drivers import pace
from pysw_cl.drivers.pace import Pace

GIB = 1 << 30


class Run:
    """Bands of a run at so many cells a second, with rows of so many bytes."""

    def __init__(self, patch: pytest.MonkeyPatch, m: int, n: int, speed: float, **how: Any) -> None:
        self.now, self.m, self.n, self.speed = 0.0, m, n, speed
        patch.setattr(pace, "time", SimpleNamespace(monotonic=lambda: self.now))
        given = {"quantum": 1000, "busy_rows": 2000, "disk_size": None, "used": 0, "free": 1 << 50}
        self.pace = Pace(m, n, **{**given, "stop_at": None, **how})

    def heights(self, row_bytes: int, writer_seconds: float = 0.0) -> list[int]:
        todo, heights = self.m, []
        while todo:
            heights.append(self.pace.height(todo, todo))
            todo -= heights[-1]
            self.now += heights[-1] * self.n / self.speed
            self.pace.saving(SimpleNamespace(bytes=row_bytes))  # type: ignore[arg-type]
            self.pace.computed(heights[-1], len(heights) * writer_seconds)
        assert sum(heights) == self.m
        assert all(height % 1000 == 0 for height in heights[:-1])
        return heights


def test_a_slow_device_gets_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    heights = Run(monkeypatch, 5_000_000, 5_000_000, 4e9).heights(1_500_000)
    assert 120 <= len(heights) <= pace.MOST_ROWS


def test_a_fast_device_gets_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """2 seconds a band after the first ones, which grow step by step."""
    run = Run(monkeypatch, 5_000_000, 5_000_000, 1e12)
    heights = run.heights(1_500_000)
    assert len(heights) < 20
    assert heights[0] == 40_000 and heights[-2] * run.n / run.speed > 1.9
    assert all(two <= 4 * one + 1000 for one, two in pairwise(heights))


def test_the_writer_is_never_the_slow_one(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(monkeypatch, 10**8, 10**8, 3e12)
    heights = run.heights(30_000_000, writer_seconds=1.0)
    assert min(heights[2:-1]) * run.n / run.speed > 49


def test_the_disk_size_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (1 * GIB, 20 * GIB):
        run = Run(monkeypatch, 10**8, 10**8, 3e10, disk_size=size)
        heights = run.heights(30_000_000)
        assert 0.8 * size < 30_000_000 * len(heights) <= size + 30_000_000
    run = Run(monkeypatch, 10**8, 10**8, 3e10, free=3 * GIB)
    assert 30_000_000 * len(run.heights(30_000_000)) < 1.6 * GIB


def test_work_for_every_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """All have some, and the first wait for the last a hundredth of the time at most."""
    for fill, least in ((1, 100_000), (100_000, 100_000), (100_001, 200_000), (300_000, 300_000)):
        how: dict[str, Any] = {"busy_rows": 100_000, "fill": fill, "disk_size": 50 * GIB}
        heights = Run(monkeypatch, 2_000_000, 10**7, 1e9, **how).heights(3_000_000)
        assert len(heights) > 1 and min(heights[:-1]) >= least
    how["busy_rows"] = 10**9
    assert Run(monkeypatch, 2_000_000, 10**7, 1e9, **how).heights(3_000_000) == [2_000_000]


def test_a_run_that_is_to_stop_has_a_row_by_then(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(monkeypatch, 10**8, 10**8, 1e11, stop_at=3000.0)
    pace_ = run.pace
    todo = run.m
    while run.now < 3000:
        height = pace_.height(todo, todo)
        todo -= height
        run.now += height * run.n / run.speed
        pace_.computed(height, 0)
    assert run.now < 3010
