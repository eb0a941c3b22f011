"""Small matrices that are held whole: one launch finds the best end and the path to it, and a
further launch the best one that shares no aligned pair with those before it.

Method: Waterman & Eggert (1987, J Mol Biol 197, 723-728), who compute again only what changes when
the pairs of a path are forbidden.  The kernel (cl/held/held.cl) says how a matrix is laid out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel
from ...planning.choose import is_held
from ...planning.execution import HELD_BYTES
from ...planning.plan import Plan
from ...planning.sizes import HELD_BLOCK, HELD_CELL_BYTES, HELD_LANES, held_numbers
from ...scoring.free_ends import FreeEnd
from ...scoring.scoring import Scoring
from ...sequences.view import Codes, Pairs
from ...tiles.contract import HeldFound
from ...tiles.tile import Hit, Traced
from ..common import scored_spec

#: Lanes of a strip, and steps of a block (BLOCK of the kernel).
LANES, BLOCK = HELD_LANES, HELD_BLOCK
#: The words of ``found`` in cl/held/held.cl; the moves follow them.
SCORE, END_ROW, END_COLUMN, START_ROW, START_COLUMN, MADE, ENDED, STEPS = range(8)

_ARGUMENTS = (
    "codes cells forbidden tops spans m:int n:int blocks:int gap_open:int gap_extend:int ends:int "
    "again:int pairs count:int path:int found"
)


class Retained:
    """Device memory of a thread that is kept from matrix to matrix, and used by one at a time."""

    def __init__(self) -> None:
        self.buffers: dict[str, Any] = {}
        #: The last matrix of scores, padding included, as bytes, and its buffer.
        self.matrix: tuple[bytes, Any] = b"", None
        self.lent = False


class Layout(NamedTuple):
    """How a matrix of m x n cells lies in memory."""

    m: int
    n: int
    #: Strips of LANES rows.
    strips: int
    #: Blocks of a strip.
    blocks: int
    #: Numbers H of all steps.
    numbers: int

    @classmethod
    def of(cls, m: int, n: int) -> Layout:
        """That of this shape."""
        return cls(m, n, -(-m // LANES), -(-(n + LANES - 1) // BLOCK), held_numbers(m, n))

    @property
    def bytes(self) -> int:
        """Bytes of the cells and their marks."""
        return HELD_CELL_BYTES * self.numbers


@dataclass(frozen=True)
class Held:
    """See :class:`pysw_cl.tiles.contract.HeldMatrices`.  ``noted(bytes)`` is told what a matrix
    takes on the device."""

    runtime: Runtime
    plan: Plan
    noted: Callable[[int], None]

    def fits(self, m: int, n: int, paths: int) -> bool:
        """See :class:`pysw_cl.tiles.contract.HeldMatrices`."""
        return is_held(self.plan, m, n, paths, int(self.runtime.device.max_mem_alloc_size))

    def hold(
        self,
        query: Codes,
        target: Codes,
        scoring: Scoring,
        floor: int | None,
        free_ends: tuple[bool, bool, bool, bool],
        forbidden: Pairs | None,
    ) -> HeldMatrix:
        """See :class:`pysw_cl.tiles.contract.HeldMatrices`."""
        ends = FreeEnd.of(free_ends)
        retained = self.runtime.kept("held", Retained)
        job = HeldJob(query, target, scoring, floor is not None, ends, forbidden)
        matrix = HeldMatrix(self.runtime, self.plan, job, retained)
        self.noted(matrix.layout.bytes)
        return matrix


class HeldJob(NamedTuple):
    """What a matrix is of.  ``ends``: the free ends as bits."""

    query: Codes
    target: Codes
    scoring: Scoring
    local: bool
    ends: int
    forbidden: Pairs | None


class HeldMatrix:
    """See :class:`pysw_cl.tiles.contract.HeldMatrix`."""

    def __init__(self, runtime: Runtime, plan: Plan, job: HeldJob, retained: Retained) -> None:
        self.runtime, self.plan = runtime, plan
        self.layout = Layout.of(len(job.query), len(job.target))
        self._retained, self._own = retained, Buffers(runtime)
        self._borrows = not retained.lent
        retained.lent = True
        #: The largest buffer that is retained.
        self._keeps = plan.tuning.held.kept_bytes if self._borrows else 0
        self._again = False
        try:
            self._kernel, self._found, self._arguments = self._prepared(job)
        except BaseException:
            self.close()
            raise

    def _prepared(self, job: HeldJob) -> tuple[BoundKernel, Any, dict[str, Any]]:
        """The kernel, the buffer of what it finds, and its arguments.  They are bound at each
        launch, because other matrices of this thread use the same kernel object."""
        runtime, layout, scoring = self.runtime, self.layout, job.scoring
        score = scoring.source.file
        arguments = scoring.source.arguments(score, self._matrix)
        pads = scoring.source.pads(score)
        rows, columns = layout.strips * LANES, layout.blocks * BLOCK
        codes = np.empty(rows + columns, scoring.source.code)
        codes[: layout.m], codes[layout.m : rows] = job.query, pads[0]
        codes[rows : rows + layout.n], codes[rows + layout.n :] = job.target, pads[1]
        found = self._buffer("found", 32 + layout.m + layout.n)
        defines = {"T": LANES, "LOCAL": int(job.local), "WIDTH": 32, **scoring.source.defines}
        tiles, pairs, count = layout.strips * layout.blocks, found, 0
        if job.forbidden is not None and job.forbidden.size:
            forbidden = (job.forbidden.T + 1).astype(np.int32)
            pairs, count = self._own.of(forbidden), len(forbidden)
        lanes = self.plan.lane_set.wide
        spec = scored_spec("held", "held/held.cl", _ARGUMENTS, lanes, score)
        kernel = BoundKernel(runtime, spec, defines)
        return (
            kernel,
            found,
            dict(
                codes=self._own.of(codes),
                cells=self._buffer("cells", HELD_BYTES * layout.numbers),
                forbidden=self._buffer("forbidden", layout.numbers),
                tops=self._buffer("tops", 8 * tiles),
                spans=self._buffer("spans", 8 * layout.strips),
                m=layout.m,
                n=layout.n,
                blocks=layout.blocks,
                gap_open=scoring.gap_open,
                gap_extend=scoring.gap_extend,
                ends=job.ends,
                pairs=pairs,
                count=count,
                found=found,
                **arguments,
            ),
        )

    def _matrix(self, matrix: NDArray[np.int32]) -> Any:
        """The matrix on the device, which is retained until there is another."""
        known, kept = matrix.tobytes(), self._retained
        if self._borrows and kept.matrix[0] == known:
            return kept.matrix[1]
        if not self._borrows:
            return self._own.of(matrix)
        buffer = self._own.offset(matrix.nbytes)
        self._own.write(buffer, matrix)
        kept.matrix = known, buffer
        return buffer

    def _buffer(self, name: str, size: int) -> Any:
        """Memory of this size: retained, if it is small enough."""
        if size > self._keeps:
            return self._own.empty(size)
        kept = self._retained.buffers.get(name)
        if kept is None or kept.size < size:
            kept = self._retained.buffers[name] = self._own.offset(
                min(1 << max(12, (size - 1).bit_length()), self._keeps)
            )
        return kept

    def next(self, path: bool) -> HeldFound:
        """See :class:`pysw_cl.tiles.contract.HeldMatrix`."""
        import pyopencl as cl

        layout = self.layout
        asked = {"again": int(self._again), "path": int(path)}
        self._kernel.bind(**self._arguments, **asked).launch(1, 1)
        out = np.empty(32 + (layout.m + layout.n if path else 0), np.uint8)
        with self.runtime.failing:
            cl.enqueue_copy(self.runtime.queue, out, self._found)
        found = out[:32].view(np.int32).tolist()
        self._again = True
        traced = None
        if path:
            moves = out[32 : 32 + found[MADE]]
            traced = Traced(moves, found[START_ROW], found[START_COLUMN], 0, bool(found[ENDED]))
        computed = min(found[STEPS] * LANES, layout.m * layout.n)
        kind = f"held/{self.plan.lane_set.family}/32"
        return HeldFound(Hit(*found[SCORE:START_ROW]), traced, {kind: computed}, 1)

    def close(self) -> None:
        """Free the memory, or keep it for the next matrix."""
        if self._borrows:
            self._retained.lent = False
        self._own.free()

    def __enter__(self) -> HeldMatrix:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
