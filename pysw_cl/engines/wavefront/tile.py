"""One tile on one OpenCL device: its kernel, its launches and its result."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers, read_beside
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel
from ...planning.execution import InStrips, Strips
from ...planning.geometry import TileShape
from ...planning.lane_sets import MIXED
from ...planning.plan import Plan
from ...planning.program import Given, Seen
from ...scoring.precision import UNREACHABLE_BELOW
from ...sequences.kmers import related
from ...sequences.view import Codes
from ...tiles.edges import CopiedEdge, DeviceEdge, Edge
from ...tiles.tile import NO_HITS, Hits, TileJob, TileResult
from ..common import bind, collected_cells, edge_of, least_of, room_for_cells
from .arguments import TWO_PHASE
from .descriptors import RecordWord
from .kernel import (
    LEAST_FILLED,
    MOST,
    counted,
    in_time,
    left_parts,
    new_progress,
    new_records,
    query_codes,
    read_records,
    scores_of,
    spec_of,
    target_codes,
)

#: Letters of a target that are looked at first.
FEW = 64


class StripsRun:
    """The computation of one tile in strips, which follow each other or lie in sections.  At most
    ``capacity`` cells of at least the job's threshold are collected; 0: only the best cell."""

    #: Buffers by the names of the kernel's arguments.
    made: dict[str, Any]

    def __init__(self, execution: Strips, job: TileJob, buffers: Buffers, capacity: int) -> None:
        self.runtime, self.job, self.capacity = buffers.runtime, job, capacity
        self.buffers = buffers
        self.program, self.grid = execution.program, execution.grid
        self.transposed = execution.tile.transposed
        self.strip_groups = execution.strip_groups
        self.threshold = least_of(job)
        self.scores = scores_of(job.scoring, self.program.score, self.program.skewed, buffers)
        self.launches = 0

    def arguments(self, execution: Strips) -> dict[str, Any]:
        """The kernel's arguments that both kinds of runs give alike."""
        grid, lanes = self.grid, (self.grid.T - 1, self.grid.alpha - 1)
        outlet_lane, outlet_row = grid.last_row_outlet if self.job.bottom else lanes
        return {
            **self.scores,
            **self.made,
            "m": grid.m,
            "alpha": grid.alpha,
            "strips": grid.strips,
            "outlet_lane": outlet_lane,
            "outlet_row": outlet_row,
            "chunk": execution.chunk,
            "capacity": self.capacity,
        }

    def found(self) -> dict[str, Any]:
        """The parts of the result that the groups' records and the collected cells tell."""
        job, hits, top, reached = self.job, NO_HITS, None, 0
        records = read_records(self.buffers, self.made["record"], self.strip_groups)
        if job.best:
            hits, top = self._hits(records, 1), int(records[:, RecordWord.TOP].max())
        if self.capacity:
            reached, found = collected_cells(self.buffers, self.made["hits"], self.capacity)
            hits = self._hits(self.distinct(found), job.count)
        best = {"hits": hits, "top": top, "reached": reached}
        return {**best, **self._cost(counted(records)), "launches": self.launches}

    def _cost(self, columns: list[int]) -> dict[str, Any]:
        """The tile's cells by lane set and width, the pruned ones, and those of blocks that outgrew
        their lanes, in proportion to the ``columns`` of strips that the groups counted."""
        total, family = self.grid.m * self.grid.n, self.program.plan.lane_set.family
        *swept, again = columns
        every = sum(swept)
        cells = [total * one // every for one in swept]
        cells[swept.index(max(swept))] += total - sum(cells)
        *by_width, pruned = cells
        widths = MIXED if MIXED in self.program.widths else 8, 16, 32
        named = zip(widths, by_width, strict=True)
        counts = {f"wavefront/{family}/{width}": count for width, count in named if count}
        return {"cells": counts, "pruned": pruned, "again": total * again // every}

    def distinct(self, cells: NDArray[np.int32]) -> NDArray[np.int32]:
        """Collected cells, each once."""
        return cells

    def _hits(self, cells: NDArray[np.int32], count: int) -> Hits:
        """The first (score, row, column) that are inside the tile and reach the threshold.  A group
        that found no cell has recorded an unreachable score."""
        row = cells[:, 2 if self.transposed else 1]
        real = (cells[:, 0] >= self.threshold) & (row <= self.grid.m)
        return Hits((cells if real.all() else cells[real])[:, :3], count)

    def edge(self, h: Any, x: Any, length: int, h_at: int = 0, x_at: int = 0) -> Edge:
        """Read an edge from two buffers, or from two places of one."""
        read = self.buffers.read
        return edge_of(self.job, read(h, length, h_at), read(x, length, x_at))


class Link(NamedTuple):
    """A tile's place in a pipeline of tiles below each other."""

    #: What all tiles share (the target's letters, the bus, the best score), and the tile's ticket.
    shared: Mapping[str, Any]
    #: The line of the bus that each strip reads, and last the line that the last strip writes.
    lines: NDArray[np.int32]
    #: The columns that are done of the row above, which may still be computed: a buffer, and the
    #: place in it.  None: the tile's top edge is given.
    above: tuple[Any, int] | None
    #: Memory of the host for so many numbers, the same for all tiles.
    room: Callable[[int], NDArray[np.int32]]


class TileRun(StripsRun):
    """The computation of one tile: :meth:`run` starts it, :meth:`result` waits for it."""

    def __init__(
        self, chosen: InStrips, job: TileJob, buffers: Buffers, capacity: int, link: Link | None
    ) -> None:
        self.link = link
        self.execution = in_time(buffers.runtime, chosen)
        super().__init__(self.execution, job, buffers, capacity)
        self.lines = self.execution.lines if link is None else link.lines
        self.stride = self.execution.stride
        self.made = self._allocated()
        self.kernel = self._bound()
        #: Is it known to be done (in a pipeline)?  When it began, and when that was known.
        self.done = False
        self.began = self.ended = 0.0

    def _allocated(self) -> dict[str, Any]:
        """`InStrips.buffers` and those of the link, by arguments, with what the tile is given."""
        job, grid, program, buffers = self.job, self.grid, self.program, self.buffers
        asked: dict[str, Any] = dict(self.execution.buffers)
        asked.pop("table", None)  # that of `scores`
        made = {} if self.link is None else dict(self.link.shared)
        if job.store_moves:
            made["moves"] = buffers.lasting(asked.pop("moves"))
        if self.link is None:
            for name, kept in (("crossed", job.columns), ("bus", job.rows)):
                if kept:  # they may outlive the tile
                    made[name] = buffers.offset(asked.pop(name))
            asked |= target_codes(job.target, program, self.scores)
            asked["shared_best"] = np.array([self.threshold], np.int32)
        if program.form == "ticketed":
            asked["progress"] = new_progress(grid.strips, grid.T, self.execution.progress_words)
            if self.link is None:
                asked["ticket"] = np.zeros(1, np.int32)
        asked |= {
            "query": query_codes(job, grid, self.scores),
            "lines": self.lines,
            "columns": np.array(job.columns or (0,), np.int32),
            "record": new_records(self.strip_groups),
            "hits": np.zeros(1, np.int32),
        }
        left = left_parts(job, grid, job.corner, job.left)
        filled = grid.padded_rows >= LEAST_FILLED
        if not filled:
            asked["left_h"], asked["left_x"] = map(np.concatenate, left)
        made |= buffers.several(asked)
        if self.capacity:
            made["hits"] = room_for_cells(buffers, self.capacity)
        made.setdefault("letters", made["target"])
        for name, parts in zip(("left_h", "left_x"), left, strict=True) if filled else ():
            place = 0
            for part in parts:
                buffers.write(made[name], part, place)
                place += part.nbytes
        if self.link is None or self.link.above is None:
            top = 2 * self.stride * int(self.lines[0])
            buffers.write(made["bus"], job.above.h, 4 * top)
            buffers.write(made["bus"], job.above.x, 4 * (top + self.stride))
        return made

    def _bound(self) -> BoundKernel:
        """The kernel with its arguments, except those that each two-phase launch sets."""
        job, program, grid = self.job, self.program, self.grid
        rows_after, columns_after = job.after or (0, 0)
        values = self.arguments(self.execution) | {
            "n": grid.n,
            "stride": self.stride,
            "right": int(job.right),
            "rows_after": min(rows_after, MOST),
            "columns_after": min(columns_after, MOST),
            "column_count": len(job.columns),
        }
        if job.forbidden is not None:
            pairs, places = map(self.buffers.of, grid.forbidden_steps(job.forbidden))
            score = job.scoring.bounds.worst
            values |= {"forbidden": pairs, "forbidden_places": places, "forbidden_score": score}
        above = self.made.get("progress")
        last = grid.strips * self.execution.progress_words  # this one lets every strip begin
        if self.link is not None and self.link.above is not None:
            above, last = self.link.above
        values |= {"progress_above": above, "progress_above_at": last}
        kernel = BoundKernel(self.runtime, spec_of(program), program.defines)
        bind(kernel, self.buffers, values, later=() if program.form == "ticketed" else TWO_PHASE)
        return kernel

    def run(self) -> None:
        if self.program.form == "ticketed":
            self.event = self.kernel.launch(self.groups, self.program.group)
            self.launches, self.began = 1, time.perf_counter()
            return
        for launch in self.grid.launches():
            block = launch.diagonal, launch.first, self.grid.B, launch.phase
            self.kernel.bind(**dict(zip(TWO_PHASE, block, strict=True)))
            self.kernel.launch(launch.count, self.program.group)
            self.launches += 1
            if self.launches % 64 == 0:
                self.runtime.queue.flush()

    @property
    def groups(self) -> int:
        """The number of work-groups of the launch (ticketed form)."""
        return self.strip_groups // self.program.warps

    @property
    def tickets(self) -> int:
        """The number of tickets.  When all are taken, running groups have all unfinished strips."""
        return -(-self.grid.strips // self.program.warps)

    def cells_behind(self, buffers: Buffers) -> int:
        """How many cells the strips have behind them, about (ticketed form).  ``buffers``: of a
        queue on which nothing waits for the tile."""
        grid, words = self.grid, self.execution.progress_words
        columns = buffers.read(self.made["progress"], words * grid.strips)[::words]
        return int(np.clip(columns, 0, grid.n).mean() * grid.m)

    def result(self, bottom_wanted: bool = True) -> TileResult:
        """The tile's result, without moves.  ``bottom_wanted``: is a bottom edge of it read?"""
        grid, job, made, stride = self.grid, self.job, self.made, self.stride
        right = self.edge(made["right_h"], made["right_x"], grid.m) if job.right else None
        bottom = None
        if job.bottom and bottom_wanted:
            line = 2 * stride * int(self.lines[grid.strips])
            bottom = self.edge(made["bus"], made["bus"], grid.n, line, line + stride)
            if self.link is not None and self.program.prunes:
                # the tile below may be raising this line (prune.clh): numbers are old or new
                least = bottom.h - np.int32(job.scoring.gap_open)
                bottom = Edge(bottom.h, np.clip(bottom.x, least, bottom.h))
        rows = self._lines("bus", job.rows, job.rows_stay, grid.n, stride, 2)
        columns = self._lines("crossed", job.columns, job.columns_stay, grid.m, grid.padded_rows)
        inner: Any = {"rows": rows, "columns": columns}
        return TileResult(bottom, right, **self.found(), **inner, execution=self.execution)

    def _lines(
        self, name: str, places: tuple[int, ...], stay: bool, length: int, line: int, first: int = 0
    ) -> dict[int, Edge | DeviceEdge]:
        """Special rows or columns, which may ``stay`` in their buffer from its ``first`` pair of
        lines on.  A pipeline uses this memory again: all are copied at once."""
        of, read = self.made[name], partial(read_beside, self.runtime)
        pairs = {place: (2 * k * line, (2 * k + 1) * line) for k, place in enumerate(places, first)}
        if stay and pairs and self.link is not None:
            count = 2 * line * len(pairs)
            cells = self.buffers.read(of, count, 2 * line * first, into=self.link.room(count))
            cells = cells.reshape(-1, line)[:, :length]
            edges = (edge_of(self.job, *cells[k : k + 2]) for k in range(0, len(cells), 2))
            return {place: CopiedEdge(e.h, e.x) for place, e in zip(pairs, edges, strict=True)}
        if stay:
            far = self.job.floor is None
            return {place: DeviceEdge(length, of, *at, read, far) for place, at in pairs.items()}
        return {place: self.edge(of, of, length, *at) for place, at in pairs.items()}


def shape_of(job: TileJob) -> TileShape:
    """What is asked of a tile, as far as it decides how it is computed."""

    def level(edge: Edge | None) -> bool:
        if edge is None or not edge.h.strides == edge.x.strides == (0,):
            return False
        return job.floor is not None or bool(edge.h[0] >= UNREACHABLE_BELOW)

    return TileShape(
        *job.size,
        best=job.best,
        collects=job.best and job.count > 1,
        bottom=job.bottom,
        right=job.right,
        rows=job.rows,
        columns=job.columns,
        moves=job.store_moves,
        forbidden=job.forbidden is not None,
        level=level(job.top),
        level_left=level(job.left),
        after=job.after is not None,
    )


def given_of(
    runtime: Runtime, plan: Plan, job: TileJob, row_scan: Plan | None = None, overlap: int = 0
) -> Given:
    """What decides, beside its shape, how a tile is computed; see `Given`."""
    local, facts = job.floor is not None, runtime.facts
    return Given(plan, job.scoring, local, facts, SeenTile(job=job), row_scan, overlap)


def of_four(codes: Codes) -> bool:
    """Are these none but the first four letters of the alphabet?  `FEW` tell most proteins."""
    return all(int(letters.max()) < 4 for letters in (codes[:FEW], codes))


@dataclass(frozen=True)
class SeenTile(Seen):
    """What the letters and the edges of a tile say."""

    job: TileJob = field(kw_only=True)

    @property
    def transposed(self) -> Seen:
        return replace(self, job=self.job.transposed)

    def four(self) -> bool:
        return of_four(self.job.target)

    def excess(self) -> int:
        job, top = self.job, self.job.above
        highest = max(top.highest, job.left.highest, job.corner)
        return highest - (int(top.h[0]) if job.floor is None else job.floor)

    def related(self) -> bool:
        return related(self.job.query, self.job.target)
