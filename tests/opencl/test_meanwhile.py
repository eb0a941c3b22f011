"""Programs that are built while the device computes something else."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pysw_cl.engines.wavefront.kernel import Program
from pysw_cl.errors import BuildError
from pysw_cl.opencl.device import Runtime, get_runtime
from pysw_cl.opencl.program import KernelSpec, build, built_within
from pysw_cl.planning.parameters import EngineTuning

SPEC = KernelSpec("fill", ("fill.cl",), ("to",))
RIGHT = "__kernel void fill(__global int *to) { to[0] = MINE; }"
WRONG = "__kernel void fill(__global int *to) { to[0] = MINE }"


def runtime_of(text: str) -> Runtime:
    """A runtime that has built nothing, whose kernels all have this text."""
    runtime = get_runtime("auto").anew("meanwhile")
    runtime.source_of = lambda name: text
    return runtime


def test_a_program_is_built_meanwhile_and_then_used() -> None:
    runtime, defines = runtime_of(RIGHT), {"MINE": 7}
    built_within(runtime, SPEC, defines, 0)
    runtime.settle()
    assert built_within(runtime, SPEC, defines, 0)
    (program,) = runtime.programs.values()
    assert build(runtime, SPEC, defines) is program
    runtime.forget()
    assert not runtime.programs and not runtime.building


def test_who_needs_the_program_waits_for_its_build() -> None:
    runtime, defines = runtime_of(RIGHT), {"MINE": 8}
    built_within(runtime, SPEC, defines, 0)
    program = build(runtime, SPEC, defines)
    assert list(runtime.programs.values()) == [program]


def test_one_that_cannot_be_built_says_so_when_it_is_needed() -> None:
    runtime = runtime_of(WRONG)
    assert not built_within(runtime, SPEC, {}, 60)
    assert not built_within(runtime, SPEC, {}, 60)
    with pytest.raises(BuildError):
        build(runtime, SPEC, {})


def test_short_work_does_not_wait_for_lanes_of_11_bits() -> None:
    usual = EngineTuning(mixed_build=1000.0)
    built: list[str] = []

    def in_time(text: str, seconds: float) -> bool:
        built.clear()
        runtime = runtime_of(text)
        program: Any = SimpleNamespace(
            plan=SimpleNamespace(tuning=SimpleNamespace(engine=usual)),
            spec=SPEC,
            defines=lambda traits: {"MINE": 9},
        )
        instead: Any = SimpleNamespace(kernel=lambda runtime: built.append("instead"))
        return Program.in_time(program, runtime, seconds, instead)

    assert in_time(WRONG, usual.mixed_build) and not built
    assert not in_time(WRONG, usual.mixed_build / 2) and built == ["instead"]
    assert in_time(RIGHT, usual.mixed_build - 0.1) and built == ["instead"]
