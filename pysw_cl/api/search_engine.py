"""Which engine searches: the one place that knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..drivers.options import ManyOptions, Resources, SearchOptions
from ..drivers.prepared import Batch
from ..engines.common import FreeEnd
from ..engines.plans import make_plan
from ..engines.registry import row_of
from ..engines.search.contract import Pairs, Scores, SearchEngine
from ..engines.search.mixed import MixedSearch, mixes
from ..engines.search.pieces import InPieces
from ..engines.search.together import TogetherSearch
from ..engines.search.vector import VectorSearch, searchable
from ..opencl.device import get_runtime
from ..planning.lane_sets import LANE_SETS
from ..scoring.positions import PositionMatrix
from ..scoring.scoring import made_of
from ..sequences.alphabet import Letters
from ..sequences.sequence_set import SequenceSet
from .pair_aligner import PairAligner


def search_engine(
    options: SearchOptions, resources: Resources, matrix: PositionMatrix | None = None
) -> SearchEngine:
    """The engine for a search, whose query is the position ``matrix`` if there is one; the device
    may be a list of several.  Raises PlanError or DeviceError, perhaps not before it is used."""
    if isinstance(resources.device, list):
        made = partial(search_engine, options, matrix=matrix)
        return TogetherSearch(resources.device, lambda one: made(replace(resources, device=one)))
    pairs = PairSearch(options, resources, matrix)
    if not row_of(resources.plan).batches:
        return pairs
    runtime = get_runtime(resources.device)
    lanes, scoring = make_plan(runtime, resources.plan).lanes, options.scoring.clamped()
    row, local = LANE_SETS[lanes], options.mode == "local"
    if resources.kernel_times:
        runtime = runtime.timed()
    if row.mixed is not None and local and mixes(scoring):
        return InPieces(MixedSearch(runtime, scoring, pairs), scoring, True, 0)
    if row.pairs.items == 1 and searchable(scoring):
        ends = FreeEnd.of(options.free)
        vector = VectorSearch(runtime, lanes, scoring, local, ends, pairs)
        return InPieces(vector, scoring, local, ends)
    return pairs


class PairSearch(Pairs):
    """Searches by pairs: each query with every subject."""

    most_letters = 1 << 28

    def __init__(
        self, options: SearchOptions, resources: Resources, matrix: PositionMatrix | None
    ) -> None:
        self._matrix = matrix
        own = {"output": "score", "min_score": None, "strand": "plus"}  # strands are queries here
        scores = made_of(ManyOptions, vars(options) | own)
        self._pairs, self.cells = PairAligner(scores, resources), Counter()

    def scores(
        self, queries: Iterable[Letters], held: Any, done: Callable[[int], None]
    ) -> Iterator[Scores]:
        for query in queries:
            told = 0

            def tell(cells: int, _: int) -> None:
                nonlocal told
                done(cells - told)
                told = cells

            yield self.of(query, held, tell)

    def of(
        self, query: Letters, subjects: SequenceSet, tell: Callable[[int, int], None] | None = None
    ) -> Scores:
        """See `Pairs`; ``tell`` as `PairAligner.found` takes it."""
        if self._matrix is None:
            starts = np.zeros(len(subjects), np.int64)
            pairs: Any = Batch(SequenceSet.of(query, starts, starts + len(query)), subjects)
            pairs.again = False
        else:
            pairs = [(self._matrix, one) for one in subjects]
        found = self._pairs.found(pairs, tell)
        self.cells.update(found.stats.cells)
        return found.values["score"].astype(np.int32)

    def close(self) -> None:
        self._pairs.__exit__()
