"""`tune`: measures which parameters are fastest on a device, and how long things take on it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from .._version import __version__
from ..drivers.progress import Progress, Stage
from ..drivers.tuned_subjects import Subject, subjects_of
from ..drivers.tuning import SubjectTuning
from ..errors import InputError, ProfileError, ProfileWarning, items, shown, warn
from ..folders import kernels_digest
from ..opencl.device import Runtime, get_runtime
from ..planning.profiles.profile import Profile
from ..planning.profiles.store import measurements, save, shipped_for
from ..planning.tuning.strategies import Strategy
from . import amounts
from .align import told
from .calibrate import calibrated

#: Seconds of a calibration from which on it is also measured what first uses take.
LEAST_FOR_BUILDS = 5.0
#: Seconds of a calibration at most, its share of the budget, and those below which there is none.
CALIBRATION, CALIBRATION_SHARE, LEAST_CALIBRATION = 10.0, 1 / 6, 1.0
#: What a calibration takes beside its runs where all kernels are built, as a share of them: first
#: runs and those of paths; and first uses, where those are measured.
BESIDE, BESIDE_FIRST_USES = 0.9, 0.8
#: What is told of progress are hundredths of a second.
TICKS = 100


@dataclass(frozen=True)
class Tuned:
    """What a tuning gave."""

    profile: Profile
    outcomes: tuple[SubjectTuning, ...]
    #: Where the profile was saved; None: it could not be.
    path: Path | None
    #: Seconds of all.
    seconds: float


def tune(
    device: Any = "auto",
    budget: float | str = "60s",
    *,
    subjects: Iterable[str] | None = None,
    strategy: Strategy | None = None,
    progress: Progress | bool | None = None,
    resume: bool = True,
) -> Profile:
    """Measure which parameters are fastest on a device, and how long things take on it.

    The result is saved as the user's profile of the device (:func:`profile`), which all later plans
    and predictions use.  Without one a device has the profile that ships for its kind.

    For each engine and its lanes (a subject) it searches B, T, alpha and the columns of a block,
    and on NVIDIA the limit of registers.  It gives up what jobs have now only for what is faster
    with confidence for local comparisons of DNA, and not slower for these, proteins and global ones
    together.  Each result is checked before its time counts.  Then it measures the times that
    predictions are made of.

    Parameters
    ----------
    device :
        As for :func:`align`.
    budget : float or str
        Seconds, or a text such as ``"60s"``, ``"2m"`` or ``"0.5h"``.  It is divided among the
        subjects; a sixth, at most 10 s, is for the runs of the calibration, and somewhat more for
        what it takes beside them.  Its builds of kernels do not count, and a first tuning may take
        longer by the build that it is at when the budget ends.
    subjects : iterable of str, optional
        What is tuned, for example ``["wavefront/vector"]``.  None: all that jobs use.
    strategy : Strategy, optional
        Which values are tried next (:mod:`pysw_cl.planning.tuning.strategies`).
    progress : callable or True, optional
        As for :func:`align`, in hundredths of a second of the budget.
    resume : bool
        Whether to go on with what a tuning that was ended early has measured.  Its seconds count as
        spent.  Measurements are kept beside the user's profiles until a tuning is complete.

    Returns
    -------
    Profile
        The profile: ``parameters`` where they beat what jobs had, ``times``, and ``runs``.

    Raises
    ------
    InputError
        For a budget or a subject that does not exist.
    DeviceError
        If there is no usable device.

    Warns
    -----
    ProfileWarning
        If the profile cannot be saved.  It is returned all the same, but no plan uses it.
    """
    return tuned(device, budget, subjects, strategy, progress, resume).profile


def tuned(
    device: Any,
    budget: float | str,
    subjects: Iterable[str] | None = None,
    strategy: Strategy | None = None,
    progress: Progress | bool | None = None,
    resume: bool = True,
) -> Tuned:
    """As :func:`tune`, with what came out for each subject."""
    seconds = amounts.seconds(budget, "budget: ")
    began, runtime = time.monotonic(), get_runtime(device)
    chosen = _subjects(runtime, subjects)
    profile = _blank(runtime)
    path = measurements(profile, resume)
    key = f"{runtime.identity!r}/{kernels_digest()}/{__version__}"
    calibration = min(CALIBRATION, CALIBRATION_SHARE * seconds)
    builds = calibration >= LEAST_FOR_BUILDS and not any(
        name.startswith("build/") for name in profile.times
    )
    aside = (1 + BESIDE + builds * BESIDE_FIRST_USES) * calibration
    left, outcomes = seconds - aside, list[SubjectTuning]()
    with told(progress) as run:
        run.begin(TICKS * seconds)
        run.speed = TICKS

        def tell(stage: Stage, before: float, spent: float) -> None:
            run.tell(TICKS * min(seconds, before + spent), stage)

        for number, subject in enumerate(chosen, 1):
            share = left * subject.weight / sum(one.weight for one in chosen[number - 1 :])
            stage = Stage(f"tuning {subject.name}", number, len(chosen))
            spent = partial(tell, stage, seconds - aside - left)
            outcomes.append(SubjectTuning(subject, share, path, key, strategy, spent).run())
            left = max(0.0, left - outcomes[-1].spent)
        profile = _with_outcomes(profile, outcomes)
        spent = partial(tell, Stage("calibration"), seconds - aside)
        if calibration >= LEAST_CALIBRATION:
            having = runtime.having(profile)
            profile = calibrated(having, profile, calibration, spent, seconds, builds)
        spent(aside)
    measured = calibration >= LEAST_CALIBRATION or any(one.kept() for one in outcomes)
    saved = _saved(profile, path) if measured else None
    return Tuned(profile, tuple(outcomes), saved, time.monotonic() - began)


def _blank(runtime: Runtime) -> Profile:
    """The profile to begin with: that of the device as one of these kernels.  Times with another
    driver or of other kernels are left for those that ship, and runs on other devices."""
    base, identity, digest = runtime.profile()[0], runtime.identity, kernels_digest()
    if base.kernels not in ("", digest) or base.identity.driver not in ("", identity.driver):
        base = replace(shipped_for(identity).profile, parameters=base.parameters)
    own = base.identity.name == identity.name and base.identity.driver == identity.driver
    return replace(base, identity=identity, kernels=digest, runs=base.runs if own else ())


def _subjects(runtime: Runtime, names: Iterable[str] | None) -> list[Subject]:
    """What is tuned; what weighs most comes first.  Raises InputError for an unknown name."""
    known = subjects_of(runtime)
    if names is None:
        return [one for one in known.values() if one.weight]
    listed = [names] if isinstance(names, str) else items(names, "subjects")
    given = list(dict.fromkeys(n if isinstance(n, str) else shown(n) for n in listed))
    unknown = [name for name in given if name not in known]
    if unknown or not given:
        named = f"{shown(unknown[0])} is not one" if unknown else "none is given"
        raise InputError(f"subjects: {named} of {', '.join(known)} on {runtime.info.name}")
    weighed = [replace(known[name], weight=known[name].weight or 1) for name in given]
    return sorted(weighed, key=lambda one: -one.weight)


def _with_outcomes(base: Profile, outcomes: list[SubjectTuning]) -> Profile:
    """A profile with what was found, and with the runs."""
    parameters = {name: dict(own) for name, own in base.parameters.items()}
    for outcome in outcomes:
        if outcome.changed:
            for name, own in outcome.subject.parameters(outcome.values).items():
                parameters[name] = {**parameters.get(name, {}), **own}
    found = [run for outcome in outcomes for run in outcome.kept()]
    again = {("search", run["subject"]) for run in found}
    kept = [run for run in base.runs if (run.get("use"), run.get("subject")) not in again]
    made = f"pysw-cl {__version__}, {time.strftime('%Y-%m-%d')}"
    return replace(base, parameters=parameters, runs=(*kept, *found), made=made)


def _saved(profile: Profile, path: Path | None) -> Path | None:
    """Save a profile, and remove the measurements that it was made from."""
    try:
        saved = save(profile)
    except ProfileError as error:
        warn(f"the profile is not saved: {error}", ProfileWarning)
        return None
    if path is not None:
        with contextlib.suppress(OSError):
            path.unlink()
    return saved
