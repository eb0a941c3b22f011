"""What both forms of the row scan share: scores that go in, edges and best cells that come out."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...opencl.buffers import Buffers
from ...scoring.precision import UNREACHABLE_BELOW
from ...scoring.scoring import Scoring
from ...tiles.edges import Edge, Ints
from ...tiles.tile import Hits, TileJob

#: The arguments of each score file of cl/score.
SCORES = {"match": "match:int mismatch:int lift:int", "matrix": "matrix wide:int lift:int"}


def joined_files(header: str, score: str, kernel: str) -> tuple[str, ...]:
    """The files of a kernel: a header of 32-bit lanes, a score file of cl/score, and its own."""
    return (
        "base.clh",
        "names.clh",
        "platform.clh",
        "WIDTH=32",
        header,
        f"score/{score}.clh",
        "recurrence.clh",
        f"rowscan/{kernel}.cl",
    )


def scores_of(scoring: Scoring, buffers: Buffers) -> tuple[str, dict[str, Any]]:
    """The score file and its arguments."""
    score = scoring.source.file
    return score, scoring.source.arguments(score, buffers.of)


def least_of(job: TileJob) -> int:
    """The least score of a cell that is looked for: with a floor those above it, else reachable
    ones."""
    lowest = UNREACHABLE_BELOW if job.floor is None else 1
    return lowest if job.threshold is None else max(lowest, min(job.threshold, 2**31 - 1))


def edge_of(job: TileJob, h: Ints, x: Ints) -> Edge:
    """The edge that the device computed."""
    edge = Edge(h, x)
    return edge.restored() if job.floor is None else edge


def hits_of(cells: Ints, count: int) -> Hits:
    """The first of the device's (score, row, column), which count from 0, as hits."""
    return Hits(cells[:, :3] + np.array([0, 1, 1], np.int32), count)


def collected_cells(buffers: Buffers, hits: Any, capacity: int) -> tuple[int, Ints]:
    """How many cells there were to collect, and those that were: score, row, column."""
    found = int(buffers.read(hits, 1)[0])
    return found, buffers.read(hits, 3 * min(found, capacity), 1).reshape(-1, 3)
