"""A path that is traced backward, and that of a small matrix, which an engine may hold whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..errors import InternalError
from ..tiles.contract import Engine, HeldFound, HeldMatrix
from ..tiles.tile import Area, Costs, Traced
from .problem import Problem

CONSUMES_TARGET, CONSUMES_QUERY = 1, 2
#: Called with the path so far while a device computes; the second argument: does it still?
Meanwhile = Callable[["Path", Callable[[], bool]], None]


@dataclass
class Path(Costs):
    """A path, traced backward."""

    #: Where it starts so far (half-open): the path aligns letters from here on.
    row: int
    column: int
    #: Its moves, the last one first.
    moves: list[NDArray[np.uint8]] = field(default_factory=list)
    #: 0 at H, else the gap that it is in.
    state: int = 0
    #: Has a local path come to its start?
    ended: bool = False
    #: Called before each tile.
    between: Callable[[Path], None] = lambda path: None
    #: Called while a device computes.
    meanwhile: Meanwhile = lambda path, busy: None

    def inside(self, area: Area) -> bool:
        """Does the traceback go on in this area?"""
        return self.row > area.row and self.column > area.column and not self.ended

    def forward(self) -> NDArray[np.uint8]:
        """All moves, the first one first."""
        if not self.moves:
            return np.zeros(0, np.uint8)
        return np.concatenate(self.moves)[::-1]

    def follow(self, traced: Traced, row: int = 0, column: int = 0) -> None:
        """Add the part in a tile that begins after so many rows and columns."""
        self.moves.append(traced.moves)
        self.row, self.column = row + traced.row, column + traced.column
        self.state, self.ended = traced.state, traced.ended

    def finish(self, problem: Problem) -> None:
        """Add the gap along a border that leads to the start of a global path."""
        free = problem.free
        if self.row and self.column and not self.ended:
            raise InternalError(f"the path stopped at ({self.row}, {self.column})")
        if self.ended or problem.mode == "local":
            return
        if self.row and not free.lead_target:
            self.moves.append(np.full(self.row, CONSUMES_QUERY, np.uint8))
            self.row = 0
        if self.column and not free.lead_query:
            self.moves.append(np.full(self.column, CONSUMES_TARGET, np.uint8))
            self.column = 0


def held_matrix(engine: Engine, problem: Problem, paths: int) -> HeldMatrix | None:
    """The matrix of a comparison in which ``paths`` paths are wanted, or are there already (0: a
    score); None if it is too large for that, or the engine holds none (`HeldMatrices`)."""
    held = engine.held_matrices
    m, n = problem.shape
    if held is None or not held.fits(m, n, paths):
        return None
    codes = problem.query.read(0, m), problem.target.read(0, n)
    return held.hold(*codes, problem.scoring, problem.floor, problem.free.flags, problem.forbidden)


def held_path(found: HeldFound, problem: Problem) -> Path | None:
    """The path that was found, up to its start; None if none was wanted."""
    if found.path is None:
        return None
    path = Path(found.path.row, found.path.column)
    path.follow(found.path)
    path.add_cost(found)
    path.finish(problem)
    return path
