"""Running values: once each time it is asked, within a budget, from records where there are any.

A search is the same sequence of runs whenever it sees the same seconds.  So a killed search is
repeated from its records, which answer at once, until they end; then it goes on measuring.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from math import inf
from statistics import median

from ...errors import InternalError
from ..parameters import Number
from .records import Failure, Records, Run
from .space import Space, Values

#: Seconds of one run with some values.  It raises :class:`.records.Failure`.  The first run with
#: values builds, warms up and checks the result before it is timed.
Measure = Callable[[Values], float]
#: A clock in seconds that never goes back.
Clock = Callable[[], float]
#: So many of the last runs tell what the next one probably takes.
RECENT = 15


class Runner:
    """Runs values, and knows what was spent and found.

    ``limit``: seconds that may be spent, those of the records included.
    """

    def __init__(self, space: Space, measure: Measure, records: Records, clock: Clock) -> None:
        self.space, self.records = space, records
        self._measure, self._clock = measure, clock
        self.limit = inf
        #: Seconds of all runs so far, and of what the search did between them.
        self.spent = 0.0
        #: The kind of failure of the values that failed.
        self.failures: dict[tuple[Number, ...], str] = {}
        self._seconds: dict[tuple[Number, ...], list[float]] = {}
        self._builds: set[tuple[Number, ...]] = set()
        #: What runs took, by what they needed: a "build", a "check", or only to run "again".
        self._taken: dict[str, list[float]] = defaultdict(list)
        self._last = clock()

    def run(self, values: Values) -> float | None:
        """Seconds of another run; None if it fails, or if these values have failed before."""
        key = self.space.key(values)
        if key in self.failures:
            return None
        need, before = self._need(values), len(self._seconds.get(key, ()))
        recorded = self.records.of(values)
        run = recorded[before] if before < len(recorded) else self._new(values)
        self._last = self._clock()
        self.spent += run.took
        self._taken[need].append(run.took)
        self._builds.add(self.space.build(values))
        if run.seconds is None:
            self.failures[key] = str(run.failure)
        else:
            self._seconds.setdefault(key, []).append(run.seconds)
        return run.seconds

    def fits(self, values: Values) -> bool:
        """Will another run probably end within the limit?  What a run, a check and a build take is
        learned from those before; the first of each is only expected to take no time."""
        taken = self._taken[self._need(values)][-RECENT:] or [0.0]
        own = self._seconds.get(self.space.key(values), [0.0])
        return self.spent + max(median(taken), own[-1]) <= self.limit

    def built(self, values: Values) -> bool:
        """Did the build that these values need run already?"""
        return self.space.build(values) in self._builds

    def seconds(self, values: Values) -> float | None:
        """The median of the runs; None if there are none or these values failed."""
        key = self.space.key(values)
        seconds = self._seconds.get(key)
        return median(seconds) if seconds and key not in self.failures else None

    @property
    def measured(self) -> int:
        """How many values were run."""
        return len(self._seconds.keys() | self.failures.keys())

    @property
    def runs(self) -> int:
        """How many runs there were."""
        return sum(map(len, self._taken.values()))

    def _need(self, values: Values) -> str:
        """What the next run needs."""
        if not self.built(values):
            return "build"
        return "again" if self.space.key(values) in self._seconds else "check"

    def _new(self, values: Values) -> Run:
        """Measure, and record it."""
        seconds, failure = None, None
        try:
            seconds = self._measure(values)
        except Failure as failed:
            failure = failed.kind
        if seconds is not None and not 0 < seconds < inf:
            raise InternalError(f"tuning: a run of {dict(values)} is said to take {seconds!r} s")
        run = Run(dict(values), self._clock() - self._last, seconds, failure)
        self.records.add(run)
        return run
