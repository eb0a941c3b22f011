"""Measurements for the tuner: one tile by one plan, checked, and timed on the device.

A result is checked before its time counts: a small tile against the reference engine when values
are run first, and the last row and the best cell of every timed run against those of the plan that
the search starts with.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engines.reference import ReferenceEngine
from ..engines.registry import engine_for
from ..errors import BuildError, DeviceError, DeviceMemoryError, InternalError, PlanError
from ..planning.plan import Plan
from ..planning.tuning.records import Failure
from ..planning.tuning.space import Values
from ..scoring.scoring import cached_scoring
from ..tiles.edges import Edge
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
FAILURES: tuple[tuple[type[BaseException], str], ...] = (
    (BuildError, "build"),
    (DeviceMemoryError, "memory"),
    (MemoryError, "memory"),
    (DeviceError, "launch"),
    (PlanError, "refused"),
    (InternalError, "wrong"),
)

#: The best cells, and a checksum of the bottom edge.
Answer = tuple[tuple[tuple[int, int, int], ...], int]
#: The device and the plan that values mean.
Setup = Callable[[Values], tuple["Runtime", Plan]]


def tile_of(kind: str, m: int, n: int, local: bool = True, seed: int = 1) -> TileJob:
    """A tile of m x n cells of random letters, always the same ones, at the corner of a matrix."""
    letters, sub_score, gap_cost = KINDS[kind]
    scoring = cached_scoring(sub_score, gap_cost)
    drawn = np.random.default_rng(seed).integers(0, len(letters), m + n, dtype=np.uint8)
    codes = scoring.query_encoding[np.frombuffer(letters, np.uint8)][drawn]
    opening, extend = scoring.gap_open, scoring.gap_extend

    def border(length: int) -> Edge:
        if local:
            return Edge.level(0, length, opening)
        return Edge.one_gap(0, length, opening, extend)

    return TileJob(
        query=codes[:m],
        target=codes[m:],
        scoring=scoring,
        floor=0 if local else None,
        corner=0,
        top=border(n),
        left=border(m),
        best=local,
        right=False,
    )


def answer(result: TileResult) -> Answer:
    """What tells this result from a wrong one."""
    hits = tuple((hit.score, hit.row, hit.column) for hit in result.hits)
    checksum = 0
    for cells in () if result.bottom is None else (result.bottom.h, result.bottom.x):
        checksum = zlib.crc32(np.ascontiguousarray(cells).tobytes(), checksum)
    return hits, checksum


@contextmanager
def failures() -> Iterator[None]:
    """Errors of a device, a plan or a result become a `Failure` of their kind."""
    try:
        yield
    except tuple(kind for kind, _ in FAILURES) as error:
        kind = next(name for one, name in FAILURES if isinstance(error, one))
        raise Failure(kind, str(error)) from None


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
        self._kind, self._size, self._local = kind, (m, n), local
        self._job: TileJob | None = None
        self._wanted: Answer | None = None
        self._checked: set[tuple[Any, ...]] = set()

    def __call__(self, values: Values) -> float:
        """Seconds of one run.  Raises Failure."""
        key = tuple(sorted(values.items()))
        with failures():
            if self._job is None:
                self._job = tile_of(self._kind, *self._size, self._local)
            if self._wanted is None:
                self._wanted = answer(self._run(self._start, self._job)[0])
            if key not in self._checked:
                self._check(values)
                if values != self._start:  # (which ran already)
                    self._run(values, self._job)  # the first run of a kernel takes longer
                self._checked.add(key)
            found, seconds = self._run(values, self._job)
        if answer(found) != self._wanted:
            raise Failure("wrong", f"{dict(values)} gives another result than {dict(self._start)}")
        return seconds

    def _check(self, values: Values) -> None:
        """Raise Failure unless a small tile is that of the reference engine."""
        job = tile_of(self._kind, *SMALL, self._local, seed=2)
        if answer(self._run(values, job)[0]) != answer(ReferenceEngine().tile(job)):
            raise Failure("wrong", f"{dict(values)} gives another result than the reference engine")

    def _run(self, values: Values, job: TileJob) -> tuple[TileResult, float]:
        """The result of a tile, and the seconds that it took."""
        device, plan = self._setup(values)
        engine = engine_for(device, plan, timed=True)
        started = time.perf_counter()
        result = engine.tile(job)
        taken = time.perf_counter() - started
        return result, sum(engine.kernel_seconds.values()) or taken
