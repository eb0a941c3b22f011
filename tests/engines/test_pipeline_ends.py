"""What ends a run whose tiles follow each other: it is at once, nothing is held, and what is saved
is sound."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import IMPORTS, fault
from pipelining import Seen, both, by_size, chains, least_rows, letters, plan_of
from saving import MODES, Enough, key, rows

import pysw_cl
from pysw_cl.checkpoint import container
from pysw_cl.errors import CheckpointError, DeviceError, RecomputedWarning, Stopped
from pysw_cl.opencl.device import get_runtime
from pysw_cl.opencl.program import BoundKernel

ENV = dict(os.environ, PYTHONPATH=IMPORTS)


@pytest.fixture
def seen() -> Iterator[Seen]:
    """Chains wherever they can be, and what happens in them."""
    with chains() as found:
        yield found


def interrupting(error: BaseException, bands: int) -> Any:
    """A progress callback that raises when so many bands are done."""
    left = [bands]

    def progress(done: int, total: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise error

    return progress


@pytest.mark.parametrize("output", ["path", "score"])
def test_runs_that_end_early(output: str, seen: Seen, tmp_path: Path) -> None:
    """What is done is sound, and the device is free for others at once."""
    plan, rng = plan_of("vector"), np.random.default_rng(12)
    a, b = letters(rng, 900, 300)
    how: dict[str, Any] = {"output": output, "plan": plan, "device": "auto"}
    wanted = pysw_cl.align(a, b, **how)
    for k, bands in enumerate([1, 2, 5, 9]):
        folder = tmp_path / str(k)
        saved = {"checkpoint": folder, "disk_size": 60_000}
        for error in (Enough(), KeyboardInterrupt(), SystemExit(3)):
            with pytest.raises(type(error)):
                pysw_cl.align(a, b, **how, **saved, progress=interrupting(error, bands))
            assert seen.nothing_held()
            assert not list(folder.glob("*.part"))
        assert len(rows(folder)) >= 3 * (bands - 1)
        with pytest.raises(Stopped, match="continue with"):
            pysw_cl.align(a, b, **how, **saved, stop_after=1e-6)
        assert seen.nothing_held()
        assert key(pysw_cl.align(a, b, **how)) == key(wanted)
        assert key(pysw_cl.resume(folder, plan=plan)) == key(wanted)
    assert seen.begun > 3


def test_gaps_in_the_middle(seen: Seen, tmp_path: Path) -> None:
    """Rows that were lost are computed again, with other plans, down to those that are there."""
    rng = np.random.default_rng(13)
    a, b = letters(rng, 900, 300)
    choose = random.Random(1)
    for k, (mode, free_ends) in enumerate(MODES):
        how: dict[str, Any] = {"mode": mode, "free_ends": free_ends, "output": "path"}
        how |= {"max_cost": None} if mode == "global" else {}
        folder = tmp_path / str(k)
        wanted = both(seen, folder, a, b, plan_of("vector"), 60_000, **how)
        for plan in (plan_of("wider"), plan_of("vector"), by_size(6)):
            for path in rows(folder):
                if choose.random() < 0.5:
                    path.unlink()
            for name in ("result", *(path.name for path in folder.glob("walk-*"))):
                (folder / name).unlink()
            assert key(pysw_cl.resume(folder, plan=plan)) == key(wanted)
            assert seen.nothing_held()
    assert seen.longest > 5


@pytest.mark.parametrize("launch", [1, 2, 3, 8, 30])
def test_a_launch_that_fails(
    launch: int, seen: Seen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is launched again; if all fail, it is an error, and what is saved is sound."""
    plan = plan_of("vector")
    a, b = letters(np.random.default_rng(14), 900, 300)
    how: dict[str, Any] = {"output": "path", "plan": plan, "device": "auto"}
    wanted = pysw_cl.align(a, b, **how)
    how |= {"disk_size": 60_000}
    with monkeypatch.context() as patch:
        once = range(launch, launch + 1)
        fault(patch, BoundKernel, "launch", DeviceError("no launch today"), once)
        with pytest.warns(RecomputedWarning, match="does its work again: no launch today"):
            found = pysw_cl.align(a, b, **how, checkpoint=tmp_path / "once")
    assert key(found) == key(wanted) and found.stats.retried == 1
    with monkeypatch.context() as patch:
        fault(patch, BoundKernel, "launch", DeviceError("no launch today"), range(launch, 1 << 30))
        with (
            pytest.warns(RecomputedWarning, match="does its work again"),
            pytest.raises(DeviceError, match=r"no launch today; continue with pysw_cl\.resume"),
        ):
            pysw_cl.align(a, b, **how, checkpoint=tmp_path / "all")
    assert seen.nothing_held()
    assert key(pysw_cl.resume(tmp_path / "all")) == key(wanted)


