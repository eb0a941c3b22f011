"""Parts of a job on the workers of a cluster: order, window, what is lost; pairs, searches and
matrices on processes, and on a Dask cluster that loses a worker."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysw_cl
from pysw_cl import Database, align_many, score_matrix, search
from pysw_cl.cli.main import main
from pysw_cl.cluster import parts, survey
from pysw_cl.cluster.parts import AHEAD, Shared, in_order, spans
from pysw_cl.cluster.workers import TRIES, Workers
from pysw_cl.errors import ClusterError, InputError, LettersWarning, SequenceError
from pysw_cl.results.stats import Stats


def texts(seed: int, count: int, most: int = 90, letters: str = "ACGT") -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices(letters, k=rng.randint(20, most))) for _ in range(count)]


AMINO = "ARNDCQEGHILKMFPSTWYV"
PAIRS = list(zip(texts(1, 300), texts(2, 300), strict=True))


class Late(Workers):
    """Two workers that compute one task whenever somebody waits: by default the last one first."""

    which = -1

    def __init__(self) -> None:
        super().__init__(ThreadPoolExecutor(1))
        self.open = list[tuple[Future[Any], Any, Any]]()
        self.begun = 0

    def count(self) -> int:
        return 2

    def submit(self, task: Any, *given: Any, name: str, priority: int = 0) -> Future[Any]:
        future = Future[Any]()
        self.open.append((future, task, given))
        self.begun += 1
        return future

    def wait(self, running: Any) -> set[Future[Any]]:
        future, task, given = self.open.pop(self.which)
        assert future in running
        try:
            future.set_result(task(*given))
        except Exception as error:
            future.set_exception(error)
        return {future}


#: How often each part of a test was begun.
begun = dict[Any, int]()


def square(made: Any, k: int, fails: int = 0, error: type[Exception] = OSError) -> Any:
    """The square, if it was begun more than so many times."""
    begun[k] = begun.get(k, 0) + 1
    if begun[k] <= fails:
        raise error(f"part {k}")
    return k * k, Stats()


@pytest.fixture
def workers() -> Late:
    begun.clear()
    return Late()


def taken(workers: Workers, given: Any, shared: Any = None) -> Iterator[Any]:
    shared = shared or Shared(nullcontext)
    for _, take in in_order(workers, shared, square, ((one, one) for one in given)):
        yield take()[0]


def test_results_come_in_order_and_few_parts_are_read(workers: Late) -> None:
    read = list[int]()
    source = ((read.append(k) or k,) for k in range(30))  # type: ignore[func-returns-value]
    for k, found in enumerate(taken(workers, source)):
        assert found == k * k
        assert len(read) <= k + 1 + 2 * AHEAD
    assert len(read) == k + 1 == 30


def test_lost_parts_are_computed_again(workers: Late) -> None:
    assert [*taken(workers, [(0,), (1, 3), (2, 1), (3,)])] == [0, 1, 4, 9]
    assert workers.begun == 8
    with pytest.raises(ClusterError, match="again and again: part 4"):
        [*taken(workers, [(4, TRIES)])]
    assert begun[4] == TRIES


def test_an_error_comes_in_its_turn_and_ends_the_rest(workers: Late) -> None:
    found = taken(workers, [(0,), (1,), (2, 9, SequenceError), *((k,) for k in range(3, 99))])
    assert [next(found), next(found)] == [0, 1]
    with pytest.raises(SequenceError, match="part 2"):
        next(found)
    assert all(future.cancelled() for future, _, _ in workers.open)
    with pytest.raises(ClusterError, match="lacks what it needs"):
        [*taken(workers, [(500, 1, ModuleNotFoundError)])]


def test_a_caller_that_stops_cancels_the_rest(workers: Late) -> None:
    workers.which = 0
    found = taken(workers, ((k,) for k in range(99)))
    assert next(found) == 0
    assert workers.open
    found.close()  # type: ignore[attr-defined]
    assert all(future.cancelled() for future, _, _ in workers.open)
    assert workers.begun <= 2 * AHEAD


def test_what_is_wrong_with_reading_comes_behind_what_was_read(workers: Late) -> None:
    def source() -> Iterator[Any]:
        yield (1,)
        yield (2,)
        raise InputError("the end is missing")

    found = taken(workers, source())
    assert [next(found), next(found)] == [1, 4]
    with pytest.raises(InputError, match="the end is missing"):
        next(found)
    with pytest.raises(InputError, match="cannot be sent"):
        [*taken(workers, [(1, 0, lambda: None)])]


def test_what_parts_share_is_sent_once_to_each_worker(workers: Late) -> None:
    shared = Shared(nullcontext, b"A" * 100_000)
    assert [shared.sent(0, False)[0], len(shared.sent(0, True)[0] or b"") > 1] == [None, True]
    assert [*taken(workers, [(k,) for k in range(9)], shared)] == [k * k for k in range(9)]
    assert 9 <= workers.begun < 18  # the last of the window were begun before anybody had it


def test_workers_that_cannot_are_named(workers: Late, monkeypatch: pytest.MonkeyPatch) -> None:
    for change, said in (
        ({"version": "0.0.1"}, "has pysw_cl 0.0.1"),
        ({"fault": "no"}, "this: no"),
    ):
        answer = replace(survey.Survey(pysw_cl.__version__, ""), **change)
        monkeypatch.setattr(survey, "survey", lambda *given, answer=answer: answer)
        with pytest.raises(ClusterError, match=said):
            next(taken(workers, [(1,)]))


def test_spans_hold_about_so_much() -> None:
    sizes = np.array([5, 5, 5, 90, 1, 1, 1])
    assert spans((sizes, 10)) == [slice(0, 2), slice(2, 4), slice(4, 7)]
    every = spans((sizes, 10), (np.ones(7), 2))
    assert [k for one in every for k in range(one.start, one.stop)] == [*range(7)]
    assert max(one.stop - one.start for one in every) <= 2
    assert spans((sizes[:0], 10)) == [slice(0, 0)]


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    """Two processes."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn) as executor:
        yield executor


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small jobs have several parts."""
    monkeypatch.setattr(parts, "LEAST_CELLS", 1 << 16)


def test_pairs(pool: Executor) -> None:
    told = list[tuple[int, int]]()
    for how in ({"output": "path", "strand": "both", "min_score": 9}, {"output": "ends"}):
        given: dict[str, Any] = how
        one = align_many(PAIRS, **given)
        several = align_many(PAIRS, cluster=pool, progress=lambda *x: told.append(x), **given)
        assert one.dtype == several.dtype
        assert one.tolist() == several.tolist()
        assert len(one) > 0
        assert len(told) > 5
    assert told[-1] == (told[0][1],) * 2
    assert align_many(iter(PAIRS), cluster=pool).tolist() == align_many(PAIRS).tolist()
    batch = pysw_cl.Batch.from_sequences(PAIRS)
    assert align_many(batch, cluster=pool).tolist() == align_many(PAIRS).tolist()
    with pytest.raises(ClusterError, match="worker of the executor cannot compute this"):
        align_many(PAIRS, cluster=pool, device=np.zeros(2))
    for none in ([], iter([])):
        found = align_many(none, cluster=pool, output="path")
        assert found.dtype == align_many([], output="path").dtype
    with pytest.raises(SequenceError, match=r"^pair 300: letter '!'") as caught:
        align_many([*PAIRS, ("AC!", "ACGT")], cluster=pool)
    assert caught.value.pair == 300
    with pytest.raises(InputError, match=r"^pair 300 must be"):
        align_many([*PAIRS, ("ACT",)], cluster=pool)


def facts(found: Any) -> Any:
    return [
        [(one.number, one.score, one.cigar, one.expect, one.bits, str(one.target)) for one in hits]
        for hits in found
    ]


def test_searches(pool: Executor, tmp_path: Path) -> None:
    subjects, queries = texts(3, 400, 120, AMINO), texts(4, 12, 120, AMINO)
    queries = [one + subjects[k][:40] for k, one in enumerate(queries)]
    db = Database.create(tmp_path / "some.pswdb", subjects)
    path: dict[str, Any] = {"output": "path", "exclude_self": True, "min_identity": 0.3}
    cases: list[tuple[Any, Any, dict[str, Any]]] = [
        (queries, db, {"top": 5, "ties": True}),
        (queries, subjects, path),
        (queries[:2], db, {"output": "path", "alignments": 2, "max_evalue": 10}),
        (queries[:2], subjects, {"evalues": "library"}),
        (queries[0], db, {"prefilter": "kmer", "kmer_length": 2, "output": "score"}),
        (pysw_cl.PositionMatrix(np.eye(20, dtype=int) * 5 - 2, AMINO), db, {"evalues": "none"}),
        ([], db, {}),
    ]
    for some, where, how in cases:
        told = list[tuple[int, int]]()
        several = search(some, where, cluster=pool, progress=lambda *x: told.append(x), **how)  # noqa: B023
        assert facts(several) == facts(search(some, where, **how))
        assert told[-1][0] == told[-1][1]
    Database.create(tmp_path / "some.pswdb", subjects[:9])  # workers do not see the one of ours
    assert facts(search(queries, db, cluster=pool)) == facts(search(queries, db))


def test_matrices(pool: Executor, tmp_path: Path) -> None:
    queries, targets = texts(5, 60), texts(6, 90)
    queries[7] = queries[3]
    for given in ((queries,), (queries, targets), (queries, Database.from_sequences(targets))):
        for how in ({}, {"mode": "global", "output": "distance"}):
            one: Any = score_matrix(*given, **how)  # type: ignore[arg-type]
            several: Any = score_matrix(*given, cluster=pool, **how)  # type: ignore[arg-type]
            assert one.dtype == several.dtype
            assert one.tobytes() == several.tobytes()  # -0.0 is no 0.0
    out = score_matrix(queries, cluster=pool, out=tmp_path / "m.npy", gap_cost=(2.5, 1))
    assert out.tolist() == score_matrix(queries, gap_cost=(2.5, 1)).tolist()


def test_warnings_come_once(pool: Executor) -> None:
    pairs = [("ACDEFU", "ACDEFGHU")] * 4000
    for call in (align_many, lambda x, **how: [*search([x[0][0]] * 9, [x[0][1]] * 99, **how)]):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(pairs, sub_score="BLOSUM62", cluster=pool)
        found = [str(one.message) for one in caught if one.category is LettersWarning]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(pairs, sub_score="BLOSUM62")
        assert found == [str(one.message) for one in caught if one.category is LettersWarning]
        assert found


def test_a_dask_cluster_that_loses_a_worker(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    distributed = pytest.importorskip("distributed")
    pairs = PAIRS * 8
    how = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**how) as cluster, distributed.Client(cluster) as client:
        killed = [*client.run(os.getpid).values()]

        def told(done: int, total: int) -> None:
            if done and len(killed) == 2:
                os.kill(killed.pop(), signal.SIGKILL)

        several = align_many(pairs, output="path", cluster=cluster, progress=told)
        assert len(killed) == 1
        assert several.tolist() == align_many(pairs, output="path").tolist()
        address = cluster.scheduler_address
        files = [str(tmp_path / name) for name in ("a.fa", "b.fa")]
        for k, name in enumerate(files):
            lines = (f">{k}-{n}\n{one}\n" for n, one in enumerate(texts(k, 30)))
            Path(name).write_text("".join(lines))
        for command in ("align --top 2", "search --match 1 --mismatch -3", "matrix"):
            assert main([*command.split(), *files]) == 0
            here = capsys.readouterr().out
            assert main([*command.split(), "--cluster", address, *files]) == 0
            assert capsys.readouterr().out == here != ""
    with pytest.raises(ClusterError, match=r"no scheduler answers|Dask"):
        parts_without(address)


def parts_without(address: str) -> None:
    """A call to a scheduler that has gone."""
    from pysw_cl.cluster import workers as module

    before, module.ANSWER = module.ANSWER, 1
    try:
        align_many(PAIRS, cluster=address)
    finally:
        module.ANSWER = before
