"""What users call for the places where whole queries fit best in a target: ``best_fits``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..drivers.end_rules import apart
from ..drivers.options import EndsOptions, Resources
from ..drivers.prepared import Batch
from ..drivers.problem import FreeEnds, Problem
from ..engines.batch.last_rows import LastRows
from ..engines.batch.scores import FREE_QUERY, path_reach
from ..engines.plans import make_plan
from ..engines.registry import row_of
from ..errors import items
from ..opencl.device import get_runtime, named_apart
from ..planning.plan import Plan
from ..results.pair_paths import as_table
from ..scoring.scoring import made_of
from ..sequences.sequence import as_sequence
from ..sequences.sequence_set import SequenceSet
from ..sequences.view import View
from ..tiles.sweep import sweep
from ..tiles.tile import NO_HITS, Cells, Want, best_first
from .align import make_engine
from .many import align_many, align_paths

#: A window has as many letters as paths reach at least, and as many of them are wanted for each
#: place, but not more letters than these, or so many times the reach.
WINDOWS, LETTERS, LARGE = 4, 2048, 4
#: Pairs of a query and a window that are compared at once, their letters, and those of windows of
#: which last rows are computed.
PAIRS, PAIR_LETTERS, ROW_LETTERS = 1 << 20, 1 << 28, 1 << 23
#: Letters of queries and windows that are compared so; the last rows of longer ones are swept.
LANE_LETTERS = 1 << 15
#: Cells that are sorted at first for each place.
EACH = 8
#: Windows that are looked at for each place at first, and how many times as many after that: the
#: best ones have a place each, of which a quarter may be near a better one.
NEAR, GROWTH = 4, 4
#: A query may begin and end anywhere in the target.
ANYWHERE = FreeEnds(True, True)
Ints = NDArray[np.int64]


def best_fits(
    queries: Any,
    target: Any,
    *,
    k: int = 10,
    min_separation: int = 0,
    min_score: float = 1,
    sub_score: Any = (1, -3),
    gap_cost: Any = None,
    wildcard: str | None = None,
    iupac: str = "mismatch",
    unknown: str = "error",
    allow_odd_scoring: bool = False,
    device: Any = "auto",
    plan: Plan | Mapping[str, Any] | None = None,
) -> NDArray[Any]:
    """The best places of many short queries in one target: of alignments of all letters of a query
    with a part of the target, exactly, in one pass over the target for all queries.

    It is kernel 3 of SSCA#1 (Bader et al. 2006).  Places may share letters; those of `search` with
    ``alignments`` share none.

    Parameters
    ----------
    queries, target, sub_score, gap_cost, wildcard, iupac, unknown, allow_odd_scoring, device, plan
        Sequences, short ones to be fast, and one; the others as for `align`.  A gap of k letters
        costs ``open + k * extend``.
    k, min_score
        How many places of each query at most, and the least score, a number above 0.
    min_separation : int
        s above 0: a place is left out if it ends less than s letters from a better one of the
        query, or an equal one before it.

    Returns
    -------
    structured array
        ``query`` (a number from 0) and the fields of `align_many`'s output "path" for each place;
        by query, then by falling score, then by where they end in the target.

    Raises as `align`; the message about a query has its number."""
    given = locals()
    options, resources = made_of(EndsOptions, given), made_of(Resources, given)
    fits = _Fits(options, resources, [*items(queries, "queries"), target])
    return fits.traced(fits.ends())


class _Fits:
    """Finds the best fits of queries in one target, the last of the sequences.

    All queries are compared with windows of the target first, which gives the best score of each.
    A window has the letters before it that a path to its first letter may take, so its own ends are
    as they are.  Of each query all ends in its best windows are looked at, down to the score of the
    next window, and to its place among equals.  So all better ends are known.  Last come the
    paths."""

    def __init__(self, options: EndsOptions, resources: Resources, sequences: list[Any]) -> None:
        if named_apart(resources.device) is not None:
            get_runtime(resources.device)  # refuses several
        self._options, self._resources = options, resources
        self._scoring = replace(options.scoring, alphabet=None)  # letters stand for its symbols
        every = []
        for k, one in enumerate(sequences, 1):
            what = "target" if k == len(sequences) else f"query number {k - 1}"
            every.append(as_sequence(one, what, alphabet=options.scoring.alphabet).read())
            self._scoring.check_letters(every[-1], what)
        *queries, self._target = every
        self._queries = SequenceSet.from_sequences(queries)
        longest, letters = int(self._queries.lengths.max(initial=0)), len(self._target)
        self._scoring.bounds.check_range(longest, letters, "global")
        reach = path_reach(self._scoring, np.array([longest]), options.least, False, FREE_QUERY)
        before = letters if reach is None else int(reach[0])
        size = max(1, before, min(max(LETTERS, LARGE * before), letters // (WINDOWS * options.k)))
        #: The letters of each window, never more than of the one before it, and its first own one.
        start = np.arange(0, max(1, letters - before), size)
        stop = np.minimum(start + before + size, letters)
        self._windows, self._first = SequenceSet.of(self._target, start, stop), start + before
        self._first[0] = 0
        self._how = {name: getattr(resources, name) for name in ("device", "plan")}
        self._how |= {"mode": "global", "sub_score": self._scoring}
        short = max(longest, int(self._windows.lengths[0])) <= LANE_LETTERS
        self._rows: LastRows | None = None
        if short and row_of(resources.plan).batches:
            runtime = get_runtime(resources.device)
            self._rows = LastRows(runtime, make_plan(runtime, resources.plan).lanes, self._scoring)

    def ends(self) -> list[Cells]:
        """The ends of each query: the best ones that are apart, as score, 0 and target end."""
        order = np.argsort(self._queries.lengths, kind="stable")  # neighbours are alike
        longest = int(self._queries.lengths.max(initial=0))
        letters = int(self._windows.lengths.sum()) + len(self._windows) * longest
        step = max(1, min(PAIRS // len(self._windows), PAIR_LETTERS // letters))
        found = list[Cells]()
        with nullcontext() if self._rows is None else closing(self._rows):
            for at in range(0, len(order), step):
                found += self._ends(order[at : at + step])
        return [found[k] for k in np.argsort(order)]

    def _ends(self, queries: Ints) -> list[Cells]:
        """Those of some queries."""
        options, count = self._options, len(self._windows)
        windows = self._windows.take(np.tile(np.arange(count), len(queries)))
        batch = Batch(self._queries.take(queries.repeat(count)), windows)
        batch.again = False
        rows = align_many(batch, free_ends=tuple(ANYWHERE), output="score", **self._how)
        scores = (rows["score"] * self._scoring.scale).astype(np.int64).reshape(len(queries), count)
        able = (scores >= options.least).sum(axis=1).tolist()
        found, left = dict[int, Cells](), list(range(len(queries)))
        take = options.k + options.k // NEAR
        while left:
            block = max(1, ROW_LETTERS // (min(take, count) * int(self._windows.lengths[0])))
            for start in range(0, len(left), block):
                some = left[start : start + block]
                found |= zip(some, self._in_best(queries[some], scores[some], take), strict=True)
            left = [k for k in left if len(found[k]) < options.k and take < able[k]]
            take *= GROWTH
        return [found[k] for k in range(len(queries))]

    def _in_best(self, queries: Ints, scores: Ints, take: int) -> list[Cells]:
        """The ends of queries that are known from so many windows of each, the best by ``scores``
        (queries x windows)."""
        options, some, bounds = self._options, list[Ints](), list[tuple[int, int]]()
        for order, own in zip(np.argsort(-scores, axis=1, kind="stable"), scores, strict=True):
            able = order[own[order] >= options.least]
            some.append(able[:take])
            least, last = options.least, len(self._target)
            if take < len(able):  # ends of that window, and of equal ones behind it, are not known
                least, last = int(own[able[take]]), int(self._first[able[take]])
            bounds.append((least, last))
        separation = min(options.min_separation, len(self._target))  # no two are so far apart
        every = self._cells(queries, some, [least for least, _ in bounds])
        return [
            _apart(cells[(cells[:, 0] > least) | (cells[:, 2] <= last)], options.k, separation)
            for cells, (least, last) in zip(every, bounds, strict=True)
        ]

    def _cells(self, queries: Ints, some: list[Ints], least: list[int]) -> list[Cells]:
        """All ends of queries, each in some windows, their own, that score at least so much."""
        owner, window = np.arange(len(queries)).repeat([*map(len, some)]), np.concatenate(some)
        if not len(window):
            return [NO_HITS.some] * len(queries)
        find = self._in_turn if self._rows is None else self._side_by_side
        pair, column, score = find(queries[owner], window, np.array(least, np.int64)[owner])
        end = column + self._windows.starts[window[pair]]
        own = end > self._first[window[pair]]
        pair, cells = owner[pair[own]], np.stack([score, 0 * end, end], axis=1)[own]
        at = np.argsort(pair, kind="stable")
        return np.split(cells[at], np.searchsorted(pair[at], np.arange(1, len(queries))))

    def _side_by_side(self, query: Ints, window: Ints, least: Ints) -> Any:
        """The cells of last rows, as `LastRows.cells` gives them."""
        assert self._rows is not None
        (ones, own), (others, of) = (np.unique(x, return_inverse=True) for x in (query, window))
        sides = self._queries.take(ones), self._windows.take(others)
        sizes = np.concatenate([side.lengths for side in sides])
        starts, of = sizes.cumsum() - sizes, of + len(ones)
        pairs = np.stack([starts[own], sizes[own], starts[of], sizes[of]], axis=1)
        text = np.concatenate([side.text() for side in sides])
        return self._rows.cells(text, pairs.astype(np.int32), least)

    def _in_turn(self, numbers: Ints, windows: Ints, least: Ints) -> Any:
        """The same, by sweeps, of long sequences."""
        engine, found = make_engine(self._resources), [np.zeros((3, 0), np.int64)]
        for k, (one, other) in enumerate(zip(numbers, windows, strict=True)):
            letters = self._queries[int(one)], self._windows[int(other)]
            query, target = (View(self._scoring.encode(side, "sequence")) for side in letters)
            problem = Problem.of(query, target, self._scoring, "global", ANYWHERE)
            want = Want("last_row", len(problem.target), int(least[k]))
            shape = engine.plan.tile_shape(*problem.shape)
            cells = sweep(engine, problem, problem.edges, want, shape=shape).hits.cells
            found.append(np.stack([np.full(len(cells), k), cells[:, 2], cells[:, 0]]))
        return np.concatenate(found, axis=1)

    def traced(self, every: list[Cells]) -> NDArray[Any]:
        """The table of queries' ends, in turn."""
        numbers = np.repeat(np.arange(len(every)), [len(ends) for ends in every])
        score, _, end = np.concatenate([NO_HITS.some, *every]).T
        queries = self._queries.take(numbers)
        reach = path_reach(self._scoring, queries.lengths, score, False, FREE_QUERY)
        start = np.zeros_like(end) if reach is None else np.maximum(0, end - reach)
        batch = Batch(queries, SequenceSet.of(self._target, start, end))
        rows = align_paths(batch, free_ends=(True, False, False, False), **self._how).table()
        assert (rows["score"] * self._scoring.scale == score).all()
        for side in ("target_start", "target_end"):
            rows[side] += start
        return as_table({"query": numbers, **{name: rows[name] for name in rows.dtype.names or ()}})


def _apart(cells: Cells, count: int, separation: int) -> Cells:
    """The best ``count`` of some cells that are apart, most of which are not sorted."""
    some = EACH * count
    while True:
        kept = apart(best_first(cells, some), count, separation)
        if len(kept) == count or some >= len(cells):
            return kept
        some *= GROWTH