def test_a_disk_that_is_full(seen: Seen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = letters(np.random.default_rng(15), 900, 300)
    how: dict[str, Any] = {"output": "path", "plan": plan_of("vector"), "device": "auto"}
    full = container.cannot_write(tmp_path, OSError(28, "No space left on device"))
    with monkeypatch.context() as patch:
        fault(patch, container.SealedWriter, "put", full, range(21, 1 << 30))
        with pytest.raises(CheckpointError, match="No space left"):
            pysw_cl.align(a, b, **how, checkpoint=tmp_path, disk_size=60_000)
    assert seen.nothing_held() and not list(tmp_path.glob("*.part"))
    assert key(pysw_cl.resume(tmp_path)) == key(pysw_cl.align(a, b, **how))


@pytest.mark.parametrize("output", ["path", "score"])
def test_the_disk_size_is_kept(output: str, seen: Seen, tmp_path: Path) -> None:
    """Bands that are begun have their room, though none of them is there yet."""
    rng, plan = np.random.default_rng(16), plan_of("vector")
    for k, size in enumerate([30_000, 60_000, 200_000]):
        a, b = letters(rng, 1500, 400)
        folder, most = tmp_path / str(k), [0]

        def read_meanwhile(
            done: int, total: int, folder: Path = folder, most: list[int] = most
        ) -> None:
            files = [path for path in folder.iterdir() if path.suffix != ".part"]
            most[0] = max(most[0], sum(path.stat().st_size for path in files))

        how: dict[str, Any] = {"output": output, "device": "auto", "plan": plan}
        pysw_cl.align(a, b, checkpoint=folder, disk_size=size, progress=read_meanwhile, **how)
        assert size / 4 < most[0] <= size
    assert seen.longest > 5


CHILD = """
import sys, numpy, pysw_cl
from pipelining import chains, letters, plan_of
folder, seed, output, lanes, m = sys.argv[1:]
a, b = letters(numpy.random.default_rng(int(seed)), int(m), 900)
with chains() as seen:
    pysw_cl.align(a, b, plan=plan_of(lanes), device="auto", output=output, checkpoint=folder,
                  disk_size=150_000 + int(m))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills processes")
@pytest.mark.parametrize("moments", [8, pytest.param(80, marks=pytest.mark.long)])
def test_killed_at_random_moments(moments: int, seen: Seen, tmp_path: Path) -> None:
    choose, sweeping = random.Random(1), 0
    lanes = "vector" if get_runtime("auto").info.kind == "cpu" else "packed"
    m = 300 * least_rows(lanes)
    for seed in range(moments):
        folder, output = tmp_path / str(seed), choose.choice(["path", "score"])
        command = [sys.executable, "-c", CHILD, str(folder), str(seed), output, lanes, str(m)]
        child = subprocess.Popen(command, env=ENV)
        bands, until = choose.randint(1, 60), time.monotonic() + 60
        while child.poll() is None and len(rows(folder)) < bands and time.monotonic() < until:
            time.sleep(0.0005)
        time.sleep(choose.uniform(0, 0.02))
        sweeping += not (list(folder.glob("walk-*")) or (folder / "result").exists())
        child.kill()
        assert child.wait() in (0, -signal.SIGKILL)
        a, b = letters(np.random.default_rng(seed), m, 900)
        how: dict[str, Any] = {"output": output, "plan": plan_of(lanes), "device": "auto"}
        told, finished = list[int](), (folder / "result").exists()
        found = pysw_cl.resume(folder, progress=lambda done, total, told=told: told.append(done))
        assert key(found) == key(pysw_cl.align(a, b, **how))
        assert finished or told[0] > 0  # a fast device may have been faster than the signal
        assert not list(folder.glob("*.part")) and seen.nothing_held()
    assert sweeping >= moments // 2
