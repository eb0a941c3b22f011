"""Guesses from shared k-mers which strand of a query has the better alignment.

The guess only decides which strand is searched first.  The result is the same in either order
(:func:`pysw_cl.api.align`); in the better order the first score prunes most of the second search.
"""

from __future__ import annotations

import numpy as np

from .coordinates import Frame
from .kmers import sampled

#: About the most k-mers that are sampled from the shorter and from the longer sequence.
SAMPLES, MOST_SAMPLES = 1 << 16, 1 << 22
#: At most one k-mer in 2**LEAST_BITS is sampled.
LEAST_BITS = 3


def likely_minus(frame: Frame, least_cells: int) -> bool:
    """Whether the reverse complement of the query shares more k-mers with the target than the
    query does.

    Takes time linear in both lengths.  False for pairs of fewer than ``least_cells`` cells, without
    a look at them.
    """
    (query, target), (m, n) = frame.compared, frame.shape
    if m * n < least_cells:
        return False
    bits = max(
        LEAST_BITS, (min(m, n) // SAMPLES).bit_length(), (max(m, n) // MOST_SAMPLES).bit_length()
    )
    here, there = sampled(query, bits), sampled(target, bits).words
    plus, minus = (len(np.intersect1d(one, there)) for one in (here.words, here.complements))
    return minus > plus
