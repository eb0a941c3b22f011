"""The time of a sweep with pruning on a GPU, whose strips wait for each other.

Shares of the cells do not tell it.  As long as one strip in flight computes, those below it get no
further, so a column takes what the slowest of them takes: less than usual where few compute,
because these share their schedulers with nobody, and more where one is near the path, in wider
lanes.  So the strips advance together here by small steps, and each step takes what its strips say.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .counts import Strips, Work, lag_of
from .runs import Setting
from .similar import (
    Flags,
    Floats,
    SimilarPath,
    relative_time,
    shares_under,
    width_of,
)

#: Strips that are looked at, steps of each, and the most of all.
STRIPS, STEPS, MOST_STEPS = 400, 400, 40_000


class Steps(NamedTuple):
    """How many strips are in each step: all of them, those that compute their cells, and those of
    these that are near the path."""

    all: Floats
    computing: Floats
    near: Floats


def sweep_share(setting: Setting, work: Work, path: SimilarPath, known: float = 0) -> float:
    """How long a local sweep takes with pruning, as a share of the ``work``, which prunes no cell
    and meets no H above what chance gives.  ``known``: a score that is known before."""
    machine = setting.plan.machine
    if path.score <= 0 and known <= 0:  # nothing is pruned
        return 1.0
    if not machine.schedulers or not setting.plan.lane_set.prunes:
        # a group has a core to itself, and mostly a strip that can go on
        return relative_time(shares_under(setting, path, known), machine.times, width_of(work))
    followed = [one for one in work.strips if one.subject.startswith("wavefront")]
    strips = max(followed, key=lambda one: one.columns * one.tiles)
    steps = steps_of(path, strips, setting.plan.T, known)
    usual = _seconds(setting, strips, strips.subject, steps.computing)
    wide = _seconds(setting, strips, _in_16_bits(setting, strips), steps.computing)
    taken = np.where(steps.near > 0, wide, usual).sum()
    return float(taken / _seconds(setting, strips, strips.subject, steps.all).sum())


def steps_of(path: SimilarPath, strips: Strips, T: int, known: float = 0) -> Steps:
    """The steps of strips with ``T`` lanes in a matrix with this path."""
    m, n, rows = path.m, path.n, T * strips.alpha
    count, lag, width = -(-m // rows), lag_of(T, strips.chunk, n), n / STEPS
    some = np.unique(np.linspace(0, count - 1, min(count, STRIPS)).round()).astype(np.float64)
    left = np.arange(STEPS, dtype=np.float64) * width
    top = np.asarray(some * rows, np.float64)
    far, near = path.computed(top, left, (rows, width), strips.B, lag, known)
    # a group begins its next strip when it has done one and the strip above is a lag ahead
    rounds, place = np.divmod(some, strips.B)
    begun = rounds * max(n, strips.B * lag) + place * lag
    step = max(width, (float(begun[-1]) + n) / MOST_STEPS)
    steps = ((begun[:, None] + left) / step).astype(np.int64).ravel()
    weight = count / len(some) * width / step

    def strips_in(which: Flags) -> Floats:
        return np.asarray(np.bincount(steps, which.ravel() * weight), np.float64)

    return Steps(strips_in(np.ones_like(far)), strips_in(far | near), strips_in(near))


def _in_16_bits(setting: Setting, strips: Strips) -> str:
    """Whose times count near the path."""
    engine, lanes, *score, bits = strips.subject.split("/")
    if not bits.isdecimal() or int(bits) >= 16:
        return strips.subject
    if lanes == setting.plan.lane_set.mixed:
        lanes = setting.plan.lanes
    return "/".join([engine, lanes, *score, "16"])


def _seconds(setting: Setting, strips: Strips, subject: str, running: Floats) -> Floats:
    """Seconds of a column while so many strips are ``running``, for each of many steps."""
    machine = setting.plan.machine
    running = np.minimum(running, strips.B)  # (where some strips stand for all, it may be more)
    shares = np.ceil(running / machine.schedulers).astype(np.int64)
    found = np.zeros(len(running))
    for share in range(1, int(shares.max(initial=0)) + 1):
        line, these = machine.times.pace(subject).line(strips.alpha, share), shares == share
        found[these] = line.pace(machine.busy(running[these], strips.B), strips.chunk)
    return found
