"""``iupac="match"``: nucleotide letters are sets of bases, and two match that share one."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import pytest
from degenerate import COMPLEMENT, LETTERS, SETS, matches

from pysw_cl.errors import InputError, ScoringError
from pysw_cl.scoring.matrices import load_matrix
from pysw_cl.scoring.positions import PositionMatrix
from pysw_cl.scoring.scoring import Scoring, made_of, make_scoring
from pysw_cl.sequences.alphabet import AMBIGUITY, BASES, COMPLEMENT as TABLE, NUCLEOTIDES
from pysw_cl.sequences.sequence import as_letters

BOTH = "".join(LETTERS) + "".join(LETTERS).lower()


def looked_up(scoring: Scoring, a: str, b: str) -> tuple[int, bool]:
    """The score of two letters, and whether they match."""
    pair = as_letters(a), as_letters(b)
    (equal,) = scoring.equal(*pair)  # type: ignore[misc]
    return int(scoring.pair_scores(*pair)[0]), bool(equal)


def test_letters_are_those_of_iupac() -> None:
    assert "".join(BASES) == NUCLEOTIDES + AMBIGUITY
    for letter, bits in BASES.items():
        assert {base for base in NUCLEOTIDES if bits & BASES[base]} == SETS[letter]


@pytest.mark.parametrize("scores", [(1, -3), (5, -4), (2, 2), (0, -1), (-1, -2), (1, 3)])
def test_two_letters_match_that_share_a_base(scores: tuple[int, int]) -> None:
    scoring = make_scoring(scores, iupac="match")
    assert scoring.match_mismatch is None or scores[0] == scores[1]
    for a, b in product(BOTH, repeat=2):
        matched = matches(a, b)
        assert looked_up(scoring, a, b) == (scores[not matched], matched), (a, b)
        assert looked_up(scoring.clamped(), a, b)[1] == matched


def test_clamped_scores_keep_the_rule() -> None:
    scoring = make_scoring((-50, -90), (1, 1), iupac="match").clamped()
    assert scoring.lowest == scoring.highest == -5
    assert looked_up(scoring, "R", "A")[1] and not looked_up(scoring, "R", "C")[1]


def test_the_complement_of_a_letter_is_that_of_its_set() -> None:
    for letter, of in SETS.items():
        other = chr(TABLE[ord(letter)])
        assert other == COMPLEMENT[letter] and chr(TABLE[ord(letter.lower())]) == other.lower()
        assert SETS[other] == {COMPLEMENT[base] for base in of}
    scoring = make_scoring(iupac="match")
    for a, b in product(BOTH, repeat=2):
        turned = chr(TABLE[ord(a)]), chr(TABLE[ord(b)])
        assert looked_up(scoring, a, b) == looked_up(scoring, *turned)


@pytest.mark.parametrize("wildcard", ["N", "n", "R", "T", "U"])
def test_a_wildcard_scores_nothing_and_matches_nothing(wildcard: str) -> None:
    scoring = make_scoring((2, -5), wildcard=wildcard, iupac="match")
    neutral = {"T": "TU", "U": "TU"}.get(wildcard, wildcard.upper())
    for a, b in product(BOTH, repeat=2):
        is_neutral = a.upper() in neutral or b.upper() in neutral
        usual = (2, True) if matches(a, b) else (-5, False)
        assert looked_up(scoring, a, b) == ((0, False) if is_neutral else usual), (a, b)


def test_other_letters_are_taken_as_one_of_them() -> None:
    scoring = make_scoring(unknown="N", iupac="match")
    assert looked_up(scoring, "?", "A") == looked_up(scoring, "E", "r") == (1, True)
    assert looked_up(make_scoring(unknown="R", iupac="match"), "?", "C") == (-3, False)
    neutral = make_scoring(unknown="N", wildcard="N", iupac="match")
    assert looked_up(neutral, "?", "A") == (0, False)


def test_the_first_codes_are_those_of_the_four_bases() -> None:
    """By which GPUs choose how scores are looked up."""
    scoring = make_scoring(iupac="match")
    assert scoring.target_encoding[np.frombuffer(b"ACGTUacgtu", np.uint8)].tolist() == [
        *(0, 1, 2, 3, 3) * 2
    ]
    assert scoring.source.few and scoring.source.symmetric


def test_the_default_is_as_ever() -> None:
    usual, same = make_scoring(), make_scoring(iupac="mismatch")
    assert usual.facts() == same.facts() and "sets" not in usual.facts()
    assert (
        usual.in_words
        == same.in_words
        == ("match 1, mismatch -3; a gap of length k costs 3 + k * 2")
    )
    assert usual.match_mismatch == (1, -3) and usual.never_match == AMBIGUITY
    assert make_scoring("NUC.4.4", iupac="mismatch").facts() == make_scoring("NUC.4.4").facts()


def test_facts_come_back() -> None:
    scoring = make_scoring((1.5, -2), wildcard="N", unknown="N", iupac="match")
    facts = json.loads(json.dumps(scoring.facts() | scoring.description()))
    again = Scoring.of_facts(facts)
    assert again.sets and again.facts() == scoring.facts()
    for a, b in product("ACRYN?", repeat=2):
        assert looked_up(again, a, b) == looked_up(scoring, a, b)
    assert (
        again.in_words
        == scoring.in_words
        == (
            "match 1.5, mismatch -2, IUPAC letters match that have a base in common, N against "
            "anything 0, letters outside the alphabet as N; a gap of length k costs 3 + k * 2"
        )
    )
    assert made_of(make_scoring, {"iupac": "match"}).sets  # those that are kept
    assert not made_of(make_scoring, {"iupac": "mismatch"}).sets


@pytest.mark.parametrize("value", ["matches", "", None, True, 1, ["match"]])
def test_what_it_may_be(value: Any) -> None:
    with pytest.raises(ScoringError, match="iupac must be 'mismatch' or 'match', not "):
        make_scoring(iupac=value)


@pytest.mark.parametrize("matrix", ["BLOSUM62", "NUC.4.4", load_matrix("NUC.4.4")])
def test_a_matrix_has_scores_of_its_own(matrix: Any) -> None:
    with pytest.raises(ScoringError, match="iupac='match' goes with sub_score="):
        make_scoring(matrix, iupac="match")


def test_a_position_matrix_has_scores_of_its_own() -> None:
    matrix = PositionMatrix(np.ones((3, 4)), "ACGT")
    options = {"sub_score": (1, -3), "gap_cost": None, "wildcard": None, "iupac": "mismatch"}
    options |= {"unknown": "error", "strand": "plus"}
    assert matrix.scoring_beside(options) is matrix.scoring()
    with pytest.raises(InputError, match="iupac='match' cannot stand beside a position matrix"):
        matrix.scoring_beside(options | {"iupac": "match"})
