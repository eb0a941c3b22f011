"""``align`` against programs by others where they do the same, and what it costs in memory."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import parasail
import pytest
from aligning import NO_FREE_ENDS, SMALL, USUAL, align_case, ends, moves, needs_lanes, ran_here
from Bio import Align
from helpers import (
    ALL_FREE_ENDS,
    PARASAIL_FREE_ENDS,
    Case,
    FreeEnds,
    decode,
    match_scoring,
    random_case,
)
from skbio import DNA, SubstitutionMatrix
from skbio.alignment import align_score, pair_align

import pysw_cl

biopython: Any = Align  # it has no types
KERNELS = [SMALL[0], USUAL]
with_kernels = pytest.mark.parametrize("kernels", KERNELS, ids=str)


def random_cases(seed: int, count: int, longest: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    return [random_case(rng, longest) for _ in range(count)]


def texts(case: Case) -> tuple[str, str]:
    return decode(case.query, case.scoring), decode(case.target, case.scoring)


def skbio_matrix(case: Case) -> SubstitutionMatrix:
    return SubstitutionMatrix(case.scoring.letters, case.scoring.matrix.astype(float))


def gap_cost(case: Case) -> Any:
    """scikit-bio's gap cost is ours; without an opening cost it is linear."""
    scoring = case.scoring
    both = (scoring.gap_open, scoring.gap_extend)
    return both if scoring.gap_open else scoring.gap_extend


# scikit-bio


@with_kernels
@pytest.mark.parametrize("mode", ["local", "global"])
def test_pair_align(kernels: Any, mode: str) -> None:
    """The same call gives the same score, ends and path; its I and D are swapped against SAM's, so
    moves are compared."""
    needs_lanes(kernels)
    rng = np.random.default_rng(81)
    for case in random_cases(82, 40, 120):
        free_ends: FreeEnds = NO_FREE_ENDS
        if mode == "global":
            free_ends = ALL_FREE_ENDS[rng.integers(16)]
        theirs, paths, _ = pair_align(
            *texts(case),
            mode=mode,
            sub_score=skbio_matrix(case),
            gap_cost=gap_cost(case),
            free_ends=free_ends,
            trim_ends=True,
        )
        ours = pysw_cl.align(
            *texts(case),
            mode=mode,
            sub_score=skbio_matrix(case),
            gap_cost=gap_cost(case),
            free_ends=free_ends,
            plan=kernels.plan(traceback_tile_cells=1000),
        )
        ran_here(ours, kernels)
        assert ours.score == theirs
        if paths:
            path = paths[0]
            assert ends(ours) == tuple(path.ranges.ravel().tolist())
            assert moves(ours).tolist() == np.repeat(path.states[0], path.lengths).tolist()
        else:
            assert (ours.score, ends(ours), ours.cigar) == (0, (0, 0, 0, 0), "")


@with_kernels
def test_align_score(kernels: Any) -> None:
    """scikit-bio's scorer, given the two rows of our alignment, finds our score."""
    needs_lanes(kernels)
    for case in random_cases(83, 30, 100):
        found = align_case(case, "global", NO_FREE_ENDS, plan=kernels.plan())
        query, target = (iter(text) for text in texts(case))
        rows = [
            "".join("-" if move == gap else next(letters) for move in moves(found))
            for gap, letters in ((1, query), (2, target))
        ]
        cost = (case.scoring.gap_open, case.scoring.gap_extend)
        theirs = align_score(rows, sub_score=skbio_matrix(case), gap_cost=cost, free_ends=False)
        assert found.score == theirs


def test_scikit_bio_objects() -> None:
    """Its sequences and matrices go in as they are, and its numbers come out."""
    a, b = DNA("ACGTTACGATTGCA", {"id": "first"}), DNA("ACGTACGATAGCA")
    matrix = SubstitutionMatrix.identity("ACGT", 2, -3)
    for free_ends in (True, False, (True, False), (False, True, True, False)):
        ours = pysw_cl.align(
            a, b, mode="global", sub_score=matrix, gap_cost=(5, 2), free_ends=free_ends
        )
        theirs = pair_align(
            a, b, mode="global", sub_score=matrix, gap_cost=(5, 2), free_ends=free_ends
        )
        assert (ours.score, ours.query.name) == (theirs.score, "first")


