"""The batch engine: many pairs at once, one in each lane (docs/algorithm.md, Many pairs).

Method: inter-sequence vectorisation (Alpern, Carter & Gatlin 1995; Rognes 2011, SWIPE), here with
another query and another target in every lane.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, KernelSpec
from ...planning.lane_sets import LANE_SETS
from ...planning.pair_batch import FEW_LETTERS, RESULTS, TRACED, Groups, InLanes
from ...scoring.free_ends import FreeEnd
from ...scoring.precision import UNREACHABLE
from ...scoring.scoring import Scoring
from ...sequences.alphabet import MAX_LETTERS, NO_CODE
from .bounds import local_floor
from .kept import KeptCodes, KeptStore, LentCodes, RetainedMemory

Ints = NDArray[np.int32]

#: For row 0 and for column 0: which end must be free to get there for nothing, and to end there.
OUTSIDE = (
    (0, FreeEnd.LEAD_QUERY, FreeEnd.TRAIL_TARGET),
    (1, FreeEnd.LEAD_TARGET, FreeEnd.TRAIL_QUERY),
)
#: Numbers of the sweep that are read for each output, beside whether a letter is wrong.
NUMBERS = {"score": 1, "ends": 3, "counts": 5, "starts": 5, "traceback": 3, "cigar": 3}
#: The queue of a thread's runtime on which results are read while kernels run.
READING = 0

_BATCH = (
    "text codes pairs count:int groups:int counter scratch_memory scratch_size:int "
    "most_m:int most_n:int gap_open:int gap_extend:int floor:int ends:int results places moves"
)
#: What boxes do not have: codes that are kept, and paths near their ends.
KEPT = ("keep:int", "kept", "kept_at", "near:int")
_SCORE = {
    "compare": "match:int mismatch:int",
    "profile": "matrix bad:int",
    "table": "matrix",
    "lookup": "matrix",
    "positions": "matrix",
    "position_words": "matrix",
}


def _traceback_spec(letters: str) -> KernelSpec:
    """The traceback, which reads letters from these arguments."""
    arguments = (
        f"{letters} matrix wide:int pairs count:int lanes:int gap_open:int gap_extend:int ends:int "
        "results places moves runs_at runs traced"
    )
    files = ("base.clh", "batch/base.clh", "batch/batch_traceback.cl")
    return KernelSpec("batch_traceback", files, tuple(arguments.split()))


TRACEBACK = _traceback_spec("text codes same")
TRACEBACK_KEPT = _traceback_spec("kept kept_at")
#: The most work-items of a group of the next kernels, and those that copy the runs of a path.
PACKING_GROUP, MATES = 1024, 8
COUNT_RUNS, PACK_RUNS = (
    KernelSpec(name, ("base.clh", "batch/pack_runs.cl"), tuple(arguments.split()))
    for name, arguments in (
        ("count_runs", "traced count:int offsets"),
        ("pack_runs", "places count:int lanes:int offsets runs packed"),
    )
)


def batch_spec(header: str, score: str, tops: bool = False) -> KernelSpec:
    """The kernel for a header of lanes and a score file of cl/batch; ``tops``: with `Tops`."""
    files = (
        "base.clh",
        "batch/base.clh",
        header,
        "recurrence.clh",
        f"batch/{score}.clh",
        "batch/scratch.clh",
        "batch/encode.clh",
        "batch/endpoint.clh",
        "batch/starts.clh",
        "batch/batch.cl",
    )
    arguments = (*_BATCH.split(), *KEPT, *("tops", "tops_at") * tops, *_SCORE[score].split())
    return KernelSpec("batch", files, arguments)


@dataclass(frozen=True)
class Tables:
    """A scoring in the form that the kernels take.  Letters with equal codes count as a match."""

    #: "compare", "matrix" or "positions" (of one position matrix, the query of all pairs).
    kind: str
    #: uint8: the codes of 256 query letters, then of 256 target letters.
    codes: NDArray[np.uint8]
    #: For "matrix": the most codes; that number is padding of queries, and twice that of targets.
    letters: int
    #: For "matrix": the scores [t, q] with those of padding (int32).  For "positions": [q, t].
    matrix: Ints | None
    #: The score of padding.
    bad: int

    @classmethod
    def of(cls, scoring: Scoring) -> Tables:
        """The tables of a clamped scoring.

        "compare" suffices if the mismatch is not positive (padding mismatches) and exactly the
        letters with equal codes match.  Otherwise each letter has a code of its own, and a letter
        that matches nothing has another code on the target side.
        """
        codes = np.concatenate([scoring.query_encoding, scoring.target_encoding])
        bad = min(0, scoring.lowest)
        if scoring.by_position:
            codes[:256] = 0  # whatever letters the positions have
            matrix = np.full((len(scoring.matrix), FEW_LETTERS), bad, np.int32)
            matrix[:, : len(scoring.letters)] = scoring.matrix
            return cls("positions", codes, FEW_LETTERS, matrix, bad)
        pair = scoring.source.compared()
        letters = np.frombuffer(scoring.letters.encode(), np.uint8)
        query, target = scoring.query_encoding[letters], scoring.target_encoding[letters]
        query_ids, target_ids = (table[letters] for table in scoring.match_tables)
        same = query_ids[:, None] == target_ids[None, :]
        if pair is not None and (same == (query[:, None] == target)).all():
            return cls("compare", codes, FEW_LETTERS, None, pair[1])
        most = FEW_LETTERS if len(letters) <= FEW_LETTERS else MAX_LETTERS
        own = np.arange(len(letters))
        other = np.where(same.any(axis=0), own, own + most)
        matrix = np.full((2 * most + 1, most + 1), bad, np.int32)
        matrix[other[:, None], own] = scoring.matrix[np.ix_(query, target)].T
        tables = scoring.table(own), scoring.table(other)
        return cls("matrix", np.concatenate(tables), most, matrix, bad)


class Running:
    """A batch that is being computed; ``finish`` waits for it.

    ``at_once``: copies to the host are enqueued behind the kernels.  Else they wait for
    `finish`, and go beside the kernels of the next batch."""

    def __init__(
        self,
        runtime: Runtime,
        buffers: Buffers,
        memory: RetainedMemory,
        lent: dict[str, Any],
        at_once: bool,
    ) -> None:
        self._runtime, self._buffers, self._memory, self._lent = runtime, buffers, memory, lent
        self._events: list[Any] = []
        self._later: list[tuple[NDArray[Any], Any, int]] | None = None if at_once else []

    def array(self, name: str, shape: tuple[int, ...]) -> Ints:
        """An array for what is fetched: it is the batch's until the next one is finished."""
        return np.empty(shape, np.int32) if self._later is None else self._memory.host(name, shape)

    def fetch_to(self, out: NDArray[Any], buffer: Any, start: int = 0) -> None:
        """Fill ``out`` with the buffer's contents from byte ``start`` on; it holds them when
        `finish` has returned."""
        import pyopencl as cl

        if self._later is not None:
            self._later.append((out, buffer, start))
        elif out.size:
            queue = self._runtime.queue
            copy = cl.enqueue_copy(queue, out, buffer, src_offset=start, is_blocking=False)
            self._events.append(copy)

    def view(self, buffer: Any, count: int) -> NDArray[np.uint32]:
        """The first ``count`` words of a buffer in the host's memory, from `finish` to `free`."""
        import pyopencl as cl

        kind: Any = np.uint32
        queue, reading = self._runtime.queue, cl.map_flags.READ
        mapped: Any = cl.enqueue_map_buffer(
            queue, buffer, reading, 0, (count,), kind, is_blocking=False
        )
        self._events.append(mapped[1])
        words: NDArray[np.uint32] = mapped[0]
        return words

    def begin(self) -> None:
        """All commands are enqueued; the device begins."""
        import pyopencl as cl

        if self._later is not None:
            self._events.append(cl.enqueue_marker(self._runtime.queue))
        self._runtime.queue.flush()

    def finish(self) -> None:
        """Wait for the batch; DeviceError if the device failed."""
        import pyopencl as cl

        with self._runtime.failing:
            cl.wait_for_events(self._events)
            for out, buffer, start in self._later or ():
                self.read(out, buffer, start)

    def read(self, out: NDArray[Any], buffer: Any, start: int = 0) -> None:
        """Fill ``out`` now, beside what the device computes."""
        import pyopencl as cl

        if out.size:
            queue = self._runtime.beside(READING).queue
            cl.enqueue_copy(queue, out, buffer, src_offset=start, is_blocking=True)

    def free(self) -> None:
        """Free the batch's memory."""
        self._memory.take_back(self._lent)
        self._lent = {}
        self._buffers.free()


