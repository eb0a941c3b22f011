"""Passes of queries over a database, which stays on the devices if there is room."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ..api.search_engine import search_engine
from ..drivers.options import Resources, SearchOptions
from ..engines.search.contract import SearchEngine
from ..opencl.several import devices_of
from ..results.stats import Stats
from ..scoring.positions import PositionMatrix
from ..scoring.scoring import Scoring
from ..scoring.statistics.law import ScoreStatistics
from ..sequences.sequence import Sequence
from .database import Database
from .hits import HitAligner, Hits
from .prefilter import LEFT_OUT, KmerSearch
from .queries import better, on_strands
from .selection import Best

#: Called with more cells that are computed.
Tell = Callable[[int], None]
#: Queries of one pass over a database that stays on the device, if not all hits are kept, and over
#: one that is read for each pass.
RESIDENT, STREAMED = 64, 4096
#: Scores of a pass that are kept, where E-values come from all of them.
GATHERED = 1 << 28
#: The most letters of a part of the database that stays.
PART = 1 << 29


class Asked(NamedTuple):
    """What is asked about the queries of a pass: ``matrix`` is that of the only one, if it has one;
    ``law``: what E-values follow."""

    options: SearchOptions
    matrix: PositionMatrix | None
    law: ScoreStatistics | None


class Passes:
    """Searches in a database, on one or several devices, whose memory is kept until `close`.  One
    thread at a time uses it."""

    def __init__(self, db: Database, resources: Resources) -> None:
        self.db, self._resources = db, resources
        self._devices = [] if resources.cluster is not None else devices_of(resources.device)
        self._engine: SearchEngine | None = None
        self._engine_of: Scoring | None = None
        #: The parts of the database that stay on the device: the first rank of each, and the part.
        self._held: list[tuple[int, Any]] = []
        self._aligners: dict[tuple[str, int], HitAligner] = {}

    def _free(self) -> None:
        if self._engine is not None:
            self._engine.close()
        for one in self._aligners.values():
            one.close()
        self._engine, self._held, self._aligners = None, [], {}

    def __exit__(self, *_: object) -> None:
        self._free()

    def _ready(self, asked: Asked) -> SearchEngine:
        """The engine, which is made for each scoring."""
        if self._engine is None or self._engine_of is not asked.options.scoring:
            self._free()
            device = self._devices if len(self._devices) > 1 else self._devices[0]
            self._engine_of = asked.options.scoring
            resources = replace(self._resources, device=device)
            self._engine = search_engine(asked.options, resources, asked.matrix)
        return self._engine

    def _at_once(self, asked: Asked) -> int:
        """How many queries share a pass."""
        options = asked.options
        keeps_all = options.evalues == "library" or options.chosen  # until the last one is there
        many = GATHERED // max(1, len(self.db)) if keeps_all else STREAMED
        if self.db.total_letters > self._ready(asked).most_letters:
            return max(1, min(many, STREAMED))
        return 1 if options.top is None else max(1, min(many, RESIDENT))

    def _pass(
        self, queries: list[Sequence], asked: Asked, tell: Tell = lambda cells: None
    ) -> tuple[list[Hits], Stats]:
        """The hits of the queries of a pass, and what they cost."""
        options, law = asked.options, asked.law
        started, engine, db = perf_counter(), self._ready(asked), self.db
        best = [Best(options, db, law, len(query)) for query in queries]
        letters, failed, own = on_strands(queries, options.strand), len(engine.failed), Stats()
        try:
            stay = db.total_letters <= engine.most_letters
            scorer = KmerSearch(engine, options, own) if options.prefilter else engine
            parts = self._parts(scorer, stay, self._held if scorer is engine else [])
            part = next(parts, None)
            while part is not None:
                first, held = part
                scores = scorer.scores(letters, held, tell)
                part = next(parts, None)  # it is sent while the first queries are computed
                for one, found in zip(best, better(scores, options.strand), strict=True):
                    one.add(found, first)
            while self._held and not stay:
                engine.free(self._held.pop()[1])
            finish(best, queries, options)
            hits, stats = self._aligned(queries, best, asked)
        except BaseException:
            self._free()
            raise
        stats.add(self._cost(engine, failed))
        stats.add(own)
        stats.seconds = perf_counter() - started
        return hits, stats

    def _cost(self, engine: SearchEngine, failed: int = 0) -> Stats:
        cost = Stats(dict(engine.cells), failed=[one.info.name for one in engine.failed[failed:]])
        engine.cells.clear()
        return cost

    def _aligned(
        self, queries: list[Sequence], best: list[Best], asked: Asked
    ) -> tuple[list[Hits], Stats]:
        """The hits of queries whose best scores are known, and what they cost."""
        options, failed = asked.options, self._ready(asked).failed
        device = next(one for one in self._devices if one not in failed)
        if (key := (options.output, id(device))) not in self._aligners:
            self._aligners[key] = HitAligner(options, replace(self._resources, device=device))
        return self._aligners[key].hits(self.db, queries, best, options, asked.matrix)

    def _parts(
        self, engine: SearchEngine, stay: bool, held: list[tuple[int, Any]]
    ) -> Iterator[tuple[int, Any]]:
        """The parts of the database on the device, each with its first rank.  If they do not stay,
        there are two at a time.  ``held``: those that are there."""
        first = 0
        yield from held
        for part in () if held else self.db.parts(PART if stay else engine.most_letters // 2):
            if not stay and len(held) == 2:
                engine.free(held.pop(0)[1])
            held.append((first, engine.hold(part)))
            first += len(part)
            yield held[-1]


def finish(best: list[Best], queries: list[Sequence], options: SearchOptions) -> None:
    """All scores of the queries are there but those with empty subjects."""
    free = options.mode == "local" or options.free.lead_target or options.free.trail_target
    for query, one in zip(queries, best, strict=True):
        gap = 0 if free else options.scoring.gap_open + options.scoring.gap_extend * len(query)
        empty = LEFT_OUT if options.prefilter else -gap
        one.add(np.full(len(one.db) - one.db.full, empty), one.db.full)
        one.finish()
