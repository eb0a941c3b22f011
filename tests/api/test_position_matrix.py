"""Position matrices in a query's place: against a plain oracle, and against the matrix that they
repeat, on every way that computes a tile."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from many import PACKED, plan_of
from position_oracle import best_end
from tuned import tuned

import pysw_cl
from pysw_cl import PositionMatrix, align, align_many, align_paths, align_top, best_ends, trace_ends
from pysw_cl.errors import InputError, ScoringError
from pysw_cl.scoring.matrices import load_matrix

RESIDUES = "ARNDCQEGHILKMFPSTWYV"
SECTIONS = {
    "sections.least_cells": 1,
    "sections.least_columns": 20,
    "sections.least_aspect": 0,
    "sections.most_share": 1000,
    "sections.most_cost": 1000,
    "sections.most_cost_beside_pruning": 1000,
}
PLANS: dict[str, dict[str, Any]] = {
    "usual": {},
    "small strips": {"lanes": "vector", "T": 4, "alpha": 2, "B": 2, "chunk": 20},
    "two phases": {"lanes": "vector", "T": 4, "alpha": 2, "form": "two-phase", "chunk": 7},
    "wider strips": {"T": 16, "alpha": 3, "chunk": 40},
    "32 bits": {"lanes": "vector32", "T": 4, "alpha": 2, "B": 3},
    "scalars": {"lanes": "scalar32", "T": 2, "alpha": 2, "B": 3},
    "small tiles": {"T": 4, "alpha": 2, "tile_cells": 2000, "traceback_tile_cells": 256},
    "row scan": {"engine": "rowscan"},
    "three launches": {"engine": "rowscan", "form": "three-launch"},
    "reference": {"engine": "reference"},
}
#: What results are held against: the same matrices and letters on a device would build as many
#: kernels again.
REFERENCE = PLANS["reference"]
SIZES = [(1, 1), (1, 30), (30, 1), (7, 40), (40, 7), (33, 70), (300, 9), (270, 64)]
FREE = [(False,) * 4, (True,) * 4, (True, False, False, True), (False, True, False, False)]


@pytest.fixture
def device() -> str:
    return os.environ.get("PYSW_CL_TEST_DEVICE", "cpu")


def letters_of(rng: np.random.Generator, count: int, alphabet: str = RESIDUES) -> str:
    return "".join(rng.choice(list(alphabet), count))


def relative(rng: np.random.Generator, text: str, count: int) -> str:
    """Letters that are mostly those of ``text``."""
    codes = np.resize(np.array(list(text)), count)
    other = rng.random(count) < 0.2
    return "".join(np.where(other, rng.choice(list(RESIDUES), count), codes))


def repeated(query: str) -> PositionMatrix:
    """BLOSUM62's rows of a query."""
    scores, letters = load_matrix("BLOSUM62")
    return PositionMatrix(scores[[letters.index(c) for c in query]], letters, query)


def same(one: Any, other: Any) -> None:
    names = ("score", "query_start", "query_end", "target_start", "target_end", "cigar")
    assert [getattr(one, n) for n in names] == [getattr(other, n) for n in names]
    assert (one.matches, one.identity, one.positives) == (
        other.matches,
        other.identity,
        other.positives,
    )


@cache
def blosum62_cases() -> list[tuple[PositionMatrix, str, dict[str, Any], Any]]:
    """Matrices of BLOSUM62's rows, targets, options, and what the reference engine finds of the
    letters with BLOSUM62."""
    rng, found = np.random.default_rng(5), []
    for m, n in [*SIZES, (350, 420)]:
        query = letters_of(rng, m)
        target = relative(rng, query, n)
        for mode, free in [("local", FREE[0]), *(("global", one) for one in FREE)]:
            how: dict[str, Any] = {"mode": mode, "free_ends": free}
            wanted = align(query, target, sub_score="BLOSUM62", plan=REFERENCE, **how)
            found.append((repeated(query), target, how, wanted))
    return found


