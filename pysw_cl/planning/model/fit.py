"""Least squares: the times that explain measured runs best.

Errors count relative to the run, as in Sandes (2011), so that small runs count as much as large
ones.  Times are not negative (Lawson & Hanson 1974, Solving Least Squares Problems, chapter 23).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from .runs import Name, Strips, Work
from .times import Pace, Times

Floats = NDArray[np.float64]
#: What runs did, and the seconds that they took.
Runs = Sequence[tuple[Work, float]]
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
    runs: Runs, known: Times | None = None, columns: Sequence[Strips] | None = None
) -> Times:
    """The ``known`` times, and others that explain what the runs took.

    The times of a column are sought of each alpha and share that ``columns`` have (None: the runs);
    others lie between them.

    Strips are late in one of two ways (`pysw_cl.planning.model.times.Line.both`), and which of them
    takes longer is a matter of these times.  So they are sought again, until the ways that they say
    are those by which they were found, or a few times: the ways may change in turns.  Of all that
    were found those are taken whose squared errors add up to the least.
    """
    known = known or Times({})
    runs = [(work, taken) for work, taken in runs if taken > 0]
    found: dict[str, dict[str, float]] = {}  # at first 0 for each column
    for one in columns if columns is not None else [one for work, _ in runs for one in work.strips]:
        own = known.by_subject.get(one.subject, {})
        if not ({"column", "row"} & own.keys() or Pace(own).measured):
            found.setdefault(one.subject, {})[f"{one.plan.alpha}@{one.wave.share}"] = 0.0
    times, best = _under(known, found), (inf, known)
    before: list[dict[Name, float]] = []
    for _ in range(MOST_TURNS):
        rows = [work.weights(times) for work, _ in runs]
        if rows == before:
            break
        before, times = rows, _under(known, _explaining(rows, [t for _, t in runs], known))
        off = float(np.square(errors(runs, times)).sum())
        best = min(best, (off, times), key=lambda one: one[0])
    return best[1]


def _explaining(
    rows: Sequence[Mapping[Name, float]], seconds: Sequence[float], known: Times
) -> dict[str, dict[str, float]]:
    """See :func:`fitted`: the times by which runs with these counts take so many seconds."""
    told = {
        (subject, name): t for subject, own in known.by_subject.items() for name, t in own.items()
    }
    every = {name for row in rows for name in row if name not in told}
    names = sorted(name for name in every if not name[1].startswith(NOT_SOUGHT))
    if not names:
        return {}
    fixed = [sum(weight * told.get(name, 0.0) for name, weight in row.items()) for row in rows]
    a, target = (
        np.array([[row.get(name, 0.0) for name in names] for row in rows]),
        np.array(seconds),
    )
    times: dict[str, dict[str, float]] = {}
    found = nonnegative(a / target[:, None], (target - np.array(fixed)) / target)
    for (subject, name), value in zip(names, found.tolist(), strict=True):
        times.setdefault(subject, {})[name] = value
    return times


def _under(known: Times, more: Mapping[str, Mapping[str, float]]) -> Times:
    """The known times, and others where there are none."""
    own = known.by_subject
    return known.having({name: {**new, **own.get(name, {})} for name, new in more.items()})


def errors(runs: Runs, times: Times) -> Floats:
    """(predicted - measured) / measured of each run."""
    return np.array([work.seconds(times) / taken - 1 for work, taken in runs])
