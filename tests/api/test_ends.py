"""``best_ends`` against all cells of the reference's matrix."""

from __future__ import annotations

import tracemalloc
from functools import cache
from typing import Any

import numpy as np
import pytest
from saving import turned
from whole_reference import align_reference

import pysw_cl
from pysw_cl.drivers import end_rules, ends as driver
from pysw_cl.errors import InputError
from pysw_cl.scoring.scoring import make_scoring
from pysw_cl.tiles.tile import Hit

ACGT = np.frombuffer(b"ACGT", np.uint8)
ENGINES = ("reference", "wavefront", "rowscan")


def letters(seed: int, length: int) -> bytes:
    return np.random.default_rng(seed).choice(ACGT, length).tobytes()


@cache
def by_definition(
    a: bytes, b: bytes, k: int, separation: int, least: float, sub_score: Any, gap_cost: Any
) -> list[tuple[float, int, int]]:
    """All cells of the matrix, sorted, and the greedy rule as it is said.  The ends for a smaller
    ``k`` are the first ones."""
    scoring = make_scoring(sub_score, gap_cost)
    codes = (scoring.query_encoding[np.frombuffer(a, np.uint8)],
             scoring.target_encoding[np.frombuffer(b, np.uint8)])  # fmt: skip
    h = align_reference(*codes, scoring, "local").matrices.h
    cells = [
        (h[i, j] / scoring.scale, int(i), int(j))
        for i, j in np.argwhere(h >= max(1, least * scoring.scale))
    ]
    cells.sort(key=lambda cell: (-cell[0], cell[1], cell[2]))
    kept: list[tuple[float, int, int]] = []
    apart = np.ones(h.shape, bool)  # is no kept cell nearer than the separation, either way?
    for score, i, j in cells:
        if len(kept) == k:
            break
        if separation == 0 or apart[i, j]:
            kept.append((score, i, j))
            near = (slice(max(0, at - separation + 1), at + separation) for at in (i, j))
            apart[tuple(near)] = False
    return kept


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("separation", [0, 1, 2, 7, 40])
def test_the_best_cells_in_order(engine: str, separation: int) -> None:
    """Of pairs with few and with many equal scores; more are asked for than there are, too."""
    rng = np.random.default_rng(separation)
    for case in range(6):
        m, n = (int(v) for v in rng.integers(1, 90, 2))
        a, b = letters(case, m), letters(case + 50, n)
        if case % 3 == 0:
            b = (a * 3)[: n + 1]
        scores: Any = [((1, -3), (3, 2)), ((2, -1), (1, 1)), ((1.5, -1), (0.5, 0.5))][case % 3]
        least = float(rng.integers(1, 4))
        wanted = by_definition(a, b, 10_000, separation, least, *scores)
        for k in (1, 5, 200, 10_000):
            found = pysw_cl.best_ends(
                a, b, k=k, min_separation=separation, sub_score=scores[0], gap_cost=scores[1],
                min_score=least, engine=engine,
            )  # fmt: skip
            assert found.tolist() == wanted[:k]


