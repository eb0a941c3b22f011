"""E-values from the scores of a search itself, in any mode.

Method: as FASTA's programs do (Pearson 1998, J Mol Biol 276, 71-84), scores are compared with those
of subjects of about the same length, by their mean and standard deviation, and those of relatives
are left out.  The tail of the highest tenth of what remains falls as exp(-rate x - bend x^2), by
maximum likelihood: that of local scores is nearly exponential, as an extreme value distribution's,
and that of global ones falls faster, as a normal distribution's."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import ScoringError
from .law import Values

#: Subjects of about the same length: so many, in so many groups at most.
GROUP, GROUPS = 30, 60
#: The tail is a share of the subjects, and so many at least; there have to be more in all.
TAIL, FEWEST, LEAST = 0.1, 30, 100
#: Subjects with a lower E-value are taken to be relatives.
RELATIVE = 0.01
#: At first those are that score above the median by so many times the distance of the quartiles.
APART = 10
ROUNDS = 5


@dataclass(frozen=True, eq=False)
class LibraryStatistics:
    """How often subjects of a search reach a score.  For logarithms of lengths, which rise: the
    mean and the standard deviation of scores.  In units of these scores are above ``start`` by x
    as often as ``share`` * exp(-``rate`` * x - ``bend`` * x^2)."""

    lengths: Values
    means: Values
    deviations: Values
    start: float
    rate: float
    bend: float
    share: float
    #: Subjects and letters of the search.
    subjects: int
    letters: int

    def log_evalues(self, scores: ArrayLike, m: int, n: ArrayLike, db_letters: float) -> Values:
        """See `ScoreStatistics.log_evalues`; at most as many as there are subjects."""
        at = np.log(np.asarray(n, float))
        mean, deviation = (np.interp(at, self.lengths, x) for x in (self.means, self.deviations))
        beyond = (np.asarray(scores, float) - mean) / deviation - self.start
        fallen = (self.rate + self.bend * np.maximum(beyond, 0)) * beyond
        return np.asarray(self._subjects(db_letters) + np.minimum(log(self.share) - fallen, 0.0))

    def least_score(self, log_evalue: float, score: float, m: int, db_letters: float) -> float:
        """See `ScoreStatistics.least_score`."""
        most = self._subjects(db_letters)
        if log_evalue >= most:
            return -np.inf
        fallen = log(self.share) + most - log_evalue
        root = sqrt(max(self.rate**2 + 4 * self.bend * fallen, 0.0))
        beyond = self.start + fallen * (2 / (self.rate + root) if fallen > 0 else 1 / self.rate)
        # between two of the lengths scores are monotone in units of their deviations
        return min(score, float((self.means + beyond * self.deviations).min()))

    def _subjects(self, db_letters: float) -> float:
        """The logarithm of the subjects of a search of so many letters."""
        return log(self.subjects * db_letters / self.letters)


def of_library(scores: NDArray[Any], lengths: NDArray[np.int64]) -> LibraryStatistics:
    """The statistics of subjects with these scores (user's units) and lengths, the longest first.
    Raises ScoringError where there are too few, or all are alike."""
    count = len(scores)
    if count < LEAST:
        raise ScoringError(
            f"E-values by the scores of a search need {LEAST} sequences or more, not {count}"
        )
    groups = np.arange(count) * min(max(1, count // GROUP), GROUPS) // count
    at, letters = np.log(lengths), int(lengths.sum())
    # at first by quartiles, which relatives do not move
    each = np.split(scores, np.flatnonzero(np.diff(groups)) + 1)
    own = [np.quantile(some, (0.25, 0.5, 0.75)) for some in each]
    low, middle, high = np.array(own).T[:, groups]
    kept = scores - middle <= APART * np.maximum(high - low, 1)
    for _ in range(ROUNDS):
        sizes = np.maximum(np.bincount(groups, kept), 1)
        means = np.bincount(groups, np.where(kept, scores, 0)) / sizes
        apart = np.where(kept, (scores - means[groups]) ** 2, 0)
        deviations = np.sqrt(np.bincount(groups, apart) / sizes)
        middles = np.bincount(groups, np.where(kept, at, 0)) / sizes
        if not (deviations > 0).all():
            raise ScoringError("E-values by the scores of a search: many of them are equal")
        knots = middles[::-1], means[::-1], deviations[::-1]
        mean, deviation = (np.interp(at, knots[0], x) for x in knots[1:])
        units = (scores - mean) / deviation
        tail = max(FEWEST, int(TAIL * kept.sum()))
        highest = np.sort(units[kept])[-tail - 1 :]
        rate, bend = _tail(highest[1:] - highest[0])
        share = tail / int(kept.sum())
        found = LibraryStatistics(*knots, float(highest[0]), rate, bend, share, count, letters)
        again = found.log_evalues(scores, 0, lengths, letters) > log(RELATIVE)
        if (again == kept).all():
            break
        kept = again
    return found


def _tail(beyond: Values) -> tuple[float, float]:
    """The most likely rate and bend, none below 0, of what falls as exp(-rate x - bend x^2)."""
    mean = float(beyond.mean())
    if mean <= 0:
        raise ScoringError("E-values by the scores of a search: the highest ones are equal")
    x = np.array([1 / mean, 0.0])
    if 2 * mean**2 <= (beyond**2).mean():
        return 1 / mean, 0.0
    sums = np.array([beyond.sum(), (beyond**2).sum()])
    for _ in range(50):  # Newton's method; the likelihood is concave
        slope = x[0] + 2 * x[1] * beyond
        by = np.stack([1 / slope, 2 * beyond / slope])
        step = np.linalg.solve(by @ by.T, by.sum(1) - sums)
        while (x + step < 0).any() and np.abs(step).max() > 1e-9:
            step /= 2
        x = x + step
        if np.abs(step).max() <= 1e-9:
            break
    return float(x[0]), float(x[1])
