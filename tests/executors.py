"""Executors: other ways through the graph of a sweep's tiles than one by one.

A tile needs nothing but plain values, so it may be computed by another device, or on another
machine.  Whatever computes the tiles, the results are the same to the last cell.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from functools import cache

from pysw_cl.checkpoint.run import result_facts, result_of
from pysw_cl.tiles.contract import Engine
from pysw_cl.tiles.tile import TileJob, TileResult


class OnWorkers(Engine):
    """An engine whose tiles are computed by the workers of an executor (``concurrent.futures``),
    which may be other processes or other machines: tiles are plain values.  ``make``, a
    function of a module, makes each worker's engine; ``like``, one of that kind, says how tiles are
    cut."""

    def __init__(self, pool: Executor, make: Callable[[], Engine], like: Engine) -> None:
        self.plan, self.captures_inside = like.plan, like.captures_inside
        self._pool, self._make = pool, make

    def tile(self, job: TileJob) -> TileResult:
        return self._pool.submit(computed, self._make, job).result()


def computed(make: Callable[[], Engine], job: TileJob) -> TileResult:
    """The result of a job, by a worker; its edges are read from the device."""
    return result_of(*result_facts(_engine(make).tile(job)))


@cache
def _engine(make: Callable[[], Engine]) -> Engine:
    """The worker's engine."""
    return make()
