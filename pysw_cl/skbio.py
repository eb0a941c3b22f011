"""scikit-bio's `pair_align` and `multi_align`, computed by this package.

The functions have the signatures and defaults of scikit-bio 0.7, take what they take, and return
scikit-bio's own objects: the same score and the same path, to the last letter, for every form of
``free_ends`` and ``trim_ends``.  Sequences are encoded by scikit-bio itself, so letters mean what
they mean there: N matches N, a str is case-sensitive and may have any character, and symbols may be
words or numbers.

What this package does not compute goes to scikit-bio: more than 32 different symbols, ``max_paths``
other than 0 and 1, ``keep_matrices``, infinite or negative costs, scores that no power of two makes
whole, an ``atol`` that reaches half of their smallest step, and totals that may pass 2**24, where
scikit-bio's 32-bit floats are no longer exact.  `DELEGATED` counts these calls by reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .api.align import align_with
from .api.many import align_many_with
from .drivers.options import AlignOptions, AlignResources, ManyOptions, Resources
from .errors import DeviceError, InputError, PyswError, RangeError
from .results.cigar import Runs
from .scoring.scoring import SCORE_LIMIT, Scoring, make_scoring

try:
    import skbio.alignment as _skbio
    from scipy.cluster.hierarchy import linkage
    from skbio.alignment import PairAlignPath, align_score
    from skbio.alignment import _pair as _theirs
    from skbio.alignment._multi import MultiAlignResult
    from skbio.alignment._path import _encode_path
    from skbio.alignment._utils import _get_seqids, _prep_atol, encode_sequences, prep_gapcost
    from skbio.stats.distance import DistanceMatrix
    from skbio.tree import TreeNode
except ImportError as error:  # pragma: no cover
    raise ImportError(
        f"pysw_cl.skbio needs scikit-bio 0.7.4 or a later 0.7 (the extra skbio): pip install "
        f"'scikit-bio>=0.7.4,<0.8' ({error})"
    ) from None

__all__ = [
    "DELEGATED",
    "PairAlignPath",
    "align_score",
    "install",
    "pair_align",
    "pair_align_nucl",
    "pair_align_prot",
    "uninstall",
    "use",
]

#: How many calls went to scikit-bio, by reason.
DELEGATED: Counter[str] = Counter()

#: The letters that stand for symbols: no gaps, and no alphabet of proteins.
_LETTERS = np.frombuffer(b"0123456789abcdefghijklmnopqrstuv", np.uint8)
#: Integers of 32-bit floats are exact up to here.
_EXACT = {np.dtype(np.float32): 1 << 24, np.dtype(np.float64): 1 << 53}
#: What our operations are in scikit-bio's paths.
_RUN = re.compile(r"([0-9]+)([=XID])")
_STATES = {"=": 0, "X": 0, "D": 1, "I": 2}

Indices = NDArray[np.intp]


#: The error of this package for each built-in one that scikit-bio raises.
_KINDS: dict[type, type[Exception]] = {}


class Codes(NamedTuple):
    """Sequences in letters of `_LETTERS`, and the scoring of these letters."""

    letters: list[NDArray[np.uint8]]
    scoring: Scoring
    #: scikit-bio's scores are those of ``scoring``, divided by this power of two.
    unit: int


class NotOurs(Exception):
    """What scikit-bio has to compute itself, by reason."""


def pair_align(
    seq1: Any,
    seq2: Any,
    /,
    mode: str = "global",
    sub_score: Any = (1.0, -1.0),
    gap_cost: Any = 2.0,
    free_ends: Any = True,
    trim_ends: bool = False,
    max_paths: int | None = 1,
    atol: float = 1e-5,
    keep_matrices: bool = False,
    *,
    device: Any = "auto",
) -> _theirs.PairAlignResult:
    """scikit-bio's `pair_align`: the same arguments and the same result.

    ``device``: as for `pysw_cl.align`.  A gap of k letters costs ``open + k * extend``.  Raises
    InputError (a ValueError, and a TypeError where scikit-bio raises one) for what scikit-bio
    refuses, and DeviceError.
    """
    given = (mode, sub_score, gap_cost, free_ends, trim_ends, max_paths, atol, keep_matrices)
    try:
        if keep_matrices:
            raise NotOurs("keep_matrices")
        if max_paths is None or max_paths not in (0, 1):
            raise NotOurs("max_paths")
        local = _theirs._prep_mode(mode)
        ends = _theirs._prep_free_ends(local, free_ends, trim_ends)
        codes, atol_ = _encoded((seq1, seq2), sub_score, gap_cost, atol)
        return _aligned(codes, local, ends, bool(max_paths), atol_, device)
    except NotOurs as reason:
        DELEGATED[str(reason)] += 1
    except PyswError:
        raise
    except Exception as error:
        raise _as_ours(error) from error
    try:
        return _ORIGINAL["pair_align"](seq1, seq2, *given)
    except Exception as error:
        raise _as_ours(error) from error


def pair_align_nucl(seq1: Any, seq2: Any, /, **kwargs: Any) -> _theirs.PairAlignResult:
    """`pair_align` with scikit-bio's defaults for nucleotides: (2, -3), and gaps (5, 2)."""
    return pair_align(seq1, seq2, **{"sub_score": (2.0, -3.0), "gap_cost": (5.0, 2.0), **kwargs})


