"""What is tuned on a device: subjects, the values that are tried of each, and what a tile takes.

A subject is an engine and its lanes, as in a profile (docs/dev/profiles.md).  A result is checked
before its time counts: a small tile against the reference engine when values are run first, and the
last row and best cell of every timed run against those of the plan that the search starts with."""

from __future__ import annotations

import time
import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..engines.reference import ReferenceEngine
from ..engines.registry import engine_for, plan_on
from ..errors import InternalError
from ..opencl.device import Runtime
from ..planning.model.predict import NO_SECTIONS
from ..planning.parameters import Number
from ..planning.plan import Plan
from ..planning.profiles.profile import Numbers
from ..planning.tuning.strategies import Space, Values
from ..scoring.scoring import cached_scoring
from ..sequences.alphabet import Letters
from ..tiles.edges import Border
from ..tiles.tile import TileJob, TileResult

#: What is compared: letters, and the scoring as `align` takes it, whose gap cost is (open, extend):
#: a gap of k letters costs open + k * extend.
KINDS: dict[str, tuple[bytes, dict[str, Any]]] = {
    "dna": (b"ACGT", {"sub_score": (1, -3), "gap_cost": (3, 2)}),
    "protein": (b"ARNDCQEGHILKMFPSTWYV", {"sub_score": "BLOSUM62", "gap_cost": (11, 1)}),
}
#: Rows and columns of the tile that is computed by the reference engine, too.
SMALL = 350, 420
#: What is compared, and whether it is local.
Case = tuple[str, bool]
#: Multiples of what a search starts with: groups for each compute unit where a group is a thread,
#: and where many share a unit; rows of a lane; columns of a block, and of a lane of the row scan;
#: and lanes of a strip, where the lane set has several.
THREADS, SHARED = (0.5, 1, 2), (0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3)
ALPHAS, COLUMNS, LANES = (0.5, 0.75, 1, 1.25, 1.5), (0.25, 0.5, 1, 2, 4), (0.5, 1, 2)
#: The most registers of a work-item; the last is no limit on any device that has the option.
REGISTERS = (64, 80, 96, 112, 128, 144, 168, 192, 255)
#: The least columns of a block, and bytes of local memory for each that is held there.
LEAST_CHUNK, COLUMN_BYTES = 16, 8
#: Rows of a tile of the row scan, which is chosen for short queries; and the least sides of others.
SCAN_ROWS, LEAST_SIDE = 256, 1024


@dataclass(frozen=True)
class Subject:
    """One engine with its lanes on one device."""

    #: The plan that jobs have now.
    plan: Plan
    runtime: Runtime
    _runtimes: dict[float, Runtime] = field(default_factory=dict, repr=False, compare=False)

    @property
    def name(self) -> str:
        """As in a profile."""
        return f"{self.plan.engine}/{self.plan.lanes}"

    @property
    def by_rows(self) -> bool:
        """Are tiles computed row by row, so that alpha is columns, and blocks mean nothing?"""
        return self.plan.pipeline_lag == 0

    @property
    def used(self) -> bool:
        """Do jobs use it?  If not it is tuned only where it is asked for."""
        return not self.by_rows or self.name in self.plan.machine.by_subject

    @property
    def weight(self) -> int:
        """Its share of the time, in proportion to the others'."""
        return 1 if self.by_rows else 4

    @cached_property
    def start(self) -> Values:
        """The values of the plan that jobs have now."""
        plan, lanes = self.plan, self.plan.lane_set
        groups = plan.B / self.runtime.info.compute_units
        values: dict[str, Number] = {"groups": groups, "alpha": plan.alpha}
        if not self.by_rows:
            values["chunk"] = plan.chunk
            if len(lanes.T) > 1 and not lanes.of_warps:
                values["T"] = plan.T
            if self.runtime.traits.register_option:  # one limit for all kernels: one subject's
                values["registers"] = int(self._build.get("registers", REGISTERS[-1]))
        return values

    def space(self, m: int = 0, n: int = 0) -> Space:
        """What is searched, with tiles of m x n cells if these are given: groups that one does not
        fill are no slower than those that it does."""
        start, lanes, units = self.start, self.plan.lane_set, self.runtime.info.compute_units
        in_local = not self.by_rows and lanes.of_warps and lanes.narrow is not None
        longest = int(self.runtime.device.local_mem_size) // COLUMN_BYTES if in_local else 1 << 24

        def multiples(name: str, shares: Iterable[float], least: int, most: int) -> set[int]:
            return {min(most, max(least, round(share * start.get(name, 0)))) for share in shares}

        shares = THREADS if lanes.per_item is None else SHARED
        groups = {max(1, round(share * start["groups"] * units)) / units for share in shares}
        chosen = self.by_rows and len(self.plan.groups) > 1  # tile by tile
        # narrow lanes with a query profile in bytes have no more rows than that holds
        rows = (COLUMNS, 1, 1024) if self.by_rows else (ALPHAS, 1, lanes.scores.profile_rows or 64)
        candidates: dict[str, Collection[Number]] = {
            "groups": () if chosen or (m and not self.fills(m, n)) else groups,
            "alpha": multiples("alpha", *rows),
            "chunk": multiples("chunk", COLUMNS, LEAST_CHUNK, longest),
            "T": multiples("T", LANES, 1, 1024) & set(lanes.T),
            "registers": REGISTERS,
        }
        return Space(
            {name: candidates[name] for name in start},
            start,
            {"alpha", "T", "registers"} | ({"chunk"} if in_local else set()),
            lambda values: not any(self.setup(values)[1].wrong_on(self.runtime.facts)),
        )

    def setup(self, values: Values) -> tuple[Runtime, Plan]:
        """The device and the plan that values mean."""
        blocks = max(1, round(values["groups"] * self.runtime.info.compute_units))
        tuning = self.plan.tuning.with_values(NO_SECTIONS)  # strips are timed themselves
        given: Any = {name: int(values[name]) for name in ("alpha", "chunk", "T") if name in values}
        plan = replace(self.plan, B=blocks, alpha_fixed=True, tuning=tuning, **given)
        if (limit := self.parameters(values).get("build")) is None:
            return self.runtime, plan
        if limit["registers"] not in self._runtimes:
            profile, _ = self.runtime.profile()
            limited = replace(profile, parameters={**profile.parameters, "build": limit})
            self._runtimes[limit["registers"]] = self.runtime.having(limited)
        return self._runtimes[limit["registers"]], plan

    def parameters(self, values: Values) -> dict[str, dict[str, float]]:
        """What a profile says where these values are its choice."""
        own = dict(values)
        if own.pop("registers", None) == self.start.get("registers"):
            return {self.name: own}
        return {self.name: own, "build": {**self._build, "registers": int(values["registers"])}}

    @property
    def _build(self) -> Numbers:
        """The device's limits of registers: of most kernels, and of others by their names."""
        return self.runtime.profile()[0].parameters.get("build", {})

    @cached_property
    def _least(self) -> tuple[int, int]:
        """The least tile that fills the device: two strips for every group, and so many columns
        that the last group begins before the first one ends."""
        if self.by_rows:
            return SCAN_ROWS, 2 * self.plan.B * self.plan.T * self.plan.alpha
        return max(LEAST_SIDE, 2 * self.plan.device_rows), self.plan.pipeline_lag

    def sizes(self) -> Iterator[tuple[int, int]]:
        """Rows and columns of tiles, each twice as large as the one before."""
        m, n = self._least[0], LEAST_SIDE
        while True:
            yield m, n
            m, n = (m, 2 * n) if self.by_rows or n <= m else (2 * m, n)

    def fills(self, m: int, n: int) -> bool:
        return m >= self._least[0] and n >= self._least[1]


