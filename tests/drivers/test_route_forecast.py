"""The work of a long sweep, row by row, is foreseen by a quick look at the sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from aligning import needs_lanes

import pysw_cl
from pysw_cl.drivers import route_forecast
from pysw_cl.drivers.forecast import SweepForecast
from pysw_cl.drivers.pair_progress import predicted_speed
from pysw_cl.drivers.problem import FreeEnds, Problem
from pysw_cl.drivers.progress import Stage
from pysw_cl.drivers.route_forecast import RouteForecast, _letters
from pysw_cl.engines.registry import engine_for
from pysw_cl.scoring.scoring import Scoring, make_scoring
from pysw_cl.sequences.view import View
from pysw_cl.tiles.contract import Engine

SIDE = 60_000


@pytest.fixture(autouse=True)
def looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short sweeps are looked at, too."""
    needs_lanes("vector")
    monkeypatch.setattr(route_forecast, "LOOKED_SECONDS", 0.0)


def related(seed: int) -> tuple[bytes, bytes]:
    """DNA, and a copy with 2% of its letters changed between others."""
    rng = np.random.default_rng(seed)
    letters = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, SIDE)]
    copy = np.where(rng.random(SIDE) < 0.02, letters[::-1], letters)
    return letters.tobytes(), np.concatenate([letters[10_000:0:-1], copy]).tobytes()


def problem(a: bytes, b: bytes, scoring: Scoring | None = None, mode: str = "local") -> Problem:
    scoring = scoring or make_scoring((1, -3), (3, 2))
    query, target = (np.frombuffer(side, np.uint8) for side in (a, b))
    codes = View(scoring.encode_query(query)), View(scoring.encode_target(target))
    return Problem(*codes, scoring, mode, FreeEnds())


def seconds_of(engine: Engine, one: Problem) -> float | None:
    """The predicted time of a sweep."""
    m, n = len(one.query), len(one.target)
    speed = predicted_speed(engine.plan, m, n)
    return None if speed is None else m * n / speed


def route(one: Problem, prunes: bool) -> RouteForecast:
    engine = engine_for("auto", None)
    found = RouteForecast.begin(engine, one, prunes, 0, seconds_of(engine, one))
    assert found is not None
    found.join()
    return found


def test_rows_near_the_path_take_longer_and_pruned_ones_less() -> None:
    one = problem(*related(1))
    cells = len(one.query) * len(one.target)
    whole, pruned = route(one, False), route(one, True)
    assert whole.ready and pruned.ready
    for found in (whole, pruned):
        works = [found.above(row) for row in range(0, SIDE + 1, SIDE // 20)]
        assert works[0] == 0 and works == sorted(works)
        assert found.between(7, 7) == 0 and found.between(SIDE, 0) == 0
    assert 1.05 * cells < whole.above(SIDE) < 2 * cells
    assert pruned.above(SIDE) < 0.75 * whole.above(SIDE)
    half = SIDE / 2
    assert whole.between(half, SIDE) > whole.above(half)
    assert pruned.between(half, SIDE) < 0.7 * pruned.above(half)


def test_nothing_in_common_is_not_foreseen() -> None:
    a, b = related(2)[0], related(3)[0]
    assert not route(problem(a, b), True).ready


def test_what_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = related(4)
    engine, reference = engine_for("auto", None), engine_for("auto", {"engine": "reference"})
    for of, one in ((engine, problem(a, b, mode="global")), (reference, problem(a, b))):
        assert RouteForecast.begin(of, one, False, 0, seconds_of(of, one)) is None
    monkeypatch.setattr(route_forecast, "LOOKED_SECONDS", 1e6)
    one = problem(a, b)
    assert RouteForecast.begin(engine, one, False, 0, seconds_of(engine, one)) is None


def test_a_look_that_fails_is_no_look(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    def fails(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(route_forecast, "resemblance", fails)
    assert not route(problem(*related(5)), True).ready
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("matrix", ["BLOSUM62", (1, -3), (5, -4)], ids=str)
def test_codes_become_letters_again(matrix: Any) -> None:
    scoring = make_scoring(matrix, (10, 1), unknown="X" if matrix == "BLOSUM62" else "N")
    letters = np.frombuffer(scoring.letters.encode(), np.uint8)
    for encoding in (scoring.query_encoding, scoring.target_encoding):
        codes = encoding[letters]
        again = _letters(View(codes), encoding)
        np.testing.assert_array_equal(encoding[again], codes)
        plain = np.isin(letters, np.frombuffer(b"ACGT", np.uint8))
        np.testing.assert_array_equal(again[plain], letters[plain])


def test_an_early_look_tells_the_work_and_a_late_one_nothing() -> None:
    one = problem(*related(6))
    known, n = route(one, True), len(one.target)
    forecast = SweepForecast(one, True, route=known)
    assert forecast.work == 0
    forecast.at(0)
    assert (forecast.work, forecast.left(0)) == (0, known.above(SIDE))
    forecast.at(20_000 * n)
    assert forecast.work == known.above(20_000)
    assert forecast.left(20_000 * n) == pytest.approx(known.between(20_000, SIDE))
    again = SweepForecast(one, True, route=known)  # a run that goes on
    again.at(30_000 * n)
    again.at(31_000 * n)
    assert again.work == pytest.approx(known.between(30_000, 31_000))
    late = SweepForecast(one, False)
    late.at(0)
    late._route = known
    late.at(20_000 * n)
    assert late.work == 0 and late.left(20_000 * n) == (SIDE - 20_000) * n


def test_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work done and left are in the same unit from the first report on, and end at all and 0."""
    begin = RouteForecast.begin

    def at_once(*args: Any) -> RouteForecast | None:
        found = begin(*args)
        assert found is not None
        found.join()
        return found

    monkeypatch.setattr(RouteForecast, "begin", at_once)
    told: list[Stage] = []
    a, b = related(7)
    plan = {"tile_cells": 1 << 27}
    pysw_cl.align(
        a, b, output="ends", plan=plan, progress=lambda done, total, stage: told.append(stage)
    )
    works = [stage.work_done for stage in told if stage.work_done is not None]
    left = [stage.work_left for stage in told if stage.work_left is not None]
    assert len(works) > 5 and works == sorted(works) and left[-1] == 0
    assert works[-1] == pytest.approx(left[0] + works[0], rel=0.01)
