"""What the workers of a cluster are, asked before anything is computed."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._version import __version__
from ..engines.registry import engine_for
from ..errors import ClusterError, PyswError
from ..planning.facts import UNLIMITED, DeviceFacts
from .blocks import worker
from .workers import ANSWER, LOOK, Workers


@dataclass(frozen=True)
class Survey:
    """What a worker says of itself."""

    version: str
    #: What is wrong with its device or the folder; empty: nothing.
    fault: str
    #: Its device, bytes of the device's memory, free bytes on the folder's disk, its clock.
    device: str = ""
    memory: int = 0
    #: Does it see the folder?
    shared: bool = False
    disk: int = 0
    clock: float = 0.0
    #: How it computes by default, and what decides that.
    plan: Any = None
    facts: DeviceFacts = UNLIMITED


def survey(folder: str | None, device: str, plan: dict[str, Any] | None, job: str) -> Survey:
    """A worker's own survey.  ``job``: what the file job.json in the ``folder`` holds."""
    try:
        engine = engine_for(device, dict(plan or {}) or None)
        runtime, shared, disk = getattr(engine, "runtime", None), False, 0
        name, facts = ("", UNLIMITED) if runtime is None else (runtime.info.name, runtime.facts)
        memory = facts.memory
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
    return Survey(__version__, "", name, memory, shared, disk, time.time(), engine.plan, facts)


def surveyed(
    workers: Workers, folder: str | None, device: str, plan: dict[str, Any] | None
) -> dict[str, Survey]:
    """What all workers say, once there are some.  Raises ClusterError if none comes, or for the
    first that cannot compute a job in the ``folder``."""
    found, until = dict[str, Survey](), time.monotonic() + ANSWER
    job = "" if folder is None else (Path(folder) / "job.json").read_text()
    try:
        while not found:
            found = workers.everywhere(survey, folder, device, plan, job)
            if not found and time.monotonic() > until:
                raise ClusterError(f"the cluster has had no workers for {ANSWER} s")
            time.sleep(0 if found else LOOK / 10)
    except ImportError as error:
        raise ClusterError(f"a worker lacks this package ({error})") from error
    for where, one in found.items():
        if one.version != __version__:
            raise ClusterError(
                f"worker {where} has pysw_cl {one.version}, and here is {__version__}"
            )
        if one.fault:
            raise ClusterError(f"worker {where} cannot compute this: {one.fault}")
    return found
