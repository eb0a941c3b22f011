"""Tiles: rectangles of the dynamic-programming matrix that meet only at their edges.

A tile is the one thing that the host, a second device or another machine needs to know about:
codes in, two edges in, two edges and a best out.  A job and a result are plain values, which
:mod:`pysw_cl.tiles.codec` turns into bytes and back; who computes them is in
:mod:`pysw_cl.tiles.contract`, and what their edges hold in :mod:`pysw_cl.tiles.edges`.

Cells are counted from 1: cell (i, j) ends after i query and j target letters, so row i and
column j of a hit are half-open end coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import InternalError
from ..scoring.scoring import Scoring
from ..sequences.view import Codes, Pairs, pairs_inside
from .edges import DeviceEdge, Edge


class Area(NamedTuple):
    """Rows ``[row, row_end)`` and columns ``[column, column_end)``, counted from 0."""

    row: int
    row_end: int
    column: int
    column_end: int

    @property
    def cells(self) -> int:
        """Cells inside."""
        return (self.row_end - self.row) * (self.column_end - self.column)

    def pairs(self, pairs: Pairs | None) -> Pairs | None:
        """Those of ``pairs`` that lie inside, counted from the corner."""
        return pairs_inside(pairs, self.row, self.row_end, self.column, self.column_end)

    def down(self, rows: int) -> Area:
        """The same area, so many rows further down."""
        return self._replace(row=self.row + rows, row_end=self.row_end + rows)


@dataclass(frozen=True, order=True)
class Hit:
    """A cell of interest; sorts by falling score, then row-major."""

    sort_key: tuple[int, int, int] = field(init=False, repr=False, compare=True)
    score: int = field(compare=False)
    row: int = field(compare=False)
    column: int = field(compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sort_key", (-self.score, self.row, self.column))


@dataclass(frozen=True)
class Want:
    """Where the best cell is looked for: "none", "all", "last_row", "last_column", "border"
    (last row and last column) or "corner"; ``count`` best cells that score ``threshold`` or more
    (None: no threshold)."""

    where: str = "none"
    count: int = 1
    threshold: int | None = None


@dataclass(frozen=True)
class Bound:
    """What allows pruning: the best score known so far with its cell (in the tile's own row and
    column numbers; they may lie outside it), the highest substitution score, and how many rows
    and columns of the whole matrix follow the tile."""

    score: int
    row: int
    column: int
    match: int
    rows_left: int = 0
    columns_left: int = 0


class Corridor(Protocol):
    """The part of a rectangle that matters, told row by row while a sweep goes down."""

    def columns(self, row: int, row_end: int) -> tuple[int, int]:
        """The columns ``[start, stop)`` of rows ``[row, row_end)``, all counted from 0: at least
        one, from 0 on in the first rows, and never starting before those of the rows above."""

    def passed(self, row: int, column: int, edge: Edge) -> bool:
        """Take the cells of row ``row`` (from 1) that follow the first ``column`` ones: the bottom
        of the columns that were asked for last.  Says whether the sweep is to go on."""


@dataclass(frozen=True)
class Limits:
    """What may end a sweep early or let it skip cells.  With a ``corridor`` only tiles in it are
    computed; other cells count as reached by nothing but one gap along the tiles' edges (a real
    path, so no value is too high), and sinks get the segments inside only."""

    bound: Bound | None = None
    corridor: Corridor | None = None


@dataclass(frozen=True, eq=False)
class TileJob:
    """One tile: codes and edges in; plain values only.

    ``query`` (m codes) and ``target`` (n codes), m, n >= 1; ``corner`` is H(0, 0); ``top`` has n
    cells (H, F^), ``left`` m cells (H, E^).  ``top`` is None only in a pipeline
    (:class:`pysw_cl.tiles.contract.TilePipeline`): the bottom of the tile put in before. ``floor``
    is 0 (local: H is never below it) or None. ``best``: look for the best cell (its score must be
    at least ``threshold`` and, with a floor, above the floor).  ``count``: how many best cells.
    ``bottom``, ``right``: they are needed. ``store_moves``: keep what a traceback needs. ``after``:
    how many rows and columns of the matrix follow the tile, where cells that cannot matter may be
    pruned.  ``forbidden``: pairs of letters of the tile, at least one, that may not be aligned: no
    path takes the diagonal step of their cells. (Edges are such that a gap of one letter in each
    sequence leads around it, as in every real matrix.)  ``rows``, ``columns``: inner rows (0 < row
    < m) and columns (0 < column < n), each sorted, whose cells are wanted, too; not together with
    ``store_moves``.
    """

    query: Codes
    target: Codes
    scoring: Scoring
    floor: int | None
    corner: int
    top: Edge | None
    left: Edge
    best: bool = False
    threshold: int | None = None
    count: int = 1
    bottom: bool = True
    right: bool = True
    store_moves: bool = False
    after: tuple[int, int] | None = None
    forbidden: Pairs | None = None
    rows: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()

    @property
    def size(self) -> tuple[int, int]:
        """m and n."""
        return len(self.query), len(self.target)

    @property
    def above(self) -> Edge:
        """The top edge of a tile that has one."""
        if self.top is None:
            raise InternalError("a tile without a top edge was asked for alone")
        return self.top


class StoredMoves(Protocol):
    """A tile's moves, kept for a traceback by the canonical rule."""

    def trace(self, row: int, column: int, state: int) -> Traced:
        """Walk back from cell (row, column), numbered from 1, until the path leaves the tile or
        ends.  ``state``: 0 at H, 1 the cell was reached by a gap that consumes target and leaves
        it to the right (E^), 2 by a gap that consumes query and leaves it downwards (F^)."""

    def release(self) -> None:
        """Free what the moves are kept in."""


@dataclass(frozen=True)
class Traced:
    """Where a traceback got to: ``moves`` (uint8, last move of the path first; 0 diagonal,
    1 consumes target, 2 consumes query), the next cell (row or column 0 when the path left the
    tile), its state, and whether the path ended there (H at the floor)."""

    moves: NDArray[np.uint8]
    row: int
    column: int
    state: int
    ended: bool


@dataclass(frozen=True)
class TileResult:
    """What a tile gives: edges out, the best cells (row-major first among equals, at most
    ``count``), where they are looked for the highest score (unlike a hit's it may be below the
    threshold, and is that of the computed cells), cells computed by lane set
    ("engine/lanes/bits" -> cells), launches made, cells pruned.  ``rows`` (n cells each) and
    ``columns`` (m cells each) hold the inner ones that were wanted: what a tile that ends there has
    as its bottom or right edge, in arrays that nobody else has, or still on the device."""

    bottom: Edge | None
    right: Edge | None
    hits: tuple[Hit, ...] = ()
    top: int | None = None
    cells: dict[str, int] = field(default_factory=dict)
    launches: int = 0
    moves: StoredMoves | None = None
    pruned: int = 0
    rows: Mapping[int, Edge | DeviceEdge] = field(default_factory=dict)
    columns: Mapping[int, Edge | DeviceEdge] = field(default_factory=dict)
