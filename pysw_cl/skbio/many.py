"""scikit-bio's distances of many sequences, and its `multi_align`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skbio import alignment
from skbio.alignment import _multi
from skbio.alignment._multi import MultiAlignResult
from skbio.alignment._utils import _get_seqids
from skbio.stats.distance import DistanceMatrix

from ..api.pair_aligner import PairAligner
from ..drivers.batch_results import PairResults
from ..drivers.options import ManyOptions, Resources
from ..errors import InputError
from ..results.pair_paths import runs_of
from .encoding import DELEGATED, Coded, ErrorsOfOurs, NotOurs, coded

#: Pairs that are aligned together: so many CIGARs are held at once.
AT_ONCE = 1 << 16

Distances = NDArray[np.float64]


class _Found(BaseException):
    """Ends scikit-bio's `multi_align` when the distances are there."""


def pair_dists(
    seqs: Iterable[Any],
    metric: str = "score",
    *,
    sub_score: Any = (1.0, -1.0),
    gap_cost: Any = 2.0,
    free_ends: bool = True,
    ids: Iterable[str] | None = None,
    atol: float = 1e-5,
    device: Any = "auto",
) -> DistanceMatrix:
    """The distances of all pairs of ungapped sequences, as a scikit-bio `DistanceMatrix`.

    ``metric``: "score", the distance of Feng & Doolittle (1996, Methods Enzymol 266, 368-382) from
    the global alignment of two sequences, as scikit-bio's `multi_align` computes it, to the last
    bit.  The other arguments are those of `multi_align`, which also says what is refused; ``ids``
    are the names of the sequences, by default their own.  All pairs are aligned in one batch.
    """
    if metric != "score":
        raise InputError(f"metric must be 'score', not {metric!r}")
    listed, found = list(seqs), []
    names = None if ids is None else list(ids)

    def stop(*given: Any) -> Distances:
        found.append(_distances(device, *given))
        raise _Found

    with suppress(_Found), ErrorsOfOurs():
        _with_distances(stop)(listed, sub_score, gap_cost, free_ends, ids=names, atol=atol)
    return DistanceMatrix(found[0], _get_seqids(listed, names))


def multi_align(
    sequences: Iterable[Any],
    /,
    sub_score: Any = (1.0, -1.0),
    gap_cost: Any = 2.0,
    free_ends: bool = True,
    guide_tree: Any = None,
    ids: Iterable[str] | None = None,
    atol: float = 1e-5,
    keep_tree: bool = False,
    keep_distmat: bool = False,
    *,
    device: Any = "auto",
) -> MultiAlignResult:
    """scikit-bio's `multi_align`: the same arguments and the same alignment.

    It is scikit-bio's own function, with the distances of all pairs, which take nearly all of its
    time, computed here.
    """
    how = (sub_score, gap_cost, free_ends, guide_tree, ids, atol, keep_tree, keep_distmat)
    with ErrorsOfOurs():
        return _with_distances(partial(_distances, device))(sequences, *how)


def _with_distances(distances: Callable[..., Distances]) -> Callable[..., Any]:
    """scikit-bio's `multi_align` with another function in the place of its `_score_dists`."""
    theirs: Any = alignment.multi_align
    own = {**theirs.__globals__, "_score_dists": distances}
    made = FunctionType(theirs.__code__, own, theirs.__name__, theirs.__defaults__)
    made.__kwdefaults__ = theirs.__kwdefaults__
    return made


def _distances(
    device: Any,
    indices: Sequence[NDArray[np.intp]],
    submat: NDArray[Any],
    gap_open: Any,
    gap_extend: Any,
    free: bool,
    works: Any,
    atol: Any,
) -> Distances:
    """`_score_dists` of scikit-bio: the distances of all pairs, the upper triangle row by row."""
    try:
        given = coded(indices, submat, float(gap_open), float(gap_extend), float(atol))
    except NotOurs as reason:
        DELEGATED[str(reason)] += 1
        theirs = _multi._score_dists(indices, submat, gap_open, gap_extend, free, works, atol)
        return np.asarray(theirs, np.float64)
    scoring, unit, *codes = given.scores
    first, second = np.triu_indices(len(indices), 1)
    score, lengths, gaps, inner, itself = _aligned(given, first, second, free, device)
    # what the letters of the pair score in the mean, over the columns, and what its gaps cost
    size = len(scoring.letters)
    counts = np.array([np.bincount(one, minlength=size) for one in given.ranks], np.float64)
    subs = (counts @ (scoring.matrix[np.ix_(*codes)] / unit) @ counts.T)[first, second] / lengths
    random = subs - (scoring.gap_open / unit * gaps + scoring.gap_extend / unit * inner)
    most = (itself[first] + itself[second]) / unit / 2 - random
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip((score / unit - random) / most, 1e-6, 1.0)
    return np.asarray(np.where(most == 0, 0.0, -np.log(share)))


def _aligned(
    given: Coded, first: NDArray[np.intp], second: NDArray[np.intp], free: bool, device: Any
) -> tuple[NDArray[np.int64], ...]:
    """Of the pairs of sequences: the score; the columns, end gaps included; how many gaps there
    are and their letters, both without free end gaps.  And each sequence's score with itself.

    The score of a pair does not say how long its alignment is, so that takes the paths."""
    texts = [given.letters(k).tobytes() for k in range(len(given.ranks))]
    sizes = np.array([len(one) for one in texts], np.int64)
    path = ManyOptions(
        mode="global", free_ends=(free,) * 4, sub_score=given.scores.scoring, output="path"
    )
    some = [slice(start, start + AT_ONCE) for start in range(0, len(first), AT_ONCE)]
    both = np.array([first, second])
    pairs = ([(texts[a], texts[b]) for a, b in both[:, part].T.tolist()] for part in some)
    parts = [
        (found.values["score"].astype(np.int64), *_gaps(found, *sizes[both[:, part]]))
        for found, part in zip(aligned(path, device, pairs), some, strict=True)
    ]
    (own,) = aligned(replace(path, output="score"), device, [[(one, one) for one in texts]])
    itself = own.values["score"].astype(np.int64)
    return *map(np.concatenate, zip(*parts, strict=True)), itself


def aligned(
    options: ManyOptions, device: Any, lists: Iterable[Sequence[Any]]
) -> Iterator[PairResults]:
    """The results of each list of pairs."""
    with PairAligner(options, Resources(device=device)) as aligner:
        for pairs in lists:
            yield aligner.found(pairs)


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
