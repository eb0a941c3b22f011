"""The NumPy reference against programs and definitions that share no line with it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import parasail
import pytest
from Bio import Align
from helpers import (
    ALL_FREE_ENDS,
    LETTERS,
    PARASAIL_FREE_ENDS,
    Case,
    FreeEnds,
    cases,
    decode,
    make_scoring,
    match_scoring,
    random_case,
    rescore,
)
from hypothesis import given, settings, strategies as st
from skbio import SubstitutionMatrix
from skbio.alignment import align_score, pair_align
from whole_reference import ReferenceAlignment, align_reference

from pysw_cl.engines.reference import ReferenceEngine, fill
from pysw_cl.errors import InputError
from pysw_cl.scoring.precision import UNREACHABLE
from pysw_cl.tiles.edges import Border, Edge
from pysw_cl.tiles.tile import TileJob

biopython: Any = Align  # it has no types
NO_FREE_ENDS: FreeEnds = (False, False, False, False)


def random_cases(seed: int, count: int, longest: int = 60, **options: bool) -> list[Case]:
    rng = np.random.default_rng(seed)
    return [random_case(rng, longest, **options) for _ in range(count)]


def describe(case: Case) -> str:
    scoring = case.scoring
    return (
        f"query={decode(case.query, scoring)} target={decode(case.target, scoring)} "
        f"gaps={scoring.gap_open},{scoring.gap_extend} matrix={scoring.matrix.tolist()}"
    )


def check_like_skbio(case: Case, mode: str, free_ends: FreeEnds) -> ReferenceAlignment:
    """Score, ends and path, letter for letter, are those of ``pair_align``."""
    ours = align_reference(case.query, case.target, case.scoring, mode, free_ends)
    query, target = decode(case.query, case.scoring), decode(case.target, case.scoring)
    scoring = case.scoring
    gap_cost = (scoring.gap_open, scoring.gap_extend)
    score, paths, _ = pair_align(
        query,
        target,
        mode=mode,
        sub_score=SubstitutionMatrix(scoring.letters, scoring.matrix.astype(float)),
        gap_cost=gap_cost if scoring.gap_open else scoring.gap_extend,
        free_ends=free_ends,
        trim_ends=True,
    )
    what = f"{mode} {free_ends} {describe(case)}"
    assert ours.score == score, what
    coordinates = (ours.query_start, ours.query_end, ours.target_start, ours.target_end)
    if paths:
        path = paths[0]
        assert coordinates == tuple(path.ranges.ravel().tolist()), what
        moves = np.repeat(path.states[0], path.lengths)
        assert ours.moves.tolist() == moves.tolist(), what
    else:
        assert (ours.score, coordinates, len(ours.moves)) == (0, (0, 0, 0, 0), 0), what
    part = case.query[slice(*coordinates[:2])], case.target[slice(*coordinates[2:])]
    assert rescore(*part, scoring, ours.moves) == ours.score, what
    return ours


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("mode", ["local", "global"])
def test_paths_are_those_of_scikit_bio(mode: str, linear: bool) -> None:
    for case in random_cases(11, 300, linear=linear):
        check_like_skbio(case, mode, NO_FREE_ENDS)


@pytest.mark.parametrize("free_ends", ALL_FREE_ENDS)
def test_free_ends_are_those_of_scikit_bio(free_ends: FreeEnds) -> None:
    for case in random_cases(12, 60, longest=40):
        check_like_skbio(case, "global", free_ends)


@given(cases(longest=200), st.sampled_from(["local", "global"]), st.sampled_from(ALL_FREE_ENDS))
@settings(max_examples=100, deadline=None)
def test_any_case_is_that_of_scikit_bio(case: Case, mode: str, free_ends: FreeEnds) -> None:
    check_like_skbio(case, mode, free_ends)


def test_long_pairs_are_those_of_scikit_bio() -> None:
    for case in random_cases(13, 15, longest=300):
        check_like_skbio(case, "local", NO_FREE_ENDS)
        check_like_skbio(case, "global", (True, True, True, True))


@pytest.mark.parametrize("mode", ["local", "global"])
def test_every_tiny_pair_is_that_of_scikit_bio(mode: str) -> None:
    """All pairs over two letters up to length 3, a few scorings that tie often."""
    words = [w for k in (1, 2, 3) for w in itertools.product((0, 1), repeat=k)]
    for numbers in [(1, -1, 1, 1), (1, -2, 0, 1), (2, -1, 1, 0), (1, 0, 0, 0)]:
        scoring = match_scoring(*numbers, letters="AC")
        for query, target in itertools.product(words, words):
            case = Case(np.array(query, np.uint8), np.array(target, np.uint8), scoring)
            check_like_skbio(case, mode, NO_FREE_ENDS)


def test_align_score_agrees() -> None:
    """scikit-bio's scorer, given the two rows of a global alignment, finds the same score."""
    for case in random_cases(14, 60):
        ours = align_reference(case.query, case.target, case.scoring, "global")
        scoring = case.scoring
        query, target = (iter(decode(x, scoring)) for x in (case.query, case.target))
        rows = [
            "".join("-" if move == gap else next(letters) for move in ours.moves)
            for gap, letters in ((1, query), (2, target))
        ]
        theirs = align_score(
            rows,
            sub_score=SubstitutionMatrix(scoring.letters, scoring.matrix.astype(float)),
            gap_cost=(scoring.gap_open, scoring.gap_extend),
            free_ends=False,
        )
        assert ours.score == theirs, describe(case)


