"""Letters that protein matrices lack: U, O and J, and any other with ``unknown``."""

from __future__ import annotations

import numpy as np
import pytest

from pysw_cl.errors import ScoringError, SequenceError
from pysw_cl.scoring.matrices import (
    AMINO_ACIDS,
    FREQUENCIES,
    is_protein,
    load_matrix,
    matrix_lines,
    with_stand_ins,
)
from pysw_cl.scoring.scoring import Scoring, make_scoring
from pysw_cl.sequences.sequence import as_letters


def score(scoring: Scoring, query: str, target: str) -> int:
    q, t = scoring.encode(as_letters(query), "query"), scoring.encode(as_letters(target), "target")
    return int(scoring.matrix[q[0], t[0]])


@pytest.mark.parametrize("name", [name for name in matrix_lines() if name != "NUC.4.4"])
def test_every_protein_matrix_takes_them(name: str) -> None:
    """U scores as C and O as X, against every letter and each other, in either case."""
    scoring, (_, letters) = make_scoring(name), load_matrix(name)
    assert scoring.stand_ins == "JUO" and scoring.letters == letters + "JUO"
    for other in letters:
        for letter, like in (("U", "C"), ("O", "X")):
            assert score(scoring, letter, other) == score(scoring, like, other)
            assert score(scoring, other, letter.lower()) == score(scoring, other, like)
    assert score(scoring, "U", "O") == score(scoring, "C", "X")
    assert score(scoring, "U", "U") == score(scoring, "C", "C")
    assert score(scoring, "J", "U") == score(scoring, "J", "C")


def test_j_of_blosum62_is_that_of_ncbi() -> None:
    """The row of J in NCBI's sm_blosum62.c."""
    scoring = make_scoring("BLOSUM62")
    row = [score(scoring, "J", other) for other in "ARNDCQEGHILKMFPSTWYVBJZX*"]
    assert row == [-1, -2, -3, -3, -1, -2, -3, -4, -3, 3, 3, -3, 2, 0, -3, -2, -1, -2, -1, 2,
                   -3, 3, -3, -1, -4]  # fmt: skip


def test_j_elsewhere_lies_between_i_and_l() -> None:
    """The mean, rounded up: I and L score -4 and -3 against D in BLOSUM80, say."""
    for name in ("BLOSUM80", "PAM250", "GONNET"):
        scoring = make_scoring(name)
        for other in load_matrix(name)[1]:
            mean = (score(scoring, "I", other) + score(scoring, "L", other)) / 2
            assert score(scoring, "J", other) == score(scoring, other, "J") == np.ceil(mean)
        four = [score(scoring, a, b) for a in "IL" for b in "IL"]
        assert score(scoring, "J", "J") == np.ceil(sum(four) / 4)


def test_rows_and_columns_of_an_own_matrix() -> None:
    """Rows are those of the query; halves stay halves; without X there is no O."""
    values = np.random.default_rng(1).integers(-9, 9, (20, 20)) / 2
    found, letters, added = with_stand_ins(values, AMINO_ACIDS)
    assert (letters, added) == (AMINO_ACIDS + "JU", "JU")
    i, c, row, u = (letters.index(x) for x in "ICJU")
    assert np.array_equal(found[:20, :20], values)
    assert np.array_equal(found[u, :20], values[c]) and np.array_equal(found[:20, u], values[:, c])
    mean = (values[i] + values[letters.index("L")]) / 2
    assert np.array_equal(found[row, :20], np.ceil(2 * mean) / 2)
    assert make_scoring((values, AMINO_ACIDS)).scale == 2


@pytest.mark.parametrize("letters", ["ACGT", AMINO_ACIDS[:19], AMINO_ACIDS + "a", "AB"])
def test_other_alphabets_stay_as_they_are(letters: str) -> None:
    values = np.eye(len(letters))
    found, same, added = with_stand_ins(values, letters)
    assert found is values and (same, added) == (letters, "")
    assert not is_protein(letters)


def test_a_matrix_with_its_own_rows_keeps_them() -> None:
    letters = AMINO_ACIDS + "UOJX"
    values = np.where(np.eye(24, dtype=bool), 7.0, -2.0)
    scoring = make_scoring((values, letters))
    assert scoring.stand_ins == "" and scoring.letters == letters
    assert score(scoring, "U", "C") == -2 and score(scoring, "U", "U") == 7


def test_no_room_for_more_letters() -> None:
    signs = "0123456789!#$%&'()+,/:;<=>?@[]^_`{|}~*"
    letters = AMINO_ACIDS + signs
    assert len(letters) == 58
    some = letters + 'BZ"\\'
    assert make_scoring((np.eye(62), some)).letters == some + "JU"
    assert make_scoring((np.eye(63), some + "X")).letters == some + "X"


def test_a_pair_of_equal_letters_is_a_match() -> None:
    """U against U is '=', against C 'X', although both score the same."""
    query, target = make_scoring("BLOSUM62").match_tables
    assert query[ord("U")] == target[ord("u")] != target[ord("C")]
    assert query[ord("O")] != target[ord("X")]


def test_frequencies_are_shares() -> None:
    assert len(FREQUENCIES) == 20 and sum(FREQUENCIES) == pytest.approx(1, abs=1e-4)


# unknown


@pytest.mark.parametrize(("matrix", "letter"), [("BLOSUM62", "X"), ((1, -3), "N")])
def test_unknown_letters_are_taken_as_one(matrix: object, letter: str) -> None:
    scoring = make_scoring(matrix, unknown=letter.lower())
    assert scoring.unknown == letter
    for other in "1?@":
        for against in scoring.letters:
            assert score(scoring, other, against) == score(scoring, letter, against)
            assert score(scoring, against, other) == score(scoring, against, letter)
    with pytest.raises(SequenceError, match="byte 200 at position 1"):
        scoring.encode(np.array([200], np.uint8), "query")
    for gap in "-.":
        assert scoring.query_encoding[ord(gap)] == 255


@pytest.mark.parametrize(
    ("unknown", "words"),
    [("X", "'X' is not in the alphabet ACGT"), ("NN", "'error' or one letter"), (None, "None")],
)
def test_bad_unknown(unknown: object, words: str) -> None:
    with pytest.raises(ScoringError, match=words):
        make_scoring(unknown=unknown)  # type: ignore[arg-type]


# Messages


@pytest.mark.parametrize(
    ("letters", "matrix", "words"),
    [
        ("MKWVTF", (1, -3), r"looks like a protein.*sub_score='BLOSUM62'.*--matrix BLOSUM62"),
        ("ACGTX", (1, -3), r"take such letters as N with unknown='N'.*--unknown-as N"),
        ("MKW1", "BLOSUM62", r"take such letters as X with unknown='X'"),
        ("dir/seq", (1, -3), "looks like the name of a file"),
        ("ACG", ([[1, -1], [-1, 1]], "AC"), "choose another matrix"),
    ],
)
def test_a_letter_outside_says_what_to_do(letters: str, matrix: object, words: str) -> None:
    with pytest.raises(SequenceError, match=words):
        make_scoring(matrix).encode(np.frombuffer(letters.encode(), np.uint8), "query")
