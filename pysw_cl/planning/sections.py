"""Sections: a tile of few strips is cut into parts side by side, which are swept at once.

A section begins ``overlap`` columns left of its first column, at a column whose true values it does
not know.  There it starts with values that are not too high.  Once no path that comes from further
left matters any more, all values are the true ones (docs/algorithm.md, Sections).

Method: Khajeh-Saeed & Perot (2011), GPU Computing Gems Emerald Edition, section 13.3.4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, product
from math import log2

import numpy as np
from numpy.typing import NDArray

from ..scoring.scoring import Scoring
from .cost import Cut, Rounds, StripCost, shared_sections
from .model.times import Machine
from .plan import Plan

Numbers = NDArray[np.int64]

#: Rows from which on the overlap grows, and by how much of it for each doubling.
MANY_ROWS, GROWTH = 1 << 15, 1 / 16
#: What `sections_of` is asked.
Asked = tuple[int, int, int | None, int, tuple[int, ...], bool, int]
#: Choices that are kept, for calls that repeat.
KEPT = 4096
#: x a bound of what cuts cost: up to this all are tried at first.
LOOSE = 1.12


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
    if scoring.source.few:
        return tuning.first_overlap
    doublings = max(0.0, log2(m / MANY_ROWS))
    return int(tuning.first_overlap * tuning.matrix_overlap * (1 + GROWTH * doublings))


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
    tuning = plan.tuning.sections
    most = min(most, n // tuning.least_columns)
    if most < 2 or not plan.may_be_cut(m, n):
        return None
    return _chosen(plan, plan.machine, (m, n, span, overlap, columns, prunable, most))


@lru_cache(KEPT)
def _chosen(plan: Plan, machine: Machine, asked: Asked) -> Sections | None:
    """The choice is kept by all that it depends on; plans are equal whatever they know of their
    ``machine``."""
    m, n, span, overlap, columns, prunable, most = asked
    tuning, cost = plan.tuning.sections, plan.cost
    if not isinstance(cost, StripCost):  # there is nothing to cut
        return None
    least = cost.least(plan, plan.alphas, m, n)
    least *= tuning.most_cost_beside_pruning if prunable else tuning.most_cost
    cut = _Ways(cost, plan, m, n, span, overlap, most).soonest(least)
    if cut is None:
        return None
    chosen = replace(plan, alpha=cut.alpha, B=cut.B, chunk=cut.chunk)
    return Sections(chosen, _cuts(n, cut.sections, columns), cut.overlap, cut.proven)


class _Ways:
    """The ways to cut a tile: an alpha, a B and a chunk each, with any number of sections.

    With R rounds, in which each group takes a strip, there are at most ``R B / strips`` sections.
    Fewer would be wider, so only so many are tried, and the most that there may be."""

    def __init__(
        self, cost: StripCost, plan: Plan, m: int, n: int, span: int | None, overlap: int, most: int
    ) -> None:
        """Into at most so many sections; see :func:`sections_of`."""
        tuning = plan.tuning.sections
        self.cost, self.plan, self.m, self.n = cost, plan, m, n
        #: Columns of an overlap that needs a comparison, and of one that needs none.
        self.overlap, self.span = overlap, span or overlap
        #: The most sections, and the most that need no comparison.
        self.most, self.most_proven = most, 0
        if span is not None:
            share = min(tuning.most_share, tuning.most_overlap)
            self.most_proven = min(most, int(share * n / span))
        #: Every alpha with every B and chunk, and the strips of a section.
        self.alpha, self.B, self.chunk = _every(plan.alphas, plan.groups, plan.chunks)
        self.strips: Numbers = -(-m // (plan.T * self.alpha))

    def soonest(self, most: float) -> Cut | None:
        """The way that costs least; None if it costs ``most`` seconds or more."""
        tuning = self.plan.tuning.sections
        rounds = tuning.rounds or self.plan.lane_set.defaults.sections
        longest = int(tuning.most_overlap * self.n / self.overlap)
        if not rounds:
            highest = max(self.most_proven, min(self.most, longest))
            return self._soonest(highest, most) if highest > 1 else None
        wanted = np.minimum(rounds * self.B // self.strips, self.most)
        counts = np.where(wanted > self.most_proven, np.minimum(wanted, longest), wanted)
        counts = self._even(counts, self.B)
        which = np.flatnonzero((counts > 1) & (2 * counts >= wanted))  # else it overlaps too much
        return self._best(which, counts[which], most)[1]

    def _soonest(self, highest: int, most: float) -> Cut | None:
        """The same of all numbers of sections up to the ``highest``."""
        shortest = min(self.overlap, self.span) if self.most_proven > 1 else self.overlap
        ways = Cut(self.alpha, self.B, self.chunk, 0, shortest, 0)
        bound = self.cost.rounds(self.plan, ways, self.m, self.n)
        first, last = -(-2 * self.strips // self.B), -(-highest * self.strips // self.B)
        limit = min(most, LOOSE * bound.least(first, last))
        while True:  # all that may cost no more than the limit are tried
            least, found = self._best(*self._within(bound, limit, first, last, highest), most)
            if least <= limit or limit == most:
                return found
            limit = most if found is None else least

    def _within(
        self, bound: Rounds, limit: float, first: Numbers, last: Numbers, highest: int
    ) -> tuple[Numbers, Numbers]:
        """Which ways may cost no more than the ``limit``, with how many sections, in ``first`` to
        ``last`` rounds."""
        low, high = bound.within(limit * (1 + 1e-9))
        low, high = np.maximum(np.ceil(low), first), np.minimum(np.floor(high), last)
        some = (low <= high).nonzero()[0]
        low, each = low[some].astype(np.int64), (high - low)[some].astype(np.int64) + 1
        which = some.repeat(each)
        rounds = np.arange(len(which)) + (low - each.cumsum() + each).repeat(each)
        # in one round fewer groups may run, which the model may know to be faster
        alone = (first == 1).nonzero()[0]
        if len(alone):
            which = np.concatenate((which, alone))
            rounds = np.concatenate((rounds, np.ones_like(alone)))
        counts = np.minimum(rounds * self.B[which] // self.strips[which], highest)
        counts = self._even(counts, self.B[which])
        if self.most_proven > 1:
            which = np.concatenate((which, some))
            counts = np.concatenate((counts, np.full_like(some, self.most_proven)))
        return which, counts

    def _even(self, counts: Numbers, B: Numbers) -> Numbers:
        """So many sections, or some fewer, so that those that share a group fill all groups."""
        shared = shared_sections(self.plan, B)
        return np.where(counts < shared, counts, counts - counts % shared)

    def _best(self, which: Numbers, counts: Numbers, most: float) -> tuple[float, Cut | None]:
        """The cost and the cut that costs least among these ways, each with so many sections; of
        equal ones that with the fewest sections.  ``most`` and None if none costs less."""
        if not len(which):
            return most, None
        ways = self.alpha[which], self.B[which], self.chunk[which], counts
        cuts = Cut(*ways, self.overlap, 0)
        if self.most_proven > 1:
            proven = counts <= self.most_proven
            cuts = cuts._replace(overlap=np.where(proven, self.span, self.overlap), proven=proven)
        costs = self.cost.sections(self.plan, cuts, self.m, self.n)
        least = float(costs.min())
        if least >= most:
            return most, None
        tied = [tuple(int(one[k]) for one in ways) for k in np.flatnonzero(costs == least)]
        alpha, B, chunk, count = min(tied, key=lambda way: (way[-1], *way))
        alone = count <= self.most_proven
        return least, Cut(alpha, B, chunk, count, self.span if alone else self.overlap, alone)


@lru_cache(64)
def _every(*values: tuple[int, ...]) -> tuple[Numbers, ...]:
    """Each value with all others, as arrays."""
    return tuple(np.array([*product(*values)], np.int64).T.copy())


def sooner_by_rows(plan: Plan, scan: Plan, m: int, n: int, prunable: bool) -> bool:
    """Does the row scan by the plan ``scan`` compute a tile of m x n cells sooner than strips do?
    Not where its times are unknown."""
    tuning = plan.tuning.sections
    known = f"{scan.engine}/{scan.lanes}" in scan.machine.times.by_subject
    if not known or not plan.may_be_cut(m, n):
        return False
    most = tuning.most_cost_beside_pruning if prunable else tuning.most_cost
    least = most * plan.cost.least(plan, plan.alphas, m, n)
    return scan.cost.tile(scan, scan.alpha, m, n) < least


def _cuts(n: int, count: int, columns: tuple[int, ...]) -> tuple[int, ...]:
    """About ``count`` even sections, which end at all special ``columns``."""
    cuts = [0]
    for start, end in pairwise((0, *columns, n)):
        pieces = max(1, round((end - start) * count / n))
        cuts += [start + (end - start) * k // pieces for k in range(1, pieces + 1)]
    return tuple(cuts)