def parasail_score(function: str, case: Case) -> int:
    scoring = case.scoring
    matrix = parasail.matrix_create(scoring.letters, 0, 0)
    for (q, t), score in np.ndenumerate(scoring.matrix):
        matrix[q, t] = int(score)
    query, target = decode(case.query, scoring), decode(case.target, scoring)
    first = scoring.gap_open + scoring.gap_extend
    result = getattr(parasail, function)(query, target, first, scoring.gap_extend, matrix)
    return int(result.score)


@pytest.mark.parametrize(("mode", "function"), [("local", "sw"), ("global", "nw")])
def test_scores_are_those_of_parasail(mode: str, function: str) -> None:
    for case in random_cases(21, 200, longest=80):
        ours = align_reference(case.query, case.target, case.scoring, mode)
        assert ours.score == parasail_score(function, case), describe(case)


@pytest.mark.parametrize(("function", "free_ends"), PARASAIL_FREE_ENDS)
def test_free_end_scores_are_those_of_parasail(function: str, free_ends: FreeEnds) -> None:
    """parasail names the sequence whose own letters stay out for free ("qb": the query's first
    letters, so the leading gap is the target's), and looks for the end among inner cells, so the
    border is left out here."""
    for case in random_cases(22, 80):
        h = align_reference(case.query, case.target, case.scoring, "global", free_ends).matrices.h
        best = h[-1, -1]
        if free_ends[1]:
            best = max(best, h[-1, 1:].max())
        if free_ends[3]:
            best = max(best, h[1:, -1].max())
        assert best == parasail_score(function, case), f"{function} {describe(case)}"


@pytest.mark.parametrize("mode", ["local", "global"])
def test_scores_are_those_of_biopython(mode: str) -> None:
    for case in random_cases(23, 150):
        scoring = case.scoring
        aligner = biopython.PairwiseAligner(mode=mode)
        aligner.substitution_matrix = biopython.substitution_matrices.Array(
            scoring.letters, dims=2, data=scoring.matrix.astype(float)
        )
        aligner.open_gap_score = -float(scoring.gap_open + scoring.gap_extend)
        aligner.extend_gap_score = -float(scoring.gap_extend)
        theirs = aligner.score(decode(case.query, scoring), decode(case.target, scoring))
        ours = align_reference(case.query, case.target, scoring, mode)
        assert ours.score == theirs, describe(case)


@pytest.mark.parametrize("floor", [None, 0])
def test_cells_are_those_of_the_definition(floor: int | None) -> None:
    """Of the letters and all gaps that end in a cell, one by one; with any borders."""
    rng = np.random.default_rng(19)
    for _ in range(60):
        case = random_case(rng, 9)
        scoring, (m, n) = case.scoring, (len(case.query), len(case.target))
        opening, extension = scoring.gap_open, scoring.gap_extend
        top, left = rng.integers(-40, 40, (2, n)), rng.integers(-40, 40, (2, m))
        for border in (top, left):  # a gap that goes on, or is opened there
            np.maximum(border[1], border[0] - opening, out=border[1])
        forbidden = np.array([rng.integers(0, m, 4), rng.integers(0, n, 4)])
        found = fill(case.query, case.target, scoring, floor, 7, tuple(top), tuple(left), forbidden)
        h, pairs = found.h, set(zip(*forbidden.tolist(), strict=True))
        for i, j in itertools.product(range(1, m + 1), range(1, n + 1)):
            e = [left[1][i - 1] - j * extension]
            e += [h[i, k] - opening - (j - k) * extension for k in range(1, j)]
            f = [top[1][j - 1] - i * extension]
            f += [h[k, j] - opening - (i - k) * extension for k in range(1, i)]
            assert (found.e[i, j], found.f[i, j]) == (max(e), max(f))
            best = [max(e), max(f), *([] if floor is None else [floor])]
            if (i - 1, j - 1) not in pairs:
                score = scoring.matrix[case.query[i - 1], case.target[j - 1]]
                best.append(h[i - 1, j - 1] + score)
            assert h[i, j] == max(best)


