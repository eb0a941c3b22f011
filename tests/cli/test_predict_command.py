"""``pysw-cl predict`` and ``pysw-cl plan``."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pysw_cl.cli.main import main
from pysw_cl.cli.predict import length
from pysw_cl.errors import InputError


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("150", 150),
        ("33M", 33_000_000),
        ("1.5k", 1500),
        ("2Gb", 2 * 10**9),
        ("5 Mb", 5_000_000),
        ("1_000_000", 10**6),
        ("1,000", 1000),
        ("a.fa", None),
        ("33M.fasta", None),
    ],
)
def test_lengths(text: str, wanted: int | None) -> None:
    assert length(text) == wanted


@pytest.mark.parametrize("text", ["0", "1.5", "0.0001k"])
def test_no_lengths(text: str) -> None:
    with pytest.raises(InputError):
        length(text)


def test_predict_says_it_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", "33M", "47M"]) == 0
    said = capsys.readouterr().out
    for word in ("matrix:", "device:", "time:", "interval:", "GCUPS", "limit:", "MiB", "profile:"):
        assert word in said, said


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = tmp_path / "one.fa", tmp_path / "two.fa"
    one.write_text(">a\nACGTACGT\n")
    two.write_text(">a\nACGT\n>b\nAC\n")
    assert main(["plan", str(one), "1k"]) == 0
    assert "8 x 1,000" in capsys.readouterr().out
    assert main(["plan", str(one), str(two)]) == 2
    assert "2 records" in capsys.readouterr().err
    assert main(["predict", str(tmp_path / "none.fa"), "5"]) != 0
    assert "none.fa" in capsys.readouterr().err


def test_similar_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "".join(random.Random(3).choices("ACGT", k=20_000))
    path = tmp_path / "one.fa"
    path.write_text(f">a\n{text}\n")
    said = []
    for words in (["20k", "20k"], [str(path), str(path)], [str(path), "20k", "--strand", "both"]):
        assert main(["predict", "--output", "path", *words]) == 0
        said.append(capsys.readouterr().out)
        assert "20,000 x 20,000" in said[-1]
    assert ["path" in one for one in said] == [False, True, False]


def test_plan_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "100k", "100k", "--plan", "alpha=8,B=1"]) == 0
    said = capsys.readouterr().out
    assert "B=1" in said and "alpha=8" in said and "second best" in said


@pytest.mark.parametrize(
    "words", [["0", "5"], ["5"], ["5", "6", "--plan", "C=1"], ["5", "6", "--matrix", "NONE"]]
)
def test_wrong_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", *words]) == 2
    assert "pysw-cl predict" in capsys.readouterr().err


def test_neither_a_length_nor_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", "33X", "47M"]) == 2
    assert "33X is no file, and no length such as 33M or 1500" in capsys.readouterr().err
