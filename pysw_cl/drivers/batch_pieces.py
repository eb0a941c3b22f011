"""Short queries and long targets: pieces of a target side by side, as pairs of a batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..engines.batch.bounds import path_reach
from .batch_layout import Part
from .batch_results import FIELDS, PATHS, PairResults

if TYPE_CHECKING:
    from .batch import BatchDriver

Ints = NDArray[np.int64]
#: A piece is at least so many times as long as the paths that overlap it.
LEAST = 8
#: Rounds of all lanes that pieces are made for, that they fill at least, and that are computed
#: before the results are taken.
ROUNDS, FULL, AT_ONCE = 4, 2, 16


@dataclass(frozen=True)
class Pieces:
    """The pieces of the targets of a part.  Each has the letters before it that a path to its first
    letter may take, so the best end of a pair is the best one of its pieces: H of no cell is too
    high, and that of cells outside the overlap is right."""

    part: Part
    #: Where the pieces of each pair begin among all, and the letters of its target before each.
    firsts: Ints
    before: Ints

    @classmethod
    def of(cls, part: Part, reach: Ints, size: int) -> Pieces:
        """Pieces of ``size`` letters, with the ``reach`` of each pair's paths before them."""
        counts = -(-part.n.astype(np.int64) // size)
        owner, firsts = np.repeat(np.arange(len(part)), counts), counts.cumsum() - counts
        start = (np.arange(len(owner)) - firsts[owner]) * size
        before = np.maximum(start - reach[owner], 0)
        pairs = part.pairs[owner]
        pairs[:, 2] += before.astype(np.int32)
        pairs[:, 3] = np.minimum(start + size, part.n[owner]) - before
        return cls(Part(np.arange(len(owner)), part.text, pairs), firsts, before)

    def best(self, values: dict[str, NDArray[Any]]) -> NDArray[np.int32]:
        """The best score of each pair and, if there are ends, the row and the column of the first
        one in row-major order (numbers x pairs)."""
        scores = values["score"]
        if "target_end" not in values:
            return np.maximum.reduceat(scores, self.firsts)[None].astype(np.int32)
        row, column = values["query_end"], values["target_end"] + self.before
        owner = np.zeros(len(row), np.int64)
        owner[self.firsts[1:]] = 1
        best = np.lexsort((column, row, -scores, owner.cumsum()))[self.firsts]
        return np.stack([scores[best], row[best], column[best]]).astype(np.int32)


def in_pieces(driver: BatchDriver, part: Part, how: str) -> Part:
    """Compute the pairs of a part that are compared in pieces; returns the others."""
    engine, tuning = driver.engine, driver.tuning
    if not driver.cuts or (driver.scoring.by_position and how in PATHS):
        return part
    chosen = (part.m <= tuning.piece_rows) & (part.cells > tuning.alone_cells)
    if not chosen.any():
        return part
    reach = path_reach(driver.scoring, part.m, None, engine.local, engine.ends)
    if reach is None:
        return part
    lanes = engine.pairs_a_group(driver.least_width) * engine.workers
    most = int(part.n[chosen].sum(dtype=np.int64)) // (ROUNDS * lanes)
    size = max(LEAST * int(reach[chosen].max()), min(tuning.piece_letters, most))
    chosen &= part.n >= 2 * size
    letters = int(part.n[chosen].sum(dtype=np.int64))
    if letters < FULL * lanes * size:
        return part
    some, reach = part.take(chosen), reach[chosen]
    driver._check_letters(some)  # pieces have numbers of their own
    step = max(1, AT_ONCE * lanes * size * len(some) // letters)
    for start in range(0, len(some), step):
        at = slice(start, start + step)
        _compute(driver, some.take(at), reach[at], size, how)
    return part.take(~chosen)


def _compute(driver: BatchDriver, part: Part, reach: Ints, size: int, how: str) -> None:
    """Compute the pairs of a part in pieces."""
    pieces, known = Pieces.of(part, reach, size), driver.found.values
    first = "score" if how == "score" and "target_end" not in known else "ends"
    found = PairResults.empty(len(pieces.part), FIELDS[first])
    found.stats = driver.found.stats
    tuning = replace(driver.tuning, wasted_cells=1 << 50)  # the last lanes may be empty
    beside = type(driver)(driver.engine, driver.scoring, driver.one, lambda *_: None, tuning)
    beside.found, beside.scores = found, np.full(len(pieces.part), -1, np.int32)
    beside._begin(pieces.part, first)
    while beside.under_way:
        beside._finish()
    best = pieces.best(found.values)
    if how in PATHS:
        driver._alone(driver._begin(driver._next(*driver._wanted(part, best), "ends"), how))
        return
    for name, values in zip(FIELDS["ends"], best, strict=False):
        known[name][part.places] = values
    driver.done(part.all_cells, len(part))
