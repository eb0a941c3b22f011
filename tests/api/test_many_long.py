"""``align_many`` with long targets: their row numbers, the width of their lanes, and paths that are
looked for near their ends alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from aligning import NO_FREE_ENDS
from helpers import ALL_FREE_ENDS, Case, FreeEnds, match_scoring, random_scoring
from many import LANES, OUTPUTS, align_many_stats, check, random_pairs, skip_lanes
from tuned import tuned

import pysw_cl
from pysw_cl.drivers.batch_layout import parts
from pysw_cl.drivers.options import FIELDS
from pysw_cl.engines.batch.scores import global_fits, path_reach
from pysw_cl.scoring.scoring import Scoring

LETTERS = np.frombuffer(b"ACGT", np.uint8)


def reads(rng: np.random.Generator, scoring: Scoring, count: int, longest: int) -> list[Case]:
    """Short queries, and long targets that most of them are a part of, with changes."""
    size, found = len(scoring.letters), []
    for _ in range(count):
        m, n = int(rng.integers(1, 14)), int(rng.integers(1, longest))
        query, target = (rng.integers(0, size, k).astype(np.uint8) for k in (m, n))
        for _ in range(int(rng.integers(0, 3))):
            at = int(rng.integers(0, n))
            some = query[rng.random(m) < 0.9][: n - at]
            target[at : at + len(some)] = some
        found.append(Case(query, target, scoring))
    return found


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("seed", range(6))
def test_paths_near_their_ends(lanes: str, seed: int) -> None:
    skip_lanes(lanes)
    rng = np.random.default_rng(seed)
    scoring = random_scoring(rng, int(rng.choice([2, 4, 4, 20])))
    if seed > 2:
        scoring = match_scoring(*[(1, -3, 3, 2), (2, -1, 0, 1), (1, -1, 2, 1)][seed - 3])
    cases = reads(rng, scoring, 90, 260)
    outputs = ["matches", "path"]
    with tuned({"pairs.far": 1}):
        check(cases, "local", NO_FREE_ENDS, lanes, outputs)
        for free_ends in ((True, True, False, False), (True, False, False, False)):
            check(cases, "global", free_ends, lanes, outputs)
        check(cases, "global", ALL_FREE_ENDS[rng.integers(16)], lanes, outputs)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("seed", range(4))
def test_ends_first_once_little_is_near_them(lanes: str, seed: int) -> None:
    skip_lanes(lanes)
    rng = np.random.default_rng([seed, 1])
    scoring = random_scoring(rng, int(rng.choice([2, 4, 4, 20])))
    cases = random_pairs(rng, scoring, 200, 50)
    with tuned({"pairs.first_paths": 3, "pairs.near_share": 1.0, "pairs.cpu_pairs": 90}):
        check(cases, "local", NO_FREE_ENDS, lanes, ["matches", "path"])
        check(cases, "global", ALL_FREE_ENDS[rng.integers(16)], lanes, ["matches", "path"])


#: The starts of all local paths are found, once some paths are known.
STARTS = {"pairs.first_paths": 3, "pairs.near_share": 1.0, "pairs.cpu_pairs": 90}
STARTS |= {"pairs.between_share": 1000.0}


@pytest.mark.parametrize("lanes", ["vector", "vector32"])
@pytest.mark.parametrize("gaps", [None, (0, 0), (3, 0), (0, 1), (4, 2)], ids=str)
def test_starts_of_paths(lanes: str, gaps: tuple[int, int] | None) -> None:
    """Repeats, whose best paths have many starts; long runs of pairs that score 0; gaps for
    nothing, with which best cells are everywhere."""
    skip_lanes(lanes)
    rng = np.random.default_rng([3, sum(gaps or ())])
    for match, mismatch in ((2, -2), (1, 0), (1, -1), (3, -1), (-1, -2)):
        scoring = random_scoring(rng, int(rng.choice([2, 4, 4, 20])))
        if gaps is not None:
            scoring = match_scoring(match, mismatch, *gaps, letters="ACGT"[: rng.integers(2, 5)])
        cases = random_pairs(rng, scoring, 150, 50) + reads(rng, scoring, 60, 90)
        with tuned(STARTS):
            check(cases, "local", NO_FREE_ENDS, lanes, ["matches", "path"])


def test_starts_are_found_of_large_pairs_with_short_paths() -> None:
    """Beside the sweep next to nothing."""
    rng = np.random.default_rng(4)
    pairs = [tuple(LETTERS[rng.integers(0, 4, k)] for k in (300, 400)) for _ in range(900)]
    whole = 900 * 300 * 400
    for given in (pairs, pysw_cl.Batch.from_sequences(pairs)):
        with tuned({"pairs.first_paths": 100}):
            rows, _ = align_many_stats(given, output="path")
            again, stats = align_many_stats(given, output="path")  # (a Batch knows its paths now)
        with tuned({"pairs.near_share": 0}):
            wanted = pysw_cl.align_many(pairs, output="path")
        assert (rows == wanted).all()
        assert (again == wanted).all()
        assert whole < stats.total_cells < 1.05 * whole


@pytest.mark.parametrize("seed", range(3))
def test_moves_of_a_whole_group_that_take_too_much_memory(seed: int) -> None:
    """Those between starts and ends are few."""
    rng = np.random.default_rng(seed)
    pairs = random_pairs(rng, match_scoring(1, -3, 5, 2), 70, 40)
    with tuned({"pairs.group_moves": 1 << 14}):
        check(pairs, "local", NO_FREE_ENDS, "vector", ["matches", "path"])
    texts = [tuple(LETTERS[rng.integers(0, 4, 60)] for _ in range(2)) for _ in range(40)]
    with tuned({"pairs.group_moves": 1 << 16, "pairs.first_paths": 1}):
        _, stats = align_many_stats(texts, output="path")
    assert {kind.split("/")[0] for kind in stats.cells} == {"batch"}


def test_little_is_near_the_ends_of_random_pairs() -> None:
    rng = np.random.default_rng(2)
    pairs = [(LETTERS[rng.integers(0, 4, 80)], LETTERS[rng.integers(0, 4, 90)]) for _ in range(900)]
    whole, same = 900 * 80 * 90, [(a, a) for a, _ in pairs]
    with tuned({"pairs.first_paths": 100, "pairs.between_share": 0}):
        rows, stats = align_many_stats(pairs, output="path")
        assert 1.1 * whole < stats.total_cells < 1.6 * whole
        _, stats = align_many_stats(same, output="path")  # all of these are near
        assert stats.total_cells == sum(len(a) ** 2 for a, _ in pairs)
    assert (rows == pysw_cl.align_many(pairs, output="path")).all()


def test_what_is_compared_again_is_small() -> None:
    rng = np.random.default_rng(1)
    pairs = [(LETTERS[rng.integers(0, 4, 50)], LETTERS[rng.integers(0, 4, 9000)])] * 40
    _, whole = align_many_stats(pairs, output="ends")
    for mode, free_ends in (("local", False), ("global", (True, True, False, False))):
        for output in ("matches", "path"):
            given: dict[str, Any] = {"mode": mode, "free_ends": free_ends, "output": output}
            _, stats = align_many_stats(pairs, **given)
            assert whole.total_cells < stats.total_cells < 1.05 * whole.total_cells


@pytest.mark.parametrize("output", ["matches", "path"])
@pytest.mark.parametrize("mode", ["local", "global"])
def test_both_strands_of_long_targets(output: str, mode: str) -> None:
    """Ends are found on both, and then what is near those of the better one."""
    rng = np.random.default_rng(12)
    complement = bytes.maketrans(b"ACGT", b"TGCA")
    pairs, cells = [], 0
    for k in range(60):
        m, n = int(rng.integers(1, 40)), int(rng.integers(1, 400 if k % 3 else 45))
        target = LETTERS[rng.integers(0, 4, n)].tobytes()
        at = int(rng.integers(0, n))
        query = target[at : at + m] or b"A"
        pairs.append((query if k % 2 else query.translate(complement)[::-1], target))
        cells += len(query) * n
    free_ends = (True, True, False, False) if mode == "global" else False
    given: dict[str, Any] = {"mode": mode, "free_ends": free_ends, "strand": "both"}
    rows, stats = align_many_stats(pairs, output=output, **given)
    for row, (a, b) in zip(rows, pairs, strict=True):
        one = pysw_cl.align(a, b, output="path", **given)
        for name in rows.dtype.names:
            assert row[name] == getattr(one, name), (name, a, b)
    assert 2 * cells < stats.total_cells < 2.6 * cells


def test_reach() -> None:
    m, scores = np.array([10, 10, 10]), np.array([20, 0, 7])
    scoring = match_scoring(2, -9, 5, 3)
    assert path_reach(scoring, m, scores, True) is not None
    assert path_reach(scoring, m, scores, True).tolist() == [11, 17, 15]  # type: ignore[union-attr]
    for ends, bounded in ((0, False), (1, True), (3, True), (2, False), (4, False), (7, False)):
        assert (path_reach(scoring, m, scores, False, ends) is not None) == bounded
    assert path_reach(match_scoring(2, -9, 5, 0), m, scores, True) is None


@pytest.mark.parametrize("lanes", LANES)
def test_row_numbers_of_32_bits(lanes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if sequences of 20 letters were too long for 16.  (How letters are scored has to do with
    it in no lanes, so each has one of two kinds.)"""
    skip_lanes(lanes)
    monkeypatch.setattr("pysw_cl.planning.pair_batch.LONGEST", 20)
    rng = np.random.default_rng(4)
    scorings = match_scoring(1, -3, 3, 2), random_scoring(rng, 20)
    cases = random_pairs(rng, scorings[lanes in ("vector", "scalar32")], 110, 60)
    check(cases, "local", NO_FREE_ENDS, lanes, OUTPUTS)
    for free_ends in ALL_FREE_ENDS[:: 3 if lanes == "vector" else 7]:
        check(cases, "global", free_ends, lanes, OUTPUTS)


