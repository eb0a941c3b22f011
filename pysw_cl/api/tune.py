"""`tune`: measures which parameters are fastest on a device, and how long things take on it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from .._version import __version__
from ..drivers.progress import Progress, Tell, untold
from ..drivers.tuning import Case, Subject, TileTimer, subjects_of
from ..errors import InputError, ProfileError, ProfileWarning, items, shown, warn
from ..folders import kernels_digest
from ..opencl.device import Runtime, get_runtime
from ..planning.profiles.profile import Profile, measurements, run_facts, save, shipped_for
from ..planning.tuning.runner import Runner
from ..planning.tuning.search import MOST, search
from ..planning.tuning.strategies import Given, Strategy, Values
from . import amounts
from .bar import told
from .calibrate import calibrated

#: Seconds of a calibration from which on it is also measured what first uses take.
LEAST_FOR_BUILDS = 5.0
#: Seconds of a calibration at most, its share of the budget, and those below which there is none.
CALIBRATION, CALIBRATION_SHARE, LEAST_CALIBRATION = 10.0, 1 / 6, 1.0
#: What a calibration takes beside its runs where all kernels are built, as a share of them: first
#: runs and those of paths; and first uses, where those are measured.
BESIDE, BESIDE_FIRST_USES = 0.9, 0.8
#: Seconds that a run of the start keeps the device busy at least, and the share of a subject's
#: seconds that one run may take: with little time tiles are small.
BUSY, MOST_SHARE = 0.02, 1 / 60
#: The share of a subject's seconds for its tile's size and one case; the rest is for all.
SEARCH_SHARE = 0.7
#: The search is by the first; its best values, so many at most, are then compared by all.
MOST_CANDIDATES = 8
CASES: tuple[Case, ...] = (("dna", True), ("protein", True), ("dna", False))
#: The share of a search's seconds that each value may run in one race: on a device that others use,
#: too, many values are tried a few times rather than few very often.  It may run so often at least.
RACE_SHARE, LEAST_TURNS = 0.05, 16
#: Runs that are kept of each values, and values of each subject.
KEPT_RUNS, KEPT_VALUES = 5, 150
#: What is told of progress are hundredths of a second.
TICKS = 100


@dataclass
class SubjectTuning:
    """The tuning of one subject, and what comes out of it."""

    subject: Subject
    #: Its seconds.
    budget: float
    #: The file of measurements.
    path: Path | None = None
    strategy: Strategy | None = None
    #: Called after each run with the seconds that were spent, and the budget.
    tell: Tell = untold
    #: The values that are faster than the start for sure, if any are; and why.
    faster: Values | None = None
    why: str = "its seconds are over before the search begins"
    #: Rows and columns of the tile that is timed, what ran it, and the seconds that all took.
    size: tuple[int, int] = 0, 0
    runner: Runner = field(init=False)
    spent: float = 0.0
    #: Runs of a value in one race at most; 0 before the search.
    turns: int = 0

    def run(self) -> SubjectTuning:
        seconds = self._choose_size()
        if seconds is not None and self.spent < SEARCH_SHARE * self.budget:
            turns = int(RACE_SHARE * SEARCH_SHARE * self.budget / seconds)
            self.turns = min(MOST, max(LEAST_TURNS, turns))
            self.runner, found = self._search("search", CASES[:1], self.strategy, SEARCH_SHARE)
            self.faster, self.why = self._chosen(found)
        return self

    def kept(self) -> list[dict[str, Any]]:
        """What a profile keeps of the runs: those of the values that were run most often."""
        ran = [trial for trial in self.runner.tried if trial.seconds and self.turns]
        ran.sort(key=lambda trial: -len(trial.seconds))
        of = self.subject.name, "search", *self.size
        return [run_facts(*of, one.values, one.seconds[-KEPT_RUNS:]) for one in ran[:KEPT_VALUES]]

    def _key(self, *parts: object) -> str:
        """What times depend on beside the values."""
        subject, digest = self.subject, kernels_digest()
        every = repr(subject.runtime.identity), digest, __version__, subject.name, *parts
        return "/".join(map(str, every))

    def _note(self, spent: float) -> None:
        self.spent = spent
        self.tell(spent, self.budget)

    def _choose_size(self) -> float | None:
        """Choose a tile that fills the device and keeps it busy, or a smaller one where the time is
        short, by a run of the smallest and the model.  Returns its seconds; None if it fails."""
        subject, sizes = self.subject, self.subject.sizes()

        def measure(size: Values) -> float:
            return TileTimer(subject, CASES[0], int(size["m"]), int(size["n"]))(subject.start)

        runner = Runner(measure, self.path, self._key("size"), told=self._note)
        small = self.size = next(sizes)
        first, self.runner = runner.of({"m": small[0], "n": small[1]}), runner
        seconds = expected = runner.run(first) or 0.0
        if first.failure:
            self.why = f"the default fails: {first.failure.why}"
            return None
        for larger in sizes:
            if expected >= BUSY and subject.fills(*self.size):
                break
            # ratios of the model's times are known of any device
            expected = seconds * subject.plan.tile_cost(*larger) / subject.plan.tile_cost(*small)
            if expected > MOST_SHARE * self.budget:
                break
            self.size = larger
        again = runner.run(runner.of({"m": self.size[0], "n": self.size[1]}))
        if again is None:  # the device has no memory for a larger one, for example
            self.size = small
        return again or seconds

    def _search(
        self, what: str, cases: Sequence[Case], strategy: Strategy | None, share: float = 1.0
    ) -> tuple[Runner, Values | None]:
        """A search for a share of the seconds, by the geometric mean over ``cases``."""
        timers = [TileTimer(self.subject, case, *self.size) for case in cases]

        def measure(values: Values) -> float:
            return geometric_mean(timer(values) for timer in timers)

        space, key = self.subject.space(*self.size), self._key(what, *self.size)
        runner = Runner(measure, self.path, key, space.build, self.spent, self._note)
        budget = min(share * self.budget, self.budget - self.spent)
        return runner, search(space, runner, budget, strategy, self.turns)

    def _chosen(self, found: Values | None) -> tuple[Values | None, str]:
        """The values that the subject gets instead of the start, if any, and why."""
        start = self.subject.start
        if found is None:
            return None, "all values fail"
        if found == start:
            return None, "nothing is faster for sure"
        # where there is time for it: their kernels have to be built
        if self.budget - self.spent >= len(CASES) * self.runner.longest:
            _, found = self._search("together", CASES, Given(self._candidates(found)))
        if found is None or found == start:
            return None, "nothing is faster for sure for DNA, proteins and global ones together"
        return found, "faster for sure"

    def _candidates(self, best: Values) -> list[Values]:
        """What is tried with all scores: the best values; the best of those that have the start's
        value of a parameter; and the best of each other build."""
        start = self.subject.start
        ranking = [best, *(one.values for one in self.runner.ranking())]
        firsts = [next((v for v in ranking if v[name] == start[name]), best) for name in start]
        builds: dict[Any, Values] = {}
        for values in ranking:
            builds.setdefault(self.runner.build(values), values)
        found = [best, *firsts, *builds.values()]
        return [one for k, one in enumerate(found) if one not in found[:k]][:MOST_CANDIDATES]


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
    and predictions use.

    For each engine and its lanes (a subject) it searches B, T, alpha and the columns of a block,
    and on NVIDIA the limit of registers.  It gives up what jobs have now only for what is surely
    faster for local comparisons of DNA, and not slower for these, proteins and global ones
    together.  Then it measures the times that predictions are made of.

    Parameters
    ----------
    device :
        As for :func:`align`.
    budget : float or str
        Seconds, or a text such as ``"60s"``, ``"2m"`` or ``"0.5h"``, for all subjects; a sixth of
        it, at most 10 s, is for the runs of the calibration, whose builds of kernels do not count.
        A first tuning may take longer by the build that it is at when the budget ends.
    subjects : iterable of str, optional
        What is tuned, for example ``["wavefront/vector"]``.  None: all that jobs use.
    strategy : Strategy, optional
        Which values are tried next: :class:`pysw_cl.planning.tuning.strategies.Strategy`.
    progress : callable or True, optional
        As for :func:`align`, in hundredths of a second of the budget.
    resume : bool
        Whether to go on with what a tuning that was ended early has measured.  Its seconds count as
        spent.  Measurements are kept beside the user's profiles until a tuning is complete.

    The profile has ``parameters`` where they beat what jobs had, ``times``, and ``runs``.  If it
    cannot be saved, a ProfileWarning says so; it is returned all the same, but no plan uses it.
    Raises InputError for a budget or subject that does not exist, DeviceError without a device."""
    return tuned(device, budget, subjects, strategy, progress, resume)[0]


