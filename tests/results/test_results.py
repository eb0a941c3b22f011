"""Alignments, runs, statistics and the text formats."""

from __future__ import annotations

import time
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from helpers import read_moves, renamed
from hypothesis import given, strategies as st

import pysw_cl
from pysw_cl.errors import InputError, InternalError
from pysw_cl.results.alignment import Alignment
from pysw_cl.results.cigar import Runs
from pysw_cl.results.formats import make_writer, pair
from pysw_cl.results.formats.writer import Setting, row_of
from pysw_cl.results.stats import Stats
from pysw_cl.scoring.scoring import make_scoring
from pysw_cl.sequences.sequence import Sequence, as_letters

OPS = "=XID"


def runs_of(cigar: str) -> Runs:
    return Runs.of_cigar(cigar)


def alignment(query: str, target: str, cigar: str, score: float, **options: Any) -> Alignment:
    """An alignment that starts at (2, 1) of ``query`` and ``target``."""
    scoring = make_scoring(*options.pop("scoring", ()))
    runs = runs_of(cigar)
    return Alignment(
        score=score,
        mode="local",
        query=Sequence(options.pop("query_name", "q"), "", as_letters(query)),
        target=Sequence("t", "", as_letters(target)),
        scoring=scoring,
        query_start=2,
        query_end=2 + runs.count("=XI"),
        target_start=1,
        target_end=1 + runs.count("=XD"),
        runs=runs,
        **options,
    )


EXAMPLE = ("GGACGTTTAC", "CACGACTACGG", "3=1X1D1=1I2=", 0)


def example() -> Alignment:
    # query  ACGT-TTAC    target  ACGACT-AC   (from 2 and from 1)
    return alignment(*EXAMPLE, scoring=((2, -1), (3, 1)))


# Runs


def test_runs() -> None:
    runs = runs_of("3=1X1D1=1I2=")
    assert list(runs) == [("=", 3), ("X", 1), ("D", 1), ("=", 1), ("I", 1), ("=", 2)]
    assert (runs.cigar, len(runs), runs.in_gaps()[0]) == ("3=1X1D1=1I2=", 6, 2)
    assert (runs.count("="), runs.count("ID"), runs.count("")) == (6, 2, 0)
    assert runs.columns().tobytes() == b"===XD=I=="
    assert runs == runs_of("3=1X1D1=1I2=")
    assert runs != runs_of("3=1X1I1=1I2=")
    assert runs != "3="


def moves_of(text: str) -> np.ndarray:
    return np.array(["MDI".index(c) for c in text], np.uint8)


def test_runs_of_moves() -> None:
    scoring = make_scoring()
    runs, _ = read_moves(
        moves_of("MMMMDMIMM"), as_letters("ACGTTTAC"), as_letters("ACGACTAC"), scoring
    )
    assert runs.cigar == "3=1X1D1=1I2="


def test_no_moves() -> None:
    none = np.empty(0, np.uint8)
    runs, _ = read_moves(none, none, none, make_scoring())
    assert (len(runs), runs.cigar, runs.count("=")) == (0, "", 0)


@pytest.mark.parametrize(
    ("sub_score", "wildcard", "query", "target", "cigar"),
    [
        ((1, -3), None, "AuTtNRa", "aTUCNRN", "3=4X"),
        ((1, -3), "N", "AuNR", "aTNR", "2=2X"),
        ("BLOSUM62", None, "WBX*L", "wBX*I", "4=1X"),
        ("BLOSUM62", "X", "WX", "WX", "1=1X"),
        ("NUC.4.4", None, "TNA", "UNC", "2=1X"),
    ],
)
def test_what_counts_as_a_match(
    sub_score: Any, wildcard: str | None, query: str, target: str, cigar: str
) -> None:
    scoring = make_scoring(sub_score, wildcard=wildcard)
    runs, _ = read_moves(
        np.zeros(len(query), np.uint8), as_letters(query), as_letters(target), scoring
    )
    assert runs.cigar == cigar


@pytest.mark.parametrize(("query", "target"), [("AC", "ACG"), ("ACG", "AC"), ("ACGT", "ACG")])
def test_path_that_does_not_fit_its_region(query: str, target: str) -> None:
    with pytest.raises(InternalError, match="consumes 3 x 3 letters"):
        read_moves(moves_of("MMDI"), as_letters(query), as_letters(target), make_scoring())


def test_unknown_move() -> None:
    with pytest.raises(InternalError, match="move 3"):
        read_moves(np.array([0, 3], np.uint8), as_letters("A"), as_letters("A"), make_scoring())


