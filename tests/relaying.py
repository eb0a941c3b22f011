"""Random comparisons by two devices in turn, or in parts side by side, against those by one: a
program of its own, because PoCL copies rows between devices only if it has more threads than groups
are waiting.

    POCL_MAX_PTHREAD_COUNT=64 python tests/relaying.py [SECONDS] [SEED] [DEVICES]

DEVICES are GPUs, such as 0:0,0:1; without them several contexts of one CPU stand for devices, and
contexts of a GPU for one that is named again.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

os.environ.setdefault("POCL_MAX_PTHREAD_COUNT", "64")

import pyopencl as cl
import spans
from failing import failing
from joining import waiting

import pysw_cl
from pysw_cl.drivers import parallel_traceback
from pysw_cl.engines import several as sharing
from pysw_cl.engines.wavefront import relay
from pysw_cl.engines.wavefront.kernel import MOST
from pysw_cl.engines.wavefront.relay import Lane, Relay
from pysw_cl.engines.wavefront.tile import TileRun
from pysw_cl.errors import Stopped
from pysw_cl.opencl import several
from pysw_cl.opencl.buffers import Buffers
from pysw_cl.opencl.device import Runtime, get_runtime
from pysw_cl.planning.facts import Share
from pysw_cl.results.alignment import Alignment
from pysw_cl.tiles.beside import SweepBeside
from pysw_cl.tiles.contract import HANGING

PLANS: tuple[dict[str, Any], ...] = (
    {"lanes": "vector", "T": 4, "alpha": 2, "chunk": 7, "B": 3},
    {"lanes": "vector", "T": 16, "alpha": 3, "chunk": 40, "B": 2},
    {"lanes": "vector", "T": 8, "alpha": 1, "chunk": 16, "B": 3},
)
GPU_PLANS: tuple[dict[str, Any], ...] = (
    {"lanes": "packed", "alpha": 2, "chunk": 64},
    {"lanes": "packed", "alpha": 25, "chunk": 7},
    {"lanes": "packed", "alpha": 10, "chunk": 128},
    {"lanes": "mixed", "alpha": 25, "chunk": 64},
)
#: The parts of short paths are traced by several devices, too.
PARTS: dict[str, Any] = {"traceback.pieces": 12, "speculation.least_sides": 1}
SMALL_PARTS = PARTS | {"traceback.least_side": 40, "speculation.side": 10}
GPU_PARTS = PARTS | {"speculation.side": 128}
SCORINGS: tuple[dict[str, Any], ...] = (
    {"sub_score": (1, -3), "gap_cost": (3, 2)},
    {"sub_score": (2, -1), "gap_cost": 1},
    {"sub_score": (1, -1), "gap_cost": (10, 1)},
)


def key(found: Alignment) -> tuple[Any, ...]:
    places = found.query_start, found.query_end, found.target_start, found.target_end
    return found.score, *places, found.cigar, found.strand


def drawn(rng: np.random.Generator, least: int, most: int) -> tuple[str, str]:
    """Two sequences of so many letters, related or not."""
    m, n = (int(np.exp(rng.uniform(np.log(least), np.log(most)))) for _ in "ab")
    letters = int(rng.integers(1, 5))
    a = rng.integers(0, letters, m)
    b = np.resize(a[rng.random(m) > 0.1], n) if rng.random() < 0.7 and m > 3 else a[:0]
    b = b if len(b) == n else rng.integers(0, letters, n)
    b = np.where(rng.random(n) < 0.1, rng.integers(0, letters, n), b)
    return tuple("".join("ACGT"[one] for one in codes) for codes in (a, b))  # type: ignore[return-value]


def runtimes(names: list[str]) -> list[Runtime]:
    """Devices, each a context of its own: tiles follow each other on one that is named again."""
    found = []
    for name in names:
        runtime = get_runtime(cl.Context([get_runtime(name).device]))
        runtime.traits = replace(runtime.traits, speculative=True)
        found.append(runtime)
    return found


def compared(rng: np.random.Generator, devices: list[Runtime]) -> tuple[int, int, int]:
    """One random case; its relays, their tiles, and its sweeps in parts."""
    made.clear()
    parted.clear()
    gpus = devices[0].info.kind == "gpu"
    least = 200 if rng.random() < 0.25 else 1
    a, b = drawn(rng, *((100, 60_000) if gpus else (least, 700)))
    plans = GPU_PLANS if gpus else PLANS
    plan: dict[str, Any] = {**plans[rng.integers(len(plans))], "form": "ticketed"}
    plan |= {"B": int(np.exp(rng.uniform(0, 4)))} if gpus else {}
    plan |= {"pipeline.least_cells": 0, "pipeline.relay_columns": int(rng.integers(1, 60))}
    # a copy of a few columns takes a GPU as long as one of thousands
    plan |= {"pipeline.relay_columns": int(rng.integers(500, 20_000))} if gpus else {}
    plan |= {"pipeline.depth": int(rng.integers(1, 4)), "pipeline.more": 1}
    plan |= {"sections.first_overlap": int(np.exp(rng.uniform(0, 6)))}
    plan |= {"pipeline.share_seconds": float(rng.choice([0, 0.02]))}
    if rng.random() < 0.5:
        plan |= GPU_PARTS if gpus else SMALL_PARTS
    plan |= {"tile_cells": int(rng.choice([1 << 10, 1 << 14, 1 << 30][2 * gpus :]))}
    how: dict[str, Any] = {**SCORINGS[rng.integers(len(SCORINGS))], "plan": plan}
    how["output"] = str(rng.choice(["path", "ends", "score"]))
    how["strand"] = str(rng.choice(["plus", "minus", "both"]))
    if rng.random() < 0.4:
        how |= {"mode": "global", "free_ends": tuple((rng.random(4) < 0.4).tolist())}
        how["max_cost"] = None
    elif rng.random() < 0.5:
        how["prune"] = False
    some = devices[: int(rng.integers(1, len(devices) + 1))]
    several.devices_of = lambda device: some  # type: ignore[assignment]
    if not gpus or rng.random() < 0.5:
        groups = {one.context: int(rng.integers(1, 40 if gpus else 4)) for one in devices}
        sharing.shares_of = lambda runtimes, plan: tuple(
            Share(one.facts, groups[one.context]) for one in runtimes
        )
    else:
        sharing.shares_of = shares_of
    if rng.random() < 0.4:
        found = with_a_fault(rng, some, lambda: pysw_cl.align(a, b, device=["0", "1"], **how))
    elif rng.random() < 0.2:
        with tempfile.TemporaryDirectory() as folder:
            kept = {"checkpoint": folder, "disk_size": 1 << 22}
            try:
                found = pysw_cl.align(a, b, device=["0", "1"], stop_after=0.0, **how, **kept)
            except Stopped:
                found = pysw_cl.resume(folder, device=["0", "1"], plan=plan)
    else:
        with late_queues(0.0 if rng.random() < 0.8 else float(rng.uniform(0, 0.02))):
            found = pysw_cl.align(a, b, device=["0", "1"], timeline=True, **how)
        relayed = max([1, *(min(len(some), one.count) for one in made)])
        spans.check(found, None if parted else 1 + (how["strand"] == "both"))
        names = {span.device for span in found.stats.spans if span.what == "sweep"}
        assert relayed <= len(names) <= max(relayed, len(some) * bool(parted)), names
    how |= {"plan": {"lanes": "warp32"}} if gpus else {}
    wanted = pysw_cl.align(a, b, device=devices[0].device if gpus else "auto", **how)
    assert key(found) == key(wanted), (a, b, how, len(some), found, wanted)
    counts, parts = [one.count for one in made], len(parted)
    made.clear()
    parted.clear()
    assert not in_cycles(), how
    return len(counts), sum(counts), parts


def in_cycles() -> list[Any]:
    """Memory of devices that only cycles of objects refer to.  It would be released at any time;
    some drivers wait with that until no kernel runs, and Python with them."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    gc.set_debug(0)
    found = [one for one in gc.garbage if isinstance(one, cl.MemoryObject)]
    gc.garbage.clear()
    return found


