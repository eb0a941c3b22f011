"""Which device is chosen and what is known about it; programs, their cache and their arguments."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyopencl as cl
import pytest
from aligning import NO_FREE_ENDS, align_case, ends, moves, needs_lanes
from helpers import IMPORTS, device_has, random_case
from machines import ACCELERATOR, CPU, CUSTOM, GPU, Machine, fake, fake_platform
from whole_reference import align_reference

import pysw_cl
from pysw_cl.engines.common import bind
from pysw_cl.engines.plans import make_plan
from pysw_cl.engines.registry import engine_for
from pysw_cl.engines.wavefront.arguments import TICKETED, TWO_PHASE
from pysw_cl.engines.wavefront.compressed_edge import COMPRESS, EXPAND
from pysw_cl.engines.wavefront.device_traceback import TRACE
from pysw_cl.engines.wavefront.kernel import kernel_spec
from pysw_cl.errors import DeviceError, InternalError, PlanError
from pysw_cl.opencl import device as device_module, program, quirks
from pysw_cl.opencl.buffers import Buffers
from pysw_cl.opencl.device import Runtime, get_runtime
from pysw_cl.opencl.quirks import QUIRKS, traits_of
from pysw_cl.planning.facts import DeviceTraits
from pysw_cl.planning.lane_sets import LANE_SETS
from pysw_cl.planning.plan import FORMS

A, B = "ACGTTACGATTGCA", "ACGTACGATAGCA"


def chosen(text: str) -> str:
    return get_runtime(text).info.index


# What "device" means, on machines made up


def test_auto_prefers_kind_then_compute_units(machine: Machine) -> None:
    empty, cpus = fake_platform("Empty"), fake_platform("CPUs", fake(CPU, "big", 128))
    small, large = fake(GPU, "small", 8), fake(GPU, "large", 60)
    accelerator = fake(ACCELERATOR, "fpga", 1)
    machine(empty, cpus, fake_platform("Others", accelerator, small), fake_platform("L", large))
    assert [chosen(text) for text in ("auto", "AUTO", "gpu", "cpu", "accelerator")] == [
        "3:0", "3:0", "3:0", "1:0", "2:0",
    ]  # fmt: skip
    machine(cpus, fake_platform("Others", accelerator))
    assert chosen("auto") == "1:0"
    machine(fake_platform("Odd", fake(CUSTOM, "odd", 99)), cpus)
    assert chosen("auto") == "1:0"
    with pytest.raises(DeviceError, match="device='gpu' matches no usable device"):
        get_runtime("gpu")


def test_indices_and_parts_of_names(machine: Machine) -> None:
    machine(
        fake_platform("Portable Computing Language", fake(CPU, "pthread-some CPU 3000")),
        fake_platform("NVIDIA CUDA", fake(GPU, "H200", 132), fake(GPU, "T4", 40)),
    )
    for text, index in {
        "0": "0:0", "1": "1:0", "1:1": "1:1", " 1 : 1 ": "1:1", "1:": "1:0",
        "nvidia": "1:0", "T4": "1:1", "cuda:t4": "1:1", "portable": "0:0", "some cpu": "0:0",
        "nvidia:1": "1:1", "1:h2": "1:0", "pthread": "0:0",
    }.items():  # fmt: skip
        assert chosen(text) == index, text
    for text in ("2", "0:1", "amd", "nvidia:portable", "t4:nvidia", "1:0:0", "3000:0"):
        with pytest.raises(DeviceError) as caught:
            get_runtime(text)
        assert all(name in str(caught.value) for name in (text, "H200", "T4", "some CPU"))


def test_the_environment_decides_about_auto(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(
        fake_platform("P", fake(CPU, "first"), fake(CPU, "second")),
        fake_platform("Q", fake(GPU, "third")),
    )
    monkeypatch.setenv("PYOPENCL_CTX", "0:1")
    assert (chosen("auto"), chosen("gpu"), chosen("first")) == ("0:1", "1:0", "0:0")
    monkeypatch.setenv("PYSW_CL_DEVICE", "first")
    assert chosen("auto") == "0:0"
    monkeypatch.setenv("PYSW_CL_DEVICE", "cpu")
    assert chosen("auto") == "0:0"
    monkeypatch.setenv("PYSW_CL_DEVICE", "auto")
    assert chosen("auto") == "1:0"
    for nothing in ("", "  "):
        monkeypatch.setenv("PYSW_CL_DEVICE", nothing)
        assert chosen("auto") == "0:1"


def test_a_device_that_cannot_be_used(machine: Machine) -> None:
    """It is listed with the reason, passed over by "auto", and refused when asked for."""
    dumb = fake(GPU, "dumb", 99, compiler_available=False)
    machine(fake_platform("P", dumb, fake(CPU, "good"), fake(CPU, "odd", endian_little=False)))
    listed = pysw_cl.devices()
    assert [info.usable for info in listed] == [False, True, False]
    assert "no online compiler" in listed[0].reason and "not usable" in str(listed[0])
    assert "little-endian" in listed[2].reason and listed[1].reason == ""
    assert chosen("auto") == "0:1"
    with pytest.raises(DeviceError, match=r"'dumb' matches no usable device.*no online compiler"):
        get_runtime("dumb")
    machine(fake_platform("P", dumb))
    with pytest.raises(DeviceError, match="no online compiler"):
        get_runtime("auto")


def test_platforms_without_devices_only(machine: Machine) -> None:
    machine(fake_platform("Empty"), fake_platform("Empty too"))
    listed = pysw_cl.devices()
    assert [(info.platform, info.usable) for info in listed] == [
        ("Empty", False),
        ("Empty too", False),
    ]
    assert all("no device" in info.reason for info in listed)
    with pytest.raises(DeviceError, match=r"Empty: the platform shows no device.*for a GPU: "):
        get_runtime("auto")


def test_a_part_of_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads follow a device's name, in the environment too; all cores are no part."""
    runtime = get_runtime("cpu")
    units = runtime.info.compute_units
    if units < 2 or not runtime.device.partition_max_sub_devices:
        pytest.skip("this CPU cannot be had in part")
    assert get_runtime("cpu/4096") is get_runtime(f"cpu/{units}") is runtime
    one = get_runtime("cpu/1")
    assert one is get_runtime("cpu/1") and one is not runtime
    assert (one.info.compute_units, one.device.max_compute_units) == (1, 1)
    assert one.info == get_runtime(one.info.index).info
    found = pysw_cl.align("ACGTTGCA" * 30, "ACGTTCA" * 30, device="cpu/1")
    assert found.cigar == pysw_cl.align("ACGTTGCA" * 30, "ACGTTCA" * 30, device="cpu").cigar
    monkeypatch.setenv("PYSW_CL_DEVICE", "cpu / 1")
    assert get_runtime("auto").info.compute_units == 1
    assert get_runtime(f"auto/{units}").info.compute_units == units


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpu/2", "2 threads are for a CPU; G is not"),
        ("auto/2", "2 threads are for a CPU; G is not"),
        ("C/0", "0 threads cannot compute; take 1 or more"),
        ("C/1", "C cannot be had in part, by 1 threads"),
    ],
)
def test_no_part_of_a_device(name: str, message: str, machine: Machine) -> None:
    def refuse(how: list[int]) -> None:
        raise cl.LogicError("INVALID_VALUE")

    cpu = fake(CPU, "C", 4, create_sub_devices=refuse)
    machine(fake_platform("P", fake(GPU, "G"), cpu))
    with pytest.raises(DeviceError, match=message):
        get_runtime(name)


