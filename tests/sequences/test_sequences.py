"""Sequences from Python objects, what can be done with them, and every one that is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pysw_cl
from pysw_cl.errors import InputError, SequenceError
from pysw_cl.sequences import alphabet
from pysw_cl.sequences.alphabet import LONG, PIECE, first_outside
from pysw_cl.sequences.sequence import (
    GOOD,
    Sequence,
    as_letters,
    as_sequence,
    reverse_complement,
)

# Python objects


@pytest.mark.parametrize(
    "x",
    [
        "ACgt*",
        b"ACgt*",
        bytearray(b"ACgt*"),
        memoryview(b"ACgt*"),
        memoryview(b"A.C.g.t.*")[::2],
        np.frombuffer(b"ACgt*", np.uint8),
        np.frombuffer(b"A.C.g.t.*", np.uint8)[::2],
        Sequence("x", "", np.frombuffer(b"ACgt*", np.uint8)),
    ],
)
def test_every_form(x: Any) -> None:
    letters = as_letters(x)
    assert letters.tobytes() == b"ACgt*"
    assert letters.dtype == np.uint8
    assert letters.flags.c_contiguous
    assert as_sequence(x).letters.tobytes() == b"ACgt*"


@pytest.mark.parametrize("n", [0, 1, alphabet.LONG - 1, alphabet.LONG, alphabet.LONG + 1, 100_001])
def test_letters_are_translated_two_at_once(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alphabet, "PIECE", 1 << 12)
    rng = np.random.default_rng(n)
    table = rng.integers(0, 256, 256).astype(np.uint8)
    letters = rng.integers(0, 256, 2 * n + 1).astype(np.uint8)
    for some in (letters[:n], letters[1 : n + 1], letters[: n + 1][:0:-1], letters[1::2]):
        np.testing.assert_array_equal(alphabet.translated(table, some), table[some])


def test_scikit_bio_and_biopython_sequences() -> None:
    skbio = pytest.importorskip("skbio")
    dna = skbio.DNA("ACGTN", metadata={"id": "d1", "description": "some dna"})
    assert as_letters(dna).tobytes() == b"ACGTN"
    sequence = as_sequence(dna)
    assert (sequence.name, sequence.description, len(sequence)) == ("d1", "some dna", 5)
    assert as_letters(skbio.Protein("MKW")[::-1]).tobytes() == b"WKM"
    with pytest.raises(SequenceError, match="gap character '-' at position 3;"):
        as_letters(skbio.DNA("AC-T"))
    seq = pytest.importorskip("Bio.Seq")
    assert as_letters(seq.Seq("ACGT")).tobytes() == b"ACGT"


@pytest.mark.parametrize(
    ("x", "words"),
    [
        ("", "query is empty"),
        (b"", "query is empty"),
        (np.empty(0, np.uint8), "query is empty"),
        ("AC\u00e9T", "non-ASCII character '\u00e9' at position 3"),
        ("AC\u0391", "non-ASCII character '\u0391' at position 3"),
        (b"AC\xc3", "byte 195 at position 3"),
        (np.array([0, 1, 2, 3], np.uint8), "byte 0 at position 1.*not codes"),
        ("AC GT", "a blank at position 3"),
        ("AC\n", "a line break at position 3"),
        (">x\nACGT", "begins with '>', as a FASTA record does"),
        (iter("ACGT"), "take one of them"),
        (["ACGT"], "take one of them"),
        ("AC-T", "gap character '-' at position 3"),
        ("AC.T", "gap character '.' at position 3"),
        (np.array([65, 67]), "array of int64 and shape"),
        (np.array([65.0]), "array of float64"),
        (np.full((2, 2), 65, np.uint8), r"shape \(2, 2\)"),
        (np.array(65, np.uint8), r"shape \(\)"),
        (memoryview(np.array([65, 67])), "memoryview of"),
        (["A", "C"], "query is a list"),
        (None, "query is a NoneType"),
        (65, "query is a int"),
    ],
)
def test_refused(x: Any, words: str) -> None:
    with pytest.raises(SequenceError, match=words) as caught:
        as_letters(x, "query")
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, InputError | ValueError)


# As sequences


def named(letters: bytes, name: str = "s", quality: bytes | None = None) -> Sequence:
    scores = None if quality is None else np.frombuffer(quality, np.uint8)
    return Sequence(name, "about it", np.frombuffer(letters, np.uint8), scores)


def test_slices_are_sequences_of_the_same_name() -> None:
    one = named(b"GATTACA", quality=b"ABCDEFG")
    for place in (slice(2, 5), slice(None, None, -1), slice(-3, None), slice(1, 99, 2)):
        part = one[place]
        assert (part.name, part.description) == ("s", "about it")
        assert str(part) == "GATTACA"[place]
        assert part.quality is not None
        assert part.quality.tobytes() == b"ABCDEFG"[place]
        assert part.letters.flags.c_contiguous
    assert np.shares_memory(one[2:5].letters, one.letters)
    assert (one[0], one[-1], one[np.int64(2)]) == ("G", "A", "T")
    assert named(b"AC")[:1].quality is None
    assert len(one[3:3]) == 0
    with pytest.raises(IndexError):
        one[7]
    with pytest.raises(TypeError):
        one["G"]  # type: ignore[call-overload]


def test_letters_one_by_one_and_all_together() -> None:
    one = named(b"GATtACA")
    assert list(one) == list("GATtACA")
    assert str(one) == f"{one}" == "GATtACA"
    assert repr(one) == "Sequence('s', 7 letters)"
    assert "ATt" in one and one[2:4] in one and "" in one
    assert "att" not in one and 65 not in one and "\u0391" not in one


def test_equal_letters_are_equal_sequences() -> None:
    one = named(b"GATTACA")
    assert one == named(b"GATTACA", "another", b"ABCDEFG") == "GATTACA"
    assert one != named(b"GATTAC") and one != named(b"gATTACA") and one != "GATTAC"
    assert one != b"GATTACA" and one != 5 and one is not None
    assert {one: 1}[named(b"GATTACA", "another")] == {one: 1}["GATTACA"] == 1
    assert "GATTACA" in [one]


def test_qualities_fit_the_letters() -> None:
    with pytest.raises(SequenceError, match="3 letters and 2 qualities"):
        named(b"ACG", quality=b"II")
    with pytest.raises(SequenceError, match="the qualities of a Sequence are"):
        Sequence("", "", np.frombuffer(b"ACG", np.uint8), np.zeros(3))  # type: ignore[arg-type]
    with pytest.raises(SequenceError, match="the letters of a Sequence are"):
        Sequence("", "", np.zeros(3))  # type: ignore[arg-type]


# The other strand


@pytest.mark.parametrize(
    "x",
    ["ACgtuRYN", b"ACgtuRYN", bytearray(b"ACgtuRYN"), np.frombuffer(b"ACgtuRYN", np.uint8)],
    ids=lambda x: type(x).__name__,
)
def test_reverse_complement_is_of_the_same_kind(x: Any) -> None:
    other = pysw_cl.reverse_complement(x)
    assert type(other) is type(x)
    assert as_letters(other).tobytes() == b"NRYaacGT"
    assert as_letters(x).tobytes() == b"ACgtuRYN"


def test_reverse_complement_of_named_sequences() -> None:
    other = named(b"GATTACA", quality=b"ABCDEFG").reverse_complement()
    assert (other.name, other.description, str(other)) == ("s", "about it", "TGTAATC")
    assert other.quality is not None and other.quality.tobytes() == b"GFEDCBA"
    assert reverse_complement(named(b"GATTACA")) == other
    assert reverse_complement(memoryview(b"AAC")) == b"GTT"
    every = "ACGTRYSWKMBDHVNacgtryswkmbdhvn"
    assert reverse_complement(reverse_complement(every)) == every
    skbio = pytest.importorskip("skbio")
    dna = skbio.DNA("ACGTRYSWKMBDHVN", metadata={"id": "d1"})
    turned = reverse_complement(dna)
    assert (turned.name, str(turned)) == ("d1", str(dna.reverse_complement()))
    seq = pytest.importorskip("Bio.Seq")
    assert reverse_complement(seq.Seq("ACGU")) == "ACGT"


def test_the_other_strand_is_the_minus_strand() -> None:
    query, target = "CCCCAUGTAANCAA", "AGATTACAG"
    plan: Any = {"engine": "reference"}
    plus = pysw_cl.align(reverse_complement(query), target, plan=plan)
    minus = pysw_cl.align(query, target, strand="minus", plan=plan)
    assert (plus.score, plus.cigar) == (minus.score, minus.cigar)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        ("ACGE", "the sequence has 'E' at position 4, which is no nucleotide"),
        ("AC-T", "gap character '-' at position 3"),
        ("", "is empty"),
        (named(b"AXC", "p"), "the sequence 'p' has 'X' at position 2"),
        (5, "is a int"),
    ],
)
def test_what_has_no_other_strand(x: Any, words: str) -> None:
    with pytest.raises(SequenceError, match=words):
        reverse_complement(x)


@pytest.mark.parametrize("length", [3, 3 * LONG, PIECE + LONG // 2, 2 * PIECE + 3 * LONG])
def test_the_first_letter_outside(length: int) -> None:
    """Wherever it is, and whether it is below, between or above those that are allowed."""
    rng = np.random.default_rng(length)
    letters = np.frombuffer(b"ACGTacgt", np.uint8)[rng.integers(0, 8, length)]
    assert first_outside(GOOD, letters) is None
    assert first_outside(b"ACGTacgt", letters) is None
    for wrong in b"\x00\n -.B\x7f\xff":
        for place in {0, length // 2, min(PIECE, length) - 1, length - 1}:
            changed = letters.copy()
            changed[place] = wrong
            assert first_outside(b"ACGTacgt", changed) == place
            assert first_outside(GOOD, changed) == (None if wrong == ord("B") else place)
