"""``align_top``: alignment by alignment what the definition says, whatever is cut where."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from aligning import SCALAR, SMALL, Kernels, moves, needs_lanes, small_grid, sub_score
from helpers import Case, decode, match_scoring, mutated, random_case
from suboptimal import by_definition, check_invariants, plain
from test_published import DATA, needs_data

import pysw_cl
from pysw_cl.errors import InputError

REFERENCE: dict[str, Any] = {"engine": "reference"}


def top_of(case: Case, k: int, **options: Any) -> list[pysw_cl.Alignment]:
    """``align_top`` on a case's letters."""
    scoring = case.scoring
    affine = (scoring.gap_open, scoring.gap_extend)
    return pysw_cl.align_top(
        decode(case.query, scoring),
        decode(case.target, scoring),
        k=k,
        sub_score=sub_score(scoring),
        gap_cost=affine if scoring.gap_open else scoring.gap_extend,
        **options,
    )


def check(case: Case, k: int, grid: tuple[int, int], **options: Any) -> list[pysw_cl.Alignment]:
    """Every result is, to the last move, that of the definition."""
    with small_grid(*grid):
        found = top_of(case, k, **options)
    wanted = by_definition(case, k, options.get("min_score", 1))
    what = f"{case} {grid=} {options}"
    assert len(found) == len(wanted), what
    for one, other in zip(found, wanted, strict=True):
        assert plain(one)[:5] == (
            other.score,
            other.query_start,
            other.query_end,
            other.target_start,
            other.target_end,
        ), what
        assert moves(one).tolist() == other.moves, what
        assert one.rescore() == one.score, what
    return found


def any_case(rng: np.random.Generator, longest: int) -> Case:
    """Few letters and repeats, which make ties; often a sequence with itself."""
    case = random_case(rng, longest)
    if rng.random() < 0.25:  # a sequence with itself
        return Case(case.query, case.query, case.scoring)
    return case


def any_cuts(rng: np.random.Generator) -> dict[str, Any]:
    """Where a matrix is cut into tiles."""
    return {
        "tile_cells": int(rng.choice([20, 100, 1 << 22])),
        "traceback_tile_cells": int(rng.choice([16, 200, 1 << 22])),
    }


GRIDS = [(16, 2048), (3, 6), (16, 2), (2, 9), (30, 1)]  # the last: a tile a cell


@pytest.mark.parametrize("seed", range(8))
def test_is_the_definition(seed: int) -> None:
    """Random small pairs, affine and linear gaps, on the reference engine."""
    rng = np.random.default_rng(seed)
    for _ in range(12):
        case = any_case(rng, 24)
        grid = GRIDS[rng.integers(len(GRIDS))]
        plan = {**REFERENCE, **any_cuts(rng)}
        check_invariants(check(case, int(rng.integers(1, 7)), grid, plan=plan))


@pytest.mark.parametrize(
    "kernels",
    [
        SMALL[0],
        pytest.param(SMALL[3], marks=pytest.mark.long),
        pytest.param(SCALAR[0], marks=pytest.mark.long),
    ],
    ids=str,
)
def test_on_a_device(kernels: Kernels) -> None:
    """The same through the kernels, narrow lanes for what no path touched, both forms."""
    needs_lanes(kernels)
    rng, kinds = np.random.default_rng(11), set()
    for _ in range(15):
        case = any_case(rng, 60)
        if kernels == SMALL[0]:  # fewer kernels to build: matrices are for the long ones
            match, mismatch, opening, extension = (int(v) for v in rng.integers(1, 4, 4))
            scoring = match_scoring(match, -mismatch, opening, extension, case.scoring.letters)
            case = replace(case, scoring=scoring)
        plan = kernels.plan(**any_cuts(rng))
        for one in check(case, 4, GRIDS[rng.integers(len(GRIDS))], plan=plan):
            kinds |= set(one.stats.cells)
    assert all(kind.startswith("wavefront/") for kind in kinds)


