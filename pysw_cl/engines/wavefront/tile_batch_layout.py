"""Tiles that one launch computed: their cells that the device keeps, and where a path may cross."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers, read_beside
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, KernelSpec
from ...planning.geometry import Grid
from ...planning.plan import Plan
from ...scoring.scoring import Scoring
from ...tiles.contract import Part
from ...tiles.edges import Ints
from .descriptors import SOURCE_MACROS, TILE_MACROS, TOP_LINE, TileWord, descriptors

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
    scoring: Scoring

    def lines(self, grid: Grid) -> Ints:
        """The line of its bus that each strip of a tile reads.  Strips alternate between two lines,
        but special rows have lines of their own."""
        lines = np.arange(grid.strips + 1, dtype=np.int32) & 1
        rows = np.arange(0, grid.strip_rows * (grid.strips + 1), self.steps[0])
        lines[rows // grid.strip_rows] = TOP_LINE + np.arange(len(rows))
        return lines

    @property
    def columns(self) -> Ints:
        """The special columns of the widest tile (a narrower one has the first of them), or 0."""
        kept = int(self.descriptors[:, TileWord.KEPT].max())
        return np.arange(min(1, kept), 1 + kept, dtype=np.int32) * np.int32(self.steps[1])

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
        return int(read_beside(self.runtime, self.kept, 1, int(place))[0])

    @cached_property
    def entry_candidates(self) -> Ints:
        """Where a path may enter each rectangle between special rows and columns.

        ``[k, edge, a, b]`` is for rectangle (a, b) of tile k and its top (0) or left (1) edge.  Of
        all cells on that edge it is for the one through which a path may score most at the tile's
        last corner: that score, the number of cells before it on the edge, and its H.
        """
        rows, columns = (
            int((-(-self.descriptors[:, side] // step)).max())
            for side, step in zip((TileWord.ROWS, TileWord.COLUMNS), self.steps, strict=True)
        )
        shape = len(self.parts), 2, rows, columns, 3
        match, extend = max(self.scoring.highest, 0), self.scoring.gap_extend
        with Buffers(self.runtime, small=True) as buffers:
            found = buffers.empty(4 * prod(shape))
            kernel = BoundKernel(self.runtime, FIND_PEAKS, {"PEAK_GROUP_SIZE": FINDERS})
            kernel.bind(kept=self.kept, tiles=buffers.of(self.descriptors), entry_candidates=found)
            kernel.bind(row_step=self.steps[0], column_step=self.steps[1])
            kernel.bind(rows=rows, columns=columns, match=match, extend=extend)
            kernel.launch(prod(shape[:4]), FINDERS)
            return buffers.read(found, prod(shape)).reshape(shape)


def described(
    parts: list[Part], steps: tuple[int, int], plan: Plan, width: int
) -> tuple[NDArray[np.int64], int]:
    """The descriptors of tiles, and the bytes of their edges and special rows and columns.
    ``width``: columns of the part of the matrix that they are in."""
    areas = np.array([part.area[:] for part in parts], np.int64)
    m, n = areas[:, 1] - areas[:, 0], areas[:, 3] - areas[:, 2]
    stride = n + 2 * plan.T
    tiles = descriptors(
        len(parts),
        {
            TileWord.ROWS: m,
            TileWord.COLUMNS: n,
            TileWord.QUERY: areas[:, 0],
            TileWord.TARGET: areas[:, 2],
            TileWord.LETTERS: width - areas[:, 3] if plan.lane_set.backwards else areas[:, 2],
            TileWord.STRIDE: stride,
            TileWord.KEPT: (n - 1) // steps[1],
            TileWord.OFFSET: [part.offset for part in parts],
            TileWord.EXIT_ROWS: [part.exit[0] for part in parts],
            TileWord.EXIT_COLUMNS: [part.exit[1] for part in parts],
            TileWord.RATE: [int(1024 * part.rate) for part in parts],
        },
    )
    place = 0
    for word, length in (
        (TileWord.BUS, 2 * stride * (TOP_LINE + 1 + m // steps[0])),
        (TileWord.LEFT, 2 * m + 1),
        (TileWord.CROSSED, 2 * m * tiles[:, TileWord.KEPT]),
    ):
        sizes = -(-length // 32) * 32
        ends = place + np.cumsum(sizes)
        tiles[:, word] = ends - sizes
        place = int(ends[-1])
    return tiles, 4 * place
