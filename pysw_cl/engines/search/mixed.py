"""Database search in mixed arithmetic: pairs of subjects, each swept by some work-items of a warp
(cl/search/mixed.cl).

Method: CUDASW++ 4.0 (Schmidt et al. 2024), whose thread groups sweep pairs of subjects in half
precision, with a query profile in local memory; the arithmetic is this project's."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, KernelSpec
from ...planning.search import LONG_SHARE, SearchGeometry
from ...scoring.scoring import Scoring
from ...sequences.alphabet import NO_CODE, Letters
from ...sequences.sequence_set import SequenceSet
from ..batch.kept import RetainedMemory
from ..batch.scores import LEAST_MATCHES
from .contract import CellsDone, Pairs, Scores, SearchEngine
from .vector import CODES

#: The highest number of 11 bits.
HIGHEST = 2047
#: Numbers of codes that kernels are built for, padding included.
BUILT_CODES = (8, 16, 24, CODES)
#: Subjects of a compute unit that keep it busy.
STREAMS = 128
#: Queries whose scores are computed before those of the first are taken.
AHEAD = 2
#: Work-items of a group that lays out a pair, and groups that look for letters.
ITEMS, LOOKING = 64, 512
_HEADERS = ("base.clh", "platform.clh", "lanes/warp32.clh", "wavefront/mixed_arithmetic.clh")
_SPEC = (
    "turns firsts pairs:int counters launch:int query m:int above:int matrix enters:int leaves:int "
    "active:int bus scores"
)
SEARCH = KernelSpec("search", (*_HEADERS, "search/mixed.cl"), tuple(_SPEC.split()), limit=None)
_TURNS = "base.clh", "search/turns.cl"
LETTERS_THERE = KernelSpec("letters_there", _TURNS, ("letters", "all:long", "there"))
LAY_OUT = KernelSpec(
    "lay_out", _TURNS, ("letters", "starts", "lengths", "count:int", "codes", "firsts", "turns")
)


def mixes(scoring: Scoring) -> bool:
    """May this scoring be computed in 11 bits?"""
    gap = scoring.gap_open + scoring.gap_extend
    least = LEAST_MATCHES * max(scoring.highest, 1)
    fits = max(gap, -scoring.lowest) <= HIGHEST and limit(scoring) >= least
    return fits and scoring.matrix.shape[1] < CODES


def limit(scoring: Scoring) -> int:
    """The highest score that is surely exact in 11 bits (`local_limit` has the proof)."""
    return HIGHEST - max(scoring.highest, 1)


@dataclass(frozen=True, eq=False)
class Held:
    """A part of a database on the device."""

    subjects: SequenceSet
    buffers: Buffers
    #: Arguments of the kernel: its letters, and where each pair has its own.
    given: dict[str, Any]
    #: Codes of the kernel, padding included, and the scoring's code of each that is there.
    codes: int
    columns: NDArray[np.int64]
    #: Words of each pair, and of all.
    words: NDArray[np.int64]
    turns: int
    #: How queries of so many letters are swept.
    sweeps: dict[int, list[Sweep]] = field(default_factory=dict)


@dataclass(frozen=True)
class Sweep:
    """Pairs from ``first`` to ``stop`` that are swept in one way."""

    first: int
    stop: int
    geometry: SearchGeometry
    groups: int


class Slot:
    """Memory of a query that is under way, and the events after which its scores are there."""

    def __init__(self, runtime: Runtime) -> None:
        self.memory, self.writes = RetainedMemory(runtime), Buffers(runtime)
        self.events: list[Any] = []

    def wait(self) -> None:
        """Wait until nothing uses this memory."""
        if self.events:
            cl.wait_for_events(self.events)
        self.writes.free()


class MixedSearch(SearchEngine):
    """Searches local scores in 11 bits.  ``scoring``: a clamped one that `mixes`; ``pairs``: of
    subjects whose scores need more."""

    def __init__(self, runtime: Runtime, scoring: Scoring, pairs: Pairs) -> None:
        self.runtime, self.scoring, self._pairs = runtime, scoring, pairs
        # a word for two columns of two subjects, and 16 bytes of it for what leaves a strip
        self.most_letters = min(runtime.facts.memory // 12, runtime.facts.largest // 4)
        self.streams = STREAMS * runtime.facts.units
        self.cells = pairs.cells
        self._own = Buffers(runtime)
        self._bus: Any = None
        self._slots = [Slot(runtime) for _ in range(AHEAD)]
        #: Events of the query before: it may use the bus.
        self._last: list[Any] = []

    def hold(self, subjects: SequenceSet) -> Held:
        runtime = self.runtime.beside(AHEAD)  # other parts may be searched meanwhile
        buffers, lengths = Buffers(runtime), subjects.lengths
        words = 1 + (lengths[::2] + 1) // 2
        firsts = np.concatenate([[0], np.cumsum(words)])
        turns = buffers.empty(4 * (int(firsts[-1]) + 1))
        given = {"turns": turns, "firsts": buffers.sent(firsts.astype(np.uint32))}
        with Buffers(runtime) as own:
            letters = own.sent(np.ascontiguousarray(subjects.letters))
            there = own.sent(np.zeros(256, np.int32))
            look = BoundKernel(runtime, LETTERS_THERE, {})
            look.bind(letters=letters, all=len(subjects.letters), there=there)
            look.launch(LOOKING, ITEMS)
            codes, columns = self._codes(own.read(there, 256).astype(np.bool_))
            lay = BoundKernel(runtime, LAY_OUT, {})
            lay.bind(
                letters=letters,
                starts=own.sent(subjects.starts),
                lengths=own.sent(lengths.astype(np.int32)),
                count=len(subjects),
                codes=own.sent(codes),
                **given,
            ).launch(len(words), ITEMS)
            with runtime.failing():
                runtime.queue.finish()
        padding = int(codes[256])
        return Held(subjects, buffers, given, padding + 1, columns, words, int(firsts[-1]))

    def _codes(self, there: NDArray[np.bool_]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The kernel's code of each letter and of padding, if these letters are ``there``, and the
        scoring's code of each.  Codes with the same scores are one."""
        encoding = self.scoring.target_encoding
        used = np.unique(encoding[there])
        used = used[used != NO_CODE]
        _, columns, same = np.unique(
            self.scoring.matrix[:, used], axis=1, return_index=True, return_inverse=True
        )
        padding = next(count for count in BUILT_CODES if count > len(columns)) - 1
        codes = np.full(257, padding, np.uint8)
        for code, one in zip(used, same.ravel(), strict=True):
            codes[:256][encoding == code] = one
        return codes, used[columns]

    def scores(self, queries: Iterable[Letters], held: Any, done: CellsDone) -> Iterator[Scores]:
        left = iter(queries)  # the first ones begin now

        def begun(slots: list[Slot]) -> Iterator[tuple[Letters, Slot]]:
            for slot, query in zip(slots, left, strict=False):
                self._launch(query, held, slot)
                yield query, slot

        under_way = deque(begun(self._slots))

        def taken() -> Iterator[Scores]:
            while under_way:
                query, slot = under_way.popleft()
                found = self._take(query, slot, held, done)
                under_way.extend(begun([slot]))
                yield found

        return taken()

    def _launch(self, query: Letters, held: Held, slot: Slot) -> None:
        with self.runtime.failing():  # nobody may have taken what was begun before
            slot.wait()
        m, memory, queue = len(query), slot.memory, self.runtime.queue
        kinds, rows = np.unique(self.scoring.rows(query), return_inverse=True)
        matrix = np.full((len(kinds), CODES), min(0, self.scoring.lowest), np.int16)
        matrix[:, : len(held.columns)] = self.scoring.matrix[np.ix_(kinds, held.columns)]
        if m not in held.sweeps:
            held.sweeps[m] = self._sweeps(m, held)
        sweeps = held.sweeps[m]
        begin = np.concatenate([np.full(sweep.geometry.strips, sweep.first) for sweep in sweeps])
        zeros = np.broadcast_to(np.zeros(1, np.int32), (2 * len(held.words),))
        sent: dict[str, NDArray[Any]] = {"query": rows.astype(np.uint16), "matrix": matrix}
        sent |= {"scores": zeros, "counters": begin.astype(np.int32)}
        given = {name: memory.sent(name, array, slot.writes) for name, array in sent.items()}
        if any(sweep.geometry.strips > 1 for sweep in sweeps):
            self._bus = self._own.named("bus", 16 * (held.turns + 1))
        given |= {**held.given, "m": m}
        given["bus"] = given["turns"] if self._bus is None else self._bus
        # the first sweep begins at once, and others when what was sent is there
        runtimes = [self.runtime, *(self.runtime.beside(k) for k in range(1, len(sweeps)))]
        last = self._last if self._bus is not None else []
        with self.runtime.failing():
            ready, slot.events, launch = cl.enqueue_marker(queue), [], 0
            for runtime, sweep in zip(runtimes, sweeps, strict=True):
                earlier = [one for one in (ready, *last) if one.command_queue != runtime.queue]
                if earlier:
                    cl.enqueue_barrier(runtime.queue, wait_for=earlier)
                slot.events.append(self._strips(runtime, sweep, launch, given))
                launch += sweep.geometry.strips
        self._last = slot.events

    def _strips(self, runtime: Runtime, sweep: Sweep, launch: int, given: dict[str, Any]) -> Any:
        """Enqueue the strips of a sweep, the first one as this launch; returns the last event."""
        geometry = sweep.geometry
        warps = geometry.warps if runtime.facts.schedulers else 1
        defines = {
            "L": geometry.items,
            "R": geometry.rows,
            "CODES": geometry.codes,
            "STRIPS": int(geometry.strips > 1),
            "WARPS": warps,
            "T": 64,
            "GAP_FIRST": self.scoring.gap_open + self.scoring.gap_extend,
            "GAP_EXTEND": self.scoring.gap_extend,
        }
        kernel = BoundKernel(runtime, SEARCH, defines).bind(**given, pairs=sweep.stop)
        kernel.bind(active=min(geometry.active, warps))
        for k in range(geometry.strips):
            rows = k * geometry.items * geometry.rows
            kernel.bind(launch=launch + k, above=rows, enters=int(k > 0))
            kernel.bind(leaves=int(k + 1 < geometry.strips))
            event = kernel.launch(sweep.groups, 32 * warps, at_once=True)
        return event

    def _sweeps(self, m: int, held: Held) -> list[Sweep]:
        """The pairs that are swept together, those that take longest first."""
        units, words = self.runtime.facts.units, held.words
        best = SearchGeometry.of(m, held.codes, held.turns, 0, units)
        long = int((words > LONG_SHARE * best.per_stream(held.turns, units)).sum())
        most, longest = int(words[:long].sum()), int(words[0])
        if 2 * most > held.turns:
            best, long = SearchGeometry.of(m, held.codes, held.turns, longest, units), 0
        aside = SearchGeometry.long(m, held.codes)
        groups = -(-most // (longest * aside.active)) if long else 0
        sweeps = [Sweep(long, len(words), best, max(1, units - groups) * best.groups)]
        return [Sweep(0, long, aside, groups), *sweeps] if long else sweeps

    def _take(self, query: Letters, slot: Slot, held: Held, done: CellsDone) -> Scores:
        """The scores of a query that was begun."""
        subjects, cells = held.subjects, len(query) * len(held.subjects.letters)
        found = slot.memory.host("scores", (len(subjects),))
        with self.runtime.failing():
            slot.wait()
        aside = Buffers(self.runtime.beside(0))
        aside.read(slot.memory.get("scores", 0), len(found), into=found)
        self.cells["search/mixed/11"] += cells
        unsure = np.flatnonzero(found > limit(self.scoring))
        if len(unsure):
            found[unsure] = self._pairs.of(query, subjects.take(unsure))
        done(cells)
        return found

    def free(self, held: Any) -> None:
        held.buffers.free()

    def close(self) -> None:
        self._pairs.close()
        for slot in self._slots:
            slot.memory.free()
        self._own.free()