def test_same_with_any_plan() -> None:
    """Sequences of several hundred letters: engines, tile sizes and grids agree."""
    rng = np.random.default_rng(12)
    scoring = match_scoring(2, -3, 3, 1)
    query = rng.integers(0, 4, 300).astype(np.uint8)
    target = np.concatenate([query[150:], mutated(rng, query, 280, 4), query[:90]])
    case = Case(query, target, scoring)
    wanted = [plain(one) for one in top_of(case, 12, plan=REFERENCE)]
    check_invariants(top_of(case, 12, plan=REFERENCE))
    assert len(wanted) == 12
    reference = {**REFERENCE, "tile_cells": 5000, "traceback_tile_cells": 3000}
    needs_lanes(SMALL[0])
    for plan in (reference, SMALL[0].plan(tile_cells=9000, traceback_tile_cells=2000)):
        for grid in [(16, 2048), (5, 40)]:
            with small_grid(*grid):
                assert [plain(one) for one in top_of(case, 12, plan=plan)] == wanted


# What has to hold without a second computation


@pytest.mark.parametrize("seed", range(3))
def test_repeats_and_itself(seed: int) -> None:
    """A tandem repeat with itself: the whole diagonal, then one shifted by each unit."""
    rng = np.random.default_rng(20 + seed)
    unit = rng.permutation(np.repeat(np.arange(4), 3)).astype(np.uint8)
    codes = np.tile(unit, 5)
    found = top_of(Case(codes, codes, match_scoring(1, -3, 3, 2)), 5, plan=REFERENCE)
    check_invariants(found)
    assert [one.score for one in found] == [60, 48, 48, 36, 36]
    shifts = [(one.query_start, one.target_start) for one in found]
    assert shifts == [(0, 0), (0, 12), (12, 0), (0, 24), (24, 0)]


@pytest.mark.parametrize("plan", [REFERENCE, SMALL[0].plan()], ids=["reference", "device"])
def test_first_is_align(plan: dict[str, Any]) -> None:
    if "lanes" in plan:
        needs_lanes(plan["lanes"])
    rng = np.random.default_rng(30)
    for _ in range(8):
        case = any_case(rng, 50)
        scoring = case.scoring
        affine = (scoring.gap_open, scoring.gap_extend)
        one = pysw_cl.align(
            decode(case.query, scoring),
            decode(case.target, scoring),
            sub_score=sub_score(scoring),
            gap_cost=affine,
            plan=plan,
        )
        found = top_of(case, 1, plan=plan)
        assert [plain(f) for f in found] == ([plain(one)] if one.score else [])
        assert all(str(f.execution) for f in found) and len(found) <= 1


def test_only_what_a_path_touches_is_computed_again() -> None:
    """Unrelated copies far apart: few tiles of the grid follow."""
    rng = np.random.default_rng(31)
    piece = rng.integers(0, 4, 40).astype(np.uint8)
    query, target = (rng.integers(0, 4, 640).astype(np.uint8) for _ in range(2))
    query[300:340] = target[10:50] = target[560:600] = piece
    with small_grid(16, 40):
        one, two, three = top_of(Case(query, target, match_scoring(1, -3, 3, 2)), 3, plan=REFERENCE)
    assert one.target_start is not None and one.target_start <= 10
    assert (one.target_end, two.target_end) == (50, 600)
    cells = [found.stats.total_cells for found in (one, two, three)]
    assert cells[0] > 640 * 640 > 12 * max(cells[1:])
    assert three.score < 20


def test_least_score_and_count() -> None:
    a, b = "ACGTACGTTTGGGG", "ACGTACGCCGGGG"
    found = pysw_cl.align_top(a, b, k=100, plan=REFERENCE)
    assert [one.score for one in found[:2]] == [7, 4]
    scores = [one.score for one in found]
    assert scores[-1] == 1
    assert len(found) < 100
    assert len(pysw_cl.align_top(a, b, k=10**30, plan=REFERENCE)) == len(found)
    for least in (2, 2.5, 4, 7, 8):
        some = pysw_cl.align_top(a, b, k=100, min_score=least, plan=REFERENCE)
        assert [one.score for one in some] == [score for score in scores if score >= least]
    assert [plain(one) for one in pysw_cl.align_top(a, b, k=2, plan=REFERENCE)] == [
        plain(one) for one in found[:2]
    ]
    assert pysw_cl.align_top("AAAA", "CCCC", plan=REFERENCE) == []


def test_halves() -> None:
    """Scores with halves: the least score is in the scoring's own units."""
    for least, scores in [(0.5, [1.5, 1.0, 1.0]), (1, [1.5, 1.0, 1.0]), (1.1, [1.5]), (1.6, [])]:
        found = pysw_cl.align_top(
            "AAACCTG",
            "AAATCC",
            sub_score=(0.5, -9),
            gap_cost=9,
            min_score=least,
            plan=REFERENCE,
            k=3,
        )
        assert [one.score for one in found] == scores


