"""Database search on a CPU: a subject in each lane of a vector (cl/search/vector.cl).

Method: one query against many subjects at once (Alpern, Carter & Gatlin 1995), with scores by
query letter made for some columns of all subjects at a time (Rognes 2011, SWIPE)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, KernelSpec
from ...planning.lane_sets import LANE_SETS, WIDE
from ...planning.pair_batch import LONGEST, filled
from ...scoring.scoring import Scoring
from ...sequences.alphabet import PIECE, Letters, translated
from ...sequences.sequence_set import SequenceSet
from ..batch.scores import global_fits, local_floor, local_limit, local_width
from .contract import CellsDone, Pairs, Scores, SearchEngine

#: Codes of subjects, padding included, and how many letters a kernel loads at once.
CODES, AT_ONCE = 32, 8
#: Columns of a panel: as many as stay in registers.
COLUMNS = 4
#: Cells of a launch: a part of a second.
LAUNCHED = 1 << 35
#: A group's lanes take more than one subject each where one each would leave so much of it idle.
MOST_IDLE = 0.04
#: Groups of each worker that keep all of them busy.
ROUNDS = 4
Ints = NDArray[np.int32]
_SPEC = (
    "codes starts lengths order bounds groups:int counter query m:int kinds:int matrix scratch "
    "scratch_size:int gap_open:int gap_extend:int floor:int ends:int scores"
)
_HEADERS = (
    "base.clh batch/base.clh batch/vector.clh batch/permute.clh search/saturate.clh recurrence.clh "
    "batch/borders.clh batch/encode.clh batch/endpoint.clh"
)
SEARCH = KernelSpec("search", (*_HEADERS.split(), "search/vector.cl"), tuple(_SPEC.split()))


def searchable(scoring: Scoring) -> bool:
    """Have the subjects' letters few enough codes?"""
    return bool(scoring.matrix.shape[1] < CODES)


@dataclass(frozen=True, eq=False)
class Streams:
    """The subjects of each lane, group after group: lane k of all has those at ``bounds[k]`` to
    ``bounds[k + 1]`` of ``order``."""

    order: Ints
    bounds: Ints
    #: The letters that each group's lanes sweep.
    letters: NDArray[np.int64]

    @classmethod
    def of(cls, numbers: Any, lengths: Any, lanes: int, chained: bool) -> Streams:
        """The streams of subjects with these ``numbers`` and ``lengths``, longest first.  Each lane
        of a group has the next subject.  ``chained``: where their lengths differ too much, lanes go
        on with the longest subjects that fit, until the first one is swept."""
        order, counts, letters = deque[int](), deque[int](), list[int]()
        start, count, sizes = 0, len(lengths), lengths.tolist()
        sums = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        while start < count:
            stop, longest = min(start + lanes, count), sizes[start]
            own = int(sums[stop] - sums[start])
            if not chained or own >= (1 - MOST_IDLE) * longest * (stop - start):
                counts.extend([1] * (stop - start) + [0] * (lanes - stop + start))
            else:
                first = stop = start
                for _ in range(lanes):
                    room, first = longest, stop
                    while stop < count and sizes[stop] <= room:
                        room -= sizes[stop]
                        stop += 1
                    counts.append(stop - first)
            order.extend(range(start, stop))
            letters.append(longest * lanes)
            start = stop
        bounds = np.concatenate([[0], np.cumsum(np.array(counts, np.int32))]).astype(np.int32)
        taken = np.asarray(numbers, np.int32)[np.array(order, np.int64)]
        return cls(taken, bounds, np.array(letters, np.int64))


@dataclass(eq=False)
class Held:
    """A part of a database on the device."""

    subjects: SequenceSet
    lengths: NDArray[np.int64]
    buffers: Buffers
    given: dict[str, Any]
    #: The number of its first subjects that are compared pair by pair, because they are so long
    #: that the other lanes would wait for them.
    alone: int
    #: The streams of all others, by the lanes of a group, with their buffers.
    streams: dict[int, tuple[Streams, dict[str, Any]]] = field(default_factory=dict)