def tuned(
    device: Any,
    budget: float | str,
    subjects: Iterable[str] | None = None,
    strategy: Strategy | None = None,
    progress: Progress | bool | None = None,
    resume: bool = True,
) -> tuple[Profile, list[SubjectTuning], Path | None]:
    """As :func:`tune`, with what came out for each subject, and where the profile was saved."""
    seconds = amounts.seconds(budget, "budget: ")
    runtime = get_runtime(device)
    chosen, profile = _subjects(runtime, subjects), _blank(runtime)
    path = measurements(profile, resume)
    calibration = min(CALIBRATION, CALIBRATION_SHARE * seconds)
    known = any(name.startswith("build/") for name in profile.times)
    builds = calibration >= LEAST_FOR_BUILDS and not known
    aside = (1 + BESIDE + builds * BESIDE_FIRST_USES) * calibration
    left, outcomes = seconds - aside, list[SubjectTuning]()
    with told(progress) as run:
        run.begin(TICKS * seconds)
        run.speed = TICKS
        for number, subject in enumerate(chosen, 1):
            share = left * subject.weight / sum(one.weight for one in chosen[number - 1 :])
            later, name = left - share + aside, f"tuning {subject.name}"
            tell = run.step(name, number, len(chosen), share, later)
            outcomes.append(SubjectTuning(subject, share, path, strategy, tell).run())
            left = max(0.0, left - outcomes[-1].spent)
        profile = _with_outcomes(profile, outcomes)
        tell = run.step("calibration", 1, 1, aside)
        if calibration >= LEAST_CALIBRATION:
            of, told_of = runtime.having(profile), lambda spent: tell(spent, aside)
            profile = calibrated(of, profile, calibration, told_of, seconds, builds)
        tell(1, 1)
    measured = calibration >= LEAST_CALIBRATION or any(one.kept() for one in outcomes)
    return profile, outcomes, _saved(profile, path) if measured else None