def test_a_device_without_a_name() -> None:
    for nothing in ("", " ", ":"):
        with pytest.raises(DeviceError, match="names no device"):
            get_runtime(nothing)


@pytest.mark.skipif(os.name != "posix", reason="the folder below /dev/null is a Unix trick")
def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    """Nor can any other: PoCL shows no device, and the message says so, not how to install it."""
    env = dict(os.environ, POCL_CACHE_DIR="/dev/null/cache", PYTHONPATH=IMPORTS)
    code = (
        "import pysw_cl; from pysw_cl.opencl import kernel_store as store; store.ROOM = 1 << 62; "
    )
    code += "print([i.reason for i in pysw_cl.devices()]); pysw_cl.align('A', 'A', device='cpu')"
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=tmp_path, capture_output=True, text=True
    )
    if "Portable Computing Language" in get_runtime("cpu").info.platform:
        assert "set POCL_CACHE_DIR" in done.stdout
        assert "set POCL_CACHE_DIR" in done.stderr and "pip install" not in done.stderr


@pytest.mark.parametrize(
    ("platform", "device", "lanes", "form"),
    [
        ("Portable Computing Language", fake(CPU, "pthread"), "vector", "ticketed"),
        ("Intel(R) OpenCL", fake(CPU, "Xeon"), "vector", "ticketed"),
        ("NVIDIA CUDA", fake(GPU, "H200"), "scalar32", "ticketed"),
        ("AMD Accelerated Parallel Processing", fake(GPU, "gfx90a"), "packed", "two-phase"),
        ("Oclgrind", fake(CPU, "Oclgrind Simulator"), "scalar32", "two-phase"),
    ],
)
def test_quirks_decide_lanes_and_form(platform: str, device: Any, lanes: str, form: str) -> None:
    traits, rows = traits_of(platform, device)
    assert (traits.usable, traits.lanes, traits.form) == (True, lanes, form)
    assert all(quirk in QUIRKS for quirk in rows)


