"""The search for the fastest values within a budget of seconds.

A strategy proposes values, a runner runs and records them: parts that know nothing of each other,
as in Kernel Tuner (van Werkhoven, Future Generation Computer Systems 90, 2019).  Times are noisy,
so values are compared in races (:mod:`.race`), and the start is given up only for what is faster
with confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from statistics import median

from .race import SURE, Race, interval
from .runner import Runner, Trial
from .strategies import Coordinate, Space, Strategy, Values

#: A round of the strategy goes on until ratios of seconds are known to +- so much; the last race,
#: which decides what is undecided then, and the runs of its winner and the start, to so much.
ROUND_WIDTH, LAST_WIDTH = 0.02, 0.01
#: Runs of a value in each at most, and how many of the best are in the last race.
MOST, LAST = 400, 8
#: Shares of the budget after which no round goes on, and not the last race.
ROUNDS_SHARE, LAST_SHARE = 0.7, 0.9


def search(
    space: Space, runner: Runner, budget: float, strategy: Strategy | None = None, most: int = MOST
) -> Values | None:
    """The fastest values of a space that ``budget`` seconds find, None if all that were tried fail.

    ``runner`` runs them.  Values that failed are never tried again and never chosen.  What it has
    in its file is not measured again, but counts as spent, so that a search that was killed ends as
    it would have.  ``strategy``: which values are tried; None: :class:`.strategies.Coordinate`.
    ``most``: runs of a value in one race.

    The start is run in any case, and then whatever probably ends within the budget: that is
    exceeded only by what a run takes longer than its like.
    """
    return _Search(space, runner, most).find(strategy or Coordinate(), budget)


class _Search:
    """A search on its way; what a strategy knows of it (:class:`.strategies.Known`)."""

    def __init__(self, space: Space, runner: Runner, most: int) -> None:
        self.space, self.runner, self.most = space, runner, most
        self.start, self.seconds = runner.of(space.start), runner.seconds
        self._raced = set[Trial]()

    def ranking(self) -> list[Values]:
        """See :class:`.strategies.Known`."""
        return [trial.values for trial in self._best()]

    def _best(self) -> list[Trial]:
        """What ran without a failure, the best first."""
        good = [one for one in self.runner.tried if one.standing < inf and not one.failure]
        return sorted(good, key=lambda one: one.standing)

    def find(self, strategy: Strategy, budget: float) -> Values | None:
        """Search, and decide."""
        runner = self.runner
        runner.limit = ROUNDS_SHARE * budget
        self._race([self.start], 1)
        for proposed in strategy.rounds(self.space, self):
            self._round(proposed)
            if runner.spent >= runner.limit:
                break
        return self._decide(budget)

    def _round(self, proposed: Sequence[Values]) -> None:
        """Race what is new of a round with the best; what needs no new build first."""
        new = [one for one in map(self.runner.of, proposed) if one not in self._raced]
        if new:
            cheap_first = sorted(dict.fromkeys(new), key=lambda one: not self.runner.built(one))
            self._race([*self._best()[:1], *cheap_first], self.most)

    def _race(self, field: list[Trial], most: int) -> None:
        """Race, and note where each stands: the best by its ratio to the first, if it was known
        before, and the others by theirs to the best."""
        ran = Race(self.runner, field, most, ROUND_WIDTH).run()
        self._raced.update(field)
        if ran.best is None:
            return
        first, best = field[0], field[ran.best]
        if first.standing == inf or not ran.times[0]:
            best.standing = median(ran.times[ran.best])
        elif best.standing == inf:
            best.standing = first.standing + interval(ran.ratios(ran.best, 0)).centre
        for k, trial in enumerate(field):
            if ran.times[k] and trial.standing == inf:
                trial.standing = best.standing + ran.behind(k)

    def _decide(self, budget: float) -> Values | None:
        """The winner of a last race of the best, if it is faster than the start for sure."""
        runner, start = self.runner, self.start
        runner.limit = LAST_SHARE * budget
        field = self._best()[:LAST]
        compared = start.standing < inf and not start.failure
        if compared and start not in field:
            field.append(start)
        ran = Race(runner, field, self.most, LAST_WIDTH).run(SURE)
        runner.limit = budget
        for trial in ran.ranking():
            if trial.failure:
                continue
            if not compared or trial is start:
                return trial.values
            better = Race(runner, [trial, start], self.most, LAST_WIDTH).first_is_faster()
            if not trial.failure:
                return trial.values if better or start.failure else start.values
        return start.values if compared and not start.failure else None
