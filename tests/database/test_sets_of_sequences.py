"""Sets of sequences: `score_matrices` against `score_matrix`, `align_stars` by its definition."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import pysw_cl
from pysw_cl.errors import InputError, SequenceError

HOW: list[dict[str, Any]] = [
    {},
    {"mode": "global", "sub_score": (0, -20), "gap_cost": (0, 30)},
    {"mode": "global", "free_ends": True, "sub_score": (1.5, -1), "gap_cost": (2, 0.5)},
]


def sets(seed: int) -> list[list[str]]:
    """Sets of similar sequences, of different sizes."""
    rng, made = random.Random(seed), []
    for count in (7, 1, 4, 12):
        base = rng.choices("ACGT", k=rng.randint(1, 30))
        some = []
        for _ in range(count):
            one = [rng.choice("ACGT") if rng.random() < 0.1 else c for c in base]
            one = [c for c in one for _ in range(rng.choices([0, 1, 2], [1, 8, 1])[0])]
            some.append("".join(one) or "A")
        made.append(some)
    return made


@pytest.mark.parametrize("how", HOW, ids=str)
def test_scores_are_those_of_each_set(how: dict[str, Any]) -> None:
    some = sets(1)
    found = pysw_cl.score_matrices([*some, []], **how)
    for matrix, one in zip(found, some, strict=False):
        wanted = pysw_cl.score_matrix(one, **how)
        assert matrix.tolist() == wanted.tolist()
    assert found[-1].shape == (0, 0) and len(found) == 5
    assert pysw_cl.score_matrices([]) == []
    with pytest.raises(SequenceError, match="number 1 is empty"):
        pysw_cl.score_matrices([["A", ""]])


def merged(one: list[str], paths: list[str]) -> list[str]:
    """The rows by their definition: letter by letter."""
    centre, slots = one[0], [0] * (len(one[0]) + 1)
    rows: list[list[list[str]]] = []
    for text, path in zip(one, paths, strict=True):
        parts: list[list[str]] = [[]]
        letters = iter(text)
        number = ""
        for c in path:
            if c.isdigit():
                number += c
                continue
            for _ in range(int(number)):
                if c == "I":
                    parts[-1].append(next(letters))
                else:
                    parts[-1].append("-" if c == "D" else next(letters))
                    parts.append([])
            number = ""
        assert len(parts) == len(centre) + 1
        rows.append(parts)
        ends = [len(part) - 1 for part in parts[:-1]] + [len(parts[-1])]
        slots = [max(pair) for pair in zip(slots, ends, strict=True)]
    made = []
    for parts in rows:
        row = ""
        for k, part in enumerate(parts):
            last = k == len(centre)
            added = part if last else part[:-1]
            row += "".join(added).ljust(slots[k], "-") + ("" if last else part[-1])
        made.append(row)
    return made


def test_stars_by_their_definition() -> None:
    for seed in range(4):
        how: dict[str, Any] = {"sub_score": (0, -20), "gap_cost": (0, 30)}
        some = sets(seed)
        matrices = pysw_cl.score_matrices(some, mode="global", **how)
        found = pysw_cl.align_stars(some, matrices, **how)
        for one, (order, rows), matrix in zip(some, found, matrices, strict=True):
            sums = matrix.sum(axis=1)
            assert order[0] == int(np.argmax(sums))
            assert sorted(order) == list(range(len(one)))
            scores = matrix[order[0], order[1:]].tolist()
            assert scores == sorted(scores, reverse=True)
            pairs = [(one[k], one[order[0]]) for k in order]
            paths = pysw_cl.align_paths(pairs, mode="global", **how).cigar.tolist()
            assert rows == merged([one[k] for k in order], paths)
            assert [row.replace("-", "") for row in rows] == [one[k] for k in order]


def test_sets_that_are_no_stars() -> None:
    for wrong in ([["A"], []], [[]]):
        with pytest.raises(InputError, match="at least one sequence"):
            pysw_cl.align_stars(wrong, [[[0]], np.zeros((0, 0))][-len(wrong) :])
    for matrix in ([[0]], [[0], [0, 1]], "x"):
        with pytest.raises(InputError, match="a square matrix"):
            pysw_cl.align_stars([["A", "C"]], [matrix])
    for texts in (["ACGT"], "ACGT"):
        with pytest.raises(InputError, match="sets must be a list, not 'ACGT'"):
            pysw_cl.score_matrices(texts)
    for name in ("free_ends", "strand"):  # a star has all letters, as they are
        with pytest.raises(TypeError, match=name):
            pysw_cl.align_stars([["A"]], [[[0]]], **{name: True})
    with pytest.raises(TypeError, match="min_score"):
        pysw_cl.score_matrices([["A", "C"]], min_score=1)
