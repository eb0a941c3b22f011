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
        local, ends = floor is not None, FreeEnd.of(free_ends)
        matrix = HeldMatrix(self, query, target, scoring, local, ends, forbidden)
        self.noted(HELD_CELL_BYTES * matrix.layout.numbers)
        return matrix


class HeldMatrix:
    """See :class:`pysw_cl.tiles.contract.HeldMatrix`."""

    def __init__(
        self,
        by: Held,
        query: Codes,
        target: Codes,
        scoring: Scoring,
        local: bool,
        ends: int,
        forbidden: Pairs | None,
    ) -> None:
        self.lanes, self.layout = by.plan.lane_set, Layout.of(len(query), len(target))
        self._retained, self._own = by.runtime.kept("held", Retained), Buffers(by.runtime)
        self._borrows = not self._retained.lent
        self._retained.lent = True
        #: The largest buffer that is retained.
        self._keeps = by.plan.tuning.held.kept_bytes if self._borrows else 0
        self._again, score = False, scoring.source.file
        spec = scored_spec("held", "held/held.cl", _ARGUMENTS, self.lanes.wide, score)
        defines = {"T": LANES, "LOCAL": int(local), "WIDTH": 32, **scoring.source.defines}
        try:
            self._arguments = self._made(query, target, scoring, forbidden) | {"ends": ends}
            self._kernel = BoundKernel(by.runtime, spec, defines)
        except BaseException:
            self.close()
            raise

    def _made(
        self, query: Codes, target: Codes, scoring: Scoring, forbidden: Pairs | None
    ) -> dict[str, Any]:
        """The kernel's arguments.  They are bound at each launch, because other matrices of this
        thread use the same kernel object."""
        layout, score = self.layout, scoring.source.file
        arguments = scoring.source.arguments(score, self._matrix)
        pads = scoring.source.pads(score)
        rows, columns = layout.strips * LANES, layout.blocks * BLOCK
        codes = np.empty(rows + columns, scoring.source.code)
        codes[: layout.m], codes[layout.m : rows] = query, pads[0]
        codes[rows : rows + layout.n], codes[rows + layout.n :] = target, pads[1]
        found = self._buffer("found", 32 + layout.m + layout.n)
        pairs, count = found, 0
        if forbidden is not None and forbidden.size:
            pairs, count = self._own.of((forbidden.T + 1).astype(np.int32)), len(forbidden.T)
        return {
            "codes": self._own.of(codes),
            "cells": self._buffer("cells", HELD_BYTES * layout.numbers),
            "forbidden": self._buffer("forbidden", layout.numbers),
            "tops": self._buffer("tops", 8 * layout.strips * layout.blocks),
            "spans": self._buffer("spans", 8 * layout.strips),
            "m": layout.m,
            "n": layout.n,
            "blocks": layout.blocks,
            "gap_open": scoring.gap_open,
            "gap_extend": scoring.gap_extend,
            "pairs": pairs,
            "count": count,
            "found": found,
            **arguments,
        }

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
        layout = self.layout
        asked = {"again": int(self._again), "path": int(path)}
        self._kernel.bind(**self._arguments, **asked).launch(1, 1)
        size = 32 + (layout.m + layout.n if path else 0)
        out = self._own.read(self._arguments["found"], size, dtype=np.uint8)
        found = out[:32].view(np.int32).tolist()
        self._again = True
        traced = None
        if path:
            moves = out[32 : 32 + found[MADE]]
            traced = Traced(moves, found[START_ROW], found[START_COLUMN], 0, bool(found[ENDED]))
        computed = min(found[STEPS] * LANES, layout.m * layout.n)
        kind = f"held/{self.lanes.family}/32"
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
