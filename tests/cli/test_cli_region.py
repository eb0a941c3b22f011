"""The command line's ranges and strand."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import renamed

import pysw_cl
from pysw_cl.cli import main as cli
from pysw_cl.cli.parser import letter_range
from pysw_cl.results.formats.pair import text as pair_text

QUERY = "CCCCATGTAATCAACGTTGCA"
TARGET = "AGATTACAGTGCAACGAA"
PLAN = ["--plan", "engine=reference"]


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    for name, letters in (("q", QUERY), ("t", TARGET)):
        (tmp_path / name).write_text(f">{name}\n{letters}\n")
    return str(tmp_path / "q"), str(tmp_path / "t")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1-1", (0, 1)),
        ("5-20", (4, 20)),
        ("1,001-2,000", (1000, 2000)),
        ("7-", (6, None)),
        (" 3-9 ", (2, 9)),
        ("5000000000-6000000000", (4_999_999_999, 6_000_000_000)),
    ],
)
def test_ranges(text: str, expected: tuple[int, int | None]) -> None:
    assert letter_range(text) == expected


@pytest.mark.parametrize(
    "text", ["0-5", "5-4", "5", "-5", "a-b", "1-2-3", "", "1:5", "1.0-2", "0-"]
)
def test_wrong_ranges(capsys: pytest.CaptureFixture[str], pair: tuple[str, str], text: str) -> None:
    for side in ("query", "target"):
        assert cli.main(["align", *pair, f"--{side}-range={text}", *PLAN]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert f"--{side}-range" in err


def test_wrong_strand(capsys: pytest.CaptureFixture[str], pair: tuple[str, str]) -> None:
    assert cli.main(["align", *pair, "--strand", "-"]) == 2
    assert "--strand" in capsys.readouterr().err
    assert cli.main(["align", *pair, "--strand", "both", "--matrix", "BLOSUM62", *PLAN]) == 2
    assert "takes nucleotides" in capsys.readouterr().err


@pytest.mark.parametrize("strand", ["plus", "minus", "both"])
def test_options_reach_the_result(
    capsys: pytest.CaptureFixture[str], pair: tuple[str, str], strand: str
) -> None:
    options = ["--strand", strand, "--query-range", "3-18", "--target-range", "2-", *PLAN]
    assert cli.main(["align", *pair, *options]) == 0
    fields = capsys.readouterr().out.rstrip("\n").split("\t")
    r = pysw_cl.align(
        QUERY, TARGET, strand=strand, query_range=(2, 18), target_range=(1, 18),
        plan={"engine": "reference"},
    )  # fmt: skip
    spans = [r.query_start, r.query_end, r.target_start, r.target_end]
    assert [int(fields[k]) for k in (2, 3, 7, 8)] == spans
    assert [int(fields[k]) for k in (1, 6)] == [len(QUERY), len(TARGET)]
    assert fields[4] == ("+" if r.strand == "plus" else "-")
    assert fields[15] == f"cg:Z:{r.cigar}"
    assert (r.query_start or 0) >= 2
    assert cli.main(["align", *pair, "--outfmt", "pair", *options]) == 0
    assert capsys.readouterr().out == pair_text(renamed(r, "q", "t")) + "\n\n"


@pytest.mark.parametrize("text", ["1-22", "22-22", "22-", "100-200"])
def test_a_range_that_leaves_its_record(
    capsys: pytest.CaptureFixture[str], pair: tuple[str, str], text: str
) -> None:
    assert cli.main(["align", *pair, "--query-range", text, *PLAN]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert (
        err == f"pysw-cl: --query-range {text} goes past the end of query q, which has 21 letters\n"
    )
