"""The search for the fastest values within a budget of seconds.

A strategy proposes values, a runner runs them, records keep what came out: three parts that know
nothing of each other, as in Kernel Tuner (van Werkhoven, Future Generation Computer Systems 90,
2019).  Times are noisy, so values are compared in races (:mod:`.race`), and the start is given up
only for what is faster with confidence.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from statistics import median

from ..parameters import Number
from .race import SURE, Noise, Race, faster, interval, race
from .records import Records
from .runner import Clock, Measure, Runner
from .space import Space, Values
from .strategies import Coordinate, Strategy


@dataclass(frozen=True)
class Effort:
    """How often values are run, and for which share of the budget."""

    #: Runs of the start before anything else: they tell how noisy the device is.
    first: int = 5
    #: A round of the strategy goes on until ratios of seconds are known to +- so much; what is
    #: undecided then, the last race decides.
    round_width: float = 0.02
    #: The same for the last race, and for the pairs of runs that compare the winner with the start.
    last_width: float = 0.01
    #: Runs of a value in each at least, if it is undecided, and at most.
    least: int = 16
    most: int = 400
    #: How many of the best are in the last race.
    last: int = 8
    #: Shares of the budget after which no round goes on, and not the last race.
    rounds_share: float = 0.7
    last_share: float = 0.9


@dataclass(frozen=True)
class Found:
    """What a search found."""

    #: The best values; None if all that were tried failed.
    values: Values | None
    #: The median of their runs; None without values.
    seconds: float | None
    #: The median of the start's runs; None if it failed or was not run.
    start_seconds: float | None
    #: How many values were run, and how many runs that took.
    measured: int
    runs: int
    #: How many values failed, by kind of failure.
    failed: Mapping[str, int]
    #: Seconds of all runs, those that were recorded before included.
    spent: float
    #: "complete": the strategy had nothing more to try; "budget": something was left out.
    stopped: str


def search(
    space: Space,
    measure: Measure,
    budget: float,
    strategy: Strategy | None = None,
    records: Records | None = None,
    clock: Clock = time.monotonic,
    effort: Effort | None = None,
) -> Found:
    """The fastest values of a space that ``budget`` seconds find.

    ``measure`` runs values once and says how many seconds that took, or raises
    :class:`.records.Failure`; values that failed are never tried again and never chosen.  It has to
    check a result before it times values, and to leave out what only their first run takes.
    ``strategy``: which values are tried; None: :class:`.strategies.Coordinate`.  ``records``: what
    was measured before is not measured again, but its seconds count as spent, so that a search that
    was killed ends as it would have.  With ``clock`` the time of runs and builds is taken.

    The start is run in any case, and then whatever probably ends within the budget: that is
    exceeded only by what a run takes longer than its like.
    """
    runner = Runner(space, measure, records or Records(), clock)
    return _Search(runner, budget, effort or Effort()).find(strategy or Coordinate())


class _Search:
    """A search on its way; what a strategy knows of it (:class:`.strategies.Known`)."""

    def __init__(self, runner: Runner, budget: float, effort: Effort) -> None:
        self.runner, self.budget, self.effort = runner, budget, effort
        self.noise = Noise()
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

    def seconds(self, values: Values) -> float | None:
        """See :class:`.strategies.Known`."""
        return self.runner.seconds(values)

    def most(self, width: float) -> int:
        """Turns of a race that is to know ratios to +- ``width``."""
        return self.noise.turns(width, self.effort.least, self.effort.most)

    def find(self, strategy: Strategy) -> Found:
        """Search, and decide."""
        runner, start = self.runner, self.runner.space.start
        runner.limit = self.effort.rounds_share * self.budget
        self._begin(start)
        for proposed in strategy.rounds(runner.space, self):
            self._round(proposed)
            if runner.spent >= runner.limit:
                runner.short = True
                break
        values = self._decide(start)
        return Found(
            values=values,
            seconds=None if values is None else runner.seconds(values),
            start_seconds=runner.seconds(start),
            measured=runner.measured,
            runs=runner.runs,
            failed=dict(Counter(runner.failures.values())),
            spent=runner.spent,
            stopped="budget" if runner.short else "complete",
        )

    def _begin(self, start: Values) -> None:
        """Run the start a few times, and learn how noisy times are."""
        ran = race(self.runner, [start], 1, self.noise)
        while ran.left and len(ran.times[0]) < self.effort.first and self.runner.fits(start):
            seconds = self.runner.run(start)
            if seconds is None:
                break
            ran.times[0].append(log(seconds))
        self.noise.add(ran.times[0])
        self._note(ran)

    def _round(self, proposed: Sequence[Values]) -> None:
        """Race what is new of a round with the best; what needs no new build first."""
        key = self.runner.space.key
        new = {key(values): values for values in proposed if key(values) not in self.tried}
        if new:
            cheap_first = sorted(new.values(), key=lambda values: not self.runner.built(values))
            field, most = [*self.ranking()[:1], *cheap_first], self.most(self.effort.round_width)
            self._note(race(self.runner, field, most, self.noise))

    def _note(self, ran: Race) -> None:
        """Note where those of a race stand: the best by its ratio to the first, which was known
        before, and the others by theirs to the best."""
        keys = [self.runner.space.key(values) for values in ran.field]
        self.tried.update(keys)
        best = ran.best
        if best is None:
            return
        if keys[0] in self.standings and ran.times[0]:
            ratio = interval(ran.ratios(best, 0), self.noise).centre
            self.standings.setdefault(keys[best], self.standings[keys[0]] + ratio)
        else:
            self.standings[keys[best]] = median(ran.times[best])
        for k, key in enumerate(keys):
            if ran.times[k]:
                self.values[key] = ran.field[k]
                self.standings.setdefault(key, self.standings[keys[best]] + ran.behind(k))

    def _decide(self, start: Values) -> Values | None:
        """The winner of a last race of the best, if it is faster than the start for sure."""
        runner, effort, key = self.runner, self.effort, self.runner.space.key
        runner.limit = effort.last_share * self.budget
        field = self.ranking()[: effort.last]
        compared = key(start) in self.standings and key(start) not in runner.failures
        if compared and start not in field:
            field.append(start)
        most = self.most(effort.last_width)
        ran = race(runner, field, most, self.noise, SURE)
        runner.limit = self.budget
        for values in ran.ranking():
            if key(values) in runner.failures:
                continue
            if not compared or key(values) == key(start):
                return values
            better = faster(runner, values, start, most, self.noise)
            if key(values) not in runner.failures:
                return values if better or key(start) in runner.failures else start
        return start if compared and key(start) not in runner.failures else None
