"""``pysw-cl ends``."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_cli import A, B, fasta, run

import pysw_cl


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    return fasta(tmp_path / "a.fa", ("a", A)), fasta(tmp_path / "b.fa", ("b", B))


def test_the_table(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """What `best_ends` finds, with the names of the records."""
    code, out, _ = run(capsys, "ends", *files, "-k", "4", "--min-separation", "3")
    lines = out.splitlines()
    assert code == 0
    (a,), (b,) = (list(pysw_cl.read_fasta(path)) for path in files)
    found = pysw_cl.best_ends(a, b, k=4, min_separation=3).tolist()
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


@pytest.mark.parametrize("wrong", ["-k 0", "--min-separation -1", "--min-score 0", "--engine x"])
def test_wrong_usage(
    wrong: str, files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "ends", *files, *wrong.split())
    assert (code, out) == (2, "") and "pysw-cl ends --help" in err
