"""Comparisons of degenerate nucleotides by their definition, for the tests of ``iupac="match"``."""

from __future__ import annotations

from functools import cache
from itertools import groupby
from typing import Any

import numpy as np
from Bio.Data.IUPACData import ambiguous_dna_complement, ambiguous_dna_values

#: What each letter stands for, as Biopython has it; U is T.
SETS = {c: set(of) for c, of in ambiguous_dna_values.items() if c != "X"} | {"U": {"T"}}
COMPLEMENT = {**ambiguous_dna_complement, "U": "A"}
LETTERS = "".join(SETS)
#: Mostly nucleotides, as in primers.
COMMON = "ACGTACGTACGTUacgtRYSWKMBDHVNryn"
NEVER = -(10**9)


@cache
def matches(a: str, b: str, wildcard: str = "") -> bool:
    """Do two letters match?"""
    return wildcard not in (a.upper(), b.upper()) and bool(SETS[a.upper()] & SETS[b.upper()])


def turned(text: str) -> str:
    """The reverse complement."""
    return "".join(COMPLEMENT[c.upper()] for c in reversed(text))


def texts(rng: np.random.Generator, count: int, longest: int, letters: str = COMMON) -> Any:
    """Pairs of sequences, half of them related."""
    found = []
    for k in range(count):
        m, n = rng.integers(1, longest + 1, 2)
        a = "".join(rng.choice(list(letters), m))
        b = "".join(rng.choice(list(letters), n))
        if k % 2:
            cut = int(rng.integers(0, m + 1))
            b = a[:cut] + b[:3] + a[cut + 2 :]
        found.append((a, b))
    return found


def best(*given: Any, **more: Any) -> dict[str, Any]:
    """What `_best` finds, which is kept: many tests compare the same sequences."""
    return dict(_best(*given, **more))


@cache
def _best(
    a: str,
    b: str,
    mode: str = "local",
    free: tuple[bool, ...] = (False,) * 4,
    scores: tuple[int, int] = (1, -3),
    gap: tuple[int, int] = (3, 2),
    wildcard: str = "",
) -> dict[str, Any]:
    """Gotoh's matrices cell by cell, the first best end, and the canonical path back from it."""
    (m, n), local, (opening, extend) = (len(a), len(b)), mode == "local", gap
    neutral = [[x.upper() == wildcard or y.upper() == wildcard for y in b] for x in a]
    pairs = [[matches(x, y, wildcard) for y in b] for x in a]
    h, e, f = ([[NEVER] * (n + 1) for _ in range(m + 1)] for _ in range(3))
    for j in range(n + 1):
        h[0][j] = 0 if local or free[0] or not j else -opening - extend * j
    for i in range(1, m + 1):
        h[i][0] = 0 if local or free[2] else -opening - extend * i
        above, here, inserted, row_e, row_f = h[i - 1], h[i], f[i - 1], e[i], f[i]
        for j in range(1, n + 1):
            row_e[j] = max(row_e[j - 1], here[j - 1] - opening) - extend
            row_f[j] = max(inserted[j], above[j] - opening) - extend
            score = 0 if neutral[i - 1][j - 1] else scores[not pairs[i - 1][j - 1]]
            here[j] = max(row_e[j], row_f[j], above[j - 1] + score, 0 if local else NEVER)
    ends = [(m, n)]
    if local:
        ends = [(i, j) for i in range(m + 1) for j in range(n + 1)]
    ends += [(m, j) for j in range(n + 1) if free[1]] + [(i, n) for i in range(m + 1) if free[3]]
    row, column = min(ends, key=lambda end: (-h[end[0]][end[1]], *end))
    ops, state, i, j = "", "", row, column
    while i and j:
        inside = {"D": e, "I": f}[state][i][j] if state and opening else NEVER
        if not state or inside < h[i][j] - opening:
            if local and h[i][j] == 0:
                break
            state = "I" if f[i][j] == h[i][j] else "D" if e[i][j] == h[i][j] else ""
        ops += state or ("=" if pairs[i - 1][j - 1] else "X")
        i, j = i - (state != "D"), j - (state != "I")
    if not local:
        ops, i = (ops, i) if free[2] else (ops + "I" * i, 0)
        ops, j = (ops, j) if free[0] else (ops + "D" * j, 0)
    return {
        "score": h[row][column],
        "query_start": i,
        "query_end": row,
        "target_start": j,
        "target_end": column,
        "matches": ops.count("="),
        "columns": len(ops),
        "cigar": "".join(f"{len([*run])}{op}" for op, run in groupby(reversed(ops))),
    }
