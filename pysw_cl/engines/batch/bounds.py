"""Which width is enough for a pair of a batch: each bound as a function, with its proof.

Widths are 8, 16 and 32 bits.  All bounds are for a scoring with clamped substitution scores
(`Scoring.clamped`), o = gap_open, e = gap_extend, a gap of k letters costing o + k * e.  Kernels
keep E and F as they enter a cell, so the next E is max(E - e, H - o - e).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...scoring.scoring import Scoring

#: The longest sequence of a batch: row and column numbers are 16-bit in lanes of 8 and 16 bits.
LONGEST = 32_000
#: The narrowest width is tried only where it leaves room for this many matches in a row.
LEAST_MATCHES = 8


def local_floor(scoring: Scoring, width: int) -> int:
    """What 0 of a local comparison is in lanes of ``width`` bits: as low as possible.

    H is never below the floor.  What is formed from an H: H - o - e, which becomes E or F; from
    that E - e, not below floor - o - 2 e; the diagonal candidate H + s, not below floor + lowest;
    and H - 1, which ends are compared with.  Lanes of 32 bits have their floor at 0:
    `precision.check_range` proves them.
    """
    if width == 32:
        return 0
    below = max(scoring.gap_open + 2 * scoring.gap_extend, -scoring.lowest, 1)
    return -(1 << (width - 1)) + below


def local_limit(scoring: Scoring, width: int) -> int:
    """The highest local score that lanes of ``width`` bits are sure of; negative where none.

    H climbs at most ``highest`` a cell.  Take the first cell (in the order of computation) whose H
    is above top - highest, top being the highest value of the width: all it was made from were at
    most that, so it is itself at most top, exact, and seen by the running maximum.  A maximum of
    at most top - highest therefore proves that every H was exact; any other pair has to be
    computed again in a wider lane.  (H + 1, which linear gaps compare with, also stays below top.)
    """
    if width == 32:
        return 2**31 - 1
    return (1 << (width - 1)) - 1 - max(scoring.highest, 1) - local_floor(scoring, width)


def local_width(scoring: Scoring) -> int:
    """The width that a local comparison starts with: the narrowest that has room for a few
    matches.  Which pairs need more is seen in their scores."""
    least = LEAST_MATCHES * max(scoring.highest, 1)
    return next(w for w in (8, 16, 32) if local_limit(scoring, w) >= least)


def global_fits(
    scoring: Scoring, m: NDArray[Any], n: NDArray[Any], width: int
) -> NDArray[np.bool_]:
    """Which global comparisons of m query with n target letters (arrays) lanes of ``width`` bits
    are sure of, free ends or not.

    Every cell (i, j) is reached by one gap of i and one of j letters, so H >= -(2 o + (i + j) e);
    free ends and matches only raise it.  Formed from it are H - o - e and from that E - e, not
    below -(3 o + (m + n + 2) e), and H + s, not below -(2 o + (m + n) e) + lowest: all must stay
    above the lowest value of the width, which marks "no cell yet".  H is at most
    min(m, n) * max(0, highest), and H + 1 is compared with.  Cells beyond m or n, where a lane is
    padded, may wrap around: no cell inside depends on them, and none of them is looked at.
    """
    top = (1 << (width - 1)) - 1
    steps = np.minimum(m, n).astype(np.int64)
    fall = 3 * scoring.gap_open + (m.astype(np.int64) + n + 2) * scoring.gap_extend
    fits = fall + max(0, -scoring.lowest) <= top
    return np.asarray(fits & (steps * max(0, scoring.highest) + 1 <= top))


def counts_fit(m: NDArray[Any], n: NDArray[Any], width: int) -> NDArray[np.bool_]:
    """Whether matches and columns of a path, m + n of them at most, can be counted in lanes of
    ``width`` bits; a gap's count is kept with the column it would add."""
    return np.asarray(m.astype(np.int64) + n + 1 <= (1 << (width - 1)) - 1)
