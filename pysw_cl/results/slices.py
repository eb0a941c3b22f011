"""Some columns of an alignment, with their coordinates and their score."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from .cigar import Runs
from .convert import path_of

if TYPE_CHECKING:
    from .alignment import Alignment


def sliced(found: Alignment, columns: Any) -> Alignment:
    """The columns of a slice, as an Alignment of the same sequences; see
    :meth:`.alignment.Alignment.__getitem__`."""
    from .alignment import Stats

    if not isinstance(columns, slice):
        raise InputError(
            "an Alignment is sliced by columns, as in alignment[10:50]; aligned_pairs() has the "
            "positions of each column"
        )
    runs = path_of(found)
    try:
        start, stop, step = columns.indices(int(runs.lengths.sum()))
    except (TypeError, ValueError) as error:
        raise InputError(f"columns are sliced with whole numbers: {error}") from None
    if step != 1:
        raise InputError(f"columns are sliced with a step of 1, not {step}")
    stop = max(start, stop)
    before, runs = cut(runs, 0, start), cut(runs, start, stop)
    assert found.query_start is not None and found.query_end is not None
    assert found.target_start is not None
    skipped, taken = before.count("=XMI"), runs.count("=XMI")
    if found.strand == "minus":
        query_end = found.query_end - skipped
        query_start = query_end - taken
    else:
        query_start = found.query_start + skipped
        query_end = query_start + taken
    target_start = found.target_start + before.count("=XMD")
    made = replace(
        found,
        query_start=query_start,
        query_end=query_end,
        target_start=target_start,
        target_end=target_start + runs.count("=XMD"),
        runs=runs,
        stats=Stats(),
        tiles=None,
        second_best=None,
    )
    return replace(made, score=made.rescore())


def cut(runs: Runs, start: int, stop: int) -> Runs:
    """The runs of the columns from ``start`` up to ``stop``; no run if there are none."""
    if start == stop:
        return Runs(runs.ops[:0], runs.lengths[:0])
    ends = runs.lengths.cumsum()
    starts = ends - runs.lengths
    first, last = np.searchsorted(ends, start, "right"), np.searchsorted(starts, stop, "left")
    chosen = slice(int(first), int(last))
    lengths = np.minimum(ends[chosen], stop) - np.maximum(starts[chosen], start)
    return Runs(runs.ops[chosen], lengths)
