"""Ranges and strands: every result is that of the cut or turned sequence, counted in the whole."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from aligning import SMALL, needs_lanes
from helpers import likely
from hypothesis import given, settings, strategies as st

import pysw_cl
from pysw_cl import align
from pysw_cl.errors import InputError, SequenceError
from pysw_cl.results.alignment import Alignment
from pysw_cl.results.formats import make_writer, pair
from pysw_cl.results.formats.writer import Setting, row_of
from pysw_cl.sequences.alphabet import COMPLEMENT
from pysw_cl.sequences.sequence import Sequence, as_letters

OTHER = dict(zip("ACGTURYSWKMBDHVN", "TGCAAYRSWMKVHDBN", strict=True))
REFERENCE = {"engine": "reference", "tile_cells": 200, "traceback_tile_cells": 64}
MODES: list[dict[str, Any]] = [
    {},
    {"mode": "global"},
    {"mode": "global", "free_ends": True},
    {"mode": "global", "free_ends": (True, False)},
    {"mode": "global", "free_ends": (False, True, True, False)},
]


def turned(letters: str) -> str:
    return "".join(OTHER[letter] for letter in reversed(letters))


def coordinates(r: Alignment) -> tuple[int | None, ...]:
    return r.query_start, r.query_end, r.target_start, r.target_end


def shifted(r: Alignment, query: int, target: int) -> tuple[int | None, ...]:
    moved = zip(coordinates(r), (query, query, target, target), strict=True)
    return tuple(None if place is None else place + by for place, by in moved)


def mirrored(r: Alignment, length: int) -> tuple[int | None, ...]:
    """The coordinates of a result for the turned query in the query as it was."""
    start, end = (None if x is None else length - x for x in (r.query_end, r.query_start))
    return start, end, r.target_start, r.target_end


@st.composite
def pairs(draw: st.DrawFn) -> tuple[str, str]:
    """Two sequences with something in common on either strand, with U, N and others at times."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    letters = draw(st.sampled_from(["AT", "ACGT", "ACGTN", "ACGURYKM"]))
    query = "".join(rng.choice(list(letters), draw(st.integers(1, 60))))
    target = "".join(rng.choice(list(letters), draw(st.integers(1, 60))))
    part = query[: draw(st.integers(0, 40))]
    at = draw(st.integers(0, len(target)))
    return query, target[:at] + (turned(part) if draw(st.booleans()) else part) + target[at:]


# Complements


def test_complement_is_iupacs() -> None:
    for letter, other in OTHER.items():
        assert chr(COMPLEMENT[ord(letter)]) == other
        assert chr(COMPLEMENT[ord(letter.lower())]) == other.lower()
    others = [code for code in range(256) if chr(code).upper() not in OTHER]
    assert COMPLEMENT[others].tolist() == others
    skbio = pytest.importorskip("skbio")
    dna = skbio.DNA("ACGTRYSWKMBDHVN")
    assert COMPLEMENT[as_letters(dna)].tobytes() == dna.complement().values.tobytes()


# The minus strand


@settings(deadline=None, max_examples=60)
@given(pairs(), st.sampled_from(MODES), st.booleans())
def test_minus_is_the_turned_query(texts: tuple[str, str], mode: dict[str, Any], low: bool) -> None:
    query, target = texts
    options = {**mode, "sub_score": (2, -3), "plan": REFERENCE}
    expected = align(turned(query), target, **options)
    r = align(query.lower() if low else query, target, strand="minus", **options)
    assert (r.score, r.cigar, r.strand) == (expected.score, expected.cigar, "minus")
    assert coordinates(r) == mirrored(expected, len(query))
    assert r.rescore() == r.score
    aligned = [letters.tobytes().decode().upper() for letters in r.region()]
    assert aligned == [letters.tobytes().decode().upper() for letters in expected.region()]
    if not low:
        text, other = pair.text(r).splitlines(), pair.text(expected).splitlines()
        kept = [line.split()[2:3] for line in text if line.startswith("query ")]
        assert kept == [line.split()[2:3] for line in other if line.startswith("query ")]


