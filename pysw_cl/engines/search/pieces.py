"""Search of short queries in few long subjects, which are cut into pieces for the engine's lanes.

A piece has the letters before it that a path to its first letter may take, so the best score of a
subject is that of its best piece: no cell of a piece has too high a value, and those outside the
overlap have the right ones (`path_reach` has the proof)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...scoring.scoring import Scoring
from ...sequences.alphabet import Letters
from ...sequences.sequence_set import SequenceSet
from ..batch.scores import FREE_QUERY, path_reach
from .contract import CellsDone, Scores, SearchEngine

#: Letters of a piece at least, in reaches of paths; the least share of the letters that is cut.
LEAST, FEW = 2, 1 / 32


@dataclass(eq=False)
class Held:
    """A part, of which the engine holds subjects, or pieces for paths of ``reach`` letters: the
    place of each among all by length, subject by subject, and the first one of each subject."""

    subjects: SequenceSet
    reach: int = 0
    inner: Any = None
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
        held = Held(subjects)
        self._hold(held)
        return held

    def _hold(self, held: Held) -> None:
        """Let the engine hold what suits the queries of late, if it does not yet."""
        subjects, lengths, reach = held.subjects, held.subjects.lengths, self._reach
        share = len(subjects.letters) // self.engine.streams
        if 0 < reach <= held.reach <= max(2 * reach, share // 8):  # pieces that are good enough
            return
        size = max(share, LEAST * reach)
        if lengths[lengths > 2 * size].sum() < FEW * len(subjects.letters):
            reach = 0
        if held.inner is not None:
            if held.reach == reach:
                return
            self.engine.free(held.inner)
        held.reach = reach
        if reach:
            counts = np.where(lengths > 2 * size, -(-lengths // size), 1)
            held.firsts = counts.cumsum() - counts
            owner = np.repeat(np.arange(len(subjects)), counts)
            first, last = subjects.starts[owner], subjects.ends[owner]
            start = first + size * (np.arange(len(owner)) - held.firsts[owner])
            stop = np.where(counts[owner] > 1, np.minimum(start + size, last), last)
            start = np.maximum(start - reach, first)
            by_length = np.argsort(start - stop, kind="stable")
            held.order = np.argsort(by_length)
            subjects = SequenceSet.of(subjects.letters, start[by_length], stop[by_length])
        held.inner = self.engine.hold(subjects)

    def scores(self, queries: Iterable[Letters], held: Any, done: CellsDone) -> Iterator[Scores]:
        queries = list(queries)
        if self._able and queries:
            most = np.array([max(map(len, queries))])
            found = path_reach(self._comparison[0], most, None, *self._comparison[1:])
            self._reach = 0 if found is None else int(found[0])
        self._hold(held)
        if not held.reach:
            return self.engine.scores(queries, held.inner, done)
        scores = self.engine.scores(queries, held.inner, lambda cells: None)
        return self._joined(queries, scores, held, done)

    def _joined(
        self, queries: list[Letters], found: Iterator[Scores], held: Held, done: Any
    ) -> Iterator[Scores]:
        """The scores of subjects by those of their pieces."""
        for query, scores in zip(queries, found, strict=True):
            done(len(query) * len(held.subjects.letters))
            yield np.maximum.reduceat(scores[held.order], held.firsts)

    def free(self, held: Any) -> None:
        if held.inner is not None:
            self.engine.free(held.inner)

    def close(self) -> None:
        self.engine.close()
