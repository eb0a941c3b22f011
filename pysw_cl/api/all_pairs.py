"""Scores and distances of all pairs of two lists of sequences, or of the pairs of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..drivers.batch_results import PairResults
from ..drivers.grid import Grid, Ints, Put, Side
from ..drivers.options import MatrixOptions, Resources
from ..drivers.prepared import Batch
from ..planning.parameters import PairTuning
from ..results.pair_paths import runs_of
from ..results.stats import Stats
from ..scoring.scoring import Scoring
from ..sequences.sequence_set import Lengths, SequenceSet
from .pair_aligner import PairAligner, Tell

#: Pairs whose paths are held at once.
PATHS = PairTuning(grid_pairs=1 << 16)


class AllPairs:
    """Computes a matrix of what is asked for; ``stats``: what that costs."""

    def __init__(
        self, rows: Side, columns: Side, options: MatrixOptions, resources: Resources
    ) -> None:
        self._rows, self._columns, self._options = rows, columns, options
        self._aligners = [
            PairAligner(options.of_pairs(one), resources) for one in ("score", "path")
        ]
        self.stats = Stats()

    def run(self, put: Put, tell: Tell) -> None:
        """Compute all values; see `Grid.run`."""
        with self._aligners[0] as aligner, self._aligners[1]:
            if self._options.output == "distance":
                grid = Grid(None, PATHS, self._distances())
            elif aligner.batches:
                grid = Grid(*aligner.ready(), self._scores)
            else:
                grid = Grid(None, PairTuning(), self._scores)
            grid.run(self._rows, self._columns, put, tell)
        self.stats.add(grid.stats)

    def _found(self, path: bool, queries: SequenceSet, targets: SequenceSet) -> PairResults:
        """The results of as many queries and targets, which are aligned once."""
        batch = Batch(queries, targets)
        batch.again = False
        found = self._aligners[path].found(batch)
        self.stats.add(found.stats)
        return found

    def _scores(self, q: Ints, t: Ints) -> NDArray[Any]:
        sides = self._rows.of.take(q), self._columns.of.take(t)
        return self._found(False, *sides).values["score"]

    def _distances(self) -> Callable[[Ints, Ints], NDArray[Any]]:
        """What gives the distances of Feng & Doolittle (1996, Methods Enzymol 266, 368-382), as
        scikit-bio's `multi_align` has them, to the last bit.  If both sides are the same, the
        sequence with the lower number is the query.

        The score of a pair lies between that of two random sequences of the same letters, in as
        many columns and with the same gaps, and the mean of both with themselves; the distance is
        the negative logarithm of its share there, which is at least 1e-6.  All sums are of whole
        numbers, exact in any order, and a power of two that all scores have as a factor cancels
        out."""
        scoring, same = self._options.scoring, self._rows is self._columns
        rows, columns = self._rows.of, self._columns.of
        itself = [self._found(False, side, side).values["score"] for side in (rows, columns)]
        counts, scores = _letters(rows, columns, scoring)

        def distances(q: Ints, t: Ints) -> NDArray[Any]:
            every = np.zeros(len(q))
            apart = np.flatnonzero(q != t) if same else np.arange(len(q))
            q, t = q[apart], t[apart]
            if same:
                q, t = np.minimum(q, t), np.maximum(q, t)
            queries, targets = rows.take(q), columns.take(t)
            found = self._found(True, queries, targets)
            gaps = _gaps(found, queries.lengths, targets.lengths)
            each = np.einsum("pa,pa->p", counts[0][q] @ scores, counts[1][t])
            mean = (itself[0][q].astype(np.int64) + itself[1][t]) / 2
            every[apart] = _distances(found.values["score"], gaps, each, mean, scoring)
            return every

        return distances


def _distances(
    score: Any, gaps: tuple[Lengths, ...], each: Any, mean: Any, scoring: Scoring
) -> NDArray[np.float64]:
    """The distances of some pairs.  ``gaps``: see `_gaps`; ``each``: what all letters of the query
    score with all of the target; ``mean``: of both with themselves."""
    columns, opened, inner = gaps
    random = each / columns - (scoring.gap_open * opened + scoring.gap_extend * inner)
    most = mean - random
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip((score - random) / most, 1e-6, 1.0)
    return np.asarray(np.where(most == 0, 0.0, -np.log(share)))


def _letters(
    queries: SequenceSet, targets: SequenceSet, scoring: Scoring
) -> tuple[list[NDArray[np.float64]], NDArray[np.int32]]:
    """How often each letter that there is comes in each query and target, and the scores of these
    letters."""
    counts = [
        np.array([np.bincount(one, minlength=256) for one in of], np.float64).reshape(-1, 256)
        for of in (queries, targets)
    ]
    used = np.flatnonzero(np.concatenate(counts).any(axis=0))
    encodings = scoring.query_encoding[used], scoring.target_encoding[used]
    return [one[:, used] for one in counts], scoring.matrix[np.ix_(*encodings)]


def _gaps(
    found: PairResults, m: NDArray[np.int64], n: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Of each path: its columns, free end gaps included; how many other gaps it has, and their
    letters.

    scikit-bio leaves out the first and the last run of a path with free ends if they are gaps.
    These are always the free gaps: a path stops at the border, where a gap would cost something,
    and of equal ends the first is taken.
    """
    assert found.paths is not None
    values, (words, offsets) = found.values, found.paths.joined()
    sides = ((values[f"{side}_end"], values[f"{side}_start"]) for side in ("query", "target"))
    spans = sum(end.astype(np.int64) - start for end, start in sides)
    gaps = np.append(0, np.cumsum(np.isin(runs_of(words).ops, list(b"ID"))))[offsets]
    columns = values["columns"]
    return columns + m + n - spans, np.diff(gaps), 2 * columns - spans
