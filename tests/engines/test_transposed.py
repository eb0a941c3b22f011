"""Tiles of few columns, which are computed transposed, in sections; and paths in thin matrices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from contract_engines import assert_tile, random_job
from test_sections import SMALL, WITHOUT

import pysw_cl
from pysw_cl.drivers.ends import TracedEnds
from pysw_cl.engines.reference import ReferenceEngine
from pysw_cl.engines.registry import engine_for
from pysw_cl.engines.wavefront.sections import SectionsRun
from pysw_cl.scoring.scoring import make_scoring

LETTERS = np.frombuffer(b"ACGT", np.uint8)
PLAN = {**SMALL, "boxes.least_aspect": 4, "boxes.sides": 1, "boxes.alone": 0}


@pytest.fixture
def transposed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Is it transposed?  Of every tile in sections."""
    seen: list[bool] = []
    run = SectionsRun.run

    def noted(self: SectionsRun) -> bool:
        seen.append(self.transposed)
        return run(self)

    monkeypatch.setattr(SectionsRun, "run", noted)
    return seen


def _pair(seed: int, m: int, n: int, letters: int = 4) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return LETTERS[rng.integers(0, letters, m)], LETTERS[rng.integers(0, letters, n)]


def _same(a: Any, b: Any, **options: Any) -> pysw_cl.Alignment:
    """The result, which equals that without sections."""
    found = pysw_cl.align(a, b, plan=PLAN, **options)
    assert found == pysw_cl.align(a, b, plan=WITHOUT, **options)
    return found


@pytest.mark.parametrize("output", ["score", "ends", "path"])
@pytest.mark.parametrize(("m", "n"), [(6000, 90), (1500, 3), (3000, 1), (5000, 400)])
def test_a_short_target_gives_what_strips_give(
    transposed: Any, output: str, m: int, n: int
) -> None:
    a, b = _pair(n, m, n)
    _same(a, b, output=output)
    assert transposed and all(transposed)


@pytest.mark.parametrize("letters", [1, 2, 4])
def test_the_first_of_equal_ends_is_that_of_the_first_row(transposed: Any, letters: int) -> None:
    a, b = _pair(letters, 5000, 70, letters)
    b[40:60] = b[:20]  # two ends in one row
    for at in (4100, 700, 2900):
        a[at : at + 70] = b
    _same(a, b, output="ends")
    for k in (1, 2, 3, 40):
        found = pysw_cl.best_ends(a, b, k=k, plan=PLAN)
        assert np.array_equal(found, pysw_cl.best_ends(a, b, k=k, plan=WITHOUT))
    assert transposed and all(transposed)


@pytest.mark.parametrize("strand", ["plus", "minus", "both"])
def test_global_in_a_part_of_a_long_query(transposed: Any, strand: Any) -> None:
    a, b = _pair(8, 6000, 120)
    a[2000:2110] = b[5:115]
    free = (False, False, True, True)
    _same(a, b, mode="global", free_ends=free, strand=strand, max_cost=None)
    assert transposed and all(transposed)


def test_edges_special_rows_and_the_best_cell(transposed: Any) -> None:
    engine, reference = engine_for("auto", PLAN), ReferenceEngine()
    rng = np.random.default_rng(10)
    for _ in range(30):
        scoring = make_scoring((int(rng.integers(1, 4)), -2), (int(rng.integers(0, 5)), 1))
        m, n = int(rng.integers(300, 900)), int(rng.integers(1, 40))
        job = random_job(rng, m, n, scoring, True, int(rng.choice([0, 50])), best=True)
        job = replace(job, rows=tuple(sorted({*rng.integers(1, m, 3).tolist()})))
        assert_tile(engine.tile(job), reference.tile(job), scoring.gap_open)
    assert transposed and all(transposed)


def test_scores_that_are_not_symmetric(transposed: Any) -> None:
    a, b = _pair(11, 5000, 90)
    scores = np.where(np.eye(4, dtype=bool), 2, -3)
    scores[0, 1] = -1
    _same(a, b, sub_score=(scores, "ACGT"), gap_cost=(3, 1), output="ends")
    assert not any(transposed)


@pytest.fixture
def boxes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The shape of each box that a path was looked for in."""
    seen: list[tuple[int, int]] = []
    by_tiles = TracedEnds.by_tiles

    def noted(self: TracedEnds, engine: Any, box: Any, *more: Any) -> None:
        seen.append(box.area.shape)
        by_tiles(self, engine, box, *more)

    monkeypatch.setattr(TracedEnds, "by_tiles", noted)
    return seen


@pytest.mark.parametrize("shape", [(6000, 90), (90, 6000)])
def test_the_path_of_a_thin_matrix_is_found_in_boxes(
    transposed: Any, boxes: Any, shape: tuple[int, int]
) -> None:
    """The first one is too small."""
    a, b = _pair(12, *shape)
    long, short = (a, b) if len(a) > len(b) else (b, a)
    long[3000:3045], long[3060:3105] = short[:45], short[45:]
    assert _same(a, b, sub_score=(5, -4), gap_cost=(10, 1)).score == 90 * 5 - 25
    assert len(boxes) > 1 and transposed
    assert pysw_cl.align(a[:2000], "N" * 20, plan=PLAN).cigar == ""


def test_boxes_are_no_wider_than_any_path(boxes: Any) -> None:
    """Of 450 by matches a gap of 200 letters costs 210; four times the second box is more than the
    450 - 240 letters that gaps may have."""
    a, b = _pair(13, 6000, 90)
    a[3000:3045], a[3045:3245], a[3245:3290] = b[:45], ord("N"), b[45:]
    found = _same(a, b, sub_score=(5, -4), gap_cost=(10, 1))
    assert found.score == 240 and boxes == [(48, 48), (192, 90), (301, 90)]
    boxes.clear()
    _same(a, b, sub_score=(5, -4), gap_cost=(10, 0))
    assert not boxes  # gaps of any length cost the same
