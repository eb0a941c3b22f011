"""A glance at two sequences."""

from __future__ import annotations

import numpy as np
import pytest

from pysw_cl.sequences.alphabet import Letters as Codes
from pysw_cl.sequences.kmers import related


def _changed(codes: Codes, rate: float, rng: np.random.Generator, letters: int) -> Codes:
    """With other letters and gaps."""
    other = codes.copy()
    where = rng.random(len(codes)) < rate
    other[where] = rng.integers(0, letters, int(where.sum()))
    return other[rng.random(len(codes)) > rate / 10]


@pytest.mark.parametrize("letters", [4, 20])
@pytest.mark.parametrize("length", [5_000, 60_000, 700_000])
def test_random_letters_and_changed_ones(letters: int, length: int) -> None:
    rng = np.random.default_rng(length)
    query, target = (rng.integers(0, letters, length).astype(np.uint8) for _ in "qt")
    assert not related(query, target)
    for rate in (0, 0.02, 0.1):
        assert related(query, _changed(query, rate, rng, letters))
    target[length // 2 :] = query[: length - length // 2]  # half of it, far from the diagonal
    assert related(query, target)


@pytest.mark.parametrize("letters", [4, 20])
def test_short_ones(letters: int) -> None:
    rng = np.random.default_rng(3)
    for m in (0, 1, 4, 5, 11, 12, 13, 100):
        for n in (0, 1, 4, 5, 11, 12, 13, 100):
            query, target = (rng.integers(0, letters, k).astype(np.uint8) for k in (m, n))
            assert not related(query, target)
    assert related(query, query)


def test_nothing_but_repeats() -> None:
    """An alignment leads through all of it."""
    letters = np.tile(np.array([0, 1, 2], np.uint8), 50_000)
    assert related(letters, letters[:-1])
    assert related(np.zeros(1000, np.uint8), np.zeros(2000, np.uint8))
