"""Sections: a tile of few strips is cut into parts side by side, which are swept at once.

A section begins ``overlap`` columns left of its first one, with values that are not too high.  Once
no path that comes from further left matters, all values are true (docs/algorithm.md, Sections).

Method: Khajeh-Saeed & Perot (2011), GPU Computing Gems Emerald Edition, section 13.3.4."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, product
from math import log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..scoring.scoring import Scoring
from .model.times import CUT, Count, Line, Machine, Wave, lag_of
from .plan import Plan

#: Rows from which on the overlap grows, and by how much of it for each doubling.
MANY_ROWS, GROWTH = 1 << 15, 1 / 16
#: What `sections_of` is asked: rows and columns of a tile; its :func:`span`; the overlap to begin
#: with, where that is long; special columns, at which sections end; whether blocks may be pruned
#: without sections; and the most sections.
Asked = tuple[int, int, int | None, int, tuple[int, ...], bool, int]
#: Choices that are kept, for calls that repeat.
KEPT = 4096
#: Numbers of rounds that are tried: beside the one that is best by a formula, and times it.
NEAR, FAR = np.arange(-8, 9)[:, None], np.geomspace(1 / 4, 4, 17)[:, None]


class Cut(NamedTuple):
    """Sections of a tile, and the groups that sweep them.  Of many ways to cut it: arrays."""

    alpha: Count
    B: Count
    chunk: Count
    sections: Count
    #: Columns that each also sweeps left of its first.
    overlap: Count
    #: Need their first columns no comparison with the section before?
    proven: Count

    def cost(self, plan: Plan, m: int, n: int) -> Count:
        """The cost of a tile of m x n cells so."""
        wave, checks = self.wave(plan, m, n), (self.sections - 1) * m
        checking = checks * (1 - self.proven) * plan.machine.of("call").get("check", 0.0)
        return self._line(plan, wave.share).seconds(wave, self.chunk) + checking

    def wave(self, plan: Plan, m: int, n: int) -> Wave:
        """The strips of sections: those of different ones run at once, those of one in turn."""
        strips = -(-m // (plan.T * self.alpha))
        width = -(-n // self.sections) + self.overlap + plan.T
        sections, lag = filling(plan, self.sections, self.B), lag_of(plan.T, self.chunk, width)
        return plan.machine.side_by_side(strips, sections, self.B, width, lag)

    def rounds(self, plan: Plan, m: int) -> Count:
        """About how many strips each group best takes of sections, whose number does not count:
        arrays.  In R rounds there are ``R B / strips`` sections, so groups sweep R overlaps, and
        ``strips / R`` strips of a section follow each other."""
        strips, overlap = -(-m // (plan.T * self.alpha)), self.overlap + plan.T
        line = self._line(plan, plan.machine.share(self.B))
        lag, pace = lag_of(plan.T, self.chunk, overlap), line.pace(0, self.chunk)
        return np.sqrt(strips * (lag * pace + line.hop) / (overlap * pace + line.turn))

    def _line(self, plan: Plan, share: Count) -> Line:
        """What strips of sections take, of which so many share a scheduler."""
        pace = plan.machine.pace(f"{plan.engine}/{plan.lanes}/{CUT}")
        return (pace.lines if isinstance(self.alpha, np.ndarray) else pace.line)(self.alpha, share)


def shared_sections(plan: Plan, B: Count) -> Count:
    """Neighbouring sections that share a work-group, if B strips are swept at once."""
    shared, schedulers = plan.lane_set.shared_sections, plan.machine.schedulers
    return shared * -(-B // schedulers) if shared > 1 and schedulers else B // B


def filling(plan: Plan, sections: Count, B: Count) -> Count:
    """So many sections, or more, so that those that share a group fill all groups."""
    shared = shared_sections(plan, B)
    return -(-sections // shared) * shared


@dataclass(frozen=True)
class Sections:
    """How a tile is cut."""

    #: The plan, with the sections' alpha, B and chunk.
    plan: Plan
    cut: Cut
    #: The columns where sections begin and end: 0, ..., the tile's last.
    cuts: tuple[int, ...]
    #: Has a section fewer columns than an alignment of all rows would want?
    square: bool = False

    @property
    def count(self) -> int:
        return len(self.cuts) - 1

    def cost(self, m: int, n: int) -> Count:
        """What a tile of m x n cells costs so."""
        return self.cut.cost(self.plan, m, n) + self.plan.rows_cost(m * self.count)


@dataclass(frozen=True)
class SectionsLayout:
    """The buffer of the edges of all sections, in 32-bit numbers: the bus, then columns of each
    section: H of the corner and of the rows, then E^."""

    #: Numbers in half a line of the bus.
    stride: int
    column_words: int
    #: Where the columns of each kind begin: left and right edges, and columns that are compared,
    #: later those from which sections are swept again.
    columns_at: dict[str, int]
    words: int


def span(scoring: Scoring, rows: int, excess: int, local: bool) -> int | None:
    """Columns after which no path from further left matters in a tile of so many ``rows``: its gaps
    cost more than ``rows`` matches and the ``excess`` give.  None where there is no bound.
    ``excess``: the highest H of the tile's edges above the floor, or, if the tile is not ``local``,
    above its top edge, whose H are all equal; of paths with a certain score, less that score."""
    extend = scoring.gap_extend
    if extend == 0:
        return None
    gain = max(0, rows * max(scoring.highest, 0) + excess)
    if not local:  # a section starts at most one gap through all rows below the true values
        gain += scoring.gap_open + rows * extend
    return rows + gain // extend + 1


def first_overlap(plan: Plan, scoring: Scoring, m: int) -> int:
    """The columns of overlap to begin with in a tile of ``m`` rows.  Chance alignments are as many
    as rows, and the longest of more are longer; with few letters all are short."""
    tuning = plan.tuning.sections
    if scoring.source.few:
        return tuning.first_overlap
    doublings = max(0.0, log2(m / MANY_ROWS))
    return int(tuning.first_overlap * tuning.matrix_overlap * (1 + GROWTH * doublings))


def sections_of(plan: Plan, asked: Asked) -> Sections | None:
    """The sections of a tile; None if it is as fast without them."""
    m, n, *_ = asked
    most = min(asked[-1], n // plan.tuning.sections.least_columns)
    able = most >= 2 and plan.may_be_cut(m, n)
    return _chosen(plan, plan.machine, (*asked[:-1], most)) if able else None


@lru_cache(KEPT)
def _chosen(plan: Plan, machine: Machine, asked: Asked) -> Sections | None:
    """The choice is kept by all that it depends on; plans are equal whatever their ``machine``."""
    m, n, _, _, columns, prunable, _ = asked
    cut = _soonest(plan, asked, plan.tuning.sections.most(prunable) * plan.least_cost(m, n))
    if cut is None:
        return None
    chosen = replace(plan, alpha=cut.alpha, B=cut.B, chunk=cut.chunk)
    cuts = _cuts(n, cut.sections, columns)
    return Sections(chosen, cut._replace(sections=len(cuts) - 1), cuts)


def _soonest(plan: Plan, asked: Asked, seconds: float) -> Cut | None:
    """The cut that costs least, of equal ones that with the fewest sections; None if it costs so
    many seconds or more.  In R rounds, where each group takes a strip, there are ``R B / strips``
    sections at most.  Fewer would be wider, so only so many are tried, for R about the best one."""
    m, n, span, overlap, _, _, most = asked
    tuning, (alpha, B, chunk) = plan.tuning.sections, _every(plan.alphas, plan.groups, plan.chunks)
    strips, shared = -(-m // (plan.T * alpha)), shared_sections(plan, B)
    # the most sections that need no comparison, and the most that need one
    share = min(tuning.most_share, tuning.most_overlap)
    most_proven = 0 if span is None else min(most, int(share * n / span))
    longest, span = int(tuning.most_overlap * n / overlap), span or overlap
    rounds = tuning.rounds or plan.lane_set.defaults.sections
    if rounds:
        wanted = np.minimum(rounds * B // strips, most)
        counts = np.where(wanted > most_proven, np.minimum(wanted, longest), wanted)
    else:
        wanted, highest = 0, max(most_proven, min(most, longest))
        first, last = -(-2 * strips // B), -(-highest * strips // B)
        shortest = min(overlap, span) if most_proven > 1 else overlap
        about = Cut(alpha, B, chunk, 0, shortest, 0).rounds(plan, m).clip(first, last)
        tried = np.vstack((about + NEAR, about * FAR, last)).astype(np.int64).clip(first, last)
        counts = np.minimum(tried * B // strips, highest)
        counts = np.vstack((counts, np.full_like(last, most_proven)))
    # those that share a group fill all groups
    counts = np.where(counts < shared, counts, counts - counts % shared)
    able = (counts > 1) & (2 * counts >= wanted)  # else they overlap too much
    if not able.any():
        return None
    counts, alpha, B, chunk = (one[able] for one in np.broadcast_arrays(counts, alpha, B, chunk))
    proven = counts <= most_proven
    ways = Cut(alpha, B, chunk, counts, np.where(proven, span, overlap), proven)
    costs = ways.cost(plan, m, n)
    if costs.min() >= seconds:
        return None
    tied = np.flatnonzero(costs == costs.min())
    best = min(tied, key=lambda k: (counts[k], alpha[k], B[k], chunk[k]))
    return Cut._make([*(int(one[best]) for one in ways[:-1]), bool(proven[best])])


@lru_cache(64)
def _every(*values: tuple[int, ...]) -> tuple[NDArray[np.int64], ...]:
    """Each value with all others, as arrays."""
    return tuple(np.array([*product(*values)], np.int64).T.copy())


def sooner_by_rows(plan: Plan, scan: Plan, m: int, n: int, prunable: bool) -> bool:
    """Does the row scan surely compute an m x n tile sooner than strips do?"""
    if f"{scan.engine}/{scan.lanes}" not in scan.machine.by_subject or not plan.may_be_cut(m, n):
        return False
    return scan.tile_cost(m, n) < plan.tuning.sections.most(prunable) * plan.least_cost(m, n)


def _cuts(n: int, count: int, columns: tuple[int, ...]) -> tuple[int, ...]:
    """About ``count`` even sections, which end at all special ``columns``."""
    cuts = [0]
    for start, end in pairwise((0, *columns, n)):
        pieces = max(1, round((end - start) * count / n))
        cuts += [start + (end - start) * k // pieces for k in range(1, pieces + 1)]
    return tuple(cuts)
