"""Small matrices that are held whole: one launch finds the best end and the path to it, and a
further launch the best one that shares no aligned pair with those before it.

Method: Waterman & Eggert (1987, J Mol Biol 197, 723-728), who compute again only what changes when
the pairs of a path are forbidden.  The kernel (cl/held/held.cl) says how a matrix is laid out."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..opencl.buffers import Buffers
from ..opencl.device import Runtime
from ..opencl.program import BoundKernel
from ..planning.execution import HELD_BYTES
from ..planning.plan import Plan
from ..planning.sizes import HELD_BLOCK, HELD_LANES, held_numbers
from ..tiles.contract import HeldFound
from ..tiles.graph import Rectangle
from ..tiles.tile import Hit, Traced
from .common import scored_spec

#: The words of ``found`` in cl/held/held.cl; the moves follow them.
SCORE, END_ROW, END_COLUMN, START_ROW, START_COLUMN, MADE, ENDED, STEPS = range(8)

_ARGUMENTS = (
    "codes cells forbidden tops spans m:int n:int blocks:int gap_open:int gap_extend:int ends:int "
    "again:int pairs count:int path:int found"
)


class Retained(Buffers):
    """Device memory of a thread that is kept from matrix to matrix, and used by one at a time."""

    #: The last matrix of scores, padding included, as bytes, and its buffer.
    matrix: tuple[bytes, Any] = b"", None
    lent = False


class HeldMatrix(AbstractContextManager["HeldMatrix"]):
    """A small matrix, whose cells stay on the device; a context manager."""

    def __init__(self, runtime: Runtime, plan: Plan, whole: Rectangle, ends: int) -> None:
        self._lanes, self._size, scoring = plan.lane_set, whole.shape, whole.scoring
        self._retained = runtime.kept("held", lambda: Retained(runtime))
        self._own = Buffers(runtime)
        self._borrows = not self._retained.lent
        self._retained.lent = True
        #: The largest buffer that is retained.
        self._keeps = plan.tuning.held.kept_bytes if self._borrows else 0
        self._again, score = False, scoring.source.file
        spec = scored_spec("held", "held/held.cl", _ARGUMENTS, self._lanes.wide, score)
        defines = {"T": HELD_LANES, "LOCAL": int(whole.floor is not None), "WIDTH": 32}
        try:
            self._arguments = self._made(whole) | {"ends": ends}
            self._kernel = BoundKernel(runtime, spec, defines | scoring.source.defines)
        except BaseException:
            self.close()
            raise

    def _made(self, whole: Rectangle) -> dict[str, Any]:
        """The arguments, bound at each launch: matrices of a thread share a kernel object."""
        (m, n), scoring, forbidden = self._size, whole.scoring, whole.forbidden
        score = scoring.source.file
        pads, numbers, strips = scoring.source.pads(score), held_numbers(m, n), -(-m // HELD_LANES)
        rows, columns = strips * HELD_LANES, numbers // (strips * HELD_LANES)
        codes = np.empty(rows + columns, scoring.source.code)
        codes[:m], codes[m:rows] = whole.query.read(0, m), pads[0]
        codes[rows : rows + n], codes[rows + n :] = whole.target.read(0, n), pads[1]
        blocks, found = columns // HELD_BLOCK, self._buffer("found", 32 + m + n)
        pairs, count = found, 0
        if forbidden is not None and forbidden.size:
            pairs, count = self._own.of((forbidden.T + 1).astype(np.int32)), len(forbidden.T)
        return {
            **self._own.several({"codes": codes}),
            "cells": self._buffer("cells", HELD_BYTES * numbers),
            "forbidden": self._buffer("forbidden", numbers),
            "tops": self._buffer("tops", 8 * strips * blocks),
            "spans": self._buffer("spans", 8 * strips),
            "m": m,
            "n": n,
            "blocks": blocks,
            "gap_open": scoring.gap_open,
            "gap_extend": scoring.gap_extend,
            "pairs": pairs,
            "count": count,
            "found": found,
            **scoring.source.arguments(score, self._matrix),
        }

    def _matrix(self, matrix: NDArray[np.int32]) -> Any:
        """The matrix on the device, which is retained until there is another."""
        if not self._borrows:
            return self._own.of(matrix)
        known, kept = matrix.tobytes(), self._retained
        if kept.matrix[0] != known:
            buffer = self._own.offset(matrix.nbytes)
            self._own.write(buffer, matrix)
            kept.matrix = known, buffer
        return kept.matrix[1]

    def _buffer(self, name: str, size: int) -> Any:
        """Memory of this size: retained, if it is small enough."""
        if size > self._keeps:
            return self._own.empty(size)
        whole = min(1 << max(12, (size - 1).bit_length()), self._keeps)
        return self._retained.named(name, whole)

    def next(self, path: bool) -> HeldFound:
        """The best end, and the canonical path to it if ``path`` is set.  Every further call
        forbids the pairs that the last path aligns, too; the last call has to have asked for it."""
        m, n = self._size
        asked = {"again": int(self._again), "path": int(path)}
        self._kernel.bind(**self._arguments, **asked).launch(1, 1)
        out = self._own.read(self._arguments["found"], 32 + (m + n if path else 0), dtype=np.uint8)
        found = out[:32].view(np.int32).tolist()
        self._again, traced = True, None
        if path:
            moves = out[32 : 32 + found[MADE]]
            traced = Traced(moves, found[START_ROW], found[START_COLUMN], 0, bool(found[ENDED]))
        computed = min(found[STEPS] * HELD_LANES, m * n)
        kind = f"held/{self._lanes.family}/32"
        return HeldFound(Hit(*found[SCORE:START_ROW]), traced, cells={kind: computed}, launches=1)

    def close(self, *_: object) -> None:
        """Free the memory, or keep it for the next matrix."""
        if self._borrows:
            self._retained.lent = False
        self._own.free()

    __exit__ = close