# parasail and Biopython


def parasail_score(function: str, case: Case) -> int:
    """parasail's first gap letter costs what we call open + extend."""
    scoring = case.scoring
    matrix = parasail.matrix_create(scoring.letters, 0, 0)
    for (q, t), score in np.ndenumerate(scoring.matrix):
        matrix[q, t] = int(score)
    first = scoring.gap_open + scoring.gap_extend
    return int(getattr(parasail, function)(*texts(case), first, scoring.gap_extend, matrix).score)


@with_kernels
@pytest.mark.parametrize(("mode", "function"), [("local", "sw"), ("global", "nw")])
def test_parasail(kernels: Any, mode: str, function: str) -> None:
    needs_lanes(kernels)
    for case in random_cases(84, 40, 300):
        found = align_case(case, mode, NO_FREE_ENDS, plan=kernels.plan(), output="score")
        ran_here(found, kernels)
        assert found.score == parasail_score(function, case)


@pytest.mark.parametrize(("function", "free_ends"), PARASAIL_FREE_ENDS)
def test_parasail_free_ends(function: str, free_ends: FreeEnds) -> None:
    """parasail names the sequence whose own letters stay out for free ("qb": the query's first
    letters, so the leading gap is the target's).  It does not end on the border, where nothing is
    aligned: there ours may be higher, and then it is 0 or one penalised gap."""
    compared = 0
    for case in random_cases(85, 25, 120):
        found = align_case(case, "global", free_ends, output="ends", plan={"tile_cells": 4000})
        if found.query_end and found.target_end:
            compared += 1
            assert found.score == parasail_score(function, case)
        else:
            assert found.score >= parasail_score(function, case)
    assert compared > 10


@with_kernels
@pytest.mark.parametrize("mode", ["local", "global"])
def test_biopython(kernels: Any, mode: str) -> None:
    needs_lanes(kernels)
    for case in random_cases(86, 30, 150):
        scoring = case.scoring
        aligner = biopython.PairwiseAligner(mode=mode)
        aligner.substitution_matrix = biopython.substitution_matrices.Array(
            scoring.letters, dims=2, data=scoring.matrix.astype(float)
        )
        aligner.open_gap_score = -float(scoring.gap_open + scoring.gap_extend)
        aligner.extend_gap_score = -float(scoring.gap_extend)
        found = align_case(case, mode, NO_FREE_ENDS, plan=kernels.plan(), output="score")
        assert found.score == aligner.score(*texts(case))


# Memory


def test_memory_for_a_score_is_linear() -> None:
    """Host and device memory, each below 64 bytes x (m + n) and what does not grow."""
    rng = np.random.default_rng(87)
    size = 20_000
    pair = (rng.integers(0, 4, size).astype(np.uint8) for _ in range(2))
    case = Case(*pair, match_scoring(1, -3, 3, 2))
    align_case(case, "local", NO_FREE_ENDS, output="score")  # builds the kernels
    tracemalloc.start()
    try:
        found = align_case(case, "local", NO_FREE_ENDS, output="score")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.stats.total_cells + found.stats.pruned == size * size
    assert peak < 64 * 2 * size + 2**20
    assert 0 < found.stats.device_bytes < 64 * 2 * size + 2**20


FIFTY = """
from pathlib import Path
import numpy as np
import pysw_cl
rng = np.random.default_rng(88)
a = rng.choice(np.frombuffer(b"ACGT", np.uint8), 50_000)
b = np.delete(np.where(rng.random(50_000) < 0.1, ord("A"), a), rng.integers(0, 50_000, 500))
found = pysw_cl.align(a, b.astype(np.uint8), mode="global")
assert found.rescore() == found.score > 0
assert found.stats.device_bytes < 2**28
print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux to see the memory")
def test_a_path_of_50_kb_within_1_gib() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FIFTY], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) * 1024 < 2**30
