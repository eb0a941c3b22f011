"""One launch of the wavefront kernel over many tiles (cl/wavefront/many_tiles.cl)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...planning.geometry import Grid
from ...planning.path_grid import group_bytes
from ...planning.plan import Plan
from ...planning.program import program_of, widths_of
from ...planning.sizes import RECORD_WORDS, profile_bytes
from ...scoring.precision import UNREACHABLE
from ...scoring.scoring import Scoring
from .arguments import new_records
from .descriptors import TOP_LINE, TileWord
from .kernel import launch_many, scores_of
from .tile_batch_layout import TileSet


@dataclass(frozen=True)
class Tally:
    """A launch's event, and the records of its groups."""

    event: Any
    buffer: Any
    strip_groups: int

    def read(self, buffers: Buffers) -> NDArray[np.int32]:
        """One row of `RecordWord` for each group; waits for the queue of ``buffers``."""
        records = buffers.read(self.buffer, RECORD_WORDS * self.strip_groups)
        return records.reshape(-1, RECORD_WORDS)


@dataclass(frozen=True)
class Work:
    """How tiles of one matrix are computed."""

    plan: Plan
    scoring: Scoring
    #: The score file.
    file: str
    #: Is H never below 0?
    local: bool
    #: The kernel's arguments with the letters.
    letters: dict[str, Any]


def launch_tiles(
    runtime: Runtime,
    work: Work,
    done: TileSet,
    moves: Any,
    keep: Callable[[str, int], Any],
    buffers: Buffers,
) -> Tally:
    """Enqueue the computation of a set of tiles.  ``moves``: the buffer for their moves, or None.
    ``keep``: gives scratch memory by its name and size."""
    plan, tiles = work.plan, done.descriptors
    grid = Grid(int(tiles[:, TileWord.ROWS].max()), 1, 1, plan.T, plan.alpha, "ticketed")
    program = program_of(
        plan,
        work.scoring,
        work.file,
        work.local,
        widths=widths_of(plan, work.scoring, work.local, best=False),
        moves=moves is not None,
        prunes=moves is None,
        # one per scheduler, because a tile has few strips
        warps=(plan.lane_set.joins_warps and runtime.facts.schedulers) or 1,
        many=True,
    )
    tickets = -(-grid.strips // program.warps) * len(done.parts)
    strip_groups = program.warps * max(1, min(plan.B // program.warps, tickets))
    strips = tiles[:, TileWord.ROWS] // grid.strip_rows
    tiles[:, TileWord.FIRST] = np.cumsum(strips) - strips
    least = np.array([UNREACHABLE if p.known is None else p.known for p in done.parts], np.int32)
    state, stages = group_bytes(plan, strip_groups)
    profile = 0
    if not plan.lane_set.local_profile:
        letters = work.scoring.source.sizes(work.file)[1]
        profile = profile_bytes(plan.T, letters, plan.alpha, program.striped)
    record = buffers.of(new_records(strip_groups))
    values = {
        **scores_of(work.scoring, work.file, program.skewed, buffers),
        **work.letters,
        "state": keep("state", state),
        "stages": keep("stages", stages),
        "profiles": buffers.empty(strip_groups * profile),
        "argmax_scratch": None,
        "query_pad": 0,  # rows are whole strips
        "bus": done.kept,
        "alpha": plan.alpha,
        "strips": grid.strips,
        "outlet_lane": plan.T - 1,
        "outlet_row": plan.alpha - 1,
        "chunk": plan.chunk,
        "record": record,
        "shared_best": buffers.of(least),
        "lines": buffers.of(_lines(grid, done.steps[0])),
        "columns": buffers.of(_columns(done)),
        "moves": moves,
        "tiles": buffers.of(tiles),
        "tile_count": len(tiles),
    }
    event = launch_many(runtime, program, strip_groups, int(strips.sum()), values, buffers)
    return Tally(event, record, strip_groups)


def _lines(grid: Grid, step: int) -> NDArray[np.int32]:
    """The line of its bus that each strip of a tile reads.  Strips alternate between two lines, but
    special rows, ``step`` apart, have lines of their own."""
    lines = np.arange(grid.strips + 1, dtype=np.int32) & 1
    special = np.arange(0, grid.strip_rows * (grid.strips + 1), step) // grid.strip_rows
    lines[special] = TOP_LINE + np.arange(len(special))
    return lines


def _columns(done: TileSet) -> NDArray[np.int32]:
    """The special columns of the widest tile; a narrower one has the first of them."""
    kept = int(done.descriptors[:, TileWord.KEPT].max())
    columns = np.arange(1, 1 + kept, dtype=np.int32) * done.steps[1]
    return columns if len(columns) else np.zeros(1, np.int32)