@settings(deadline=None, max_examples=60)
@given(
    pairs(),
    st.sampled_from(MODES),
    st.booleans(),
    st.sampled_from(["score", "ends", "path"]),
    st.booleans(),
)
def test_both_is_the_better_one(
    texts: tuple[str, str], mode: dict[str, Any], prune: bool, output: str, palindrome: bool
) -> None:
    query, target = texts
    if palindrome:  # both strands score the same
        query += turned(query)
    options = {**mode, "sub_score": (2, -3), "plan": REFERENCE, "prune": prune, "output": output}
    plus, minus = (align(query, target, strand=strand, **options) for strand in ("plus", "minus"))
    expected = minus if minus.score > plus.score else plus
    assert not palindrome or expected is plus
    for minus_first in (False, True):
        with likely(minus_first):
            r = align(query, target, strand="both", **options)
        assert (r.score, r.strand, r.cigar) == (expected.score, expected.strand, expected.cigar)
        assert coordinates(r) == coordinates(expected)


@pytest.mark.parametrize("kernels", SMALL[:1], ids=str)
def test_both_on_a_device(kernels: Any) -> None:
    needs_lanes(kernels)
    rng = np.random.default_rng(11)
    for length in (30, 200, 431):
        core = "".join(rng.choice(list("ACGT"), length))
        target = "".join(rng.choice(list("ACGT"), 80)) + turned(core[5:-9]) + "ACCA"
        for query, strand in ((core, "minus"), (turned(core), "plus")):
            plan = kernels.plan(tile_cells=600)
            with likely(length % 2 == 0):
                r = align(query, target, strand="both", plan=plan)
            host = align(query, target, strand=strand, plan=REFERENCE)
            assert (r.strand, r.score, r.cigar) == (strand, host.score, host.cigar)
            assert coordinates(r) == coordinates(host)
            alone = align(query, target, strand=strand, plan=plan)
            assert r.tiles is not None
            assert alone.tiles is not None
            both_there = ~np.isnan(r.tiles.scores) & ~np.isnan(alone.tiles.scores)
            assert np.array_equal(r.tiles.scores[both_there], alone.tiles.scores[both_there])
            assert np.nanmax(r.tiles.scores) == r.score


def test_plus_wins_a_tie() -> None:
    palindrome = "ACGTTAACGT"
    assert turned(palindrome) == palindrome
    for query, mode, minus_first in product(
        ("GG" + palindrome + "CC", "AAAA" + palindrome, "GGGG"), MODES, (False, True)
    ):
        with likely(minus_first):
            r = align(query, palindrome, strand="both", plan=REFERENCE, **mode)
        plus, minus = (
            align(query, palindrome, strand=strand, plan=REFERENCE, **mode)
            for strand in ("plus", "minus")
        )
        expected = minus if minus.score > plus.score else plus
        assert (r.strand, r.cigar) == (expected.strand, expected.cigar)
        if query.startswith("GG" + palindrome) or not mode:
            assert r.strand == "plus"


@pytest.mark.parametrize("strand", ["plus", "minus"])
def test_the_second_strand_is_pruned_by_the_first(strand: str) -> None:
    rng = np.random.default_rng(3)
    target = "".join(rng.choice(list("ACGT"), 400))
    query = target if strand == "plus" else turned(target)
    with likely(strand == "minus"):
        both, plus, minus = (
            align(query, target, strand=name, plan=REFERENCE) for name in ("both", "plus", "minus")
        )
    assert both.strand == strand
    first, second = (plus, minus) if strand == "plus" else (minus, plus)
    assert both.stats.pruned > plus.stats.pruned + minus.stats.pruned
    assert both.stats.total_cells < first.stats.total_cells + second.stats.total_cells // 4


def test_a_matrix_whose_codes_have_no_complement() -> None:
    """A and C score alike, so they share a code; T and G do not."""
    scores = [[2, 2, -1, -2], [2, 2, -1, -2], [-1, -1, 3, 0], [-2, -2, 0, 4]]
    options: dict[str, Any] = {"sub_score": (scores, "ACGT"), "plan": REFERENCE}
    query, target = "GATTACACCTGGA", "TCCAGGTGTAATCTTT"
    r = align(query, target, strand="minus", **options)
    expected = align(turned(query), target, **options)
    assert (r.score, r.cigar) == (expected.score, expected.cigar)
    assert coordinates(r) == mirrored(expected, len(query))


