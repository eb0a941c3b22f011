"""A pair on a cluster whose workers, scheduler and clients are killed at random moments, beside the
result of one device: a program of its own, because it takes minutes.

    python tests/killing.py workers|clients|schedulers [KILLS] [SEED]

After a kill only what was running on what died is computed again: every block is sealed once, but
for those that were running.
"""

from __future__ import annotations

import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("POCL_MAX_PTHREAD_COUNT", "1")

from distributed import Client, LocalCluster
from distributed.diagnostics.plugin import SchedulerPlugin

import pysw_cl
from pysw_cl.cluster import workers as cluster_workers
from pysw_cl.errors import ClusterError

LETTERS = 120_000


def pair() -> tuple[str, str]:
    rng, third = np.random.default_rng(1), LETTERS // 3
    a, other = ("".join(rng.choice([*"ACGT"], n)) for n in (LETTERS, third))
    return a, a[:third] + other + a[third:]


def key(found: Any) -> tuple[Any, ...]:
    return found.score, found.query_start, found.query_end, found.target_start, found.cigar


class Counted(SchedulerPlugin):
    """How often the task of each block was done, and taken from a worker that died."""

    def __init__(self) -> None:
        self.done: dict[str, int] = {}
        self.taken = 0

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        if str(key).startswith("tile-") and start == "processing":
            if finish == "memory":
                name = str(key).rpartition("-")[0]
                self.done[name] = self.done.get(name, 0) + 1
            elif finish != "erred":
                self.taken += 1


def kill_workers(kills: int, seed: int) -> None:
    a, b = pair()
    draw, died, runs = random.Random(seed), 0, 0
    wanted = pysw_cl.align(a, b, prune=False)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
        ) as cluster,
        Client(cluster) as client,
    ):
        while died < kills:
            counted, over, here = Counted(), threading.Event(), 0
            cluster.scheduler.add_plugin(counted, name="counted")

            def killer(over: threading.Event = over) -> None:
                nonlocal here
                while not over.wait(draw.uniform(0.5, 12)):
                    pids = [one.pid for one in [*cluster.scheduler.workers.values()]]
                    cluster.scale(2)  # a worker that dies while it starts does not come back
                    if pids:
                        with suppress(ProcessLookupError):
                            os.kill(draw.choice(pids), signal.SIGKILL)
                            here += 1

            thread = threading.Thread(target=killer)
            thread.start()
            started = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                try:
                    found = pysw_cl.align(a, b, prune=False, cluster=client, checkpoint=folder)
                finally:
                    over.set()
                    thread.join()
                begun = [*Path(folder).glob("tile-*.part")]
            assert key(found) == key(wanted)
            assert len(begun) <= here, (begun, here)
            # one runs, one waits there, and the records of some were not fetched
            again = counted.taken + sum(count - 1 for count in counted.done.values())
            died, runs = died + here, runs + 1
            print(
                f"{here} killed, {again} given to others, {time.monotonic() - started:.1f} s",
                flush=True,
            )
            cluster.scheduler.remove_plugin("counted")
    print(f"{died} workers killed in {runs} runs: all equal")


CLIENT = """
import sys, pysw_cl
sys.path.insert(0, {tests!r})
from killing import pair
pysw_cl.align(*pair(), prune=False, cluster={address!r}, checkpoint={folder!r})
"""


def blocks(folder: str) -> dict[str, int]:
    return {one.name: one.stat().st_mtime_ns for one in Path(folder).glob("tile-*-*[0-9]")}


def kill_clients(kills: int, seed: int) -> None:
    a, b = pair()
    draw, wanted = random.Random(seed), pysw_cl.align(a, b, prune=False)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
    ) as cluster:
        for number in range(kills):
            with tempfile.TemporaryDirectory() as folder:
                tests = str(Path(__file__).parent)
                text = CLIENT.format(tests=tests, address=cluster.scheduler_address, folder=folder)
                client = subprocess.Popen([sys.executable, "-c", text])
                until = time.monotonic() + 60
                while not blocks(folder) and time.monotonic() < until:
                    time.sleep(0.01)
                time.sleep(draw.uniform(0, 8))
                client.kill()
                client.wait()
                before = blocks(folder)
                assert before
                if (Path(folder) / "result").exists():
                    continue
                found = pysw_cl.resume(folder, cluster=cluster)
                assert key(found) == key(wanted)
                assert before.items() <= blocks(folder).items()
                print(f"{number}: {len(before)} of {len(blocks(folder))} were there", flush=True)


def kill_schedulers(kills: int, seed: int) -> None:
    a, b = pair()
    cluster_workers.AWAY = 3
    draw, wanted = random.Random(seed), pysw_cl.align(a, b, prune=False)
    for number in range(kills):
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            address, scheduler = started(folder, stack)
            until = draw.uniform(0.1, 6)

            def kill(
                folder: str = folder, scheduler: Any = scheduler, until: float = until
            ) -> None:
                while not blocks(folder):
                    time.sleep(0.01)
                time.sleep(until)
                scheduler.kill()

            thread = threading.Thread(target=kill)
            thread.start()
            try:
                found = pysw_cl.align(a, b, prune=False, cluster=address, checkpoint=folder)
                print(f"{number}: done before", flush=True)
            except ClusterError as error:
                print(f"{number}: {len(blocks(folder))} blocks are there; {error}", flush=True)
                before = blocks(folder)
                address, _ = started(folder, stack)
                found = pysw_cl.resume(folder, cluster=address)
                assert before.items() <= blocks(folder).items()
            thread.join()
            assert key(found) == key(wanted)


def started(folder: str, stack: ExitStack) -> tuple[str, Any]:
    """A scheduler and two workers, in processes."""
    file = Path(folder).parent / f"scheduler-{time.monotonic_ns()}.json"
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    more = ["--scheduler-file", str(file), "--port", "0", "--no-dashboard"]
    quiet = {"stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    scheduler = stack.enter_context(ended(subprocess.Popen([*dask, *more], **quiet)))
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1"]
    for _ in range(2):
        more = ["--scheduler-file", str(file), "--no-dashboard", "--no-nanny"]
        stack.enter_context(ended(subprocess.Popen([*worker, *more], **quiet)))
    stack.callback(lambda: file.unlink(missing_ok=True))
    while not file.exists() or not file.read_text().endswith("}"):
        time.sleep(0.05)
    with Client(scheduler_file=str(file)) as client:
        client.wait_for_workers(2)
        return client.scheduler.address, scheduler


class ended:
    """A process that is killed at the end."""

    def __init__(self, process: Any) -> None:
        self.process = process

    def __enter__(self) -> Any:
        return self.process

    def __exit__(self, *args: object) -> None:
        self.process.kill()
        self.process.wait()


if __name__ == "__main__":
    what = {"workers": kill_workers, "clients": kill_clients, "schedulers": kill_schedulers}
    what[sys.argv[1]](*map(int, (sys.argv[2:] + ["5", "1"][len(sys.argv) - 2 :])[:2]))
