"""What will go wrong on a cluster: its workers are asked, and each computes a tile."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..checkpoint.container import to_write
from ..drivers.tuning import tile_of
from ..engines.registry import engine_for
from .survey import Survey, all_say, own_device, unable
from .workers import TRIES, Workers

#: Seconds that a tile takes at least of which the speed is measured.
LONG = 0.2
#: What is worth a warning: fewer free GiB, a larger share of the memory limit, a clock that is
#: off by more seconds, a worker that is so many times slower than others.
LITTLE, CLOSE, OFF, SLOWER = 10, 0.7, 1.0, 10


def checked(workers: Workers, folder: str | None, device: str) -> dict[str, Survey]:
    """What all workers say, with what is measured of them; ``folder``: one that they are to share.
    Raises ClusterError if there are none, and CheckpointError for a folder of no use here."""
    with ExitStack() as stack:
        where, job = None, f"check-{time.time_ns()}"
        if folder is not None:
            part = Path(folder).absolute() / job
            with to_write(part, begun=False):
                part.mkdir()
                stack.callback(shutil.rmtree, where := str(part), ignore_errors=True)
                (part / "job.json").write_text(job)
        found = all_say(workers, where, device, None, job)
    more, before = workers.answers(measured, device), time.time()
    clocks = workers.answers(time.time)
    now = (before + time.time()) / 2
    for name, one in found.items():
        fields, clock = more.get(name), clocks.get(name)
        if isinstance(fields, dict) and isinstance(clock, float):
            found[name] = replace(one, ahead=clock - now, **fields)
        elif not one.fault:
            found[name] = replace(one, fault=f"the test failed: {fields}")
    return found


def measured(device: str, dask_worker: Any) -> dict[str, Any]:
    """Fields of the survey of a worker, which Dask gives; its speed is that of a tile of DNA."""
    engine, side, seconds = engine_for(own_device(device), None), 1 << 11, 0.0
    while seconds < LONG:
        side *= 2
        tile = tile_of(("dna", True), side, side)
        for _ in range(2):  # the first run may build kernels
            started = time.perf_counter()
            engine.tile(tile)
            seconds = time.perf_counter() - started
    used, limit = dask_worker.monitor.get_process_memory(), dask_worker.memory_manager.memory_limit
    more = {"threads": dask_worker.state.nthreads, "used": used, "limit": limit or 0}
    return {"gcups": side * side / seconds / 1e9, **more}


def faults(found: Mapping[str, Survey], allowed: int) -> Iterator[str]:
    """What will go wrong, in words; ``allowed``: the scheduler's allowed-failures."""
    usual = sorted(one.gcups for one in found.values())[len(found) // 2]
    for name, one in found.items():
        disk, used, limit = (size / 2**30 for size in (one.disk, one.used, one.limit))
        for is_wrong, said in (
            (unable(one), unable(one)),
            (one.shared is False,
             "does not see the folder, so letters and edges are sent to it, which takes longer"),
            (0 < disk < LITTLE, f"has {disk:.1f} GiB free in the folder, and edges may take more"),
            (one.threads > 1, f"computes {one.threads} tasks at once on one device, each waiting "
             "for the others: start it with --nthreads 1"),
            (used > CLOSE * limit > 0, f"takes {used:.1f} of the {limit:.1f} GiB that it may, and "
             "is ended at 95%: start it with a larger --memory-limit, or 0 for none"),
            (abs(one.ahead) > OFF, f"has a clock that is off by {one.ahead:+.1f} s"),
            (0 < one.gcups * SLOWER < usual, f"computes {one.gcups:.2f} GCUPS, others {usual:.2f}, "
             "and wait for its blocks: see what else runs there, or leave it out"),
        ):  # fmt: skip
            if is_wrong:
                yield f"worker {name} {said}"
    if allowed < TRIES:
        yield (
            f"the scheduler gives up a task when {allowed + 1} workers ended that had it, whatever "
            f"ended them: set distributed.scheduler.allowed-failures to {TRIES} or more"
        )
