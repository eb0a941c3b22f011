"""Paths in many boxes of a local matrix, one box in each lane (docs/algorithm.md, *Many ends*)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...planning.pair_batch import LONGEST, TRACED, Groups, most_runs
from ...planning.plan import Plan
from ...scoring.scoring import Scoring
from ...sequences.view import View
from ...tiles.contract import BoxEnd, BoxPath
from ...tiles.tile import Box
from .bounds import local_limit
from .engine import BatchEngine
from .running import Ints, Running

#: The first width that is tried.  Lanes of 8 bits hold no box: H is high where it begins.
LEAST_WIDTH = 16


@dataclass(frozen=True)
class Boxes:
    """See :class:`pysw_cl.tiles.contract.BoxPaths`.  ``noted(bytes)`` is told what they take on the
    device."""

    runtime: Runtime
    plan: Plan
    noted: Callable[[int], None]

    def fits(self, boxes: Sequence[Box], ends: Sequence[int]) -> list[bool]:
        """See :class:`pysw_cl.tiles.contract.BoxPaths`.  Large boxes with few ends are computed
        faster one by one, each by all of the device."""
        tuning, lanes = self.plan.tuning.pairs, self.plan.lane_set.pairs
        vectors = lanes.items == 1
        mates = tuning.cpu_mates if vectors else tuning.gpu_mates
        most = tuning.alone_cells
        large = (count for box, count in zip(boxes, ends, strict=True) if box.area.cells > most)
        if sum(large) >= mates:
            widest = lanes.pairs(LEAST_WIDTH)
            most = 2 * min(tuning.group_moves, self.runtime.device.max_mem_alloc_size) // widest
        return [
            box.area.cells <= most
            and max(_sides(box)) < min(tuning.longest, LONGEST)
            and _most(box, lanes.columns(32)) < 1 << 31
            for box in boxes
        ]

    def trace(
        self, query: View, target: View, scoring: Scoring, boxes: Sequence[Box], ends: list[BoxEnd]
    ) -> tuple[list[BoxPath], dict[str, int], int]:
        """See :class:`pysw_cl.tiles.contract.BoxPaths`."""
        engine = BoxEngine(self.runtime, self.plan, scoring, query, target, boxes, ends)
        try:
            return engine.paths()
        finally:
            self.noted(engine.peak_bytes)
            engine.close()


class BoxEngine(BatchEngine):
    """Traces paths in boxes, which go to one OpenCL device in batches."""

    def __init__(
        self,
        runtime: Runtime,
        plan: Plan,
        scoring: Scoring,
        query: View,
        target: View,
        boxes: Sequence[Box],
        ends: Sequence[BoxEnd],
    ) -> None:
        super().__init__(runtime, plan.lanes, scoring.clamped(), True, 0)
        self.query, self.target, self.boxes, self.box_ends = query, target, boxes, ends
        tuning = plan.tuning.pairs
        most = tuning.cpu_moves if self.vectors else tuning.gpu_moves
        #: Bytes of the moves of a batch, or of the runs of a launch, at most.
        self._most = min(most, self.most_bytes)
        #: The widths, and the highest score of each.
        self._limits = [
            (width, local_limit(self.scoring, width))
            for width in self.lanes.widths
            if width >= LEAST_WIDTH
        ]

    def paths(self) -> tuple[list[BoxPath], dict[str, int], int]:
        """See :class:`pysw_cl.tiles.contract.BoxPaths`."""
        found: dict[int, BoxPath] = {}
        cells: dict[str, int] = {}
        launches = 0
        for width, numbers in self._batches():
            paths, more = self._batch(width, numbers)
            found |= paths
            launches += more
            kind = f"batch/{self.lanes.name}/{width}"
            cells[kind] = cells.get(kind, 0) + sum(self.boxes[k].area.cells for k in numbers)
        return [found[k] for k in range(len(self.box_ends))], cells, launches

    def _batches(self) -> Iterator[tuple[int, list[int]]]:
        """The boxes of each batch, and the width of its lanes.  Boxes of similar sizes are
        neighbours, and the moves of a batch fit the memory that pair batches take."""
        by_width: dict[int, list[int]] = {}
        for k in sorted(range(len(self.boxes)), key=lambda k: -self.boxes[k].area.cells):
            box, columns = self.boxes[k], self.lanes.columns
            width = next(w for w, limit in self._limits if _most(box, columns(w)) <= limit)
            by_width.setdefault(width, []).append(k)
        for width, numbers in by_width.items():
            lanes, first, used = self.lanes.pairs(width), 0, 0
            for at in range(0, len(numbers), lanes):
                m, n = np.max([_sides(self.boxes[k]) for k in numbers[at : at + lanes]], 0)
                needed = int(m) * (int(n) + self.lanes.columns(width)) * lanes // 2
                if used and used + needed > self._most:
                    yield width, numbers[first:at]
                    first, used = at, 0
                used += needed
            yield width, numbers[first:]

    def _batch(self, width: int, numbers: list[int]) -> tuple[dict[int, BoxPath], int]:
        """The paths to the ends in some boxes, by the numbers of the ends, and the launches."""
        texts, pairs, levels, at = [], [], [], 0
        for k in numbers:
            box = self.boxes[k]
            area, (rows, columns), (above, left) = box.area, _sides(box), box.before
            pairs.append((at, rows, at + rows, columns))
            texts.append(self.query.read(area.row, area.row_end))
            texts.append(self.target.read(area.column, area.column_end))
            levels.append((above, left, left, above))
            at += rows + columns
        place = {number: at for at, number in enumerate(numbers)}
        chosen = [k for k, end in enumerate(self.box_ends) if end.box in place]
        given = [
            (place[end.box], end.row, end.column) for end in map(self.box_ends.__getitem__, chosen)
        ]
        ends, sides = np.array(given, np.int32).reshape(-1, 3), np.array(pairs, np.int32)
        runs = np.cumsum(4 * most_runs(*ends[:, 1:].T.astype(np.int64)))
        launch = np.append(runs // self._most, -1)
        cuts = [0, *(np.flatnonzero(launch[1:] != launch[:-1]) + 1).tolist()]
        groups = Groups(sides, self.lanes.pairs(width), self.lanes.columns(width))
        execution = self.execution(groups, len(pairs), width, "cigar", boxes=True)
        with Buffers(self.runtime) as buffers:
            own = {
                "results": self._retained.get("results", execution.sizes["results"]),
                "levels": buffers.of(np.array(levels, np.int32)),
                "rise": self.boxes[numbers[0]].match,
            }
            text = buffers.of(np.concatenate(texts))
            shared = {"text": text, "pairs": buffers.of(sides), "ends": 0}
            shared = self.sweep(execution, buffers, shared, own)
            self.peak_bytes = max(self.peak_bytes, buffers.bytes + self._retained.bytes)
            paths = [self.traced(shared, ends[a:b], width) for a, b in pairwise(cuts)]
        return dict(zip(chosen, chain(*paths), strict=True)), len(paths) + 1

    def traced(self, shared: dict[str, Any], ends: Ints, width: int) -> list[BoxPath]:
        """The paths to some ends, by one launch."""
        count = len(ends)
        runs_at = np.zeros(count + 1, np.int32)
        np.cumsum(most_runs(ends[:, 1], ends[:, 2]), out=runs_at[1:])
        words = np.empty(int(runs_at[-1]), np.uint32)
        running = Running(self.runtime, self._retained, at_once=True)
        try:
            given = {
                "count": count,
                "results": running.buffers.of(np.ascontiguousarray(ends.T)),
                "runs_at": running.buffers.of(runs_at),
                "runs": self._retained.get("runs", words.nbytes),
                "traced": self._retained.get("traced", 4 * TRACED * count),
            }
            self.launch_traceback({**shared, **given}, width, {"WRITE_RUNS": 1, "BOXES": 1})
            traced = running.array("traced", (TRACED, count))
            running.fetch_to(traced, given["traced"])
            running.fetch_to(words, given["runs"])
            running.begin()
            running.finish()
        finally:
            running.free()
        return [
            BoxPath(row, column, score, words[stop - length : stop])
            for row, column, _, _, length, score, stop in zip(
                *traced.tolist(), runs_at[1:].tolist(), strict=True
            )
        ]


def _most(box: Box, columns: int) -> int:
    """The most that H can be in a box: what it may be where a path enters, and ``match`` more for
    each row or column.  The numbers that H along its borders is computed from are no higher, with
    the ``columns`` of the last panel."""
    return max(box.before) + (max(_sides(box)) + columns) * box.match


def _sides(box: Box) -> tuple[int, int]:
    """Its rows and columns."""
    area = box.area
    return area.row_end - area.row, area.column_end - area.column