def _blank(runtime: Runtime) -> Profile:
    """The profile to begin with: that of the device as one of these kernels.  Times with another
    driver or of other kernels are left for those that ship, and runs on other devices."""
    base, identity, digest = runtime.profile()[0], runtime.identity, kernels_digest()
    if base.kernels not in ("", digest) or base.identity.driver not in ("", identity.driver):
        base = replace(shipped_for(identity).profile, parameters=base.parameters)
    own = base.identity.name == identity.name and base.identity.driver == identity.driver
    base = replace(base, identity=identity, memory=runtime.facts.memory)
    return replace(base, kernels=digest, runs=base.runs if own else ())


def _subjects(runtime: Runtime, names: Iterable[str] | None) -> list[Subject]:
    """What is tuned; what weighs most comes first.  Raises InputError for an unknown name."""
    known = subjects_of(runtime)
    if names is None:
        return [one for one in known.values() if one.used]
    given = [names] if isinstance(names, str) else items(names, "subjects")
    unknown = [name for name in given if not isinstance(name, str) or name not in known]
    if unknown or not given:
        named = f"{shown(unknown[0])} is not one" if unknown else "none is given"
        raise InputError(f"subjects: {named} of {', '.join(known)} on {runtime.info.name}")
    return [one for name, one in known.items() if name in given]


def _with_outcomes(base: Profile, outcomes: list[SubjectTuning]) -> Profile:
    """A profile with what was found, and with the runs."""
    parameters = {name: dict(own) for name, own in base.parameters.items()}
    for outcome in outcomes:
        if outcome.faster is not None:
            for name, own in outcome.subject.parameters(outcome.faster).items():
                parameters[name] = {**parameters.get(name, {}), **own}
    found = [run for outcome in outcomes for run in outcome.kept()]
    again = {("search", run["subject"]) for run in found}
    kept = [run for run in base.runs if (run.get("use"), run.get("subject")) not in again]
    made = f"pysw-cl {__version__}, {time.strftime('%Y-%m-%d')}"
    return replace(base, parameters=parameters, runs=(*kept, *found), made=made)


def _saved(profile: Profile, path: Path | None) -> Path | None:
    try:
        saved = save(profile)
    except ProfileError as error:
        warn(f"the profile is not saved: {error}", ProfileWarning)
        return None
    if path is not None:
        with contextlib.suppress(OSError):
            path.unlink()
    return saved
