"""Tiles that follow each other on a device give what they give one by one, whatever ends them."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread, Timer
from typing import Any

import numpy as np
import pytest
from chaining import Seen, both, by_size, chains, every_plan, least_rows, letters, plan_of
from contract_engines import assert_edge, assert_tile, make_engine, random_job
from helpers import match_scoring
from saving import MODES, turned

from pysw_cl.engines.wavefront import chain as chain_module
from pysw_cl.engines.wavefront.chain import Chain
from pysw_cl.engines.wavefront.engine import WavefrontEngine
from pysw_cl.errors import InternalError
from pysw_cl.opencl.device import get_runtime
from pysw_cl.tiles.contract import Below, TileJob, TileResult
from pysw_cl.tiles.tile import EdgeArray

PROTEIN = "ARNDCQEGHILKMFPSTWYV"
DNA = match_scoring(5, -4, 3, 2)


@pytest.fixture
def seen() -> Iterator[Seen]:
    """Chains wherever they can be, and what happens in them."""
    with chains() as found:
        yield found


# Whole comparisons


@every_plan
def test_results_are_those_without_a_checkpoint(lanes: str, seen: Seen, tmp_path: Path) -> None:
    plan, rng, choose = plan_of(lanes), np.random.default_rng(1), random.Random(1)
    for k in range(36):
        mode, free_ends = MODES[k % len(MODES)] if k % 2 else ("local", False)
        how: dict[str, Any] = {"mode": mode, "free_ends": free_ends}
        how["output"] = choose.choice(["path", "ends", "score"])
        if mode == "global":
            how["max_cost"] = None
        else:
            how["prune"] = choose.random() < 0.6
        if k % 4 == 3:
            how |= {"sub_score": "BLOSUM62", "gap_cost": choose.choice([(10, 1), (3, 3)])}
        else:
            how["sub_score"] = choose.choice([(1, -3), (5, -4), (2, -1)])
            how["gap_cost"] = choose.choice([(3, 2), (5, 1), 2])
        m, n = (int(v) for v in rng.integers((300, 50), (1500, 900)))
        m = m // 8 * least_rows(lanes)
        a, b = letters(rng, m, n, PROTEIN if k % 4 == 3 else "ACGT")
        size = choose.choice([30_000, 100_000, 10**7]) + m  # what the letters take
        both(seen, tmp_path / str(k), a, b, plan, size, **how)
    assert len(seen.chains) >= 30 and seen.tiles > 300
    assert seen.begun >= 5 and seen.at_once >= 2 and seen.longest >= 20


def test_lanes_that_depend_on_the_size(seen: Seen, tmp_path: Path) -> None:
    """Bands of any height share the alpha of the whole; wide lanes, with strips of their own, do
    what narrow ones cannot."""
    rng = np.random.default_rng(2)
    large: dict[str, Any] = {"sub_score": (20_000, -20_000)}
    for k, how in enumerate([{}, large] * 4):
        plan, m = by_size(6), (1000, 1500)[k // 2 % 2]  # alpha 4 and 6
        assert plan.for_size(m, 50) == replace(plan, alpha=4 if m == 1000 else 6)
        a, b = letters(rng, m, 50)
        before = len(seen.chains), seen.tiles
        found = both(
            seen, tmp_path / str(k), a, b, plan, (60_000, 10**6)[k // 4], output="score", **how
        )
        assert len(seen.chains) == before[0] + 1 and seen.tiles >= before[1] + 5
        widths = {kind.rpartition("/")[2] for kind in found.stats.cells}
        assert widths == {"32"} if how else widths != {"32"}


@pytest.mark.parametrize("output", ["path", "score"])
def test_bands_of_several_tiles(output: str, seen: Seen, tmp_path: Path) -> None:
    """They wait for the one above; those of one tile below them follow each other again."""
    rng, plan = np.random.default_rng(3), plan_of("vector")
    for k, size in enumerate([15_000, 16_000, 18_000, 25_000, 10**6]):
        for j, (mode, free_ends) in enumerate([("local", False), ("global", True)]):
            a, b = letters(rng, 2000, 140)
            how = {"mode": mode, "free_ends": free_ends, "output": output}
            how |= {"max_cost": None} if mode == "global" else {}
            wishes = {**plan, "tile_cells": 20_000}
            found = both(seen, tmp_path / f"{k}{j}", a, b, wishes, size, **how)
            swept = sum(found.stats.cells.values()) + found.stats.pruned
            assert swept >= 2000 * 140
            assert swept == 2000 * 140 or output == "path"
    assert seen.longest > 10


def test_both_strands(seen: Seen, tmp_path: Path) -> None:
    """The second strand has to beat the first one."""
    rng, plan = np.random.default_rng(4), plan_of("vector")
    for k in range(4):
        a, b = letters(rng, 700, 400)
        query = turned(a) if k % 2 else a
        both(seen, tmp_path / str(k), query, b, plan, 60_000, strand="both", output="path")
    assert seen.longest > 5


def test_threads_on_one_device(seen: Seen, tmp_path: Path) -> None:
    plan = plan_of("vector")
    wrong: list[Any] = []

    def work(k: int) -> None:
        rng = np.random.default_rng(k)
        try:
            for turn in range(4):
                a, b = letters(rng, 900, 500)
                both(seen, tmp_path / f"{k}-{turn}", a, b, plan, 50_000, output="path")
        except BaseException as error:
            wrong.append(error)

    checked = Seen.nothing_held
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Seen, "nothing_held", lambda self: True)  # another's chain is at work
        threads = [Thread(target=work, args=(k,)) for k in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong and seen.longest > 5
    assert checked(seen)


def test_a_queue_that_the_caller_made(seen: Seen, tmp_path: Path) -> None:
    cl = pytest.importorskip("pyopencl")
    plan, runtime = plan_of("vector"), get_runtime("auto")
    queue = cl.CommandQueue(cl.Context([runtime.device]))
    own = get_runtime(queue)
    own.traits = replace(own.traits, speculative=True)
    a, b = letters(np.random.default_rng(5), 900, 300)
    both(seen, tmp_path, a, b, plan, 50_000, output="path", device=queue)
    assert seen.longest > 5


# Tiles


def linked(job: TileJob, heights: list[int]) -> list[TileJob]:
    """A tile cut into some that say what is below; tops are there when tiles are done."""
    jobs: list[TileJob] = []
    starts = np.cumsum([0, *heights]).tolist()

    def cut(k: int) -> TileJob:
        if k < len(jobs):
            return jobs[k]
        start, end, m = starts[k], starts[k + 1], len(job.query)
        part = replace(job, query=job.query[start:end], left=job.left.part(start, end))
        if start:
            corner = int(job.left.h[start - 1])
            part = replace(part, top=EdgeArray(len(job.target)), corner=corner)
        below = Below(m - end, lambda: cut(k + 1)) if end < m else None
        after = None if job.after is None else (job.after[0] + m - end, job.after[1])
        jobs.append(replace(part, below=below, bottom=True, after=after))
        return jobs[k]

    return [cut(k) for k in range(len(heights))]


def down(engine: WavefrontEngine, jobs: list[TileJob]) -> Iterator[TileResult]:
    """What the tiles give, one after the other."""
    above: TileResult | None = None
    for job in jobs:
        if above is not None:
            assert isinstance(job.top, EdgeArray) and above.bottom is not None
            job.top.take(above.bottom)
        above = engine.tile(job)
        yield above


def check(engine: WavefrontEngine, job: TileJob, heights: list[int]) -> None:
    """Linked tiles give what they give one by one."""
    opening = job.scoring.gap_open
    found = list(down(engine, linked(job, heights)))
    engine.settle()
    alone = list(down(engine, [replace(one, below=None) for one in linked(job, heights)]))
    best = max([0, *(hit.score for one in alone for hit in one.hits)])
    for one, two in zip(found, alone, strict=True):
        if one.hits != two.hits:  # less than what was known by then, which one below may have found
            assert all(hit.score < best for hit in two.hits)
        assert_tile(replace(one, hits=two.hits), two, opening)
        assert one.cells == two.cells and one.launches == two.launches == 1
        assert set(one.columns) == set(job.columns)
    wanted = min((hit for one in found for hit in one.hits), default=None)
    assert (wanted.score if wanted else 0) == best


@pytest.mark.parametrize("name", ["narrow-ticketed", "narrow-wider"])
@pytest.mark.parametrize("local", [True, False], ids=["local", "global"])
def test_tiles_are_those_one_by_one(name: str, local: bool, seen: Seen) -> None:
    rng, engine = np.random.default_rng(6), make_engine(name)
    assert isinstance(engine, WavefrontEngine)
    strip = engine.plan.T * engine.plan.alpha
    for turn in range(10):
        count, n = int(rng.integers(2, 14)), int(rng.integers(1, 300))
        heights = [strip * int(k) for k in rng.integers(1, 5, count)]
        if turn % 2:
            heights[-1] -= int(rng.integers(1, heights[-1]))
        job = random_job(rng, sum(heights), n, DNA, local, best=local, right=turn % 3 > 0)
        columns = tuple(sorted(set(rng.integers(1, n, 3).tolist()))) if turn % 2 and n > 1 else ()
        check(engine, replace(job, columns=columns), heights)
        assert seen.tiles == count and seen.nothing_held()
        seen.tiles = 0
    assert len(seen.chains) == 10 and seen.begun > 3


def test_another_tile_ends_the_chain(seen: Seen) -> None:
    """It is computed right, and so are those that follow it."""
    rng, engine = np.random.default_rng(7), make_engine("narrow-ticketed")
    assert isinstance(engine, WavefrontEngine)
    job = random_job(rng, 400, 90, DNA, True, best=True)
    other = random_job(rng, 70, 200, DNA, False)
    wanted = list(down(engine, [replace(one, below=None) for one in linked(job, [40] * 10)]))
    for at in range(10):
        jobs = linked(job, [40] * 10)
        results = down(engine, jobs)
        found = [next(results) for _ in range(at)]
        assert_tile(engine.tile(other), make_engine("reference").tile(other), 3)
        assert seen.nothing_held()
        found += results
        for one, two in zip(found, wanted, strict=True):
            assert_edge(one.bottom, two.bottom, 3)
        assert min(hit for one in found for hit in one.hits) == min(
            hit for one in wanted for hit in one.hits
        )
    jobs = linked(job, [40] * 10)
    engine.tile(jobs[0])
    with pytest.raises(InternalError, match="another order"):
        engine.tile(jobs[2])
    assert seen.nothing_held()
    assert_tile(engine.tile(other), make_engine("reference").tile(other), 3)


@pytest.mark.parametrize("heights", [[40, 40, 33, 47, 40], [33, 47, 80], [40, 40, 8, 1, 1, 1]])
def test_rows_that_are_no_whole_strips_end_a_chain(heights: list[int], seen: Seen) -> None:
    rng, engine = np.random.default_rng(8), make_engine("narrow-ticketed")
    assert isinstance(engine, WavefrontEngine)
    for local in (True, False):
        check(engine, random_job(rng, sum(heights), 100, DNA, local), heights)
        assert seen.nothing_held()


@pytest.mark.parametrize("given", [0, 1, 4])
def test_what_is_below_need_not_be_given(given: int, seen: Seen) -> None:
    """A tile may turn out not to follow at once."""
    rng, engine = np.random.default_rng(9), make_engine("narrow-ticketed")
    assert isinstance(engine, WavefrontEngine)
    job = random_job(rng, 80, 100, DNA, False)
    jobs = linked(job, [8] * 10)
    below = jobs[given].below
    assert below is not None
    object.__setattr__(below, "tile", lambda: None)
    wanted = make_engine("reference").tile(job)
    *_, last = down(engine, jobs)
    assert_edge(last.bottom, wanted.bottom, 3)
    assert len(seen.chains) == 2 and engine._chain is not None
    engine.settle()
    assert seen.nothing_held()


def test_tiles_that_are_done_before_the_next_is_begun(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, engine = np.random.default_rng(10), make_engine("narrow-ticketed")
    assert isinstance(engine, WavefrontEngine)
    taken = Chain._taken
    monkeypatch.setattr(Chain, "_taken", lambda self, one: one.done and taken(self, one))
    job = random_job(rng, 400, 150, DNA, True, best=True)
    check(engine, job, [40] * 10)
    assert seen.tiles == 10 and seen.at_once == 1


def test_a_ticket_of_an_earlier_tile(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tile's buffers may be filled late: until then what they hold is that of a tile before,
    and a tile that is begun too early takes the groups that the one above it needs."""
    cl = pytest.importorskip("pyopencl")
    rng, engine = np.random.default_rng(17), make_engine("narrow-ticketed")
    assert isinstance(engine, WavefrontEngine)
    begin, late = Chain._begin, [0.0, 0.0]

    def delayed(self: Chain, job: TileJob) -> None:
        if self._count == 12:
            event = cl.UserEvent(self.runtime.context)
            cl.enqueue_barrier(self._sides[12 % len(self._sides)][0].queue, wait_for=[event])
            Timer(0.2, lambda: event.set_status(cl.command_execution_status.COMPLETE)).start()
            late[0] = time.monotonic()
        if self._count == 13:
            late[1] = time.monotonic()
        begin(self, job)

    monkeypatch.setattr(Chain, "_begin", delayed)
    check(engine, random_job(rng, 640, 90, DNA, True, best=True), [40] * 16)
    assert seen.tiles == 16 and late[1] - late[0] > 0.15


