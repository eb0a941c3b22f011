"""The best cells of a sweep: where they are looked for, and which tiles cannot have one."""

from __future__ import annotations

from itertools import chain

import numpy as np

from ..scoring.precision import LOCAL_LIMIT, UNREACHABLE_BELOW
from .edges import Edge, Ints
from .tile import NO_HITS, Area, Bound, Cells, Hit, Hits, TileResult, Want, best_first


class BestCells:
    """The best cells found so far in a rectangle of ``m`` x ``n`` cells.

    `hits` has at most ``want.count`` of them, the best first.  ``floor`` is 0 (local) or None.
    ``bound`` allows pruning (None: no tile is skipped).
    """

    def __init__(self, m: int, n: int, floor: int | None, want: Want, bound: Bound | None) -> None:
        self.m, self.n, self.floor, self.want = m, n, floor, want
        # Only one best cell can be bounded by the best score known.
        self.bound = bound if want.count == 1 and want.where != "none" else None
        #: Are they looked for among all cells of a tile, in the bottom edge of the rectangle, and
        #: in its right edge?
        self.in_tiles = want.where == "all"
        self.in_last_row = want.where in ("last_row", "border")
        self.in_last_column = want.where in ("last_column", "border", "corner")
        #: What was found so far.
        self.hits = Hits(NO_HITS.some, want.count)
        #: The score of the last of ``want.count``, among the first so many of them.
        self._least, self._chosen = 0, 0

    def threshold(self, area: Area) -> int | None:
        """The score that a cell of a tile must reach to matter: the caller's, or that of the last
        of ``want.count`` cells."""
        if self.want.among is not None and not self.want.among.any_in(area):
            return LOCAL_LIMIT
        cells, count = self.hits.some, self.want.count
        if len(cells) < count or self.want.each_tile:
            return self.want.threshold
        if 2 * (len(cells) - self._chosen) > count:  # not for a few more
            self._least = int(np.partition(cells[:, 0], -count)[-count])
            cells = cells[cells[:, 0] >= self._least]
            # equal ones are sorted where they are many
            if len(cells) > 2 * count:
                cells = best_first(cells, count).astype(cells.dtype)
            self.hits = Hits(cells, count)
            self._chosen = len(self.hits.some)
        return self._least

    def add(self, area: Area, result: TileResult) -> None:
        """Look for better cells in the result of a tile and in the edges that it has."""
        found, among = result.hits.moved(area.row, area.column), self.want.among
        self._add(found if among is None else among.of(area, found))
        where, right, bottom = self.want.where, result.right, result.bottom
        if right is not None and area.column_end == self.n:
            if where in ("last_column", "border"):
                self._add_best(right.h, area.row + 1, self.n, down=True)
            elif where == "corner" and area.row_end == self.m:
                self._add_best(right.h[-1:], self.m, self.n, down=True)
        if bottom is not None and area.row_end == self.m and self.in_last_row:
            # With "border" the corner was looked at in the last column.
            count = len(bottom) - int(where == "border" and area.column_end == self.n)
            self._add_best(bottom.h[:count], self.m, area.column + 1, down=False)

    def _add_best(self, h: Ints, row: int, column: int, *, down: bool) -> None:
        """Add the best reachable cells of an edge that begins at a cell and goes down or right."""
        count = self.want.count
        if not len(h):
            return
        if count == 1:
            places = np.array([h.argmax()])  # the first one
        else:  # those that may be among the best
            least = np.partition(h, -count)[-count] if count < len(h) else h.min()
            places = np.flatnonzero(h >= least)
        lowest = UNREACHABLE_BELOW if self.want.threshold is None else self.want.threshold
        places = places[h[places] >= max(lowest, UNREACHABLE_BELOW)]
        cells = np.full((len(places), 3), (0, row, column), np.int64)
        cells[:, 0] = h[places]
        cells[:, 1 if down else 2] += places
        self._add(cells)

    def _add(self, cells: Cells) -> None:
        if len(cells):
            here = self.hits.some
            both = np.concatenate([here, cells]) if len(here) else cells
            self.hits = Hits(both, self.want.count)

    # Pruning

    def after(self, area: Area) -> tuple[int, int] | None:
        """How many rows and columns of the matrix follow a tile; None where it is not pruned."""
        if self.bound is None:
            return None
        return self.m - area.row_end, self.n - area.column_end

    def excluded(self, area: Area, corner: int, top: Edge, left: Edge) -> bool:
        """Is it certain that no path through this tile beats the best cell, nor equals it at an
        earlier cell?  Method: block pruning (Sandes & de Melo, CUDAlign 2.1), with ties."""
        bound = self.bound
        if bound is None:
            return False
        best = min(chain(self.hits, [Hit(bound.score, bound.row, bound.column)]))
        start = max(corner, int(top.h.max()), int(left.h.max()))
        if self.floor is not None:
            start = max(start, self.floor)
        longest = min(self.m - area.row, self.n - area.column)
        most = start + longest * max(bound.match, 0)
        if most < best.score:
            return True
        return most == best.score and (area.row + 1, area.column + 1) > (best.row, best.column)