class VectorSearch(SearchEngine):
    """Searches with lanes in vectors.  ``scoring``: a clamped one that is `searchable`;
    ``lanes``: the name of a plan's lane set; ``ends``: the free ends as bits (`FreeEnd`)."""

    def __init__(
        self, runtime: Runtime, lanes: str, scoring: Scoring, local: bool, ends: int, pairs: Pairs
    ) -> None:
        self.runtime, self.scoring, self.local, self.ends = runtime, scoring, local, ends
        self.lanes, self._pairs = LANE_SETS[lanes].pairs, pairs
        self._own = Buffers(runtime)
        self.most_letters = runtime.facts.memory // 4
        self.cells = pairs.cells
        self._bytes = scoring.lowest >= -128 and scoring.highest <= 127
        least = local_width(scoring) if local else 16
        self._widths = [width for width in self.lanes.widths if width >= least]
        self.streams = ROUNDS * runtime.info.compute_units * self.lanes.pairs(self._widths[0])
        #: An argument of the kernel has its size.
        self._most_scratch = min(runtime.facts.largest, 2**31 - 1)

    def hold(self, subjects: SequenceSet) -> Held:
        buffers, lengths, letters = Buffers(self.runtime), subjects.lengths, subjects.letters
        codes = np.zeros(len(letters) + AT_ONCE, np.uint8)
        for at in range(0, len(letters), PIECE):  # without a copy of all
            some = letters[at : at + PIECE]
            codes[at : at + len(some)] = translated(self.scoring.target_encoding, some)
        given = {
            "codes": buffers.of(codes),
            "starts": buffers.of(subjects.starts),
            "lengths": buffers.of(lengths.astype(np.int32)),
            "scores": buffers.empty(4 * len(subjects)),
        }
        most = int(lengths.sum()) // self.lanes.pairs(self._widths[0])
        return Held(subjects, lengths, buffers, given, int((lengths > most).sum()))

    def scores(self, queries: Iterable[Letters], held: Any, done: CellsDone) -> Iterator[Scores]:
        for query in queries:
            yield self._of_query(query, held, done)

    def _of_query(self, query: Letters, held: Held, done: CellsDone) -> Scores:
        found, alone = np.empty(len(held.subjects), np.int32), held.alone
        kinds, rows = np.unique(self.scoring.rows(query), return_inverse=True)
        bad = min(0, self.scoring.lowest)
        matrix = np.full((len(kinds), CODES), bad, np.int8 if self._bytes else np.int32)
        matrix[:, : self.scoring.matrix.shape[1]] = self.scoring.matrix[kinds]
        if self._scratch_bytes(self._widths[0], len(query), len(kinds)) > self._most_scratch:
            alone = len(found)
        left = np.arange(alone, len(found))
        with Buffers(self.runtime, small=True) as buffers:
            given = {"query": buffers.of(rows.astype(np.uint16)), "matrix": buffers.of(matrix)}
            given |= {"m": len(query), "kinds": len(kinds)}
            for width in self._widths:
                some = left
                if not self.local and width < WIDE:
                    m, n = np.array([len(query)]), held.lengths[left]
                    fits = global_fits(self.scoring, m, n, width, self.ends)
                    some, left = left[fits], left[~fits]
                if not len(some):
                    continue
                again = self.local and width != self._widths[0]
                tell = (lambda cells: None) if again else done
                found[some] = scores = self._launch(held, some, width, given, buffers, tell)[some]
                if self.local and width < WIDE:
                    left = some[scores > local_limit(self.scoring, width)]
        if alone:
            found[:alone] = self._pairs.of(query, held.subjects[:alone])
            done(len(query) * int(held.lengths[:alone].sum()))
        return found

    def _streams(
        self, held: Held, some: NDArray[Any], width: int, buffers: Buffers
    ) -> tuple[Streams, dict[str, Any]]:
        """The streams of ``some`` subjects in lanes of a width, with their buffers."""
        lanes, all_of = self.lanes.pairs(width), len(some) == len(held.subjects) - held.alone
        if all_of and lanes in held.streams:
            return held.streams[lanes]
        streams = Streams.of(some, held.lengths[some], lanes, self.local)
        own = held.buffers if all_of else buffers
        given = {"order": own.of(streams.order), "bounds": own.of(streams.bounds)}
        if all_of:
            held.streams[lanes] = streams, given
        return streams, given

    def _scratch_bytes(self, width: int, m: int, kinds: int) -> int:
        """Bytes of scratch memory of a group, for a query of ``m`` letters of so many kinds."""
        lanes = self.lanes.pairs(width)
        return lanes * (width // 8) * (2 * m + COLUMNS * kinds) + AT_ONCE * lanes

    def _launch(
        self,
        held: Held,
        some: NDArray[Any],
        width: int,
        given: dict[str, Any],
        buffers: Buffers,
        done: CellsDone,
    ) -> Scores:
        """Sweep ``some`` subjects in lanes of a width; the scores of all, theirs among them."""
        streams, places = self._streams(held, some, width, buffers)
        m, lanes = given["m"], self.lanes.pairs(width)
        long = width < WIDE and not self.local and max(m, held.lengths[some[0]]) > LONGEST
        defines = {"R": COLUMNS, "WIDTH": width, "LOCAL": int(self.local)}
        defines |= {"BYTES": int(self._bytes), "LONG": int(long)}
        size = self._scratch_bytes(width, m, given["kinds"])
        workers = min(self.runtime.info.compute_units, len(streams.letters))
        workers = min(workers, self.runtime.facts.largest // size)
        kernel = BoundKernel(self.runtime, SEARCH, defines).bind(
            **held.given,
            **places,
            **given,
            scratch=self._own.named("scratch", size * workers),
            scratch_size=size,
            gap_open=self.scoring.gap_open,
            gap_extend=self.scoring.gap_extend,
            floor=local_floor(self.scoring, width) if self.local else 0,
            ends=self.ends,
        )
        sums = np.concatenate([[0], np.cumsum(held.lengths[streams.order])])
        for first, stop in pairwise(filled(streams.letters, LAUNCHED // m)):
            counter = buffers.of(np.array([first], np.int32))
            self.runtime.wait(kernel.bind(groups=stop, counter=counter).launch(workers, 1))
            span = streams.bounds[[first * lanes, stop * lanes]]
            done(m * int(sums[span[1]] - sums[span[0]]))
        self.cells[f"search/vector/{width}"] += m * int(held.lengths[some].sum())
        return buffers.read(held.given["scores"], len(held.subjects))

    def free(self, held: Any) -> None:
        held.buffers.free()

    def close(self) -> None:
        self._pairs.close()
        self._own.free()
