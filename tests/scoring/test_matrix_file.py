"""Matrices from files, and from the objects of other packages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matrix_text import text_of

import pysw_cl
from pysw_cl.errors import FormatError, ScoringError
from pysw_cl.scoring.arguments import USUAL_GAPS
from pysw_cl.scoring.matrices import matrix_lines, read_matrix
from pysw_cl.scoring.scoring import make_scoring

SMALL = """# a comment
   A  C  G T

A  5 -4 -4 -4
C -4  5 -4 -4
# another
G -4 -4  5 -4
T -4 -4 -4 5.5
"""


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "my matrix"
    file.write_text(SMALL)
    values, letters = read_matrix(file)
    assert letters == "ACGT" and values[3].tolist() == [-4, -4, -4, 5.5]
    for given in (file, str(file)):
        found = pysw_cl.align("ACGTT", "ACGT", sub_score=given, plan={"engine": "reference"})
        assert found.score == 20.5
    file.write_text(
        SMALL.replace("5.5", "5").replace("5", "7")
    )  # a file that changes is read again
    found = pysw_cl.align("ACG", "ACG", sub_score=file, plan={"engine": "reference"})
    assert found.score == 21


@pytest.mark.parametrize("name", matrix_lines())
def test_every_matrix_as_a_file(tmp_path: Path, name: str) -> None:
    file = tmp_path / "matrix.txt"
    file.write_text(text_of(name))
    found, named = make_scoring(file), make_scoring(name)
    assert found.letters == named.letters and np.array_equal(found.matrix, named.matrix)
    # the usual gap cost is that of the matrix, however it is given
    if name in USUAL_GAPS:
        assert found.in_words == named.in_words


def test_rows_in_another_order_and_scores_that_differ_by_direction(tmp_path: Path) -> None:
    file = tmp_path / "matrix"
    file.write_text("A C\nC 3 4\nA 1 2\n")
    values, letters = read_matrix(file)
    assert (values.tolist(), letters) == ([[1, 2], [3, 4]], "AC")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no line with the letters"),
        ("# only a comment\n", "no line with the letters"),
        (">record\nACGT\n", "line 1 has '>record' where the letters"),
        ("A C\nA 1 2\nC 1\n", "line 3 has 1 scores for 2 columns"),
        ("A C\nA 1 2\nG 1 2\n", "line 3: the row 'G' is not one of the columns"),
        ("A C\nA 1 2\nA 1 2\n", "line 3: the row 'A' stands there twice"),
        ("A C\nA 1 2\n", "there is no row for C"),
        ("A C\nA 1 x\nC 1 1\n", "line 2: could not convert"),
        ("A Ü\n", "ASCII text"),
    ],
)
def test_a_file_of_another_format(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "matrix"
    file.write_text(text, "utf-8")
    with pytest.raises(FormatError, match=words) as found:
        pysw_cl.align("A", "C", sub_score=file)
    assert str(file) in str(found.value)


def test_a_file_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for given in (tmp_path / "none", str(tmp_path / "none"), "none.txt", tmp_path):
        with pytest.raises(FormatError, match="cannot be read"):
            make_scoring(given)
    with pytest.raises(ScoringError, match="no substitution matrix named 'BLOSUM63', and no file"):
        make_scoring("BLOSUM63")
    # the name of a matrix is that matrix; any other name of a file is that file
    monkeypatch.chdir(tmp_path)
    for name in ("BLOSUM62", "mine"):
        Path(name).write_text(SMALL)
    assert make_scoring("BLOSUM62").name == "BLOSUM62"
    assert make_scoring(Path("BLOSUM62")).letters == make_scoring("mine").letters == "ACGT"


def test_biopython_matrices() -> None:
    """Those whose scores are whole or halves; of others the message says a factor."""
    substitution_matrices = pytest.importorskip("Bio.Align.substitution_matrices")
    taken = set()
    for name in substitution_matrices.load():
        matrix = substitution_matrices.load(name)
        try:
            found = make_scoring(matrix)
        except ScoringError as error:
            if "multiply all of them by" in str(error):
                factor = int(str(error).split()[-1])
                made = make_scoring((np.array(matrix) * factor, "".join(matrix.alphabet)))
                assert made.highest == round(np.array(matrix).max() * factor)
            continue
        taken.add(name)
        letters = [c for c in matrix.alphabet if c in found.letters]
        for a in letters:
            for b in letters:
                codes = found.query_encoding[ord(a)], found.target_encoding[ord(b)]
                assert found.matrix[codes] == matrix[a, b] * found.scale
    usual = {"BLOSUM45", "BLOSUM50", "BLOSUM62", "BLOSUM80", "BLOSUM90", "PAM30", "PAM250"}
    assert usual < taken and "NUC.4.4" in taken
    found = make_scoring(substitution_matrices.load("BLOSUM62"))
    assert found.in_words == make_scoring("BLOSUM62").in_words
