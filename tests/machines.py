"""Machines made up: platforms and devices as PyOpenCL would show them."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pyopencl as cl
import pytest

from pysw_cl.opencl import device as device_module

CPU, GPU, ACCELERATOR, CUSTOM = 2, 4, 8, 16


def fake(kind: int, name: str, units: int = 4, **has: Any) -> SimpleNamespace:
    """What the choice of a device looks at."""
    return SimpleNamespace(
        **{
            "type": kind,
            "name": name,
            "max_compute_units": units,
            "max_work_group_size": 256,
            "global_mem_size": 1 << 30,
            "max_mem_alloc_size": 1 << 28,
            "local_mem_size": 1 << 15,
            "mem_base_addr_align": 1024,
            "driver_version": "1.0",
            "compiler_available": True,
            "available": True,
            "endian_little": True,
            "int_ptr": id(name),
            "platform": SimpleNamespace(version="OpenCL 1.2"),
            **has,
        }
    )


def fake_platform(name: str, *devices: Any) -> SimpleNamespace:
    def get_devices() -> list[Any]:
        if not devices:
            raise cl.RuntimeError("clGetDeviceIDs failed: DEVICE_NOT_FOUND")
        return list(devices)

    platform = SimpleNamespace(name=name, version="OpenCL 1.2", get_devices=get_devices)
    for device in devices:
        device.platform = platform
    return platform


#: Makes PyOpenCL find these platforms, or none and this ``error``.
Machine = Callable[..., None]


def machines(patch: pytest.MonkeyPatch) -> Machine:
    """What makes PyOpenCL find other platforms; no environment variable, no earlier runtime."""
    for variable in ("PYSW_CL_DEVICE", "PYOPENCL_CTX"):
        patch.delenv(variable, raising=False)

    def make(*platforms: Any, error: Exception | None = None) -> None:
        def get_platforms() -> list[Any]:
            if error is not None:
                raise error
            return list(platforms)

        for owner, name, other in (
            (cl, "get_platforms", get_platforms),
            (cl, "Context", lambda devices: SimpleNamespace(devices=devices)),
            (device_module, "_runtimes", {}),
            (device_module, "_named", {}),
        ):
            patch.setattr(owner, name, other)

    return make
