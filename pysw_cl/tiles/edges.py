"""Edges of tiles: their cells, their sources and their sinks.

An edge holds two 32-bit integers for each cell, H and X.  On a row (top, bottom) X is
F^ = max(F, H - gap_open), on a column (left, right) E^ = max(E, H - gap_open).  The next cell's gap
score is X - gap_extend.  X always lies within [H - gap_open, H], so an edge holds no infinities and
is the same for every engine.  Cells are counted from 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..scoring.precision import UNREACHABLE, UNREACHABLE_BELOW

Ints = NDArray[np.int32]


def repeated(value: int, count: int) -> Ints:
    """``count`` equal numbers, in the memory of one; they cannot be changed."""
    return np.broadcast_to(np.int32(value), count)


class Source:
    """Where a top or left edge comes from: an array, a formula, a file, another device.  A subclass
    has to define ``read``; the rest has defaults.  ``temporary``: the cells are valid only until
    the engine computes the next tile.  ``small``: it takes no memory, however long it is."""

    temporary = False
    small = False

    def read(self, start: int, stop: int) -> Edge:
        """Cells ``start+1 .. stop``, in memory without a copy; waits until they are there."""
        raise NotImplementedError

    def ready(self, start: int, stop: int) -> bool:
        """Would ``read`` return these cells without waiting?"""
        return True

    def read_h(self, start: int, stop: int, step: int = 1) -> Ints:
        """H of every step-th of the cells ``start+1 .. stop``, beginning with the first.
        Unreachable cells may hold any value below `UNREACHABLE_BELOW`."""
        return self.read(start, stop).h[::step]

    def h_at(self, cell: int) -> int:
        """H of cell ``cell + 1``."""
        return int(self.read(cell, cell + 1).h[0])


@dataclass(frozen=True)
class Edge(Source):
    """A run of edge cells: ``h`` and ``x``, int32 arrays of one length."""

    h: Ints
    x: Ints

    @classmethod
    def unreachable(cls, length: int) -> Edge:
        return LevelEdge(UNREACHABLE, 0, length)

    @classmethod
    def unwritten(cls, length: int) -> Edge:
        """Unreachable cells in arrays of their own."""
        return cls(*np.full((2, length), UNREACHABLE, np.int32))

    @classmethod
    def one_gap(cls, h: int, length: int, gap_open: int, gap_extend: int) -> Edge:
        """A run of cells reached by one gap from the cell before it, which has the score ``h``."""
        if h < UNREACHABLE_BELOW:
            return cls.unreachable(length)
        reached = h - gap_open - gap_extend * np.arange(1, length + 1, dtype=np.int64)
        cells = (np.maximum(part, UNREACHABLE) for part in (reached, reached - gap_open))
        return cls(*(part.astype(np.int32) for part in cells)).restored()

    def __len__(self) -> int:
        return len(self.h)

    def read(self, start: int, stop: int) -> Edge:
        return Edge(self.h[start:stop], self.x[start:stop])

    @property
    def highest(self) -> int:
        return int(self.h[0] if self.h.strides == (0,) else self.h.max())

    def joined(self, *others: Edge) -> Edge:
        every = self, *others
        return Edge(*(np.concatenate([getattr(one, name) for one in every]) for name in "hx"))

    def restored(self) -> Edge:
        """The edge with every unreachable cell set back to the sentinel."""
        unreachable = self.h < UNREACHABLE_BELOW
        if not unreachable.any():
            return self
        return Edge(*(np.where(unreachable, np.int32(UNREACHABLE), v) for v in (self.h, self.x)))


class LevelEdge(Edge):
    """A run of cells with the same ``h`` that no gap reaches, in the memory of one."""

    small = True

    def __init__(self, h: int, gap_open: int, length: int) -> None:
        super().__init__(repeated(h, length), repeated(h - gap_open, length))

    def __reduce__(self) -> Any:  # as small as it is
        h, x = (int(cells[0]) if len(cells) else 0 for cells in (self.h, self.x))
        return LevelEdge, (h, h - x, len(self))


class CopiedEdge(Edge):
    """A run of edge cells in memory that the next tile's go to, too."""

    temporary = True

    def read(self, start: int, stop: int) -> Edge:
        return Edge(self.h[start:stop].copy(), self.x[start:stop].copy())


