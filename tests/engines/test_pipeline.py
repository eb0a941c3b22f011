"""Tiles that follow each other on a device give what they give one by one, whatever ends them."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from pipes import EdgePipe
from threading import Thread, Timer
from typing import Any

import numpy as np
import pytest
from contract_engines import assert_edge, assert_tile, make_engine, random_job
from helpers import device_has, fault, match_scoring, spy, tune
from pipelining import Seen, both, by_size, chains, every_plan, least_rows, letters, plan_of
from saving import MODES, key, turned
from tuned import tuned

import pysw_cl
from pysw_cl.engines.wavefront.engine import WavefrontEngine
from pysw_cl.engines.wavefront.pipeline import RunningPipeline
from pysw_cl.errors import DeviceError, RecomputedWarning
from pysw_cl.opencl.device import get_runtime
from pysw_cl.sequences.view import View
from pysw_cl.tiles.contract import Engine
from pysw_cl.tiles.edges import Edge, EdgeArray, Edges, Source
from pysw_cl.tiles.graph import Rectangle, SweepState
from pysw_cl.tiles.slabs import Slab, Slabs, SweepResult
from pysw_cl.tiles.sweep import sweep
from pysw_cl.tiles.tile import Area, TileJob, TileResult, Want

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
        plan, m = by_size(6), (1000, 1500)[k // 2 % 2]
        assert plan.for_size(m, 50) == plan  # a low band alone would have shorter lanes
        assert plan.for_size(100, 50) == replace(plan, alpha=4)
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


@every_plan
@pytest.mark.parametrize("output", ["path", "score"])
def test_matrices_that_are_too_long_for_one_tile(lanes: str, output: str, seen: Seen) -> None:
    """Without a checkpoint, too; slabs end at the special rows of a path."""
    rng, plan = np.random.default_rng(20), plan_of(lanes)
    for k, (mode, free_ends) in enumerate(MODES * 2):
        how: dict[str, Any] = {"mode": mode, "free_ends": free_ends, "output": output}
        how |= {"max_cost": None} if mode == "global" else {"prune": k % 2 > 0}
        m, n = least_rows(lanes) * int(rng.integers(60, 120)), int(rng.integers(90, 300))
        a, b = letters(rng, m + int(rng.integers(0, 2)) * 3, n)
        before = len(seen.chains)
        with tuned({"sweep.longest_side": 64}):
            found = pysw_cl.align(a, b, plan=plan, device="auto", **how)
        assert len(seen.chains) > before or lanes == "wider"
        wanted = pysw_cl.align(a, b, plan={"engine": "reference"}, **how)
        assert key(found) == key(wanted), (a, b, how)
        assert seen.nothing_held()
    assert seen.longest > 10


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

    seen.shared = True
    threads = [Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and seen.longest > 5
    assert seen.nothing_held()


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
    """A tile cut into some that follow each other; only the first has a top edge."""
    jobs: list[TileJob] = []
    m, start = len(job.query), 0
    for height in heights:
        end = start + height
        after = None if job.after is None else (job.after[0] + m - end, job.after[1])
        part = replace(job, query=job.query[start:end], left=job.left.read(start, end), after=after)
        if start:
            part = replace(part, top=None, corner=int(job.left.h[start - 1]))
        jobs.append(replace(part, bottom=True))
        start = end
    return jobs


def one_by_one(engine: WavefrontEngine, jobs: list[TileJob]) -> Iterator[TileResult]:
    """What the tiles give, each with the bottom of the one above it as its top."""
    above: TileResult | None = None
    for job in jobs:
        above = engine.tile(job if above is None else replace(job, top=above.bottom))
        yield above


def begin(engine: WavefrontEngine, jobs: list[TileJob]) -> Any:
    """A pipeline with the first of the tiles in it."""
    return engine.pipeline(jobs[0], sum(len(job.query) for job in jobs[1:]))


def in_pipeline(engine: WavefrontEngine, jobs: list[TileJob]) -> list[TileResult]:
    """What whole strips give that follow each other, as far as pipelines take them."""
    results: list[TileResult] = []
    while len(results) < len(jobs):
        rest = jobs[len(results) :]
        if results:
            rest[0] = replace(rest[0], top=results[-1].bottom)
        pipeline = begin(engine, rest)
        if pipeline is None:
            return [*results, *one_by_one(engine, rest)]
        put = 1
        while pipeline._begun:
            done = pipeline.done()
            if put < len(rest) and pipeline.accepts():
                assert pipeline.put(rest[put], put == len(rest) - 1)
                put += 1
            elif done:
                found = pipeline.take(True)  # what it lends is there until the next call
                columns = {at: edge.read(0, len(edge)) for at, edge in found.columns.items()}
                results.append(replace(found, columns=columns))
        pipeline.close()
    return results


def check(engine: WavefrontEngine, job: TileJob, heights: list[int]) -> None:
    """Linked tiles give what they give one by one."""
    opening, jobs = job.scoring.gap_open, linked(job, heights)
    found, alone = in_pipeline(engine, jobs), list(one_by_one(engine, jobs))
    best = max([0, *(hit.score for one in alone for hit in one.hits)])
    for one, two in zip(found, alone, strict=True):
        if one.hits != two.hits:  # less than what was known by then, which one below may have found
            assert all(hit.score < best for hit in two.hits)
        assert_tile(replace(one, hits=two.hits), two, opening)
        # the widths of some depend on how much was known of the best score by then
        assert sum(one.cells.values()) == sum(two.cells.values())
        assert one.launches == two.launches == 1
        assert set(one.columns) == set(job.columns)
        for at, cells in one.columns.items():
            assert_edge(cells, two.columns[at].read(0, len(cells)), opening)
    wanted = min((hit for one in found for hit in one.hits), default=None)
    assert (wanted.score if wanted else 0) == best


class Heights(Slabs):
    """Slabs of given heights, one tile each."""

    start = 0

    def __init__(self, heights: list[int], n: int, columns: dict[int, EdgeArray]) -> None:
        self.ends, self.n, self.columns = np.cumsum(heights).tolist(), n, columns
        self.done, self.stop = list[int](), self.ends[-1]

    def shape(self, rows: int) -> tuple[int, int]:
        return rows, self.n

    def pipelined(self, rows: tuple[int, int] | None, devices: int = 1) -> None:
        """Heights stay what they are."""

    def begin(self, row: int) -> Slab:
        return Slab(row, next(end for end in self.ends if end > row), self.columns)

    def computed(self, slab: Slab, hits: Any) -> None:
        self.done.append(slab.end)


def swept(
    engine: Engine, job: TileJob, slabs: Slabs | None, left: Source | None = None
) -> tuple[SweepResult, list[Edge]]:
    """What a sweep of a tile finds, and all edges that it gives."""
    m, n = job.size
    edges = EdgeArray(n), EdgeArray(m), EdgeArray(m)
    columns = {n // 2: edges[2]}
    if isinstance(slabs, Heights):
        slabs.columns = columns
    top, given = job.above, left or job.left
    around = Edges(job.corner, top, given, *edges[:2], columns=columns)
    want = Want("all" if job.floor is not None else "border")
    whole = Rectangle(View(job.query), View(job.target), job.scoring, job.floor)
    result = sweep(engine, whole, around, want, slabs=slabs)
    return result, [edge.read(0, len(edge)) for edge in edges]


def check_sweep(
    engine: Engine, job: TileJob, heights: list[int], left: Source | None = None
) -> None:
    """A sweep in slabs of these heights finds what the reference engine finds at once."""
    slabs = Heights(heights, job.size[1], {})
    found, edges = swept(engine, job, slabs, left)
    wanted, others = swept(make_engine("reference"), job, None)
    assert slabs.done == slabs.ends and found.hits == wanted.hits
    for one, two in zip(edges, others, strict=True):
        assert_edge(one, two, job.scoring.gap_open)


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
    assert len(seen.chains) == 10 and seen.begun  # how many depends on how busy the machine is


def test_other_tiles_meanwhile(seen: Seen) -> None:
    """A pipeline and single tiles of the same engine do not disturb each other."""
    rng, engine = np.random.default_rng(7), make_engine("narrow-ticketed")
    assert isinstance(engine, WavefrontEngine)
    job, other = random_job(rng, 400, 90, DNA, True), random_job(rng, 70, 200, DNA, False)
    jobs = linked(job, [40] * 10)
    wanted, pipeline = list(one_by_one(engine, jobs)), begin(engine, jobs)
    assert pipeline is not None
    for at in range(10):
        assert_tile(engine.tile(other), make_engine("reference").tile(other), 3)
        while at < 9 and len(pipeline._begun) == 1:
            if pipeline.accepts():
                assert pipeline.put(jobs[at + 1], at == 8)
        assert_edge(pipeline.take(True).bottom, wanted[at].bottom, 3)
    pipeline.close()
    assert seen.nothing_held()


def test_bottom_edges_that_nobody_wants_stay_on_the_device(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, engine = np.random.default_rng(21), make_engine("narrow-ticketed")
    read: list[bool] = []
    spy(monkeypatch, RunningPipeline, "take", lambda self, bottom: read.append(bottom))
    check_sweep(engine, random_job(rng, 400, 100, DNA, True), [40] * 10)
    assert len(read) == seen.tiles == 10 and read[-1]
    assert sum(read) <= 2 or seen.begun == 0  # those after which no tile was begun, too


@pytest.mark.parametrize("which", range(1, 11))
def test_edges_that_a_device_does_not_give(
    which: int, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep goes on from the right row, or ends."""

    class Saving(Heights):
        def begin(self, row: int) -> Slab:
            slab = super().begin(row)
            return replace(slab, bottom=EdgeArray(self.n)) if slab.end in (200, 240) else slab

    rng, engine = np.random.default_rng(25), make_engine("narrow-ticketed")
    job = random_job(rng, 400, 100, DNA, True)
    wanted, others = swept(make_engine("reference"), job, None)
    error = DeviceError("an edge is not read")
    fault(monkeypatch, SweepState, "take", error, range(which, which + 1))
    slabs = Saving([40] * 10, 100, {})
    if which not in (1, 6, 7):  # the row above is no longer known
        with pytest.raises(DeviceError, match="an edge is not read"):
            swept(engine, job, slabs)
        return
    with pytest.warns(RecomputedWarning, match="an edge is not read"):
        found, edges = swept(engine, job, slabs)
    assert found.hits == wanted.hits
    for one, two in zip(edges, others, strict=True):
        assert_edge(one, two, DNA.gap_open)


