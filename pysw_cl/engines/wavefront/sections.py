"""A tile in sections: parts side by side, swept at once (docs/algorithm.md, Sections).

Method: Khajeh-Saeed & Perot (2011), GPU Computing Gems Emerald Edition, section 13.3.4.  There a
section that overlaps too little is not noticed.  Here the column where a section takes over from
the one before it is compared with that section's last column.  If they differ, the section is swept
again from the latter."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers
from ...opencl.program import BoundKernel, KernelSpec
from ...planning.execution import InSections
from ...tiles.edges import Edge, Ints, repeated
from ...tiles.tile import TileJob, TileResult
from ..common import edge_of, room_for_cells
from .descriptors import TileWord, descriptors
from .kernel import LEAST_FILLED, launch_many, left_parts, new_records, query_codes, target_codes
from .tile import StripsRun

COMPARE = KernelSpec(
    "compare_columns",
    ("base.clh", "wavefront/compare_columns.cl"),
    ("kept", "places", "rows:int", "padded_rows:int", "parts:int", "refused"),
)
#: Work-items of a group that compares two columns, or a part of them, and rows for each.
COMPARING, ROWS_COMPARED = 256, 16


#: Sections whose first columns are compared, and on the device where these are, and which differ.
_Compared = tuple[NDArray[np.int64], Any, Any]


class SectionsRun(StripsRun):
    """The computation of one tile in sections: :meth:`run` computes, :meth:`result` reads it."""

    def __init__(
        self, execution: InSections, job: TileJob, buffers: Buffers, capacity: int
    ) -> None:
        super().__init__(execution, job, buffers, capacity)
        self.execution, self.layout = execution, execution.layout
        self.sections = sections = execution.sections
        cuts, flat = np.array(sections.cuts, np.int64), self.program.flat
        self.starts, self.ends = np.maximum(cuts[:-1] - sections.cut.overlap, 0), cuts[1:]
        widths = self.ends - self.starts + 2 * self.grid.T
        #: The places of the sections' parts of the bus, in 32-bit numbers.
        self.bus_at = (np.cumsum(widths) - widths) * (not flat)
        # strips alternate between lines 0 and 1; the top edge is needed again
        self.lines = np.arange(self.grid.strips + 1, dtype=np.int32) & 1
        if not (sections.cut.proven or flat):
            self.lines[0] = 2
        stride, sizes = self.layout.stride, execution.buffers
        self.kept = buffers.large(4 * self.layout.words)
        top = 2 * stride * int(self.lines[0])
        for place, cells in ((top, job.above.h), (top + stride, job.above.x)):
            buffers.write(self.kept, self._side_by_side(cells), 4 * place)
        self._send_lefts()
        self.made = buffers.several(
            {
                **{name: sizes[name] for name in ("state", "stages", "profiles", "argmax_scratch")},
                **target_codes(job.target, self.program, self.scores),
                "query": query_codes(job, self.grid, self.scores),
                "record": new_records(self.strip_groups),
                "shared_best": np.array([self.threshold], np.int32),
            }
        )
        self.made.setdefault("letters", self.made["target"])
        if self.capacity:
            self.made["hits"] = room_for_cells(buffers, self.capacity)
        overlap = buffers.constant(np.array([sections.cut.overlap], np.int32))
        self.made |= {"bus": self.kept, "columns": overlap}

    def _column(self, kind: str, k: Any) -> Any:
        """The place of a column of section k (which may be an array)."""
        return self.layout.columns_at[kind] + self.layout.column_words * k

    def _side_by_side(self, cells: Ints) -> Ints:
        """The cells above each section, as the bus has them."""
        if cells.strides == (0,):
            return repeated(int(cells[0]), self.layout.stride)
        line = np.zeros(self.layout.stride, np.int32)
        for at, start, end in zip(self.bus_at, self.starts, self.ends, strict=True):
            line[at : at + end - start] = cells[start:end]
        return line

    def _send_lefts(self) -> None:
        """The left edges of all sections: the tile's own, and values that are not too high."""
        job, buffers, at = self.job, self.buffers, self.layout.columns_at["left"]
        m, words, count = job.size[0], self.layout.column_words, self.sections.count
        level = self.execution.tile.level
        opened, extend = job.scoring.gap_open, job.scoring.gap_extend
        own = int((self.starts == 0).sum())  # sections that begin where the tile does
        self.left_of = np.arange(count)
        self.left_of[:own] = 0
        self._send_left(at, job.corner, job.left)
        if own == count:
            return
        corners = job.above.h[self.starts[own:] - 1]
        corner = int(corners[0])
        if job.floor is None:
            other = Edge.one_gap(corner, m, opened, extend)
        else:
            other = Edge(repeated(job.floor, m), repeated(job.floor - opened, m))
        cells = _number(job.left)
        if level and cells and (job.corner, cells) == (corner, _number(other)):
            self.left_of[:] = 0  # the tile's own does for all
            return
        self._send_left(at + words * (1 if level else own), corner, other)
        if level:
            self.left_of[own:] = 1
            return
        begun = own + 1
        while begun < count:  # the device copies the last one, twice as many each time
            more = min(begun - own, count - begun)
            buffers.move(self.kept, at + words * own, self.kept, at + words * begun, words * more)
            begun += more
        for k in (own + np.flatnonzero(corners != corners[0])).tolist():
            buffers.write(self.kept, corners[k - own : k - own + 1], 4 * (at + words * k))

    def _send_left(self, place: int, corner: int, left: Edge) -> None:
        """Send a left edge as the kernel reads it."""
        parts = joined_parts([*chain(*left_parts(self.job, self.grid, corner, left))])
        for part in parts if self.grid.m >= LEAST_FILLED else [np.concatenate(parts)]:
            self.buffers.write(self.kept, part, 4 * place)
            place += len(part)

    def run(self) -> bool:
        """Compute all sections; False if so many were refused that another way is quicker."""
        count, most = self.sections.count, self.sections.plan.tuning.sections.most_refused
        #: For each section, the column that it was swept from or compared at.
        self.began = np.where(self.starts > 0, self._column("crossed", np.arange(count)) + 1, 0)
        # made before the sweep: a driver may wait for a kernel that runs before it makes a buffer
        proven = self.sections.cut.proven or not self.began.any()
        compared = None if proven else self._to_compare(self.buffers)
        self._launch(np.arange(count), False, self.buffers)
        if compared is None:
            return True
        refused = self._refused(compared)
        if len(refused) > max(1, int(most * count)):
            return False
        while len(refused):  # each time at least the first of them becomes right
            with Buffers(self.runtime) as buffers:
                compared = self._to_compare(buffers)
                self._sweep_again(refused, buffers)
                refused = self._refused(compared)
        return True

    def _to_compare(self, buffers: Buffers) -> _Compared:
        which = np.flatnonzero(self.began)
        places = np.stack([self.began[which], self._column("right", which - 1) + 1], 1)
        return which, buffers.constant(places), buffers.of(np.zeros(len(which), np.int32))

    def _refused(self, compared: _Compared) -> NDArray[np.int64]:
        """The sections that did not begin as the one before them ended."""
        which, places, refused = compared
        items = min(COMPARING, self.runtime.device.max_work_group_size)
        kernel = BoundKernel(self.runtime, COMPARE, {"COMPARING": items})
        kernel.bind(kept=self.kept, places=places, refused=refused)
        parts = -(-self.grid.m // (ROWS_COMPARED * items))
        kernel.bind(rows=self.grid.m, padded_rows=self.grid.padded_rows, parts=parts)
        kernel.launch(len(which) * parts, items)
        self.launches += 1
        found: NDArray[np.int64] = which[self.buffers.read(refused, len(which)) != 0]
        return found

    def _sweep_again(self, refused: NDArray[np.int64], buffers: Buffers) -> None:
        """Sweep sections from the last column of the one before, which takes the place of the one
        that it was compared with.  ``buffers`` are other ones than the first launch's, which would
        send again what they sent."""
        for k in refused.tolist():
            to, last = int(self._column("crossed", k)), int(self._column("right", k - 1))
            corner = self.job.above.h[self.sections.cuts[k] - 1 : self.sections.cuts[k]]
            buffers.write(self.kept, np.array(corner, np.int32), 4 * to)
            buffers.move(self.kept, last + 1, self.kept, to + 1, 2 * self.grid.padded_rows)
        self._launch(refused, True, buffers)

    def _launch(self, which: NDArray[np.int64], again: bool, buffers: Buffers) -> None:
        """Sweep some sections from left of their first column, or ``again`` from that column."""
        grid, sections, flat = self.grid, self.sections, self.program.flat
        right = self.execution.stores_right
        starts, ends = self.starts[which], self.ends[which]
        first = np.array(sections.cuts, np.int64)[which] if again else starts
        backwards = sections.plan.lane_set.backwards
        crossed, left = self._column("crossed", which), self._column("left", self.left_of[which])
        tiles = descriptors(
            len(which),
            {
                TileWord.ROWS: grid.m,
                TileWord.COLUMNS: ends - first,
                TileWord.TARGET: first,
                TileWord.LETTERS: len(self.job.target) - ends if backwards else first,
                TileWord.BUS: 0 if flat else self.bus_at[which] + first - starts,
                TileWord.STRIDE: self.layout.stride,
                TileWord.LEFT: crossed if again else left,
                TileWord.RIGHT: self._column("right", which) + 1 if right else 0,
                TileWord.CROSSED: crossed + 1,
                TileWord.KEPT: (self.began[which] > 0) & (not again) & (not sections.cut.proven),
                TileWord.FIRST: np.arange(len(which)) * grid.strips,
            },
        )
        values = self.arguments(self.execution) | {
            "right": int(right),
            "lines": buffers.constant(self.lines),
            "tiles": buffers.constant(tiles),
            "tile_count": len(tiles),
            "by_column": int(self.transposed),
        }
        strips = grid.strips * len(which)
        launch_many(self.runtime, self.program, self.strip_groups, strips, values, buffers)
        self.launches += 1

    def result(self) -> TileResult:
        """As :meth:`pysw_cl.engines.wavefront.tile.TileRun.result`."""
        cuts = self.sections.cuts
        columns = {at: self._column_edge(cuts.index(at) - 1) for at in self.job.columns}
        right = self._column_edge(self.sections.count - 1) if self.job.right else None
        how: Any = {"columns": columns, "execution": self.execution}
        return TileResult(self._bottom(), right, **self.found(), **how)

    def _column_edge(self, k: int) -> Edge:
        """The last column of section k."""
        place = int(self._column("right", k)) + 1
        return self.edge(self.kept, self.kept, self.grid.m, place, place + self.grid.padded_rows)

    def _bottom(self) -> Edge | None:
        """The bottom edge; each section has the part below its own columns."""
        if not self.job.bottom:
            return None
        stride, cuts = self.layout.stride, np.array(self.sections.cuts[:-1], np.int64)
        line, begins = 2 * stride * int(self.lines[-1]), self.bus_at + cuts - self.starts
        parts = []
        for half in (0, stride):
            cells = self.buffers.read(self.kept, stride, line + half)
            own = zip(begins, begins + self.ends - cuts, strict=True)
            parts.append(np.concatenate([cells[at:end] for at, end in own]))
        return edge_of(self.job, *parts)

    def distinct(self, cells: Ints) -> Ints:
        """Each cell once, with its highest score: of sections that overlap, one may be too low."""
        few = 2 * self.job.count  # a cell is in two sections at most, mostly
        if 2 * few < len(cells):
            best = cells[cells[:, 0] >= np.partition(cells[:, 0], -few)[-few]]
            found = _each_once(best)
            if len(found) >= self.job.count:
                return found
        return _each_once(cells) if len(cells) > 1 else cells


def _each_once(cells: Ints) -> Ints:
    """The highest score of each of some cells, one at least."""
    place = cells[:, 1].astype(np.int64) * (int(cells[:, 2].max()) + 1) + cells[:, 2]
    order = np.argsort(place)
    first = np.flatnonzero(np.diff(place[order], prepend=-1))
    found = cells[order[first]]
    found[:, 0] = np.maximum.reduceat(cells[order, 0], first)
    return found


def _number(edge: Edge) -> tuple[int, ...]:
    """The numbers of an edge of equal cells; none of another one."""
    if edge.h.strides == edge.x.strides == (0,):
        return int(edge.h[0]), int(edge.x[0])
    return ()


def joined_parts(parts: list[Ints]) -> list[Ints]:
    """The parts of an edge, neighbours of one number (`repeated`) as one: each is sent alone."""
    found: list[Ints] = []
    for part in filter(len, parts):
        if found and part.strides == found[-1].strides == (0,) and part[0] == found[-1][0]:
            part = repeated(int(part[0]), len(found.pop()) + len(part))
        found.append(part)
    return found