@pytest.mark.parametrize("engine", ["wavefront", "rowscan"])
def test_a_guessed_score(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first part of the target, where it is good, too high, and too low."""
    monkeypatch.setattr(driver, "LEAST_CELLS", 1)
    a = letters(1, 60)
    far = letters(2, 4000)
    for b in (far, a + far, far + a, a * 70):
        wanted = by_definition(a, b, 300, 0, 1, (1, -3), (3, 2))
        for k in (1, 20, 300):
            found = pysw_cl.best_ends(a, b, k=k, engine=engine)
            assert found.tolist() == wanted[:k]


@pytest.mark.parametrize("times", [1, 1000])
def test_a_guess_that_few_cells_reach(times: int, swept_for_ends: list[int]) -> None:
    """It falls by a match at least, however large scores are, so few sweeps follow; and of most
    cells of a sweep none is collected."""
    query = letters(1, 1500)
    target = bytearray(letters(2, 64_000))
    for place in (100, 300, 500, 700, *range(2_000, 58_000, 1_000)):
        target[place : place + 50] = query[700:750]
    how: dict[str, Any] = {"sub_score": (times, -3 * times), "gap_cost": (3 * times, 2 * times)}
    found = pysw_cl.best_ends(query, bytes(target), k=100, **how)
    assert sum(cells == 1500 * 64_000 for cells in swept_for_ends) <= 3
    wanted = pysw_cl.best_ends(query, bytes(target), k=100, engine="rowscan", **how)
    assert found.tolist() == wanted.tolist() and found[0]["score"] >= 50 * times


def test_ranges_and_align() -> None:
    """Coordinates are those of the whole sequences; the first end is that of `align`."""
    a, b = letters(1, 300), letters(1, 400)
    ranges: dict[str, Any] = {"query_range": (20, 250), "target_range": (30, 380)}
    best = pysw_cl.align(a, b, output="ends", **ranges)
    found = pysw_cl.best_ends(a, b, k=3, **ranges)
    assert found.dtype.names == ("score", "query_end", "target_end")
    assert found[0].tolist() == (best.score, best.query_end, best.target_end)
    assert found["score"].dtype == np.int64


def test_no_positive_cell() -> None:
    assert len(pysw_cl.best_ends("AAAA", "CCCC")) == 0
    assert len(pysw_cl.best_ends("ACGT", "ACGT", min_score=5)) == 0


@pytest.mark.parametrize("block", [1, 3, 64])
def test_cells_that_are_apart(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many cells are compared at once, with a table of all rows or of some."""
    monkeypatch.setattr(end_rules, "BLOCK", block)
    monkeypatch.setattr(end_rules, "MOST", 5 * block)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        side, separation, count = (int(rng.integers(1, most)) for most in (40, 12, 90))
        places = rng.permutation(side * side)[: rng.integers(0, 300)]
        cells = np.stack([-np.arange(len(places)), places // side, places % side], axis=1)
        wanted: list[list[int]] = []
        for cell in cells.tolist():
            if len(wanted) < count and all(
                max(abs(cell[1] - row), abs(cell[2] - column)) >= separation
                for _, row, column in wanted
            ):
                wanted.append(cell)
        assert end_rules.apart(cells, count, separation).tolist() == wanted


@pytest.mark.parametrize("engine", ENGINES)
def test_cells_that_are_not_held_at_once(
    engine: str, swept_for_ends: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Further sweeps find those that are not near one that is kept; few follow."""
    monkeypatch.setattr(driver, "HELD", 60)
    monkeypatch.setattr(driver, "TILE", 400)
    for a, separation in (
        (b"A" * 70, 9),
        (letters(3, 70), 9),
        (letters(3, 50), 3),
        (b"AC" * 30, 4),
    ):
        wanted = by_definition(a, a, 10_000, separation, 1, (1, -3), (3, 2))
        for k in (3, 30, 10_000):
            swept_for_ends.clear()
            found = pysw_cl.best_ends(a, a, k=k, min_separation=separation, engine=engine)
            assert found.tolist() == wanted[:k]
            assert len(swept_for_ends) <= 4 + 2 * len(a) ** 2 // 60


def test_no_more_than_there_are() -> None:
    for k in (16, 10**9, 10**30):
        for separation in (0, 1, 2):
            found = pysw_cl.best_ends("ACGT", "ACGT", k=k, min_separation=separation)
            assert len(found) == {0: 4, 1: 4, 2: 2}[separation]
            assert found[0].tolist() == (4, 4, 4)


@pytest.mark.parametrize("separation", [0, 50])
def test_cells_are_numbers_in_arrays(separation: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A million of them is soon there, and takes little memory."""
    made: list[int] = []
    init = Hit.__init__
    monkeypatch.setattr(Hit, "__init__", lambda hit, *cell: made.append(1) or init(hit, *cell))
    a = "A" * 1000
    pysw_cl.best_ends(a[:9], a, k=10**6)
    tracemalloc.start()
    found = pysw_cl.best_ends(a, a, k=10**6, min_separation=separation)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == (400 if separation else 10**6) and len(made) < 100
    assert peak < 150e6


@pytest.mark.parametrize("separation", [0, 6])
def test_both_strands(separation: int) -> None:
    """Those of the query and of its reverse complement, and the alignments that end there."""
    for seed in range(4):
        a, b = letters(seed, 40).decode(), letters(seed + 9, 60).decode()
        how: dict[str, Any] = {"k": 30, "min_separation": separation}
        every = [(-score, 0, *row) for score, *row in pysw_cl.best_ends(a, b, **how).tolist()]
        minus = pysw_cl.best_ends(turned(a), b, **how).tolist()
        every += [(-score, 1, *row) for score, *row in minus]
        wanted = [
            (-score, 40 - row if strand else row, column, ("plus", "minus")[strand])
            for score, strand, row, column in sorted(every)[:30]
        ]
        found = pysw_cl.best_ends(a, b, strand="both", **how)
        assert found.tolist() == wanted
        paths = pysw_cl.trace_ends(a, b, found, strand="both")
        for path, (score, row, column, strand) in zip(paths, wanted, strict=True):
            end = path.query_start if strand == "minus" else path.query_end
            assert (path.score, end, path.target_end, path.strand) == (score, row, column, strand)
        cells = [
            sum(path.stats.total_cells for path in pysw_cl.trace_ends(a, b, own, strand=strand))
            for strand in ("plus", "minus")
            for own in [found[found["strand"] == strand]]
        ]
        assert [path.stats.total_cells for path in paths] == [sum(cells), *[0] * (len(paths) - 1)]
        ranges: dict[str, Any] = {"query_range": (7, 33), "target_range": (2, 50)}
        first = pysw_cl.best_ends(a, b, k=1, strand="minus", **ranges)
        (path,) = pysw_cl.trace_ends(a, b, first, strand="minus", **ranges)
        assert path.cigar == pysw_cl.align(a, b, strand="minus", **ranges).cigar
    with pytest.raises(InputError, match="say their strand"):
        pysw_cl.trace_ends("ACGT", "ACGT", [(4, 4, 4)], strand="both")
    found["strand"][1] = "+"
    with pytest.raises(InputError, match="strand of end 1 must be 'plus' or 'minus', not '\\+'"):
        pysw_cl.trace_ends(a, b, found, strand="both")


def test_a_separation_beyond_every_matrix() -> None:
    a = "ACGT" * 200
    assert len(pysw_cl.best_ends(a, a, k=10, min_separation=1 << 70)) == 1


def test_auto_is_the_row_scan_for_short_queries() -> None:
    """And gives what the others give."""
    a, b = letters(1, 40), letters(2, 50_000)
    kinds = [
        pysw_cl.best_ends(a, b, k=50, min_separation=10, engine=name).tolist()
        for name in ("auto", "wavefront", "rowscan")
    ]
    assert kinds[0] == kinds[1] == kinds[2]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"k": 0}, "k must be"),
        ({"min_separation": -1}, "min_separation must be"),
        ({"min_separation": 1.5}, "min_separation must be"),
        ({"min_score": 0}, "min_score must be"),
        ({"engine": "columns"}, "does not exist"),
        ({"engine": 5}, "engine must be"),
        ({"engine": "rowscan", "plan": {"engine": "wavefront"}}, "not both"),
    ],
)
def test_what_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        pysw_cl.best_ends("ACGT", "ACGT", **given)


def test_progress() -> None:
    seen: list[tuple[int, int]] = []
    pysw_cl.best_ends(
        letters(1, 100), letters(2, 100), progress=lambda done, total: seen.append((done, total))
    )
    assert seen[-1] == (10_000, 10_000)
