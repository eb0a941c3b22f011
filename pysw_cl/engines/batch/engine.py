"""The batch engine: many pairs at once, one a lane (docs/algorithm.md, Many pairs).

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
from ...sequences.alphabet import MAX_LETTERS, NO_CODE, encoding_table
from .bounds import local_floor

Ints = NDArray[np.int32]

#: Target columns of a block; the profile of `batch/profile.clh` is made for 8.
COLUMNS = 8
#: Bits of the vectors that CPUs have lanes in.
VECTOR_BITS = 512
#: What is found, as the kernel's WANT: the score; where it ends; matches and columns of the path
#: counted forward; or stored moves, which are walked, without or with a CIGAR.
WANTS = {"score": 0, "ends": 1, "counts": 2, "walk": 1, "cigar": 1}
#: Ints a pair that the kernels give.
RESULTS, TRACED = 6, 6
#: A query code and a target code that only padding has, with tables.
QUERY_PAD, TARGET_PAD = MAX_LETTERS, 2 * MAX_LETTERS

_BATCH = (
    "text codes pairs count:int groups:int counter scratch_memory scratch_size:int "
    "most_m:int most_n:int gap_open:int gap_extend:int floor:int ends:int results places moves"
)
_SCORE = {"compare": "match:int mismatch:int", "profile": "matrix bad:int", "lookup": "matrix"}
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
        "batch/endpoint.clh",
        "batch/batch.cl",
    )
    return KernelSpec("batch", files, tuple(f"{_BATCH} {_SCORE[score]}".split()))


@dataclass(frozen=True)
class Tables:
    """A scoring as the kernels take it: how they score ("compare" or "matrix"), the codes (uint8,
    256 of query letters, then 256 of target letters) and, for a matrix, ``matrix[t, q]`` (int32,
    65 x 33) with what padding scores.  Equal codes are letters that count as a match."""

    kind: str
    codes: NDArray[np.uint8]
    matrix: Ints | None
    bad: int

    @classmethod
    def of(cls, scoring: Scoring) -> Tables:
        """The tables of a clamped scoring.

        Compare-and-select is enough where padding, which mismatches, never gains, and letters that
        are equal also score as such.  Otherwise letters keep codes of their own, and those that
        match nothing get others on the target side.
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
        tables = encoding_table(scoring.letters, own), encoding_table(scoring.letters, other)
        return cls("matrix", np.concatenate(tables), matrix, bad)


