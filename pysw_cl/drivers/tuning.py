"""The tuning of one subject: a tile that keeps the device busy, the search for the plan that is
fastest for it, and whether what that found is good for other scores, too.

A result is checked before its time counts: a small tile against the reference engine when values
are run first, and the last row and the best cell of every timed run against those of the plan that
the search starts with.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import exp, log
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from ..engines.reference import ReferenceEngine
from ..engines.registry import engine_for
from ..errors import BuildError, DeviceError, DeviceMemoryError, InternalError, PlanError
from ..opencl.device import Runtime
from ..planning.plan import Plan
from ..planning.tuning.runner import Failure, Runner
from ..planning.tuning.search import MOST, search
from ..planning.tuning.strategies import Given, Strategy, Values
from ..scoring.scoring import cached_scoring
from ..tiles.edges import Border
from ..tiles.tile import TileJob, TileResult
from .tuned_subjects import Subject

#: What is compared: letters, substitution scores, gap cost (open, extend): a gap of k letters costs
#: open + k * extend.
KINDS: dict[str, tuple[bytes, Any, Any]] = {
    "dna": (b"ACGT", (1, -3), (3, 2)),
    "protein": (b"ARNDCQEGHILKMFPSTWYV", "BLOSUM62", (11, 1)),
}
#: Rows and columns of the tile that is computed by the reference engine, too.
SMALL = 350, 420
#: Which errors are which kind of failure; the first that fits counts.
FAILURES: dict[type[BaseException], str] = {
    BuildError: "build",
    DeviceMemoryError: "memory",
    MemoryError: "memory",
    DeviceError: "launch",
    PlanError: "refused",
    InternalError: "wrong",
}
#: The device and the plan that values mean.
Setup = Callable[[Values], tuple[Runtime, Plan]]
#: Seconds that a run of the start keeps the device busy at least, and the share of a subject's
#: seconds that one run may take: with little time tiles are small.
BUSY, MOST_SHARE = 0.02, 1 / 60
#: The share of a subject's seconds for its tile's size and the search by one case; what is left is
#: for all cases.
SEARCH_SHARE = 0.7
#: What is compared, and whether it is local.
Case = tuple[str, bool]
#: The search is by the first; its best values are then compared by all, whose parameters they are.
CASES: tuple[Case, ...] = (("dna", True), ("protein", True), ("dna", False))
#: How many of these there are at most.
MOST_CANDIDATES = 8
#: The share of a search's seconds that each value may run in one race: on a device that others use,
#: too, many values are tried a few times rather than few very often.  It may run so often at least.
RACE_SHARE, LEAST_TURNS = 0.05, 16
#: Runs that are kept of each values, and values of each subject.
KEPT_RUNS, KEPT_VALUES = 5, 150


def tile_of(kind: str, m: int, n: int, local: bool = True, seed: int = 1) -> TileJob:
    """A tile of m x n cells of random letters, always the same ones, at the corner of a matrix."""
    letters, sub_score, gap_cost = KINDS[kind]
    scoring = cached_scoring(sub_score, gap_cost)
    drawn = np.random.default_rng(seed).integers(0, len(letters), m + n, dtype=np.uint8)
    codes = scoring.query_encoding[np.frombuffer(letters, np.uint8)][drawn]
    border, floor = Border(local, scoring.gap_open, scoring.gap_extend), 0 if local else None
    top, left = border.read(0, n), border.read(0, m)
    return TileJob(codes[:m], codes[m:], scoring, floor, 0, top, left, best=local, right=False)


def _answer(result: TileResult) -> tuple[Any, ...]:
    """What tells this result from a wrong one: the best cells, and the bottom edge."""
    hits = tuple((hit.score, hit.row, hit.column) for hit in result.hits)
    cells = () if result.bottom is None else (result.bottom.h, result.bottom.x)
    return hits, *(zlib.crc32(np.ascontiguousarray(one).tobytes()) for one in cells)


class TileTimer:
    """Seconds on the device that one tile takes, by the values of its plan: what a search
    measures.  Where the device does not tell its own time (a caller's queue without profiling), the
    host's clock does.

    ``setup``: the device and the plan that values mean.  ``start``: the values whose results all
    others have to give.
    """

    def __init__(
        self, setup: Setup, start: Values, kind: str, m: int, n: int, local: bool = True
    ) -> None:
        self._setup, self._start = setup, start
        self._tile = partial(tile_of, kind, local=local)
        self._size, self._checked = (m, n), list[Values]()

    @cached_property
    def _job(self) -> TileJob:
        return self._tile(*self._size)

    @cached_property
    def _wanted(self) -> tuple[Any, ...]:
        return _answer(self._run(self._start, self._job)[0])

    def __call__(self, values: Values) -> float:
        """Seconds of one run.  Raises Failure."""
        try:
            wanted = self._wanted
            if values not in self._checked:
                small = self._tile(*SMALL, seed=2)
                if _answer(self._run(values, small)[0]) != _answer(ReferenceEngine().tile(small)):
                    raise _wrong(values, "the reference engine")
                if values != self._start:  # (which ran already)
                    self._run(values, self._job)  # the first run of a kernel takes longer
                self._checked.append(values)
            found, seconds = self._run(values, self._job)
        except tuple(FAILURES) as error:
            kind = next(name for one, name in FAILURES.items() if isinstance(error, one))
            raise Failure(kind, str(error)) from None
        if _answer(found) != wanted:
            raise _wrong(values, str(dict(self._start)))
        return seconds

    def _run(self, values: Values, job: TileJob) -> tuple[TileResult, float]:
        """The result of a tile, and the seconds that it took."""
        device, plan = self._setup(values)
        engine = engine_for(device, plan, timed=True)
        started = time.perf_counter()
        result = engine.tile(job)
        taken = time.perf_counter() - started
        return result, sum(engine.kernel_seconds.values()) or taken


def _wrong(values: Values, other: str) -> Failure:
    return Failure("wrong", f"{dict(values)} gives another result than {other}")


@dataclass
class SubjectTuning:
    """The tuning of one subject, and what comes out of it."""

    subject: Subject
    #: Its seconds.
    budget: float
    #: The file of measurements, and what they depend on beside the subject.
    path: Path | None
    key: str
    strategy: Strategy | None = None
    #: Called now and then with the seconds that it has taken so far.
    told: Callable[[float], None] = lambda spent: None
    #: The values that jobs have from now on: the start, unless others are faster for sure; and why.
    values: Values = field(init=False)
    why: str = "its seconds are over before the search begins"
    #: Rows and columns of the tile that is timed, what ran it, and the seconds that all took.
    size: tuple[int, int] = 0, 0
    runner: Runner = field(init=False)
    spent: float = 0.0
    #: Runs of a value in one race at most; 0 before the search.
    turns: int = 0

    def __post_init__(self) -> None:
        self.values = self.subject.start

    @property
    def changed(self) -> bool:
        """Are there other values than before?"""
        return self.values != self.subject.start

    def run(self) -> SubjectTuning:
        """Tune it."""
        try:
            seconds = self._choose_size()
        except Failure as failed:
            self.why = f"the default fails: {failed}"
            return self
        if self.spent < SEARCH_SHARE * self.budget:
            turns = int(RACE_SHARE * SEARCH_SHARE * self.budget / seconds)
            self.turns = min(MOST, max(LEAST_TURNS, turns))
            self.runner, found = self._search("search", CASES[:1], self.strategy, SEARCH_SHARE)
            self.values, self.why = self._chosen(found)
        return self

    def kept(self) -> list[dict[str, Any]]:
        """What a profile keeps of the runs: those of the values that were run most often."""
        ran = sorted(self.runner.tried, key=lambda one: -len(one.seconds)) if self.turns else []
        return [
            {
                "subject": self.subject.name,
                "values": dict(trial.values),
                "m": self.size[0],
                "n": self.size[1],
                "seconds": [float(f"{one:.6g}") for one in trial.seconds[-KEPT_RUNS:]],
                "use": "search",
            }
            for trial in ran[:KEPT_VALUES]
            if trial.seconds
        ]

    def _key(self, *parts: object) -> str:
        return "/".join(map(str, (self.key, self.subject.name, *parts)))

    def _timer(self, case: Case, m: int, n: int) -> TileTimer:
        kind, local = case
        return TileTimer(self.subject.setup, self.subject.start, kind, m, n, local)

    def _choose_size(self) -> float:
        """Choose a tile that fills the device and keeps it busy, or a smaller one where the time is
        short, by a run of the smallest and the model.  Returns the seconds of a run of the start.
        Raises Failure."""
        subject, sizes = self.subject, self.subject.sizes()

        def measure(size: Values) -> float:
            return self._timer(CASES[0], int(size["m"]), int(size["n"]))(subject.start)

        runner = self.runner = Runner(measure, self.path, self._key("size"))

        def first(m: int, n: int) -> float:
            trial = runner.of({"m": m, "n": n})
            seconds = runner.run(trial)
            self._note(runner.spent)
            if seconds is None:
                raise trial.failure or Failure("wrong")
            return seconds

        small = self.size = next(sizes)
        seconds = expected = first(*small)
        while not (expected >= BUSY and subject.fills(*self.size)):
            larger = next(sizes)
            expected = seconds * subject.cost(*larger) / subject.cost(*small)
            if expected > MOST_SHARE * self.budget:
                break
            self.size = larger
        if self.size != small:
            try:
                return first(*self.size)
            except Failure:  # a tile that the device has no memory for, for example
                self.size = small
        return seconds

    def _search(
        self, what: str, cases: Sequence[Case], strategy: Strategy | None, share: float = 1.0
    ) -> tuple[Runner, Values | None]:
        """A search for a share of the seconds; where there are several ``cases``, by the geometric
        mean of their times."""
        timers = [self._timer(case, *self.size) for case in cases]
        before = self.spent

        def measure(values: Values) -> float:
            self.told(before + runner.spent)
            return exp(fmean(log(timer(values)) for timer in timers))

        space = self.subject.space(*self.size)
        runner = Runner(measure, self.path, self._key(what, *self.size), space.build)
        budget = max(0.0, min(share * self.budget, self.budget - before))
        found = search(space, runner, budget, strategy, self.turns)
        self._note(before + runner.spent)
        return runner, found

    def _note(self, spent: float) -> None:
        self.spent = spent
        self.told(spent)

    def _chosen(self, found: Values | None) -> tuple[Values, str]:
        """The values that the subject gets, and why."""
        start = self.subject.start
        if found is None:
            return start, "all values fail"
        if found == start:
            return start, "nothing is faster for sure"
        # where there is time for it: their kernels have to be built
        if self.budget - self.spent >= len(CASES) * self.runner.longest:
            _, found = self._search("together", CASES, Given(self._candidates(found)))
        if found is None or found == start:
            return start, "nothing is faster for sure for DNA, proteins and global ones together"
        return found, "faster for sure"

    def _candidates(self, best: Values) -> list[Values]:
        """What is tried with all scores: the best values; the best of those that have the start's
        value of a parameter; and the best of each other build."""
        start = self.subject.start
        ran = [one for one in self.runner.tried if not one.failure]
        ranking = [best, *(one.values for one in sorted(ran, key=lambda one: median(one.seconds)))]
        firsts = [next((v for v in ranking if v[name] == start[name]), best) for name in start]
        builds: dict[Any, Values] = {}
        for values in ranking:
            builds.setdefault(self.runner.build(values), values)
        found = [best, *firsts, *builds.values()]
        return [one for k, one in enumerate(found) if one not in found[:k]][:MOST_CANDIDATES]
