"""Many pairs on the minus strand: the queries' reverse complements, and coordinates as given.

A batch knows no strands.  The query of a pair on the minus strand is turned before the batch, and
the coordinates that the batch gives are turned back.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..sequences.alphabet import COMPLEMENT
from .batch_layout import Part
from .batch_results import UNKNOWN, PairResults

#: For each pair: is its query on the minus strand?
Minus = NDArray[np.bool_]


def turned(part: Part, minus: Minus) -> Part:
    """The part with the reverse complements of the queries that are on the ``minus`` strand (a
    value for each pair of the part).  They follow the other letters, which pairs may share."""
    if not minus.any():
        return part
    starts, lengths = (part.pairs[minus, k].astype(np.int64) for k in (0, 1))
    firsts = np.cumsum(lengths) - lengths  # of each query among the letters that are turned
    inside = np.arange(lengths.sum()) - np.repeat(firsts, lengths)
    backward = np.repeat(starts + lengths - 1, lengths) - inside
    pairs = part.pairs.copy()
    pairs[minus, 0] = len(part.text) + firsts
    text = np.concatenate([part.text, COMPLEMENT[part.text[backward]]])
    return replace(part, text=text, pairs=pairs, kept=None)


def ends_on(plus: PairResults, minus: PairResults, chosen: Minus) -> NDArray[np.int32]:
    """Scores, and rows and columns of ends (3 x n): of the ``chosen`` pairs on the minus strand,
    there along the turned query.  A column below 0 is unknown."""
    score, row, column = (
        np.where(chosen, minus.values[name], plus.values[name])
        for name in ("score", "query_end", "target_end")
    )
    turned_row = plus.query_lengths - minus.values["query_start"]
    return np.stack([score, np.where(chosen, turned_row, row), column]).astype(np.int32)


def turn_back(found: PairResults, chosen: Minus) -> None:
    """Count the query coordinates of the ``chosen`` pairs in the letters as given.

    They are ends along the turned query, so start and end change places.  An end without a start
    ("ends") becomes the start, and the end is unknown."""
    values, length = found.values, found.query_lengths[chosen]
    if "query_end" not in values:
        return
    end = length - values["query_end"][chosen]
    if "query_start" in values:
        start = values["query_start"][chosen]
        values["query_end"][chosen] = np.where(start == UNKNOWN, UNKNOWN, length - start)
        values["query_start"][chosen] = end
