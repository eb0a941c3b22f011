"""Tiles: rectangles of the dynamic-programming matrix that meet only at their edges.

A tile is the one thing that the host, a second device or another machine needs to know about:
codes in, two edges in, two edges and a best out.  This module holds the vocabulary; what an
engine must do with it is in :mod:`pysw_cl.tiles.contract`.

Cells are counted from 1: cell (i, j) ends after i query and j target letters, so row i and
column j of a hit are half-open end coordinates.  An edge keeps two 32-bit integers a cell, H and
X, where X is F^ = max(F, H - gap_open) on a row (top, bottom) and E^ = max(E, H - gap_open) on a
column (left, right); the next cell's gap score is X - gap_extend.  X always lies within
[H - gap_open, H], so an edge holds no infinities and is the same for every engine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import InternalError
from ..sequences.alphabet import translated

Codes = NDArray[np.uint8]
Ints = NDArray[np.int32]
#: Pairs of letters, 2 x count: query letters and target letters, both from 0, sorted by query
#: letter, then target letter, none twice.
Pairs = NDArray[np.int64]

#: The one sentinel for an unreachable H (and X); restored at every edge.
NEG = -(3 << 29)
#: An H below this is unreachable, whatever it has drifted to inside a tile.
REACH = -(1 << 30)


@dataclass(frozen=True)
class View:
    """A read-only range of an array of codes or letters, possibly reversed, each one mapped.

    ``codes`` is uint8; the view covers ``[start, stop)`` of it, read backwards when ``reverse``,
    each entry mapped through ``table`` (uint8, 256 entries) when given: a sequence's letters with
    an encoding as table are codes that take no memory of their own.
    """

    codes: Codes
    start: int = 0
    stop: int | None = None
    reverse: bool = False
    table: Codes | None = None

    def __len__(self) -> int:
        stop = len(self.codes) if self.stop is None else self.stop
        return stop - self.start

    def read(self, start: int, stop: int) -> Codes:
        """Codes ``[start, stop)`` of the view as a contiguous uint8 array."""
        if self.reverse:
            last = self.start + len(self)
            part = self.codes[last - stop : last - start][::-1]
        else:
            part = self.codes[self.start + start : self.start + stop]
        if self.table is not None:
            return translated(self.table, part)
        return np.ascontiguousarray(part)

    def slice(self, start: int, stop: int) -> View:
        """The view of ``[start, stop)`` of this view."""
        if self.reverse:
            last = self.start + len(self)
            return View(self.codes, last - stop, last - start, True, self.table)
        return View(self.codes, self.start + start, self.start + stop, False, self.table)


def pairs_inside(
    pairs: Pairs | None, row: int, row_end: int, column: int, column_end: int
) -> Pairs | None:
    """Those of ``pairs`` in rows ``[row, row_end)`` and columns ``[column, column_end)``, counted
    from that corner; None where there is none."""
    if pairs is None:
        return None
    first, last = np.searchsorted(pairs[0], (row, row_end))
    near = pairs[:, first:last]
    inside = near[:, (near[1] >= column) & (near[1] < column_end)]
    return inside - np.array([[row], [column]]) if inside.size else None


@dataclass(frozen=True)
class Edge:
    """A run of edge cells: ``h`` and ``x``, int32 arrays of one length."""

    h: Ints
    x: Ints

    @classmethod
    def lost(cls, length: int) -> Edge:
        """A run of unreachable cells."""
        cells = np.full(length, NEG, np.int32)
        return cls(cells, cells)

    @classmethod
    def one_gap(cls, h: int, length: int, gap_open: int, gap_extend: int) -> Edge:
        """A run of cells that are reached by one gap from a cell with ``h`` before it."""
        if h < REACH:
            return cls.lost(length)
        border = Border(False, gap_open, gap_extend).read(0, length)
        cells = (np.maximum(part.astype(np.int64) + h, NEG) for part in (border.h, border.x))
        return cls(*(part.astype(np.int32) for part in cells)).restored()

    def __len__(self) -> int:
        return len(self.h)

    def part(self, start: int, stop: int) -> Edge:
        """Cells ``[start, stop)`` of this run, not copied."""
        return Edge(self.h[start:stop], self.x[start:stop])

    def joined(self, other: Edge) -> Edge:
        """This run and the one that follows it."""
        return Edge(np.concatenate([self.h, other.h]), np.concatenate([self.x, other.x]))

    def restored(self) -> Edge:
        """The edge with every unreachable cell set to the sentinel again."""
        lost = self.h < REACH
        if not lost.any():
            return self
        return Edge(np.where(lost, np.int32(NEG), self.h), np.where(lost, np.int32(NEG), self.x))


class KeptEdge:
    """A run of edge cells that stays where it was computed until a part of it is asked for.

    ``buffer`` is the device's; H and X begin at the places ``h_at`` and ``x_at`` of it, from which
    ``read(buffer, count, place)`` gives numbers.  ``lost``: unreachable cells may have drifted.
    ``lent``: it is there only until the next tile is asked for.
    """

    def __init__(
        self,
        length: int,
        buffer: Any,
        h_at: int,
        x_at: int,
        read: Callable[[Any, int, int], Ints],
        lost: bool,
        lent: bool = False,
    ) -> None:
        self.buffer, self.h_at, self.x_at = buffer, h_at, x_at
        self.lost, self.lent = lost, lent
        self._length, self._read = length, read

    def __len__(self) -> int:
        return self._length

    def read(self, start: int, stop: int) -> Edge:
        """Cells ``start+1 .. stop``."""
        h, x = (
            self._read(self.buffer, stop - start, place + start) for place in (self.h_at, self.x_at)
        )
        return Edge(h, x).restored() if self.lost else Edge(h, x)

    @property
    def h(self) -> Ints:
        """H of all cells."""
        return self.read(0, self._length).h

    @property
    def x(self) -> Ints:
        """X of all cells."""
        return self.read(0, self._length).x

    def read_h(self, start: int, stop: int) -> Ints:
        """H of them, where unreachable ones may have drifted."""
        return self._read(self.buffer, stop - start, self.h_at + start)


class Source(Protocol):
    """Where a top or left edge comes from: an array, a formula, a file, another device."""

    def read(self, start: int, stop: int) -> Edge:
        """Cells ``start+1 .. stop`` of the edge; blocks until they are there."""


class Sink(Protocol):
    """Where a bottom or right edge goes to; segments arrive in order."""

    def write(self, start: int, edge: Edge) -> None:
        """Take the cells that follow the first ``start`` ones."""


@dataclass(frozen=True)
class Border:
    """The matrix's own border: free (all zero) or the cost of one gap from the corner."""

    free: bool
    gap_open: int
    gap_extend: int

    def read(self, start: int, stop: int) -> Edge:
        """Cells ``start+1 .. stop`` of the border."""
        if self.free:
            count = stop - start
            one = np.array([0, -self.gap_open], np.int32)  # edges of one cell, seen many times
            return Edge(np.broadcast_to(one[:1], count), np.broadcast_to(one[1:], count))
        steps = np.arange(start + 1, stop + 1, dtype=np.int64)
        h = (-self.gap_open - self.gap_extend * steps).astype(np.int32)
        return Edge(h, (h - np.int32(self.gap_open)).astype(np.int32))


