"""One pair on a cluster, foreseen; no device is needed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import pysw_cl
from pysw_cl.cli.main import main
from pysw_cl.drivers.options import AlignOptions
from pysw_cl.engines.registry import setting_of
from pysw_cl.errors import DeviceError, InputError
from pysw_cl.opencl import several
from pysw_cl.planning.model import several as model
from pysw_cl.planning.model.several import Cluster, Network, as_free, of_worker, ways_left
from pysw_cl.planning.program import Given

M = 1_000_000
ENDS: dict[str, Any] = {"output": "ends", "prune": False}
CHROMOSOME = 249 * M, 228 * M
SLOW, USUAL, FAST = "1Gbit,1ms", "10Gbit,20us", "400Gbit,1us"


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever devices there are, none is called like the one that is foreseen."""
    usual = several.get_runtime

    def found(device: Any) -> Any:
        if str(device).lower().startswith(("nvidia", "h200")):
            raise DeviceError(f"{device} matches no usable device")
        return usual(device)

    monkeypatch.setattr(several, "get_runtime", found)


def given_of(device: str = "NVIDIA H200") -> Given:
    options = AlignOptions()
    return setting_of(several.meant(device)[0], None, options.scoring, options.mode)


@pytest.mark.parametrize(
    ("text", "bits", "latency"),
    [
        ("10Gbit,20us", 1e10, 2e-5),
        (" 1.5 Gbit/s , 3 ms ", 1.5e9, 3e-3),
        ("100Mbit,1s", 1e8, 1.0),
        ("1Tbit,500ns", 1e12, 5e-7),
        ("400Gbit", 4e11, Network.latency),
    ],
)
def test_networks(text: str, bits: float, latency: float) -> None:
    found = Network.parsed(text)
    assert (found.bits, found.latency) == pytest.approx((bits, latency))


