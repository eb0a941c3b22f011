"""Search of short queries in few long subjects, which are cut into pieces for the engine's lanes.

A piece has the letters before it that a path to its first letter may take, so the best score of a
subject is that of its best piece: no cell of a piece has too high a value, and those outside the
overlap have the right ones (`path_reach` has the proof)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...scoring.scoring import Scoring
from ...sequences.alphabet import Letters
from ...sequences.sequence_set import SequenceSet
from ..batch.scores import FREE_QUERY, path_reach
from .contract import Scores, SearchEngine

#: Letters of a piece at least, in reaches of paths.
LEAST = 2


@dataclass(eq=False)
class Held:
    """A part, of which the engine holds subjects, or pieces for paths of so many letters."""

    subjects: SequenceSet
    #: 0: of no pieces.
    reach: int
    inner: Any = None
    #: The place of each piece among those by length, subject by subject, and the first of each.
    order: Any = None
    firsts: Any = None


class InPieces(SearchEngine):
    """Searches with an ``engine`` for a ``scoring``.  ``ends``: the free ends as bits."""

    def __init__(self, engine: SearchEngine, scoring: Scoring, local: bool, ends: int) -> None:
        self.engine, self.cells, self.most_letters = engine, engine.cells, engine.most_letters
        self._comparison = scoring, local, ends
        #: Global paths have to begin and end anywhere in the target.
        self._able = local or ends == FREE_QUERY
        #: Letters that paths of the queries of late do not exceed; 0: nothing bounds them.
        self._reach = 0

    def hold(self, subjects: SequenceSet) -> Held:
        return self._held(Held(subjects, self._reach_in(subjects)))

    def _size(self, subjects: SequenceSet, reach: int) -> int:
        """The letters of a piece without the overlap."""
        return max(len(subjects.letters) // self.engine.streams, LEAST * reach)

    def _reach_in(self, subjects: SequenceSet) -> int:
        """The letters before each piece; 0: there are no pieces."""
        reach = self._reach
        return reach if reach and subjects.lengths[0] > 2 * self._size(subjects, reach) else 0

    def _held(self, held: Held) -> Held:
        """Let the engine hold a part as its reach says."""
        subjects, pieces = held.subjects, held.subjects
        if held.reach:
            size, lengths = self._size(subjects, held.reach), subjects.lengths
            counts = np.where(lengths > 2 * size, -(-lengths // size), 1)
            held.firsts = counts.cumsum() - counts
            owner = np.repeat(np.arange(len(subjects)), counts)
            first, stop = subjects.starts[owner], subjects.ends[owner]
            start = first + size * (np.arange(len(owner)) - held.firsts[owner])
            stop = np.where(counts[owner] > 1, np.minimum(start + size, stop), stop)
            start = np.maximum(start - held.reach, first)
            by_length = np.argsort(start - stop, kind="stable")
            held.order = np.argsort(by_length)
            pieces = SequenceSet.of(subjects.letters, start[by_length], stop[by_length])
        held.inner = self.engine.hold(pieces)
        return held

    def scores(
        self, queries: Iterable[Letters], held: Any, done: Callable[[int], None]
    ) -> Iterator[Scores]:
        several = list(queries)
        if self._able and several:
            most = np.array([max(map(len, several))])
            reach = path_reach(self._comparison[0], most, None, *self._comparison[1:])
            most_of = 0 if reach is None else int(reach[0])
            if not most_of <= self._reach <= 2 * most_of:  # pieces that are held may be good enough
                self._reach = most_of
        if (reach_in := self._reach_in(held.subjects)) != held.reach:
            self.engine.free(held.inner)
            held.reach = reach_in
            self._held(held)
        if not held.reach:
            return self.engine.scores(several, held.inner, done)
        found = self.engine.scores(several, held.inner, lambda cells: None)
        return self._joined(several, found, held, done)

    def _joined(
        self, queries: list[Letters], found: Iterator[Scores], held: Held, done: Any
    ) -> Iterator[Scores]:
        """The scores of subjects by those of their pieces."""
        for query, scores in zip(queries, found, strict=True):
            done(len(query) * len(held.subjects.letters))
            yield np.maximum.reduceat(scores[held.order], held.firsts)

    def free(self, held: Any) -> None:
        self.engine.free(held.inner)

    def close(self) -> None:
        self.engine.close()
