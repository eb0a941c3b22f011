"""Search on several devices at once: each has a share of the subjects, an engine and a thread.

Method: shares by speed, as CUDASW++ 3.0 gives CPU and GPU theirs (Liu, Wirawan & Schmidt 2013);
here speeds are measured while scores are computed, and a share that is wrong is given anew."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from ...errors import DeviceError, RecomputedWarning, warn
from ...sequences.alphabet import Letters
from ...sequences.sequence_set import SequenceSet
from .contract import CellsDone, Scores, SearchEngine

#: Queries that a device may be ahead of the slowest one, at least and at most, and bytes of scores.
LEAST_AHEAD, MOST_AHEAD, AHEAD_BYTES = 4, 64, 1 << 24
#: Devices beside the first one are measured once it has this many seconds of work.
WORTH = 0.5
#: Letters of subjects, and of a query at most, that are measured, and for how many seconds at
#: least: a host's cores may need half a second to come up to speed.
PIECE, QUERY, MEASURED = 1 << 23, 1024, 1.0
#: Seconds of earlier work that count for a device's speed.
REMEMBERED = 1.0
#: A device that would have a smaller share has none.
LEAST_SHARE = 0.01


class Member:
    """One of the devices, with the thread that makes and calls its engine."""

    engine: SearchEngine

    def __init__(self, device: Any) -> None:
        self.device, self.thread = device, ThreadPoolExecutor(1)
        #: Cells of late, and their seconds.
        self.speed = 0.0, 0.0
        self.measuring: Future[None] | None = None

    @property
    def rate(self) -> float:
        """Cells a second; 0 if that is not known."""
        cells, seconds = self.speed
        return cells / seconds if seconds else 0.0

    def start(self, make: Callable[[Any], SearchEngine]) -> None:
        self.engine = make(self.device)

    def measure(self, subjects: SequenceSet, query: Letters) -> None:
        """Find the speed, by the beginning of a query and the shortest subjects."""
        first = int(np.searchsorted(subjects.starts[:-1], subjects.ends[-1] - PIECE))
        piece, query = subjects[first:].alone(), query[:QUERY]
        held = self.engine.hold(piece)
        took = list[float]()
        while len(took) < 4 or sum(took) < MEASURED:
            began = perf_counter()
            list(self.engine.scores([query], held, lambda cells: None))
            took.append(perf_counter() - began)
        # the least one: kernels are built in the first turn, and other threads are in the way
        self.speed = float(len(query) * len(piece.letters)), min(took)
        self.engine.free(held)

    def close(self) -> None:
        with suppress(DeviceError):
            self.engine.close()


@dataclass(eq=False)
class Share:
    """Subjects of a part, from number ``first`` on, which a device holds."""

    member: Member
    first: int
    subjects: SequenceSet
    held: Any = None

    def hold(self) -> None:
        self.held = self.member.engine.hold(self.subjects)

    def begin(self, queries: Iterable[Letters]) -> None:
        """Queries are under way from now on."""
        self._scores = self._rows(queries)
        cells, seconds = self.member.speed
        self._known = min(1.0, REMEMBERED / seconds) if seconds else 0.0
        self._cells, self._since = cells * self._known, perf_counter() - seconds * self._known
        self._idle, self._last = False, Future[None]()

    def _rows(self, queries: Iterable[Letters]) -> Iterator[Scores]:
        """The scores; the engine, which may begin when it is asked, is asked by its own thread."""
        yield from self.member.engine.scores(queries, self.held, lambda cells: None)

    def submit(self, query: Letters, row: Scores) -> Future[None]:
        """Let the device put its scores of the next query into a row of those of all."""
        self._idle = self._idle or self._last.done()
        self._last = self.member.thread.submit(self._next, query, row)
        return self._last

    def _next(self, query: Letters, row: Scores) -> None:
        row[self.first :][: len(self.subjects)] = next(self._scores)
        now = perf_counter()
        if not self._known:  # a kernel was built
            self._known, self._since = 1.0, now
        elif not self._idle:  # only then the times are those of these cells
            self._cells += len(query) * len(self.subjects.letters)
            self.member.speed = self._cells, now - self._since


@dataclass(eq=False)
class Held:
    """A part of a database, and who has which share of it."""

    subjects: SequenceSet
    #: Scores of the queries under way.
    rows: list[Scores]
    shares: list[Share] = field(default_factory=list)
    #: Seconds that giving the shares took, and those that other shares would have saved since.
    seconds: float = 0.0
    lost: float = 0.0


class TogetherSearch(SearchEngine):
    """Searches on several ``devices``, those first that are probably fast; ``make`` makes the
    engine of one.  The first one begins with all subjects, until the speed of others is known."""

    def __init__(self, devices: Iterable[Any], make: Callable[[Any], SearchEngine]) -> None:
        self.cells, self.failed = Counter(), []
        self.members = [Member(one) for one in devices]
        self._each([(one, one.start, make) for one in self.members])
        # any of them may come to have all
        self.most_letters = min(one.engine.most_letters for one in self.members)
        self._worked = 0.0

    def hold(self, subjects: SequenceSet) -> Held:
        ahead = max(LEAST_AHEAD, min(MOST_AHEAD, AHEAD_BYTES // (4 * len(subjects))))
        held = Held(subjects, [np.empty(len(subjects), np.int32) for _ in range(ahead)])
        self._give(held)
        return held

    def scores(self, queries: Iterable[Letters], held: Any, done: CellsDone) -> Iterator[Scores]:
        queries, letters = list(queries), len(held.subjects.letters)
        at, left = 0, sum(map(len, queries))
        while at < len(queries):
            if self._wrong(held, left):
                self._give(held)
            began, here = perf_counter(), 0
            with closing(self._rows(queries[at:], held)) as rows:
                for row in rows:
                    here += len(queries[at])
                    left -= len(queries[at])
                    done(len(queries[at]) * letters)
                    yield row
                    at += 1
                    seconds = perf_counter() - began
                    if left and self._worked + seconds * (1 + left / here) > WORTH:
                        self._measure(held, max(queries[at:], key=len))
                    if self._wrong(held, left):
                        break
            self._worked += perf_counter() - began
            held.lost += self._slower(held) * here

    def _rows(self, queries: Sequence[Letters], held: Held) -> Generator[Scores, None, None]:
        """The scores of each query, until a device fails."""
        rows, jobs, begun = held.rows, deque[Future[None]](), 0
        for share in held.shares:
            share.begin(queries)
        try:
            for k in range(len(queries)):
                for query in queries[begun : k + len(rows)]:
                    row = rows[begun % len(rows)]
                    jobs.extend(share.submit(query, row) for share in held.shares)
                    begun += 1
                for share in held.shares:
                    if error := jobs.popleft().exception():
                        self._drop(share.member, error)
                        return
                yield rows[k % len(rows)]
        finally:
            wait([job for job in jobs if not job.cancel()])
            for share in held.shares:
                self.cells += share.member.engine.cells
                share.member.engine.cells.clear()

    def _give(self, held: Held) -> None:
        subjects, full = held.subjects, False
        while not full:
            self.free(held)
            began, first = perf_counter(), 0
            for member, stop in self._shares(subjects):
                if stop > first:
                    held.shares.append(Share(member, first, subjects[first:stop].alone()))
                first = max(first, stop)
            full = self._each([(one.member, one.hold) for one in held.shares])
        held.seconds, held.lost = perf_counter() - began, 0.0

    def _shares(self, subjects: SequenceSet) -> list[tuple[Member, int]]:
        """Who has a share, and where it ends."""
        members = self._useful()
        rates = np.cumsum([one.rate or 1.0 for one in members])
        ends = 1 + np.searchsorted(subjects.ends, rates / rates[-1] * subjects.ends[-1])
        return list(zip(members, [*ends[:-1].tolist(), len(subjects)], strict=True))

    def _useful(self) -> list[Member]:
        """The devices whose speed is known and that help; else the first one."""
        least = LEAST_SHARE * sum(one.rate for one in self.members)
        return [one for one in self.members if one.rate > least] or self.members[:1]

    def _slower(self, held: Held) -> float:
        """How much longer a letter of a query takes than with the best shares, in seconds."""
        members, letters = [one.member for one in held.shares], len(held.subjects.letters)
        if not all(one.rate and one in self.members for one in members):
            return 0.0
        now = max(len(one.subjects.letters) / one.member.rate for one in held.shares)
        return now - letters / sum(one.rate for one in self._useful())

    def _wrong(self, held: Held, left: int) -> bool:
        """Have devices failed, or are other shares worth while for the letters ``left``?"""
        gone = any(one.member not in self.members for one in held.shares)
        return gone or held.lost + self._slower(held) * left > held.seconds

    def _measure(self, held: Held, query: Letters) -> None:
        """Measure devices whose speed is not known, beside what is computed; see if they failed."""
        for one in [one for one in self.members if not one.rate or one.measuring is not None]:
            if one.measuring is None and one not in [share.member for share in held.shares]:
                one.measuring = one.thread.submit(one.measure, held.subjects, query)
            elif one.measuring is not None and one.measuring.done():
                if error := one.measuring.exception():
                    self._drop(one, error)
                one.measuring = None

    def _each(self, jobs: list[tuple[Any, ...]]) -> bool:
        """Let devices do something: each has a function and its arguments.  Those that fail are
        dropped; returns whether none did."""
        futures = [(member, member.thread.submit(*job)) for member, *job in jobs]
        errors = [(member, error) for member, future in futures if (error := future.exception())]
        for member, error in errors:
            self._drop(member, error)
        return not errors

    def _drop(self, member: Member, error: BaseException) -> None:
        """Go on without a device that failed; the last one's error, or another kind, is raised."""
        if not isinstance(error, DeviceError) or self.members == [member]:
            raise error
        self.members.remove(member)
        self.failed = [*self.failed, member.device]
        member.thread.submit(member.close)
        member.thread.shutdown(wait=False)
        warn(f"the search goes on without a device: {error}", RecomputedWarning)

    def free(self, held: Any) -> None:
        shares = [one for one in held.shares if one.member in self.members and one.held is not None]
        held.shares = []
        self._each([(one.member, one.member.engine.free, one.held) for one in shares])

    def close(self) -> None:
        for one in self.members:
            one.thread.submit(one.close)
            one.thread.shutdown()
