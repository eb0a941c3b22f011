"""What users call for sets of similar sequences: the scores of all pairs in each, and the
alignment of each set as a star."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..api.many import align_many, align_paths
from ..drivers.prepared import Batch
from ..errors import InputError, items
from ..results.cigar import Ints
from ..results.pair_paths import runs_of
from ..sequences.sequence_set import SequenceSet


def score_matrices(sets: Iterable[Any], **how: Any) -> list[NDArray[Any]]:
    """The scores of all pairs in each of many sets of sequences, all aligned in one batch: a
    symmetric array of int64, or of float64 where scores have halves, for each (kernel 4 of SSCA#1).

    ``sets`` are iterables of sequences; one may be empty.  ``how``: the arguments of `align_many`
    but ``output`` and ``min_score``.  Of two sequences the first one is the query.  Raises as
    `align_many`."""
    every, firsts = _joined(sets)
    pairs = [np.triu_indices(stop - first) for first, stop in pairwise(firsts)]
    sides = [[one[k] + first for one, first in zip(pairs, firsts, strict=False)] for k in (0, 1)]
    scores = align_many(_batch(every, *sides), **how, output="score", min_score=None)["score"]
    each = np.split(scores, np.cumsum([len(one) for one, _ in pairs], dtype=np.int64))
    found = []
    for (one, other), size, own in zip(pairs, np.diff(firsts).tolist(), each, strict=False):
        matrix = np.empty((size, size), scores.dtype)
        matrix[one, other] = matrix[other, one] = own
        found.append(matrix)
    return found


def align_stars(
    sets: Iterable[Any], matrices: Iterable[Any], **how: Any
) -> list[tuple[Ints, list[str]]]:
    """The multiple alignment of each of many sets of sequences, by the centre star method.

    The centre has the highest sum of scores of global alignments with the others.  Each of these is
    aligned with it by its canonical path, and gaps are added until the centre has the same columns
    in all of them.  The sum of pairs is at most twice the best one, if costs are a metric (Gusfield
    1997, Algorithms on Strings, Trees, and Sequences, p. 348; kernel 5 of SSCA#1).

    Gives the order of the rows of each set, which is the number of the centre and then those of the
    others, by falling score with it; and the rows as texts, with hyphens in gaps.

    ``matrices`` are what `score_matrices` gives for these ``sets`` with mode "global", and ``how``
    the arguments of `align_paths` but ``mode``, ``free_ends`` and ``strand``, the same as there.
    Raises as `align_many`, and InputError for an empty set, and for matrices of other sets."""
    every, firsts = _joined(sets)
    try:
        known = [np.asarray(one, np.float64) for one in items(matrices, "matrices")]
    except (TypeError, ValueError):
        known = []
    sizes = np.diff(firsts).tolist()
    if [one.shape for one in known] != [(size, size) for size in sizes] or 0 in sizes:
        raise InputError("stars take sets of at least one sequence, and a square matrix for each")
    orders = []
    for matrix in known:
        centre = int(matrix.sum(axis=1).argmax())
        order = np.argsort(-matrix[centre], kind="stable")
        orders.append(np.concatenate([[centre], order[order != centre]]))
    rows = [order + first for order, first in zip(orders, firsts, strict=False)]
    middles = [np.full(len(one), one[0]) for one in rows]
    whole: dict[str, Any] = {"mode": "global", "free_ends": False, "strand": "plus"}
    paths = align_paths(_batch(every, rows, middles), **whole, **how)
    found = []
    for row, order, first in zip(rows, orders, firsts, strict=False):
        some = paths.offsets[first : first + len(row) + 1]
        laid = _laid_out(every.take(row), paths.runs[some[0] : some[-1]], some - some[0])
        text, wide = laid.tobytes().decode(), laid.shape[1]
        found.append((order, [text[k : k + wide] for k in range(0, len(text), wide)]))
    return found


def _laid_out(rows: SequenceSet, words: NDArray[np.uint32], offsets: Ints) -> NDArray[np.uint8]:
    """The rows of sequences that are aligned with the first of them, the centre, by these paths.
    There are as many columns before a letter of the centre as any sequence has letters there."""
    runs, count, wide = runs_of(words), len(rows), int(rows.lengths[0]) + 1
    # column by column of all paths: which sequence, and which letters it consumes
    ops = np.repeat(runs.ops, runs.lengths)
    owner = np.repeat(np.repeat(np.arange(count), np.diff(offsets)), runs.lengths)
    of_centre, of_row = ops != ord("I"), ops != ord("D")
    before = np.cumsum(of_centre) - of_centre
    begins = np.searchsorted(owner, np.arange(count))
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
    laid = np.full((count, wide - 1 + int(ends[-1])), ord("-"), np.uint8)
    laid[owner[of_row], column[of_row]] = rows.text()
    return laid


def _joined(sets: Iterable[Any]) -> tuple[SequenceSet, list[int]]:
    """The sequences of all sets in one, and the first of each set, then how many there are."""
    listed = [items(one, "sets") for one in items(sets, "sets")]
    every = SequenceSet.from_sequences(one for some in listed for one in some)
    return every, np.cumsum([0, *map(len, listed)]).tolist()


def _batch(every: SequenceSet, queries: list[Ints], targets: list[Ints]) -> Batch:
    """Pairs of sequences with these numbers."""
    sides = (np.concatenate([np.zeros(0, np.int64), *side]) for side in (queries, targets))
    return Batch(*map(every.take, sides))