def subjects_of(runtime: Runtime) -> dict[str, Subject]:
    """What can be tuned on a device, by name; what weighs most comes first."""
    plans = (plan_on(runtime, wishes) for wishes in (None, {"engine": "rowscan"}))
    return {one.name: one for one in (Subject(plan, runtime) for plan in plans)}


def letters_of(kind: str, count: int, seed: int = 1) -> Letters:
    """So many random letters, always the same ones."""
    letters = np.frombuffer(KINDS[kind][0], np.uint8)
    return letters[np.random.default_rng(seed).integers(0, len(letters), count, dtype=np.uint8)]


def tile_of(case: Case, m: int, n: int, seed: int = 1) -> TileJob:
    """A tile of m x n cells of such letters at the corner of a matrix."""
    kind, local = case
    scoring = cached_scoring(*KINDS[kind][1].values())
    codes = scoring.query_encoding[letters_of(kind, m + n, seed)]
    border, floor = Border(local, scoring.gap_open, scoring.gap_extend), 0 if local else None
    top, left = border.read(0, n), border.read(0, m)
    return TileJob(codes[:m], codes[m:], scoring, floor, 0, top, left, best=local, right=False)


def _answer(result: TileResult) -> tuple[Any, ...]:
    """What tells this result from a wrong one: the best cells, and the bottom edge."""
    cells = () if result.bottom is None else (result.bottom.h, result.bottom.x)
    return tuple(result.hits), *(zlib.crc32(np.ascontiguousarray(one).tobytes()) for one in cells)


class TileTimer:
    """Seconds on the device that one tile takes, by the values of a subject's plan: what a search
    measures.  Where the device does not tell its time, the host's clock does."""

    def __init__(self, subject: Subject, case: Case, m: int, n: int) -> None:
        self.subject, self.case, self._job = subject, case, tile_of(case, m, n)
        self._checked = list[Values]()

    @cached_property
    def _wanted(self) -> tuple[Any, ...]:
        return _answer(self._run(self.subject.start, self._job)[0])

    def __call__(self, values: Values) -> float:
        """Seconds of one run.  Raises InternalError for a wrong result, and what engines raise."""
        start, wanted = self.subject.start, self._wanted
        if values not in self._checked:
            small = tile_of(self.case, *SMALL, seed=2)
            right = _answer(ReferenceEngine().tile(small))
            self._right(values, small, right, "the reference engine")
            if values != start:  # (which ran already)
                self._run(values, self._job)  # the first run of a kernel takes longer
            self._checked.append(values)
        return self._right(values, self._job, wanted, str(dict(start)))

    def _right(self, values: Values, job: TileJob, wanted: tuple[Any, ...], other: str) -> float:
        """The seconds that a tile took, if its result is that of ``other``."""
        result, seconds = self._run(values, job)
        if _answer(result) != wanted:
            raise InternalError(f"{dict(values)} gives another result than {other}")
        return seconds

    def _run(self, values: Values, job: TileJob) -> tuple[TileResult, float]:
        device, plan = self.subject.setup(values)
        engine = engine_for(device, plan, timed=True)
        started = time.perf_counter()
        result = engine.tile(job)
        taken = time.perf_counter() - started
        return result, sum(engine.kernel_seconds.values()) or taken