@pytest.mark.parametrize("plan", PLANS)
def test_rows_of_blosum62_give_the_results_of_blosum62(device: str, plan: str) -> None:
    for own, target, how, wanted in blosum62_cases():
        try:
            found = align(own, target, plan=PLANS[plan], device=device, **how)
        except pysw_cl.PyswError as error:
            if "plan" in str(error):
                pytest.skip(str(error))
            raise
        same(found, wanted)


@pytest.mark.parametrize("most", [0, 20, 1000, None])
def test_diagonal_bands_give_the_same(device: str, most: int | None) -> None:
    rng = np.random.default_rng(14)
    query = letters_of(rng, 700)
    target, own = relative(rng, query, 690), repeated(query)
    how: dict[str, Any] = {"mode": "global", "max_cost": most}
    wanted = align(query, target, sub_score="BLOSUM62", plan=REFERENCE, **how)
    with tuned({"band.least_rows": 16}):
        same(align(own, target, device=device, **how), wanted)


def test_sections_and_held_matrices_give_the_same(device: str) -> None:
    rng = np.random.default_rng(6)
    query = letters_of(rng, 60)
    target, own = letters_of(rng, 900) + relative(rng, query, 80), repeated(query)
    wanted = align(query, target, sub_score="BLOSUM62", plan=REFERENCE)
    for lowered in (SECTIONS, {"held.top_cells": 0}, {"held.top_cells": 1 << 26}):
        with tuned(lowered):
            same(align(own, target, device=device), wanted)


@pytest.mark.parametrize("gaps", [(5, 2), 3, (0, 0)])
def test_random_matrices_have_the_scores_and_ends_of_the_oracle(device: str, gaps: Any) -> None:
    rng = np.random.default_rng(7)
    for m, n in SIZES:
        scores = rng.integers(-7, 8, (m, 4))
        target = letters_of(rng, n, "ACGT")
        pairs = scores[:, ["ACGT".index(c) for c in target]]
        given = gaps if isinstance(gaps, tuple) else (0, gaps)
        for mode, free in [("local", FREE[0]), *(("global", one) for one in FREE)]:
            wanted = best_end(pairs, given, mode, free)
            how: dict[str, Any] = {"mode": mode, "free_ends": free, "gap_cost": gaps}
            for plan in ({}, PLANS["small strips"], PLANS["row scan"]):
                own = PositionMatrix(scores, "ACGT")
                found = align(own, target, device=device, plan=plan, **how)
                assert found.score == wanted[0] == found.rescore()
                if mode == "global" or found.score:
                    assert (found.query_end, found.target_end) == wanted[1:]
                ends = align(own, target, output="ends", device=device, plan=plan, **how)
                assert (ends.score, ends.query_end) == (found.score, found.query_end)


def test_many_targets_give_what_each_gives_alone(device: str) -> None:
    rng = np.random.default_rng(8)
    own = PositionMatrix(rng.integers(-5, 7, (270, 20)), RESIDUES, letters_of(rng, 270))
    pairs = [(own, letters_of(rng, int(n))) for n in rng.integers(1, 90, 40)]
    pairs += [(own[10:40], "ACDEF"), (own[::-1], "ACDEF")]
    for output in ("score", "ends", "matches", "path"):
        rows = align_many(pairs, output=output, device=device)
        for row, pair in zip(rows, pairs, strict=True):
            one = align(*pair, device=device)
            if one.score:
                assert all(row[name] == getattr(one, name) for name in rows.dtype.names)
    assert (align_paths(pairs, device=device)["score"] == rows["score"]).all()
    with pytest.raises(InputError, match=r"pair 1.*position matri"):
        align_many([pairs[0], ("ACD", "ACD")], device=device)


