"""What the workers of a cluster are, asked before anything is computed; and the device of each: the
workers of a host take different GPUs."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from .._version import __version__
from ..engines.registry import engine_for
from ..errors import ClusterError, PyswError
from ..opencl.early import VARIABLES
from ..opencl.listing import preference, scan
from ..planning.facts import UNLIMITED, DeviceFacts
from .workers import ANSWER, LOOK, Workers, worker

#: Workers that share a GPU at most.
SHARING = 64
#: Where a GPU is plugged in: the same in all processes, whatever CUDA_VISIBLE_DEVICES calls it.
PLUGGED = "pci_domain_id_nv", "pci_bus_id_nv", "pci_slot_id_nv"


def own_device(device: Any) -> Any:
    """The ``device`` that a worker is to compute on; if "auto" or "gpu" may mean several GPUs, one
    that no other worker of the host has taken, or that the fewest share."""
    if not isinstance(device, str) or device not in ("auto", "gpu") or sys.platform != "linux":
        return device
    named = device == "auto" and any(map(os.environ.get, VARIABLES))
    return (not named and _taken()[0]) or device


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


@dataclass(frozen=True)
class Survey:
    """What a worker says of itself."""

    version: str
    #: What is wrong with its device or the folder; empty: nothing.
    fault: str
    device: str = ""
    #: Does it see the folder, if there is one, and how many bytes are free on its disk?
    shared: bool | None = None
    disk: int = 0
    #: How it computes by default, and what decides that.
    plan: Any = None
    facts: DeviceFacts = UNLIMITED
    #: Tasks that it computes at once; bytes that its process takes, and may take (0: all).
    threads: int = 1
    used: int = 0
    limit: int = 0
    #: Seconds that its clock is ahead of ours, and billions of cells a second of a tile.
    ahead: float = 0.0
    gcups: float = 0.0


def survey(folder: str | None, device: str, plan: dict[str, Any] | None, job: str) -> Survey:
    """A worker's own survey.  ``job``: what the file job.json in the ``folder`` holds."""
    try:
        engine = engine_for(own_device(device), dict(plan or {}) or None)
        runtime, shared, disk = getattr(engine, "runtime", None), None, 0
        name, facts = ("", UNLIMITED) if runtime is None else (runtime.info.name, runtime.facts)
        if folder is not None:
            path = Path(folder) / "job.json"
            shared = path.exists() and path.read_text() == job
            if shared:
                disk = shutil.disk_usage(folder).free
                path = path.with_name(f"try.{worker()}.part")
                path.touch()
                path.unlink()
    except (PyswError, OSError) as error:
        return Survey(__version__, str(error))
    return Survey(__version__, "", name, shared, disk, engine.plan, facts)


def surveyed(
    workers: Workers, folder: str | None, device: str, plan: dict[str, Any] | None
) -> dict[str, Survey]:
    """What all workers say, once there are some.  Raises ClusterError if none comes, or for the
    first that cannot compute a job in the ``folder``."""
    job = "" if folder is None else (Path(folder) / "job.json").read_text()
    found = all_say(workers, folder, device, plan, job)
    for where, one in found.items():
        if said := unable(one):
            raise ClusterError(f"worker {where} {said}")
    return found


def all_say(workers: Workers, *asked: Any) -> dict[str, Survey]:
    """The surveys of all workers, once there are some.  Raises ClusterError if none comes."""
    until = time.monotonic() + ANSWER
    while not (said := workers.answers(survey, *asked)):
        if time.monotonic() > until:
            raise ClusterError(f"the cluster has had no workers for {ANSWER} s")
        time.sleep(LOOK / 10)
    return {
        where: one if isinstance(one, Survey) else Survey("unknown", repr(one))
        for where, one in said.items()
    }


def unable(one: Survey) -> str:
    """Why a worker cannot compute with this process; empty: it can."""
    if one.version not in (__version__, "unknown"):
        return f"has pysw_cl {one.version}, and here is {__version__}"
    return one.fault and f"cannot compute this: {one.fault}"
