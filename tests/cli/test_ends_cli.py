"""``pysw-cl ends``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_cli import A, B, fasta, run

import pysw_cl


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    return fasta(tmp_path / "a.fa", ("a", A)), fasta(tmp_path / "b.fa", ("b", B))


@pytest.mark.parametrize("given", [{}, {"apart_in": "both"}, {"ends": "matches"}])
def test_the_table(
    given: dict[str, Any], files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """What `best_ends` finds, with the names of the records."""
    more = [
        word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", value)
    ]
    code, out, _ = run(capsys, "ends", *files, "-k", "4", "--min-separation", "3", *more)
    lines = out.splitlines()
    assert code == 0
    (a,), (b,) = (list(pysw_cl.read_fasta(path)) for path in files)
    found = pysw_cl.best_ends(a, b, k=4, min_separation=3, **given).tolist()
    assert found
    assert lines[0] == "query\ttarget\tscore\tquery_end\ttarget_end"
    assert [line.split("\t") for line in lines[1:]] == [
        [a.name, b.name, *map(str, row)] for row in found
    ]


def test_the_engine_and_a_range(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The engine changes nothing; a range is counted from 1; a file has the table, too."""
    tables = [
        run(capsys, "ends", *files, "--query-range", "2-9", "--engine", name)[1].splitlines()
        for name in ("auto", "wavefront", "rowscan", "reference")
    ]
    assert all(table == tables[0] for table in tables)
    out = tmp_path / "ends.tsv"
    assert run(capsys, "ends", *files, "--query-range", "2-9", "-o", str(out)) == (0, "", "")
    assert out.read_text().splitlines() == tables[0]


@pytest.mark.parametrize("end", ["sam", "bam", "csv", "paf.gz"])
def test_a_table_has_the_name_of_one(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path, end: str
) -> None:
    code, _, err = run(capsys, "ends", *files, "-o", str(tmp_path / f"x.{end}"))
    assert code == 2 and f"x.{end}: without --paths a table is written" in err
    assert not list(tmp_path.glob("x.*"))


@pytest.mark.parametrize("wrong", ["-k 0", "--min-separation -1", "--min-score 0", "--engine x"])
def test_wrong_usage(
    wrong: str, files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "ends", *files, *wrong.split())
    assert (code, out) == (2, "") and "pysw-cl ends --help" in err


@pytest.mark.parametrize("form", ["paf", "tsv", "sam", "pair", "blast6"])
def test_paths(files: tuple[str, str], capsys: pytest.CaptureFixture[str], form: str) -> None:
    """What `trace_ends` finds, as `write` writes it."""
    code, out, _ = run(capsys, "ends", *files, "-k", "3", "--paths", "--outfmt", form)
    (a,), (b,) = (list(pysw_cl.read_fasta(path)) for path in files)
    paths = pysw_cl.trace_ends(a, b, pysw_cl.best_ends(a, b, k=3))
    beside = Path(files[0]).parent / "beside"
    pysw_cl.write(paths, beside, form)
    assert code == 0 and [line for line in out.splitlines() if line[:3] != "@PG"] == [
        line for line in beside.read_text().splitlines() if line[:3] != "@PG"
    ]


def test_paths_of_ranges_and_of_nothing(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The end of a file's name says the format; no end, no line."""
    out = tmp_path / "ends.tsv"
    assert run(capsys, "ends", *files, "--paths", "--query-range", "2-9", "-o", str(out))[0] == 0
    first, *rows = [line.split("\t") for line in out.read_text().splitlines()]
    assert rows and first[-1] == "cigar"
    starts = [int(row[first.index("query_start")]) for row in rows]
    assert min(starts) >= 1
    assert run(capsys, "ends", *files, "--paths", "--min-score", "999")[:2] == (0, "")


@pytest.mark.parametrize("wrong", ["--outfmt paf", "--width 5", "--limit 5"])
def test_formats_are_for_paths(
    wrong: str, files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "ends", *files, *wrong.split())
    assert (code, out) == (2, "") and "go with --paths" in err


@pytest.mark.parametrize("strand", ["plus", "minus", "both"])
def test_places(files: tuple[str, str], capsys: pytest.CaptureFixture[str], strand: str) -> None:
    """One for each alignment that shares no aligned pair with a better one."""
    asked = ["ends", *files, "--places", "-k", "5", "--strand", strand]
    (a,), (b,) = (list(pysw_cl.read_fasta(path)) for path in files)
    wanted = pysw_cl.align_top(a, b, k=5, strand=strand)
    signs = {"plus": "+", "minus": "-"}
    ends = [r.query_start if r.strand == "minus" else r.query_end for r in wanted]
    assert [line.split("\t")[2:] for line in run(capsys, *asked)[1].splitlines()[1:]] == [
        [str(r.score), str(end), str(r.target_end), signs[r.strand]][: 3 + (strand != "plus")]
        for r, end in zip(wanted, ends, strict=True)
    ]
    rows = run(capsys, *asked, "--paths", "--outfmt", "tsv")[1].splitlines()[1:]
    assert [line.split("\t")[-1] for line in rows] == [r.cigar for r in wanted]
    code, _, err = run(capsys, *asked, "--min-separation", "3")
    assert code == 2 and "--places goes without --min-separation" in err


def test_ends_of_both_strands(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["ends", *files, "-k", "9", "--strand", "both"]
    (a,), (b,) = (list(pysw_cl.read_fasta(path)) for path in files)
    found = pysw_cl.best_ends(a, b, k=9, strand="both")
    head, *lines = run(capsys, *asked)[1].splitlines()
    assert head.split("\t")[-1] == "strand"
    signs = {"plus": "+", "minus": "-"}
    assert [line.split("\t")[2:] for line in lines] == [
        [*map(str, row), signs[strand]] for *row, strand in found.tolist()
    ]
    rows = run(capsys, *asked, "--paths", "--outfmt", "tsv")[1].splitlines()[1:]
    paths = pysw_cl.trace_ends(a, b, found, strand="both")
    assert [line.split("\t")[-1] for line in rows] == [path.cigar for path in paths]


def test_many_pairs_are_said_to_go_one_by_one(
    files: tuple[str, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Once, after a while, if there is more than one."""
    some = fasta(tmp_path / "some.fa", ("a", A), ("b", B), ("c", A))
    monkeypatch.setattr("pysw_cl.cli.output.PATIENCE", 0.0)
    code, _, err = run(capsys, "ends", files[0], some)
    assert code == 0 and err.count("one pair after the other") == 1
    assert "align --output ends" in err
    assert run(capsys, "ends", *files)[2] == ""
