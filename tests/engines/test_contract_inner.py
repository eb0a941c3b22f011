"""The tile contract on every engine: inner rows and columns are what a cut there would give."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from aligning import needs_lanes
from contract_engines import (
    assert_edge,
    assert_tile,
    counted,
    every_engine,
    make_engine,
    random_job,
    random_pairs,
)
from helpers import match_scoring, random_codes, random_scoring, tune
from schedule_checker import ORDERS, ScheduleChecker
from whole_reference import align_reference
from widths import DNA, SMALL, engine_of, made_job

from pysw_cl.drivers.problem import FreeEnds, Problem
from pysw_cl.drivers.traceback import trace_back
from pysw_cl.engines.plans import make_plan
from pysw_cl.engines.reference import ReferenceEngine
from pysw_cl.engines.wavefront import engine as wavefront
from pysw_cl.planning import choose
from pysw_cl.planning.path_grid import grid_places, strip_rows
from pysw_cl.planning.plan import Plan
from pysw_cl.scoring.precision import UNREACHABLE
from pysw_cl.scoring.scoring import Scoring
from pysw_cl.sequences.view import View
from pysw_cl.tiles.contract import Engine
from pysw_cl.tiles.edges import Border, Edge, EdgeArray, Edges
from pysw_cl.tiles.graph import Rectangle
from pysw_cl.tiles.special_lines import SweptGrid
from pysw_cl.tiles.sweep import by_parts, sweep
from pysw_cl.tiles.tile import Bound, Limits, TileJob, TileResult, Want

SCORING = match_scoring(2, -1, 3, 1)
REFERENCE = ReferenceEngine()

both_floors = pytest.mark.parametrize("local", [True, False], ids=["local", "global"])


def some(rng: np.random.Generator, length: int, quantum: int, most: int) -> tuple[int, ...]:
    """Up to ``most`` places inside, multiples of ``quantum``, sorted."""
    inside = np.arange(quantum, length, quantum)
    return tuple(np.sort(rng.permutation(inside)[:most]).tolist())


def check(engine: Engine, job: TileJob, launches: int | None = None) -> TileResult:
    """All that a tile gives is the reference's."""
    found, wanted = engine.tile(job), REFERENCE.tile(job)
    assert_tile(found, wanted, job.scoring.gap_open)
    assert (set(found.rows), set(found.columns)) == (set(job.rows), set(job.columns))
    for row in job.rows:
        assert_edge(found.rows[row], wanted.rows[row], job.scoring.gap_open)
    for column in job.columns:
        assert_edge(found.columns[column], wanted.columns[column], job.scoring.gap_open)
    assert launches in (None, found.launches)
    return found


@both_floors
def test_the_reference_gives_what_cuts_give(local: bool) -> None:
    """A tile that ends at an inner row or column has it as its edge; several at once, too."""
    rng = np.random.default_rng(1)
    for _ in range(8):
        m, n = (int(v) for v in rng.integers(2, 40, 2))
        job = random_job(rng, m, n, SCORING, local, best=True, count=3)
        job = replace(job, rows=some(rng, m, 1, 4), columns=some(rng, n, 1, 4))
        found = REFERENCE.tile(job)
        for row in job.rows:
            above = replace(job, query=job.query[:row], left=job.left.read(0, row), rows=())
            assert_edge(found.rows[row], REFERENCE.tile(above).bottom, 3)
        for column in job.columns:
            before = replace(job, target=job.target[:column], top=job.top.read(0, column))
            before = replace(before, rows=(), columns=())
            assert_edge(found.columns[column], REFERENCE.tile(before).right, 3)
        cuts = job.rows[::2], job.columns[1:]
        parts = by_parts(REFERENCE.tile, job, *cuts)
        assert_tile(parts, found, 3)
        assert sum(parts.cells.values()) == m * n
        for name in ("rows", "columns"):
            for place, edge in getattr(found, name).items():
                assert_edge(getattr(parts, name)[place], edge, 3)


