"""Which device ``device="auto"`` means for a job: the one that has it done first.

Small jobs are sooner done on a CPU, large ones on a GPU.  The model of the run time says which is
which.  What a device takes to start and to build its kernels counts as long as this process has not
used it.
"""

from __future__ import annotations

from typing import Any

from ..opencl.device import Runtime, runtimes_to_choose_from
from ..planning.model.predict import first_use
from ..planning.model.runs import sweep_of
from ..scoring.scoring import Scoring
from .settings import setting_of

#: Seconds of a first use where no profile has measured it: a context and builds.
FIRST_USE = 3.0
#: Choices that are kept, for calls that repeat.
MOST_CHOSEN = 1024
_chosen: dict[tuple[Any, ...], tuple[Runtime, Any]] = {}
#: Leading binary digits of a length that a choice is made by: to foresee the times of two devices
#: takes longer than to align a short pair, so calls of about the same size share a choice.
DIGITS = 5


def device_for(device: Any, m: int, n: int, scoring: Scoring, mode: str) -> Any:
    """``device``, or the runtime that it means for a matrix of m x n cells."""
    choices = runtimes_to_choose_from(device)
    if len(choices) < 2:
        return choices[0] if choices else device
    m, n = _about(m), _about(n)
    known = [(runtime.profile()[0], bool(runtime.programs)) for runtime in choices]
    key = m, n, id(scoring), mode, *((id(profile), used) for profile, used in known)
    if key not in _chosen:
        if len(_chosen) >= MOST_CHOSEN:
            _chosen.clear()
        best = min(choices, key=lambda runtime: seconds_on(runtime, m, n, scoring, mode))
        _chosen[key] = best, (scoring, known)  # what has the identities is kept, too
    return _chosen[key][0]


def _about(length: int) -> int:
    """A length, shorter by less than a sixteenth, that many have in common."""
    rest = max(0, length.bit_length() - DIGITS)
    return length >> rest << rest


def seconds_on(runtime: Runtime, m: int, n: int, scoring: Scoring, mode: str) -> float:
    """What a sweep of the matrix takes on a device from now on."""
    setting = setting_of(runtime, None, scoring, mode)
    times = setting.plan.machine.times
    work = sweep_of(setting, m, n)
    taken = times.seconds(work)
    if runtime.programs:
        return taken
    return taken + (first_use(work, times) or FIRST_USE)
