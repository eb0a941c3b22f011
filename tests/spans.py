"""Checks of what is noted of a run with ``timeline=True``."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from pysw_cl.results.alignment import Alignment


def check(found: Alignment, strands: int | None = 1, apart: bool = False) -> set[str]:
    """The devices of spans that lie inside the call and, if nothing was pruned, cover the matrix of
    each of the ``strands`` once (None: parts of it several times).  ``apart``: those of one device
    do not overlap."""
    stats = found.stats
    computed = np.zeros((len(found.query), len(found.target)), np.int64)
    for span in stats.spans:
        assert 0 <= span.begin <= span.end <= stats.seconds, span
        assert span.what in ("sweep", "path") and (span.area is None) == (span.what == "path")
        if span.area is not None:
            row, row_end, column, column_end = span.area
            computed[row:row_end, column:column_end] += 1
    if strands is not None:
        assert (computed <= strands).all()
        assert stats.pruned or (computed == strands).all()
    devices = {span.device for span in stats.spans}
    for name in devices if apart else ():
        own = sorted((span.begin, span.end) for span in stats.spans if span.device == name)
        assert all(one[1] <= other[0] for one, other in pairwise(own))
    return devices
