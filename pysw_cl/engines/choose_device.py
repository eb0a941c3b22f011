"""Which device ``device="auto"`` means for a job: the one that has it done first.

Small jobs are sooner done on a CPU, large ones on a GPU.  The model of the run time says which is
which.  What a device takes to start and to build its kernels counts as long as this process has not
used it.

Between two devices that take about as long the model cannot tell: a CPU whose cores other programs
use, too, is half as fast at one time as at another.  So calls are timed (`Watch`), and their times
say how long the next call of about the same size takes.  Now and then a call is a trial: it goes to
a device that was not used for such jobs lately and may be the faster one.  Trials take at most a
share of the time of all calls (`SHARE`).
"""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from types import TracebackType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ..errors import DeviceError
from ..opencl.device import Runtime, get_runtime, runtimes_to_choose_from
from ..planning.model.predict import first_use, spread_of
from ..planning.model.runs import sweep_of
from ..planning.profiles.profile import Profile
from ..scoring.scoring import Scoring
from .settings import setting_of

#: Seconds of a first use where no profile has measured it: a context and builds.
FIRST_USE = 3.0
#: Leading binary digits of a length that the model is asked by: to foresee the times of two devices
#: takes longer than to align a short pair, so calls of about the same size are foreseen once.
DIGITS = 5
#: Calls on a device after which it needs no further trial, and the latest ones that count.
TRIED, LATEST = 5, 9
#: The share of the time of calls that trials may take, builds of kernels included.
SHARE = 0.05
#: Calls after which a device that they did not use loses the time of one of its own: what slowed it
#: down may be over.
FORGET = 50
#: Sizes, and kinds of jobs, that are kept, for calls that repeat.
MOST_KEPT = 1024


class Kind(NamedTuple):
    """What decides how long a job takes."""

    #: Rows and columns.
    m: int
    n: int
    scoring: Scoring
    #: The rest as in `pysw_cl.drivers.job.Job`.
    mode: str
    output: str
    free_ends: tuple[bool, ...]
    both: bool


class Foreseen(NamedTuple):
    """What the model says of a job on a device."""

    #: Seconds of its sweep.
    seconds: float
    #: The same if all goes well: the lower end of the interval.
    least: float
    #: Seconds to start the device and to build kernels, before the first call.
    first_use: float
    #: The subjects of the times of its kernels, with the output: a path needs more of them.
    kernels: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, runtime: Runtime, kind: Kind) -> Foreseen:
        """What it says of a kind of job."""
        setting = setting_of(runtime, None, kind.scoring, kind.mode)
        times, work = setting.plan.machine.times, sweep_of(setting, kind.m, kind.n)
        seconds = max(times.seconds(work), 1e-9)
        least = seconds / (1 + spread_of(runtime.profile()[0]))
        kernels = {one.timed for one in work.strips} or {"held"}
        used = frozenset((kernel, kind.output) for kernel in kernels)
        return cls(seconds, least, first_use(work, times) or FIRST_USE, used)


class Estimate(NamedTuple):
    """What a call is expected to take on a device."""

    #: Seconds, as far as is known.
    seconds: float
    #: The same if all goes well.
    least: float
    #: Seconds that a trial is expected to take.
    trial: float


class DeviceTimes:
    """What is known of a device for jobs of a kind whose sides are about alike."""

    def __init__(self) -> None:
        #: Seconds of its latest calls that built nothing, over those that the model foresaw.
        self.ratios = deque[float](maxlen=LATEST)
        #: Did a trial fail?  Then there is none any more.
        self.failed = False

    def estimate(self, runtime: Runtime, said: Foreseen, usual: float) -> Estimate:
        """What the next call is expected to take.  ``usual``: the ratio where it has none."""
        if self.failed:
            return Estimate(inf, inf, inf)
        own = list(self.ratios)
        first = 0.0 if runtime.programs else said.first_use
        if len(own) >= TRIED:
            return Estimate(said.seconds * _middle(own) + first, inf, inf)
        builds = 0.0 if said.kernels <= _used.get(runtime, set()) else said.first_use
        if not own:
            less = min(1.0, usual)  # others may take more because the model is wrong about them
            trial = said.seconds * less + builds
            return Estimate(said.seconds * usual + first, said.least * less, trial)
        seconds = said.seconds * _middle(own)
        return Estimate(seconds + first, said.least * min(own), seconds + builds)


