"""Tiles that one launch computed: what was kept of them, and where a path may cross it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, KernelSpec
from ...tiles.sweep import Area

#: What cl/wavefront/wavefront.cl (MULTI_TILE) is told of a tile, in 64-bit numbers.
WORDS = 13
ROWS, COLUMNS, QUERY, TARGET, BUS, STRIDE, LEFT, CROSSED, KEPT, FIRST, MOVES = range(11)
LETTERS, APART = 11, 12
#: How far from a tile's last corner a path may leave it where that is not known.
ANYWHERE = 1 << 30
#: The line of a tile's bus that holds its top edge; special rows follow, two lines come before.
TOP_LINE = 2
#: Work-items that look for one peak.
FINDERS = 128

FIND_PEAKS = KernelSpec(
    "find_peaks",
    ("base.clh", "wavefront/tile_edges.cl"),
    (
        *("kept", "tiles", "row_step:int", "column_step:int", "rows:int", "columns:int"),
        *("match:int", "extend:int", "peaks"),
    ),
)


class Part(NamedTuple):
    """A tile to be: its area in the whole matrix, in which tile of another set it lies (-1: none),
    and what an H must at least be that a path leaves it with (None: nothing is known), so many rows
    and columns ``apart`` from its last corner at most."""

    area: Area
    inside: int = -1
    known: int | None = None
    apart: int = ANYWHERE


@dataclass
class TileSet:
    """Tiles that were computed, their special rows and columns, ``steps`` apart, on the device."""

    parts: list[Part]
    steps: tuple[int, int]
    said: NDArray[np.int64]
    kept: Any
    runtime: Runtime
    match: int
    extend: int
    _peaks: NDArray[np.int32] | None = field(default=None)

    def place_of_row(self, k: Any, row: Any) -> Any:
        """Where the H of special row ``row`` of tile k (0: its top edge) begin; also of many
        (arrays)."""
        said = self.said[k]
        return said[..., BUS] + 2 * (TOP_LINE + row // self.steps[0]) * said[..., STRIDE]

    def place_of_column(self, k: Any, column: Any) -> tuple[Any, Any]:
        """Where H and X of special column ``column`` of tile k (0: its left edge) begin; also of
        many (arrays)."""
        said = self.said[k]
        inner = said[..., CROSSED] + 2 * (column // self.steps[1] - 1) * said[..., ROWS]
        first = np.where(column, inner, said[..., LEFT] + 1)
        return first, first + said[..., ROWS]

    def h_at(self, k: int, row: int, column: int) -> int:
        """H of a cell (of the whole matrix) of tile k on a special row or column, whatever else is
        enqueued."""
        area = self.parts[k].area
        row, column = row - area.row, column - area.column
        if row % self.steps[0] == 0 and column:
            place = self.place_of_row(k, row) + column - 1
        else:
            place = self.place_of_column(k, column)[0] + row - 1
        with Buffers(self.runtime.beside(0)) as buffers:
            return int(buffers.read(self.kept, 1, int(place))[0])

    @property
    def peaks(self) -> NDArray[np.int32]:
        """For tile k and the cell (a, b) between its special rows and columns ``[k, edge, a, b]``:
        along its top (0) or left (1) edge the most that a path through a cell there can score at
        the tile's last corner, how many cells come before that one, and its H."""
        if self._peaks is None:
            rows, columns = (
                int((-(-self.said[:, side] // step)).max())
                for side, step in zip((ROWS, COLUMNS), self.steps, strict=True)
            )
            shape = len(self.parts), 2, rows, columns, 3
            with Buffers(self.runtime, small=True) as buffers:
                found = buffers.empty(4 * int(np.prod(shape)))
                kernel = BoundKernel(self.runtime, FIND_PEAKS, {"PEAK_GROUP_SIZE": FINDERS})
                kernel.bind(kept=self.kept, tiles=buffers.of(self.said), peaks=found)
                kernel.bind(row_step=self.steps[0], column_step=self.steps[1])
                kernel.bind(rows=rows, columns=columns, match=self.match, extend=self.extend)
                buffers.send()
                kernel.launch(int(np.prod(shape[:4])), FINDERS)
                self._peaks = buffers.read(found, int(np.prod(shape))).reshape(shape)
        return self._peaks
