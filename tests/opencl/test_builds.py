"""Builds are told: to listeners, and to the log."""

from __future__ import annotations

import copy
import logging
import threading

import pytest

import pysw_cl
from pysw_cl.folders import kernel_source
from pysw_cl.opencl import builds
from pysw_cl.opencl.builds import Build, expecting, listening
from pysw_cl.opencl.device import Runtime, get_runtime

PAIR = "ACGTTGCAAC" * 4, "ACGTTGCTAC" * 4


def fresh(mark: str) -> Runtime:
    """A runtime without programs, whose kernels' text no other test has built."""
    runtime = copy.copy(get_runtime("auto"))
    runtime.programs, runtime.unlaunched, runtime._local = {}, {}, threading.local()
    runtime.source_of = lambda name: f"// {mark}\n{kernel_source(name)}"
    return runtime


def test_a_path_builds_what_it_needs_once(caplog: pytest.LogCaptureFixture) -> None:
    runtime, began = fresh("a path"), list[Build]()
    with listening(began.append), caplog.at_level(logging.INFO, "pysw_cl"):
        first = pysw_cl.align(*PAIR, device=runtime)
        count = len(began)
        assert count == len(runtime.programs) == len(caplog.messages)
        again = pysw_cl.align(*PAIR, device=runtime)
    assert (first.score, first.cigar) == (again.score, again.cigar)
    assert len(began) == count  # what is built is used
    assert [build.number for build in began] == list(range(1, count + 1))
    assert all(build.number <= build.expected for build in began)
    assert began[0].device == runtime.info.name
    assert caplog.messages[0].startswith(f"building kernels for {runtime.info.name}: 1 of at most")
    assert not runtime.unlaunched


def test_nobody_listens() -> None:
    runtime = fresh("nobody")
    assert pysw_cl.align(*PAIR, output="score", device=runtime).score > 0
    assert runtime.programs
    assert not runtime.unlaunched


def test_calls_inside_another_one_belong_to_it() -> None:
    began = list[Build]()
    with listening(began.append):
        with expecting(2), expecting(7):
            for k in range(3):
                builds.begun("device", f"kernel {k}")
        builds.begun("device", "alone")
    numbers = [(build.number, build.expected) for build in began]
    assert numbers == [(1, 2), (2, 2), (3, 3), (1, 1)]
