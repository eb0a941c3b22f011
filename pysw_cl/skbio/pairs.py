"""scikit-bio's `pair_align`: what is computed here, and what goes to scikit-bio."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from skbio import alignment
from skbio.alignment import PairAlignPath, _pair
from skbio.alignment._path import _encode_path
from skbio.alignment._utils import _prep_atol, encode_sequences, prep_gapcost

from ..api.align import align_with
from ..drivers.options import AlignOptions, AlignResources
from ..errors import DeviceError, InputError, PyswError, RangeError
from ..results.cigar import Runs
from ..scoring.scoring import SCORE_LIMIT, Scoring, make_scoring

#: How many calls went to scikit-bio, by reason.
DELEGATED: Counter[str] = Counter()

#: The letters that stand for symbols: no gaps, and no alphabet of proteins.
LETTERS = np.frombuffer(b"0123456789abcdefghijklmnopqrstuv", np.uint8)
#: Integers of 32-bit floats are exact up to here.
_EXACT = {np.dtype(np.float32): 1 << 24, np.dtype(np.float64): 1 << 53}
#: What our operations are in scikit-bio's paths.
_STATES = {"=": 0, "X": 0, "D": 1, "I": 2}

#: scikit-bio's own functions.
ORIGINAL: dict[str, Any] = {
    name: getattr(alignment, name) for name in ("pair_align", "pair_align_nucl", "pair_align_prot")
}

#: The error of this package for each built-in one that scikit-bio raises.
_KINDS: dict[type, type[Exception]] = {}


class Codes(NamedTuple):
    """Sequences in letters of `LETTERS`, and the scoring of these letters."""

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
) -> _pair.PairAlignResult:
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
        local = _pair._prep_mode(mode)
        ends = _pair._prep_free_ends(local, free_ends, trim_ends)
        codes, atol_ = encoded((seq1, seq2), sub_score, gap_cost, atol)
        return _aligned(codes, local, ends, bool(max_paths), atol_, device)
    except NotOurs as reason:
        DELEGATED[str(reason)] += 1
    except PyswError:
        raise
    except Exception as error:
        raise as_ours(error) from error
    try:
        return ORIGINAL["pair_align"](seq1, seq2, *given)
    except Exception as error:
        raise as_ours(error) from error


def pair_align_nucl(seq1: Any, seq2: Any, /, **kwargs: Any) -> _pair.PairAlignResult:
    """`pair_align` with scikit-bio's defaults for nucleotides: (2, -3), and gaps (5, 2)."""
    return pair_align(seq1, seq2, **{"sub_score": (2.0, -3.0), "gap_cost": (5.0, 2.0), **kwargs})


def pair_align_prot(seq1: Any, seq2: Any, /, **kwargs: Any) -> _pair.PairAlignResult:
    """`pair_align` with scikit-bio's defaults for proteins: BLOSUM62, and gaps (11, 1)."""
    return pair_align(seq1, seq2, **{"sub_score": "BLOSUM62", "gap_cost": (11.0, 1.0), **kwargs})


# What is computed


def encoded(seqs: Sequence[Any], sub_score: Any, gap_cost: Any, atol: Any) -> tuple[Codes, float]:
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
    if len(symbols) > len(LETTERS):
        raise NotOurs("symbols")
    values = submat[np.ix_(symbols, symbols)]
    made = _scoring(values.tobytes(), values.dtype.str, float(gap_open), float(gap_extend))
    if isinstance(made, str):
        raise NotOurs(made)
    scoring, unit = made
    if 2 * unit * atol_ >= 1:
        raise NotOurs("atol")
    table = np.zeros(len(submat), np.uint8)
    table[symbols] = LETTERS[: len(symbols)]
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
    matrix, letters = (numbers * unit).reshape(size, size), LETTERS[:size].tobytes().decode()
    costs = tuple(int(cost * unit) for cost in (gap_open, gap_extend))
    return make_scoring((matrix, letters), costs), unit


def _largest(scoring: Scoring, m: int, n: int) -> int:
    """A bound on every number in scikit-bio's matrices, in the scoring's integers."""
    steps = min(m, n) * max(abs(scoring.highest), abs(scoring.lowest))
    return steps + 3 * scoring.gap_open + (m + n + 2) * scoring.gap_extend


def _aligned(
    codes: Codes, local: bool, ends: Any, path: bool, atol: float, device: Any
) -> _pair.PairAlignResult:
    options = _options(codes.scoring, local, tuple(bool(end) and not local for end in ends), path)
    query, target = codes.letters
    try:
        found = align_with(query, target, options, _resources(device), quiet=True)
    except RangeError:
        raise NotOurs("totals") from None
    score = float(found.score) / codes.unit
    if not path:
        return _pair.PairAlignResult(score, None, None)
    if local and abs(score) <= atol:
        return _pair.PairAlignResult(score, [], None)
    assert found.runs is not None
    span = found.query_start, found.query_end, found.target_start, found.target_end
    sizes = [len(letters) for letters in codes.letters]
    return _pair.PairAlignResult(score, [_path(found.runs, span, sizes, ends)], None)


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


def as_ours(error: Exception) -> Exception:
    """scikit-bio's error as one of this package that derives from the same built-in exceptions."""
    if isinstance(error, InputError | DeviceError):
        return error
    kind = type(error)
    built_in = next(base for base in kind.__mro__ if base.__module__ == "builtins")
    if built_in not in _KINDS:
        made = type(f"Input{built_in.__name__}", (InputError, built_in), {"__doc__": "As theirs."})
        _KINDS[built_in] = InputError if issubclass(InputError, kind) else made
    return _KINDS[built_in](*map(str, error.args[:1]))
