"""What a profile is kept by: the device, its driver, and the texts of all kernels."""

from __future__ import annotations

import hashlib
import os
import platform
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..planning.profiles.profile import Identity
from .resources import kernel_source, shipped

if TYPE_CHECKING:
    from .device import Runtime

#: Other names of an architecture.
_SAME = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}


def identity_of(runtime: Runtime) -> Identity:
    """The device of ``runtime``, as profiles name it.

    The architecture of a CPU is the machine's ("x86_64", "aarch64"), that of an NVIDIA GPU its
    compute capability ("sm_90"), that of an AMD GPU its compiler's name for it ("gfx90a"); "" where
    the device does not say it.
    """
    info, device = runtime.info, runtime.device
    return Identity(
        name=info.name,
        platform=info.platform,
        vendor=str(_asked(device, "vendor")).strip(),
        architecture=_architecture(device, info.kind),
        driver=info.driver,
        kind=info.kind,
        compute_units=info.compute_units,
    )


def _asked(device: Any, name: str) -> Any:
    """What a device says of itself; "" if it does not know the question."""
    import pyopencl as cl

    try:
        return getattr(device, name)
    except (AttributeError, cl.Error):
        return ""


def _architecture(device: Any, kind: str) -> str:
    if kind == "cpu":
        machine = platform.machine().lower()
        return _SAME.get(machine, machine)
    major = _asked(device, "compute_capability_major_nv")
    if major:
        return f"sm_{major}{_asked(device, 'compute_capability_minor_nv')}"
    for name in ("name", "board_name_amd"):
        found = re.search(r"\bgfx[0-9a-f]+", str(_asked(device, name)))
        if found:
            return found[0]
    return ""


@cache
def kernels_digest() -> str:
    """16 hexadecimal digits that change with any text under cl/."""
    root = shipped("cl", "base.clh").parent
    names = sorted(
        (Path(folder) / file).relative_to(root).as_posix()
        for folder, _, files in os.walk(root)
        for file in files
        if file.endswith((".cl", ".clh"))
    )
    digest = hashlib.sha256()
    for name in names:
        text = kernel_source(name).encode("ascii")
        digest.update(f"{name}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:16]
