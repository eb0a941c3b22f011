"""Similar pairs that no calibration uses: random DNA, and a copy of it with mismatches and gaps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

#: Letters of the query, share of them that is changed, one change in so many is a gap, and the
#: share of the target that is left out in the middle.
SHAPES: tuple[tuple[int, float, int, float], ...] = (
    (100_000, 0.03, 8, 0.0),
    (160_000, 0.12, 12, 0.0),
    (250_000, 0.01, 5, 0.02),
    (400_000, 0.08, 10, 0.0),
    (700_000, 0.05, 20, 0.05),
    (1_300_000, 0.15, 10, 0.0),
    (2_500_000, 0.02, 15, 0.01),
    (5_000_000, 0.06, 10, 0.0),
)
_ACGT = np.frombuffer(b"ACGT", np.uint8)


class HeldOut(NamedTuple):
    """A similar pair."""

    name: str
    query: bytes
    target: bytes


def held_out(longest: int = 5_000_000) -> Iterator[HeldOut]:
    """The pairs of up to so many letters, the same each time."""
    for number, (length, changed, every, left_out) in enumerate(SHAPES):
        if length > longest:
            continue
        rng = np.random.default_rng([19, number])
        query = rng.choice(_ACGT, length)
        target = _changed(query, changed, every, rng)
        cut = int(len(target) * (1 - left_out) / 2)
        target = np.concatenate([target[:cut], target[len(target) - cut :]])
        yield HeldOut(
            f"{length / 1e6:g} Mb, {changed:.0%} changed", query.tobytes(), target.tobytes()
        )


def _changed(query: np.ndarray, changed: float, every: int, rng: np.random.Generator) -> np.ndarray:
    """A copy with mismatches, and with gaps of 1 to 20 letters in either sequence."""
    target = query.copy()
    places = np.flatnonzero(rng.random(len(query)) < changed)
    kinds = rng.integers(0, 2 * every, len(places))
    target[places] = (np.searchsorted(_ACGT, target[places]) + rng.integers(1, 4, len(places))) % 4
    target[places] = _ACGT[target[places]]
    lengths = np.minimum(20, rng.geometric(0.35, len(places)))
    kept = np.ones(len(query), bool)
    for place, length in zip(places[kinds == 0], lengths[kinds == 0], strict=True):
        kept[place : place + length] = False
    put_in = kinds == 1
    at, extra = places[put_in], lengths[put_in]
    more = rng.choice(_ACGT, int(extra.sum()))
    target = np.insert(target, np.repeat(at, extra), more)
    kept = np.insert(kept, np.repeat(at, extra), True)
    return target[kept]
