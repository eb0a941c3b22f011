"""What ``device=`` means where several may be used at once."""

from __future__ import annotations

from typing import Any

import pytest
from machines import CPU, GPU, Machine, fake, fake_platform

import pysw_cl
from pysw_cl.errors import DeviceError
from pysw_cl.opencl.several import devices_of


def named(device: Any) -> list[tuple[str, int]]:
    return [(one.info.index, one.info.compute_units) for one in devices_of(device)]


def two_platforms(machine: Machine) -> None:
    machine(
        fake_platform(
            "Portable Computing Language", fake(CPU, "pthread", 16), fake(GPU, "H200", 9, int_ptr=9)
        ),
        fake_platform("NVIDIA CUDA", fake(GPU, "H200", 132), fake(GPU, "T4", 40)),
        fake_platform("Intel(R) OpenCL", fake(CPU, "Xeon", 16)),
    )


def test_all_has_each_device_once(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pysw_cl.opencl.device.context_of", lambda device: object())
    two_platforms(machine)
    assert named("all") == [("0:1", 9), ("1:1", 40), ("0:0", 14)]
    assert named(["0:0", "1:1"]) == named("0:0, 1:1") == [("1:1", 40), ("0:0", 15)]
    assert named(["1:0"]) == [("1:0", 132)]
    assert devices_of("gpu") == ["gpu"]


@pytest.mark.parametrize(
    "device,message",
    [
        (["1:0", "1:0"], "1:0 and 1:0 are both H200, of NVIDIA CUDA; name it once"),
        ("gpu,1:0", "1:0 and 1:0 are both H200"),
        ("0:0,2:0", "both pthread, of Intel.R. OpenCL and Portable Comp"),
        ("0:1,1:0", "both H200, of NVIDIA CUDA and Portable Comp"),
        (["0:0", "7:0"], "7:0.*matches no usable device"),
        ([], "names no device"),
        (["1:0", "all"], "several devices, which a search and a single pair use"),
        ("1:0,", "names no device"),
    ],
)
def test_devices_that_cannot_be_used_together(machine: Machine, device: Any, message: str) -> None:
    two_platforms(machine)
    with pytest.raises(DeviceError, match=message):
        devices_of(device)


@pytest.mark.parametrize("device", ["all", "0:0,1:0", ["0:0"], "ALL/2"])
def test_other_functions_take_one_device(device: Any) -> None:
    with pytest.raises(DeviceError, match="several devices, which a search and a single pair use"):
        pysw_cl.align_many([("ACGT", "ACGT")], device=device)


def test_a_pair_on_devices_that_are_not_alike(machine: Machine) -> None:
    two_platforms(machine)
    with pytest.raises(DeviceError, match=r"H200 and pthread.* are not alike"):
        pysw_cl.align("ACGT", "ACGT", device="0:0,1:0")


def test_a_pair_on_all_devices_of_one_kind() -> None:
    assert pysw_cl.align("ACGT", "ACGGT", device="all").score == 3


def test_threads_of_all() -> None:
    (one,) = (one for one in devices_of("all/1") if one.info.kind == "cpu")
    assert one.info.compute_units == 1
    hits = next(pysw_cl.search("MKVLA", ["MKVLA", "AAA"], device="all"))
    assert hits[0].number == 0
