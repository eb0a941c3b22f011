"""The workers of a cluster: those of a Dask scheduler, or of any `concurrent.futures.Executor`."""

from __future__ import annotations

import os
import socket
import sys
import time
import uuid
from collections.abc import Callable, Collection, Iterator
from concurrent import futures
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import contextmanager, nullcontext, suppress
from importlib import import_module
from typing import Any, Generic, TypeVar

from .._version import __version__
from ..errors import ClusterError, DeviceError, PyswError, RecomputedWarning, warn

T = TypeVar("T")
#: Seconds for which a scheduler is looked for, and for which one that went away may come back.
ANSWER, AWAY = 30, 60
#: Seconds between two looks at the scheduler while nothing is done.
LOOK = 2.0
#: How often a task is begun at most whose worker fails.
TRIES = 20


class Workers:
    """What computes tasks elsewhere.  A task is a function of a module that the workers can import,
    with arguments and a result that can be pickled."""

    def __init__(self, executor: Executor, client: Any = None) -> None:
        self._executor, self._client, self._seen = executor, client, time.monotonic()
        #: The workers that failed: others do their tasks.
        self._failed = list[str]()

    def count(self) -> int:
        """The tasks that run at once now; 0: no worker or no scheduler, which may come back."""
        if self._client is None:
            return int(getattr(self._executor, "_max_workers", 1))
        with suppress(OSError):
            return sum(self._client.nthreads().values()) if self._client.status == "running" else 0
        return 0

    def submit(
        self, task: Callable[..., T], *given: Any, name: str, priority: int = 0
    ) -> Future[T]:
        """Begin ``task(*given)``; the highest ``priority`` is next.  ``name``: for a dashboard."""
        if self._client is None:
            with _answering():
                return self._executor.submit(at_worker, __version__, task, *given)
        key = f"{name}-{uuid.uuid4().hex[:8]}"
        more: dict[str, Any] = {"key": key, "priority": priority, "pure": False}
        quiet = {"distributed.admin.large-graph-warning-threshold": "1TB"}
        with _answering(), import_module("dask").config.set(quiet):
            if self._failed:
                others = [one for one in self._client.nthreads() if one not in self._failed]
                more |= {"workers": others, "allow_other_workers": True} if others else {}
            return self._executor.submit(at_worker, __version__, task, *given, **more)

    def wait(self, running: Collection[Future[T]]) -> None:
        """Wait until one is done, or a moment.  Raises ClusterError if the scheduler is gone, or
        all workers, and none comes back."""
        done, now = wait(running, LOOK, futures.FIRST_COMPLETED).done, time.monotonic()
        there = done or self._client is None or self.count()
        self._seen = now if there else self._seen
        if now > self._seen + AWAY:
            raise ClusterError(f"the cluster has had no scheduler or no worker for {AWAY} s")

    def final(self, error: BaseException, tries: int) -> BaseException | None:
        """What to raise for the error of a task begun so often; None: another worker may do it."""
        where = getattr(error, "worker", "")
        if where and where not in self._failed:
            self._failed.append(where)
            warn(f"worker {where} failed, others go on: {error}", RecomputedWarning)
        if isinstance(error, BrokenExecutor | ImportError):
            return ClusterError(f"a worker ended, or lacks what it needs: {error!r}")
        gone = isinstance(error, CancelledError | OSError) or type(error).__name__ == "KilledWorker"
        gone = isinstance(error, DeviceError) if isinstance(error, PyswError) else gone
        if not (where or gone):
            return error
        return ClusterError(f"workers fail again and again: {error}") if tries >= TRIES else None

    def answers(self, task: Callable[..., T], *given: Any) -> dict[str, T | Exception]:
        """What ``task(*given)`` gives or raises at each worker, by its address, but for those that
        end meanwhile; of an executor that has no addresses, at one of them."""
        with _answering():
            if self._client is None:
                return {"of the executor": self._executor.submit(task, *given).result()}
            every = self._client.run(task, *given, on_error="return")
        return {where: one for where, one in every.items() if not isinstance(one, OSError)}

    def setting(self, name: str) -> Any:
        """What Dask's configuration says where the scheduler is."""
        from dask import config

        with _answering():
            return self._client.run_on_scheduler(config.get, name)


