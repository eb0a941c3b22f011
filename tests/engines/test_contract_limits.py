"""The tile contract on every engine: what may skip cells or end a sweep."""

from __future__ import annotations

import numpy as np
import pytest
from contract_engines import (
    ENGINES,
    counted,
    every_engine,
    make_engine,
    places,
    run_sweep,
)
from helpers import match_scoring, random_pair
from schedule_checker import ScheduleChecker

from pysw_cl.planning.plan import Plan
from pysw_cl.scoring.precision import UNREACHABLE
from pysw_cl.sequences.view import Codes, View
from pysw_cl.tiles.contract import Engine
from pysw_cl.tiles.edges import Border, EdgeArray, Edges
from pysw_cl.tiles.graph import Rectangle
from pysw_cl.tiles.slabs import Slabs
from pysw_cl.tiles.sweep import sweep
from pysw_cl.tiles.tile import Bound, Limits, TileJob, TileResult, Want

SCORING = match_scoring(2, -1, 3, 1)
OPENING, EXTENSION = SCORING.gap_open, SCORING.gap_extend
#: Mismatches dear enough that two good stretches stay two.
STRICT = match_scoring(2, -5, OPENING, EXTENSION)
FREE, PAID = (Border(free, OPENING, EXTENSION) for free in (True, False))
ALL = Want("all")

both_floors = pytest.mark.parametrize("local", [True, False], ids=["local", "global"])


# --- pruning -------------------------------------------------------------------------------------


def islands(rng: np.random.Generator, gap: int) -> tuple[Codes, Codes]:
    """A pair with two equal stretches: four cells end a best path, (24, 24) is the first."""
    word = rng.integers(0, 4, 24).astype(np.uint8)
    query, target = (
        np.concatenate([word, np.full(gap, fill), word, np.full(gap, fill)]).astype(np.uint8)
        for fill in (0, 1)
    )
    return query, target


@every_engine
def test_pruning_changes_nothing(name: str) -> None:
    """With a bound or without: the same best cell, ties included."""
    rng = np.random.default_rng(1)
    pruned = 0
    for k in range(3):
        query, target = islands(rng, 30 + k) if k < 2 else random_pair(rng, 4, 60, 70)
        m, n = len(query), len(target)
        args = name, query, target, STRICT, 0, 0, FREE, FREE, ALL
        plain, _, _ = run_sweep(*args)
        assert len(plain.hits) == 1
        best = plain.hits[0]
        bounds = [
            (0, m, n),
            (best.score - 1, 1, 1),
            (best.score, best.row, best.column),
            (best.score, m + 7, 0),  # as good, but after it
        ]
        for score, row, column in bounds:
            limits = Limits(Bound(score, row, column, STRICT.highest))
            for shape in (None, (16, 28), (27, 55)):
                result, _, _ = run_sweep(*args, limits, shape=shape)
                known = (score, row, column)
                best_known = min([known, *places(result.hits)], key=lambda h: (-h[0], *h[1:]))
                assert best_known == (best.score, best.row, best.column)
                computed = sum(result.cells.values())
                assert computed + result.pruned_cells == m * n
                pruned += result.pruned_cells
    if make_engine(name).plan.strip_rows < 30:
        assert pruned > 0


@every_engine
def test_a_tie_that_comes_earlier_is_not_pruned(name: str) -> None:
    """The bound holds an equal score, at a cell after the best one and at one before it."""
    query, target = islands(np.random.default_rng(2), 30)
    first, _, _ = run_sweep(name, query, target, STRICT, 0, 0, FREE, FREE, ALL)
    score, row, column = places(first.hits)[0]
    assert (row, column) == (24, 24)
    for shape in [(8, 8), (24, 24), (25, 200)]:
        for known in ((row, column + 1), (0, 0)):
            limits = Limits(Bound(score, *known, STRICT.highest))
            result, _, _ = run_sweep(
                name, query, target, STRICT, 0, 0, FREE, FREE, ALL, limits, shape=shape
            )
            best = min([(*known, score), (row, column, score)])
            found = [(h.row, h.column, h.score) for h in result.hits]
            assert min([(*known, score), *found]) == best
            if shape == (8, 8) and make_engine(name).plan.strip_rows <= 8:
                assert result.skipped


