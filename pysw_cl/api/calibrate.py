"""Calibration: runs of designed sizes, and the times that explain them best."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np

from ..drivers.options import Output
from ..drivers.tuning import KINDS, letters_of
from ..engines.plans import default_plan
from ..opencl.device import Runtime
from ..planning.model.runs import Work, errors, fitted, nonnegative, swept_again
from ..planning.model.times import CUT, GENERIC, Machine, Pace
from ..planning.plan import Plan
from ..planning.profiles.profile import Numbers, Profile
from .align import align
from .calibrate_cases import GLOBAL, MODES, Case, checks, designed

#: Named times of several subjects.
Times = Mapping[str, Numbers]
Told = Callable[[float], None]
#: Times that global strips share with local ones: of waits, ends of blocks, neighbours.
SHARED = ("hop", "block", "busy")
#: Seconds on the device from which on a run tells how fast its cores are: before, they wake up.
LEAST_SCALED = 1e-2
#: The shares of a calibration's seconds for sweeps, and for paths of similar sequences.
SWEEPS, PATHS = 0.7, 0.2
#: Of two similar pairs, seconds of the longer one's sweep, and its most letters.
PATH_SECONDS, LONGEST_PATH = 0.15, 600_000
#: Letters of the sequences of a first use.
FIRST_SIDE = 2000
#: How often each size is run, where the seconds last; and runs of some strips from which on they
#: tell how fast the device is.
REPEATS, SOME_RUNS = 3, 3
#: Nine of ten predictions are off by so much at least, whatever few runs say.
LEAST_SPREAD = 0.03
#: Others' share of the processors below which times are as on an idle machine, and the highest.
IDLE, MOST = 0.05, 0.95
STAT = Path("/proc/stat")


def calibrated(
    runtime: Runtime, profile: Profile, budget: float, told: Told, most_builds: float, builds: bool
) -> Profile:
    """``profile`` with the times of its device, measured within about ``budget`` seconds.

    Builds of kernels do not count.  After ``most_builds`` seconds of them nothing more is built.
    Where not all runs of some strips have been made by then, the times that they had are scaled by
    those that were; without any they are kept.  ``builds``: whether it is also measured what first
    uses take.  ``told`` is called between runs, with the seconds of the budget that are over."""
    began, before, cases = time.monotonic(), others(), [*designed(runtime), *checks(runtime)]
    measure(cases, SWEEPS * budget, lambda share: told(share * budget), most_builds)
    done, plan = [case for case in cases if case.seconds], default_plan(runtime)
    fit = [case for case in done if case.use == "calibration"]
    missing = {one.subject for case in cases if not case.seconds for one in case.work.strips}
    alone = plan.machine.schedulers > 0  # else runs differ much: it is only sought how fast it is
    partly = missing if alone else {one.subject for case in cases for one in case.work.strips}
    times: dict[str, Numbers] = {
        name: Pace(own).filled(Pace(profile.times.get(name, {})))  # not each alpha was run
        for name, own in _fitted(fit, alone).items()
        if name not in partly
    }
    times |= _scaled(fit, partly, profile.times, alone)
    times = _with_lanes(plan, times, profile.times)
    if not missing:  # builds left time for those of paths
        times |= path_times(runtime, {**profile.times, **times}, PATHS * budget)
    known = GENERIC.having({**profile.times, **times})
    off = np.abs(errors([(case.work, median(case.seconds)) for case in done], known))
    spread = max(LEAST_SPREAD, float(np.quantile(off, 0.9))) if len(off) else profile.spread
    busy = min(MOST, (others() - before) / (time.monotonic() - began))
    if busy <= IDLE or runtime.info.kind != "cpu":
        busy = 0.0
    if builds:
        times |= first_uses(runtime)
    runs = [case.facts(case.work.seconds(known)) for case in done]
    return replace(
        profile,
        times={**profile.times, **rounded(times)},
        # alone, runs may take so much less; beside more, so much more
        spread=round((1 + spread) / (1 - busy) - 1, 3),
        others=round(busy, 2),
        runs=(*(run for run in profile.runs if run.get("use") == "search"), *runs),
    )


def measure(cases: list[Case], budget: float, told: Told, most_builds: float) -> None:
    """Run each case once, then, as long as the ``budget`` lasts, up to `REPEATS` times, the
    shortest first, of which most is the host's.  First uses of kernels do not count; they may take
    ``most_builds`` seconds.  ``told``: with the share that is done."""
    most, began = max(case.m + case.n for case in cases), time.monotonic()
    letters = {kind: letters_of(kind, most) for kind in KINDS}

    def spent() -> float:
        return sum(sum(case.seconds) for case in cases)

    def run(case: Case) -> None:
        told(sum(len(case.seconds) for case in cases) / (REPEATS * len(cases)))
        case.run(letters[case.kind])

    for place, case in enumerate(cases):
        if time.monotonic() - began - spent() > most_builds:
            cases = cases[:place]
            break
        run(case)
    for case in cases:
        if not case.seconds:
            run(case)
    for case in sorted(cases, key=lambda case: sum(case.seconds)):
        while len(case.seconds) < REPEATS and spent() <= budget:
            run(case)


def _fitted(cases: list[Case], alone: bool) -> dict[str, Numbers]:
    """The times that explain the cases: those of kernels (``alone``), by the device's clock, then
    those of the host, by what calls take beside that.  Of kernels first those of strips, then of
    global ones, which wait for each other as long, then of sections, which do not."""
    times, swept = Machine({}), [case for case in cases if case.work.strips]
    every = ((one, "alpha" in case.plan) for case in swept for one in case.work.strips)
    columns = [one for one, fixed in every if fixed or one.way == "rows"]
    if alone:
        for kind in ("", GLOBAL, CUT):
            if kind == GLOBAL:
                shared = {
                    one.subject: {name: t for name, t in own.items() if name.startswith(SHARED)}
                    for one in columns
                    if f"/{GLOBAL}/" in one.subject
                    if (own := times.by_subject.get(one.subject.replace(GLOBAL, "local")))
                }
                times = times.having(shared)
            some = [case for case in swept if _kind_of(case) == kind]
            runs = [(case.work.on_device, median(case.device)) for case in some]
            times = fitted(runs, times, columns)
    beside = []
    for case in swept:
        host = Work([], case.work.counts - case.work.on_device.counts)
        beside.append((host, median(case.seconds) - median(case.device)))
    held = [(case.work, median(case.seconds)) for case in cases if not case.work.strips]
    return dict(fitted(held, fitted(beside, times)).by_subject)


def _kind_of(case: Case) -> str:
    """Are its strips sections, global ones, or neither ("")?"""
    parts = {part for one in case.work.strips for part in one.subject.split("/")}
    return next((kind for kind in (CUT, GLOBAL) if kind in parts), "")


def _with_lanes(plan: Plan, times: Times, before: Times) -> dict[str, Numbers]:
    """The times with those of lanes whatever the score: of the first kind of a local comparison.
    Those of lanes of 11 bits, which are not measured, change as those of 16 bits do, so that the
    choice between both stays what it was."""
    found = dict(times)
    for subject in sorted(times, key=lambda one: ("local" not in one, "matrix" in one)):
        parts = subject.split("/")
        if parts[0] == "wavefront" and len(parts) > 2:
            kind = [CUT] if parts[-1] == CUT else []
            found.setdefault("/".join([*parts[:2], *kind]), times[subject])
    usual, mixed = f"wavefront/{plan.lanes}", f"wavefront/{plan.lane_set.mixed}"
    own, other = found.get(usual, {}), before.get(usual, {})
    both = [name for name in own if name[0].isdigit() and own[name] and other.get(name)]
    if mixed in before and mixed not in found and both:
        change = median([own[name] / other[name] for name in both])
        found[mixed] = {name: change * value for name, value in before[mixed].items()}
    return found


def _scaled(cases: Sequence[Case], partly: set[str], before: Times, alone: bool) -> Times:
    """Times of the subjects ``partly``: those that they had, as much longer or shorter as the cases
    took.  Not ``alone``: on cores that others use, which only make runs longer."""
    known = GENERIC.having(before if alone else {})
    ratios = dict[str, list[tuple[float, float]]]()
    for case in cases:
        subjects = {one.subject for one in case.work.strips}
        expected = case.work.on_device.seconds(known)
        if len(subjects) == 1 and subjects <= partly and expected > 0:
            taken = median(case.device) if alone else min(case.device)
            ratios.setdefault(subjects.pop(), []).append((taken, taken / expected))
    times = {}
    for subject, found in ratios.items():
        steady = [ratio for taken, ratio in found if taken >= LEAST_SCALED]
        change = median(steady or [ratio for _, ratio in found])
        if len(found) >= (SOME_RUNS if alone else 1) and change > 0:
            times[subject] = {name: change * value for name, value in known.of(subject).items()}
    return times


def path_times(runtime: Runtime, times: Times, budget: float) -> Times:
    """The times of "path", given those of sweeps: of two pairs the seconds of a path less those of
    a score, which are run up to `REPEATS` times while the ``budget`` of seconds lasts."""
    known = GENERIC.having(times)
    case = partial(Case, runtime, "dna")
    side, ends, rng = 20_000, time.monotonic() + budget, np.random.default_rng(5)
    while side < LONGEST_PATH and case("local", side, side).work.seconds(known) < PATH_SECONDS:
        side = int(side * 1.2)
    # a grid cell that is swept again needs 16 bits, as global scores do
    cell = case(GLOBAL, side, side).work.seconds(known) / side**2
    a, b = [], []
    for length in (side * 2 // 5, side):
        query, other = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, (2, length))]
        target = np.where(rng.random(length) < 0.08, other, query)
        seconds: dict[Output, list[float]] = {"score": [], "path": []}
        while len(seconds["path"]) <= REPEATS:  # the first ones build kernels
            for output, taken in seconds.items():
                started = time.perf_counter()
                align(query, target, output=output, device=runtime)
                taken.append(time.perf_counter() - started)
            if len(seconds["path"]) > 1 and time.monotonic() > ends:
                break
        score, path = (min(taken[1:]) for taken in seconds.values())
        sides = length, length
        counts = swept_again(case("local", *sides).setting, *sides, sides)
        a.append([1 / path, counts["path", "row"] / path])
        b.append(max(0.0, path - score - cell * counts["path", "cell"]) / path)
    call, row = nonnegative(np.array(a), np.array(b))
    return {"path": {"call": float(call), "row": float(row), "cell": cell}}


def rounded(times: Times) -> dict[str, dict[str, float]]:
    """Times with four digits, without those that are 0, unless they say what was measured."""
    return {
        subject: {
            name: float(f"{value:.4g}") for name, value in own.items() if value or name[0].isdigit()
        }
        for subject, own in sorted(times.items())
    }


def first_uses(runtime: Runtime) -> Times:
    """Seconds that the first use of each kind of kernel takes: its build and its first run."""
    found: dict[str, dict[str, float]] = {}
    for kind, mode in product(KINDS, MODES):
        new = runtime.anew(str(secrets.randbelow(1 << 60)))
        case = Case(new, kind, mode, FIRST_SIDE, FIRST_SIDE)
        seconds = case.run(letters_of(kind, 2 * FIRST_SIDE))
        found |= {f"build/{strips.subject}": {"build": seconds} for strips in case.work.strips}
    return found


def others() -> float:
    """Seconds so far that each of our processors worked for others; 0 where nobody says it."""
    if not (hasattr(os, "sched_getaffinity") and STAT.exists()):
        return 0.0
    own = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    lines = [line.split() for line in STAT.read_text().splitlines()]
    # user, nice, system; after idle and waiting interrupts of two kinds, and other machines
    busy = sum(sum(map(int, one[1:4] + one[6:9])) for one in lines if one[0] in own)
    return (busy / os.sysconf("SC_CLK_TCK") - time.process_time()) / len(own)
