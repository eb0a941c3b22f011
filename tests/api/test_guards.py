"""Input that is refused or warned about although it could be computed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysw_cl
from pysw_cl.errors import InputError, LettersWarning, ScoringError, SequenceError

A = "ACGTACGTACGT"
#: The three commands, as functions of the arguments of one pair.
COMMANDS: dict[str, Callable[..., Any]] = {
    "align": pysw_cl.align,
    "align_many": lambda a, b, **how: pysw_cl.align_many([(a, b)], **how),
    "align_top": pysw_cl.align_top,
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("sub_score", "words"),
    [
        ((1, 3), "minimap2 and bwa take a positive penalty"),
        ((1, 0.5), "a mismatch scores 0.5"),
        ((0, -1), "always empty"),
        ((-2, -3), "always empty"),
        (([[0, -1], [-1, 0]], "AC"), "always empty"),
    ],
)
def test_odd_local_scorings(command: str, sub_score: Any, words: str) -> None:
    compute = COMMANDS[command]
    letters = "ACCA"
    with pytest.raises(ScoringError, match=words):
        compute(letters, letters, sub_score=sub_score)
    compute(letters, letters, sub_score=sub_score, allow_odd_scoring=True)


@pytest.mark.parametrize("command", ["align", "align_many"])
def test_odd_global_scorings(command: str) -> None:
    """Edit distances and the like are fine; a mismatch better than a match is not."""
    compute = COMMANDS[command]
    for sub_score in ((0, -1), (-1, -2), (3, 2), (1, 1)):
        compute(A, A, sub_score=sub_score, mode="global")
    for sub_score in ((1, 3), (-1, 0)):
        with pytest.raises(ScoringError, match="more than a match"):
            compute(A, A, sub_score=sub_score, mode="global")
        compute(A, A, sub_score=sub_score, mode="global", allow_odd_scoring=True)


@pytest.mark.parametrize("command", ["align", "align_many"])
def test_free_ends_are_for_global_comparisons(command: str) -> None:
    compute = COMMANDS[command]
    for ends in (True, (False, True), (False, False, True, False)):
        with pytest.raises(InputError, match=r"free_ends is for mode='global'; mode='local'"):
            compute(A, A, free_ends=ends)
    compute(A, A, free_ends=(False, False))
    compute(A, A, free_ends=True, mode="global")


@pytest.mark.parametrize("command", ["align", "align_many"])
@pytest.mark.parametrize(
    ("mode", "ends"),
    [
        ("semiglobal", "True"),
        ("semi-global", "True"),
        ("Overlap", "True"),
        ("glocal", r"\(True, False\)"),
    ],
)
def test_modes_of_other_tools(command: str, mode: str, ends: str) -> None:
    with pytest.raises(InputError, match=f"not '{mode}'; use mode='global' with free_ends={ends}"):
        COMMANDS[command](A, A, mode=mode)


@pytest.mark.parametrize("command", COMMANDS)
def test_rare_residues_are_counted(command: str) -> None:
    """Computed as others, and said once with counts, at the caller's line."""
    query, target = "MKWVTFISLLUUAYOSKR", "MKWVTFISLLCJAYXSKR"
    with pytest.warns(LettersWarning) as caught:
        found = COMMANDS[command](query, target, sub_score="BLOSUM62")
    assert [str(one.message) for one in caught] == [
        "letters outside the alphabet of BLOSUM62 were scored as others: J between I and L (1), "
        "U as C (2), O as X (1)"
    ]
    like = COMMANDS[command](
        query.replace("U", "C").replace("O", "X"), target, sub_score="BLOSUM62"
    )
    score = [
        one["score"][0]
        if command == "align_many"
        else (one if command == "align" else one[0]).score
        for one in (found, like)
    ]
    assert score[0] == score[1]
    if command == "align":
        assert caught[0].filename == __file__


def test_unknown_letters_are_counted() -> None:
    with pytest.raises(SequenceError, match="unknown='N'"):
        pysw_cl.align("ACG?ACGT", A)
    with pytest.warns(
        LettersWarning, match=r"the alphabet were scored as others: others as N \(2\)"
    ):
        found = pysw_cl.align("ACG?ACGT", "ACGTACG1", unknown="N")
    same = pysw_cl.align("ACGNACGT", "ACGTACGN")
    assert (found.score, found.cigar) == (same.score, same.cigar)


def test_warnings_of_one_range_alone() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pysw_cl.align("MKWVTFU", "MKWVTFI", sub_score="BLOSUM62", query_range=(0, 6))


@pytest.mark.parametrize("command", COMMANDS)
def test_nucleotides_compared_as_proteins(command: str) -> None:
    with pytest.warns(LettersWarning, match="look like nucleotides"):
        COMMANDS[command](A, A, sub_score="BLOSUM62")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        COMMANDS[command]("ACGT", "ACGT", sub_score="BLOSUM62")  # may be a peptide
        COMMANDS[command](A, "MKWVTFISLL", sub_score="BLOSUM62")
        COMMANDS[command](A, A, sub_score="NUC.4.4")


@pytest.mark.parametrize("given", ["/tmp/a.fa", "human.fasta.gz", "C:\\data\\seq.txt", b"x/y.faa"])
def test_a_path_in_place_of_letters(given: Any) -> None:
    with pytest.raises(SequenceError, match="looks like the name of a file"):
        pysw_cl.align(given, A)
    with pytest.raises(SequenceError, match="is the name of a file; read_sequences"):
        pysw_cl.align(Path("a.fa"), A)


def test_a_file_with_such_letters_is_read_as_one(tmp_path: Path) -> None:
    """In a record of a file nothing looks like a name."""
    path = tmp_path / "x.fa"
    path.write_text(">a\nAC/GT.fa\n")
    with pytest.raises(SequenceError, match=r"record 'a' of .* has the gap character '\.'"):
        list(pysw_cl.read_fasta(path))


def test_batches_of_unknown_and_rare_letters_are_those_of_single_pairs() -> None:
    rng = np.random.default_rng(8)
    letters = list("ACDEFGHIKLMNPQRSTVWYBZX*UOJuoj1?")
    pairs = [["".join(rng.choice(letters, k)) for k in rng.integers(1, 40, 2)] for _ in range(60)]
    for matrix in ("BLOSUM62", "PAM250", "GONNET"):
        given: dict[str, Any] = {"sub_score": matrix, "unknown": "X", "output": "path"}
        with pytest.warns(LettersWarning):
            rows = pysw_cl.align_many(pairs, **given)
            plan = {"engine": "reference"}
            ones = [pysw_cl.align(a, b, plan=plan, **given) for a, b in pairs]
        for row, one in zip(rows, ones, strict=True):
            assert (row["score"], row["cigar"], row["matches"]) == (
                one.score, one.cigar, one.matches,
            )  # fmt: skip
            assert one.rescore() == one.score
