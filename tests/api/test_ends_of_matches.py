"""``best_ends`` with other rules: ends that are matches, and apart in both sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from whole_reference import align_reference

import pysw_cl
from pysw_cl.drivers import end_rules, ends as driver
from pysw_cl.errors import InputError
from pysw_cl.scoring.scoring import make_scoring

ACGT = np.frombuffer(b"ACGT", np.uint8)
SCORES = [((1, -3), (3, 2)), ((2, -1), (1, 1)), ((5, -3), (8, 1)), ((1.5, -1), (0.5, 0.5))]


def letters(seed: int, length: int) -> bytes:
    return np.random.default_rng(seed).choice(ACGT, length).tobytes()


def by_definition(
    a: bytes, b: bytes, separation: int, both: bool, matches: bool, least: float, scores: Any
) -> list[tuple[float, int, int]]:
    """All ends that the rules keep, from all cells of the matrix."""
    scoring = make_scoring(*scores)
    codes = (scoring.query_encoding[np.frombuffer(a, np.uint8)],
             scoring.target_encoding[np.frombuffer(b, np.uint8)])  # fmt: skip
    h = align_reference(*codes, scoring, "local").matrices.h
    pairs = np.full(h.shape, -1)
    pairs[1:, 1:] = scoring.matrix[np.ix_(*codes)]
    after = np.full(h.shape, -1)
    after[:-1, :-1] = pairs[1:, 1:]
    good = h >= max(1, least * scoring.scale)
    if matches:
        good[1:, 1:] &= h[1:, 1:] == h[:-1, :-1] + pairs[1:, 1:]
        good &= (pairs > 0) & (after <= 0)
    cells = [(h[i, j] / scoring.scale, int(i), int(j)) for i, j in np.argwhere(good)]
    kept: list[tuple[float, int, int]] = []
    for score, i, j in sorted(cells, key=lambda cell: (-cell[0], *cell[1:])):
        near = [(abs(i - y) < separation, abs(j - x) < separation) for _, y, x in kept]
        if separation == 0 or not any(map(any if both else all, near)):
            kept.append((score, i, j))
    return kept


@pytest.mark.parametrize("engine", ["reference", "wavefront"])
@pytest.mark.parametrize("separation", [0, 1, 2, 7])
@pytest.mark.parametrize("rules", ["either matches", "both cells", "both matches"])
def test_ends_by_other_rules(engine: str, separation: int, rules: str) -> None:
    apart, ends = rules.split()
    for case in range(4):
        m, n = (int(v) for v in np.random.default_rng(case).integers(1, 70, 2))
        a, b = letters(case, m), letters(case + 50, n)
        if case % 2:
            b = (a * 3)[: n + 1]
        wanted = by_definition(
            a, b, separation, apart == "both", ends == "matches", 3, SCORES[case]
        )
        for k in (1, 5, 10_000):
            found = pysw_cl.best_ends(
                a, b, k=k, min_separation=separation, apart_in=apart, ends=ends,
                sub_score=SCORES[case][0], gap_cost=SCORES[case][1], min_score=3, engine=engine,
            )  # fmt: skip
            assert found.tolist() == wanted[:k]


@pytest.mark.parametrize("apart", ["either", "both"])
@pytest.mark.parametrize("separation", [0, 4])
def test_matches_of_cells_that_are_not_held_at_once(
    apart: str,
    separation: int,
    swept_for_ends: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where too few cells are collected to know all ends, more sweeps follow, with more cells."""
    monkeypatch.setattr(driver, "HELD", 40)
    monkeypatch.setattr(driver, "EACH_MATCH", 2)
    monkeypatch.setattr(driver, "TILE", 400)
    monkeypatch.setattr(driver, "LEAST_CELLS", 1)
    for a, b in ((b"A" * 60, b"A" * 50), (letters(3, 70), letters(4, 60)), (b"AC" * 30,) * 2):
        wanted = by_definition(a, b, separation, apart == "both", True, 1, SCORES[1])
        for k in (1, 3, 10_000):
            swept_for_ends.clear()
            found = pysw_cl.best_ends(
                a, b, k=k, min_separation=separation, apart_in=apart, ends="matches",
                sub_score=SCORES[1][0], gap_cost=SCORES[1][1], engine="reference",
            )  # fmt: skip
            assert found.tolist() == wanted[:k]
            assert len(swept_for_ends) < 20


def test_ranges_strands_and_options() -> None:
    """The next pair lies in the range that is compared, on the strand that is compared."""
    a, b = letters(1, 90), letters(2, 80)
    ranges: dict[str, Any] = {"query_range": (20, 61), "target_range": (7, 70)}
    wanted = by_definition(a[20:61], b[7:70], 0, False, True, 1, SCORES[0])
    found = pysw_cl.best_ends(a, b, k=9_000, ends="matches", **ranges)
    assert found.tolist() == [(score, i + 20, j + 7) for score, i, j in wanted]
    back = pysw_cl.reverse_complement(a.decode())
    wanted = by_definition(back.encode(), b, 0, False, True, 1, SCORES[0])
    minus = pysw_cl.best_ends(a, b, k=9_000, ends="matches", strand="minus")
    assert [(s, 90 - i, j) for s, i, j, _ in minus.tolist()] == wanted
    for wrong in ({"ends": "pairs"}, {"apart_in": "none"}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            pysw_cl.best_ends(a, b, **wrong)


@pytest.mark.parametrize("both", [False, True])
def test_cells_that_are_apart_in_a_table(both: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(end_rules, "BLOCK", 3)
    monkeypatch.setattr(end_rules, "MOST", 15)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        side, separation, count = (int(rng.integers(1, most)) for most in (40, 9, 60))
        places = rng.permutation(side * side)[: rng.integers(0, 200)]
        cells = np.stack([-np.arange(len(places)), places // side, places % side], axis=1)
        wanted: list[list[int]] = []
        for cell in cells.tolist():
            gaps = ([abs(cell[1] - y), abs(cell[2] - x)] for _, y, x in wanted)
            least = ((min if both else max)(gap) >= separation for gap in gaps)
            if len(wanted) < count and all(least):
                wanted.append(cell)
        first = end_rules.apart(cells[:50], count, separation, both=both)
        assert end_rules.apart(cells[50:], count, separation, first, both).tolist() == wanted
