"""What pysw_cl.scoring.precision promises narrow lanes, against full matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import make_scoring, match_scoring, random_pair, random_scoring
from widths import odd_scoring

from pysw_cl.drivers.problem import FreeEnds, Problem
from pysw_cl.engines.reference import Matrices, fill
from pysw_cl.scoring.precision import LEAST_LIMIT8
from pysw_cl.scoring.scoring import Scoring
from pysw_cl.sequences.view import Codes, View

STEEP = [match_scoring(5, -4, 0, 30), match_scoring(1, -30000, 40, 0), match_scoring(0, -1, 0, 9)]


def whole(query: Codes, target: Codes, scoring: Scoring, mode: str, free: FreeEnds) -> Matrices:
    """The full matrices of a comparison."""
    problem = Problem.of(View(query), View(target), scoring, mode, free)
    edges = problem.edges
    parts = edges.top.read(0, len(target)), edges.left.read(0, len(query))
    sides = [(part.h.astype(np.int64), part.x.astype(np.int64)) for part in parts]
    return fill(query, target, scoring, problem.floor, edges.corner, *sides)


def matrices(count: int) -> Any:
    """(scoring, full matrices, codes) of random and of worst pairs in all modes and free ends."""
    rng = np.random.default_rng(1)
    for k in range(count):
        scoring = (
            STEEP[k // 3 % 3] if k % 3 == 0 else odd_scoring(rng, True) if k % 3 == 1
            else random_scoring(rng, 4)
        )  # fmt: skip
        m, n = (int(v) for v in rng.integers(1, 50, 2))
        query, target = random_pair(rng, 4, m, n)
        if k % 5 == 0:
            query, target = np.zeros(m, np.uint8), np.full(n, k % 10 == 0, np.uint8)
        mode = ("local", "global")[k % 2]
        free = FreeEnds(*(bool(v) for v in rng.integers(0, 2, 4) * (mode == "global")))
        yield scoring, whole(query, target, scoring, mode, free), (query, target, mode, free)


def clamped(scoring: Scoring) -> Scoring:
    """What kernels compute with: no substitution score below `worst`."""
    matrix = np.maximum(scoring.matrix, scoring.bounds.worst)
    return make_scoring(matrix, scoring.gap_open, scoring.gap_extend)


def formed(full: Matrices, scores: Any, extend: int) -> Any:
    """Every number that a cell's computation forms, and the highest H that it is formed from;
    then the lowest H of the cell and its three neighbours: two arrays."""
    inner, back = slice(1, None), slice(None, -1)
    h, e, f = full.h, full.e, full.f
    numbers = [h[back, back] + scores, e[inner, inner], f[inner, inner]]
    numbers += [numbers[1] - extend, numbers[2] - extend, h[inner, inner]]
    numbers += [h[inner, inner] - full.gap_open - extend]
    near = [h[inner, inner], h[back, back], h[inner, back], h[back, inner]]
    return np.min(numbers, axis=0), np.max(numbers, axis=0), np.min(near, axis=0)


def test_depth() -> None:
    """No number lies more than `depth` below the lowest H it is formed from, or above the highest
    H by more than nothing: all are candidates for one."""
    for scoring, full, (query, target, mode, _) in matrices(400):
        bounds = scoring.bounds
        scores = clamped(scoring).matrix[np.ix_(query, target)]
        low, high, near = formed(full, scores, scoring.gap_extend)
        assert (low >= near - bounds.depth).all()
        assert (high <= full.h[1:, 1:]).all()
        steps = np.minimum(*np.ogrid[: len(query) + 1, : len(target) + 1])
        if mode == "local":
            assert (low >= -bounds.depth).all()
        assert (full.h <= np.broadcast_to(steps, full.h.shape) * bounds.highest).all()


def test_highest_is_what_a_step_gains() -> None:
    """H rises by at most `highest` above the highest of its three neighbours."""
    for scoring, full, _ in matrices(200):
        h = full.h
        near = np.maximum(np.maximum(h[:-1, :-1], h[1:, :-1]), h[:-1, 1:])
        if full.floor is not None:
            near = np.maximum(near, 0)
        assert (h[1:, 1:] <= near + scoring.bounds.highest).all()


def test_differences_along_an_axis() -> None:
    """H rises by at most k (highest + extend) + open over k steps and falls by at most
    k extend + open, to the right and down, borders included."""
    for scoring, full, _ in matrices(400):
        slope = scoring.bounds.highest + scoring.gap_extend
        for h in (full.h, full.h.T):
            for k in range(1, h.shape[1]):
                change = h[:, k:] - h[:, :-k]
                assert change.max() <= k * slope + scoring.gap_open
                assert change.min() >= -(k * scoring.gap_extend + scoring.gap_open)


def test_clamping_changes_no_cell() -> None:
    """H, E and F are the same with the clamped scores: what decides a path, ties included."""
    changed = 0
    for scoring, full, (query, target, mode, free) in matrices(400):
        less = clamped(scoring)
        changed += (less.matrix != scoring.matrix).any()
        other = whole(query, target, less, mode, free)
        for part in ("h", "e", "f"):
            np.testing.assert_array_equal(getattr(full, part), getattr(other, part))
        worse = clamped(scoring).matrix[np.ix_(query, target)] == scoring.bounds.worst
        diagonal = full.h[:-1, :-1] + scoring.bounds.worst
        assert (diagonal[worse] < full.h[1:, 1:][worse]).all()
    assert changed > 50


def test_limit8_at_its_edges() -> None:
    """255 numbers less what lies below 0 and the step that is noticed too late; not too few."""

    def numbers(scoring: Scoring) -> tuple[int, int, int]:
        return scoring.bounds.highest, scoring.bounds.depth, scoring.bounds.limit8

    assert numbers(match_scoring(1, -3, 3, 2)) == (1, 7, 247)
    assert numbers(match_scoring(5, -30000, 3, 2)) == (5, 11, 239)
    assert numbers(match_scoring(5, -9, 3, 2)) == (5, 9, 241)
    assert numbers(match_scoring(-3, -7, 0, 0)) == (0, 1, 254)
    assert numbers(make_scoring([[-2, -1], [-1, -9]], 1, 1)) == (0, 5, 250)
    for match, limit in ((224, 24), (225, -1)):
        assert match_scoring(match, 0, 7, 0).bounds.limit8 == limit
    for gap_open, limit in ((200, LEAST_LIMIT8), (201, -1)):
        assert match_scoring(1, 0, gap_open, 15).bounds.limit8 == limit


def portion_numbers(
    full: Matrices, scores: Any, extend: int, shape: tuple[int, int], strip: int, steps: range
) -> tuple[Any, int, int]:
    """What comes into steps of a strip (T lanes, alpha rows), and the lowest and highest number
    formed there."""
    T, alpha = shape
    h, n = full.h, full.h.shape[1] - 1
    low, high, _ = formed(full, scores, extend)
    incoming, lows, highs = [h[strip, steps.start + 1 : steps.stop + 1]], [], []
    for lane in range(T):
        first = strip + lane * alpha
        start, stop = (min(max(step - lane, 0), n) for step in (steps.start, steps.stop))
        incoming.append(h[first : first + alpha + 1, start])
        if start < stop:
            lows.append(low[first : first + alpha, start:stop].min())
            highs.append(high[first : first + alpha, start:stop].max())
    return np.concatenate(incoming), min(lows), max(highs)


def just_fits(scoring: Scoring, rows: int, columns: int, lanes: int) -> Scoring:
    """The scoring, all its numbers times as much as a portion of such a size can bear."""

    def times(factor: int) -> Scoring:
        parts = (scoring.matrix, scoring.gap_open, scoring.gap_extend)
        matrix, gap_open, gap_extend = (part * factor // 64 for part in parts)
        return make_scoring(matrix, gap_open, gap_extend)

    factor = 1 << 20
    for bit in reversed(range(20)):
        less = times(factor - (1 << bit))
        if not less.bounds.fits16(rows, columns, lanes):
            factor -= 1 << bit
    return times(factor - 1)


@pytest.mark.parametrize("shape", [(4, 2), (8, 1), (2, 5)])
def test_a_portion_stays_within_what_comes_in(shape: tuple[int, int]) -> None:
    """Numbers inside a portion lie between the two bounds that are made of its incoming cells;
    with a scoring that just fits, these are at most 65,535 apart in any matrix."""
    T, alpha = shape
    rows, widest = T * alpha, 0
    for k, (scoring, full, (query, target, mode, free)) in enumerate(matrices(60)):
        m, n = len(query) // rows * rows, len(target)
        if m == 0:
            continue
        columns = 1 + k % 9
        scoring = just_fits(scoring, rows, columns, T)
        bounds = scoring.bounds
        full = whole(query, target, scoring, mode, free)
        scores = clamped(scoring).matrix[np.ix_(query, target)]
        for strip in range(0, m, rows):
            for start in range(0, n + T - 1, columns):
                steps = range(start, min(start + columns, n + T - 1))
                incoming, low, high = portion_numbers(
                    full, scores, scoring.gap_extend, shape, strip, steps
                )
                lost = scoring.gap_open + columns * scoring.gap_extend
                least = int(incoming.min()) - lost
                least = (max(0, least) if mode == "local" else least) - bounds.depth
                most = int(incoming.max()) + min(rows, columns) * bounds.highest
                assert least <= low
                assert high <= most
                widest = max(widest, most - least)
    assert 0.75 * 65535 < widest <= 65535
