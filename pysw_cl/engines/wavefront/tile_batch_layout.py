"""Tiles that one launch computed: their cells that the device keeps, and where a path may cross."""

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

#: Work-items that look for one entry candidate.
FINDERS = 128

#: The files and macros that cl/wavefront/tile_edges.cl is joined from.
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
    """The tiles of one launch, with their edges and special rows and columns on the device."""

    parts: list[Part]
    #: The distances of special rows and of special columns.
    steps: tuple[int, int]
    #: A row of `TileWord` for each tile.
    descriptors: NDArray[np.int64]
    #: The buffer of the edges, special rows and special columns of all tiles.
    kept: Any
    runtime: Runtime
    #: The highest score of a pair (0 at least), and the cost of a letter in a gap.
    match: int
    extend: int
    #: See `entry_candidates`, once they were computed.
    _candidates: NDArray[np.int32] | None = field(default=None)

    def place_of_row(self, k: Any, row: Any) -> Any:
        """Where the H of special row ``row`` of tile k begin (row 0: its top edge); ``k`` and
        ``row`` may be arrays."""
        tile = self.descriptors[k]
        line = TOP_LINE + row // self.steps[0]
        return tile[..., TileWord.BUS] + 2 * line * tile[..., TileWord.STRIDE]

    def place_of_column(self, k: Any, column: Any) -> tuple[Any, Any]:
        """Where the H and the X of special column ``column`` of tile k begin (column 0: its left
        edge); ``k`` and ``column`` may be arrays."""
        tile = self.descriptors[k]
        height = tile[..., TileWord.ROWS]
        inner = tile[..., TileWord.CROSSED] + 2 * (column // self.steps[1] - 1) * height
        first = np.where(column, inner, tile[..., TileWord.LEFT] + 1)
        return first, first + height

    def h_at(self, k: int, row: int, column: int) -> int:
        """H of a cell of tile k on a special row or column, in coordinates of the whole matrix.
        Does not wait for launches that are enqueued."""
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
        """Where a path may enter each rectangle between special rows and columns.

        ``[k, edge, a, b]`` is for rectangle (a, b) of tile k and its top (0) or left (1) edge.  Of
        all cells on that edge it is for the one through which a path may score most at the tile's
        last corner: that score, the number of cells before it on the edge, and its H.
        """
        if self._candidates is None:
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
                self._candidates = buffers.read(found, int(np.prod(shape))).reshape(shape)
        return self._candidates
