"""A pair on the workers of a cluster: results, lost workers, bad input."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysw_cl
from pysw_cl.cluster import blocks, pair, survey, workers
from pysw_cl.errors import CheckpointError, ClusterError, InputError, Stopped
from pysw_cl.planning.geometry import cuts

PROGRAM = Path(__file__).resolve().parents[1] / "clustering.py"


def letters(seed: int, count: int) -> str:
    return "".join(np.random.default_rng(seed).choice([*"ACGT"], count))


PLAN = {"T": 4, "alpha": 2}
A, B = letters(1, 900), letters(1, 500) + letters(2, 300)


def key(found: Any) -> tuple[Any, ...]:
    return found.score, found.query_start, found.query_end, found.target_start, found.cigar


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    class Small:
        def __init__(self, workers: int) -> None: ...

        def cuts(self, given: Any, m: int, n: int) -> tuple[list[int], list[int]]:
            return cuts(m, 200, 8), cuts(n, 90, 1)

    monkeypatch.setattr(pair, "Cluster", Small)


class Told(ThreadPoolExecutor):
    """Calls ``before`` with each task, which may raise or wait."""

    def __init__(self, before: Any, count: int = 2) -> None:
        super().__init__(count)
        self._before = before

    def submit(self, task: Any, /, *given: Any, **named: Any) -> Future[Any]:
        def run() -> Any:
            self._before(task, *given)
            return task(*given)

        return super().submit(run)


def test_random_pairs_with_lost_workers() -> None:
    program = [sys.executable, str(PROGRAM), "8", "5"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[0]) > 5


def test_timeline_and_progress_of_workers() -> None:
    told: list[tuple[int, int]] = []
    with ThreadPoolExecutor(2) as executor:
        found = pysw_cl.align(
            A,
            B,
            plan=PLAN,
            prune=False,
            cluster=executor,
            timeline=True,
            progress=lambda *x: told.append(x),
        )
    areas = [span.area for span in found.stats.spans if span.area is not None]
    assert sum(area.cells for area in areas) == len(A) * len(B) == found.stats.total_cells
    assert told[0] == (0, told[-1][1])
    assert told[-1][0] == told[-1][1]


def test_a_slow_block_is_begun_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "LOOK", 0.05)
    monkeypatch.setattr(pair, "LOOK", 0.05)
    seen, slow, over = list[Any](), list[Any](), threading.Event()

    def before(task: Any, block: Any, *more: Any) -> None:
        if task is blocks.computed:
            seen.append(block.area)
            if block.area.row and not slow:
                slow.append(block.area)
                over.wait(60)

    with Told(before, 4) as executor:
        found = pysw_cl.align(A, B, plan=PLAN, cluster=executor, output="ends")
        over.set()
    assert seen.count(slow[0]) == 2
    assert found.score == pysw_cl.align(A, B).score


def test_a_damaged_block_is_computed_again(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as executor:
        with pytest.raises(Stopped):
            pysw_cl.align(A, B, plan=PLAN, cluster=executor, checkpoint=tmp_path, stop_after=0)
        one = min(tmp_path.glob("tile-*"))
        one.write_bytes(one.read_bytes()[:-30])
        found = pysw_cl.resume(tmp_path, cluster=executor)
    assert key(found) == key(pysw_cl.align(A, B))


def test_blocks_that_are_there_are_not_computed_again(tmp_path: Path) -> None:
    computed: list[Any] = []

    def before(task: Any, block: Any, *more: Any) -> None:
        if task is blocks.computed:
            computed.append(block.area)

    with Told(before) as executor:
        with pytest.raises(Stopped):
            pysw_cl.align(
                A, B, plan=PLAN, cluster=executor, checkpoint=tmp_path, stop_after=0, prune=False
            )
        before_it = len(computed)
        found = pysw_cl.resume(tmp_path)  # by this process
    assert key(found) == key(pysw_cl.align(A, B))
    assert len({*computed}) == len(computed) == before_it


def test_two_clients_on_one_folder(tmp_path: Path) -> None:
    inside, over = threading.Event(), threading.Event()

    def before(task: Any, *more: Any) -> None:
        if task is blocks.computed:
            inside.set()
            over.wait(60)

    with Told(before) as executor, ThreadPoolExecutor(1) as client:
        first = client.submit(pysw_cl.align, A, B, plan=PLAN, cluster=executor, checkpoint=tmp_path)
        assert inside.wait(60)
        with pytest.raises(CheckpointError, match="in use"):
            pysw_cl.align(A, B, plan=PLAN, cluster=executor, checkpoint=tmp_path)
        over.set()
        assert key(first.result()) == key(pysw_cl.align(A, B))


def test_a_full_disk_at_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Any, facts: Any) -> int:
        raise CheckpointError("cannot write it: No space left on device")

    with ThreadPoolExecutor(1) as executor:
        with monkeypatch.context() as patch:
            patch.setattr(blocks.EdgeWriter, "seal", full)
            with pytest.raises(CheckpointError, match="No space"):
                pysw_cl.align(A, B, plan=PLAN, cluster=executor, checkpoint=tmp_path)
        assert key(pysw_cl.resume(tmp_path, cluster=executor)) == key(pysw_cl.align(A, B))


@pytest.mark.parametrize(
    ("change", "message"),
    [({"version": "0.0.1"}, "has pysw_cl 0.0.1"), ({"fault": "no device"}, "no device")],
)
def test_workers_that_cannot(
    change: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = survey.survey
    monkeypatch.setattr(survey, "survey", lambda *given: replace(real(*given), **change))
    with ThreadPoolExecutor(1) as executor, pytest.raises(ClusterError, match=message):
        pysw_cl.align(A, B, plan=PLAN, cluster=executor)


def test_workers_that_always_fail() -> None:
    def before(task: Any, *more: Any) -> None:
        if task is blocks.computed:
            raise OSError("gone")

    with Told(before) as executor, pytest.raises(ClusterError, match="again and again: gone"):
        pysw_cl.align(A, B, plan=PLAN, cluster=executor)


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(workers, "ANSWER", 0.2)
    started = time.monotonic()
    with pytest.raises(ClusterError, match=r"no scheduler answers at tcp://127\.0\.0\.1:9"):
        pysw_cl.align(A, B, cluster="tcp://127.0.0.1:9")
    assert time.monotonic() < started + 20


def test_what_is_no_cluster() -> None:
    with pytest.raises(InputError, match="cluster must be"):
        pysw_cl.align(A, B, cluster=5)
    with Executor() as executor, pytest.raises(InputError, match="disk_size"):
        pysw_cl.align(A, B, plan=PLAN, cluster=executor, checkpoint="x", disk_size=1 << 20)
