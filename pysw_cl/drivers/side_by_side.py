"""Paths of several local pairs at once, where the engine computes them as tiles of one launch."""

from __future__ import annotations

from collections.abc import Sequence

from ..results.stats import Stats
from ..tiles.contract import Engine
from ..tiles.tile import Costs
from .job import Found, Job, path_of
from .problem import Path


def side_by_side(engine: Engine, jobs: Sequence[Job], known: Sequence[int]) -> list[Found | None]:
    """What `pysw_cl.drivers.align_pair.search` finds of local jobs of one strand, with their paths,
    on an engine with `Engine.pair_paths`; None: one does not reach its ``known`` score, above 0."""
    compute = engine.pair_paths
    assert compute is not None
    paths, cost = compute([job.problem for job in jobs], known)
    found = list[Found | None]()
    for job, one in zip(jobs, paths, strict=True):
        if one is None:
            found.append(None)
            continue
        end, traced = one
        path, stats = Path(end.row, end.column), Stats()
        path.follow(traced)
        stats.add_cost(cost)  # what all cost is counted once
        cost = Costs()
        found.append(Found(end, path_of(job, end, path, engine.plan), engine.plan, stats, None))
    return found
