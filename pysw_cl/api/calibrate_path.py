"""Calibration by similar pairs: what a traceback takes beside the sweep."""

from __future__ import annotations

import time
from collections.abc import Mapping
from math import inf

import numpy as np

from ..drivers.options import Output
from ..engines.registry import setting_of
from ..opencl.device import Runtime
from ..planning.model.fit import nonnegative
from ..planning.model.runs import sweep_of, swept_again
from ..planning.model.times import GENERIC, Times
from ..planning.profiles.profile import Numbers
from ..scoring.scoring import cached_scoring
from .align import align

#: Seconds of the longer pair's sweep, and its most letters.
SECONDS, LONGEST = 0.15, 600_000


def path_times(
    runtime: Runtime, times: Mapping[str, Numbers], repeats: int = 3, budget: float = inf
) -> dict[str, dict[str, float]]:
    """The times of "path", given those of sweeps: of two pairs the seconds of a path less those of
    a score.  Each is run ``repeats`` times, or as long as the ``budget`` of seconds lasts."""
    known = Times({**GENERIC.by_subject, **times})
    setting = setting_of(runtime, None, cached_scoring((1, -3), None, None, "error"), "local")
    side, ends, rng = 20_000, time.monotonic() + budget, np.random.default_rng(5)
    while side < LONGEST and sweep_of(setting, side, side).seconds(known) < SECONDS:
        side = int(side * 1.2)
    # a grid cell that is swept again needs 16 bits, as global scores do
    wide = setting_of(runtime, None, setting.scoring, "global")
    cell = sweep_of(wide, side, side).seconds(known) / side**2
    a, b = [], []
    for length in (side * 2 // 5, side):
        query, other = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, (2, length))]
        target = np.where(rng.random(length) < 0.08, other, query)
        seconds: dict[Output, list[float]] = {"score": [], "path": []}
        while len(seconds["path"]) <= repeats:  # the first ones build kernels
            for output, taken in seconds.items():
                started = time.perf_counter()
                align(query, target, output=output, device=runtime)
                taken.append(time.perf_counter() - started)
            if len(seconds["path"]) > 1 and time.monotonic() > ends:
                break
        score, path = (min(taken[1:]) for taken in seconds.values())
        counts = swept_again(setting, length, length, (length, length))
        a.append([1 / path, counts["path", "row"] / path])
        b.append(max(0.0, path - score - cell * counts["path", "cell"]) / path)
    call, row = nonnegative(np.array(a), np.array(b))
    return {"path": {"call": float(call), "row": float(row), "cell": cell}}
