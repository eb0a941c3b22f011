"""Races: values are run in turn until it is clear which is fastest.

Runs of one turn follow each other closely, so that what slows a device down for a while slows all
of them, and only ratios of one turn are looked at.  After a turn what is clearly slower leaves
(racing: Maron & Moore, NIPS 1993), and so does what may be faster, but not by enough to matter (the
indifference zone of Kim & Nelson, ACM TOMACS 11, 2001).  Everything is in logarithms of seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import log, sqrt
from statistics import median

import numpy as np

from .runner import Runner
from .space import Values

#: Half of a standard normal's middle 90%.
Z = 1.645
#: From so many ratios on they have an interval of their own; of fewer not even the widest one, from
#: the least to the most, holds the true ratio nine times in ten.
LEAST = 5
#: A gain that is not worth more runs: times of two processes differ as much.
WORTH = 0.005
#: After one turn only what is this much slower leaves: any single run may meet something else.
AT_ONCE = 0.4
#: Looks at the ratios are so much further apart each time: many looks would find something faster
#: by chance.
LOOKS = 1.3


@dataclass
class Noise:
    """How much ratios of two runs scatter."""

    #: Of a quiet device, until more is known.
    least: float = 0.002
    _seen: list[float] = field(default_factory=list)

    def add(self, ratios: Sequence[float]) -> None:
        """Learn from ratios of the same two values, in the order in which they were measured."""
        self._seen += [abs(b - a) / sqrt(2) for a, b in pairwise(ratios)]

    @property
    def sigma(self) -> float:
        """The standard deviation, from the median so that rare disturbances do not count."""
        return max(self.least, 1.4826 * median(self._seen)) if self._seen else self.least


def interval(ratios: Sequence[float], noise: Noise) -> tuple[float, float, float]:
    """The centre of ``ratios``, and the ends of an interval that holds it nine times in ten.

    With :data:`LEAST` or more: the median of all means of two of them, and Tukey's interval
    (Hodges & Lehmann, Annals of Mathematical Statistics 34, 1963), which need nothing but that a
    ratio is as often too high as too low.  With fewer: all of them, and two deviations of the noise
    beyond.
    """
    n = len(ratios)
    if n < LEAST:
        return median(ratios), min(ratios) - 2 * noise.sigma, max(ratios) + 2 * noise.sigma
    of = np.asarray(ratios)
    means = np.sort(((of[:, None] + of) / 2)[np.triu_indices(n)])
    k = int(n * (n + 1) / 4 - Z * sqrt(n * (n + 1) * (2 * n + 1) / 24))
    return float(np.median(means)), float(means[k - 1]), float(means[-k])


@dataclass
class Race:
    """The result of a race: values that ran, and logarithms of their seconds, one of each turn that
    they were in."""

    field: list[Values]
    times: list[list[float]]
    #: Who was in the last turn, by their places in ``field``.
    left: list[int]

    def ratios(self, one: int, other: int) -> list[float]:
        """Logarithms of the seconds of ``one`` over those of ``other``, of turns with both."""
        return [a - b for a, b in zip(self.times[one], self.times[other], strict=False)]

    @property
    def best(self) -> int | None:
        """Whose median is the least of those that are left."""
        return min(self.left, key=lambda k: median(self.times[k]), default=None)

    def ranking(self) -> list[Values]:
        """Who ran, best first; those that left come after all others."""
        ran = [k for k in range(len(self.field)) if self.times[k]]
        ran.sort(key=lambda k: (k not in self.left, median(self.times[k])))
        return [self.field[k] for k in ran]


def race(runner: Runner, field: Sequence[Values], most: int, noise: Noise) -> Race:
    """Run ``field`` in turns, at ``most`` so many, until one is left or the budget is spent.

    Values that do not fit the budget in the first turn do not take part.
    """
    result = Race(list(field), [[] for _ in field], list(range(len(field))))
    look = 1
    for turn in range(1, most + 1):
        going = _turn(runner, result, turn)
        if turn >= look:
            look = max(turn + 1, int(turn * LOOKS))
            _drop(result, turn, noise)
        if not going or len(result.left) < 2:
            break
    best = result.best
    for k in range(len(field)):
        if best is not None and k != best:
            noise.add(result.ratios(k, best))
    return result


def _turn(runner: Runner, result: Race, turn: int) -> bool:
    """Run what is left once, every second turn in the opposite order.  False: the budget ended."""
    going = True
    for k in list(result.left) if turn % 2 else list(reversed(result.left)):
        fits = runner.fits(result.field[k])
        seconds = runner.run(result.field[k]) if fits else None
        if seconds is not None:
            result.times[k].append(log(seconds))
        elif fits or turn == 1:
            result.left.remove(k)
        going = going and (fits or turn == 1)
    return going


def _drop(result: Race, turn: int, noise: Noise) -> None:
    """Let what is clearly slower, or not worth more runs, leave."""
    best = result.best
    for k in list(result.left):
        if best is None or k == best:
            continue
        _, low, _ = interval(result.ratios(k, best), noise)
        if low > (AT_ONCE if turn == 1 else -WORTH):
            result.left.remove(k)


def faster(runner: Runner, values: Values, than: Values, most: int, noise: Noise) -> bool:
    """Is ``values`` faster than other values for sure?

    They run in pairs, at ``most`` so many, until the interval of their ratios says yes, or that
    nothing worth it is left, or the budget is spent.  Only these runs count: those by which
    ``values`` were chosen made them look faster than they are.
    """
    result, look = Race([values, than], [[], []], [0, 1]), LEAST + 1
    for turn in range(1, most + 1):
        going = _turn(runner, result, turn) and turn < most
        ratios = result.ratios(0, 1)
        if len(result.left) == 2 and len(ratios) >= LEAST and (turn >= look or not going):
            look = int(turn * LOOKS) + 1
            _, low, high = interval(ratios, noise)
            if high < 0:
                return True
            going = going and low < -WORTH
        if not going or len(result.left) < 2:
            break
    return False
