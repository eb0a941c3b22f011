"""A quick look at two sequences: how similar they are, and where."""

from __future__ import annotations

import time

import numpy as np
import pytest

from pysw_cl.api.calibrate_similar import mutated
from pysw_cl.sequences.alphabet import COMPLEMENT
from pysw_cl.sequences.resemblance import resemblance

ACGT = np.frombuffer(b"ACGT", np.uint8)
PROTEIN = np.frombuffer(b"ARNDCQEGHILKMFPSTWYV", np.uint8)


def letters(seed: int, length: int) -> np.ndarray:
    return np.random.default_rng(seed).choice(ACGT, length)


def copy_of(query: np.ndarray, changed: float) -> np.ndarray:
    return mutated(query, changed, np.random.default_rng(3))


@pytest.mark.parametrize("length", [3000, 30_000, 300_000])
@pytest.mark.parametrize("changed", [0.0, 0.03, 0.1, 0.15])
def test_identity_and_place(length: int, changed: float) -> None:
    query = letters(1, length)
    target = np.concatenate([letters(8, 2000), copy_of(query, changed), letters(9, 700)])
    found = resemblance(query, target)
    assert found is not None
    assert found.identity == pytest.approx(1 - changed, abs=0.02 if length > 10_000 else 0.04)
    assert found.collinear > 0.9
    near = 0.01 * length + 300
    places = [*found.query, *found.target]
    assert places == pytest.approx([0, length, 2000, len(target) - 700], abs=near)
    assert found.diagonal == pytest.approx(2000, abs=near)
    if changed:
        assert 0.03 * changed < found.gaps < 0.15 * changed and 1 < found.gap_letters < 6
    else:
        assert found.gaps == 0


@pytest.mark.parametrize("length", [1, 15, 16, 100, 5000, 400_000])
def test_unrelated(length: int) -> None:
    assert resemblance(letters(1, length), letters(2, length)) is None
    assert resemblance(letters(1, length), np.zeros(0, np.uint8)) is None


def test_the_other_strand_is_another_sequence() -> None:
    query = letters(1, 20_000)
    reverse = COMPLEMENT[query[::-1]]
    assert resemblance(reverse, copy_of(query, 0.05)) is None
    assert resemblance(reverse, COMPLEMENT[copy_of(query, 0.05)[::-1]]) is not None


def test_an_inversion_is_not_collinear() -> None:
    query = letters(1, 40_000)
    target = copy_of(query, 0.02)
    target[10_000:20_000] = COMPLEMENT[target[10_000:20_000][::-1]]
    found = resemblance(query, target)
    assert found is not None and found.collinear == pytest.approx(0.75, abs=0.03)
    assert found.identity == pytest.approx(0.98, abs=0.02)


def test_letters_that_mean_nothing() -> None:
    """One letter alone, and N: no anchors.  Case does not matter."""
    for letter in b"AN":
        same = np.full(20_000, letter, np.uint8)
        assert resemblance(same, same) is None
    query = letters(1, 20_000)
    target = copy_of(query, 0.05)
    plain = resemblance(query, target)
    assert resemblance(query | np.uint8(32), target) is not None
    query, target = query.copy(), target.copy()
    query[5000:9000], target[5000:9000] = ord("N"), ord("N")
    found = resemblance(query, target)
    assert found is not None and plain is not None
    assert found.identity == pytest.approx(plain.identity, abs=0.02)
    assert found.collinear == pytest.approx(0.8, abs=0.03)


def test_proteins() -> None:
    rng = np.random.default_rng(4)
    query = rng.choice(PROTEIN, 3000)
    target = query.copy()
    target[rng.random(3000) < 0.2] = ord("W")
    found = resemblance(query, target, nucleotides=False)
    assert found is not None and found.identity == pytest.approx(0.8, abs=0.04)
    assert resemblance(query, rng.choice(PROTEIN, 3000), nucleotides=False) is None


def test_two_of_millions_take_no_time() -> None:
    query = letters(1, 2_000_000)
    target = copy_of(query, 0.05)
    taken = []
    for _ in range(3):
        started = time.perf_counter()
        assert resemblance(query, target) is not None
        taken.append(time.perf_counter() - started)
    assert min(taken) < 0.2
