"""The batch engine: many pairs at once, one in each lane (docs/algorithm.md, Many pairs).

Method: inter-sequence vectorisation (Alpern, Carter & Gatlin 1995; Rognes 2011, SWIPE), here with
another query and another target in every lane.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import DeviceError
from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, KernelSpec
from ...planning.lane_sets import LANE_SETS
from ...scoring.scoring import Scoring
from ...sequences.alphabet import MAX_LETTERS, NO_CODE
from .bounds import LONGEST, local_floor
from .groups import Groups
from .kept import KeptCodes, KeptStore, LentCodes, RetainedMemory

Ints = NDArray[np.int32]

#: The kernel's WANT for each output: the score; where the path ends; its matches and columns,
#: counted forward; a traceback over stored moves, without ("traceback") or with a CIGAR; or the
#: ends of local paths, and how many rows and columns before them these begin at most (`vectors`).
WANTS = {"score": 0, "ends": 1, "counts": 2, "traceback": 1, "cigar": 1, "starts": 1}
#: Numbers of the sweep that are read for each output without moves, beside whether a letter is
#: wrong.
NUMBERS = {"score": 1, "ends": 3, "counts": 5, "starts": 5}
#: Numbers for each pair: of the sweep, of the traceback.
RESULTS, TRACED = 6, 6
#: The codes of query padding and target padding, with a matrix.
QUERY_PAD, TARGET_PAD = MAX_LETTERS, 2 * MAX_LETTERS

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
}
TRACEBACK = KernelSpec(
    "batch_traceback",
    ("base.clh", "batch/base.clh", "batch/batch_traceback.cl"),
    tuple(
        "text codes same matrix wide:int pairs count:int lanes:int gap_open:int gap_extend:int "
        "ends:int results places moves cigar_at cigars traced".split()
    ),
)


def batch_spec(header: str, score: str) -> KernelSpec:
    """The kernel for a header of lanes and a score file of cl/batch."""
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
    arguments = (*_BATCH.split(), *KEPT, *_SCORE[score].split())
    return KernelSpec("batch", files, arguments)


@dataclass(frozen=True)
class Tables:
    """A scoring in the form that the kernels take.  Letters with equal codes count as a match."""

    #: "compare" or "matrix".
    kind: str
    #: uint8: the codes of 256 query letters, then of 256 target letters.
    codes: NDArray[np.uint8]
    #: For "matrix": the scores [t, q] with those of padding (int32, 65 x 33).
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
        pair = scoring.match_mismatch
        letters = np.frombuffer(scoring.letters.encode(), np.uint8)
        query, target = scoring.query_encoding[letters], scoring.target_encoding[letters]
        query_ids, target_ids = (table[letters] for table in scoring.match_tables())
        same = query_ids[:, None] == target_ids[None, :]
        if pair is not None and pair[1] <= 0 and (same == (query[:, None] == target)).all():
            return cls("compare", codes, None, pair[1])
        own = np.arange(len(letters))
        other = np.where(same.any(axis=0), own, own + MAX_LETTERS)
        bad = min(0, scoring.lowest)
        matrix = np.full((TARGET_PAD + 1, QUERY_PAD + 1), bad, np.int32)
        matrix[other[:, None], own] = scoring.matrix[np.ix_(query, target)].T
        tables = scoring.table(own), scoring.table(other)
        return cls("matrix", np.concatenate(tables), matrix, bad)


def scratch_bytes(
    most_m: int,
    most_n: int,
    lanes: int,
    columns: int,
    width: int,
    score: str,
    want: int,
    starts: bool = False,
) -> int:
    """Bytes of a work-group's scratch memory: see `scratch_of` in cl/batch/scratch.clh."""
    item = width // 8
    index = 4  # bytes of a row or column number, at most
    profile = {
        "compare": 0,
        "table": 0,
        "profile": lanes * (MAX_LETTERS + 1) * 8,
        "lookup": columns * lanes * item,
    }
    rows = most_m * lanes * item * (6 if want == 2 else 2)
    size = rows + 2 * lanes * index + profile[score] + (most_m + most_n) * lanes
    size += (most_m + columns) * lanes if starts else 0
    return -(-size // 128) * 128


class Running:
    """A batch that is being computed; ``finish`` waits for it."""

    def __init__(self, runtime: Runtime, buffers: Buffers):
        self._runtime, self._buffers = runtime, buffers
        self._events: list[Any] = []

    def fetch(self, buffer: Any, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """An array that will hold the buffer's contents when `finish` has returned."""
        out = np.empty(shape, dtype)
        self.fetch_to(out, buffer)
        return out

    def fetch_to(self, out: NDArray[Any], buffer: Any, start: int = 0) -> None:
        """Fill ``out`` with the buffer's contents from byte ``start`` on; it holds them when
        `finish` has returned."""
        import pyopencl as cl

        if out.size:
            queue = self._runtime.queue
            copy = cl.enqueue_copy(queue, out, buffer, src_offset=start, is_blocking=False)
            self._events.append(copy)
            queue.flush()

    def finish(self) -> None:
        """Wait for the batch and free its memory; DeviceError if the device failed."""
        import pyopencl as cl

        try:
            cl.wait_for_events(self._events)
        except cl.Error as error:
            raise DeviceError(f"{self._runtime.info.name} failed: {error}") from None
        finally:
            self._buffers.free()


@dataclass
class Computed:
    """The results of a batch, after `Running.finish`; arrays are in the order of the pairs."""

    running: Running
    #: Numbers x pairs: score, query end, target end, matches, columns, or the first of these, and
    #: last whether there is a wrong letter.
    found: Ints
    #: With paths, TRACED x pairs: query start, target start, matches, columns, first byte of the
    #: CIGAR, score of the path.
    traced: Ints | None = None
    #: The text of all CIGARs.
    cigars: NDArray[np.uint8] | None = None
    #: The CIGAR of pair k ends at [k + 1].
    cigar_at: Ints | None = None
    #: The kept codes that it makes or uses.
    lent: LentCodes | None = None


class BatchEngine:
    """Aligns batches of pairs on one OpenCL device.

    ``lanes``: the name of a plan's lane set, which includes the lanes for pairs.  ``scoring``: a
    clamped one.  ``ends``: the free ends as bits (query: leading 1, trailing 2; target: leading 4,
    trailing 8).
    """

    name = "batch"

    def __init__(self, runtime: Runtime, lanes: str, scoring: Scoring, local: bool, ends: int):
        self.runtime, self.scoring = runtime, scoring
        self._lanes = LANE_SETS[lanes].pairs
        self.local, self.ends = local, ends
        self.tables = Tables.of(scoring)
        self._shared = Buffers(runtime)
        self._retained = RetainedMemory(runtime)
        self._codes = self._shared.of(self.tables.codes)
        #: Arguments of the traceback and matrices on the device, once they are needed.
        self._tracing: dict[str, Any] = {}
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

    def close(self) -> None:
        """Free the memory that batches share."""
        self._shared.free()
        self._retained.free()

    def pairs_a_group(self, width: int) -> int:
        """Pairs that a work-group computes together, one in each lane."""
        return self._lanes.pairs(width)

    def columns(self, width: int) -> int:
        """Target columns of a panel."""
        return self._lanes.columns(width)

    def _score(self, width: int) -> tuple[str, dict[str, Any]]:
        """The score file for a width and its arguments."""
        tables = self.tables
        if tables.matrix is None:
            pair = self.scoring.match_mismatch
            assert pair is not None
            return "compare", {"match": pair[0], "mismatch": pair[1]}
        small = tables.matrix.min() >= -128 and tables.matrix.max() <= 127
        score = self._lanes.bytes
        if score is not None and width < 32 and small:
            if score not in self._matrices:
                table = tables.matrix if score == "table" else tables.matrix[:, :MAX_LETTERS]
                self._matrices[score] = self._shared.of(np.ascontiguousarray(table, np.int8))
            given = {"matrix": self._matrices[score]}
            return score, given if score == "table" else {**given, "bad": tables.bad}
        if "lookup" not in self._matrices:
            self._matrices["lookup"] = self._shared.of(tables.matrix)
        return "lookup", {"matrix": self._matrices["lookup"]}

    def _scratch(self, size: int, groups: int) -> tuple[Any, int]:
        """Scratch memory of ``size`` bytes for each work-group, and how many work-groups run."""
        most = self.most_bytes // 4
        workers = max(1, min(self.workers, groups, most // size))
        return self._retained.get("scratch", workers * size), workers

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
    ) -> Computed:
        """Enqueue a batch.

        ``text`` holds the letters (ASCII).  ``pairs`` (n x 4) has each pair's first query letter,
        query length, first target letter and target length; pairs of similar lengths are
        neighbours.  ``groups``: of these pairs.  ``how`` is one of `WANTS`.  ``kept``: the codes of
        these pairs and others, and the first pair among them, which begins a group.  ``near``: does
        each pair end where its best path ends?
        """
        buffers = Buffers(self.runtime)
        try:
            return self._start(buffers, text, pairs, groups, width, how, kept, near)
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
    ) -> Computed:
        """See :meth:`start`; ``buffers`` hold the batch's own memory."""
        lanes, count = self.pairs_a_group(width), len(pairs)
        most_m, most_n = groups.longest
        score, score_arguments = self._score(width)
        want, moves, starts = WANTS[how], how in ("traceback", "cigar"), how == "starts"
        size = scratch_bytes(most_m, most_n, lanes, groups.columns, width, score, want, starts)
        scratch, workers = self._scratch(size, groups.count)
        kept_memory = self._retained
        places, moves_bytes = self._codes, 4
        if moves:
            rows, moves_bytes = groups.moves_places(lanes)
            places = kept_memory.sent("places", rows, buffers)
        defines = {
            "WANT": want,
            "LOCAL": int(self.local),
            "STORE_MOVES": int(moves),
            "R": groups.columns,
            "WIDTH": width,
            "LONG": int(width < 32 and max(most_m, most_n) > LONGEST),
        }
        if starts:
            defines["STARTS"] = 1
        kernel = BoundKernel(self.runtime, batch_spec(self._lanes.header_of(width), score), defines)
        lent = None
        if kept is not None:
            lent = kept[0].lend(kept[1] // lanes, groups.count)
        unread = lent is not None and lent.there and not moves
        if lent is not None and lent.all:
            sides = lent.of.pairs_buffer
        else:
            sides = kept_memory.sent("pairs", pairs, buffers)
        shared = {
            "text": self._codes if unread else kept_memory.letters(text, buffers),
            "pairs": sides,
            "count": count,
            "gap_open": self.scoring.gap_open,
            "gap_extend": self.scoring.gap_extend,
            "ends": self.ends,
            "results": kept_memory.get("results", 4 * RESULTS * count),
            "places": places,
            "moves": kept_memory.get("moves", moves_bytes),
        }
        kernel.bind(
            codes=self._codes,
            groups=groups.count,
            counter=self._counter(buffers),
            scratch_memory=scratch,
            scratch_size=size,
            most_m=most_m,
            most_n=most_n,
            floor=local_floor(self.scoring, width) if self.local else 0,
            near=max(0, self.scoring.highest) if near and self.scoring.gap_extend else 0,
            **self._kept_arguments(buffers, lent),
            **shared,
            **score_arguments,
        ).launch(workers, self._lanes.items)
        if moves:
            batch = self._trace(buffers, shared, pairs, width, how == "cigar")
        else:
            running = Running(self.runtime, buffers)
            found = np.empty((NUMBERS[how] + 1, count), np.int32)
            running.fetch_to(found[:-1], shared["results"])
            if unread:  # these letters were looked at before
                found[-1] = 0
            else:
                running.fetch_to(found[-1], shared["results"], 4 * (RESULTS - 1) * count)
            batch = Computed(running, found)
        batch.lent = lent
        return batch

    def _counter(self, buffers: Buffers) -> Any:
        """What the kernel's ``counter`` is: 0, where work-groups count."""
        if not self.vectors:
            return self._codes
        return self._retained.sent("counter", np.zeros(1, np.int32), buffers)

    def _kept_arguments(self, buffers: Buffers, lent: LentCodes | None) -> dict[str, Any]:
        """The arguments `KEPT`."""
        if lent is None:
            return {"keep": 0, "kept": self._codes, "kept_at": self._codes}
        places = lent.of.places_buffer
        if not lent.all:
            places = self._retained.sent("kept places", lent.places, buffers)
        return {"keep": 2 if lent.there else 1, "kept": lent.of.buffer, "kept_at": places}

    def _trace(
        self, buffers: Buffers, shared: dict[str, Any], pairs: Ints, width: int, text: bool
    ) -> Computed:
        """Enqueue the traceback of all paths of a batch; ``text``: with CIGARs."""
        count = len(pairs)
        cigar_at = np.zeros(count + 1, np.int32)
        if text:
            np.cumsum(2 * (pairs[:, 1] + pairs[:, 3]), out=cigar_at[1:])
        defines = {"LOCAL": int(self.local), "WIDTH": width, "WRITE_CIGARS": int(text)}
        traced, cigars = self._launch_traceback(buffers, shared, width, cigar_at, defines)
        running = Running(self.runtime, buffers)
        results = running.fetch(shared["results"], (RESULTS, count), np.int32)
        found = running.fetch(traced, (TRACED, count), np.int32)
        if not text:
            return Computed(running, results, found)
        letters = running.fetch(cigars, (int(cigar_at[-1]),), np.uint8)
        return Computed(running, results, found, letters, cigar_at)

    def _launch_traceback(
        self,
        buffers: Buffers,
        shared: dict[str, Any],
        width: int,
        cigar_at: Ints,
        defines: dict[str, int],
    ) -> tuple[Any, Any]:
        """Enqueue a traceback; returns the buffers of what it finds and of the CIGARs.

        ``cigar_at``: where the place of each CIGAR begins, and where the last one ends."""
        scoring, count = self.scoring, len(cigar_at) - 1
        if not self._tracing:
            codes = np.concatenate([scoring.query_encoding, scoring.target_encoding])
            self._tracing = {
                "codes": self._shared.of(np.where(codes == NO_CODE, 0, codes).astype(np.uint8)),
                "same": self._shared.of(np.concatenate(scoring.match_tables())),
                "matrix": self._shared.of(scoring.matrix),
                "wide": scoring.matrix.shape[1],
            }
        cigars = self._retained.get("cigars", int(cigar_at[-1]))
        traced = self._retained.get("traced", 4 * TRACED * count)
        kernel = BoundKernel(self.runtime, TRACEBACK, {"R": self.columns(width), **defines})
        kernel.bind(**shared, **self._tracing)
        kernel.bind(cigar_at=buffers.of(cigar_at), cigars=cigars, traced=traced)
        kernel.bind(lanes=self.pairs_a_group(width))
        group, most = self._lanes.items, self._lanes.path_groups * self.workers
        kernel.launch(min(-(-count // group), most), group)
        return traced, cigars
