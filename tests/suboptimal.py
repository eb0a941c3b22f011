"""Sub-optimal alignments by their definition, for the tests of ``align_top`` and of its engines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aligning import moves
from helpers import Case

import pysw_cl


@dataclass(frozen=True)
class Local:
    """One alignment by the definition: ``moves`` first move first, ``pairs`` from 0."""

    score: int
    query_start: int
    query_end: int
    target_start: int
    target_end: int
    moves: list[int]
    pairs: set[tuple[int, int]]


def best_local(case: Case, forbidden: set[tuple[int, int]]) -> Local | None:
    """Gotoh's three matrices cell by cell, where blocked pairs have no diagonal step; the first
    best cell in row-major order; the canonical walk back from it."""
    scoring, never = case.scoring, -(10**9)
    matrix, extend = scoring.matrix.tolist(), scoring.gap_extend
    query, target, first = case.query.tolist(), case.target.tolist(), scoring.gap_open + extend
    m, n = len(query), len(target)
    h, e, f = ([[0] * (n + 1) for _ in range(m + 1)] for _ in range(3))
    for matrix_of_gaps in (e, f):
        for row in matrix_of_gaps:
            row[:] = [never] * (n + 1)
    best = (0, 0, 0)
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            e[i][j] = max(e[i][j - 1] - extend, h[i][j - 1] - first)
            f[i][j] = max(f[i - 1][j] - extend, h[i - 1][j] - first)
            pair = never if (i - 1, j - 1) in forbidden else matrix[query[i - 1]][target[j - 1]]
            h[i][j] = max(0, e[i][j], f[i][j], h[i - 1][j - 1] + pair)
            if h[i][j] > best[0]:
                best = (h[i][j], i, j)
    score, row, column = best
    if score == 0:
        return None
    steps, pairs, state = [], set(), 0
    i, j = row, column
    while i and j:
        gap = never if state == 0 else (e if state == 1 else f)[i][j]
        if state == 0 or scoring.gap_open == 0 or gap < h[i][j] - scoring.gap_open:
            if h[i][j] == 0:
                break
            state = 2 if f[i][j] == h[i][j] else 1 if e[i][j] == h[i][j] else 0
        steps.append(state)
        if state == 0:
            pairs.add((i - 1, j - 1))
        i, j = i - (state != 1), j - (state != 2)
    return Local(score, i, row, j, column, steps[::-1], pairs)


def by_definition(case: Case, k: int, least: int = 1) -> list[Local]:
    """Best, block, and again."""
    results: list[Local] = []
    forbidden: set[tuple[int, int]] = set()
    while len(results) < k:
        found = best_local(case, forbidden)
        if found is None or found.score < least:
            break
        results.append(found)
        forbidden |= found.pairs
    return results


def pairs_of(found: pysw_cl.Alignment) -> list[tuple[int, int]]:
    """The pairs of letters that stand opposite each other."""
    way, pairs = moves(found), []
    i, j = found.query_start, found.target_start
    assert i is not None
    assert j is not None
    for move in way.tolist():
        if move == 0:
            pairs.append((i, j))
        i, j = i + (move != 1), j + (move != 2)
    assert (i, j) == (found.query_end, found.target_end)
    return pairs


def plain(found: pysw_cl.Alignment) -> tuple[Any, ...]:
    """A result as plain values."""
    return (
        found.score,
        found.query_start,
        found.query_end,
        found.target_start,
        found.target_end,
        found.cigar,
    )


def check_invariants(found: list[pysw_cl.Alignment]) -> None:
    """Scores do not rise, no pair is aligned twice, each path re-scores."""
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True)
    pairs = [pair for one in found for pair in pairs_of(one)]
    assert len(pairs) == len(set(pairs))
    assert all(one.rescore() == one.score for one in found)
