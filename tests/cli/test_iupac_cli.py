"""``--iupac match`` of the subcommands that compare nucleotides."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_cli import fasta, run

PRIMERS = [("p0", "ACRYNGT"), ("p1", "GGWACCKT")]
TARGETS = [("t0", "TTTACGCAGTTTT"), ("t1", "CCAMGGTTCCGG")]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    return fasta(tmp_path / "q.fa", *PRIMERS), fasta(tmp_path / "t.fa", *TARGETS)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", {"p0 t0 7 7=", "p1 t1 8 8="}),
        ("--alignments 1", {"p0 t0 7 7=", "p1 t1 8 8="}),
        ("--wildcard N", {"p0 t0 6 4=1X2=", "p1 t1 8 8="}),
    ],
)
def test_paths(
    capsys: pytest.CaptureFixture[str], files: tuple[str, str], more: str, expected: set[str]
) -> None:
    how = "--outfmt tsv --strand both --iupac match"
    code, out, _ = run(capsys, "align", *files, *how.split(), *more.split())
    header, *lines = (line.split("\t") for line in out.splitlines())
    places = [header.index(name) for name in ("query", "target", "score", "cigar")]
    assert code == 0 and expected <= {" ".join(line[k] for k in places) for line in lines}


@pytest.mark.parametrize(
    ("command", "column"),
    [("ends", 2), ("search --match 1 --outfmt tsv", 5), ("matrix", 1)],
)
def test_scores(
    capsys: pytest.CaptureFixture[str], files: tuple[str, str], command: str, column: int
) -> None:
    for iupac, score in (("match", "7"), ("mismatch", "2")):
        code, out, _ = run(capsys, *command.split(), *files, "--iupac", iupac)
        assert code == 0 and out.splitlines()[1].split("\t")[column] == score


def test_a_search_has_a_matrix_unless_a_match_is_given(
    capsys: pytest.CaptureFixture[str], files: tuple[str, str]
) -> None:
    code, _, err = run(capsys, "search", *files, "--iupac", "match")
    assert code == 2 and "--match and --mismatch" in err
