"""Slabs: the rows of a sweep that are computed together, and what was found in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

from .edges import Edges, Sink
from .tile import Area, Hit


@dataclass
class SweepResult:
    """What a sweep found: the best cells, the highest score of each tile computed (where it was
    looked for), the areas skipped, cells pruned inside other tiles, and what it cost."""

    hits: list[Hit] = field(default_factory=list)
    tops: dict[Area, int] = field(default_factory=dict)
    pruned: list[Area] = field(default_factory=list)
    thinned: dict[Area, int] = field(default_factory=dict)
    cells: dict[str, int] = field(default_factory=dict)
    launches: int = 0

    @property
    def pruned_cells(self) -> int:
        """Cells that were not computed."""
        return sum(area.cells for area in self.pruned) + sum(self.thinned.values())

    def add(self, other: SweepResult) -> None:
        """Count what a part of the sweep did; its best cells are known already."""
        self.tops |= other.tops
        self.pruned += other.pruned
        self.thinned |= other.thinned
        self.add_cost(other.cells, other.launches)

    def add_cost(self, cells: Mapping[str, int], launches: int) -> None:
        """Count cells, by lane set, and kernel launches."""
        self.launches += launches
        for kind, count in cells.items():
            self.cells[kind] = self.cells.get(kind, 0) + count


@dataclass
class Slab:
    """Rows ``[start, end)`` of a sweep.  ``columns``: where its part of each special column goes;
    ``bottom``: where its last row goes (None: nowhere).  ``found``: what was done in it, but for
    best cells."""

    start: int
    end: int
    columns: Mapping[int, Sink]
    bottom: Sink | None = None
    found: SweepResult = field(default_factory=SweepResult)

    @property
    def rows(self) -> int:
        """Rows of it."""
        return self.end - self.start


class Slabs(Protocol):
    """How a sweep is cut into slabs, decided while it goes on.

    Slabs are begun from the top to the bottom, and computed in that order; in a pipeline some are
    begun before those above them are computed.
    """

    def shape(self, rows: int) -> tuple[int, int]:
        """Rows and columns of the tiles of so many rows."""

    def pipelined(self, rows: tuple[int, int] | None) -> None:
        """From now on slabs follow each other without a pause, if they have at least so many rows,
        in multiples of the second number (None: they do not)."""

    def begin(self, row: int) -> Slab:
        """The slab that starts at a row."""

    def computed(self, slab: Slab, hits: list[Hit]) -> None:
        """All of a slab was computed, and its parts of edges were given away; ``hits``: the best
        cells of the sweep so far."""


class WholeSlabs:
    """One slab, or in a pipeline as many as are useful, each of which ends at the next special row
    at the latest; ``most``: rows and columns of a tile at most."""

    def __init__(self, m: int, edges: Edges, most: tuple[int, int]) -> None:
        self._m, self._edges, self._most = m, edges, most
        self._height: int | None = None

    def shape(self, rows: int) -> tuple[int, int]:
        """See `Slabs`."""
        return self._most

    def pipelined(self, rows: tuple[int, int] | None) -> None:
        """See `Slabs`."""
        self._height = None
        if rows is not None and self._most[0] < self._m:
            least, quantum = rows
            self._height = max(1, min(least, self._most[0]) // quantum) * quantum

    def begin(self, row: int) -> Slab:
        """See `Slabs`."""
        end = self._m
        if self._height is not None:
            ends = [special for special in self._edges.rows if special > row]
            end = min([self._m, row + self._height, *ends])
        return Slab(row, end, self._edges.columns)

    def computed(self, slab: Slab, hits: list[Hit]) -> None:
        """See `Slabs`."""


def cuts(length: int, step: int, quantum: int, forced: Iterable[int] = ()) -> list[int]:
    """Where ``[0, length)`` is cut: at every forced place, and between them in even pieces of at
    most about ``step``, whole multiples of ``quantum`` where possible."""
    places = sorted({0, length, *(f for f in forced if 0 < f < length)})
    out = [0]
    for start, end in pairwise(places):
        pieces = -(-(end - start) // max(step, quantum))
        size = -(-(end - start) // pieces)
        size = -(-size // quantum) * quantum
        out += [*range(start + size, end, size), end]
    return out
