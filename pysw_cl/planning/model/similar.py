"""Which cells a local sweep of two similar sequences computes, and how long its path is.

A cell is computed if H, and a match for each row and column left, reach the best score so far
(Sandes & de Melo's block pruning).  What H is near the path that a quick look foresees
(`Resemblance`), and what the best score is when a block's turn comes, says which blocks these are.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...scoring.scoring import Scoring
from ...sequences.resemblance import Resemblance
from ..path_grid import grid_places, most_pieces
from ..plan import Plan
from .counts import Work
from .runs import Setting
from .times import Name, Times

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: Of the grid cells on the path, what is computed where its tiles are known ahead: these are
#: smaller, and pruned (5 million letters, 6% changed, on an H100: 1/22).
AHEAD = 1 / 22
#: Blocks a side that are looked at.
POINTS = 200


class Shares(NamedTuple):
    """Cells of a matrix, as shares of all."""

    #: Computed far from the path, and so near it that H is above what chance gives.
    far: float
    near: float

    @property
    def computed(self) -> float:
        """All that are computed."""
        return self.far + self.near


#: Of sequences that are not similar.
ALL = Shares(1.0, 0.0)


@dataclass(frozen=True)
class SimilarPath:
    """A path, by the score at some places along it."""

    #: The shape of the matrix.
    m: int
    n: int
    #: The places, from the chain's first cell to its last one.
    rows: Floats
    columns: Floats
    #: H there.
    scores: Floats
    #: The highest substitution score, and what a letter of a gap costs.
    highest: float
    extend: float

    @classmethod
    def of(
        cls, found: Resemblance, m: int, n: int, scoring: Scoring, local: bool = True
    ) -> SimilarPath:
        """The path of two sequences with this resemblance."""
        match, mismatch = _means(scoring)
        down, across = np.diff(found.rows), np.diff(found.columns)
        gap = scoring.gap_open + scoring.gap_extend * found.gap_letters
        changed = 1 - found.identities
        gaps = np.minimum(found.gaps, changed)
        rise = match * found.identities + mismatch * (changed - gaps) - gap * gaps
        # where nothing is alike, two gaps may cost less than mismatches
        chance = match / 4 + mismatch * 3 / 4
        apart = 2 * scoring.gap_open + scoring.gap_extend * (down + across)
        bad = np.maximum(np.minimum(down, across) * chance, -apart)
        steps = np.where(found.identities > 0, down * rise, bad)
        jump = np.maximum(0, np.abs(across - down) - 0.1 * down)
        steps -= np.where(jump > 0, scoring.gap_open + scoring.gap_extend * jump, 0)
        scores = [0.0]
        for step in steps.tolist():
            scores.append(max(0.0, scores[-1] + step) if local else scores[-1] + step)
        return cls(
            m, n, found.rows, found.columns, np.array(scores), scoring.highest, scoring.gap_extend
        )

    @classmethod
    def nowhere(cls, m: int, n: int, scoring: Scoring) -> SimilarPath:
        """That of unrelated sequences."""
        none = np.zeros(1)
        return cls(m, n, none, none, none, scoring.highest, scoring.gap_extend)

    @property
    def score(self) -> float:
        """The best score."""
        return float(self.scores.max())

    @property
    def extent(self) -> tuple[float, float]:
        """Rows and columns of the best local alignment."""
        end = int(self.scores.argmax())
        start = int(np.flatnonzero(self.scores[: end + 1] <= 0).max(initial=0))
        return (
            float(self.rows[end] - self.rows[start]),
            float(self.columns[end] - self.columns[start]),
        )

    def shares(self, strip: int, chunk: int, strips: int, lag: float, known: float = 0) -> Shares:
        """The cells that a local sweep computes.

        It goes by blocks of ``strip`` rows and ``chunk`` columns.  ``strips`` strips are in flight,
        each ``lag`` columns behind the one above it.  ``known``: a score that is known before.
        """
        _, far, near = self.shares_by_row(strip, chunk, strips, lag, known)
        return Shares(float(np.mean(far)), float(np.mean(near)))

    def shares_by_row(
        self, strip: int, chunk: int, strips: int, lag: float, known: float = 0, prunes: bool = True
    ) -> tuple[Floats, Floats, Floats]:
        """The first rows of some strips, and `Shares.far` and `Shares.near` of each; see `shares`.
        ``prunes``: are cells left out?"""
        top, left = _starts(self.m, strip), _starts(self.n, chunk)
        far, near = self.computed(top, left, (strip, chunk), strips, lag, known, prunes)
        return top, np.mean(far, axis=1), np.mean(near, axis=1)

    def computed(
        self,
        top: Floats,
        left: Floats,
        block: tuple[float, float],
        strips: int,
        lag: float,
        known: float = 0,
        prunes: bool = True,
    ) -> tuple[Flags, Flags]:
        """Of blocks with these first rows and columns, ``block`` rows and columns each: which are
        computed far from the path, and which near it; see `shares_by_row`."""
        i, j = top[:, None], left[None, :]
        h = self._h(i, j, *block)
        near = h > 0
        live = np.ones_like(near)
        if prunes:
            best = np.maximum(known, self._best(i, j, *block, strips, lag))
            live = h + self.highest * np.minimum(self.m - i, self.n - j) >= best
        return live & ~near, live & near

    def _best(
        self, i: Floats, j: Floats, strip: float, chunk: float, strips: int, lag: float
    ) -> Floats:
        """The best score when a block's turn comes: that of the rows of strips that are done, and
        of what the strips in flight have of the path."""
        highest = np.maximum.accumulate(self.scores)
        passed = self.columns + lag * self.rows / strip
        rows = np.interp(j + lag * i / strip, passed, self.rows, left=0.0)
        rows = np.maximum(np.minimum(rows, i + strip), i - (strips - 1) * strip)
        return np.asarray(np.interp(rows, self.rows, highest, left=0.0))

    def _h(self, i: Floats, j: Floats, strip: float, chunk: float) -> Floats:
        """The highest H that enters a block: of the path, or of a gap beside it."""
        rows, columns, scores = self.rows, self.columns, self.scores
        # through the left side, from the last cell of the path in these rows, and through the top
        row = np.minimum(i + strip, np.interp(j, columns, rows, left=-1.0))
        right = np.interp(row, rows, scores) - self.extend * (j - np.interp(row, rows, columns))
        column = np.minimum(j + chunk, np.interp(i, rows, columns, left=-1.0))
        below = np.interp(column, columns, scores)
        below = below - self.extend * (i - np.interp(column, columns, rows))
        right, below = np.where(row >= i, right, 0.0), np.where(column >= j, below, 0.0)
        # a gap from the end of the path, and one more from that on
        down, across = i - rows[-1], j - columns[-1]
        ended = scores[-1] - self.extend * np.maximum(down, across)
        ended = np.where((down >= 0) & (across >= 0), ended, 0.0)
        return np.asarray(np.maximum(np.maximum(right, below), np.maximum(ended, 0.0)))


def _starts(length: int, step: int) -> Floats:
    """The first rows of the blocks, or of some of them."""
    count = -(-length // step)
    blocks = np.arange(count, dtype=np.float64)
    if count > POINTS:
        blocks = np.floor((np.arange(POINTS, dtype=np.float64) + 0.5) / POINTS * count)
    return np.asarray(blocks * step, np.float64)


def _means(scoring: Scoring) -> tuple[float, float]:
    """The mean score of a match and of a mismatch."""
    matrix = np.asarray(scoring.matrix, float)
    if scoring.match_mismatch is not None:
        return float(scoring.match_mismatch[0]), float(scoring.match_mismatch[1])
    size = min(matrix.shape[0], 20)
    part = matrix[:size, :size]
    match = float(np.trace(part)) / size
    return match, float((part.sum() - np.trace(part)) / max(1, size * (size - 1)))


def swept_again(setting: Setting, m: int, n: int, extent: tuple[float, float]) -> Counter[Name]:
    """What the traceback of a path through so many rows and columns of an m x n matrix does.

    The special rows and columns of the sweep cut the matrix into grid cells.  Those on the way are
    swept again if their moves take too much memory (:mod:`pysw_cl.drivers.traceback`).
    """
    plan, tuning = setting.plan, setting.plan.tuning.traceback
    most = most_pieces(tuning, m, n)
    down, across = grid_places(tuning, m, 1, most)[1], grid_places(tuning, n, 1, most)[1]
    rows = max(extent[0], min(m, n, down, across, tuning.least_side))
    found: Counter[Name] = Counter({("path", "call"): 1, ("path", "row"): int(rows)})
    if down * across > plan.traceback_tile_cells:
        cells = max(extent[0] * across, extent[1] * down, down * across)
        found["path", "cell"] = int(AHEAD * cells if setting.ahead else cells)
    return found


def relative_time(shares: Shares, times: Times, width: int) -> float:
    """How long a sweep takes that computes these cells, as a share of one in which no H is above
    what chance gives.  ``width``: bits of its lanes; cells near the path need at least 16."""
    near, pruned = relative_times(times, width)
    return shares.far + near * shares.near + pruned * (1 - shares.computed)


def relative_times(times: Times, width: int) -> tuple[float, float]:
    """How long a cell near the path takes, and one that is pruned, as a share of one far from it;
    see `relative_time`."""
    own = times.of(f"similar/{width}")
    return own.get("near", max(1.0, 16 / width)), own.get("pruned", 0.0)


def width_of(work: Work) -> int:
    """The bits of the lanes that compute most of a run."""
    widest = max(work.strips, key=lambda one: one.columns * one.tiles)
    bits = widest.subject.rpartition("/")[2]
    return int(bits) if bits.isdigit() else 32


def may_prune(work: Work) -> bool:
    """Are there blocks to be pruned: strips, and none in sections?"""
    strips = bool(work.strips) and work.strips[0].subject.startswith("wavefront")
    return strips and not work.counts["call", "section"]


def shares_under(setting: Setting, path: SimilarPath, known: float = 0) -> Shares:
    """The cells that a local sweep of the setting computes.  No cell is pruned by lanes that cannot
    do that, and none in sections."""
    if not setting.plan.lane_set.prunes or not setting.local:
        return ALL
    return path.shares(*blocks_of(setting.plan, path.m, path.n), known)


def blocks_of(plan: Plan, m: int, n: int) -> tuple[int, int, int, int]:
    """Rows and columns of a block of an m x n matrix, the strips in flight, and by how many columns
    each lags behind the one above it."""
    rows, columns = plan.tile_shape(m, n)
    plan = plan.for_size(min(rows, m), min(columns, n)) or plan
    return plan.strip_rows, plan.chunk, plan.B, plan.T + plan.chunk
