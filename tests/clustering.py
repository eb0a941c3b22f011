"""Random pairs on a cluster whose workers are lost at random, beside the results of one device.

python tests/clustering.py [SECONDS] [SEED]
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from relaying import SCORINGS, drawn, key

import pysw_cl
from pysw_cl.cluster import pair, survey as surveys
from pysw_cl.errors import DeviceError, Stopped
from pysw_cl.planning.geometry import cuts

PLANS: tuple[dict[str, Any], ...] = (
    {},
    {"lanes": "vector", "T": 4, "alpha": 2, "chunk": 7, "B": 3},
    {"lanes": "vector", "T": 16, "alpha": 1, "chunk": 40, "B": 2},
)


class Flaky(Executor):
    """Some tasks are done and their results lost, or not done, or on a device that fails."""

    def __init__(self, workers: int, share: float, seed: int) -> None:
        self._threads, self._max_workers = ThreadPoolExecutor(workers), workers
        self._share, self._draw, self.lost = share, random.Random(seed), 0

    def submit(self, task: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        return self._threads.submit(self._run, task, *given)

    def _run(self, task: Callable[..., Any], *given: Any) -> Any:
        fate = 1.0 if task is surveys.survey else self._draw.random()
        if fate < self._share / 3:
            self.lost += 1
            raise OSError("the worker is gone")
        found = task(*given)
        time.sleep(self._draw.choice([0, 0, 0.003]))
        if fate < self._share:
            self.lost += 1
            raise OSError("the worker is gone") if fate < 0.9 * self._share else DeviceError("gone")
        return found

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._threads.shutdown(wait)


def compared(rng: np.random.Generator) -> int:
    """One random case; how many tasks were lost."""
    a, b = drawn(rng, 1, int(rng.choice([60, 700, 4000])))
    how: dict[str, Any] = {**SCORINGS[rng.integers(len(SCORINGS))]}
    how["plan"] = PLANS[rng.integers(len(PLANS))] or None
    how["output"] = str(rng.choice(["path", "ends", "score"]))
    how["strand"] = str(rng.choice(["plus", "minus", "both"]))
    if rng.random() < 0.4:
        how |= {"mode": "global", "free_ends": tuple((rng.random(4) < 0.4).tolist())}
    elif rng.random() < 0.5:
        how["prune"] = False
    executor = Flaky(
        int(rng.integers(1, 4)), float(rng.choice([0, 0.2])), int(rng.integers(1 << 30))
    )
    pieces, pair.LINES = rng.integers(1, 5, 2).tolist(), int(rng.integers(1, 20))
    pair.Cluster = partial(Cut, pieces)  # type: ignore[misc, assignment]
    pair.surveyed = told if rng.random() < 0.3 else surveys.surveyed
    with executor, tempfile.TemporaryDirectory() as folder:
        if rng.random() < 0.3:
            try:
                found = pysw_cl.align(
                    a, b, cluster=executor, checkpoint=folder, stop_after=0.0, **how
                )
            except Stopped:
                again = executor if rng.random() < 0.7 else None
                found = pysw_cl.resume(folder, cluster=again)
        else:
            found = pysw_cl.align(a, b, cluster=executor, **how)
    wanted = pysw_cl.align(a, b, **{**how, "plan": None})
    assert key(found) == key(wanted), (a, b, how, found, wanted)
    return executor.lost


class Cut:
    """Cuts sides into so many pieces for each worker."""

    def __init__(self, pieces: list[int], workers: int) -> None:
        self._pieces = [each * workers for each in pieces]

    def cuts(self, given: Any, m: int, n: int) -> tuple[list[int], list[int]]:
        rows, columns = (
            cuts(side, -(-side // pieces), quantum)
            for side, pieces, quantum in zip((m, n), self._pieces, (8, 1), strict=True)
        )
        return rows, columns


def told(*given: Any) -> Any:
    """As if the workers did not see the client's folder."""
    return {k: replace(one, shared=False) for k, one in surveys.surveyed(*given).items()}


def main(seconds: float, seed: int) -> None:
    warnings.simplefilter("ignore")
    rng, until, cases, lost = np.random.default_rng(seed), time.monotonic() + seconds, 0, 0
    while time.monotonic() < until:
        lost += compared(rng)
        cases += 1
    print(f"{cases} cases, {lost} tasks lost")


if __name__ == "__main__":
    given = sys.argv[1:] + ["10", "1"][len(sys.argv) - 1 :]
    main(float(given[0]), int(given[1]))
