"""What users call for the places where whole queries fit best in a target: ``best_fits``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..drivers.end_rules import apart
from ..drivers.options import EndsOptions, Resources, SearchOptions
from ..drivers.prepared import Batch
from ..drivers.problem import FreeEnds, Problem
from ..engines.batch.scores import FREE_QUERY, path_reach
from ..errors import items
from ..opencl.device import get_runtime, named_apart
from ..planning.plan import Plan
from ..results.pair_paths import as_table
from ..scoring.scoring import made_of
from ..sequences.alphabet import Letters
from ..sequences.sequence import as_sequence
from ..sequences.sequence_set import SequenceSet
from ..sequences.view import View
from ..tiles.contract import Engine
from ..tiles.sweep import sweep
from ..tiles.tile import NO_HITS, Cells, Want
from .align import make_engine
from .many import align_paths
from .search_engine import search_engine

#: Letters of a window at least, and in reaches of paths.
LETTERS, LEAST = 512, 4
#: Windows that are looked at for each place at first, and how many times as many after that: the
#: best ones have a place each, of which some are near a better one.
FIRST, GROWTH = 1.25, 4
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
    as they are.  For each query the best windows are joined, and all cells of the last row are
    looked at, down to the score of the next window, and to its place among equals.  So all better
    ends are known.  Last come the paths."""

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
        bounds = np.cumsum([0, *map(len, queries)])
        text = np.concatenate([*queries, self._target[:0]])
        self._queries = SequenceSet.of(text, bounds[:-1], bounds[1:])
        longest, letters = int(self._queries.lengths.max(initial=0)), len(self._target)
        self._scoring.bounds.check_range(longest, letters, "global")
        self._codes = self._scoring.encode(self._target, "target")
        reach = self._reach(np.array([longest]), options.least)
        before = letters if reach is None else int(reach[0])
        size = max(LETTERS, LEAST * before)
        #: The letters of each window, never more than of the one before it, and its first own one.
        self._start = np.arange(0, max(1, letters - before), size)
        self._stop = np.minimum(self._start + before + size, letters)
        self._first = np.where(self._start > 0, self._start + before, 0)

    def _reach(self, rows: Ints, scores: Any) -> Ints | None:
        return path_reach(self._scoring, rows, scores, False, FREE_QUERY)

    def ends(self) -> list[Cells]:
        """The ends of each query: the best ones that are apart, as score, 0 and target end."""
        given = {**vars(self._options), "sub_score": self._scoring, "min_score": None}
        asked = {"mode": "global", "free_ends": tuple(ANYWHERE), "output": "score"}
        windows = SequenceSet.of(self._target, self._start, self._stop)
        engine = search_engine(made_of(SearchOptions, given | asked), self._resources)
        with closing(engine):
            held, sweeper = engine.hold(windows), make_engine(self._resources)
            scored = engine.scores(self._queries, held, lambda cells: None)
            both = zip(self._queries, scored, strict=True)
            return [self._ends(sweeper, query, scores) for query, scores in both]

    def _ends(self, engine: Engine, query: Letters, scores: Any) -> Cells:
        """Those of a query whose best ``scores`` in windows are known."""
        order, options = np.argsort(-scores, kind="stable"), self._options
        order, take = order[scores[order] >= options.least], int(FIRST * options.k)
        separation = min(options.min_separation, len(self._target))  # no two ends are so far apart
        while True:
            least, known = options.least, len(self._target)
            if take < len(order):  # ends of that window, and of equal ones behind it, are not known
                least, known = int(scores[order[take]]), int(self._first[order[take]])
            cells = self._cells(engine, query, np.sort(order[:take]), least)
            cells = cells[(cells[:, 0] > least) | (cells[:, 2] <= known)]
            kept = apart(cells, options.k, separation)
            if len(kept) == options.k or take >= len(order):
                return kept
            take *= GROWTH

    def _cells(self, engine: Engine, query: Letters, some: Ints, least: int) -> Cells:
        """All ends of a query in some windows, their own, that score at least so much."""
        if not len(some):
            return NO_HITS.some
        parts = [self._codes[self._start[k] : self._stop[k]] for k in some]
        codes, bounds = np.concatenate(parts), np.cumsum([0, *map(len, parts)])
        sides = View(self._scoring.encode(query, "query")), View(codes)
        problem = Problem.of(*sides, self._scoring, "global", ANYWHERE)
        want, shape = Want("last_row", len(codes), least), engine.plan.tile_shape(*problem.shape)
        cells = sweep(engine, problem, problem.edges, want, shape=shape).hits.cells
        at = np.searchsorted(bounds, cells[:, 2]) - 1
        end = cells[:, 2] - bounds[at] + self._start[some[at]]
        own = end > self._first[some[at]]
        return np.stack([cells[own, 0], 0 * end[own], end[own]], axis=1)

    def traced(self, every: list[Cells]) -> NDArray[Any]:
        """The table of queries' ends, in turn."""
        numbers = np.repeat(np.arange(len(every)), [len(ends) for ends in every])
        score, _, end = np.concatenate([NO_HITS.some, *every]).T
        queries = self._queries.take(numbers)
        reach = self._reach(queries.lengths, score)
        start = np.zeros_like(end) if reach is None else np.maximum(0, end - reach)
        batch = Batch(queries, SequenceSet.of(self._target, start, end))
        how: Any = {"mode": "global", "free_ends": (True, False, False, False)}
        how |= {name: getattr(self._resources, name) for name in ("device", "plan")}
        rows = align_paths(batch, sub_score=self._scoring, **how).table()
        assert (rows["score"] * self._scoring.scale == score).all()
        columns = {name: rows[name] for name in rows.dtype.names or ()}
        for side in ("target_start", "target_end"):
            columns[side] = columns[side] + start
        return as_table({"query": numbers, **columns})
