"""Statistics fitted to scores of random pairs.

Method: maximum likelihood of whole-number scores under the law of `ScoreStatistics`, in which a
highest score below S is as likely as no event of a Poisson number; what alignments take of both
sequences, by regression on their scores, as Park et al. (2012) define it.  Standard errors by a
jackknife over groups of pairs."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from ...errors import ScoringError
from .law import ScoreStatistics, Values

Shape = tuple[float, float, float, float, float, float]
#: Scores have a distance that so many of them keep.
NEARLY = 0.8
#: Newton's steps, at most, and the last one.
STEPS, LAST_STEP = 100, 1e-10


def fitted_to(
    counts: NDArray[np.int64], traced: Values, scale: int, m: int, n: int, source: str
) -> ScoreStatistics:
    """The statistics of pairs of ``m`` and ``n`` letters.

    ``counts[g, s]``: how many pairs of group g score s, in units of 1 / ``scale``.  ``traced``, of
    some pairs: the score in the user's units, and how many letters the alignment takes of query and
    target (3 x pairs).  Raises ScoringError if no law fits."""
    every, groups, group = counts.sum(0), len(counts), np.arange(traced.shape[1]) % len(counts)
    how = scale, m, n, source
    others = [_fitted(every - own, traced[:, group != g], *how) for g, own in enumerate(counts)]
    values = np.array([(one.lambda_, log(one.k)) for one in others])
    error, log_k_error = np.sqrt((groups - 1) * values.var(0)).tolist()
    return replace(_fitted(every, traced, *how), lambda_error=error, log_k_error=log_k_error)


def _shape(scores: Values, rows: Values, columns: Values) -> Shape:
    """a, b, alpha, beta, sigma and tau."""
    line = np.stack([scores, np.ones_like(scores)], 1)

    def fitted(values: Values) -> Values:
        return np.asarray(np.linalg.lstsq(line, values, rcond=None)[0])

    mean = fitted((rows + columns) / 2)
    first, second = rows - line @ mean, columns - line @ mean
    each, both = (first**2 + second**2) / 2, first * second
    a, b, alpha, beta, sigma, tau = map(float, (*mean, *fitted(each), *fitted(both)))
    # none of them falls with the score
    if alpha <= 0:
        alpha, beta = 0.0, float(each.mean())
    if sigma <= 0:
        sigma, tau = 0.0, max(0.0, float(both.mean()))
    return (a, b, alpha, beta, sigma, tau) if a > 0 else (0.0, 0.0, alpha, beta, sigma, tau)


def _lattice(scores: NDArray[np.int64], times: NDArray[np.int64]) -> tuple[int, int]:
    """A distance and a remainder: nearly all scores are multiples of the one and the other."""
    apart = max(1, int(np.gcd.reduce(np.diff(scores))))  # 0: there is one score
    for factor in (5, 4, 3, 2, 1):
        shares = np.bincount(scores // apart % factor, times) / times.sum()
        if shares.max() >= NEARLY:
            break
    return apart * factor, int(shares.argmax()) * apart + int(scores[0]) % apart


def _fitted(
    counts: NDArray[np.int64], traced: Values, scale: int, m: int, n: int, source: str
) -> ScoreStatistics:
    shape, some = _shape(*traced), np.flatnonzero(counts)
    apart, rest = _lattice(some, counts[some])
    levels, at = np.unique((some - rest) // apart, return_inverse=True)
    times, low = np.bincount(at, counts[some]), (levels * apart + rest) / scale
    high = low + apart / scale
    mean = float(np.average(low, weights=times))
    spread = float(np.sqrt(np.average((low - mean) ** 2, weights=times)))
    rate = np.pi / np.sqrt(6) / max(spread, apart / scale / 4)  # of a Gumbel distribution
    # the law is that of high scores: of the lower half it counts how many there are
    middle = int(np.searchsorted(np.cumsum(times), times.sum() / 2))
    low, high, times = low[middle:], high[middle:], np.append(times[middle:], times[:middle].sum())
    x = np.array([rate, rate * mean - np.euler_gamma - np.log(m * n)])
    for _ in range(STEPS):
        law = ScoreStatistics(float(x[0]), exp(x[1]), *shape, source)
        expected, above = (law.evalues(s, m, n, n) for s in (low, high))
        # the slopes, by lambda and by log K, of the logarithm of how likely a score is, which is
        # exp(-above) - exp(-expected), and of that of all lower ones, exp(-expected[0])
        fewer = np.exp(above - expected)
        by_lambda = (high * above - fewer * low * expected) / (1 - fewer)
        by_log_k = (fewer * expected - above) / (1 - fewer)
        lower = expected[:1]
        slope = np.stack([np.append(by_lambda, low[0] * lower), np.append(by_log_k, -lower)], 1)
        information = (slope * times[:, None]).T @ slope
        try:
            step = np.linalg.solve(information, (slope * times[:, None]).sum(0))
        except np.linalg.LinAlgError:
            break
        x = x + step * min(1, 0.3 * x[0] / max(abs(step[0]), 1e-300))
        if not np.isfinite(x).all() or x[0] <= 0:
            break
        if np.abs(step).max() < LAST_STEP:
            return law
    raise ScoringError("no law of E-values fits the scores of random sequences with this scoring")
