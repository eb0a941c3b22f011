"""EMBOSS: water is local, needle global with free ends; the same scores, and the same alignments
where only one is best."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from writing import AMINO, PLAN, random_pairs

import pysw_cl

pytestmark = pytest.mark.skipif(shutil.which("water") is None, reason="needs EMBOSS")
GAPS = pysw_cl.gaps.from_emboss(10, 0.5)


def emboss(program: str, pairs: list[Any], folder: Path, *options: str) -> list[list[str]]:
    """Of each pair: score and aligned letters."""
    found = []
    for k, pair in enumerate(pairs):
        files = [folder / f"{k}{side}.fa" for side in "ab"]
        for file, one in zip(files, pair, strict=True):
            file.write_text(f">{one.name}\n{one.letters.tobytes().decode()}\n")
        argv = [program, "-asequence", str(files[0]), "-bsequence", str(files[1]), *options]
        gaps = ["-gapopen", "10", "-gapextend", "0.5", "-outfile", "stdout", "-auto"]
        shown = [
            subprocess.run([*argv, *gaps, "-aformat", kind], capture_output=True, text=True)
            for kind in ("score", "fasta")
        ]
        assert [one.returncode for one in shown] == [0, 0], shown
        line = next(line for line in shown[0].stdout.splitlines() if line and line[0] != "#")
        letters = ["".join(part.split("\n")[1:]) for part in shown[1].stdout.split(">")[1:]]
        found.append([line.split()[-1].strip("()"), *letters])
    return found


def best_paths(query: Any, target: Any, scoring: Any, local: bool) -> int:
    """How many best alignments there are, with free ends or local: Gotoh's recurrence, with numbers
    of paths beside the scores."""
    scores = scoring.matrix[
        np.ix_(scoring.encode(query.letters, "query"), scoring.encode(target.letters, "target"))
    ]
    first, extend = scoring.gap_open + scoring.gap_extend, scoring.gap_extend
    m, n = scores.shape
    nothing = (-(10**9), 0)

    def best(*ways: tuple[int, int]) -> tuple[int, int]:
        top = max(score for score, _ in ways)
        return top, sum(count for score, count in ways if score == top)

    def less(way: tuple[int, int], cost: int) -> tuple[int, int]:
        return way[0] - cost, way[1]

    pair, up, left = ([[nothing] * (n + 1) for _ in range(m + 1)] for _ in range(3))
    ends = [(0, 0)]
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            before = (pair[i - 1][j - 1], up[i - 1][j - 1], left[i - 1][j - 1])
            start = (0, 1) if local or 1 in (i, j) else nothing
            pair[i][j] = less(best(*before, start), -int(scores[i - 1, j - 1]))
            if local and pair[i][j][0] <= 0:
                pair[i][j] = nothing
            up[i][j] = best(less(pair[i - 1][j], first), less(up[i - 1][j], extend),
                            less(left[i - 1][j], first))  # fmt: skip
            left[i][j] = best(less(pair[i][j - 1], first), less(left[i][j - 1], extend),
                              less(up[i][j - 1], first))  # fmt: skip
            if local or i == m or j == n:
                ends.append(pair[i][j])
    return best(*ends)[1]


@pytest.mark.parametrize("letters", ["ACGT", AMINO])
@pytest.mark.parametrize("program", ["water", "needle"])
def test_the_same_as_emboss(tmp_path: Path, program: str, letters: str) -> None:
    how: dict[str, Any] = {"sub_score": "BLOSUM62" if letters == AMINO else "DNAFULL"}
    how |= {"gap_cost": GAPS, "plan": PLAN}
    if program == "needle":
        how |= {"mode": "global", "free_ends": True}
    pairs = random_pairs(25, letters, seed=11)
    unique = 0
    for pair, theirs in zip(pairs, emboss(program, pairs, tmp_path), strict=True):
        r = pysw_cl.align(*pair, **how)
        assert float(theirs[0]) == r.score
        if best_paths(*pair, r.scoring, program == "water") != 1:
            continue
        unique += 1
        if program == "needle":
            columns = list(zip(*theirs[1:], strict=True))
            start = next(k for k, both in enumerate(columns) if "-" not in both)
            stop = len(columns) - next(k for k, b in enumerate(columns[::-1]) if "-" not in b)
            theirs[1:] = ("".join(row) for row in zip(*columns[start:stop], strict=True))
        assert tuple(theirs[1:]) == r.aligned
    assert unique > 10


def test_end_gaps_that_cost(tmp_path: Path) -> None:
    """needle -endweight is global without free ends."""
    pairs = random_pairs(15, AMINO, seed=12)
    options = ["-endweight", "-endopen", "10", "-endextend", "0.5"]
    for pair, theirs in zip(pairs, emboss("needle", pairs, tmp_path, *options), strict=True):
        how: dict[str, Any] = {"sub_score": "BLOSUM62", "gap_cost": GAPS, "plan": PLAN}
        assert float(theirs[0]) == pysw_cl.align(*pair, mode="global", **how).score
