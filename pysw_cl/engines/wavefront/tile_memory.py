"""The buffers of one tile: its kernel's inputs, scratch memory and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers
from ...planning.execution import InStrips, Strips
from ...planning.geometry import Grid
from ...planning.sizes import line_cells
from ...scoring.precision import UNREACHABLE_BELOW
from ...sequences.view import Codes
from ...tiles.edges import Edge, Ints, repeated
from ...tiles.tile import TileJob
from .arguments import Letters, Scores, Scratch, new_progress, new_records
from .kernel import backwards
from .link import Link

#: The buffers of scratch memory.
SCRATCH = tuple(one.name for one in fields(Scratch))


@dataclass(frozen=True)
class Memory:
    """The buffers that a tile's launches read and write, and that its result is read from."""

    #: By name: those of `InStrips.buffers`, and those that a pipeline's tiles share.
    buffers: dict[str, Any]
    #: 32-bit numbers in half a line of the bus.
    stride: int
    #: The line of the bus that each strip reads, and last the line that the last strip writes.
    lines: NDArray[np.int32]

    @classmethod
    def of(
        cls,
        job: TileJob,
        execution: InStrips,
        scores: Scores,
        best: int,
        capacity: int,
        buffers: Buffers,
        link: Link | None,
    ) -> Memory:
        """Allocate the buffers and copy what the launches read.  ``best``: the score that a best
        cell must reach; ``capacity``: so many cells are collected at most."""
        grid, program = execution.grid, execution.program
        lines = link.lines(grid.strips) if link else grid.bus_lines(job.rows)
        asked: dict[str, Any] = dict(execution.sizes)
        made: dict[str, Any] = {}
        asked.pop("table", None)  # that of `scores`
        if job.store_moves:
            made["moves"] = buffers.lasting(asked.pop("moves"))
        for name, kept in (("crossed", job.columns), ("bus", job.rows)):
            if kept and link is None:  # they may outlive the tile
                made[name] = buffers.offset(asked.pop(name))
        asked |= {
            "query": query_codes(job.query, grid, scores),
            "lines": lines,
            "columns": np.array(job.columns or (0,), np.int32),
            "record": new_records(execution.strip_groups),
            "hits": np.zeros(1 + 3 * capacity, np.int32),
        }
        if program.form == "ticketed":
            asked["progress"] = new_progress(grid.strips, grid.T, program.shares_strips)
            if link is None:
                asked["ticket"] = np.zeros(1, np.int32)
        if link is not None:
            made |= link.buffers(partial(target_codes, job.target, execution, scores))
        else:
            asked |= target_codes(job.target, execution, scores)
            asked["best"] = np.array([best], np.int32)
        left = left_parts(job, grid, job.corner, job.left)
        filled = grid.padded_rows >= LEAST_FILLED
        if not filled:
            asked["left_h"], asked["left_x"] = map(np.concatenate, left)
        made |= buffers.several(asked)
        for name, parts in zip(("left_h", "left_x"), left, strict=True) if filled else ():
            place = 0
            for part in parts:
                buffers.write(made[name], part, place)
                place += part.nbytes
        stride = line_cells(grid.n, grid.T)
        if link is None or link.above is None:
            above, top = job.above, 2 * stride * int(lines[0])
            buffers.write(made["bus"], above.h, 4 * top)
            buffers.write(made["bus"], above.x, 4 * (top + stride))
        return cls(made, stride, lines)


def letters_of(made: Mapping[str, Any]) -> Letters:
    """The buffers of the codes, of buffers by name."""
    return Letters(made["query"], made["target"], made.get("backwards", made["target"]))


def scratch_of(made: Mapping[str, Any]) -> Scratch:
    """What the groups work in, of buffers by name."""
    return Scratch(*map(made.__getitem__, SCRATCH))


def query_codes(query: Codes, grid: Grid, scores: Scores) -> Codes:
    """A tile's query with its padding."""
    codes = np.full(grid.padded_rows, scores.query_pad, scores.scoring.source.code)
    codes[: grid.m] = query
    return codes


def target_codes(target: Codes, execution: Strips, scores: Scores) -> dict[str, Codes]:
    """A tile's target, as `Strips.shared_letters` calls it, for wide and for narrow lanes."""
    found = {"target": target}
    if execution.program.plan.lane_set.backwards:
        found["backwards"] = backwards(target, execution.grid.T, scores.target_pad)
    return found


#: A left edge of at least so many rows is copied in parts; the device fills in constant parts.
LEAST_FILLED = 1 << 16


def left_parts(job: TileJob, grid: Grid, corner: int, left: Edge) -> tuple[list[Ints], list[Ints]]:
    """The left edge's H after the corner's, and its X, in parts, both extended to the padding rows.

    Padding gets a lower bound of row m's score in column 1, so that no padding row beats a cell of
    row m.  It also replaces H(m, 0), which only the diagonal of the padding would read.
    """
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
