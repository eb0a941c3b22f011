"""``pysw-cl align --timeline``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from test_cli import A, B, fasta, run

from pysw_cl.drivers import run as driver


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return [fasta(tmp_path / "a.fa", ("a", A)), fasta(tmp_path / "b.fa", ("b", B))]


def test_the_picture_comes_beside_the_results(
    capsys: pytest.CaptureFixture[str], files: list[str], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "x.svg"
    found = run(capsys, "align", *files, "--timeline", str(picture))
    assert found == run(capsys, "align", *files) and found[0] == 0
    assert "% busy" in picture.read_text()


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ("--timeline x.doc", 1, "x.doc: no picture of this format (there are "),
        ("--timeline missing/x.png", 1, "missing/x.png: cannot be written: No such file"),
        ("--timeline x.png -o x.png", 2, "-o and --timeline are the same file"),
        ("--timeline x.png --alignments 2", 2, "--alignments cannot go with --timeline"),
    ],
)
def test_it_is_refused_before_the_run(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    files: list[str],
    tmp_path: Path,
    options: str,
    code: int,
    said: str,
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(driver, "search", lambda *_: pytest.fail("it ran"))
    before = {path.name for path in tmp_path.iterdir()}
    found, out, err = run(capsys, "align", *files, *options.split())
    assert (found, out) == (code, "") and said in err
    assert {path.name for path in tmp_path.iterdir()} == before


def test_inputs_stay(capsys: pytest.CaptureFixture[str], files: list[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = fasta(tmp_path / "a.png", ("a", A))
    code, out, err = run(capsys, "align", picture, files[1], "--timeline", picture)
    assert (code, out) == (2, "") and f"--timeline {picture} is QUERY, which would be" in err


def test_it_is_of_one_pair(
    capsys: pytest.CaptureFixture[str], files: list[str], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    two = fasta(tmp_path / "two.fa", ("a", A), ("b", B))
    code, out, err = run(capsys, "align", two, files[1], "--timeline", str(tmp_path / "x.png"))
    assert (code, out) == (1, "") and "--timeline is for one query and one target" in err


def test_without_matplotlib(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, files: list[str]
) -> None:
    for name in ("matplotlib", *(name for name in sys.modules if name.startswith("matplotlib."))):
        monkeypatch.setitem(sys.modules, name, None)
    code, out, err = run(capsys, "align", *files, "--timeline", "x.png")
    assert (code, out) == (1, "") and "a picture needs matplotlib" in err
