"""A path is read while it is walked: its runs, and what it scores, piece by piece.

What the host makes of a long path takes about as long as a part of the walk, in which it mostly
waits for a device.  So what has been walked is read while the device computes what is walked next,
and at the end only the last piece is left, and to join the runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..drivers.traceback_state import Path
from ..planning.parameters import TracebackTuning, default_tuning
from ..scoring.scoring import Scoring
from ..sequences.coordinates import Frame
from ..sequences.view import View
from ..tiles.tile import Hit
from .cigar import Moves, Runs, check_region, consumed, joined, opposite, piece_runs


class FoundPath(NamedTuple):
    """A path: where it starts, its runs, and what it scores, None where nobody has looked."""

    row: int
    column: int
    runs: Runs
    score: int | None = None


class Piece(NamedTuple):
    """A piece of a path: its runs, and what its pairs of letters score."""

    runs: Runs
    pairs: int


class PathReader:
    """What the moves of a path say, by the letters of ``frame`` and the scoring alone."""

    def __init__(
        self, frame: Frame, scoring: Scoring, tuning: TracebackTuning | None = None
    ) -> None:
        self.frame, self.scoring = frame, scoring
        self._at_once = (tuning or default_tuning().traceback).read_moves
        self._taken = 0  # arrays of moves
        self._place: tuple[int, int] | None = None  # where those begin
        self._waiting: deque[tuple[Moves, View, View]] = deque()  # what nobody has read
        self._pieces: list[Piece] = []  # last first

    def read_meanwhile(self, end: Hit, path: Path, busy: Callable[[], bool] = lambda: True) -> None:
        """Read what was walked, of a path that ends at ``end``, piece by piece as long as something
        else is ``busy``."""
        self._waiting += self._take(end, path)
        while self._waiting and busy():
            self._pieces.append(self._read(self._waiting.popleft()))

    def found(self, end: Hit, path: Path) -> FoundPath:
        """The runs and the score of a path that was walked to its start.  Raises InternalError if
        it does not consume the letters between there and its end."""
        self._waiting += self._take(end, path)
        self._pieces += map(self._read, self._waiting)  # threads wait for each other here
        runs = joined(piece.runs for piece in reversed(self._pieces))
        total, query, target = int(runs.lengths.sum()), runs.count("I"), runs.count("D")
        _check((total - target, total - query), (end.row, end.column), path)
        gaps = runs.gaps() * self.scoring.gap_open + (query + target) * self.scoring.gap_extend
        return FoundPath(path.row, path.column, runs, sum(p.pairs for p in self._pieces) - gaps)

    def _take(self, end: Hit, path: Path) -> Iterator[tuple[Moves, View, View]]:
        """The pieces that were walked since the last time, and the letters that each consumes, last
        first."""
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
        _check((place[0] - row, place[1] - column), place, path)
        self._place = row, column

    def _read(self, piece: tuple[Moves, View, View]) -> Piece:
        moves = np.ascontiguousarray(piece[0][::-1])
        pairs = opposite(moves, *piece[1:])
        scores = self.scoring.pair_scores(*pairs)
        return Piece(piece_runs(self.scoring, moves, *pairs), int(scores.sum(dtype=np.int64)))


def _check(letters: tuple[int, int], end: tuple[int, int], path: Path) -> None:
    """Do moves consume these letters, between where a path is now and ``end``?"""
    check_region(letters, (end[0] - path.row, end[1] - path.column))