def test_devices_that_give_wrong_results_are_refused() -> None:
    traits, rows = traits_of("rusticl", fake(CPU, "llvmpipe (LLVM 15)"))
    assert not traits.usable
    assert any("65,535 turns" in quirk.why for quirk in rows)
    assert traits_of("rusticl", fake(GPU, "radeonsi"))[0].usable


def test_plans_have_as_many_lanes_as_a_device_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = get_runtime("auto")
    device_has(monkeypatch, least_T=8)
    plan = {"lanes": "scalar32" if runtime.info.kind == "gpu" else "vector32"}
    with pytest.raises(PlanError, match=r"T is at least 8 on .*, not 4"):
        make_plan(runtime, {**plan, "T": 4})
    assert make_plan(runtime, {**plan, "T": 8}).T == 8


def test_groups_of_the_row_scan_that_a_compiler_fails_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = {"engine": "rowscan", "lanes": "scalar32"}
    device_has(monkeypatch, refused_row_items=(2, 8), refused_lanes=())
    for T in (2, 8):
        with pytest.raises(PlanError, match=f"does not run T={T} on "):
            engine_for("auto", {**plan, "T": T})
        assert engine_for("auto", {**plan, "T": T, "form": "three-launch"}).plan.T == T
    assert engine_for("auto", {**plan, "T": 4}).plan.T == 4


def test_quirk_table() -> None:
    """Each row is explained, and none of them trips over any device."""
    traits = {field.name for field in fields(DeviceTraits)}
    for quirk in QUIRKS:
        assert quirk.why and quirk.link.startswith("https://"), quirk
        assert quirk.then and set(quirk.then) <= traits, quirk
        for name, value in quirk.then.items():
            usual = getattr(DeviceTraits(), name)
            assert callable(value) if usual is None else type(value) is type(usual), quirk
        assert set(quirk.then.get("refused_lanes", ())) <= set(LANE_SETS), quirk
        assert quirk.then.get("lanes", "scalar32") in LANE_SETS
        assert quirk.then.get("form", "ticketed") in FORMS
        for kind in (CPU, GPU, ACCELERATOR, CUSTOM, CPU | 1):
            assert quirk.applies("", fake(kind, "")) in (True, False)
        for platform in cl.get_platforms():
            for device in platform.get_devices():
                assert quirk.applies(platform.name, device) in (True, False)


def test_a_processor_that_pocl_cannot_name() -> None:
    """In a record made up only the word that points to the name is exchanged."""
    quirk = next(quirk for quirk in QUIRKS if "prepare" in quirk.then)
    said = "OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-"
    for text, applies in ((said + "generic", True), (said + "znver3", False), ("CUDA", False)):
        assert quirk.applies("", SimpleNamespace(version=text)) is applies
    name, other = ctypes.create_string_buffer(b"generic"), ctypes.create_string_buffer(b"generics")
    record = (ctypes.c_uint64 * quirks.RECORD_WORDS)()
    before = [1, 0, ctypes.addressof(other), 2**63, ctypes.addressof(name), 7]
    record[: len(before)] = before
    for _ in range(2):  # then there is none any more
        quirk.then["prepare"](SimpleNamespace(int_ptr=ctypes.addressof(record)))
        now = record[: len(before)]
        assert [a == b for a, b in zip(now, before, strict=True)] == [True] * 4 + [False, True]
        assert ctypes.string_at(now[4]) in quirks.PROCESSORS


# What "device" means, on this machine


def test_listed_devices() -> None:
    for info in pysw_cl.devices():
        if info.name == "(none)":
            continue
        assert info.compute_units > 0 and info.global_memory > 0 and info.driver
        assert info.index in str(info) and info.name in str(info)
        if info.usable:
            assert get_runtime(info.index).info == info


