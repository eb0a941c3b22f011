"""``pysw-cl align --alignments``: what it prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import renamed
from test_cli import fasta, run

import pysw_cl
from pysw_cl.results.formats import make_writer
from pysw_cl.results.formats.writer import Setting, row_of

A, B = "ACGTACGTTTGGGG", "ACGTACGCCGGGG"
OPTIONS = ("--alignments", "3", "--match", "2", "--gap-open", "4", "--plan", "engine=reference")


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    two = fasta(tmp_path / "a.fa", ("a", A), ("none", "TTTTTT"))
    return two, fasta(tmp_path / "b.fa", ("b", B))


def found(**asked: str) -> list[pysw_cl.Alignment]:
    return pysw_cl.align_top(
        A, B, k=3, sub_score=(2, -3), gap_cost=(4, 2), plan={"engine": "reference"}, **asked
    )


def test_a_line_for_each(capsys: pytest.CaptureFixture[str], pair: tuple[str, str]) -> None:
    code, out, err = run(capsys, "align", *OPTIONS, "--min-score", "4", *pair)
    assert (code, err) == (0, "")
    wanted = [renamed(one, "a", "b").to_paf() for one in found()]
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
    code, out, _ = run(capsys, "align", *OPTIONS, "--min-score", "4", "--output", output, *pair)
    assert code == 0
    rows = [row_of(one) for one in found(output=output)]
    names = [
        row._replace(query=named("a", row.query), target=named("b", row.target)) for row in rows
    ]
    writer = make_writer("tsv", Setting(output))
    assert out == writer.header() + writer.text(names)


def named(name: str, of: pysw_cl.Sequence) -> pysw_cl.Sequence:
    return pysw_cl.Sequence(name, "", of.letters)
