"""``pysw-cl matrix``: the formats, the same numbers as `score_matrix`, and wrong usage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_cli import fails, fasta, run

import pysw_cl

ONES = [("twice", "ACGTTGCA"), ("b", "ACGTTTCA"), ("twice", "TTGCAAC")]
OTHERS = [("x", "ACGT"), ("y", "GGTTGC")]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    return fasta(tmp_path / "a.fa", *ONES), fasta(tmp_path / "b.fa", *OTHERS)


def test_tables_of_scores(capsys: pytest.CaptureFixture[str], files: tuple[str, str]) -> None:
    scores = pysw_cl.score_matrix(files[0], files[1], gap_cost=(3, 1), device="cpu")
    asked = ("matrix", *files, "--gap-open", "3", "--gap-extend", "1", "--device", "cpu")
    code, out, _ = run(capsys, *asked)
    rows = [line.split("\t") for line in out.splitlines()]
    assert (code, rows[0]) == (0, ["", "x", "y"])
    assert [row[0] for row in rows[1:]] == [name for name, _ in ONES]
    assert [list(map(int, row[1:])) for row in rows[1:]] == scores.tolist()
    code, out, _ = run(capsys, "matrix", files[0], "--mode", "global", "--device", "cpu")
    assert (code, out.splitlines()[0]) == (0, "\ttwice\tb\ttwice")


def test_files_by_the_ends_of_their_names(
    capsys: pytest.CaptureFixture[str], files: tuple[str, str], tmp_path: Path
) -> None:
    how = ("--mode", "global", "--free-ends", "1", "--output", "distance", "--device", "cpu")
    expected = pysw_cl.score_matrix(
        files[0], output="distance", mode="global", free_ends=True, device="cpu"
    )
    for name in ("d.phy", "d.npy", "d.tsv"):
        out = str(tmp_path / name)
        assert run(capsys, "matrix", files[0], *how, "-o", out)[:2] == (0, "")
    assert np.load(tmp_path / "d.npy").tolist() == expected.tolist()
    lines = (tmp_path / "d.phy").read_text().splitlines()
    assert lines[0] == "3"
    assert [line.split()[0] for line in lines[1:]] == ["twice", "b", "twice"]
    assert [list(map(float, line.split()[1:])) for line in lines[1:]] == expected.tolist()
    table = (tmp_path / "d.tsv").read_text().splitlines()[1:]
    assert [list(map(float, line.split("\t")[1:])) for line in table] == expected.tolist()


def test_wrong_usage(capsys: pytest.CaptureFixture[str], files: tuple[str, str]) -> None:
    for wrong, said in (
        (("--outfmt", "phylip"), "phylip is for --output distance"),
        (("--outfmt", "npy"), "takes -o FILE.npy"),
        (("--output", "distance"), "mode='global'"),
        (("-o", files[0]), "would be overwritten"),
        (("-o", files[1]), "would be overwritten"),
    ):
        code, out, err = run(capsys, "matrix", *files, *wrong)
        assert (code, out) == (2, "")
        assert said in err
    code, _, err = run(capsys, "matrix", "-", "-")
    assert (code, "standard input" in err) == (2, True)


def test_errors_name_the_record(
    capsys: pytest.CaptureFixture[str], files: tuple[str, str], tmp_path: Path
) -> None:
    wrong = fasta(tmp_path / "w.fa", ("good", "ACGT"), ("bad", "ACJT"))
    assert "record 'bad' (number 2)" in fails(capsys, "matrix", files[0], wrong)
