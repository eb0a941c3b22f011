"""Hits: the best sequences of a database, and what is found out about them, many pairs at once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..api.pair_aligner import PairAligner
from ..api.top import align_top_with
from ..drivers.options import ManyOptions, Resources, SearchOptions, TopOptions
from ..errors import InternalError
from ..results import search_plot
from ..results.aligned_pair import NO_TARGET, AlignedPair
from ..results.alignment import Alignment
from ..results.cigar import Runs
from ..results.formats.columns import TableRows
from ..results.pair_paths import as_table
from ..results.stats import Stats
from ..scoring.positions import PositionMatrix
from ..scoring.scoring import made_of
from ..sequences.sequence import Sequence
from ..sequences.view import COMPARED, PLACES
from .database import Database
from .places import further_places
from .prefilter import heuristic_of
from .selection import Best, Ints


@dataclass(frozen=True, eq=False, repr=False)
class Hit(Alignment):
    """The `Alignment` of a query with a sequence of a database, ``db[hit.number]``."""

    number: int = -1


class Hits(list[Hit]):
    """The hits of a ``query``, a `Sequence`: the lowest E-value first, or the highest score where
    there are none, and among equals the first one in the source of the database."""

    def __init__(self, query: Sequence, hits: Iterable[Hit] = (), nothing: Any = None) -> None:
        super().__init__(hits)
        #: ``nothing`` is an alignment that stands in files for no hit.
        self.query, self.nothing = query, nothing

    def plot(self, path: str | os.PathLike[str] | None = None, *, ax: Any = None) -> Any:
        """Draw hits with paths as bars along the query; the arguments are `Alignment.plot`'s."""
        return search_plot.plot([self], path, ax)


#: Candidates that are aligned beside those that are wanted, where some may not be chosen.
MORE = 4