class EdgeArray:
    """An edge in memory: a sink while it is written, a source afterwards.  It takes none until a
    part of it is written, and cells that never are count as unreachable."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._cells: Edge | None = None
        self.kept: KeptEdge | None = None

    @classmethod
    def of(cls, edge: Edge) -> EdgeArray:
        """An array source that holds a copy of ``edge``."""
        array = cls(len(edge))
        array.write(0, edge)
        return array

    def __len__(self) -> int:
        return self._length

    @property
    def h(self) -> Ints:
        """H of all cells."""
        return self._all().h

    @property
    def x(self) -> Ints:
        """X of all cells."""
        return self._all().x

    def _all(self) -> Edge:
        if self.kept is not None:
            self._cells, self.kept = self.kept.read(0, self._length), None
        if self._cells is None:
            room = (np.full(self._length, NEG, np.int32) for _ in "hx")
            self._cells = Edge(*room)
        return self._cells

    def take(self, edge: Edge | KeptEdge) -> None:
        """Keep all cells as they are, not copied: ``edge`` is this array's from now on."""
        if len(edge) != self._length:
            raise InternalError(f"an edge of {self._length} cells was given {len(edge)}")
        if isinstance(edge, KeptEdge):
            self.kept = edge
        else:
            self._cells = edge

    def write(self, start: int, edge: Edge) -> None:
        """Keep the cells that follow the first ``start`` ones."""
        self.h[start : start + len(edge)] = edge.h
        self.x[start : start + len(edge)] = edge.x

    def part(self, start: int, stop: int) -> Edge:
        """Cells ``[start, stop)``, counted from 0, as of an `Edge`."""
        return self.read(start, stop)

    def read(self, start: int, stop: int) -> Edge:
        """Cells ``start+1 .. stop``, not copied."""
        if self.kept is not None:
            return self.kept.read(start, stop)
        return Edge(self.h[start:stop], self.x[start:stop])


