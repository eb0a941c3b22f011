"""Which strand is searched first: what the guess counts, and what it saves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import tune

from pysw_cl import align
from pysw_cl.planning.parameters import SweepTuning
from pysw_cl.sequences.alphabet import COMPLEMENT
from pysw_cl.sequences.kmers import K, likely_minus as likely_from, sampled
from pysw_cl.sequences.view import Frame

ACGT = np.frombuffer(b"ACGT", np.uint8)


def random_letters(length: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).choice(ACGT, length)


def turned(letters: np.ndarray) -> np.ndarray:
    return COMPLEMENT[letters][::-1]


def likely_minus(frame: Frame) -> bool:
    """What is guessed by default."""
    return likely_from(frame, SweepTuning().guessed_cells)


def code(letters: bytes) -> int:
    return int(letters.translate(bytes.maketrans(b"ACGTUacgtuNn", b"012330123300")), 4)


def test_all_kmers_of_a_sequence() -> None:
    """Every piece's and those between two, of either case; few letters have none."""
    for length in (0, 1, K - 1, K, K + 1, 31, 32, 33, 32 + K - 1, 32 + K, 100):
        letters = random_letters(length, length)
        letters[::7] |= 32
        text, other = letters.tobytes(), turned(letters).tobytes()
        forward, backward, found = sampled(letters, 0, 32)
        places = range(length - K + 1)
        assert found.tolist() == list(places)
        assert forward.tolist() == [code(text[k : k + K]) for k in places]
        assert backward.tolist() == [code(other[-k - K :][:K]) for k in places]


@pytest.mark.parametrize("bits", [3, 6])
def test_a_sample_is_the_same_on_both_strands(bits: int) -> None:
    letters = random_letters(200_000, 1)
    forward, backward, _ = sampled(letters, bits)
    other, other_backward, _ = sampled(turned(letters), bits)
    assert sorted(forward.tolist()) == sorted(other_backward.tolist())
    assert sorted(backward.tolist()) == sorted(other.tolist())
    assert len(forward) == pytest.approx(200_000 >> bits, rel=0.15)


def test_the_likely_strand() -> None:
    """Of related sequences, inside their ranges, of a short and a long one; not of small pairs."""
    a, other = random_letters(120_000, 2), random_letters(120_000, 4)
    b = a.copy()
    b[::12] = random_letters(len(b[::12]), 3)
    for minus, letters in ((False, b), (True, turned(b))):
        n = len(letters)
        assert likely_minus(Frame((a, letters), 0, n, 0, n)) == minus
        assert not likely_minus(Frame((a, letters), 0, 90_000, 0, 90_000))
        both = np.concatenate([turned(letters), letters])
        assert likely_minus(Frame((a, both), 0, n, 0, n)) != minus
        assert likely_minus(Frame((a, both), 0, n, n, 2 * n)) == minus
        within = np.concatenate([other, letters[50_000:55_000], other])
        part = a[30_000:90_000]
        assert likely_minus(Frame((part, within), 0, len(part), 0, len(within))) == minus
    assert not likely_minus(Frame((a, np.full(n, ord("N"), np.uint8)), 0, n, 0, n))


@pytest.mark.parametrize(
    ("length", "plan"), [(20_000, {"tile_cells": 4_000_000}), (200_000, None)], ids=str
)
def test_a_turned_pair_is_searched_from_the_right_side(
    monkeypatch: pytest.MonkeyPatch, length: int, plan: Any
) -> None:
    """The second strand computes a corner only, whichever it is: of tiles, and inside one."""
    tune(monkeypatch, {"sweep.guessed_cells": 10**8})
    target = random_letters(length, 5)
    query = target.copy()
    query[::60] = random_letters(len(query[::60]), 6)
    cells = len(query) * len(target)
    least = 0.95 if plan else 0.8  # inside a tile the first blocks of a strip are computed
    for strand, letters in (("plus", query), ("minus", turned(query))):
        how: dict[str, Any] = {"plan": plan, "output": "score"}
        alone = align(letters, target, strand=strand, **how)
        both = align(letters, target, strand="both", **how)
        assert (both.score, both.strand) == (alone.score, strand)
        assert both.stats.pruned - alone.stats.pruned > least * cells
        assert both.stats.total_cells - alone.stats.total_cells < (1 - least) * cells
