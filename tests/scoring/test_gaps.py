"""Gap costs of other programs."""

from __future__ import annotations

from typing import Any

import pytest

import pysw_cl
from pysw_cl.errors import ScoringError


@pytest.mark.parametrize(
    ("name", "given", "costs"),
    [
        ("blast", (11, 1), (11, 1)),
        ("parasail", (11, 1), (10, 1)),
        ("emboss", (), (9.5, 0.5)),
        ("cudalign", (), (3, 2)),
        ("biopython", (-10, -0.5), (9.5, 0.5)),
        ("bwa", (), (6, 1)),
        ("fasta", (-12, -4), (12, 4)),
        ("bwa", ("6,6", "1,1"), (6, 1)),
        ("minimap2", (4, 2), (4, 2)),
        ("minimap2", ("4", "2"), (4, 2)),
        ("minimap2", ("4,24", "2,2"), (4, 2)),
    ],
)
def test_costs(name: str, given: tuple[Any, ...], costs: tuple[float, float]) -> None:
    assert getattr(pysw_cl.gaps, f"from_{name}")(*given) == costs


def test_parasail_agrees() -> None:
    parasail = pytest.importorskip("parasail")
    a, b = "MKWVTFISLLFLFSSAYSRGV", "MKWVTFLLFLSSAYSRG"
    theirs = parasail.nw_scan(a, b, 7, 2, parasail.blosum62).score
    ours = pysw_cl.align(
        a, b, mode="global", sub_score="BLOSUM62", gap_cost=pysw_cl.gaps.from_parasail(7, 2)
    )
    assert ours.score == theirs


def test_biopython_agrees() -> None:
    """A protein pair with gaps of several lengths, by costs with halves."""
    align = pytest.importorskip("Bio.Align")
    theirs = align.PairwiseAligner(open_gap_score=-10, extend_gap_score=-0.5)
    theirs.substitution_matrix = align.substitution_matrices.load("BLOSUM62")
    a, b = "MKWVTFISLLFLFSSAYSRGVFRRDAHKSEVAHRF", "MKWVTFISLLSRGVFRRDAHKSEVHRF"
    ours = pysw_cl.align(
        a,
        b,
        mode="global",
        sub_score=theirs.substitution_matrix,
        gap_cost=pysw_cl.gaps.from_biopython(-10, -0.5),
    )
    assert ours.score == theirs.score(a, b)
    assert ours.scoring.in_words == "matrix BLOSUM62; a gap of length k costs 9.5 + k * 0.5"


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("minimap2", ("4,24", "2,1"), "two-piece"),
        ("minimap2", ((4, 24), (2, 1)), "two-piece"),
        ("parasail", (1, 2), "open=1 is less than extend=2"),
        ("blast", (-11, 1), "at least 0, not -11"),
        ("biopython", (10, 0.5), "0 or negative, such as -10; not 10"),
        ("biopython", (-10, 0.5), "not 0.5"),
        ("biopython", ("10", 0.5), "not '10'"),
        ("biopython", (-1, -2), "less than extend_gap_score"),
        ("fasta", ("-12", -2), "at least 0, not '-12'"),
        ("bwa", (True, 1), "not True"),
        ("bwa", ("6,8", 1), "deletions and insertions"),
        ("bwa", ("six", 1), "one number or two"),
        ("bwa", ((1, 2, 3), 1), "one number or two"),
        ("blast", (0, 0), "match / 2 - mismatch"),
        ("minimap2", (4, "2,1"), "two-piece"),
        ("minimap2", (-4, 2), "at least 0"),
        ("emboss", (float("nan"), 1), "at least 0"),
    ],
)
def test_refused(name: str, given: tuple[Any, ...], words: str) -> None:
    with pytest.raises(ScoringError, match=words):
        getattr(pysw_cl.gaps, f"from_{name}")(*given)
