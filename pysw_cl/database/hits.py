"""Hits: which sequences of a database are the best, as the scores of one part after the other come
in, and what is found out about these, many pairs at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..api.pair_aligner import PairAligner
from ..drivers.options import ManyOptions, Resources, SearchOptions
from ..errors import InternalError
from ..results.alignment import Alignment
from ..results.formats.columns import TableRows
from ..results.pair_paths import as_table
from ..results.stats import Stats
from ..scoring.positions import PositionMatrix
from ..scoring.scoring import made_of
from ..sequences.sequence import Sequence
from .database import Database

Ints = NDArray[np.int64]
#: Scores by which the others are chosen that are sorted.
SAMPLE = 1 << 14


@dataclass(frozen=True, eq=False, repr=False)
class Hit(Alignment):
    """The `Alignment` of a query with a sequence of a database, ``db[hit.number]``."""

    number: int = -1


class Hits(list[Hit]):
    """The hits of a ``query``, a `Sequence`: the highest score first, among equals the first one in
    the source of the database."""

    def __init__(self, query: Sequence, hits: Iterable[Hit] = ()) -> None:
        super().__init__(hits)
        self.query = query


class Best:
    """The hits that score ``least``, and with ``top`` are among so many best ones: the highest
    score first, then the first one in the source; with ``ties`` all that score as much as the last
    of these, too.  ``records``: the places in the source of some ranks.

    What is kept does not depend on the parts, nor on their order."""

    def __init__(
        self, least: int, top: int | None, ties: bool, records: Callable[[Ints], Ints]
    ) -> None:
        self._least, self._top, self._ties, self._of = least, top, ties, records
        self.scores, self.ranks, self.records = (np.zeros(0, np.int64) for _ in range(3))

    def add(self, scores: NDArray[np.integer[Any]], first: int) -> None:
        """The scores of subjects from the rank ``first`` on."""
        least, top = self._least, self._top
        if top is not None and len(scores) > top:  # the longest ones tell what most cannot reach
            some = scores[: max(4 * top, SAMPLE)]
            least = max(least, int(np.partition(some, len(some) - top)[-top]))
        at = np.flatnonzero(scores >= least)
        if not len(at):
            return
        ranks = first + at
        new = scores[at].astype(np.int64), ranks, self._of(ranks)
        old = self.scores, self.ranks, self.records
        every = [np.concatenate(pair) for pair in zip(old, new, strict=True)]
        order = np.lexsort((every[2], -every[0]))
        if top is not None and len(order) >= top:
            self._least = int(every[0][order[top - 1]])
            equal = np.count_nonzero(every[0] >= self._least)
            order = order[: equal if self._ties else top]
        self.scores, self.ranks, self.records = (column[order] for column in every)


class HitAligner:
    """Finds the ends or the paths of hits on a device, whose memory it keeps until `close`."""

    def __init__(self, options: SearchOptions, resources: Resources) -> None:
        self._options = options
        self._common: dict[str, Any] = {"mode": options.mode, "scoring": options.scoring}
        self._common["free_ends"] = options.free
        asked = made_of(ManyOptions, {**vars(options), "min_score": None})
        self._pairs = PairAligner(asked, replace(resources, progress=None))

    def close(self) -> None:
        """Free the device's memory."""
        self._pairs.__exit__()

    def hits(
        self,
        db: Database,
        queries: list[Sequence],
        best: list[Best],
        matrix: PositionMatrix | None = None,
    ) -> tuple[list[Hits], Stats]:
        """The hits of each query, whose scores are known, and what they cost.  ``matrix``: it
        stands in the place of all queries."""
        every = list(zip(queries, best, strict=True))
        targets = {rank: db.sequence(rank) for one in best for rank in one.ranks.tolist()}
        pairs = [(query, targets[rank]) for query, one in every for rank in one.ranks.tolist()]
        table, stats = self._table(pairs, np.concatenate([one.scores for one in best]), matrix)
        rows = iter(TableRows(pairs, table, self._common))
        found = list[Hits]()
        for query, one in every:
            own = zip(one.records.tolist(), rows, strict=False)
            found.append(Hits(query, (Hit(**vars(row.alignment()), number=k) for k, row in own)))
        return found, stats

    def _table(
        self,
        pairs: list[tuple[Sequence, Sequence]],
        scores: Ints,
        matrix: PositionMatrix | None,
    ) -> tuple[NDArray[Any], Stats]:
        """The rows of pairs with these scores, and what they cost."""
        scale = self._options.scoring.scale
        units = scores if scale == 1 else scores / scale
        if self._options.output == "score":
            return as_table({"score": units}), Stats()
        full = np.array([len(target) > 0 for _, target in pairs], np.bool_)
        some = [(matrix or pairs[k][0], pairs[k][1]) for k in np.flatnonzero(full).tolist()]
        found, stats = self._pairs.align(some, scores=scores[full])
        wrong = np.flatnonzero(full)[found["score"] != units[full]]
        if len(wrong):
            query, target = pairs[int(wrong[0])]
            said = f"{query.name!r} with {target.name!r} scores {units[wrong[0]]} in the search"
            raise InternalError(f"{said}, and otherwise when they are compared alone")
        table = np.zeros(len(pairs), found.dtype)
        table[full] = found
        for k in np.flatnonzero(~full).tolist():
            row = self._empty(len(pairs[k][0]), units[k])
            table[k] = tuple(row[name] for name in found.dtype.names or ())
        return table, stats

    def _empty(self, m: int, score: Any) -> dict[str, Any]:
        """The row with a target without letters: ``m`` query letters in a gap, or outside."""
        options, start, end, cigar = self._options, 0, 0, ""
        if options.mode == "global" and not options.free.trail_target:
            end = m
            start, cigar = (m, "") if options.free.lead_target else (0, f"{m}I")
        row = {"score": score, "query_start": start, "query_end": end, "cigar": cigar}
        return {**row, "target_start": 0, "target_end": 0, "matches": 0, "columns": end - start}


def score_of_empty(m: int, options: SearchOptions) -> int:
    """What a query of ``m`` letters scores with a sequence without letters."""
    if options.mode == "local" or options.free.lead_target or options.free.trail_target:
        return 0
    return -(options.scoring.gap_open + options.scoring.gap_extend * m)
