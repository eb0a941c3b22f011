"""Measurements for the tuner: one tile by one plan, checked, and timed on the device.

A result is checked before its time counts: a small tile against the reference engine when values
are run first, and the last row and the best cell of every timed run against those of the plan that
the search starts with.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engines.reference import ReferenceEngine
from ..engines.registry import engine_for
from ..errors import BuildError, DeviceError, DeviceMemoryError, InternalError, PlanError
from ..planning.plan import Plan
from ..planning.tuning.runner import Failure
from ..planning.tuning.strategies import Values
from ..scoring.scoring import cached_scoring
from ..tiles.edges import Border
from ..tiles.tile import TileJob, TileResult

if TYPE_CHECKING:
    from ..opencl.device import Runtime

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
Setup = Callable[[Values], tuple["Runtime", Plan]]


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
            return self._timed(values)
        except tuple(FAILURES) as error:
            kind = next(name for one, name in FAILURES.items() if isinstance(error, one))
            raise Failure(kind, str(error)) from None

    def _timed(self, values: Values) -> float:
        wanted = self._wanted
        if values not in self._checked:
            small = self._tile(*SMALL, seed=2)
            if _answer(self._run(values, small)[0]) != _answer(ReferenceEngine().tile(small)):
                raise _wrong(values, "the reference engine")
            if values != self._start:  # (which ran already)
                self._run(values, self._job)  # the first run of a kernel takes longer
            self._checked.append(values)
        found, seconds = self._run(values, self._job)
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