@given(st.text("MDI", max_size=40), st.randoms(use_true_random=False))
def test_runs_against_a_plain_loop(text: str, random: Any) -> None:
    query = "".join(random.choices("ACN", k=sum(c != "D" for c in text)))
    target = "".join(random.choices("ACN", k=sum(c != "I" for c in text)))
    i = j = total = 0
    columns, last = "", ""
    for c in text:
        if c == "M":
            same = query[i] == target[j] != "N"
            columns += "=" if same else "X"
            total += 2 if same else -3
        else:
            columns += c
            total -= 1 + (5 if c != last else 0)
        i, j, last = i + (c != "D"), j + (c != "I"), c
    letters = [np.frombuffer(s.encode(), np.uint8) for s in (query, target)]
    scoring = make_scoring((2, -3), (5, 1))
    runs, score = read_moves(moves_of(text), letters[0], letters[1], scoring)
    assert runs.columns().tobytes().decode() == columns
    assert all(a[0] != b[0] for a, b in zip(list(runs), list(runs)[1:], strict=False))
    whole = Alignment(
        total,
        "global",
        Sequence("", "", letters[0]),
        Sequence("", "", letters[1]),
        scoring,
        0,
        len(query),
        0,
        len(target),
        runs,
    )
    assert score == whole.rescore() == total
    assert whole.matches == columns.count("=")
    assert str(whole).startswith("# query")


def test_ten_million_moves() -> None:
    rng = np.random.default_rng(5)
    moves = rng.choice(3, 10_000_000, p=[0.98, 0.01, 0.01]).astype(np.uint8)
    letters = np.frombuffer(b"ACGT", np.uint8)
    query = rng.choice(letters, int((moves != 1).sum()))
    target = rng.choice(letters, int((moves != 2).sum()))
    start = time.perf_counter()
    runs, score = read_moves(moves, query, target, make_scoring())
    assert time.perf_counter() - start < 3  # about 0.2 s on an idle machine
    assert int(runs.lengths.sum()) == len(moves)
    assert runs.count("D") == int((moves == 1).sum())
    gaps = 3 * runs.in_gaps()[0] + 2 * runs.count("ID")
    assert score == runs.count("=") - 3 * runs.count("X") - gaps


# Alignment


def test_alignment() -> None:
    r = example()
    assert (r.cigar, r.matches, r.columns) == ("3=1X1D1=1I2=", 6, 9)
    assert r.identity == pytest.approx(6 / 9)
    assert r.rescore() == 6 * 2 - 1 - 2 * (3 + 1)
    assert isinstance(r.rescore(), int)
    assert repr(r) == (
        "<Alignment local score=0 query[2:10] of 10 target[1:9] of 11 identity=0.6667 runs=6>"
    )
    with pytest.raises(FrozenInstanceError):
        r.score = 5  # type: ignore[misc]


def test_halves() -> None:
    r = alignment("GGWWA", "CWWWA", "2=1D1=", 0, scoring=("BLOSUM62", (9.5, 0.5)))
    assert r.rescore() == 11 + 11 + 4 - 10
    assert isinstance(r.rescore(), float)
    r = alignment("GGWWA", "CWWWAA", "2=2D1=", 15.5, scoring=("BLOSUM62", (9.5, 0.5)))
    assert r.rescore() == r.score == 15.5
    assert "AS:f:15.5\tNM:i:2\tde:f:0.2500\tcg:Z:2=2D1=" in r.to_paf()
    assert "a gap of length k costs 9.5 + k * 0.5" in str(r)
    assert r.scoring.unscaled(31) == 15.5


def test_rescore_sees_a_wrong_region() -> None:
    r = example()
    wrong = Alignment(0, "local", r.query, r.target, r.scoring, 2, 9, 1, 9, r.runs)
    with pytest.raises(InternalError, match="consumes 8 x 8 letters of a region of 7 x 8"):
        wrong.rescore()


def table(found: Alignment, output: str) -> str:
    """The line of a table."""
    return make_writer("tsv", Setting(output)).text([row_of(found)])


def test_without_a_path() -> None:
    r = example()
    ends = Alignment(4, "local", r.query, r.target, r.scoring, None, 10, None, 9)
    score = Alignment(4, "local", r.query, r.target, r.scoring)
    for x in (ends, score):
        assert x.cigar is x.matches is x.identity is x.columns is x.runs is None
        with pytest.raises(InputError, match="output='path'"):
            x.rescore()
    assert repr(ends) == "<Alignment local score=4 query[?:10] of 10 target[?:9] of 11>"
    assert repr(score) == "<Alignment local score=4 query of 10 target of 11>"
    assert "query [?, 10), target [?, 9)" in str(ends)
    assert "coordinates" not in str(score)
    assert table(ends, "ends") == "q\t10\tt\t11\t+\t4\t\t10\t9\n"
    assert table(score, "score") == "q\t10\tt\t11\t+\t4\n"
    for found in (ends, score):
        with pytest.raises(InputError, match="PAF needs a path"):
            found.to_paf()


def test_empty_alignment() -> None:
    r = example()
    empty = Alignment(0, "local", r.query, r.target, r.scoring, 0, 0, 0, 0, runs_of(""))
    assert (empty.cigar, empty.matches, empty.identity, empty.rescore()) == ("", 0, 0.0, 0)
    assert "0/0 (0.0%)" in str(empty)
    assert empty.to_paf() == make_writer("paf", Setting()).text([row_of(empty)]) == ""
    assert table(empty, "path") == "q\t10\tt\t11\t+\t0\t0\t0\t0\t0\t0\t0\t0.0000\t*\n"


# Formats


