"""What ``device="auto"`` means: by the model, and by what calls took."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np
import pytest

import pysw_cl
from pysw_cl.engines import registry
from pysw_cl.engines.registry import Kind, attempts, by_time
from pysw_cl.errors import DeviceError, DeviceMemoryError, RecomputedWarning
from pysw_cl.opencl.device import Runtime, get_runtime, runtimes_to_choose_from
from pysw_cl.planning.profiles.profile import Profile
from pysw_cl.scoring.scoring import cached_scoring, make_scoring

DNA = cached_scoring((1, -3), (3, 2), None, "error")
KIND = Kind(2000, 3000, DNA, "local", "score", (False,) * 4, False)


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

    def made_once(self, name: str, make: Callable[[Any], Any]) -> Any:
        return make(self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The devices that there are; a test fills it."""
    found = list[Any]()

    def to_choose_from(device: Any) -> list[Any]:
        return found if device == "auto" else []

    def runtime_of(device: Any) -> Any:
        return device if isinstance(device, Device) else get_runtime(device)

    monkeypatch.setattr(registry, "get_runtime", runtime_of)
    monkeypatch.setattr(registry, "runtimes_to_choose_from", to_choose_from)
    monkeypatch.setattr(registry, "_known", WeakKeyDictionary())
    return found


def chosen(kind: Kind) -> Any:
    """The device that "auto" means for a kind of job."""
    return by_time("auto", kind)[0][0]


def test_small_jobs_and_large_ones(devices: list[Any]) -> None:
    """The near device begins sooner, the fast one is done sooner; builds count."""
    fast, near = Device(1e-13), Device(1e-10)
    devices += [fast, near]
    assert chosen(KIND._replace(m=200, n=300)) is near
    assert chosen(KIND._replace(m=100_000, n=100_000)) is fast
    fast.programs = {}
    assert chosen(KIND._replace(m=20_000, n=20_000)) is near
    assert chosen(KIND._replace(m=10**6, n=10**6)) is fast


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The sizes that the model was asked about."""
    found = list[tuple[int, int]]()

    def foreseen(_: Runtime, kind: Kind) -> tuple[float, float]:
        found.append((kind.m, kind.n))
        return 1.0, 1.0

    monkeypatch.setattr(registry, "foreseen_on", foreseen)
    return found


def test_calls_of_about_one_size_share_a_choice(
    devices: list[Any], asked: list[tuple[int, int]]
) -> None:
    """To make it takes longer than to align a short pair."""
    devices += [Device(1e-10), Device(1e-10)]
    for m, n in ((2000, 31), (1985, 31), (2047, 31), (2048, 31), (2000, 30), (0, 1)):
        assert chosen(KIND._replace(m=m, n=n)) is devices[0]
    assert asked[::2] == asked[1::2] == [(1984, 31), (2048, 31), (1984, 30), (0, 1)]


def test_equal_scorings_share_a_choice(devices: list[Any], asked: list[tuple[int, int]]) -> None:
    """Those of a matrix as an array are made for each call."""
    devices += [Device(1e-10), Device(1e-10)]
    letters = "ACGT"
    for gap_open in (3, 3, 3, 4):
        scores = np.eye(4, dtype=np.int32) * 5 - 4
        scores[0, 1] = scores[1, 0] = -2
        made = make_scoring((scores, letters), (gap_open, 1))
        assert chosen(KIND._replace(scoring=made)) is devices[0]
    assert len(asked) == 4


def on_best(device: Any, kind: Kind, call: Callable[[Any], Any]) -> Any:
    """What a call gives on the device that it runs on."""
    for attempt in attempts(device, kind):
        with attempt as runtime:
            return call(runtime)
    raise AssertionError("no device was tried")


class Calls:
    """Calls of two devices, "a" and "b", that the model foresees to take one second and two, after
    a first use of three seconds."""

    def __init__(self, devices: list[Any], monkeypatch: pytest.MonkeyPatch, **seconds: float):
        self.devices, self.seconds = {"a": Device(1e-10), "b": Device(1e-10)}, seconds
        devices[:] = self.devices.values()
        self.now = 0.0
        monkeypatch.setattr(registry.time, "perf_counter", lambda: self.now)

        def foreseen(device: Any, kind: Kind) -> tuple[float, float]:
            return kind.m / 1984 * (1.0 if device is self.devices["a"] else 2.0), 3.0

        monkeypatch.setattr(registry, "foreseen_on", foreseen)

    def call(
        self, device: str = "auto", m: int = 2000, builds: bool = False, fails: str = ""
    ) -> str:
        """Which one a call was done by."""

        def done(runtime: Any) -> str:
            name = next(name for name, one in self.devices.items() if one is runtime)
            if name in fails:
                raise DeviceError(name)
            if builds:
                runtime.programs[len(runtime.programs) + 1] = 1
            self.now += self.seconds[name] * m / 2000
            return name

        return on_best(self.devices.get(device, device), KIND._replace(m=m), done)

    def calls(self, count: int, device: str = "auto", m: int = 2000) -> set[str]:
        return {self.call(device, m) for _ in range(count)}


def test_no_call_is_made_to_learn_from(devices: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the other one would take, and whatever all calls take beside their sweep."""
    for seconds in (0.1, 1.0, 5.0):
        assert Calls(devices, monkeypatch, a=seconds, b=0.01).calls(500) == {"a"}


