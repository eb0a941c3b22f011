"""``pysw-cl align --top``: what it prints and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_cli import fails, fasta, run

import pysw_cl
from pysw_cl.results.formats import paf

A, B = "ACGTACGTTTGGGG", "ACGTACGCCGGGG"
OPTIONS = ("--top", "3", "--match", "2", "--gap-open", "4", "--plan", "engine=reference")


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    two = fasta(tmp_path / "a.fa", ("a", A), ("none", "TTTTTT"))
    return two, fasta(tmp_path / "b.fa", ("b", B))


def found() -> list[pysw_cl.Alignment]:
    return pysw_cl.align_top(
        A, B, k=3, sub_score=(2, -3), gap_cost=(4, 2), plan={"engine": "reference"}
    )


def test_a_line_for_each(capsys: pytest.CaptureFixture[str], pair: tuple[str, str]) -> None:
    code, out, err = run(capsys, "align", *OPTIONS, "--min-score", "4", *pair)
    assert (code, err) == (0, "")
    wanted = [paf.line(one, "a", "b") for one in found()]
    assert len(wanted) == 3
    assert out.splitlines() == wanted  # the other query has only single T, which score 2


def test_pairwise_text(capsys: pytest.CaptureFixture[str], pair: tuple[str, str]) -> None:
    code, out, _ = run(capsys, "align", *OPTIONS, "--outfmt", "pair", *pair)
    scores = [line.split()[-1] for line in out.splitlines() if line.startswith("# score")]
    assert code == 0
    assert scores[:3] == [str(one.score) for one in found()]


@pytest.mark.parametrize("output", ["score", "ends"])
def test_less_output(
    capsys: pytest.CaptureFixture[str], pair: tuple[str, str], output: str
) -> None:
    code, out, _ = run(capsys, "align", *OPTIONS, "--output", output, *pair)
    assert code == 0
    assert f"AS:i:{found()[2].score}" in out
    assert "cg:Z:" not in out


@pytest.mark.parametrize(
    "options",
    [
        ["--top", "0"],
        ["--top", "-1"],
        ["--top", "1.5"],
        ["--top", "all"],
        ["--top", "2", "--mode", "global"],
        ["--min-score", "3"],
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    code, out, err = run(capsys, "align", "a", "b", *options)
    assert (code, out) == (2, "")
    assert err.startswith("usage: pysw-cl")


def test_bad_least_score(capsys: pytest.CaptureFixture[str], pair: tuple[str, str]) -> None:
    assert "min_score" in fails(capsys, "align", *OPTIONS, "--min-score", "0", *pair)


@pytest.mark.parametrize("option", ["--top", "--min-score"])
def test_a_resumed_run_has_no_such_options(
    option: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, err = run(capsys, "resume", str(tmp_path), option, "3")
    assert (code, out) == (2, "")
    assert f"unrecognized arguments: {option} 3" in err
