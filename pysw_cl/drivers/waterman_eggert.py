"""The best local alignments of two sequences that share no aligned pair, one after the other.

Method: Waterman & Eggert (1987, J Mol Biol 197, 723-728).  After an alignment is found, the pairs
of letters that it aligns are blocked: no later path may take the diagonal step of their cells.
The next one is the best of the matrix in which they are blocked, and only what that touches is
computed again.  Here the unit is a tile of the grid whose edges the first sweep keeps: the tiles
that the path crosses are computed again, and those next to them only where an edge came out
different.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise, product

import numpy as np

from ..planning.geometry import tile_shape
from ..planning.plan import Plan
from ..sequences.view import Pairs
from ..tiles.contract import Engine
from ..tiles.edges import Edge, EdgeArray
from ..tiles.special_lines import SweptGrid
from ..tiles.sweep import Progress, sweep
from ..tiles.tile import Area, Hit, Want
from .problem import Problem
from .traceback import grid_places, trace_back
from .traceback_state import CONSUMES_QUERY, CONSUMES_TARGET, Path

#: A tile by its place in the grid: which row of tiles, which column.
Place = tuple[int, int]


@dataclass
class FoundAlignment:
    """One alignment: its end, its path where it was wanted, and what was computed for it."""

    end: Hit
    path: Path | None
    cells: dict[str, int]
    launches: int


def find_top(
    engine: Engine,
    problem: Problem,
    plan: Plan,
    count: int,
    least: int,
    *,
    last_path: bool = True,
    progress: Progress | None = None,
) -> Iterator[FoundAlignment]:
    """Up to ``count`` local alignments of at least ``least`` (1 or more), best first.

    Each is the best of the matrix in which the aligned pairs of those before it are blocked: the
    first in row-major order of ends among equals, by its canonical path.  ``last_path``: is the
    path of the last one wanted?  ``progress(done, total)`` is called with the cells of the first
    sweep, and with their number for both after each tile that is computed again; an exception that
    it raises ends the search.

    Source: Waterman & Eggert (1987); see the module.
    """
    tiles = _Tiles(engine, problem, plan, least, progress)
    touched = set(tiles.areas)
    for number in range(1, count + 1):
        tiles.compute(touched)
        if not tiles.best:
            return
        end = min(tiles.best.values())
        path = tiles.trace(end) if last_path or number < count else None
        yield FoundAlignment(end, path, tiles.cells, tiles.launches)
        tiles.cells, tiles.launches = {}, 0
        if path is not None:
            touched = tiles.block(aligned_pairs(path))


def aligned_pairs(path: Path) -> Pairs:
    """The pairs of letters that a path aligns: those of its diagonal steps."""
    moves = path.forward()
    rows = path.row + np.cumsum(moves != CONSUMES_TARGET)
    columns = path.column + np.cumsum(moves != CONSUMES_QUERY)
    diagonal = (moves != CONSUMES_TARGET) & (moves != CONSUMES_QUERY)
    return np.stack([rows[diagonal], columns[diagonal]]).astype(np.int64) - 1


@dataclass
class _Tiles:
    """The matrix as a grid of tiles: the edges between them, and the best cell of each that has
    one of at least ``least``."""

    engine: Engine
    problem: Problem
    plan: Plan
    least: int
    progress: Progress | None
    best: dict[Place, Hit] = field(default_factory=dict)
    cells: dict[str, int] = field(default_factory=dict)
    launches: int = 0

    def __post_init__(self) -> None:
        m, n = len(self.problem.query), len(self.problem.target)
        tuning = self.plan.tuning.traceback
        self.rows = grid_places(tuning, m, self.engine.row_quantum)
        self.columns = grid_places(tuning, n, 1)
        self.grid = SweptGrid.over(self.problem.edges, self.rows, self.columns)
        bands, pieces = enumerate(pairwise(self.rows)), list(enumerate(pairwise(self.columns)))
        #: all tiles in row-major order
        self.areas = {
            (i, j): Area(*band, *piece) for (i, band), (j, piece) in product(bands, pieces)
        }
        self.total, self.done = m * n, 0

    def compute(self, touched: set[Place]) -> None:
        """Compute the tiles that were ``touched``, and all whose edges or corner that changes."""
        waiting = set(touched)
        for place, area in self.areas.items():  # a tile depends on earlier ones only
            if place in waiting:
                waiting |= self._compute(place, area)

    def _compute(self, place: Place, area: Area) -> set[Place]:
        """Compute one tile; returns those that have to follow."""
        problem, (i, j) = self.problem, place
        longest = self.plan.tuning.sweep.longest_side
        m, n = area.row_end - area.row, area.column_end - area.column
        below, beside = self.grid.rows.get(area.row_end), self.grid.columns.get(area.column_end)
        bottom = EdgeArray(n) if below is not None else None
        right = EdgeArray(m) if beside is not None else None
        result = sweep(
            self.engine,
            problem.query.slice(area.row, area.row_end),
            problem.target.slice(area.column, area.column_end),
            problem.scoring,
            problem.floor,
            replace(self.grid.edges_of(area), bottom=bottom, right=right),
            Want("all", threshold=self.least),
            shape=tile_shape(m, n, self.plan.tile_cells, longest=longest),
            progress=self._report,
            forbidden=area.pairs(problem.forbidden),
        )
        self.done = min(self.done + area.cells, self.total)
        self._add(result.cells, result.launches)
        self.best.pop(place, None)
        for hit in result.hits:
            self.best[place] = Hit(hit.score, area.row + hit.row, area.column + hit.column)

        changed = set()
        if below is not None and bottom is not None:
            before, now = below.read(area.column, area.column_end), bottom.read(0, n)
            if not _same(before, now):
                changed.add((i + 1, j))
            if before.h[-1] != now.h[-1] and beside is not None:
                changed.add((i + 1, j + 1))
            below.write(area.column, now)
        if beside is not None and right is not None:
            now = right.read(0, m)
            if not _same(beside.read(area.row, area.row_end), now):
                changed.add((i, j + 1))
            beside.write(area.row, now)
        return changed

    def trace(self, end: Hit) -> Path:
        """The canonical path to ``end``."""
        limit = self.plan.traceback_tile_cells
        path = trace_back(
            self.engine, self.problem, self.grid, end, limit, lambda _: self._between()
        )
        self._add(path.cells, path.launches)
        return path

    def block(self, pairs: Pairs) -> set[Place]:
        """Block ``pairs`` from now on; returns the tiles that they lie in."""
        before = self.problem.forbidden
        every = pairs if before is None else np.concatenate([before, pairs], axis=1)
        every = every[:, np.lexsort((every[1], every[0]))]
        self.problem = replace(self.problem, forbidden=every)
        i = np.searchsorted(self.rows, pairs[0], "right") - 1
        j = np.searchsorted(self.columns, pairs[1], "right") - 1
        return set(zip(i.tolist(), j.tolist(), strict=True))

    def _report(self, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(min(self.done + done, self.total), self.total)

    def _between(self) -> None:
        self._report(0, 0)

    def _add(self, cells: dict[str, int], launches: int) -> None:
        self.launches += launches
        for kind, count in cells.items():
            self.cells[kind] = self.cells.get(kind, 0) + count


def _same(one: Edge, other: Edge) -> bool:
    return np.array_equal(one.h, other.h) and np.array_equal(one.x, other.x)