@dataclass(frozen=True)
class Tops:
    """The highest score of an end in each row and each column of the pairs of a batch."""

    #: A line of lanes for each row and column, and the first ones of each group (n x 2).
    lines: NDArray[np.signedinteger]
    firsts: NDArray[np.int64]
    #: What a score of 0 is.
    floor: int


@dataclass
class Computed:
    """The results of a batch, after `finish`; arrays are in the order of the pairs."""

    running: Running
    #: Numbers x pairs: score, query end, target end, matches, columns, or the first of these, and
    #: last whether there is a wrong letter.
    found: Ints
    #: With paths, TRACED x pairs: query start, target start, matches, columns, runs, score of the
    #: path.
    traced: Ints | None = None
    #: The runs of all paths in turn, as BAM has them, in the room that was given for them.
    runs: NDArray[np.uint32] | None = None
    #: The kept codes that it makes or uses.
    lent: LentCodes | None = None
    #: Were the letters looked at?  Else none is wrong, and the last row of ``found`` is not set.
    looked_at: bool = True
    tops: Tops | None = None
    #: Writes `runs`.
    _packed: Callable[[NDArray[np.uint32]], None] | None = None

    def finish(self, room: Callable[[int], NDArray[np.uint32]] | None = None) -> None:
        """Wait for the batch and free its memory; DeviceError if the device failed.  ``room(n)``
        gives an array for the n words of all runs, which are not read without it."""
        try:
            self.running.finish()
            if self._packed is not None and self.traced is not None and room is not None:
                self.runs = room(int(self.traced[4].sum(dtype=np.int64)))
                self._packed(self.runs)
        finally:
            self._packed = None
            self.running.free()


