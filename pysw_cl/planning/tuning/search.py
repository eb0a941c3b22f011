"""The search for the fastest values within a budget of seconds.

A strategy proposes values, a runner runs them, records keep what came out: three parts that know
nothing of each other, as in Kernel Tuner (van Werkhoven, Future Generation Computer Systems 90,
2019).  Times are noisy, so values are compared in races (:mod:`.race`), and the start is given up
only for what is faster with confidence.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median

from ..parameters import Number
from .race import SURE, Race, interval
from .records import Records
from .runner import Clock, Measure, Runner
from .space import Space, Values
from .strategies import Coordinate, Strategy

#: A round of the strategy goes on until ratios of seconds are known to +- so much; the last race,
#: which decides what is undecided then, and the runs of its winner and the start, to so much.
ROUND_WIDTH, LAST_WIDTH = 0.02, 0.01
#: Runs of a value in each at most, and how many of the best are in the last race.
MOST, LAST = 400, 8
#: Shares of the budget after which no round goes on, and not the last race.
ROUNDS_SHARE, LAST_SHARE = 0.7, 0.9


def search(
    space: Space,
    measure: Measure,
    budget: float,
    strategy: Strategy | None = None,
    records: Records | None = None,
    clock: Clock = time.monotonic,
    most: int = MOST,
) -> tuple[Values | None, Runner]:
    """The fastest values of a space that ``budget`` seconds find, None if all that were tried fail;
    and what was run.

    ``measure`` runs values once and says how many seconds that took, or raises
    :class:`.records.Failure`; values that failed are never tried again and never chosen.  It has to
    check a result before it times values, and to leave out what only their first run takes.
    ``strategy``: which values are tried; None: :class:`.strategies.Coordinate`.  ``records``: what
    was measured before is not measured again, but its seconds count as spent, so that a search that
    was killed ends as it would have.  With ``clock`` the time of runs and builds is taken.
    ``most``: runs of a value in one race.

    The start is run in any case, and then whatever probably ends within the budget: that is
    exceeded only by what a run takes longer than its like.
    """
    runner = Runner(space, measure, records or Records(), clock)
    return _Search(runner, most).find(strategy or Coordinate(), budget), runner


class _Search:
    """A search on its way; what a strategy knows of it (:class:`.strategies.Known`)."""

    def __init__(self, runner: Runner, most: int) -> None:
        self.runner, self.most = runner, most
        self.key, self.seconds = runner.space.key, runner.seconds
        #: Logarithms of seconds, by key, as if all had run at the time of the start.
        self.standings: dict[tuple[Number, ...], float] = {}
        self.values: dict[tuple[Number, ...], Values] = {}
        self.tried: set[tuple[Number, ...]] = set()

    def ranking(self) -> list[Values]:
        """See :class:`.strategies.Known`."""
        good = self.standings.keys() - self.runner.failures.keys()
        return [
            self.values[key] for key in sorted(good, key=lambda key: (self.standings[key], key))
        ]

    def find(self, strategy: Strategy, budget: float) -> Values | None:
        """Search, and decide."""
        runner, start = self.runner, self.runner.space.start
        runner.limit = ROUNDS_SHARE * budget
        self._note(Race(runner, [start], 1, ROUND_WIDTH).run())
        for proposed in strategy.rounds(runner.space, self):
            self._round(proposed)
            if runner.spent >= runner.limit:
                break
        return self._decide(start, budget)

    def _round(self, proposed: Sequence[Values]) -> None:
        """Race what is new of a round with the best; what needs no new build first."""
        new = {self.key(one): one for one in proposed if self.key(one) not in self.tried}
        if new:
            cheap_first = sorted(new.values(), key=lambda values: not self.runner.built(values))
            field = [*self.ranking()[:1], *cheap_first]
            self._note(Race(self.runner, field, self.most, ROUND_WIDTH).run())

    def _note(self, ran: Race) -> None:
        """Note where those of a race stand: the best by its ratio to the first, which was known
        before, and the others by theirs to the best."""
        keys = [self.key(values) for values in ran.field]
        self.tried.update(keys)
        best = ran.best
        if best is None:
            return
        if keys[0] in self.standings and ran.times[0]:
            ratio = interval(ran.ratios(best, 0)).centre
            self.standings.setdefault(keys[best], self.standings[keys[0]] + ratio)
        else:
            self.standings[keys[best]] = median(ran.times[best])
        for k, key in enumerate(keys):
            if ran.times[k]:
                self.values[key] = ran.field[k]
                self.standings.setdefault(key, self.standings[keys[best]] + ran.behind(k))

    def _decide(self, start: Values, budget: float) -> Values | None:
        """The winner of a last race of the best, if it is faster than the start for sure."""
        runner, key, failed = self.runner, self.key, self.runner.failures
        runner.limit = LAST_SHARE * budget
        field = self.ranking()[:LAST]
        compared = key(start) in self.standings and key(start) not in failed
        if compared and start not in field:
            field.append(start)
        ran = Race(runner, field, self.most, LAST_WIDTH).run(SURE)
        runner.limit = budget
        for values in ran.ranking():
            if key(values) in failed:
                continue
            if not compared or key(values) == key(start):
                return values
            better = Race(runner, [values, start], self.most, LAST_WIDTH).first_is_faster()
            if key(values) not in failed:
                return values if better or key(start) in failed else start
        return start if compared and key(start) not in failed else None
