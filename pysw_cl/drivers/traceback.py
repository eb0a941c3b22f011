"""The path, in memory linear in m + n plus one tile.

The forward sweep keeps special rows and columns.  The path is walked backward from its end, one
grid cell at a time: the part of it up to the path's entry is computed again from its saved edges,
this time with every cell's moves kept, or, while it is too large for that, with a finer grid.
All moves are decided by exact forward values, so the path is the canonical one whatever the grid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..engines.base import Engine, TileJob
from ..engines.sweep import Area, SavedGrid, cuts, sweep
from ..errors import InternalError
from ..tile import Edges, Hit
from .problem import Problem

#: Special rows (and columns) a level of the grid has at most: memory is 8 bytes x 16 (m + n),
#: and a level computes about 1/16 of the one above it again.
MOST_PIECES = 16
#: Side of a grid cell below which finer cells only add launches.
LEAST_SIDE = 2048
#: Columns that are walked at once however small the limit.
LEAST_COLUMNS = 16

CONSUMES_TARGET, CONSUMES_QUERY = 1, 2


class Restarts(Protocol):
    """Saved edges from which the cells of a path can be computed again: a grid or a band's rows."""

    def start(self, row: int, column: int) -> tuple[int, int]:
        """The corner (row, column) from which cell (row, column), from 1, is computed."""

    def edges_of(self, area: Area) -> Edges:
        """Edges of an area whose upper left corner is a ``start``."""


def grid_places(length: int, quantum: int) -> list[int]:
    """Where a side of this length is cut."""
    pieces = max(1, min(MOST_PIECES, length // LEAST_SIDE))
    return cuts(length, -(-length // pieces), quantum)


@dataclass
class Path:
    """A path backward: its start (half-open), its moves last first, and what it cost."""

    row: int
    column: int
    moves: list[NDArray[np.uint8]] = field(default_factory=list)
    cells: dict[str, int] = field(default_factory=dict)
    launches: int = 0
    state: int = 0
    ended: bool = False
    between: Callable[[], None] = lambda: None

    def forward(self) -> NDArray[np.uint8]:
        """All moves, first move first."""
        if not self.moves:
            return np.zeros(0, np.uint8)
        return np.concatenate(self.moves)[::-1]

    def add_cost(self, cells: dict[str, int], launches: int) -> None:
        """Count cells that were computed again."""
        self.launches += launches
        for kind, count in cells.items():
            self.cells[kind] = self.cells.get(kind, 0) + count


def walk_back(
    engine: Engine,
    problem: Problem,
    grid: Restarts,
    end: Hit,
    walk_cells: int,
    between: Callable[[], None] = lambda: None,
) -> Path:
    """The canonical path that ends at ``end``, from what a sweep of the whole matrix
    saved.

    ``walk_cells``: cells of the largest tile whose moves are kept.  ``between`` is called before
    each tile; an exception that it raises ends the walk.
    """
    path = Path(end.row, end.column, between=between)
    _walk(engine, problem, grid, Area(0, end.row, 0, end.column), path, walk_cells)
    free, local = problem.free, problem.mode == "local"
    if not path.ended and path.row and path.column:
        raise InternalError(f"the path stopped at ({path.row}, {path.column})")
    if path.row and not path.ended and not local and not free.lead_target:
        path.moves.append(np.full(path.row, CONSUMES_QUERY, np.uint8))
        path.row = 0
    if path.column and not path.ended and not local and not free.lead_query:
        path.moves.append(np.full(path.column, CONSUMES_TARGET, np.uint8))
        path.column = 0
    return path


def _walk(
    engine: Engine,
    problem: Problem,
    grid: Restarts,
    area: Area,
    path: Path,
    walk_cells: int,
) -> None:
    """Walk ``path`` back until it leaves ``area`` (in the whole matrix's rows and columns), over
    which ``grid`` lies (in rows and columns counted from the area's corner)."""
    while path.row > area.row and path.column > area.column and not path.ended:
        path.between()
        row, column = grid.start(path.row - area.row, path.column - area.column)
        inner = Area(row, path.row - area.row, column, path.column - area.column)
        edges = grid.edges_of(inner)
        cell = Area(
            area.row + inner.row,
            area.row + inner.row_end,
            area.column + inner.column,
            area.column + inner.column_end,
        )
        if _fits(engine, cell, walk_cells):
            _walk_tile(engine, problem, edges, cell, path)
        else:
            finer = _finer_grid(engine, problem, edges, cell, path)
            _walk(engine, problem, finer, cell, path, walk_cells)


def _fits(engine: Engine, cell: Area, walk_cells: int) -> bool:
    """Can this cell's moves be kept?  The limit is meant as 4 bits a cell."""
    rows, columns = cell.row_end - cell.row, cell.column_end - cell.column
    if rows <= engine.row_quantum and columns <= LEAST_COLUMNS:
        return True
    return engine.moves_bytes(rows, columns) <= walk_cells // 2


def _walk_tile(engine: Engine, problem: Problem, edges: Edges, cell: Area, path: Path) -> None:
    m, n = cell.row_end - cell.row, cell.column_end - cell.column
    result = engine.tile(
        TileJob(
            query=problem.query.read(cell.row, cell.row_end),
            target=problem.target.read(cell.column, cell.column_end),
            scoring=problem.scoring,
            floor=problem.floor,
            corner=edges.corner,
            top=edges.top.read(0, n),
            left=edges.left.read(0, m),
            bottom=False,
            directions=True,
        )
    )
    assert result.directions is not None
    walk = result.directions.walk(m, n, path.state)
    result.directions.release()
    path.moves.append(walk.moves)
    path.row, path.column = cell.row + walk.row, cell.column + walk.column
    path.state, path.ended = walk.state, walk.ended
    path.add_cost(result.cells, result.launches)


def _finer_grid(
    engine: Engine,
    problem: Problem,
    edges: Edges,
    cell: Area,
    path: Path,
) -> SavedGrid:
    m, n = cell.row_end - cell.row, cell.column_end - cell.column
    # at least two pieces a side, however small the caller wants the tiles
    rows = grid_places(m, engine.row_quantum)
    columns = grid_places(n, 1)
    if len(rows) == 2 and len(columns) == 2:
        rows, columns = cuts(m, -(-m // 2), 1), cuts(n, -(-n // 2), 1)
    grid = SavedGrid.over(edges, rows, columns)
    result = sweep(
        engine,
        problem.query.slice(cell.row, cell.row_end),
        problem.target.slice(cell.column, cell.column_end),
        problem.scoring,
        problem.floor,
        grid.saving(),
    )
    path.add_cost(result.cells, result.launches)
    return grid