@every_engine
@both_floors
def test_inner_rows_and_columns(name: str, local: bool) -> None:
    """Anywhere; with and without the other edges; with columns closer than lanes are."""
    rng = np.random.default_rng(2)
    engine = make_engine(name)
    sizes = [(2, 2), (1, 30), (30, 1), (41, 40), (70, 33), (64, 90)]
    for turn, (m, n) in enumerate(sizes):
        job = random_job(rng, m, n, SCORING, local, best=local, bottom=turn % 3 > 0)
        quantum = strip_rows(engine.plan, m, n)
        rows = some(rng, m, quantum if turn % 2 and quantum < m else 1, 3)
        job = replace(job, rows=rows, columns=some(rng, n, 1, 5))
        found = check(engine, job)
        assert counted(name, found.cells) == m * n


@pytest.mark.parametrize("name", ["ticketed", "narrow-ticketed", "one-lane", "scalar-ticketed"])
def test_one_launch_does(name: str) -> None:
    """Rows at strips' ends, columns anywhere: nothing is cut."""
    rng = np.random.default_rng(3)
    engine = make_engine(name)
    assert engine.captures_inside
    step = strip_rows(engine.plan, 60, 70)
    for columns in [(), (1,), (69,), (1, 2, 3, 68, 69), (5, 33), tuple(range(1, 70))]:
        for rows in [(), (step,), (2 * step, 5 * step), tuple(range(step, 60, step))]:
            job = random_job(rng, 60, 70, SCORING, len(rows) % 2 > 0, best=True)
            check(engine, replace(job, rows=rows, columns=columns), launches=1)


