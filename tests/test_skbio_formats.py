"""PAF and BLAST tables in scikit-bio's registry of formats."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("skbio", "0.7.4")

import pandas as pd
import skbio.io
from writing import PLAN, random_results, written

import pysw_cl
import pysw_cl.skbio
from pysw_cl.errors import FormatError, InputError
from pysw_cl.results.formats.reading import Record


def given(results: list[Any]) -> Iterator[Any]:
    """scikit-bio writes generators."""
    yield from results


def test_paf_is_sniffed(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(written(random_results(20), "paf"))
    assert skbio.io.sniff(str(path))[0] == "paf"
    for text in ("a\tb\tc\n", "\t".join("x1234+x123456") + "\n", ">a\nACGT\n", "\n"):
        path.write_text(text)
        with contextlib.suppress(skbio.io.UnrecognizedFormatError):
            assert skbio.io.sniff(str(path))[0] != "paf"


def test_records_and_tables() -> None:
    results = [r for r in random_results(30) if r.columns]
    text = written(results, "paf")
    records = list(skbio.io.read(io.StringIO(text), format="paf"))
    assert all(isinstance(record, Record) for record in records)
    assert [record.runs for record in records] == [r.runs for r in results]
    table = skbio.io.read(io.StringIO(text), into=pd.DataFrame)
    assert table["score"].tolist() == [r.score for r in results]
    assert table["cigar"].tolist() == [r.cigar for r in results]
    assert table["strand"].tolist() == [r.strand for r in results]
    out = io.StringIO()
    skbio.io.write(table, format="paf", into=out)
    again = list(pysw_cl.read(io.StringIO(out.getvalue()), "paf"))
    assert [r._replace(runs=None) for r in again] == [r._replace(runs=None) for r in records]
    assert [r.runs for r in again] == [r.runs for r in records]
    empty = skbio.io.read(io.StringIO(), format="paf", into=pd.DataFrame, verify=False)
    assert len(empty) == 0 and "cigar" in empty.columns
    with pytest.raises(InputError, match="the columns target_end, too"):
        skbio.io.write(table.drop(columns="target_end"), format="paf", into=io.StringIO())
    with pytest.raises(FormatError, match="line 2: "):
        list(skbio.io.read(io.StringIO(text.split("\n")[0] + "\nx\n"), format="paf", verify=False))


def test_results_are_written() -> None:
    results = random_results(10)
    for format, ours in (("paf", "paf"), ("blast+6", "blast6")):
        out = io.StringIO()
        skbio.io.write(given(results), format=format, into=out)
        assert out.getvalue() == written(results, ours)
    with pytest.raises(InputError, match=r"results are alignments.*not int"):
        skbio.io.write(given([5]), format="paf", into=io.StringIO())
    scores = [pysw_cl.align("ACGT", "ACGT", output="score", plan=PLAN)]
    with pytest.raises(InputError, match="paf needs a path"):
        skbio.io.write(given(scores), format="paf", into=io.StringIO())


def test_blast_tables() -> None:
    """Their reader reads ours; a table that it reads is written as it was."""
    results = [r for r in random_results(30) if r.columns]
    columns = ["qseqid", "sseqid", "pident", "length", "qstart", "qend", "sstart", "send",
               "evalue", "bitscore", "score", "qseq", "sstrand"]  # fmt: skip
    out = io.StringIO()
    skbio.io.write(given(results), format="blast+6", into=out, columns=columns)
    text = out.getvalue()
    assert text == written(results, "6", fields=columns)
    table = skbio.io.read(io.StringIO(text), format="blast+6", into=pd.DataFrame, columns=columns)
    assert table["score"].tolist() == [r.score for r in results]
    assert set(table["evalue"]) == {-1} and set(table["bitscore"]) == {0}
    out = io.StringIO()
    skbio.io.write(table, format="blast+6", into=out)
    again = skbio.io.read(
        io.StringIO(out.getvalue()), format="blast+6", into=pd.DataFrame, columns=columns
    )
    pd.testing.assert_frame_equal(again, table)
    assert out.getvalue().split("\t")[3] == str(results[0].columns)
    table = skbio.io.read(io.StringIO(written(results, "7")), into=pd.DataFrame)
    assert table["length"].tolist() == [r.columns for r in results]
    with pytest.raises(InputError, match="'other' is not a column"):
        skbio.io.write(table.assign(other=1), format="blast+6", into=io.StringIO())


def test_tags_keep_their_types_and_names_have_no_blanks() -> None:
    line = "q\t4\t0\t4\t+\tt\t9\t1\t5\t4\t4\t60\tAS:i:4\ttp:A:P\tde:f:0.0\ts1:i:7\t"
    line += "EV:f:0.0\tBS:f:250.0\tcg:Z:4M\n"
    table = skbio.io.read(io.StringIO(line), format="paf", into=pd.DataFrame)
    out = io.StringIO()
    skbio.io.write(table, format="paf", into=out)
    assert out.getvalue() == line
    table["query_name"] = "a\tb"
    out = io.StringIO()
    skbio.io.write(table, format="paf", into=out)
    assert out.getvalue() == "a_b" + line[1:]


def test_names_and_texts_in_blast_tables() -> None:
    """No quotes, as in BLAST's tables, and no tab or line end inside a column."""
    columns = ["qseqid", "sseqid", "length", "stitle"]
    names = ['a"b', '"', "a\tb", "a\nb", "a b", "a\rb", "#a", "'", "\\", "", "é", "a,b", "1"]
    table = pd.DataFrame([(name, name, 4, f"{name} x") for name in names], columns=columns)
    table.loc[len(table)] = [None, "t", None, None]
    out = io.StringIO()
    skbio.io.write(table, format="blast+6", into=out)
    lines = [line.split("\t") for line in out.getvalue().split("\n")]
    assert lines.pop() == [""]
    shown = ['a"b', '"', "a_b", "a_b", "a_b", "a_b", "#a", "'", "\\", "", "é", "a,b", "1"]
    assert [line[0] for line in lines] == [name or "query" for name in shown] + ["N/A"]
    assert [line[1] for line in lines] == [name or "target" for name in shown] + ["t"]
    titles = [f"{name.replace('_', ' ')} x".strip() for name in shown]
    assert [line[2:] for line in lines] == [["4", title] for title in titles] + [["N/A"] * 2]


def test_texts_in_tags() -> None:
    line = "q\t4\t0\t4\t+\tt\t9\t1\t5\t4\t4\t60\tcs:Z::4\tcg:Z:4M\n"
    table = skbio.io.read(io.StringIO(line), format="paf", into=pd.DataFrame)
    table["cs"] = ":2\t\n:2"
    out = io.StringIO()
    skbio.io.write(table, format="paf", into=out)
    assert out.getvalue() == line.replace(":4\t", ":2 :2\t")