@contextmanager
def late_queues(seconds: float) -> Iterator[None]:
    """What a tile of a pipeline is given comes to its device so many seconds late, as it may on a
    busy host: until then its memory holds what an earlier tile left there."""
    begin = TileRun.__init__

    def late(self: TileRun, *given: Any) -> None:
        buffers = given[2]
        if seconds and given[-1] is not None:
            event = cl.UserEvent(buffers.runtime.context)
            cl.enqueue_barrier(buffers.runtime.queue, wait_for=[event])
            done = cl.command_execution_status.COMPLETE
            threading.Timer(seconds, event.set_status, [done]).start()
        begin(self, *given)

    with mock.patch.object(TileRun, "__init__", late):
        yield


def with_a_fault(
    rng: np.random.Generator, devices: list[Runtime], run: Callable[[], Alignment]
) -> Alignment:
    """A run in which a call of one device fails, once or from then on: others do its work."""
    gone, first = devices[rng.integers(len(devices))], int(np.exp(rng.uniform(0, 7)))
    with (
        warnings.catch_warnings(record=True) as given,
        failing(gone.context, first, len(devices) > 1 and rng.random() < 0.5) as calls,
    ):
        warnings.simplefilter("always")
        found = run()
    end_kernels()
    faults[0] += calls.failed
    told = [one for one in given if "the device is gone" in str(one.message)]
    stats = found.stats
    assert len(told) == len(stats.failed) + stats.retried, [*map(str, given), stats]
    assert not stats.recomputed, [*map(str, given), stats]
    assert len(stats.failed) < len(devices)
    return found


