"""BLAST's tables: their columns, and that Biopython and pandas read them as they are meant."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from writing import AMINO, PLAN, PROTEIN, named, random_pairs, random_results, random_text, written

import pysw_cl
from pysw_cl.errors import InputError
from pysw_cl.results.formats.blast import FIELDS, STANDARD


def columns_of(line: str, *names: str) -> dict[str, str]:
    return dict(zip(names or STANDARD, line.rstrip("\n").split("\t"), strict=True))


def test_the_standard_columns() -> None:
    query, target = named("q 1", "CCGATTACAGATTGG"), named("s1", "TTTGATTACACATTAA")
    r = pysw_cl.align(query, target, gap_cost=(1, 1), sub_score=(2, -3), plan=PLAN)
    assert written(r, "6") == "q_1\ts1\t90.909\t11\t1\t0\t3\t13\t4\t14\t-1\t0\n"
    assert written(r, "blast6", fields=["std", "score"]).endswith("\t-1\t0\t17\n")
    empty = pysw_cl.align("AAAA", "CCCC", plan=PLAN)
    assert written(empty, "6") == ""
    assert written(empty, "7").splitlines() == [
        f"# BLASTN pysw_cl {pysw_cl.__version__}",
        "# Query: query",
        "# Database: target",
        "# 0 hits found",
        "# BLAST processed 1 queries",
    ]


def test_the_minus_strand() -> None:
    """BLAST turns the subject, not the query."""
    query, target = named("q", "CCTGTAATCGGGG"), named("s", "AAGATTTACAGGAA")
    r = pysw_cl.align(query, target, strand="minus", gap_cost=(1, 1), sub_score=(3, -3), plan=PLAN)
    names = ["qstart", "qend", "sstart", "send", "qseq", "sseq", "btop", "sstrand", "frames"]
    assert r.cigar == "4=1D5="
    assert written(r, "6", fields=names).split() == [
        "1", "9", "12", "3", "CCTGT-AATC", "CCTGTAAATC", "5-A4", "minus", "1/-1",
    ]  # fmt: skip


@pytest.mark.parametrize("protein", [False, True])
def test_every_column(protein: bool) -> None:
    how: dict[str, Any] = PROTEIN if protein else {}
    results = random_results(60, AMINO if protein else "ACGT", **how)
    lines = written(results, "6", fields=list(FIELDS)).splitlines()
    results = [r for r in results if r.columns]
    assert len(lines) == len(results) > 30
    for r, line in zip(results, lines, strict=True):
        said = columns_of(line, *FIELDS)
        assert said["qseqid"] == r.query.name and said["sseqid"] == r.target.name
        assert said["stitle"] == r.target.name and said["qlen"] == str(len(r.query))
        assert (int(said["qstart"]), int(said["qend"])) == ((r.query_start or 0) + 1, r.query_end)
        places = [(r.target_start or 0) + 1, r.target_end]
        minus = r.strand == "minus"
        assert [int(said["sstart"]), int(said["send"])] == places[:: -1 if minus else 1]
        pairs = list(zip(said["qseq"], said["sseq"], strict=True))
        assert len(pairs) == int(said["length"]) == r.columns
        assert int(said["nident"]) == r.matches == sum(a == b for a, b in pairs)
        assert int(said["gaps"]) == sum("-" in pair for pair in pairs)
        assert int(said["mismatch"]) == r.columns - int(said["gaps"]) - int(said["nident"])
        assert int(said["positive"]) == r.positives
        assert said["pident"] == f"{100 * (r.identity or 0):.3f}"
        assert float(said["score"]) == r.score
        assert int(said["gapopen"]) == (r.cigar or "").count("I") + (r.cigar or "").count("D")
        assert said["sstrand"] == ("N/A" if protein else r.strand)
        assert said["qframe"] + "/" + said["sframe"] == said["frames"]
        assert (said["evalue"], said["bitscore"]) == ("-1", "0")
        assert btop_of(pairs) == said["btop"]


def btop_of(pairs: list[tuple[str, str]]) -> str:
    text, same = "", 0
    for a, b in pairs:
        if a == b:
            same += 1
        else:
            text += (str(same) if same else "") + a + b
            same = 0
    return text + (str(same) if same else "")


@pytest.mark.filterwarnings("ignore::pysw_cl.errors.LettersWarning")
def test_letters_are_those_of_blast() -> None:
    """Upper case, and T for U in nucleotides: Biopython reads no other btop."""
    names = ["qseq", "sseq", "btop"]
    r = pysw_cl.align("acguac", "acgtgC", mode="global", plan=PLAN)
    assert written(r, "6", fields=names) == "ACGTAC\tACGTGC\t4AG1\n"
    r = pysw_cl.align("mkuw", "MKCW", mode="global", plan=PLAN, **PROTEIN)
    assert written(r, "6", fields=names) == "MKUW\tMKCW\t2UC1\n"
    scores = np.eye(5) * 3 - 2, "ACGTa"
    r = pysw_cl.align("ACaT", "ACAT", mode="global", sub_score=scores, gap_cost=9, plan=PLAN)
    assert written(r, "6", fields=names) == "ACaT\tACAT\t2aA1\n"


def test_coverage_is_rounded_as_by_blast() -> None:
    """Numbers of blastp 2.12.0, for pieces of a query of 200 residues in subjects."""
    rng = np.random.default_rng(3)
    letters, middle = random_text(rng, AMINO, 200, 201), random_text(rng, AMINO, 300, 301)
    query, results, expected = named("q", letters), list[Any](), list[str]()
    for name, pieces, shares in (
        ("whole", [(0, 200)], "100 100"), ("a", [(0, 199)], "99 99"), ("b", [(0, 197)], "99 99"),
        ("c", [(1, 198)], "99 99"), ("d", [(2, 197)], "98 98"), ("e", [(0, 101)], "51 51"),
        ("f", [(0, 100)], "50 50"), ("two", [(100, 161), (0, 60)], "61 31,61 30"),
        ("over", [(50, 161), (0, 82)], "81 56,81 41"),
    ):  # fmt: skip
        target = named(name, middle.join(letters[i:j] for i, j in pieces))
        for part in pieces:
            results.append(pysw_cl.align(query, target, query_range=part, plan=PLAN, **PROTEIN))
            assert (results[-1].query_start, results[-1].query_end) == part
        expected += [f"{name} {both}" for both in shares.split(",")]
    fields = ["sseqid", "qcovs", "qcovhsp"]
    lines = written(results, "6", fields=fields).replace("\t", " ").splitlines()
    assert lines == expected
    # results come one by one, those of a subject apart, those of another query after them
    other = pysw_cl.align("MKVLA", named("two", "MKVLAW"), plan=PLAN, **PROTEIN)
    stream = io.StringIO()
    mixed = [*results[-3::2], *results[-4::2], other]
    pysw_cl.write(iter(mixed), stream, "7", fields=fields)
    lines = [line for line in stream.getvalue().splitlines() if line[0] != "#"]
    assert [line.split("\t")[1] for line in lines] == ["61", "81", "61", "81", "100"]


def test_titles_of_newer_tables() -> None:
    """BLAST has changed its words for coverage, and Biopython knows the old ones."""
    text = written(pysw_cl.align("ACGT", "ACGT", plan=PLAN), "7", fields=["std", "qcovs"])
    assert "% subject coverage\n" in text
    for words in ("% subject coverage", "% query coverage per subject"):
        new = text.replace("% subject coverage", words)
        (one,) = pysw_cl.read(io.StringIO(new), "7")
        assert one.more["qcovs"] == "100"


def test_unknown_columns() -> None:
    r = pysw_cl.align("ACGT", "ACGT", plan=PLAN)
    with pytest.raises(InputError, match="'staxids' is not a column that is known here: qseqid, "):
        written(r, "6", fields=["qseqid", "staxids"])
    with pytest.raises(InputError, match="paf has no choice of fields; it is for tsv, blast6"):
        written(r, "paf", fields=["qseqid"])


def test_comments_of_each_query() -> None:
    reads = [named("a", "GATTACAGATTACA", "the first"), named("b", "NNNN"), named("c", "ACAGATTA")]
    targets = [named("t", "GATTACAGATT"), named("u", "GATTACAGATTACA")]
    pairs = [(a, b) for a in reads for b in targets]
    rows = pysw_cl.align_many(pairs, output="path", plan=PLAN)
    text = written(rows, "7", pairs=pairs, fields=["qaccver", "saccver", "score"])
    lines = text.splitlines()
    comments = [line for line in lines if line.startswith("#")]
    assert [line for line in comments if "Query" in line or "hits" in line] == [
        "# Query: a the first", "# 2 hits found", "# Query: b", "# 0 hits found",
        "# Query: c", "# 2 hits found",
    ]  # fmt: skip
    assert comments[3] == "# Fields: query acc.ver, subject acc.ver, score"
    assert comments[2] == "# Database: 2 targets" and comments[-1] == "# BLAST processed 3 queries"
    assert [line for line in lines if line[0] != "#"] == written(
        rows, "6", pairs=pairs, fields=["qaccver", "saccver", "score"]
    ).splitlines()


def test_biopython_reads_it() -> None:
    align = pytest.importorskip("Bio.Align")
    search = pytest.importorskip("Bio.SearchIO")
    results = [r for r in random_results(60) if r.columns and r.matches]
    text = written(results, "7", fields=["std", "btop", "score", "qlen"])
    found = list(align.parse(io.StringIO(text), "tabular"))
    assert len(found) == len(results)
    for theirs, ours in zip(found, results, strict=True):
        assert theirs.query.id == ours.query.name and theirs.target.id == ours.target.name
        assert theirs.score == ours.score
        assert theirs.annotations["mismatches"] == (ours.runs.count("X") if ours.runs else 0)
        if ours.strand == "plus":
            ends = theirs.coordinates[:, [0, -1]].tolist()
            assert ends == [
                [ours.target_start, ours.target_end],
                [ours.query_start, ours.query_end],
            ]
    for comments, text in ((False, written(results, "6")), (True, written(results, "7"))):
        hits = [hsp for one in search.parse(io.StringIO(text), "blast-tab", comments=comments)
                for hsp in one.hsps]  # fmt: skip
        for hsp, r in zip(hits, results, strict=True):
            assert (hsp.query_start, hsp.query_end) == (r.query_start, r.query_end)
            assert (hsp.hit_start, hsp.hit_end) == (r.target_start, r.target_end)
            if hsp.hit_span > 1:  # one letter has no direction there
                assert hsp.hit_strand == (-1 if r.strand == "minus" else 1)
            assert (hsp.evalue, hsp.bitscore, hsp.aln_span) == (-1, 0, r.columns)


def test_many_pairs() -> None:
    """A table of `align_many` has the lines of `align`'s results."""
    pairs = random_pairs(40)
    rows = pysw_cl.align_many(pairs, output="path", strand="both", plan=PLAN)
    alone = [pysw_cl.align(*pair, strand="both", plan=PLAN) for pair in pairs]
    fields = list(FIELDS)
    for name in ("6", "7"):
        assert written(rows, name, pairs=pairs, fields=fields) == written(
            alone, name, fields=fields
        )
