"""The OpenCL devices of this machine, whether they are usable, and which one a text means."""

from __future__ import annotations

import os
import platform as system
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from ..errors import DeviceError
from ..folders import TROUBLE
from ..planning.profiles.profile import Identity
from . import kernel_store
from .early import POCL, VARIABLES
from .quirks import traits_of

_CPU = 'for the CPU (the extra "pocl"): pip install "pyopencl[pocl]"'
_GPU = f"for a GPU: its vendor's driver, and in a container access to it ({TROUBLE})"
#: Bits of kinds, in the order that "auto" prefers.
KINDS = {"gpu": 4, "accelerator": 8, "cpu": 2}


@dataclass(frozen=True)
class DeviceInfo:
    """One OpenCL device.  ``index`` is "platform:device".  ``kind`` is "gpu", "accelerator", "cpu"
    or "other".  ``global_memory`` is in bytes.  ``reason`` says why it is not ``usable``."""

    index: str
    platform: str
    name: str
    kind: str
    compute_units: int
    global_memory: int
    driver: str
    usable: bool
    reason: str
    lanes: str
    form: str

    def __repr__(self) -> str:
        return f"<Device {' '.join(str(self).split())}>"

    def __str__(self) -> str:
        state = "" if self.usable else f"  not usable: {self.reason}"
        return (
            f"{self.index}  {self.kind:<4} {self.name} [{self.platform}], "
            f"{self.compute_units} units, {self.global_memory / 2**30:.1f} GiB{state}"
        )


def hint(platforms: str) -> str:
    """What to do where ``platforms`` show no usable device."""
    if POCL in platforms:
        return _GPU
    cpu = "for the CPU: PoCL is installed, but OpenCL's loader does not find it: unset OCL_ICD_*"
    return f"{cpu if find_spec('pocl_binary_distribution') else _CPU}; {_GPU}"


def describe(platform: Any, device: Any, index: str) -> DeviceInfo:
    traits, rows = traits_of(platform.name, device)
    return DeviceInfo(
        index=index,
        platform=platform.name.strip(),
        name=device.name.strip(),
        kind=next((name for name, bit in KINDS.items() if device.type & bit), "other"),
        compute_units=int(device.max_compute_units),
        global_memory=int(device.global_mem_size),
        driver=device.driver_version.strip(),
        usable=traits.usable,
        reason="; ".join(quirk.why for quirk in rows if quirk.then.get("usable") is False),
        lanes=traits.lanes,
        form=traits.form,
    )


def scan() -> Iterator[tuple[Any, DeviceInfo]]:
    """All devices; None for a platform without one."""
    try:
        import pyopencl as cl
    except ImportError as error:
        raise DeviceError(f"pyopencl does not load ({error}); {_CPU}; {_GPU}") from None
    platforms: list[Any] = []
    with suppress(cl.Error):  # the loader's "no platform" is an error of its own
        platforms = cl.get_platforms()
    for p, platform in enumerate(platforms):
        found: list[Any] = []
        with kernel_store.opened(platform) as wrong, suppress(cl.Error):  # CL_DEVICE_NOT_FOUND
            found = [] if wrong else platform.get_devices()
        for d, device in enumerate(found):
            yield device, describe(platform, device, f"{p}:{d}")
        if not found:
            reason = f"the platform shows no device{': ' * bool(wrong)}{wrong}"
            own = platform.name.strip(), "(none)", "other", 0, 0, "", False, reason, "", ""
            yield None, DeviceInfo(f"{p}:", *own)


def devices() -> list[DeviceInfo]:
    """All OpenCL devices of this machine, with a reason for each unusable one.  A platform without
    devices has one unusable entry.  Raises DeviceError if pyopencl is broken."""
    return [info for _, info in scan()]


def preference(info: DeviceInfo) -> tuple[int, int]:
    """By which devices are sorted for "auto"."""
    return [*KINDS, "other"].index(info.kind), -info.compute_units


