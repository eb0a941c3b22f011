"""What the tuner measures: tiles, checked before they are timed; and what it tries on a device."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import device_has
from machines import GPU, Machine, fake, fake_platform

from pysw_cl.drivers import tuning
from pysw_cl.drivers.tuning import KINDS, REGISTERS, Subject, TileTimer, subjects_of, tile_of
from pysw_cl.engines.plans import default_plan
from pysw_cl.errors import BuildError, DeviceMemoryError, InternalError
from pysw_cl.opencl.device import Runtime, get_runtime
from pysw_cl.planning.plan import Plan
from pysw_cl.planning.profiles.profile import Profile
from pysw_cl.planning.tuning.strategies import Values
from pysw_cl.tiles.tile import Hit, TileJob, TileResult

pytestmark = pytest.mark.usefixtures("profile_folder")

START = {"B": 2}
DNA = ("dna", True)


def small(values: Values) -> tuple[Runtime, Plan]:
    """The device at hand with lanes that are built soon, and so many groups."""
    runtime = get_runtime()
    plan = replace(default_plan(runtime), lanes="vector32", T=4, alpha=2, chunk=7, alpha_fixed=True)
    return runtime, replace(plan, B=int(values["B"]))


def timer_of(setup: Any, m: int, n: int, case: tuple[str, bool] = DNA) -> TileTimer:
    """What times tiles of a subject that is set up so."""
    subject: Any = SimpleNamespace(setup=setup, start=START)
    return TileTimer(subject, case, m, n)


@pytest.mark.parametrize("case", list(product(KINDS, [True, False])))
def test_a_tile_is_timed(case: tuple[str, bool]) -> None:
    timer = timer_of(small, 90, 200, case)
    seconds = [timer({"B": B}) for B in (2, 3, 2)]
    assert all(0 < one < 5 for one in seconds)


def test_tiles_are_always_the_same() -> None:
    one, same, other = (
        tile_of(DNA, 50, 60),
        tile_of(DNA, 50, 60),
        tile_of(DNA, 50, 60, seed=2),
    )
    assert one.size == (50, 60)
    np.testing.assert_array_equal(one.query, same.query)
    assert (one.query != other.query).any()
    assert one.floor == 0 and tile_of(("protein", False), 5, 6).floor is None


class Wrong:
    """An engine whose tiles of some size are wrong."""

    def __init__(self, engine: Any, how: str, least: int) -> None:
        self.engine, self.how, self.least = engine, how, least

    def tile(self, job: TileJob) -> TileResult:
        found: TileResult = self.engine.tile(job)
        if job.size[1] < self.least:
            return found
        if self.how == "hit":
            (hit,) = found.hits
            return replace(found, hits=(Hit(hit.score, hit.row, hit.column + 1),))
        assert found.bottom is not None
        h = found.bottom.h.copy()
        h[-1] += 1
        return replace(found, bottom=replace(found.bottom, h=h))

    @property
    def kernel_seconds(self) -> dict[str, float]:
        seconds: dict[str, float] = self.engine.kernel_seconds
        return seconds


@pytest.mark.parametrize("how", ["hit", "edge"])
@pytest.mark.parametrize("least", [1, 500])
def test_a_wrong_result_has_no_time(monkeypatch: pytest.MonkeyPatch, how: str, least: int) -> None:
    """Of a small tile as well as of the timed one."""
    real = tuning.engine_for

    def engine_for(device: Any, plan: Plan, timed: bool) -> Any:
        engine = real(device, plan, timed)
        return Wrong(engine, how, least) if plan.B == 3 else engine

    monkeypatch.setattr(tuning, "engine_for", engine_for)
    timer = timer_of(small, 90, 500)
    assert timer(START) > 0
    with pytest.raises(InternalError, match="gives another result than"):
        timer({"B": 3})


def test_a_kernel_that_is_not_built() -> None:
    broken = get_runtime().having(Profile())
    broken.source_of = lambda name: "this is not OpenCL\n"
    with pytest.raises(BuildError, match="cannot build the kernel"):
        timer_of(lambda values: (broken, small(values)[1]), 90, 100)(START)


def test_a_device_without_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    device_has(monkeypatch, global_mem_size=1 << 20, max_mem_alloc_size=1 << 19)
    little = get_runtime().having(Profile())
    timer = timer_of(lambda values: (little, small(values)[1]), 1000, 200_000)
    with pytest.raises(DeviceMemoryError, match="out of memory"):
        timer(START)


def test_a_runtime_with_another_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its plans and its build options are those of the profile; programs are shared."""
    device_has(monkeypatch, register_option="-DREGISTERS={}")
    runtime = get_runtime()
    name = f"wavefront/{runtime.info.lanes}"
    own = Profile(parameters={name: {"chunk": 333}, "build": {"registers": 96}})
    other = runtime.having(own)
    assert other.profile() == (own, "given")
    assert default_plan(other).chunk == 333 != default_plan(runtime).chunk
    assert "-DREGISTERS=96" in other.options_of("registers")
    assert "REGISTERS" not in runtime.options_of("registers")
    assert other.timed().profile()[0] is own
    assert other.programs is runtime.programs and other.queue is not runtime.queue


