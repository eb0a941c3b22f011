"""Calibration by similar pairs: what cells near a path, pruned cells and a traceback take."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from statistics import median

import numpy as np
from numpy.typing import NDArray

from ..drivers.options import Output
from ..engines.settings import setting_of
from ..opencl.device import Runtime
from ..planning.model.fit import nonnegative
from ..planning.model.runs import sweep_of
from ..planning.model.similar import (
    Shares,
    SimilarPath,
    shares_under,
    swept_again,
    width_of,
)
from ..planning.model.times import GENERIC, Name, Times
from ..planning.profiles.profile import Numbers
from ..scoring.scoring import cached_scoring
from ..sequences.resemblance import resemblance
from .align import align

Letters = NDArray[np.uint8]
#: Seconds that the sweep of an unrelated pair of the usual length takes about, and the longest one.
SECONDS, LONGEST = 0.15, 600_000
#: Lengths, as shares of the usual one, and the share of the query's letters that are changed.
PAIRS = ((0.4, 0.04), (0.7, 0.12), (1.0, 0.07))
#: One change in so many is a gap.
GAP_EVERY = 10


@dataclass
class _Pair:
    """A pair that is measured."""

    query: Letters
    target: Letters
    #: An unrelated sequence as long as the target.
    other: Letters
    #: Seconds on the device of a score, and of that of the unrelated pair; of the call for a score,
    #: and for a path.
    device: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    score: list[float] = field(default_factory=list)
    path: list[float] = field(default_factory=list)

    def run(self, runtime: Runtime) -> None:
        """Measure all three."""
        self.whole.append(self._seconds(runtime, self.other, "score")[1])
        runs: tuple[tuple[Output, list[float]], ...] = ("score", self.score), ("path", self.path)
        for output, seconds in runs:
            taken, device = self._seconds(runtime, self.target, output)
            seconds.append(taken)
            if output == "score":
                self.device.append(device)

    def forget_first(self) -> None:
        """Forget the run in which kernels were built."""
        for seconds in (self.device, self.whole, self.score, self.path):
            del seconds[0]

    def _seconds(self, runtime: Runtime, target: Letters, output: Output) -> tuple[float, float]:
        """Seconds of a call, and of these on the device."""
        started = time.perf_counter()
        found = align(self.query, target, output=output, device=runtime, kernel_times=True)
        taken = time.perf_counter() - started
        return taken, sum(found.stats.kernel_seconds.values())


def mutated(query: Letters, changed: float, rng: np.random.Generator) -> Letters:
    """A copy of nucleotides in which this share of the letters is changed: most are others, and
    around one in `GAP_EVERY` some are left out or put in."""
    acgt = np.frombuffer(b"ACGT", np.uint8)
    target = query.copy()
    places = np.flatnonzero(rng.random(len(query)) < changed)
    gaps = places[rng.random(len(places)) < 1 / GAP_EVERY]
    others = np.setdiff1d(places, gaps, assume_unique=True)
    code = np.searchsorted(acgt, target[others])
    target[others] = acgt[(code + rng.integers(1, 4, len(others))) % 4]
    sizes = rng.geometric(0.4, len(gaps))
    parts, last = [], 0
    for place, size, cut in zip(gaps.tolist(), sizes.tolist(), rng.random(len(gaps)), strict=True):
        if place < last:
            continue
        parts.append(target[last:place])
        parts.append(acgt[rng.integers(0, 4, 0 if cut < 0.5 else size)])
        last = place + (size if cut < 0.5 else 0)
    return np.concatenate([*parts, target[last:]])


def similar_times(
    runtime: Runtime, times: Mapping[str, Numbers], repeats: int = 3, budget: float = inf
) -> dict[str, dict[str, float]]:
    """The times of "similar" and "path", given those of sweeps.

    Measures a score and a path of each of `PAIRS`, and the score of an unrelated pair, in turn:
    ``repeats`` times, or once and as long as the ``budget`` of seconds lasts.  Runs in which
    kernels were built do not count.
    """
    known = Times({**GENERIC.by_subject, **times})
    pairs = _pairs(runtime, known)
    built = len(runtime.programs)
    for pair in pairs:
        pair.run(runtime)
    if len(runtime.programs) > built:
        for pair in pairs:
            pair.forget_first()
    ends = time.monotonic() + budget
    while len(pairs[0].path) < repeats:
        if pairs[0].path and time.monotonic() > ends:
            break
        for pair in pairs:
            pair.run(runtime)
    if not all(min(pair.whole) > 0 for pair in pairs):  # a queue that measures nothing
        return {}
    return fitted_similar(runtime, pairs)


def _pairs(runtime: Runtime, known: Times) -> list[_Pair]:
    """Pairs for this device."""
    rng = np.random.default_rng(5)
    setting = setting_of(runtime, None, cached_scoring((1, -3), None, None, "error"), "local")
    side, acgt = 20_000, np.frombuffer(b"ACGT", np.uint8)
    while side < LONGEST and known.seconds(sweep_of(setting, side, side)) < SECONDS:
        side = int(side * 1.2)
    found = []
    for share, changed in PAIRS:
        query = acgt[rng.integers(0, 4, int(share * side))]
        target = mutated(query, changed, rng)
        found.append(_Pair(query, target, acgt[rng.integers(0, 4, len(target))]))
    return found


def fitted_similar(runtime: Runtime, pairs: list[_Pair]) -> dict[str, dict[str, float]]:
    """What explains the pairs best, relative to what each took.

    On a GPU the sweep of a similar pair follows from the times of strips
    (:mod:`pysw_cl.planning.model.pruned_wave`), so only the traceback is sought."""
    setting = setting_of(runtime, None, cached_scoring((1, -3), None, None, "error"), "local")
    sweeps, paths, width, cell = [], [], 32, 0.0
    for pair in pairs:
        m, n = len(pair.query), len(pair.target)
        found = resemblance(pair.query, pair.target)
        assert found is not None
        path = SimilarPath.of(found, m, n, setting.scoring)
        # both ran one after the other, so a device whose speed drifts does no harm
        ratios = [one / whole for one, whole in zip(pair.device, pair.whole, strict=True)]
        sweeps.append((median(ratios), shares_under(setting, path)))
        counts = swept_again(setting, m, n, path.extent)
        paths.append((counts, min(pair.path) - min(pair.score), min(pair.path)))
        width, cell = width_of(sweep_of(setting, m, n)), min(pair.whole) / (m * n)
    similar: dict[str, dict[str, float]] = {}
    if not setting.plan.machine.schedulers:
        near, pruned = _sweep_times(sweeps, width)
        similar[f"similar/{width}"] = {"near": near, "pruned": pruned}
        cell *= near
    call, row = _path_times(paths, cell)
    if not row:  # cells that are swept again take less than those of the first sweep
        cell = 0.0
        call, row = _path_times(paths, cell)
    return {**similar, "path": {"call": call, "row": row, "cell": cell}}


def _sweep_times(sweeps: list[tuple[float, Shares]], width: int) -> tuple[float, float]:
    """The time of a cell near the path and of a pruned one, relative to one far from it, from the
    time of each pair's sweep, relative to that of all cells, and its shares.

    Lanes of 8 bits are not wide enough near the path, which costs much more than pruned cells do.
    Wider ones are, so that these are all the difference.
    """
    if width < 16:
        found = [(taken - one.far) / one.near for taken, one in sweeps if one.near > 0]
        return max(1.0, median(found or [1.0])), 0.0
    some = [(taken, one.computed) for taken, one in sweeps if one.computed < 1]
    left = [(taken - computed) / (1 - computed) for taken, computed in some]
    return 1.0, min(1.0, max(0.0, median(left or [0.0])))


def _path_times(
    paths: list[tuple[Counter[Name], float, float]], cell: float
) -> tuple[float, float]:
    """The time of any path, and that of a row of it, from (counts, seconds beside those of a score,
    seconds of the call), given that of a grid cell that is swept again."""
    a = [[1 / t, counts["path", "row"] / t] for counts, _, t in paths]
    b = [(beside - cell * counts["path", "cell"]) / t for counts, beside, t in paths]
    call, row = nonnegative(np.array(a), np.array(b))
    return float(call), float(row)
