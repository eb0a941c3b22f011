"""A job of many parts on the workers of a cluster: their results in order, in bounded memory.

What the parts have in common (`Shared`) goes to each worker once, which makes of it what it works
with, such as an aligner on its device, and keeps that from part to part."""

from __future__ import annotations

import hashlib
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..drivers.options import Resources
from ..errors import FormatError, InputError, RecomputedWarning, warn
from ..results.stats import Stats
from .survey import own_device, surveyed
from .workers import Task, Workers

#: What a part gives: some value, and what it cost.
Result = tuple[Any, Stats]
#: Parts under way, or waiting to be taken, for each task that runs at once; what parts have in
#: common goes with each of them if it has so few bytes; of so many jobs a worker's thread keeps it.
AHEAD, SMALL, KEPT = 3, 1 << 16, 2
#: Parts for each task that runs at once, so that all end together; the least cells of a part, some
#: tenths of a second of one core, and the most, about a second of a fast GPU.
EACH, LEAST_CELLS, MOST_CELLS = 4, 1 << 30, 1 << 39

_own = threading.local()


def _packed(value: Any) -> bytes:
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise InputError(f"a worker cannot be sent this: {error}; name devices by text") from error


class Shared:
    """What all parts have in common: ``make(*given)``, a context manager.  ``whole`` gives the
    arguments for a worker where that raises FormatError, because it does not see a file."""

    def __init__(
        self,
        make: Callable[..., AbstractContextManager[Any]],
        *given: Any,
        whole: Callable[[], tuple[Any, ...]] | None = None,
    ) -> None:
        self._content, self._make, self._whole = _packed((make, given)), make, whole
        self.key = hashlib.sha256(self._content).hexdigest()
        #: The device of the workers.
        self.device = next((one.device for one in given if isinstance(one, Resources)), "auto")

    def sent(self, lacked: int, first: bool) -> tuple[bytes | None, bool]:
        """What is sent with a part whose worker ``lacked`` what was sent so many times, and whether
        there is more that can be.  ``first``: the worker has probably nothing yet."""
        lacked += first or len(self._content) <= SMALL
        if not lacked:
            return None, True
        if lacked > 1 and self._whole is not None:
            self._content, self._whole = _packed((self._make, self._whole())), None
        return self._content, self._whole is not None


def computed(key: str, content: bytes | None, more: bool, part: bytes) -> Any:
    """Compute a part at a worker; None: this lacks what the parts have in common."""
    kept: dict[str, Any] = vars(_own)
    made = kept.pop(key, None)
    try:
        if made is None and content is not None:
            make, given = pickle.loads(content)
            made = make(*map(_here, given))
    except FormatError:
        if not more:
            raise
    if made is None:
        return None
    with ExitStack() as failing:
        failing.push(made)
        task, given = pickle.loads(part)
        result = task(made, *given)
        failing.pop_all()
    kept[key] = made
    while len(kept) > KEPT:
        kept.pop(next(iter(kept))).__exit__(None, None, None)
    return result


def _here(one: Any) -> Any:
    """What an argument is at a worker: resources are those of its own device."""
    return replace(one, device=own_device(one.device)) if isinstance(one, Resources) else one


def in_order(
    workers: Workers,
    shared: Shared,
    task: Callable[..., Result],
    parts: Iterable[tuple[Any, tuple[Any, ...]]],
) -> Iterator[tuple[Any, Callable[[], Result]]]:
    """Have workers compute ``task(made, *given)`` for each part, which is ``(what, given)``, where
    ``made`` is what the parts share.  Yields, in their order, what each is, and what gives its
    result, with the seconds since the one before, or raises its error.

    Some parts a worker are under way, and no others are read; what is wrong with reading is raised
    behind the parts that were read.  Those whose workers are lost are computed again, and those
    that are left when the caller ends are cancelled.  Raises ClusterError without workers."""
    surveyed(workers, None, shared.device, None)
    count = max(1, workers.count())
    running, most, since = deque[tuple[Any, Any]](), AHEAD * count, time.perf_counter()
    source: Iterator[Any] | None = enumerate(parts)
    failed: Exception | None = None

    def begin(number: int, packed: bytes, lacked: int) -> Future[Any]:
        given = shared.key, *shared.sent(lacked, number < count), packed
        return workers.submit(computed, *given, name=task.__name__, priority=-number)

    try:
        while source is not None or running:
            room = source is not None and len(running) < most
            if source is not None and room:
                try:
                    number, (what, given) = next(source)
                    packed = _packed((task, given))
                    running.append((what, Task(workers, partial(begin, number, packed))))
                except StopIteration:
                    source = None
                except Exception as error:
                    source, failed = None, error
            there = [one.done() for _, one in running]
            if there and there[0]:
                what, one = running.popleft()
                took, since = time.perf_counter() - since, time.perf_counter()
                yield what, partial(_result, one, took)
            elif running and not room:
                workers.wait([future for _, one in running for future in one.running])
                most = AHEAD * max(1, workers.count())
        if failed is not None:
            raise failed
    finally:
        for _, one in running:
            one.cancel()


def _result(one: Task[Result], seconds: float) -> Result:
    """What a part gives, with the seconds that it took here."""
    value, stats = one.result()
    stats.seconds = seconds
    if stats.recomputed or stats.failed:
        said = f"{stats.recomputed:,} paths again, without {stats.failed}"
        warn(f"a worker had faults and computed {said}; see its log", RecomputedWarning)
    return value, stats


def part_cells(cells: int, workers: Workers) -> int:
    """The cells of a part of a job that has so many ``cells`` in all."""
    return min(MOST_CELLS, max(LEAST_CELLS, cells // (EACH * max(1, workers.count()))))


def spans(*measures: tuple[NDArray[Any], int]) -> list[slice]:
    """The parts of a list.  A measure is a number for each item, and about how much these are
    together in a part, at most.  Of an empty list there is one part."""
    shares = np.max([sizes / max(1, most) for sizes, most in measures], axis=0)
    steps = (np.cumsum(shares) - shares).astype(np.int64)
    bounds = [0, *(np.flatnonzero(np.diff(steps)) + 1).tolist(), len(steps)]
    return [slice(*both) for both in pairwise(bounds)]
