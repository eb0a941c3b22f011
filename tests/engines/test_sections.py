"""Tiles in sections: when they are cut, and that sections that begin too late are noticed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from aligning import needs_lanes
from contract_engines import assert_tile, frozen, random_job

import pysw_cl
from pysw_cl.engines.plans import make_plan
from pysw_cl.engines.reference import ReferenceEngine
from pysw_cl.engines.registry import engine_for
from pysw_cl.engines.rowscan.plan import RowscanPlan
from pysw_cl.engines.wavefront.engine import WavefrontEngine
from pysw_cl.engines.wavefront.sections import SectionsRun
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning import choose
from pysw_cl.planning.facts import UNLIMITED
from pysw_cl.planning.geometry import TileShape
from pysw_cl.planning.model.times import Machine
from pysw_cl.planning.plan import Plan
from pysw_cl.planning.program import Given, Seen
from pysw_cl.planning.sections import Sections, first_overlap, sections_of, span
from pysw_cl.scoring.scoring import make_scoring
from pysw_cl.tiles.contract import Engine
from pysw_cl.tiles.edges import Edge, LevelEdge
from pysw_cl.tiles.tile import TileJob, TileResult

LETTERS = np.frombuffer(b"ACGT", np.uint8)
#: Sections of small tiles.
SMALL = {
    "sections.least_cells": 1,
    "sections.least_columns": 100,
    "sections.least_aspect": 0,
    "sections.rounds": 4,
    "sections.most_cost": 1000,
    "sections.most_cost_beside_pruning": 1000,
    "sections.most_share": 0,
    "sections.most_refused": 1,
    "sections.first_overlap": 64,
}
WITHOUT = {"sections.least_cells": 1 << 60}
MANY = 1 << 30


@pytest.fixture
def swept(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Sections, list[int]]]:
    """The sections of every tile, and how many were refused each time that they were compared."""
    seen: list[tuple[Sections, list[int]]] = []
    run, refused = SectionsRun.run, SectionsRun._refused

    def noted_run(self: SectionsRun) -> bool:
        seen.append((self.sections, []))
        return run(self)

    def noted_refused(self: SectionsRun, compared: Any) -> Any:
        found = refused(self, compared)
        seen[-1][1].append(len(found))
        return found

    monkeypatch.setattr(SectionsRun, "run", noted_run)
    monkeypatch.setattr(SectionsRun, "_refused", noted_refused)
    return seen


def _same(a: Any, b: Any, plan: dict[str, Any], **options: Any) -> pysw_cl.Alignment:
    """The result with this plan, which equals that without sections."""
    found = pysw_cl.align(a, b, plan=plan, **options)
    assert found == pysw_cl.align(a, b, plan=WITHOUT, **options)
    return found


def _random(seed: int, m: int, n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return LETTERS[rng.integers(0, 4, m)], LETTERS[rng.integers(0, 4, n)]


@pytest.mark.parametrize("output", ["score", "ends", "path"])
def test_unrelated_letters_refuse_no_section(swept: Any, output: str) -> None:
    a, b = _random(1, 90, 6000)
    _same(a, b, SMALL, output=output)
    (sections, refused), *_ = swept
    assert sections.count > 1 and sections.cut.overlap == 64 and refused == [0]


@pytest.mark.parametrize("distance", [20, 63, 64, 65, 200])
def test_an_alignment_that_began_before_the_overlap_is_noticed(swept: Any, distance: int) -> None:
    """It begins so many letters left of a section's first column."""
    a, b = _random(2, 300, 6000)
    _same(a, b, SMALL, output="ends")
    cut = swept[0][0].cuts[2]
    b[cut - distance : cut - distance + 300] = a
    swept.clear()
    found = _same(a, b, SMALL, output="ends")
    assert found.score == 300 and found.target_end == cut - distance + 300
    assert swept[0][1][0] == (1 if distance > 64 else 0) and swept[0][1][-1] == 0


def test_an_alignment_through_all_sections(swept: Any) -> None:
    a, _ = _random(3, 3000, 1)
    found = _same(a, a, SMALL, output="path")
    assert found.score == 3000 and len(swept[0][1]) > swept[0][0].count - 1


