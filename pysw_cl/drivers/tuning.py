"""The tuning of one subject: a tile that keeps the device busy, the search, and whether what it
found is good for other scores, too."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import Any

from ..planning.tuning.records import Failure, Records, Run
from ..planning.tuning.runner import Runner
from ..planning.tuning.search import MOST, search
from ..planning.tuning.space import Values
from ..planning.tuning.strategies import Given, Strategy
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


@dataclass(frozen=True)
class Outcome:
    """What came out of tuning one subject."""

    subject: str
    #: The values that jobs had.
    start: Values
    #: The values that jobs have from now on: the start, unless others are faster for sure.
    values: Values
    #: Why they are these, in words.
    why: str
    #: The tile that was timed, rows and columns.
    m: int = 0
    n: int = 0
    #: Median seconds of the tile with the start and with the values; None: not known.
    start_seconds: float | None = None
    seconds: float | None = None
    #: How many values were run; how many runs that took; how many failed, by kind.
    measured: int = 0
    ran: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)
    #: Seconds that all of it took.
    spent: float = 0.0
    #: What is kept of the runs.
    runs: tuple[Mapping[str, Any], ...] = ()

    @property
    def changed(self) -> bool:
        """Are there other values than before?"""
        return self.values != self.start


@dataclass
class SubjectTuning:
    """One subject on its way."""

    subject: Subject
    #: Its seconds.
    budget: float
    #: The file of measurements, and what they depend on beside the subject.
    path: Path | None
    key: str
    strategy: Strategy | None = None
    #: Called now and then with the seconds that it has taken so far.
    told: Callable[[float], None] = lambda spent: None
    _spent: float = 0.0
    _size: tuple[int, int] = 0, 0
    #: Runs of a value in one race at most.
    _most: int = MOST

    def outcome(self) -> Outcome:
        """Tune it."""
        start = self.subject.start
        why = "its seconds are over before the search begins"
        nothing = Outcome(self.subject.name, start, start, why)
        try:
            seconds = self._choose_size()
        except Failure as failed:
            why, kinds = f"the default fails: {failed}", {failed.kind: 1}
            return replace(nothing, why=why, failed=kinds, spent=self._spent)
        if self._spent >= SEARCH_SHARE * self.budget:
            return replace(nothing, spent=self._spent)
        turns = int(RACE_SHARE * SEARCH_SHARE * self.budget / seconds)
        self._most = min(MOST, max(LEAST_TURNS, turns))
        records = self._records("search", *self._size)
        found, runner = self._search(CASES[:1], records, self.strategy, SEARCH_SHARE)
        values, why = self._chosen(found, runner)
        return Outcome(
            self.subject.name,
            start,
            values,
            why,
            *self._size,
            start_seconds=runner.seconds(start),
            seconds=runner.seconds(values),
            measured=runner.measured,
            ran=runner.runs,
            failed=dict(Counter(runner.failures.values())),
            spent=self._spent,
            runs=tuple(self._kept(records)),
        )

    def _records(self, *parts: object) -> Records:
        return Records(self.path, "/".join(map(str, (self.key, self.subject.name, *parts))))

    def _choose_size(self) -> float:
        """Choose a tile that fills the device and keeps it busy, or a smaller one where the time is
        short, by a run of the smallest and the model.  Returns the seconds of a run of the start.
        Raises Failure."""
        records, subject = self._records("size"), self.subject
        sizes = subject.sizes()
        small = self._size = next(sizes)
        seconds = expected = self._first(records, *small)
        while not (expected >= BUSY and subject.fills(*self._size)):
            larger = next(sizes)
            expected = seconds * subject.cost(*larger) / subject.cost(*small)
            if expected > MOST_SHARE * self.budget:
                break
            self._size = larger
        if self._size != small:
            try:
                return self._first(records, *self._size)
            except Failure:  # a tile that the device has no memory for, for example
                self._size = small
        return seconds

    def _first(self, records: Records, m: int, n: int) -> float:
        """Seconds of a run of the start with a tile of this size, recorded or new.  Raises
        Failure."""
        values = {"m": m, "n": n}
        why = ""
        if not records.of(values):
            began, seconds, failure = time.monotonic(), None, None
            try:
                seconds = self._timer(*CASES[0], m, n)(self.subject.start)
            except Failure as failed:
                failure, why = failed.kind, str(failed)
            records.add(Run(values, time.monotonic() - began, seconds, failure))
        run = records.of(values)[0]
        self._note(run.took)
        if run.seconds is None:
            raise Failure(str(run.failure), why)
        return run.seconds

    def _timer(self, kind: str, local: bool, m: int, n: int) -> TileTimer:
        return TileTimer(self.subject.setup, self.subject.start, kind, m, n, local)

    def _search(
        self,
        cases: Sequence[Case],
        records: Records,
        strategy: Strategy | None,
        share: float = 1.0,
    ) -> tuple[Values | None, Runner]:
        """A search for a share of the seconds; where there are several ``cases``, by the geometric
        mean of their times."""
        timers = [self._timer(*case, *self._size) for case in cases]
        before = self._spent

        def measure(values: Values) -> float:
            began = time.monotonic()
            try:
                return exp(fmean(log(timer(values)) for timer in timers))
            finally:
                self.told(before + sum(run.took for run in records) + time.monotonic() - began)

        budget = max(0.0, min(share * self.budget, self.budget - self._spent))
        space = self.subject.space_for(*self._size)
        found, runner = search(space, measure, budget, strategy, records, most=self._most)
        self._note(runner.spent)
        return found, runner

    def _note(self, took: float) -> None:
        self._spent += took
        self.told(self._spent)

    def _chosen(self, found: Values | None, runner: Runner) -> tuple[Values, str]:
        """The values that the subject gets, and why."""
        start = self.subject.start
        if found is None:
            return start, "all values fail"
        if found == start:
            return start, "nothing is faster for sure"
        longest = max(run.took for run in runner.records)
        if self.budget - self._spent < len(CASES) * longest:  # their kernels have to be built
            return found, "faster for sure"
        strategy = Given(tuple(self._candidates(found, runner)))
        best, _ = self._search(CASES, self._records("together", *self._size), strategy)
        if best is None or best == start:
            return start, "nothing is faster for sure for DNA, proteins and global ones together"
        return best, "faster for sure"

    def _candidates(self, best: Values, runner: Runner) -> list[Values]:
        """What is tried with all scores: the best values; the best of those that have the start's
        value of a dimension; and the best of each other build."""
        space, start = self.subject.space(), self.subject.start
        ran = {space.key(run.values): run.values for run in runner.records}
        order = sorted(
            (seconds, key) for key in ran if (seconds := runner.seconds(ran[key])) is not None
        )
        ranking = [best, *(ran[key] for _, key in order)]
        firsts = [next((v for v in ranking if v[name] == start[name]), best) for name in start]
        builds = {space.build(values): values for values in reversed(ranking)}
        found = {space.key(values): values for values in (best, *firsts, *builds.values())}
        return list(found.values())[:MOST_CANDIDATES]

    def _kept(self, records: Records) -> Iterator[Mapping[str, Any]]:
        """What a profile keeps of the runs: those of the values that were run most often."""
        seconds: dict[tuple[Any, ...], list[float]] = {}
        for run in records:
            if run.seconds is not None:
                seconds.setdefault(tuple(run.values.items()), []).append(run.seconds)
        for values in sorted(seconds, key=lambda one: -len(seconds[one]))[:KEPT_VALUES]:
            yield {
                "subject": self.subject.name,
                "values": dict(values),
                "m": self._size[0],
                "n": self._size[1],
                "seconds": [float(f"{one:.6g}") for one in seconds[values][-KEPT_RUNS:]],
                "use": "search",
            }
