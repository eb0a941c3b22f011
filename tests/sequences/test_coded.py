"""Alphabets of symbols: what they take, and that every way compares their sequences alike."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysw_cl
from pysw_cl import Alphabet
from pysw_cl.errors import InputError, ScoringError, SequenceError
from pysw_cl.scoring.scoring import Scoring, make_scoring

CODONS = Alphabet(map("".join, product("ACGT", repeat=3)))
STATES = Alphabet("HECh")


def codon_scores(rng: np.random.Generator) -> np.ndarray[Any, Any]:
    matrix = rng.integers(-7, 4, (64, 64))
    np.fill_diagonal(matrix, rng.integers(2, 9, 64))
    return matrix


def related(rng: np.random.Generator, m: int, n: int) -> list[np.ndarray[Any, Any]]:
    """Codes of two sequences of this many codons that have much in common."""
    query, target = (rng.integers(0, 64, length).astype(np.uint8) for length in (m, n))
    common = min(m, n) // 2
    target[:common] = query[m - common :]
    return [query, target]


def test_symbols_and_codes_are_one() -> None:
    texts = ["AAA", "TTT", "ACG"]
    codes = np.array([0, 63, 6], np.uint8)
    one = CODONS.sequence(texts, "s", "a gene")
    for other in (CODONS.sequence(codes), CODONS.sequence(tuple(texts))):
        assert one == other and CODONS.decode(other.letters) == texts
    assert (one.name, one.description, one.alphabet) == ("s", "a gene", CODONS)
    assert one[1:].alphabet == CODONS and CODONS.decode(one[1:].letters) == texts[1:]
    assert one != STATES.sequence("HEC") and len({CODONS, Alphabet(CODONS.symbols)}) == 1
    assert STATES.letters == "HECh" and CODONS.letters[:3] == "012"
    assert Alphabet("ACGU").letters == "0123"  # plain letters take U as T
    folding = Alphabet(["Yes", "no"], fold_case=True)
    assert folding.decode(folding.encode(["YES", "No"])) == ["Yes", "no"]
    for wrong in ("1?", "1\xe9", np.array([49, 7], np.uint8)):
        with pytest.raises(InputError, match="at position 2 is no letter of Alphabet"):
            folding.decode(wrong)


@pytest.mark.parametrize(
    ("symbols", "error"),
    [
        (["a", "b", "a"], "'a' stands twice"),
        ([], "1 to 64 symbols, not 0"),
        (map(str, range(65)), "not 65"),
        (["a", 3], "not 3"),
        (["a", ""], "not ''"),
        (["a\nb"], r"not 'a\\nb'"),
        (7, "not 7"),
    ],
)
def test_what_is_no_alphabet(symbols: Any, error: str) -> None:
    with pytest.raises(InputError, match=error):
        Alphabet(symbols)
    with pytest.raises(InputError, match="twice"):
        Alphabet("aA", fold_case=True)


def test_what_is_no_sequence_of_one() -> None:
    for wrong, error in (
        (["AAA", "Aaa"], "'Aaa' at position 2 of the query is not in Alphabet"),
        (np.array([1, 64], np.uint8), "64 at position 2"),
        (np.array([1, 2]), "one-dimensional uint8"),
        (b"AAA", "sequence of symbols"),
        ([["A"]], "not made of symbols"),
        ([], "empty"),
    ):
        with pytest.raises(SequenceError, match=error):
            pysw_cl.align(wrong, ["AAA"], sub_score=CODONS.scores(1, -1))
    one, other = CODONS.sequence(["AAA"]), STATES.sequence("HE")
    with pytest.raises(SequenceError, match=r"target is a sequence of .*H, E.* for Alphabet\(AAA"):
        pysw_cl.align(one, other, sub_score=CODONS.scores(1, -1))
    with pytest.raises(SequenceError, match="plain letters, and sub_score is for Alphabet"):
        plain = pysw_cl.Sequence("", "", np.frombuffer(b"ACGT", np.uint8))
        pysw_cl.align(plain, one, sub_score=CODONS.scores(1, -1))
    for call in (
        lambda: pysw_cl.align(one, one),
        lambda: pysw_cl.align_many([("ACGT", "ACGT"), (one, one)]),
        lambda: pysw_cl.align_many([(one, other)], sub_score=CODONS.scores(1, -1)),
    ):
        with pytest.raises(SequenceError, match="sub_score"):
            call()
    with pytest.raises(InputError, match="plain letters"):
        batch = pysw_cl.Batch.from_sequences([("ACGT", "ACGT")])
        pysw_cl.align_many(batch, sub_score=CODONS.scores(1, -1))
    with pytest.raises(ScoringError, match="plain letters"):
        pysw_cl.align(one, one, sub_score=CODONS.scores(1, -1), unknown="N")
    with pytest.raises(InputError, match="nucleotides"):
        pysw_cl.align(one, one, sub_score=CODONS.scores(1, -1), strand="both")


def test_case_counts() -> None:
    found = pysw_cl.align("hhEC", "HHEC", sub_score=STATES.scores(2, -3), mode="global")
    assert found.cigar == "2X2=" and found.score == -2
    for same in ("hec", "Hec"):
        with pytest.raises(SequenceError, match="position"):
            pysw_cl.align(same, "H", sub_score=STATES.scores(2, -3))


@pytest.mark.parametrize("size", [(30, 40), (300, 500), (900, 1500)])
@pytest.mark.parametrize("mode", ["local", "global"])
def test_every_way_agrees(size: tuple[int, int], mode: str) -> None:
    rng = np.random.default_rng(sum(size))
    options: dict[str, Any] = {"sub_score": (codon_scores(rng), CODONS), "gap_cost": (6, 1)}
    options["mode"] = mode
    query, target = related(rng, *size)
    one, *others = (
        pysw_cl.align(query, target, plan=plan, **options)
        for plan in ({"engine": "reference"}, None, {"engine": "rowscan"}, {"lanes": "vector32"})
    )
    many = pysw_cl.align_many([(query, target)] * 3, output="path", **options)
    for other in others:
        assert (other.score, other.cigar) == (one.score, one.cigar)
    assert set(many["cigar"]) == {one.cigar} and set(many["score"]) == {one.score}
    assert CODONS.decode(one.query.letters) == [CODONS.symbols[k] for k in query]


def test_many_small_ones_in_every_width() -> None:
    """Codes above 32 in lanes of each width, with paths; whole numbers of 16 bits, too."""
    rng = np.random.default_rng(8)
    for factor in (1, 40, 9000):
        matrix = codon_scores(rng) * factor
        pairs = [tuple(related(rng, *rng.integers(1, 60, 2))) for _ in range(150)]
        options: dict[str, Any] = {"sub_score": (matrix, CODONS), "gap_cost": (6 * factor, factor)}
        found = pysw_cl.align_many(pairs, output="path", **options)
        for k in range(0, 150, 10):
            one = pysw_cl.align(*pairs[k], plan={"engine": "reference"}, **options)
            assert (one.score, one.cigar) == (found["score"][k], found["cigar"][k])


def test_ends_and_paths_to_them() -> None:
    rng = np.random.default_rng(3)
    options: dict[str, Any] = {"sub_score": (codon_scores(rng), CODONS), "gap_cost": (6, 1)}
    query, target = (CODONS.sequence(codes) for codes in related(rng, 80, 120))
    ends = pysw_cl.best_ends(query, target, k=4, **options)
    paths = pysw_cl.trace_ends(query, target, ends, **options)
    assert paths[0].score == pysw_cl.align(query, target, **options).score
    top = pysw_cl.align_top(query, target, k=2, **options)
    assert top[0].score == paths[0].score


def test_a_checkpoint_knows_the_alphabet(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    options: dict[str, Any] = {"sub_score": (codon_scores(rng), CODONS), "gap_cost": (6, 1)}
    query, target = (CODONS.sequence(codes) for codes in related(rng, 200, 300))
    one = pysw_cl.align(query, target, checkpoint=tmp_path / "c", **options)
    again = pysw_cl.resume(tmp_path / "c")
    assert (again.score, again.cigar) == (one.score, one.cigar)
    assert again.query.alphabet == CODONS and again.query == query


def test_a_scoring_keeps_its_alphabet() -> None:
    scoring = make_scoring(CODONS.scores(3, -2), (4, 1))
    facts = json.loads(json.dumps(scoring.facts()))
    again = Scoring.of_facts(facts | scoring.description())
    assert again.alphabet == CODONS and again.letters == scoring.letters
    assert "alphabet" not in make_scoring((1, -3)).facts()
