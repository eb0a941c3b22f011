"""A path while it is walked backward."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..planning.parameters import TracebackTuning
from ..tiles.tile import Area, Hit

CONSUMES_TARGET, CONSUMES_QUERY = 1, 2
#: What is done with a path so far while something else is busy, as long as it is.
Meanwhile = Callable[["Path", Callable[[], bool]], None]


def path_bytes(tuning: TracebackTuning, m: int, n: int) -> int:
    """Memory that a path through m rows and n columns may take."""
    return tuning.path_bytes + tuning.side_bytes * (m + n)


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
    between: Callable[[Path], None] = lambda path: None
    meanwhile: Meanwhile = lambda path, busy: None

    def inside(self, area: Area) -> bool:
        """Does it go on in this area?"""
        return self.row > area.row and self.column > area.column and not self.ended

    def share(self, end: Hit, cells: int) -> int:
        """How many of ``cells``, the work of a path from ``end`` to the corner, are done."""
        left = (self.row + self.column) / max(1, end.row + end.column)
        return round(cells * (1 - left))

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