@pytest.mark.parametrize("local", [True, False], ids=["local", "global"])
def test_every_width_gives_them(local: bool) -> None:
    """From edges that rise from 8 bits over 16 to 32, and jump in between."""
    rng = np.random.default_rng(4)
    engine, widths = engine_of(T=16, alpha=3, chunk=40), set()
    for turn in range(24):
        m, n = int(rng.integers(50, 200)), int(rng.integers(60, 250))
        top = np.cumsum(rng.integers(-3, 6, n)) * (1, 5, 900, 20_000)[turn % 4]
        top[n // 2 :] += (0, 40_000)[turn // 4 % 2]
        if local:
            top = np.maximum(top - top.min() * (turn % 3 > 0), 0)
        left = np.full(m, int(top[0]))
        query, target = random_codes(rng, m, 4), random_codes(rng, n, 4)
        if turn % 3:
            target[: min(m, n)] = query[: min(m, n)]
        job = made_job(query, target, DNA, local, top, left, int(top[0]), best=local)
        job = replace(job, rows=some(rng, m, 48, 2), columns=some(rng, n, 1, 6))
        widths |= {kind.rpartition("/")[2] for kind in check(engine, job, launches=1).cells}
    assert widths == ({"8", "16", "32"} if local else {"16", "32"})


@both_floors
def test_packed_lanes_give_them(local: bool) -> None:
    """Halves of a word, sloped and not, with and without columns: each is another build."""
    needs_lanes("packed")
    runtime = wavefront_runtime()
    wishes = {"lanes": "packed", "form": "ticketed", "B": 2, "alpha": 3, "chunk": 64}
    plan = make_plan(runtime, wishes)
    engine, rng = wavefront.WavefrontEngine(runtime, plan), np.random.default_rng(12)
    for turn in range(12):
        m, n = (int(v) for v in rng.integers(3 * plan.T, 9 * plan.T, 2))
        edge = int(rng.integers(0, 1 << 20))
        codes = random_codes(rng, m, 4), random_codes(rng, n, 4)
        scoring = match_scoring(2, -3, 5, 0 if turn % 4 == 3 else 2)
        job = made_job(*codes, scoring, local, edge, edge, edge, best=local)
        rows = some(rng, m, 3 * plan.T, turn % 3)
        found = check(
            engine, replace(job, rows=rows, columns=some(rng, n, 1, turn % 5)), launches=1
        )
        assert set(found.cells) == {"wavefront/packed/16"}


def test_matrices_and_blocked_pairs() -> None:
    """The score of a profile, and lanes that block pairs."""
    rng = np.random.default_rng(5)
    engine = make_engine("narrow-wider")
    for turn in range(10):
        scoring: Scoring = random_scoring(rng, 7, linear=turn % 4 == 0)
        m, n = (int(v) for v in rng.integers(60, 130, 2))
        job = random_job(rng, m, n, scoring, turn % 2 > 0, best=True)
        job = replace(job, rows=some(rng, m, 48, 1), columns=some(rng, n, 1, 4))
        check(engine, job)
        check(engine, replace(job, forbidden=random_pairs(rng, m, n)))


def test_unreachable_cells_are_the_sentinel() -> None:
    lost = Edge(np.full(50, UNREACHABLE, np.int32), np.full(50, UNREACHABLE, np.int32))
    job = random_job(np.random.default_rng(6), 50, 50, SCORING, False)
    top = Edge(
        np.where(np.arange(50) < 9, UNREACHABLE, job.top.h),
        np.where(np.arange(50) < 9, UNREACHABLE, job.top.x),
    )
    job = replace(job, corner=UNREACHABLE, left=lost, top=top, rows=(8, 24), columns=(4, 9, 30))
    for name in ("ticketed", "narrow-ticketed", "default"):
        found = check(make_engine(name), job)
        assert (found.columns[9].read(0, job.size[0]).h == UNREACHABLE).all()


def test_too_little_memory_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a device that holds no inner rows and columns."""
    engine = make_engine("ticketed")
    assert isinstance(engine, wavefront.WavefrontEngine)
    job = random_job(np.random.default_rng(7), 40, 50, SCORING, True, best=True)
    job = replace(job, rows=(8, 16), columns=(20,))
    check(engine, job, launches=1)
    monkeypatch.setattr(choose, "lines_fit", lambda plan, m, n, *lines: not any(lines[:2]))
    engine.runtime.kept("executions", dict).clear()
    check(engine, job, launches=6)


def test_several_best_cells_with_inner_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the list is too short the tile is halved, its inner rows and columns with it."""
    tune(monkeypatch, {"engine.least_hits": 4})
    rng = np.random.default_rng(8)
    for _ in range(4):
        job = random_job(rng, 40, 50, match_scoring(1, 0, 0, 1), True, best=True, count=3)
        check(make_engine("ticketed"), replace(job, rows=(8, 24), columns=(3, 20)))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("again", [False, True])
def test_the_schedule(order: str, again: bool) -> None:
    """Each lane gives its cells of each column once, each row stays in its line of the bus."""
    rng = np.random.default_rng(9)
    for seed in range(3):
        plan = Plan(form="ticketed", B=3, T=4, alpha=2, chunk=(1, 5, 9)[seed])
        engine = ScheduleChecker(plan, order=order, seed=seed, again=again)
        m, n = (int(v) for v in rng.integers(20, 50, 2))
        edge = [Edge(np.arange(1, k + 1, dtype=np.int32), np.zeros(k, np.int32)) for k in (n, m)]
        codes = np.zeros(m, np.uint8), np.zeros(n, np.uint8)
        job = TileJob(*codes, SCORING, None, 0, *edge)
        rows, columns = some(rng, m, 8, 9), some(rng, n, 1, 4)
        found = engine.tile(replace(job, rows=rows, columns=columns))
        assert found.launches == 1
        assert (engine.counts[-1].cells == 1).all()
        for row in rows:
            assert found.rows[row].read_h(0, n).tolist() == list(range(row + 1, row + n + 1))
        cut = engine.tile(replace(job, rows=(1, *rows), columns=columns))
        assert cut.launches == len(rows) + 2 - (1 in rows)


@pytest.mark.parametrize("name", ["reference", "ticketed", "two-phase-2"])
def test_a_sweep_cuts_only_where_it_must(name: str) -> None:
    """One tile, unless the engine is one that would cut it; pruned tiles serve their sinks."""
    rng = np.random.default_rng(10)
    engine, m, n = make_engine(name), 48, 60
    query, target = random_codes(rng, m, 4), random_codes(rng, n, 4)
    free = Border(True, SCORING.gap_open, SCORING.gap_extend)
    for prune in (False, True):
        rows = {row: EdgeArray(n) for row in (8, 24, m)}
        columns = {column: EdgeArray(m) for column in (20, 21, n)}
        for sink in (*rows.values(), *columns.values()):
            sink.write(0, Edge(np.full(len(sink), 77, np.int32), np.full(len(sink), 77, np.int32)))
        bound = Bound(1000, 1, 1, 2) if prune else None
        result = sweep(
            engine, Rectangle(View(query), View(target), SCORING, 0),
            Edges(0, free, free, rows=rows, columns=columns), Want("all"), Limits(bound=bound),
        )  # fmt: skip
        assert len(result.skipped if prune else result.tops) == (1 if engine.captures_inside else 9)
        job = TileJob(query, target, SCORING, 0, 0, free.read(0, n), free.read(0, m))
        wanted = REFERENCE.tile(replace(job, rows=(8, 24), columns=(20, 21)))
        for place, sink in (*rows.items(), *columns.items()):
            h = sink.read_h(0, len(sink))
            assert (h != 77).all() and (not prune or (h == 0).all())
            known = wanted.rows if sink in rows.values() else wanted.columns
            if not prune and place in known:
                assert_edge(sink, known[place], 3)
        assert bool(result.skipped) == prune


@pytest.mark.parametrize("lanes", ["vector", "vector32", "scalar32"])
def test_alpha_follows_the_rows(lanes: str) -> None:
    """Rows at the end of a strip of another alpha than the plan's are taken in one launch, too."""
    needs_lanes(lanes)
    runtime = wavefront_runtime()
    plan = make_plan(runtime, {"lanes": lanes, "T": 16, "B": 2, "form": "ticketed"})
    assert not plan.alpha_fixed
    for alpha in (4, 8, 16):
        fits = plan.for_size(2000, 3000, (16 * alpha, 48 * alpha))
        if lanes == "vector" or alpha == plan.alpha:
            assert fits is not None
        if fits is not None:
            assert alpha % fits.alpha == 0
    assert plan.for_size(2000, 3000, (17,)) is None
    assert make_plan(runtime, {**SMALL, "B": 2}).for_size(100, 100, (4,)) is None


def wavefront_runtime() -> Any:
    """The device of "auto"."""
    engine = make_engine("default")
    assert isinstance(engine, wavefront.WavefrontEngine)
    return engine.runtime


@pytest.mark.parametrize("mode", ["local", "global"])
def test_a_path_takes_one_launch_for_its_grid(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows and columns of a path's grid come from one tile; the path is the canonical one."""
    tune(monkeypatch, {"traceback.least_side": 24})
    rng = np.random.default_rng(11)
    query = random_codes(rng, 250, 4)
    target = np.concatenate((query[:90], query[131:], random_codes(rng, 30, 4)))
    m, n, engine = len(query), len(target), make_engine("narrow-ticketed")
    problem = Problem.of(View(query), View(target), SCORING, mode, FreeEnds())
    tuning = engine.plan.tuning.traceback
    places = grid_places(tuning, m, strip_rows(engine.plan, m, n)), grid_places(tuning, n, 1)
    assert min(map(len, places)) > 5
    grid = SweptGrid.over(problem.edges, *places)
    result = sweep(engine, problem, grid.saving(), problem.want, shape=problem.shape)
    end = problem.best_end(result.hits)
    assert result.launches == 1
    engine.plan = replace(engine.plan, traceback_tile_cells=2000)
    path = trace_back(engine, problem, grid, end)
    wanted = align_reference(query, target, SCORING, mode)
    assert (end.score, path.row, path.column) == (
        wanted.score, wanted.query_start, wanted.target_start,
    )  # fmt: skip
    assert path.forward().tolist() == wanted.moves.tolist()


def test_arrays_take_whole_edges_as_they_are() -> None:
    """So the rows of a large tile are in memory once."""
    cells = Edge(np.arange(5, dtype=np.int32), np.arange(5, dtype=np.int32))
    array = EdgeArray(5)
    assert (array.read_h(0, 5) == UNREACHABLE).all()
    array.write(0, cells)
    assert np.shares_memory(array.read(0, 5).x, cells.x)
    array.write(1, cells.read(3, 4))
    assert array.read_h(0, 5).tolist() == [0, 3, 2, 3, 4] and cells.h.tolist() == [0, 1, 2, 3, 4]