def test_paf() -> None:
    assert example().to_paf() == (
        "q\t10\t2\t10\t+\tt\t11\t1\t9\t6\t9\t255\tAS:i:0\tNM:i:3\tde:f:0.3333\tcg:Z:3=1X1D1=1I2="
    )
    line = renamed(example(), "a\tname", "").to_paf()
    assert line.startswith("a_name\t10\t")
    assert line.split("\t")[5] == "target"
    assert len(line.split("\t")) == 16


def test_pair_text() -> None:
    assert str(example()) == "\n".join(
        [
            "# query:       q, 10 letters",
            "# target:      t, 11 letters",
            "# mode:        local",
            "# scoring:     match 2, mismatch -1; a gap of length k costs 3 + k * 1",
            "# score:       0",
            "# coordinates: query [2, 10), target [1, 9)",
            "# identity:    6/9 (66.7%)",
            "# similarity:  6/9 (66.7%)",
            "# gaps:        2/9 (22.2%)",
            "",
            "q  3 ACGT-TTAC 10",
            "     |||. | ||",
            "t  2 ACGACT-AC  9",
        ]
    )


def test_pair_text_in_blocks() -> None:
    lines = pair.text(renamed(example(), "query 1", "t"), width=4).splitlines()[9:]
    assert lines == [
        "",
        "query 1  3 ACGT  6",
        "           |||.",
        "t        2 ACGA  5",
        "",
        "query 1  7 -TTA  9",
        "            | |",
        "t        6 CT-A  8",
        "",
        "query 1 10 C 10",
        "           |",
        "t        9 C  9",
    ]


def test_pair_text_of_a_block_without_letters() -> None:
    lines = pair.text(alignment("GGACGT", "CAT", "1=2I1=", 0), width=1).splitlines()
    assert [line for line in lines if line.startswith("t ")] == [
        "t 2 A 2",
        "t 2 - 2",
        "t 2 - 2",
        "t 3 T 3",
    ]


def test_similar_letters_are_marked() -> None:
    r = alignment("GGWDI", "CWEW", "1=2X", 0, scoring=("BLOSUM62", (10, 1)))
    assert str(r).splitlines()[-2].endswith("|:.")
    assert r.positives == 2
    assert "# similarity:  2/3 (66.7%)" in str(r).splitlines()


@pytest.mark.parametrize(
    ("scoring", "words"),
    [
        (((1, -3), (3, 2)), "match 1, mismatch -3; a gap of length k costs 3 + k * 2"),
        (((2, -1.5), (9.5, 0.5), "n"),
         "match 2, mismatch -1.5, n against anything 0; a gap of length k costs 9.5 + k * 0.5"),
        (("blosum62",), "matrix BLOSUM62; a gap of length k costs 11 + k * 1"),
        (("DNAFULL", 4), "matrix NUC.4.4; a gap of length k costs 0 + k * 4"),
        (("PAM250", None, None, "x"),
         "matrix PAM250, letters outside the alphabet as X; a gap of length k costs 14 + k * 2"),
        ((([[1, -1], [-2, 1]], "AC"), 5),
         "a matrix of AC (SHA-256 75bc9e9b...); a gap of length k costs 0 + k * 5"),
    ],
)  # fmt: skip
def test_a_scoring_in_words(scoring: tuple[Any, ...], words: str) -> None:
    """All that has to be given to make the alignment again."""
    assert make_scoring(*scoring).in_words == words


def test_the_header_names_free_ends() -> None:
    r = pysw_cl.align("ACGT", "CG", mode="global", free_ends=(False, True))
    assert "# mode:        global; free ends 0,0,1,1" in str(r).splitlines()
    assert "# mode:        global" in str(pysw_cl.align("A", "A", mode="global")).splitlines()


# Statistics


def test_stats() -> None:
    stats = Stats(launches=3, seconds=0.5, device_bytes=1 << 20)
    stats.add_cost(Stats({"wavefront/scalar32/32": 10**9}))
    stats.add_cost(Stats({"wavefront/scalar32/32": 10**9, "reference/numpy/32": 5}))
    assert stats.cells == {"wavefront/scalar32/32": 2 * 10**9, "reference/numpy/32": 5}
    assert stats.total_cells == 2 * 10**9 + 5
    assert stats.gcups == pytest.approx(4.0)
    assert str(stats) == (
        "0.500 s, 4.00 GCUPS; 2,000,000,005 cells (wavefront/scalar32/32 2,000,000,000, "
        "reference/numpy/32 5); 3 launches; 1.0 MiB on the device"
    )
    assert "7 cells pruned" in str(Stats(pruned=7))
    assert Stats().gcups == 0


def test_equal_letters_are_equal_whatever_they_score() -> None:
    """A letter that a matrix scores as a mismatch with itself is '=' all the same."""
    scores = np.full((4, 4), -4)
    scores[range(4), range(4)] = (5, 5, -4, 5)
    for other in (-4, -3):  # compare-and-select, and a table
        scores[0, 1] = other
        scoring = make_scoring((scores, "ACGT"), 9)
        letters = as_letters("GG")
        moves = np.zeros(2, np.uint8)
        assert read_moves(moves, letters, letters, scoring)[0].cigar == "2="