def test_little_memory(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles wait for those above them, or are done one by one."""
    rng, engine = np.random.default_rng(11), make_engine("narrow-ticketed")
    assert isinstance(engine, WavefrontEngine)
    job = random_job(rng, 400, 150, DNA, True, best=True)
    given: list[int] = []

    def spare(runtime: Any, own: int, asked: int) -> bool:
        given.append(asked)
        return asked < 5 * max(given[0], given[-1] // (1 + len(given)))

    with monkeypatch.context() as patch:
        patch.setattr(chain_module, "_spare", spare)
        check(engine, job, [40] * 10)
        assert seen.tiles == 10 and 1 < seen.begun < 5
    with monkeypatch.context() as patch:
        patch.setattr(chain_module, "_spare", lambda *_: False)
        check(engine, job, [40] * 10)
    assert len(seen.chains) == 1 and seen.nothing_held()


def test_more_tiles_than_a_chain_has_tickets_for(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain_module, "MOST_TILES", 4)
    rng, engine = np.random.default_rng(18), make_engine("narrow-ticketed")
    assert isinstance(engine, WavefrontEngine)
    job = random_job(rng, 400, 150, DNA, True, best=True)
    check(engine, job, [40] * 10)
    assert seen.tiles == 10 and len(seen.chains) == 3
