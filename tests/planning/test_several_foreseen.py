"""What several devices that are alike take for one pair, foreseen; no device is needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import pysw_cl
from pysw_cl.cli.main import main
from pysw_cl.errors import DeviceError
from pysw_cl.opencl import several
from pysw_cl.opencl.several import meant
from pysw_cl.planning.model.several import as_free, in_turn
from pysw_cl.planning.profiles.profile import Identity, Profile, save

M = 1_000_000
RANDOM: dict[str, Any] = {"output": "ends", "prune": False}
DISTANT: dict[str, Any] = {"output": "score", "mode": "global"}
SCORING: dict[str, Any] = {"sub_score": (1, -3), "gap_cost": (3, 2)}


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever devices there are, none is called like those that are foreseen."""
    usual = several.get_runtime

    def found(device: Any) -> Any:
        if str(device).lower().startswith(("nvidia", "h200", "amd")):
            raise DeviceError(f"{device} matches no usable device")
        return usual(device)

    monkeypatch.setattr(several, "get_runtime", found)


@pytest.mark.parametrize(
    ("side", "how", "one", "two", "four"),
    [
        (5 * M, RANDOM, 4.53, 2.52, 1.50),
        (12 * M, RANDOM, 25.1, 12.8, 6.67),
        (5 * M, DISTANT, 4.65, 2.64, 1.57),
    ],
)
def test_as_was_measured_on_h200(side: int, how: Any, one: float, two: float, four: float) -> None:
    alone, both, all_four = (
        pysw_cl.predict(side, side, device=device, **how, **SCORING)
        for device in ("NVIDIA H200", "2xNVIDIA H200", "4xNVIDIA H200")
    )
    assert alone.seconds == pytest.approx(one, rel=0.06)
    assert both.seconds == pytest.approx(two, rel=0.06)
    assert all_four.seconds == pytest.approx(four, rel=0.06)
    assert (alone.devices, alone.efficiency, both.devices) == (1, 1.0, 2)
    assert both.efficiency == pytest.approx(alone.seconds / (2 * both.seconds))
    assert both.efficiency == pytest.approx(one / (2 * two), rel=0.1)


@pytest.mark.parametrize("output", ["ends", "path"])
@pytest.mark.parametrize("devices", [2, 3, 4, 8])
@pytest.mark.parametrize("sides", [(3 * M, 4 * M), (12 * M, 12 * M), (33 * M, 47 * M)])
def test_seconds_go_somewhere(sides: tuple[int, int], devices: int, output: Any) -> None:
    said = pysw_cl.predict(*sides, device=f"{devices}xH200", output=output, strand="both")
    assert said.parts["sweep"] == pytest.approx(sum(said.shares.values()))
    assert all(seconds >= -1e-9 for seconds in said.shares.values())
    assert 0.3 < said.efficiency < 1.02 and said.plan.B <= 1584
    assert said.limit in ("rounds", "fill", "edges", "tiles")
    assert said.gcups < said.gcups_limit
    assert said.memory > 0 and said.too_large is None


def test_small_pairs_are_computed_by_one_device() -> None:
    one, four = (pysw_cl.predict(M, M, device=name, output="score") for name in ("H200", "4xH200"))
    assert four.seconds == one.seconds and four.shares == {}
    assert four.efficiency == pytest.approx(1 / 4) and four.limit == "size"


def test_a_path_is_added_as_for_one_device() -> None:
    path: dict[str, Any] = {"output": "path", "mode": "global"}
    one, two = (pysw_cl.predict(5 * M, 5 * M, device=name, **path) for name in ("H200", "2xH200"))
    assert one.parts["path"] == two.parts["path"] > 0.1


def alike(letters: int) -> tuple[np.ndarray, np.ndarray]:
    """Two sequences, of one of which 5% of the letters are drawn anew."""
    rng = np.random.default_rng(2)
    a = rng.choice(np.frombuffer(b"ACGT", np.uint8), letters)
    return a, np.where(rng.random(letters) < 0.05, rng.permutation(a), a)


@pytest.mark.parametrize(("count", "taken"), [(1, 4.02), (2, 2.23), (4, 1.99)])
def test_alike_sequences_as_was_measured_on_h200(count: int, taken: float) -> None:
    said = pysw_cl.predict(*alike(5 * M), device=f"{count}xH200", output="score", **SCORING)
    assert said.seconds == pytest.approx(taken, rel=0.1)


def test_alike_sequences_have_low_strips() -> None:
    rng, (a, b) = np.random.default_rng(3), alike(3 * M)
    unlike, like = (
        pysw_cl.predict(a, one, device="2xH200", output="score") for one in (rng.permutation(a), b)
    )
    assert unlike.plan.alpha > 16 >= like.plan.alpha


def test_cpus_take_the_tiles_that_are_ready() -> None:
    one, two, many = (
        pysw_cl.predict(200_000, 300_000, device=name, output="score")
        for name in ("cpu/1", "2xcpu/1", "8xcpu/1")
    )
    assert two.plan.B == one.plan.B and {"cells", "tiles", "fill"} == set(two.shares)
    assert one.seconds / 2 < two.seconds < 0.8 * one.seconds
    assert many.efficiency < two.efficiency < 1
    small = pysw_cl.predict(1000, 9000, device="2xcpu/1", output="score")
    assert small.limit == "size"


