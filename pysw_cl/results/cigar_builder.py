"""Turns the moves of a path into the runs of a CIGAR and a score, while the traceback goes on.

Reading the moves of a long path takes the host about as long as a part of the traceback takes the
device.  So the host reads the moves that it has while the device computes the next ones.  At the
end it reads the last piece and joins the runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from ..planning.parameters import TracebackTuning, default_tuning
from ..scoring.scoring import Scoring
from ..sequences.view import Frame, View
from ..tiles.tile import Hit
from .cigar import Moves, Runs, check_region, consumed, joined, opposite, piece_runs


class BackwardPath(Protocol):
    """The part of a traceback that this module reads."""

    #: The query and target letters before the path so far; at the end of the traceback its start.
    row: int
    column: int
    #: Arrays of moves, the last move of the path first.
    moves: list[Moves]


class FoundPath(NamedTuple):
    """A path: the row and column where it starts, its runs, and their score (None: unknown)."""

    row: int
    column: int
    runs: Runs
    score: int | None = None


class PathReader:
    """Computes runs and the score of one path from its moves, the letters of ``frame`` and the
    scoring alone.  It uses no score that a tile computed."""

    def __init__(
        self, frame: Frame, scoring: Scoring, tuning: TracebackTuning | None = None
    ) -> None:
        self.frame, self.scoring = frame, scoring
        #: Moves that are read at once.  A device that becomes ready waits for no more than these.
        self._at_once = (tuning or default_tuning().traceback).read_moves
        #: How many arrays of moves were taken from the path.
        self._taken = 0
        #: The row and column where the moves taken so far begin.
        self._place: tuple[int, int] | None = None
        #: Pieces that were taken and not read: moves, query letters, target letters.
        self._waiting: deque[tuple[Moves, View, View]] = deque()
        #: The runs of the pieces that were read, the last one of the path first.
        self._runs: list[Runs] = []
        #: The sum of the substitution scores of their pairs.
        self._pairs = 0

    def read_meanwhile(
        self, end: Hit, path: BackwardPath, busy: Callable[[], bool] = lambda: True
    ) -> None:
        """Read the new moves of a path that ends at ``end``, piece by piece, as long as ``busy()``
        is true (the device still computes)."""
        self._waiting += self._take(end, path)
        while self._waiting and busy():
            self._read(*self._waiting.popleft())

    def found(self, end: Hit, path: BackwardPath) -> FoundPath:
        """The runs and the score of a path whose traceback is complete.

        Raises InternalError if the moves do not consume the letters between its start and ``end``.
        """
        self._waiting += self._take(end, path)
        for piece in self._waiting:  # in turn: the work itself uses threads
            self._read(*piece)
        runs = joined(reversed(self._runs))
        total, (gaps, query, target) = int(runs.lengths.sum()), runs.in_gaps()
        letters = total - target, total - query
        check_region(letters, (end.row - path.row, end.column - path.column))
        cost = gaps * self.scoring.gap_open + (query + target) * self.scoring.gap_extend
        return FoundPath(path.row, path.column, runs, self._pairs - cost)

    def _take(self, end: Hit, path: BackwardPath) -> Iterator[tuple[Moves, View, View]]:
        """The pieces that the traceback added since the last call, with the letters that each
        consumes; the last piece of the path comes first."""
        new = path.moves[self._taken :]
        self._taken += len(new)
        row, column = place = self._place or (end.row, end.column)
        for moves in new:
            for start in range(0, len(moves), self._at_once):
                piece = moves[start : start + self._at_once]
                rows, columns = consumed(piece)
                row, column = row - rows, column - columns
                if row >= path.row and column >= path.column:
                    yield piece, *self.frame.region(row, row + rows, column, column + columns)
        region = place[0] - path.row, place[1] - path.column
        check_region((place[0] - row, place[1] - column), region)
        self._place = row, column

    def _read(self, moves: Moves, query: View, target: View) -> None:
        """Read the runs and the scores of one piece."""
        moves = np.ascontiguousarray(moves[::-1])
        pairs = opposite(moves, query, target)
        self._runs.append(piece_runs(self.scoring, moves, *pairs))
        self._pairs += int(self.scoring.pair_scores(*pairs).sum(dtype=np.int64))