def test_what_is_known_of_the_minus_strand() -> None:
    query, target = "CCCCATGTAATCAA", "AGATTACAG"
    r = align(query, target, strand="minus", plan=REFERENCE)
    assert coordinates(r) == (5, 12, 1, 8)
    assert repr(r).startswith("<Alignment local score=7 query[5:12] of 14 minus target[1:8] of 9")
    assert r.to_paf() == (
        "query\t14\t5\t12\t-\ttarget\t9\t1\t8\t7\t7\t255\tAS:i:7\tNM:i:0\tde:f:0.0000\tcg:Z:7="
    )
    assert str(r).splitlines() == [
        "# query:       query, 14 letters",
        "# target:      target, 9 letters",
        "# strand:      minus; the query's reverse complement is aligned",
        "# mode:        local",
        "# scoring:     match 1, mismatch -3; a gap of length k costs 3 + k * 2",
        "# score:       7",
        "# coordinates: query [5, 12), target [1, 8)",
        "# identity:    7/7 (100.0%)",
        "# similarity:  7/7 (100.0%)",
        "# gaps:        0/7 (0.0%)",
        "",
        "query  12 GATTACA  6",
        "          |||||||",
        "target  2 GATTACA  8",
    ]
    ends = align(query, target, strand="minus", output="ends", plan=REFERENCE)
    assert coordinates(ends) == (5, None, None, 8)
    assert "query [5, ?), target [?, 8)" in str(ends)
    assert (
        make_writer("tsv", Setting("ends")).text([row_of(ends)])
        == "query\t14\ttarget\t9\t-\t7\t5\t\t8\n"
    )
    with pytest.raises(InputError, match="output='path'"):
        ends.region()
    score = align(query, target, strand="minus", output="score", plan=REFERENCE)
    assert coordinates(score) == (None,) * 4
    assert (
        make_writer("tsv", Setting("score")).text([row_of(score)]) == "query\t14\ttarget\t9\t-\t7\n"
    )


def test_positions_of_the_minus_strand_fall_from_block_to_block() -> None:
    query = turned("GATTACAGGCATTA")
    r = align(query, "GATTACACATTA", strand="minus", sub_score=(5, -4), plan=REFERENCE)
    assert r.cigar in ("7=2I5=", "6=2I6=")
    lines = [line.split() for line in pair.text(r, width=4).splitlines() if line[:5] == "query"]
    assert [(int(line[1]), int(line[3])) for line in lines] == [(14, 11), (10, 7), (6, 3), (2, 1)]


# Ranges


@settings(deadline=None, max_examples=80)
@given(pairs(), st.sampled_from(MODES), st.sampled_from(["plus", "minus", "both"]), st.data())
def test_ranges(texts: tuple[str, str], mode: dict[str, Any], strand: str, data: Any) -> None:
    ranges = []
    for text in texts:
        start = data.draw(st.integers(0, len(text) - 1))
        ranges.append((start, data.draw(st.integers(start + 1, len(text)))))
    parts = [text[start:end] for text, (start, end) in zip(texts, ranges, strict=True)]
    output = data.draw(st.sampled_from(["score", "ends", "path"]))
    options = {**mode, "strand": strand, "plan": REFERENCE, "output": output}
    expected = align(*parts, **options)
    r = align(*texts, query_range=ranges[0], target_range=ranges[1], **options)
    assert (r.score, r.cigar, r.strand) == (expected.score, expected.cigar, expected.strand)
    assert coordinates(r) == shifted(expected, ranges[0][0], ranges[1][0])
    assert (len(r.query), len(r.target)) == (len(texts[0]), len(texts[1]))
    if output == "path":
        assert r.rescore() == r.score


def test_paf_of_a_range_counts_in_the_whole_sequence() -> None:
    r = align(
        "CCGATTACACC", "TTTTGATTACA", query_range=(1, 8), target_range=(3, 11), plan=REFERENCE
    )
    assert r.to_paf().split("\t")[:9] == "query 11 2 8 + target 11 4 10".split()
    assert "query   3 GATTAC  8" in str(r)


