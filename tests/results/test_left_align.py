"""Gaps on the left: the first place with the same score, by a plain search, and by minimap2."""

from __future__ import annotations

import io
import os
import random
import shutil
import subprocess
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

import pysw_cl
from pysw_cl.cli.main import main
from pysw_cl.errors import InputError
from pysw_cl.results.alignment import Alignment
from pysw_cl.results.cigar import Runs

DATA = Path(os.environ.get("PYSW_CL_TEST_DATA", "/nowhere")) / "dna"
Columns = list[str]
LINEAR, FREE = {"gap_cost": 2, "mode": "global"}, {"mode": "global", "free_ends": True}
PROTEIN = {"sub_score": "BLOSUM62"}
ASKED: list[dict[str, Any]] = [
    {},
    {"mode": "global"},
    FREE,
    {"mode": "global", "free_ends": (True, False)},
    LINEAR,
    {"gap_cost": 1},
    {"strand": "minus"},
    {"wildcard": "N"},
    {"iupac": "match"},
    PROTEIN,
]


def changed(text: str, letters: str, rate: float, rng: random.Random) -> str:
    """Some letters are lost, more come or others."""
    made = []
    for letter in text:
        x = rng.random() / rate
        if x < 1 / 3:
            continue
        other = rng.choice(letters)
        made.append(other if x < 2 / 3 else other + letter if x < 1 else letter)
    return "".join(made) or letters[0]


def some_pairs(asked: dict[str, Any], count: int) -> list[tuple[str, str]]:
    rng = random.Random(5)
    letters = "ARNDXB" if asked == PROTEIN else "ACN" if "wildcard" in asked else "ACGT"
    letters = "ARCY" if "iupac" in asked else letters
    pairs = []
    for k in range(count):
        few = letters[: 2 + 2 * (k % 2)] if asked != PROTEIN else letters
        a = "".join(rng.choice(few) for _ in range(rng.randrange(20, 60)))
        b = changed(a, few, 0.15, rng)
        pairs.append((pysw_cl.reverse_complement(a) if "strand" in asked else a, b))
    return pairs


def score(found: Alignment, columns: Columns) -> int:
    """What a path scores, gap by gap and pair by pair."""
    scoring, (query, target) = found.scoring, found.region()
    total = i = j = 0
    for op, run in groupby(columns):
        length = len(list(run))
        if op == "M":
            rows, others = query[i : i + length], target[j : j + length]
            total += int(scoring.pair_scores(rows, others).sum())
        else:
            total -= scoring.gap_open + length * scoring.gap_extend
        i, j = i + length * (op != "D"), j + length * (op != "I")
    return total


def plainly(found: Alignment) -> Columns:
    """Gaps moved one after the other to the first place of all that have the score."""
    assert found.runs is not None
    columns = ["M" if op in "=X" else op for op, length in found.runs for _ in range(length)]
    free = {"D": found.free_ends[0], "I": found.free_ends[2]}
    best, moved = score(found, columns), True
    while moved:
        moved, at = False, 0
        for op, run in groupby(list(columns)):
            length = len(list(run))
            start, at = at, at + length
            pairs = 0
            while start > pairs and columns[start - pairs - 1] == "M":
                pairs += 1
            for k in range(pairs if op != "M" else 0, 0, -1):
                first = k == start
                if first and (found.mode == "local" or free[op]):
                    continue
                tried = columns[: start - k] + [op] * length + ["M"] * k + columns[at:]
                joins = not first and k == pairs and columns[start - k - 1] == op
                if joins and found.scoring.gap_open:
                    continue
                if score(found, tried) == best:
                    columns, moved = tried, True
                    break
            if moved:
                break
    return columns


def columns_of(cigar: str | None) -> Columns:
    runs = Runs.of_cigar(cigar or "")
    return ["M" if op in "=X" else op for op, length in runs for _ in range(length)]


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_a_plain_search_finds_the_same(asked: dict[str, Any]) -> None:
    pairs, moved = some_pairs(asked, 40), 0
    rows = pysw_cl.align_many(pairs, output="path", left_align=True, **asked)
    for pair, row in zip(pairs, rows, strict=True):
        found = pysw_cl.align(*pair, plan={"engine": "reference"}, **asked)
        left = found.left_aligned()
        assert columns_of(left.cigar) == plainly(found)
        assert left.rescore() == left.score == found.score
        assert (left.cigar, left.matches, left.columns) == tuple(
            row[name] for name in ("cigar", "matches", "columns")
        )
        moved += left.cigar != found.cigar
    assert moved > 4


