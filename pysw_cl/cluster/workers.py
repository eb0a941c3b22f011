"""The workers of a cluster: those of a Dask scheduler, or of any `concurrent.futures.Executor`."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, TypeVar

from ..errors import ClusterError, PyswError

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

    def count(self) -> int:
        """The tasks that run at once now; 0: no worker is there, or no scheduler, which may come
        back (`wait`)."""
        if self._client is None:
            return int(getattr(self._executor, "_max_workers", 1))
        with suppress(OSError):
            return sum(self._client.nthreads().values()) if self._client.status == "running" else 0
        return 0

    def submit(
        self,
        task: Callable[..., T],
        *given: Any,
        name: str,
        priority: int = 0,
        avoid: Collection[str] = (),
    ) -> Future[T]:
        """Begin ``task(*given)``; of those that wait the one of the highest ``priority`` is next.
        ``name``: what a dashboard calls it.  ``avoid``: workers that do not do it if others can."""
        if self._client is None:
            with _answering():
                return self._executor.submit(task, *given)
        more = {"key": f"{name}-{uuid.uuid4().hex[:8]}", "priority": priority, "pure": False}
        quiet = {"distributed.admin.large-graph-warning-threshold": "1TB"}
        with _answering(), import_module("dask").config.set(quiet):
            if avoid:
                others = [one for one in self._client.nthreads() if one not in avoid]
                more |= {"workers": others, "allow_other_workers": True} if others else {}
            return self._executor.submit(task, *given, **more)

    def wait(self, running: Collection[Future[T]]) -> set[Future[T]]:
        """Those that are done, once there are some, or after a moment.  Raises ClusterError if the
        scheduler is gone, or all workers, and none comes back."""
        done, now = wait(running, LOOK, FIRST_COMPLETED).done, time.monotonic()
        there = done or self._client is None or self.count()
        self._seen = now if there else self._seen
        if now > self._seen + AWAY:
            raise ClusterError(f"the cluster has had no scheduler or no worker for {AWAY} s")
        return set(done)

    def everywhere(self, task: Callable[..., T], *given: Any) -> dict[str, T]:
        """What ``task(*given)`` gives at each worker, as `answers`; raises what it does at one."""
        found = dict[str, T]()
        for where, one in self.answers(task, *given).items():
            if isinstance(one, Exception):
                raise one
            found[where] = one
        return found

    def answers(self, task: Callable[..., T], *given: Any) -> dict[str, T | Exception]:
        """What ``task(*given)`` gives or raises at each worker, by its address, but for those that
        end meanwhile; of an executor that has no addresses, at one of them."""
        with _answering():
            if self._client is None:
                return {"": self._executor.submit(task, *given).result()}
            every = self._client.run(task, *given, on_error="return")
        return {where: one for where, one in every.items() if not isinstance(one, OSError)}

    def setting(self, name: str) -> Any:
        """What Dask's configuration says where the scheduler is."""
        from dask import config

        with _answering():
            return self._client.run_on_scheduler(config.get, name)


@contextmanager
def _answering() -> Iterator[None]:
    """Raise ClusterError where a scheduler does not answer, or an executor is broken or shut
    down."""
    try:
        yield
    except PyswError:
        raise
    except (OSError, RuntimeError, NotImplementedError) as error:
        raise ClusterError(f"the cluster does not answer: {error!r}") from error


def lost(error: BaseException) -> bool:
    """Did a task fail because of its worker, so that another one may do it?"""
    if isinstance(error, PyswError):
        return False
    return isinstance(error, CancelledError | OSError) or type(error).__name__ == "KilledWorker"


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
    if isinstance(cluster, client_of):
        yield Workers(cluster.get_executor(), cluster)
        return
    try:
        client = client_of(cluster, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(f"no scheduler answers at {cluster}: {error}") from error
    with client:
        yield Workers(client.get_executor(), client)
