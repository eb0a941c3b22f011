"""A pair on the workers of a cluster: results, lost workers, bad input."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contract_engines import random_job
from helpers import match_scoring

import pysw_cl
from pysw_cl.checkpoint.container import SealedFile
from pysw_cl.checkpoint.store import keep_result
from pysw_cl.cluster import blocks, pair, survey, workers
from pysw_cl.cluster.blocks import Place
from pysw_cl.cluster.survey import surveyed
from pysw_cl.errors import (
    CheckpointError,
    ClusterError,
    DeviceError,
    InputError,
    RecomputedWarning,
    Stopped,
)
from pysw_cl.planning.geometry import cuts
from pysw_cl.tiles.tile import Area

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
    monkeypatch.setattr(blocks, "SEEN", 0.2)


def unshared(*given: Any) -> Any:
    """As if the workers did not see the client's folder."""
    return {k: replace(one, shared=False) for k, one in surveyed(*given).items()}


class Told(ThreadPoolExecutor):
    """Calls ``before`` with each task, which may raise or wait."""

    def __init__(self, before: Any, count: int = 2) -> None:
        super().__init__(count)
        self._before = before

    def submit(self, task: Any, /, *given: Any, **named: Any) -> Future[Any]:
        def run() -> Any:
            self._before(*(given[1:] if task is workers.at_worker else (task, *given)))
            return task(*given)

        return super().submit(run)


def test_random_pairs_with_lost_workers() -> None:
    program = [sys.executable, str(PROGRAM), "8", "5"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[0]) > 5


def test_a_thread_keeps_one_engine() -> None:
    with blocks.Here() as here:
        for rows in (4, 8):
            pysw_cl.align(A, B, plan={**PLAN, "T": rows}, cluster=here)
            assert len(vars(blocks._own)["engines"]) == 1
    assert not vars(blocks._own)


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


def test_a_block_that_two_workers_end_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair, "LOOK", 0.02)
    seen, both, real = list[Any](), threading.Barrier(2), workers.wait

    def before(task: Any, block: Any, *more: Any) -> None:
        if task is blocks.computed and not (block.area.row or block.area.column):
            seen.append(block.area)
            both.wait(60)

    def waited(running: Any, *given: Any) -> Any:
        found = real(running, 0.02, *given[1:])
        return real(running) if len(running) == len(seen) == 2 else found

    monkeypatch.setattr(workers, "wait", waited)
    with Told(before) as executor:
        found = pysw_cl.align(A, B, plan=PLAN, cluster=executor, output="ends")
    assert found.score == pysw_cl.align(A, B).score
    assert len(seen) == 2


