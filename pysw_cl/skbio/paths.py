"""Paths as scikit-bio's `PairAlignPath`.

Its states are this package's moves: 0 aligns two letters, 1 is a gap in the first sequence and 2
one in the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skbio.alignment import PairAlignPath

Moves = NDArray[np.uint8]
Lengths = NDArray[np.int64]
#: Query start and end, target start and end.
Span = tuple[int, int, int, int]

_GAPS = {state: np.array([state], np.uint8) for state in (1, 2)}


def pair_path(
    moves: Moves, lengths: Lengths, span: Span, sizes: Sequence[int], ends: Sequence[int]
) -> PairAlignPath:
    """The path with these runs of moves.

    ``ends``: scikit-bio's flags for leading and trailing gaps of the first sequence, then of the
    second: 2 leaves free end gaps out, with 1 they are there.  A path without free ends has its end
    gaps already.
    """
    (i0, i1, j0, j1), (m, n) = span, sizes
    if j1 < n and i1 == m and ends[1] < 2:
        moves, lengths, j1 = *_joined(moves, lengths, 1, n - j1, False), n
    elif i1 < m and j1 == n and ends[3] < 2:
        moves, lengths, i1 = *_joined(moves, lengths, 2, m - i1, False), m
    if j0 and not i0 and ends[0] < 2:
        moves, lengths, j0 = *_joined(moves, lengths, 1, j0, True), 0
    elif i0 and not j0 and ends[2] < 2:
        moves, lengths, i0 = *_joined(moves, lengths, 2, i0, True), 0
    return PairAlignPath(lengths, moves, ranges=np.array([[i0, i1], [j0, j1]], np.intp))


def _joined(
    moves: Moves, lengths: Lengths, state: int, length: int, first: bool
) -> tuple[Moves, Lengths]:
    """The runs with one more gap before or after them."""
    at = 0 if first else -1
    if len(moves) and moves[at] == state:
        lengths = lengths.copy()
        lengths[at] += length
        return moves, lengths
    parts: list[Any] = [(_GAPS[state], moves), (np.array([length]), lengths)]
    both = (np.concatenate(part if first else part[::-1]) for part in parts)
    return next(both), next(both)


def runs_of(moves: Moves) -> tuple[Moves, Lengths]:
    """The runs of equal moves, and their lengths."""
    bounds = np.empty(len(moves) + 1, np.int64)
    changes = (moves[1:] != moves[:-1]).nonzero()[0]
    count = len(changes) + 1
    bounds[0], bounds[1:count], bounds[count:] = 0, changes + 1, len(moves)
    bounds = bounds[: count + 1] if len(moves) else bounds[:1]
    return moves[bounds[:-1]], bounds[1:] - bounds[:-1]
