"""The groups of a pair batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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

    def places(self, lanes: int) -> Places:
        """Where the moves and the runs of each group are."""
        at = np.zeros((self.count, 4), np.int32)
        m, n = self.rows.astype(np.int64), self.panels.astype(np.int64) * self.columns
        rows = np.cumsum(self.panels * m)
        most = most_runs(m, n)
        runs = np.cumsum(lanes * most)
        at[1:, 0], at[:, 1], at[1:, 2], at[:, 3] = rows[:-1], m, runs[:-1], most
        return Places(at, int(rows[-1]) * lanes * self.columns // 2, int(runs[-1]))


@dataclass(frozen=True)
class Places:
    """Where the moves and the runs of each group of a batch are."""

    #: Per group the row where its moves begin and its query length, the word where its runs begin,
    #: and the words of each lane (n x 4).
    at: Ints
    #: The bytes of all moves, and the words of all runs.
    moves_bytes: int
    run_words: int

    def of_pairs(self, count: int, lanes: int) -> NDArray[np.int64]:
        """Where the place of each of ``count`` pairs ends."""
        pairs = np.arange(count)
        group = pairs // lanes
        ends: NDArray[np.int64] = self.at[group, 2] + (pairs % lanes + 1) * self.at[group, 3]
        return ends


def most_runs(m: Any, n: Any) -> Any:
    """The most runs of a path of m query letters and n target letters: each but those of target
    letters takes a query letter, and no two of these follow each other."""
    return np.minimum(m + n, 2 * np.minimum(m, n) + 1)