@pytest.mark.parametrize(("share", "piped"), [(1, True), (2, True), (100, False)])
def test_matrices_that_are_wider_than_a_tile(share: int, piped: bool, seen: Seen) -> None:
    """Pipelines have tiles as wide as they are, if these have no more cells than others."""

    class Narrow(Heights):
        """Its tiles are a share of the matrix's width elsewhere."""

        def shape(self, rows: int) -> tuple[int, int]:
            return rows, -(-self.n // share)

    rng, engine = np.random.default_rng(23), make_engine("narrow-ticketed")
    job = random_job(rng, 400, 200, DNA, True)
    slabs = Narrow([40] * 10, 200, {})
    found, edges = swept(engine, job, slabs)
    wanted, others = swept(make_engine("reference"), job, None)
    assert found.hits == wanted.hits and bool(seen.chains) is piped
    for one, two in zip(edges, others, strict=True):
        assert_edge(one, two, DNA.gap_open)


def test_progress_while_tiles_are_computed(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts what tiles have behind them, and never more than there is."""
    tune(monkeypatch, {"sweep.tell_seconds": 0})
    asked, real = itertools.count(), RunningPipeline.done
    monkeypatch.setattr(RunningPipeline, "done", lambda one: next(asked) % 3 == 2 and real(one))
    rng, engine = np.random.default_rng(22), make_engine("narrow-ticketed")
    assert isinstance(engine, WavefrontEngine)
    job, told, seen_by = random_job(rng, 400, 3000, DNA, True, best=True), [], []
    advance = SweepState.advance

    def seen_advance(state: SweepState, area: Area | None, underway: int = 0) -> None:
        seen_by.append((area, underway))
        advance(state, area, underway)

    monkeypatch.setattr(SweepState, "advance", seen_advance)
    top, left = job.above, job.left
    sweep(
        engine, Rectangle(View(job.query), View(job.target), DNA, 0), Edges(job.corner, top, left),
        Want("all"), slabs=Heights([40] * 10, 3000, {}),
        progress=lambda done, total: told.append((done, total)),
    )  # fmt: skip
    assert seen.tiles == 10 and len(told) == len(seen_by) >= 20
    assert all(done <= total == 400 * 3000 for done, total in told) and told[-1][0] == 400 * 3000
    assert sum(area is not None for area, _ in seen_by) == 10
    assert any(underway and area is None for area, underway in seen_by)
    ends = [done for (done, _), (area, _) in zip(told, seen_by, strict=True) if area is not None]
    assert ends == sorted(ends)


@pytest.mark.parametrize("heights", [[40, 40, 33, 47, 40], [33, 47, 80], [40, 40, 8, 1, 1, 1]])
def test_rows_that_are_no_whole_strips_end_a_chain(heights: list[int], seen: Seen) -> None:
    rng, engine = np.random.default_rng(8), make_engine("narrow-ticketed")
    for local in (True, False):
        check_sweep(engine, random_job(rng, sum(heights), 100, DNA, local), heights)
        assert seen.nothing_held()


def test_a_left_edge_that_comes_in_pieces(seen: Seen) -> None:
    """A slab is begun when its part of the left edge is there; what is begun goes on meanwhile."""
    rng, engine = np.random.default_rng(9), make_engine("narrow-ticketed")
    for local in (True, False):
        job = random_job(rng, 400, 100, DNA, local)
        left = EdgePipe(400)

        def give(job: TileJob = job, left: EdgePipe = left) -> None:
            for start in range(0, 400, 25):
                time.sleep(0.004)
                left.write(start, job.left.read(start, start + 25))

        thread = Thread(target=give)
        thread.start()
        check_sweep(engine, job, [40] * 10, left)
        thread.join()
        assert seen.nothing_held()
    assert seen.tiles >= 12


def test_a_sweep_that_is_interrupted_gives_all_back(seen: Seen) -> None:
    rng, engine = np.random.default_rng(10), make_engine("narrow-ticketed")
    job = random_job(rng, 400, 100, DNA, True)
    left = EdgePipe(400)
    left.write(0, job.left.read(0, 130))
    left.close(ValueError("the neighbour is gone"))
    with pytest.raises(ValueError, match="neighbour"):
        check_sweep(engine, job, [40] * 10, left)
    assert seen.tiles and seen.nothing_held()


class WholeTiles:
    """A chain that takes the next tile only when all of the last one is done."""

    def __init__(self, chain: RunningPipeline) -> None:
        self.chain = chain

    def accepts(self) -> bool:
        """See `RunningPipeline`."""
        return self.chain.accepts() and all(one.done for one in self.chain._begun)

    def __len__(self) -> int:
        return len(self.chain)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.chain, name)


class Patient(WavefrontEngine):
    """An engine whose tiles do not overlap in time: no tile is begun early."""

    def pipeline(self, job: TileJob, rows_below: int) -> Any:
        chain = super().pipeline(job, rows_below)
        return WholeTiles(chain) if isinstance(chain, RunningPipeline) else None


def test_tiles_that_are_done_before_the_next_is_begun(seen: Seen) -> None:
    rng, engine = np.random.default_rng(10), make_engine("narrow-ticketed")
    assert isinstance(engine, WavefrontEngine)
    job = random_job(rng, 400, 150, DNA, True, best=True)
    check(Patient(engine.runtime, engine.plan), job, [40] * 10)
    assert seen.tiles == 10 and seen.at_once == 1


def test_a_ticket_of_an_earlier_tile(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tile's buffers may be filled late: until then what they hold is that of a tile before,
    and a tile that is begun too early takes the groups that the one above it needs."""
    cl = pytest.importorskip("pyopencl")
    rng, engine = np.random.default_rng(17), make_engine("narrow-ticketed")
    assert isinstance(engine, WavefrontEngine)
    late = [0.0, 0.0]

    def delayed(self: RunningPipeline, job: TileJob) -> None:
        if self._count == 12:
            event = cl.UserEvent(self.runtime.context)
            cl.enqueue_barrier(self._sides[12 % len(self._sides)][0].queue, wait_for=[event])
            Timer(0.2, lambda: event.set_status(cl.command_execution_status.COMPLETE)).start()
            late[0] = time.monotonic()
        if self._count == 13:
            late[1] = time.monotonic()

    spy(monkeypatch, RunningPipeline, "_begin", delayed)
    check(engine, random_job(rng, 640, 90, DNA, True, best=True), [40] * 16)
    assert seen.tiles == 16 and late[1] - late[0] > 0.15


def test_nothing_is_made_from_host_memory_beside_running_tiles(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some drivers copy it when a kernel first uses the buffer, or a part of it, and that launch
    waits until nothing runs: tiles would run one by one."""
    cl = pytest.importorskip("pyopencl")
    rng, engine = np.random.default_rng(19), make_engine("narrow-ticketed")
    assert isinstance(engine, WavefrontEngine)
    copies, before, tickets, buffer = [0], list[int](), set[bool](), cl.Buffer

    def made(*args: Any, hostbuf: Any = None, **more: Any) -> Any:
        copies[0] += hostbuf is not None
        return buffer(*args, hostbuf=hostbuf, **more)

    def begins(self: RunningPipeline, _: TileJob) -> None:
        before.append(copies[0])
        tickets.add(bool(self._tickets.flags & cl.mem_flags.COPY_HOST_PTR))

    spy(monkeypatch, RunningPipeline, "_begin", begins)
    monkeypatch.setattr(cl, "Buffer", made)
    check(engine, random_job(rng, 1200, 90, DNA, True, best=True), [40] * 30)
    assert seen.tiles == 30 and tickets == {False} and len(set(before)) == 1


def test_little_memory(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles wait for those above them, or are done one by one."""
    rng, engine = np.random.default_rng(11), make_engine("narrow-ticketed")
    assert isinstance(engine, WavefrontEngine)
    job = random_job(rng, 400, 150, DNA, True, best=True)
    took: list[tuple[int, int]] = []

    def taken(_: None, self: RunningPipeline, job: TileJob) -> None:
        took.append((self._own.bytes, max(one.buffers.bytes for one in self._begun)))

    with monkeypatch.context() as patch:
        spy(patch, RunningPipeline, "_begin", after=taken)
        check(engine, job, [40] * 10)
    seen.tiles = seen.begun = 0
    own, each = map(max, zip(*took, strict=True))
    with monkeypatch.context() as patch:  # half of it holds the chain and four times four tiles
        device_has(patch, global_mem_size=2 * (own + 4 * 4 * each))
        check(engine, job, [40] * 10)
        assert seen.tiles == 10 and 1 < seen.begun < 5
    with monkeypatch.context() as patch:
        device_has(patch, global_mem_size=1 << 14)
        check(engine, job, [40] * 10)
    assert len(seen.chains) == 2 and seen.nothing_held()


def test_more_tiles_than_a_chain_has_tickets_for(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    tune(monkeypatch, {"pipeline.most_tiles": 4})
    rng, engine = np.random.default_rng(18), make_engine("narrow-ticketed")
    assert isinstance(engine, WavefrontEngine)
    job = random_job(rng, 400, 150, DNA, True, best=True)
    check(engine, job, [40] * 10)
    assert seen.tiles == 10 and len(seen.chains) == 3
