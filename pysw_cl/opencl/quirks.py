"""Device quirks: one row each.  What is not listed here is assumed to follow OpenCL 1.2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .pocl import name_processor, unnamed


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


def _compute_capability(device: Any) -> int:
    """NVIDIA's major number, 0 for others."""
    return int(getattr(device, "compute_capability_major_nv", 0))


def _shuffles(platform: str, device: Any) -> bool:
    """Do the work-items of a warp or sub-group hand each other values (cl/lanes/warp32.clh)?"""
    if "NVIDIA" in platform:
        return _compute_capability(device) >= 9
    if _is_cpu(device) and "Intel" not in platform:
        return False
    names = getattr(device, "extensions", "").split()
    return "AMD" in platform or bool({"cl_intel_subgroups", "cl_khr_subgroup_shuffle"} & set(names))


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
        {"usable": False},
        "it leaves a kernel's loops after 65,535 turns and says nothing, so results would be wrong "
        "(Mesa's LP_MAX_TGSI_LOOP_ITERATIONS); vectors of 32 elements abort the whole process",
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
        "pocl-unnamed-processor",
        lambda platform, device: "Portable Computing Language" in platform and unnamed(device),
        {"prepare": name_processor},
        "PoCL 3.0 (LLVM 14) calls processors that came after it, such as AMD's Zen 5, by a name "
        "that its compiler refuses: every build would fail",
        "https://github.com/pocl/pocl/issues",
    ),
    Quirk(
        "cpu-vectors",
        lambda platform, device: _is_cpu(device),
        {"lanes": "vector", "form": "ticketed", "walkers": 1, "ahead": False},
        "a work-item is a thread: lanes go into its vector registers, a few groups run at once, "
        "a path is walked by one, and one tile of it keeps them all busy",
        "https://portablecl.org/docs/html/",
    ),
    Quirk(
        "intel-cpu-vectors",
        lambda platform, device: "Intel" in platform and _is_cpu(device),
        {"options": "-DAUTO_VECTORS=0"},
        "it makes vectors of work-items, too, and takes half a minute (16 lanes of 2 rows) to many "
        "minutes for what takes one or two seconds without",
        "https://www.intel.com/content/www/us/en/docs/opencl-sdk/developer-guide-core-xeon/",
    ),
    Quirk(
        "intel-cpu-one-lane",
        lambda platform, device: "Intel" in platform and _is_cpu(device),
        {"least_T": 2},
        "its compiler has no conversions of vectors of one element",
        "https://www.intel.com/content/www/us/en/docs/opencl-sdk/developer-guide-core-xeon/",
    ),
    Quirk(
        "no-shuffles",
        lambda platform, device: not _shuffles(platform, device),
        {"no_lanes": ("packed", "warp32")},
        "lanes in lock step hand each other values by shuffles, which this device lacks",
        "https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_Ext.html",
    ),
    *(
        Quirk(
            f"amd-wavefronts-of-{width}",
            lambda platform, device, width=width: (  # type: ignore[misc]
                "AMD Accelerated" in platform
                and not _is_cpu(device)
                and getattr(device, "wavefront_width_amd", 64) == width
            ),
            {"lanes": "packed", "warp": width},
            "packed 16-bit arithmetic (v_pk_add_u16, v_pk_max_i16), and ds_bpermute in a wavefront",
            "https://llvm.org/docs/AMDGPUUsage.html",
        )
        for width in (32, 64)
    ),
    Quirk(
        "intel-sub-groups",
        lambda platform, device: (
            "Intel" in platform
            and "cl_intel_subgroups" in getattr(device, "extensions", "").split()
        ),
        {"warp": 16},
        "sub-groups of 16 are had by asking for them",
        "https://registry.khronos.org/OpenCL/extensions/intel/",
    ),
    Quirk(
        "intel-gpu-packed",
        lambda platform, device: (
            "Intel" in platform
            and not _is_cpu(device)
            and "cl_intel_subgroups" in getattr(device, "extensions", "").split()
        ),
        {"lanes": "packed"},
        "values go from lane to lane by sub-group shuffles, without local memory",
        "https://registry.khronos.org/OpenCL/extensions/intel/",
    ),
    Quirk(
        "nvidia-sub-buffers",
        lambda platform, device: "NVIDIA" in platform,
        {"arena": False},
        "a process that had used overlapping sub-buffers crashed when it released them at its end "
        "(driver 580): small tiles get buffers of their own",
        "https://registry.khronos.org/OpenCL/sdk/3.0/docs/man/html/clCreateSubBuffer.html",
    ),
    Quirk(
        "nvidia-packed",
        lambda platform, device: "NVIDIA" in platform and _compute_capability(device) >= 9,
        {"lanes": "packed", "options": "-cl-nv-maxrregcount=144", "permute": True, "warps": 4},
        "from compute capability 9.0 on, additions and maxima of packed 16-bit pairs are "
        "instructions; up to 168 registers let 12 warps share a multiprocessor, and with 144 few "
        "operations of the main loop have three operands of one bank",
        "https://docs.nvidia.com/cuda/parallel-thread-execution/",
    ),
    Quirk(
        "nvidia-forward-progress",
        lambda platform, device: "NVIDIA" in platform,
        {"form": "ticketed"},
        "resident groups all make progress, and PTX gives the fences that OpenCL 1.2 lacks",
        "https://docs.nvidia.com/cuda/parallel-thread-execution/",
    ),
)


#: What holds where no row says otherwise: what is done before the first build; lane set; wavefront
#: form; columns a turn of the main loop of work-item lanes; compiler options; lane sets that must
#: not be used; work-items of a warp (or sub-group); schedulers of a multiprocessor (0: a work-group
#: is one warp); lanes of a strip at least; whether there is a byte permutation with sign
#: replication; whether small tiles share one buffer; work-items that follow a path back together
#: (cl/traceback/traceback.cl); whether tiles that it may lead through are computed ahead of it.
DEFAULTS: dict[str, Any] = {
    "prepare": lambda device: None,
    "warp": 32,
    "permute": False,
    "warps": 0,
    "least_T": 1,
    "arena": True,
    "walkers": 256,
    "ahead": True,
    "usable": True,
    "lanes": "scalar32",
    "form": "two-phase",
    "steps": 2,
    "options": "",
    "no_lanes": (),
}


def advice(platform_name: str, device: Any) -> tuple[dict[str, Any], list[Quirk]]:
    """What the table says about a device (earlier rows win), and the rows that apply."""
    rows = [quirk for quirk in QUIRKS if quirk.applies(platform_name, device)]
    merged: dict[str, Any] = dict(DEFAULTS)
    for quirk in reversed(rows):
        merged.update(quirk.then)
    refused = {name for quirk in rows for name in quirk.then.get("no_lanes", ())}
    return {**merged, "no_lanes": tuple(sorted(refused))}, rows
