"""One launch of the wavefront kernel over many tiles (cl/wavefront/wavefront.cl, MULTI_TILE)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...planning.choose import batch_program, batch_warps
from ...planning.geometry import Grid
from ...planning.plan import Plan
from ...planning.sizes import RECORD_WORDS
from ...scoring.precision import UNREACHABLE
from ...scoring.scoring import Scoring
from .arguments import (
    Letters,
    ManyArguments,
    Scratch,
    TicketedArguments,
    TileArguments,
    bind,
    new_progress,
    new_records,
)
from .descriptors import TOP_LINE, TileWord
from .kernel import kernel_of, scores_of
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


def strip_groups_of(runtime: Runtime, plan: Plan, done: TileSet) -> int:
    """Groups, or warps of groups, that sweep strips of these tiles at once."""
    warps = batch_warps(plan, runtime.facts)
    tickets = -(-_highest(plan, done).strips // warps) * len(done.parts)
    return warps * max(1, min(plan.B // warps, tickets))


def _highest(plan: Plan, done: TileSet) -> Grid:
    """The strips of the tile with the most rows."""
    rows = int(done.descriptors[:, TileWord.ROWS].max())
    return Grid(rows, 1, 1, plan.T, plan.alpha, "ticketed")


@dataclass(frozen=True)
class Scored:
    """The scoring of a launch, its score file, and whether H is never below 0."""

    scoring: Scoring
    file: str
    local: bool


@dataclass(frozen=True)
class Work:
    """How tiles of one matrix are computed: the plan, the scoring and the letters."""

    plan: Plan
    scored: Scored
    letters: Letters


def launch_tiles(
    runtime: Runtime, work: Work, done: TileSet, moves: Any, scratch: Scratch, buffers: Buffers
) -> Tally:
    """Enqueue the computation of a set of tiles.

    ``moves``: the buffer for their moves, or None.  ``scratch``: for the number of groups that
    :func:`strip_groups_of` returns.
    """
    plan, scored = work.plan, work.scored
    tiles, grid = done.descriptors, _highest(plan, done)
    strip_groups = strip_groups_of(runtime, plan, done)
    strips = tiles[:, TileWord.ROWS] // grid.strip_rows
    tiles[:, TileWord.FIRST] = np.cumsum(strips) - strips
    least = np.array([UNREACHABLE if p.known is None else p.known for p in done.parts], np.int32)
    how = scored.scoring, scored.file, scored.local
    program = batch_program(plan, *how, runtime.facts, moves=moves is not None)
    scores = scores_of(scored.scoring, scored.file, program.skewed, buffers)
    profiles = buffers.empty(strip_groups * scores.profile_bytes(plan, plan.T, program.striped))
    record = buffers.of(new_records(strip_groups))
    progress = buffers.of(new_progress(int(strips.sum()), plan.T))
    ticket = buffers.of(np.zeros(1, np.int32))
    arguments = TileArguments.of(
        work.letters,
        scores,
        replace(scratch, profiles=profiles),
        query_pad=0,  # rows are whole strips
        bus=done.kept,
        alpha=plan.alpha,
        strips=grid.strips,
        outlet_lane=plan.T - 1,
        outlet_row=plan.alpha - 1,
        chunk=plan.chunk,
        record=record,
        shared_best=buffers.of(least),
        lines=buffers.of(_lines(grid, done.steps[0])),
        columns=buffers.of(_columns(done)),
    )
    ticketed = TicketedArguments(ticket, progress, progress, int(strips.sum()), moves)
    many = ManyArguments(buffers.of(tiles), len(tiles))
    kernel = kernel_of(program, runtime)
    bind(kernel, buffers, arguments, scores.arguments, ticketed, many)
    buffers.send()
    event = kernel.launch(strip_groups // program.warps, program.group, at_once=True)
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