def test_pyopencl_objects() -> None:
    """A Device, a Context and a CommandQueue name the device; the last two are used themselves."""
    usual = get_runtime("auto")
    assert get_runtime(usual) is usual and get_runtime(usual.device) is usual
    context = cl.Context([usual.device])
    queue = cl.CommandQueue(context)
    assert get_runtime(context).context == context
    assert get_runtime(queue).queue == queue and get_runtime(queue).context == context
    for given in (usual.device, context, queue):
        found = pysw_cl.align(A, B, device=given)
        assert (found.score, found.plan.device) == (6, usual.info.name)
        assert get_runtime(given) is get_runtime(given)


def test_an_out_of_order_queue_is_not_used_itself() -> None:
    """Launches depend on the ones before them."""
    usual = get_runtime("auto")
    disorder = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    try:
        given = cl.CommandQueue(usual.context, usual.device, properties=disorder)
    except cl.Error:
        pytest.skip("the device has no out-of-order queues")
    used = get_runtime(given).queue
    assert used != given and used.context == given.context and not used.properties & disorder
    assert pysw_cl.align(A, B, device=given).score == 6


def test_threads_share_a_device() -> None:
    """Eight threads at once, each with a queue and kernels of its own, all results right."""
    runtime = Runtime(get_runtime("auto").device, get_runtime("auto").info)
    rng = np.random.default_rng(61)
    cases = [random_case(rng, 150) for _ in range(48)]
    queues = set()

    def work(k: int) -> tuple[Any, ...]:
        mode = ("local", "global")[k % 2]
        found = align_case(
            cases[k], mode, NO_FREE_ENDS, device=runtime, plan={"traceback_tile_cells": 4000}
        )
        queues.add(runtime.queue.int_ptr)
        return found.score, ends(found), moves(found).tolist()

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(len(cases))))
    for k, (case, found) in enumerate(zip(cases, results, strict=True)):
        mode = ("local", "global")[k % 2]
        expected = align_reference(case.query, case.target, case.scoring, mode)
        assert found == (expected.score, ends(expected), expected.moves.tolist())
    assert len(queues) > 1


def test_one_thread_builds_while_another_needs_the_context_first() -> None:
    """Neither waits for the other for ever, and both get the same one."""
    runtime = Runtime(get_runtime("auto").device, get_runtime("auto").info)
    with ThreadPoolExecutor(2) as pool:
        with runtime.lock:  # as a build does
            other = pool.submit(lambda: runtime.context)
            assert wait([other], timeout=0.1).not_done
            assert runtime.context is not None
        assert other.result() is runtime.context


# Programs


def test_a_changed_source_is_never_served_stale() -> None:
    """The result follows the text of the kernels, there and back."""
    shared = get_runtime("auto")
    runtime = Runtime(shared.device, shared.info)
    original = runtime.source_of

    def doubled(name: str) -> str:
        return original(name).replace("s.match, s.mismatch)", "2 * s.match, s.mismatch)")

    def score() -> float:
        return pysw_cl.align("AAAA", "AAAA", output="score", device=runtime).score

    spec, defines = kernel_spec("ticketed", runtime.info.lanes, "match"), {"T": 4, "R": 1}
    before = program.build(runtime, spec, defines)
    assert score() == 4 and program.build(runtime, spec, defines) is before
    runtime.source_of = doubled
    assert program.build(runtime, spec, defines) is not before
    assert score() == 8
    runtime.source_of = original
    assert score() == 4 and program.build(runtime, spec, defines) is before


def test_options_and_contexts_have_programs_of_their_own() -> None:
    runtime = get_runtime("auto")
    spec = kernel_spec("two-phase", runtime.info.lanes, "match")
    other = Runtime(runtime.device, runtime.info)
    defines = {"T": 4, "R": 1, "TICKETED": 0}
    one = program.build(runtime, spec, defines)
    assert program.build(runtime, spec, dict(reversed(defines.items()))) is one
    assert program.build(runtime, spec, {**defines, "R": 2}) is not one
    elsewhere = program.build(other, spec, defines)
    assert elsewhere is not one and elsewhere.context == other.context


SPECS = [
    (kernel_spec(form, lanes, score), {"TICKETED": int(form == "ticketed"), "T": 4, "R": 2})
    for form in FORMS
    for lanes in LANE_SETS
    for score in ("match", "matrix")
] + [(TRACE, {"T": 2, "R": 2}), (COMPRESS, {}), (EXPAND, {})]
SPECS += [
    (
        kernel_spec(form, lanes, "match", forbidden=True),
        {**defines, "FORBIDDEN_PAIRS": 1, "T": 4, "R": 2},
    )
    for form, defines in (("ticketed", {"TICKETED": 1}), ("two-phase", {"TICKETED": 0}))
    for lanes in ("vector32", "scalar32", "warp32")
]


