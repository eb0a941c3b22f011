"""Scorings: every accepted form, every refusal, and the proof of the integer range."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pysw_cl.errors import RangeError, ScoringError, SequenceError
from pysw_cl.scoring.arguments import SCORE_LIMIT
from pysw_cl.scoring.matrices import load_matrix, matrix_lines
from pysw_cl.scoring.precision import LOCAL_LIMIT
from pysw_cl.scoring.scoring import Scoring, make_scoring
from pysw_cl.sequences.alphabet import AMBIGUITY
from pysw_cl.sequences.coded import STAND_INS
from pysw_cl.sequences.sequence import as_letters


def score(scoring: Scoring, query: str, target: str) -> int:
    """The score of two letters, by way of the codes."""
    q = scoring.encode(as_letters(query), "query")[0]
    t = scoring.encode(as_letters(target), "target")[0]
    value = int(scoring.matrix[q, t])
    if scoring.match_mismatch is not None:
        assert value == scoring.match_mismatch[0 if q == t else 1]
    return value


def counts_as_match(scoring: Scoring, query: str, target: str) -> bool:
    tables = scoring.match_tables
    return bool(tables[0][ord(query)] == tables[1][ord(target)])


def identity(letters: str, match: float = 1, mismatch: float = -1) -> np.ndarray:
    return np.where(np.eye(len(letters), dtype=bool), match, mismatch)


# (match, mismatch)


def test_default() -> None:
    scoring = make_scoring()
    assert scoring.match_mismatch == (1, -3)
    assert (scoring.gap_open, scoring.gap_extend, scoring.scale) == (3, 2, 1)
    assert (scoring.highest, scoring.lowest) == (1, -3)
    assert scoring.matrix.dtype == np.int32
    assert scoring.query_encoding.dtype == np.uint8


def test_nucleotides_fold_case_and_u_is_t() -> None:
    scoring = make_scoring((2, -5))
    for query in "ACGTUacgtu":
        for target in "ACGTUacgtu":
            same = query.upper().replace("U", "T") == target.upper().replace("U", "T")
            assert score(scoring, query, target) == (2 if same else -5)
            assert counts_as_match(scoring, query, target) == same


@pytest.mark.parametrize("letter", AMBIGUITY + AMBIGUITY.lower())
def test_ambiguity_never_matches(letter: str) -> None:
    scoring = make_scoring((2, -5))
    for other in "ACGTU" + AMBIGUITY:
        for pair in ((letter, other), (other, letter)):
            assert score(scoring, *pair) == -5
            assert not counts_as_match(scoring, *pair)


def test_codes_differ_on_the_two_sides() -> None:
    scoring = make_scoring()
    assert {int(scoring.query_encoding[ord(c)]) for c in AMBIGUITY} == {4}
    assert {int(scoring.target_encoding[ord(c)]) for c in AMBIGUITY} == {5}
    expected = np.where(np.eye(6, dtype=bool), 1, -3)
    assert np.array_equal(scoring.matrix, expected)


def test_wildcard() -> None:
    scoring = make_scoring((1, -3), wildcard="n")
    assert scoring.match_mismatch is None
    for other in "ACGTUNR":
        assert score(scoring, "N", other) == score(scoring, other, "N") == 0
        assert not counts_as_match(scoring, "N", other)
    assert score(scoring, "R", "R") == -3
    assert not counts_as_match(scoring, "R", "R")
    assert score(scoring, "A", "a") == 1
    assert counts_as_match(scoring, "U", "t")
    assert scoring.matrix.shape == (6, 6)


def test_wildcard_that_changes_nothing_keeps_compare_and_select() -> None:
    scoring = make_scoring((1, 0), wildcard="N")
    assert scoring.match_mismatch == (1, 0)
    assert score(scoring, "N", "N") == 0


def test_wildcard_in_a_matrix() -> None:
    scoring = make_scoring("BLOSUM62", wildcard="x")
    assert score(scoring, "X", "W") == score(scoring, "W", "X") == score(scoring, "X", "X") == 0
    assert score(scoring, "W", "W") == 11
    assert not counts_as_match(scoring, "X", "X")


@pytest.mark.parametrize(
    ("matrix", "wildcard", "neutral"),
    [
        ("BLOSUM62", "X", "XO"),
        ("BLOSUM62", "c", "CU"),
        ("BLOSUM62", "U", "U"),
        ("BLOSUM62", "O", "O"),
        ("BLOSUM62", "I", "I"),
        ("BLOSUM62", "J", "J"),
        ("BLOSUM62", "W", "W"),
        ("NUC.4.4", "T", "TU"),
        ("NUC.4.4", "N", "N"),
        ((1, -3), "U", "TU"),
        ((1, -3), "N", "N"),
    ],
)
def test_what_goes_with_a_wildcard(matrix: Any, wildcard: str, neutral: str) -> None:
    """The letters that are scored as it is; all others keep their scores."""
    before, after = make_scoring(matrix), make_scoring(matrix, wildcard=wildcard)
    letters = before.letters + ("U" if "T" in neutral else "")
    for a in letters:
        for b in letters:
            is_neutral = a in neutral or b in neutral
            assert score(after, a, b) == (0 if is_neutral else score(before, a, b))
            matches = not is_neutral and counts_as_match(before, a, b)
            assert counts_as_match(after, a, b) == matches


def test_unknown_letters_go_with_a_wildcard() -> None:
    scoring = make_scoring("BLOSUM62", wildcard="X", unknown="X")
    assert score(scoring, "?", "W") == score(scoring, "W", "?") == 0


@pytest.mark.parametrize("wildcard", ["E", "NN", "", 5, "\xd1", "-"])
def test_wildcard_must_be_a_letter_of_the_alphabet(wildcard: object) -> None:
    with pytest.raises(ScoringError, match="wildcard"):
        make_scoring(wildcard=wildcard)  # type: ignore[arg-type]


def test_equal_match_and_mismatch_still_tells_letters_apart() -> None:
    scoring = make_scoring((1, 1))
    assert scoring.match_mismatch == (1, 1)
    assert counts_as_match(scoring, "A", "A")
    assert not counts_as_match(scoring, "A", "C")
    assert not counts_as_match(scoring, "N", "N")


# Matrices


def test_named_matrices_equal_those_of_scikit_bio() -> None:
    skbio = pytest.importorskip("skbio")
    for name in skbio.SubstitutionMatrix.get_names():
        theirs = skbio.SubstitutionMatrix.by_name(name)
        ours, letters = load_matrix(name)
        assert letters == "".join(theirs.alphabet)
        assert np.array_equal(ours, theirs.scores)
        given, named = make_scoring(theirs), make_scoring(name)
        assert np.array_equal(given.matrix, named.matrix)
        assert np.array_equal(given.query_encoding, named.query_encoding)


def test_named_matrices_equal_those_of_biopython() -> None:
    shelf = pytest.importorskip("Bio.Align.substitution_matrices")
    shared = sorted(set(shelf.load()) & set(matrix_lines()) - {"DAYHOFF"})  # that is another one
    assert len(shared) == 9
    for name in shared:
        theirs = shelf.load(name)
        ours, letters = load_matrix(name)
        assert letters == theirs.alphabet
        assert np.array_equal(ours, theirs)
        assert np.array_equal(make_scoring(theirs).matrix, make_scoring(name).matrix)


def test_named_matrices_equal_those_of_parasail() -> None:
    parasail = pytest.importorskip("parasail")
    compared = 0
    for name in matrix_lines():
        theirs = getattr(parasail, name.lower().replace(".", ""), None)
        if theirs is not None:
            ours, letters = load_matrix(name)
            assert np.array_equal(ours, theirs.matrix[: len(letters), : len(letters)]), name
            compared += 1
    assert compared >= 65


def test_ncbi_series_are_complete() -> None:
    names = set(matrix_lines())
    assert {f"BLOSUM{k}" for k in (*range(30, 95, 5), 62, 100, "N")} <= names
    assert {f"PAM{k}" for k in range(10, 510, 10)} <= names
    assert {"NUC.4.4", "GONNET", "DAYHOFF"} <= names
    for name in names:
        matrix, letters = load_matrix(name)
        assert matrix.shape == (len(letters),) * 2
        assert np.array_equal(matrix, matrix.T)


@pytest.mark.parametrize("name", ["blosum62", " BLOSUM62 ", "Blosum62"])
def test_name_in_any_case(name: str) -> None:
    assert np.array_equal(make_scoring(name).matrix, make_scoring("BLOSUM62").matrix)


@pytest.mark.parametrize("name", ["DNAFULL", "EDNAFULL", "nuc44"])
def test_aliases(name: str) -> None:
    assert np.array_equal(make_scoring(name).matrix, make_scoring("NUC.4.4").matrix)


def test_blosum62() -> None:
    scoring = make_scoring("BLOSUM62", (10, 1))
    assert scoring.match_mismatch is None
    assert (score(scoring, "w", "W"), score(scoring, "B", "d"), score(scoring, "*", "A")) == (
        11, 4, -4,
    )  # fmt: skip
    assert counts_as_match(scoring, "X", "x")


def test_nucleotide_matrix_takes_u_for_t() -> None:
    scoring = make_scoring("NUC.4.4")
    assert score(scoring, "U", "T") == score(scoring, "u", "U") == 5
    assert score(scoring, "N", "N") == -1
    assert counts_as_match(scoring, "u", "T")
    rna = make_scoring((identity("ACGU"), "ACGU"))
    assert score(rna, "T", "u") == 1
    assert make_scoring((identity("ACGTU"), "ACGTU")).match_mismatch == (1, -1)
    assert score(make_scoring((identity("ACGTU"), "ACGTU")), "T", "U") == -1


def test_array_may_be_asymmetric() -> None:
    scoring = make_scoring(([[1, -2], [-3, 4]], "AB"))
    assert (score(scoring, "A", "B"), score(scoring, "B", "A")) == (-2, -3)
    scoring = make_scoring((np.array([[1, -2], [-3, 4]]), ["A", "B"]))
    assert (score(scoring, "A", "B"), score(scoring, "b", "a")) == (-2, -3)


def test_match_mismatch_is_found_in_a_matrix() -> None:
    matrix = identity("ACDEFGX*", 5, -4)
    matrix[6, 6] = matrix[7, 7] = -4
    scoring = make_scoring((matrix, "ACDEFGX*"))
    assert scoring.match_mismatch == (5, -4)
    assert scoring.never_match == ""  # by their score only: X is still "=" to X
    assert scoring.query_encoding[ord("X")] == scoring.query_encoding[ord("*")] == 6
    assert scoring.target_encoding[ord("X")] == scoring.target_encoding[ord("*")] == 7
    assert (score(scoring, "X", "X"), score(scoring, "X", "*")) == (-4, -4)
    assert score(scoring, "g", "G") == 5
    assert counts_as_match(scoring, "X", "X")
    matrix[0, 0] = 6
    assert make_scoring((matrix, "ACDEFGX*")).match_mismatch is None


def test_full_alphabet_of_64() -> None:
    letters = STAND_INS
    scoring = make_scoring((identity(letters), letters))
    assert scoring.match_mismatch == (1, -1)
    matrix = identity(letters)
    matrix[63, 63] = -1
    assert make_scoring((matrix, letters)).matrix.shape == (65, 65)
    with pytest.raises(ScoringError, match="65 letters"):
        make_scoring((identity(letters + "_"), letters + "_"))


def test_alphabet_with_both_cases_is_not_folded() -> None:
    scoring = make_scoring((identity("ACac"), "ACac"))
    assert (score(scoring, "A", "a"), score(scoring, "a", "a")) == (-1, 1)
    assert score(make_scoring((identity("acgt"), "acgt")), "A", "a") == 1


def test_letters_with_equal_rows_and_columns_share_a_code() -> None:
    matrix = np.array([[2, -1, -1], [-1, 3, 3], [-1, 3, 3]])
    scoring = make_scoring((matrix, "ABC"))
    assert scoring.matrix.shape == (2, 2)
    assert (score(scoring, "B", "C"), score(scoring, "A", "C")) == (3, -1)
    assert not counts_as_match(scoring, "B", "C")


# Halves


def test_halves_are_scaled() -> None:
    emboss = make_scoring("BLOSUM62", (9.5, 0.5))
    plain = make_scoring("BLOSUM62", (10, 1))
    assert (emboss.scale, emboss.gap_open, emboss.gap_extend) == (2, 19, 1)
    assert np.array_equal(emboss.matrix, 2 * plain.matrix)
    assert make_scoring((0.5, -1.5), 2.0).match_mismatch == (1, -3)
    assert make_scoring((0.5, -1.5), 2.0).gap_extend == 4


def test_whole_floats_are_not_scaled() -> None:
    scoring = make_scoring((1.0, -3.0), (3.0, np.float32(2)))
    assert (scoring.scale, scoring.match_mismatch, scoring.gap_open) == (1, (1, -3), 3)


def test_linear_gap() -> None:
    scoring = make_scoring(gap_cost=5)
    assert (scoring.gap_open, scoring.gap_extend) == (0, 5)
    assert make_scoring(gap_cost=0).gap_extend == 0
    assert make_scoring(gap_cost=np.array([4, 1])).gap_open == 4


# Refusals


@pytest.mark.parametrize(
    ("sub_score", "words"),
    [
        ((1, math.nan), "finite"),
        ((math.inf, -3), "finite"),
        ((True, -3), "number"),
        ((1, 0.25), "halves"),
        ((1, -SCORE_LIMIT), "smaller than 1048576"),
        ((0.5, -(SCORE_LIMIT // 2)), "smaller than 524288"),
        ((10**400, 1), "finite"),
        ((1, 1e300), "smaller"),
        (5, "sub_score takes"),
        (None, "sub_score takes"),
        ((1, 2, 3), "sub_score takes"),
        ((1, "A"), "square"),
        (("A", 1), "sub_score takes"),
        (([[1, 2], [3, 4]], "A"), "2 rows for 1 letters"),
        (([[1, 2, 3], [3, 4, 5]], "AC"), "square"),
        (([1, 2], "AC"), "square"),
        (([[1, 2], [3]], "AC"), "not made of numbers"),
        (([["x", 2], [3, 4]], "AC"), "not made of numbers"),
        (([[1, 2], [math.nan, 4]], "AC"), "score of C against A is nan"),
        (([[1, 2], [3, math.inf]], "AC"), "score of C against C is inf"),
        (([[1, 2], [3, 0.3]], "AC"), "halves"),
        (([[1, 2], [3, 4]], "AA"), "twice"),
        (([[1, 2], [3, 4]], "A-"), "gap"),
        (([[1, 2], [3, 4]], "A "), "printable"),
        (([[1, 2], [3, 4]], "A\xe9"), "printable"),
        (([[1, 2], [3, 4]], ["A", "CG"]), "printable"),
        ((np.zeros((0, 0)), ""), "0 letters"),
    ],
)
def test_bad_sub_score(sub_score: object, words: str) -> None:
    with pytest.raises(ScoringError, match=words):
        make_scoring(sub_score)


@pytest.mark.parametrize(
    ("gap_cost", "words"),
    [
        (-1, "positive"),
        ((3, -2), "positive"),
        ((-0.5, 2), "positive"),
        (math.nan, "finite"),
        ((3, math.inf), "finite"),
        ((3, 0.1), "halves"),
        (SCORE_LIMIT, "smaller"),
        ((1, 2, 3), "gap_cost takes"),
        ("3", "gap_cost takes"),
        ("32", "must be a finite number"),
        (True, "must be a finite number"),
    ],
)
def test_bad_gap_cost(gap_cost: object, words: str) -> None:
    with pytest.raises(ScoringError, match=words):
        make_scoring(gap_cost=gap_cost)


def test_unknown_name_lists_close_ones() -> None:
    with pytest.raises(ScoringError, match=r"'BLOSUM63'.*; did you mean .*BLOSUM62"):
        make_scoring("BLOSUM63")
    with pytest.raises(ScoringError, match="known are BLOSUM30/"):
        make_scoring("?!")


@pytest.mark.parametrize("side", ["query", "target"])
def test_letter_outside_the_alphabet(side: str) -> None:
    scoring = make_scoring()
    with pytest.raises(SequenceError, match=rf"'J' at position 17 of the {side} .* ACGT"):
        scoring.encode(as_letters("ACGTACGTACGTACGTJZ"), side)
    with pytest.raises(SequenceError, match="'1' at position 2"):
        make_scoring("BLOSUM62").encode(as_letters("A1"), "target")
    with pytest.raises(SequenceError, match="byte 200 at position 1"):
        scoring.encode(np.array([200], np.uint8), side)


def test_encode_empty_and_values() -> None:
    scoring = make_scoring()
    assert len(scoring.encode(np.empty(0, np.uint8), "query")) == 0
    codes = scoring.encode(as_letters("ACGTUNa"), "target")
    assert codes.tolist() == [0, 1, 2, 3, 3, 5, 0]
    assert codes.dtype == np.uint8


# Clamping and range


def test_clamped() -> None:
    scoring = make_scoring((1, -500), (3, 2)).clamped()
    assert scoring.match_mismatch == (1, -11)
    assert (scoring.lowest, scoring.highest) == (-11, 1)
    matrix = make_scoring("BLOSUM62", 1).clamped()
    assert (matrix.lowest, matrix.highest) == (-3, 11)
    untouched = make_scoring("BLOSUM62", (10, 1))
    assert np.array_equal(untouched.clamped().matrix, untouched.matrix)


def test_local_range() -> None:
    make_scoring().bounds.check_range(250_000_000, 250_000_000, "local")
    make_scoring((100, -1)).bounds.check_range(LOCAL_LIMIT // 100, 10**12, "local")
    with pytest.raises(RangeError, match="local comparison of 20,803,748 x 20,803,748"):
        make_scoring((100, -1)).bounds.check_range(
            LOCAL_LIMIT // 100 + 1, LOCAL_LIMIT // 100 + 1, "local"
        )
    make_scoring((-1, -2)).bounds.check_range(2**40, 2**40, "local")


def test_global_range() -> None:
    make_scoring().bounds.check_range(248_000_000, 248_000_000, "global")
    with pytest.raises(RangeError, match="score down to minus"):
        make_scoring().bounds.check_range(1, 2**29, "global")
    with pytest.raises(RangeError, match="score up to 600,000,000"):
        make_scoring((300, -1), 0).bounds.check_range(2_000_000, 2_000_000, "global")
    with pytest.raises(RangeError, match="lose in gaps"):
        make_scoring((1, -1), (2**19, 2)).bounds.check_range(
            2**28 - 600_000, 2**28 - 600_000, "global"
        )
    with pytest.raises(RangeError, match="halves"):
        make_scoring(gap_cost=1.5).bounds.check_range(2**28, 2**28, "global")


@pytest.mark.parametrize(
    ("scoring", "letters", "codes", "others"),
    [
        (make_scoring((1, -3)), "ACGTacgtU", [0, 1, 2, 3, 0, 1, 2, 3, 3], False),
        (make_scoring("BLOSUM62"), "ARNw", [0, 1, 2, 17], False),
        (make_scoring("BLOSUM62"), "AUJo", None, True),
        (make_scoring("BLOSUM62"), "AR-", None, None),
        (make_scoring("BLOSUM62"), "A R", None, None),
        (make_scoring("BLOSUM62", unknown="X"), "A1R", [0, 22, 1], True),
        (make_scoring("BLOSUM62", unknown="X"), "A R", None, None),
        (make_scoring((1, -3)), "ACE", None, None),
    ],
)
def test_known_codes_say_which_letters_are_scored_as_others(
    scoring: Scoring, letters: str, codes: list[int] | None, others: bool | None
) -> None:
    given = np.frombuffer(letters.encode(), np.uint8)
    told = scoring.known_codes(given, "query")
    assert (told is not None) == scoring.knows(given) == (others is not None)
    if told is not None:
        assert told[1] == others and np.array_equal(told[0], scoring.encode(given, "query"))
        assert codes is None or told[0].tolist() == codes