def pair_align_prot(seq1: Any, seq2: Any, /, **kwargs: Any) -> _theirs.PairAlignResult:
    """`pair_align` with scikit-bio's defaults for proteins: BLOSUM62, and gaps (11, 1)."""
    return pair_align(seq1, seq2, **{"sub_score": "BLOSUM62", "gap_cost": (11.0, 1.0), **kwargs})


# What is computed


def _encoded(seqs: Sequence[Any], sub_score: Any, gap_cost: Any, atol: Any) -> tuple[Codes, float]:
    """The sequences in our letters, and the tolerance.  Raises NotOurs, and what scikit-bio's own
    encoding raises."""
    indices, submat, _ = encode_sequences(seqs, sub_score)
    dtype = submat.dtype.type
    atol_ = float(_prep_atol(atol, dtype=dtype))
    gap_open, gap_extend = prep_gapcost(gap_cost, dtype=dtype)
    there = np.zeros(len(submat), bool)
    for one in indices:
        there[one] = True
    symbols = np.flatnonzero(there)
    if len(symbols) > len(_LETTERS):
        raise NotOurs("symbols")
    values = submat[np.ix_(symbols, symbols)]
    made = _scoring(values.tobytes(), values.dtype.str, float(gap_open), float(gap_extend))
    if isinstance(made, str):
        raise NotOurs(made)
    scoring, unit = made
    if 2 * unit * atol_ >= 1:
        raise NotOurs("atol")
    table = np.zeros(len(submat), np.uint8)
    table[symbols] = _LETTERS[: len(symbols)]
    exact = _EXACT[submat.dtype]
    longest = sorted(map(len, indices))[-2:]
    if _largest(scoring, longest[0], longest[-1]) >= exact:
        raise NotOurs("totals")
    return Codes([table[one] for one in indices], scoring, unit), atol_


@lru_cache(maxsize=256)
def _scoring(
    values: bytes, kind: str, gap_open: float, gap_extend: float
) -> tuple[Scoring, int] | str:
    """The scoring of these float scores, and the power of two that makes them whole; or why there
    is none."""
    numbers = np.frombuffer(values, kind).astype(np.float64)
    gaps = np.array([gap_open, gap_extend])
    if not (np.isfinite(numbers).all() and np.isfinite(gaps).all()):
        return "infinite"
    if gaps.min() < 0:
        return "negative gap cost"
    every, unit = np.concatenate([numbers, gaps]), 1
    while not (every * unit == np.rint(every * unit)).all():
        unit *= 2
        if unit >= SCORE_LIMIT:
            return "not whole"
    if np.abs(every).max() * unit >= SCORE_LIMIT:
        return "large scores"
    size = round(len(numbers) ** 0.5)
    matrix, letters = (numbers * unit).reshape(size, size), _LETTERS[:size].tobytes().decode()
    costs = tuple(int(cost * unit) for cost in (gap_open, gap_extend))
    return make_scoring((matrix, letters), costs), unit


def _largest(scoring: Scoring, m: int, n: int) -> int:
    """A bound on every number in scikit-bio's matrices, in the scoring's integers."""
    steps = min(m, n) * max(abs(scoring.highest), abs(scoring.lowest))
    return steps + 3 * scoring.gap_open + (m + n + 2) * scoring.gap_extend


def _aligned(
    codes: Codes, local: bool, ends: Any, path: bool, atol: float, device: Any
) -> _theirs.PairAlignResult:
    options = _options(codes.scoring, local, tuple(bool(end) and not local for end in ends), path)
    query, target = codes.letters
    try:
        found = align_with(query, target, options, _resources(device), quiet=True)
    except RangeError:
        raise NotOurs("totals") from None
    score = float(found.score) / codes.unit
    if not path:
        return _theirs.PairAlignResult(score, None, None)
    if local and abs(score) <= atol:
        return _theirs.PairAlignResult(score, [], None)
    assert found.runs is not None
    span = found.query_start, found.query_end, found.target_start, found.target_end
    sizes = [len(letters) for letters in codes.letters]
    return _theirs.PairAlignResult(score, [_path(found.runs, span, sizes, ends)], None)


