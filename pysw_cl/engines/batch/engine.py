"""The batch engine: many pairs at once, one in each lane (docs/algorithm.md, Many pairs).

Method: inter-sequence vectorisation (Alpern, Carter & Gatlin 1995; Rognes 2011, SWIPE), here with
another query and another target in every lane."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, KernelSpec
from ...planning.lane_sets import LANE_SETS, WIDE
from ...planning.pair_batch import RESULTS, TRACED, Groups, InLanes
from ...scoring.precision import UNREACHABLE
from ...scoring.scoring import Scoring
from ..common import FreeEnd
from .kept import Ints, KeptCodes, KeptStore, LentCodes, RetainedMemory
from .running import Running, Tops, gather
from .scores import Tables, local_floor, local_width

#: For row 0 and for column 0: which end must be free to get there for nothing, and to end there.
OUTSIDE = (
    (0, FreeEnd.LEAD_QUERY, FreeEnd.TRAIL_TARGET),
    (1, FreeEnd.LEAD_TARGET, FreeEnd.TRAIL_QUERY),
)
#: Numbers of the sweep that are read for each output, beside whether a letter is wrong.
NUMBERS = {"score": 1, "ends": 3, "counts": 5, "starts": 5, "traceback": 3, "cigar": 3}

_SWEEP = (
    "text codes pairs count:int groups:int counter scratch_memory scratch_size:int "
    "most_m:int most_n:int gap_open:int gap_extend:int floor:int ends:int results places moves"
)
#: More arguments of pairs (codes that are kept, and paths near their ends), and of boxes.
_PAIRS, _BOXES = "keep:int kept kept_at near:int", "levels rise:int"
_SCORE = {"compare": "match:int mismatch:int", "profile": "matrix bad:int"}
_TRACEBACK = (
    "matrix wide:int pairs count:int lanes:int gap_open:int gap_extend:int ends:int "
    "results places moves runs_at runs traced"
)
#: The traceback: by whether it reads kept codes.
TRACEBACK = {
    kept: KernelSpec(
        "batch_traceback",
        ("base.clh", "batch/base.clh", "batch/batch_traceback.cl"),
        tuple(f"{letters} {_TRACEBACK}".split()),
    )
    for kept, letters in ((False, "text codes same"), (True, "kept kept_at"))
}
TILE_PAIRS = KernelSpec(
    "tile_pairs",
    ("base.clh", "batch/tile_pairs.cl"),
    tuple("rows row_count:int columns column_count:int pairs".split()),
)
#: Work-items of a group of that kernel, and groups.
TILE_ITEMS, TILE_GROUPS = 64, 1024
#: The most work-items of a group of the next kernels, and those that copy the runs of a path.
PACKING_GROUP, MATES = 1024, 8
_PACKING = "base.clh", "batch/pack_runs.cl"
COUNT_RUNS = KernelSpec("count_runs", _PACKING, ("traced", "count:int", "offsets"))
PACK_RUNS = KernelSpec(
    "pack_runs", _PACKING, ("places", "count:int", "lanes:int", "offsets", "runs", "packed")
)


def batch_spec(header: str, score: str, tops: bool, boxes: bool) -> KernelSpec:
    """The kernel for a header of lanes and a score file of cl/batch: with `Tops`?  Of boxes?"""
    permute = ("permute",) if score == "positions" else ()
    names = (*permute, score, "scratch", "encode", "endpoint", "starts", "borders", "group")
    files = ["base.clh", "batch/base.clh", header, "recurrence.clh"]
    files += [*(f"batch/{name}.clh" for name in names), "batch/batch.cl"]
    more = _BOXES if boxes else _PAIRS
    arguments = f"{_SWEEP} {more} {'tops tops_at' * tops} {_SCORE.get(score, 'matrix')}"
    return KernelSpec("batch", tuple(files), tuple(arguments.split()))


class BatchEngine:
    """Aligns batches of pairs on one OpenCL device.  ``lanes``: the name of a plan's lane set.
    ``scoring``: a clamped one.  ``ends``: the free ends as bits (`FreeEnd`)."""

    def __init__(self, runtime: Runtime, lanes: str, scoring: Scoring, local: bool, ends: int):
        self.runtime, self.scoring = runtime, scoring
        self.local, self.ends = local, ends
        self.lanes = LANE_SETS[lanes].pairs
        #: Is a work-group one thread with all lanes in a vector?
        self.vectors = self.lanes.items == 1
        #: The narrowest lanes that hold scores worth a try.
        self.least_width = max(local_width(scoring) if local else 16, self.lanes.widths[0])
        self.tables = Tables.of(scoring)
        self._shared = Buffers(runtime)
        self._retained = RetainedMemory(runtime)
        #: Of the pairs whose memory that is; None: it is the engine's own.
        self._store: KeptStore | None = None
        self._most_kept = 0
        self._codes = self._shared.of(self.tables.codes)
        #: The arguments of score files, and of tracebacks (of kept codes?), once they are needed.
        self._given: dict[Any, dict[str, Any]] = {}
        #: The largest buffer in bytes, and all of the device's memory.
        self.most_bytes, self.memory_bytes = runtime.facts.largest, runtime.facts.memory
        self.workers = self.lanes.groups * runtime.info.compute_units
        self.peak_bytes = 0

    def use(self, store: KeptStore, most: int) -> None:
        """The next batches are of the prepared pairs of ``store``, which keeps the memory that they
        use, if that is at most ``most`` bytes."""
        if self._store is not store:
            self._give_back()
            self._store, self._most_kept = store, most
            self._retained = store.take_memory(self.runtime) or self._retained

    def _give_back(self) -> None:
        if self._store is not None:
            self._store.keep_memory(self.runtime, self._retained, self._most_kept)
            self._retained, self._store = RetainedMemory(self.runtime), None

    def close(self) -> None:
        """Free the memory that batches share."""
        self._give_back()
        self._shared.free()
        self._retained.free()

    def outside(self, tops: Tops, k: int, pair: Ints, start: Ints, end: Ints) -> int:
        """The highest score of an end of pair k outside the rectangle from ``start`` to ``end``."""
        lines, firsts = tops
        floor = self._floor(8 * lines.itemsize)
        group, lane = divmod(k, lines.shape[1])
        best, scoring = 0 if self.local else UNREACHABLE, self.scoring
        for side, lead, trail in OUTSIDE:
            length, i, j = int(pair[2 * side + 1]), int(start[side]), int(end[side])
            at = int(firsts[group, side])
            for first, last in ((at, at + i), (at + j, at + length)):
                if first < last:
                    best = max(best, int(lines[first:last, lane].max()) - floor)
            if self.ends & trail:
                gap = scoring.gap_open + scoring.gap_extend * int(pair[3 - 2 * side])
                best = max(best, 0 if self.ends & lead else -gap)
        return best

    def execution(
        self, groups: Groups, width: int, how: str, tops: bool = False, boxes: bool = False
    ) -> InLanes:
        """How these groups are computed.  ``how``: one of `pair_batch.WANTS`."""
        tables, about = self.tables, (self.local, groups, self.runtime.facts, tops, boxes)
        score = tables.file(self.lanes, width)
        return InLanes(self.lanes, width, score, tables.letters, how, *about)

    def kept_codes(
        self, text: NDArray[np.uint8], pairs: Ints, groups: Groups, width: int, most: int
    ) -> KeptCodes | None:
        """The codes of prepared pairs (see :meth:`start`) in the layout of a width's lanes, which
        stay from call to call; None if they cannot, or if more than ``most`` bytes would."""
        assert self._store is not None
        lanes = self.lanes.pairs(width)
        key, sizes = (self.tables.codes.tobytes(), lanes), groups.sides.sum(axis=1) * lanes
        return self._store.get(self.runtime, key, text, pairs, sizes, most)

    def start(
        self,
        text: NDArray[np.uint8],
        pairs: Ints | tuple[Ints, Ints],
        execution: InLanes,
        lent: LentCodes | None = None,
        near: bool = False,
    ) -> Running:
        """Enqueue a batch.

        ``text`` holds the letters (ASCII).  ``pairs`` (n x 4) has each pair's first query letter,
        query length, first target letter and target length; pairs of similar lengths are
        neighbours.  ``execution``: of the groups of these pairs.  ``lent``: their codes, if these
        are kept.  ``near``: does each pair end where its best path ends?

        ``pairs`` of a tile are those of each row with each column, of which the first letters and
        the lengths are given (n x 2 each); their letters are not checked."""
        memory, groups, sizes = self._retained, execution.groups, execution.buffers
        tile, count = isinstance(pairs, tuple), groups.pairs
        near_step = max(0, self.scoring.highest) if near and self.scoring.gap_extend else 0
        given: dict[str, Any] = {"ends": self.ends, "near": near_step, "keep": 0}
        given |= dict.fromkeys(("kept", "kept_at"), self._codes)
        with Running(self.runtime, memory, self.vectors) as batch:
            buffers, results = batch.buffers, batch.lend("results", sizes["results"])
            there = lent is not None and lent.there  # then nobody looks at the letters
            letters = self._codes if there else memory.letters(text, buffers)
            given |= {"results": results, "text": letters}
            if lent is not None and lent.all:
                given |= {"pairs": lent.of.pairs_buffer, "kept_at": lent.of.places_buffer}
            elif isinstance(pairs, tuple):
                given["pairs"] = self._tile_pairs(*pairs, sizes["pairs"], buffers)
            else:
                given["pairs"] = memory.sent("pairs", pairs, buffers)
            if lent is not None:
                given |= {"kept": lent.of.buffer, "keep": 1 + there}
                if not lent.all:
                    places = lent.of.places[lent.groups]
                    given["kept_at"] = memory.sent("kept places", places, buffers)
            if execution.tops:
                ends = np.cumsum(groups.sides).reshape(-1, 2)
                shape = execution.top_lines, self.lanes.pairs(execution.width)
                batch.tops = np.empty(shape, f"i{execution.width // 8}"), ends - groups.sides
                tops = batch.lend("tops", sizes["tops"])
                given |= {"tops": tops, "tops_at": buffers.of(batch.tops[1])}
            batch.found = batch.array("found", (NUMBERS[execution.output] + 1, count))
            given = self.sweep(execution, buffers, given)
            batch.fetch_to(batch.found[:-1], results)
            if not (there or tile):
                batch.fetch_to(batch.found[-1], results, 4 * (RESULTS - 1) * count)
            if batch.tops is not None:
                batch.fetch_to(batch.tops[0], tops)
            if execution.stores_moves:
                self._trace(batch, given, execution)
            batch.begin()
        self.peak_bytes = max(self.peak_bytes, buffers.bytes + memory.bytes)
        return batch

    def _tile_pairs(self, rows: Ints, columns: Ints, size: int, buffers: Buffers) -> Any:
        """A buffer with the pairs of a tile, which the device makes."""
        pairs, arrays = self._retained.get("pairs", size), {"rows": rows, "columns": columns}
        sent = {name: self._retained.sent(name, one, buffers) for name, one in arrays.items()}
        BoundKernel(self.runtime, TILE_PAIRS, {}).bind(
            **sent, row_count=len(rows), column_count=len(columns), pairs=pairs
        ).launch(min(TILE_GROUPS, -(-size // (16 * TILE_ITEMS))), TILE_ITEMS)
        return pairs

    def _floor(self, width: int) -> int:
        """What a score of 0 is in lanes of so many bits."""
        return local_floor(self.scoring, width) if self.local else 0

    def sweep(self, execution: InLanes, buffers: Buffers, given: dict[str, Any]) -> dict[str, Any]:
        """Enqueue a sweep; returns its arguments, some of which its traceback has, too.  ``given``:
        those of them that are known."""
        memory, sizes = self._retained, execution.buffers
        places, counter = self._codes, self._codes
        if execution.stores_moves:
            places = memory.sent("places", execution.groups.places, buffers)
        if self.vectors:  # work-groups count
            counter = memory.sent("counter", np.zeros(1, np.int32), buffers)
        most_m, most_n = execution.groups.longest
        given = given | {
            "count": execution.groups.pairs,
            "gap_open": self.scoring.gap_open,
            "gap_extend": self.scoring.gap_extend,
            "places": places,
            "moves": memory.get("moves", sizes["moves"]),
            "codes": self._codes,
            "groups": execution.groups.count,
            "counter": counter,
            "scratch_memory": memory.get("scratch", sizes["scratch"]),
            "scratch_size": execution.scratch_size,
            "most_m": most_m,
            "most_n": most_n,
            "floor": self._floor(execution.width),
        }
        score, narrow = execution.score, execution.width < WIDE and self.lanes.narrow
        spec = batch_spec(narrow or self.lanes.header, score, execution.tops, execution.boxes)
        sets = self.scoring.sets and execution.output == "counts"
        more = {"LINEAR": int(self.scoring.gap_open == 0), "SETS": int(sets)}
        kernel = BoundKernel(self.runtime, spec, execution.defines | more)
        kernel.bind(**given, **self._once(score, self.tables.arguments))
        kernel.launch(execution.workers, self.lanes.items)
        return given

    def _once(self, key: Any, make: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """The arguments that ``make(key)`` makes, with arrays on the device."""
        if key not in self._given:
            self._given[key] = {
                name: self._shared.of(value) if isinstance(value, np.ndarray) else value
                for name, value in make(key).items()
            }
        return self._given[key]

    def _trace(self, batch: Running, given: dict[str, Any], execution: InLanes) -> None:
        """Enqueue the traceback of all paths of a batch.  ``given``: arguments of its kernel."""
        count, sizes, width = execution.groups.pairs, execution.buffers, execution.width
        groups, runs = execution.groups, execution.output == "cigar"
        traced = batch.lend("traced", sizes["traced"])
        here = (batch.lend if runs and self.vectors else self._retained.get)("runs", sizes["runs"])
        given = given | {"runs": here, "traced": traced, "runs_at": self._codes}
        self.launch_traceback(given, width, {"WRITE_RUNS": int(runs)})
        batch.traced = batch.array("traced", (TRACED, count))
        batch.fetch_to(batch.traced, traced)
        if runs and self.vectors:
            view = batch.view(here, groups.run_words)
            batch.packed = partial(gather, view, groups.run_ends(), batch.traced[4])
        elif runs:
            offsets, packed = (batch.lend(name, sizes[name]) for name in ("offsets", "packed"))
            most = min(PACKING_GROUP, self.runtime.facts.most_items)
            group = 1 << most.bit_length() - 1
            given |= {"offsets": offsets, "packed": packed, "lanes": groups.lanes}
            for spec, some in ((COUNT_RUNS, 1), (PACK_RUNS, -(-count * MATES // group))):
                kernel = BoundKernel(self.runtime, spec, {"GROUP": group})
                kernel.bind(**{name: given[name] for name in spec.places}).launch(some, group)
            batch.packed = partial(batch.read, buffer=packed)

    def launch_traceback(self, given: dict[str, Any], width: int, defines: dict[str, int]) -> None:
        """Enqueue a traceback with what it needs of these arguments, and those of the scoring."""
        kept, lanes = bool(given.get("keep")), self.lanes
        defines = {
            "R": lanes.columns(width),
            "WIDTH": width,
            "LOCAL": int(self.local),
            "KEPT": int(kept),
            "POSITIONS": int(self.scoring.by_position),
            "SETS": int(self.scoring.sets),
            **defines,
        }
        if kept:
            defines["LANES_AN_ITEM"] = lanes.pairs(width) // lanes.items
        kernel = BoundKernel(self.runtime, TRACEBACK[kept], defines)
        given = given | self._once(kept, self.tables.traceback) | {"lanes": lanes.pairs(width)}
        kernel.bind(**{name: given[name] for name in kernel.spec.places})
        groups = min(-(-given["count"] // lanes.items), lanes.path_groups * self.workers)
        kernel.launch(groups, lanes.items)