@dataclass(frozen=True)
class EdgeFrom:
    """The part of an edge that begins after its first ``first`` cells."""

    edge: Source
    first: int

    def read(self, start: int, stop: int) -> Edge:
        """Cells ``start+1 .. stop`` of the part."""
        return self.edge.read(self.first + start, self.first + stop)


@dataclass(frozen=True)
class EdgeTee:
    """A sink that gives what it takes to several."""

    sinks: tuple[Sink, ...]

    def write(self, start: int, edge: Edge) -> None:
        """Give the cells that follow the first ``start`` ones to all."""
        for sink in self.sinks:
            sink.write(start, edge)


class EdgePipe:
    """An edge that streams from one thread to another: ``read`` waits for what it needs.

    ``close`` with an error wakes a waiting reader and raises that error there.
    """

    def __init__(self, length: int) -> None:
        self._array = EdgeArray(length)
        self._done = 0
        self._error: BaseException | None = None
        self._changed = threading.Condition()

    def write(self, start: int, edge: Edge) -> None:
        """Take the next segment and wake who waits for it."""
        with self._changed:
            if start != self._done:
                raise InternalError(f"edge segment at {start} arrived out of order")
            self._array.write(start, edge)
            self._done = start + len(edge)
            self._changed.notify_all()

    def close(self, error: BaseException) -> None:
        """Nothing more will come: readers that still wait get ``error``."""
        with self._changed:
            self._error = error
            self._changed.notify_all()

    def read(self, start: int, stop: int) -> Edge:
        """Cells ``start+1 .. stop``; waits until they are there, or raises what ``close`` got."""
        with self._changed:
            self._changed.wait_for(lambda: self._done >= stop or self._error is not None)
            if self._done < stop:
                assert self._error is not None
                raise self._error
            return self._array.read(start, stop)


@dataclass(frozen=True)
class Edges:
    """The edges of one sweep: sources above and to the left, sinks below and to the right.

    ``rows`` and ``columns`` map a row (column) number to a sink for that special row (column);
    the number counts cells, so row i holds the cells (i, 1) .. (i, n).
    """

    corner: int
    top: Source
    left: Source
    bottom: Sink | None = None
    right: Sink | None = None
    rows: Mapping[int, Sink] = field(default_factory=dict)
    columns: Mapping[int, Sink] = field(default_factory=dict)


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


@dataclass(frozen=True)
class Goal:
    """An opposite edge to be met on ``side`` ("bottom" or "right") and the score to meet: cell k
    is an optimal crossing by H where h[k] + opposite.h[k] == score, and inside a gap where
    x[k] + opposite.x[k] + gap_open == score."""

    side: str
    opposite: Source
    score: int


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
    goal: Goal | None = None
    corridor: Corridor | None = None