@lru_cache(maxsize=64)
def _options(scoring: Scoring, local: bool, free: tuple[bool, ...], path: bool) -> AlignOptions:
    return AlignOptions(
        mode="local" if local else "global",
        free_ends=free if any(free) else False,
        sub_score=scoring,
        output="path" if path else "score",
    )


def _resources(device: Any) -> AlignResources:
    return AlignResources(device=device)


def _path(runs: Runs, span: Any, sizes: Sequence[int], ends: Any) -> PairAlignPath:
    """A path as scikit-bio has it: free end gaps are there unless they are trimmed (2)."""
    (i0, i1, j0, j1), (m, n) = span, sizes
    states, lengths = _dense(runs)
    if j1 < n and i1 == m and ends[1] < 2:
        states, lengths, j1 = [*states, 1], [*lengths, n - j1], n
    elif i1 < m and j1 == n and ends[3] < 2:
        states, lengths, i1 = [*states, 2], [*lengths, m - i1], m
    if j0 and not i0 and ends[0] < 2:
        states, lengths, j0 = [1, *states], [j0, *lengths], 0
    elif i0 and not j0 and ends[2] < 2:
        states, lengths, i0 = [2, *states], [i0, *lengths], 0
    dense = np.repeat(np.array(states, np.uint8), np.array(lengths, np.intp))
    return _encode_path(dense, i0, i1, j0, j1)


def _dense(runs: Runs) -> tuple[list[int], list[int]]:
    pairs = [(_STATES[op], length) for op, length in runs]
    return [state for state, _ in pairs], [length for _, length in pairs]


def _as_ours(error: Exception) -> Exception:
    """scikit-bio's error as one of this package that derives from the same built-in exceptions."""
    if isinstance(error, InputError | DeviceError):
        return error
    kind = type(error)
    built_in = next(base for base in kind.__mro__ if base.__module__ == "builtins")
    if built_in not in _KINDS:
        made = type(f"Input{built_in.__name__}", (InputError, built_in), {"__doc__": "As theirs."})
        _KINDS[built_in] = InputError if issubclass(InputError, kind) else made
    return _KINDS[built_in](*map(str, error.args[:1]))


# Many sequences


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
    bit.  The other arguments are those of `multi_align`; ``ids`` are the names of the sequences,
    by default their own.  All pairs are aligned in one batch.
    """
    if metric != "score":
        raise InputError(f"metric must be 'score', not {metric!r}")
    try:
        listed = list(seqs)
        names = _get_seqids(listed, ids)
        return DistanceMatrix(
            _distances(listed, sub_score, gap_cost, bool(free_ends), atol, device), names
        )
    except (PyswError, NotOurs):
        raise
    except Exception as error:
        raise _as_ours(error) from error


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

    The distances of all pairs (`pair_dists`), which take nearly all of its time, are computed here;
    the guide tree is made of them by average linkage, and scikit-bio merges along it.
    """
    listed, given = list(sequences), {"sub_score": sub_score, "gap_cost": gap_cost}
    given |= {"free_ends": free_ends, "atol": atol, "ids": ids if ids is None else list(ids)}
    if guide_tree is None and len(listed) > 1:
        try:
            distances = _distances(listed, sub_score, gap_cost, bool(free_ends), atol, device)
            names = _get_seqids(listed, given["ids"])
            guide = TreeNode.from_linkage_matrix(linkage(distances, method="average"), names)
            found = _multi_align(listed, guide_tree=guide, **given)
            distmat = DistanceMatrix(distances, names) if keep_distmat else None
            return MultiAlignResult(found.path, guide if keep_tree else None, distmat)
        except NotOurs as reason:
            DELEGATED[str(reason)] += 1
        except DeviceError:
            raise
        except Exception:
            pass
    kept = {"keep_tree": keep_tree, "keep_distmat": keep_distmat}
    return _multi_align(listed, guide_tree=guide_tree, **given, **kept)


def _multi_align(listed: list[Any], **given: Any) -> MultiAlignResult:
    try:
        return _skbio.multi_align(listed, **given)
    except Exception as error:
        raise _as_ours(error) from error


