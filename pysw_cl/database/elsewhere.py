"""A search on the workers of a cluster: many queries in parts, or of few the scores of one range of
the database after the other, from which the best are chosen here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import chain, islice
from typing import Any

import numpy as np

from ..cluster.parts import EACH, Result, Shared, in_order, part_cells, spans
from ..cluster.workers import Workers
from ..drivers.options import Resources
from ..errors import FormatError
from ..results.stats import Stats
from ..sequences.sequence import Sequence
from ..sequences.view import COMPARED
from .database import Database
from .hits import Hit, Hits, no_hits
from .passes import PART, RESIDENT, Asked, Passes, Tell, finish
from .prefilter import KmerSearch
from .queries import better, on_strands
from .selection import Best

#: Queries that are read before they are cut into parts, and the most letters of a range.
CHUNK, RANGE = 1 << 12, 1 << 28
#: What is known of hits where they are sent to.
KNOWN = {"query", "target", "scoring"}


class WorkerPasses(Passes, AbstractContextManager["WorkerPasses"]):
    """Searches at a worker.  Raises FormatError if this ``db``, a file, is not the client's."""

    def __init__(self, db: Database, digest: str, resources: Resources, asked: Asked) -> None:
        if db.digest != digest:
            raise FormatError(f"{db.path} is another database at a worker")
        super().__init__(db, resources)
        self._asked = asked

    def of_queries(self, queries: list[Sequence]) -> Result:
        """The facts of the hits of queries."""
        source, found, cost = iter(queries), list[Any](), Stats()
        while some := list(islice(source, self._at_once(self._asked))):
            hits, stats = self._pass(some, self._asked)
            found += map(_facts, hits)
            cost.add(stats)
        return found, cost

    def of_range(self, queries: list[Sequence], span: slice) -> Result:
        """The scores of queries with the subjects of a range."""
        engine, options, cost = self._ready(self._asked), self._asked.options, Stats()
        letters, found = on_strands(queries, options.strand), list[Any]()
        scorer = KmerSearch(engine, options, cost) if options.prefilter else engine
        for part in self.db.parts(min(PART, engine.most_letters), span.start, span.stop):
            held = scorer.hold(part)
            scores = better(scorer.scores(letters, held, lambda cells: None), options.strand)
            found.append([one.copy() for one in scores])
            scorer.free(held)
        cost.add(self._cost(engine))
        return [np.concatenate(each) for each in zip(*found, strict=True)], cost

    def of_best(self, queries: list[Sequence], best: list[Best]) -> Result:
        """The facts of the hits of queries whose best scores are known."""
        for one in best:
            one.db = self.db
        hits, cost = self._aligned(queries, best, self._asked)
        return [*map(_facts, hits)], cost


def _facts(hits: Hits) -> list[dict[str, Any]]:
    every = [{k: v for k, v in vars(hit).items() if k not in KNOWN} for hit in hits]
    for facts in every:
        if not facts["stats"].total_cells:
            del facts["stats"]
    return every


class ClusterSearch:
    """Searches by the workers of a cluster; what they cost is added to ``stats``."""

    def __init__(
        self, workers: Workers, db: Database, asked: Asked, resources: Resources, stats: Stats
    ) -> None:
        self._workers, self._db, self._asked, self._stats = workers, db, asked, stats
        how = db.digest, resources.of_worker, asked
        whole = None if db.path is None else lambda: (db.in_memory(), *how)
        self._shared = Shared(WorkerPasses, db, *how, whole=whole)
        #: The cells of each letter of a query.
        self._cells = db.total_letters * len(COMPARED[asked.options.strand])

    def hits(self, queries: Iterator[Sequence], tell: Tell) -> Iterator[Hits]:
        enough = EACH * max(1, self._workers.count())
        first = list(islice(queries, enough))
        task: Any = WorkerPasses.of_queries
        if len(first) == enough:
            asked: Iterator[Any] = ((some, (some,)) for some in self._cut(chain(first, queries)))
        else:
            best, task = self._best(first, tell), WorkerPasses.of_best
            each = zip(first, best, strict=True)
            asked, tell = (([query], ([query], [one])) for query, one in each), lambda cells: None
        options = self._asked.options
        for some, every in self._each(task, asked):
            for query, found in zip(some, every, strict=True):
                hits = no_hits(query, options)
                for facts in found:
                    facts |= {"query": query, "target": self._db[facts["number"]]}
                    hits.append(Hit(scoring=options.scoring, **facts))
                yield hits
            tell(self._cells * sum(map(len, some)))

    def _each(self, task: Any, asked: Iterator[Any]) -> Iterator[Any]:
        for what, take in in_order(self._workers, self._shared, task, asked):
            found, cost = take()
            self._stats.add(cost)
            yield what, found

    def _cut(self, queries: Iterator[Sequence]) -> Iterator[list[Sequence]]:
        most = 1 if self._asked.options.top is None else RESIDENT
        while some := list(islice(queries, CHUNK)):
            lengths = np.array([*map(len, some)])
            cells = part_cells(self._cells * int(lengths.sum()), self._workers)
            limits = (lengths, cells // max(1, self._cells)), (np.ones(len(some)), most)
            yield from (some[span] for span in spans(*limits))

    def _best(self, queries: list[Sequence], tell: Tell) -> list[Best]:
        """The best of all scores of each query."""
        db, (options, _, law), letters = self._db, self._asked, sum(map(len, queries))
        best = [Best(options, db, law, len(query)) for query in queries]
        lengths = db.by_length.lengths[: db.full]
        cells = self._cells // max(1, db.total_letters) * letters  # of a subject's letter
        most = part_cells(cells * db.total_letters, self._workers) // max(1, cells)
        ranges = spans((lengths, min(RANGE, most))) if letters and db.full else ()
        asked = ((span, (queries, span)) for span in ranges)
        for span, scores in self._each(WorkerPasses.of_range, asked):
            for one, found in zip(best, scores, strict=True):
                one.add(found, span.start)
            tell(cells * int(lengths[span].sum()))
        finish(best, queries, options)
        return best
