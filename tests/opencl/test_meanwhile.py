"""Programs that are built while the device computes something else."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pysw_cl.engines.wavefront import kernel
from pysw_cl.errors import BuildError
from pysw_cl.opencl.device import Runtime, get_runtime
from pysw_cl.opencl.program import (
    BEGIN_SECONDS,
    KernelSpec,
    build,
    build_meanwhile,
    note_built,
    soon_built,
    wait_until_begun,
)

SPEC = KernelSpec("fill", ("fill.cl",), ("to",))
RIGHT = "__kernel void fill(__global int *to) { to[0] = MINE; }"
WRONG = "__kernel void fill(__global int *to) { to[0] = MINE }"


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSW_CL_PROFILES", str(tmp_path))


def runtime_of(text: str) -> Runtime:
    """A runtime that has built nothing, whose kernels all have this text."""
    runtime = get_runtime("auto").anew("meanwhile")
    runtime.source_of = lambda name: text
    return runtime


def test_a_program_is_built_meanwhile_and_then_used() -> None:
    runtime, defines = runtime_of(RIGHT), {"MINE": 7}
    assert not soon_built(runtime, SPEC, defines)
    build_meanwhile(runtime, SPEC, defines)
    runtime.settle()
    assert soon_built(runtime, SPEC, defines)
    (program,) = runtime.programs.values()
    assert build(runtime, SPEC, defines) is program
    runtime.forget()
    assert not runtime.programs and not runtime.building


def test_other_processes_know_what_the_driver_has_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    note_built(runtime_of(RIGHT), SPEC, {"MINE": 1})
    later = runtime_of(RIGHT)
    assert soon_built(later, SPEC, {"MINE": 1}) and not soon_built(later, SPEC, {"MINE": 2})
    assert not soon_built(runtime_of(RIGHT + " "), SPEC, {"MINE": 1})
    monkeypatch.setenv("PYSW_CL_PROFILES", "off")
    note_built(later, SPEC, {"MINE": 1})
    assert not soon_built(later, SPEC, {"MINE": 1})


def test_who_needs_the_program_waits_for_its_build() -> None:
    runtime, defines = runtime_of(RIGHT), {"MINE": 8}
    build_meanwhile(runtime, SPEC, defines)
    program = build(runtime, SPEC, defines)
    assert list(runtime.programs.values()) == [program]


def test_one_that_cannot_be_built_says_so_when_it_is_needed() -> None:
    runtime = runtime_of(WRONG)
    build_meanwhile(runtime, SPEC, {})
    runtime.settle()
    assert not soon_built(runtime, SPEC, {})
    with pytest.raises(BuildError):
        build(runtime, SPEC, {})


def test_short_work_does_not_wait_for_a_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "spec_of", lambda program: SPEC)
    program = SimpleNamespace(widths=(16,), defines={"MINE": 9})
    usual: Any = object()
    long: Any = SimpleNamespace(program=program, until_built=None)
    short: Any = SimpleNamespace(program=program, until_built=usual, builds=False)
    later: Any = SimpleNamespace(program=program, until_built=usual, builds=True)
    runtime = runtime_of(RIGHT)
    assert kernel.in_time(runtime, long) == (long, None)
    assert kernel.in_time(runtime, short) == (usual, None)
    assert kernel.in_time(runtime, later) == (usual, program)
    note_built(runtime, SPEC, {"MINE": 9})
    assert kernel.in_time(runtime, short) == (short, None)


def test_a_build_waits_a_little_for_the_launch_before_it() -> None:
    class Event:
        """A launch that begins at the third look, or never."""

        def __init__(self, looks: float) -> None:
            self.looks = looks

        @property
        def command_execution_status(self) -> int:
            self.looks -= 1
            return 3 if self.looks > 0 else 1

    begins, never = Event(3), Event(float("inf"))
    wait_until_begun(begins)
    assert begins.looks == 0
    started = time.monotonic()
    wait_until_begun(never)
    assert time.monotonic() - started >= BEGIN_SECONDS