def simulated(seconds: Sequence[Sequence[float]]) -> float:
    """With as many devices as rows, tiles wait for those above and to the left alone."""
    ends = np.zeros((len(seconds) + 1, len(seconds[0]) + 1))
    for row, tiles in enumerate(seconds):
        for column, taken in enumerate(tiles):
            ends[row + 1, column + 1] = max(ends[row, column + 1], ends[row + 1, column]) + taken
    return float(ends[-1, -1])


def test_free_devices() -> None:
    rng = np.random.default_rng(4)
    for shape in ((1, 1), (2, 3), (7, 4), (5, 30)):
        even = np.ones(shape).tolist()
        assert as_free(even, shape[0]) == simulated(even)
        seconds = rng.uniform(0.5, 2, shape).tolist()
        whole, alone = sum(map(sum, seconds)), simulated(seconds)
        assert as_free(seconds, 1) == pytest.approx(whole)
        for devices in (2, 3):
            least = max(whole / devices, alone)
            assert least - 1e-9 <= as_free(seconds, devices) <= whole / devices + alone


def test_tiles_in_turn() -> None:
    """One round of all groups; a group more takes another; edges that are late are in the way."""
    assert in_turn([4, 4], 4, 2, 1.0, 0.0, 0.0) == 1
    assert in_turn([4, 4, 4, 4], 4, 2, 1.0, 0.0, 0.0) == 2
    assert in_turn([5, 4], 4, 2, 1.0, 0.0, 0.0) == 2
    # tiles of 5 and 12 million rows on two H200, of which some groups had to wait for a round
    assert in_turn([76, 76, 76, 33], 132, 2, 1.0, 0.0, 0.0) == 2
    assert in_turn([36] * 21, 132, 2, 1.0, 0.0, 0.0) == 4
    assert in_turn([4, 4], 4, 2, 1.0, 0.01, 0.0) == pytest.approx(1.08)
    assert in_turn([4, 4], 4, 2, 1.0, 0.01, 0.2) == pytest.approx(1.28)


@pytest.mark.parametrize("device", ["NVIDIA T4", "2xNVIDIA T4", "AMD", "3x 7xH200"])
def test_no_profile(device: str) -> None:
    with pytest.raises(DeviceError, match=r"profiles of 'NVIDIA H200'"):
        pysw_cl.predict(M, M, device=device)


def test_a_device_that_nobody_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pysw_cl.opencl.device.Runtime.profile", lambda self: (Profile(), "none"))
    with pytest.raises(DeviceError, match=r"nobody has measured .* profiles of 'NVIDIA H200'"):
        pysw_cl.predict(M, M, device="2xcpu")
    assert pysw_cl.predict(M, M, device="cpu").seconds > 0


@pytest.mark.usefixtures("profile_folder")
def test_a_profile_that_the_user_has() -> None:
    said = Identity(
        "AMD Instinct", "AMD Accelerated Parallel Processing", "AMD", "gfx90a", "1", "gpu", 104
    )
    times = {"wavefront/packed": {"column": 1e-7, "row": 1e-8}, "call": {"call": 1e-3}}
    save(Profile(said, "", {}, times, 0.2, memory=64 << 30))
    runtime, count = meant("2xInstinct")
    assert (count, runtime.facts.memory, runtime.info.lanes) == (2, 64 << 30, "packed")
    assert "the user's" in pysw_cl.predict(M, M, device="2xAMD Instinct").source


def test_counts() -> None:
    for text, count in (("3 x nvidia h200", 3), ("1XH200", 1), ("H200", 1)):
        runtime, found = meant(text)
        assert (found, runtime.info.compute_units, runtime.info.name) == (count, 132, "NVIDIA H200")


def test_the_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", "5M", "5M", "--output", "score", "--device", "2xNVIDIA H200"]) == 0
    said = capsys.readouterr().out
    for words in (
        "NVIDIA H200",
        "devices:   2, 90%",
        "limited by edges (cells ",
        "cells ",
    ):
        assert words in said, said
    assert main(["plan", "5M", "5M", "--device", "NVIDIA H200"]) == 0
    assert "NVIDIA H200" in capsys.readouterr().out
    assert main(["plan", "5M", "5M", "--device", "2xNVIDIA H200"]) != 0
    assert "predict" in capsys.readouterr().err


def test_row_scans_take_the_tiles_that_are_ready() -> None:
    """Not where those of a GPU are so narrow that few groups have work."""
    how: dict[str, Any] = {"plan": {"engine": "rowscan"}, "output": "score"}
    for side, together in ((M, False), (3 * M, False), (5 * M, True), (10 * M, True)):
        one, two = (pysw_cl.predict(side, side, device=f"{k}xH200", **how) for k in (1, 2))
        assert two.way == "rows"
        assert (two.seconds < 0.8 * one.seconds) if together else (two.seconds == one.seconds)
