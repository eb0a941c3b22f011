"""``pysw-cl predict`` and ``pysw-cl plan``."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from pysw_cl.api.predict import predict
from pysw_cl.cli import predict as command
from pysw_cl.cli.main import main, make_parser
from pysw_cl.cli.predict import length
from pysw_cl.errors import InputError
from pysw_cl.planning.model.predict import Prediction


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
    assert main(["plan", str(one), str(two)]) == 0
    assert "8 x 4\n" in capsys.readouterr().out  # the longest pair
    assert main(["predict", str(tmp_path / "none.fa"), "5"]) != 0
    assert "none.fa" in capsys.readouterr().err


def test_files_of_many_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sum of all pairs; of very many lengths, those of groups that have their letters."""
    many = tmp_path / "many.fa"
    lengths = [*range(20, 60), 20, 20]
    many.write_text("".join(f">{k}\n{'A' * n}\n" for k, n in enumerate(lengths)))
    one = tmp_path / "one.fa"
    one.write_text(f">x\n{'ACGT' * 500}\n")
    asked: list[tuple[int, int]] = []

    def foreseen(m: int, n: int, **how: Any) -> Prediction:
        asked.append((m, n))
        return predict(m, n, **how)

    monkeypatch.setattr("pysw_cl.api.predict.predict", foreseen)
    args = make_parser().parse_args(["predict", str(many), str(one)])
    monkeypatch.setattr(command._lengths, "__defaults__", (100,))
    found, pairs, cells = command._foreseen(args, {"output": "path"})
    alone = [predict(n, 2000, output="path") for n in lengths]
    assert pairs == 42 and cells == 2000 * sum(lengths) and len(asked) == 40
    assert found.seconds == pytest.approx(sum(one.seconds for one in alone))
    assert found.interval[1] == pytest.approx(sum(one.interval[1] for one in alone))
    asked.clear()
    monkeypatch.setattr(command._lengths, "__defaults__", (7,))
    grouped = command._foreseen(args, {"output": "path"})
    assert len(asked) == 7 and grouped[0].seconds == pytest.approx(found.seconds, rel=0.1)
    assert main(["predict", str(many), str(one)]) == 0
    assert "42 pairs, one after the other" in capsys.readouterr().out


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
