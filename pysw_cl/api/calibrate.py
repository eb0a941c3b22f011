"""Calibration: runs of designed sizes, and the times that explain them best."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._version import __version__
from ..drivers.measure import KINDS
from ..drivers.problem import Mode
from ..engines.plans import default_plan
from ..engines.registry import setting_of
from ..engines.rowscan.plan import default_rowscan
from ..opencl.device import Runtime
from ..planning.model.counts import CUT, STRIP_ROW, Strips, Work
from ..planning.model.fit import errors, fitted, scaled
from ..planning.model.runs import Setting, sweep_of
from ..planning.model.times import GENERIC, Pace, Times
from ..planning.plan import Plan
from ..planning.profiles.profile import Numbers, Profile
from ..scoring.scoring import Scoring, cached_scoring
from ..sequences.coordinates import MOST_KNOWN
from .align import align
from .calibrate_path import path_times

Letters = NDArray[np.uint8]
#: No tile is cut into sections or computed row by row.
IN_STRIPS = {"sections.least_cells": 1 << 62}
#: A tile is cut into as many sections as groups can sweep at once.
CUT_ONCE = {
    "sections.least_cells": 1,
    "sections.rounds": 1,
    "sections.least_aspect": 0,
    "sections.most_cost": 1000.0,
    "sections.most_cost_beside_pruning": 1000.0,
}
#: Columns of a section.
SECTION = 32_000
#: The same of square tiles, their strips, and how many of these each group takes.
SQUARE_SECTION, SQUARE_STRIPS, SQUARE_ROUNDS = 4000, 60, 4
#: Seconds on the device that a run takes about, and values of alpha that are tried: of local DNA,
#: and of what takes as long but for some of its times.
SECONDS, ALPHAS, OTHER_ALPHAS = 0.02, 5, 3
#: The mode of comparisons from end to end, as subjects name it.
GLOBAL = "global"
#: Columns of a section of as many strips, each of which waits for the one above it.
TALL_SECTION = 2000
#: Times of strips that wait for each other, and of the ends of their blocks.
WAITS = ("hop", "block")
#: Seconds on the device from which on a run tells how fast its cores are: before, they wake up.
LEAST_SCALED = 1e-2
#: The shares of a calibration's seconds for sweeps and for paths of similar sequences, which take
#: somewhat longer.
SWEEPS, PATHS = 0.7, 0.2
#: Letters of the sequences of a first use.
FIRST_SIDE = 2000
#: Runs of some strips from which on they tell how fast the device is.
SOME_RUNS = 3
#: Nine of ten predictions are off by so much at least, whatever few runs say.
LEAST_SPREAD = 0.03


@dataclass
class Case:
    """One run of a calibration."""

    kind: str
    mode: Mode
    m: int
    n: int
    plan: Mapping[str, Any] = field(default_factory=dict)
    use: str = "calibration"
    #: Seconds of the call, and of these on the device.
    seconds: list[float] = field(default_factory=list)
    device: list[float] = field(default_factory=list)

    @property
    def scoring(self) -> Scoring:
        """The scoring of the kind."""
        _, sub_score, gap_cost = KINDS[self.kind]
        return cached_scoring(sub_score, gap_cost, None, "error")

    def setting(self, runtime: Runtime) -> Setting:
        """What the model is asked."""
        return setting_of(runtime, dict(self.plan) or None, self.scoring, self.mode)

    def facts(self, predicted: float) -> dict[str, Any]:
        """The run, as a profile keeps it."""
        return {
            "subject": f"{self.kind}/{self.mode}",
            "values": dict(self.plan),
            "m": self.m,
            "n": self.n,
            "seconds": [float(f"{one:.6g}") for one in self.seconds],
            "predicted": float(f"{predicted:.6g}"),
            "use": self.use,
        }


def calibrated(
    runtime: Runtime,
    profile: Profile,
    budget: float = 10.0,
    repeats: int = 3,
    told: Callable[[int, int], None] = lambda done, total: None,
    most_builds: float = inf,
) -> Profile:
    """``profile`` with the times of its device, measured within about ``budget`` seconds.

    Builds of kernels do not count.  After ``most_builds`` seconds of them nothing more is built.
    Where not all runs of some strips have been made by then, the times that they had are scaled by
    those that were; without any they are kept.  ``told(done, total)`` is called between runs.
    """
    cases = [*designed(runtime), *checks(runtime)]
    measure(runtime, cases, SWEEPS * budget, repeats, told, most_builds)
    done = [case for case in cases if case.seconds]
    times = times_of(runtime, [case for case in done if case.use == "calibration"])
    partly = {
        strips.timed
        for case in cases
        if not case.seconds
        for strips in work_of(runtime, case).strips
    }
    times = {name: own for name, own in times.items() if name not in partly}
    for name in times.keys() & profile.times.keys():  # not each alpha was run
        times[name] = Pace(times[name]).filled(Pace(profile.times[name]))
    times = _with_lanes(times | _of_some(runtime, done, partly, profile.times))
    times |= _of_mixed_lanes(default_plan(runtime), times, profile.times)
    if not partly:  # builds left time for those of paths
        times |= path_times(runtime, {**profile.times, **times}, repeats, PATHS * budget)
    known = Times({**GENERIC.by_subject, **profile.times, **times})
    works = [work_of(runtime, case) for case in done]
    predicted = [known.seconds(work) for work in works]
    off = np.abs(errors(works, [median(case.seconds) for case in done], known))
    spread = max(LEAST_SPREAD, float(np.quantile(off, 0.9))) if len(off) else profile.spread
    runs = [case.facts(p) for case, p in zip(done, predicted, strict=True)]
    return replace(
        profile,
        times={**profile.times, **rounded(times)},
        spread=round(spread, 3),
        made=f"pysw-cl {__version__}, {time.strftime('%Y-%m-%d')}",
        runs=(*(run for run in profile.runs if run.get("use") == "search"), *runs),
    )


def designed(runtime: Runtime, every: bool = False) -> Iterator[Case]:
    """Runs in which each of the times counts: strips of some alphas and each share at once, strips
    that wait for each other, blocks of other sizes, sections, row scan, small and long sequences.
    ``every``: with every alpha, for a profile that others are to use."""
    plan = default_plan(runtime)
    for side in (60, 200, 500):
        yield Case("dna", "local", side, side)
    for side in (1000, 3000, 10_000, 30_000):
        yield Case("dna", "local", side, side)
        yield Case("dna", "global", side, side)
    for kind in KINDS:
        for mode in ("local", "global"):
            if kind == "protein" and mode == "global" and plan.lane_set.of_warps:
                continue  # as fast as local ones
            lanes = plan if kind == "dna" else plan.for_scores("matrix")
            yield from _strips(kind, mode, lanes, every)
    for m, n in ((200, 1_000_000), (1024, 1_000_000), (1024, 3_000_000), (5000, 1_000_000)):
        yield Case("dna", "local", m, n)
    for n in (100_000, 1_000_000):
        yield Case("dna", "local", n, 500)
    if plan.lane_set.of_warps:
        yield Case("dna", "local", 200_000, 20_000, {"tile_cells": 1 << 29})  # eight tiles
        yield Case("dna", "local", 200, MOST_KNOWN + 1)
        if every:
            yield Case("dna", "local", 12_000_000, 20_000)
        yield from _rows(runtime)


def _rows(runtime: Runtime) -> Iterator[Case]:
    """Row scans of short and longer queries, for each number of groups that may share a
    scheduler."""
    scan = default_rowscan(runtime)
    for m in (20, 500, 3000):
        yield Case("dna", "global", m, 200_000, {"engine": "rowscan"})
        for n in (2_400_000, 8_000_000):
            for B in scan.machine.groups(scan.B):
                yield Case("dna", "global", m, n, {"engine": "rowscan", "B": B})


def _strips(kind: str, mode: Mode, plan: Plan, every: bool) -> Iterator[Case]:
    """Strips of some values of alpha (or ``every`` one), for each number of them that may share a
    scheduler."""
    T, groups = plan.T, plan.machine.groups(plan.B)
    few = ALPHAS if mode == "local" and kind == "dna" else OTHER_ALPHAS
    alphas = list(plan.alphas) if every else _some(plan.alphas, few)
    # global strips wait as long as local ones
    marked = _some(tuple(alphas), 3 if every else 2) if mode == "local" else []
    for alpha in alphas:
        fixed = {"alpha": alpha, **IN_STRIPS}
        for B in groups:
            lag = B * (T + plan.chunk)
            width = _columns(plan, alpha, B)
            yield Case(kind, mode, B * T * alpha, max(width, lag // 2), fixed)
            if alpha in marked:  # strips that wait, other blocks, all groups at once
                less = {**fixed, "chunk": plan.chunk // 2}
                for options in (fixed, less):
                    yield Case(kind, mode, 3 * groups[0] * T * alpha, 3000, {**options, "B": B})
                yield Case(kind, mode, B * T * alpha, max(width, lag) // 2, less)
                if kind == "dna" and len(groups) > 1 and every:
                    yield Case(kind, mode, B * T * alpha, 2 * lag, fixed)
                    yield Case(kind, mode, B * T * alpha, 4 * lag, fixed)
        if mode == "local" and plan.lane_set.prunes:
            yield from _sections(kind, plan, alpha, groups, alpha in marked)
            if len(groups) > 1 and (alpha in marked or every):
                yield from _square(kind, plan, alpha, groups)


def _sections(
    kind: str, plan: Plan, alpha: int, groups: Sequence[int], marked: bool
) -> Iterator[Case]:
    """Sections of few strips, for each number of strips that may share a scheduler."""
    one = {"alpha": alpha, **CUT_ONCE}

    def case(strips: int, B: int, **more: Any) -> Case:
        width = max(2000, _columns(plan, alpha, B) // 4) if len(groups) == 1 else SECTION
        n = min(4_500_000, max(1, B // strips) * width)
        return Case(kind, "local", strips * plan.T * alpha, n, {**one, "B": B, **more})

    if len(groups) == 1:
        yield case(1, plan.B)
        return
    for B in groups:
        yield case(12, B)
    yield case(4, plan.B)
    if marked:
        yield case(100, plan.B)
        yield case(12, plan.B, chunk=plan.chunk // 2)


def _square(kind: str, plan: Plan, alpha: int, groups: Sequence[int]) -> Iterator[Case]:
    """Sections of as many strips as square tiles have, of which each group takes several."""
    m = SQUARE_STRIPS * plan.T * alpha
    for B in groups:
        n = SQUARE_ROUNDS * B // SQUARE_STRIPS * SQUARE_SECTION
        given = {"alpha": alpha, "B": B, **CUT_ONCE, "sections.rounds": SQUARE_ROUNDS}
        for chunk in (plan.chunk, plan.chunk // 2):
            yield Case(kind, "local", m, n, {**given, "chunk": chunk})
        n = B // SQUARE_STRIPS * TALL_SECTION
        yield Case(kind, "local", m, n, {"alpha": alpha, **CUT_ONCE, "B": B})


def _columns(plan: Plan, alpha: int, B: int) -> int:
    """The columns that so many strips sweep in about `SECONDS`, by what is known so far."""
    times = plan.machine.times
    machine = plan.machine
    line = times.pace(f"wavefront/{plan.lanes}").line(alpha, machine.share(B))
    pace = line.pace(machine.busy(B, B), plan.chunk)
    return int(min(400_000, max(3000, SECONDS / max(pace, 1e-10))))


def _some(values: tuple[int, ...], most: int) -> list[int]:
    """At most so many of the values, the ends among them, spread evenly."""
    if len(values) <= most:
        return list(values)
    places = np.unique(np.linspace(0, len(values) - 1, most).round().astype(int))
    return [values[place] for place in places]


def checks(runtime: Runtime, count: int = 8) -> Iterator[Case]:
    """Runs that are not fitted: they say how far off predictions are."""
    rng = np.random.default_rng(7)
    cells = 0.1 / _cell(default_plan(runtime))
    for _ in range(count):
        size, aspect = cells * 10 ** rng.uniform(-2, 0), 10 ** rng.uniform(-1.5, 1.5)
        m = int(max(200, (size * aspect) ** 0.5))
        yield Case("dna", "local", m, max(200, int(size / m)), use="check")


def _cell(plan: Plan) -> float:
    """Seconds of a cell, by what is known so far."""
    m, n = plan.device_rows, 10**6
    return plan.cost.tile(plan, plan.alpha, m, n) / (m * n)


def measure(
    runtime: Runtime,
    cases: list[Case],
    budget: float,
    repeats: int,
    told: Callable[[int, int], None],
    most_builds: float = inf,
) -> None:
    """Run each case once, then, as long as the ``budget`` lasts, up to ``repeats`` times: the
    shortest first, of which most is the host's, and whose first calls take longest.  First uses of
    kernels do not count; they may take ``most_builds`` seconds."""
    letters = {kind: _letters(given[0], cases, kind) for kind, given in KINDS.items()}
    total = len(cases) * (1 + repeats)
    ends = time.monotonic() + most_builds
    spent = 0.0
    for done, case in enumerate(cases):
        if time.monotonic() > ends + spent:
            cases = cases[:done]
            break
        told(done, total)
        built = len(runtime.programs)
        _run(runtime, case, letters[case.kind])
        if len(runtime.programs) > built:
            case.seconds.clear()
            case.device.clear()
        else:
            spent += case.seconds[0]
    done = len(cases)
    for case in cases:
        if not case.seconds:
            told(done, total)
            done += 1
            _run(runtime, case, letters[case.kind])
            spent += case.seconds[0]
    for case in sorted(cases, key=lambda case: case.seconds[0]):
        while len(case.seconds) < repeats:
            if spent > budget:
                return
            told(done, total)
            done += 1
            _run(runtime, case, letters[case.kind])
            spent += case.seconds[-1]


def _letters(alphabet: bytes, cases: list[Case], kind: str) -> Letters:
    """Random letters for all cases of a kind."""
    most = max((case.m + case.n for case in cases if case.kind == kind), default=0)
    codes = np.random.default_rng(1).integers(0, len(alphabet), most, dtype=np.uint8)
    return np.frombuffer(alphabet, np.uint8)[codes]


def _run(runtime: Runtime, case: Case, letters: Letters) -> None:
    """One run of a case, whose seconds are added to it."""
    _, sub_score, gap_cost = KINDS[case.kind]
    query, target = letters[: case.m], letters[case.m : case.m + case.n]
    started = time.perf_counter()
    found = align(
        query,
        target,
        mode=case.mode,
        output="score",
        sub_score=sub_score,
        gap_cost=gap_cost,
        device=runtime,
        plan=dict(case.plan) or None,
        kernel_times=True,
        max_cost=None,
    )
    case.seconds.append(time.perf_counter() - started)
    case.device.append(sum(found.stats.kernel_seconds.values()))


def work_of(runtime: Runtime, case: Case) -> Work:
    """What a case does."""
    return sweep_of(case.setting(runtime), case.m, case.n)


def times_of(runtime: Runtime, cases: list[Case]) -> dict[str, dict[str, float]]:
    """The times that explain the cases: first those of kernels, by the device's clock, then those
    of the host, by what calls take beside that."""
    works = [work_of(runtime, case) for case in cases]
    swept = [k for k, work in enumerate(works) if work.strips]
    columns = [
        one
        for k in swept
        for one in works[k].strips
        if "alpha" in cases[k].plan or one.subject.startswith("rowscan")
    ]
    if default_plan(runtime).machine.schedulers:
        device = {k: median(cases[k].device) for k in swept}
        times = _of_kernels(works, device, columns)
    else:  # cores that other programs use, too: the ratios of a column and its rows are known
        least = {k: min(cases[k].device) for k in swept}  # what others take makes runs longer alone
        large = [k for k in swept if least[k] >= LEAST_SCALED] or swept
        done = [Work(works[k].strips, _of_device(works[k])) for k in large]
        times = scaled(done, [least[k] for k in large], GENERIC)
    host = [k for k in swept if median(cases[k].seconds) > median(cases[k].device)]
    rest = [median(cases[k].seconds) - median(cases[k].device) for k in host]
    counts = [works[k].counts - _of_device(works[k]) for k in host]
    beside = fitted([Work([], own) for own in counts], rest, Times(times))
    times |= {name: {**times.get(name, {}), **own} for name, own in beside.items()}
    held = [k for k, work in enumerate(works) if not work.strips]
    if held:
        times |= fitted([works[k] for k in held], [median(cases[k].seconds) for k in held])
    return times


def _of_kernels(
    works: Sequence[Work], device: Mapping[int, float], columns: Sequence[Strips]
) -> dict[str, dict[str, float]]:
    """Times of strips, then those of global ones, which wait for each other as long as those do,
    and those of sections, which do not: each of theirs passes special columns."""

    def found(kind: str, known: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        these = [k for k in device if _kind_of(works[k]) == kind]
        swept = [Work(works[k].strips, _of_device(works[k])) for k in these]
        return fitted(swept, [device[k] for k in these], Times(known), columns)

    times = found("", {})
    for kind, same in ((GLOBAL, (*WAITS, "busy")), (CUT, ())):
        shared = {
            subject: {name: value for name, value in times[other].items() if name.startswith(same)}
            for subject, other in _twins(columns, kind).items()
            if other in times
        }
        own = found(kind, {**times, **shared})
        times = (
            times | shared | {name: {**shared.get(name, {}), **more} for name, more in own.items()}
        )
    return times


def _kind_of(work: Work) -> str:
    """Is it of sections, of global strips, or neither ("")?"""
    if any(one.cut for one in work.strips):
        return CUT
    return GLOBAL if any(GLOBAL in one.subject.split("/") for one in work.strips) else ""


def _twins(columns: Sequence[Strips], kind: str) -> dict[str, str]:
    """The subjects of a kind (see `_kind_of`), each with that of strips that wait as long."""
    if kind == CUT:
        return {one.timed: one.subject for one in columns if one.cut}
    return {
        one.timed: "/".join("local" if part == GLOBAL else part for part in one.subject.split("/"))
        for one in columns
        if GLOBAL in one.subject.split("/") and not one.cut
    }


def _of_device(work: Work) -> Counter[tuple[str, str]]:
    """Counts beside strips of what the device does."""
    return Counter(
        {
            (subject, name): count
            for (subject, name), count in work.counts.items()
            if name == STRIP_ROW or (subject, name) == ("call", "check")
        }
    )


def _with_lanes(times: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """The times with those of lanes whatever the score: of the first kind of a local comparison."""
    for subject in sorted(times, key=lambda one: ("local" not in one, "matrix" in one)):
        parts = subject.split("/")
        if parts[0] == "wavefront" and len(parts) > 2:
            kind = [CUT] if parts[-1] == CUT else []
            times.setdefault("/".join([*parts[:2], *kind]), times[subject])
    return times


def _of_mixed_lanes(
    plan: Plan, times: Mapping[str, Numbers], before: Mapping[str, Numbers]
) -> dict[str, dict[str, float]]:
    """Times of lanes of 11 bits, which are not measured: they change as those of 16 bits do, whose
    place they take, so that the choice between both stays what it was."""
    usual, mixed = f"wavefront/{plan.lanes}", f"wavefront/{plan.lane_set.mixed}"
    own, other = times.get(usual, {}), before.get(usual, {})
    both = [name for name in own if name[0].isdigit() and own[name] and other.get(name)]
    if mixed not in before or mixed in times or not both:
        return {}
    change = median([own[name] / other[name] for name in both])
    return {mixed: {name: change * value for name, value in before[mixed].items()}}


def _of_some(
    runtime: Runtime, cases: Sequence[Case], partly: set[str], before: Mapping[str, Numbers]
) -> dict[str, dict[str, float]]:
    """Times of the subjects ``partly``, of which only some cases were run: those that they had, as
    much longer or shorter as these runs took."""
    known, ratios = Times({**GENERIC.by_subject, **before}), dict[str, list[float]]()
    middle = median if default_plan(runtime).machine.schedulers else min  # others use cores, too
    for case in cases:
        work = work_of(runtime, case)
        subjects = {strips.timed for strips in work.strips}
        expected = known.seconds(Work(work.strips, _of_device(work)))
        if len(subjects) == 1 and subjects <= partly and expected > 0:
            ratios.setdefault(subjects.pop(), []).append(middle(case.device) / expected)
    return {
        subject: {name: median(found) * value for name, value in known.of(subject).items()}
        for subject, found in ratios.items()
        if len(found) >= SOME_RUNS and median(found) > 0
    }


def rounded(times: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Times with four digits, without those that are 0, unless they say what was measured."""
    return {
        subject: {
            name: float(f"{value:.4g}") for name, value in own.items() if value or name[0].isdigit()
        }
        for subject, own in sorted(times.items())
    }


def first_uses(runtime: Runtime) -> dict[str, dict[str, float]]:
    """Seconds that the first use of each kind of kernel takes: its build, whatever the driver does
    before it runs, and the first run."""
    found: dict[str, dict[str, float]] = {}
    for kind in KINDS:
        for mode in ("local", "global"):
            case = Case(kind, mode, FIRST_SIDE, FIRST_SIDE)
            work = work_of(runtime, case)
            letters = _letters(KINDS[kind][0], [case], kind)
            _run(runtime.anew(str(secrets.randbelow(1 << 60))), case, letters)
            for strips in work.strips:
                found[f"build/{strips.subject}"] = {"build": case.seconds[0]}
    return found
