"""Which engine a search has."""

from __future__ import annotations

from ...opencl.device import Runtime
from ...planning.lane_sets import LANE_SETS
from ...scoring.scoring import Scoring
from .contract import Pairs, SearchEngine
from .mixed import MixedSearch, mixes
from .vector import VectorSearch, searchable


def search_engine(
    runtime: Runtime, lanes: str, scoring: Scoring, local: bool, ends: int, pairs: Pairs
) -> SearchEngine | None:
    """The engine for a plan's ``lanes``; None if all subjects are compared pair by pair.

    ``scoring``: a clamped one.  ``ends``: the free ends as bits (`FreeEnd`)."""
    row = LANE_SETS[lanes]
    if row.mixed is not None and local and mixes(scoring):
        return MixedSearch(runtime, scoring, pairs)
    if row.pairs.items == 1 and searchable(scoring):
        return VectorSearch(runtime, lanes, scoring, local, ends, pairs)
    return None
