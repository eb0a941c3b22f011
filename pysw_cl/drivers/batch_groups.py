"""Which pairs are computed together: groups of similar lengths, pairs that are better aligned
alone, and pieces of long targets side by side, as pairs of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..planning.parameters import PairTuning
from .batch_layout import Lengths, Part
from .batch_results import PairResults

#: A piece is at least so many times as long as the paths that overlap it.
LEAST = 8
#: Rounds of all lanes that pieces are made for, that they fill at least, and that are computed
#: before the results are taken.
ROUNDS, FULL, AT_ONCE = 4, 2, 16


def in_order(part: Part, lanes: int) -> Part:
    """The pairs in an order that gives each group of ``lanes`` pairs similar lengths, long ones
    first.

    Pairs sorted by target length are cut into runs; a run has about as many groups as there are
    runs.  Each run is sorted by query length.
    """

    def made() -> Part:
        m, n = part.m, part.n
        if len(part) <= lanes or (m.min() == m.max() and n.min() == n.max()):
            return part
        if max(m.max(), n.max()) < 1 << 16:
            m, n = m.astype(np.uint16), n.astype(np.uint16)  # for these sorting is by radix
        run = lanes * max(1, round((-(-len(part) // lanes)) ** 0.5))
        by_n = np.argsort(~n, kind="stable")
        number = np.empty(len(part), np.uint16)
        number[by_n] = np.arange(len(part)) // run
        by_m = np.argsort(~m, kind="stable")
        return part.take(by_m[np.argsort(number[by_m], kind="stable")])

    return part.once(("order", lanes), made)


def lonely(part: Part, cells: int, mates: int, lane_cells: float = 0) -> NDArray[np.bool_]:
    """Which pairs have more than ``cells`` cells and fewer than ``mates`` other pairs at least half
    as large?  One for each ``lane_cells`` of their cells is enough, too."""
    found: Lengths = part.cells
    if not len(found) or found.max() <= cells:
        return np.zeros(len(found), np.bool_)
    ordered = np.sort(found)
    as_large = len(found) - np.searchsorted(ordered, (found + 1) // 2) - 1
    enough = np.minimum(mates, found / lane_cells) if lane_cells else mates
    return np.asarray((found > cells) & (as_large < enough))


@dataclass(frozen=True)
class Pieces:
    """The pieces of the targets of the pairs ``whole``.  Each has the letters before it that a path
    to its first letter may take, so the best end of a pair is the best one of its pieces: H of no
    cell is too high, and that of cells outside the overlap is right."""

    whole: Part
    part: Part
    #: Where the pieces of each pair begin among all, and the letters of its target before each.
    firsts: Lengths
    before: Lengths

    @classmethod
    def of(cls, whole: Part, reach: Lengths, size: int) -> Pieces:
        """Pieces of ``size`` letters, with the ``reach`` of each pair's paths before them."""
        counts = -(-whole.n.astype(np.int64) // size)
        owner, firsts = np.repeat(np.arange(len(whole)), counts), counts.cumsum() - counts
        start = (np.arange(len(owner)) - firsts[owner]) * size
        before = np.maximum(start - reach[owner], 0)
        pairs = whole.pairs[owner]
        pairs[:, 2] += before.astype(np.int32)
        pairs[:, 3] = np.minimum(start + size, whole.n[owner]) - before
        return cls(whole, Part(np.arange(len(owner)), whole.text, pairs), firsts, before)

    def best(self, found: PairResults) -> NDArray[np.int32]:
        """The best score of each pair and, if there are ends, the row and the column of the first
        one in row-major order (numbers x pairs); ``found``: those of the pieces."""
        values = found.values
        scores = values["score"]
        if "target_end" not in values:
            return np.maximum.reduceat(scores, self.firsts)[None].astype(np.int32)
        row, column = values["query_end"], values["target_end"] + self.before
        owner = np.zeros(len(row), np.int64)
        owner[self.firsts[1:]] = 1
        best = np.lexsort((column, row, -scores, owner.cumsum()))[self.firsts]
        return np.stack([scores[best], row[best], column[best]]).astype(np.int32)


def in_pieces(
    part: Part, reach: Lengths | None, tuning: PairTuning, lanes: int
) -> tuple[NDArray[np.bool_], Iterator[Pieces]] | None:
    """Which pairs are compared in pieces, on so many ``lanes`` of the device, and the pieces of
    some of them at a time; None: no pair is.  ``reach``: that of the paths of each pair; None:
    nothing bounds it."""
    chosen = (part.m <= tuning.piece_rows) & (part.cells > tuning.alone_cells)
    if reach is None or not chosen.any():
        return None
    most = int(part.n[chosen].sum(dtype=np.int64)) // (ROUNDS * lanes)
    size = max(LEAST * int(reach[chosen].max()), min(tuning.piece_letters, most))
    chosen &= part.n >= 2 * size
    some, letters = part.take(chosen), int(part.n[chosen].sum(dtype=np.int64))
    if letters < FULL * lanes * size or not len(some):
        return None
    step, own = max(1, AT_ONCE * lanes * size * len(some) // letters), reach[chosen]
    each = (slice(start, start + step) for start in range(0, len(some), step))
    return chosen, (Pieces.of(some.take(at), own[at], size) for at in each)
