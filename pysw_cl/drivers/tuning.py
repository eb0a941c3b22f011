"""The tuning of one subject: a tile that keeps the device busy, the search, and whether what it
found is good for other scores, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import exp, log
from pathlib import Path
from statistics import fmean, median
from typing import Any

from ..planning.tuning.runner import Failure, Runner
from ..planning.tuning.search import MOST, search
from ..planning.tuning.strategies import Given, Strategy, Values
from .measure import TileTimer
from .tuned_subjects import Subject

#: Seconds that a run of the start keeps the device busy at least, and the share of a subject's
#: seconds that one run may take: with little time tiles are small.
BUSY, MOST_SHARE = 0.02, 1 / 60
#: The share of a subject's seconds for its tile's size and the search by one case; what is left is
#: for all cases.
SEARCH_SHARE = 0.7
#: What is compared, and whether it is local.
Case = tuple[str, bool]
#: The search is by the first; its best values are then compared by all, whose parameters they are.
CASES: tuple[Case, ...] = (("dna", True), ("protein", True), ("dna", False))
#: How many of these there are at most.
MOST_CANDIDATES = 8
#: The share of a search's seconds that each value may run in one race: on a device that others use,
#: too, many values are tried a few times rather than few very often.  It may run so often at least.
RACE_SHARE, LEAST_TURNS = 0.05, 16
#: Runs that are kept of each values, and values of each subject.
KEPT_RUNS, KEPT_VALUES = 5, 150


@dataclass
class SubjectTuning:
    """The tuning of one subject, and what comes out of it."""

    subject: Subject
    #: Its seconds.
    budget: float
    #: The file of measurements, and what they depend on beside the subject.
    path: Path | None
    key: str
    strategy: Strategy | None = None
    #: Called now and then with the seconds that it has taken so far.
    told: Callable[[float], None] = lambda spent: None
    #: The values that jobs have from now on: the start, unless others are faster for sure; and why.
    values: Values = field(init=False)
    why: str = "its seconds are over before the search begins"
    #: Rows and columns of the tile that is timed, what ran it, and the seconds that all took.
    size: tuple[int, int] = 0, 0
    runner: Runner = field(init=False)
    spent: float = 0.0
    #: Runs of a value in one race at most; 0 before the search.
    turns: int = 0

    def __post_init__(self) -> None:
        self.values = self.subject.start

    @property
    def changed(self) -> bool:
        """Are there other values than before?"""
        return self.values != self.subject.start

    def run(self) -> SubjectTuning:
        """Tune it."""
        try:
            seconds = self._choose_size()
        except Failure as failed:
            self.why = f"the default fails: {failed}"
            return self
        if self.spent < SEARCH_SHARE * self.budget:
            turns = int(RACE_SHARE * SEARCH_SHARE * self.budget / seconds)
            self.turns = min(MOST, max(LEAST_TURNS, turns))
            self.runner, found = self._search("search", CASES[:1], self.strategy, SEARCH_SHARE)
            self.values, self.why = self._chosen(found)
        return self

    def kept(self) -> list[dict[str, Any]]:
        """What a profile keeps of the runs: those of the values that were run most often."""
        ran = sorted(self.runner.tried, key=lambda one: -len(one.seconds)) if self.turns else []
        return [
            {
                "subject": self.subject.name,
                "values": dict(trial.values),
                "m": self.size[0],
                "n": self.size[1],
                "seconds": [float(f"{one:.6g}") for one in trial.seconds[-KEPT_RUNS:]],
                "use": "search",
            }
            for trial in ran[:KEPT_VALUES]
            if trial.seconds
        ]

    def _key(self, *parts: object) -> str:
        return "/".join(map(str, (self.key, self.subject.name, *parts)))

    def _timer(self, case: Case, m: int, n: int) -> TileTimer:
        kind, local = case
        return TileTimer(self.subject.setup, self.subject.start, kind, m, n, local)

    def _choose_size(self) -> float:
        """Choose a tile that fills the device and keeps it busy, or a smaller one where the time is
        short, by a run of the smallest and the model.  Returns the seconds of a run of the start.
        Raises Failure."""
        subject, sizes = self.subject, self.subject.sizes()

        def measure(size: Values) -> float:
            return self._timer(CASES[0], int(size["m"]), int(size["n"]))(subject.start)

        runner = self.runner = Runner(measure, self.path, self._key("size"))

        def first(m: int, n: int) -> float:
            trial = runner.of({"m": m, "n": n})
            seconds = runner.run(trial)
            self._note(runner.spent)
            if seconds is None:
                raise trial.failure or Failure("wrong")
            return seconds

        small = self.size = next(sizes)
        seconds = expected = first(*small)
        while not (expected >= BUSY and subject.fills(*self.size)):
            larger = next(sizes)
            expected = seconds * subject.cost(*larger) / subject.cost(*small)
            if expected > MOST_SHARE * self.budget:
                break
            self.size = larger
        if self.size != small:
            try:
                return first(*self.size)
            except Failure:  # a tile that the device has no memory for, for example
                self.size = small
        return seconds

    def _search(
        self, what: str, cases: Sequence[Case], strategy: Strategy | None, share: float = 1.0
    ) -> tuple[Runner, Values | None]:
        """A search for a share of the seconds; where there are several ``cases``, by the geometric
        mean of their times."""
        timers = [self._timer(case, *self.size) for case in cases]
        before = self.spent

        def measure(values: Values) -> float:
            self.told(before + runner.spent)
            return exp(fmean(log(timer(values)) for timer in timers))

        space = self.subject.space(*self.size)
        runner = Runner(measure, self.path, self._key(what, *self.size), space.build)
        budget = max(0.0, min(share * self.budget, self.budget - before))
        found = search(space, runner, budget, strategy, self.turns)
        self._note(before + runner.spent)
        return runner, found

    def _note(self, spent: float) -> None:
        self.spent = spent
        self.told(spent)

    def _chosen(self, found: Values | None) -> tuple[Values, str]:
        """The values that the subject gets, and why."""
        start = self.subject.start
        if found is None:
            return start, "all values fail"
        if found == start:
            return start, "nothing is faster for sure"
        # where there is time for it: their kernels have to be built
        if self.budget - self.spent >= len(CASES) * self.runner.longest:
            _, found = self._search("together", CASES, Given(self._candidates(found)))
        if found is None or found == start:
            return start, "nothing is faster for sure for DNA, proteins and global ones together"
        return found, "faster for sure"

    def _candidates(self, best: Values) -> list[Values]:
        """What is tried with all scores: the best values; the best of those that have the start's
        value of a parameter; and the best of each other build."""
        start = self.subject.start
        ran = [one for one in self.runner.tried if not one.failure]
        ranking = [best, *(one.values for one in sorted(ran, key=lambda one: median(one.seconds)))]
        firsts = [next((v for v in ranking if v[name] == start[name]), best) for name in start]
        builds: dict[Any, Values] = {}
        for values in ranking:
            builds.setdefault(self.runner.build(values), values)
        found = [best, *firsts, *builds.values()]
        return [one for k, one in enumerate(found) if one not in found[:k]][:MOST_CANDIDATES]
