"""Which device ``device="auto"`` means for a job: the one that has it done first, by the model.

Calls of `align` are timed, whoever chose their device: what they took, over what the model foresaw,
corrects it for later calls of about the same size.  No call is made to learn from.
"""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import inf
from typing import Any, NamedTuple

from ..errors import DeviceError, DeviceMemoryError, RecomputedWarning
from ..opencl.device import Runtime, get_runtime, runtimes_to_choose_from
from ..planning.model.predict import first_use
from ..planning.model.runs import sweep_of
from ..scoring.scoring import Scoring
from .settings import setting_of

#: Leading binary digits of a length that the model is asked by, and kinds of jobs that are kept: to
#: ask it takes longer than to align a short pair.
DIGITS, MOST_KEPT = 5, 1024
#: Calls whose times count, at least and at most, and seconds for which they do.
LEAST, LATEST, LASTING = 3, 9, 600.0


class Kind(NamedTuple):
    """What decides how long a job of m rows and n columns takes; as in `drivers.job.Job`."""

    m: int
    n: int
    scoring: Scoring
    mode: str
    output: str
    free_ends: tuple[bool, ...]
    both: bool


class Known(NamedTuple):
    """What is known of a kind of job on each device."""

    #: Seconds of its sweep, and to start the device and build its kernels, by the model.
    foreseen: list[tuple[float, float]]
    #: When the latest calls that built nothing ended, and their seconds over those foreseen.
    ratios: list[deque[tuple[float, float]]]
    #: The profiles that were asked.  (As long as they are kept nothing else has their `id`.)
    profiles: list[Any]

    def seconds(self, choices: list[Runtime]) -> list[float]:
        """What the next call is expected to take on each device."""
        since = time.perf_counter() - LASTING
        own = [sorted(r for at, r in list(ratios) if at > since) for ratios in self.ratios]
        # What a path takes beside its sweep, and what pruning saves, is alike on all devices.
        most = max(([r for r in ratios if r < inf] for ratios in own), key=len)
        known = [next((r for r in (one, most) if len(r) >= LEAST), [1.0]) for one in own]
        each = zip(choices, self.foreseen, [one[len(one) // 2] for one in known], strict=True)
        return [first * (not one.programs) + sweep * ratio for one, (sweep, first), ratio in each]


#: By kinds of jobs, of lengths with few digits; and the ratios by the octaves of both sides.
_known: dict[tuple[Any, ...], Known] = {}
_ratios: dict[tuple[Any, ...], list[deque[tuple[float, float]]]] = {}


def by_time(device: Any, kind: Kind) -> list[tuple[Any, float]]:
    """The runtimes that ``device`` may mean, the soonest done first, and the seconds expected."""
    choices = runtimes_to_choose_from(device)
    if len(choices) < 2:
        return [(choices[0] if choices else device, 0.0)]
    seconds = _known_of(kind, choices).seconds(choices)
    return sorted(zip(choices, seconds, strict=True), key=lambda one: one[1])


def attempts(device: Any, kind: Kind, timed: bool = True) -> Iterator[AbstractContextManager[Any]]:
    """The devices that ``device`` may mean for a kind of job, the soonest done first, each as a
    context in which the job runs there.  One that fails is passed over, with a RecomputedWarning,
    unless it lacks memory; the error of the last is raised.  ``timed``: is it a call to learn
    from?"""
    choices = runtimes_to_choose_from(device)
    if len(choices) < 2:  # named; its time tells as much
        kinds = runtimes_to_choose_from("auto") if timed and _known else []
        runtime = choices[0] if choices else get_runtime(device) if kinds else device
        here = _known.get(_key(kind, kinds)) if runtime in kinds else None
        yield nullcontext(runtime) if here is None else _on(runtime, here, kinds.index(runtime))
        return
    known = _known_of(kind, choices)
    seconds = known.seconds(choices)
    *others, last = sorted(range(len(choices)), key=seconds.__getitem__)
    for place in others:
        yield _on(choices[place], known, place, timed, other=True)
    yield _on(choices[last], known, last, timed)


@contextmanager
def _on(
    runtime: Runtime, known: Known, place: int, timed: bool = True, other: bool = False
) -> Iterator[Runtime]:
    """A job runs on a device; its time is noted in what is ``known``, at the device's place.
    ``other``: is there another device if this one fails?"""
    programs, began = len(runtime.programs), time.perf_counter()
    try:
        yield runtime
    except DeviceMemoryError:
        raise
    except DeviceError as error:
        if not other:
            raise
        known.ratios[place].extend([(inf, inf)] * LATEST)
        why = f"{runtime.info.name} failed, and another device is used: {error}"
        warnings.warn(why, RecomputedWarning, stacklevel=5)
    else:
        now = time.perf_counter()
        if timed and len(runtime.programs) == programs:
            known.ratios[place].append((now, (now - began) / known.foreseen[place][0]))


def _known_of(kind: Kind, choices: list[Runtime]) -> Known:
    """What is known of a kind of job on some devices."""
    if (known := _known.get(key := _key(kind, choices))) is None:
        if len(_known) >= MOST_KEPT:
            _known.clear()
            _ratios.clear()
        foreseen = [foreseen_on(one, kind._replace(m=key[0], n=key[1])) for one in choices]
        octaves = kind.m.bit_length(), kind.n.bit_length(), *key[2:]
        ratios = _ratios.setdefault(octaves, [deque(maxlen=LATEST) for _ in choices])
        known = _known[key] = Known(foreseen, ratios, [one.profile()[0] for one in choices])
    return known


def foreseen_on(runtime: Runtime, kind: Kind) -> tuple[float, float]:
    """What the model says of a job on a device: see `Known.foreseen`."""
    setting = setting_of(runtime, None, kind.scoring, kind.mode)
    times, work = setting.plan.machine.times, sweep_of(setting, kind.m, kind.n)
    return max(times.seconds(work), 1e-9), first_use(work, times) or 3.0  # not measured


def _key(kind: Kind, choices: list[Runtime]) -> tuple[Any, ...]:
    """What a kind of job on some devices is known by, from its lengths' leading digits on."""
    about = [n & -1 << max(0, n.bit_length() - DIGITS) for n in kind[:2]]
    _, _, s, *rest = kind
    rest += [s.source.key, s.gap_open, s.gap_extend]
    return *about, *rest, *(id(runtime.profile()[0]) for runtime in choices)
