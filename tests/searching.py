"""What tests of the search engines share: engines on the CPU's device, and scores by parasail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import parasail
from numpy.typing import NDArray

from pysw_cl.engines.common import FreeEnd
from pysw_cl.engines.search.contract import SearchEngine
from pysw_cl.engines.search.mixed import MixedSearch
from pysw_cl.engines.search.vector import VectorSearch
from pysw_cl.opencl.device import Runtime, get_runtime
from pysw_cl.scoring.scoring import Scoring
from pysw_cl.sequences.sequence_set import SequenceSet

Letters = NDArray[np.uint8]
#: Free ends as bits, and parasail's functions for them.
FREE_ENDS = {
    FreeEnd(0): "nw",
    FreeEnd.LEAD_QUERY | FreeEnd.TRAIL_QUERY: "sg_dx",
    FreeEnd.LEAD_TARGET | FreeEnd.TRAIL_TARGET: "sg_qx",
    FreeEnd.LEAD_QUERY | FreeEnd.TRAIL_TARGET: "sg_qe_db",
    FreeEnd(15): "sg",
}
#: Where both sequences may be left out for nothing.  parasail looks for no end on the border.
GAPS_ALONE = {"sg", "sg_qe_db"}


def letters(text: str) -> Letters:
    return np.frombuffer(text.encode(), np.uint8)


def subjects_of(sequences: Sequence[Letters]) -> SequenceSet:
    """The part of a database that has these, which are sorted."""
    ordered = sorted(sequences, key=len, reverse=True)
    ends = np.cumsum(list(map(len, ordered)), dtype=np.int64)
    return SequenceSet.of(np.concatenate(ordered), ends - list(map(len, ordered)), ends)


def expected(
    query: Letters, subjects: Sequence[Letters], scoring: Scoring, function: str = "sw"
) -> NDArray[np.int32]:
    """Scores by parasail, whose scan kernels have no known faults."""
    matrix = parasail.matrix_create("".join(scoring.letters), 0, 0)
    codes = scoring.query_encoding[letters(scoring.letters)]
    for q, one in enumerate(codes):
        for t, other in enumerate(scoring.target_encoding[letters(scoring.letters)]):
            matrix[q, t] = int(scoring.matrix[one, other])
    first, extend = scoring.gap_open + scoring.gap_extend, scoring.gap_extend
    align = getattr(parasail, f"{function}_scan_32")
    text = query.tobytes().decode()
    found = [align(text, one.tobytes().decode(), first, extend, matrix).score for one in subjects]
    if function in GAPS_ALONE:
        found = [max(one, 0) for one in found]
    return np.array(found, np.int32)


class Counted:
    """Scores of pairs by parasail, which counts them."""

    def __init__(self, scoring: Scoring) -> None:
        self.scoring, self.pairs, self.cells = scoring, 0, Counter[str]()

    def of(self, query: Letters, subjects: Sequence[Letters]) -> NDArray[np.int32]:
        self.pairs += len(subjects)
        return expected(query, subjects, self.scoring)

    def close(self) -> None:
        pass


def without_shuffles() -> Runtime:
    """The CPU's device, where work-items hand each other values through local memory."""
    runtime = get_runtime("cpu")
    traits = replace(runtime.traits, build_options="-DSHUFFLES=0")
    return runtime._with(traits=traits, programs={}, _facts=None)


def vector(scoring: Scoring, ends: FreeEnd | None = None, pairs: Any = None) -> VectorSearch:
    """``ends`` None: local."""
    given = scoring.clamped(), ends is None, int(ends or 0), pairs or Counted(scoring)
    return VectorSearch(get_runtime("cpu"), "vector", *given)


def mixed(scoring: Scoring, pairs: Any = None) -> MixedSearch:
    return MixedSearch(without_shuffles(), scoring.clamped(), pairs or Counted(scoring))


def scores(
    engine: SearchEngine, queries: Sequence[Letters], subjects: SequenceSet
) -> list[NDArray[np.int32]]:
    """The scores of each query; all cells are counted."""
    done: list[int] = []
    held = engine.hold(subjects)
    found = [one.copy() for one in engine.scores(queries, held, done.append)]
    assert sum(done) == sum(map(len, queries)) * len(subjects.letters)
    engine.free(held)
    engine.close()
    return found