def test_letters_outside_a_range_do_not_matter() -> None:
    r = align("--GATTACA!!", "GATTACA", query_range=(2, 9), plan=REFERENCE)
    assert coordinates(r) == (2, 9, 0, 7)
    with pytest.raises(SequenceError, match="'!' at position 10 of the query"):
        align("--GATTACA!!", "GATTACA", query_range=(2, 10), plan=REFERENCE)
    with pytest.raises(SequenceError, match="gap character '-' at position 2"):
        align("--GATTACA!!", "GATTACA", query_range=(1, 9), plan=REFERENCE)


def test_numpy_numbers_are_numbers() -> None:
    r = align("GATTACA", "GATTACA", query_range=np.array([1, 5]), plan=REFERENCE)
    assert coordinates(r) == (1, 5, 1, 5)


@pytest.mark.parametrize(
    "place",
    [(-1, 3), (3, 3), (4, 3), (0, 8), (7, 8), (1,), (1, 2, 3), 5, "15", (0.0, 2), [None, 3]],
)
def test_wrong_ranges(place: Any) -> None:
    for side in ("query", "target"):
        with pytest.raises(InputError, match=f"{side}_range") as caught:
            align("GATTACA", "GATTACA", **{f"{side}_range": place}, plan=REFERENCE)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("strand", ["+", "", None, True, "Plus", ["plus"]])
def test_wrong_strands(strand: Any) -> None:
    with pytest.raises(InputError, match="strand must be 'plus', 'minus' or 'both'"):
        align("GATTACA", "GATTACA", strand=strand, plan=REFERENCE)


def test_proteins_have_no_strands() -> None:
    for strand in ("minus", "both"):
        with pytest.raises(InputError, match="takes nucleotides"):
            align("MKWV", "MKWV", sub_score="BLOSUM62", strand=strand, plan=REFERENCE)
    assert align("MKWV", "MKWV", sub_score="BLOSUM62", strand="plus", plan=REFERENCE).score > 0


def test_an_alphabet_without_a_letters_complement() -> None:
    scores = np.full((5, 5), -1) + 3 * np.eye(5, dtype=int)
    options: dict[str, Any] = {"sub_score": (scores, "ACGTR"), "plan": REFERENCE}
    assert align("GATTACA", "TGTAATC", strand="minus", **options).score == 14
    with pytest.raises(SequenceError, match="'R' at position 5 of the query becomes 'Y'"):
        align("GATTRCA", "TGTAATC", strand="minus", **options)
    with pytest.raises(SequenceError, match="'R' at position 5"):
        align("GATTRCA", "TGTAATC", strand="both", **options)


def test_progress_of_two_strands_is_one_run() -> None:
    seen: list[tuple[int, int]] = []
    align("GATTACA", "GATTACAA", strand="both", plan=REFERENCE, progress=lambda *x: seen.append(x))
    totals = {total for _, total in seen}
    assert len(totals) == 1
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == max(totals) >= 2 * 7 * 8  # the path is part of it


# Positions beyond 32 bits


@pytest.mark.parametrize("strand", ["plus", "minus"])
def test_positions_beyond_32_bits(strand: str) -> None:
    """A sequence of 2**33 letters that takes a byte: what lies in the range is all that is read."""
    endless = Sequence("endless", "", np.broadcast_to(np.uint8(ord("A")), (1 << 33,)))
    at = (1 << 32) + 12_345
    query = "A" * 20 if strand == "plus" else "T" * 20
    r = align(query, endless, target_range=(at, at + 50), strand=strand, plan=REFERENCE)
    assert coordinates(r) == (0, 20, at, at + 20)
    fields = r.to_paf().split("\t")
    assert fields[6:9] == [str(1 << 33), str(at), str(at + 20)]
    assert f" {at + 1} AAAA" in str(r)
    other = align(endless, "A" * 20 if strand == "plus" else "T" * 20, query_range=(at, at + 50),
                  strand=strand, plan=REFERENCE)  # fmt: skip
    expected = (at, at + 20) if strand == "plus" else (at + 30, at + 50)
    assert coordinates(other)[:2] == expected
    assert other.rescore() == 20
    assert pysw_cl.align("A", endless, target_range=(at, at + 1), plan=REFERENCE).score == 1