def end_kernels() -> None:
    """End kernels of devices that were left out, which nobody could tell to end."""
    for lane in HANGING:
        assert isinstance(lane, Lane)
        with Buffers(lane.runtime.beside(7)) as buffers:
            buffers.write(lane.there, np.full(lane._most_tiles, MOST, np.int32))
            lane.runtime.beside(7).queue.finish()
        lane.close()
    HANGING.clear()


def hangs(rng: np.random.Generator, devices: list[Runtime], name: str) -> None:
    """A device that computes nothing any more, or to which nothing is copied, is left out.
    ``name``: of the method that says so, or that does not come back."""
    a, b = ("".join(rng.choice([*"ACGT"], 300)) for _ in "ab")
    plan = {**PLANS[0], "form": "ticketed", "pipeline.least_cells": 0, "pipeline.depth": 2}
    plan |= {"sweep.hang_seconds": 0.2, "sweep.tell_seconds": 0.05, "tile_cells": 1 << 14}
    real, gone, over = getattr(Lane, name), devices[1].context, threading.Event()

    def instead(self: Lane, *given: Any) -> Any:
        if self.runtime.context != gone:
            return real(self, *given)
        return None if name == "done" else over.wait()

    several.devices_of = lambda device: devices  # type: ignore[assignment]
    relay.LOST_SECONDS = 0.2
    setattr(Lane, name, instead)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = pysw_cl.align(a, b, device=["0", "1"], output="ends", plan=plan)
    finally:
        setattr(Lane, name, real)
        over.set()
        end_kernels()
    assert len(found.stats.failed) == 1, found.stats
    assert key(found) == key(pysw_cl.align(a, b, device="auto", output="ends"))


#: Seconds after which a case hangs.
SLOW = 150
made: list[Relay] = []
parted: list[SweepBeside] = []
shares_of = sharing.shares_of
faults, joins = [0], list[int]()


def note(kind: Any, some: list[Any]) -> None:
    """Objects of this kind are noted when they are made."""
    begin = kind.__init__

    def noted(self: Any, *given: Any) -> None:
        some.append(self)
        begin(self, *given)

    kind.__init__ = noted


def main(seconds: float, seed: int, named: str = "") -> None:
    for kind, some in ((Relay, made), (SweepBeside, parted)):
        note(kind, some)
    parallel_traceback._joining = waiting(parallel_traceback._joining, joins)
    rng, cases, found = np.random.default_rng(seed), 0, np.zeros(3, int)
    devices = runtimes(named.split(",") if named else ["auto"] * 3)
    for name in () if named else ("done", "tell"):
        hangs(rng, devices, name)
    gc.disable()  # so that what is left in cycles is seen
    until = time.monotonic() + seconds
    few = (3, 20) if len(devices) > 1 else (0, 0)  # relays, and their tiles, on a busy machine, too
    while time.monotonic() < until or faults[0] < 2 or (found[:2] < few).any():
        faulthandler.dump_traceback_later(SLOW, exit=True)
        found += compared(rng, devices)
        cases += 1
    faulthandler.cancel_dump_traceback_later()
    told = "{} relays, {} tiles, {} sweeps in parts".format(*found)
    print(f"{cases} cases, {told}, {faults[0]} faults, {len(joins)} paths joined")


if __name__ == "__main__":
    given = sys.argv[1:] + ["10", "1"][len(sys.argv) - 1 :]
    main(float(given[0]), int(given[1]), *given[2:])
