"""Device quirks, one row each.  All other devices are assumed to follow OpenCL 1.2."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..planning.facts import DeviceTraits
from .early import POCL

#: Names of processors that every LLVM since 12 knows, and the flags of /proc/cpuinfo they need.
PROCESSORS = {
    b"icelake-server": "avx512f avx512bw avx512cd avx512dq avx512vl avx512vbmi avx512_vbmi2 "
    "avx512_vnni avx512_bitalg avx512_vpopcntdq avx512ifma gfni vaes vpclmulqdq sha_ni",
    b"x86-64-v3": "avx2 bmi1 bmi2 f16c fma movbe xsave",
    b"x86-64-v2": "cx16 popcnt sse4_1 sse4_2 ssse3",
    b"x86-64": "",
}
#: Words of a device's record that are searched for the name.
RECORD_WORDS = 512
#: Names that were set.  PoCL points to them, so they stay allocated.
_given: list[Any] = []


@dataclass(frozen=True)
class Quirk:
    """A deviation of some devices."""

    #: Does it apply to this (platform name, device)?
    applies: Callable[[str, Any], bool]
    #: The traits that differ, by their names in :class:`pysw_cl.planning.facts.DeviceTraits`.
    then: dict[str, Any]
    why: str
    #: Where it is documented.
    link: str


def _is_cpu(device: Any) -> bool:
    return bool(device.type & 2)  # CL_DEVICE_TYPE_CPU


def _is_pocl_cpu(platform: str, device: Any) -> bool:
    return POCL in platform and _is_cpu(device)


def _is_unnamed(platform: str, device: Any) -> bool:
    """Is this a device of PoCL 3 whose processor its LLVM calls "generic"?"""
    version = getattr(device, "version", "").rstrip()
    return "PoCL HSTR: " in version and version.endswith("x86_64-unknown-linux-gnu-generic")


def name_processor(device: Any) -> None:
    """Make PoCL use the name of a known processor whose instructions this one has.

    PoCL 3 has no setting for it.  So this replaces the pointer to the name "generic" in the
    device's record, whose address is the ``cl_device_id``.  It does nothing if there is none."""
    said = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    flags = re.search(r"^flags.*", said, re.MULTILINE)
    has = set(flags[0].split() if flags else ())
    name = next(name for name, needs in PROCESSORS.items() if has.issuperset(needs.split()))
    with Path("/proc/self/mem").open("rb", 0) as memory:  # what is no address is an error there
        record = os.pread(memory.fileno(), 8 * RECORD_WORDS, device.int_ptr)
        for k, word in enumerate(memoryview(record).cast("Q")):
            with suppress(OSError, OverflowError):
                if os.pread(memory.fileno(), 8, word) == b"generic\0":
                    _given.append(ctypes.create_string_buffer(name))
                    pointer = ctypes.c_uint64.from_address(device.int_ptr + 8 * k)
                    pointer.value = ctypes.addressof(_given[-1])
                    return


def _has(device: Any, *extensions: str) -> bool:
    return not set(extensions).isdisjoint(getattr(device, "extensions", "").split())


def _compute_capability(device: Any) -> int:
    """The major compute capability of an NVIDIA device; 0 for other devices."""
    return int(getattr(device, "compute_capability_major_nv", 0))


def _shuffles(platform: str, device: Any) -> bool:
    """Can work-items of a warp or sub-group exchange values (cl/lanes/warp32.clh)?"""
    if "NVIDIA" in platform:
        return _compute_capability(device) >= 9
    if _is_cpu(device) and "Intel" not in platform:
        return False
    return "AMD" in platform or _has(device, "cl_intel_subgroups", "cl_khr_subgroup_shuffle")


QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        lambda platform, device: not (device.compiler_available and device.available),
        {"usable": False},
        "the device is not available or has no online compiler, and the kernels come as source",
        "https://registry.khronos.org/OpenCL/specs/opencl-1.2.pdf",
    ),
    Quirk(
        lambda platform, device: not device.endian_little,
        {"usable": False},
        "packed moves and edges are read back as little-endian words",
        "https://registry.khronos.org/OpenCL/specs/opencl-1.2.pdf",
    ),
    Quirk(
        lambda platform, device: "rusticl" in platform.lower() and "llvmpipe" in device.name,
        {"usable": False},
        "it leaves a kernel's loops after 65,535 turns and says nothing, so results would be wrong "
        "(Mesa's LP_MAX_TGSI_LOOP_ITERATIONS); vectors of 32 elements abort the whole process",
        "https://gitlab.freedesktop.org/mesa/mesa",
    ),
    Quirk(
        lambda platform, device: "Oclgrind" in platform,
        {
            "lanes": "scalar32",
            "form": "two-phase",
            "build_options": "-DSHUFFLES=0",
            "warp_width": 8,
        },
        "an interpreter that runs work-groups one after another; barriers are what it checks, so "
        "lanes in lock step hand each other values through local memory",
        "https://github.com/jrprice/Oclgrind",
    ),
    Quirk(
        _is_pocl_cpu,
        {"unroll": 1, "polled_seconds": 3e-4},
        "it compiles the code between barriers once per copy: an unrolled main loop of work-item "
        "lanes takes twice as long to build; a kernel of a small matrix ends sooner than a thread "
        "falls asleep and is woken on another core, 0.1 ms and more on a virtual machine",
        "https://portablecl.org/docs/html/",
    ),
    Quirk(
        _is_pocl_cpu,
        {"refused_row_items": (2,)},
        "PoCL 3.0 copies the code of groups of two for each work-item, and ends the whole process "
        "over the row scan's (Could not find a dominating alternative variable)",
        "https://github.com/pocl/pocl/issues",
    ),
    Quirk(
        lambda platform, device: POCL in platform and "PoCL 3." not in device.platform.version,
        {"refused_lanes": ("scalar32",)},
        "PoCL 5.0 ends the whole process with an assertion (region_entry_barrier) when it builds "
        "work-item lanes; 3.0 builds them right, other versions are not tried",
        "https://github.com/pocl/pocl/issues",
    ),
    Quirk(
        _is_unnamed,
        {"prepare": name_processor},
        "PoCL 3.0 (LLVM 14) calls processors that came after it, such as AMD's Zen 5, by a name "
        "that its compiler refuses: every build would fail",
        "https://github.com/pocl/pocl/issues",
    ),
    Quirk(
        lambda platform, device: _is_cpu(device),
        {
            "lanes": "vector",
            "form": "ticketed",
            "traceback_group_size": 1,
            "speculative": False,
            "pooled": False,
        },
        "a work-item is a thread: lanes go into its vector registers, a few groups run at once, "
        "one follows a path back, and one tile of the path keeps all groups busy; a new buffer "
        "takes a microsecond, a copy to one that is kept 40",
        "https://portablecl.org/docs/html/",
    ),
    Quirk(
        lambda platform, device: "Intel" in platform and _is_cpu(device),
        {"build_options": "-DAUTO_VECTORS=0"},
        "it makes vectors of work-items, too, and takes half a minute (16 lanes of 2 rows) to many "
        "minutes for what takes one or two seconds without",
        "https://www.intel.com/content/www/us/en/docs/opencl-sdk/developer-guide-core-xeon/",
    ),
    Quirk(
        lambda platform, device: "Intel" in platform and _is_cpu(device),
        {"least_T": 2},
        "its compiler has no conversions of vectors of one element",
        "https://www.intel.com/content/www/us/en/docs/opencl-sdk/developer-guide-core-xeon/",
    ),
    Quirk(
        lambda platform, device: "Oclgrind" not in platform and not _shuffles(platform, device),
        {"refused_lanes": ("packed", "mixed", "packed_profile", "warp32")},
        "lanes in lock step hand each other values by shuffles, which this device lacks",
        "https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_Ext.html",
    ),
    *(
        Quirk(
            lambda platform, device, width=width: (  # type: ignore[misc]
                "AMD Accelerated" in platform
                and not _is_cpu(device)
                and getattr(device, "wavefront_width_amd", 64) == width
            ),
            {"lanes": "packed", "warp_width": width},
            "packed 16-bit arithmetic (v_pk_add_u16, v_pk_max_i16), and ds_bpermute in a wavefront",
            "https://llvm.org/docs/AMDGPUUsage.html",
        )
        for width in (32, 64)
    ),
    Quirk(
        lambda platform, device: "Intel" in platform and _has(device, "cl_intel_subgroups"),
        {"warp_width": 16},
        "sub-groups of 16 are had by asking for them",
        "https://registry.khronos.org/OpenCL/extensions/intel/",
    ),
    Quirk(
        lambda platform, device: (
            "Intel" in platform and not _is_cpu(device) and _has(device, "cl_intel_subgroups")
        ),
        {"lanes": "packed"},
        "values go from lane to lane by sub-group shuffles, without local memory",
        "https://registry.khronos.org/OpenCL/extensions/intel/",
    ),
    Quirk(
        lambda platform, device: "NVIDIA" in platform and _compute_capability(device) >= 9,
        {
            "lanes": "packed",
            "register_option": "-cl-nv-maxrregcount={}",
            "byte_permute": True,
            "schedulers": 4,
        },
        "from compute capability 9.0 on, additions and maxima of packed 16-bit pairs are "
        "instructions; the fewer registers a work-item has, the more warps share a multiprocessor",
        "https://docs.nvidia.com/cuda/parallel-thread-execution/",
    ),
    Quirk(
        lambda platform, device: "NVIDIA" in platform,
        {"form": "ticketed", "builds_apart": True},
        "resident groups all make progress, and PTX gives the fences that OpenCL 1.2 lacks; it "
        "builds one program at a time, lets no launch begin meanwhile, and keeps it on disk",
        "https://docs.nvidia.com/cuda/parallel-thread-execution/",
    ),
)


def traits_of(platform_name: str, device: Any) -> tuple[DeviceTraits, list[Quirk]]:
    """A device's traits, and the rows of the table that apply to it.  Of conflicting rows the
    earlier one wins; refused lanes are united."""
    rows = [quirk for quirk in QUIRKS if quirk.applies(platform_name, device)]
    found: dict[str, Any] = {}
    for quirk in reversed(rows):
        found |= quirk.then
    refused = {name for quirk in rows for name in quirk.then.get("refused_lanes", ())}
    return DeviceTraits(**{**found, "refused_lanes": tuple(sorted(refused))}), rows
