"""Matrices that are held whole: the same results, which plans they are for, and their memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from aligning import sub_score
from helpers import ALL_FREE_ENDS, Case, decode, random_case, spy
from suboptimal import by_definition, check_invariants, plain

import pysw_cl
from pysw_cl.engines.held import HeldMatrix, Retained
from pysw_cl.engines.plans import default_plan
from pysw_cl.errors import DeviceError, RecomputedWarning
from pysw_cl.opencl.device import Runtime, get_runtime
from pysw_cl.planning.sizes import held_numbers

REFERENCE: dict[str, Any] = {"engine": "reference"}
HELD = {"held.score_cells": 1 << 26, "held.path_cells": 1 << 26}
TILES = {"held.score_cells": 0, "held.top_cells": 0}


@pytest.fixture(autouse=True)
def needs_held() -> None:
    """Skip a test on a device whose work-items have no whole strips."""
    if "held" not in kinds(pysw_cl.align("ACGT", "ACGT")):
        pytest.skip("no matrix is held whole on this device")


def options(case: Case) -> dict[str, Any]:
    """The case's scoring as `align` takes it."""
    scoring = case.scoring
    gaps = (scoring.gap_open, scoring.gap_extend)
    return {"sub_score": sub_score(scoring), "gap_cost": gaps if gaps[0] else gaps[1]}


def texts(case: Case) -> tuple[str, str]:
    """The case's letters."""
    return decode(case.query, case.scoring), decode(case.target, case.scoring)


def kinds(found: pysw_cl.Alignment) -> set[str]:
    """What computed it."""
    return {kind.split("/")[0] for kind in found.stats.cells}


@pytest.mark.parametrize("longest", [3, 16, 17, 40, 130])
def test_is_the_reference(longest: int) -> None:
    """Random scorings, many of them with ties; strips and blocks that are not whole."""
    rng = np.random.default_rng(longest)
    for _ in range(25):
        case = random_case(rng, longest)
        a, b = texts(case)
        free_ends = ALL_FREE_ENDS[rng.integers(16)]
        for how in ({"mode": "local"}, {"mode": "global", "free_ends": free_ends}):
            given: dict[str, Any] = {**how, **options(case)}
            path = pysw_cl.align(a, b, plan=REFERENCE, **given)
            found = pysw_cl.align(a, b, **given)
            assert plain(found) == plain(path), f"{case} {given}"
            assert kinds(found) == {"held"}
            assert found.stats.total_cells == len(a) * len(b)
            assert found.stats.launches == 1
            assert pysw_cl.align(a, b, output="score", **given).score == path.score
            ends = pysw_cl.align(a, b, output="ends", **given)
            assert (ends.query_end, ends.target_end) == (path.query_end, path.target_end)


