"""Jobs with a checkpoint, of one strand or both: computes what earlier runs did not save."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..drivers.align_pair import search
from ..drivers.job import Job, alignment_of, path_of
from ..drivers.options import AlignResources
from ..drivers.progress import PairProgress, RunProgress
from ..drivers.recompute import checked
from ..drivers.traceback_state import Path
from ..engines.registry import plan_of_facts
from ..errors import CheckpointError, RecomputedWarning, Stopped
from ..planning.plan import Plan
from ..results.alignment import Alignment, Stats
from ..results.cigar import Runs
from ..results.cigar_builder import FoundPath
from ..tiles.contract import Engine
from ..tiles.tile import Hit
from ..tiles.tile_map import TileMap
from .band import search_band
from .store import Store
from .sweep import SavedRun


class StrandResult(NamedTuple):
    """The result of a finished job of one strand, as `alignment_of` takes it."""

    end: Hit
    path: FoundPath | None
    plan: Plan
    stats: Stats
    tiles: TileMap | None


def run_saved(
    store: Store,
    resources: AlignResources,
    make_engine: Callable[[], tuple[Engine, Plan]],
    progress: RunProgress,
) -> Alignment:
    """Run the job of a checkpoint, or read its result if it is finished.

    With both strands, each has its own part of the checkpoint.  The second is searched only for a
    better score than the first has, so its files name that score (`Job.beat`).  When a strand is
    finished, its files but the result are removed.
    """
    after = resources.stop_after
    stop_at = None if after is None else time.monotonic() + after
    best: tuple[Job, StrandResult] | None = None
    stats: Stats | None = None
    pair: PairProgress | None = None
    jobs = store.job.strands(store.minus_first)
    for k, one in enumerate(jobs):
        job = one.beating(best and best[1].end)
        part = store.part(job) if store.job.both else store
        found = saved_result(part)
        if found is None:
            engine, plan = make_engine()
            if pair is None:
                path = job.output == "path"
                pair = PairProgress(progress, plan, job.frame.shape, path, len(jobs))
            strand = OneStrand(part, resources, pair.strand(k), stop_at)
            found = strand.run(engine, plan)
        if store.job.both:
            with suppress(CheckpointError):  # a finished one can be read where nothing is written
                part.drop("rows", "walk", "band")
        stats = found.stats if stats is None else stats.plus(found.stats)
        if job.better(found.end):
            best = job, found
    assert best is not None and stats is not None
    return alignment_of(best[0], *best[1]._replace(stats=stats))


@dataclass(frozen=True)
class OneStrand:
    """A job of one strand, to be begun or continued."""

    #: The job, and where it is saved.
    store: Store
    #: How it is computed.
    resources: AlignResources
    #: Tells of it.
    progress: PairProgress
    #: When it has to end, by `time.monotonic`.
    stop_at: float | None

    def run(self, engine: Engine, plan: Plan) -> StrandResult:
        """Run the job to its end, and save its result.

        If the path fails its check, all is computed again without the checkpoint."""
        rows, columns = self.store.job.frame.shape
        found, wrong = checked(self._saved, engine, plan, rows * columns, self._whole)
        found.stats.recomputed += wrong is not None
        save_result(self.store, found)
        if wrong is not None:
            warnings.warn(wrong, RecomputedWarning, stacklevel=5)
        return found

    def _saved(self, engine: Engine, plan: Plan) -> StrandResult:
        """The result, computed from the checkpoint on."""
        store, disk_size = self.store, self.resources.disk_size
        cost, band = self.resources.band_cost(store.job.mode), None
        if cost is not None:
            band = search_band(
                engine,
                store,
                plan,
                cost,
                progress=self.progress,
                disk_size=disk_size,
                stop_at=self.stop_at,
            )
        if band is not None:
            end, moves, stats, tiles = band
        else:
            run = SavedRun(
                engine,
                store,
                plan,
                prune=self.resources.prune,
                progress=self.progress,
                disk_size=disk_size,
                stop_at=self.stop_at,
            )
            end = run.end()
            moves, stats, tiles = run.path(end), run.stats(), run.tiles()
        stats.kernel_seconds = engine.kernel_seconds
        return self._found(end, moves, plan, stats, tiles)

    def _whole(self, engine: Engine, plan: Plan) -> StrandResult:
        """The result, computed from the beginning without the checkpoint."""
        stats, job = Stats(), self.store.job
        self.progress.run.check = self._stop_if_late
        end, moves, tiles, _ = search(
            engine,
            plan,
            job.problem,
            job.output == "path",
            prune=self.resources.prune,
            max_cost=None,
            beat=job.beat,
            progress=self.progress,
            stats=stats,
        )
        stats.kernel_seconds = engine.kernel_seconds
        return self._found(end, moves, plan, stats, tiles)

    def _stop_if_late(self) -> None:
        """End a computation that is not saved, which can stop at any time."""
        if self.stop_at is not None and time.monotonic() >= self.stop_at:
            how = self.store.how
            raise Stopped(f"stopped as asked, while a path was computed again; {how}")

    def _found(
        self, end: Hit, moves: Path | None, plan: Plan, stats: Stats, tiles: TileMap | None
    ) -> StrandResult:
        """The result of a search; raises InternalError if its path does not score what was
        found."""
        job = self.store.job
        found = StrandResult(
            end, None if moves is None else path_of(job, end, moves, plan), plan, stats, tiles
        )
        alignment_of(job, *found)
        return found


def save_result(store: Store, found: StrandResult) -> None:
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


def saved_result(store: Store) -> StrandResult | None:
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
    return StrandResult(
        Hit(*facts["end"]), path, plan_of_facts(facts["plan"]), Stats(**facts["stats"]), tiles
    )
