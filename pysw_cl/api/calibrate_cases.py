"""The runs of a calibration: what is compared, in designed and in random sizes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from ..drivers.problem import Mode
from ..drivers.tuning import KINDS
from ..engines.plans import default_plan
from ..engines.registry import setting_of
from ..engines.rowscan.plan import default_rowscan
from ..opencl.device import Runtime
from ..planning.model.predict import ALL_SECTIONS, NO_SECTIONS
from ..planning.model.runs import Work, sweep_of
from ..planning.plan import Plan
from ..planning.profiles.profile import run_facts
from ..planning.program import Given
from ..scoring.scoring import MOST_KNOWN, cached_scoring
from ..sequences.alphabet import Letters
from .align import align

GLOBAL: Mode = "global"
MODES: tuple[Mode, ...] = ("local", GLOBAL)
#: A tile is cut into as many sections as groups can sweep at once.
CUT_ONCE = {**ALL_SECTIONS, "sections.rounds": 1, "sections.least_aspect": 0}
#: Columns of a section, and of all at most.
SECTION, MOST_COLUMNS = 32_000, 4_500_000
#: The same of square tiles, their strips, and how many of these each group takes.
SQUARE_SECTION, SQUARE_STRIPS, SQUARE_ROUNDS = 4000, 60, 4
#: Columns of a section of as many strips, each of which waits for the one above it.
TALL_SECTION = 2000
#: Seconds on the device that a run takes about, and values of alpha that are tried: of local DNA,
#: and of what takes as long but for some of its times.
SECONDS, ALPHAS, OTHER_ALPHAS = 0.02, 5, 3
#: Runs that are not fitted.
CHECKS = 8


@dataclass
class Case:
    """One run of a calibration."""

    runtime: Runtime
    kind: str
    mode: Mode
    m: int
    n: int
    plan: dict[str, Any] = field(default_factory=dict)
    use: str = "calibration"
    #: Seconds of the call, and of these on the device.
    seconds: list[float] = field(default_factory=list)
    device: list[float] = field(default_factory=list)

    @cached_property
    def setting(self) -> Given:
        scoring = cached_scoring(*KINDS[self.kind][1].values())
        return setting_of(self.runtime, self.plan, scoring, self.mode)

    @cached_property
    def work(self) -> Work:
        return sweep_of(self.setting, self.m, self.n)

    def run(self, letters: Letters) -> float:
        """Run it once.  Its seconds, which count unless kernels were built."""
        built, started = len(self.runtime.programs), time.perf_counter()
        sides = letters[: self.m], letters[self.m : self.m + self.n]
        how = {"output": "score", "max_cost": None, "kernel_times": True, **KINDS[self.kind][1]}
        found = align(*sides, mode=self.mode, device=self.runtime, plan=self.plan, **how)
        seconds = time.perf_counter() - started
        if len(self.runtime.programs) <= built:
            self.seconds.append(seconds)
            self.device.append(sum(found.stats.kernel_seconds.values()))
        return seconds

    def facts(self, predicted: float) -> dict[str, Any]:
        """The run, as a profile keeps it."""
        of = f"{self.kind}/{self.mode}", self.use, self.m, self.n
        return {**run_facts(*of, self.plan, self.seconds), "predicted": float(f"{predicted:.6g}")}


def designed(runtime: Runtime) -> Iterator[Case]:
    """Runs in which each of the times counts, of small and of long sequences."""
    plan, local = default_plan(runtime), partial(Case, runtime, "dna", "local")
    for side in (60, 200, 500, 1000, 3000, 10_000, 30_000):
        yield local(side, side)
        if side >= 1000:
            yield Case(runtime, "dna", GLOBAL, side, side)
    for kind in KINDS:
        for mode in MODES:
            if kind == "dna" or mode == "local" or not plan.lane_set.of_warps:  # else as fast
                yield from _strips(partial(Case, runtime, kind, mode), plan)
    for m, n in ((200, 1_000_000), (1024, 1_000_000), (1024, 3_000_000), (5000, 1_000_000)):
        yield local(m, n)
    for n in (100_000, 1_000_000):
        yield local(n, 500)
    if plan.lane_set.of_warps:
        yield local(200_000, 20_000, {"tile_cells": 1 << 29})  # eight tiles
        yield local(200, MOST_KNOWN + 1)
        scan = default_rowscan(runtime)
        for m in (20, 500, 3000):
            rows = partial(Case, runtime, "dna", GLOBAL, m)
            yield rows(200_000, {"engine": "rowscan"})
            for n in (2_400_000, 8_000_000):
                for B in scan.machine.groups(scan.B):
                    yield rows(n, {"engine": "rowscan", "B": B})


def _strips(case: partial[Case], plan: Plan) -> Iterator[Case]:
    """Strips of some values of alpha, for each number of them that may share a scheduler."""
    _, kind, mode = case.args
    plan = plan if kind == "dna" else plan.for_scores("matrix")
    T, groups, local = plan.T, plan.machine.groups(plan.B), mode == "local"
    alphas = _some(plan.alphas, ALPHAS if local and kind == "dna" else OTHER_ALPHAS)
    marked = _some(alphas, 2) if local else ()  # global strips wait as long as local ones
    for alpha in alphas:
        fixed = {"alpha": alpha, **NO_SECTIONS}
        for B in groups:
            lag, width = B * (T + plan.chunk), _columns(plan, alpha, B)
            yield case(B * T * alpha, max(width, lag // 2), fixed)
            if alpha in marked:  # strips that wait, other blocks, all groups at once
                less = {**fixed, "chunk": plan.chunk // 2}
                for options in (fixed, less):
                    yield case(3 * groups[0] * T * alpha, 3000, {**options, "B": B})
                yield case(B * T * alpha, max(width, lag) // 2, less)
        if local and plan.lane_set.prunes:
            yield from _sections(case, plan, alpha, groups, alpha in marked)


def _sections(
    case: partial[Case], plan: Plan, alpha: int, groups: Sequence[int], marked: bool
) -> Iterator[Case]:
    """Sections of few strips, by the strips that may share a scheduler; ``marked``: and of as many
    as square tiles have, of which each group takes several."""
    once, rows = {"alpha": alpha, **CUT_ONCE}, plan.T * alpha
    if len(groups) == 1:
        width = max(2000, _columns(plan, alpha, plan.B) // 4)
        yield case(rows, min(MOST_COLUMNS, plan.B * width), {**once, "B": plan.B})
        return
    few: list[tuple[int, int, dict[str, int]]] = [*((12, B, {}) for B in groups), (4, plan.B, {})]
    if marked:
        few += [(100, plan.B, {}), (12, plan.B, {"chunk": plan.chunk // 2})]
    for strips, B, more in few:
        n = min(MOST_COLUMNS, max(1, B // strips) * SECTION)
        yield case(strips * rows, n, {**once, "B": B, **more})
    for B in groups if marked else ():
        several = {**once, "B": B, "sections.rounds": SQUARE_ROUNDS}
        n = SQUARE_ROUNDS * B // SQUARE_STRIPS * SQUARE_SECTION
        for chunk in (plan.chunk, plan.chunk // 2):
            yield case(SQUARE_STRIPS * rows, n, {**several, "chunk": chunk})
        yield case(SQUARE_STRIPS * rows, B // SQUARE_STRIPS * TALL_SECTION, {**once, "B": B})


def _columns(plan: Plan, alpha: int, B: int) -> int:
    """The columns that so many strips sweep in about `SECONDS`, by what is known so far."""
    machine = plan.machine
    line = machine.pace(f"wavefront/{plan.lanes}").line(alpha, machine.share(B))
    pace = line.pace(machine.busy(B, B), plan.chunk)
    return int(min(400_000, max(3000, SECONDS / max(pace, 1e-10))))


def _some(values: tuple[int, ...], most: int) -> tuple[int, ...]:
    """At most so many of the values, the ends among them, spread evenly."""
    places = np.linspace(0, len(values) - 1, min(most, len(values))).round().astype(int)
    return tuple(values[place] for place in places)


def checks(runtime: Runtime) -> Iterator[Case]:
    """Runs that are not fitted: they say how far off predictions are."""
    plan, rng = default_plan(runtime), np.random.default_rng(7)
    m, n = plan.device_rows, 10**6
    cells = 0.1 * m * n / plan.tile_cost(m, n)  # in a tenth of a second
    for _ in range(CHECKS):
        size, aspect = cells * 10 ** rng.uniform(-2, 0), 10 ** rng.uniform(-1.5, 1.5)
        m = int(max(200, (size * aspect) ** 0.5))
        yield Case(runtime, "dna", "local", m, max(200, int(size / m)), use="check")
