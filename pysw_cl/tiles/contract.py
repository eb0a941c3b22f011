"""The tile contract: what every engine does, and the sweep that is built on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from ..scoring.scoring import Scoring
from .tile import Codes, Edge, EdgeArray, Hit, KeptEdge, Pairs, View

if TYPE_CHECKING:
    from ..engines.wavefront.compressed_edge import PackedEdge
    from ..engines.wavefront.tile_batch import SideBySide


@dataclass(frozen=True)
class Below:
    """What lies below a tile, in the same columns: ``rows`` in all; ``tile()`` gives the tile that
    will be asked for next, which an engine may begin before that is, or None.  (Its ``top`` is then
    not yet there to be read.)"""

    rows: int
    tile: Callable[[], TileJob | None]


@dataclass(frozen=True, eq=False)
class TileJob:
    """One tile: codes and edges in.

    ``query`` (m codes) and ``target`` (n codes), m, n >= 1; ``corner`` is H(0, 0); ``top`` has n
    cells (H, F^), ``left`` m cells (H, E^).  ``floor`` is 0 (local: H is never below it) or None.
    ``best``: look for the best cell (its score must be at least ``threshold`` and, with a floor,
    above the floor).  ``count``: how many best cells.  ``bottom``, ``right``: they are needed.
    ``directions``: keep what a backward walk needs.  ``blocked``: pairs of letters of the tile, at
    least one, that may not be aligned: no path takes the diagonal step of their cells.  (Edges are
    such that a gap of one letter in each sequence leads around it, as in every real matrix.)
    ``rows``, ``columns``: inner rows (0 < row < m) and columns (0 < column < n), each sorted, whose
    cells are wanted, too; not together with ``directions``.  ``below``: what is asked for next.
    """

    query: Codes
    target: Codes
    scoring: Scoring
    floor: int | None
    corner: int
    top: Edge | EdgeArray
    left: Edge
    best: bool = False
    threshold: int | None = None
    count: int = 1
    bottom: bool = True
    right: bool = True
    directions: bool = False
    after: tuple[int, int] | None = None
    blocked: Pairs | None = None
    rows: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    below: Below | None = None

    @property
    def size(self) -> tuple[int, int]:
        """m and n."""
        return len(self.query), len(self.target)


class Directions(Protocol):
    """A tile's moves, kept for a backward walk by the canonical rule."""

    def walk(self, row: int, column: int, state: int) -> Walk:
        """Walk back from cell (row, column), numbered from 1, until the path leaves the tile or
        ends.  ``state``: 0 at H, 1 the cell was reached by a gap that consumes target and leaves
        it to the right (E^), 2 by a gap that consumes query and leaves it downwards (F^)."""

    def release(self) -> None:
        """Free what the moves are kept in."""


@dataclass(frozen=True)
class Walk:
    """Where a backward walk got to: ``moves`` (uint8, last move of the path first; 0 diagonal,
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
    directions: Directions | None = None
    pruned: int = 0
    rows: Mapping[int, Edge | KeptEdge] = field(default_factory=dict)
    columns: Mapping[int, Edge | KeptEdge] = field(default_factory=dict)


class Engine(Protocol):
    """An engine computes tiles exactly; how is its private matter.

    Tiles of ``row_quantum`` rows, or a multiple, waste nothing; ``peak_bytes`` is the most device
    memory that one tile took so far.  ``inner``: inner rows and columns are taken without cutting a
    tile; else a sweep cuts there, which costs as much and tells more of its progress.
    """

    name: str
    row_quantum: int
    peak_bytes: int
    inner: bool

    def tile(self, job: TileJob) -> TileResult:
        """Compute one tile."""

    def side_by_side(
        self, query: View, target: View, scoring: Scoring, floor: int | None, rows: int
    ) -> SideBySide | None:
        """What computes many tiles at once of a matrix of ``rows`` rows, from the part of it that
        ``query`` and ``target`` span; None where one by one is as good."""

    def strip_rows(self, rows: int, columns: int) -> int:
        """Rows of a strip of a tile of this size: inner rows at multiples cost nothing."""

    def chained_rows(self, rows: int, columns: int) -> tuple[int, int] | None:
        """Rows of a tile of all these columns, among tiles that follow each other (`Below`), and
        what they are a multiple of; None where one begins when the one above it is done."""

    def packs(self, scoring: Scoring, rows: int, columns: int, lines: int) -> bool:
        """Would ``lines`` inner rows of a tile of this size, and as many columns, stay on the
        device until they are packed, and can they be?"""

    def packed_edge(self, cells: KeptEdge) -> PackedEdge | None:
        """The same cells in less memory; None where that cannot be done."""

    def settle(self) -> None:
        """Nothing more is asked for of tiles that follow each other, nor what the last one gave
        that is still on the device."""

    def moves_bytes(self, rows: int, columns: int) -> int:
        """Memory that the moves of a tile of this size take when they are kept."""
