"""The traceback, in memory linear in m + n plus one tile.

The forward sweep keeps special rows and columns.  The path is traced backward from its end, one
grid cell at a time.  The part of the grid cell above and left of the path is computed again from
its saved edges, with the moves stored.  If it is too large for that, it gets a finer grid instead.
Exact forward values decide all moves, so the path is the canonical one whatever the grid.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import numpy as np

from ..errors import InternalError
from ..planning.path_grid import finer_grid
from ..tiles.contract import Engine
from ..tiles.edges import Edges
from ..tiles.special_lines import RestartPoints, SweptGrid
from ..tiles.sweep import sweep
from ..tiles.tile import Area, Hit, TileJob
from .problem import Problem
from .speculative_traceback import SpeculativeTraceback
from .traceback_state import (
    CONSUMES_QUERY,
    CONSUMES_TARGET,
    Meanwhile,
    Path,
)


def trace_back(
    engine: Engine,
    problem: Problem,
    grid: RestartPoints,
    end: Hit,
    traceback_tile_cells: int,
    between: Callable[[Path], None] = lambda path: None,
    begun: Path | None = None,
    after: Callable[[Path], None] = lambda path: None,
    meanwhile: Meanwhile = lambda path, busy: None,
) -> Path:
    """The canonical path that ends at ``end``, from the special rows and columns of a sweep.

    ``traceback_tile_cells``: cells of the largest tile whose moves are stored.  ``between(path)``
    is called with the path so far before each tile; an exception that it raises ends the traceback.
    ``begun``: the path of an earlier traceback, to go on with.  ``after(path)`` is called with such
    a path after each grid cell of ``grid`` and after each tile batch.  ``meanwhile(path, busy)`` is
    called while the device computes a tile batch; ``busy()`` says whether it still does.
    """
    path = begun or Path(end.row, end.column)
    path.between, path.meanwhile = between, meanwhile
    area = Area(0, end.row, 0, end.column)
    with ExitStack() as stack:
        speculative = SpeculativeTraceback.of(engine, problem, grid, path, stack)
        while path.inside(area):
            if speculative is not None and speculative.trace(path, end, after):
                continue
            _step(engine, problem, grid, area, path, traceback_tile_cells)
            after(path)
    finish(path, problem)
    return path


def finish(path: Path, problem: Problem) -> None:
    """Add the gap along a border that leads to the start of a global path."""
    free, local = problem.free, problem.mode == "local"
    if not path.ended and path.row and path.column:
        raise InternalError(f"the path stopped at ({path.row}, {path.column})")
    if path.row and not path.ended and not local and not free.lead_target:
        path.moves.append(np.full(path.row, CONSUMES_QUERY, np.uint8))
        path.row = 0
    if path.column and not path.ended and not local and not free.lead_query:
        path.moves.append(np.full(path.column, CONSUMES_TARGET, np.uint8))
        path.column = 0


def _step(
    engine: Engine,
    problem: Problem,
    grid: RestartPoints,
    area: Area,
    path: Path,
    traceback_tile_cells: int,
) -> None:
    """Trace ``path`` back through one cell of ``grid``.  ``area`` is the grid's part of the matrix;
    the grid's rows and columns are counted from the area's corner."""
    path.between(path)
    row, column = grid.start(path.row - area.row, path.column - area.column)
    inner = Area(row, path.row - area.row, column, path.column - area.column)
    edges = grid.edges_of(inner)
    cell = Area(
        area.row + inner.row,
        area.row + inner.row_end,
        area.column + inner.column,
        area.column + inner.column_end,
    )
    if _fits(engine, cell, traceback_tile_cells):
        _trace_tile(engine, problem, edges, cell, path)
        return
    finer = _finer_grid(engine, problem, edges, cell, path, traceback_tile_cells)
    while path.inside(cell):
        _step(engine, problem, finer, cell, path, traceback_tile_cells)


def _fits(engine: Engine, cell: Area, traceback_tile_cells: int) -> bool:
    """Can this grid cell's moves be stored?  The limit allows 4 bits for each of so many cells."""
    rows, columns, engine = (
        cell.row_end - cell.row,
        cell.column_end - cell.column,
        engine.for_moves,
    )
    if rows <= engine.row_quantum and columns <= engine.plan.tuning.traceback.least_columns:
        return True
    return engine.moves_bytes(rows, columns) <= traceback_tile_cells // 2


def _trace_tile(engine: Engine, problem: Problem, edges: Edges, cell: Area, path: Path) -> None:
    """Compute a grid cell with its moves, and trace ``path`` back through it."""
    m, n = cell.row_end - cell.row, cell.column_end - cell.column
    result = engine.for_moves.tile(
        TileJob(
            query=problem.query.read(cell.row, cell.row_end),
            target=problem.target.read(cell.column, cell.column_end),
            scoring=problem.scoring,
            floor=problem.floor,
            corner=edges.corner,
            top=edges.top.read(0, n),
            left=edges.left.read(0, m),
            bottom=False,
            right=False,
            store_moves=True,
            forbidden=cell.pairs(problem.forbidden),
        )
    )
    assert result.moves is not None
    trace = result.moves.trace(m, n, path.state)
    result.moves.release()
    path.moves.append(trace.moves)
    path.row, path.column = cell.row + trace.row, cell.column + trace.column
    path.state, path.ended = trace.state, trace.ended
    path.add_cost(result.cells, result.launches)


def _finer_grid(
    engine: Engine,
    problem: Problem,
    edges: Edges,
    cell: Area,
    path: Path,
    traceback_tile_cells: int,
) -> SweptGrid:
    """Sweep a grid cell again, with special rows and columns inside it."""
    m, n = cell.row_end - cell.row, cell.column_end - cell.column
    shape, rows, columns = finer_grid(engine.plan, m, n, traceback_tile_cells, engine.strip_rows)
    grid = SweptGrid.over(edges, rows, columns)
    result = sweep(
        engine,
        problem.query.slice(cell.row, cell.row_end),
        problem.target.slice(cell.column, cell.column_end),
        problem.scoring,
        problem.floor,
        grid.saving(),
        forbidden=cell.pairs(problem.forbidden),
        shape=shape,
    )
    path.add_cost(result.cells, result.launches)
    return grid
