"""Jobs with a checkpoint, of one strand or both: what was not finished is run, and all is kept."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..drivers.align_pair import search
from ..drivers.job import Job, alignment_of, path_of
from ..drivers.progress import part_of, rising
from ..drivers.recompute import checked
from ..errors import RecomputedWarning, Stopped
from ..planning.plan import Plan
from ..results.alignment import Alignment, Stats
from ..results.cigar import Runs
from ..results.cigar_builder import FoundPath
from ..tiles.contract import Engine
from ..tiles.sweep import Progress
from ..tiles.tile import Hit
from ..tiles.tile_map import TileMap
from .band import search_band
from .store import Store
from .sweep import SavedRun


class Found(NamedTuple):
    """What a finished job of one strand has found, as `alignment_of` takes it."""

    end: Hit
    path: FoundPath | None
    plan: Plan
    stats: Stats
    tiles: TileMap | None


def run_saved(
    store: Store,
    make_engine: Callable[[], tuple[Engine, Plan]],
    wishes: dict[str, Any],
    progress: Progress | None,
    disk_size: int | None,
    stop_after: float | None,
) -> Alignment:
    """Run the job of a checkpoint, or read its result if it is finished.

    ``wishes``: "prune" and "max_cost" (None: the whole matrix) as for `align`.
    Of both strands each has its part of the checkpoint.  The second is searched for what is better
    than the first, so its files name that score (`Job.beat`); rows of a finished one make room.
    """
    stop_at = None if stop_after is None else time.monotonic() + stop_after
    best: tuple[Job, Found] | None = None
    stats: Stats | None = None
    jobs = store.job.strands(store.minus_first)
    for k, one in enumerate(jobs):
        job = one.beating(best and best[1].end)
        part = store.part(job) if store.job.both else store
        found = saved_result(part)
        if found is None:
            tell = part_of(progress, k, len(jobs))
            found = _run(part, *make_engine(), wishes, tell, disk_size, stop_at)
        if store.job.both:
            part.drop("rows", "walk", "band")
        stats = found.stats if stats is None else stats.plus(found.stats)
        if job.better(found.end):
            best = job, found
    assert best is not None and stats is not None
    return alignment_of(best[0], *best[1]._replace(stats=stats))


def _run(
    store: Store,
    engine: Engine,
    plan: Plan,
    wishes: dict[str, Any],
    progress: Progress | None,
    disk_size: int | None,
    stop_at: float | None,
) -> Found:
    """Run a job of one strand, or go on with it, and keep its result.  A path that fails its check
    is computed again without what was saved."""
    tell, job = progress and rising(progress), store.job
    limits: dict[str, Any] = {"progress": tell, "disk_size": disk_size, "stop_at": stop_at}

    def saved(engine: Engine, plan: Plan) -> Found:
        found = _from_rows(store, engine, plan, wishes, limits)
        alignment_of(job, *found)  # a path that is wrong is not kept
        return found

    def whole(engine: Engine, plan: Plan) -> Found:
        stats, want_path = Stats(), job.output == "path"
        how: dict[str, Any] = {"prune": wishes["prune"], "max_cost": None, "beat": job.beat}

        def told(done: int, total: int) -> None:
            if stop_at is not None and time.monotonic() >= stop_at:
                raise Stopped(f"stopped as asked, while a path was computed again; {store.how}")
            if tell is not None:
                tell(done, total)

        found = search(engine, plan, job.problem, want_path, **how, progress=told, stats=stats)
        path = None if found[1] is None else path_of(job, found[0], found[1])
        result = Found(found[0], path, plan, stats, found[2])
        alignment_of(job, *result)
        return result

    rows, columns = job.frame.shape
    found, wrong = checked(saved, engine, plan, rows * columns, whole)
    found.stats.recomputed += wrong is not None
    save_result(store, found)
    if wrong is not None:
        warnings.warn(wrong, RecomputedWarning, stacklevel=4)
    return found


def _from_rows(
    store: Store,
    engine: Engine,
    plan: Plan,
    wishes: dict[str, Any],
    limits: dict[str, Any],
) -> Found:
    """What a job of one strand finds, going on from what is saved of it."""
    max_cost = wishes.get("max_cost")  # format 1 has none
    band = None if max_cost is None else search_band(engine, store, plan, max_cost, **limits)
    if band is not None:
        end, moves, stats, tiles = band
    else:
        run = SavedRun(
            engine,
            store,
            tile_cells=plan.tile_cells,
            walk_cells=plan.walk_cells,
            busy_rows=plan.busy_rows,
            fill=plan.fill,
            prune=wishes["prune"],
            **limits,
        )
        end = run.end()
        moves, stats, tiles = run.path(end), run.stats(), run.tiles()
    path = None if moves is None else path_of(store.job, end, moves)
    return Found(end, path, plan, stats, tiles)


def save_result(store: Store, found: Found) -> None:
    """Keep what a finished job has found.  Raises CheckpointError if it cannot be written."""
    arrays: dict[str, NDArray[np.uint8]] = {}
    start = None
    if found.path is not None:
        runs, start = found.path.runs, [found.path.row, found.path.column]
        arrays = {"ops": runs.ops, "lengths": runs.lengths.astype("<i8").view(np.uint8)}
    facts = {
        "end": [found.end.score, found.end.row, found.end.column],
        "start": start,
        "plan": found.plan.facts(),
        "stats": asdict(found.stats),
        "tiles": None if found.tiles is None else found.tiles.facts(),
    }
    store.save_arrays("result", arrays, facts)


def saved_result(store: Store) -> Found | None:
    """What a finished job has found; None if it is not finished, or its result is damaged."""
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
    map_facts = facts.get("tiles")  # format 1 has none
    tiles = None if map_facts is None else TileMap.of_facts(map_facts)
    return Found(
        Hit(*facts["end"]), path, Plan.of_facts(facts["plan"]), Stats(**facts["stats"]), tiles
    )
