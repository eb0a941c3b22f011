"""What progress callbacks are told: a share that never falls, of a total that stays, and how much
work is left."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from saving import Enough

import pysw_cl
from pysw_cl.drivers.forecast import AGAIN, SweepForecast, path_work
from pysw_cl.drivers.options import AlignOptions
from pysw_cl.drivers.pair_progress import BETWEEN, PairProgress
from pysw_cl.drivers.problem import FreeEnds, Problem
from pysw_cl.drivers.progress import RunProgress, Stage, takes_stage
from pysw_cl.engines.registry import engine_for
from pysw_cl.planning.parameters import tuned
from pysw_cl.sequences.view import View
from pysw_cl.tiles.sweep import Swept
from pysw_cl.tiles.tile import Area, Hit

ACGT = np.frombuffer(b"ACGT", np.uint8)
SMALL = {"engine": "reference", "tile_cells": 900, "traceback_tile_cells": 400}
#: Rows are saved whenever they can be.
OFTEN = {"saving.least_seconds": 0, "saving.least_times": 0}


def letters(seed: int, length: int) -> bytes:
    return np.random.default_rng(seed).choice(ACGT, length).tobytes()


def copy_of(text: bytes, seed: int, share: float) -> bytes:
    """A copy in which this share of the letters is drawn anew, and a tenth is moved to the end."""
    rng, copy = np.random.default_rng(seed), np.frombuffer(text, np.uint8).copy()
    at = rng.choice(len(copy), int(share * len(copy)), replace=False)
    copy[at] = rng.choice(ACGT, len(at))
    cut = len(copy) // 10
    return np.concatenate([copy[:cut], copy[2 * cut :], copy[cut : 2 * cut]]).tobytes()


TEXT = letters(1, 200)
COPY = copy_of(TEXT, 2, 0.1)
OTHER = letters(3, 190)


class Told:
    """A callback that remembers what it was told."""

    def __init__(self, stop_at: float = 2.0) -> None:
        self.calls: list[tuple[int, int]] = []
        self.stages: list[Stage] = []
        self.stop_at = stop_at

    def __call__(self, done: int, total: int, stage: Stage) -> None:
        self.calls.append((done, total))
        self.stages.append(stage)
        if done >= self.stop_at * total:
            raise Enough

    def check(self, first: int | None = 0, least: int = 4) -> None:
        """The total stays, the share never falls, and comes to 1."""
        done = [done for done, _ in self.calls]
        assert len({total for _, total in self.calls}) == 1
        assert done == sorted(done) and len(set(done)) >= least
        assert done[-1] == self.calls[0][1]
        assert first is None or done[0] == first
        stages = self.working
        works = [stage.work_done for stage in stages]
        assert all(a <= b for a, b in pairwise(works))  # type: ignore[operator]
        assert all(stage.work_left is not None and stage.work_left >= 0 for stage in stages)
        assert self.stages[-1].work_left == 0

    @property
    def working(self) -> list[Stage]:
        """The stages but those in which kernels were built."""
        return [stage for stage in self.stages if stage.name != "building kernels"]

    def at_half(self) -> float:
        """The whole work as foreseen after half of it, as a share of what it was."""
        whole = self.stages[-1].work_done
        assert whole
        at = next(one for one in self.working if (one.work_done or 0) >= whole / 2)
        return ((at.work_done or 0) + (at.work_left or 0)) / whole


PAIRS = {"similar": (TEXT, COPY), "equal": (TEXT, TEXT), "unlike": (TEXT, OTHER)}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("mode", ["local", "global"])
@pytest.mark.parametrize("output", ["score", "path"])
@pytest.mark.parametrize("strand", ["plus", "both"])
@pytest.mark.parametrize("saved", [False, True])
def test_one_pair(
    pair: str, mode: str, output: str, strand: str, saved: bool, tmp_path: Path
) -> None:
    how: dict[str, Any] = {"mode": mode, "output": output, "strand": strand, "plan": SMALL}
    if saved:
        how["checkpoint"] = tmp_path
    told = Told()
    no_waits = mock.patch("os.fsync")
    with no_waits, tuned({**OFTEN, "traceback.least_side": 30}):
        pysw_cl.align(*PAIRS[pair], progress=told, **how)
    told.check()
    a, b = PAIRS[pair]
    strands = 1 + (strand == "both")
    total = told.calls[0][1]
    assert (total == strands * len(a) * len(b)) == (output == "score")
    names = [str(stage) for stage in told.stages]
    if strand == "plus":
        expected = ["score"] if output == "score" else ["score 1 of 2", "path 2 of 2"]
        assert list(dict.fromkeys(names)) == expected
    else:
        assert names[0].startswith("score 1 of ")


@pytest.mark.parametrize("mode", ["local", "global"])
@pytest.mark.parametrize("strand", ["plus", "both"])
def test_a_resumed_run_goes_on_at_its_share(mode: str, strand: str, tmp_path: Path) -> None:
    how: dict[str, Any] = {"mode": mode, "strand": strand, "plan": SMALL}
    tuning = {**OFTEN, "traceback.least_side": 30}
    shares = []
    with tuned(tuning):
        for stop in (0.3, 0.6, 0.8, 0.95):
            told = Told(stop)
            with pytest.raises(Enough):
                if stop == 0.3:
                    pysw_cl.align(TEXT, COPY, checkpoint=tmp_path, progress=told, **how)
                else:
                    pysw_cl.resume(tmp_path, progress=told)
            shares.append((told.calls[0][0] / told.calls[0][1], told.calls[-1]))
        told = Told()
        pysw_cl.resume(tmp_path, progress=told)
    told.check(None, 2)
    assert {told.calls[0][1]} == {total for _, (_, total) in shares}
    firsts = [first for first, _ in shares]
    assert firsts == sorted(firsts) and firsts[0] == 0 and firsts[-1] > 0.3


@pytest.mark.parametrize("output", ["score", "path"])
def test_the_best_alignments(output: str) -> None:
    told = Told()
    with tuned({"traceback.least_side": 30}):
        found = pysw_cl.align_top(TEXT, COPY, k=4, plan=SMALL, progress=told, output=output)
    assert len(found) == 4
    told.check(None)
    assert told.calls[0][0] < 0.1 * told.calls[0][1]
    names = list(dict.fromkeys(str(stage) for stage in told.stages))
    assert names == [f"alignment {k} of 4" for k in (1, 2, 3, 4)]
    for k in (1, 2, 3, 4):  # each takes its part of the share
        shares = {d for (d, _), s in zip(told.calls, told.stages, strict=True) if s.number == k}
        assert len(shares) > 1


@pytest.mark.parametrize("engine", ["reference", "wavefront"])
def test_many_pairs(engine: str) -> None:
    told = Told()
    pairs = [(letters(k, 50 + k % 7), letters(-k + 500, 40 + k % 11)) for k in range(90)]
    with tuned({"pairs.cpu_pairs": 16, "pairs.gpu_pairs": 16}):
        pysw_cl.align_many(pairs, plan={"engine": engine}, progress=told)
    told.check()
    numbers = [stage.number for stage in told.stages]
    assert numbers[0] == 0 and numbers[-1] == 90 and numbers == sorted(numbers)
    assert str(told.stages[-1]) == "90 of 90 pairs"


def test_callbacks_with_and_without_a_stage() -> None:
    seen: list[Any] = []

    class Method:
        def report(self, done: int, total: int, stage: Stage) -> None:
            seen.append((done, total, stage))

    callbacks: list[tuple[Callable[..., None], bool]] = [
        (lambda done, total: seen.append((done, total)), False),
        (lambda *all_of_it: seen.append(all_of_it), False),
        (lambda done, total, stage: seen.append((done, total, stage)), True),
        (lambda done, total, *, stage=None: seen.append((done, total, stage)), True),
        (Method().report, True),
        (seen.append, False),
    ]
    for callback, staged in callbacks:
        assert takes_stage(callback) == staged
    for callback, staged in callbacks[:-1]:
        seen.clear()
        pysw_cl.align(TEXT, COPY, plan=SMALL, progress=callback)
        assert len(seen) > 3
        assert {len(call) for call in seen} == {3 if staged else 2}
        assert not staged or isinstance(seen[0][2], Stage)


def test_what_is_computed_again_begins_where_it_was() -> None:
    told = Told()
    run = RunProgress(told)
    stage = Stage("score", 1, 1, 0, 0)
    run.tell(0, 100, stage)
    run.tell(60, 100, stage)
    run.tell(50, 100, stage)  # a share that falls is not told
    run.tell(30, 40, stage)
    run.begin_anew()
    for done in (0, 100, 200):
        run.tell(done, 200, stage)
    assert told.calls == [
        (0, 100),
        (60, 100),
        (60, 100),
        (30, 40),
        (150, 200),
        (175, 200),
        (200, 200),
    ]


def test_waiting_says_what_for() -> None:
    told = Told()
    run = RunProgress(told)
    run.tell(30, 100, Stage("score", 1, 2, 30, 70))
    run.waiting("building kernels", 2, 3)
    assert told.calls[-1] == (30, 100)
    assert str(told.stages[-1]) == "building kernels 2 of 3"
    assert told.stages[-1].work_done is None
    seen: list[Any] = []
    run = RunProgress(lambda done, total: seen.append((done, total)))
    run.waiting("building kernels", 2, 3)
    assert not seen


# What is foreseen


@pytest.mark.parametrize("case", ["similar", "unlike", "both strands", "global"])
def test_half_of_the_work_tells_all_of_it(case: str) -> None:
    """Without a clock: after half of the work, all of it is foreseen within a quarter."""
    how: dict[str, Any] = {"plan": {"tile_cells": 1 << 23}}
    query = letters(1, 30_000)
    target = letters(3, 30_000) if case == "unlike" else copy_of(query, 2, 0.02)
    if case == "global":
        how["mode"] = "global"
    if case == "both strands":
        how["strand"] = "both"
    told = Told()
    pysw_cl.align(query, target, progress=told, **how)
    told.check()
    assert 0.75 < told.at_half() < 1.25


#: Sweeps of 1,000,000 x 1,000,000 letters in tiles of 91,136 x 91,136: for each row of tiles the
#: best score after it, and what share of each tile was computed.  Two H. pylori genomes, and 1 Mb
#: of E. coli with 1% of its letters changed.
PYLORI = """
    49065 1 1 1 1 1 1 1 1 1 1 .46
    110964 1 1 1 1 1 1 1 1 1 .78 0
    143734 1 1 1 1 1 1 1 1 1 .42 0
    188016 1 1 1 1 1 1 1 1 .93 0 0
    238311 1 1 1 1 1 1 1 1 .38 0 0
    290362 1 1 1 1 1 1 1 .81 0 0 0
    343164 1 1 1 1 1 1 1 .92 .12 0 0
    388099 .21 .21 .21 .21 .21 .22 .74 1 .72 .02 0
    438283 0 0 0 0 0 0 0 .47 .95 .4 0
    495757 0 0 0 0 0 0 0 0 .13 .74 .14
    522753 0 0 0 0 0 0 0 0 0 .02 .29"""
COLI = """
    88496 1 1 1 1 1 1 1 1 1 1 .03
    176752 1 1 1 1 1 1 1 1 1 .06 .01
    265164 1 1 1 1 1 1 1 1 .09 .01 .01
    353704 1 1 1 1 1 1 1 .11 .01 .01 .01
    442108 1 1 1 1 1 1 .53 .01 .01 .01 .01
    530604 1 1 1 1 1 1 .95 .25 .01 .01 .01
    619060 0 0 0 0 .22 .94 1 .8 .08 .01 .01
    707496 0 0 0 0 0 .06 .77 1 .53 .01 .01
    795836 0 0 0 0 0 0 0 .49 .96 .25 .01
    884316 0 0 0 0 0 0 0 0 .21 .75 .07
    970208 0 0 0 0 0 0 0 0 0 .05 .3"""


@pytest.mark.parametrize("table", [PYLORI, COLI], ids=["pylori", "coli"])
@pytest.mark.parametrize("first_row", [0, 3 * 91_136])
def test_pruning_is_foreseen(table: str, first_row: int) -> None:
    """From a tenth of the work on, all of it is foreseen within 15%, from half of it within 10%."""
    side, step = 1_000_000, 91_136
    tiles, known, score, computed = [], None, 0, 0
    for k, line in enumerate(table.split("\n")[1:]):
        best, *shares = map(float, line.split())
        for j, share in enumerate(shares):
            area = Area(k * step, min(side, (k + 1) * step), j * step, min(side, (j + 1) * step))
            if area.row >= first_row:  # a resumed run knows the best score before
                tiles.append((area, int(share * area.cells), int(best) if j == k else 0))
        if k * step < first_row:
            known = Hit(int(best), (k + 1) * step, (k + 1) * step)
    forecast = SweepForecast(problem_of(side, AlignOptions().scoring), True, 0, known)
    whole, done, hit = sum(cells for _, cells, _ in tiles), first_row * side, None
    for area, cells, best in tiles:
        computed, done = computed + cells, done + area.cells
        if best > score:
            score = best
            hit = Hit(score, area.row_end - first_row, area.row_end)
        forecast.add(Swept(area.down(-first_row), computed, hit), first_row)
        assert forecast.computed == computed
        if computed >= whole / 10:
            most = 0.15 if computed < whole / 2 else 0.1
            assert abs(computed + forecast.left(done) - whole) < most * whole
    assert forecast.left(side * side) == 0


def problem_of(side: int, scoring: Any) -> Problem:
    """A local comparison of two sequences that take a byte each."""
    view = View(np.broadcast_to(np.uint8(0), (side,)))
    return Problem(view, view, scoring, "local", FreeEnds())


def test_without_pruning_all_cells_are_left() -> None:
    forecast = SweepForecast(problem_of(1000, AlignOptions().scoring), False)
    assert forecast.left(0) == 1_000_000
    forecast.add(Swept(Area(0, 400, 0, 1000), 400_000, Hit(900, 400, 400)))
    assert forecast.left(400_000) == 600_000


#: A global sweep of 500,000 x 500,000 letters of two H. pylori genomes, in six rows of tiles: what
#: share of each was computed.
BAND = (0.546, 0.694, 0.843, 0.846, 0.670, 0.447)


@pytest.mark.parametrize("turned", [False, True])
def test_pruning_along_the_diagonal_is_foreseen(turned: bool) -> None:
    """From the first row of tiles on, all of the work of a global sweep is foreseen within 15%."""
    side, step, computed = 500_000, 83_968, 0
    options = AlignOptions(mode="global")
    query = View(np.broadcast_to(np.uint8(0), (side,)))
    target = View(np.broadcast_to(np.uint8(0), (side // 2 if turned else side,)))
    problem = Problem(query, target, options.scoring, "global", FreeEnds())
    forecast = SweepForecast(problem, True)
    areas = [Area(k * step, min(side, (k + 1) * step), 0, len(target)) for k in range(6)]
    works = [int(share * area.cells) for share, area in zip(BAND, areas, strict=True)]
    for area, cells in zip(areas, works, strict=True):
        computed += cells
        forecast.add(Swept(area, computed, None))
        left = forecast.left(area.row_end * len(target))
        assert abs(computed + left - sum(works)) < 0.15 * sum(works)
    assert forecast.left(side * len(target)) == 0


def test_a_sweep_after_bands_knows_what_it_has_left() -> None:
    """What bands took of the share is not counted as cells that the sweep has done."""
    seen: list[Stage] = []
    run = RunProgress(lambda done, total, stage: seen.append(stage))
    strand = PairProgress(run, 1_000_000, 0, 1).strand(0)
    strand.band(0.9, 500_000, 0)
    strand.sweeping(problem_of(1000, AlignOptions().scoring), False)
    time.sleep(BETWEEN)
    strand.swept(0)
    assert seen[-1].work_left == 1_000_000


def test_rows_that_lie_far_apart_make_a_path_longer() -> None:
    """All of 500,000 x 500,000 letters on a CPU: measured with rows kept in memory (15e9 cells
    swept again) and with three saved rows (49e9)."""
    engine = engine_for("auto", {"traceback_tile_cells": 1 << 24})
    if engine.tile_batches is not None:
        pytest.skip("nothing is swept again where tiles are computed side by side")
    traced = engine.plan.traced_row * 500_000
    memory, disk = (path_work(engine, engine.plan, 500_000, 500_000, rows) for rows in (0, 190_000))
    assert memory == pytest.approx(AGAIN * 15e9 + traced, rel=0.1)
    assert disk == pytest.approx(AGAIN * 49e9 + traced, rel=0.2)


def test_the_path_of_a_saved_run_is_foreseen(tmp_path: Path) -> None:
    """Before its sweep is done."""
    query, told = letters(1, 40_000), Told()
    plan = {"tile_cells": 1 << 24, "traceback_tile_cells": 1 << 16}
    given: dict[str, Any] = {"plan": plan, "progress": told, "prune": False}
    pysw_cl.align(query, copy_of(query, 2, 0.02), checkpoint=tmp_path / "job", **given)
    told.check()
    scores, paths = ([one for one in told.working if one.name == k] for k in ("score", "path"))
    before, after = scores[-1].work_left, paths[0].work_left
    assert before is not None and after is not None
    assert 0.7 < before / after < 1.4
