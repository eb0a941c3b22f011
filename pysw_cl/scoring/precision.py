"""Proves, before a run starts, that every value of a comparison fits 32 bits."""

from __future__ import annotations

from ..errors import RangeError

#: The one sentinel for an unreachable H (and X); restored at every edge.
UNREACHABLE = -(3 << 29)
#: An H below this is unreachable.  Inside a tile it may differ from the sentinel.
UNREACHABLE_BELOW = -(1 << 30)

#: A local score stays below this, so that an engine can add up to 2**26 to it.
LOCAL_LIMIT = 2**31 - 2**26

#: 11 bits are not used if a diagonal step gains more, or a number lies further below H.
MOST_MIXED = 127
#: 8 bits are not used if the highest H that fits is less than this.
LEAST_LIMIT8 = 24


class Bounds:
    """What the numbers of one scoring can reach (docs/algorithm.md, Widths).

    A substitution below -2 (open + extend) is never part of a best path: a gap of one letter in
    each sequence scores more.  So scores are clamped to one less (``worst``), which decides every
    tie as before.  E and F of a cell are at least H - open - extend, and one more `extend` is taken
    from them before the next maximum."""

    def __init__(
        self, lowest: int, highest: int, gap_open: int, gap_extend: int, scale: int = 1
    ) -> None:
        """``lowest``, ``highest``: of the substitution scores; the others as in `Scoring`."""
        self.gap_open, self.gap_extend, self.scale = gap_open, gap_extend, scale
        #: A substitution score that is always worse than a gap in each sequence.
        self.worst = -2 * (gap_open + gap_extend) - 1
        #: The most that a diagonal step gains and, with clamped scores, the least.
        self.highest, self.lowest = max(0, highest), max(self.worst, min(0, lowest))
        #: The most that it loses.
        self.loss = max(0, -lowest)
        #: How far below H a number can lie that is formed to compute a cell.
        self.depth = max(gap_open + 2 * gap_extend, -self.lowest)
        limit8 = 255 - self.depth - self.highest
        #: The highest H that a local block in 8 bits may meet or reach; negative: no use of 8 bits.
        self.limit8 = limit8 if limit8 >= LEAST_LIMIT8 else -1
        #: May local blocks be computed in 11 bits (cl/wavefront/mixed.clh)?
        self.mixed = max(self.highest, self.depth) <= MOST_MIXED

    def fits16(self, rows: int, columns: int, lanes: int, sloped: int = 0) -> bool:
        """Whether every block of so many rows and columns in a real matrix can run in 16 bits.

        Along a row or a column H falls by at most one gap, and over k steps it rises by at most
        k (highest + extend) + open.  The cells that enter a block lie on its top, `columns` wide,
        and on its left, where lane l is l columns behind; inside the block H falls by at most one
        gap and gains `highest` a step.  ``sloped``: rows of a lane with skewed scores, which
        rise by `extend` a row and a column and stay below zero (0: scores are not skewed)."""
        extend, across = self.gap_extend, columns + lanes
        slope = self.highest + extend
        spread = max(rows * extend + across * slope, rows * slope + across * extend)
        spread += 2 * self.gap_open
        inside = 2 * self.gap_open + columns * extend + min(rows, columns) * self.highest
        values = 32767 - extend * (2 * sloped + columns + 4) if sloped else 65535
        return spread + inside + self.depth <= values

    def check_range(self, m: int, n: int, mode: str) -> None:
        """Raise RangeError if a comparison of m query with n target letters could leave the proven
        range; ``mode`` is "local" or "global" (with or without free ends).

        Local: a path gains at most ``highest`` on each of at most min(m, n) diagonal steps and
        never falls below the floor, so 0 <= H <= min(m, n) * highest, which must be below
        2**31 - 2**26.  E, F and the edges' X lie at most ``gap_open + gap_extend`` below an H.

        Global, also with free ends, which only raise values towards 0.  Let o = gap_open,
        e = gap_extend, and let a gap of length k cost o + k * e.

        1. Every cell (i, j) is reached by one gap of i and one of j letters, so
           H >= -(2 o + (i + j) e); mismatches only add choices.  X >= H - o, the next gap score is
           X - e, and the diagonal candidate is H plus a substitution score.  So every value formed
           from a reachable cell is at least -(3 o + (m + n + 1) e + loss); this must stay above
           UNREACHABLE_BELOW, below which a cell counts as unreachable.
        2. H <= min(m, n) * highest, as in the local case.  An unreachable cell holds the sentinel
           UNREACHABLE at every edge and gains at most as much inside a tile of any size.  With
           min(m, n) * highest < UNREACHABLE_BELOW - UNREACHABLE = 2**29 it stays below
           UNREACHABLE_BELOW, and so below every reachable value: it can never win, and edges can
           restore it.
        3. An unreachable cell is at most one gap below a sentinel on the nearer edge, so it sinks
           by at most 3 o + (min(m, n) + 1) e + loss; below 2**29, it stays above -2**31."""
        steps = min(m, n)
        gain, slack = steps * self.highest, 3 * self.gap_open + self.gap_extend + self.loss
        if mode == "local":
            found = [("score up to", gain, LOCAL_LIMIT)]
        else:
            found = [
                ("score up to", gain, UNREACHABLE_BELOW - UNREACHABLE),
                ("score down to minus", slack + (m + n) * self.gap_extend, -UNREACHABLE_BELOW),
                ("lose in gaps up to", slack + steps * self.gap_extend, UNREACHABLE + 2**31),
            ]
        for what, number, limit in found:
            if number >= limit:
                scaled = " (scores are counted in halves)" if self.scale == 2 else ""
                raise RangeError(
                    f"a {mode} comparison of {m:,} x {n:,} letters could {what} {number:,}, and "
                    f"32-bit cells are proven only below {limit:,}{scaled}; use smaller scores and "
                    "gap costs, or shorter sequences"
                )