@pytest.mark.parametrize("mode, free", [("local", FREE[0]), *(("global", one) for one in FREE)])
def test_one_matrix_and_many_targets_in_batches(device: str, mode: Any, free: Any) -> None:
    rng = np.random.default_rng(12)
    for m, high in (
        (3, 9),
        (270, 9),
        (70, 120),
        (40, 3000),
    ):  # lanes of 8, 16 and 32 bits, and alone
        scores, query = rng.integers(-high, high, (m, 20)), letters_of(rng, m)
        own = PositionMatrix(scores, RESIDUES, query)
        targets = [letters_of(rng, int(n)) for n in rng.integers(1, 120, 130)] + [query + query]
        how: dict[str, Any] = {"mode": mode, "free_ends": free, "device": device}
        found = [align(own, target, **how) for target in targets]
        for output in ("score", "ends", "matches", "path"):
            rows = align_many([(own, target) for target in targets], output=output, **how)
            for row, one in zip(rows, found, strict=True):
                if one.score or mode == "global":
                    assert all(row[name] == getattr(one, name) for name in rows.dtype.names)
        rows = align_many(((own, one) for one in targets), min_score=30, output="path", **how)
        assert rows["pair"].tolist() == [k for k, one in enumerate(found) if one.score >= 30]


def test_packed_lanes_give_the_same(device: str) -> None:
    """Four rows of scores to a word: rows in all numbers modulo four, and windows of rows."""
    rng = np.random.default_rng(15)
    with plan_of(PACKED) as plan:
        for m, high in ((1, 9), (6, 120), (35, 9), (64, 9)):
            query = letters_of(rng, m)
            own = PositionMatrix(rng.integers(-high, high, (m, 20)), RESIDUES, query)
            targets = [letters_of(rng, int(n)) for n in rng.integers(1, 60, 130)]
            for mode, output in (("local", "matches"), ("global", "path"), ("local", "path")):
                how: dict[str, Any] = {"mode": mode, "output": output, "device": device}
                rows = align_many([(own, one) for one in targets], plan=plan, **how)
                assert (rows == align_many([(own, one) for one in targets], **how)).all()


def test_long_targets_are_cut_into_pieces_for_scores_only(device: str) -> None:
    rng = np.random.default_rng(13)
    query = letters_of(rng, 60)
    own, targets = repeated(query), [letters_of(rng, 9000) for _ in range(3)]
    lowered = {"pairs.alone_cells": 1000, "pairs.piece_letters": 500}
    with tuned(lowered):
        for output in ("score", "ends", "path"):
            how: dict[str, Any] = {"output": output, "device": device}
            rows = align_many([(own, one) for one in targets], **how)
            plain = [(query, one) for one in targets]
            assert (rows == align_many(plain, sub_score="BLOSUM62", **how)).all()


def test_parts_are_those_of_the_letters(device: str) -> None:
    rng = np.random.default_rng(9)
    query = letters_of(rng, 90)
    target, own = relative(rng, query, 100), repeated(query)
    how: dict[str, Any] = {"query_range": (20, 70), "target_range": (5, 90), "device": device}
    same(align(own, target, **how), align(query, target, sub_score="BLOSUM62", **how))
    cut = align(own[20:70], target, device=device)
    same(cut, align(query[20:70], target, sub_score="BLOSUM62", device=device))
    back = align(own[::-1], target[::-1], device=device)
    same(back, align(query[::-1], target[::-1], sub_score="BLOSUM62", device=device))
    left = align(own, target, left_align=True, device=device)
    same(left, align(query, target, left_align=True, sub_score="BLOSUM62", device=device))
    assert str(back).count("\n") > 3 and left == align(own, target, left_align=True, device=device)


def test_ends_and_the_best_alignments(device: str) -> None:
    rng = np.random.default_rng(10)
    query = letters_of(rng, 80)
    target, own = relative(rng, query, 200), repeated(query)
    ends = best_ends(own, target, device=device)
    of_letters: dict[str, Any] = {"sub_score": "BLOSUM62", "plan": REFERENCE}
    plain = best_ends(query, target, **of_letters)
    assert (ends == plain).all()
    for one, other in zip(
        trace_ends(own, target, ends[:5], device=device),
        trace_ends(query, target, plain[:5], **of_letters),
        strict=True,
    ):
        same(one, other)
    tops = align_top(own, target, k=3, device=device)
    for one, other in zip(tops, align_top(query, target, k=3, **of_letters), strict=True):
        same(one, other)
    assert pysw_cl.predict(own, target, device=device).seconds > 0


