"""The buffers of one tile: its kernel's inputs, scratch memory and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers
from ...planning.execution import InStrips
from ...planning.geometry import Grid
from ...planning.plan import Plan
from ...planning.sizes import line_cells
from ...scoring.precision import UNREACHABLE_BELOW
from ...tiles.edges import Edge, Ints, repeated
from ...tiles.tile import TileJob
from .arguments import Letters, Scores, Scratch, new_records
from .kernel import backwards
from .link import Link

#: The buffers of scratch memory.
SCRATCH = tuple(one.name for one in fields(Scratch))


@dataclass(frozen=True)
class Memory:
    """The buffers that a tile's launches write and that its result is read from."""

    #: Lines of the horizontal bus: H, then F^.
    bus: Any
    #: 32-bit numbers in half a line.
    stride: int
    #: The line that each strip reads, and last the line that the last strip writes.
    lines: NDArray[np.int32]
    #: H and E^ of the right edge.
    right: tuple[Any, Any]
    #: H and E^ of the special columns.
    crossed: Any
    #: What each group did: see `RecordWord`.
    record: Any
    #: Cells that are collected.
    hits: Any
    #: What the groups work in.
    scratch: Scratch

    @classmethod
    def of(
        cls,
        job: TileJob,
        execution: InStrips,
        capacity: int,
        buffers: Buffers,
        link: Link | None,
    ) -> Memory:
        """Allocate the buffers and copy the top edge to the bus.  Special rows and columns, which
        may outlive the tile, get buffers of their own."""
        own, grid = buffers.empty if link else buffers.offset, execution.grid
        sizes, names = execution.sizes, ("right_h", "right_x", *SCRATCH)
        right_h, right_x, *scratch = buffers.empties([sizes[name] for name in names])
        crossed = (own if job.columns else buffers.empty)(sizes["crossed"])
        stride = line_cells(grid.n, grid.T)
        if link is not None:
            bus, lines = link.shared.bus, link.lines(grid.strips)
        else:
            lines = grid.bus_lines(job.rows)
            bus = (own if job.rows else buffers.empty)(sizes["bus"])
        if link is None or link.above is None:
            top = 2 * stride * int(lines[0])
            buffers.write(bus, job.above.h, 4 * top)
            buffers.write(bus, job.above.x, 4 * (top + stride))
        record = buffers.of(new_records(execution.strip_groups))
        hits = buffers.of(np.zeros(1 + 3 * capacity, np.int32))
        right = right_h, right_x
        return cls(bus, stride, lines, right, crossed, record, hits, Scratch(*scratch))


def letters_of(
    job: TileJob, grid: Grid, plan: Plan, scores: Scores, buffers: Buffers, link: Link | None
) -> Letters:
    """A tile's codes; the tiles of a pipeline share the target's."""
    codes = np.full(grid.padded_rows, scores.query_pad, np.uint8)
    codes[: grid.m] = job.query
    target, owner = (link.shared.letters, link.shared.buffers) if link else ([], buffers)
    if not target:
        target += 2 * [owner.of(job.target)]
        if plan.lane_set.backwards:
            target[1] = owner.of(backwards(job.target, grid.T, scores.target_pad))
    return Letters(buffers.of(codes), *target)


def scratch_of(sizes: Mapping[str, int], buffers: Buffers) -> Scratch:
    """Scratch memory of an execution, by the sizes of its buffers."""
    return Scratch(*buffers.empties([sizes[name] for name in SCRATCH]))


#: A left edge of at least so many rows is copied in parts; the device fills in constant parts.
LEAST_FILLED = 1 << 16


def left_of(job: TileJob, grid: Grid, buffers: Buffers) -> tuple[Any, Any]:
    """The left edge's H after the corner's, and its X, both extended to the padding rows.

    Padding gets a lower bound of row m's score in column 1, so that no padding row beats a cell of
    row m.  It also replaces H(m, 0), which only the diagonal of the padding would read.
    """
    h_parts, x_parts = left_parts(job, grid, job.corner, job.left)
    return (
        _joined(h_parts, grid.padded_rows + 1, buffers),
        _joined(x_parts, grid.padded_rows, buffers),
    )


def left_parts(job: TileJob, grid: Grid, corner: int, left: Edge) -> tuple[list[Ints], list[Ints]]:
    """A left edge as :func:`left_of` says: H in parts, and X."""
    m, scoring = grid.m, job.scoring
    last = int(left.h[m - 1])
    low = last if last < UNREACHABLE_BELOW else last - scoring.gap_open - scoring.gap_extend
    if job.floor is not None and last >= job.floor:
        low = max(low, job.floor)
    below = grid.padded_rows - m
    h_below = repeated(low, below + (below > 0))
    h_parts = [repeated(corner, 1), left.h[: m - (below > 0)], h_below]
    return h_parts, [left.x, repeated(low - scoring.gap_open, below)]


def joined_parts(parts: list[Ints]) -> list[Ints]:
    """The parts of an edge, neighbours of one number (`repeated`) as one."""
    found: list[Ints] = []
    for part in parts:
        if not len(part):
            continue
        if found and part.strides == found[-1].strides == (0,) and part[0] == found[-1][0]:
            part = repeated(int(part[0]), len(found.pop()) + len(part))
        found.append(part)
    return found


def _joined(parts: list[NDArray[np.int32]], count: int, buffers: Buffers) -> Any:
    """A buffer of ``count`` numbers, which ``parts`` have in order."""
    if count < LEAST_FILLED:
        return buffers.of(np.concatenate(parts))
    buffer, place = buffers.empty(4 * count), 0
    for part in parts:
        if len(part):
            buffers.write(buffer, part, place)
        place += part.nbytes
    return buffer
