"""Random pairs for the scikit-bio plugin, and when two of its results are equal."""

from __future__ import annotations

from typing import Any

import numpy as np
from skbio import DNA, RNA, Protein, SubstitutionMatrix

SCORES: list[Any] = [(1, -1), (2, -3), (0, -1), (1, 0), (1.5, -0.75), (1, 1), (3, -2.125)]
GAPS: list[Any] = [2, 2.5, 1, 0, (5, 2), (3, 0), (0, 1), (0.5, 0.25), [2, 1], np.float32(1.5)]
ENDS: list[Any] = [True, False, (True, False), [False, True], 1, np.bool_(False), np.array([1, 0])]
#: Kinds of symbols: letters, and what makes a sequence of a list of them.
TEXTS: list[tuple[str, Any]] = [
    ("ACGT", str), ("AC", str), ("ACGTN", DNA), ("ACGTRYKMSWN", DNA), ("ACGUN", RNA), ("ab", str),
    ("Aa#", str), ("ARNDCQEGHILKMFPSTWYVBZXUO*", Protein), ("\u03b1\u03b2c", str),
]  # fmt: skip


def same(given: Any, found: Any) -> bool:
    """Are two results equal in all that they say, types included?"""
    if type(given) is not type(found) or type(given.score) is not type(found.score):
        return False
    if given.score != found.score or (given.paths is None) != (found.paths is None):
        return False
    if given.matrices is not None or found.matrices is not None:
        return False
    if len(given.paths or []) != len(found.paths or []):
        return False
    return all(map(same_path, given.paths or [], found.paths or []))


def same_path(given: Any, found: Any) -> bool:
    """Are two paths equal, the types of their arrays included?"""
    arrays = [
        (getattr(a, name) for a in (given, found)) for name in ("lengths", "states", "ranges")
    ]
    return (
        type(given) is type(found)
        and given.shape == found.shape
        and str(given) == str(found)
        and all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in arrays)
    )


def drawn_scores(rng: np.random.Generator, letters: str, made: Any) -> Any:
    """Match and mismatch, or a matrix: symmetric or not, of 32 or 64 bits, whole or with parts."""
    if rng.random() < 0.6:
        return SCORES[rng.integers(len(SCORES))]
    if made is Protein and rng.random() < 0.7:
        return ["BLOSUM62", "BLOSUM50", "PAM250"][rng.integers(3)]
    if made is Protein:  # symbols that the matrix lacks become X
        letters = "ARNDCQEGHILKMFPSTWYVX"
    if made is DNA and rng.random() < 0.3:
        return "NUC.4.4"
    if made is DNA or made is RNA:
        letters += "N" * ("N" not in letters)
    step = [1, 0.5, 0.125][rng.integers(3)]
    values = rng.integers(-6, 6, (len(letters),) * 2) * step
    np.fill_diagonal(values, rng.integers(0, 9, len(letters)) * step)
    if rng.random() < 0.5:
        values = (values + values.T) / 2
    kind = ["float32", "float64"][rng.integers(2)]
    return SubstitutionMatrix(letters, values.astype(kind))


def drawn_texts(rng: np.random.Generator, letters: str, made: Any) -> tuple[Any, Any]:
    """Two sequences of these letters, often with a common part: str, or what ``made`` makes."""
    most = rng.choice([4, 12, 40, 300], p=[0.3, 0.4, 0.27, 0.03])
    m, n = (int(k) for k in rng.integers(1, most, 2))
    if rng.random() < 0.002:  # more than a small matrix
        m, n = m + 1050, n + 1010
    a, b = ("".join(rng.choice(list(letters), k)) for k in (m, n))
    if rng.random() < 0.4:
        b = a[: int(rng.integers(1, m + 1))] + b
    return made(a), made(b)


def drawn(rng: np.random.Generator) -> tuple[Any, Any, dict[str, Any]]:
    """A small pair with many ties, and arguments."""
    letters, made = TEXTS[rng.integers(len(TEXTS))]
    scores = drawn_scores(rng, letters, made)
    a, b = drawn_texts(rng, letters, made)
    plain = isinstance(scores, tuple) and made is str
    if plain and rng.random() < 0.3:  # words, numbers, lists
        kinds: list[Any] = [
            list,
            lambda text: [ord(c) * 7 - 900 for c in text],
            lambda text: [c * 3 for c in text],
            lambda text: np.array([ord(c) % 100 for c in text]),
        ]
        kind = kinds[rng.integers(len(kinds))]
        a, b = kind(a), kind(b)
    four = tuple(bool(k) for k in rng.random(4) < 0.5)
    return a, b, {
        "mode": ["global", "local"][rng.integers(2)],
        "sub_score": scores,
        "gap_cost": GAPS[rng.integers(len(GAPS))],
        "free_ends": [*ENDS, four, four, four][rng.integers(len(ENDS) + 3)],
        "trim_ends": bool(rng.random() < 0.4),
        "max_paths": int(rng.random() < 0.9),
        "atol": [1e-5, 0, None, 0.03][rng.integers(4)],
    }  # fmt: skip
