"""Paths of given ends by their definition, for the tests of ``trace_ends``."""

from __future__ import annotations

from typing import Any

import numpy as np
from whole_reference import align_reference

import pysw_cl
from pysw_cl.engines.reference import Matrices
from pysw_cl.scoring.scoring import Scoring, make_scoring

ACGT = np.frombuffer(b"ACGT", np.uint8)
PROTEIN = np.frombuffer(b"ARNDCQEGHILKMFPSTWYV", np.uint8)
DNA_SCORES = ((1, -3), (2, -1), (5, -4), (1.5, -1))
GAP_COSTS = ((3, 2), (0, 1), (10, 1), (5, 0), (0, 2), (1, 1))

#: An end as `best_ends` gives it.
End = tuple[float, int, int]


def letters(seed: int, length: int, of: Any = ACGT) -> bytes:
    """Random letters."""
    found: bytes = np.random.default_rng(seed).choice(of, length).tobytes()
    return found


def matrices_of(a: bytes, b: bytes, scoring: Scoring) -> Matrices:
    """All cells of the local comparison."""
    query = scoring.query_encoding[np.frombuffer(a, np.uint8)]
    target = scoring.target_encoding[np.frombuffer(b, np.uint8)]
    return align_reference(query, target, scoring, "local").matrices


def path_by_definition(cells: Matrices, row: int, column: int) -> tuple[int, int, str]:
    """Where the canonical path to a cell starts, and its moves ("M", "I", "D"), one by one."""
    state, moves = "M", []
    gaps = {"D": cells.e, "I": cells.f}
    while row and column:
        h = cells.h[row, column]
        closed = state == "M" or cells.gap_open == 0
        if closed or gaps[state][row, column] < h - cells.gap_open:
            if h == 0:
                break
            state = next((gap for gap in "ID" if gaps[gap][row, column] == h), "M")
        moves.append(state)
        row, column = row - (state != "D"), column - (state != "I")
    return row, column, "".join(moves[::-1])


def check(a: bytes, b: bytes, found: pysw_cl.Alignment, end: End, cells: Matrices) -> None:
    """Is this the canonical path to the end?"""
    score, row, column = end
    assert found.runs is not None and found.score == score == found.rescore()
    moves = "".join(("M" if op in "=X" else op) * length for op, length in found.runs)
    start = path_by_definition(cells, row, column)
    assert (found.query_start, found.target_start, moves) == start, (a, b, end)
    assert (found.query_end, found.target_end) == (row, column)


def drawn(rng: np.random.Generator) -> tuple[bytes, bytes, dict[str, Any]]:
    """Two sequences, often with repeats or similar to each other, and a scoring for them."""
    m, n = (1 + int(v) for v in np.exp(rng.uniform(0, np.log(250), 2)))
    protein = rng.random() < 0.3
    alphabet = PROTEIN if protein else ACGT[: rng.integers(1, 5)]
    a, b = rng.choice(alphabet, m), rng.choice(alphabet, n)
    kind = rng.integers(3)
    if kind == 0:
        unit = rng.choice(alphabet, rng.integers(1, 8))
        a, b = np.resize(unit, m), np.resize(unit, n)
    elif kind == 1:
        b[: min(m, n)] = a[: min(m, n)]
    if kind < 2:
        changed = rng.integers(0, n, n // 6)
        b[changed] = rng.choice(alphabet, len(changed))
    scores = "BLOSUM62" if protein else DNA_SCORES[rng.integers(len(DNA_SCORES))]
    gap_cost = GAP_COSTS[rng.integers(len(GAP_COSTS))]
    return a.tobytes(), b.tobytes(), {"sub_score": scores, "gap_cost": gap_cost}


def some_ends(
    rng: np.random.Generator, a: bytes, b: bytes, scores: dict[str, Any], most: int
) -> tuple[list[End], float, Matrices]:
    """Cells with a score, the highest score, and all cells."""
    scoring = make_scoring(scores["sub_score"], scores["gap_cost"])
    cells = matrices_of(a, b, scoring)
    places = np.argwhere(cells.h > 0)
    chosen = places[rng.permutation(len(places))[:most]].tolist()
    ends = [(cells.h[i, j] / scoring.scale, i, j) for i, j in chosen]
    return ends, cells.h.max() / scoring.scale, cells
