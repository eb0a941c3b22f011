"""What kernels take on the device, measured where that is asked for, and only there."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Thread
from typing import Any

import pyopencl as cl
import pytest
from many import align_many_stats
from saving import key, options, pair

import pysw_cl
from pysw_cl.engines.reference import ReferenceEngine
from pysw_cl.opencl.device import MOST_KEPT, KernelTimes, Runtime, get_runtime, stopwatch
from pysw_cl.results.stats import Stats

TILES = {"tile_cells": 30_000, "traceback_tile_cells": 5_000}


def kernels(runtime: Runtime) -> set[str]:
    """The names of all kernels that were built."""
    return {
        name
        for built in runtime.programs.values()
        for name in built.kernel_names.split(";")
        if name
    }


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The launches that are measured."""
    added: list[str] = []
    add = KernelTimes.add

    def adding(self: KernelTimes, name: str, event: Any) -> None:
        added.append(name)
        add(self, name, event)

    monkeypatch.setattr(KernelTimes, "add", adding)
    return added


def check(stats: Stats, seconds: float) -> None:
    """They are times of kernels, and no more than there was time for, on a few queues at once."""
    taken = stats.kernel_seconds
    assert taken and taken.keys() <= kernels(get_runtime("auto"))
    assert all(note_memory > 0 for note_memory in taken.values())
    assert sum(taken.values()) <= 3 * seconds


@pytest.mark.parametrize("output", ["score", "path"])
@pytest.mark.parametrize("mode", ["local", "global"])
def test_of_an_alignment(mode: str, output: str, counted: list[str]) -> None:
    a, b = pair(900)
    how: dict[str, Any] = {"mode": mode, "output": output, "plan": TILES}
    plain = pysw_cl.align(a, b, **how)
    assert plain.stats.kernel_seconds == {} and not counted
    for _ in range(2):  # a run has its own launches only
        counted.clear()
        began = time.perf_counter()
        found = pysw_cl.align(a, b, kernel_times=True, **how)
        check(found.stats, time.perf_counter() - began)
        assert found.stats.kernel_seconds.keys() == set(counted)
        assert key(found) == key(plain)
        assert len(counted) >= found.stats.launches > 0
        assert "kernels: " in str(found.stats) and "kernels: " not in str(plain.stats)
    counted.clear()
    assert pysw_cl.align(a, b, **how).stats.kernel_seconds == {}
    assert not counted


def test_of_the_best_of_many_alignments(counted: list[str]) -> None:
    """Each has what it took after the one before."""
    a, b = pair(600)
    began = time.perf_counter()
    found = pysw_cl.align_top(a, b, k=3, kernel_times=True, plan=TILES)
    seconds = time.perf_counter() - began
    assert len(found) == 3
    total = found[0].stats
    for one in found[1:]:
        assert one.stats.kernel_seconds
        total = total.plus(one.stats)
    check(total, seconds)
    assert total.kernel_seconds.keys() == set(counted)
    counted.clear()
    plain = pysw_cl.align_top(a, b, k=3, plan=TILES)
    assert [key(one) for one in plain] == [key(one) for one in found]
    assert not counted and not any(one.stats.kernel_seconds for one in plain)


def test_of_many_pairs(counted: list[str]) -> None:
    """In batches, with one that is better aligned alone."""
    a, b = pair(2000)
    pairs = [(a[k : k + 100], b[k : k + 90]) for k in range(300)] + [(a, b)]
    how: dict[str, Any] = {"output": "path", "plan": {"pairs.alone_cells": 100_000}}
    began = time.perf_counter()
    rows, stats = align_many_stats(pairs, kernel_times=True, **how)
    check(stats, time.perf_counter() - began)
    assert stats.kernel_seconds.keys() == set(counted) and "batch" in stats.kernel_seconds
    counted.clear()
    plain, stats = align_many_stats(pairs, **how)
    assert (plain == rows).all() and stats.kernel_seconds == {} and not counted
    one_by_one = align_many_stats(pairs[:2], kernel_times=True, plan={"engine": "reference"})[1]
    assert one_by_one.kernel_seconds == {} == ReferenceEngine().kernel_seconds