def test_without_the_letters_of_the_query_nobody_knows_what_matches(device: str) -> None:
    scores, letters = load_matrix("BLOSUM62")
    own = PositionMatrix(scores[[letters.index(c) for c in "WHEATLEY"]], letters)
    found = align(own, "WHEATTLEY", device=device)
    assert (found.cigar, found.identity, found.matches) == ("8M", None, None) or found.score > 0
    assert set(found.cigar or "") <= set("0123456789MID") and found.identity is None
    assert found.score == found.rescore() and "identity" not in repr(found) and str(found)
    with pytest.raises(InputError, match="no matches"):
        pysw_cl.write([found], os.devnull, "paf")
    rows = align_many([(own, "WHEATTLEY")], output="path", device=device)
    assert rows["cigar"][0] == found.cigar and rows["matches"][0] == -1


def _taken(**how: Any) -> Callable[[], Any]:
    own = PositionMatrix([[1, -1], [0, 2]], "AB", "AB")
    return lambda: align(own, "AB", **how)


@pytest.mark.parametrize(
    "wrong, said",
    [
        (_taken(sub_score="BLOSUM62"), "sub_score"),
        (_taken(wildcard="A"), "wildcard"),
        (_taken(strand="minus"), "strand"),
        (_taken(unknown="A"), "unknown"),
        (_taken(checkpoint="nowhere"), "checkpoint"),
        (lambda: PositionMatrix([[1, 0.5]], "AB"), "position 1 and B is 0.5"),
        (lambda: PositionMatrix([[1, float("nan")]], "AB"), "position 1 and B"),
        (lambda: PositionMatrix([1, 2], "AB"), "shape"),
        (lambda: PositionMatrix([[1, 2]], "ABC"), "3 columns"),
        (lambda: PositionMatrix(np.zeros((65_536, 1)), "A"), "65,536 rows"),
        (lambda: PositionMatrix([[1, 2]], "AB", "AB"), "2 letters"),
        (lambda: PositionMatrix([[1, 2]], "AB")[0], "slices"),
    ],
)
def test_what_cannot_be_is_refused(wrong: Callable[[], Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        wrong()


def test_the_query_of_a_result_is_a_sequence_of_letters() -> None:
    """Compared again with other scores, its letters count, not its positions."""
    scores, letters = load_matrix("BLOSUM62")
    query, target = "WHEATLEYMKTAYIAKQR", "MKWHEATTLEYMTAYIAQR"
    matrix = pysw_cl.PositionMatrix(scores[[letters.index(c) for c in query]], letters, query)
    again = pysw_cl.align(matrix, target).query
    for one in (again, matrix.sequence):
        for pair in ((one, target), (target, one)):
            found = pysw_cl.align(*pair, sub_score="BLOSUM62")
            assert found.score == found.rescore() == 56


def test_paths_of_unknown_letters_are_written() -> None:
    query = "ACGTTGCATCGA"
    scores = [[2 if c == letter else -1 for letter in "ACGT"] for c in query]
    matrix = pysw_cl.PositionMatrix(scores, "ACGT")
    found = pysw_cl.align(matrix, "TTACGTTCATCGATT", gap_cost=(1, 1))
    assert found.cigar == "5M1I6M" and found[0:3].cigar == "3M"
    assert "# identity" not in str(found) and "match" not in found._repr_html_().partition("\n")[0]
    for format, wanted in (
        ("fasta", "\nACGTT-CATCGA\n"),
        ("sam", "\tAS:i:20\n"),
        ("maf", "XXXXXXXXXXXX"),
    ):
        stream = io.StringIO()
        pysw_cl.write([found], stream, format)
        assert wanted in stream.getvalue()
    with pytest.raises(ScoringError, match="no Alphabet"):
        pysw_cl.PositionMatrix([[1, 2]], pysw_cl.Alphabet("AB"))
    with pytest.raises(InputError, match="sub_score"):
        pysw_cl.align(matrix, "ACGT", sub_score=(np.eye(2), "AC"))
    with pytest.raises(InputError, match="call align"):
        pysw_cl.Aligner().align(matrix, "ACGT")
