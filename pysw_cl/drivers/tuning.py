"""The tuning of one subject: a tile that keeps the device busy, the search, and whether what it
found is good for other scores, too."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log
from pathlib import Path
from statistics import fmean, median
from typing import Any

from ..planning.tuning.race import LEAST
from ..planning.tuning.records import Failure, Records, Run
from ..planning.tuning.search import MOST, Found, search
from ..planning.tuning.space import Values
from ..planning.tuning.strategies import Given, Strategy
from .measure import TileTimer
from .tuned_subjects import Subject

#: Seconds that a run of the start keeps the device busy at least, and the share of a subject's
#: seconds that one run may take: with little time tiles are small.
BUSY, MOST_SHARE = 0.02, 1 / 60
#: The share of a subject's seconds in which the tile's size is found, and of the search by one
#: case; what is left is for all cases.
SIZE_SHARE, SEARCH_SHARE = 0.3, 0.7
#: What is compared, and whether it is local.
Case = tuple[str, bool]
#: The search is by the first; its best values are then compared by all, whose parameters they are.
CASES: tuple[Case, ...] = (("dna", True), ("protein", True), ("dna", False))
#: How many of these there are at most.
MOST_CANDIDATES = 8
#: The share of a search's seconds that each value may run in one race: on a device that others use,
#: too, many values are tried a few times rather than few very often.
RACE_SHARE = 0.05
#: Runs that are kept of each values, and values of each subject.
KEPT_RUNS, KEPT_VALUES = 5, 150

#: Called now and then with the seconds that a subject has taken so far.
Told = Callable[[float], None]


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

    def gcups(self, seconds: float | None) -> float | None:
        """10^9 cells a second of a tile that takes so long."""
        return self.m * self.n / seconds / 1e9 if seconds else None


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
    told: Told = lambda spent: None
    _spent: float = 0.0
    #: Seconds of a run of the start, and runs of a value in one race at most.
    _seconds: float = 0.0
    _most: int = MOST
    #: What the last failure of the start said.
    _said: str = ""

    def outcome(self) -> Outcome:
        """Tune it."""
        try:
            size = self._size()
        except Failure as failed:
            return self._default(f"the default fails: {failed}", {failed.kind: 1})
        if size is None:
            return self._default("its seconds are over before the search begins")
        m, n = size
        records = self._records("search", m, n)
        turns = int(RACE_SHARE * SEARCH_SHARE * self.budget / self._seconds)
        self._most = min(MOST, max(LEAST, turns))
        found = self._search(
            CASES[:1], self.subject.start, records, self.strategy, m, n, SEARCH_SHARE
        )
        values, why = self._chosen(found, records, m, n)
        changed = values != self.subject.start
        return Outcome(
            subject=self.subject.name,
            start=self.subject.start,
            values=values,
            why=why,
            m=m,
            n=n,
            start_seconds=found.start_seconds,
            seconds=_seconds_of(records, values) if changed else found.start_seconds,
            measured=found.measured,
            ran=found.runs,
            failed=found.failed,
            spent=self._spent,
            runs=tuple(self._kept(records, m, n)),
        )

    def _default(self, why: str, failed: Mapping[str, int] | None = None) -> Outcome:
        start = self.subject.start
        return Outcome(self.subject.name, start, start, why, failed=failed or {}, spent=self._spent)

    def _records(self, *parts: object) -> Records:
        return Records(self.path, "/".join(map(str, (self.key, self.subject.name, *parts))))

    def _size(self) -> tuple[int, int] | None:
        """Rows and columns of a tile that fills the device and keeps it busy; smaller where the
        time is short.  None if not even a few runs of the smallest fit.  Raises Failure.

        After the first one, those that do not fill the device are left out, unless one that does
        is foreseen to take too long."""
        records = self._records("size")
        most, last, sizes = MOST_SHARE * self.budget, None, iter(self.subject.sizes())
        while True:
            m, n = next(sizes)
            run = self._first(records, m, n)
            self._note(run.took)
            if run.failure is not None and last is None:
                raise Failure(run.failure, self._said)
            if run.seconds is None:  # a tile that the device has no memory for, for example
                break
            fills = self.subject.fills(m, n)
            if last is None and not fills and run.seconds * self.subject.longer(m, n) <= most:
                sizes = self.subject.filling()
            last, self._seconds = (m, n), run.seconds
            if run.seconds >= most or (run.seconds >= BUSY and fills):
                break
            if self._spent > SIZE_SHARE * self.budget:
                break
        return last if self._spent < SEARCH_SHARE * self.budget else None

    def _first(self, records: Records, m: int, n: int) -> Run:
        """The run of the start with a tile of this size, recorded or new."""
        values = {"m": m, "n": n}
        known = records.of(values)
        if known:
            return known[0]
        began, seconds, failure = time.monotonic(), None, None
        try:
            seconds = self._timer(*CASES[0], m, n)(self.subject.start)
        except Failure as failed:
            failure, self._said = failed.kind, str(failed)
        run = Run(values, time.monotonic() - began, seconds, failure)
        records.add(run)
        return run

    def _timer(self, kind: str, local: bool, m: int, n: int) -> TileTimer:
        return TileTimer(self.subject.setup, self.subject.start, kind, m, n, local)

    def _search(
        self,
        cases: Sequence[Case],
        start: Values,
        records: Records,
        strategy: Strategy | None,
        m: int,
        n: int,
        share: float,
    ) -> Found:
        """A search that begins with ``start``, for a share of the seconds; where there are several
        ``cases``, by the geometric mean of their times."""
        timers = [self._timer(kind, local, m, n) for kind, local in cases]
        before = self._spent

        def measure(values: Values) -> float:
            began = time.monotonic()
            try:
                return exp(fmean(log(timer(values)) for timer in timers))
            finally:
                self.told(before + sum(run.took for run in records) + time.monotonic() - began)

        space = replace(self.subject.space_for(m, n), start=start)
        budget = max(0.0, min(share * self.budget, self.budget - self._spent))
        found = search(space, measure, budget, strategy, records, most=self._most)
        self._note(found.spent)
        return found

    def _note(self, took: float) -> None:
        self._spent += took
        self.told(self._spent)

    def _chosen(self, found: Found, records: Records, m: int, n: int) -> tuple[Values, str]:
        """The values that the subject gets, and why."""
        start = self.subject.start
        if found.values is None:
            return start, "all values fail"
        if found.values == start:
            return start, "nothing is faster for sure"
        longest = max(run.took for run in records)
        if self.budget - self._spent < len(CASES) * longest:  # their kernels have to be built
            return found.values, "faster for sure"
        strategy = Given(tuple(self._candidates(found.values, records)))
        together = self._records("together", m, n)
        best = self._search(CASES, start, together, strategy, m, n, 1.0).values
        if best is None or best == start:
            return start, "nothing is faster for sure for DNA, proteins and global ones together"
        return best, "faster for sure"

    def _candidates(self, best: Values, records: Records) -> Iterator[Values]:
        """What is tried with all scores: the best values; the best of those that have the start's
        value of a dimension; and the best of each other build."""
        space, start = self.subject.space(), self.subject.start
        medians = {space.key(run.values): _seconds_of(records, run.values) for run in records}
        ran = {space.key(run.values): run.values for run in records}
        order = sorted((s, key) for key, s in medians.items() if s is not None)
        ranking = [best, *(ran[key] for _, key in order)]
        firsts = [next((v for v in ranking if v[name] == start[name]), best) for name in start]
        builds = {space.build(values): values for values in reversed(ranking)}
        found = {space.key(values): values for values in (best, *firsts, *builds.values())}
        yield from list(found.values())[:MOST_CANDIDATES]

    def _kept(self, records: Records, m: int, n: int) -> Iterator[Mapping[str, Any]]:
        """What a profile keeps of the runs: those of the values that were run most often."""
        seconds: dict[tuple[Any, ...], list[float]] = {}
        for run in records:
            if run.seconds is not None:
                seconds.setdefault(tuple(run.values.items()), []).append(run.seconds)
        often = sorted(seconds, key=lambda values: -len(seconds[values]))[:KEPT_VALUES]
        for values in often:
            yield {
                "subject": self.subject.name,
                "values": dict(values),
                "m": m,
                "n": n,
                "seconds": [float(f"{one:.6g}") for one in seconds[values][-KEPT_RUNS:]],
                "use": "search",
            }


def _seconds_of(records: Records, values: Values) -> float | None:
    """The median of the recorded runs of values; None if there are none, or one failed."""
    runs = records.of(values)
    seconds = [run.seconds for run in runs if run.seconds is not None]
    return median(seconds) if seconds and len(seconds) == len(runs) else None
