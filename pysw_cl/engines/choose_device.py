"""Which device ``device="auto"`` means for a job: the one that has it done first.

Small jobs are sooner done on a CPU, large ones on a GPU.  The model of the run time says which is
which.  What a device takes to start and to build its kernels counts as long as this process has not
used it.

Between two devices that take about as long the model cannot tell: a CPU whose cores other programs
use, too, is half as fast at one time as at another.  So calls are timed.  A device that may be the
faster one by the model's interval is tried, and from then on the calls themselves say which is.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from ..opencl.device import Runtime, runtimes_to_choose_from
from ..planning.model.predict import first_use, spread_of
from ..planning.model.runs import sweep_of
from ..planning.profiles.profile import Profile
from ..scoring.scoring import Scoring
from .settings import setting_of

#: Seconds of a first use where no profile has measured it: a context and builds.
FIRST_USE = 3.0
#: Choices that are kept, for calls that repeat.
MOST_CHOSEN = 1024
_chosen: dict[tuple[Any, ...], Choice] = {}
#: Leading binary digits of a length that a choice is made by: to foresee the times of two devices
#: takes longer than to align a short pair, so calls of about the same size share a choice.
DIGITS = 5
#: Rows, columns, scoring and mode of jobs.
Job = tuple[int, int, Scoring, str]
#: No call takes less.
TINY = 1e-9
#: Calls after which their median says how long a device takes, and the latest ones that count.
TRIED, LATEST = 5, 9
#: Calls after which what others took is forgotten: what a device is slowed down by may be over.
FORGET = 250


@dataclass(frozen=True)
class Foreseen:
    """What the model says of jobs on a device."""

    #: Seconds of a sweep.
    seconds: float
    #: By what share a call may take more or less, and 1.
    unsure: float
    #: Seconds to start the device and to build kernels, before the first call.
    first_use: float

    @classmethod
    def of(cls, runtime: Runtime, m: int, n: int, scoring: Scoring, mode: str) -> Foreseen:
        """What it says of a matrix of m x n cells."""
        setting = setting_of(runtime, None, scoring, mode)
        times, work = setting.plan.machine.times, sweep_of(setting, m, n)
        unsure = 1 + spread_of(runtime.profile()[0])
        return cls(times.seconds(work), unsure, first_use(work, times) or FIRST_USE)


@dataclass
class Candidate:
    """A device for jobs of about one size."""

    runtime: Runtime
    profile: Profile
    #: Seconds of the latest calls that built nothing.
    calls: deque[float] = field(default_factory=lambda: deque(maxlen=LATEST))
    #: What the model says; None: it was not asked yet.
    _foreseen: Foreseen | None = None

    @property
    def is_tried(self) -> bool:
        """Do its calls tell how long it takes?"""
        return len(self.calls) >= TRIED

    def foreseen(self, job: Job) -> Foreseen:
        """What the model says of the jobs, which it is asked once."""
        if self._foreseen is None:
            self._foreseen = Foreseen.of(self.runtime, *job)
        return self._foreseen

    def estimate(self, job: Job, factor: float, unsure: float, spent: float) -> float:
        """Seconds of the next call.  ``factor``: those of calls so far over those of the model,
        ``unsure`` as in `Foreseen`.  ``spent``: the seconds of all calls.

        As long as it is not tried these are the least that it may take, so that it is.  Its first
        call may have to build kernels.  Before others took as long as that, it has to be the faster
        one by what the model expects.
        """
        if self.is_tried:
            return median(self.calls)
        foreseen = self.foreseen(job)
        if self.calls:
            return min(self.calls) / foreseen.unsure
        expected = factor * foreseen.seconds
        if spent > foreseen.first_use:
            return expected / (foreseen.unsure * unsure)
        return expected if self.runtime.programs else expected + foreseen.first_use


@dataclass
class Choice:
    """The devices for jobs of about one size."""

    job: Job
    candidates: list[Candidate]
    #: Calls so far, and the seconds that they took, builds included.
    count: int = 0
    spent: float = 0.0

    def soonest(self) -> Runtime:
        """The device that is likely to have the next one done first."""
        factor = unsure = 1.0
        known = max(self.candidates, key=lambda one: len(one.calls))
        if known.calls and not all(one.is_tried for one in self.candidates):
            # a path takes more than the sweep, similar sequences take less, on each device
            foreseen = known.foreseen(self.job)
            factor, unsure = median(known.calls) / max(foreseen.seconds, TINY), foreseen.unsure
        estimates = [one.estimate(self.job, factor, unsure, self.spent) for one in self.candidates]
        return self.candidates[estimates.index(min(estimates))].runtime

    def took(self, runtime: Runtime, seconds: float, built: bool) -> None:
        """Note how long a call took, and whether it had to build kernels."""
        self.count += 1
        self.spent += seconds
        for one in self.candidates:
            if one.runtime is not runtime:
                if self.count % FORGET == 0:
                    one.calls.clear()
            elif not built:
                one.calls.append(seconds)


def device_for(device: Any, m: int, n: int, scoring: Scoring, mode: str, *kind: Any) -> Any:
    """``device``, or the runtime that it means for a matrix of m x n cells.  ``kind``: what else
    calls of one size differ by."""
    choices = runtimes_to_choose_from(device)
    if len(choices) < 2:
        return choices[0] if choices else device
    return _choice(choices, m, n, scoring, mode, *kind).soonest()


class Watch:
    """Notes how long a call takes on a device, for those that `device_for` is asked about later."""

    def __init__(self, runtime: Runtime | None, *job: Any) -> None:
        """Begin with a job, as `device_for` takes it."""
        choices = runtimes_to_choose_from("auto")
        self._runtime = runtime if len(choices) > 1 and runtime in choices else None
        if self._runtime is not None:
            self._choice = _choice(choices, *job)
            self._programs = len(self._runtime.programs)

    def took(self, seconds: float) -> None:
        """The call has ended, after so many seconds."""
        if self._runtime is not None:
            built = len(self._runtime.programs) > self._programs
            self._choice.took(self._runtime, seconds, built)


def _choice(
    runtimes: list[Runtime], m: int, n: int, scoring: Scoring, mode: str, *kind: Any
) -> Choice:
    """The choice among devices that calls of about this size share."""
    m, n = _about(m), _about(n)
    profiles = [runtime.profile()[0] for runtime in runtimes]
    key = m, n, id(scoring), mode, *kind, *map(id, profiles)
    choice = _chosen.get(key)
    if choice is None:
        if len(_chosen) >= MOST_CHOSEN:
            _chosen.clear()
        candidates = list(map(Candidate, runtimes, profiles))
        choice = Choice((m, n, scoring, mode), candidates)  # keeps what has the identities
        _chosen[key] = choice
    return choice


def _about(length: int) -> int:
    """A length, shorter by less than a sixteenth, that many have in common."""
    rest = max(0, length.bit_length() - DIGITS)
    return length >> rest << rest
