"""Tiles: rectangles of the dynamic-programming matrix that meet only at their edges.

A tile is all that the host, a second device or another machine needs to know about: codes and two
edges in, two edges and the best cells out.  A job and a result are plain values.  Cells are
counted from 1, so row and column of a hit are half-open end coordinates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import starmap
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import InternalError
from ..planning.execution import Execution
from ..planning.geometry import swapped
from ..scoring.scoring import Scoring
from ..sequences.view import Codes, Pairs
from .edges import DeviceEdge, Edge, LevelEdge

#: Cells as rows of score, row and column.
Cells = NDArray[np.signedinteger[Any]]


class Area(NamedTuple):
    """Rows ``[row, row_end)`` and columns ``[column, column_end)``, counted from 0."""

    row: int
    row_end: int
    column: int
    column_end: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.row_end - self.row, self.column_end - self.column

    @property
    def cells(self) -> int:
        return (self.row_end - self.row) * (self.column_end - self.column)

    def holds(self, row: int, column: int) -> bool:
        """Is this cell, counted from 1, in it?"""
        return self.row < row <= self.row_end and self.column < column <= self.column_end

    def around(self, other: Area) -> Area:
        """The smallest area that holds both."""
        rows = min(self.row, other.row), max(self.row_end, other.row_end)
        return Area(*rows, min(self.column, other.column), max(self.column_end, other.column_end))


class Box(NamedTuple):
    """A part of a local matrix, to be computed without the cells around it.  The cells above it and
    to its left count as the most that they can be: a local score is at most ``highest``, and at
    most ``match`` for each row above and for each column to the left."""

    area: Area
    highest: int
    match: int

    @property
    def before(self) -> tuple[int, int]:
        """The most that the rows above the box, and the columns to its left, can score."""
        rows, columns = self.area.row * self.match, self.area.column * self.match
        return min(self.highest, rows), min(self.highest, columns)

    def edges(self, gap_open: int) -> tuple[int, Edge, Edge]:
        """H of the corner, and the edges; X is H there, because any gap may lead into the box."""
        (m, n), (above, left) = self.area.shape, self.before

        def edge(most: int, first: int, length: int) -> Edge:
            if most == 0:
                return LevelEdge(0, gap_open, length)
            steps = first + self.match * np.arange(1, length + 1, dtype=np.int64)
            h = np.minimum(most, steps).astype(np.int32)
            return Edge(h, h)

        return min(above, left), edge(above, left, n), edge(left, above, m)

    def proves(self, row: int, column: int) -> bool:
        """Is a path in the box that begins after so many of its rows and columns the canonical path
        of the whole matrix?  It is unless it may go on above or to the left of the box."""
        above, left = self.before
        if row and column:
            return True
        return (left if row else above) == 0 if row or column else 0 in (above, left)


@dataclass(frozen=True)
class Hit:
    """A cell and its score.  Hits sort by falling score, then row-major."""

    score: int
    row: int
    column: int

    def __lt__(self, other: Hit) -> bool:
        return (-self.score, self.row, self.column) < (-other.score, other.row, other.column)


def best_first(cells: Cells, count: int) -> Cells:
    """The first ``count`` of some cells, by falling score, then row-major."""
    if 0 < count < len(cells):  # few are sorted
        cells = cells[cells[:, 0] >= np.partition(cells[:, 0], -count)[-count]]
    if len(cells) < 2:
        return cells.astype(np.int64)
    score, row, column = cells.T
    top, rows, columns = (cells.max(axis=0).astype(np.int64) + 1).tolist()
    if (top - int(score.min())) * rows * columns >= 1 << 63:
        return cells[np.lexsort((column, row, -score.astype(np.int64)))[:count]].astype(np.int64)
    keys = ((top - score.astype(np.int64)) * rows + row) * columns + column  # all three in one
    keys.sort()
    found = np.empty((len(keys[:count]), 3), np.int64)
    np.divmod(keys[:count], columns, out=(found[:, 1], found[:, 2]))
    np.divmod(found[:, 1], rows, out=(found[:, 0], found[:, 1]))
    np.subtract(top, found[:, 0], out=found[:, 0])
    return found


@dataclass(frozen=True, eq=False)
class Hits(Sequence[Hit]):
    """The best of some cells, the best first, which are sorted when they are asked for."""

    #: Cells in any order, maybe more than ``most``.
    some: Cells
    most: int = 1 << 62

    @cached_property
    def cells(self) -> Cells:
        return best_first(self.some, self.most)

    def moved(self, rows: int, columns: int) -> Cells:
        """The cells in any order, so many rows further down and columns to the right."""
        short = max(rows, columns) < 1 << 30  # fewer bytes where they are many
        found: Cells = self.some + np.array([0, rows, columns], self.some.dtype if short else None)
        return found

    def __len__(self) -> int:
        return min(self.most, len(self.some))

    def __getitem__(self, which: Any) -> Any:
        found = self.cells[which].tolist()
        return Hit(*found) if isinstance(which, int) else [Hit(*one) for one in found]

    def __iter__(self) -> Iterator[Hit]:
        return starmap(Hit, self.cells.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return len(self)


NO_HITS = Hits(np.zeros((0, 3), np.int64))


class Among(Protocol):
    """Some cells of a matrix."""

    def any_in(self, area: Area) -> bool:
        """Are there any in the area?"""

    def of(self, area: Area, cells: Cells) -> Cells:
        """Those among the cells of the area."""


@dataclass(frozen=True)
class Want:
    """Which best cells are looked for."""

    #: "none", "all", "last_row", "last_column", "border" (last row and last column) or "corner".
    where: str = "none"
    count: int = 1
    #: The least score that counts (None: any).
    threshold: int | None = None
    #: Each tile also tells its own best cell (`SweepResult.bests`).
    each_tile: bool = False
    #: Which of all cells count (None: all).
    among: Among | None = None


@dataclass(frozen=True)
class Bound:
    """What allows pruning: the best cell known, and how much a path can still gain.  The cell is
    counted in the rows and columns of the sweep, and may lie outside it."""

    score: int
    row: int
    column: int
    #: The highest substitution score.
    match: int


class Corridor(Protocol):
    """The part of a rectangle that is computed: some columns of each tile row."""

    def columns(self, row: int, row_end: int) -> tuple[int, int]:
        """The columns ``[start, stop)`` for rows ``[row, row_end)``, all counted from 0.  There is
        at least one.  ``start`` is 0 in the first tile row, and never falls after it."""

    def passed(self, row: int, column: int, edge: Edge) -> bool:
        """Take the bottom edge of the columns that ``columns`` gave last: the cells of row ``row``
        (from 1) from ``column + 1`` on.  False ends the sweep."""


@dataclass(frozen=True)
class Limits:
    """What lets a sweep skip cells or end early.  With a ``corridor`` only the tiles in it are
    computed, and sinks get only their segments.  The cells outside, next to it, count as reached by
    one gap along the edges of the tiles.  That is a real path, so no value is too high."""

    bound: Bound | None = None
    corridor: Corridor | None = None
    #: Rows and columns that follow the rectangle in the matrix that it is a part of.
    beyond: tuple[int, int] = (0, 0)


@dataclass(frozen=True, eq=False)
class TileJob:
    """One tile to compute: all that an engine is told, in plain values, so that it can be sent."""

    #: m >= 1 codes, and n >= 1 codes.
    query: Codes
    target: Codes
    scoring: Scoring
    #: The least H: 0 (local) or None.
    floor: int | None
    #: H(0, 0).
    corner: int
    #: n cells (H, F^).  None: the bottom edge of the tile before it in a pipeline.
    top: Edge | None
    #: m cells (H, E^).
    left: Edge
    #: Look for the best cells among all (with a floor only those above it).
    best: bool = False
    #: The least score of a best cell (None: any), and how many there are.
    threshold: int | None = None
    count: int = 1
    #: Are the bottom edge and the right edge needed?
    bottom: bool = True
    right: bool = True
    #: Store the moves for a traceback; not together with ``rows`` or ``columns``.
    store_moves: bool = False
    #: How many rows and columns of the matrix follow the tile, if cells in it may be pruned.
    after: tuple[int, int] | None = None
    #: Pairs of letters, at least one, that are not aligned: no path takes the diagonal step of
    #: their cells.  The edges are as in a real matrix, where a gap of one letter in each sequence
    #: leads around such a cell.
    forbidden: Pairs | None = None
    #: Special rows and columns inside the tile (0 < row < m, 0 < column < n), sorted.
    rows: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    #: May these stay on the device?  Else a device that fails while they are read does them again.
    rows_stay: bool = False
    columns_stay: bool = False

    @property
    def size(self) -> tuple[int, int]:
        """m and n."""
        return len(self.query), len(self.target)

    @property
    def transposed(self) -> TileJob:
        """Rows and columns exchanged, for a symmetric scoring; of equal best cells others count."""
        known = replace(self, top=self.above, after=self.after and self.after[::-1])
        stays = "rows_stay columns_stay"
        return swapped(known, "query target", "top left", "bottom right", "rows columns", stays)

    @property
    def above(self) -> Edge:
        """The top edge.  Raises InternalError for a tile of a pipeline, which has none."""
        if self.top is None:
            raise InternalError("a tile without a top edge was asked for alone")
        return self.top


@dataclass
class Costs:
    """What counts computed cells, by lane set ("engine/lanes/bits"), kernel launches, and the cells
    of blocks and pairs that outgrew their lanes, and were computed again in wider ones."""

    cells: dict[str, int] = field(default_factory=dict, kw_only=True)
    launches: int = field(default=0, kw_only=True)
    again: int = field(default=0, kw_only=True)

    def add_cost(self, other: Any) -> None:
        """Add those of a part, which has all three, too."""
        self.launches += other.launches
        self.again += other.again
        for kind, count in other.cells.items():
            self.cells[kind] = self.cells.get(kind, 0) + count


class Span(NamedTuple):
    """When a device computed a tile of a sweep, or a part of a path.  Of tiles that follow each
    other on a device they overlap; of one whose row above is computed by another device it begins
    when the first columns of that are there."""

    device: str
    #: Seconds from the start of the call (in an engine: `time.perf_counter`).
    begin: float
    end: float
    #: "sweep" or "path".
    what: str
    #: The tile of a sweep, in the part of the matrix that is compared.
    area: Area | None


class StoredMoves(Protocol):
    """The moves of a tile, stored for a traceback of the canonical path."""

    def trace(self, row: int, column: int, state: int) -> Traced:
        """Follow the path backward from cell (row, column), from 1, until it leaves the tile or
        ends.  ``state``: 0 begins at H, 1 inside a gap that consumes target (E^), 2 inside a gap
        that consumes query (F^)."""

    def each(self, cells: Sequence[tuple[int, int]]) -> list[Traced]:
        """As `trace` from each of some cells (row, column), at H, side by side."""

    def release(self) -> None:
        """Free the memory of the moves."""


@dataclass(frozen=True)
class Traced:
    """The part of a traceback that lies in one tile."""

    #: uint8, the last move of the path first: 0 diagonal, 1 consumes target, 2 consumes query.
    moves: NDArray[np.uint8]
    #: The next cell; row 0 if the path left the tile at the top, column 0 at the left.
    row: int
    column: int
    #: The state there (:meth:`StoredMoves.trace`); does the path end there, as H is at the floor?
    state: int
    ended: bool


@dataclass
class TileResult(Costs):
    """The result of a tile: edges out, the best cells, and the cost."""

    #: The bottom edge (n cells) and the right edge (m cells); None: not needed.
    bottom: Edge | None
    right: Edge | None
    #: The best cells, at most ``count``, row-major among equals.
    hits: Hits = NO_HITS
    #: The highest score of the computed cells, where best cells are looked for; it may be below
    #: the threshold.  Lanes of 11 bits know it where it is the best of all.  Elsewhere they give a
    #: number below that, or below the threshold, that no score exceeds.
    top: int | None = None
    moves: StoredMoves | None = None
    pruned: int = 0
    #: The special rows (n cells each) and columns (m cells each): what a tile that ends there has
    #: as its bottom or right edge.  The arrays are the receiver's own, or still on the device.
    rows: Mapping[int, Edge | DeviceEdge] = field(default_factory=dict)
    columns: Mapping[int, Edge | DeviceEdge] = field(default_factory=dict)
    #: An engine's notes, which do not travel: how many cells reached the threshold, of a tile that
    #: collects them; how it was computed (None: not by a device, or in parts); and of a pipeline's
    #: tile the number of its device, and when it began and was done (`time.perf_counter`).
    reached: int = 0
    execution: Execution | None = None
    ran: tuple[int, float, float] = (0, 0.0, 0.0)