@every_engine
@both_floors
def test_pruned_areas_emit_the_floor_or_the_sentinel(name: str, local: bool) -> None:
    """Everything but the upper left tile is hopeless: it is listed, and its edges say so."""
    codes = np.zeros(400, np.uint8), np.ones(300, np.uint8)
    m, n = map(len, codes)
    hopeless = Limits(Bound(10**6, 1, 1, 2))
    rows, columns = {256: EdgeArray(n)}, {150: EdgeArray(m)}
    result, bottom, right = run_sweep(
        name, *codes, SCORING, 0 if local else None, 0, FREE, FREE, ALL, hopeless,
        rows=rows, columns=columns, shape=(128, 100),
    )  # fmt: skip
    assert result.hits == []
    assert result.cells == {}
    assert result.launches == 0
    assert result.pruned_cells == m * n
    for edge in (bottom, right, rows[256].read(0, n), columns[150].read(0, m)):
        assert (edge.h == (0 if local else UNREACHABLE)).all()
        assert (edge.x == (-OPENING if local else UNREACHABLE)).all()


@every_engine
def test_pruning_knows_what_lies_beyond_the_sweep(name: str) -> None:
    """Rows and columns that follow the tile can still raise a score."""
    limits = Limits(Bound(41, 1, 1, 2))
    for side in (20, 50):
        codes, slabs = np.zeros(side, np.uint8), Slabs(20, Edges(0, FREE, FREE), (20, side))
        how = name, codes, codes, SCORING, 0, 0, FREE, FREE, ALL, limits
        result, _, _ = run_sweep(*how, slabs=slabs)
        assert (sum(result.cells.values()) > 0) == (side > 20)


# --- progress, cancellation, counts --------------------------------------------------------------


class Counted(Engine):
    """Any engine, with the number of its tiles."""

    def __init__(self, name: str) -> None:
        plan = Plan(engine="counting", form="two-phase", B=2, T=4, alpha=2)
        self.engine = ScheduleChecker(plan) if name == "counting" else make_engine(name)
        self.plan = self.engine.plan
        self.captures_inside = self.engine.captures_inside
        self.tiles = 0

    def tile(self, job: TileJob) -> TileResult:
        self.tiles += 1
        return self.engine.tile(job)


@pytest.mark.parametrize("name", [*ENGINES, "counting"])
def test_progress_and_cells(name: str) -> None:
    engine = Counted(name)
    query, target = random_pair(np.random.default_rng(6), 4, 150, 70)
    ticks: list[tuple[int, int]] = []
    result = sweep(
        engine, Rectangle(View(query), View(target), SCORING, 0), Edges(0, FREE, FREE),
        shape=(40, 30), progress=lambda *tick: ticks.append(tick),
    )  # fmt: skip
    assert len(ticks) == engine.tiles > 2
    assert ticks == sorted(set(ticks))
    assert ticks[-1] == (150 * 70, 150 * 70)
    cells = {"counting/two-phase/0": 150 * 70}
    if name == "counting":
        assert result.cells == cells
    else:
        assert counted(name, result.cells) == 150 * 70
    assert (result.launches >= engine.tiles) == (name != "reference")


@pytest.mark.parametrize("name", [*ENGINES, "counting"])
def test_an_exception_in_progress_ends_the_sweep(name: str) -> None:
    class Enough(Exception):
        pass

    def stop(done: int, total: int) -> None:
        assert 0 < done < total
        if engine.tiles == 2:
            raise Enough

    engine = Counted(name)
    query, target = random_pair(np.random.default_rng(7), 4, 150, 70)
    with pytest.raises(Enough):
        sweep(
            engine, Rectangle(View(query), View(target), SCORING, 0), Edges(0, FREE, FREE),
            shape=(40, 30), progress=stop,
        )  # fmt: skip
    assert engine.tiles == 2