@pytest.mark.parametrize(
    ("spec", "defines"), SPECS, ids=lambda x: "-".join(x.files[5:7]) if hasattr(x, "files") else ""
)
def test_argument_descriptors(spec: program.KernelSpec, defines: dict[str, int]) -> None:
    """Names, order and kinds are those of the kernel itself."""
    runtime = get_runtime("auto")
    for lane_set in LANE_SETS.values():
        if lane_set.wide in spec.files:
            needs_lanes(Path(lane_set.wide).stem)
    options = ["-cl-std=CL1.2", "-cl-kernel-arg-info", *(f"-D{k}={v}" for k, v in defines.items())]
    source = program.joined_source(spec.files)
    kernel = cl.Kernel(cl.Program(runtime.context, source).build(options), spec.name)
    info = cl.kernel_arg_info
    real = []
    for k in range(kernel.num_args):
        name, kind = (kernel.get_arg_info(k, what) for what in (info.NAME, info.TYPE_NAME))
        assert kind in program.INTEGERS or kind.endswith("*"), (name, kind)
        real.append(f"{name}:{kind}" if kind in program.INTEGERS else name)
    assert tuple(real) == spec.arguments


def test_arguments_are_bound_by_name() -> None:
    runtime = get_runtime("auto")
    kernel = program.BoundKernel(runtime, TRACE, {"T": 2, "R": 2})
    with pytest.raises(InternalError, match="no kernel argument is called rows"):
        kernel.bind(rows=5)
    short = program.KernelSpec(TRACE.name, TRACE.files, TRACE.arguments[:-1])
    with pytest.raises(InternalError, match="has 6 arguments"):
        program.BoundKernel(runtime, short, {"T": 2, "R": 2})


def test_no_argument_is_forgotten() -> None:
    """What a launch does not give is an error, unless each launch sets it or it needs none."""
    runtime, bound = get_runtime("auto"), {}
    spec = SimpleNamespace(places=dict.fromkeys((*TICKETED, "phase")))
    kernel = SimpleNamespace(spec=spec, bind=bound.update)
    values: dict[str, Any] = {"ticket": "ticket", "progress": "progress", "moves": None}
    values |= {"progress_above": "above", "progress_above_at": 7, "no argument": 0}
    with Buffers(runtime) as buffers:
        with pytest.raises(InternalError, match=r"without a value: phase$"):
            bind(cast(program.BoundKernel, kernel), buffers, values)
        assert not bound
        bind(cast(program.BoundKernel, kernel), buffers, values, later=TWO_PHASE)
        assert bound.pop("moves").size == 4
    wanted = {"ticket": "ticket", "progress": "progress", "progress_above": "above"}
    assert bound == {**wanted, "progress_above_at": 7}


def test_lanes_that_a_device_must_not_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan that asks for them is refused with the quirk's reason, before anything is built."""
    _, rows = traits_of(
        "Portable Computing Language",
        fake(CPU, "pthread", platform=SimpleNamespace(version="OpenCL 3.0 PoCL 5.0")),
    )
    (row,) = [quirk for quirk in rows if "PoCL 5.0" in quirk.why]
    assert row.then["refused_lanes"] == ("scalar32",)
    device_has(monkeypatch, refused_lanes=("scalar32",))
    with pytest.raises(PlanError, match="scalar32"):
        pysw_cl.align(A, B, plan={"lanes": "scalar32"})


def test_runtimes_of_given_contexts_are_not_kept_for_ever() -> None:
    device = get_runtime("auto").device
    contexts = [cl.Context([device]) for _ in range(device_module.MOST_GIVEN + 3)]
    for context in contexts:
        assert pysw_cl.align(A, B, device=context, output="score").score > 0
    kept = [key for key in device_module._runtimes if key[1:] != (0, 0)]
    assert len(kept) <= device_module.MOST_GIVEN


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_is_told(tmp_path: Path) -> None:
    """Drivers do not survive a fork: an error, not a hang."""
    code = """
import os, pysw_cl
pysw_cl.align("ACGT", "ACGT")
child = os.fork()
if child == 0:
    try:
        pysw_cl.align("ACGT", "ACGT")
    except pysw_cl.PyswError as error:
        os._exit(7 if "spawn" in str(error) else 8)
    os._exit(9)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    env = dict(os.environ, PYTHONPATH=IMPORTS)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.strip() == "7", done.stderr
