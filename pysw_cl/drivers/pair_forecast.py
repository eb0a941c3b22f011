"""How long a comparison of two given sequences takes, foreseen by one quick look at them, for
:func:`pysw_cl.predict`.

Words that both have, once each, tell where the sequences are alike, and how much.  A word survives
if none of its k letters changes, so the share c of words that did gives the identity c^(1/k) (Mash:
Ondov et al. 2016, Genome Biology 17, 132).  The best alignment is taken to run straight there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from ..planning.model.predict import Foreseen
from ..planning.model.runs import Strips, sweep_of
from ..planning.model.times import CUT, lag_of
from ..planning.program import Given
from ..sequences.alphabet import is_nucleotide
from ..sequences.kmers import OTHERS, K, Sample, samples_of
from ..sequences.view import Frame

Floats = NDArray[np.float64]
#: Matrices of fewer cells take less time than a look.
LOOKED_CELLS = 1 << 22
#: The share of words in common that may lie outside the part that is alike, on each side.
OUTSIDE = 0.01
#: One change in so many is a gap, of two letters.
GAP_EVERY = 10
#: Blocks a side that are looked at.
BLOCKS = 96
#: A cell near the path takes so many times as long where lanes have 8 bits: 16 are needed there.
NEAR = 2.5
#: What a pruned block of a GPU's strips takes, as a share of another one (H200: 5 x 5 and 33 x 47
#: million letters, 5% changed, on one, two and four).
PRUNED = 0.15
#: How often it is looked which blocks are pruned by the best score so far.
TURNS = 5
#: Nine of ten predictions that rest on a look are off by at most so much more.
UNSURE = 0.5


@dataclass(frozen=True)
class LikelyPath:
    """A straight path, along which H rises evenly from 0 to the score."""

    row: float = 0.0
    column: float = 0.0
    #: The rows and columns that it leads through.
    down: float = 1.0
    right: float = 1.0
    score: float = 0.0


def pair_forecast(
    given: Given, frame: Frame, both: bool, path: bool, prune: bool
) -> tuple[Given, Foreseen]:
    """What the letters of a frame change, and the given for them.  ``both``: are both strands
    compared, ``path``: is the path wanted, ``prune``: may cells be skipped?"""
    m, n = frame.shape
    looks = likely_paths(given, frame, both) if m * n >= LOOKED_CELLS else []
    best = max(looks, key=lambda one: one.score, default=LikelyPath())
    if looks:
        rows = m if given.devices > 1 and given.local and prune else 0
        given = replace(given, seen=replace(given.seen, alike=True), alike_rows=rows)
    work, share = sweep_of(given, m, n), 1.0 + both
    strips = work.widest
    if given.local and strips and strips.way != CUT and strips.plan.lane_set.prunes:
        share = sweep_share(given, strips, (m, n), best, prune)
        if both:  # the other strand is searched for more than this score
            share += sweep_share(given, strips, (m, n), LikelyPath(), prune, best.score)
    through = (best.down, best.right) if given.local else (float(m), float(n))
    unsure = UNSURE if looks else 0.0
    return given, Foreseen(share, 1 + both, through if path and strips else None, unsure)


def likely_paths(given: Given, frame: Frame, both: bool) -> list[LikelyPath]:
    """A path of each strand that is compared, where there probably is one; in linear time."""
    if given.scoring.by_position:
        return []
    query, target = samples_of(frame, is_nucleotide(given.scoring.letters))
    turned = query.turned(frame.shape[0])
    strands = [query, turned] if both else [turned if frame.minus else query]
    found = (_likely_path(one, target, given, frame.shape) for one in strands)
    return [path for path in found if path is not None]


def _likely_path(
    query: Sample, target: Sample, given: Given, shape: tuple[int, int]
) -> LikelyPath | None:
    """The path where two samples have words in common; None if chance explains those."""
    (a, rows), (b, columns) = _once(query), _once(target)
    _, i, j = np.intersect1d(a, b, assume_unique=True, return_indices=True)
    scoring = given.scoring
    k, letters = (K, 4) if is_nucleotide(scoring.letters) else (OTHERS, 20)
    by_chance = len(a) * shape[1] / float(letters) ** k
    if len(i) < 4 + by_chance + 6 * sqrt(by_chance):
        return None
    sides = (np.quantile(places, (OUTSIDE, 1 - OUTSIDE)) for places in (rows[i], columns[j]))
    (row, row_end), (column, column_end) = ((float(x), float(y) + k) for x, y in sides)
    inside = np.count_nonzero((rows >= row) & (rows <= row_end))
    identity = min(1.0, (len(i) - by_chance) / inside) ** (1 / k)
    scores = np.asarray(scoring.matrix, float)[:letters, :letters]
    same = np.eye(len(scores), dtype=bool)
    match, mismatch = scores[same].mean(), scores[~same].mean()
    gap = scoring.gap_open + 2 * scoring.gap_extend
    changed = mismatch - (gap + mismatch) / GAP_EVERY
    down, right = row_end - row, column_end - column
    rise = min(down, right) * (match * identity + changed * (1 - identity))
    jump = max(0.0, abs(right - down) - down / 10)
    return LikelyPath(row, column, down, right, max(0.0, rise - scoring.gap_extend * jump))


def _once(sample: Sample) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The words that are there once, and their places."""
    words, first, counts = np.unique(sample.words, return_index=True, return_counts=True)
    return words[counts == 1], sample.places[first[counts == 1]]


