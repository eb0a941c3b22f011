"""What progress callbacks are told: a share that never falls, of a total that stays, and how much
work is left."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from saving import Enough
from tuned import tuned

import pysw_cl
from pysw_cl.drivers.progress import RunProgress, Stage

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
        assert RunProgress(callback).staged == staged
    for callback, staged in callbacks[:-1]:
        seen.clear()
        pysw_cl.align(TEXT, COPY, plan=SMALL, progress=callback)
        assert len(seen) > 3
        assert {len(call) for call in seen} == {3 if staged else 2}
        assert not staged or isinstance(seen[0][2], Stage)


def test_what_is_computed_again_begins_where_it_was() -> None:
    told = Told()
    run = RunProgress(told)
    run.begin(100)
    sweep = run.step("score", 1, 1, 60, 40)
    for done in (5, 10):
        sweep(done, 10)
    run.begin(200)
    sweep = run.step("score", 1, 1, 60, 40)
    for done in (5, 4, 10):  # a share that falls is not told
        sweep(done, 10)
    run.step("score", 1, 1, 7)(7, 7)
    done = [done for done, _ in told.calls]
    assert done == [0, 30, 60, 60, 72, 72, 84, 84, 100]
    assert {total for _, total in told.calls} == {100}
    assert [one.work_done for one in told.stages] == done


def test_what_an_earlier_run_did_is_no_work_of_this_one() -> None:
    told = Told()
    run = RunProgress(told)
    run.begin(100)
    sweep = run.step("score", 1, 2, 80, 20, begun=0.5)
    sweep(3, 4)
    run.step("path", 2, 2, 20, begun=0.5)
    assert [done for done, _ in told.calls] == [40, 60, 80]
    assert [one.work_done for one in told.stages] == [0, 20, 20]
    assert [one.work_left for one in told.stages] == [60, 40, 20]


def test_waiting_says_what_for() -> None:
    told = Told()
    run = RunProgress(told)
    run.begin(100)
    run.tell(30, Stage("score", 1, 2))
    run.report(Stage("building kernels", 2, 3))
    assert told.calls[-1] == (30, 100)
    assert str(told.stages[-1]) == "building kernels 2 of 3"
    assert told.stages[-1].work_done is None


@pytest.mark.parametrize("case", ["similar", "unlike", "both strands", "global"])
def test_the_share_is_spread(case: str) -> None:
    """It rises by small steps, most of them in sweeps, and the work done and left are all of it."""
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
    total = told.calls[0][1]
    steps = [(b - a) / total for (a, _), (b, _) in pairwise(told.calls)]
    assert max(steps) < 0.3
    works = [(one.work_done or 0) + (one.work_left or 0) for one in told.working]
    assert set(works) == {total}
