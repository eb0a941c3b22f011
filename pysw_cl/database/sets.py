"""What users call for sets of similar sequences: the scores of all pairs in each, and the
alignment of each set as a star."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..api.advice import Tally, warn_of_letters
from ..api.pair_aligner import PairAligner
from ..drivers.options import MatrixOptions, Resources
from ..drivers.prepared import Batch
from ..errors import InputError, items, shown
from ..planning.plan import Plan
from ..results.pair_paths import runs_of
from ..scoring.scoring import made_of
from ..sequences.sequence_set import SequenceSet
from .matrix import Matrix, sequences_of

#: What stands in a gap.
GAP = ord("-")
Ints = NDArray[np.int64]


def score_matrices(
    sets: Iterable[Any],
    *,
    mode: str = "local",
    free_ends: bool | tuple[bool, ...] = False,
    sub_score: Any = (1, -3),
    gap_cost: Any = None,
    wildcard: str | None = None,
    iupac: str = "mismatch",
    unknown: str = "error",
    allow_odd_scoring: bool = False,
    device: Any = "auto",
    plan: Plan | Mapping[str, Any] | None = None,
) -> list[Matrix]:
    """The scores of all pairs in each of many small sets of sequences: what `score_matrix` gives
    for each set, with the pairs of all sets aligned together.

    ``sets`` are iterables of sequences, as `score_matrix` takes them; one may be empty.  The other
    arguments are those of `score_matrix`, which also says what is raised; a gap of k letters costs
    ``open + k * extend``.  It is kernel 4 of the SSCA#1 benchmark (Bader et al. 2006)."""
    given = locals()
    options, resources = made_of(MatrixOptions, given), made_of(Resources, given)
    every, bounds = _joined(sets, options)
    ones, others = list[Ints](), list[Ints]()
    for start, stop in pairwise(bounds.tolist()):
        count = stop - start
        pairs = np.triu_indices(count) if options.symmetric else np.indices((count, count))
        one, other = (side.reshape(-1) for side in pairs)
        ones.append(one + start)
        others.append(other + start)
    scores = _aligned(every, ones, others, options, resources, "score").values["score"]
    unscaled = scores if options.scoring.scale == 1 else scores / options.scoring.scale
    kind = np.int32 if options.scoring.scale == 1 else np.float64
    found, first = list[Matrix](), 0
    for (start, stop), one, other in zip(pairwise(bounds.tolist()), ones, others, strict=True):
        matrix = np.empty((stop - start, stop - start), kind)
        values = unscaled[first : first + len(one)]
        matrix[one - start, other - start] = values
        if options.symmetric:
            matrix[other - start, one - start] = values
        first += len(one)
        found.append(matrix)
    return found


@dataclass(frozen=True, eq=False)
class Star:
    """A multiple alignment of a set of sequences, all aligned with one of them, the centre."""

    #: The number of the centre in the set.
    centre: int
    #: The number of the sequence in each row (int64): the centre, then by falling score.
    order: Ints
    #: The score of each row's sequence with the centre, in the order of rows.
    scores: NDArray[Any]
    #: The letters of all rows, with hyphens in gaps (uint8, sequences x columns).
    letters: NDArray[np.uint8]

    @property
    def rows(self) -> list[str]:
        """The rows as texts of one length."""
        return [row.tobytes().decode() for row in self.letters]


