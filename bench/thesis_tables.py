"""The formula of CUDAlign's thesis, its least squares, and tables in Markdown: for bench/thesis.py.

The formula is t(m, n) = c1 + c2 m + c3 n + c4 m n (Sandes 2011, table 6.5): the start of a run,
what is done for each letter, and for each cell.  1 / c4 is the speed that longer and longer
sequences come near to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

Constants = tuple[float, float, float, float]
Size = tuple[int, int]


def fit_constants(seconds: Mapping[Size, float]) -> Constants:
    """c1 to c4 with the least squares of the relative errors; ``seconds`` by (m, n).

    Relative, because times of 10 ms and of 10 s shall be met alike.  Constants below 0 mean
    nothing: the most negative one is set to 0, and the others are fitted again.  Raises ValueError
    if the sizes do not tell the four terms apart.
    """
    sizes, times = list(seconds), np.array(list(seconds.values()))
    terms = np.array([(1, m, n, m * n) for m, n in sizes], float)
    scale = terms.max(axis=0)
    equations = terms / scale / times[:, None]
    if len(sizes) < 4 or np.linalg.matrix_rank(equations) < 4:
        raise ValueError("c1 to c4 need times of four sizes that no three terms describe")
    kept, found = [0, 1, 2, 3], np.zeros(4)
    while kept:
        found[:] = 0
        found[kept] = np.linalg.lstsq(equations[:, kept], np.ones(len(sizes)), rcond=None)[0]
        if found.min() >= 0:
            break
        kept.remove(int(found.argmin()))
    c1, c2, c3, c4 = (float(one) for one in found / scale)
    return c1, c2, c3, c4


def formula(constants: Constants, m: int, n: int) -> float:
    """Seconds for an m x n matrix."""
    c1, c2, c3, c4 = constants
    return c1 + c2 * m + c3 * n + c4 * m * n


def numbers_of_blocks(units: int, groups: int, short: bool = False) -> list[int]:
    """Values of B to try on a device with so many compute units and, by default, ``groups`` blocks
    for each: multiples of the units and what is between them, to beyond the default."""
    shares = [0.5, 1, 1.5, 2, 3] if short else [0.5, 1, 1.5, 2, 2.5, 3, 4]
    most = max(4.0, 4 / 3 * groups)
    shares += [groups - 0.5, groups, groups + 0.5]
    shares += [] if short else [6, 8, 10, most]
    return sorted(
        {round(units * share) for share in shares if share <= most and units * share >= 1}
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; all columns but the first have numbers."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def in_seconds(seconds: float) -> str:
    """A time with three digits, in hours where it takes some."""
    if seconds >= 7200:
        return f"{seconds / 3600:.3g} h"
    if seconds >= 0.1:
        return f"{seconds:,.0f} s" if seconds >= 100 else f"{seconds:.3g} s"
    return f"{1e3 * seconds:.3g} ms"


def off(predicted: float, seconds: float) -> str:
    """By how much a prediction is off, with its sign."""
    return f"{100 * (predicted / seconds - 1):+.1f}%"