@pytest.mark.parametrize("longest", [5, 20, 45])
def test_further_paths_are_the_definition(longest: int) -> None:
    """Until nothing is left; held from the start, and held after some paths of tiles."""
    rng = np.random.default_rng(100 + longest)
    for _ in range(12):
        case = random_case(rng, longest)
        if rng.random() < 0.3:
            case = Case(case.query, case.query, case.scoring)
        a, b = texts(case)
        k = int(rng.integers(1, 25))
        cells = len(a) * len(b)
        wanted = [
            (one.score, one.query_start, one.query_end, one.target_start, one.target_end)
            for one in by_definition(case, k)
        ]
        every = []
        for plan in ({}, {"held.path_cells": max(1, cells // 3)}):
            found = pysw_cl.align_top(a, b, k=k, plan=plan, **options(case))
            assert [plain(one)[:5] for one in found] == wanted, f"{case} {k=} {plan=}"
            check_invariants(found)
            every.append([plain(one) for one in found])
        assert every[0] == every[1]


def test_a_repeat_with_hundreds_of_alignments() -> None:
    """The kernel computes again what a path changes, across many blocks: tiles agree."""
    rng = np.random.default_rng(7)
    unit = rng.integers(0, 4, 9)
    codes = np.resize(unit, 420)
    other = np.where(rng.random(420) < 0.05, rng.integers(0, 4, 420), codes)
    a, b = ("".join("ACGT"[code] for code in side) for side in (codes, other))
    found = pysw_cl.align_top(a, b, k=150)
    check_invariants(found)
    assert len(found) == 150
    assert all(kinds(one) == {"held"} for one in found)
    tiles = pysw_cl.align_top(a, b, k=150, plan=TILES)
    assert not any(kinds(one) & {"held"} for one in tiles)
    assert [plain(one) for one in found] == [plain(one) for one in tiles]
    assert sum(one.stats.total_cells for one in found[1:]) < 40 * len(a) * len(b)


def test_a_plan_that_says_how_is_obeyed() -> None:
    """Every field of a plan, and a plan itself, leaves the matrix to the engine it names."""
    default = default_plan(get_runtime("auto"))
    for plan in (
        {"lanes": "vector32"},
        {"B": 1},
        {"chunk": 64},
        {"engine": "wavefront"},
        {"traceback.pieces": 4},
        default,
    ):
        for found in (
            pysw_cl.align("ACGTACGT", "ACGTTCGT", plan=plan),
            *pysw_cl.align_top("ACGTACGT", "ACGTTCGT", k=2, plan=plan),
        ):
            assert kinds(found) == {"wavefront"}, plan
    for plan in (None, {}, HELD, {"held.kept_bytes": 0}):
        found = pysw_cl.align("ACGTACGT", "ACGTTCGT", plan=plan)
        assert kinds(found) == {"held"}
        assert found.plan.lanes == default.lanes
    assert kinds(pysw_cl.align("ACGTACGT", "ACGTTCGT", plan=TILES)) == {"wavefront"}


def test_bands_and_checkpoints_are_not_held(tmp_path: Any) -> None:
    text = "ACGTTGCA" * 20
    for how in ({"max_cost": 30, "mode": "global"}, {"checkpoint": tmp_path}):
        assert kinds(pysw_cl.align(text, text, **how)) == {"wavefront"}
    for max_cost in ("auto", None):
        found = pysw_cl.align(text, text, mode="global", max_cost=max_cost)
        assert kinds(found) == {"held"}


def test_large_ones_are_not_held() -> None:
    text = "ACGTTGCA" * 80
    assert kinds(pysw_cl.align(text, text, output="score")) == {"wavefront"}
    assert kinds(pysw_cl.align(text, text, output="path")) == {"held"}
    small = {"held.score_cells": 640 * 640, "held.path_cells": 640 * 640 - 1}
    assert kinds(pysw_cl.align(text, text, output="score", plan=small)) == {"held"}
    assert kinds(pysw_cl.align(text, text, output="path", plan=small)) == {"wavefront"}


def test_narrow_ones_are_not_held() -> None:
    """A strip has 16 rows, and a matrix of one row would be padding for the most part."""
    for a, b in (("A", "ACGT" * 40_000), ("ACGT" * 40_000, "C")):
        assert kinds(pysw_cl.align(a, b, output="ends")) == {"wavefront"}
    assert kinds(pysw_cl.align("ACGTACGT", "ACGT" * 5000, output="ends")) == {"held"}


def test_memory_is_given_back_when_a_kernel_does_not_build() -> None:
    runtime = Runtime(get_runtime("auto").device, get_runtime("auto").info)
    runtime.source_of = lambda name: "no OpenCL at all;"
    with pytest.raises(DeviceError):
        pysw_cl.align("ACGT", "ACGT", device=runtime)
    assert not runtime.kept("held", Retained).lent


def test_matrices_of_one_thread_at_once() -> None:
    """A matrix is in use while the caller's callback aligns other pairs: they do not meet."""
    inside: list[tuple[Any, ...]] = []
    a, b = "ACGTACGTTTGGGG", "ACGTACGCCGGGG"

    def other(done: int, total: int) -> None:
        inside.append(plain(pysw_cl.align("GATTACA" * 3, "GATACA" * 3)))

    alone = [plain(one) for one in pysw_cl.align_top(a, b, k=5)]
    found = pysw_cl.align_top(a, b, k=5, progress=other)
    assert [plain(one) for one in found] == alone
    assert set(inside) == {plain(pysw_cl.align("GATTACA" * 3, "GATACA" * 3, plan=REFERENCE))}
    retained = get_runtime("auto").kept("held", Retained)
    assert not retained.lent


def test_memory_is_lent_once_and_given_back() -> None:
    retained = get_runtime("auto").kept("held", Retained)
    for error in (KeyboardInterrupt, ValueError):

        def stop(done: int, total: int, error: type[BaseException] = error) -> None:
            if done:
                raise error

        for align in (pysw_cl.align, pysw_cl.align_top):
            with pytest.raises(error):
                align("ACGTACGT", "ACGTTCGT", progress=stop)
            assert not retained.lent
    sizes = {name: buffer.size for name, buffer in retained._named.items()}
    pysw_cl.align("ACGT" * 30, "ACGT" * 30)
    assert {name: buffer.size for name, buffer in retained._named.items()}.keys() >= sizes.keys()


def test_device_bytes() -> None:
    found = pysw_cl.align("A" * 17, "A" * 20)
    assert found.stats.device_bytes >= 13 * held_numbers(17, 20) == 13 * 2 * 3 * 16 * 16


def test_a_wrong_path_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that fails its check is found by other means, and reported."""
    text = "ACGTTGCAAC"
    real = HeldMatrix.next

    def wrong(self: HeldMatrix, path: bool) -> Any:
        found = real(self, path)
        return replace(found, end=type(found.end)(found.end.score + 1, *_place(found.end)))

    monkeypatch.setattr(HeldMatrix, "next", wrong)
    with pytest.warns(RecomputedWarning):
        found = pysw_cl.align(text, text)
    assert (found.score, found.stats.recomputed) == (10, 1)
    with pytest.warns(RecomputedWarning):
        assert pysw_cl.align_top(text, text, k=1)[0].score == 10


def _place(end: Any) -> tuple[int, int]:
    return end.row, end.column


def test_one_launch_a_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is what makes a small pair fast."""
    from pysw_cl.opencl.program import BoundKernel

    launches: list[int] = []
    spy(monkeypatch, BoundKernel, "launch", before=lambda *_, **__: launches.append(1))
    assert pysw_cl.align("ACGT" * 40, "ACGT" * 50).score == 160
    assert len(launches) == 1
    pysw_cl.align_top("ACGT" * 40, "ACGT" * 50, k=7)
    assert len(launches) == 8