def align_stars(
    sets: Iterable[Any],
    matrices: Iterable[Any] | None = None,
    *,
    sub_score: Any = (1, -3),
    gap_cost: Any = None,
    wildcard: str | None = None,
    iupac: str = "mismatch",
    unknown: str = "error",
    allow_odd_scoring: bool = False,
    device: Any = "auto",
    plan: Plan | Mapping[str, Any] | None = None,
) -> list[Star]:
    """The multiple alignment of each of many sets of sequences, by the centre star method.

    The centre is the sequence whose global alignments with all others have the highest sum of
    scores, the first one among equals.  Each other sequence is aligned with it by its canonical
    path, and gaps are added so that the centre has the same columns in all of them: as many before
    each of its letters as the sequence has there that has most.  The sum of pairs is at most twice
    the best one, if costs are a metric (Gusfield 1997, Algorithms on Strings, Trees, and Sequences,
    p. 348).  It is kernel 5 of the SSCA#1 benchmark (Bader et al. 2006).

    Parameters
    ----------
    sets : iterable of sets of sequences
        As `score_matrices` takes them; each has one sequence at least.
    matrices : square arrays, optional
        The scores of all pairs in each set, if they are known: ``score_matrices(sets,
        mode="global", ...)`` with the same other arguments, which are those of `score_matrix`.

    Returns
    -------
    list of Star
        One for each set.  A gap of k letters costs ``open + k * extend``.

    Raises as `score_matrix`, and InputError for an empty set and for matrices of other sets."""
    given = {**locals(), "mode": "global"}
    options, resources = made_of(MatrixOptions, given), made_of(Resources, given)
    listed = [_one(one, options) for one in items(sets, "sets")]
    every, bounds = _joined(listed, options)
    if matrices is None:
        same = {k: v for k, v in given.items() if k not in ("sets", "matrices")}
        matrices = score_matrices(listed, **same)
    known = [np.asarray(one) for one in items(matrices, "matrices")]
    sizes = np.diff(bounds).tolist()
    if [one.shape for one in known] != [(size, size) for size in sizes] or 0 in sizes:
        raise InputError(
            f"align_stars takes sets of at least one sequence, here {shown(sizes)}, and a square "
            "matrix of as many rows for each"
        )
    centres = [int(matrix.sum(axis=1).argmax()) for matrix in known]
    orders = []
    for matrix, centre in zip(known, centres, strict=True):
        order = np.argsort(-matrix[:, centre], kind="stable")
        orders.append(np.concatenate([[centre], order[order != centre]]))
    starts = bounds[:-1].tolist()
    rows = [order + start for order, start in zip(orders, starts, strict=True)]
    middles = [
        np.full(len(order), centre + start)
        for order, centre, start in zip(orders, centres, starts, strict=True)
    ]
    paths = _aligned(every, rows, middles, options, resources, "path").paths
    assert paths is not None
    words, offsets = paths.joined()
    found, first = list[Star](), 0
    for row, order, matrix, centre in zip(rows, orders, known, centres, strict=True):
        some = offsets[first : first + len(row) + 1]
        first += len(row)
        letters = [every[int(k)] for k in row]
        laid = _laid_out(letters, words[some[0] : some[-1]], some - some[0])
        found.append(Star(centre, order, matrix[order, centre], laid))
    return found


def _laid_out(letters: list[Any], words: NDArray[np.uint32], offsets: Ints) -> NDArray[np.uint8]:
    """The rows of sequences that are aligned with the first of them, the centre, by these paths.

    A letter of a sequence stands in the column of the centre's letter that it is aligned with, or
    in one of those before it, in the order of the sequence.  There are as many of these as any
    sequence has letters there."""
    runs, count, wide = runs_of(words), len(letters), len(letters[0]) + 1
    # column by column of all paths: which sequence, and which letters it consumes
    ops = np.repeat(runs.ops, runs.lengths)
    owner = np.repeat(np.repeat(np.arange(count), np.diff(offsets)), runs.lengths)
    of_centre, of_row = ops != ord("I"), ops != ord("D")
    steps = np.cumsum(of_centre)
    begins = np.searchsorted(owner, np.arange(count))
    before = steps - of_centre
    place = before - before[begins][owner]  # letters of the centre before a column
    added = np.flatnonzero(~of_centre)
    slots, first = np.unique(owner[added] * wide + place[added], return_index=True)
    sizes = np.diff(first, append=len(added))
    gaps = np.zeros(wide, np.int64)
    np.maximum.at(gaps, slots % wide, sizes)
    ends = np.cumsum(gaps)  # gaps up to each letter of the centre
    column = place + ends[place]
    number = np.arange(len(added)) - np.repeat(first, sizes)
    column[added] += number - gaps[place[added]]
    laid = np.full((count, wide - 1 + int(ends[-1])), GAP, np.uint8)
    laid[owner[of_row], column[of_row]] = np.concatenate(letters)
    return laid


def _one(given: Any, options: MatrixOptions) -> SequenceSet:
    tally = Tally(options.scoring)
    made = sequences_of(given, "sequence", options.scoring, tally)
    warn_of_letters(tally)
    return made


def _joined(sets: Iterable[Any], options: MatrixOptions) -> tuple[SequenceSet, Ints]:
    """The sequences of all sets in one, and where each set begins, then how many there are."""
    made = [_one(one, options) for one in items(sets, "sets")]
    texts = [one for some in made for one in some]
    sizes = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    letters = np.concatenate([np.zeros(0, np.uint8), *texts])
    every = SequenceSet.of(letters, sizes[:-1], sizes[1:])
    most = int(every.lengths.max(initial=0))
    options.scoring.bounds.check_range(most, most, options.mode)
    return every, np.cumsum([0, *map(len, made)], dtype=np.int64)


def _aligned(
    every: SequenceSet,
    queries: list[Ints],
    targets: list[Ints],
    options: MatrixOptions,
    resources: Resources,
    output: str,
) -> Any:
    """The results of sequences with these numbers, aligned with those."""
    sides = [np.concatenate([np.zeros(0, np.int64), *side]) for side in (queries, targets)]
    batch = Batch(*map(every.take, sides))
    batch.again = False
    with PairAligner(options.of_pairs(output), resources) as aligner:
        return aligner.found(batch)
