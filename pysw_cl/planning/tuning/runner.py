"""Running values: once each time it is asked, within a budget, and from a file of earlier runs.

A search is the same sequence of runs whenever it sees the same seconds.  So a killed search is
repeated from the file, which answers at once, until its runs end; then it goes on measuring.
Results are appended as they come, and failures are results, as in Kernel Tuner (van Werkhoven,
Future Generation Computer Systems 90, 2019).
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from math import inf, isfinite
from pathlib import Path
from statistics import median

from ...errors import InternalError, ProfileError, PyswError
from .strategies import Values

#: Seconds of one run with some values.  It raises :class:`Failure`.  The first run with values
#: builds, warms up and checks the result before it is timed.
Measure = Callable[[Values], float]
#: How a run may fail: its kernel is not built, is not launched, gives a wrong result, does not suit
#: the device (too large a group, for example), or gets no memory.
KINDS = ("build", "launch", "wrong", "refused", "memory")
#: So many of the last runs tell what the next one probably takes.
RECENT = 15


class Failure(PyswError):
    """A run that failed, and its kind (one of :data:`KINDS`)."""

    def __init__(self, kind: str, message: str = "") -> None:
        super().__init__(message or kind)
        self.kind = kind


@dataclass(eq=False)
class Trial:
    """Values, and what came out of their runs."""

    values: Values
    #: Seconds of each run, oldest first.
    seconds: list[float] = field(default_factory=list)
    #: How the last run failed; there is no other after it.
    failure: Failure | None = None
    #: What earlier runs from the file took, and their seconds or failures, oldest first.
    earlier: deque[tuple[float, float | Failure]] = field(default_factory=deque)
    #: Logarithm of the seconds, as if all values had run at the time of the start, as a search
    #: (:mod:`.search`) estimates it.
    standing: float = inf


class Runner:
    """Runs values, and knows what was spent and found.

    ``path``: the file of runs (None: there is none), made with the first one; what has another key
    is left alone.  ``key`` names all that a time depends on beside the values: the subject, the
    device and its driver, the digest of the kernels, and the sizes that are measured.  ``build``:
    what tells the build that values need from others.  ``clock``: seconds that never go back.
    Raises ProfileError if the file cannot be read or written.
    """

    def __init__(
        self,
        measure: Measure,
        path: Path | None = None,
        key: str = "",
        build: Callable[[Values], Hashable] = lambda values: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path, self.key, self.build = path, key, build
        self._measure, self._clock = measure, clock
        #: Seconds that may be spent, those of runs from the file included; and those of all runs so
        #: far, with what the search did between them; and of the longest.
        self.limit, self.spent, self.longest = inf, 0.0, 0.0
        self._trials: dict[Hashable, Trial] = {}
        self._builds: set[Hashable] = set()
        #: What runs took, by what they needed: a "build", a "check", or only to run "again".
        self._taken: dict[str, list[float]] = defaultdict(list)
        self._line_end = b""
        if path is not None:
            self._read(path)
        self._last = clock()

    def of(self, values: Values) -> Trial:
        """What is known of these values."""
        return self._trials.setdefault(frozenset(values.items()), Trial(values))

    @property
    def tried(self) -> list[Trial]:
        """The values that were run, in the order of their first runs."""
        return [one for one in self._trials.values() if one.seconds or one.failure]

    @property
    def runs(self) -> int:
        """How many runs there were."""
        return sum(map(len, self._taken.values()))

    @property
    def failed(self) -> dict[str, int]:
        """How many values failed, by the kind of failure."""
        return dict(Counter(one.failure.kind for one in self.tried if one.failure))

    def seconds(self, values: Values) -> float | None:
        """The median of the runs; None if there are none or these values failed."""
        trial = self.of(values)
        return median(trial.seconds) if trial.seconds and not trial.failure else None

    def run(self, trial: Trial) -> float | None:
        """Seconds of another run; None if it fails, or if these values have failed before."""
        if trial.failure:
            return None
        need = self._need(trial)
        took, outcome = trial.earlier.popleft() if trial.earlier else self._new(trial.values)
        self._last = self._clock()
        self.spent, self.longest = self.spent + took, max(self.longest, took)
        self._taken[need].append(took)
        self._builds.add(self.build(trial.values))
        if isinstance(outcome, Failure):
            trial.failure = outcome
            return None
        trial.seconds.append(outcome)
        return outcome

    def fits(self, trial: Trial) -> bool:
        """Will another run probably end within the limit?  What a run, a check and a build take is
        learned from those before; the first of each is only expected to take no time."""
        taken = self._taken[self._need(trial)][-RECENT:] or [0.0]
        return self.spent + max([median(taken), *trial.seconds[-1:]]) <= self.limit

    def built(self, trial: Trial) -> bool:
        """Did the build that these values need run already?"""
        return self.build(trial.values) in self._builds

    def _need(self, trial: Trial) -> str:
        """What the next run needs."""
        if not self.built(trial):
            return "build"
        return "again" if trial.seconds else "check"

    def _new(self, values: Values) -> tuple[float, float | Failure]:
        """Measure, and append it to the file."""
        outcome: float | Failure
        facts: dict[str, object]
        try:
            outcome = self._measure(values)
            facts = {"seconds": outcome}
        except Failure as failed:
            outcome, facts = failed, {"failure": failed.kind}
        if isinstance(outcome, float) and not 0 < outcome < inf:
            said = f"a run of {dict(values)} is said to take {outcome!r} s"
            raise InternalError(f"tuning: {said}")
        took = self._clock() - self._last
        if self.path is not None:
            self._append(self.path, {"values": dict(values), "took": took, **facts})
        return took, outcome

    def _append(self, path: Path, facts: dict[str, object]) -> None:
        line = json.dumps({"key": self.key, **facts}).encode()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                file.write(self._line_end + line + b"\n")
        except OSError as error:
            said = f"{path}: measurements cannot be written to it: {error}"
            raise ProfileError(f"{said}; give another file") from error
        self._line_end = b""

    def _read(self, path: Path) -> None:
        """Read the earlier runs.  Lines that are none are passed over: a killed process leaves half
        of one."""
        try:
            found = path.read_bytes() if path.exists() else b""
        except OSError as error:
            said = f"{path}: measurements cannot be read from it: {error}"
            raise ProfileError(f"{said}; give another file") from error
        self._line_end = b"\n" if found and not found.endswith(b"\n") else b""
        for line in found.splitlines():
            try:
                facts = json.loads(line)
                kind, took = facts.get("failure"), float(facts["took"])
                seconds = 0.0 if kind else float(facts["seconds"])
                good = kind in KINDS if kind else 0 < seconds < inf
                if facts["key"] == self.key and good and isfinite(took):
                    values = {name: value + 0 for name, value in facts["values"].items()}
                    outcome = Failure(kind) if kind else seconds
                    self.of(values).earlier.append((took, outcome))
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
