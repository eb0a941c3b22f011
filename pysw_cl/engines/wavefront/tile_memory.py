"""The buffers of one tile: its kernel's inputs, scratch memory and outputs, by the names of the
kernel's arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers
from ...planning.execution import InStrips, Strips
from ...planning.geometry import Grid
from ...scoring.precision import UNREACHABLE_BELOW
from ...sequences.view import Codes
from ...tiles.edges import Edge, Ints, repeated
from ...tiles.tile import TileJob
from .arguments import new_progress, new_records
from .kernel import backwards


class Link(NamedTuple):
    """A tile's place in a pipeline of tiles below each other."""

    #: What all tiles share: the target's letters, the bus, the best score; and the tile's ticket
    #: counter.
    shared: Mapping[str, Any]
    #: The line of the bus that each strip reads, and last the line that the last strip writes.
    lines: NDArray[np.int32]
    #: Of the tile above, which may still be running: the columns that its strips have published,
    #: and the number of its last strip.  None: the tile's top edge is given.
    above: tuple[Any, int] | None


def tile_buffers(
    job: TileJob,
    execution: InStrips,
    scores: Mapping[str, Any],
    lines: NDArray[np.int32],
    best: int,
    capacity: int,
    buffers: Buffers,
    link: Link | None,
) -> dict[str, Any]:
    """The buffers that a tile's launches read and write and its result is read from: those of
    `InStrips.buffers`, and those of the ``link``.

    ``lines``: of the bus, as `Link` has them.  ``best``: the score that a best cell must reach;
    ``capacity``: so many cells are collected at most."""
    grid, program = execution.grid, execution.program
    asked: dict[str, Any] = dict(execution.sizes)
    made: dict[str, Any] = {}
    asked.pop("table", None)  # that of `scores`
    if job.store_moves:
        made["moves"] = buffers.lasting(asked.pop("moves"))
    for name, kept in (("crossed", job.columns), ("bus", job.rows)):
        if kept and link is None:  # they may outlive the tile
            made[name] = buffers.offset(asked.pop(name))
    asked |= {
        "query": query_codes(job, grid, scores),
        "lines": lines,
        "columns": np.array(job.columns or (0,), np.int32),
        "record": new_records(execution.strip_groups),
        "hits": np.zeros(1 + 3 * capacity, np.int32),
    }
    if program.form == "ticketed":
        asked["progress"] = new_progress(grid.strips, grid.T, execution.progress_words)
        if link is None:
            asked["ticket"] = np.zeros(1, np.int32)
    if link is not None:
        made |= link.shared
    else:
        asked |= target_codes(job.target, execution, scores)
        asked["shared_best"] = np.array([best], np.int32)
    left = left_parts(job, grid, job.corner, job.left)
    filled = grid.padded_rows >= LEAST_FILLED
    if not filled:
        asked["left_h"], asked["left_x"] = map(np.concatenate, left)
    made |= buffers.several(asked)
    made.setdefault("letters", made["target"])
    for name, parts in zip(("left_h", "left_x"), left, strict=True) if filled else ():
        place = 0
        for part in parts:
            buffers.write(made[name], part, place)
            place += part.nbytes
    stride = execution.stride
    if link is None or link.above is None:
        above, top = job.above, 2 * stride * int(lines[0])
        buffers.write(made["bus"], above.h, 4 * top)
        buffers.write(made["bus"], above.x, 4 * (top + stride))
    return made


def query_codes(job: TileJob, grid: Grid, scores: Mapping[str, Any]) -> Codes:
    """A tile's query with its padding."""
    codes = np.full(grid.padded_rows, scores["query_pad"], job.scoring.source.code)
    codes[: grid.m] = job.query
    return codes


def target_codes(target: Codes, execution: Strips, scores: Mapping[str, Any]) -> dict[str, Codes]:
    """A tile's target, as `Strips.shared_letters` calls it, for wide and for narrow lanes."""
    found = {"target": target}
    if execution.program.plan.lane_set.backwards:
        found["letters"] = backwards(target, execution.grid.T, scores["target_pad"])
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