def _matches(text: str, info: DeviceInfo) -> bool:
    """Does a text mean this device?  "auto", a kind, or PyOpenCL's notation: "platform",
    "platform:device", each an index or a part of a name."""
    if text.lower() in ("auto", *KINDS):
        return text.lower() in ("auto", info.kind)
    platform, colon, device = (part.strip() for part in text.partition(":"))
    indices, names = info.index.split(":"), (info.platform, info.name)

    def fits(part: str, k: int) -> bool:
        return part == indices[k] if part.isdigit() else part.lower() in names[k].lower()

    if colon or platform.isdigit():
        return fits(platform, 0) and (not device or fits(device, 1))
    return fits(platform, 0) or fits(platform, 1)


@lru_cache
def name_and_threads(text: str) -> tuple[str, int | None]:
    """A device's name, and the threads that follow it: "cpu/4"."""
    name, _, threads = map(str.strip, text.rpartition("/"))
    return (name, int(threads)) if threads.isdecimal() and name else (text.strip(), None)


def _with_threads(device: Any, info: DeviceInfo, threads: int) -> tuple[Any, DeviceInfo]:
    """A part of a CPU that computes in so many threads; all of it, if it has no more."""
    import pyopencl as cl

    if info.kind != "cpu":
        wrong = f"{threads} threads are for a CPU; {info.name} is not one, and has what it needs"
        raise DeviceError(f"{wrong}: leave the number out, or take device='cpu/{threads}'")
    if threads < 1:
        raise DeviceError(f"{threads} threads cannot compute; take 1 or more, as in 'cpu/1'")
    if threads >= info.compute_units:
        return device, info
    try:
        part, *_ = device.create_sub_devices([cl.device_partition_property.EQUALLY, threads, 0])
    except cl.Error as error:
        wrong = f"{info.name} cannot be had in part, by {threads} threads: {error}"
        raise DeviceError(wrong) from None
    return part, replace(info, index=f"{info.index}/{threads}", compute_units=threads)


def choose(text: str) -> tuple[Any, DeviceInfo]:
    """The device that a text means.  Raises DeviceError if there is none."""
    found = list(scan())
    usable = sorted((pair for pair in found if pair[1].usable), key=lambda p: preference(p[1]))
    if not usable:
        reasons = "; ".join(f"{info.platform}: {info.reason}" for _, info in found)
        what = f"no usable OpenCL device: {reasons}" if reasons else "no OpenCL device found"
        raise DeviceError(f"{what}; {hint(reasons)}")
    (wanted, threads), source = name_and_threads(text), "device"
    if not wanted.strip(":"):
        raise DeviceError(f"device={text!r} names no device; 'auto' lets the program choose")
    named = (variable for variable in VARIABLES if os.environ.get(variable, "").strip())
    if wanted.lower() == "auto" and (variable := next(named, None)):
        (wanted, most), source = name_and_threads(os.environ[variable]), variable
        threads = threads or most
    matching = [pair for pair in usable if _matches(wanted, pair[1])]
    if not matching:
        listed = "; ".join(str(info) for _, info in found)
        raise DeviceError(f"{source}={wanted!r} matches no usable device; there are: {listed}")
    return matching[0] if threads is None else _with_threads(*matching[0], threads)


#: Other names of an architecture.
_SAME = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}


def identity_of(device: Any, info: DeviceInfo) -> Identity:
    """A device as profiles name it.  The architecture of a CPU is the machine's ("x86_64",
    "aarch64"), that of an NVIDIA GPU its compute capability ("sm_90"), that of an AMD GPU its
    compiler's name for it ("gfx90a"); "" where the device does not say it."""
    import pyopencl as cl

    def said(name: str) -> str:
        try:
            return str(getattr(device, name))
        except (AttributeError, cl.Error):  # it does not know the question
            return ""

    major, architecture = said("compute_capability_major_nv"), system.machine().lower()
    if info.kind == "cpu":
        architecture = _SAME.get(architecture, architecture)
    elif major:
        architecture = f"sm_{major}{said('compute_capability_minor_nv')}"
    else:
        compiler = re.search(r"\bgfx[0-9a-f]+", f"{said('name')} {said('board_name_amd')}")
        architecture = "" if compiler is None else compiler[0]
    own = info.driver, info.kind, info.compute_units
    return Identity(info.name, info.platform, said("vendor").strip(), architecture, *own)
