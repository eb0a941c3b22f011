"""Which width a portion of a strip is walked in, at the edges of every rule; one answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from contract_engines import frozen, random_job
from helpers import LETTERS, decode, make_scoring, match_scoring, mutated
from widths import DNA, REFERENCE, SMALL, by_width, check_tile, engine_of, ladder, made_job

import pysw_cl
from pysw_cl.planning.geometry import TileShape
from pysw_cl.planning.program import Given, planned
from pysw_cl.scoring.precision import UNREACHABLE, UNREACHABLE_BELOW
from pysw_cl.scoring.scoring import Scoring
from pysw_cl.tiles.edges import Edge
from pysw_cl.tiles.tile import Hit

USUAL: dict[str, Any] = {"T": 64, "alpha": 16, "chunk": 1024}
LIMIT = DNA.bounds.limit8
ONE = match_scoring(1, -3, 3, 2)  # so that H climbs through every number

plans = pytest.mark.parametrize("plan", [{}, USUAL], ids=["small", "usual"])
both_floors = pytest.mark.parametrize("local", [True, False], ids=["local", "global"])


def plan_of(plan: dict[str, Any]) -> tuple[int, int, int]:
    """T, alpha and chunk."""
    whole = {**SMALL, **plan}
    return whole["T"], whole["alpha"], whole["chunk"]


# --- the ladder ----------------------------------------------------------------------------------


@plans
@both_floors
def test_the_ladder_is_as_documented(plan: dict[str, Any], local: bool) -> None:
    """Each portion runs in the narrowest width whose conditions it meets, column by column."""
    rng = np.random.default_rng(1)
    T, alpha, chunk = plan_of(plan)
    seen = np.zeros(2, np.int64)
    for k in range(30):
        m = T * alpha * int(rng.integers(1, 3 if T == 64 else 9))
        n = int(rng.integers(1, 300))
        scoring = (DNA, ONE, match_scoring(15, -30, 11, 1))[k % 3]
        job = random_job(rng, m, n, scoring, local, base=(0, 150, LIMIT, 9999)[k % 4], best=local)
        columns = ladder(job, T, alpha, chunk)
        found = check_tile(engine_of(**plan), job)
        for width in (8, 16, 32):
            assert abs(found[width] - columns[width] * m * n / sum(columns.values())) <= 2
        seen += found[8], found[16]
    assert (seen[0] > 0) == local
    assert seen[1] > 0


@plans
def test_the_limit_of_8_bits_on_edges(plan: dict[str, Any]) -> None:
    """Edges of exactly the limit are taken, one more is not."""
    T, alpha, _ = plan_of(plan)
    query, target = np.zeros(max(40, T * alpha), np.uint8), np.ones(50, np.uint8)
    for top, left in ((LIMIT, 0), (0, LIMIT), (LIMIT, LIMIT)):
        at = check_tile(engine_of(**plan), made_job(query, target, DNA, True, top, left, best=True))
        assert at == {8: 50 * len(query), 16: 0, 32: 0}
        more = [value + (value == LIMIT) for value in (top, left)]
        over = check_tile(engine_of(**plan), made_job(query, target, DNA, True, *more, best=True))
        assert over[16] > 0
        assert over[32] == 0


@plans
def test_the_limit_of_8_bits_inside(plan: dict[str, Any]) -> None:
    """H may reach the limit anywhere, and all its bits are in use then; one more is too much."""
    limit = ONE.bounds.limit8
    assert limit == 255 - (3 + 2 * 2) - 1
    for n in (limit, limit + 1):
        same = np.zeros(1024, np.uint8)
        job = made_job(same, same[:n], ONE, True, 0, 0, best=True)
        found = check_tile(engine_of(**plan), job)
        assert (found[16] > 0) == (n > limit)
        assert found[8] > 0
        assert found[32] == 0


@pytest.mark.parametrize("match", [1, 5, 24, 60, 100])
@pytest.mark.parametrize("best", [True, False])
def test_one_step_beyond_the_limit(match: int, best: bool) -> None:
    """The first H above the limit is recognised whatever step it takes, and whatever follows."""
    scoring = match_scoring(match, -7, 3, 2)
    limit, same = scoring.bounds.limit8, np.zeros(16, np.uint8)
    for edge in range(max(0, limit - 2 * match - 1), limit + 2):
        for n in (8, 16):
            job = made_job(same[:n], same, scoring, True, edge, edge, best=best)
            found = check_tile(engine_of(), job)
            above = REFERENCE.tile(made_job(same[:n], same, scoring, True, edge, edge, best=True))
            assert above.top is not None
            assert (found[8] < 16 * n) == (above.top > limit or edge > limit or not best)
            assert found[32] == 0


@plans
@pytest.mark.parametrize("match, n", [(1, 700), (5, 260), (5, 900), (100, 330), (100, 660)])
def test_climbs(plan: dict[str, Any], match: int, n: int) -> None:
    """Runs of matches through 127, 255, the limit, 32,767 and 65,535, in one portion and over
    many; equal letters (ties everywhere) and unequal ones."""
    rng = np.random.default_rng(match)
    scoring = match_scoring(match, -4, 3, 2)
    T, alpha, chunk = plan_of(plan)
    narrow = scoring.bounds.fits16(T * alpha, chunk, T)
    assert narrow == (match < 100 or T == 4)
    for query in (np.zeros(n, np.uint8), rng.integers(0, 4, n)):
        job = made_job(query, query, scoring, True, 0, 0, best=True)
        found = check_tile(engine_of(**plan), job)
        assert REFERENCE.tile(job).hits == (Hit(n * match, n, n),)
        assert (found[16] > 0, found[32] > 0) == (narrow, not narrow)
        if query.any() and T == 4 and match < 100:
            assert found[8] > 0
        unlimited = made_job(query, query, scoring, False, 0, 0)  # no 8 bits without a floor
        assert (check_tile(engine_of(**plan), unlimited)[16] > 0) == narrow


@both_floors
def test_the_limit_of_16_bits(local: bool) -> None:
    """A portion whose numbers need exactly 65,535 steps above the lowest runs in 16 bits; with one
    more it does not.  Edges that jump so are what a pruned tile leaves."""
    scoring, columns = match_scoring(5, -4, 30, 7), 4
    bounds = scoring.bounds
    inside = (0 if local else 30 + columns * 7) + bounds.depth + columns * bounds.highest
    for base in (0,) if local else (0, -32768, -700_000, 10**8):
        for more in (0, 1):
            high = base + 65535 - inside + more
            for top, left in ((high, base), (base, high)):
                job = made_job(np.zeros(8), np.ones(20), scoring, local, top, left, best=True)
                found = check_tile(engine_of(chunk=4), job)
                assert found[16] > 0
                assert (found[32] > 0) == bool(more)


def test_all_widths_in_one_tile() -> None:
    """Low edges, high ones and a jump between them, with the best cell in each part in turn."""
    rng = np.random.default_rng(2)
    query = rng.integers(0, 4, 64)
    for place in range(0, 300, 20):
        target = rng.integers(0, 4, 320)
        target[place : place + 20] = query[30:50]
        top = np.zeros(320, np.int32)
        top[150:200] = 1000
        top[200:] = 70000
        found = check_tile(engine_of(), made_job(query, target, DNA, True, top, 0, best=True))
        assert all(found.values())


def test_up_down_and_up_again() -> None:
    """A long gap costs most of what was gained; then it climbs once more."""
    rng = np.random.default_rng(3)
    one, two = rng.integers(0, 4, 150), rng.integers(0, 4, 120)
    for gap in (20, 240, 365):
        between = rng.integers(0, 4, gap)
        pairs = (np.r_[one, two], np.r_[one, between, two])
        for query, target in (pairs, pairs[::-1]):
            for plan in ({}, USUAL):
                found = check_tile(
                    engine_of(**plan), made_job(query, target, DNA, True, 0, 0, best=True)
                )
                assert (found[8] > 0) == (not plan)  # the first 64 columns already climb
                assert found[16] > 0
                assert found[32] == 0


#: (match, mismatch), gap costs, widths that a similar local pair runs in with strips of 8 rows.
EXTREMES: list[tuple[tuple[int, int], tuple[int, int], set[int]]] = [
    ((5, -30000), (3, 2), {8, 16}),
    ((5, -4), (0, 0), {8, 16}),
    ((5, 0), (0, 0), {8, 16}),
    ((0, 0), (0, 0), {8}),
    ((5, -4), (0, 2), {8, 16}),
    ((5, -4), (200, 0), {8, 16}),
    ((5, -4), (5000, 1), {16}),
    ((5, -4), (1, 2000), {16}),
    ((5, -4), (1, 5000), {32}),
    ((5, -4), (20000, 1), {32}),
    ((1000, -30000), (0, 1), {16}),
    ((5000, -1), (0, 1), {32}),
    ((-3, -3), (1, 1), {8}),
    ((-300, -1), (0, 1), {8}),
    ((-30000, -1), (2, 30), {8}),
    ((127, -128), (40, 1), {16}),
    ((1, -1), (94, 68), {8, 16}),
    ((1, -1), (95, 68), {16}),
]


@pytest.mark.parametrize("pair, gaps, widths", EXTREMES)
def test_extreme_costs(pair: tuple[int, int], gaps: tuple[int, int], widths: set[int]) -> None:
    """Numbers too large for a width go to a wider one; others do not, however large they look."""
    rng = np.random.default_rng(4)
    query = rng.integers(0, 4, 330).astype(np.uint8)
    target = np.r_[rng.integers(0, 4, 50), mutated(rng, query, 270, 4)]
    scoring = match_scoring(*pair, *gaps)
    job = made_job(query, target, scoring, True, 0, 0, best=True)
    found = check_tile(engine_of(), job)
    assert {width for width in found if found[width]} == widths
    check_tile(engine_of(), made_job(query, target, scoring, False, 0, 0))


@pytest.mark.parametrize("m", [1, 63, 700, 1000])
def test_one_build_does_for_all_heights(m: int) -> None:
    """Strips of few and of many rows a lane, the last one lower, with and without a bottom edge."""
    rng, scoring = np.random.default_rng(m), match_scoring(2, -3, 5, 2)
    query = rng.integers(0, 4, m).astype(np.uint8)
    target, builds = mutated(rng, query, 500, 4), set()
    for alpha in (1, 4, 13, 40, 64):
        engine = engine_of(T=16, alpha=alpha, chunk=64)
        for local in (True, False):
            check_tile(engine, made_job(query, target, scoring, local, 0, 0, best=local))
        builds.add(len(engine.runtime.programs))
    assert len(builds) == 1


def test_tall_strips_are_many() -> None:
    plan = replace(engine_of(T=64, alpha=16, chunk=256).plan, alpha_fixed=False, B=2)
    scoring, heights = match_scoring(1, -3, 5, 2), []
    for m in (2000, 20_000, 100_000, 1_000_000):
        one = planned(Given(plan, scoring), TileShape(m, m), "match")
        assert one is not None
        heights.append(one.alpha)
        assert one.alpha <= 16 or m >= 12 * one.strip_rows
    assert heights == sorted(heights) and heights[0] <= 16 and heights[-1] == 64


PROTEINS = len(LETTERS)


@pytest.mark.parametrize(
    "low, high, widths",
    [(-4, 11, {8, 16}), (-128, 127, {16}), (-129, 50, {32}), (-4, 128, {32}), (-9, -1, {8})],
)
def test_matrices(low: int, high: int, widths: set[int]) -> None:
    """Scores that fit a byte go through a profile; others, and short targets, to wider lanes."""
    rng = np.random.default_rng(5)
    matrix = rng.integers(low, min(high, 3), (PROTEINS, PROTEINS))
    matrix[0, 1] = low
    np.fill_diagonal(matrix, high)
    scoring = make_scoring(matrix, 70, 1)
    query = rng.integers(0, PROTEINS, 200).astype(np.uint8)
    for columns in (150, 63):
        target = mutated(rng, query, columns, PROTEINS)
        for plan in ({}, USUAL):
            job = made_job(query, target, scoring, True, 0, 0, best=True)
            found = check_tile(engine_of(**plan), job)
            T, alpha, chunk = plan_of(plan)
            narrow = columns >= 64 and scoring.bounds.fits16(T * alpha, chunk, T)
            expected = widths if narrow else {32}
            assert {width for width in found if found[width]} <= expected


# --- the best cell -------------------------------------------------------------------------------


def planted(m: int, n: int, row: int, column: int, length: int = 8) -> tuple[Any, Any]:
    """Two sequences whose only common run of letters ends at a cell (counted from 1)."""
    query, target = np.zeros(m, np.uint8), np.ones(n, np.uint8)
    query[row - length : row] = target[column - length : column] = np.arange(length) % 2 + 2
    return query, target


@pytest.mark.parametrize("form", ["ticketed", "two-phase"])
def test_best_cells_at_every_border(form: str) -> None:
    """The end of the only common run, on and beside borders of lanes, strips, portions, blocks."""
    for row in (8, 9, 10, 15, 16, 17, 23, 24, 25, 26):
        for column in (8, 9, 10, 11, 12, 14, 15, 18, 19, 20, 21, 24, 25, 39, 40):
            for m in (max(row, 16), 26):
                query, target = planted(m, 40, row, column)
                job = made_job(query, target, DNA, True, 0, 0, best=True)
                found = check_tile(engine_of(form=form), job)
                assert REFERENCE.tile(job).hits == (Hit(40, row, column),)
                assert found[8] > 0
                assert found[16] == 0
                assert (found[32] > 0) == (form == "two-phase")  # lanes that enter


@pytest.mark.parametrize("length, narrow", [(8, 8), (70, 16)])
def test_ties_go_to_the_first(length: int, narrow: int) -> None:
    """The same run at several places: equal scores in other strips, portions and groups."""
    rng = np.random.default_rng(6)
    run = rng.integers(0, 4, length) + 2
    for _ in range(30):
        query, target = np.zeros(3 * length + 60, np.uint8), np.ones(3 * length + 70, np.uint8)
        for codes in (query, target):
            for start in rng.integers(0, len(codes) - length, 3):
                codes[start : start + length] = run
        scoring = match_scoring(5, -4, 3, 2, "ACGTRN")
        job = made_job(query, target, scoring, True, 0, 0, best=True)
        found = check_tile(engine_of(), job)
        assert found[narrow] > 0
        many = made_job(query, target, scoring, True, 0, 0, best=True, count=5)
        check_tile(engine_of(), many)


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("base", [-300, -32768, -65500, -66000, -(10**6), -(10**9), 10**8])
def test_best_cells_without_a_floor(base: int, count: int) -> None:
    """The highest of numbers that are all far from 0."""
    rng = np.random.default_rng(7)
    job = random_job(rng, 60, 70, DNA, False, base=base, best=True, count=count)
    assert check_tile(engine_of(), job) == {8: 0, 16: 4200, 32: 0}


# --- a portion that needs 32 bits, and those around it -------------------------------------------


@pytest.mark.parametrize(
    "high", [UNREACHABLE, UNREACHABLE_BELOW - 1, UNREACHABLE_BELOW, -70000, 70000, 10**8]
)
@pytest.mark.parametrize("plan", [{}, {"T": 16, "alpha": 3, "chunk": 5}])
def test_edges_that_jump(high: int, plan: dict[str, Any]) -> None:
    """Portions in 32 bits before, between and after narrow ones, lanes entering and leaving."""
    rng = np.random.default_rng(8)
    for at in range(0, 60, 4):
        query, target = rng.integers(0, 4, 50), rng.integers(0, 4, 60)
        top, left = -2 * np.arange(60), -2 * np.arange(50)
        top[at : at + 3] = high
        job = made_job(query, target, DNA, False, top, left, corner=0)
        found = check_tile(engine_of(**plan), job)
        assert found[16] > 0
        assert (found[32] > 0) == (not -65000 < high < 65000)


@plans
@both_floors
def test_the_last_row_before_padding(plan: dict[str, Any], local: bool) -> None:
    """E of row m may be as high as its H, which is lowered where padding follows."""
    scoring = match_scoring(5, -4, 60, 1)
    for m in (1, 7, 20):
        query, target = np.zeros(m, np.uint8), np.ones(40, np.uint8)
        for h in (0, *range(180, 260), *range(64_800, 65_700, 30)):
            left = np.where(np.arange(m) == m - 1, h, 0)
            job = made_job(query, target, scoring, local, 0, left, best=True)
            high = frozen(Edge(job.left.h, job.left.h))  # inside a gap at no loss
            check_tile(engine_of(**plan), replace(job, left=high))


# --- whole comparisons ---------------------------------------------------------------------------


def widths_of(found: pysw_cl.Alignment) -> dict[int, float]:
    """The share of each width."""
    cells = by_width(found.stats.cells)
    return {width: cells[width] / sum(cells.values()) for width in cells}


def letters(codes: Any) -> str:
    return decode(codes, DNA)


def test_blocks_that_outgrow_their_lanes_are_counted() -> None:
    """Only those whose cells were computed: a block that is known not to fit is none of them."""
    codes = np.random.default_rng(3).integers(0, 4, 4000)
    changed = np.where(np.arange(2000) % 20, codes[:2000], 0)
    a, b = letters(codes[:2000]), letters(codes[2000:])
    alike = pysw_cl.align(a, letters(changed), output="score", device="cpu").stats
    assert pysw_cl.align(a, b, output="score", device="cpu").stats.again == 0
    assert 0 < alike.again < alike.total_cells
    assert f"{alike.again:,} cells computed again in wider lanes" in str(alike)


@pytest.mark.parametrize("pair, gaps", [((1, -3), (3, 2)), ((2, -3), (5, 2))])
def test_what_dna_runs_in(pair: tuple[int, int], gaps: tuple[int, int]) -> None:
    """By default random letters take 8 bits; a similar pair 16 where its score is high."""
    engine_of()  # skips where lanes are no CPU vectors
    rng = np.random.default_rng(9)
    query = rng.integers(0, 4, 20_000).astype(np.uint8)
    for target, least in ((rng.integers(0, 4, 20_000), 0.99), (mutated(rng, query, 20_000, 4), 0)):
        options: dict[str, Any] = {"sub_score": pair, "gap_cost": gaps, "output": "ends"}
        found = pysw_cl.align(letters(query), letters(target), **options)
        wide = pysw_cl.align(letters(query), letters(target), plan={"lanes": "vector32"}, **options)
        assert widths_of(wide) == {8: 0, 16: 0, 32: 1}
        ends = [(r.score, r.query_end, r.target_end) for r in (found, wide)]
        assert ends[0] == ends[1]
        share = widths_of(found)
        assert share[8] >= least
        assert (share[16] > 0.05) == (least == 0)
        assert share[32] == 0


def test_a_finer_grid_climbs_unwatched() -> None:
    """Where no best cell is looked for, nothing tells that 8 bits are over: they are not used."""
    rng = np.random.default_rng(10)
    core = rng.integers(0, 4, 1500).astype(np.uint8)
    query = letters(np.r_[rng.integers(0, 4, 900), core])
    target = letters(np.r_[rng.integers(0, 4, 500), mutated(rng, core, 1600, 4)])
    options: dict[str, Any] = {"sub_score": (5, -4)}
    found = pysw_cl.align(
        query, target, plan={"lanes": "vector", "traceback_tile_cells": 1 << 16}, **options
    )
    wide = pysw_cl.align(query, target, plan={"lanes": "vector32"}, **options)
    assert (found.score, found.cigar) == (wide.score, wide.cigar)


def extended(scoring: Scoring, extend: int) -> Scoring:
    return make_scoring(scoring.matrix, scoring.gap_open, extend)


def test_steep_borders_stay_narrow() -> None:
    """Scorings that just fit 16 bits: no portion of a real matrix needs more."""
    for scoring in (match_scoring(0, -1, 0, 1), match_scoring(3, -1, 9, 1), DNA):
        steep = max(e for e in range(1, 6000) if extended(scoring, e).bounds.fits16(8, 7, 4))
        border = -scoring.gap_open - steep * np.arange(1, 121)
        same = np.zeros(120, np.uint8)
        job = made_job(same, same, extended(scoring, steep), False, border, border, corner=0)
        assert check_tile(engine_of(), job)[32] == 0
        more = made_job(same, same, extended(scoring, steep + 1), False, border, border, corner=0)
        assert check_tile(engine_of(), more)[16] == 0
