"""The device of a worker: the workers of a host take different GPUs."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from functools import cache
from itertools import product

from ..opencl.early import VARIABLES
from ..opencl.listing import preference, scan

#: Workers that share a GPU at most.
SHARING = 64
#: Where a GPU is plugged in: the same in all processes, whatever CUDA_VISIBLE_DEVICES calls it.
PLUGGED = "pci_domain_id_nv", "pci_bus_id_nv", "pci_slot_id_nv"


def own_device(device: str) -> str:
    """The ``device`` that a worker is to compute on; if "auto" or "gpu" may mean several GPUs, one
    that no other worker of the host has taken, or that the fewest share."""
    named = device == "auto" and any(map(os.environ.get, VARIABLES))
    if device not in ("auto", "gpu") or named or sys.platform != "linux":
        return device
    return _taken()[0] or device


@cache
def _taken() -> tuple[str, socket.socket | None]:
    """The GPU of this process, and the abstract socket that shows others that it is taken.  That
    ends with the process, so a worker in its place finds what is free."""
    gpus = [one for one in scan() if one[1].usable and one[1].kind == "gpu"]
    gpus.sort(key=lambda one: preference(one[1]))
    same = [one for one in gpus if one[1].platform == gpus[0][1].platform]
    for share, (gpu, info) in product(range(SHARING if len(same) > 1 else 0), same):
        place = info.index
        with suppress(Exception):  # of another vendor
            place = ":".join(str(getattr(gpu, name)) for name in PLUGGED)
        held = socket.socket(socket.AF_UNIX)
        with suppress(OSError):  # another worker has it
            held.bind(f"\0pysw-cl device {place} {share}")
            return info.index, held
        held.close()
    return "", None
