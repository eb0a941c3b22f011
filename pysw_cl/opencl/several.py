"""What ``device=`` means where several devices may be used at once."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace
from typing import Any

from ..errors import DeviceError
from ..planning.profiles.profile import Profile, measured
from . import listing
from .device import Runtime, get_runtime, named_apart

#: Bytes of a device's memory where its profile does not tell; and what any usable device has.
MEMORY = 1 << 36
USUAL: dict[str, int] = dict.fromkeys(("compiler_available", "available", "endian_little"), 1)
USUAL |= {"max_work_group_size": 1024, "local_mem_size": 48 << 10, "mem_base_addr_align": 4096}


def devices_of(device: Any) -> list[Any]:
    """The runtimes of "all", a list of devices, or a text with commas, GPUs first; else what was
    given.  What several platforms show "all" has once.

    Raises DeviceError for a device that is named twice, and as `get_runtime` does."""
    named = named_apart(device)
    if named is None:
        return [device]
    _, threads = listing.name_and_threads(device if isinstance(device, str) else "all")
    if every := named == ["all"]:
        usable = [info for _, info in listing.scan() if info.usable]
        parts = {"cpu": "" if threads is None else f"/{threads}"}
        named = [one.index + parts.get(one.kind, "") for one in usable] or ["auto"]
    found = [get_runtime(one) for one in named]
    if not found:
        raise DeviceError(f"device={device!r} names no device; 'auto' lets the program choose")
    for a, b in combinations(list(found), 2):
        if {a, b} <= set(found) and _same(a, b):
            if not every:
                where = " and ".join(sorted({a.info.platform, b.info.platform}))
                said = f"{a.info.index} and {b.info.index} are both {a.info.name}, of {where}"
                raise DeviceError(f"{said}; name it once")
            found.remove(b)
    found.sort(key=lambda one: listing.preference(one.info)[0])
    fed = sum(one.info.kind != "cpu" for one in found)
    return [_leaving(fed, one) for one in found]


def alike(device: Any, equal: bool = False) -> tuple[list[Runtime], Runtime | None]:
    """The runtimes of the first one of `devices_of`, and of those that are like it: all that
    ``device`` names have to be, but for the size of GPUs, unless it has to be ``equal``, too.  And
    a CPU that it names beside a GPU.  Raises DeviceError."""
    found, every = devices_of(device), named_apart(device) == ["all"]
    first = found[0]

    def kind(one: Runtime) -> tuple[Any, ...]:
        whole = equal or every or one.info.kind == "cpu"
        return one.info.kind, *([one.facts] if whole else [one.traits.lanes, one.traits.schedulers])

    some = [one for one in found if kind(one) == kind(first)]
    others = [] if every else [one for one in found if one not in some]
    helper = others[0] if others and first.info.kind == "gpu" and len(some) == 1 else None
    if others and (len(others) > 1 or helper is None or helper.info.kind != "cpu"):
        both = " and ".join(f"{one.info.index} ({one.info.name})" for one in (first, others[0]))
        raise DeviceError(
            f"{both} are not alike, and one pair is computed by GPUs with the same lanes, or CPUs "
            "of one size, or a GPU and a CPU: name only such devices, or 'all', which takes those "
            "like the first one"
        )
    return some, helper


def meant(device: Any) -> tuple[Runtime, int]:
    """The runtime of a device, for predictions, and how many alike compute a pair: "2xNAME" are two
    like NAME, which need not be there if a profile names it ("NVIDIA H200").

    Raises DeviceError, which lists the profiles, if nothing fits or nobody has measured several."""
    name = device if isinstance(device, str) else ""
    counted = re.fullmatch(r"\s*([1-9]\d{0,3})\s*x\s*(\S.*)", name, re.IGNORECASE)
    one, count = (counted[2], int(counted[1])) if counted else (device, 1)
    try:
        found = [get_runtime(one)] if named_apart(one) is None else alike(one, equal=True)[0]
        said = f"nobody has measured {found[0].info.name}"
    except DeviceError as error:
        said, name = str(error), one.strip().lower() if isinstance(one, str) else ""
        fits = (profile for profile in measured() if name in profile.identity.name.lower())
        found = [_absent(profile) for profile in [*fits][: len(name) > 0]]
    count *= len(found)
    if not found or (count > 1 and not found[0].profile()[0].times):
        names = sorted({repr(profile.identity.name) for profile in measured()})
        raise DeviceError(f"{said}; for predictions there are profiles of {', '.join(names)}")
    return found[0], count


def _absent(profile: Profile) -> Runtime:
    """The runtime of the device that a profile is of, which runs nothing."""
    said, memory = profile.identity, profile.memory or MEMORY
    platform = SimpleNamespace(name=said.platform or "NVIDIA CUDA", version="")
    device = SimpleNamespace(platform=platform, name=said.name, version="", **USUAL)
    device.type, device.driver_version = listing.KINDS.get(said.kind, 0), said.driver
    device.max_compute_units = said.compute_units or profile.units
    device.compute_capability_major_nv = int(*re.findall(r"sm_(\d+)\d", said.architecture))
    device.global_mem_size, device.max_mem_alloc_size = memory, memory // 4
    runtime = Runtime(device, listing.describe(platform, device, said.name))
    units = {"compute_units": device.max_compute_units}
    vars(runtime)["identity"] = replace(said, platform=platform.name, **units)
    return runtime


def _same(a: Runtime, b: Runtime) -> bool:
    """Are two runtimes surely of the same hardware?"""
    one, other = a.info, b.info
    if one.platform != other.platform:
        return one.kind == other.kind == "cpu" or one.name == other.name
    index = one.index.partition("/")[0]
    return a.device == b.device or index == other.index.partition("/")[0] != "given"


def _leaving(cores: int, one: Runtime) -> Runtime:
    """A device, which if it is a whole CPU leaves some cores to those that feed other devices."""
    info = one.info
    if not cores or info.kind != "cpu" or not info.index.replace(":", "").isdigit():
        return one
    units = max(1, info.compute_units - cores)
    return one._with(info=replace(info, compute_units=units), _facts=None)
