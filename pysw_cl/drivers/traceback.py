"""The traceback, in memory linear in m + n plus one tile.

The forward sweep keeps special rows and columns.  The path is traced backward from its end, one
grid cell at a time.  The part of the grid cell above and left of the path is computed again from
its saved edges, with the moves stored.  If it is too large for that, it gets a finer grid instead.
Exact forward values decide all moves, so the path is the canonical one whatever the grid.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from ..planning.path_grid import finer_grid
from ..tiles.contract import Engine
from ..tiles.special_lines import RestartPoints, SweptGrid
from ..tiles.sweep import sweep
from ..tiles.tile import Area, Hit
from .problem import Meanwhile, Path, Problem
from .speculative_traceback import SpeculativeTraceback


def trace_back(
    engine: Engine,
    problem: Problem,
    grid: RestartPoints,
    end: Hit,
    between: Callable[[Path], None] = lambda path: None,
    begun: Path | None = None,
    after: Callable[[Path], None] = lambda path: None,
    meanwhile: Meanwhile = lambda path, busy: None,
) -> Path:
    """The canonical path that ends at ``end``, from the special rows and columns of a sweep.

    ``between(path)`` is called with the path so far before each tile; an exception that it raises
    ends the traceback.  ``begun``: the path of an earlier traceback, to go on with.
    ``after(path)`` is called with such a path after each grid cell of ``grid`` and after each tile
    batch.  ``meanwhile(path, busy)`` is called while the device computes a tile batch; ``busy()``
    says whether it still does.
    """
    path = begun or Path(end.row, end.column)
    path.between, path.meanwhile = between, meanwhile
    area = Area(0, end.row, 0, end.column)
    with ExitStack() as stack:
        speculative = SpeculativeTraceback.of(engine, problem, grid, path, stack)
        while path.inside(area):
            if speculative is not None and speculative.trace(path, end, after):
                continue
            _step(engine, problem, grid, area, path)
            after(path)
    path.finish(problem)
    return path


def _step(engine: Engine, problem: Problem, grid: RestartPoints, area: Area, path: Path) -> None:
    """Trace ``path`` back through one cell of ``grid``, with its moves if these can be stored, else
    with a finer grid.  ``area`` is the grid's part of the matrix; the grid's rows and columns are
    counted from the area's corner."""
    path.between(path)
    row, column = grid.start(path.row - area.row, path.column - area.column)
    edges = grid.edges_of(Area(row, path.row - area.row, column, path.column - area.column))
    cell = Area(area.row + row, path.row, area.column + column, path.column)
    m, n = cell.shape
    able, most = engine.for_moves, engine.plan.traceback_tile_cells
    small = m <= able.row_quantum and n <= able.plan.tuning.traceback.least_columns
    if small or able.moves_bytes(m, n) <= most // 2:  # 4 bits a cell
        result = able.tile(problem.tile(cell, edges, store_moves=True))
        assert result.moves is not None
        traced = result.moves.trace(m, n, path.state)
        result.moves.release()
        path.follow(traced, cell.row, cell.column)
        path.add_cost(result)
        return
    shape, rows, columns = finer_grid(engine.plan, m, n, most, engine.strip_rows)
    finer = SweptGrid.over(edges, rows, columns)
    path.add_cost(sweep(engine, problem.inside(cell), finer.saving(), shape=shape))
    while path.inside(cell):
        _step(engine, problem, finer, cell, path)