@pytest.mark.parametrize("mode", ["local", "global"])
def test_targets_of_more_than_16_bits(mode: str) -> None:
    rng = np.random.default_rng(6)
    target = LETTERS[rng.integers(0, 4, 70_001)]
    queries = [target[at : at + 40].copy() for at in (0, 31_990, 32_760, 65_520, 69_961)]
    queries += [target[at : at + 60][::-1].copy() for at in (5, 40_000)]
    pairs = [
        (q.tobytes(), target[: 70_001 - 9000 * (k % 3)].tobytes()) for k, q in enumerate(queries)
    ]
    pairs *= 2
    free_ends = (True, True, False, False) if mode == "global" else False
    given: dict[str, Any] = {"mode": mode, "free_ends": free_ends}
    for output in FIELDS:
        rows, stats = align_many_stats(pairs, output=output, **given)
        assert all(name.startswith("batch/") for name in stats.cells), stats.cells
        for row, (a, b) in zip(rows[: len(queries)], pairs, strict=False):
            one = pysw_cl.align(a, b, output="path", **given)
            for name in FIELDS[output]:
                assert row[name] == getattr(one, name), (name, output)
        assert (rows[: len(queries)] == rows[len(queries) :]).all()


def test_free_leading_ends_narrow_the_lanes() -> None:
    scoring, m, n = (
        match_scoring(1, -3, 3, 2),
        np.array([150, 16_375, 16_376]),
        np.array([10**6] * 3),
    )
    assert global_fits(scoring, m, n, 16).tolist() == [False] * 3
    assert global_fits(scoring, m, n, 16, 1).tolist() == [True, True, False]
    assert global_fits(scoring, n, m, 16, 4).tolist() == [True, True, False]
    assert global_fits(scoring, m, n, 16, 2 | 8).tolist() == [False] * 3


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize(
    "free_ends", [(True, True, False, False), (False, False, True, True), (True,) * 4]
)
def test_values_at_the_edge_of_16_bits_with_free_leading_ends(
    free_ends: FreeEnds, lanes: str
) -> None:
    """Queries whose gap is as low as 16 bits hold, and one letter more, under long targets."""
    skip_lanes(lanes)
    scoring = match_scoring(1, -30_000, 0, 500)
    rng = np.random.default_rng(9)
    cases = []
    for short in (61, 62, 63, 64, 65):
        for long in (70, 300):
            a, b = (rng.integers(0, 4, k).astype(np.uint8) for k in (short, long))
            cases += [Case(a, b, scoring), Case(b, a, scoring)]
    check(cases, "global", free_ends, lanes)


def test_letters_of_an_object_count_once() -> None:
    target = "ACGT" * 300
    pairs = [("ACGTT", target)] * 100
    assert len(list(parts(pairs, 1000, 3000, 10_000))) == 1
    apart = [("ACGTT", "ACGT" * 299 + "ACG" + "T" * (k % 3)) for k in range(100)]
    assert len(list(parts(apart, 1000, 3000, 10_000))) > 40
    long = [("ACGTT", target), ("A" * 2000, "C"), ("ACGTT", target)] * 30
    ((part, lengths, left),) = parts(long, 1000, 3000, 1500)
    assert len(part) == 60 and len(left) == 30 and len(lengths) == 90
