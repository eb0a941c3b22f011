"""Which sequences of a database are the best, as the scores of one part after the other come in."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..drivers.options import UNREACHED, SearchOptions
from ..scoring.statistics.law import ScoreStatistics, Values
from ..scoring.statistics.library import LibraryStatistics, of_library
from ..sequences.view import COMPARED
from .database import Database

Ints = NDArray[np.int64]
#: Scores by which the others are chosen that are sorted.
SAMPLE = 1 << 14
#: Rounding of logarithms, as a share of them; an E-value that is not 0.
SLACK, TINY = 1e-9, 1e-323


def _exp(keys: Values) -> Values:
    with np.errstate(under="ignore"):
        return np.asarray(np.exp(keys))


@dataclass(frozen=True, eq=False)
class EValues:
    """The E-values of the scores of a query of ``m`` letters in a search of ``letters`` letters.
    Scores are in the scoring's own integers, by ``scale`` more than the user's."""

    law: ScoreStatistics | LibraryStatistics
    scale: int
    m: int
    letters: float

    def logs(self, scores: NDArray[Any], lengths: Ints) -> Values:
        """The logarithms of the E-values of scores with subjects of these lengths."""
        return self.law.log_evalues(scores / self.scale, self.m, lengths, self.letters)

    def bits(self, scores: NDArray[Any], logs: Values) -> Values:
        """The bit scores, with the logarithms of the E-values."""
        if isinstance(self.law, ScoreStatistics):
            return self.law.bits(scores / self.scale)
        return np.asarray((log(self.m * self.letters) - logs) / log(2))

    def least(self, log_evalue: float, score: float) -> int:
        """A score, not above ``score``, below which all E-values are higher."""
        found = self.law.least_score(log_evalue, score / self.scale, self.m, self.letters)
        return ceil(max(found, -UNREACHED) * self.scale)

    def least_of(self, options: SearchOptions) -> int:
        """A score below which no hit is `Best.good`."""
        law, least, highest = self.law, options.least, inf
        if options.max_evalue is not None:
            highest = log(options.max_evalue or TINY)
        if options.min_bits is not None and isinstance(law, ScoreStatistics):
            units = (options.min_bits * log(2) + log(law.k)) / law.lambda_
            units = max(-UNREACHED, min(units, UNREACHED))
            least = max(least, ceil((units - SLACK * abs(units)) * self.scale))
        elif options.min_bits is not None:
            highest = min(highest, log(self.m * self.letters) - options.min_bits * log(2))
        if -inf < highest < inf:
            least = max(least, self.least(highest + SLACK * max(1.0, abs(highest)), inf))
        return least


class Best:
    """The hits of a query of ``m`` letters that are good enough, and with ``top`` are among so many
    best ones: the lowest E-value first, if there is a ``law``, then the highest score, then the
    first one in the source; with ``ties`` all that are as good as the last of these, too.

    What is kept does not depend on the parts, nor on their order.  Where hits are `chosen` by more
    than their scores, these are kept until `first` says how many of the best ones are looked at;
    where E-values come from all scores, until `finish`."""

    def __init__(
        self, options: SearchOptions, db: Database, law: ScoreStatistics | None, m: int
    ) -> None:
        self._options, self.db, self._m, self._top = options, db, m, options.top
        keeps_all = options.chosen or options.evalues == "library"
        self._kept: list[tuple[NDArray[Any], int]] | None = [] if keeps_all else None
        #: The key of the last hit that was taken.
        self.last = inf
        self._follow(law)

    def _follow(self, law: ScoreStatistics | LibraryStatistics | None) -> None:
        """Begin with the E-values of a law; None: there are none."""
        options, letters = self._options, self._options.db_letters or max(1, self.db.total_letters)
        if isinstance(law, ScoreStatistics):  # a library has the scores of both strands
            letters *= len(COMPARED[options.strand])
        scale = options.scoring.scale
        self.evalues = None if law is None else EValues(law, scale, self._m, letters)
        #: The least score of any hit; with ``top``, ``least`` rises above it.
        self.suffices = options.least if self.evalues is None else self.evalues.least_of(options)
        self.least = self.suffices
        self._begin()

    def _begin(self) -> None:
        self.scores, self.ranks, self.records = (np.zeros(0, np.int64) for _ in range(3))
        #: What they are ordered by: the logarithm of the E-value, or the score, its sign turned.
        self.keys = np.zeros(0)

    def __getstate__(self) -> dict[str, Any]:  # whoever is sent it has the database
        return {**vars(self), "db": None}

    def first(self, count: int | None) -> None:
        """Find so many of the best ones (None: all), where others are kept, too."""
        if self._kept is not None:
            self._top, self.least = count, self.suffices
            self._begin()
            for part in self._kept:
                self._add(*part)

    def meaning(self, keys: Values, scores: NDArray[Any]) -> list[dict[str, Any]]:
        """The E-values and bit scores of hits with these keys and scores."""
        if self.evalues is None:
            return [{}] * len(keys)
        both = zip(_exp(keys).tolist(), self.evalues.bits(scores, keys).tolist(), strict=True)
        return [{"expect": expect, "bits": bits} for expect, bits in both]

    def keys_of(self, scores: NDArray[Any], lengths: Ints) -> Values:
        """What hits with subjects of these lengths are ordered by."""
        if self.evalues is None:
            return -scores.astype(np.float64)
        return self.evalues.logs(scores, np.maximum(lengths, 1))

    def good(self, keys: Values, scores: NDArray[Any]) -> NDArray[np.bool_]:
        """Which hits with these keys and scores have the E-values and bit scores that are asked
        for, by the numbers that hits say."""
        options, found = self._options, np.full(len(keys), True)
        if self.evalues is None:
            return found
        if options.max_evalue is not None:
            found &= _exp(keys) <= options.max_evalue
        if options.min_bits is not None:
            found &= self.evalues.bits(scores, keys) >= options.min_bits
        return found

    def _keys(self, scores: NDArray[Any], ranks: Ints) -> Values:
        subjects = self.db.by_length
        return self.keys_of(scores, subjects.ends[ranks] - subjects.starts[ranks])

    def _least_for(self, key: float, score: int) -> int:
        """The least score of a subject that is as good as one with this key and score."""
        return int(-key) if self.evalues is None else self.evalues.least(key, score)

    def add(self, scores: NDArray[np.integer[Any]], first: int) -> None:
        """The scores of subjects from the rank ``first`` on."""
        if self._kept is None:
            self._add(scores, first)
        else:
            self._kept.append((scores.copy(), first))

    def _add(self, scores: NDArray[np.integer[Any]], first: int) -> None:
        least, top = self.least, self._top
        if top is not None and len(scores) > top:  # the longest ones tell what most cannot reach
            some = scores[: max(4 * top, SAMPLE)]
            best = np.argpartition(some, len(some) - top)[-top:]
            key = float(self._keys(some[best], first + best).max())
            least = max(least, self._least_for(key, int(some[best].max())))
        at = np.flatnonzero(scores >= least)
        if not len(at):
            return
        ranks, chosen = first + at, scores[at].astype(np.int64)
        new = self._keys(chosen, ranks), chosen, ranks, self.db.records(ranks)
        old = self.keys, self.scores, self.ranks, self.records
        every: list[Any] = [np.concatenate(pair) for pair in zip(old, new, strict=True)]
        order = np.lexsort((every[3], -every[1], every[0]))
        order = order[self.good(every[0][order], every[1][order])]
        if top is not None and len(order) >= top:
            last = order[top - 1]
            least = self._least_for(float(every[0][last]), int(every[1][order[:top]].max()))
            self.least = max(self.least, least)
            equal = np.count_nonzero(every[0][order] <= every[0][last])
            order = order[: equal if self._options.ties else top]
        self.keys, self.scores, self.ranks, self.records = (column[order] for column in every)

    def finish(self) -> None:
        """All scores are there: E-values may come from them."""
        if self._options.evalues == "library" and self._kept is not None:
            lengths = self.db.by_length.lengths[: self.db.full]
            every = np.concatenate([scores for scores, _ in self._kept])[: len(lengths)]
            self._follow(of_library(every / self._options.scoring.scale, lengths))
            if not self._options.chosen:
                self.first(self._top)
                self._kept = None
