"""What a sweep leaves so that a tile inside it can start: special rows and columns."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

from .contract import EdgeCompression
from .edges import EdgeArray, Edges, Source
from .tile import Area


class RestartPoints:
    """Saved edges of a sweep that was made, of the whole matrix or of a band, from which cells can
    be computed again; ``edges`` are the sweep's."""

    edges: Edges

    def start(self, row: int, column: int) -> tuple[int, int]:
        """The corner (row, column) from which cell (row, column), from 1, is computed."""
        raise NotImplementedError

    def sides(self, area: Area) -> tuple[Source, Source]:
        """What an area whose upper left corner is a ``start`` has above and to its left, in the
        whole matrix's columns and rows."""
        raise NotImplementedError

    def corner(self, area: Area) -> int:
        """H before its first cell."""
        top, left = self.sides(area)
        if area.column:
            return top.h_at(area.column - 1)
        return left.h_at(area.row - 1) if area.row else self.edges.corner

    def edges_of(self, area: Area) -> Edges:
        """Its edges."""
        top, left = self.sides(area)
        return Edges(
            self.corner(area),
            EdgeArray.of(top.read(area.column, area.column_end)),
            EdgeArray.of(left.read(area.row, area.row_end)),
        )


@dataclass(frozen=True)
class RestartGrid(RestartPoints):
    """Special rows and columns: a tile can start where they meet."""

    edges: Edges
    rows: Mapping[int, Source]
    columns: Mapping[int, Source]

    def start(self, row: int, column: int) -> tuple[int, int]:
        """See :class:`RestartPoints`."""
        row_places, column_places = [0, *sorted(self.rows)], [0, *sorted(self.columns)]
        return (
            row_places[bisect_right(row_places, row - 1) - 1],
            column_places[bisect_right(column_places, column - 1) - 1],
        )

    def sides(self, area: Area) -> tuple[Source, Source]:
        """See :class:`RestartPoints`."""
        return (
            self.rows[area.row] if area.row else self.edges.top,
            self.columns[area.column] if area.column else self.edges.left,
        )


@dataclass(frozen=True)
class SweptGrid(RestartGrid):
    """Special rows and columns of a sweep, kept in memory."""

    rows: Mapping[int, EdgeArray]
    columns: Mapping[int, EdgeArray]

    @classmethod
    def over(cls, edges: Edges, rows: list[int], columns: list[int]) -> SweptGrid:
        """A grid to be filled by a sweep with ``saving()`` as its edges; ``rows`` and ``columns``
        are cuts, from 0 to the sides' lengths."""
        return cls(
            edges,
            {row: EdgeArray(columns[-1]) for row in rows[1:-1]},
            {column: EdgeArray(rows[-1]) for column in columns[1:-1]},
        )

    def saving(self) -> Edges:
        """The sweep's edges, with this grid as sinks."""
        e = self.edges
        return Edges(e.corner, e.top, e.left, e.bottom, e.right, self.rows, self.columns)

    def compressed(self, by: EdgeCompression) -> RestartGrid:
        """This grid, whose edges on the device are in less memory where ``by`` can do that; it has
        them no longer."""
        lines: list[dict[int, Source]] = []
        for kept in (self.rows, self.columns):  # of each kind all are in one buffer
            smaller: dict[int, Source] = {}
            for at, edge in kept.items():
                less = by.compressed(edge.kept) if edge.kept is not None else None
                if less is None:
                    break
                smaller[at] = less
            whole = len(smaller) == len(kept)
            lines.append(smaller if whole else dict(kept))
            for edge in kept.values() if whole else ():
                edge.kept = None
        return RestartGrid(self.edges, *lines)
