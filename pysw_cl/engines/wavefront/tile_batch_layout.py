"""Tiles that one launch computed: their cells that the device keeps, and where a path may cross."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers, Pool, read_beside
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, KernelSpec
from ...planning.geometry import Grid
from ...planning.plan import Plan
from ...scoring.scoring import Scoring
from ...tiles.contract import Part
from ...tiles.edges import Ints
from .descriptors import SOURCE_MACROS, TILE_MACROS, TOP_LINE, TileWord, descriptors

#: Work-items that look for the entries of a path at most, a power of 2.
FINDERS = 1024

#: The files and macros that cl/wavefront/tile_edges.cl is joined from.
TILE_SET_FILES = ("base.clh", *TILE_MACROS, *SOURCE_MACROS, "wavefront/tile_edges.cl")
_FIND = (
    "kept tiles count:int row_step:int column_step:int match:int extend:int tile:int row:int "
    "column:int most:int entries"
)
FIND_ENTRIES = KernelSpec("find_entries", TILE_SET_FILES, tuple(_FIND.split()))


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
        """See `Grid.bus_lines`; the first special row is the top edge, in line `TOP_LINE`."""
        rows = range(0, grid.strip_rows * (grid.strips + 1), self.steps[0])
        return grid.bus_lines(tuple(rows))[: grid.strips + 1]

    @property
    def columns(self) -> Ints:
        """The special columns of the widest tile (a narrower one has the first of them), or 0."""
        kept = int(self.descriptors[:, TileWord.KEPT].max())
        return np.arange(min(1, kept), 1 + kept, dtype=np.int32) * np.int32(self.steps[1])

    def place_of_row(self, k: Any, row: Any) -> Any:
        """Where H of special row ``row`` of tile k begin (0: its top edge); both may be arrays."""
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

    def entries(self, tile: int, row: int, column: int, most: int) -> Callable[[], Ints]:
        """Look for where a path to this cell of the matrix probably enters the rectangles between
        special rows and columns, one after the other, ``most`` at most.  Returns what waits for
        that (not for other launches) and gives, for each, the tile, ``tile`` or a later one, and
        the row, column and H of the cell before.  Until then nothing else may be looked for."""
        runtime = self.runtime.beside(1)
        items = min(FINDERS, int(runtime.device.max_work_group_size))
        defines = {"FINDERS": 1 << items.bit_length() - 1}
        pool = runtime.kept("pool", lambda: Pool(runtime))
        pool.lent = False  # the queue is done first with what was looked for in vain
        buffers = Buffers(runtime, pool=pool)
        found = buffers.empty(16 * most)
        kernel = BoundKernel(runtime, FIND_ENTRIES, defines)
        kernel.bind(kept=self.kept, tiles=buffers.of(self.descriptors), entries=found)
        kernel.bind(count=len(self.parts), row_step=self.steps[0], column_step=self.steps[1])
        kernel.bind(match=max(self.scoring.highest, 0), extend=self.scoring.gap_extend)
        kernel.bind(tile=tile, row=row, column=column, most=most)
        kernel.launch(1, defines["FINDERS"], at_once=True)

        def entries() -> Ints:
            with buffers:
                entries = buffers.read(found, 4 * most).reshape(most, 4)
            return entries[: int(np.append(entries[:, 0] < 0, True).argmax())]

        return entries


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