@dataclass(eq=False)
class DeviceEdge(Source):
    """A run of edge cells that stays on the device where it was computed, in its ``buffer``.
    ``copy(buffer, count, offset)`` copies numbers to the host."""

    length: int
    buffer: Any
    #: The offsets of H and X in the buffer.
    h_place: int
    x_place: int
    copy: Callable[[Any, int, int], Ints]
    #: Unreachable cells hold any value below `UNREACHABLE_BELOW`.
    may_be_unreachable: bool

    def __len__(self) -> int:
        return self.length

    def read(self, start: int, stop: int) -> Edge:
        places = self.h_place + start, self.x_place + start
        edge = Edge(*(self.copy(self.buffer, stop - start, place) for place in places))
        return edge.restored() if self.may_be_unreachable else edge

    def read_h(self, start: int, stop: int, step: int = 1) -> Ints:
        return self.copy(self.buffer, stop - start, self.h_place + start)[::step]


class Sink(Protocol):
    """Where a bottom or right edge goes; segments arrive in order."""

    def write(self, start: int, edge: Edge | DeviceEdge) -> None:
        """Take the cells from ``start + 1`` on."""


@dataclass(frozen=True)
class Border(Source):
    """The border of the matrix: free (all zero), or the cost of one gap from the corner."""

    free: bool
    gap_open: int
    gap_extend: int

    def read(self, start: int, stop: int) -> Edge:
        if self.free:
            return LevelEdge(0, self.gap_open, stop - start)
        steps = np.arange(start + 1, stop + 1, dtype=np.int64)
        h = (-self.gap_open - self.gap_extend * steps).astype(np.int32)
        return Edge(h, (h - np.int32(self.gap_open)).astype(np.int32))


class EdgeArray(Source):
    """An edge in memory: a sink, then a source.  Cells never written are unreachable."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._cells: Source | None = None
        #: The same, if their arrays do not belong to whoever wrote them; and what makes these.
        self._own: Edge | None = None
        self._made: Future[Edge] | None = None

    def __len__(self) -> int:
        return self._length

    @property
    def cells(self) -> Source:
        """What has the cells: a run in memory, or what is on the device."""
        if self._cells is None:
            self._cells = Edge.unreachable(self._length)
        return self._cells

    def prepare(self, threads: Executor) -> None:
        """Make the arrays for segments in a thread: new memory takes longer than copies to it."""
        if self._own is None and self._made is None:
            self._made = threads.submit(Edge.unwritten, self._length)

    def write(self, start: int, edge: Edge | DeviceEdge) -> None:
        """Store the cells from ``start + 1`` on.  All cells at once, if they stay valid, are stored
        without a copy; the caller must not change them afterwards."""
        if len(edge) == self._length and not edge.temporary:
            self._cells, self._own, self._made = edge, None, None
            return
        if self._own is None:
            before, made = self._cells, self._made
            own = made.result() if made and not made.cancel() else Edge.unwritten(self._length)
            self._cells = self._own = own
            self._made = None
            if before is not None:
                whole = before.read(0, self._length)
                own.h[:], own.x[:] = whole.h, whole.x
        edge, stop = edge if isinstance(edge, Edge) else edge.read(0, len(edge)), start + len(edge)
        self._own.h[start:stop], self._own.x[start:stop] = edge.h, edge.x

    def read(self, start: int, stop: int) -> Edge:
        return self.cells.read(start, stop)

    def read_h(self, start: int, stop: int, step: int = 1) -> Ints:
        return self.cells.read_h(start, stop, step)

    def h_at(self, cell: int) -> int:
        return self.cells.h_at(cell)


@dataclass(frozen=True)
class Part(Source):
    """A part of an edge, from cell ``first + 1`` on, as a source and as a sink in memory."""

    of: Any
    first: int
    #: Where several threads write parts of it; so many of its first cells are not written.
    lock: Any = field(default_factory=nullcontext)
    skipped: int = 0

    def read(self, start: int, stop: int) -> Edge:
        found: Edge = self.of.read(self.first + start, self.first + stop)
        return found

    def write(self, start: int, edge: Edge | DeviceEdge) -> None:
        cells = edge.read(min(len(edge), max(0, self.skipped - start)), len(edge))
        with self.lock:
            if len(cells):
                self.of.write(self.first + start + len(edge) - len(cells), cells)


@dataclass(frozen=True)
class Edges:
    """The edges of one sweep: sources above and to the left, sinks below and to the right."""

    #: H(0, 0), the cells above row 1, and those to the left of column 1.
    corner: int
    top: Source
    left: Source
    #: What takes the last row and the last column (None: not wanted).
    bottom: Sink | None = None
    right: Sink | None = None
    #: The sink of each special row and column, by its number.
    rows: Mapping[int, Sink] = field(default_factory=dict)
    columns: Mapping[int, Sink] = field(default_factory=dict)