class Task(Generic[T]):
    """A task at workers, which is begun anew where its worker fails, or where that lacks something:
    then it gives None.  ``begin(lacked)`` submits it, told how often a worker lacked something."""

    def __init__(self, workers: Workers, begin: Callable[[int], Future[T | None]]) -> None:
        self._workers, self._begin = workers, begin
        self._found: T | None = None
        self._error: BaseException | None = None
        self._lacked = 0
        #: How often its worker failed; when it was begun first; as what it is under way.
        self.failed, self.since, self.running = 0, time.monotonic(), [begin(0)]

    def begin_once_more(self) -> None:
        """Have another worker do it, too: the first one is late."""
        self.running.append(self._begin(self._lacked))

    def done(self) -> bool:
        """Is its result there, or an error of its own?  Else it is under way, perhaps anew."""
        for one in [one for one in self.running if one.done()]:
            self.running.remove(one)
            try:
                self._found = one.result() if self._found is None else self._found
                self._lacked += self._found is None
            except BaseException as error:
                self.failed += 1
                self._error = self._workers.final(error, self.failed)
            if self._lacked > TRIES:
                self._error = ClusterError("workers cannot write what they are sent of the job")
        if self._found is None and self._error is None:
            self.running = self.running or [self._begin(self._lacked)]
            return False
        self.cancel()
        return True

    def result(self) -> T:
        """Its result, or its error, once it is done."""
        while not self.done():
            self._workers.wait(self.running)
        if self._found is None:
            assert self._error is not None
            raise self._error
        return self._found

    def cancel(self) -> None:
        while self.running:
            self.running.pop().cancel()


def at_worker(version: str, task: Callable[..., T], *given: Any) -> T:
    """``task(*given)`` at a worker.  The errors that say that it cannot do it name it, so that
    others do; so does that for another ``version`` than the client's."""
    try:
        if version != __version__:
            raise ClusterError(f"{worker()} has pysw_cl {__version__}, and the client {version}")
        return task(*given)
    except (DeviceError, ClusterError) as error:
        error.worker = address()
        raise


def worker() -> str:
    """The name of this process, which file names can have."""
    return f"{socket.gethostname()}-{os.getpid()}"


def address() -> str:
    """The address of this worker, or its name where it has none."""
    with suppress(KeyError, ValueError):  # Dask is not there, or this is none of its workers
        return str(sys.modules["distributed"].get_worker().address)
    return worker()


@contextmanager
def _answering() -> Iterator[None]:
    """Raise ClusterError where a scheduler does not answer, or an executor is broken or ended."""
    try:
        yield
    except PyswError:
        raise
    except (OSError, RuntimeError, NotImplementedError) as error:
        raise ClusterError(f"the cluster does not answer: {error!r}") from error


@contextmanager
def workers_of(cluster: Any) -> Iterator[Workers | None]:
    """The workers of ``cluster``: the address of a Dask scheduler, a Dask client or cluster, or an
    Executor of the standard library; None has none.  Raises ClusterError if none answers."""
    if type(cluster).__name__ == "ClientExecutor":  # of a Dask client
        cluster = cluster._client
    if cluster is None or isinstance(cluster, Executor):
        yield None if cluster is None else Workers(cluster)
        return
    try:
        client_of: Any = import_module("distributed").Client
    except ImportError as error:
        raise ClusterError("a cluster needs Dask: pip install 'pysw-cl[cluster]'") from error
    given = isinstance(cluster, client_of)
    try:
        client = cluster if given else client_of(cluster, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(f"no scheduler answers at {cluster}: {error}") from error
    with nullcontext() if given else client:
        yield Workers(client.get_executor(), client)
