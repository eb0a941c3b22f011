"""The tile contract on every engine: what may skip cells, end a sweep, or meet its other half."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from contract_engines import (
    ENGINES,
    assert_edge,
    column_of,
    counted,
    every_engine,
    full_matrices,
    make_engine,
    places,
    row_of,
    run_sweep,
)
from helpers import match_scoring, mutated, random_pair, random_scoring

from pysw_cl.engines.reference import Matrices
from pysw_cl.engines.schedule_checker import CountingEngine
from pysw_cl.planning.plan import Plan
from pysw_cl.scoring.scoring import Scoring
from pysw_cl.tiles.contract import TileJob, TileResult
from pysw_cl.tiles.gap_edges import AT_H, IN_E, IN_F, end_score, start_edges
from pysw_cl.tiles.sweep import sweep
from pysw_cl.tiles.tile import (
    NEG,
    Border,
    Bound,
    Codes,
    Edge,
    EdgeArray,
    Edges,
    Goal,
    Limits,
    View,
    Want,
)

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
    if make_engine(name).row_quantum < 30:
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
            if shape == (8, 8) and make_engine(name).row_quantum <= 8:
                assert result.pruned


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
    assert sum(area.cells for area in result.pruned) == m * n
    for edge in (bottom, right, rows[256].read(0, n), columns[150].read(0, m)):
        assert (edge.h == (0 if local else NEG)).all()
        assert (edge.x == (-OPENING if local else NEG)).all()


@every_engine
def test_pruning_knows_what_lies_beyond_the_sweep(name: str) -> None:
    """Rows and columns that follow the tile can still raise a score."""
    codes = np.zeros(20, np.uint8)
    for left, wanted in ((0, 0), (30, 20 * 20)):
        bound = Bound(41, 1, 1, 2, rows_left=left, columns_left=left)
        result, _, _ = run_sweep(name, codes, codes, SCORING, 0, 0, FREE, FREE, ALL, Limits(bound))
        assert sum(result.cells.values()) == wanted


# --- meeting the other half ----------------------------------------------------------------------


@dataclass(frozen=True)
class Halves:
    """A pair cut at a row or a column, its full matrices forward and reversed."""

    query: Codes
    target: Codes
    forward: Matrices
    backward: Matrices

    @classmethod
    def of(cls, query: Codes, target: Codes, scoring: Scoring, local: bool) -> Halves:
        border = Border(local, scoring.gap_open, scoring.gap_extend)
        args = scoring, 0 if local else None, Edges(0, border, border)
        return cls(
            query,
            target,
            full_matrices(query, target, *args),
            full_matrices(query[::-1], target[::-1], *args),
        )

    def opposite(self, side: str, at: int) -> Edge:
        """The reversed half's edge, in the forward half's order, border cell included."""
        m, n = len(self.query), len(self.target)
        if side == "bottom":
            edge = row_of(self.backward, m - at)
            last = Edge(self.backward.h[m - at, :1], self.backward.h[m - at, :1])
        else:
            edge = column_of(self.backward, n - at)
            last = Edge(self.backward.h[:1, n - at], self.backward.h[:1, n - at])
        h, x = (
            np.concatenate([inner[-2::-1], end]).astype(np.int32)
            for inner, end in ((edge.h, last.h), (edge.x, last.x))
        )
        return Edge(h, x)


@every_engine
@both_floors
@pytest.mark.parametrize("side", ["bottom", "right"])
def test_crossings(name: str, local: bool, side: str) -> None:
    """Where max(H + H', X + X' + gap_open) is the whole score, every place and no other."""
    rng = np.random.default_rng(3)
    scoring = match_scoring(2, -3, 3, 1)
    kinds = set()
    for k in range(6):
        query, _ = random_pair(rng, 4, 60, 1)
        target = mutated(rng, np.delete(query, slice(25, 34)), 55, 4)
        if k % 2:
            query, target = target, query
        halves = Halves.of(query, target, scoring, local)
        whole = int(halves.forward.h.max() if local else halves.forward.h[-1, -1])
        at = 27
        other = halves.opposite(side, at)
        parts = (query[:at], target) if side == "bottom" else (query, target[:at])
        border = Border(local, 3, 1)
        floor = 0 if local else None
        args = name, *parts, scoring, floor, 0, border, border
        goal = Goal(side, EdgeArray.of(other), whole)
        result, bottom, right = run_sweep(*args, None, Limits(goal=goal), shape=(16, 13))
        mine = bottom if side == "bottom" else right
        through_h = mine.h.astype(int) + other.h
        through_gap = mine.x.astype(int) + other.x + scoring.gap_open
        best = max(int(through_h.max()), int(through_gap.max()))
        if not local:  # the path may also cross in front of the first cell, on the border
            outside = -(scoring.gap_open + at) + int(
                halves.backward.h[len(query) - at, -1]
                if side == "bottom"
                else halves.backward.h[-1, len(target) - at]
            )
            assert max(best, outside) >= whole
        assert best <= whole
        wanted = [(j + 1, "H") for j in np.flatnonzero(through_h == whole)]
        wanted += [(j + 1, "gap") for j in np.flatnonzero(through_gap == whole)]
        assert sorted(result.crossings) == sorted(wanted)
        kinds |= {kind for _, kind in wanted}
        _, wrong, _ = run_sweep(*args)
        missed, _, _ = run_sweep(
            *args, None, Limits(goal=Goal(side, EdgeArray.of(other), whole + 1))
        )
        assert missed.crossings == []
        assert_edge(wrong, bottom, scoring.gap_open)
    assert kinds == {"H", "gap"}


# --- starting and ending inside a gap ------------------------------------------------------------


def three_states(
    query: Codes, target: Codes, scoring: Scoring, start: tuple[int | None, ...]
) -> list[int]:
    """Scores at the lower right corner (at H, leaving in E, leaving in F) by a plain automaton:
    the best path that ends with a pair (or starts here), with a target gap, with a query gap.
    A start inside a gap must go on in it."""
    never = -(10**9)
    m, n = len(query), len(target)
    opening, extension = scoring.gap_open, scoring.gap_extend
    first = [never if s is None else s for s in start]
    best = np.full((m + 1, n + 1, 3), never)

    def leave(i: int, j: int, state: int) -> int:
        """Leave a cell by a pair, or inside a gap: one that is open, or one opened here."""
        if i == j == 0:
            return max(first[state], first[AT_H] - (opening if state else 0))
        cell = best[i, j]
        if state == AT_H:
            return int(cell.max())
        return max(int(cell[state]), max(int(cell[k]) for k in range(3) if k != state) - opening)

    for i in range(m + 1):
        for j in range(n + 1):
            if i and j:
                pair = scoring.matrix[query[i - 1], target[j - 1]]
                best[i, j, AT_H] = leave(i - 1, j - 1, AT_H) + pair
            if j:
                best[i, j, IN_E] = leave(i, j - 1, IN_E) - extension
            if i:
                best[i, j, IN_F] = leave(i - 1, j, IN_F) - extension
    return [leave(m, n, state) for state in (AT_H, IN_E, IN_F)]


STARTS: dict[str, tuple[int | None, ...]] = {
    "at H": (0, None, None),
    "in E": (None, 0, None),
    "in F": (None, None, 0),
    "H or F": (0, None, 0),
    "any, by value": (11, 9, 10),
}


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "two-phase-4"])
@pytest.mark.parametrize("start", STARTS)
def test_start_and_end_inside_a_gap(name: str, start: str) -> None:
    """An open gap goes on without paying for its opening again, at both ends."""
    rng = np.random.default_rng(4)
    for k, (m, n) in enumerate([(1, 1), (1, 9), (9, 1), (17, 3), (4, 18), (12, 13)]):
        scoring = SCORING if "scalar" in name else random_scoring(rng, 4, linear=k == 3)
        query, target = random_pair(rng, 4, m, n)
        edges = start_edges(scoring, *STARTS[start])
        _, bottom, right = run_sweep(
            name, query, target, scoring, None, edges.corner, edges.top, edges.left
        )
        wanted = three_states(query, target, scoring, STARTS[start])
        found = [end_score(bottom, right, state) for state in (AT_H, IN_E, IN_F)]
        # a forced start may be unable to be anywhere but inside its gap
        assert found == [w if w > -(10**8) else NEG for w in wanted]


def test_a_start_at_h_is_the_matrix_s_own_border() -> None:
    edges = start_edges(SCORING)
    for source in (edges.top, edges.left):
        assert_edge(source.read(3, 50), PAID.read(3, 50), OPENING)
    assert edges.corner == 0
    gap = start_edges(SCORING, None, f=-7)
    assert gap.corner == NEG
    assert (gap.top.read(0, 9).h == NEG).all()
    assert gap.left.read(2, 4).h.tolist() == [-10, -11]
    assert gap.left.read(2, 4).x.tolist() == [-13, -14]


@every_engine
def test_halves_joined_inside_a_gap_give_the_whole(name: str) -> None:
    """Myers & Miller's step: the part before a cell ends in a gap, the part after it starts in
    one, and nothing else than edge values says so."""
    rng = np.random.default_rng(5)
    query = rng.integers(0, 4, 50).astype(np.uint8)
    target = np.delete(query, slice(20, 32))
    row, column = 26, 20
    args = SCORING, None

    def score(q: Codes, t: Codes, edges: Edges, state: int) -> int:
        _, bottom, right = run_sweep(name, q, t, *args, edges.corner, edges.top, edges.left)
        return end_score(bottom, right, state)

    whole = score(query, target, start_edges(SCORING), AT_H)
    assert whole == 38 * 2 - OPENING - 12 * EXTENSION
    before = score(query[:row], target[:column], start_edges(SCORING), IN_F)
    after = start_edges(SCORING, None, f=before)
    assert score(query[row:], target[column:], after, AT_H) == whole
    closed = score(query[:row], target[:column], start_edges(SCORING), AT_H)
    assert score(query[row:], target[column:], start_edges(SCORING, closed), AT_H) < whole


# --- progress, cancellation, counts --------------------------------------------------------------


class Counted:
    """Any engine, with the number of its tiles."""

    def __init__(self, name: str) -> None:
        plan = Plan(engine="counting", form="two-phase", B=2, T=4, alpha=2)
        self.engine = CountingEngine(plan) if name == "counting" else make_engine(name)
        self.name, self.row_quantum = self.engine.name, self.engine.row_quantum
        self.inner, self.strip_rows = self.engine.inner, self.engine.strip_rows
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
        engine, View(query), View(target), SCORING, 0, Edges(0, FREE, FREE),
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
            engine, View(query), View(target), SCORING, 0, Edges(0, FREE, FREE),
            shape=(40, 30), progress=stop,
        )  # fmt: skip
    assert engine.tiles == 2