@pytest.mark.usefixtures("small")
def test_of_a_run_with_a_checkpoint(tmp_path: Path, counted: list[str]) -> None:
    """A result on disk has none: they are those of one run."""
    a, b = pair(500)
    how = options(plan=TILES)
    began = time.perf_counter()
    found = pysw_cl.align(a, b, checkpoint=tmp_path, kernel_times=True, strand="both", **how)
    check(found.stats, time.perf_counter() - began)
    assert found.stats.kernel_seconds.keys() == set(counted)
    counted.clear()
    read = pysw_cl.resume(tmp_path, kernel_times=True)
    assert key(read) == key(found) and read.stats.kernel_seconds == {} and not counted
    assert read.stats.launches == found.stats.launches


def test_queues_of_the_caller() -> None:
    """One without profiling is used as it is, and tells nothing."""
    device = get_runtime("auto").device
    context = cl.Context([device])
    a, b = pair(300)
    plain = cl.CommandQueue(context)
    assert pysw_cl.align(a, b, device=plain, kernel_times=True).stats.kernel_seconds == {}
    profiling = cl.command_queue_properties.PROFILING_ENABLE
    able = cl.CommandQueue(context, properties=profiling)
    assert get_runtime(able).timed().queue is able
    for queue in (able, context):
        found = pysw_cl.align(a, b, device=queue, kernel_times=True)
        assert found.stats.kernel_seconds
        assert found.stats.kernel_seconds.keys() <= kernels(get_runtime(queue))
        assert pysw_cl.align(a, b, device=queue).stats.kernel_seconds == {}


def test_runtimes_and_threads() -> None:
    """A thread's runtime that measures has queues of its own; the others have no profiling."""
    runtime = get_runtime("auto")
    profiling = cl.command_queue_properties.PROFILING_ENABLE

    def measures(one: Runtime) -> bool:
        return bool(one.queue.properties & profiling)

    timed = runtime.timed()
    assert timed is runtime.timed() is timed.timed() and timed is not runtime
    assert timed.programs is runtime.programs and timed.context is runtime.context
    assert measures(timed) and measures(timed.beside(0)) and timed.beside(0).times is timed.times
    assert not measures(runtime) and not measures(runtime.beside(0))
    found: list[Any] = []

    def work() -> None:
        found.append((runtime.timed(), pysw_cl.align("ACGT" * 50, "ACGT" * 40, kernel_times=True)))

    threads = [Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(one) for one, _ in found} | {id(timed)}) == 4
    assert all(one.stats.kernel_seconds for _, one in found)


class Event:
    """A launch that took so long."""

    def __init__(self, nanoseconds: int) -> None:
        self.profile, self.waited = self, False
        self.start, self.end = 5, 5 + nanoseconds

    def wait(self) -> None:
        self.waited = True


def test_few_events_are_kept() -> None:
    times = KernelTimes()
    before = stopwatch(times)
    first, last = Event(7), Event(7)
    times.add("late", first)
    for _ in range(3 * MOST_KEPT):
        times.add("kernel", Event(2))
        assert len(times._events) <= MOST_KEPT
    times.add("late", last)
    assert first.waited and not last.waited
    assert times.total() == {"late": 14, "kernel": 6 * MOST_KEPT}
    assert last.waited and not times._events
    after = stopwatch(times)
    assert after() == {} == stopwatch(None)()
    times.add("kernel", Event(3))
    assert after() == {"kernel": 3e-9}
    assert before() == pytest.approx({"late": 14e-9, "kernel": (6 * MOST_KEPT + 3) * 1e-9})


def test_statistics_are_added() -> None:
    one, two = Stats(kernel_seconds={"a": 1.0, "b": 2.0}), Stats(kernel_seconds={"b": 0.5})
    assert one.plus(two).kernel_seconds == {"a": 1.0, "b": 2.5}
    assert one.kernel_seconds == {"a": 1.0, "b": 2.0}
    assert str(one).endswith("kernels: a 1.000 s, b 2.000 s")
