"""Workers of one host take different GPUs."""

from __future__ import annotations

import gc
import os
import socket
import sys
from collections.abc import Iterator

import pytest
from machines import CPU, GPU, Machine, fake, fake_platform

from pysw_cl.cluster import survey
from pysw_cl.cluster.survey import own_device

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="abstract sockets are Linux's")


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    survey._taken.cache_clear()
    yield
    survey._taken.cache_clear()


def another() -> tuple[str, socket.socket | None]:
    """What another worker takes."""
    return survey._taken.__wrapped__()


def gpus(count: int, first: int = 0) -> list[object]:
    """GPUs as a process sees them: ``first`` is the hardware of the first one."""
    places = [(first + k) % count for k in range(count)]
    own = {"pci_domain_id_nv": os.getpid(), "pci_slot_id_nv": 0}  # tests may run side by side
    return [fake(GPU, "big", pci_bus_id_nv=place, **own) for place in places]


def test_each_takes_a_free_one_and_then_the_least_shared(machine: Machine) -> None:
    machine(fake_platform("P", *gpus(2)))
    assert own_device("auto") == own_device("gpu") == own_device("auto") == "0:0"
    second, third, fourth = another(), another(), another()
    assert [second[0], third[0], fourth[0]] == ["0:1", "0:0", "0:1"]
    assert second[1] is not None
    second[1].close()  # it ended
    assert another()[0] == "0:1"


def test_it_is_the_hardware_that_is_taken(machine: Machine) -> None:
    """As with dask-cuda, which lets each worker see its own GPU as the first one."""
    held = []
    for first in range(3):
        machine(fake_platform("P", *gpus(3, first)))
        held.append(another())
    assert [name for name, _ in held] == ["0:0", "0:0", "0:0"]
    machine(fake_platform("P", *gpus(3, 1)))
    held.pop(2)  # that had the third one, which is now the second
    gc.collect()
    assert another()[0] == "0:1"


def test_what_is_named_is_taken(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(fake_platform("P", *gpus(2)), fake_platform("Q", fake(CPU, "slow")))
    for name in ("0:1", "cpu", "cpu/2", "all"):
        assert own_device(name) == name
    monkeypatch.setenv("PYSW_CL_DEVICE", "0:1")
    assert own_device("auto") == "auto"
    assert own_device("gpu") == "0:0"


@pytest.mark.parametrize("device", [[fake(GPU, "only")], [fake(CPU, "only")]])
def test_one_device_is_left_to_the_usual_choice(machine: Machine, device: list[object]) -> None:
    machine(fake_platform("P", *device))
    assert own_device("auto") == "auto"
