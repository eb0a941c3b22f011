"""Gotoh's recurrence in plain Python on an array of scores: what position matrices are held
against.  It shares nothing with the package."""

from __future__ import annotations

from typing import Any

import numpy as np

LOW = -(10**9)


def best_end(
    scores: Any, gaps: tuple[int, int], mode: str, free: tuple[bool, ...] = (False,) * 4
) -> tuple[int, int, int]:
    """The score of the best alignment of m rows and n columns whose pairs score ``scores`` (m x n),
    and the rows and columns before its end: the first in row-major order.

    ``gaps``: (open, extend).  ``free``: see `align`."""
    (m, n), (opening, extension) = np.shape(scores), gaps
    local = mode == "local"

    def border(k: int, is_free: bool) -> int:
        return 0 if local or is_free or k == 0 else -(opening + k * extension)

    h = [[border(j, free[0]) for j in range(n + 1)]]
    f = [LOW] * (n + 1)
    for i in range(1, m + 1):
        row, e = [border(i, free[2])], LOW
        for j in range(1, n + 1):
            e = max(e, row[j - 1] - opening) - extension
            f[j] = max(f[j], h[i - 1][j] - opening) - extension
            best = max(h[i - 1][j - 1] + int(scores[i - 1][j - 1]), e, f[j])
            row.append(max(best, 0) if local else best)
        h.append(row)
    ends = [(m, n)]
    if local:
        ends = [(i, j) for i in range(m + 1) for j in range(n + 1)]
    else:
        ends += [(i, n) for i in range(m + 1) if free[3]]
        ends += [(m, j) for j in range(n + 1) if free[1]]
    i, j = min(ends, key=lambda end: (-h[end[0]][end[1]], end))
    return h[i][j], i, j
