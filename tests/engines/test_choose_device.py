"""What ``device="auto"`` means: by the model, and by what calls took."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np
import pytest

import pysw_cl
from pysw_cl.engines import choose_device
from pysw_cl.engines.choose_device import Foreseen, Kind, device_for, watched
from pysw_cl.errors import DeviceError
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

    def kept(self, name: str, make: Callable[[], Any]) -> Any:
        return make()

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

    monkeypatch.setattr(choose_device, "get_runtime", runtime_of)
    monkeypatch.setattr(choose_device, "runtimes_to_choose_from", to_choose_from)
    monkeypatch.setattr(choose_device, "_known", {})
    monkeypatch.setattr(choose_device, "_experience", {})
    monkeypatch.setattr(choose_device, "_used", WeakKeyDictionary())
    return found


def test_small_jobs_and_large_ones(devices: list[Any]) -> None:
    """The near device begins sooner, the fast one is done sooner; builds count."""
    fast, near = Device(1e-13), Device(1e-10)
    devices += [fast, near]
    assert device_for("auto", KIND._replace(m=200, n=300)) is near
    assert device_for("auto", KIND._replace(m=100_000, n=100_000)) is fast
    fast.programs = {}
    assert device_for("auto", KIND._replace(m=20_000, n=20_000)) is near
    assert device_for("auto", KIND._replace(m=10**6, n=10**6)) is fast


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The sizes that the model was asked about."""
    found = list[tuple[int, int]]()

    def foreseen(_: Runtime, kind: Kind) -> Foreseen:
        found.append((kind.m, kind.n))
        return Foreseen(1.0, 0.9, 1.0, frozenset())

    monkeypatch.setattr(Foreseen, "of", foreseen)
    return found


def test_calls_of_about_one_size_share_a_choice(
    devices: list[Any], asked: list[tuple[int, int]]
) -> None:
    """To make it takes longer than to align a short pair."""
    devices += [get_runtime("auto")] * 2
    for m, n in ((2000, 31), (1985, 31), (2047, 31), (2048, 31), (2000, 30), (0, 1)):
        assert device_for("auto", KIND._replace(m=m, n=n)) is devices[0]
    assert asked[::2] == asked[1::2] == [(1984, 31), (2048, 31), (1984, 30), (0, 1)]


def test_equal_scorings_share_a_choice(devices: list[Any], asked: list[tuple[int, int]]) -> None:
    """Those of a matrix as an array are made for each call."""
    devices += [get_runtime("auto")] * 2
    letters = "ACGT"
    for gap_open in (3, 3, 3, 4):
        scores = np.eye(4, dtype=np.int32) * 5 - 4
        scores[0, 1] = scores[1, 0] = -2
        made = make_scoring((scores, letters), (gap_open, 1))
        assert device_for("auto", KIND._replace(scoring=made)) is devices[0]
    assert len(asked) == 4


class Calls:
    """Calls of two devices, "a" and "b", that the model foresees to take one second and two, or as
    little as 0.4 and 0.8, after a first use of three seconds."""

    def __init__(self, devices: list[Any], monkeypatch: pytest.MonkeyPatch, **seconds: float):
        self.devices, self.seconds = {"a": Device(1e-10), "b": Device(1e-10)}, seconds
        devices[:] = self.devices.values()
        self.unsure, self.now = 2.5, 0.0
        monkeypatch.setattr(choose_device.time, "perf_counter", lambda: self.now)

        def foreseen(device: Any, kind: Kind) -> Foreseen:
            seconds = kind.m / 1984 * (1.0 if device is self.devices["a"] else 2.0)
            kernels = frozenset({("strips", kind.output)})
            return Foreseen(seconds, seconds / self.unsure, 3.0, kernels)

        monkeypatch.setattr(Foreseen, "of", foreseen)

    def call(
        self,
        device: str = "auto",
        builds: bool = False,
        m: int = 2000,
        fails: str = "",
    ) -> str:
        """Which one a call was done by."""
        job = KIND._replace(m=m)
        watch = watched(self.devices.get(device, device), job)
        name = next(name for name, one in self.devices.items() if one is watch.device)
        with watch:
            if name == fails:
                raise DeviceError(name)
            if builds:
                watch.device.programs[len(watch.device.programs) + 1] = 1
            self.now += self.seconds[name] * m / 2000
        return name

    def calls(self, count: int) -> Counter[str]:
        return Counter(self.call() for _ in range(count))

    def used(self) -> Calls:
        """After a call of each on jobs of another size, so that nothing is to be built."""
        for name in ("a", "b"):
            device_for("auto", KIND._replace(m=500))
            self.call(name, m=500)
        return self


