"""Slabs: rows of a sweep that are computed together, and what a sweep found in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..planning.execution import Execution
from ..planning.geometry import piped_height
from .edges import Edges, Sink
from .tile import NO_HITS, Area, Costs, Hit, Hits
from .tile_map import TileMap


@dataclass
class SweepResult(Costs):
    """What a sweep found, and what it cost."""

    #: The best cells, the best first.
    hits: Hits = NO_HITS
    #: The highest score of each computed tile that looked for it.
    tops: dict[Area, int] = field(default_factory=dict)
    #: The best cell of each tile that has one, where `Want.each_tile` asks for them.
    bests: dict[Area, Hit] = field(default_factory=dict)
    #: The areas that were skipped, and how many cells were skipped inside each other tile.
    pruned: list[Area] = field(default_factory=list)
    thinned: dict[Area, int] = field(default_factory=dict)
    #: How the largest tile was computed, and its cells.
    execution: Execution | None = None
    most: int = 0

    @property
    def pruned_cells(self) -> int:
        """All skipped cells."""
        return sum(area.cells for area in self.pruned) + sum(self.thinned.values())

    def tile_map(self, shape: tuple[int, int], start: int = 0) -> TileMap:
        """The map of a part of this shape that begins at a row."""
        skipped = dict.fromkeys(self.pruned, 1.0)
        skipped |= {area: count / area.cells for area, count in self.thinned.items()}
        return TileMap.of(shape, self.tops, skipped, start)

    def add(self, other: SweepResult) -> None:
        """Add the result of a part of the sweep, but for its best cells."""
        self.tops |= other.tops
        self.bests |= other.bests
        self.pruned += other.pruned
        self.thinned |= other.thinned
        self.add_cost(other)
        self.add_execution(other.execution, other.most)

    def add_execution(self, execution: Execution | None, cells: int) -> None:
        """A tile of so many cells was computed like this."""
        if execution is not None and cells > self.most:
            self.execution, self.most = execution, cells


@dataclass
class Slab:
    """Rows ``[start, end)`` of a sweep."""

    start: int
    end: int
    #: The sink of each special column, by its number; it gets the cells of these rows.
    columns: Mapping[int, Sink]
    #: The sink of its last row (None: not wanted).
    bottom: Sink | None = None
    #: The result of its tiles, but for best cells.
    found: SweepResult = field(default_factory=SweepResult)

    @property
    def rows(self) -> int:
        """Its number of rows."""
        return self.end - self.start


class Slabs:
    """How a sweep of ``m`` rows is cut into slabs; each is decided when it begins.

    Slabs begin and are computed from top to bottom.  In a pipeline a slab may begin before those
    above it are computed.  By default there is one slab; in a pipeline there are as many as are
    useful, each ending at the next special row at the latest.  ``most``: the most rows and columns
    of a tile.  The rows ``[start, stop)`` are computed.
    """

    start = 0

    def __init__(self, m: int, edges: Edges, most: tuple[int, int]) -> None:
        self.stop, self._edges, self._most = m, edges, most
        self._height: int | None = None

    def shape(self, rows: int) -> tuple[int, int]:
        """Rows and columns of the tiles of a slab of so many rows."""
        return self._most

    def pipelined(self, rows: tuple[int, int] | None) -> None:
        """From now on slabs follow each other in a pipeline (None: in no pipeline).

        ``rows``: the least height of a slab, and what heights should be a multiple of."""
        self._height = None
        if rows is not None and self._most[0] < self.stop:
            self._height = piped_height(*rows, self._most[0])

    def begin(self, row: int) -> Slab:
        """The slab that starts at a row."""
        end = self.stop
        if self._height is not None:
            ends = [special for special in self._edges.rows if special > row]
            end = min([self.stop, row + self._height, *ends])
        return Slab(row, end, self._edges.columns)

    def computed(self, slab: Slab, hits: Hits) -> None:
        """A slab is computed and its edges are written; ``hits``: the best cells of the sweep so
        far."""
