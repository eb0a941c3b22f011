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
from ...tiles.tile import Box, Costs
from .engine import BatchEngine
from .kept import Ints
from .scores import local_limit

#: The first width that is tried.  Lanes of 8 bits hold no box: H is high where it begins.
LEAST_WIDTH = 16


@dataclass(frozen=True)
class Boxes:
    """Traces the canonical paths in many boxes of a local matrix, in few launches.
    ``noted(bytes)`` is told what they take on the device."""

    runtime: Runtime
    plan: Plan
    noted: Callable[[int], None]

    def fits(self, boxes: Sequence[Box], ends: Sequence[int]) -> list[bool]:
        """Which of these boxes, with so many ends each, are best computed together?  Large ones
        with few ends are computed faster one by one, each by all of the device."""
        tuning, lanes = self.plan.tuning.pairs, self.plan.lane_set.pairs
        mates = tuning.cpu_mates if lanes.items == 1 else tuning.gpu_mates
        most = tuning.alone_cells
        large = (count for box, count in zip(boxes, ends, strict=True) if box.area.cells > most)
        if sum(large) >= mates:
            widest = lanes.pairs(LEAST_WIDTH)
            most = 2 * min(tuning.group_moves, self.runtime.device.max_mem_alloc_size) // widest
        return [
            box.area.cells <= most
            and max(box.area.shape) < min(tuning.longest, LONGEST)
            and _most(box, lanes.columns(32)) < 1 << 31
            for box in boxes
        ]

    def trace(
        self, query: View, target: View, scoring: Scoring, boxes: Sequence[Box], ends: list[BoxEnd]
    ) -> tuple[list[BoxPath], Costs]:
        """The paths to all ``ends`` of a whole matrix, and what they cost."""
        engine = BoxEngine(self.runtime, self.plan.lanes, scoring.clamped(), True, 0)
        found, cost = dict[int, BoxPath](), Costs()
        tuning = self.plan.tuning.pairs
        most = tuning.cpu_moves if engine.vectors else tuning.gpu_moves
        most = min(most, engine.most_bytes)
        try:
            for width, numbers in engine.batches(boxes, most):
                some = {number: boxes[number] for number in numbers}
                paths, launches = engine.paths((query, target), some, ends, width, most)
                found |= paths
                cells = sum(box.area.cells for box in some.values())
                kind = f"batch/{engine.lanes.name}/{width}"
                cost.add_cost(Costs(cells={kind: cells}, launches=launches))
        finally:
            self.noted(engine.peak_bytes)
            engine.close()
        return [found[k] for k in range(len(ends))], cost


class BoxEngine(BatchEngine):
    """Traces paths in boxes, which go to one OpenCL device in batches."""

    def batches(self, boxes: Sequence[Box], most: int) -> Iterator[tuple[int, list[int]]]:
        """The width of the lanes and the boxes of each batch, which has ``most`` bytes of moves, or
        is one group.  Boxes of similar sizes are neighbours."""
        limits = {w: local_limit(self.scoring, w) for w in self.lanes.widths if w >= LEAST_WIDTH}
        by_width: dict[int, list[int]] = {}
        for k in sorted(range(len(boxes)), key=lambda k: -boxes[k].area.cells):
            able = (w for w in limits if _most(boxes[k], self.lanes.columns(w)) <= limits[w])
            by_width.setdefault(next(able), []).append(k)
        for width, numbers in by_width.items():
            sides = np.array([boxes[k].area.shape for k in numbers], np.int32).repeat(2, axis=1)
            groups = Groups(sides, self.lanes.pairs(width), self.lanes.columns(width))
            for first, stop in pairwise(groups.cuts(2 * most)):
                yield width, numbers[first:stop]

    def paths(
        self,
        letters: tuple[View, View],
        boxes: dict[int, Box],
        ends: Sequence[BoxEnd],
        width: int,
        most: int,
    ) -> tuple[dict[int, BoxPath], int]:
        """The paths to those ``ends`` that are in some boxes (by their numbers), by the numbers of
        the ends, and the launches; each has ``most`` bytes of runs, or one path."""
        texts, pairs, levels, at = [], [], [], 0
        for box in boxes.values():
            area, (rows, columns), (above, left) = box.area, box.area.shape, box.before
            pairs.append((at, rows, at + rows, columns))
            texts.append(letters[0].read(area.row, area.row_end))
            texts.append(letters[1].read(area.column, area.column_end))
            levels.append((above, left, left, above))
            at += rows + columns
        place = {number: at for at, number in enumerate(boxes)}
        chosen = [k for k, end in enumerate(ends) if end.box in place]
        cells = [(place[ends[k].box], ends[k].row, ends[k].column) for k in chosen]
        places, sides = np.array(cells, np.int32).reshape(-1, 3), np.array(pairs, np.int32)
        launch = np.cumsum(4 * most_runs(*places[:, 1:].T.astype(np.int64))) // most
        cuts = [0, *(np.flatnonzero(np.diff(launch)) + 1).tolist(), len(chosen)]
        groups = Groups(sides, self.lanes.pairs(width), self.lanes.columns(width))
        execution = self.execution(groups, width, "cigar", boxes=True)
        with Buffers(self.runtime) as buffers:
            given = {
                "results": self._retained.get("results", execution.buffers["results"]),
                "levels": buffers.of(np.array(levels, np.int32)),
                "rise": next(iter(boxes.values())).match,
                "text": buffers.of(np.concatenate(texts)),
                "pairs": buffers.of(sides),
                "ends": 0,
            }
            given = self.sweep(execution, buffers, given)
            self.peak_bytes = max(self.peak_bytes, buffers.bytes + self._retained.bytes)
            found = [self.traced(given, places[a:b], width) for a, b in pairwise(cuts)]
        return dict(zip(chosen, chain(*found), strict=True)), len(found) + 1

    def traced(self, swept: dict[str, Any], ends: Ints, width: int) -> list[BoxPath]:
        """The paths to some ends, by one launch."""
        count = len(ends)
        runs_at = np.append(0, most_runs(ends[:, 1], ends[:, 2]).cumsum()).astype(np.int32)
        with Buffers(self.runtime) as buffers:
            given = swept | {
                "count": count,
                "results": buffers.of(np.ascontiguousarray(ends.T)),
                "runs_at": buffers.of(runs_at),
                "runs": self._retained.get("runs", 4 * int(runs_at[-1])),
                "traced": self._retained.get("traced", 4 * TRACED * count),
            }
            self.launch_traceback(given, width, {"WRITE_RUNS": 1, "BOXES": 1})
            traced = buffers.read(given["traced"], TRACED * count).reshape(TRACED, count)
            words = buffers.read(given["runs"], int(runs_at[-1]), dtype=np.uint32)
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
    return max(box.before) + (max(box.area.shape) + columns) * box.match