def room_bytes(most_m: int, most_n: int, lanes: int, width: int, score: str, want: int) -> int:
    """Bytes of a work-group's memory; `scratch_of` of cl/batch/scratch.clh lays it out."""
    el = 1 if width == 8 else width // 8
    index = 4 if width == 32 else 2
    profile = {
        "compare": 0,
        "profile": lanes * (MAX_LETTERS + 1) * 8,
        "lookup": COLUMNS * lanes * el,
    }
    rows = most_m * lanes * el * (6 if want == 2 else 2)
    size = rows + 2 * lanes * index + profile[score] + (most_m + most_n) * lanes
    return -(-size // 128) * 128


class Running:
    """A batch under way; ``finish`` waits for it."""

    def __init__(self, runtime: Runtime, buffers: Buffers):
        self._runtime, self._buffers = runtime, buffers
        self._events: list[Any] = []

    def fetch(self, buffer: Any, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """An array that holds what the buffer holds then, once `finish` has returned."""
        import pyopencl as cl

        out = np.empty(shape, dtype)
        if out.size:
            queue = self._runtime.queue
            self._events.append(cl.enqueue_copy(queue, out, buffer, is_blocking=False))
            queue.flush()
        return out

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
class Batch:
    """Results of a batch (after `Running.finish`), each array in the order of its pairs.

    ``found``: RESULTS x pairs (score, query end, target end, matches, columns, wrong letter);
    with paths ``traced``: WALKED x pairs (query start, target start, matches, columns, first byte
    of the CIGAR, score added up); a CIGAR in ``cigars`` ends at ``cigar_at[k + 1]``."""

    running: Running
    found: Ints
    traced: Ints | None = None
    cigars: NDArray[np.uint8] | None = None
    cigar_at: Ints | None = None


class BatchEngine:
    """Aligns batches of pairs on one OpenCL device.

    ``lanes`` is a plan's (what pairs are computed in is a part of its lane set), ``scoring``
    clamped, ``ends`` the free ends as bits (leading, trailing of the
    query: 1, 2, of the target: 4, 8).
    """

    name = "batch"

    def __init__(self, runtime: Runtime, lanes: str, scoring: Scoring, local: bool, ends: int):
        self.runtime, self.scoring = runtime, scoring
        self._lanes = LANE_SETS[lanes].pairs
        #: What cells are counted under.
        self.lanes = self._lanes.name
        #: The widths that the lanes have.
        self.widths = self._lanes.widths
        #: Is a work-group one thread, which has all lanes in a vector?
        self.vectors = self._lanes.items == 1
        self.local, self.ends = local, ends
        self.tables = Tables.of(scoring)
        self._shared = Buffers(runtime)
        self._held: dict[str, Buffers] = {}
        self._memory: dict[str, Any] = {}
        self._text: NDArray[np.uint8] | None = None
        self._codes = self._shared.of(self.tables.codes)
        self._tracing: dict[str, Any] = {}
        self._matrices: dict[str, Any] = {}
        #: Bytes of memory in one piece.
        self.most_bytes = int(runtime.device.max_mem_alloc_size)
        self.workers = self._lanes.groups * runtime.info.compute_units
        self.peak_bytes = 0

    def close(self) -> None:
        """Free what all batches share."""
        self._shared.free()
        for held in self._held.values():
            held.free()

    def pairs_a_group(self, width: int) -> int:
        """Lanes that go together."""
        return self._lanes.pairs or VECTOR_BITS // width

    def _score(self, width: int) -> tuple[str, dict[str, Any]]:
        """The score file for a width and its arguments."""
        tables = self.tables
        if tables.matrix is None:
            pair = self.scoring.match_mismatch
            assert pair is not None
            return "compare", {"match": pair[0], "mismatch": pair[1]}
        small = tables.matrix.min() >= -128 and tables.matrix.max() <= 127
        if self._lanes.profile and width < 32 and small:
            if "profile" not in self._matrices:
                table = tables.matrix[:, :MAX_LETTERS].astype(np.int8)
                self._matrices["profile"] = self._shared.of(np.ascontiguousarray(table))
            return "profile", {"matrix": self._matrices["profile"], "bad": tables.bad}
        if "lookup" not in self._matrices:
            self._matrices["lookup"] = self._shared.of(tables.matrix)
        return "lookup", {"matrix": self._matrices["lookup"]}

    def _kept(self, name: str, size: int) -> Any:
        """Memory that is kept from batch to batch: one queue runs them one after the other."""
        held = self._held.get(name)
        if held is None or held.bytes < size:
            if held is not None:
                held.free()  # the driver keeps it while a batch uses it
            held = self._held[name] = Buffers(self.runtime)
            self._memory[name] = held.empty(size)
        return self._memory[name]

    def _letters(self, text: NDArray[np.uint8]) -> Any:
        """The letters on the device; batches of one part, which follow each other, share them."""
        if self._text is not text:
            if "text" in self._held:
                self._held["text"].free()  # the driver keeps it while a batch uses it
            self._held["text"] = Buffers(self.runtime)
            self._memory["text"], self._text = self._held["text"].of(text), text
        return self._memory["text"]

    def _rooms(self, size: int, groups: int) -> tuple[Any, int]:
        """Rooms for as many work-groups as are useful."""
        most = self.most_bytes // 4
        workers = max(1, min(self.workers, groups, most // size))
        return self._kept("rooms", workers * size), workers

    def start(self, text: NDArray[np.uint8], pairs: Ints, width: int, how: str) -> Batch:
        """Begin with a batch.

        ``text`` holds the letters (ASCII); ``pairs`` (n x 4) has each pair's first query letter
        and query length, first target letter and target length, alike ones side by side; ``how``
        is one of `WANTS`.
        """
        lanes, count = self.pairs_a_group(width), len(pairs)
        groups = -(-count // lanes)
        starts = np.arange(0, count, lanes)
        group_m = np.maximum.reduceat(pairs[:, 1], starts)
        group_n = np.maximum.reduceat(pairs[:, 3], starts)
        blocks = -(-group_n // COLUMNS)
        most_m, most_n = int(group_m.max()), int(blocks.max()) * COLUMNS
        score, score_arguments = self._score(width)
        want, moves = WANTS[how], how in ("walk", "cigar")
        size = room_bytes(most_m, most_n, lanes, width, score, want)
        rooms, workers = self._rooms(size, groups)
        buffers = Buffers(self.runtime)
        try:
            places = np.zeros((groups, 2), np.int32)
            moves_bytes = 4
            if moves:
                rows = np.cumsum(blocks.astype(np.int64) * group_m)
                places[1:, 0], places[:, 1] = rows[:-1], group_m
                moves_bytes = int(rows[-1]) * lanes * COLUMNS // 2
            defines = {
                "WANT": want,
                "LOCAL": int(self.local),
                "STORE_MOVES": int(moves),
                "R": COLUMNS,
            }
            defines["WIDTH"] = width
            kernel = BoundKernel(self.runtime, batch_spec(self._lanes.header, score), defines)
            shared = {
                "text": self._letters(text),
                "pairs": buffers.of(pairs),
                "count": count,
                "gap_open": self.scoring.gap_open,
                "gap_extend": self.scoring.gap_extend,
                "ends": self.ends,
                "results": self._kept("results", 4 * RESULTS * count),
                "places": buffers.of(places),
                "moves": self._kept("moves", moves_bytes),
            }
            kernel.bind(
                codes=self._codes,
                groups=groups,
                counter=buffers.of(np.zeros(1, np.int32)),
                scratch_memory=rooms,
                scratch_size=size,
                most_m=most_m,
                most_n=most_n,
                floor=local_floor(self.scoring, width) if self.local else 0,
                **shared,
                **score_arguments,
            ).launch(workers, self._lanes.items)
            if moves:
                return self._trace(buffers, shared, pairs, width, how == "cigar")
            running = Running(self.runtime, buffers)
            return Batch(running, running.fetch(shared["results"], (RESULTS, count), np.int32))
        except BaseException:
            buffers.free()
            raise
        finally:
            held = sum(kept.bytes for kept in self._held.values())
            self.peak_bytes = max(self.peak_bytes, buffers.bytes + held)

    def _trace(
        self, buffers: Buffers, shared: dict[str, Any], pairs: Ints, width: int, text: bool
    ) -> Batch:
        """Walk the paths whose moves the batch stores."""
        scoring, count = self.scoring, len(pairs)
        if not self._tracing:
            codes = np.concatenate([scoring.query_encoding, scoring.target_encoding])
            self._tracing = {
                "codes": self._shared.of(np.where(codes == NO_CODE, 0, codes).astype(np.uint8)),
                "same": self._shared.of(np.concatenate(scoring.match_tables())),
                "matrix": self._shared.of(scoring.matrix),
                "wide": scoring.matrix.shape[1],
            }
        cigar_at = np.zeros(count + 1, np.int32)
        if text:
            np.cumsum(2 * (pairs[:, 1] + pairs[:, 3]), out=cigar_at[1:])
        cigars = self._kept("cigars", int(cigar_at[-1]))
        traced = self._kept("walked", 4 * TRACED * count)
        defines = {
            "LOCAL": int(self.local),
            "R": COLUMNS,
            "WIDTH": width,
            "WRITE_CIGARS": int(text),
        }
        kernel = BoundKernel(self.runtime, TRACEBACK, defines).bind(**shared, **self._tracing)
        kernel.bind(cigar_at=buffers.of(cigar_at), cigars=cigars, traced=traced)
        kernel.bind(lanes=self.pairs_a_group(width))
        group, most = self._lanes.items, self._lanes.path_groups * self.workers
        kernel.launch(min(-(-count // group), most), group)
        running = Running(self.runtime, buffers)
        results = running.fetch(shared["results"], (RESULTS, count), np.int32)
        found = running.fetch(traced, (TRACED, count), np.int32)
        if not text:
            return Batch(running, results, found)
        letters = running.fetch(cigars, (int(cigar_at[-1]),), np.uint8)
        return Batch(running, results, found, letters, cigar_at)