class HitAligner:
    """Finds the ends or the paths of hits on a device, whose memory it keeps until `close`."""

    def __init__(self, options: SearchOptions, resources: Resources) -> None:
        self._resources = replace(resources, progress=None)
        asked = {**vars(options), "min_score": None}
        #: What aligns pairs, on each strand.
        self._pairs = {
            one: PairAligner(made_of(ManyOptions, asked | {"strand": one}), self._resources)
            for one in {options.strand, *COMPARED[options.strand]}
        }

    def close(self) -> None:
        for pairs in self._pairs.values():
            pairs.__exit__()

    def hits(
        self,
        db: Database,
        queries: list[Sequence],
        best: list[Best],
        options: SearchOptions,
        matrix: PositionMatrix | None = None,
    ) -> tuple[list[Hits], Stats]:
        """The hits of each query, whose scores are known, and what they cost.  ``options`` differ
        from those before in what hits are chosen by.  ``matrix``: in the place of all queries."""
        self._options, self._matrix, self._cost = options, matrix, Stats()
        self._common, self._top = _common(options), options.top if options.chosen else None
        found = [no_hits(query, options) for query in queries]
        left, span = [*range(len(queries))], slice(0, 0)
        count = len(db) if self._top is None else self._top + MORE
        while left:
            span, count = slice(span.stop, span.stop + count), 2 * count
            for k in left:
                best[k].first(span.stop + 1)
            some = self._aligned(db, [(queries[k], best[k]) for k in left], span)
            each = zip(left, some, strict=True)
            left = [k for k, own in each if self._take(own, found[k], best[k], span)]
        if options.alignments > 1:
            for own, one in zip(found, best, strict=True):
                own[:] = [each for hit in own for each in self._apart(hit, one)]
        return found, self._cost

    def _aligned(self, db: Database, some: list[tuple[Sequence, Best]], span: slice) -> list[Hits]:
        """The hits of queries in this span of those that are the best by their scores."""
        targets = {rank: db.sequence(rank) for _, one in some for rank in one.ranks[span].tolist()}
        pairs = [(query, targets[rank]) for query, one in some for rank in one.ranks[span].tolist()]
        table = self._table(pairs, np.concatenate([one.scores[span] for _, one in some]))
        rows, found = iter(TableRows(pairs, table, self._common)), list[Hits]()
        for query, one in some:
            said = one.meaning(one.keys[span], one.scores[span])
            own = zip(said, one.records[span].tolist(), rows, strict=False)
            made = ({**vars(row.alignment()), **facts, "number": k} for facts, k, row in own)
            found.append(Hits(query, (Hit(**facts) for facts in made)))
        return found

    def _take(self, some: Hits, found: Hits, one: Best, span: slice) -> bool:
        """Add those of ``some`` hits, in a span of all, that are chosen by their alignments, too.
        Returns whether there may be more."""
        options, top, keys = self._options, self._top, one.keys[span].tolist()
        for key, hit in zip(keys, some, strict=True):
            if top is not None and len(found) >= top and not (options.ties and key == one.last):
                return False
            if _suits(hit, options):
                found.append(hit)
                one.last = key
        if top is None or span.stop >= len(one.ranks):
            return False
        return options.ties or len(found) < top

    def _apart(self, hit: Hit, one: Best) -> Iterator[Hit]:
        """A hit, and further alignments with its subject: local ones share no pair of letters,
        global ones no letter of the subject."""
        options, scale = self._options, self._options.scoring.scale
        found: Iterable[AlignedPair] = ()
        if options.mode == "local" and len(hit.target):
            least = max(one.suffices, 1) / scale
            asked = {**vars(options), "k": options.alignments, "min_score": least}
            of, top = self._matrix or hit.query, made_of(TopOptions, asked)
            found = align_top_with(of, hit.target, top, self._resources, True)[1:]
            for own in found:
                self._cost.add(own.stats)
        elif len(hit.target):
            found = islice(self._placed(hit, one.suffices / scale), options.alignments - 1)
        yield hit
        for more in found:
            score, length = np.array([round(more.score * scale)]), np.array([len(hit.target)])
            keys = one.keys_of(score, length)
            facts = {**one.meaning(keys, score)[0], "heuristic": hit.heuristic}
            chosen = Hit(**{**vars(more), **facts, "number": hit.number})
            if one.good(keys, score)[0] and _suits(chosen, options):
                yield chosen

    def _placed(self, hit: Hit, least: float) -> Iterator[AlignedPair]:
        """Further places of the whole query in a hit's subject."""
        query, letters = self._matrix or hit.query, hit.target.read()

        def align(strand: str, spans: list[tuple[int, int]]) -> NDArray[Any]:
            pairs = [(query, letters[start:stop].tobytes()) for start, stop in spans]
            table, stats = self._pairs[strand].align(pairs)
            self._cost.add(stats)
            for name in ("target_start", "target_end"):
                table[name] += [start for start, _ in spans]
            return table

        known = hit.strand, hit.target_start or 0, hit.target_end or 0
        size, strands = (len(hit.query), len(letters)), COMPARED[self._options.strand]
        for place in further_places(align, self._options.scoring, *size, known, strands, least):
            (row,) = TableRows([(hit.query, hit.target)], place, self._common)
            yield row.alignment()

    def _table(self, pairs: list[tuple[Sequence, Sequence]], scores: Ints) -> NDArray[Any]:
        scale, strand = self._options.scoring.scale, self._options.strand
        units = scores if scale == 1 else scores / scale
        if self._options.output == "score" and strand != "both":
            return as_table({"score": units, "strand": np.full(len(units), strand, "U5")})
        full = np.array([len(target) > 0 for _, target in pairs], np.bool_)
        some = [(self._matrix or query, target) for query, target in pairs if len(target)]
        found, stats = self._pairs[strand].align(some, scores=scores[full])
        self._cost.add(stats)
        if len(wrong := np.flatnonzero(full)[found["score"] != units[full]]):
            query, target = pairs[int(wrong[0])]
            said = f"{query.name!r} with {target.name!r} scores {units[wrong[0]]} in the search"
            raise InternalError(f"{said}, and otherwise when they are compared alone")
        table = np.zeros(len(pairs), found.dtype)
        table[full] = found
        for k in np.flatnonzero(~full).tolist():
            row = self._empty(len(pairs[k][0]), units[k])
            table[k] = tuple(map(row.get, found.dtype.names or ()))
        return table

    def _empty(self, m: int, score: Any) -> dict[str, Any]:
        """The row with a target without letters: ``m`` query letters in a gap, or outside."""
        options, start, end, cigar = self._options, 0, 0, ""
        strand = COMPARED[options.strand][0]
        if options.mode == "global" and not options.free.trail_target:
            end = m
            start, cigar = (m, "") if options.free.lead_target else (0, f"{m}I")
        if strand == "minus":
            start, end = m - end, m - start
        row = {"score": score, "strand": strand, "matches": 0, "columns": end - start}
        return row | {"cigar": cigar, **dict(zip(PLACES, (start, end, 0, 0), strict=True))}


def _common(options: SearchOptions) -> dict[str, Any]:
    said = {"mode": options.mode, "scoring": options.scoring, "free_ends": options.free}
    return {**said, "heuristic": heuristic_of(options)}


def no_hits(query: Sequence, options: SearchOptions) -> Hits:
    """The hits of a query before there are any."""
    empty = {**_common(options), **dict.fromkeys((*PLACES, "score"), 0)}
    empty |= {"target": NO_TARGET, "runs": Runs.of_cigar("")}
    return Hits(query, (), Hit(query=query, **empty))


def _suits(hit: Hit, options: SearchOptions) -> bool:
    query, target = hit.query, hit.target
    same = options.exclude_self and (query.name, len(query)) == (target.name, len(target))
    if same and query.read().tobytes().upper() == target.read().tobytes().upper():
        return False
    if options.min_identity is not None and (hit.identity or 0) < options.min_identity:
        return False
    letters = (hit.query_end or 0) - (hit.query_start or 0)  # without a path they are not known
    return options.min_coverage is None or letters / len(query) >= options.min_coverage
