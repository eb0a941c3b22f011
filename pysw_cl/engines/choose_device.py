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
from dataclasses import dataclass
from operator import is_
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ..opencl.device import Runtime, runtimes_to_choose_from
from ..planning.model.predict import first_use, spread_of
from ..planning.model.runs import sweep_of
from ..scoring.scoring import Scoring
from .settings import setting_of

#: Seconds of a first use where no profile has measured it: a context and builds.
FIRST_USE = 3.0
#: Leading binary digits of a length that the model is asked by: to foresee the times of two devices
#: takes longer than to align a short pair, so calls of about the same size are foreseen once.
DIGITS = 5
#: Calls after which their median says how long a device takes, and the latest ones that count.
TRIED, LATEST = 5, 9
#: Calls after which what other devices took is forgotten: what slowed them down may be over.
FORGET = 250
#: Sizes, and kinds of jobs, that are kept, for calls that repeat.
MOST_KEPT = 1024


class Jobs(NamedTuple):
    """Jobs that take about as long."""

    #: Rows and columns.
    m: int
    n: int
    scoring: Scoring
    mode: str
    output: str = "score"
    #: Are both strands compared?
    both: bool = False


class Foreseen(NamedTuple):
    """What the model says of jobs on a device."""

    #: Seconds of a sweep.
    seconds: float
    #: By what share a call may take more or less, and 1.
    unsure: float
    #: Seconds to start the device and to build kernels, before the first call.
    first_use: float
    #: What the kernels are known by, with the kind of jobs.
    kernels: frozenset[tuple[Any, ...]]

    @classmethod
    def of(cls, runtime: Runtime, jobs: Jobs) -> Foreseen:
        """What it says of them."""
        setting = setting_of(runtime, None, jobs.scoring, jobs.mode)
        times, work = setting.plan.machine.times, sweep_of(setting, jobs.m, jobs.n)
        unsure = 1 + spread_of(runtime.profile()[0])
        kernels = {(one.timed, jobs.output) for one in work.strips} or {("held", jobs.output)}
        first = first_use(work, times) or FIRST_USE
        return cls(times.seconds(work), unsure, first, frozenset(kernels))


@dataclass
class Experience:
    """What calls took whose sides and kind are alike, on each device."""

    #: Seconds over those that the model foresaw, of the latest calls of each device.
    ratios: list[deque[float]]
    #: Keeps what the key has the identities of.
    kept: tuple[Any, ...]
    #: Calls so far, and the seconds that they took, builds included.
    count: int = 0
    spent: float = 0.0

    def soonest(self, runtimes: list[Runtime], foreseen: list[Foreseen]) -> int:
        """The device that is likely to have the next call done first.

        One that was not tried is compared by the least that it may take, so that it is.  Where its
        first call may have to build kernels, that waits until other calls took as long; before, it
        has to be the faster one by what the model expects.
        """
        known = max(range(len(runtimes)), key=lambda k: len(self.ratios[k]))
        # a path takes more than the sweep, similar sequences take less, on each device
        factor = _middle(self.ratios[known]) if self.ratios[known] else 1.0
        estimates = []
        for runtime, said, ratios in zip(runtimes, foreseen, self.ratios, strict=True):
            if len(ratios) >= TRIED:
                estimates.append(said.seconds * _middle(ratios))
            elif ratios:
                estimates.append(said.seconds * min(ratios) / said.unsure)
            elif said.kernels <= _used.get(runtime, set()) or self.spent > said.first_use:
                unsure = said.unsure * foreseen[known].unsure
                estimates.append(said.seconds * factor / unsure if self.count else said.seconds)
            else:
                first = 0.0 if runtime.programs else said.first_use
                estimates.append(said.seconds * factor + first)
        return estimates.index(min(estimates))

    def took(self, device: int, seconds: float, said: Foreseen, built: bool) -> None:
        """Note what a call took on a device, and whether it had to build kernels."""
        self.count += 1
        self.spent += seconds
        if not built:
            self.ratios[device].append(seconds / max(said.seconds, 1e-9))
        if self.count % FORGET == 0:
            for other, ratios in enumerate(self.ratios):
                if other != device:
                    ratios.clear()


