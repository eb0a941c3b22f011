"""Least squares: the times that explain measured runs best.

Errors count relative to the run, as in Sandes (2011), so that small runs count as much as large
ones.  Times are not negative (Lawson & Hanson 1974, Solving Least Squares Problems, chapter 23).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from .runs import Name, Strips, Work
from .times import Times, cell

Floats = NDArray[np.float64]
#: How often times are sought again at most.
MOST_TURNS = 8
#: A time that is not sought: by how much strips slow down the ones beside them is a matter of rows.
NOT_SOUGHT = "busy@"


def nonnegative(a: Floats, b: Floats) -> Floats:
    """x >= 0 with the least |a x - b| (Lawson & Hanson's algorithm)."""
    n = a.shape[1]
    x, free = np.zeros(n), np.zeros(n, bool)
    scale = np.sqrt((a * a).sum(axis=0))
    scale[scale == 0] = 1
    a = a / scale
    for _ in range(3 * n):
        gradient = a.T @ (b - a @ x)
        gradient[free] = 0
        if gradient.max(initial=0) < 1e-9:
            break
        free[int(gradient.argmax())] = True
        while True:
            trial = np.zeros(n)
            trial[free] = np.linalg.lstsq(a[:, free], b, rcond=None)[0]
            if trial[free].min(initial=1) > 0:
                x = trial
                break
            falling = free & (trial <= 0)
            steps = x[falling] / np.maximum(x[falling] - trial[falling], 1e-300)
            x = x + steps.min() * (trial - x)
            free &= x > 1e-12
            x[~free] = 0
    return np.asarray(x / scale)


def fitted(
    works: Sequence[Work],
    seconds: Sequence[float],
    known: Times | None = None,
    columns: Sequence[Strips] | None = None,
) -> dict[str, dict[str, float]]:
    """Times by subject that explain that each of the ``works`` took so many ``seconds``.

    What ``known`` has a time for is not sought.  The times of a column are sought of each alpha and
    share that ``columns`` have (None: the works); others lie between them.

    Strips are late in one of two ways (`pysw_cl.planning.model.times.Line.seconds`), and which of
    them takes longer is a matter of these times.  So they are sought again, until the ways that
    they say are those by which they were found, or a few times: the ways may change in turns.  Of
    all that were found those are taken whose squared errors add up to the least.
    """
    known = known or Times({})
    told = [k for k, taken in enumerate(seconds) if taken > 0]
    works, seconds = [works[k] for k in told], [seconds[k] for k in told]
    if columns is None:
        columns = [one for work in works for one in work.strips]
    sought: dict[str, dict[str, float]] = {}  # those of columns, 0 each
    for one in columns:
        if not _has_columns(known, one.timed):
            sought.setdefault(one.timed, {})[cell(one.plan.alpha, one.share)] = 0.0
    form = _under(known, sought)
    ways, best = list(works), (inf, dict[str, dict[str, float]]())
    for _ in range(MOST_TURNS):
        found = _explaining(ways, seconds, known, form)
        times = _under(known, found)
        off = float(np.square(errors(works, seconds, times)).sum())
        best = min(best, (off, found), key=lambda one: one[0])
        before, ways = ways, [_longest(work, times) for work in works]
        if ways == before:
            break
    return best[1]


def _longest(work: Work, times: Times) -> Work:
    """The work with the columns and hops of its strips that take longest, by some times."""

    def longest(one: Strips) -> Strips:
        line = times.pace(one.timed).line(one.plan.alpha, one.share)
        own, chained = line.longest(one.wave, one.busy, one.plan.chunk)
        if chained <= own:
            return one
        columns, hops = one.wave.chain
        return replace(one, wave=one.wave._replace(columns=columns, hops=hops))

    return Work([longest(one) for one in work.strips], work.counts)


def _explaining(
    works: Sequence[Work], seconds: Sequence[float], known: Times, form: Times
) -> dict[str, dict[str, float]]:
    """See :func:`fitted`: the times for the columns and hops that the works have.  ``form``: all
    times that count, sought ones as 0."""
    rows = [_weights(work, form) for work in works]
    told = {
        (subject, name): t for subject, own in known.by_subject.items() for name, t in own.items()
    }
    every = {name for row in rows for name in row if name not in told}
    names = sorted(name for name in every if not name[1].startswith(NOT_SOUGHT))
    if not names:
        return {}
    fixed = [sum(weight * told.get(name, 0.0) for name, weight in row.items()) for row in rows]
    target = np.asarray(seconds, float)
    a = np.array([[row.get(name, 0.0) for name in names] for row in rows]).reshape(len(rows), -1)
    found = nonnegative(a / target[:, None], (target - np.array(fixed)) / target)
    times: dict[str, dict[str, float]] = {}
    for (subject, name), value in zip(names, found, strict=True):
        times.setdefault(subject, {})[name] = float(value)
    return times


def _weights(work: Work, times: Times) -> dict[Name, float]:
    """How much each time counts in a run."""
    found: dict[Name, float] = dict(work.counts)
    for one in work.strips:
        subject, plan = times.known(one.timed) or one.timed, one.plan
        pace = times.pace(one.timed)
        weights = pace.weights(one.wave, one.busy, plan.alpha, plan.chunk, one.share)
        for name, weight in weights.items():
            key = subject, name
            found[key] = found.get(key, 0.0) + one.tiles * weight
    return found


def _under(known: Times, more: Mapping[str, Mapping[str, float]]) -> Times:
    """The known times, and others where there are none."""
    own = known.by_subject
    return known.having({name: {**new, **own.get(name, {})} for name, new in more.items()})


def _has_columns(times: Times, subject: str) -> bool:
    """Does a subject have times of columns of its own?"""
    own = times.by_subject.get(subject, {})
    return any(name in ("column", "row") or name[0].isdigit() for name in own)


def errors(works: Sequence[Work], seconds: Sequence[float], times: Times) -> Floats:
    """(predicted - measured) / measured of each run."""
    found = np.array([work.seconds(times) for work in works])
    return np.asarray(found / np.asarray(seconds, float) - 1)