def whole_job(case: Case, local: bool, free: bool, **options: object) -> TileJob:
    border = Border(local or free, case.scoring.gap_open, case.scoring.gap_extend)
    parts: dict[str, object] = {
        "query": case.query,
        "target": case.target,
        "scoring": case.scoring,
        "floor": 0 if local else None,
        "corner": 0,
        "top": border.read(0, len(case.target)),
        "left": border.read(0, len(case.query)),
        **options,
    }
    return TileJob(**parts)  # type: ignore[arg-type]


def cut(rng: np.random.Generator, length: int) -> list[int]:
    inner = rng.choice(np.arange(1, length + 1), rng.integers(0, min(length, 6)), replace=False)
    return sorted({0, length, *inner.tolist()})


def join(edges: list[Edge]) -> Edge:
    return Edge(np.concatenate([e.h for e in edges]), np.concatenate([e.x for e in edges]))


def part_of(edge: Edge, start: int, stop: int) -> Edge:
    return Edge(edge.h[start:stop], edge.x[start:stop])


def same_edge(one: Edge, other: Edge) -> bool:
    return np.array_equal(one.h, other.h) and np.array_equal(one.x, other.x)


@pytest.mark.parametrize("local", [True, False])
def test_tiles_joined_by_edges_are_one_tile(local: bool) -> None:
    rng = np.random.default_rng(31)
    engine = ReferenceEngine()
    for case in random_cases(32, 60):
        job = whole_job(case, local, free=bool(rng.integers(2)), best=True, count=3)
        whole = engine.tile(job)
        assert whole.bottom is not None
        rows, columns = cut(rng, len(case.query)), cut(rng, len(case.target))
        left = [part_of(job.left, *span) for span in itertools.pairwise(rows)]
        top, hits, kept, cells = job.top, [], {}, 0
        for i, (row, next_row) in enumerate(itertools.pairwise(rows)):
            corner = int(job.left.h[row - 1]) if row else 0
            bottoms = []
            for column, next_column in itertools.pairwise(columns):
                tile = engine.tile(
                    TileJob(
                        query=case.query[row:next_row],
                        target=case.target[column:next_column],
                        scoring=case.scoring,
                        floor=job.floor,
                        corner=corner,
                        top=part_of(top, column, next_column),
                        left=left[i],
                        best=True,
                        count=3,
                        store_moves=True,
                    )
                )
                assert tile.bottom is not None
                corner = int(top.h[next_column - 1])
                left[i] = tile.right
                bottoms.append(tile.bottom)
                hits += [(-h.score, h.row + row, h.column + column) for h in tile.hits]
                kept[row, column] = tile.moves
                cells += sum(tile.cells.values())
            top = join(bottoms)
        assert cells == len(case.query) * len(case.target)
        assert same_edge(top, whole.bottom) and same_edge(join(left), whole.right), describe(case)
        assert sorted(hits)[:3] == [(-h.score, h.row, h.column) for h in whole.hits], describe(case)
        if local:
            check_walk_over_tiles(case, rows, columns, kept)


def check_walk_over_tiles(
    case: Case, rows: list[int], columns: list[int], kept: Mapping[tuple[int, int], Any]
) -> None:
    """A walk handed from tile to tile gives the path of the walk over one matrix."""
    whole = align_reference(case.query, case.target, case.scoring, "local")
    row, column, state = whole.query_end, whole.target_end, 0
    moves: list[int] = []
    ended = whole.score == 0
    while row and column and not ended:
        row0 = max(r for r in rows if r < row)
        column0 = max(c for c in columns if c < column)
        trace = kept[row0, column0].trace(row - row0, column - column0, state)
        moves += trace.moves.tolist()
        row, column, state, ended = (
            trace.row + row0,
            trace.column + column0,
            trace.state,
            trace.ended,
        )
    assert (row, column) == (whole.query_start, whole.target_start), describe(case)
    assert moves[::-1] == whole.moves.tolist(), describe(case)


