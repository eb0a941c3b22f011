"""Which lanes and which score file (cl/score) compute a tile."""

from __future__ import annotations

from ..scoring.precision import Bounds, worst
from ..scoring.scoring import Scoring
from .plan import Plan

#: Narrow lanes use a query profile from so many columns on.
LEAST_PROFILED = 64


def simple(scoring: Scoring) -> bool:
    """Can compare and select score this?  Padding mismatches, which must not be positive."""
    return scoring.match_mismatch is not None and scoring.match_mismatch[1] <= 0


def wide_score(scoring: Scoring) -> str:
    """The score file of 32-bit lanes."""
    return "match" if simple(scoring) else "matrix"


def narrow_score(plan: Plan, scoring: Scoring, columns: int, four: bool) -> str | None:
    """The score file of narrow lanes for a target of so many ``columns``, or None if they cannot
    compute these scores.

    "match" compares and selects.  "matrix" makes a query profile of bytes for each strip.
    "permute4" has the scores of four target letters in the bytes of a word; ``four``: has the
    target no others, and can the device permute bytes with their sign?
    :class:`pysw_cl.planning.lane_sets.NarrowScores` has the limits of each lane set.
    """
    if not Bounds.of(scoring).fits16(scoring, plan.strip_rows, plan.chunk, plan.T):
        return None
    kinds = plan.lane_set.scores
    bytes_do = scoring.highest <= 127 and max(worst(scoring), min(0, scoring.lowest)) >= -128
    if kinds.permute4 and four and bytes_do:
        return "permute4"
    if simple(scoring):
        assert scoring.match_mismatch is not None
        match, mismatch = (max(score, worst(scoring)) for score in scoring.match_mismatch)
        return "match" if kinds.compare(len(scoring.matrix), match, mismatch) else None
    profiled = bytes_do and plan.alpha <= kinds.profile_rows and columns >= LEAST_PROFILED
    return "matrix" if profiled else None


def planned(
    plan: Plan, scoring: Scoring, size: tuple[int, int], rows: tuple[int, ...], narrow: str | None
) -> tuple[Plan | None, str]:
    """The plan for one tile of this size and its score file.  The plan is None if a special row
    (``rows``) is not at the end of a strip.

    A tile gets narrow lanes if it stores no moves, has no forbidden pairs, every block is proven to
    fit 16 bits, and narrow lanes can compute its substitution scores.  ``narrow``: their score
    file; None where one of these does not hold.
    """
    if narrow is not None:
        return plan.for_size(*size, rows), narrow
    if plan.lane_set.instead is not None:
        plan = plan.without_narrow()
    return plan.for_size(*size, rows), wide_score(scoring)


def widths_of(plan: Plan, scoring: Scoring, local: bool, best: bool) -> tuple[int, ...]:
    """The widths of narrow lanes for a tile.  8 bits need a local comparison with small scores and
    a search for the best cell, because its score shows when 8 bits were exceeded."""
    widths = plan.lane_set.widths
    if not local or not best or Bounds.of(scoring).limit8 < 0:
        return tuple(width for width in widths if width != 8)
    return widths


def may_skew(plan: Plan, scoring: Scoring) -> bool:
    """May narrow lanes have skewed scores: do skewed H fit 15 bits, and skewed substitution scores
    8 bits?"""
    if not plan.lane_set.skews:
        return False
    bounds = Bounds.of(scoring)
    fits = bounds.fits16(scoring, plan.strip_rows, plan.chunk, plan.T, plan.alpha)
    return fits and scoring.highest + 2 * scoring.gap_extend <= 127
