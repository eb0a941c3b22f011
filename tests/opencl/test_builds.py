"""Builds are told: to listeners, and to the log."""

from __future__ import annotations

import copy
import logging
import threading

import pytest

import pysw_cl
from pysw_cl.errors import DeviceError
from pysw_cl.opencl import builds, program
from pysw_cl.opencl.builds import Build, expecting, listening
from pysw_cl.opencl.device import Runtime, get_runtime
from pysw_cl.opencl.resources import kernel_source

PAIR = "ACGTTGCAAC" * 4, "ACGTTGCTAC" * 4


def fresh(mark: str) -> Runtime:
    """A runtime without programs, whose kernels' text no other test has built."""
    runtime = copy.copy(get_runtime("auto"))
    runtime.programs, runtime.unlaunched, runtime._local = {}, {}, threading.local()
    runtime.source_of = lambda name: f"// {mark}\n{kernel_source(name)}"
    return runtime


class Told:
    """What a listener was told, and a wait for the ends, which come from another thread."""

    def __init__(self) -> None:
        self.began: list[Build] = []
        self.over: list[Build] = []
        self._changed = threading.Condition()

    def __call__(self, build: Build, ended: bool) -> None:
        with self._changed:
            (self.over if ended else self.began).append(build)
            self._changed.notify_all()

    def wait(self) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.over) == len(self.began), 20)


def test_a_path_builds_what_it_needs_once(caplog: pytest.LogCaptureFixture) -> None:
    runtime, told = fresh("a path"), Told()
    with listening(told), caplog.at_level(logging.INFO, "pysw_cl"):
        first = pysw_cl.align(*PAIR, device=runtime)
        told.wait()
        count = len(told.began)
        assert count == len(runtime.programs) == len(caplog.messages)
        again = pysw_cl.align(*PAIR, device=runtime)
    assert (first.score, first.cigar) == (again.score, again.cigar)
    assert len(told.began) == count  # what is built is used
    assert [build.number for build in told.began] == list(range(1, count + 1))
    assert all(build.number <= build.expected for build in told.began)
    assert told.began[0].device == runtime.info.name
    assert caplog.messages[0].startswith(f"building kernels for {runtime.info.name}: 1 of at most")
    assert not runtime.unlaunched


def test_nobody_listens() -> None:
    runtime = fresh("nobody")
    assert pysw_cl.align(*PAIR, output="score", device=runtime).score > 0
    assert runtime.programs
    assert not runtime.unlaunched


def test_a_build_that_fails_ends() -> None:
    runtime, told = fresh("fails"), Told()
    runtime.source_of = lambda name: "this is no kernel"
    with listening(told), pytest.raises(DeviceError, match="cannot build"):
        pysw_cl.align(*PAIR, device=runtime)
    assert len(told.began) == len(told.over) == 1


def test_calls_inside_another_one_belong_to_it() -> None:
    told = Told()
    with listening(told):
        with expecting(2), expecting(7):
            found = [builds.begun("device", f"kernel {k}") for k in range(3)]
        found.append(builds.begun("device", "alone"))
    numbers = [(build.number, build.expected) for build in found if build is not None]
    assert numbers == [(1, 2), (2, 2), (3, 3), (1, 1)]


def test_builds_have_ended_when_the_call_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "when_over", lambda event, then: None)  # nobody looks
    runtime, told = fresh("returns"), Told()
    with listening(told):
        for _ in range(3):
            pysw_cl.align(*PAIR, output="score", device=runtime)
            assert told.over == told.began  # and each only once
    assert len(told.began) == len(runtime.programs)
