"""What ``device=`` means where several may be used at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from machines import CPU, GPU, Machine, fake, fake_platform

import pysw_cl
from pysw_cl.cli.main import main
from pysw_cl.engines.plans import default_plan
from pysw_cl.engines.several import shares_of
from pysw_cl.errors import DeviceError, Stopped
from pysw_cl.opencl.several import alike, devices_of


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
        ([], "names no device; 'auto' lets"),
        ((), "names no device"),
        ([["1:0"], "1:1"], "several devices, which a search and a single pair use"),
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


PAIR = "ACGT", "ACGT"
#: What computes one pair on several devices, and what else takes a device.
PAIRS: dict[str, Callable[[Any], Any]] = {
    "align": lambda device: pysw_cl.align(*PAIR, device=device),
    "rowscan": lambda device: pysw_cl.align(*PAIR, device=device, plan={"engine": "rowscan"}),
    "align_top": lambda device: pysw_cl.align_top(*PAIR, device=device),
    "best_ends": lambda device: pysw_cl.best_ends(*PAIR, device=device),
}
OTHERS: dict[str, Callable[[Any], Any]] = {
    "align_many": lambda device: pysw_cl.align_many([PAIR], device=device),
    "search": lambda device: next(pysw_cl.search("ACGT", ["ACGT"], device=device)),
    "predict": lambda device: pysw_cl.predict(4, 4, device=device),
}
BAD = ["1:0,1:0", "0:1,1:0", "1:0,7:7", "1:0,", ",", [], (), ["1:0", ["1:1"]]]


@pytest.mark.parametrize("device", ["0:0,0:1", ["0:0", "0:1"]])
@pytest.mark.parametrize("name", PAIRS)
def test_a_pair_on_devices_that_are_not_alike(machine: Machine, name: str, device: Any) -> None:
    cpus = fake(CPU, "pthread", 16), fake(CPU, "small", 4)
    machine(fake_platform("Portable Computing Language", *cpus))
    first, other = "0:0 (pthread)", "0:1 (small)"
    said = re.escape(f"{first} and {other} are not alike") + ".*name only such devices"
    with pytest.raises(DeviceError, match=said):
        PAIRS[name](device)


def test_gpus_of_different_sizes_have_shares(machine: Machine) -> None:
    """Columns take as long on both; of those that are named by "all" the first kind is used."""
    two_platforms(machine)
    found, helper = alike(["1:1", "1:0"])
    assert [one.info.name for one in found] == ["T4", "H200"] and helper is None
    assert [one.info.name for one in alike("all")[0]] == ["H200"]
    plans = [default_plan(one) for one in found]
    few, many = (share.groups for share in shares_of(found, plans[0]))
    assert plans[0].B < plans[1].B and (few, many) == pytest.approx(
        [plans[0].B, plans[1].B], rel=0.01
    )
    fixed = replace(plans[0], B=7, B_fixed=True)
    assert [share.groups for share in shares_of(found, fixed)] == [7, 7]
    with pytest.raises(DeviceError, match="not alike"):
        alike(["1:1", "1:0"], equal=True)


@pytest.mark.parametrize("device", ["0:0,1:0", ["1:0", "0:0"], ["0:1", "2:0"]])
def test_a_cpu_beside_a_gpu(machine: Machine, device: Any) -> None:
    two_platforms(machine)
    found, helper = alike(device)
    assert [one.info.kind for one in found] == ["gpu"] and helper is not None
    assert helper.info.kind == "cpu" and helper.info.compute_units == 15
    with pytest.raises(DeviceError, match="not alike"):
        alike(["1:0", "1:1", "0:0"])
    assert alike("all")[1] is None


@pytest.mark.parametrize("name", [*PAIRS, *OTHERS])
def test_each_function_refuses_what_cannot_be_used(machine: Machine, name: str) -> None:
    two_platforms(machine)
    for device in BAD:
        with pytest.raises(DeviceError) as caught:
            (PAIRS | OTHERS)[name](device)
        assert "device" in str(caught.value) or "name it once" in str(caught.value)


@pytest.mark.parametrize("device", [[0, 1], ["cpu", None], [b"cpu"], (0.5,), [object()]])
@pytest.mark.parametrize("name", [*PAIRS, "search"])
def test_a_list_with_a_wrong_type(name: str, device: Any) -> None:
    said = f"must be a string or a pyopencl .* not {type(device[-1]).__name__}"
    with pytest.raises(DeviceError, match=said):
        (PAIRS | OTHERS)[name](device)


def test_a_saved_run_refuses_them_and_goes_on(tmp_path: Path) -> None:
    folder, how = tmp_path / "kept", {"engine": "reference", "tile_cells": 1000}
    with pytest.raises(Stopped):
        pysw_cl.align("ACGT" * 50, "ACGT" * 50, checkpoint=folder, plan=how, stop_after=0.0)
    for device in ("cpu,cpu", "0:0,99:0", [], [3]):
        with pytest.raises(DeviceError, match=r"continue with pysw_cl\.resume"):
            pysw_cl.resume(folder, device=device)
    assert pysw_cl.resume(folder, device="all").score == 200


@pytest.mark.parametrize("command", ["align", "ends", "search", "predict"])
def test_the_shell_says_it_in_a_line(
    machine: Machine, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two_platforms(machine)
    path = tmp_path / "a.fa"
    path.write_text(">a\nACGT\n")
    alike = [] if command in ("search", "predict") else ["0:0,1:0"]
    for device in [one for one in BAD if isinstance(one, str)] + alike:
        assert main([command, str(path), str(path), "--device", device]) == 1
        said = capsys.readouterr()
        assert not said.out and said.err.startswith("pysw-cl: ") and "Traceback" not in said.err
        assert said.err.count("\n") == 1


def test_a_pair_on_all_devices_of_one_kind() -> None:
    assert pysw_cl.align("ACGT", "ACGGT", device="all").score == 3


def test_threads_of_all() -> None:
    (one,) = (one for one in devices_of("all/1") if one.info.kind == "cpu")
    assert one.info.compute_units == 1
    hits = next(pysw_cl.search("MKVLA", ["MKVLA", "AAA"], device="all"))
    assert hits[0].number == 0
