"""The law that scores of unrelated sequences follow, and the E-values that it gives.

Method: how often local alignments of unrelated sequences score at least S is a Poisson number with
mean K A exp(-lambda S) (Karlin & Altschul 1990, PNAS 87, 2264-2268).  A is the product of both
lengths, each less what an alignment with that score takes of it, on average and with its spread
(Park, Sheetlin, Ma, Madden & Spouge 2012, BMC Res Notes 5:286, "finite size correction")."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import erfc, log, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values = NDArray[np.float64]
_erfc = np.frompyfunc(erfc, 1, 1)
#: The least variance of what alignments take, in letters.
LEAST_SPREAD = 1e-3
#: Areas that are no larger, in logarithms, are computed as such.
LEAST_AREA = 1e-280
#: Deviations below the mean from which on a continued fraction of so many terms is exact.
FAR, TERMS = 8.0, 40
#: Steps between scores that `ScoreStatistics.least_score` looks at together.
STEPS = 64
#: At last they are so far apart in units of 1 / lambda, or by 1.
STEP = 0.25


@dataclass(frozen=True)
class ScoreStatistics:
    """How often local alignments of unrelated sequences reach a score, in the user's units.

    An alignment that scores S takes ``a * S + b`` letters of either sequence on average, with the
    variance ``alpha * S + beta``; ``sigma * S + tau`` is the covariance of both."""

    lambda_: float
    k: float
    a: float
    b: float
    alpha: float
    beta: float
    sigma: float
    tau: float
    #: Where they come from, in words.
    source: str
    #: The standard errors of lambda, and of the logarithm of K; 0 for published values.
    lambda_error: float = 0.0
    log_k_error: float = 0.0

    def bits(self, scores: ArrayLike) -> Values:
        """The bit scores of scores: those of a law with lambda = ln 2 and K = 1."""
        return np.asarray((self.lambda_ * np.asarray(scores, float) - log(self.k)) / log(2))

    def evalues(self, scores: ArrayLike, m: ArrayLike, n: ArrayLike, db_letters: float) -> Values:
        """The E-values of scores of a query of ``m`` letters with subjects of ``n`` letters: how
        many alignments with unrelated sequences, ``db_letters`` letters in all, score as much.  As
        in BLAST+ all of these are taken to be as long as the subject."""
        with np.errstate(under="ignore"):
            return np.exp(self.log_evalues(scores, m, n, db_letters))

    def log_evalues(
        self, scores: ArrayLike, m: ArrayLike, n: ArrayLike, db_letters: float
    ) -> Values:
        """Their natural logarithms, which no score is too high for."""
        scores, n = np.asarray(scores, float), np.asarray(n, float)
        taken, deviation = self._taken(scores)
        together = np.maximum(2 * self.sigma / self.lambda_, self.sigma * scores + self.tau)
        left = np.asarray(m, float) - taken, n - taken
        (rows, some_rows), (columns, some_columns) = (_room(x, deviation) for x in left)
        # the places, in pairs of letters, where alignments with these scores can begin
        area = np.asarray(rows * columns + together * some_rows * some_columns)
        logs = np.log(np.maximum(area, LEAST_AREA))
        if (area <= LEAST_AREA).any():
            (rows, some_rows), (columns, some_columns) = (_log_room(x, deviation) for x in left)
            with np.errstate(divide="ignore"):
                more = np.log(np.maximum(together, 0.0)) + some_rows + some_columns
            logs = np.where(area > LEAST_AREA, logs, np.logaddexp(rows + columns, more))
        return np.asarray(logs - np.log(n) + log(self.k * db_letters) - self.lambda_ * scores)

    def _taken(self, scores: Values) -> tuple[Values, Values]:
        """The letters that alignments take of a sequence: mean and standard deviation."""
        spread = np.maximum(2 * self.alpha / self.lambda_, self.alpha * scores + self.beta)
        return self.a * scores + self.b, np.sqrt(np.maximum(spread, LEAST_SPREAD))

    def least_score(self, log_evalue: float, score: float, m: int, db_letters: float) -> float:
        """A score, not above ``score``, below which subjects of any length have higher E-values."""
        area = m + abs(self.b) + 2 * self.alpha / self.lambda_ + 1  # more than any subject has
        high = (log(self.k * db_letters * area) - log_evalue + 30) / self.lambda_
        low, score, step = 0.0, min(score, max(1.0, high)), max(1.0, STEP / self.lambda_)
        while score - low > step:
            scores = np.linspace(low, score, STEPS + 1)[1:]
            taken, deviation = self._taken(scores)
            # rows * columns / n, at the least for any n, and what comes to it is not negative
            room = _log_room(m - taken, deviation)[0] + _log_least_share(taken, deviation)
            least = room + log(self.k * db_letters) - self.lambda_ * scores
            above = int(np.append(least > log_evalue, False).argmin())
            if above == len(scores):
                return score
            low, score = float(scores[above - 1]) if above else low, float(scores[above])
        return low


def _room(room: Values, deviation: Values) -> tuple[Values, Values]:
    """The mean of the positive part of a normal number with mean ``room``, and its probability."""
    z = room / deviation
    with np.errstate(under="ignore"):
        often = np.asarray(_erfc(-z / sqrt(2)), float) / 2
        return room * often + deviation * np.exp(-z * z / 2) / sqrt(2 * pi), often


def _log_room(room: Values, deviation: Values) -> tuple[Values, Values]:
    """The logarithms of `_room`, also where its numbers are too small."""
    z = room / deviation
    mean, often = (np.maximum(one, LEAST_AREA) for one in _room(room, deviation))
    # how often over the density is 1 / (x + 1 / (x + 2 / (x + ...))) for x = -z > 0 (Laplace)
    x, rest = np.maximum(-z, FAR), np.zeros_like(z)
    for k in range(TERMS, 0, -1):
        rest = k / (x + rest)
    below = -z * z / 2 - log(2 * pi) / 2 - np.log(x + rest)
    far = z < -FAR
    return (
        np.where(far, below + np.log(deviation * rest), np.log(mean)),
        np.where(far, below, np.log(often)),
    )


@cache
def _normal() -> tuple[Values, Values]:
    """Of rising z the distribution function of a normal number over its density, and the logarithm
    of the former."""
    z = np.linspace(-37, 8, 4096)
    below = np.asarray(_erfc(-z / sqrt(2)), float) / 2
    return below * sqrt(2 * pi) * np.exp(z * z / 2), np.log(below)


def _log_least_share(taken: Values, deviation: Values) -> Any:
    """What `_room` leaves of n letters at the least, as the logarithm of a share, for any n.

    It is convex in n, so its share is the least one where n times its derivative equals it.  That
    is where the derivative, the distribution function, over the density is deviation / taken.  That
    is less than 1 / x at -x, so where it is beyond the table x is less than taken / deviation."""
    ratios, below = _normal()
    wanted = np.where(taken > 0, deviation / np.maximum(taken, 1e-300), np.inf)
    found = below[np.maximum(np.searchsorted(ratios, wanted) - 1, 0)]
    return np.where(wanted < ratios[0], _log_room(-taken, deviation)[1], found)
