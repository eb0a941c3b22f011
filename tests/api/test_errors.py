"""Bad input to ``align``: each gets one exception of the package's own that says what was wrong,
where, and what to do; and the next call works."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from aligning import needs_lanes
from helpers import device_has, fault
from machines import Machine

import pysw_cl
from pysw_cl.errors import (
    DeviceError,
    DeviceMemoryError,
    InputError,
    PlanError,
    PyswError,
    RangeError,
    ScoringError,
    SequenceError,
)
from pysw_cl.opencl.buffers import Buffers
from pysw_cl.opencl.device import Runtime, get_runtime

A, B = "ACGTTACGATTGCA", "ACGTACGATAGCA"


@pytest.fixture(autouse=True)
def usable_afterwards() -> Iterator[None]:
    """Whatever a test does, an ordinary call gives its ordinary result after it."""
    yield
    assert pysw_cl.align(A, B, output="score").score == 6


@pytest.fixture
def runtime() -> Runtime:
    """The runtime in use, its queue made and the kernels of an ordinary call built."""
    pysw_cl.align(A, B)
    return get_runtime("auto")


def fails(error: type[PyswError], *words: str, a: Any = A, b: Any = B, **options: Any) -> None:
    """The call raises this error and its message has all these words."""
    with pytest.raises(error) as caught:
        pysw_cl.align(a, b, **options)
    message = str(caught.value)
    assert type(caught.value) is error, message
    assert all(word in message for word in words), message
    assert "\n" not in message


# Sequences


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ("", B, ["the query is empty", "at least one letter"]),
        (A, "", ["the target is empty"]),
        (A, b"", ["the target is empty"]),
        (np.zeros(0, np.uint8), B, ["the query is empty"]),
        ("ACGTJACGT", B, ["'J' at position 5", "query", "alphabet"]),
        (A, b"ACGTACGE", ["'E' at position 8", "target", "alphabet"]),
        ("ACGT ACGT", B, ["a blank at position 5", "query"]),
        ("AC-GT", B, ["gap character '-'", "position 3", "query"]),
        ("ACG\N{GREEK SMALL LETTER ALPHA}T", B, ["non-ASCII", "'\u03b1'", "position 4", "query"]),
        (A, b"ACG\xe9T", ["byte 233", "position 4", "target"]),
        (np.array([0, 1, 2, 3], np.uint8), B, ["give ASCII letters, not codes"]),
        (np.array([65, 67], np.int64), B, ["array of int64", "uint8"]),
        (None, B, ["the query is a NoneType"]),
        (A, 5, ["the target is a int"]),
        (["A", "C"], B, ["the query is a list"]),
        (Path("data"), B, ["the query is the name of a file", "read_sequences"]),
    ],
)
def test_sequences(a: Any, b: Any, words: list[str]) -> None:
    fails(SequenceError, *words, a=a, b=b)


# Scoring


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"gap_cost": -1}, ["positive numbers", "-1"]),
        ({"gap_cost": (3, -2)}, ["positive numbers", "(3, -2)"]),
        ({"gap_cost": math.nan}, ["finite", "nan"]),
        ({"gap_cost": (math.nan, 2)}, ["gap_open", "finite"]),
        ({"gap_cost": (3, math.inf)}, ["gap_extend", "finite"]),
        ({"gap_cost": (1, 2, 3)}, ["one number", "(open, extend)"]),
        ({"gap_cost": "3"}, ["one number"]),
        ({"gap_cost": (0.3, 2)}, ["whole numbers or halves"]),
        ({"gap_cost": 1 << 20}, ["smaller than 1048576"]),
        ({"gap_cost": np.array(2)}, ["one number"]),
        ({"sub_score": np.array(2)}, ["(match, mismatch)"]),
        ({"sub_score": ([[10**400] * 2] * 2, "AC")}, ["not made of numbers"]),
        ({"sub_score": (np.eye(2) * 1j, "AC")}, ["not made of numbers", "complex"]),
        ({"sub_score": (1, math.nan)}, ["substitution score", "finite"]),
        ({"sub_score": (1, 2, 3)}, ["(match, mismatch)"]),
        ({"sub_score": "BLOSUM99"}, ["BLOSUM99"]),
        ({"sub_score": (np.full((2, 2), math.nan), "AC")}, ["A against A", "nan"]),
        ({"sub_score": (np.eye(3), "AC")}, ["3 rows for 2 letters"]),
        ({"sub_score": (np.ones((2, 3)), "AC")}, ["square"]),
        ({"sub_score": (np.eye(2), "AA")}, ["'A' stands there twice"]),
        ({"wildcard": "NN"}, ["wildcard", "one letter"]),
        ({"wildcard": "J"}, ["wildcard: the letter 'J'", "alphabet"]),
    ],
    ids=repr,
)
def test_scoring(options: dict[str, Any], words: list[str]) -> None:
    fails(ScoringError, *words, **options)


def test_a_matrix_that_lacks_a_letter() -> None:
    only_two = (np.array([[1, -1], [-1, 1]]), "AC")
    fails(SequenceError, "'G' at position 3 of the query", "AC", sub_score=only_two)
    fails(
        SequenceError,
        "'B' at position 2 of the target",
        "choose another matrix",
        a="MKV",
        b="MBV",
        sub_score=(np.eye(20) * 5 - 1, "ARNDCQEGHILKMFPSTWYV"),
    )


def test_a_score_that_could_leave_32_bits() -> None:
    a = "A" * 5000
    for options in (
        {"sub_score": ((1 << 20) - 1, -1)},
        {"sub_score": (1 << 17, -1), "mode": "global"},
        {"gap_cost": (3, 1 << 17), "mode": "global"},
        {"gap_cost": (3, 1 << 17), "mode": "global", "free_ends": True},
    ):
        fails(RangeError, "5,000 x 5,000 letters", "32-bit", "smaller scores", a=a, b=a, **options)


# Options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "semi"}, ["mode must be 'local' or 'global', not 'semi'"]),
        ({"mode": None}, ["mode", "None"]),
        ({"output": "cigar"}, ["output must be 'score', 'ends' or 'path', not 'cigar'"]),
        ({"output": ["path"]}, ["output"]),
        ({"free_ends": (True,) * 3}, ["free_ends takes one, two or four booleans"]),
        ({"free_ends": ()}, ["free_ends"]),
        ({"free_ends": 2}, ["free_ends", "2"]),
        ({"free_ends": np.array([[True, False]])}, ["free_ends"]),
        ({"mode": np.array(["local", "x"])}, ["mode"]),
        ({"prune": "no"}, ["prune", "'no'"]),
        ({"progress": 5}, ["progress", "5"]),
        ({"free_ends": "yes"}, ["free_ends", "'yes'"]),
        ({"free_ends": None}, ["free_ends", "None"]),
        ({"free_ends": (True, "x")}, ["free_ends"]),
    ],
    ids=repr,
)
def test_options(options: dict[str, Any], words: list[str]) -> None:
    fails(InputError, *words, **{"mode": "global", **options})


def test_free_ends_in_every_form() -> None:
    """One, two or four booleans, as a tuple, a list or an array."""
    for same in (True, (True, True), [True] * 4, np.array([True, True])):
        found = pysw_cl.align("ACGT", "TTACGTTT", mode="global", free_ends=same)
        assert (found.score, found.cigar) == (4, "4=")


# Plans


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"B": 0}, ["B must be a whole number of at least 1, not 0"]),
        ({"B": -2}, ["B", "-2"]),
        ({"T": 0}, ["T", "not 0"]),
        ({"alpha": 0}, ["alpha", "not 0"]),
        ({"alpha": 2.5}, ["alpha", "2.5"]),
        ({"alpha": math.nan}, ["alpha", "nan"]),
        ({"sections.most_cost": math.nan}, ["most_cost must be a number of at least 0, not nan"]),
        ({"alpha": True}, ["alpha", "True"]),
        ({"alpha": "8"}, ["alpha", "'8'"]),
        ({"alpha": 1000}, ["alpha is at most 64", "1000"]),
        ({"lanes": "vector32", "T": 3}, ["vector32 runs T in (1, 2, 4, 8, 16), not 3"]),
        ({"lanes": "vector32", "T": 32}, ["vector32", "not 32"]),
        ({"lanes": "scalar32", "T": 24}, ["scalar32", "not 24"]),
        (
            {"lanes": "vector64"},
            [
                "lanes 'vector64' do not exist",
                "vector, vector32, packed, mixed, packed_profile, warp32, scalar32",
            ],
        ),
        ({"lanes": ["vector32"]}, ["lanes", "do not exist"]),
        ({"engine": "reference", "lanes": "vector64"}, ["lanes", "do not exist"]),
        ({"form": "three-phase"}, ["form 'three-phase' does not exist", "two-phase"]),
        ({"engine": "columns"}, ["engine 'columns' does not exist", "wavefront", "rowscan"]),
        ({"beta": 1}, ["'beta' is not one of", "alpha"]),
        ({"chunk": 0}, ["chunk", "not 0"]),
        ({"chunk": 1 << 40}, ["chunk is at most"]),
        ({"tile_cells": 0}, ["tile_cells"]),
        ({"traceback_tile_cells": -1}, ["traceback_tile_cells"]),
        ({5: 1}, ["'5' is not one of"]),
        (5, ["plan must be a Plan or a mapping"]),
        ("fast", ["plan must be a Plan or a mapping", "'fast'"]),
        (pysw_cl.Plan(T=3), ["T", "not 3"]),
    ],
    ids=repr,
)
def test_plans(plan: Any, words: list[str]) -> None:
    fails(PlanError, "plan", *words, plan=plan)


def test_more_lanes_than_the_device_runs(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_lanes("scalar32")
    plan = {"lanes": "scalar32", "T": 512}
    device_has(monkeypatch, max_work_group_size=256)
    fails(PlanError, runtime.info.name, "at most 256 work-items", "T is 512", plan=plan)
    device_has(monkeypatch, local_mem_size=64)
    fails(PlanError, "T=256", "bytes of local memory", plan={**plan, "T": 256})


# Devices


def test_a_device_that_matches_nothing() -> None:
    name = pysw_cl.devices()[0].name
    fails(DeviceError, "device='no such device'", "there are", name, device="no such device")
    fails(DeviceError, "device='0:99'", "there are", name, device="0:99")
    fails(DeviceError, "device='accelerator'", "there are", name, device="accelerator")


@pytest.mark.parametrize("variable", ["PYSW_CL_DEVICE", "PYOPENCL_CTX"])
def test_an_environment_that_matches_nothing(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    usable = next(device for device in pysw_cl.devices() if device.usable)
    with monkeypatch.context() as patch:
        patch.delenv("PYSW_CL_DEVICE", raising=False)
        patch.setenv(variable, "99:0")
        fails(DeviceError, f"{variable}='99:0'", "there are", usable.name)
        assert pysw_cl.align(A, B, device=usable.index).score == 6  # what is said counts


@pytest.mark.parametrize(
    "device", [None, 0, (0, 0), b"auto", object()], ids=lambda device: type(device).__name__
)
def test_no_device_at_all(device: Any) -> None:
    fails(DeviceError, "device must be a string or a pyopencl Device", device=device)


def test_a_device_of_the_list() -> None:
    fails(DeviceError, "not DeviceInfo", "give .index", device=pysw_cl.devices()[0])


NO_PLATFORM = cl.LogicError("clGetPlatformIDs failed: PLATFORM_NOT_FOUND_KHR")


@pytest.mark.parametrize("error", [NO_PLATFORM, None], ids=["error", "none"])
def test_no_opencl_platform(
    error: Exception | None, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(error=error)
    monkeypatch.setattr("pysw_cl.opencl.listing.find_spec", lambda name: None)
    for device in ("auto", "cpu", "0:0", "some name"):
        fails(DeviceError, 'pip install "pyopencl[pocl]"', device=device)
    assert pysw_cl.devices() == []


def test_no_pyopencl(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pyopencl", None)
        patch.setattr("pysw_cl.opencl.device._named", {})
        fails(DeviceError, "pyopencl does not load", 'pip install "pyopencl[pocl]"')


# Memory and failures of the device


def test_out_of_memory_says_how_much_was_needed(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "ACGT" * 25_000
    with monkeypatch.context() as patch:
        device_has(patch, global_mem_size=1 << 16)
        fails(DeviceMemoryError, "out of memory", "MiB needed", "0.1 MiB there", a=long, b=long)


def test_a_buffer_that_the_device_refuses(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = cl.MemoryError("create_buffer failed: MEM_OBJECT_ALLOCATION_FAILURE")
    with monkeypatch.context() as patch:
        fault(patch, cl, "Buffer", refused)
        fails(DeviceMemoryError, runtime.info.name, "out of memory", "MiB needed")


def test_more_than_the_device_has(runtime: Runtime) -> None:
    """Nothing is allocated for a request that cannot be met, in all or in one piece."""
    for size in (
        int(runtime.device.global_mem_size) + 1,
        max(1 << 50, 64 * int(runtime.device.max_mem_alloc_size)),
    ):
        with Buffers(runtime) as buffers, pytest.raises(DeviceError, match="MiB needed"):
            buffers.empty(size)


@pytest.mark.parametrize("name", ["enqueue_nd_range_kernel", "enqueue_copy"])
def test_a_device_that_fails_during_the_run(
    name: str, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        fault(patch, cl, name, cl.RuntimeError(f"{name} failed: OUT_OF_RESOURCES"))
        fails(DeviceError, runtime.info.name, "OUT_OF_RESOURCES")


def test_kernels_that_do_not_build(runtime: Runtime) -> None:
    own = Runtime(runtime.device, runtime.info)
    own.source_of = lambda name: "no OpenCL at all;"
    words = f"{re.escape(runtime.info.name)} cannot build the kernel (held|wavefront)"
    with pytest.raises(DeviceError, match=words):
        pysw_cl.align(A, B, device=own)


# The caller's own callback


class Enough(Exception):
    """What a caller's progress callback raises."""


@pytest.mark.parametrize("output", ["score", "path"])
def test_a_progress_callback_that_raises(output: str) -> None:
    """Its exception comes out as it is, and ends the run."""
    calls: list[int] = []

    def stop(done: int, total: int) -> None:
        calls.append(done)
        if len(calls) == 3:
            raise Enough

    rng = np.random.default_rng(91)
    a, b = (rng.choice(np.frombuffer(b"ACGT", np.uint8), 600) for _ in range(2))
    with pytest.raises(Enough):
        pysw_cl.align(a, b, output=output, prune=False, plan={"tile_cells": 20_000}, progress=stop)
    assert len(calls) == 3 and 0 < calls[-1] < 600 * 600