class BatchEngine:
    """Aligns batches of pairs on one OpenCL device.

    ``lanes``: the name of a plan's lane set, which includes the lanes for pairs.  ``scoring``: a
    clamped one.  ``ends``: the free ends as bits (`FreeEnd`).
    """

    name = "batch"

    def __init__(self, runtime: Runtime, lanes: str, scoring: Scoring, local: bool, ends: int):
        self.runtime, self.scoring = runtime, scoring
        self._lanes = LANE_SETS[lanes].pairs
        self.local, self.ends = local, ends
        self.tables = Tables.of(scoring)
        self._shared = Buffers(runtime)
        self._retained = RetainedMemory(runtime)
        #: Of the pairs whose memory that is; None: it is the engine's own.
        self._store: KeptStore | None = None
        self._most_kept = 0
        self._codes = self._shared.of(self.tables.codes)
        #: Arguments of the traceback (of kept codes?) and matrices on the device, once they are
        #: needed.
        self._tracing: dict[bool, dict[str, Any]] = {}
        self._matrices: dict[str, Any] = {}
        #: The largest buffer in bytes, and all of the device's memory.
        self.most_bytes = int(runtime.device.max_mem_alloc_size)
        self.memory_bytes = int(runtime.device.global_mem_size)
        self.workers = self._lanes.groups * runtime.info.compute_units
        self.peak_bytes = 0

    @property
    def lanes(self) -> str:
        """The name of the lanes, for statistics."""
        return self._lanes.name

    @property
    def widths(self) -> tuple[int, ...]:
        """The widths of the lanes."""
        return self._lanes.widths

    @property
    def vectors(self) -> bool:
        """Is a work-group one thread with all lanes in a vector?"""
        return self._lanes.items == 1

    def use(self, store: KeptStore, most: int) -> None:
        """The next batches are of the prepared pairs of ``store``, which keeps the memory that they
        use, if that is at most ``most`` bytes."""
        if self._store is not store:
            self._give_back()
            self._store, self._most_kept = store, most
            self._retained = store.take_memory(self.runtime) or self._retained

    def _give_back(self) -> None:
        memory, store = self._retained, self._store
        if store is not None:
            store.keep_memory(self.runtime, memory, self._most_kept)
            self._retained, self._store = RetainedMemory(self.runtime), None

    def close(self) -> None:
        """Free the memory that batches share."""
        self._give_back()
        self._shared.free()
        self._retained.free()

    def outside(self, tops: Tops, k: int, pair: Ints, start: Ints, end: Ints) -> int:
        """The highest score of an end of pair k of a batch that is outside the rectangle from
        ``start`` to ``end`` (row, column)."""
        group, lane = divmod(k, tops.lines.shape[1])
        best, scoring = 0 if self.local else UNREACHABLE, self.scoring
        for side, lead, trail in OUTSIDE:
            length, i, j = int(pair[2 * side + 1]), int(start[side]), int(end[side])
            at = int(tops.firsts[group, side])
            for first, last in ((at, at + i), (at + j, at + length)):
                if first < last:
                    best = max(best, int(tops.lines[first:last, lane].max()) - tops.floor)
            if self.ends & trail:
                gap = scoring.gap_open + scoring.gap_extend * int(pair[3 - 2 * side])
                best = max(best, 0 if self.ends & lead else -gap)
        return best

    def pairs_a_group(self, width: int) -> int:
        """Pairs that a work-group computes together, one in each lane."""
        return self._lanes.pairs(width)

    def columns(self, width: int) -> int:
        """Target columns of a panel."""
        return self._lanes.columns(width)

    def _score_file(self, width: int) -> str:
        """The score file for a width."""
        matrix = self.tables.matrix
        if self.tables.kind == "positions" and width < 32 and self._lanes.items > 1:
            return "position_words"
        if matrix is None or self.tables.kind == "positions":
            return self.tables.kind
        small = width < 32 and matrix.min() >= -128 and matrix.max() <= 127
        return (small and self._lanes.bytes) or "lookup"

    def _score_arguments(self, score: str) -> dict[str, Any]:
        """The arguments of a score file."""
        tables = self.tables
        if tables.matrix is None:
            pair = self.scoring.source.compared()
            assert pair is not None
            return {"match": pair[0], "mismatch": pair[1]}
        if score not in self._matrices:
            matrix = tables.matrix[:, : tables.letters] if score == "profile" else tables.matrix
            if score == "position_words":  # four rows a word
                rows = np.pad(matrix, ((0, -len(matrix) % 4), (0, 0)))
                matrix = rows.reshape(-1, 4, matrix.shape[1]).swapaxes(1, 2)
            kind = np.int32 if score == "lookup" else np.int8
            self._matrices[score] = self._shared.of(np.ascontiguousarray(matrix, kind))
        given = {"matrix": self._matrices[score]}
        return {**given, "bad": tables.bad} if score == "profile" else given

    def execution(
        self,
        groups: Groups,
        count: int,
        width: int,
        how: str,
        tops: bool = False,
        boxes: bool = False,
    ) -> InLanes:
        """How ``count`` pairs in these groups are computed."""
        lanes, score, letters = self._lanes, self._score_file(width), self.tables.letters
        device, local = self.runtime.facts, self.local
        return InLanes(lanes, width, score, letters, how, local, count, groups, device, tops, boxes)

    def kept_codes(
        self,
        store: KeptStore,
        text: NDArray[np.uint8],
        pairs: Ints,
        groups: Groups,
        width: int,
        most: int,
    ) -> KeptCodes | None:
        """The codes of pairs (see :meth:`start`) in the layout of a width's lanes, which ``store``
        keeps from call to call; None if it cannot, or if it kept more than ``most`` bytes."""
        lanes = self.pairs_a_group(width)
        sizes = (groups.rows.astype(np.int64) + groups.panels * groups.columns) * lanes
        key = (self.runtime.context, self.tables.codes.tobytes(), lanes, id(text), len(pairs))
        return store.get(self.runtime, key, text, pairs, sizes, most)

    def start(
        self,
        text: NDArray[np.uint8],
        pairs: Ints,
        groups: Groups,
        width: int,
        how: str,
        kept: tuple[KeptCodes, int] | None = None,
        near: bool = False,
        tops: bool = False,
    ) -> Computed:
        """Enqueue a batch.

        ``text`` holds the letters (ASCII).  ``pairs`` (n x 4) has each pair's first query letter,
        query length, first target letter and target length; pairs of similar lengths are
        neighbours.  ``groups``: of these pairs.  ``how``: one of `pair_batch.WANTS`.  ``kept``: the
        codes of these pairs and others, and the first pair among them, which begins a group.
        ``near``: does each pair end where its best path ends?  ``tops``: are these wanted (not of
        "score")?
        """
        buffers = Buffers(self.runtime)
        try:
            return self._start(buffers, text, pairs, groups, width, how, kept, near, tops)
        except BaseException:
            buffers.free()
            raise
        finally:
            self.peak_bytes = max(self.peak_bytes, buffers.bytes + self._retained.bytes)

    def _start(
        self,
        buffers: Buffers,
        text: NDArray[np.uint8],
        pairs: Ints,
        groups: Groups,
        width: int,
        how: str,
        kept: tuple[KeptCodes, int] | None,
        near: bool,
        tops: bool,
    ) -> Computed:
        """See :meth:`start`; ``buffers`` hold the batch's own memory."""
        execution = self.execution(groups, len(pairs), width, how, tops=tops)
        lanes, sizes, where = self.pairs_a_group(width), execution.sizes, execution.places
        memory, extremes, lent = self._retained, None, None
        if kept is not None:
            lent = kept[0].lend(kept[1] // lanes, groups.count)
        unread = lent is not None and lent.there
        if lent is not None and lent.all:
            sides = lent.of.pairs_buffer
        else:
            sides = memory.sent("pairs", pairs, buffers)
        on_loan = {"results": memory.lend("results", sizes["results"])}
        running = Running(self.runtime, buffers, memory, on_loan, self.vectors)
        shared: dict[str, Any] = {
            "text": self._codes if unread else memory.letters(text, buffers),
            "pairs": sides,
            "ends": self.ends,
            "results": on_loan["results"],
        }
        coded = self._kept_arguments(buffers, lent)
        if tops:
            ends = np.cumsum(groups.sides).reshape(-1, 2)
            lines = np.empty((execution.top_lines, lanes), f"i{width // 8}")
            on_loan["tops"] = memory.lend("tops", sizes["tops"])
            extremes = Tops(lines, ends - groups.sides, self._floor(width))
            coded |= {"tops": on_loan["tops"], "tops_at": buffers.of(extremes.firsts)}
        spec = batch_spec(self._lanes.header_of(width), execution.score, tops)
        coded["near"] = max(0, self.scoring.highest) if near and self.scoring.gap_extend else 0
        shared = self._sweep(execution, spec, buffers, shared, coded)
        found = running.array("found", (NUMBERS[how] + 1, len(pairs)))
        running.fetch_to(found[:-1], shared["results"])
        if not unread:  # else these letters were looked at before
            running.fetch_to(found[-1], shared["results"], 4 * (RESULTS - 1) * len(pairs))
        if extremes is not None:
            running.fetch_to(extremes.lines, on_loan["tops"])
        batch = Computed(running, found, lent=lent, looked_at=not unread, tops=extremes)
        if where is not None:
            if lent is not None:
                shared |= {"kept": coded["kept"], "kept_at": coded["kept_at"]}
            self._trace(batch, shared, on_loan, execution)
        running.begin()
        return batch

    def _floor(self, width: int) -> int:
        """What a score of 0 is in lanes of so many bits."""
        return local_floor(self.scoring, width) if self.local else 0

    def _sweep(
        self,
        execution: InLanes,
        spec: KernelSpec,
        buffers: Buffers,
        shared: dict[str, Any],
        own: dict[str, Any],
    ) -> dict[str, Any]:
        """Enqueue a sweep; returns the arguments that its traceback has, too.  ``shared``: those
        of them that are known; ``own``: arguments that the traceback does not have."""
        memory, sizes, where = self._retained, execution.sizes, execution.places
        places, counter = self._codes, self._codes
        if where is not None:
            places = memory.sent("places", where.at, buffers)
        if self.vectors:  # work-groups count
            counter = memory.sent("counter", np.zeros(1, np.int32), buffers)
        shared = shared | {
            "count": execution.count,
            "gap_open": self.scoring.gap_open,
            "gap_extend": self.scoring.gap_extend,
            "places": places,
            "moves": memory.get("moves", sizes["moves"]),
        }
        most_m, most_n = execution.groups.longest
        kernel = BoundKernel(self.runtime, spec, execution.defines)
        kernel.bind(
            codes=self._codes,
            groups=execution.groups.count,
            counter=counter,
            scratch_memory=memory.get("scratch", sizes["scratch"]),
            scratch_size=execution.scratch_size,
            most_m=most_m,
            most_n=most_n,
            floor=self._floor(execution.width),
            **own,
            **shared,
            **self._score_arguments(execution.score),
        ).launch(execution.workers, self._lanes.items)
        return shared

    def _kept_arguments(self, buffers: Buffers, lent: LentCodes | None) -> dict[str, Any]:
        """The arguments `KEPT`."""
        if lent is None:
            return {"keep": 0, "kept": self._codes, "kept_at": self._codes}
        places = lent.of.places_buffer
        if not lent.all:
            places = self._retained.sent("kept places", lent.places, buffers)
        return {"keep": 2 if lent.there else 1, "kept": lent.of.buffer, "kept_at": places}

    def _trace(
        self,
        batch: Computed,
        shared: dict[str, Any],
        on_loan: dict[str, Any],
        execution: InLanes,
    ) -> None:
        """Enqueue the traceback of all paths of a batch.

        ``shared``: arguments of its kernel.  ``on_loan``: buffers that the batch gives back."""
        memory, running, count = self._retained, batch.running, execution.count
        sizes, width, where = execution.sizes, execution.width, execution.places
        lanes, runs = self.pairs_a_group(width), execution.output == "cigar"
        assert where is not None
        on_loan["traced"] = memory.lend("traced", sizes["traced"])
        if runs and self.vectors:
            here = on_loan["runs"] = memory.lend("runs", sizes["runs"])
        else:
            here = memory.get("runs", sizes["runs"])
        self._launch_traceback(
            {**shared, "runs": here, "traced": on_loan["traced"], "runs_at": self._codes},
            width,
            {"LOCAL": int(self.local), "WRITE_RUNS": int(runs)},
        )
        traced = batch.traced = running.array("traced", (TRACED, count))
        running.fetch_to(traced, on_loan["traced"])
        if runs and self.vectors:
            view = running.view(here, where.run_words)
            batch._packed = partial(_gather, view, where.of_pairs(count, lanes), traced[4])
        elif runs:
            offsets = on_loan["offsets"] = memory.lend("offsets", sizes["offsets"])
            packed = on_loan["packed"] = memory.lend("packed", sizes["packed"])
            most = min(PACKING_GROUP, int(self.runtime.device.max_work_group_size))
            group = 1 << most.bit_length() - 1
            defines, given = {"GROUP": group}, {"count": count, "offsets": offsets}
            counting = BoundKernel(self.runtime, COUNT_RUNS, defines)
            counting.bind(traced=on_loan["traced"], **given).launch(1, group)
            packing = BoundKernel(self.runtime, PACK_RUNS, defines)
            packing.bind(places=shared["places"], lanes=lanes, runs=here, packed=packed, **given)
            packing.launch(-(-count * MATES // group), group)
            batch._packed = partial(running.read, buffer=packed)

    def _launch_traceback(
        self, arguments: dict[str, Any], width: int, defines: dict[str, int]
    ) -> None:
        """Enqueue a traceback with these arguments, but for those of the scoring."""
        kept = "kept" in arguments
        if kept not in self._tracing:
            self._tracing[kept] = self._kept_scores() if kept else self._letter_scores()
        defines = {"R": self.columns(width), "WIDTH": width, "KEPT": int(kept), **defines}
        if self.scoring.by_position:
            defines["POSITIONS"] = 1
        if kept:
            defines["LANES_AN_ITEM"] = self.pairs_a_group(width) // self._lanes.items
            arguments = {name: value for name, value in arguments.items() if name != "text"}
        kernel = BoundKernel(self.runtime, TRACEBACK_KEPT if kept else TRACEBACK, defines)
        kernel.bind(**arguments, **self._tracing[kept], lanes=self.pairs_a_group(width))
        group, most = self._lanes.items, self._lanes.path_groups * self.workers
        kernel.launch(min(-(-arguments["count"] // group), most), group)

    def _letter_scores(self) -> dict[str, Any]:
        """The arguments of a traceback with which letters become scores."""
        scoring = self.scoring
        codes = np.concatenate([scoring.query_encoding, scoring.target_encoding])
        return {
            "codes": self._shared.of(np.where(codes == NO_CODE, 0, codes).astype(np.uint8)),
            "same": self._shared.of(np.concatenate(scoring.match_tables)),
            "matrix": self._shared.of(scoring.matrix),
            "wide": scoring.matrix.shape[1],
        }

    def _kept_scores(self) -> dict[str, Any]:
        """The same for the codes of `Tables`."""
        matrix, wide = self.tables.matrix, self.tables.letters + 1
        if matrix is None:
            pair = self.scoring.source.compared()
            assert pair is not None
            matrix, wide = np.array(pair[::-1], np.int32), 0
        return {"matrix": self._shared.of(matrix), "wide": wide}


def _gather(
    view: NDArray[np.uint32], ends: NDArray[np.int64], counts: Ints, out: NDArray[np.uint32]
) -> None:
    """Write the words that end at ``ends``, so many of each, and give ``view`` back."""
    places = np.arange(len(out))
    places += np.repeat(ends - counts.cumsum(dtype=np.int64), counts)
    view.take(places, out=out, mode="clip")
    view.base.release()  # type: ignore[union-attr]