def sweep_share(
    given: Given,
    strips: Strips,
    shape: tuple[int, int],
    path: LikelyPath,
    prune: bool,
    known: float = 0.0,
) -> float:
    """How long these strips of a local sweep take, as a share of that where all cells are computed
    and no path is met.
    ``known``: a score that is known before.  With ``prune`` a block is computed if H, and a match
    for each row and column left, reach the best score so far (Sandes & de Melo's block pruning)."""
    (m, n), plan, scoring = shape, strips.plan, given.scoring
    strip, lag = plan.strip_rows, lag_of(plan.T, plan.chunk, n)
    i, j = _starts(m, strip)[:, None], _starts(n, plan.chunk)[None]
    down, right = i - path.row, j - path.column
    # the highest H that enters a block is that of the path in its rows or columns, less a gap
    at = np.minimum((down + strip) / path.down, (right + plan.chunk) / path.right).clip(0, 1)
    gap = np.maximum(0, down - at * path.down) + np.maximum(0, right - at * path.right)
    h = np.maximum(0, at * path.score - scoring.gap_extend * gap)
    reach = h + scoring.highest * np.minimum(m - i, n - j)
    if not plan.machine.schedulers:
        # what strips in flight have reached when the block's turn comes
        done = (right + lag * down / strip) / (path.right + lag * path.down / strip)
        done = done.clip((down - (plan.B - 1) * strip) / path.down, (down + strip) / path.down)
        live = (reach >= np.maximum(known, done.clip(0, 1) * path.score)) | (not prune)
        near = NEAR if strips.subject.endswith("/8") else 1.0
        return float(np.mean(live * np.where(h > 0, near, 1.0)))
    line = plan.machine.pace(strips.subject).line(plan.alpha, strips.wave.share)
    lag += float(line.hop / line.pace(strips.wave.busy, plan.chunk))
    each, places = m / len(i) / strip, given.devices * plan.B
    columns, lags = n / j.size * max(1.0, each / places), min(each, places) * lag
    passed = (down[:, 0] / path.down).clip(0, 1)
    at_path = (np.searchsorted(j[0], path.column + passed * path.right, "right") - 1).clip(0)
    live, ends = np.ones(h.shape, bool), list[float]()
    for _ in range(TURNS):
        share = np.where(live, 1.0, PRUNED)
        begun, end = _in_flight(columns * share, lags * share, places / each)
        ends.append(end)
        when = np.maximum.accumulate(begun[np.arange(len(i)), at_path])
        best = np.interp(begun, when, passed, left=0.0) * path.score
        live = (reach >= np.maximum(known, best)) | (not prune)
    return ends[-1] / ends[0]


def _in_flight(taken: Floats, lags: Floats, places: float) -> tuple[Floats, float]:
    """When blocks of strips begin, and when all are done, by what each takes.  One begins a lag
    behind the one above it; a row of blocks, when the one so many ``places`` above it is done."""
    begun, done = np.zeros(taken.shape), np.zeros(len(taken))
    for row, own in enumerate(taken):
        least = begun[row - 1] + lags[row] if row else np.zeros(len(own))
        if row >= places:
            free = np.interp(row - places, np.arange(row), done[:row])
            least[0] = max(least[0], float(free))
        before = own.cumsum() - own
        begun[row] = before + np.maximum.accumulate(least - before)
        done[row] = begun[row, -1] + own[-1]
    return begun, float(done.max())


def _starts(length: int, step: int) -> Floats:
    """The first rows of the blocks of a side, or of some of them."""
    count = -(-length // step)
    some = min(count, BLOCKS)
    return np.asarray(np.floor((np.arange(some) + 0.5) / some * count) * step, np.float64)
