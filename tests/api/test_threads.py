"""Calls from several threads at once: the same results, and a Python that goes on meanwhile."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import pysw_cl
from pysw_cl.opencl.buffers import LASTING
from pysw_cl.opencl.device import get_runtime

THREADS = 8
#: What both engines of the test compute: lengths of pairs, and pairs of a batch.
SIZES = {"wavefront": (15, 150, 700, 2500), "reference": (9, 40, 120)}
MANY = {"wavefront": 300, "reference": 12}


def related(rng: np.random.Generator, length: int) -> tuple[str, str]:
    """Two sequences of about this length, of which one has a piece of the other."""
    a = "".join(rng.choice(list("ACGT"), length))
    other = "".join(rng.choice(list("ACGT"), length // 2))
    return a, other[: length // 4] + a[length // 3 :] + other[length // 4 :]


def calls(engine: str, seed: int, aligner: pysw_cl.Aligner) -> list[Callable[[], Any]]:
    """Calls of every kind, each with a result that can be compared."""
    rng, plan = np.random.default_rng(seed), {"engine": engine}
    pairs = [related(rng, int(rng.integers(8, 90))) for _ in range(MANY[engine])]
    found: list[Callable[[], Any]] = []
    for length in SIZES[engine]:
        a, b = related(rng, length)
        for how in ({}, {"mode": "global"}, {"strand": "both"}, {"output": "score"}):
            found.append(lambda a=a, b=b, how=how: pysw_cl.align(a, b, plan=plan, **how))
        found.append(lambda a=a, b=b: pysw_cl.align_top(a, b, k=3, plan=plan))
        found.append(lambda a=a, b=b: aligner.align(a, b))
    for output in ("score", "ends", "matches", "path"):
        how = {"output": output, "plan": plan}
        found.append(lambda how=how: pysw_cl.align_many(pairs, **how).tolist())
        found.append(lambda output=output: aligner.align_many(pairs, output=output).tolist())
    found.append(lambda: aligner.align_many(pairs, output="path", min_score=20).tolist())
    return found


@pytest.mark.parametrize("engine", ["wavefront", "reference"])
def test_every_thread_finds_the_same(engine: str) -> None:
    """Eight threads, each with all calls in an order of its own."""
    aligner = pysw_cl.Aligner(plan={"engine": engine})
    wanted = calls(engine, 5, aligner)
    expected = [call() for call in wanted]
    start = threading.Barrier(THREADS)

    def work(number: int) -> list[int]:
        order = np.random.default_rng(number).permutation(len(wanted)).tolist()
        start.wait()
        return [k for k in order if wanted[k]() != expected[k]]

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(work, range(THREADS))) == [[]] * THREADS


def test_threads_may_share_a_queue() -> None:
    """The caller's own queue, with one aligner."""
    cl = pytest.importorskip("pyopencl")
    usual = get_runtime("auto")
    queue = cl.CommandQueue(usual.context, usual.device)
    aligner = pysw_cl.Aligner(device=queue)
    wanted = [related(np.random.default_rng(k), 60 + 90 * k) for k in range(12)]
    expected = [pysw_cl.align(*pair) for pair in wanted]
    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(lambda pair: aligner.align(*pair), wanted)) == expected
        rows = list(pool.map(lambda k: aligner.align_many(wanted[k:]).tolist(), range(12)))
    scores = [(one.score,) for one in expected]
    assert rows == [scores[k:] for k in range(12)]


def longest_pause(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the longest time in which another thread could not count, and of all."""
    done, pauses = threading.Event(), [0.0]

    def count() -> None:
        last = time.perf_counter()
        while not done.is_set():
            time.sleep(0.001)
            now = time.perf_counter()
            pauses.append(now - last)
            last = now

    thread = threading.Thread(target=count)
    thread.start()
    started = time.perf_counter()
    work()
    passed = time.perf_counter() - started
    done.set()
    thread.join()
    return max(pauses), passed


def test_other_threads_run_while_the_device_works() -> None:
    """Kernels of a second or so: no pause is half as long."""
    rng = np.random.default_rng(3)
    a, b = ("".join(rng.choice(list("ACGT"), 4000)) for _ in range(2))
    plan: dict[str, Any] = {"lanes": "scalar32", "T": 2, "alpha": 2}  # built quickly

    def compute() -> None:
        pysw_cl.align(a, b, output="score", prune=False, plan=plan)

    compute()
    started = time.perf_counter()
    compute()
    repeats = 1 + int(1.0 / (time.perf_counter() - started))
    long = "".join([a] * min(repeats, 40))
    pause, passed = longest_pause(
        lambda: pysw_cl.align(long, b, output="score", prune=False, plan=plan)
    )
    if passed < 0.3:
        pytest.skip(f"the device took only {passed:.2f} s")
    assert pause < passed / 2
    pause, passed = longest_pause(lambda: 3**2_000_000)  # holds Python's lock
    assert pause > passed / 2


def test_a_built_program_is_there_while_another_one_is_built() -> None:
    """A build of seconds in one thread does not stop others."""
    plan, found = {"lanes": "scalar32", "T": 2, "alpha": 2}, []
    pysw_cl.align("GATTACA", "GATTACA", plan=plan)

    def work() -> None:
        found.append(pysw_cl.align("GATTACA", "GATTACA", plan=plan).score)

    thread = threading.Thread(target=work)
    with get_runtime("auto").lock:  # as during a build
        thread.start()
        thread.join(20)
        meanwhile = list(found)
    thread.join()
    assert meanwhile == [7]


def test_a_thread_leaves_no_buffers_behind() -> None:
    plan = {"held.score_cells": 0, "held.top_cells": 0}
    pysw_cl.align("GATTACA" * 9, "GATTCCA" * 9, plan=plan)
    gc.collect()
    before = len(LASTING)
    for _ in range(3):
        with ThreadPoolExecutor(2) as pool:
            pool.submit(pysw_cl.align, "GATTACA" * 9, "GATTCCA" * 9, plan=plan).result()
        gc.collect()
    assert len(LASTING) <= before