def _middle(ratios: list[float]) -> float:
    """The median, the upper one of two.  (That of the standard library takes ten times as long.)"""
    return sorted(ratios)[len(ratios) // 2]


@dataclass
class Experience:
    """What calls took for jobs of a kind whose sides are about alike."""

    devices: list[DeviceTimes]
    #: The profiles that the model asked.  (As long as they are kept nothing else has their `id`.)
    profiles: list[Profile]
    #: Calls so far.
    count: int = 0
    #: Seconds that trials may take.
    credit: float = 0.0

    def estimates(self, runtimes: list[Runtime], foreseen: list[Foreseen]) -> list[Estimate]:
        """What the next call is expected to take on each device."""
        # What a path takes beside its sweep, and what pruning saves, is alike on all devices.
        most = max((list(device.ratios) for device in self.devices), key=len)
        usual = _middle(most) if most else 1.0
        each = zip(self.devices, runtimes, foreseen, strict=True)
        return [device.estimate(runtime, said, usual) for device, runtime, said in each]

    def took(self, device: int, said: Foreseen, seconds: float, built: bool) -> None:
        """Note what a call took on a device, and whether it had to build kernels."""
        self.count += 1
        if not built:
            self.devices[device].ratios.append(seconds / said.seconds)
            self.credit += SHARE * seconds
        if self.count % FORGET == 0:
            for other, one in enumerate(self.devices):
                if other != device:
                    with suppress(IndexError):
                        one.ratios.popleft()


class Known(NamedTuple):
    """What is known of a kind of job."""

    #: What the model says for each device.
    foreseen: list[Foreseen]
    experience: Experience


#: By kinds of jobs, of lengths with few digits.
_known: dict[tuple[Any, ...], Known] = {}
#: The same by the octaves of both sides.
_experience: dict[tuple[Any, ...], Experience] = {}
#: The kernels that timed calls have used on each device, and the output.
_used: WeakKeyDictionary[Runtime, set[tuple[str, str]]] = WeakKeyDictionary()


class Watch:
    """Times a call on the device that it was given, in a ``with`` statement."""

    def __init__(
        self,
        device: Any,
        known: Known | None = None,
        place: int = 0,
        instead: float | None = None,
    ) -> None:
        """``known``: where to note the time, with the ``place`` of the device; None: nowhere.
        ``instead``: for a trial, the seconds that the call would take on the best device."""
        self.device, self.instead = device, instead
        self._known, self._place = known, place
        self._began, self._programs = 0.0, 0

    def __enter__(self) -> Watch:
        if self._known is not None:
            self._began, self._programs = time.perf_counter(), len(self.device.programs)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._known is None:
            return
        seconds = time.perf_counter() - self._began
        said, experience = self._known.foreseen[self._place], self._known.experience
        if self.instead is not None:
            experience.credit -= seconds - self.instead
        if error is None:
            built = len(self.device.programs) > self._programs
            experience.took(self._place, said, seconds, built)
            _used.setdefault(self.device, set()).update(said.kernels)
        elif isinstance(error, DeviceError) and self.instead is not None:
            experience.devices[self._place].failed = True


def device_for(device: Any, kind: Kind) -> Any:
    """``device``, or the runtime that it means for a kind of job."""
    choices = runtimes_to_choose_from(device)
    if len(choices) < 2:
        return choices[0] if choices else device
    known = _known_of(kind, choices)
    return choices[_best(known.experience.estimates(choices, known.foreseen))]


def watched(device: Any, kind: Kind) -> Watch:
    """The same for a call that is timed, and may be a trial."""
    choices = runtimes_to_choose_from(device)
    if len(choices) > 1:
        known = _known_of(kind, choices)
        estimates = known.experience.estimates(choices, known.foreseen)
        best = _best(estimates)
        least = estimates[best].seconds
        for place, one in enumerate(estimates):
            more = max(0.0, one.trial - least)
            if place != best and one.least < least and more <= known.experience.credit:
                return Watch(choices[place], known, place, instead=least)
        return Watch(choices[best], known, best)
    if choices or not _known:
        return Watch(choices[0] if choices else device)
    choices, runtime = runtimes_to_choose_from("auto"), get_runtime(device)
    if runtime not in choices:
        return Watch(runtime)
    return Watch(runtime, _known.get(_key(kind, choices)), choices.index(runtime))


def _best(estimates: list[Estimate]) -> int:
    """The place of the device that is expected to be done first."""
    return min(range(len(estimates)), key=lambda place: estimates[place].seconds)


def _known_of(kind: Kind, choices: list[Runtime]) -> Known:
    """What is known of a kind of job on some devices."""
    key = _key(kind, choices)
    known = _known.get(key)
    if known is None:
        if len(_known) >= MOST_KEPT:
            _known.clear()
            _experience.clear()
        about = kind._replace(m=_about(kind.m), n=_about(kind.n))
        foreseen = [Foreseen.of(runtime, about) for runtime in choices]
        profiles = [runtime.profile()[0] for runtime in choices]
        octaves = kind.m.bit_length(), kind.n.bit_length(), *key[2:]
        fresh = Experience([DeviceTimes() for _ in choices], profiles)
        known = _known[key] = Known(foreseen, _experience.setdefault(octaves, fresh))
    return known


def _key(kind: Kind, choices: list[Runtime]) -> tuple[Any, ...]:
    """What a kind of job on some devices is known by."""
    m, n, scoring, *rest = kind
    scores = scoring.match_mismatch or scoring.matrix.tobytes()
    profiles = [id(runtime.profile()[0]) for runtime in choices]
    return _about(m), _about(n), scores, scoring.gap_open, scoring.gap_extend, *rest, *profiles


def _about(length: int) -> int:
    """A length, shorter by less than a sixteenth, that many have in common."""
    rest = max(0, length.bit_length() - DIGITS)
    return length >> rest << rest
