"""The formats that show aligned letters: MAF, FASTA, pairwise text; and JSON lines."""

from __future__ import annotations

import io
import json

import pytest
from writing import AMINO, PLAN, PROTEIN, named, random_pairs, random_results, written

import pysw_cl
from pysw_cl.errors import InputError


def test_maf() -> None:
    """On the minus strand the start counts in the reverse complement."""
    query, target = named("read 1", "AATGTAATCGGGG"), named("chr1", "TTGATTACAC")
    r = pysw_cl.align(query, target, strand="minus", plan=PLAN)
    assert (r.query_start, r.query_end) == (2, 9)
    assert written(r, "maf").splitlines() == [
        "##maf version=1 program=pysw_cl",
        "# local; match 1, mismatch -3; a gap of length k costs 3 + k * 2",
        "",
        "a score=7",
        "s chr1   2 7 + 10 GATTACA",
        "s read_1 4 7 - 13 GATTACA",
        "",
    ]
    assert written(pysw_cl.align("AA", "CC", plan=PLAN), "maf").count("\n") == 3


@pytest.mark.parametrize("letters", ["ACGT", AMINO])
def test_biopython_reads_maf(letters: str) -> None:
    align = pytest.importorskip("Bio.Align")
    results = random_results(60, letters, **({} if letters == "ACGT" else PROTEIN))
    found = list(align.parse(io.StringIO(written(results, "maf")), "maf"))
    results = [r for r in results if r.columns]
    assert len(found) == len(results)
    for theirs, ours in zip(found, results, strict=True):
        assert (theirs.query.id, theirs.target.id) == (ours.query.name, ours.target.name)
        assert (len(theirs.query), len(theirs.target)) == (len(ours.query), len(ours.target))
        assert theirs.score == ours.score
        assert theirs.coordinates.tolist() == ours.to_biopython().coordinates.tolist()
        assert (theirs[1], theirs[0]) == ours.aligned


def test_fasta() -> None:
    r = pysw_cl.align(named("q", "AAGATTACA", "it"), named("t", "GATTTACA"), gap_cost=0, plan=PLAN)
    assert r.cigar == "4=1D3="
    assert written(r, "fasta", width=5).splitlines() == [
        ">q start=2 end=9 strand=+ score=7", "GATT-", "ACA",
        ">t start=0 end=8 strand=+ score=7", "GATTT", "ACA",
    ]  # fmt: skip


def test_fasta_of_many() -> None:
    results = random_results(60)
    text = written(results, "fasta", width=7)
    shown = ["".join(part.split("\n")[1:]) for part in text.split(">")[1:]]
    assert max(len(line) for line in text.splitlines() if line[0] != ">") == 7
    assert shown == [row for r in results if r.columns for row in r.aligned]


def test_json_lines() -> None:
    for output in ("score", "ends", "path"):
        results = random_results(30, output=output)
        lines = written(results, "jsonl").splitlines()
        signs = {"plus": "+", "minus": "-"}
        assert [json.loads(line) for line in lines] == [
            {**r.to_dict(), "strand": signs[r.strand]} for r in results
        ]
    r = pysw_cl.align(named("π \t", "ACGT"), named("", "ACGT"), plan=PLAN)
    assert json.loads(written(r, "jsonl"))["query_name"] == "π \t"
    assert '"π \\t"' in written(r, "jsonl")


def test_pairwise_text_with_a_limit() -> None:
    """The first columns, with the positions that they have in the whole text."""
    for r in random_results(60):
        whole = written(r, "pair", width=10).splitlines()
        for limit in (10, 20):
            short = written(r, "pair", width=10, limit=limit).splitlines()
            if (r.columns or 0) <= limit:
                assert short == whole
                continue
            shown = short.index(f"# the first {limit} of {r.columns} columns")
            assert shown == len(short) - 2
            ours = [line.split() for line in short[: shown - 1]]
            theirs = [line.split() for line in whole[: shown - 1]]
            assert ours == theirs
    r = pysw_cl.align("ACGT" * 5, "ACGT" * 5, plan=PLAN)
    assert "target 1 ACG 3" in written(r, "pair", limit=3)
    for wrong in (-1, 0, 1.5, "9"):
        with pytest.raises(InputError, match="limit must be a whole number of at least 1, not "):
            written(r, "pair", limit=wrong)
    with pytest.raises(
        InputError, match="paf has no choice of width; it is for pair, blast0, fasta, hits"
    ):
        written(r, "paf", width=9)


def test_many_pairs() -> None:
    pairs = random_pairs(40)
    rows = pysw_cl.align_many(pairs, output="path", strand="both", plan=PLAN)
    alone = [pysw_cl.align(*pair, strand="both", plan=PLAN) for pair in pairs]
    for name in ("maf", "fasta", "jsonl", "pair", "paf", "tsv"):
        assert written(rows, name, pairs=pairs) == written(alone, name)
