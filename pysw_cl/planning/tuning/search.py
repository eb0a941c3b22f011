"""The search for the fastest values within a budget of seconds.

A strategy proposes values, a runner runs and records them: parts that know nothing of each other,
as in Kernel Tuner (van Werkhoven, Future Generation Computer Systems 90, 2019).  Times are noisy,
so values are compared in races, and the start is given up only for what is faster with confidence.

What slows a device down for a while slows all runs of one turn of a race, so only ratios of one
turn are looked at.  After a turn what is clearly slower leaves (racing: Maron & Moore, NIPS 1993),
and so does what may be faster, but not by enough to matter (the indifference zone of Kim & Nelson,
ACM TOMACS 11, 2001).  Everything is in logarithms of seconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, log, sqrt
from statistics import median
from typing import NamedTuple

import numpy as np

from .runner import Runner, Trial
from .strategies import Coordinate, Space, Strategy, Values

#: Half of the middle 90% of a standard normal distribution.
LIKELY = 1.645
#: A gain that is not worth more runs: times of two processes differ as much.
WORTH = 0.005
#: Turns that the first of a race is in at least, by which is told how the others stand; and turns
#: that what is undecided runs at least.
STEADY, LEAST = 3, 16
#: So much, over the square of how many, a few ratios may all be too high or too low: a run may meet
#: something else, and take twice as long.
FEW = 1.2
#: Looks at the ratios are so much further apart each time: many would err by chance.
LOOKS = 1.6
#: Deviations from which on a ratio is disturbed, and the least one: a clock's own.
FAR, LEAST_NOISE = 3.0, 0.002
#: A race goes on until ratios of seconds are known to +- so much; that of the winner and the start,
#: to so much; and turns of each at most.
ROUND_WIDTH, LAST_WIDTH, MOST = 0.02, 0.01, 400
#: The share of the budget after which no round goes on.
ROUNDS_SHARE = 0.8


class Interval(NamedTuple):
    """Of the logarithm of a ratio."""

    centre: float
    low: float
    high: float


def interval(ratios: Sequence[float]) -> Interval:
    """Where the true ratio is, nine times in ten.

    The median of all means of two ratios, and Tukey's interval (Hodges & Lehmann, Annals of
    Mathematical Statistics 34, 1963), which need nothing but that a ratio is as often too high as
    too low.  Ratios far from the others count as if they were at the edge of these: something else
    ran.  The interval of a few ratios reaches beyond them."""
    n, middle = len(ratios), median(ratios)
    k = int(n * (n + 1) / 4 - LIKELY * sqrt(n * (n + 1) * (2 * n + 1) / 24))
    if k < 1:
        return Interval(middle, min(ratios) - FEW / n**2, max(ratios) + FEW / n**2)
    far = FAR * max(LEAST_NOISE, 1.4826 * median(abs(ratio - middle) for ratio in ratios))
    of = np.clip(ratios, middle - far, middle + far)
    means = np.sort(((of[:, None] + of) / 2)[np.triu_indices(n)])
    return Interval(float(np.median(means)), float(means[k - 1]), float(means[-k]))


class Race:
    """Values that run against each other in at most so many turns."""

    def __init__(self, runner: Runner, field: Sequence[Trial], most: int) -> None:
        self.runner, self.field, self.most = runner, list(field), most
        #: Logarithms of the seconds of each, one of each turn that it was in.
        self.times: list[list[float]] = [[] for _ in field]
        #: Who was in the last turn, by their places in ``field``.
        self.left = list(range(len(field)))

    def run(self) -> None:
        """Run in turns until one is left, the ratios are known, or the budget is spent; note where
        each stands.  Values that do not fit the budget in the first turn do not take part."""
        for turn in self._looks():
            best, known = self.best, True
            for k in list(self.left):
                if best is None or k == best or (k == 0 and turn < STEADY):
                    continue
                ratio = interval(self._ratios(k, best))
                if ratio.low > -WORTH:
                    self.left.remove(k)
                known = known and ratio.high - ratio.low < 2 * ROUND_WIDTH
            if known and turn >= LEAST:
                break
        self._note()

    def first_is_faster(self) -> bool:
        """Is the first of two faster for sure?  They run until that is known, or that nothing worth
        it is left, or the budget is spent.  Only these runs count: those by which the first was
        chosen made it look faster than it is."""
        for _ in self._looks():
            if len(self.left) == 2:
                ratio = interval(self._ratios(0, 1))
                if ratio.high < 0 or ratio.low >= -WORTH or ratio.high - ratio.low < 2 * LAST_WIDTH:
                    return ratio.high < 0
        return False

    def _looks(self) -> Iterator[int]:
        """Run what is left once a turn, every second turn in the opposite order; the turns
        after which it is time to look at the ratios."""
        look, going = 1, True
        for turn in range(1, self.most + 1):
            for k in self.left[:: 1 if turn % 2 else -1]:
                fits = self.runner.fits(self.field[k])
                seconds = self.runner.run(self.field[k]) if fits else None
                if seconds is not None:
                    self.times[k].append(log(seconds))
                elif fits or turn == 1:
                    self.left.remove(k)
                going = going and (fits or turn == 1)
            if turn >= look or turn == self.most or not going:
                look = max(turn + 1, int(turn * LOOKS))
                yield turn
            if not going or len(self.left) < 2:
                return

    def _ratios(self, one: int, other: int) -> list[float]:
        """Logarithms of the seconds of ``one`` over those of ``other``, of turns with both."""
        return [a - b for a, b in zip(self.times[one], self.times[other], strict=False)]

    @property
    def best(self) -> int | None:
        """Whose median is the least of those that are left."""
        return min(self.left, key=lambda k: median(self.times[k]), default=None)

    def _note(self) -> None:
        """Note where each stands: the best by its ratio to the first, if it was known before, and
        the others by how much slower they seem than the best, by the ratios as well as by the
        medians: in a few turns the best may have been disturbed."""
        first, top = self.field[0], self.best
        if top is None:
            return
        best = self.field[top]
        if first.standing == inf or not self.times[0]:
            best.standing = median(self.times[top])
        elif best.standing == inf:
            best.standing = first.standing + interval(self._ratios(top, 0)).centre
        for k, trial in enumerate(self.field):
            if self.times[k] and trial.standing == inf:
                medians = median(self.times[k]) - median(self.times[top])
                least = 0.0 if k in self.left else WORTH
                trial.standing = best.standing + max(median(self._ratios(k, top)), medians, least)


def search(
    space: Space, runner: Runner, budget: float, strategy: Strategy | None = None, most: int = MOST
) -> Values | None:
    """The fastest values of a space that ``budget`` seconds find, None if all that were tried fail.

    Values that failed are never tried again and never chosen.  Runs in the runner's file count as
    spent, so that a search that was killed ends as it would have.  The start is run in any case,
    and then whatever probably ends within the budget.  ``strategy``: which values are tried; None:
    :class:`.strategies.Coordinate`.  ``most``: runs of a value in one race."""
    start, begun, ranking = runner.of(space.start), runner.spent, runner.ranking
    runner.limit = begun + ROUNDS_SHARE * budget
    Race(runner, [start], 1).run()
    rounds = (strategy or Coordinate()).rounds(space, lambda: [one.values for one in ranking()])
    for proposed in rounds:
        tried = set(runner.tried)
        new = dict.fromkeys(one for one in map(runner.of, proposed) if one not in tried)
        if new:  # what needs no new build comes first
            cheap_first = sorted(new, key=lambda one: not runner.built(one))
            Race(runner, [*ranking()[:1], *cheap_first], most).run()
        if runner.spent >= runner.limit:
            break
    runner.limit = begun + budget
    for trial in ranking():
        if trial is start or start.failure:
            return trial.values
        better = Race(runner, [trial, start], most).first_is_faster()
        if not trial.failure:
            return trial.values if better or start.failure else start.values
    return None