def test_calls_that_name_a_device_tell(devices: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of each, of about the same size; before that the model does."""
    calls = Calls(devices, monkeypatch, a=0.1, b=0.05)
    assert calls.calls(20) == {"a"}
    assert calls.calls(2, "b") == {"b"} and calls.calls(1) == {"a"}
    assert calls.calls(1, "b") == {"b"} and calls.calls(20) == {"b"}
    assert calls.calls(20, m=1100) == {"b"}  # its octave
    assert calls.calls(20, m=5000) == {"a"}


def test_one_call_that_was_held_up_does_not_count(
    devices: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Calls(devices, monkeypatch, a=1.0, b=1.9)
    calls.call()
    for name in "abab":
        calls.calls(2, name)
    calls.seconds["a"] = 50.0
    calls.call()
    calls.seconds["a"] = 1.0
    assert calls.calls(20) == {"a"}


def test_builds_do_not_count(devices: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls(devices, monkeypatch, a=1.0, b=1.9)
    calls.call()
    for name in "ab":
        calls.calls(3, name)
    calls.seconds["a"] = 90.0
    for _ in range(9):
        assert calls.call("a", builds=True) == "a"
    assert calls.call() == "a"


def test_what_slowed_a_device_down_may_be_over(
    devices: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Calls(devices, monkeypatch, a=3.0, b=1.9)
    calls.call()
    for name in "ab":
        calls.calls(5, name)
    assert calls.call() == "b"
    calls.now += registry.LASTING
    assert calls.calls(5) == {"a"}


def test_a_device_that_fails_is_passed_over(
    devices: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And told of, once; if all fail the last error is raised."""
    calls = Calls(devices, monkeypatch, a=1.0, b=2.0)
    with pytest.raises(DeviceError, match="a"):
        calls.call("a", fails="a")  # it was asked for
    with pytest.warns(RecomputedWarning, match="failed, and another device is used"):
        assert calls.call(fails="a") == "b"
    assert calls.calls(20) == {"b"}
    with pytest.warns(RecomputedWarning), pytest.raises(DeviceError, match="a"):
        calls.call(fails="ab")  # the other one now, too, and it is the last
    with pytest.warns(RecomputedWarning), pytest.raises(DeviceError, match="b"):
        calls.call(m=5000, fails="ab")


def test_a_device_that_lacks_memory_is_not(
    devices: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its error says what to do."""
    Calls(devices, monkeypatch, a=1.0, b=2.0)

    def call(_: Any) -> None:
        raise DeviceMemoryError("too large")

    with pytest.raises(DeviceMemoryError):
        on_best("auto", KIND, call)


def test_threads(devices: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls(devices, monkeypatch, a=1e-6, b=1e-6)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(calls.call, ["auto", "a", "b", "auto"] * 500))
    finally:
        sys.setswitchinterval(interval)
    assert len(found) == 2000


def test_calls_are_timed(devices: list[Any]) -> None:
    """Not those of sizes that nobody left to the program, of a plan of their own, without pruning,
    or with their kernels measured: these take another time."""
    runtime, other = get_runtime("auto"), Device(1e-10)
    devices += [runtime, other]

    def noted(**options: Any) -> dict[str, int]:
        pysw_cl.align("ACGTTGCA" * 9, "ACGTTGCA" * 9, **options)
        known = registry._known.get(runtime, {})
        return {key[5]: len(one.ratios) for key, one in known.items()}

    assert not noted(device=runtime)
    for output in ("path", "score"):
        scoring = cached_scoring((1, -3), None, None, "error")
        chosen(KIND._replace(m=72, n=72, scoring=scoring, output=output))
        pysw_cl.align("ACGTTGCA" * 9, "ACGTTGCA" * 9, output=output, plan={})  # builds
    for options in ({"prune": False}, {"plan": {"alpha": 1}}, {"kernel_times": True}):
        assert not sum(noted(device=runtime, **options).values())
    assert noted(device=runtime) == {"path": 1, "score": 0}
    assert noted(device=runtime, output="score") == {"path": 1, "score": 1}
    assert noted(device=runtime.info.index)["path"] == 2


def test_a_broken_device_and_its_calls(devices: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """`align` and its plan say which device it was, `plan` what the others would take."""
    runtime, broken = get_runtime("auto"), Device(1e-10)
    seconds = {runtime: (2.0, 0.0), broken: (1.0, 0.0)}
    monkeypatch.setattr(registry, "foreseen_on", lambda device, kind: seconds[device])

    def fail() -> None:
        raise DeviceError("no device any more")

    devices += [broken, runtime]
    for module in ("api.predict", "engines.registry", "opencl.several"):
        monkeypatch.setattr(f"pysw_cl.{module}.get_runtime", registry.get_runtime)
    said = pysw_cl.plan(72, 72)
    assert said.devices == {runtime.info.name: 2.0} and "; 2 s on " in str(said)
    monkeypatch.setattr(Device, "made_once", lambda self, *what: fail())
    monkeypatch.setattr(Device, "context", property(lambda self: fail()), raising=False)
    with pytest.warns(RecomputedWarning, match="no device any more") as warned:
        found = pysw_cl.align("ACGTTGCA" * 9, "ACGTTGCA" * 9)
    assert found.score == 72 and found.plan.device == runtime.info.name
    assert [one.filename for one in warned] == [__file__]
    assert pysw_cl.align("ACGTTGCA" * 9, "ACGTTGCA" * 9).score == 72


def test_nothing_keeps_a_device(devices: list[Any]) -> None:
    """They have to go before their drivers do."""
    devices += [Device(1e-10), Device(2e-10)]
    on_best("auto", KIND, lambda device: None)
    gone = [ref(one) for one in devices]
    devices.clear()
    gc.collect()
    assert [one() for one in gone] == [None, None]


def test_who_leaves_the_choice_to_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    assert runtimes_to_choose_from("cpu") == runtimes_to_choose_from(get_runtime("auto")) == []
    for variable in ("PYSW_CL_DEVICE", "PYOPENCL_CTX"):
        monkeypatch.delenv(variable, raising=False)
    kinds = [runtime.info.kind for runtime in runtimes_to_choose_from(" Auto ")]
    assert kinds and len(set(kinds)) == len(kinds)
    monkeypatch.setenv("PYSW_CL_DEVICE", "0:0")
    assert runtimes_to_choose_from("auto") == []
