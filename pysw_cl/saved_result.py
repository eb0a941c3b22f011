"""The result of a job in its checkpoint."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from .checkpoint import Store
from .plan import Plan
from .results import Runs, Stats
from .tile import Hit

#: Where a path starts (row, column), and its runs.
FoundPath = tuple[int, int, Runs]


def save_result(store: Store, end: Hit, path: FoundPath | None, plan: Plan, stats: Stats) -> None:
    """Keep what a finished job has found.  Raises CheckpointError if it cannot be written."""
    arrays: dict[str, NDArray[np.uint8]] = {}
    start = None
    if path is not None:
        row, column, runs = path
        start = [row, column]
        arrays = {"ops": runs.ops, "lengths": runs.lengths.astype("<i8").view(np.uint8)}
    facts = {
        "end": [end.score, end.row, end.column],
        "start": start,
        "plan": asdict(plan),
        "stats": asdict(stats),
    }
    store.save_arrays("result", arrays, facts)


def saved_result(store: Store) -> tuple[Hit, FoundPath | None, Plan, Stats] | None:
    """What a finished job has found; None if it is not finished, or its result is damaged."""
    kept = store.arrays("result")
    if kept is None:
        return None
    arrays, facts = kept
    path = None
    if facts["start"] is not None:
        none = np.zeros(0, np.uint8)
        lengths = arrays.get("lengths", none).view("<i8").astype(np.int64)
        path = (*facts["start"], Runs(arrays.get("ops", none), lengths))
    return Hit(*facts["end"]), path, Plan(**facts["plan"]), Stats(**facts["stats"])
