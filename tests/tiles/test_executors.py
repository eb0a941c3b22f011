"""Whatever computes the tiles of a sweep, the result is the same to the last cell."""

from __future__ import annotations

from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from itertools import count
from multiprocessing import get_context
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from contract_engines import Stairs, assert_edge, make_engine, run_sweep
from executors import OnWorkers
from helpers import match_scoring, random_pair

from pysw_cl.drivers.end_rules import Left
from pysw_cl.drivers.ends import FARTHEST
from pysw_cl.engines.reference import ReferenceEngine
from pysw_cl.engines.several import share_tiles
from pysw_cl.tiles.contract import Engine
from pysw_cl.tiles.edges import Border, EdgeArray
from pysw_cl.tiles.tile import Bound, Limits, TileJob, TileResult, Want

SCORING = match_scoring(2, -3, 3, 1)


def both(rng: np.random.Generator, executor: Any, name: str) -> None:
    """A random sweep one by one and by an executor."""
    m, n = rng.integers(1, 150, 2).tolist()
    query, target = random_pair(rng, 4, m, n)
    local = bool(rng.integers(2))
    border = Border(local, SCORING.gap_open, SCORING.gap_extend)
    want = Want("all", int(rng.choice([1, 1, 5]))) if local else Want("corner")
    rows, columns = ((rng.choice(k, min(k - 1, 2), replace=False) + 1).tolist() for k in (m, n))
    shape = int(rng.integers(1, 40)), int(rng.integers(1, 40))
    limits = Limits()
    if local and rng.integers(2):
        limits = Limits(Bound(int(rng.integers(1, 20)), m, n, 2))
    found = []
    for how in (None, executor):
        kept = {row: EdgeArray(n) for row in rows}, {column: EdgeArray(m) for column in columns}
        sides = 0 if local else None, 0, border, border
        asked: dict[str, Any] = {"shape": shape, "rows": kept[0], "columns": kept[1]}
        given = query, target, SCORING, *sides, want, limits
        found.append((*run_sweep(name, *given, executor=how, **asked), *kept))
    one, other = found
    assert one[0].hits == other[0].hits
    if limits.bound is not None:  # what is skipped depends on what was found before
        return
    assert sum(one[0].cells.values()) == sum(other[0].cells.values()) == m * n
    for k in (1, 2):
        assert_edge(other[k], one[k], SCORING.gap_open)
    for k in (3, 4):
        for place, edge in one[k].items():
            wanted = edge.read(0, len(edge))
            assert_edge(other[k][place].read(0, len(edge)), wanted, SCORING.gap_open)


def test_ends_that_are_apart_in_threads() -> None:
    """Which cells of a tile count does not depend on the tiles that were begun after it."""
    border, kept = Border(True, 3, 1), np.array([[9, 30, 30], [9, 60, 55], [8, 20, 70]])
    for seed in range(12):
        query, target = random_pair(np.random.default_rng(seed), 4, 90, 100)
        given = "reference", query, target, SCORING, 0, 0, border, border
        found = []
        for executor in (None, partial(share_tiles, [make_engine("reference")] * 3, str)):
            want = Want("all", 40, 1, among=Left([FARTHEST, 0, 0], kept, 12, False, None))
            result, *_ = run_sweep(*given, want, shape=(31, 23), executor=executor)
            found.append(list(result.hits))
        assert found[0] == found[1]


@pytest.mark.parametrize("names", [["reference"] * 3, ["ticketed", "narrow-ticketed"]])
def test_in_threads(names: list[str]) -> None:
    rng = np.random.default_rng(len(names))
    executor = partial(share_tiles, [make_engine(name) for name in names], str)
    for _ in range(60):
        both(rng, executor, names[0])


def test_a_corridor_in_threads() -> None:
    """A row of a corridor begins when the one above is done, and may be the last one."""
    query, target = random_pair(np.random.default_rng(1), 4, 131, 128)
    border = Border(False, SCORING.gap_open, SCORING.gap_extend)
    engines = [make_engine("reference")] * 2
    for last in (48, 1000):
        found = []
        for executor in (None, partial(share_tiles, engines, str)):
            corridor = Stairs(128)
            corridor.passed = lambda row, *_, last=last: row < last  # type: ignore[method-assign]
            given = "reference", query, target, SCORING, None, 0, border, border
            limits = Limits(corridor=corridor)
            more: dict[str, Any] = {"shape": (8, 7), "executor": executor}
            result, bottom, _ = run_sweep(*given, Want("corner"), limits, **more)
            found.append((result.hits, result.cells, corridor.asked, bottom.h.tolist()))
        assert found[0] == found[1]


def work_here(pool: Executor, rounds: int) -> None:
    here = make_engine("reference")
    workers = [OnWorkers(pool, ReferenceEngine, here) for _ in range(2)]
    rng = np.random.default_rng(5)
    for _ in range(rounds):
        both(rng, partial(share_tiles, workers, str), "reference")


def test_on_workers() -> None:
    with ThreadPoolExecutor(2) as pool:
        work_here(pool, 20)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        work_here(pool, 1)


class Meeting(Engine):
    """The reference engine, which computes two tiles at once or fails."""

    def __init__(self, meeting: Barrier, fails: bool = False) -> None:
        self.meeting, self.fails, self.one = meeting, fails, ReferenceEngine()

    def tile(self, job: TileJob) -> TileResult:
        self.meeting.wait(30)
        if self.fails:
            raise ValueError("this device is gone")
        return self.one.tile(job)


def test_two_engines_work_at_the_same_time_and_an_error_ends_both() -> None:
    """Tiles on a diagonal wait for each other."""
    query, target = random_pair(np.random.default_rng(2), 4, 30, 30)
    border = Border(True, 3, 1)
    given = "reference", query, target, SCORING, 0, 0, border, border, Want("all")
    wanted = run_sweep(*given)[0].hits
    alone = Barrier(1)
    result, _, _ = run_sweep(
        *given, shape=(10, 10), executor=partial(share_tiles, [Meeting(alone)] * 2, str)
    )
    assert result.hits == wanted
    with pytest.raises(ValueError, match="device is gone"):
        engines = [Meeting(alone, fails=True)] * 2  # (one of two may compute all tiles alone)
        run_sweep(*given, shape=(10, 10), executor=partial(share_tiles, engines, str))
    # of two rows of three, only the first and the last tile have nothing beside them
    pair, numbers = Barrier(2), count()

    class Beside(Meeting):
        def tile(self, job: TileJob) -> TileResult:
            return self.one.tile(job) if next(numbers) in (0, 5) else super().tile(job)

    engines = [Beside(pair), Beside(pair)]
    result, _, _ = run_sweep(*given, shape=(15, 10), executor=partial(share_tiles, engines, str))
    assert result.hits == wanted
