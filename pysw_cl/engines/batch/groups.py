"""The groups of a pair batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Groups:
    """The pairs of a batch, as many in each group as a work-group has lanes."""

    count: int
    #: The longest query of each group.
    rows: Ints
    #: The most panels of each group, and the columns of a panel.
    panels: Ints
    columns: int

    @classmethod
    def of(cls, pairs: Ints, lanes: int, columns: int) -> Groups:
        """``pairs``: as `BatchEngine.start` takes them."""
        starts = np.arange(0, len(pairs), lanes)
        rows = np.maximum.reduceat(pairs[:, 1], starts)
        longest = np.maximum.reduceat(pairs[:, 3], starts)
        return cls(len(starts), rows, -(-longest // columns), columns)

    @property
    def longest(self) -> tuple[int, int]:
        """Query letters and target letters, in whole panels, of the longest ones."""
        return int(self.rows.max()), int(self.panels.max()) * self.columns

    def moves_places(self, lanes: int) -> tuple[Ints, int]:
        """For each group the row where its moves begin and its query length, and the bytes of all
        moves."""
        places = np.zeros((self.count, 2), np.int32)
        rows = np.cumsum(self.panels.astype(np.int64) * self.rows)
        places[1:, 0], places[:, 1] = rows[:-1], self.rows
        return places, int(rows[-1]) * lanes * self.columns // 2
