"""Special rows and columns: saved cells of a sweep, from which tiles in it are computed again."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import mul

from .contract import Engine
from .edges import DeviceEdge, EdgeArray, Edges, Source
from .tile import Area


class RestartPoints:
    """Saved cells from which others can be computed again.  ``edges``: those of the sweep."""

    edges: Edges

    def start(self, row: int, column: int) -> tuple[int, int]:
        """The nearest corner (from 0) from which cell (row, column), from 1, can be computed."""
        raise NotImplementedError

    def sides(self, area: Area) -> tuple[Source, Source]:
        """The saved row above an area, and the column to its left; its corner is a ``start``."""
        raise NotImplementedError

    def edges_of(self, area: Area) -> Edges:
        top, left = self.sides(area)
        side, before = (top, area.column) if area.column else (left, area.row)
        corner = side.h_at(before - 1) if before else self.edges.corner
        above = top.read(area.column, area.column_end)
        return Edges(corner, above, left.read(area.row, area.row_end))


@dataclass(frozen=True)
class RestartGrid(RestartPoints):
    """Special rows and columns by number; a tile can start where two of them meet."""

    edges: Edges
    rows: Mapping[int, Source]
    columns: Mapping[int, Source]

    def start(self, row: int, column: int) -> tuple[int, int]:
        rows, columns = [0, *sorted(self.rows)], [0, *sorted(self.columns)]
        return rows[bisect_right(rows, row - 1) - 1], columns[bisect_right(columns, column - 1) - 1]

    def sides(self, area: Area) -> tuple[Source, Source]:
        top = self.rows[area.row] if area.row else self.edges.top
        return top, self.columns[area.column] if area.column else self.edges.left


@dataclass(frozen=True)
class SweptGrid(RestartGrid):
    """Special rows and columns of a sweep, in memory."""

    rows: Mapping[int, EdgeArray]
    columns: Mapping[int, EdgeArray]

    @classmethod
    def over(cls, edges: Edges, rows: list[int], columns: list[int]) -> SweptGrid:
        """An empty grid with lines at these places, the first and last of which are borders."""
        return cls(
            edges,
            {row: EdgeArray(columns[-1]) for row in rows[1:-1]},
            {column: EdgeArray(rows[-1]) for column in columns[1:-1]},
        )

    def tile_shape(self, most: tuple[int, int], pieces: int) -> tuple[int, int]:
        """Rows and columns of tiles that end at lines of the grid: at most ``most`` of these, and
        about so many ``pieces`` a side."""
        counts = (-(-(len(lines) + 1) // pieces) for lines in (self.rows, self.columns))
        rows, columns = map(min, map(mul, counts, self.steps(most)), most)
        return rows, columns

    def steps(self, sides: tuple[int, int]) -> tuple[int, int]:
        """The distances of its rows, and of its columns: a whole side where it has none."""
        return min(self.rows, default=sides[0]), min(self.columns, default=sides[1])

    def saving(self) -> Edges:
        """The edges for the sweep, with this grid as sinks."""
        return replace(self.edges, rows=self.rows, columns=self.columns)

    def compress(self, by: Engine) -> None:
        """Compress the edges that are on the device, where ``by`` can.  The rows, or the columns,
        are compressed all or none: all of a kind share one buffer, which is freed as a whole."""
        for lines in (self.rows, self.columns):
            smaller = []
            for line in lines.values():
                cells = line.cells
                less = by.compressed(cells) if isinstance(cells, DeviceEdge) else None
                if less is None:
                    break
                smaller.append(less)
            else:
                for line, less in zip(lines.values(), smaller, strict=True):
                    line.write(0, less)
