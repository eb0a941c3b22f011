"""What users call for the places where whole queries fit best in a target: ``best_fits``."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..drivers.options import FitOptions, ManyOptions, Resources, SearchOptions
from ..drivers.prepared import Batch
from ..drivers.problem import Problem
from ..drivers.progress import Progress, Stage
from ..engines.batch.scores import FREE_QUERY, path_reach
from ..engines.search.contract import part_of
from ..errors import InternalError, items
from ..planning.plan import Plan
from ..results.pair_paths import as_table
from ..scoring.scoring import made_of
from ..sequences.sequence import as_sequence
from ..sequences.sequence_set import SequenceSet
from ..sequences.view import View
from ..tiles.sweep import sweep
from ..tiles.tile import Cells, Want
from .advice import Tally, warn_of_letters
from .align import make_engine, told
from .pair_aligner import PairAligner
from .search_engine import search_engine

#: Letters of a window at least, and in reaches of paths.
LETTERS, LEAST = 512, 4
#: Windows that are looked at for each place at first, and how many times as many after that.
FIRST, GROWTH = 2, 4
#: Scores of windows that are held at once.
SCORES = 1 << 26
Ints = NDArray[np.int64]


def best_fits(
    queries: Any,
    target: Any,
    *,
    k: int = 10,
    min_separation: int = 0,
    longest: float | None = None,
    min_score: float = 1,
    sub_score: Any = (1, -3),
    gap_cost: Any = None,
    wildcard: str | None = None,
    iupac: str = "mismatch",
    unknown: str = "error",
    allow_odd_scoring: bool = False,
    device: Any = "auto",
    plan: Plan | Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
) -> NDArray[Any]:
    """The best places of many short queries in one target: of alignments of all letters of a query
    with a part of the target, exactly, in one pass over the target for all queries.

    It is kernel 3 of the SSCA#1 benchmark (Bader et al. 2006).  Alignments of two places may share
    letters; `search` with ``alignments`` finds places that share none.

    Parameters
    ----------
    queries : iterable of sequences
        As `align` takes them, of some hundred letters at most to be fast.
    target, sub_score, gap_cost, wildcard, iupac, unknown, allow_odd_scoring, device, plan, progress
        As for `align`; a gap of k letters costs ``open + k * extend``.
    k : int
        How many places of each query at most, 1 or more.
    min_separation : int
        s above 0: a place is left out if it ends less than s letters from a better one of the
        query, or an equal one before it.
    longest : number, optional
        Leave out places of more target letters than so many times those of the query, which still
        keep others away.
    min_score : number above 0
        The least score of a place, in units of ``sub_score``.

    Returns
    -------
    structured array
        A row for each place: ``query``, its number counted from 0, and the fields of `align_many`'s
        output "path"; by query, then by falling score, then by where they end in the target.

    Raises as `align`; the message about a query has its number."""
    given = locals()
    options, resources = made_of(FitOptions, given), made_of(Resources, given)
    scoring, tally = options.scoring, Tally(options.scoring)
    letters = []
    listed = [*enumerate(items(queries, "queries")), (None, target)]
    for number, one in listed:
        what = "target" if number is None else f"query number {number}"
        letters.append(as_sequence(one, what, alphabet=scoring.alphabet).read())
        scoring.check_letters(letters[-1], what)
        if tally.needed:
            tally.add(letters[-1])
    warn_of_letters(tally)
    whole = letters.pop()
    scoring.bounds.check_range(max(map(len, letters), default=0), len(whole), options.mode)
    with told(progress) as run:
        cells, total = 0, len(whole) * sum(map(len, letters))
        run.begin(total)

        def tell(more: int) -> None:
            nonlocal cells
            cells += more
            run.tell(cells, Stage("pairs", 0, len(letters)))

        with _Fits(options, resources, letters, whole) as fits:
            tables = dict(fits.all(tell))
        run.tell(total, Stage("pairs", len(letters), len(letters)))
        found = [tables[number] for number in range(len(letters))] or [fits.traced([])]
    return np.concatenate(found)


class _Windows:
    """Parts of a target of so many letters, each with the letters before it that a path to its
    first letter may take.  Where the best path to a letter ends is told by its own window."""

    def __init__(self, letters: int, reach: int | None) -> None:
        before = letters if reach is None else reach
        size = max(LETTERS, LEAST * before)
        #: The first letter that is a window's own, and the letters that are compared.
        self.first = np.arange(0, letters, size)
        self.start, self.stop = np.maximum(0, self.first - before), self.first + size
        self.stop[-1] = letters
        self.most = size + before

    def __len__(self) -> int:
        return len(self.first)

    def parts(self, letters: Any, most: int) -> Iterator[tuple[SequenceSet, Ints]]:
        """Windows that have ``most`` letters together, longest first, and the place of each."""
        every, step = SequenceSet.of(letters, self.start, self.stop), max(1, most // self.most)
        for k in range(0, len(self), step):
            part = part_of(every, k, min(k + step, len(self)))
            order = np.argsort(-part.lengths, kind="stable")
            sides = part.starts[order], part.ends[order]
            yield SequenceSet.of(part.letters, *sides), np.argsort(order)


def _spaced(cells: Cells, count: int, separation: int) -> Cells:
    """The first ``count`` of sorted cells whose columns are ``separation`` apart."""
    chosen, places = list[int](), list[int]()
    for k, place in enumerate(cells[:, 2].tolist()):
        at = bisect(places, place)
        if all(abs(place - near) >= separation for near in places[max(0, at - 1) : at + 1]):
            places.insert(at, place)
            chosen.append(k)
            if len(chosen) == count:
                break
    return cells[chosen]


class _Fits:
    """Finds the best fits of queries in one target.

    All queries are compared with windows of the target first, which gives the best score of each
    (`search_engine`).  For each query the best windows are joined, and all cells of the last row
    are looked at, down to the score of the next window.  So all ends above it are known, and those
    that score as much up to that window.  Last come the paths to the ends that are kept."""

    def __init__(
        self, options: FitOptions, resources: Resources, queries: Sequence[Any], target: Any
    ) -> None:
        self._options, self._target = options, target
        self._scoring = replace(options.scoring, alphabet=None)  # letters stand for its symbols
        bounds = np.cumsum([0, *map(len, queries)])
        text = np.concatenate([*queries, target[:0]])
        self._queries = SequenceSet.of(text, bounds[:-1], bounds[1:])
        self._codes = self._scoring.encode(target, "target")
        given = {**vars(options), "sub_score": self._scoring, "mode": "global", "min_score": None}
        ends = {"output": "score", "free_ends": (True, False)}
        paths = {"output": "path", "free_ends": (True, False, False, False)}
        self._search = search_engine(made_of(SearchOptions, given | ends), resources)
        self._aligner = PairAligner(made_of(ManyOptions, given | paths), resources)
        self._engine = make_engine(resources)

    def __enter__(self) -> _Fits:
        return self

    def __exit__(self, *_: object) -> None:
        self._search.close()
        self._aligner.__exit__()

    def _reach(self, rows: Ints, scores: Any) -> Ints | None:
        return path_reach(self._scoring, rows, scores, False, FREE_QUERY)

    def all(self, tell: Any) -> Iterator[tuple[int, NDArray[Any]]]:
        """The number of each query, in some order, and the table of its places."""
        least = self._options.least
        lengths = self._queries.lengths
        reach = self._reach(lengths, least)
        order = np.argsort(lengths, kind="stable")
        while len(order):
            some = order  # those of like reach share windows
            if reach is not None:
                some = order[reach[order] <= max(2 * reach[order[0]], LETTERS // LEAST)]
            windows = _Windows(len(self._target), None if reach is None else int(reach[some].max()))
            some = some[: max(1, SCORES // len(windows))]
            order = order[len(some) :]
            yield from self._places(some, windows, self._scores(some, windows, tell))

    def _scores(self, numbers: Ints, windows: _Windows, tell: Any) -> NDArray[np.int32]:
        """The best scores of queries in windows."""
        queries, parts = [self._queries[int(k)] for k in numbers], []
        for part, places in windows.parts(self._target, self._search.most_letters):
            held = self._search.hold(part)
            try:
                found = self._search.scores(queries, held, tell)
                parts.append(np.stack([one[places] for one in found]))
            finally:
                self._search.free(held)
        return np.concatenate(parts, axis=1)

    def _places(
        self, numbers: Ints, windows: _Windows, scores: NDArray[np.int32]
    ) -> Iterator[tuple[int, NDArray[Any]]]:
        """The places of queries whose best ``scores`` in windows are known."""
        k, longest = self._options.k, self._options.longest
        counts = dict.fromkeys(range(len(numbers)), k if longest is None else k + k // 4 + 8)
        while counts:
            every = [
                (int(numbers[q]), self._ends(int(numbers[q]), windows, scores[q], count))
                for q, count in counts.items()
            ]
            table = self.traced(every)
            bounds = np.cumsum([0, *(len(ends) for _, ends in every)])
            for (number, ends), (start, stop), (q, count) in zip(
                every, pairwise(bounds.tolist()), list(counts.items()), strict=True
            ):
                found = table[start:stop]
                if longest is not None:
                    sizes = found["target_end"] - found["target_start"]
                    found = found[sizes <= longest * len(self._queries[number])]
                if len(found) >= k or len(ends) < count:
                    yield number, found[:k]
                    del counts[q]
                else:
                    counts[q] *= GROWTH

    def _ends(self, number: int, windows: _Windows, scores: Any, count: int) -> Cells:
        """The best ``count`` ends of a query that are apart, as score, 0 and target end."""
        order = np.argsort(-scores, kind="stable")
        order, take = order[scores[order] >= self._options.least], FIRST * count
        while True:
            least, known = self._options.least, len(self._target)
            if take < len(order):  # ends of that window, and of equal ones behind it, are not known
                least, known = int(scores[order[take]]), int(windows.first[order[take]])
            cells = self._cells(number, windows, np.sort(order[:take]), least)
            score, _, end = cells.T
            cells = cells[(score > least) | (end <= known)]
            kept = _spaced(cells, count, max(1, self._options.min_separation))
            if len(kept) == count or take >= len(order):
                return kept
            take *= GROWTH

    def _cells(self, number: int, windows: _Windows, some: Ints, least: int) -> Cells:
        """All ends of a query in some windows, their own, that score at least so much."""
        spans = [(windows.start[k], windows.stop[k]) for k in some]
        parts = [self._codes[start:stop] for start, stop in spans]
        if not parts:
            return np.zeros((0, 3), np.int64)
        codes, bounds = np.concatenate(parts), np.cumsum([0, *map(len, parts)])
        query = self._scoring.encode(self._queries[number], "query")
        free = self._options.free
        problem = Problem.of(View(query), View(codes), self._scoring, "global", free)
        want = Want("last_row", len(codes), least)
        shape = self._engine.plan.tile_shape(*problem.shape)
        cells = sweep(self._engine, problem, problem.edges, want, shape=shape).hits.cells
        score, _, column = cells.T
        at = np.searchsorted(bounds, column) - 1
        end = column - bounds[at] + windows.start[some[at]]
        own = end > windows.first[some[at]]
        return np.stack([score, np.zeros_like(score), end], axis=1)[own]

    def traced(self, every: Sequence[tuple[int, Cells]]) -> NDArray[Any]:
        """The table of queries' ends, in turn."""
        numbers = np.repeat([n for n, _ in every], [len(ends) for _, ends in every]).astype(int)
        score, _, end = np.concatenate([np.zeros((0, 3), int), *(ends for _, ends in every)]).T
        queries = self._queries.take(numbers)
        reach = self._reach(queries.lengths, score)
        start = np.zeros_like(end) if reach is None else np.maximum(0, end - reach)
        batch = Batch(queries, SequenceSet.of(self._target, start, end))
        batch.again = False
        rows = self._aligner.align(batch)[0]
        if (wrong := np.flatnonzero(rows["score"] * self._scoring.scale != score)).size:
            raise InternalError(f"query number {numbers[wrong[0]]}: its path has another score")
        columns = {name: rows[name] for name in rows.dtype.names or ()}
        for side in ("target_start", "target_end"):
            columns[side] = columns[side] + start
        return as_table({"query": numbers, **columns})
