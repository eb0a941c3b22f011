"""Sections: a tile of few strips is cut into parts side by side, which are swept at once.

A section begins ``overlap`` columns left of its first column, at a column whose true values it does
not know.  There it starts with values that are not too high.  Once no path that comes from further
left matters any more, all values are the true ones (docs/algorithm.md, Sections).

Method: Khajeh-Saeed & Perot (2011), GPU Computing Gems Emerald Edition, section 13.3.4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from ..scoring.scoring import Scoring
from .plan import Plan


@dataclass(frozen=True)
class Sections:
    """How a tile is cut."""

    #: The plan, with the sections' alpha.
    plan: Plan
    #: The columns where sections begin and end: 0, ..., the tile's last.
    cuts: tuple[int, ...]
    #: Columns that a section sweeps left of its first.
    overlap: int
    #: Is the overlap so long that the values after it are the true ones?
    proven: bool

    @property
    def count(self) -> int:
        """How many sections there are."""
        return len(self.cuts) - 1

    def start(self, k: int) -> int:
        """The columns before the first that section k sweeps."""
        return max(0, self.cuts[k] - self.overlap)


@dataclass(frozen=True)
class SectionsLayout:
    """The buffer of the edges of all sections, in 32-bit numbers: the bus of the sections side by
    side, then columns of each section: H of the corner and of the rows, then E^."""

    #: Numbers in half a line of the bus.
    stride: int
    #: Numbers of a column.
    column_words: int
    #: Where the columns of each kind begin: left and right edges, columns that are compared, and
    #: those from which sections are swept again.
    columns_at: dict[str, int]
    #: Numbers in all.
    words: int

    @classmethod
    def of(
        cls,
        sections: Sections,
        T: int,
        padded_rows: int,
        chunk: int,
        flat_groups: int,
        stores_right: bool,
    ) -> SectionsLayout:
        """``flat_groups``: groups that have a line of ``chunk`` columns each, beside one that all
        read (0: lines are as long as the sections).  ``stores_right``: are right edges kept?"""
        checked = not sections.proven
        swept = sum(sections.cuts[k + 1] - sections.start(k) for k in range(sections.count))
        stride = chunk + T if flat_groups else swept + 2 * T * sections.count
        column_words = -(-(2 * padded_rows + 1) // 32) * 32
        place = 2 * stride * (1 + flat_groups if flat_groups else 3 if checked else 2)
        kinds = {"left": True, "right": stores_right, "crossed": checked, "again": checked}
        columns_at: dict[str, int] = {}
        for kind, there in kinds.items():
            columns_at[kind] = place
            place += column_words * (sections.count if there else 1)
        return cls(stride, column_words, columns_at, place)


def span(scoring: Scoring, rows: int, excess: int, local: bool) -> int | None:
    """Columns after which no path from further left matters in a tile of so many ``rows``; None
    where there is no bound.

    ``excess``: the highest H of the tile's edges above the floor, or, if the tile is not ``local``,
    above its top edge, whose H are all equal.  A path that goes on for so many columns has so many
    letters in gaps that these cost more than ``rows`` matches and the excess give
    (docs/algorithm.md, Sections).
    """
    extend = scoring.gap_extend
    if extend == 0:
        return None
    gain = rows * max(scoring.highest, 0) + max(excess, 0)
    if not local:  # a section starts at most one gap through all rows below the true values
        gain += scoring.gap_open + rows * extend
    return rows + gain // extend + 1


def cut_tile(
    plan: Plan,
    scoring: Scoring,
    size: tuple[int, int],
    columns: tuple[int, ...],
    reach: int | None,
    overlap: int,
    *,
    narrow: str | None,
    after: bool,
    largest: int,
) -> Sections | None:
    """The sections of a tile of this size without special rows and moves; None if it is as fast
    without them, or if a device whose largest allocation is ``largest`` bytes cannot hold them.

    ``reach``: see :func:`span`.  ``narrow``: the score file of narrow lanes; None: there is none.
    ``after``: may cells be pruned?  ``columns``, ``overlap``: see :func:`sections_of`.
    """
    plan = plan.for_scores(narrow)
    if plan.form != "ticketed" or 36 * size[1] > largest:  # three lines of the bus, and overlaps
        return None
    return sections_of(plan, *size, reach, overlap, columns, after and plan.lane_set.prunes)


def sections_of(
    plan: Plan,
    m: int,
    n: int,
    span: int | None,
    overlap: int,
    columns: tuple[int, ...],
    prunable: bool,
) -> Sections | None:
    """The sections of a tile of m x n cells; None if it is as fast without them.

    ``span``: see :func:`span`.  ``overlap``: to begin with, where ``span`` is long.  ``columns``:
    special columns, at which sections end.  ``prunable``: may blocks be pruned without sections?
    """
    tuning = plan.tuning.sections
    if m * n < tuning.least_cells:
        return None
    groups = (tuning.rounds or plan.lane_set.defaults.sections) * plan.B
    alphas = (plan.alpha,) if plan.alpha_fixed else plan.alphas
    best, cost = None, plan.cost
    least = min(cost.tile(plan, alpha, m, n) for alpha in alphas)
    least *= tuning.most_cost_beside_pruning if prunable else tuning.most_cost
    for alpha in alphas:
        strips = -(-m // (plan.T * alpha))
        least_columns = max(tuning.least_columns, int(tuning.least_aspect * m))
        count = min(groups // strips, n // least_columns)
        if count < 2:
            continue
        proven = span is not None and span <= tuning.most_share * (n // count)
        columns_before = span if proven and span is not None else overlap
        if columns_before > tuning.most_overlap * (n // count):
            continue
        taken = cost.sections(plan, alpha, m, n, count, columns_before)
        if taken < least:
            best, least = (alpha, count, columns_before, proven), taken
    if best is None:
        return None
    alpha, count, columns_before, proven = best
    return Sections(replace(plan, alpha=alpha), _cuts(n, count, columns), columns_before, proven)


def sooner_by_rows(plan: Plan, scan: Plan, m: int, n: int, prunable: bool) -> bool:
    """Does the row scan by the plan ``scan`` compute a tile of m x n cells sooner than strips do?
    Not where its times are unknown."""
    tuning = plan.tuning.sections
    known = f"{scan.engine}/{scan.lanes}" in scan.machine.times.by_subject
    if not known or m * n < tuning.least_cells:
        return False
    most = tuning.most_cost_beside_pruning if prunable else tuning.most_cost
    least = most * min(plan.cost.tile(plan, alpha, m, n) for alpha in plan.alphas)
    return scan.cost.tile(scan, scan.alpha, m, n) < least


def _cuts(n: int, count: int, columns: tuple[int, ...]) -> tuple[int, ...]:
    """About ``count`` even sections, which end at all special ``columns``."""
    cuts = [0]
    for start, end in pairwise((0, *columns, n)):
        pieces = max(1, round((end - start) * count / n))
        cuts += [start + (end - start) * k // pieces for k in range(1, pieces + 1)]
    return tuple(cuts)