def test_what_is_tried_on_the_device_at_hand() -> None:
    strips, scan = subjects_of(get_runtime()).values()
    for subject in (strips, scan):
        space = subject.space()
        assert space.possible(space.start)
        _, plan = subject.setup(space.start)
        assert (plan.B, plan.T, plan.alpha) == (subject.plan.B, subject.plan.T, subject.plan.alpha)
        assert plan.alpha_fixed
    assert not scan.used  # its times are unknown, so that no plan chooses it
    assert list(scan.space().candidates) == ["groups", "alpha"]
    space = strips.space()
    assert [one for one in space.candidates if one not in space.building] == ["groups", "chunk"]


@pytest.fixture
def nvidia(machine: Machine) -> Subject:
    """Strips on a device that says that it is NVIDIA's."""
    card = fake(
        GPU,
        "Card",
        100,
        vendor="NVIDIA Corporation",
        driver_version="1",
        compute_capability_major_nv=9,
        compute_capability_minor_nv=0,
        local_mem_size=4096,
        max_work_group_size=1024,
    )
    machine(fake_platform("NVIDIA CUDA", card))
    return next(iter(subjects_of(get_runtime()).values()))


def test_what_is_tried_on_nvidia(nvidia: Subject) -> None:
    space = nvidia.space()
    assert list(space.candidates) == ["groups", "alpha", "chunk", "registers"]  # T is the warp's
    assert nvidia.start == {"groups": 12, "alpha": 25, "chunk": 128, "registers": REGISTERS[-1]}
    assert {"registers", "chunk"} < space.building
    assert max(space.candidates["chunk"]) == 4096 // 8  # what local memory holds
    assert space.candidates["groups"] == [3, 6, 9, 12, 15, 18, 24, 36]


def test_registers_are_another_build(nvidia: Subject) -> None:
    start = nvidia.start
    limited, _ = nvidia.setup({**start, "registers": 96})
    assert "-cl-nv-maxrregcount=96" in limited.options_of("registers")
    assert "96" not in nvidia.runtime.options_of("registers")
    assert nvidia.setup({**start, "registers": 96})[0] is limited
    assert nvidia.setup(start)[0] is nvidia.runtime
    assert nvidia.parameters(start) == {
        "wavefront/packed": {"groups": 12, "alpha": 25, "chunk": 128}
    }
    assert nvidia.parameters({**start, "registers": 96})["build"] == {"registers": 96}


def test_tiles_fill_a_large_device(nvidia: Subject) -> None:
    m, n = next(size for size in nvidia.sizes() if nvidia.fills(*size))
    assert m >= 2 * nvidia.plan.device_rows and n >= nvidia.plan.pipeline_lag


def test_rows_of_a_query_profile_bound_alpha() -> None:
    """Longer lanes would compute proteins in 32 bits."""
    strips = next(iter(subjects_of(get_runtime()).values()))
    most = strips.plan.lane_set.scores.profile_rows
    assert not most or max(strips.space().candidates["alpha"]) == most