@pytest.mark.parametrize("output", ["score", "ends", "path"])
def test_output(output: str) -> None:
    """What a result has; scores and ends are the same."""
    a, b = "ACGTACGTTTGGGG", "ACGTACGCCGGGG"
    full = pysw_cl.align_top(a, b, k=3, plan=REFERENCE)
    found = pysw_cl.align_top(a, b, k=3, plan=REFERENCE, output=output)
    assert [one.score for one in found] == [one.score for one in full]
    for one, other in zip(found, full, strict=True):
        ends = one.query_end, one.target_end
        assert ends == ((None, None) if output == "score" else (other.query_end, other.target_end))
        assert one.cigar == (other.cigar if output == "path" else None)
        assert one.query_start == (other.query_start if output == "path" else None)


def test_cells_that_outgrew_their_lanes_are_counted() -> None:
    rng = np.random.default_rng(33)
    b = "".join(rng.choice([*"ACGT"], 3000))
    a = b[:1400] + b[1410:]
    one, (top,) = pysw_cl.align(a, b, output="ends"), pysw_cl.align_top(a, b, k=1)
    assert top.score == one.score and (top.stats.again > 0) >= (one.stats.again > 0)


def test_progress_and_stats() -> None:
    calls: list[tuple[int, int]] = []
    rng = np.random.default_rng(32)
    case = Case(
        *(rng.integers(0, 4, 90).astype(np.uint8) for _ in range(2)), match_scoring(1, -3, 3, 2)
    )
    plan = {**REFERENCE, "tile_cells": 100}
    with small_grid(3, 9):
        found = top_of(case, 3, plan=plan, progress=lambda *call: calls.append(call))
    done = [call[0] for call in calls]
    assert done == sorted(done)
    total = calls[0][1]
    assert total > 8100 and calls[-1] == (total, total)
    assert all(call[1] == total for call in calls)
    assert found[0].stats.total_cells >= 8100
    assert all(one.stats.seconds > 0 and one.plan.engine == "reference" for one in found)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        top_of(case, 3, plan=plan, progress=stop)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": 0}, "k must be"),
        ({"k": 1.5}, "k must be"),
        ({"k": True}, "k must be"),
        ({"k": "3"}, "k must be"),
        ({"min_score": 0}, "min_score must be"),
        ({"min_score": -1}, "min_score must be"),
        ({"min_score": float("nan")}, "min_score must be"),
        ({"min_score": "1"}, "min_score must be"),
        ({"min_score": None}, "min_score must be"),
        ({"output": "all"}, "output must be"),
        ({"progress": 1}, "progress must be"),
        ({"wildcard": "NN"}, "wildcard"),
        ({"plan": {"engine": "magic"}}, "magic"),
    ],
)
def test_errors(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        pysw_cl.align_top("ACGT", "ACGT", **{"plan": REFERENCE, **options})


# Real sequences


def records(*names: str) -> list[Any]:
    """One record of each file, by its name under the test data's dna folder."""
    from pysw_cl.sequences.reading import read_fasta

    return [next(read_fasta(DATA / "dna" / name)) for name in names]


@needs_data
def test_mitochondria_that_start_at_different_places() -> None:
    """The chimpanzee's record starts 576 bases later on the circle: the second alignment is the
    rest of the first one, from the other end of both."""
    human, chimp = records("NC_012920.1.fasta", "GU112745.1.fasta")
    plan = {"alpha": 8}
    found = pysw_cl.align_top(human, chimp, k=3, plan=plan)
    check_invariants(found)
    assert plain(found[0]) == plain(pysw_cl.align(human, chimp, plan=plan))
    assert found[0].score == 10642
    second = found[1]
    assert second.query_end is not None and second.query_end <= 576
    assert second.target_start is not None and second.target_start >= 15989


@needs_data
@pytest.mark.long
def test_herpesviruses() -> None:
    """Two genomes of 160,000 and more bases: the same with other tiles."""
    a, b = records("NC_000898.1.fasta", "NC_007605.1.fasta")
    found = pysw_cl.align_top(a, b, k=6)
    check_invariants(found)
    assert found[0].score == 18
    other = pysw_cl.align_top(a, b, k=6, plan={"tile_cells": 10**8, "traceback_tile_cells": 10**6})
    assert [plain(one) for one in other] == [plain(one) for one in found]