def test_a_damaged_block_is_computed_again(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as executor:
        with pytest.raises(Stopped):
            pysw_cl.align(A, B, plan=PLAN, cluster=executor, checkpoint=tmp_path, stop_after=0)
        one = min(tmp_path.glob("tile-*"))
        one.write_bytes(one.read_bytes()[:-30])
        found = pysw_cl.resume(tmp_path, cluster=executor)
    assert key(found) == key(pysw_cl.align(A, B))


@pytest.mark.parametrize("shared", [True, False])
def test_cells_that_are_damaged(
    shared: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair, "surveyed", surveyed if shared else unshared)
    with ThreadPoolExecutor(2) as executor:
        pysw_cl.align(A, B, plan=PLAN, cluster=executor, checkpoint=tmp_path)
        (tmp_path / "result").unlink()
        every = sorted(tmp_path.glob("tile-*"))
        for one in every:
            (piece,) = SealedFile(one).named("right") or [None]
            with one.open("r+b") as file:
                file.seek(0 if piece is None else piece.offset)
                file.write(b"!")
        found = None
        for _ in every:
            with suppress(CheckpointError):
                found = pysw_cl.resume(tmp_path, cluster=executor)
                break
    assert found is not None
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


def test_a_folder_of_another_job_before(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    with ThreadPoolExecutor(1) as executor:
        for query in (A, A[::-1]):
            found = pysw_cl.align(query, B, plan=PLAN, cluster=executor, checkpoint=folder)
            assert key(found) == key(pysw_cl.align(query, B))
            shutil.rmtree(folder)


def test_each_run_that_stops_does_some_more(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as executor, pytest.raises(Stopped):
        pysw_cl.align(A, B, plan=PLAN, cluster=executor, checkpoint=tmp_path, stop_after=0)
    found = None
    for _ in range(100):
        with suppress(Stopped):
            found = pysw_cl.resume(tmp_path, stop_after=0)
            break
    assert found is not None
    assert key(found) == key(pysw_cl.align(A, B))


def test_files_of_finished_runs_are_removed(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as executor:
        first = pysw_cl.align(A, B, plan=PLAN, cluster=executor, checkpoint=tmp_path, strand="both")
    assert not [*tmp_path.rglob("tile-*")]
    keep_result(tmp_path)
    names = {path.name for path in tmp_path.rglob("*")}
    assert names == {"job.json", "lock", "plus", "minus", "result", "thin"}
    assert key(pysw_cl.align(A, B, checkpoint=tmp_path, strand="both")) == key(first)


def test_blocks_of_damaged_cuts_do_not_count(tmp_path: Path) -> None:
    how: dict[str, Any] = {"plan": PLAN, "checkpoint": tmp_path}
    with ThreadPoolExecutor(1) as executor:
        pysw_cl.align(A, B, cluster=executor, prune=False, **how)
    (tmp_path / "result").unlink()
    (tmp_path / "blocks").unlink()
    with ThreadPoolExecutor(3) as executor:
        found = pysw_cl.align(A, B, cluster=executor, **how)
    assert key(found) == key(pysw_cl.align(A, B))


def test_a_finished_run_needs_no_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor(1) as executor:
        found = pysw_cl.align(A, B, plan=PLAN, cluster=executor, checkpoint=tmp_path)
        monkeypatch.setattr(pair, "surveyed", None)
        assert key(pysw_cl.resume(tmp_path)) == key(found)
        assert key(pysw_cl.resume(tmp_path, cluster=executor)) == key(found)


def test_workers_with_another_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def before(task: Any, block: Any, *more: Any) -> None:
        folder = block if task is survey.survey else getattr(block, "place", block).folder
        assert folder == str(tmp_path / "one")

    with Told(before) as executor:
        pysw_cl.align(A, B, plan=PLAN, cluster=executor, checkpoint="one")


def test_align_goes_on_with_blocks(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as executor, pytest.raises(Stopped):
        pysw_cl.align(A, B, plan=PLAN, cluster=executor, checkpoint=tmp_path, stop_after=0)
    assert key(pysw_cl.align(A, B, plan=PLAN, checkpoint=tmp_path)) == key(pysw_cl.align(A, B))
    assert not [*tmp_path.glob("rows-*")]


def test_a_run_with_a_disk_size_goes_on_with_a_cluster(tmp_path: Path) -> None:
    how: dict[str, Any] = {"disk_size": 1 << 22, "stop_after": 0}
    plan = {**PLAN, "tile_cells": 1 << 12, "saving.most_rows": 100}
    with suppress(Stopped):
        pysw_cl.align(A, B, plan=plan, checkpoint=tmp_path, **how)
    with ThreadPoolExecutor(1) as executor:
        assert key(pysw_cl.resume(tmp_path, cluster=executor)) == key(pysw_cl.align(A, B))


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
            patch.setattr(blocks.container.EdgeWriter, "seal", full)
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


def test_workers_that_always_fail(tmp_path: Path) -> None:
    def before(task: Any, *more: Any) -> None:
        if task is blocks.computed:
            raise OSError("gone")

    with Told(before) as executor:
        with pytest.raises(ClusterError, match="again and again: gone; with a checkpoint"):
            pysw_cl.align(A, B, plan=PLAN, cluster=executor)
        with pytest.raises(ClusterError, match="again and again: gone; continue with"):
            pysw_cl.align(A, B, plan=PLAN, cluster=executor, checkpoint=tmp_path)


def test_an_executor_that_is_shut_down() -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    for one in (executor, Executor()):
        with pytest.raises(ClusterError, match="the cluster does not answer"):
            pysw_cl.align(A, B, plan=PLAN, cluster=one)


def test_an_executor_that_breaks() -> None:
    def before(task: Any, *more: Any) -> None:
        if task is blocks.computed:
            raise BrokenExecutor("a process died")

    with Told(before) as executor, pytest.raises(ClusterError, match="a process died"):
        pysw_cl.align(A, B, plan=PLAN, cluster=executor)


def test_an_error_while_others_still_write() -> None:
    def before(task: Any, block: Any, *more: Any) -> None:
        if task is blocks.computed and block.area.row:
            raise ValueError("this one")

    for _ in range(5):
        with Told(before, 4) as executor, pytest.raises(ValueError, match="this one"):
            pysw_cl.align(A * 3, B * 3, plan=PLAN, cluster=executor, output="ends")


def test_two_jobs_that_are_sent_to_the_same_workers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(pair, "surveyed", unshared)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with ThreadPoolExecutor(3) as executor, ThreadPoolExecutor(2) as clients:
        jobs = [(A, B), (A[:800], B)]
        found = [clients.submit(pysw_cl.align, *job, plan=PLAN, cluster=executor) for job in jobs]
        for one, job in zip(found, jobs, strict=True):
            assert key(one.result()) == key(pysw_cl.align(*job))
    assert not any(tmp_path.iterdir())


def test_a_job_that_is_over_while_a_block_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(workers, "LOOK", 0.05)
    monkeypatch.setattr(pair, "LOOK", 0.05)
    monkeypatch.setattr(pair, "surveyed", unshared)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    late, over, real = list[Any](), threading.Event(), blocks.container.EdgeWriter.seal

    def seal(self: Any, facts: Any) -> None:
        if not late and "-000000000000-" not in self.path.name:
            late.append(self.path)
            over.wait(60)
        real(self, facts)

    monkeypatch.setattr(blocks.container.EdgeWriter, "seal", seal)
    with ThreadPoolExecutor(3) as executor:
        for _ in range(2):
            found = pysw_cl.align(A, B, plan=PLAN, cluster=executor)
            assert key(found) == key(pysw_cl.align(A, B))
        assert late[0].parent.exists()
        over.set()
    assert not any(tmp_path.iterdir())


def test_workers_that_always_lack_what_they_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair, "computed", lambda *given: None)
    with ThreadPoolExecutor(1) as executor, pytest.raises(ClusterError, match="cannot write what"):
        pysw_cl.align(A, B, plan=PLAN, cluster=executor)


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(workers, "ANSWER", 0.2)
    started = time.monotonic()
    with pytest.raises(ClusterError, match=r"no scheduler answers at tcp://127\.0\.0\.1:9"):
        pysw_cl.align(A, B, cluster="tcp://127.0.0.1:9")
    assert time.monotonic() < started + 20


def test_a_scheduler_that_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    class Client:
        status, answers = "running", False

        def nthreads(self) -> dict[str, int]:
            if not self.answers:
                raise OSError("connection reset")
            return {"one": 2, "two": 1}

    monkeypatch.setattr(workers, "LOOK", 0)
    monkeypatch.setattr(workers, "AWAY", 0.1)
    client = Client()
    found = workers.Workers(Executor(), client)
    assert found.count() == 0
    assert not found.wait([Future()])
    client.answers = True
    assert found.count() == 3
    client.status = "connecting"
    time.sleep(0.2)
    with pytest.raises(ClusterError, match="no scheduler or no worker"):
        found.wait([Future()])


def test_the_executor_of_a_dask_client() -> None:
    distributed = pytest.importorskip("distributed")
    executor = object.__new__(pytest.importorskip("distributed.cfexecutor").ClientExecutor)
    executor._client = object.__new__(distributed.Client)
    executor._client.get_executor = lambda: executor
    with workers.workers_of(executor) as found:
        assert found is not None
        assert found._client is executor._client


def test_what_is_no_cluster() -> None:
    with pytest.raises(InputError, match="cluster must be"):
        pysw_cl.align(A, B, cluster=5)
    with Executor() as executor, pytest.raises(InputError, match="disk_size"):
        pysw_cl.align(A, B, plan=PLAN, cluster=executor, checkpoint="x", disk_size=1 << 20)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kernel_times": True}, "kernel_times cannot go with cluster"),
        ({"device": ["0", "1"]}, "with cluster, device is a name"),
        ({"second_best": True}, "second_best cannot go with cluster"),
    ],
)
def test_what_goes_with_no_cluster(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        pysw_cl.align(A, B, plan=PLAN, cluster=Executor(), **given)


def test_a_worker_whose_device_fails_is_avoided(monkeypatch: pytest.MonkeyPatch) -> None:
    avoided: list[list[str]] = []
    real = workers.Workers.submit

    def submit(self: Any, task: Any, *given: Any, **named: Any) -> Any:
        avoided.append([*self._failed])
        fails = task is blocks.computed and not self._failed
        return real(self, bad if fails else task, *given, **named)

    monkeypatch.setattr(workers.Workers, "submit", submit)
    with ThreadPoolExecutor(2) as executor, pytest.warns(RecomputedWarning, match="others go on"):
        found = pysw_cl.align(A, B, plan=PLAN, cluster=executor)
    assert key(found) == key(pysw_cl.align(A, B))
    assert avoided[-1] == [workers.worker()]
    assert found.stats.retried


def bad(*given: Any) -> None:
    raise DeviceError("gone")


def test_a_worker_that_comes_late_and_cannot(tmp_path: Path) -> None:
    place = Place(str(tmp_path), str(tmp_path), "key", False, None)
    job = random_job(np.random.default_rng(1), 1, 1, match_scoring(1, -3, 3, 2), True)
    job = replace(job, query=pair.NO_CODES, target=pair.NO_CODES)
    block = blocks.Block(place, Area(0, 1, 0, 1), job)
    for version, message in (
        (pysw_cl.__version__, "does not see"),
        ("0", f"has pysw_cl {pysw_cl.__version__}, and the client 0"),
    ):
        with pytest.raises(ClusterError, match=message) as error:
            workers.at_worker(version, blocks.computed, block)
        assert error.value.worker == workers.worker()