def _distances(
    seqs: list[Any], sub_score: Any, gap_cost: Any, free: bool, atol: Any, device: Any
) -> NDArray[np.float64]:
    """scikit-bio's distances of all pairs, the upper triangle row by row (its `_score_dists`)."""
    codes, _ = _encoded(seqs, sub_score, gap_cost, atol)
    letters, scoring, unit = codes
    count = len(letters)
    pairs = [(letters[i], letters[j]) for i in range(count) for j in range(i + 1, count)]
    ends = (free,) * 4 if free else False
    how: dict[str, Any] = {"mode": "global", "free_ends": ends, "sub_score": scoring}
    resources = Resources(device=device)

    def run(some: list[Any], output: str) -> NDArray[Any]:
        return align_many_with(some, ManyOptions(output=output, **how), resources)[0]

    rows = run(pairs, "path")
    itself = run([(one, one) for one in letters], "score")["score"] / unit
    sizes = np.array([len(one) for one in letters], np.int64)
    first, second = np.triu_indices(count, 1)
    lengths, gaps, inner = _gaps(rows, sizes[first], sizes[second], free)
    # the mean score of two letters of the pair, over the columns, and what its gaps cost
    table = np.zeros(256, np.intp)
    table[_LETTERS] = np.arange(len(_LETTERS))
    size = len(scoring.letters)
    counts = np.array([np.bincount(table[one], minlength=size) for one in letters], np.float64)
    weight = counts @ _float_matrix(scoring, unit)
    subs = np.einsum("ij,ij->i", weight[first], counts[second]) / lengths
    random = subs - (scoring.gap_open / unit * gaps + scoring.gap_extend / unit * inner)
    above = rows["score"] / unit - random
    most = (itself[first] + itself[second]) / 2 - random
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip(above / most, 1e-6, 1.0)
        return np.where(most == 0, 0.0, -np.log(share))


def _float_matrix(scoring: Scoring, unit: int) -> NDArray[np.float64]:
    """The scores of the letters in turn."""
    codes = np.frombuffer(scoring.letters.encode(), np.uint8)
    query, target = scoring.query_encoding[codes], scoring.target_encoding[codes]
    return scoring.matrix[np.ix_(query, target)] / unit


def _gaps(
    rows: NDArray[Any], m: NDArray[np.int64], n: NDArray[np.int64], free: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Of each path, free end gaps included: its columns; without a gap at either end if ends are
    free: how many gaps it has, and their letters."""
    spans = rows["query_end"] - rows["query_start"], rows["target_end"] - rows["target_start"]
    columns = rows["columns"]
    lengths = columns + m + n - spans[0] - spans[1]
    gaps = np.array([cigar.count("I") + cigar.count("D") for cigar in rows["cigar"]], np.int64)
    inner = 2 * columns - spans[0] - spans[1]
    if free:
        starts = (rows["query_start"] > 0) | (rows["target_start"] > 0)
        stops = (rows["query_end"] < m) | (rows["target_end"] < n)
        for at, whole in ((0, ~starts), (-1, ~stops)):
            for k in np.flatnonzero(whole).tolist():
                runs = _RUN.findall(rows["cigar"][k])
                if runs and runs[at][1] in "ID" and not (at and len(runs) == 1 and not starts[k]):
                    gaps[k] -= 1
                    inner[k] -= int(runs[at][0])
    return lengths, gaps, inner


# Routing of scikit-bio's own names

_ORIGINAL: dict[str, Any] = {
    name: getattr(_skbio, name) for name in ("pair_align", "pair_align_nucl", "pair_align_prot")
}
_device: ContextVar[Any] = ContextVar("pysw_cl.skbio device", default=None)
_everywhere: list[Any] = []


def install(device: Any = "auto") -> None:
    """Route scikit-bio's `pair_align`, `pair_align_nucl` and `pair_align_prot` through this
    package, for code that cannot be edited, until `uninstall`.

    Names that were bound before (``from skbio.alignment import pair_align``) are not routed.
    """
    _put_dispatchers()
    _everywhere[:] = [device]


def uninstall() -> None:
    """Take back `install`; inside `use` calls are still routed."""
    _everywhere.clear()


@contextmanager
def use(device: Any = "auto") -> Iterator[None]:
    """`install` for a block of code, in this thread or task only; blocks may be nested."""
    _put_dispatchers()
    token = _device.set([device])
    try:
        yield
    finally:
        _device.reset(token)


def _put_dispatchers() -> None:
    for name, original in _ORIGINAL.items():
        if getattr(_skbio, name) is original:
            dispatcher = _dispatcher(name, original)
            setattr(_skbio, name, dispatcher)
            setattr(_theirs, name, dispatcher)


def _dispatcher(name: str, original: Any) -> Any:
    ours = globals()[name]

    @wraps(original)
    def route(*args: Any, **kwargs: Any) -> Any:
        chosen = _device.get() or _everywhere
        return ours(*args, **kwargs, device=chosen[0]) if chosen else original(*args, **kwargs)

    return route