@pytest.mark.parametrize("devices", [2, 3, 9])
def test_cuts_of_any_matrix(devices: int) -> None:
    given = given_of()
    for power in range(0, 52, 5):
        for m, n in ((2**power, 1), (2 ** (power // 2), 2 ** (power // 2)), (3, 2 ** (power // 2))):
            for length, cuts in zip((m, n), Cluster(devices).cuts(given, m, n), strict=True):
                assert (cuts[0], cuts[-1]) == (0, length)
                assert all(end > start for start, end in pairwise(cuts))


def test_cuts_of_what_takes_half_a_second() -> None:
    for seconds in np.linspace(0.2, 3, 60):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(model, "seconds_of", lambda given, m, n, s=seconds: s * m * n / 1e6)
            assert Cluster(2).cuts(given_of(), 1000, 1000)


@pytest.mark.parametrize(
    "text", ["", "fast", "10G", "0Gbit,1us", "10Gbit,20", "10Gbit;1us", 7, None]
)
def test_no_networks(text: Any) -> None:
    with pytest.raises(InputError, match="like 10Gbit,20us"):
        Network.parsed(text)


def step_by_step(seconds: Any, devices: int, scheduling: float, hurry: Any) -> float:
    """What `as_free` says, by looking at all tiles whenever a device is free."""
    down, across = seconds.shape
    ends, begun = np.full((down, across), np.inf), np.zeros((down, across), bool)
    now = scheduler = 0.0
    while True:
        ready = [
            (hurry(i, j), i, j)
            for i, j in np.ndindex(down, across)
            if not begun[i, j]
            and (i == 0 or ends[i - 1, j] <= now)
            and (j == 0 or ends[i, j - 1] <= now)
        ]
        running = int((begun & (ends > now)).sum())
        if ready and running < devices:
            _, i, j = min(ready)
            scheduler = max(now, scheduler) + scheduling
            begun[i, j], ends[i, j] = True, scheduler + seconds[i, j]
        elif running:
            now = float(ends[begun & (ends > now)].min())
        else:
            return float(ends[-1, -1])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("scheduling", [0.0, 0.2])
def test_virtual_time(seed: int, scheduling: float) -> None:
    rng = np.random.default_rng(seed)
    down, across = rng.integers(1, 8, 2)
    seconds, devices = rng.exponential(1.0, (down, across)) + 0.01, int(rng.integers(1, 6))
    ways = ways_left(seconds.tolist())
    assert as_free(seconds.tolist(), devices, scheduling, ways) == pytest.approx(
        step_by_step(seconds, devices, scheduling, lambda i, j: -ways[i][j])
    )
    assert as_free(seconds.tolist(), devices, scheduling) == pytest.approx(
        step_by_step(seconds, devices, scheduling, lambda i, _: i)
    )


def test_ways_left() -> None:
    assert ways_left([[1, 2, 3], [4, 5, 6]]) == [[16, 13, 9], [15, 11, 6]]


@pytest.mark.parametrize("devices", [2, 5, 16, 64, 512])
@pytest.mark.parametrize("sides", [CHROMOSOME, (12 * M, 7 * M), (3 * M, 200 * M), (M, 999)])
def test_sides_are_cut_whole(sides: tuple[int, int], devices: int) -> None:
    for cuts, length in zip(Cluster(devices).cuts(given_of(), *sides), sides, strict=True):
        assert cuts[0] == 0 and cuts[-1] == length
        assert all(a < b for a, b in pairwise(cuts))


@pytest.mark.parametrize("sides", [(1, 1), (1000, 1000), (100, 10 * M), (10 * M, 100)])
def test_small_and_thin_pairs_are_one_tile(sides: tuple[int, int]) -> None:
    assert Cluster(16).cuts(given_of(), *sides) == ([0, sides[0]], [0, sides[1]])
    alone, many = (
        pysw_cl.predict(*sides, device=name, network=USUAL, **ENDS) for name in ("H200", "16xH200")
    )
    assert many.seconds == alone.seconds and many.shares == {} and many.limit == "size"


def test_one_device_has_one_tile() -> None:
    assert Cluster(1).cuts(given_of(), *CHROMOSOME) == ([0, 249 * M], [0, 228 * M])
    alone, one = (pysw_cl.predict(*CHROMOSOME, device="H200", network=net) for net in (None, USUAL))
    assert one.seconds == alone.seconds and one.efficiency == 1


def test_a_cpu_has_tiles_of_seconds() -> None:
    rows, columns = Cluster(4).cuts(given_of("cpu/1"), M, M)
    assert 12 <= len(rows) - 1 <= 100 and 12 <= len(columns) - 1 <= 100
    assert max(b - a for a, b in pairwise(rows)) >= 30_000


@pytest.mark.parametrize("sides", [(60 * M, 60 * M), CHROMOSOME])
@pytest.mark.parametrize("devices", [2, 16])
def test_seconds_go_somewhere(sides: tuple[int, int], devices: int) -> None:
    found = [
        pysw_cl.predict(*sides, device=f"{devices}xH200", network=net, **ENDS)
        for net in (SLOW, USUAL, FAST)
    ]
    for one in found:
        assert set(one.shares) == {"cells", "tiles", "fill", "edges", "scheduler"}
        assert one.parts["sweep"] == pytest.approx(sum(one.shares.values()))
        assert one.devices == devices and 0.5 < one.efficiency < 1.02
        assert one.gcups < one.gcups_limit
    slow, usual, fast = (one.seconds for one in found)
    assert slow >= usual >= fast
    assert found[0].shares["edges"] > found[2].shares["edges"]


def test_workers_have_lanes_of_11_bits_early() -> None:
    given = given_of()
    assert of_worker(given).plan.tuning.engine.mixed_cells < given.plan.tuning.engine.mixed_cells


def test_the_shell(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["predict", "249M", "228M", "--output", "ends", "--devices", "16xNVIDIA H200"]
    assert main([*words, "--network", "10Gbit,20us"]) == 0
    said = capsys.readouterr().out
    for text in ("devices:   16, 9", "efficient, limited by ", "scheduler ", "TCUPS", "edges "):
        assert text in said, said
    assert main([*words, "--network", "slow"]) == 2
    assert "10Gbit,20us" in capsys.readouterr().err
    assert main(["predict", "1M", "1M", "--device", "16xH101", "--network", "10Gbit"]) != 0
    assert "NVIDIA H200" in capsys.readouterr().err
