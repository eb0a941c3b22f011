"""Small matrices that are held whole, where the engine can do that: see `HeldMatrices`."""

from __future__ import annotations

from ..tiles.contract import Engine, HeldFound, HeldMatrix
from .problem import Problem
from .traceback import finish
from .traceback_state import Path


def held_matrix(engine: Engine, problem: Problem, paths: int) -> HeldMatrix | None:
    """The matrix of a comparison in which ``paths`` paths are wanted, or are there already (0: a
    score); None if it is too large for that, or the engine holds none."""
    held = engine.held_matrices
    m, n = problem.shape
    if held is None or not held.fits(m, n, paths):
        return None
    codes = problem.query.read(0, m), problem.target.read(0, n)
    return held.hold(*codes, problem.scoring, problem.floor, problem.free.flags, problem.forbidden)


def held_path(found: HeldFound, problem: Problem) -> Path | None:
    """The path that was found, up to its start; None if none was wanted."""
    traced = found.path
    if traced is None:
        return None
    path = Path(traced.row, traced.column, [traced.moves])
    path.ended = traced.ended
    path.add_cost(found.cells, found.launches)
    finish(path, problem)
    return path
