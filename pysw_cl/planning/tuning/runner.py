"""Running values: once each time it is asked, within a budget, and from a file of earlier runs.

A search is the same sequence of runs whenever it sees the same seconds.  So a killed search is
repeated from the file, which answers at once, until its runs end; then it goes on measuring.
Results are appended as they come, and failures are results, as in Kernel Tuner (see `.search`)."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from math import inf, isfinite
from pathlib import Path
from statistics import median
from typing import IO, NamedTuple

from ... import errors
from ...errors import InternalError, ProfileError
from .strategies import Values

#: Seconds of one run with some values.  The first run with values builds, warms up and checks the
#: result before it is timed; a wrong one is an InternalError.
Measure = Callable[[Values], float]
#: What a failed run is called, by its error; the first that fits counts.
FAILURES: dict[type[BaseException], str] = {
    errors.BuildError: "build",
    errors.DeviceMemoryError: "memory",
    MemoryError: "memory",
    errors.DeviceError: "launch",
    errors.PlanError: "refused",
    InternalError: "wrong",
}
#: So many of the last runs tell what the next one probably takes.
RECENT = 15


class Failure(NamedTuple):
    """How a run failed: one of :data:`FAILURES`, and what the error says."""

    kind: str
    why: str


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
    #: Logarithm of the seconds, as if it had run when the start did (see `.search.Race`).
    standing: float = inf


@dataclass(eq=False)
class Runner:
    """Runs values, and knows what was spent and found.

    ``path``: the file of runs (None: there is none); what has another key is left alone.  ``key``
    names all that a time depends on beside the values: the subject, the device and its driver, the
    digest of the kernels, and the sizes that are measured.  ``build``: what tells the build that
    values need from others.  ``spent``: seconds that were spent before; ``told`` is called with
    those of all after each run.  Raises ProfileError if the file cannot be read or written."""

    measure: Measure
    path: Path | None = None
    key: str = ""
    build: Callable[[Values], Hashable] = lambda values: None
    spent: float = 0.0
    told: Callable[[float], None] = lambda spent: None

    def __post_init__(self) -> None:
        #: Seconds that may be spent, those of runs from the file included; and of the longest run,
        #: with what the search did before it.
        self.limit, self.longest = inf, 0.0
        self._trials: dict[Hashable, Trial] = {}
        self._builds: set[Hashable] = set()
        #: What runs took, by what they needed.
        self._taken: dict[Hashable, list[float]] = defaultdict(list)
        self._read()
        self._last = time.monotonic()

    def of(self, values: Values) -> Trial:
        """What is known of these values."""
        return self._trials.setdefault(frozenset(values.items()), Trial(values))

    @property
    def tried(self) -> list[Trial]:
        """The values that were run, in the order of their first runs."""
        return [one for one in self._trials.values() if one.seconds or one.failure]

    @property
    def runs(self) -> int:
        return sum(map(len, self._taken.values()))

    @property
    def failed(self) -> dict[str, int]:
        """How many values failed, by the kind of failure."""
        return dict(Counter(one.failure.kind for one in self.tried if one.failure))

    def ranking(self) -> list[Trial]:
        """What a search found to run without a failure, the best first."""
        good = [one for one in self.tried if one.standing < inf and not one.failure]
        return sorted(good, key=lambda one: one.standing)

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
        self._last = time.monotonic()
        self.spent, self.longest = self.spent + took, max(self.longest, took)
        self._taken[need].append(took)
        self._builds.add(self.build(trial.values))
        self.told(self.spent)
        if isinstance(outcome, Failure):
            trial.failure = outcome
            return None
        trial.seconds.append(outcome)
        return outcome

    def fits(self, trial: Trial) -> bool:
        """Will another run probably end within the limit, by what such runs have taken so far?"""
        taken = self._taken[self._need(trial)][-RECENT:] or [0.0]
        return self.spent + max([median(taken), *trial.seconds[-1:]]) <= self.limit

    def built(self, trial: Trial) -> bool:
        """Did the build that these values need run already?"""
        return self.build(trial.values) in self._builds

    def _need(self, trial: Trial) -> tuple[bool, bool]:
        """What the next run needs: a build, a check, or neither."""
        return self.built(trial), bool(trial.seconds)

    def _new(self, values: Values) -> tuple[float, float | Failure]:
        """Measure, and append it to the file."""
        outcome: float | Failure
        try:
            outcome = self.measure(values)
            if not 0 < outcome < inf:
                raise InternalError(f"a run of {dict(values)} is said to take {outcome!r} s")
            facts: dict[str, object] = {"seconds": outcome}
        except tuple(FAILURES) as error:
            kind = next(name for one, name in FAILURES.items() if isinstance(error, one))
            outcome, facts = Failure(kind, str(error)), {"failure": kind}
        took = time.monotonic() - self._last
        if self.path is not None:
            line = json.dumps({"key": self.key, "values": dict(values), "took": took, **facts})
            with _opened(self.path) as file:  # after half a line of a killed process, too
                file.write((b"\n" if file.tell() else b"") + line.encode())
        return took, outcome

    def _read(self) -> None:
        """Read the earlier runs.  Lines that are none are passed over."""
        if self.path is None:
            return
        with _opened(self.path) as file:
            file.seek(0)
            lines = file.read().splitlines()
        for line in lines:
            with suppress(ValueError, KeyError, TypeError, AttributeError):
                facts = json.loads(line)
                kind, took = facts.get("failure"), float(facts["took"])
                outcome = Failure(kind, kind) if kind else float(facts["seconds"])
                good = kind in FAILURES.values() if kind else 0 < facts["seconds"] < inf
                if facts["key"] == self.key and good and isfinite(took):
                    values = {name: value + 0 for name, value in facts["values"].items()}
                    self.of(values).earlier.append((took, outcome))


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """A file that is read and appended to.  Raises ProfileError."""
    try:
        with path.open("a+b") as file:
            yield file
    except OSError as error:
        why = f"measurements cannot be kept there: {error}"
        raise ProfileError(f"{path}: {why}; give another file") from error
