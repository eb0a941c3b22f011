"""``second_best``: the highest score of an end outside the best alignment's rectangle."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from many import align_many_stats
from whole_reference import align_reference

import pysw_cl
from pysw_cl.cli.main import main
from pysw_cl.errors import InputError
from pysw_cl.scoring.scoring import make_scoring

COMPLEMENT = str.maketrans("ACGT", "TGCA")
#: Plans that cut small matrices into many tiles.
CUT = {"traceback.pieces": 5, "traceback.least_side": 30}
PLANS: list[dict[str, Any]] = [
    {"engine": "reference", "tile_cells": 300},
    {},
    CUT,
    {"engine": "rowscan", **CUT},
]


def by_definition(
    a: str, b: str, mode: str = "local", free: tuple[bool, ...] = (False,) * 4, **scores: Any
) -> tuple[int, int]:
    """The best score and the second best one, from all cells of the matrix."""
    scoring = make_scoring(scores.get("sub_score", (1, -3)), scores.get("gap_cost"))
    codes = (
        encoding[np.frombuffer(text.encode(), np.uint8)]
        for encoding, text in ((scoring.query_encoding, a), (scoring.target_encoding, b))
    )
    best = align_reference(*codes, scoring, mode, free)  # type: ignore[arg-type]
    ends = np.ones_like(best.matrices.h, bool)
    if mode == "global":
        ends[:] = False
        ends[-1, :] |= free[1]
        ends[:, -1] |= free[3]
        ends[-1, -1] = True
    ends[best.query_start + 1 : best.query_end + 1, best.target_start + 1 : best.target_end + 1] = (
        False
    )
    ends[best.query_end, best.target_end] = False
    return best.score, int(best.matrices.h[ends].max())


def drawn(rng: np.random.Generator) -> tuple[str, str, dict[str, Any]]:
    """Two sequences and how they are aligned."""
    m, n = rng.integers(1, int(rng.choice([6, 40, 150])), 2)
    letters = list("ACGT"[: int(rng.integers(1, 5))])
    a, b = ("".join(rng.choice(letters, int(k))) for k in (m, n))
    if rng.random() < 0.4:
        b = (b[: n // 2] + a + b[n // 2 :])[: n + int(rng.integers(0, m + 1))]
    asked: dict[str, Any] = {
        "sub_score": (int(rng.integers(1, 5)), -int(rng.integers(0, 5))),
        "gap_cost": (int(rng.integers(0, 8)), int(rng.integers(0, 4))),
    }
    if rng.random() < 0.4:
        free = [bool(x) for x in rng.random(4) < 0.5]
        free[int(rng.choice([1, 3]))] = True
        asked |= {"mode": "global", "free_ends": tuple(free)}
    return a, b, asked


@pytest.mark.parametrize("plan", PLANS, ids=["reference", "default", "cut", "rowscan"])
def test_it_is_that_of_all_cells(plan: dict[str, Any]) -> None:
    rng, ties = np.random.default_rng(len(plan)), 0
    for _ in range(60):
        a, b, asked = drawn(rng)
        found = pysw_cl.align(a, b, second_best=True, plan=plan, **asked)
        scores = {name: asked[name] for name in ("sub_score", "gap_cost")}
        given = asked.get("mode", "local"), asked.get("free_ends", (False,) * 4)
        assert (found.score, found.second_best) == by_definition(a, b, *given, **scores), (a, b)
        ties += found.score == found.second_best
    assert 5 < ties < 55


def test_the_other_strand_lies_outside() -> None:
    rng = np.random.default_rng(3)
    for k in range(40):
        a, b, _ = drawn(rng)
        if k % 4 == 0:
            b += a[::-1].translate(COMPLEMENT)
        plus, minus = by_definition(a, b), by_definition(a[::-1].translate(COMPLEMENT), b)
        best, other = (plus, minus) if plus[0] >= minus[0] else (minus, plus)
        for plan in ({}, CUT):
            found = pysw_cl.align(a, b, strand="both", second_best=True, plan=plan)
            assert (found.score, found.second_best) == (best[0], max(best[1], other[0])), (a, b)


def test_ranges_and_the_aligner() -> None:
    rng = np.random.default_rng(4)
    a, b = ("".join(rng.choice(list("ACGT"), 90)) for _ in range(2))
    aligner = pysw_cl.Aligner(second_best=True)
    for start in (0, 10, 40):
        ranges = {"query_range": (start, 60), "target_range": (20, 90 - start)}
        expected = by_definition(a[start:60], b[20 : 90 - start])
        found = aligner.align(a, b, **ranges)
        assert (found.score, found.second_best) == expected
        assert found == pysw_cl.align(a, b, second_best=True, **ranges)
    assert found.to_dict()["second_best"] == found.second_best
    assert "second_best" not in pysw_cl.align(a, b).to_dict()


def test_many_pairs() -> None:
    rng = np.random.default_rng(6)
    pairs = [drawn(rng)[:2] for _ in range(12)]
    for asked in ({}, {"strand": "both"}, {"mode": "global", "free_ends": True}):
        alone = [pysw_cl.align(a, b, second_best=True, **asked) for a, b in pairs]
        asked |= {"second_best": True}
        for maker in (pysw_cl.align_many, pysw_cl.Aligner(**asked).align_many):
            own = asked if maker is pysw_cl.align_many else {}
            rows = maker(pairs, output="path", **own)
            assert rows["second_best"].tolist() == [one.second_best for one in alone]
            assert rows["cigar"].tolist() == [one.cigar for one in alone]
        stream = io.StringIO()
        pysw_cl.write(rows, stream, "tsv", pairs=pairs, **asked)
        lines = [line.split("\t") for line in stream.getvalue().splitlines()]
        assert [line[-1] for line in lines] == ["second_best", *map(str, rows["second_best"])]
    with pytest.raises(InputError, match="output='path'"):
        pysw_cl.align_many(pairs, second_best=True)


@pytest.mark.parametrize(
    ("strand", "plan"), [("plus", {}), ("both", {}), ("plus", {"lanes": "scalar32"})]
)
def test_batches_of_many_lengths(strand: str, plan: dict[str, Any]) -> None:
    """Short pairs, targets far longer than their paths, and scores that outgrow 8 bits."""
    rng = np.random.default_rng(7)
    pairs = []
    for k, (m, n) in enumerate([(20, 30)] * 40 + [(15, 900)] * 12 + [(200, 260)] * 6):
        a, b = ("".join(rng.choice(list("ACGT"), size)) for size in (m, n))
        b = (b[: n // 3] + a + b)[:n] if k % 3 else b
        turned = a[::-1].translate(COMPLEMENT)
        pairs.append((a, turned + b[m:] if k % 5 == 0 else b))
    asked: dict[str, Any] = {"output": "path", "strand": strand, "sub_score": (2, -2)}
    asked["plan"] = plan
    usual, cost = align_many_stats(pairs, **asked)
    rows, stats = align_many_stats(pairs, second_best=True, **asked)
    assert rows[list(usual.dtype.names)].tolist() == usual.tolist()
    assert stats.total_cells == cost.total_cells and stats.cells.keys() == cost.cells.keys()
    some = pysw_cl.align_many(pairs, second_best=True, min_score=30, **asked)
    assert some[list(rows.dtype.names)].tolist() == rows[rows["score"] >= 30].tolist()
    for (a, b), row in zip(pairs, rows, strict=True):
        plus = by_definition(a, b, sub_score=(2, -2))
        minus = by_definition(a[::-1].translate(COMPLEMENT), b, sub_score=(2, -2))
        best, other = (plus, minus) if plus[0] >= minus[0] else (minus, plus)
        expected = plus if strand == "plus" else (best[0], max(best[1], other[0]))
        assert (row["score"], row["second_best"]) == expected, (a, b)


@pytest.mark.parametrize("related", [False, True])
def test_the_matrix_is_swept_once(related: bool) -> None:
    rng = np.random.default_rng(5)
    a, b = ("".join(rng.choice(list("ACGT"), 3000)) for _ in range(2))
    if related:
        b = b[:700] + a[300:2000] + b[:600]
    usual = pysw_cl.align(a, b, prune=False)
    found = pysw_cl.align(a, b, second_best=True)
    assert found.second_best is not None and found.to_paf().startswith(usual.to_paf()[:40])
    assert found.stats.total_cells < 1.3 * usual.stats.total_cells


def test_files() -> None:
    unit = "ACGTTGCATTGACCA"
    twice, once = unit + "GGGGGG" + unit, unit + "GGGGGG" + unit[:-1]
    for target, second in ((twice, 15), (once, 14)):
        found = pysw_cl.align(unit, target, second_best=True)
        assert (found.score, found.second_best) == (15, second)
        quality = "0" if second == 15 else "255"
        texts = {}
        for name in ("sam", "paf", "tsv", "jsonl"):
            stream = io.StringIO()
            pysw_cl.write(found, stream, name)
            texts[name] = stream.getvalue()
        line = texts["sam"].splitlines()[-1].split("\t")
        assert line[4] == quality and f"XS:i:{second}" in line
        line = texts["paf"].rstrip("\n").split("\t")
        assert line[11] == quality and f"XS:i:{second}" in line
        header, line = (row.split("\t") for row in texts["tsv"].splitlines())
        assert header[-1] == "second_best" and line[-1] == str(second)
        assert f'"second_best": {second}' in texts["jsonl"]
        [record] = pysw_cl.read(io.StringIO(texts["sam"]), "sam")
        assert record.more["XS"] == second and record.more["mapq"] == int(quality)


def test_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unit = "ACGTTGCATTGACCA"
    query, target = tmp_path / "q.fa", tmp_path / "t.fa"
    query.write_text(f">q\n{unit}\n")
    target.write_text(f">t\n{unit}GGG{unit[::-1].translate(COMPLEMENT)}\n>u\n{unit}\n")
    files = [str(query), str(target)]
    asked = ["align", "--strand", "both", "--second-best", "--outfmt", "paf", *files]
    assert main(asked) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [(line[11], line[-1]) for line in lines] == [("0", "XS:i:15"), ("255", "XS:i:4")]
    for wrong in (
        ["--alignments", "2"],
        ["--checkpoint", str(tmp_path / "x")],
        ["--output", "ends"],
        ["--mode", "global"],
        ["--mode", "global", "--free-ends", "1,0,1,0"],
    ):
        assert main(["align", "--second-best", *wrong, *files]) == 2
        assert "second" in capsys.readouterr().err


def test_where_there_is_none(tmp_path: Path) -> None:
    def refused(message: str, **asked: Any) -> None:
        with pytest.raises(InputError, match=message):
            pysw_cl.align("ACGT", "ACGT", **{"second_best": True, **asked})

    refused("second_best must be True or False", second_best="yes")
    refused("output='path'", output="ends")
    refused("free end", mode="global")
    refused("free end", mode="global", free_ends=(True, False, True, False))
    refused("checkpoint", checkpoint=tmp_path / "run")
    assert pysw_cl.align("AAAA", "CCCC", second_best=True).second_best == 0
    assert pysw_cl.align("A", "A", second_best=True).second_best == 0


@pytest.mark.parametrize("strand", ["plus", "both"])
def test_long_targets_of_several_pairs(strand: str) -> None:
    """Pairs that would be compared in pieces, which say nothing of whole rows."""
    rng = np.random.default_rng(3)
    query, before, behind = ("".join(rng.choice(list("ACGT"), n)) for n in (60, 100_000, 200_000))
    pair = query, before + query + behind + query[:58]
    rows = pysw_cl.align_many([pair] * 2, output="path", second_best=True, strand=strand)
    assert rows["score"].tolist() == [60, 60]
    assert rows["second_best"].tolist() == [58, 58]