def test_a_gap_that_costs_nothing_more_crosses_sections(swept: Any) -> None:
    a, b = _random(4, 200, 5000)
    b[:] = LETTERS[3]
    a = np.where(a == LETTERS[3], LETTERS[0], a)
    b[500:600], b[4500:4600] = a[:100], a[100:]
    options = {"sub_score": (2, -3), "gap_cost": (5, 0), "output": "ends"}
    found = _same(a, b, SMALL, allow_odd_scoring=True, **options)
    assert found.score == 2 * 200 - 5 and (found.query_end, found.target_end) == (200, 4600)
    assert len(swept[0][1]) > 2


def test_refused_too_often_it_overlaps_more_and_then_does_without(swept: Any) -> None:
    """(1, -1) with free gaps: every column depends on all before it."""
    a, b = _random(5, 60, 4000)
    plan = {
        **SMALL,
        "sections.most_overlap": 0.5,
        "sections.most_refused": 0.1,
        "sections.growth": 3,
    }
    options = {"sub_score": (1, -1), "gap_cost": (1, 0), "allow_odd_scoring": True}
    _same(a, b, plan, output="ends", **options)
    overlaps = [sections.cut.overlap for sections, _ in swept]
    assert overlaps == [64, 192]
    swept.clear()
    _same(a, b, plan, output="ends", **options)
    assert not swept  # this thread has learned it


def test_equal_ends_in_two_sections_are_told_in_order() -> None:
    a, b = _random(6, 80, 6000)
    b[3100:3180] = b[700:780] = b[5000:5080] = a
    assert _same(a, b, SMALL, output="ends").target_end == 780
    for k in (1, 2, 3, 40):
        found = pysw_cl.best_ends(a, b, k=k, plan=SMALL)
        assert np.array_equal(found, pysw_cl.best_ends(a, b, k=k, plan=WITHOUT))


def test_cells_that_two_sections_collect_are_told_once() -> None:
    a, b = _random(7, 50, 3000)
    plan = {**SMALL, "sections.first_overlap": 16}
    found = pysw_cl.best_ends(a, b, k=3000, plan=plan)
    assert np.array_equal(found, pysw_cl.best_ends(a, b, k=3000, plan=WITHOUT))
    assert len(np.unique(found[["query_end", "target_end"]])) == len(found)


def test_cells_that_sections_share_are_not_too_many(swept: Any) -> None:
    """Where there is room for all cells, each is collected once, so no tile is halved for them."""
    a, b = _random(6, 9000, 60)
    near: dict[str, Any] = {"sub_score": (2, -1), "gap_cost": (0, 1), "min_separation": 10, "k": 3}
    plan = SMALL | {"sections.least_columns": 1, "sections.first_overlap": 1}
    found = pysw_cl.best_ends(a, b, plan=plan, **near)
    assert found.tolist() == pysw_cl.best_ends(a, b, plan=WITHOUT, **near).tolist()
    assert len(swept) <= 4


@pytest.mark.parametrize("free", [(True, True, False, False), True])
def test_global_with_a_free_target(swept: Any, free: Any) -> None:
    a, b = _random(8, 120, 6000)
    b[2000:2110] = a[5:115]
    _same(a, b, SMALL, mode="global", free_ends=free, output="path", max_cost=None)
    assert swept


def test_global_without_free_ends_has_no_sections(swept: Any) -> None:
    a, b = _random(9, 120, 6000)
    _same(a, b, SMALL, mode="global", output="ends", max_cost=None)
    assert not swept


@pytest.mark.parametrize("local", [True, False])
def test_the_span_suffices(swept: Any, local: bool) -> None:
    """With an overlap as long as the span nothing is compared, and all edges are right."""
    rng = np.random.default_rng(10)
    plan = {**SMALL, "sections.most_share": 1000, "sections.most_overlap": 1000, "alpha": 2}
    engine, reference = engine_for("auto", plan), ReferenceEngine()
    for _ in range(40):
        scoring = make_scoring((int(rng.integers(1, 4)), -2), (int(rng.integers(0, 5)), 1))
        m = int(rng.integers(1, 30))
        base = int(rng.choice([0, 50, 200]))
        job = random_job(rng, m, int(rng.integers(300, 900)), scoring, local, base, best=True)
        if not local:
            one = LevelEdge(int(rng.integers(-20, 20)), scoring.gap_open, 1)
            job = replace(job, top=Edge(*(np.broadcast_to(x, job.size[1]) for x in (one.h, one.x))))
        assert_tile(engine.tile(job), reference.tile(job), scoring.gap_open)
        sections, refused = swept.pop()
        assert sections.cut.proven and not refused
        highest = max(job.corner, int(job.above.h.max()), int(job.left.h.max()))
        excess = highest if local else highest - int(job.above.h[0])
        assert sections.cut.overlap == span(scoring, m, excess, local)


