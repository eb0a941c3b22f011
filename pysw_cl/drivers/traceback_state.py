"""The state of a traceback: the path so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..tiles.tile import Area

CONSUMES_TARGET, CONSUMES_QUERY = 1, 2
#: Called with the path so far while a device computes; the second argument: does it still?
Meanwhile = Callable[["Path", Callable[[], bool]], None]


@dataclass
class Path:
    """A path, traced backward."""

    #: Where it starts so far (half-open): the path aligns letters from here on.
    row: int
    column: int
    #: Its moves, the last one first.
    moves: list[NDArray[np.uint8]] = field(default_factory=list)
    #: Cells computed for it, by lane set.
    cells: dict[str, int] = field(default_factory=dict)
    launches: int = 0
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

    def add_cost(self, cells: dict[str, int], launches: int) -> None:
        """Add cells and launches of the traceback."""
        self.launches += launches
        for kind, count in cells.items():
            self.cells[kind] = self.cells.get(kind, 0) + count
