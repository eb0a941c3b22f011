"""The files of hits: alignments with their query (A3M), and the sequences of the hits."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from writing import AMINO, PLAN, PROTEIN, named, random_results, written

import pysw_cl
from pysw_cl.errors import InputError


def records(text: str) -> list[tuple[str, str]]:
    """Headers and letters of FASTA."""
    parts = (part.partition("\n") for part in text.split(">")[1:])
    return [(header, letters.replace("\n", "")) for header, _, letters in parts]


def test_a3m() -> None:
    query, one = named("q", "ACDEFGHIKL", "the query"), named("s1", "MACDEWWFGHKLM", "first")
    short = named("s 2", "DEFG")
    how: dict[str, Any] = {**PROTEIN, "gap_cost": (1, 1), "plan": PLAN}
    found = [pysw_cl.align(query, target, **how) for target in (one, short)]
    assert written(found, "a3m") == (
        ">q the query\nACDEFGHIKL\n>s1/2-12 first\nACDEwwFGH-KL\n>s_2/1-4\n--DEFG----\n"
    )


@pytest.mark.parametrize("letters", ["ACGT", AMINO])
def test_a3m_has_the_paths(letters: str) -> None:
    """Of each result the record says the letters and the path, on both strands."""
    results = random_results(60, letters, **({} if letters == "ACGT" else PROTEIN))
    some = [
        r
        for r in results
        if r.columns and r.query_start != r.query_end and r.target_start != r.target_end
    ]
    blocks = written(some, "a3m").split("\0")
    assert len(blocks) == len(some) > 30
    for block, r in zip(blocks, some, strict=True):
        (header, whole), (name, row) = records(block)
        assert header.split(" ")[0] == r.query.name and whole == str(r.query)
        assert sum(not c.islower() for c in row) == len(whole)
        minus = r.strand == "minus"
        target = str(r.target[r.target_start : r.target_end])
        if minus:
            target = pysw_cl.reverse_complement(target)
        assert row.replace("-", "").upper() == target
        first, last = map(int, name.split(" ")[0].rpartition("/")[2].split("-"))
        assert sorted((first, last)) == [(r.target_start or 0) + 1, r.target_end]
        assert first == last or minus == (first > last)
        # query letters opposite gaps, within the aligned part and outside
        outside = len(whole) - ((r.query_end or 0) - (r.query_start or 0))
        assert row.count("-") == outside + (r.runs.count("I") if r.runs else 0)
        assert sum(c.islower() for c in row) == (r.runs.count("D") if r.runs else 0)
        kept = "".join(c for c in row if not c.islower())
        assert sum(a == b for a, b in zip(kept, whole, strict=True)) == r.matches


def test_a3m_of_several_hits_and_queries() -> None:
    queries = [named("a", "GATTACA"), named("b", "TACAGA")]
    targets = [named("t", "GATTACAGA"), named("u", "CCTACAGG")]
    rows = pysw_cl.align_many([(q, t) for q in queries for t in targets], output="path", plan=PLAN)
    pairs = [(q, t) for q in queries for t in targets]
    text = written(rows, "a3m", pairs=pairs)
    assert [[name.split("/")[0] for name, _ in records(block)] for block in text.split("\0")] == [
        ["a", "t", "u"],
        ["b", "t", "u"],
    ]
    scoring = np.eye(5) * 3 - 2, "ACGTa"
    r = pysw_cl.align("ACaT", "ACAT", sub_score=scoring, gap_cost=9, plan=PLAN)
    with pytest.raises(InputError, match="in this scoring case counts"):
        written(r, "a3m")


def test_queries_without_hits() -> None:
    """BLAST's formats and A3M have them, wherever they stand, and the others do not."""
    query, without = named("q", "PAWHEAE"), [named(name, "CCC") for name in "ab"]
    how: dict[str, Any] = {"output": "path", "min_score": 20, "device": "auto"}
    several, none = (
        list(pysw_cl.search(some, [named("t", "PAWHEAE")], **how))
        for some in ([without[0], query, without[1]], without)
    )
    for found, names, counts in ((several, "aqb", [0, 1, 0]), (none, "ab", [0, 0])):
        for results in (found, iter(found)):
            lines = written(results, "7").splitlines()
            of = [line.removeprefix("# Query: ") for line in lines if line.startswith("# Query")]
            said = [line for line in lines if line.endswith("hits found")]
            assert (of, said) == ([*names], [f"# {count} hits found" for count in counts])
            assert lines[0].startswith("# BLASTP ")
            assert lines[-1] == f"# BLAST processed {len(names)} queries"
        text = written(found, "0")
        assert text.count("***** No hits found *****") == 2 and text.count("Query= ") == len(names)
        blocks = [records(block) for block in written(found, "a3m").split("\0")]
        assert [[name for name, _ in block] for block in blocks] == [
            [name, "t/1-7"] if count else [name] for name, count in zip(names, counts, strict=True)
        ]
        for name in ("6", "paf", "tsv", "jsonl"):
            assert written(found, name) == written([x for x in found if x], name)


def test_sequences_of_hits(tmp_path: Path) -> None:
    """Whole, each once, as they are read by others."""
    io_of = pytest.importorskip("Bio.SeqIO")
    queries = [named("a", "GATTACA"), named("b", "TACAGA")]
    targets = [named("t", "GATTACAGA" * 9, "the first"), named("u", "CCTACAGG"), named("", "TTT")]
    pairs = [(q, t) for q in queries for t in targets]
    for output in ("score", "path"):
        results = [pysw_cl.align(*pair, output=output, plan=PLAN) for pair in pairs]
        text = written(results, "hits", width=50)
        assert max(map(len, text.splitlines())) == 50
        found = list(io_of.parse(io.StringIO(text), "fasta"))
        assert [one.id for one in found] == ["t", "u", "target"]
        assert found[0].description == "t the first"
        assert [str(one.seq) for one in found] == [str(one) for one in targets]
    path = tmp_path / "x.fa"
    pysw_cl.write(results, path, "hits")
    assert [str(one) for one in pysw_cl.read_sequences(path)] == [str(one) for one in targets]
    # one with the same name is another one
    both = [pysw_cl.align("GAT", named("t", text), plan=PLAN) for text in ("GATT", "GATA", "GATT")]
    assert written(both, "hits") == ">t\nGATT\n>t\nGATA\n"
