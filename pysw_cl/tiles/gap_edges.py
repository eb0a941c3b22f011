"""Edges of a part of a comparison: a path that starts or ends inside a gap, by edge values alone.

When a comparison is split at a cell, the path may pass that cell inside a gap (Myers & Miller
1988, CABIOS 4, 11-17).  The part after the cell then starts in the middle of a gap and must not
pay for opening it again, and the part before it must not be made to close it.  No engine knows
about this: the first is in the two edges that :func:`start_edges` makes, the second in which edge
value :func:`end_score` reads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..scoring.scoring import Scoring
from .tile import NEG, Edge, Edges

#: How a path passes a cell: at H, in a gap that consumes target (E) or one that consumes query (F).
AT_H, IN_E, IN_F = 0, 1, 2


@dataclass(frozen=True)
class GapRun:
    """A border that one gap runs along: ``start`` is the gap's X at the corner (E^ for a top
    border, F^ for a left one; None: no path comes this way).  A source of any length."""

    start: int | None
    gap_open: int
    gap_extend: int

    def read(self, start: int, stop: int) -> Edge:
        """Cells ``start+1 .. stop``: the gap so far as H, a new gap of the other kind as X."""
        if self.start is None:
            lost = np.full(stop - start, NEG, np.int32)
            return Edge(lost, lost)
        steps = np.arange(start + 1, stop + 1, dtype=np.int64)
        h = self.start - self.gap_extend * steps
        return Edge(h.astype(np.int32), (h - self.gap_open).astype(np.int32))


def start_edges(
    scoring: Scoring, h: int | None = 0, e: int | None = None, f: int | None = None
) -> Edges:
    """The corner, top and left edge of a part whose path starts at its upper left corner.

    ``h``, ``e`` and ``f`` are the scores with which the path may come to the corner: at H, inside
    a gap that consumes target (E^), inside one that consumes query (F^); None: not that way.  A
    gap that was opened before costs only ``gap_extend`` a letter from here, a new one costs
    ``gap_open + k * gap_extend``.  So ``start_edges(scoring)`` is a global start and
    ``start_edges(scoring, None, f=0)`` one in the middle of a gap that consumes query.
    """
    fresh = None if h is None else h - scoring.gap_open
    e_hat, f_hat = (max((x for x in (x, fresh) if x is not None), default=None) for x in (e, f))
    costs = scoring.gap_open, scoring.gap_extend
    return Edges(NEG if h is None else h, GapRun(e_hat, *costs), GapRun(f_hat, *costs))


def end_score(bottom: Edge, right: Edge, state: int) -> int:
    """The score of a path to the lower right corner of a part with these edges (at least their
    last cells): ending there (AT_H), or inside a gap that goes on to the right (IN_E) or
    downwards (IN_F), which has paid its ``gap_open`` already."""
    return int((bottom.h, right.x, bottom.x)[state][-1])