class Choice(NamedTuple):
    """The devices for jobs of about one size."""

    runtimes: list[Runtime]
    #: What the model says for each.
    foreseen: list[Foreseen]
    experience: Experience

    def soonest(self) -> Runtime:
        """The device that is likely to have the next one done first."""
        return self.runtimes[self.experience.soonest(self.runtimes, self.foreseen)]


#: By size and kind.
_known: dict[tuple[Any, ...], Choice] = {}
#: The jobs of the latest choice, and that.
_latest: tuple[Jobs, Choice] | None = None
#: By the octaves of both sides, and the kind.
_experience: dict[tuple[Any, ...], Experience] = {}
#: The kernels that calls have used on each device.
_used: WeakKeyDictionary[Runtime, set[tuple[Any, ...]]] = WeakKeyDictionary()


def device_for(device: Any, *jobs: Any) -> Any:
    """``device``, or the runtime that it means for `Jobs`."""
    global _latest
    choices = runtimes_to_choose_from(device)
    if len(choices) < 2:
        return choices[0] if choices else device
    given = Jobs(*jobs)
    key = _key(given, choices)
    choice = _known.get(key)
    if choice is None:
        about = given._replace(m=_about(given.m), n=_about(given.n))
        said = [Foreseen.of(runtime, about) for runtime in choices]
        choice = Choice(choices, said, _experience_of(given, choices))
        _keep(_known, key, choice)
    _latest = given, choice
    return choice.soonest()


class Watch:
    """Notes how long a call takes on a device, for those that `device_for` is asked about later."""

    def __init__(self, runtime: Runtime | None, *jobs: Any) -> None:
        """Begin with one of `Jobs`."""
        self._choice = None if runtime is None else _choice_of(Jobs(*jobs))
        if self._choice is not None and runtime in self._choice.runtimes:
            self._runtime, self._programs = runtime, len(runtime.programs)
        else:
            self._choice = None

    def took(self, seconds: float) -> None:
        """The call has ended, after so many seconds."""
        if self._choice is not None:
            device = self._choice.runtimes.index(self._runtime)
            said = self._choice.foreseen[device]
            built = len(self._runtime.programs) > self._programs
            self._choice.experience.took(device, seconds, said, built)
            _used.setdefault(self._runtime, set()).update(said.kernels)


def _choice_of(jobs: Jobs) -> Choice | None:
    """The choice for jobs, if it was left to the program before."""
    if _latest is None:
        return None
    latest, choice = _latest
    if latest[:2] == jobs[:2] and all(map(is_, latest[2:], jobs[2:])):
        return choice  # which takes less than to look it up
    return _known.get(_key(jobs, choice.runtimes))


def _key(jobs: Jobs, choices: list[Runtime]) -> tuple[Any, ...]:
    """What sizes are known by."""
    m, n, scoring, *rest = jobs
    profiles = [id(runtime.profile()[0]) for runtime in choices]
    return _about(m), _about(n), id(scoring), *rest, *profiles


def _about(length: int) -> int:
    """A length, shorter by less than a sixteenth, that many have in common."""
    rest = max(0, length.bit_length() - DIGITS)
    return length >> rest << rest


def _middle(ratios: deque[float]) -> float:
    """The median, or the upper one of two."""
    return sorted(ratios)[len(ratios) // 2]


def _experience_of(jobs: Jobs, choices: list[Runtime]) -> Experience:
    """The experience with jobs."""
    m, n, scoring, *rest = jobs
    profiles = [runtime.profile()[0] for runtime in choices]
    key = m.bit_length(), n.bit_length(), id(scoring), *rest, *map(id, profiles)
    found = _experience.get(key)
    if found is None:
        ratios = [deque[float](maxlen=LATEST) for _ in choices]
        found = Experience(ratios, (scoring, profiles))
        _keep(_experience, key, found)
    return found


def _keep(where: dict[tuple[Any, ...], Any], key: tuple[Any, ...], what: Any) -> None:
    if len(where) >= MOST_KEPT:
        where.clear()
    where[key] = what
