"""A checkpoint as a run sees it: what earlier runs have of each strand, and where it is saved."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from ..drivers.job import Found, Job, path_of
from ..drivers.options import AlignResources
from ..drivers.progress import PairProgress
from ..engines.registry import plan_of_facts
from ..errors import CheckpointError, Stopped
from ..results.cigar import Runs
from ..results.cigar_builder import FoundPath
from ..results.stats import Stats
from ..tiles.contract import Engine
from ..tiles.tile import Hit
from ..tiles.tile_map import TileMap
from .band import search_band
from .store import Store
from .stored_resources import StoredResources
from .sweep import SavedRun


@dataclass(frozen=True)
class SavedStrands:
    """The strands of a job with a checkpoint: see `pysw_cl.drivers.run.Saved`.

    With both strands, each has its own part of the checkpoint.  The second is searched only for a
    better score than the first has, so its files name that score (`Job.beat`).  When a strand is
    finished, its files but the result are removed.
    """

    store: Store
    #: How it is computed.
    resources: AlignResources
    #: When it has to end, by `time.monotonic`.
    stop_at: float | None

    @classmethod
    def of(cls, store: Store, resources: AlignResources) -> SavedStrands:
        """For a run that begins now."""
        after = resources.stop_after
        return cls(store, resources, None if after is None else time.monotonic() + after)

    @classmethod
    @contextmanager
    def begin(cls, job: Job, resources: AlignResources, left_align: bool) -> Iterator[SavedStrands]:
        """Those of a job in its folder, which is made or taken up; see `Store.begin`."""
        stored = StoredResources.of(resources, job.mode, left_align)
        assert resources.checkpoint is not None
        with Store.begin(resources.checkpoint, job, stored) as store:
            yield cls.of(store, resources)

    @property
    def minus_first(self) -> bool:
        """See `Saved`."""
        return self.store.minus_first

    def strand(self, job: Job) -> SavedStrand:
        """See `Saved`."""
        both = self.store.job.both
        part = self.store.part(job) if both else self.store
        return SavedStrand(part, job, self.resources, self.stop_at, both)


@dataclass(frozen=True)
class SavedStrand:
    """See `pysw_cl.drivers.run.SavedPart`."""

    store: Store
    job: Job
    resources: AlignResources
    stop_at: float | None
    #: Is it one of two strands?
    one_of_two: bool

    def known(self) -> Found | None:
        """See `SavedPart`."""
        found = saved_result(self.store)
        if found is not None:
            self._tidy()
        return found

    def _tidy(self) -> None:
        if self.one_of_two:
            with suppress(CheckpointError):  # a finished one can be read where nothing is written
                self.store.drop("rows", "walk", "band")

    def begin_anew(self, progress: PairProgress) -> None:
        """See `SavedPart`."""
        progress.run.check = self._stop_if_late

    def save(self, found: Found) -> None:
        """See `SavedPart`."""
        save_result(self.store, found)
        self._tidy()

    def search(self, engine: Engine, progress: PairProgress) -> Found:
        """See `SavedPart`."""
        progress.run.check = lambda: None  # what is done is counted, to say it
        plan, part, job = engine.plan, self.store, self.job
        cost = self.resources.band_cost(job.mode)
        limit, stop_at, band = self.resources.disk_size, self.stop_at, None
        if cost is not None:
            band = search_band(
                engine, part, plan, cost, progress=progress, disk_size=limit, stop_at=stop_at
            )
        if band is not None:
            end, moves, stats, tiles = band
        else:
            run = SavedRun(
                engine,
                part,
                plan,
                prune=self.resources.prune,
                progress=progress,
                disk_size=limit,
                stop_at=stop_at,
            )
            end = run.end()
            moves, stats, tiles = run.path(end), run.stats(), run.tiles()
        path = None if moves is None else path_of(job, end, moves, plan)
        return Found(end, path, plan, stats, tiles)

    def _stop_if_late(self) -> None:
        """End a computation that is not saved, which can stop at any time."""
        if self.stop_at is not None and time.monotonic() >= self.stop_at:
            how = self.store.how
            raise Stopped(f"stopped as asked, while a path was computed again; {how}")


def save_result(store: Store, found: Found) -> None:
    """Save the result of a finished job.  Raises CheckpointError if it cannot be written."""
    arrays: dict[str, NDArray[np.uint8]] = {}
    start = None
    if found.path is not None:
        runs, start = found.path.runs, [found.path.row, found.path.column]
        arrays = {"ops": runs.ops, "lengths": runs.lengths.astype("<i8").view(np.uint8)}
    stats = asdict(found.stats)
    del stats["kernel_seconds"]  # a measurement of one run
    facts = {
        "end": [found.end.score, found.end.row, found.end.column],
        "start": start,
        "plan": found.plan.facts(),
        "stats": stats,
        "tiles": None if found.tiles is None else found.tiles.facts(),
    }
    store.save_arrays("result", arrays, facts)


def saved_result(store: Store) -> Found | None:
    """The result of a finished job; None if it is not finished, or its result is damaged."""
    kept = store.arrays("result")
    if kept is None:
        return None
    arrays, facts = kept
    path = None
    if facts["start"] is not None:
        none = np.zeros(0, np.uint8)
        lengths = arrays.get("lengths", none).view("<i8").astype(np.int64)
        row, column = facts["start"]
        path = FoundPath(row, column, Runs(arrays.get("ops", none), lengths))
    tiles = None if facts["tiles"] is None else TileMap.of_facts(facts["tiles"])
    return Found(
        Hit(*facts["end"]), path, plan_of_facts(facts["plan"]), Stats(**facts["stats"]), tiles
    )
