"""Position matrices: files of PSI-BLAST, parts, and what they say of themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from pysw_cl import PositionMatrix, align
from pysw_cl.errors import FormatError
from pysw_cl.scoring.scoring import Scoring

LETTERS = "ARNDCQEGHILKMFPSTWYV"
HEADER = (
    "\nLast position-specific scoring matrix computed, weighted observed percentages rounded down\n"
    f"         {'  '.join(LETTERS)}   {'   '.join(LETTERS)}\n"
)
FOOTER = "\n                      K         Lambda\nStandard Ungapped    0.1334     0.3157\n"


def text_of(rows: list[list[int]], query: str) -> str:
    """What psiblast -out_ascii_pssm writes."""
    lines = [
        f"{k:5d} {letter}  {' '.join(f'{score:3d}' for score in row)}  {'   0' * 20}  0.67 0.20\n"
        for k, (letter, row) in enumerate(zip(query, rows, strict=True), 1)
    ]
    return HEADER + "".join(lines) + FOOTER


def test_a_file_of_psiblast_is_read_with_its_query(tmp_path: Path) -> None:
    rows = [[9 if one == letter else -3 for one in LETTERS] for letter in "MKXVL"]
    path = tmp_path / "one.pssm"
    path.write_text(text_of(rows, "MKXVL"))
    found = PositionMatrix.read(path)
    assert found.letters == f"{LETTERS}X" and str(found.query) == "MKXVL"
    assert (found.scores[:, :20] == rows).all() and (found.scores[:, 20] == -1).all()
    result = align(found, "MKXVL", mode="global", device="cpu")
    assert (result.score, result.cigar) == (35, "5=")
    other = PositionMatrix.read(path, unknown="X")
    assert align(other[:3], "MK?", mode="global", device="cpu").cigar == "3="


@pytest.mark.parametrize(
    "wrong, said",
    [
        ("", "no scores"),
        (HEADER, "no scores"),
        (text_of([[1] * 20], "M").replace("  1   1", "  1   x", 1), "line 4: could not convert"),
        (text_of([[1] * 20] * 2, "MK").replace("    2 K", "    3 K"), "line 5 is not position 2"),
        (HEADER + "    1 M  1 2 3\n", "line 4: no letter and 20 scores"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, wrong: str, said: str) -> None:
    path = tmp_path / "one.pssm"
    path.write_text(wrong)
    with pytest.raises(FormatError, match=said):
        PositionMatrix.read(path)
    with pytest.raises(FileNotFoundError):
        PositionMatrix.read(tmp_path / "none")


def test_parts_and_what_it_says_of_itself() -> None:
    one = PositionMatrix([[1, 2], [3, 4], [5, 6]], "AB", "ABA", name="p")
    assert repr(one) == "PositionMatrix('p', 3 positions, AB)" and len(one) == 3
    assert one[1:] == PositionMatrix([[3, 4], [5, 6]], "AB", "BA") != one
    assert one[::-1].scores.tolist() == [[5, 6], [3, 4], [1, 2]]
    assert one != PositionMatrix(one.scores, "AB") and len({one, one[:]}) == 1
    assert one != PositionMatrix(one.scores, "AB", one.query, unknown="A")
    assert one.scoring(2.5).scale == 2 and one.scoring().gap_open == 11
    assert one.scoring().highest == 6 and "3 positions" in one.scoring().in_words


def test_its_scoring_is_stored_and_read_back() -> None:
    one = PositionMatrix([[1, -2], [3, 4]], "AB", "AB").scoring((3, 1))
    facts = one.facts()
    again = type(one).of_facts(facts)
    assert isinstance(again, Scoring) and again.facts() == facts
