"""What ``device="auto"`` means: by the model, and by what calls took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import pytest

import pysw_cl
from pysw_cl.engines import choose_device
from pysw_cl.engines.choose_device import Foreseen, Jobs, Watch, device_for
from pysw_cl.opencl.device import Runtime, get_runtime, runtimes_to_choose_from
from pysw_cl.planning.profiles.profile import Profile
from pysw_cl.scoring.scoring import cached_scoring

DNA = cached_scoring((1, -3), (3, 2), None, "error")
JOBS = (2000, 3000, DNA, "local", "score", False)


class Device:
    """Stands for a runtime, with a time of its own for each cell."""

    def __init__(self, cell: float, used: bool = True) -> None:
        self._runtime = runtime = get_runtime("auto")
        self.programs: dict[Any, Any] = {1: 1} if used else {}
        times = {
            "wavefront": {"column": 1024 * cell, "row": 0.0},
            "held": {"cell": cell, "launch": 1e-3 if cell > 1e-11 else 1e-2},
            "call": {"call": 1e-3 if cell > 1e-11 else 1e-2},
        }
        self._profile = Profile(replace(runtime.identity, driver=str(cell)), "", {}, times)

    def profile(self) -> tuple[Profile, str]:
        return self._profile, "made here"

    def kept(self, name: str, make: Callable[[], Any]) -> Any:
        return make()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The devices that there are; a test fills it."""
    found = list[Any]()

    def to_choose_from(device: Any) -> list[Any]:
        return found if device == "auto" else []

    monkeypatch.setattr(choose_device, "runtimes_to_choose_from", to_choose_from)
    monkeypatch.setattr(choose_device, "_latest", None)
    monkeypatch.setattr(choose_device, "_known", {})
    monkeypatch.setattr(choose_device, "_experience", {})
    monkeypatch.setattr(choose_device, "_used", WeakKeyDictionary())
    yield found


def test_small_jobs_and_large_ones(devices: list[Any]) -> None:
    """The near device begins sooner, the fast one is done sooner; builds count."""
    fast, near = Device(1e-13), Device(1e-10)
    devices += [fast, near]
    assert device_for("auto", 200, 300, DNA, "local") is near
    assert device_for("auto", 100_000, 100_000, DNA, "local") is fast
    fast.programs = {}
    assert device_for("auto", 20_000, 20_000, DNA, "local") is near
    assert device_for("auto", 10**6, 10**6, DNA, "local") is fast


