"""Sections: a tile of few strips is cut into parts side by side, which are swept at once.

A section begins ``overlap`` columns left of its first column, at a column whose true values it does
not know.  There it starts with values that are not too high.  Once no path that comes from further
left matters any more, all values are the true ones (docs/algorithm.md, Sections).

Method: Khajeh-Saeed & Perot (2011), GPU Computing Gems Emerald Edition, section 13.3.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import log2, sqrt

from ..scoring.scoring import Scoring
from .cost import Cut
from .plan import Plan

#: Letters of a matrix of nucleotides at most, ambiguous ones included.
FEW_LETTERS = 16
#: Rows from which on the overlap grows.
MANY_ROWS = 1 << 17
#: Values of alpha that are tried with all numbers of groups: those that are best with all groups.
ALPHAS = 2


@dataclass(frozen=True)
class Sections:
    """How a tile is cut."""

    #: The plan, with the sections' alpha, B and chunk.
    plan: Plan
    #: The columns where sections begin and end: 0, ..., the tile's last.
    cuts: tuple[int, ...]
    #: Columns that a section sweeps left of its first.
    overlap: int
    #: Is the overlap so long that the values after it are the true ones?
    proven: bool
    #: Has a section fewer columns than an alignment of all rows would want?
    square: bool = False

    @property
    def count(self) -> int:
        """How many sections there are."""
        return len(self.cuts) - 1

    @property
    def cut(self) -> Cut:
        """They as models of their cost know them."""
        plan = self.plan
        return Cut(plan.alpha, plan.B, plan.chunk, self.count, self.overlap, self.proven)

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
    #: Where the columns of each kind begin: left and right edges, and columns that are compared,
    #: later those from which sections are swept again.
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
        level: bool,
    ) -> SectionsLayout:
        """``flat_groups``: groups that have a line of ``chunk`` columns each, beside one that all
        read (0: lines are as long as the sections).  ``stores_right``: are right edges kept?
        ``level``: are all cells of the top edge equal?  Then only the first left edge may differ
        from the others."""
        checked = not sections.proven
        swept = sum(sections.cuts[k + 1] - sections.start(k) for k in range(sections.count))
        stride = chunk + T if flat_groups else swept + 2 * T * sections.count
        column_words = -(-(2 * padded_rows + 1) // 32) * 32
        place = 2 * stride * (1 + flat_groups if flat_groups else 3 if checked else 2)
        count = sections.count
        kinds = {
            "left": 2 if level else count,
            "right": count if stores_right else 1,
            "crossed": count if checked else 1,
        }
        columns_at: dict[str, int] = {}
        for kind, columns in kinds.items():
            columns_at[kind] = place
            place += column_words * columns
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


def first_overlap(plan: Plan, scoring: Scoring, m: int) -> int:
    """The overlap to begin with, in columns, of a tile of ``m`` rows.

    Chance alignments are as many as rows, and the longest of more are longer.  With few letters all
    are so short that this does not count."""
    tuning = plan.tuning.sections
    if scoring.match_mismatch is not None or len(scoring.matrix) <= FEW_LETTERS:
        return tuning.first_overlap
    doublings = max(0.0, log2(m / MANY_ROWS))
    return int(tuning.first_overlap * tuning.matrix_overlap * (1 + doublings / 2))


def most_of_related(plan: Plan, m: int, n: int) -> int:
    """The most sections of an m x n tile in which an alignment of all rows meets few ends."""
    return int(n / max(1, plan.tuning.sections.least_aspect * m))


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
    related: Callable[[], bool],
) -> Sections | None:
    """The sections of a tile of this size without special rows and moves; None if it is as fast
    without them, or if a device whose largest allocation is ``largest`` bytes cannot hold them.

    ``reach``: see :func:`span`.  ``narrow``: the score file of narrow lanes; None: there is none.
    ``after``: may cells be pruned?  ``related``: do the letters look as if an alignment leads
    through much of the tile?  That is asked only where it matters.  ``columns``, ``overlap``: see
    :func:`sections_of`.
    """
    plan = plan.for_scores(narrow)
    (m, n), bus = size, 36 * size[1]  # three lines of the bus, and overlaps
    if plan.form != "ticketed" or bus > largest:
        return None
    given = plan, m, n, reach, overlap, columns, after and plan.lane_set.prunes
    most = (largest - bus) // (16 * (m + plan.strip_rows))  # two columns of each
    found = sections_of(*given, most)
    few = most_of_related(plan, m, n)
    if found is None or found.count <= few:
        return found
    return sections_of(*given, min(few, most)) if related() else replace(found, square=True)


def sections_of(
    plan: Plan,
    m: int,
    n: int,
    span: int | None,
    overlap: int,
    columns: tuple[int, ...],
    prunable: bool,
    most: int,
) -> Sections | None:
    """The sections of a tile of m x n cells, ``most`` at most; None if it is as fast without them.

    ``span``: see :func:`span`.  ``overlap``: to begin with, where ``span`` is long.  ``columns``:
    special columns, at which sections end.  ``prunable``: may blocks be pruned without sections?
    """
    tuning, cost = plan.tuning.sections, plan.cost
    most = min(most, n // tuning.least_columns)
    if m * n < tuning.least_cells or most < 2:
        return None
    cutter = _Cutter(plan, m, n, span, overlap, most)
    alphas = (plan.alpha,) if plan.alpha_fixed else plan.alphas
    least = min(cost.tile(plan, alpha, m, n) for alpha in alphas)
    least *= tuning.most_cost_beside_pruning if prunable else tuning.most_cost
    ways = sorted(w for a in alphas for w in cutter.ways(a, plan.B, plan.chunk, first=True))
    if not ways:
        return None
    for alpha in [cut.alpha for _, cut in ways[:ALPHAS]]:
        for B, chunk in product(plan.groups, plan.chunks):
            ways += cutter.ways(alpha, B, chunk)
    taken, cut = min(ways)
    if taken >= least:
        return None
    chosen = replace(plan, alpha=cut.alpha, B=cut.B, chunk=cut.chunk)
    return Sections(chosen, _cuts(n, cut.sections, columns), cut.overlap, cut.proven)


@dataclass(frozen=True)
class _Cutter:
    """The ways to cut a tile; see :func:`sections_of`."""

    plan: Plan
    m: int
    n: int
    span: int | None
    overlap: int
    #: Sections at most.
    most: int

    def ways(
        self, alpha: int, B: int, chunk: int, first: bool = False
    ) -> Iterator[tuple[float, Cut]]:
        """Ways with so many groups, with their costs; ``first``: only one that is near the best."""
        strips, tuning = -(-self.m // (self.plan.T * alpha)), self.plan.tuning.sections
        rounds_tried = self._rounds(strips, B, chunk)
        for rounds in rounds_tried[-1:] if first else rounds_tried:
            count, before = min(rounds * B // strips, self.most), self.overlap
            proven = self.span is not None and self.span * count <= tuning.most_share * self.n
            if proven and self.span is not None:
                before = self.span
            fewer = min(count, int(tuning.most_overlap * self.n / before))
            if fewer > 1 and 2 * fewer >= count:  # else the overlap is too long
                cut = Cut(alpha, B, chunk, fewer, before, proven)
                yield self.plan.cost.sections(self.plan, cut, self.m, self.n), cut

    def _rounds(self, strips: int, B: int, chunk: int) -> Sequence[int]:
        """How many strips each group may sweep.

        More sections have fewer strips in flight, which follow each other sooner; but all overlap.
        Of ``count`` sections ``B / count`` strips are in flight, so both together cost ``B lag /
        count + strips count overlap / B`` columns, which is least where they are equal."""
        tuning, lanes = self.plan.tuning.sections, self.plan.lane_set
        rounds = tuning.rounds or lanes.defaults.sections
        if rounds:
            return (rounds,)
        T = self.plan.T
        best = sqrt(strips * (T + chunk) / (self.overlap + T))
        return sorted({1, max(1, int(best)), int(best) + 1})


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
