"""Many pairs for scikit-bio: its `pair_align` of each, its distances, and its `multi_align`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache, partial
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skbio import alignment
from skbio.alignment import _multi, _pair
from skbio.alignment._multi import MultiAlignResult
from skbio.alignment._utils import _get_seqids
from skbio.sequence import Sequence as TheirSequence
from skbio.stats.distance import DistanceMatrix

from ..api.pair_aligner import PairAligner
from ..database.matrix import matrix_of
from ..drivers.batch_layout import as_halves
from ..drivers.options import ManyOptions, MatrixOptions, Resources
from ..drivers.prepared import Batch
from ..errors import InputError, RangeError
from ..results.cigar import merged
from ..results.pair_paths import runs_of
from ..sequences.sequence_set import SequenceSet
from ..sequences.view import PLACES
from .encoding import DELEGATED, LETTERS, Coded, ErrorsOfOurs, NotOurs, coded, encoded
from .pairs import pair_align, pair_path, result_of

#: Letters that are counted at once, so that they stay in a core's caches.
PIECE = 1 << 16

Distances = NDArray[np.float64]


class PairAlignResults(Sequence[Any]):
    """The results of `pair_align_many`, in order: scikit-bio's `PairAlignResult` objects.  One is
    made when it is asked for, because that takes longer than to compute the path."""

    def __init__(self, scores: NDArray[np.float64], made: Callable[[int], Any]) -> None:
        #: The scores of all pairs (float64).
        self.scores = scores
        self._made = made

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return [self._made(k) for k in range(len(self))[key]]
        return self._made(range(len(self))[key])

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, pairs: {len(self)}>"


def pair_align_many(
    pairs: Iterable[tuple[Any, Any]],
    /,
    mode: str = "global",
    sub_score: Any = (1.0, -1.0),
    gap_cost: Any = 2.0,
    free_ends: Any = True,
    trim_ends: bool = False,
    max_paths: int = 1,
    atol: float = 1e-5,
    *,
    device: Any = "auto",
) -> PairAlignResults:
    """`pair_align` of each pair, computed together: the same results, in much less time each.

    The arguments are those of `pair_align`; ``max_paths`` is 1, or 0 for scores alone.  Fastest
    where all sequences are str, or all of one class of scikit-bio's.  Pairs that are not computed
    here (`DELEGATED`) are aligned one by one.  Raises InputError, which names the pair, counted
    from 0, for what scikit-bio refuses, and DeviceError."""
    if max_paths not in (0, 1):
        raise InputError(f"max_paths must be 0 or 1 for many pairs, not {max_paths!r}")
    seqs = as_halves(list(pairs))
    how = (mode, sub_score, gap_cost, free_ends, trim_ends, max_paths, atol)
    try:
        local = _pair._prep_mode(mode)
        ends = _pair._prep_free_ends(local, free_ends, trim_ends)
        batch, given = _encoded(seqs, sub_score, gap_cost, atol)
    except Exception:  # of one pair, or of all together: pair by pair it shows
        return _one_by_one(seqs, how, device)
    free = tuple(bool(end) and not local for end in ends)
    output = "path" if max_paths else "score"
    options = ManyOptions(mode=mode, free_ends=free, sub_score=given.scoring, output=output)
    try:
        with PairAligner(options, Resources(device=device)) as aligner:
            found = aligner.found(batch)
    except RangeError:
        return _one_by_one(seqs, how, device)
    scores = found.values["score"] / given.unit

    @cache
    def paths() -> tuple[Any, ...]:  # of all pairs, when the first is asked for
        assert found.paths is not None
        words, offsets = found.paths.joined()
        spans = np.stack([found.values[name] for name in PLACES], axis=1)
        return *merged(runs_of(words), offsets), spans.tolist(), batch.lengths.tolist()

    def made(k: int) -> Any:
        score, path = float(scores[k]), None
        if max_paths and not (local and abs(score) <= given.tolerance):
            moves, lengths, bounds, spans, sizes = paths()
            some = slice(bounds[k], bounds[k + 1])
            path = pair_path(moves[some].copy(), lengths[some].copy(), spans[k], sizes[k], ends)
        return result_of(score, path, bool(max_paths))

    return PairAlignResults(scores, made)


def _one_by_one(seqs: list[Any], how: tuple[Any, ...], device: Any) -> PairAlignResults:
    found = []
    for k, pair in enumerate(zip(seqs[::2], seqs[1::2], strict=True)):
        try:
            found.append(pair_align(*pair, *how, device=device))
        except InputError as error:
            error.args = (f"pair {k}: {error}",)
            raise
    return PairAlignResults(np.array([one.score for one in found], np.float64), found.__getitem__)


def _encoded(seqs: list[Any], sub_score: Any, gap_cost: Any, atol: Any) -> tuple[Batch, Coded]:
    """The pairs in `LETTERS`, and their scores, by scikit-bio's rules.  Raises as `encoded`,
    but not which pair is wrong."""
    sizes = np.fromiter(map(len, seqs), np.int64, len(seqs))
    longest = int(sizes[::2].max()), int(sizes[1::2].max())
    bounds = np.append(0, sizes.cumsum())
    together = _together(seqs) if sizes.min() else None
    if together is None:
        coded = encoded(seqs, sub_score, gap_cost, atol, longest)
        return Batch.joined(LETTERS[np.concatenate(coded.ranks)], bounds), coded
    kind, text = together
    codes, there = np.frombuffer(text, np.uint8), np.zeros(256, np.bool_)
    for start in range(0, len(codes), PIECE):
        there |= np.bincount(codes[start : start + PIECE], minlength=256) > 0
    symbols = there.nonzero()[0].astype(np.uint8).tobytes()
    each = symbols.decode("ascii") if kind is str else kind(symbols)
    coded = encoded([each], sub_score, gap_cost, atol, longest)
    table = bytes.maketrans(symbols, LETTERS[coded.ranks[0]].tobytes())
    return Batch.joined(text.translate(table), bounds), coded


def _together(seqs: list[Any]) -> tuple[type, bytes] | None:
    """The class and the letters of sequences that scikit-bio encodes letter by letter."""
    kinds = set(map(type, seqs))
    kind = kinds.pop()
    if kinds:
        return None
    if kind is str:
        text = "".join(seqs)
        return (kind, text.encode("ascii")) if text.isascii() else None
    if issubclass(kind, TheirSequence):
        return kind, b"".join([one._bytes.tobytes() for one in seqs])
    return None


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
    are the names of the sequences, by default their own.  All pairs are aligned in one batch."""
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
    time, computed here."""
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
    letters = SequenceSet.from_sequences([given.letters(k) for k in range(len(given.ranks))])
    how = MatrixOptions(mode="global", free_ends=free, sub_score=given.scoring, output="distance")
    found = matrix_of(letters, None, how, Resources(device=device))[0]
    return np.asarray(found[np.triu_indices(len(letters), 1)], np.float64)
