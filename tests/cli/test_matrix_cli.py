"""Matrices from files, in the shell."""

from __future__ import annotations

from pathlib import Path

import pytest
from matrix_text import text_of
from test_cli import fails, fasta, run


@pytest.fixture
def pair(tmp_path: Path) -> list[str]:
    query = fasta(tmp_path / "q.fa", ("q", "MKWVTFISLLFLFSSAYSRGV"))
    return [query, fasta(tmp_path / "t.fa", ("t", "MKWVTFLFLFSSAYSRGV"))]


@pytest.mark.parametrize("more", [[], ["--gap-open", "7"], ["--gap-extend", "3"]])
def test_a_file_is_what_its_name_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, pair: list[str], more: list[str]
) -> None:
    """Its usual gap cost, too, where one of both is given."""
    file = tmp_path / "matrix.txt"
    file.write_text(text_of("BLOSUM62"))
    found = [
        run(capsys, "align", *pair, "--matrix", matrix, "--outfmt", "pair", *more)
        for matrix in (str(file), "BLOSUM62")
    ]
    assert found[0] == found[1] and "BLOSUM62" in found[0][1] and found[0][0] == 0


def test_a_file_that_cannot_be_read_is_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, pair: list[str]
) -> None:
    """Not wrong usage: as with any other file."""
    bad = tmp_path / "bad.txt"
    bad.write_text("A C\nA 1\n")
    for file, words in ((bad, "line 2 has 1 scores"), (tmp_path / "no.txt", "cannot be read")):
        assert words in fails(capsys, "align", *pair, "--matrix", str(file))
