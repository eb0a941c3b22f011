"""Device quirks: one row each.  What is not listed here is assumed to follow OpenCL 1.2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Quirk:
    """``applies(platform_name, device)`` decides; ``then`` says what to do about it."""

    name: str
    applies: Callable[[str, Any], bool]
    then: dict[str, Any]
    why: str
    link: str


def _is_cpu(device: Any) -> bool:
    return bool(device.type & 2)  # CL_DEVICE_TYPE_CPU


QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        "no-compiler",
        lambda platform, device: not (device.compiler_available and device.available),
        {"usable": False},
        "the device is not available or has no online compiler, and the kernels come as source",
        "https://registry.khronos.org/OpenCL/specs/opencl-1.2.pdf",
    ),
    Quirk(
        "big-endian",
        lambda platform, device: not device.endian_little,
        {"usable": False},
        "packed moves and edges are read back as little-endian words",
        "https://registry.khronos.org/OpenCL/specs/opencl-1.2.pdf",
    ),
    Quirk(
        "llvmpipe",
        lambda platform, device: "rusticl" in platform.lower() and "llvmpipe" in device.name,
        {"lanes": "scalar32", "form": "two-phase"},
        "vectors of 32 elements abort the whole process, and it advertises itself as a GPU's host",
        "https://gitlab.freedesktop.org/mesa/mesa",
    ),
    Quirk(
        "oclgrind",
        lambda platform, device: "Oclgrind" in platform,
        {"lanes": "scalar32", "form": "two-phase"},
        "an interpreter that runs work-groups one after another; barriers are what it checks",
        "https://github.com/jrprice/Oclgrind",
    ),
    Quirk(
        "pocl-barriers",
        lambda platform, device: "Portable Computing Language" in platform and _is_cpu(device),
        {"steps": 1},
        "PoCL compiles the code between barriers once per copy: an unrolled main loop of work-item "
        "lanes takes twice as long to build",
        "https://portablecl.org/docs/html/",
    ),
    Quirk(
        "pocl-assertion",
        lambda platform, device: (
            "Portable Computing Language" in platform and "PoCL 3." not in device.platform.version
        ),
        {"no_lanes": ("scalar32",)},
        "PoCL 5.0 ends the whole process with an assertion (region_entry_barrier) when it builds "
        "work-item lanes; 3.0 builds them right, other versions are not tried",
        "https://github.com/pocl/pocl/issues",
    ),
    Quirk(
        "cpu-vectors",
        lambda platform, device: _is_cpu(device),
        {"lanes": "vector", "form": "ticketed"},
        "a work-item is a thread: lanes go into its vector registers, and a few groups run at once",
        "https://portablecl.org/docs/html/",
    ),
    Quirk(
        "nvidia-forward-progress",
        lambda platform, device: "NVIDIA" in platform,
        {"form": "ticketed"},
        "resident groups all make progress, and PTX gives the fences that OpenCL 1.2 lacks",
        "https://docs.nvidia.com/cuda/parallel-thread-execution/",
    ),
)


#: What holds where no row says otherwise: lane set, wavefront form, columns a turn of the main loop
#: of work-item lanes, lane sets that must not be used.
DEFAULTS: dict[str, Any] = {
    "usable": True,
    "lanes": "scalar32",
    "form": "two-phase",
    "steps": 2,
    "no_lanes": (),
}


def advice(platform_name: str, device: Any) -> tuple[dict[str, Any], list[Quirk]]:
    """What the table says about a device (earlier rows win), and the rows that apply."""
    rows = [quirk for quirk in QUIRKS if quirk.applies(platform_name, device)]
    merged: dict[str, Any] = dict(DEFAULTS)
    for quirk in reversed(rows):
        merged.update(quirk.then)
    return merged, rows