def test_a_high_left_edge_reaches_far(swept: Any) -> None:
    """Its H goes on in a gap through several sections."""
    plan = {**SMALL, "sections.most_share": 1000, "sections.most_overlap": 1000, "alpha": 2}
    engine, scoring = engine_for("auto", plan), make_scoring((1, -3), (2, 1))
    rng = np.random.default_rng(11)
    job = random_job(rng, 20, 2000, scoring, True, best=True)
    high = frozen(LevelEdge(1500, 2, 20))
    job = replace(job, left=high, corner=1500)
    assert_tile(engine.tile(job), ReferenceEngine().tile(job), scoring.gap_open)
    assert swept[-1][0].cut.overlap > 1500


def test_the_longest_alignment_is_shorter_than_its_span() -> None:
    """All matches, and a gap that costs as much as they give: one letter less than the span."""
    scoring = make_scoring((2, -9), (0, 1))
    assert span(scoring, 10, 0, True) == 10 + 2 * 10 + 1
    assert span(scoring, 10, 7, True) == 10 + (2 * 10 + 7) + 1
    assert span(scoring, 10, 7, False) == 10 + (2 * 10 + 7 + 10) + 1
    assert span(make_scoring((2, -9), (3, 0)), 10, 0, True) is None


def test_which_tiles_are_cut() -> None:
    plan = Plan(B=8, T=64, alpha=16)
    cut = sections_of(plan, (1000, 1 << 24, 2000, 256, (), False, MANY))
    assert cut is not None and cut.cut.proven and cut.cut.overlap == 2000 and cut.count == 4 * 8
    cut = sections_of(plan, (1000, 1 << 24, None, 256, (1 << 20,), False, MANY))
    assert cut is not None and not cut.cut.proven and cut.cut.overlap == 256 and 1 << 20 in cut.cuts
    assert sections_of(plan, (1000, 1 << 24, None, 1 << 23, (), False, MANY)) is None  # too long
    assert (
        sections_of(plan, (1 << 17, 1 << 17, 1 << 18, 256, (), False, MANY)) is None
    )  # strips suffice
    assert sections_of(plan, (1000, 1 << 12, 2000, 256, (), False, MANY)) is None  # too small


def test_square_tiles_of_related_letters_are_not_cut() -> None:
    """Whether they are related is asked only where it matters."""
    plan, scoring = Plan(B=64, T=64, alpha=16).without_narrow(), make_scoring((1, -3), (2, 0))
    asked = []

    def cut(m: int, n: int, related: bool, largest: int = 1 << 40) -> Sections | None:
        class Asked(Seen):
            def related(self) -> bool:
                asked.append((m, n))
                return related

        given = Given(plan, scoring, True, replace(UNLIMITED, largest=largest), Asked())
        return choose.cut(TileShape(m, n, best=True), given)

    thin, square = (1000, 1 << 24), (1 << 15, 1 << 16)
    assert cut(*thin, True) == cut(*thin, False) is not None and not asked
    found = cut(*square, False)
    assert found is not None and found.count == 2 and asked == [square]
    fewer = cut(*square, True)
    assert fewer is None or fewer.count <= 1
    # as many as the device can hold
    held = cut(*thin, False, 36 * thin[1] + 16 * (1000 + 16 * 16) * 5)
    assert held is not None and held.count == 5
    assert cut(*thin, False, 36 * thin[1] + 1) is None


