"""How long a comparison of two given sequences takes, foreseen by one quick look at them.

No result depends on it: it only feeds :func:`pysw_cl.predict`.  Words that each sequence has once
are anchors, and an alignment probably runs along the longest chain of those that rise in both.  A
word survives if none of its k letters changes, so the share c of words that did gives the identity
c^(1/k) (Mash: Ondov et al. 2016, Genome Biology 17, 132), and the scoring gives H along the chain.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from ..planning.model.counts import Work, lag_of
from ..planning.model.runs import Setting, sweep_of, swept_again
from ..planning.model.times import Name
from ..sequences.alphabet import is_nucleotide
from ..sequences.coordinates import Frame
from ..sequences.kmers import OTHERS, Anchors, K, Sample, anchors, sampled

Floats = NDArray[np.float64]

#: Matrices of fewer cells take less time than a look, in which about so many words are sampled from
#: the shorter sequence, and no more than so many from the longer one.
LOOKED_CELLS, SAMPLES, MOST_SAMPLES = 1 << 22, 1 << 14, 1 << 21
#: Pieces of a chain at most, each with its own identity, and anchors of one at least.
PIECES, ANCHORS = 48, 20
#: Rows without an anchor, on top of twenty times as many as usual, are a piece in which nothing is
#: alike, and this share of letters is equal on the best path.
EMPTY, UNRELATED = 500, 0.5
#: One change in so many is a gap, of two letters.
GAP_EVERY = 10
#: Blocks a side that are looked at.
BLOCKS = 96
#: A cell near the path takes so many times as long where lanes have 8 bits: 16 are needed there.
NEAR = 2.5
#: Nine of ten predictions that rest on a look are off by at most so much more.
UNSURE = 0.25


@dataclass(frozen=True)
class LikelyPath:
    """H at some rows and columns along a path."""

    rows: Floats
    columns: Floats
    scores: Floats

    @property
    def score(self) -> float:
        """The best score."""
        return float(self.scores.max())

    @property
    def extent(self) -> tuple[float, float]:
        """Rows and columns of the best local alignment."""
        end = int(self.scores.argmax())
        start = int(np.flatnonzero(self.scores[: end + 1] <= 0).max(initial=0))
        rows, columns = self.rows, self.columns
        return float(rows[end] - rows[start]), float(columns[end] - columns[start])


#: That of unrelated sequences.
NOWHERE = LikelyPath(np.zeros(1), np.zeros(1), np.zeros(1))


@dataclass(frozen=True)
class PairForecast:
    """What the sweeps of a pair take, and what its traceback does."""

    #: Time on the device, as a share of that of one sweep of all cells.
    share: float = 1.0
    #: Strands that are swept.
    sweeps: int = 1
    #: Counts of the traceback.
    path: Counter[Name] = field(default_factory=Counter)
    #: Are the sequences similar?
    similar: bool = False


def pair_forecast(
    setting: Setting, frame: Frame, both: bool, path: bool, prune: bool
) -> PairForecast:
    """The forecast for the letters of a frame.  ``both``: are both strands compared, ``path``: is
    the path wanted, ``prune``: may cells be skipped?"""
    m, n = frame.shape
    looks = likely_paths(setting, frame, both) if m * n >= LOOKED_CELLS else []
    best = max(looks, key=lambda one: one.score, default=NOWHERE)
    if looks:
        setting = replace(setting, cuts_squares=False)
    work, share = sweep_of(setting, m, n), 1.0 + both
    strips = bool(work.strips) and work.strips[0].subject.startswith("wavefront")
    strips = strips and not work.counts["call", "section"] and setting.plan.lane_set.prunes
    if setting.local and strips:
        share = sweep_share(setting, work, (m, n), best, prune)
        if both:  # the other strand is searched for more than this score
            share += sweep_share(setting, work, (m, n), NOWHERE, prune, best.score)
    counts: Counter[Name] = Counter()
    if path and work.strips:
        counts = swept_again(setting, m, n, best.extent if setting.local else (float(m), float(n)))
    return PairForecast(share, 1 + both, counts, bool(looks))


def likely_paths(setting: Setting, frame: Frame, both: bool) -> list[LikelyPath]:
    """A path of the strand of the frame, or of each of ``both``, where there probably is one.
    Takes time linear in both lengths."""
    (m, n), four = frame.shape, is_nucleotide(setting.scoring.letters)
    if setting.scoring.by_position:
        return []
    bits = max((min(m, n) // SAMPLES).bit_length(), (max(m, n) // MOST_SAMPLES).bit_length())
    here, there = (sampled(one, bits, four=four) for one in frame.compared)
    turned = Sample(here.complements, here.words, m - K - here.places)
    by_chance = m * n / (4.0**K if four else 20.0**OTHERS) / 2**bits
    found = []
    for one in [here, turned] if both else [turned if frame.minus else here]:
        chain = anchors(one, there)
        if len(chain.rows) >= 4 + 6 * sqrt(by_chance):
            found.append(_path(chain, setting))
    return found


def _path(chain: Anchors, setting: Setting) -> LikelyPath:
    """The path along a chain."""
    (rows, columns, words), scoring, last = chain, setting.scoring, len(chain.rows) - 1
    k, letters = (K, 4) if is_nucleotide(scoring.letters) else (OTHERS, 20)
    scores = np.asarray(scoring.matrix, float)[:letters, :letters]
    same = np.eye(len(scores), dtype=bool)
    match, mismatch = scores[same].mean(), scores[~same].mean()
    cuts = np.linspace(0, last, max(1, min(PIECES, last // ANCHORS)) + 1).astype(int)
    empty = np.flatnonzero(np.diff(rows) > 20 * (rows[-1] - rows[0]) / last + EMPTY)
    cuts = np.unique(np.concatenate([cuts, empty, empty + 1]))
    seen = np.maximum(1, np.diff(np.searchsorted(words, rows[cuts])))
    identity = np.minimum(1.0, np.diff(cuts) / seen) ** (1 / k)
    identity[np.isin(cuts[:-1], empty)] = UNRELATED
    down, right = np.diff(rows[cuts]), np.diff(columns[cuts])
    gap = scoring.gap_open + 2 * scoring.gap_extend
    changed = mismatch - (gap + mismatch) / GAP_EVERY
    jump = np.maximum(0, np.abs(right - down) - down / 10)
    rise = np.minimum(down, right) * (match * identity + changed * (1 - identity))
    h = [0.0]
    for step in (rise - scoring.gap_extend * jump).tolist():
        h.append(max(0.0, h[-1] + step) if setting.local else h[-1] + step)
    return LikelyPath(rows[cuts].astype(float), columns[cuts].astype(float), np.array(h))


def sweep_share(
    setting: Setting,
    work: Work,
    shape: tuple[int, int],
    path: LikelyPath,
    prune: bool,
    known: float = 0.0,
) -> float:
    """How long a local sweep takes, as a share of one that computes all cells and meets no path.
    ``known``: a score that is known before.  With ``prune`` a block is computed if H, and a match
    for each row and column left, reach the best score so far (Sandes & de Melo's block pruning).
    """
    (m, n), plan, scoring = shape, setting.plan, setting.scoring
    if path.score <= 0 and not (prune and known > 0):
        return 1.0
    rows, columns = plan.tile_shape(m, n)
    plan = plan.for_size(min(rows, m), min(columns, n)) or plan
    strip, lag = plan.strip_rows, lag_of(plan.T, plan.chunk, n)
    i, j = _starts(m, strip)[:, None], _starts(n, plan.chunk)[None]
    # the highest H that enters a block is that of the path in its rows or columns, less a gap
    at = np.minimum(i + strip, np.interp(j + plan.chunk, path.columns, path.rows))
    gap = np.maximum(0, i - at) + np.maximum(0, j - np.interp(at, path.rows, path.columns))
    h = np.maximum(0, np.interp(at, path.rows, path.scores) - scoring.gap_extend * gap)
    # what strips in flight have reached when the block's turn comes
    passed = path.columns + lag * path.rows / strip
    done = np.interp(j + lag * i / strip, passed, path.rows, left=0.0)
    done = np.clip(done, i - (plan.B - 1) * strip, i + strip)
    best = np.interp(done, path.rows, np.maximum.accumulate(path.scores), left=0.0)
    live = h + scoring.highest * np.minimum(m - i, n - j) >= np.maximum(known, best)
    live |= not prune
    if plan.machine.schedulers:
        # strips in flight wait for each other: a column takes as long while one of them computes
        flight = (i[:, 0] // (plan.B * strip)).astype(int)
        starts = np.flatnonzero(np.diff(flight, prepend=-1))
        return float(np.logical_or.reduceat(live, starts, axis=0).mean())
    widest = max(work.strips, key=lambda one: one.columns * one.tiles)
    near = NEAR if widest.subject.endswith("/8") else 1.0
    return float(np.mean(live * np.where(h > 0, near, 1.0)))


def _starts(length: int, step: int) -> Floats:
    """The first rows of the blocks of a side, or of some of them."""
    count = -(-length // step)
    some = min(count, BLOCKS)
    return np.asarray(np.floor((np.arange(some) + 0.5) / some * count) * step, np.float64)
