"""Tiles that one launch computed: what was kept of them, and where a path may cross it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, KernelSpec
from ...tiles.contract import Part
from .descriptors import SOURCE_MACROS, TILE_MACROS, TOP_LINE, TileWord

#: Work-items that look for one peak.
FINDERS = 128

#: What cl/wavefront/tile_edges.cl is joined from.
TILE_SET_FILES = ("base.clh", *TILE_MACROS, *SOURCE_MACROS, "wavefront/tile_edges.cl")
FIND_PEAKS = KernelSpec(
    "find_peaks",
    TILE_SET_FILES,
    (
        *("kept", "tiles", "row_step:int", "column_step:int", "rows:int", "columns:int"),
        *("match:int", "extend:int", "entry_candidates"),
    ),
)


@dataclass
class TileSet:
    """Tiles that were computed, their special rows and columns, ``steps`` apart, on the device.

    ``descriptors``: a row of `TileWord` for each."""

    parts: list[Part]
    steps: tuple[int, int]
    descriptors: NDArray[np.int64]
    kept: Any
    runtime: Runtime
    match: int
    extend: int
    _peaks: NDArray[np.int32] | None = field(default=None)

    def place_of_row(self, k: Any, row: Any) -> Any:
        """Where the H of special row ``row`` of tile k (0: its top edge) begin; also of many
        (arrays)."""
        tile = self.descriptors[k]
        line = TOP_LINE + row // self.steps[0]
        return tile[..., TileWord.BUS] + 2 * line * tile[..., TileWord.STRIDE]

    def place_of_column(self, k: Any, column: Any) -> tuple[Any, Any]:
        """Where H and X of special column ``column`` of tile k (0: its left edge) begin; also of
        many (arrays)."""
        tile = self.descriptors[k]
        height = tile[..., TileWord.ROWS]
        inner = tile[..., TileWord.CROSSED] + 2 * (column // self.steps[1] - 1) * height
        first = np.where(column, inner, tile[..., TileWord.LEFT] + 1)
        return first, first + height

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
    def entry_candidates(self) -> NDArray[np.int32]:
        """For tile k and the cell (a, b) between its special rows and columns ``[k, edge, a, b]``:
        along its top (0) or left (1) edge the most that a path through a cell there can score at
        the tile's last corner, how many cells come before that one, and its H."""
        if self._peaks is None:
            rows, columns = (
                int((-(-self.descriptors[:, side] // step)).max())
                for side, step in zip((TileWord.ROWS, TileWord.COLUMNS), self.steps, strict=True)
            )
            shape = len(self.parts), 2, rows, columns, 3
            with Buffers(self.runtime, small=True) as buffers:
                found = buffers.empty(4 * int(np.prod(shape)))
                kernel = BoundKernel(self.runtime, FIND_PEAKS, {"PEAK_GROUP_SIZE": FINDERS})
                kernel.bind(
                    kept=self.kept, tiles=buffers.of(self.descriptors), entry_candidates=found
                )
                kernel.bind(row_step=self.steps[0], column_step=self.steps[1])
                kernel.bind(rows=rows, columns=columns, match=self.match, extend=self.extend)
                buffers.send()
                kernel.launch(int(np.prod(shape[:4])), FINDERS)
                self._peaks = buffers.read(found, int(np.prod(shape))).reshape(shape)
        return self._peaks