def test_the_faster_of_two_is_found(devices: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the model expects, if its interval leaves it open."""
    calls = Calls(devices, monkeypatch, a=1.0, b=0.8).used()
    found = [calls.call() for _ in range(300)]
    assert found[:20] == ["a"] * 20  # a trial is expected to take a second more: a twentieth of 20
    assert Counter(found[100:])["b"] > 190


def test_what_the_model_is_sure_of_is_not_tried(
    devices: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Calls(devices, monkeypatch, a=1.0, b=0.1).used()
    calls.unsure = 1.5
    assert calls.calls(600) == {"a": 600}


@pytest.mark.parametrize("seconds", [1.2, 1.9, 30.0])
def test_trials_take_a_twentieth_of_the_time(
    devices: list[Any], monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """On the whole, and but for the first one: how long that takes nobody knows."""
    calls = Calls(devices, monkeypatch, a=1.0, b=seconds).used()
    before = calls.now
    found = calls.calls(1000)
    assert 0 < found["b"] < 60
    assert calls.now - before < 1000 * 1.06


def test_what_a_first_use_may_take_is_earned_before(
    devices: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Builds cost three seconds: calls of a millisecond have to be very many."""
    calls = Calls(devices, monkeypatch, a=0.1, b=0.05)
    assert calls.calls(600) == {"a": 600}
    assert calls.calls(300)["b"] > 250


def test_builds_do_not_count(devices: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """They are over, and earn no trial."""
    calls = Calls(devices, monkeypatch, a=90.0, b=0.8)
    assert calls.call(builds=True) == "a"
    calls.seconds["a"] = 1.0
    assert calls.calls(50) == {"a": 50}


def test_about_equal_sizes_share_what_was_learned(
    devices: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Calls(devices, monkeypatch, a=1.0, b=0.8).used()
    sizes = [1024 + 64 * (k % 16) for k in range(300)]
    assert Counter([calls.call(m=m) for m in sizes][150:])["b"] > 140
    assert calls.call(m=5000) == "a"


def test_what_all_calls_take_beside_the_sweep(
    devices: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths take as much again on each device: what one takes does not make the other look good."""
    calls = Calls(devices, monkeypatch, a=5.0, b=11.0).used()
    assert calls.calls(1000)["b"] < 50
    assert device_for("auto", KIND) is calls.devices["a"]


def test_calls_that_name_a_device_tell_as_much(
    devices: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Calls(devices, monkeypatch, a=0.1, b=0.05)
    device_for("auto", KIND)
    for _ in range(5):
        calls.call("a")
        calls.call("b")
    assert calls.calls(20) == {"b": 20}


def test_a_device_that_has_become_slow(devices: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Other programs use its cores, for a while."""
    calls = Calls(devices, monkeypatch, a=1.0, b=1.4).used()
    assert calls.calls(200)["a"] > 190
    calls.seconds = {"a": 2.0, "b": 1.4}
    assert calls.calls(100)["b"] > 80
    calls.seconds = {"a": 1.0, "b": 1.4}
    assert calls.calls(1000)["a"] > 500


def test_a_device_that_fails(devices: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """In a trial: it is not tried again for such jobs.  If it is the fastest, everyone is told."""
    calls = Calls(devices, monkeypatch, a=1.0, b=0.5).used()
    assert calls.calls(20) == {"a": 20}
    with pytest.raises(DeviceError):
        calls.call(fails="b")
    assert calls.calls(300) == {"a": 300}
    for _ in range(3):
        with pytest.raises(DeviceError):
            calls.call(fails="a")
    assert Counter([calls.call(m=5000) for _ in range(200)])["b"] > 100


def test_only_timed_calls_are_trials(devices: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would notice how long others take."""
    calls = Calls(devices, monkeypatch, a=1.0, b=0.9).used()
    assert calls.calls(20) == {"a": 20}
    for _ in range(10):
        assert device_for("auto", KIND) is calls.devices["a"]
    assert watched("auto", KIND).device is calls.devices["b"]


def test_an_interrupted_trial_has_cost_its_time(
    devices: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Calls(devices, monkeypatch, a=1.0, b=0.9).used()
    assert calls.calls(20) == {"a": 20}
    with suppress(KeyboardInterrupt), watched("auto", KIND) as watch:
        assert watch.device is calls.devices["b"]
        calls.now += 5.0
        raise KeyboardInterrupt
    assert calls.calls(80) == {"a": 80}


def test_threads_that_forget(devices: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls(devices, monkeypatch, a=1e-6, b=1e-6).used()
    monkeypatch.setattr(choose_device, "FORGET", 2)
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
    with a checkpoint, or with their kernels measured: these take another time."""
    runtime, other = get_runtime("auto"), Device(1e-10)
    devices += [runtime, other]

    def noted(**options: Any) -> dict[str, int]:
        pysw_cl.align("ACGTTGCA" * 9, "ACGTTGCA" * 9, **options)
        return {key[6]: one.count for key, one in choose_device._experience.items()}

    assert not noted(device=runtime)
    for output in ("path", "score"):
        scoring = cached_scoring((1, -3), None, None, "error")
        device_for("auto", KIND._replace(m=72, n=72, scoring=scoring, output=output))
    for options in ({"prune": False}, {"plan": {"alpha": 1}}, {"kernel_times": True}):
        assert not sum(noted(device=runtime, **options).values())
    assert noted(device=runtime) == {"path": 1, "score": 0}
    assert noted(device=runtime, output="score") == {"path": 1, "score": 1}
    assert noted(device=runtime.info.index)["path"] == 2


def test_a_trial_that_fails_is_made_good(
    devices: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the device that would have been chosen."""
    runtime = get_runtime("auto")
    monkeypatch.setattr(Device, "profile", lambda self: runtime.profile())
    monkeypatch.setattr(Device, "kept", lambda self, *what: fail())

    def fail() -> None:
        raise DeviceError("no device any more")

    devices += [runtime, Device(1e-10)]
    monkeypatch.setattr(Foreseen, "of", lambda device, kind: Foreseen(1e-3, 1e-6, 0, frozenset()))
    for _ in range(9):
        assert pysw_cl.align("ACGTTGCA" * 9, "ACGTTGCA" * 9).score == 72
    assert [one.devices[1].failed for one in choose_device._experience.values()] == [True]


def test_nothing_keeps_a_device(devices: list[Any]) -> None:
    """They have to go before their drivers do."""
    devices += [Device(1e-10), Device(2e-10)]
    with watched("auto", KIND):
        pass
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
