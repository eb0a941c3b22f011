"""Programs that another process builds, as a driver that builds one at a time needs it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import device_has, spy
from speculating import constants, pairs, plan_of

import pysw_cl
from pysw_cl.drivers.align_pair import Search
from pysw_cl.engines.wavefront import engine, kernel
from pysw_cl.engines.wavefront.engine import WavefrontEngine
from pysw_cl.errors import BuildError
from pysw_cl.opencl import program
from pysw_cl.opencl.apart import claimed
from pysw_cl.opencl.device import Runtime, get_runtime
from pysw_cl.opencl.program import KernelSpec, build, build_apart, key_of, known_built

SPEC = KernelSpec("fill", ("fill.cl",), ("to",))
RIGHT = "__kernel void fill(__global int *to) { to[0] = MINE; }"
WRONG = "__kernel void fill(__global int *to) { to[0] = MINE }"


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSW_CL_PROFILES", str(tmp_path))
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path))
    device_has(monkeypatch, builds_apart=True)


def wait_for_builds(runtime: Runtime) -> None:
    for process in runtime.building.values():
        process.wait()


def runtime_of(text: str) -> Runtime:
    """A runtime that has built nothing, whose kernels all have this text."""
    return get_runtime("auto")._with(source_of=lambda name: text, programs={}, building={})


def test_a_program_is_built_by_another_process_and_then_read() -> None:
    runtime, wanted = runtime_of(RIGHT), (SPEC, {"MINE": 7})
    assert not known_built(runtime, *wanted)
    build_apart(runtime, [wanted])
    (apart,) = runtime.building.values()
    build_apart(runtime, [wanted])
    other = runtime_of(RIGHT)  # of another process
    build_apart(other, [wanted])
    assert list(runtime.building.values()) == [apart] and not other.building
    wait_for_builds(runtime)
    assert known_built(runtime, *wanted) and not runtime.programs
    assert build(runtime, *wanted) is runtime.programs[key_of(runtime, *wanted)]
    runtime.forget()
    assert not runtime.programs and not runtime.building


def test_other_processes_know_what_the_driver_has_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    build(runtime_of(RIGHT), SPEC, {"MINE": 1})
    later = runtime_of(RIGHT)
    assert known_built(later, SPEC, {"MINE": 1}) and not known_built(later, SPEC, {"MINE": 2})
    assert not known_built(runtime_of(RIGHT + " "), SPEC, {"MINE": 1})
    build_apart(later, [(SPEC, {"MINE": 1})])
    assert not later.building
    monkeypatch.setenv("PYSW_CL_PROFILES", "off")
    assert not known_built(later, SPEC, {"MINE": 1})
    build_apart(later, [(SPEC, {"MINE": 1})])  # nobody would know when it is done
    assert not later.building


def test_other_drivers_build_here(monkeypatch: pytest.MonkeyPatch) -> None:
    device_has(monkeypatch, builds_apart=False)
    runtime = runtime_of(RIGHT)
    build_apart(runtime, [(SPEC, {"MINE": 1})])
    assert not runtime.building


def test_who_needs_the_program_waits_for_the_other_process() -> None:
    runtime, wanted = runtime_of(RIGHT), (SPEC, {"MINE": 8})
    build_apart(runtime, [wanted])
    build(runtime, *wanted)
    assert known_built(runtime_of(RIGHT), *wanted)


def test_one_that_cannot_be_built_says_so_when_it_is_needed() -> None:
    runtime = runtime_of(WRONG)
    build_apart(runtime, [(SPEC, {})])
    wait_for_builds(runtime)
    assert not known_built(runtime, SPEC, {})
    with pytest.raises(BuildError):
        build(runtime, SPEC, {})


def test_a_claim_does_not_last(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert claimed(tmp_path / "built" / "one") and not claimed(tmp_path / "built" / "one")
    monkeypatch.setattr("pysw_cl.opencl.apart.MOST_SECONDS", 0.0)
    assert claimed(tmp_path / "built" / "one")


def test_a_process_that_cannot_be_started_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime, wanted = runtime_of(RIGHT), (SPEC, {"MINE": 9})
    for name in ("/nowhere/python", "/usr/bin/true", None):
        monkeypatch.setattr("sys.executable", name)
        monkeypatch.setattr("pysw_cl.opencl.apart.MOST_SECONDS", 0.0)
        build_apart(runtime, [wanted])
        assert not runtime.building
    build(runtime, *wanted)


def test_short_work_does_not_wait_for_a_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "spec_of", lambda program: SPEC)
    program = SimpleNamespace(widths=(16,), defines={"MINE": 9})
    usual: Any = object()
    long: Any = SimpleNamespace(program=program, until_built=None)
    short: Any = SimpleNamespace(program=program, until_built=usual)
    runtime = runtime_of(RIGHT)
    assert kernel.in_time(runtime, long) is long and not runtime.building
    assert kernel.in_time(runtime, short) is usual
    wait_for_builds(runtime)
    assert kernel.in_time(runtime, short) is short


@pytest.mark.parametrize("length", [900, 3000])
def test_what_a_path_needs_is_expected(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is built after the sweep's program is expected before it, with tile batches or
    without."""
    constants(monkeypatch, least_sides=8)  # of 128 letters
    device_has(monkeypatch, builds_apart=True, speculative=True)
    expected, used = list[Any](), list[Any]()

    def expects(runtime: Runtime, programs: Any) -> None:
        expected.extend(key_of(runtime, *one) for one in programs)

    monkeypatch.setattr(engine, "build_apart", expects)
    spy(monkeypatch, program, "key_of", after=lambda key, *_: used.append(key))
    get_runtime("auto").forget()
    a, b = pairs("similar", np.random.default_rng(5), length)
    pysw_cl.align(a, b, device="auto", plan=plan_of("vector"))
    first, *others = dict.fromkeys(used)
    assert set(others) == set(expected) and first not in expected
    expected.clear()
    pysw_cl.align(a, b, device="auto", plan=plan_of("vector"))
    assert not expected  # it is known


def test_what_the_path_of_a_band_needs_is_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    constants(monkeypatch, least_sides=8)
    device_has(monkeypatch, builds_apart=True, speculative=True)
    asked, whole = list[Any](), list[Any]()
    spy(monkeypatch, Search, "sweep_matrix", lambda *how: whole.append(how))
    spy(monkeypatch, WavefrontEngine, "expect_path", lambda of, *how: asked.append(how))
    a, b = pairs("similar", np.random.default_rng(5), 12_000)
    pysw_cl.align(a, b, mode="global", max_cost=6000, device="auto", plan=plan_of("vector"))
    assert asked and not whole