def test_a_linear_gap_has_no_state() -> None:
    for case in random_cases(37, 60, linear=True):
        directions = (
            ReferenceEngine().tile(whole_job(case, local=False, free=False, store_moves=True)).moves
        )
        assert directions is not None
        traces = [directions.trace(len(case.query), len(case.target), s) for s in (0, 1, 2)]
        assert len({tuple(trace.moves.tolist()) for trace in traces}) == 1, describe(case)
        assert {trace.state for trace in traces} == {0}


def test_edge_values_stay_within_the_opening_cost() -> None:
    for case in random_cases(33, 40):
        result = ReferenceEngine().tile(whole_job(case, local=False, free=False))
        assert result.bottom is not None and not result.hits and result.moves is None
        for edge in (result.bottom, result.right):
            assert (edge.x <= edge.h).all() and (edge.x >= edge.h - case.scoring.gap_open).all()
            assert edge.h.dtype == edge.x.dtype == np.int32


def test_unreachable_cells_are_restored_and_are_no_hits() -> None:
    """With unreachable borders every path begins at the corner, or there is none."""
    for case in random_cases(34, 60):
        top, left = (
            Edge(lost, lost)
            for lost in (np.full(len(x), UNREACHABLE, np.int32) for x in (case.target, case.query))
        )
        from_corner, nowhere = (
            ReferenceEngine().tile(
                whole_job(
                    case,
                    local=False,
                    free=False,
                    corner=corner,
                    top=top,
                    left=left,
                    best=True,
                    count=10**6,
                )
            )
            for corner in (0, UNREACHABLE)
        )
        assert len(from_corner.hits) == len(case.query) * len(case.target)
        assert nowhere.bottom is not None and not nowhere.hits
        for edge in (nowhere.bottom, nowhere.right):
            assert (edge.h == UNREACHABLE).all() and (edge.x == UNREACHABLE).all()


def test_a_path_that_starts_inside_a_gap() -> None:
    """A corner that only E^ leads out of: the first gap letters cost no opening."""
    scoring = match_scoring(2, -3, 5, 1)
    query, target = np.array([0, 1], np.uint8), np.array([2, 0, 1], np.uint8)
    lost = np.full(3, UNREACHABLE, np.int32)
    inside = np.array([-scoring.gap_extend * k for k in (1, 2, 3)], np.int32)
    job = TileJob(
        query=query,
        target=target,
        scoring=scoring,
        floor=None,
        corner=0,
        top=Edge(inside, inside - np.int32(scoring.gap_open)),
        left=Edge(lost[:2], lost[:2]),
    )
    bottom = ReferenceEngine().tile(job).bottom
    assert bottom is not None and bottom.h[-1] == 2 + 2 - scoring.gap_extend


def test_hits_are_ordered_and_limited() -> None:
    scoring = match_scoring(1, -1, 0, 1)
    case = Case(np.array([0, 1, 0, 1], np.uint8), np.array([0, 1, 2, 0, 1], np.uint8), scoring)
    job = whole_job(case, local=True, free=True, best=True, count=4)
    found = [(h.score, h.row, h.column) for h in ReferenceEngine().tile(job).hits]
    assert found == [(3, 4, 5), (2, 2, 2), (2, 2, 5), (2, 3, 4)]
    over = whole_job(case, local=True, free=True, best=True, count=99, threshold=2)
    assert {h.score for h in ReferenceEngine().tile(over).hits} == {2, 3}
    nothing = make_scoring([[-1, -1], [-1, -1]], 1, 1)
    one = Case(case.query % 2, case.target % 2, nothing)
    assert ReferenceEngine().tile(whole_job(one, True, True, best=True)).hits == ()


def test_bottom_is_optional_and_letters_are_those_of_the_alphabet() -> None:
    case = random_cases(35, 1)[0]
    assert ReferenceEngine().tile(whole_job(case, True, True, bottom=False)).bottom is None
    assert len(LETTERS) == len(set(LETTERS)) == 24


def test_an_unknown_mode_is_an_error() -> None:
    case = random_cases(36, 1)[0]
    with pytest.raises(InputError, match="mode 'overlap'"):
        align_reference(case.query, case.target, case.scoring, "overlap")