def test_calls_of_about_one_size_share_a_choice(
    devices: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To make it takes longer than to align a short pair."""
    asked = list[tuple[int, int]]()

    def foreseen(_: Runtime, jobs: Jobs) -> Foreseen:
        asked.append((jobs.m, jobs.n))
        return Foreseen(1.0, 1.1, 1.0, frozenset())

    devices += [get_runtime("auto")] * 2
    monkeypatch.setattr(Foreseen, "of", foreseen)
    for m, n in ((2000, 31), (1985, 31), (2047, 31), (2048, 31), (2000, 30), (0, 1)):
        assert device_for("auto", m, n, DNA, "local") is devices[0]
    assert asked[::2] == asked[1::2] == [(1984, 31), (2048, 31), (1984, 30), (0, 1)]


class Calls:
    """Calls of two devices, "a" and "b", that the model foresees to take one and two seconds, up to
    half as long again, after one second for a first use."""

    def __init__(self, devices: list[Any], monkeypatch: pytest.MonkeyPatch, **seconds: float):
        self.devices, self.seconds = {"a": Device(1e-10), "b": Device(1e-10)}, seconds
        self.unsure = 1.5
        devices[:] = self.devices.values()

        def foreseen(device: Any, jobs: Jobs) -> Foreseen:
            seconds = jobs.m / 1984 * (1.0 if device is self.devices["a"] else 2.0)
            return Foreseen(seconds, self.unsure, 1.0, frozenset({("strips", jobs.output)}))

        monkeypatch.setattr(Foreseen, "of", foreseen)

    def call(self, device: str = "auto", builds: bool = False, m: int = 2000) -> str:
        """Which one a call was done by."""
        jobs = (m, *JOBS[1:])
        chosen = device_for("auto", *jobs) if device == "auto" else self.devices[device]
        name = next(name for name, one in self.devices.items() if one is chosen)
        watch = Watch(chosen, *jobs)
        if builds:
            chosen.programs[len(chosen.programs) + 1] = 1
        watch.took(self.seconds[name] * m / 2000)
        return name

    def calls(self, count: int) -> Counter[str]:
        return Counter(self.call() for _ in range(count))


def test_the_faster_of_two_is_found(devices: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the model expects, if its interval leaves it open."""
    calls = Calls(devices, monkeypatch, a=1.0, b=0.8)
    assert [calls.call() for _ in range(16)] == ["a"] * 5 + ["b"] * 11


def test_what_the_model_is_sure_of_is_not_tried(
    devices: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Calls(devices, monkeypatch, a=1.0, b=0.1)
    calls.unsure = 1.3
    assert calls.calls(600) == {"a": 600}


def test_a_slower_device_is_tried_a_little(
    devices: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until its least time is longer; and again when that is forgotten."""
    calls = Calls(devices, monkeypatch, a=1.0, b=1.2)
    assert calls.calls(200) == {"a": 195, "b": 5}
    assert calls.calls(200) == {"a": 195, "b": 5}
    calls = Calls(devices, monkeypatch, a=1.0, b=5.0)
    assert calls.calls(200) == {"a": 199, "b": 1}


def test_what_a_first_use_may_take_is_spent_before(
    devices: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Builds cost a second: calls of a millisecond have to be many."""
    calls = Calls(devices, monkeypatch, a=0.001, b=0.0005)
    assert calls.calls(1000) == {"a": 1000}
    assert calls.calls(100)["b"] > 90


def test_kernels_that_were_used_need_no_build(
    devices: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Calls(devices, monkeypatch, a=0.001, b=0.0005)
    device_for("auto", 500, *JOBS[1:])
    calls.call("b", m=500)
    assert [calls.call() for _ in range(16)] == ["a"] * 5 + ["b"] * 11


def test_about_equal_sizes_share_what_was_learned(
    devices: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Calls(devices, monkeypatch, a=1.0, b=0.8)
    assert [calls.call(m=1024 + 64 * k) for k in range(16)] == ["a"] * 5 + ["b"] * 11
    assert calls.call(m=5000) == "a"


def test_builds_do_not_count(devices: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """They are over."""
    calls = Calls(devices, monkeypatch, a=1.0, b=0.8)
    device_for("auto", *JOBS)
    for name in ("a", "b"):
        calls.seconds = {"a": 9.0, "b": 90.0}
        calls.call(name, builds=True)
    calls.seconds = {"a": 1.0, "b": 0.8}
    assert [calls.call() for _ in range(16)] == ["a"] * 5 + ["b"] * 11


def test_what_all_calls_take_beside_the_sweep(
    devices: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths take as much again on each device: what one takes does not make the other look good."""
    calls = Calls(devices, monkeypatch, a=5.0, b=11.0)
    calls.unsure = 1.3
    assert calls.calls(100) == {"a": 100}


def test_calls_that_name_a_device_tell_as_much(
    devices: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Calls(devices, monkeypatch, a=0.001, b=0.0005)
    device_for("auto", *JOBS)
    for _ in range(5):
        calls.call("a"), calls.call("b")
    assert calls.calls(20) == {"b": 20}


def test_a_device_that_has_become_slow(devices: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Other programs use its cores, for a while."""
    calls = Calls(devices, monkeypatch, a=1.0, b=1.4)
    assert calls.calls(100)["a"] == 95
    calls.seconds = {"a": 2.0, "b": 1.4}
    assert calls.calls(100)["b"] > 90
    calls.seconds = {"a": 1.0, "b": 1.4}
    assert calls.calls(600)["a"] > 250


def test_calls_are_timed(devices: list[Any]) -> None:
    """Not those of sizes that nobody left to the program, of a plan of their own, without pruning,
    or with their kernels measured: these take another time."""
    runtime, other = get_runtime("auto"), Device(1e-10)
    other._runtime = runtime
    devices += [runtime, other]

    def noted(**options: Any) -> dict[str, int]:
        pysw_cl.align("ACGTTGCA" * 9, "ACGTTGCA" * 9, **options)
        return {key[4]: one.count for key, one in choose_device._experience.items()}

    assert not noted(device=runtime)
    for output in ("path", "score"):
        device_for("auto", 72, 72, cached_scoring((1, -3), None, None, "error"), "local", output)
    for options in ({"prune": False}, {"plan": {"alpha": 1}}, {"kernel_times": True}):
        assert not sum(noted(device=runtime, **options).values())
    assert noted(device=runtime) == {"path": 1, "score": 0}
    assert noted(device=runtime, output="score") == {"path": 1, "score": 1}
    assert noted(device=runtime.info.index)["path"] == 2
    [one] = [one for key, one in choose_device._experience.items() if key[4] == "path"]
    assert 0 < one.spent < 60 and 1 <= len(one.ratios[0]) <= 2


def test_who_leaves_the_choice_to_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    assert runtimes_to_choose_from("cpu") == runtimes_to_choose_from(get_runtime("auto")) == []
    for variable in ("PYSW_CL_DEVICE", "PYOPENCL_CTX"):
        monkeypatch.delenv(variable, raising=False)
    kinds = [runtime.info.kind for runtime in runtimes_to_choose_from(" Auto ")]
    assert kinds and len(set(kinds)) == len(kinds)
    monkeypatch.setenv("PYSW_CL_DEVICE", "0:0")
    assert runtimes_to_choose_from("auto") == []