def test_related_letters_that_looked_unrelated(swept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are swept in sections once, and then without: a longer overlap would not help."""
    monkeypatch.setattr("pysw_cl.engines.wavefront.tile.related", lambda *_: False)
    a, _ = _random(21, 3000, 1)
    plan = {
        **SMALL,
        "sections.least_aspect": 2,
        "sections.rounds": 40,
        "sections.most_refused": 0.1,
    }
    options = {"sub_score": (1, -7), "output": "ends"}  # this thread learns of these scores
    assert _same(a, a, plan, **options).score == 3000
    ((sections, refused),) = swept
    assert sections.square and refused == [sections.count - 1]
    monkeypatch.undo()


def test_related_letters_are_seen(swept: Any) -> None:
    a, b = _random(22, 9000, 9000)
    plan = {**SMALL, "sections.least_aspect": 2, "sections.rounds": 200}
    assert _same(a, a, plan, output="ends").score == 9000
    assert not swept
    _same(a, b, plan, output="ends")
    assert swept


def test_the_number_of_sections_that_costs_least() -> None:
    """On a device whose groups are as fast as each other."""
    plan = Plan(lanes="warp32", B=528, T=64, alpha=25, alpha_fixed=True)
    found = sections_of(plan, (100_000, 100_000, None, 256, (), False, MANY))
    assert found is not None
    costs = {
        count: replace(found, cuts=(0,) * (count + 1)).cut.cost(plan, 100_000, 100_000)
        for count in range(2, 100_000 // plan.tuning.sections.least_columns + 1)
    }
    assert costs[found.count] <= 1.001 * min(costs.values())


def test_proteins_overlap_more() -> None:
    """Alignments of their letters by chance are longer."""
    plan = Plan()
    few, many = make_scoring((5, -4), (2, 1)), make_scoring("BLOSUM62", (10, 1))
    assert first_overlap(plan, few, 1 << 20) == 256
    assert [first_overlap(plan, many, m) for m in (1000, 1 << 15, 1 << 17)] == [1024, 1024, 1152]


def test_a_row_too_long_for_the_device_is_computed_in_parts(
    swept: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where neither sections nor the tile as it is fit its memory."""
    monkeypatch.setattr(choose, "lines_fit", lambda plan, m, n, *lines: n < 700)
    engine = engine_for("auto", {**WITHOUT, "sweep.longest_side": 500})
    scoring = make_scoring((1, -3), (2, 1))
    job = random_job(np.random.default_rng(12), 20, 2000, scoring, True, best=True)
    found = engine.tile(job)
    assert_tile(found, ReferenceEngine().tile(job), scoring.gap_open)
    assert found.launches == 4 and not swept


class _RowScan(Engine):
    """Notes what it is asked for."""

    def __init__(self, lanes: str) -> None:
        machine = Machine({"rowscan/warp32": {"24@1": 3e-7}})
        self.plan = RowscanPlan(lanes=lanes, T=64, alpha=24, B=1000, machine=machine)
        self.jobs: list[TileJob] = []

    def tile(self, job: TileJob) -> TileResult:
        self.jobs.append(job)
        return ReferenceEngine().tile(job)


@pytest.mark.parametrize(("lanes", "taken"), [("warp32", True), ("vector32", False)])
def test_the_row_scan_where_there_are_no_sections(lanes: str, taken: bool) -> None:
    """A global comparison of few rows, on a device that knows how long the row scan takes."""
    runtime, scan = get_runtime("auto"), _RowScan(lanes)
    plan = make_plan(runtime, {"sections.least_cells": 1})
    engine = WavefrontEngine(runtime, plan, row_scan=lambda _: scan)
    scoring = make_scoring((1, -3), (2, 1))
    job = random_job(np.random.default_rng(13), 20, 20_000, scoring, False, best=True)
    assert_tile(engine.tile(job), ReferenceEngine().tile(job), scoring.gap_open)
    assert bool(scan.jobs) == taken
    square = random_job(np.random.default_rng(14), 300, 300, scoring, False, best=True)
    engine.tile(square)
    assert square not in scan.jobs


def test_lanes_that_meet_at_barriers(swept: Any) -> None:
    needs_lanes("scalar32")
    plan = {**SMALL, "lanes": "scalar32", "T": 4, "alpha": 2, "chunk": 7, "form": "ticketed"}
    engine, scoring = engine_for("auto", plan), make_scoring((1, -3), (2, 1))
    job = random_job(np.random.default_rng(15), 30, 700, scoring, True, best=True)
    assert_tile(engine.tile(job), ReferenceEngine().tile(job), scoring.gap_open)
    assert swept