def test_every_entry_point(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query, target = "GATTACCAGTTTTTTGCAGGATC", "GATTACCAGTTTTGCAGGATC"
    pairs, right = [(query, target), (target, query), ("A", "C")], "9=2I12="
    same = pysw_cl.align(query, target)
    assert same.cigar == "13=2I8="
    with pysw_cl.Aligner(left_align=True) as aligner:
        found = [
            same.left_aligned(),
            pysw_cl.align(query, target, left_align=True),
            aligner.align(query, target),
            pysw_cl.align_top(query, target, left_align=True)[0],
            aligner.align_top(query, target)[0],
            pysw_cl.align(query, target, left_align=True, checkpoint=tmp_path / "saved"),
            pysw_cl.resume(tmp_path / "saved"),
        ]
        tables = [
            aligner.align_many(pairs, output="path"),
            pysw_cl.align_many(iter(pairs), output="path", left_align=True),
            pysw_cl.align_many(pairs, output="path", left_align=True, min_score=-1),
            pysw_cl.align_paths(pysw_cl.Batch.from_sequences(pairs), left_align=True).table(),
        ]
    rows = pysw_cl.align_many(pairs * 50, output="path", left_align=True, min_score=5)
    assert rows["cigar"].tolist() == [right, "9=2D12="] * 50
    assert {one.cigar for one in found} == {right}
    assert pysw_cl.align(query, target, checkpoint=tmp_path / "saved").cigar == same.cigar
    assert {tuple(table["cigar"].tolist()) for table in tables} == {(right, "9=2D12=", "")}
    assert pysw_cl.align(query, target, output="score", left_align=True).runs is None
    with pytest.raises(InputError, match="left_align must be True or False"):
        pysw_cl.align(query, target, left_align=None)  # type: ignore[arg-type]
    for name, letters in (("a", query), ("b", target)):
        (tmp_path / f"{name}.fa").write_text(f">{name}\n{letters}\n>{name}2\n{letters}\n")
    files = [str(tmp_path / "a.fa"), str(tmp_path / "b.fa")]
    for more in ([], ["--pairs"], ["--alignments", "1"]):
        assert main(["align", "--left-align", *more, *files]) == 0
        assert {line.split("cg:Z:")[1] for line in capsys.readouterr().out.splitlines()} == {right}


def test_a_gap_goes_far_and_past_columns_that_score_less() -> None:
    query, target = "C" + "A" * 70000 + "G", "C" + "A" * 70003 + "G"
    found = pysw_cl.align(query, target, mode="global", left_align=True)
    assert found.cigar == "1=3D70001="
    # one column further to the left two pairs would not match, two further one does again
    found = pysw_cl.align("ATCAATAGACAGGTC", "ATCAAAATTTGACAGGTC", mode="global")
    assert (found.cigar, found.left_aligned().cigar) == ("5=1X1=3D8=", "5=3D1=1X8=")


@pytest.mark.skipif(
    shutil.which("minimap2") is None or not DATA.is_dir(), reason="needs minimap2 and genomes"
)
def test_as_minimap2(tmp_path: Path) -> None:
    """Reads of 1 kb with 1% of their letters changed: where minimap2 finds the same score and ends,
    it puts the gaps where we do, in 98 of 100 of them."""
    target = str(next(pysw_cl.read_sequences(DATA / "NC_012920.1.fasta")))[:6000]
    rng, reads = random.Random(1), []
    for _ in range(500):
        at = rng.randrange(len(target) - 1000)
        read = changed(target[at : at + 1000], "ACGT", 0.01, rng)
        reads.append(read if rng.random() < 0.5 else pysw_cl.reverse_complement(read))
    (tmp_path / "t.fa").write_text(f">t\n{target}\n")
    (tmp_path / "q.fa").write_text("".join(f">{k}\n{read}\n" for k, read in enumerate(reads)))
    scores = "-a --eqx --secondary=no -t 1 -A 2 -B 4 -O 4 -E 2".split()
    run = ["minimap2", *scores, str(tmp_path / "t.fa"), str(tmp_path / "q.fa")]
    sam = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    asked: dict[str, Any] = {"sub_score": (2, -4), "gap_cost": (4, 2), "strand": "both"}
    pairs = [(read, target) for read in reads]
    rows = pysw_cl.align_many(pairs, output="path", left_align=True, **asked)
    places = ["query_start", "query_end", "target_start", "target_end", "strand", "score"]
    same, compared = 0, 0
    for record in pysw_cl.read(io.StringIO(sam), "sam"):
        row = rows[int(record.query_name)]
        if record.runs and all(getattr(record, name) == row[name] for name in places):
            compared += 1
            same += record.runs.cigar == row["cigar"]
    assert compared > 400
    assert same >= 0.98 * compared, (same, compared)
