"""Which engine searches: the one place that knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..api.pair_aligner import PairAligner
from ..drivers.options import ManyOptions, Resources, SearchOptions
from ..drivers.prepared import Batch
from ..engines.common import FreeEnd
from ..engines.plans import make_plan
from ..engines.registry import row_of
from ..engines.search.choose import search_engine as made_for
from ..engines.search.contract import Scores, SearchEngine, Subjects
from ..engines.search.together import TogetherSearch
from ..opencl.device import get_runtime
from ..scoring.positions import PositionMatrix
from ..scoring.scoring import made_of
from ..sequences.alphabet import Letters
from ..sequences.sequence_set import SequenceSet


def search_engine(
    options: SearchOptions, resources: Resources, matrix: PositionMatrix | None = None
) -> SearchEngine:
    """The engine for a search, whose query is the position ``matrix`` if there is one; the device
    may be a list of several.  Raises PlanError or DeviceError, perhaps not before it is used."""
    if isinstance(resources.device, list):
        on = partial(replace, resources)
        of = partial(search_engine, options, matrix=matrix)
        return TogetherSearch(resources.device, lambda one: of(on(device=one)))
    pairs = PairSearch(options, resources, matrix)
    if not row_of(resources.plan).batches:
        return pairs
    runtime = get_runtime(resources.device)
    lanes = make_plan(runtime, resources.plan).lanes
    local, ends = options.mode == "local", FreeEnd.of(options.free)
    if resources.kernel_times:
        runtime = runtime.timed()
    return made_for(runtime, lanes, options.scoring.clamped(), local, ends, pairs) or pairs


class PairSearch(SearchEngine):
    """Searches by pairs: each query with every subject."""

    most_letters = 1 << 28

    def __init__(
        self, options: SearchOptions, resources: Resources, matrix: PositionMatrix | None
    ) -> None:
        self._matrix = matrix
        scores = made_of(ManyOptions, {**vars(options), "output": "score", "min_score": None})
        self._pairs, self.cells = PairAligner(scores, resources), Counter()

    def hold(self, subjects: Subjects) -> SequenceSet:
        return SequenceSet.of(subjects.letters, subjects.offsets[:-1], subjects.offsets[1:])

    def scores(
        self, queries: Iterable[Letters], held: Any, done: Callable[[int], None]
    ) -> Iterator[Scores]:
        for query in queries:
            pairs: Any = [(self._matrix, one) for one in held]
            if self._matrix is None:
                starts = np.zeros(len(held), np.int64)
                pairs = Batch(SequenceSet.of(query, starts, starts + len(query)), held)
            told = 0

            def tell(cells: int, _: int) -> None:
                nonlocal told
                done(cells - told)
                told = cells

            found = self._pairs.found(pairs, tell)
            self.cells.update(found.stats.cells)
            yield found.values["score"].astype(np.int32)

    def of(self, query: Letters, subjects: Sequence[Letters]) -> Scores:
        """The scores of a query with some subjects."""
        first = self._matrix or query.tobytes()
        found = self._pairs.found([(first, one.tobytes()) for one in subjects])
        self.cells.update(found.stats.cells)
        return found.values["score"].astype(np.int32)

    def close(self) -> None:
        self._pairs.__exit__()
