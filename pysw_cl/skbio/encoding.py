"""Sequences and scores as scikit-bio encodes them, in this package's integers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from skbio.alignment._utils import _prep_atol, encode_sequences, prep_gapcost

from ..errors import InputError, PyswError
from ..scoring.arguments import SCORE_LIMIT
from ..scoring.scoring import Scoring, make_scoring
from ..sequences.coded import STAND_INS

#: How many calls went to scikit-bio, by reason.
DELEGATED: Counter[str] = Counter()

#: The letters that stand for symbols: no gaps, and no alphabet of proteins.
LETTERS = np.frombuffer(STAND_INS.encode(), np.uint8)
#: Integers of 32-bit floats are exact up to here.
_EXACT = {np.dtype(np.float32): 1 << 24, np.dtype(np.float64): 1 << 53}


class NotOurs(Exception):
    """What scikit-bio has to compute itself, by reason."""


class Coded(NamedTuple):
    """Sequences in the ranks of their symbols, among those that occur, and their scores."""

    ranks: list[NDArray[np.uint8]]
    #: Of the symbols, which `LETTERS` stand for in turn.
    scoring: Scoring
    #: scikit-bio's scores are those of ``scoring``, divided by this power of two.
    unit: int
    #: A local alignment that scores no more is none.
    tolerance: float

    def letters(self, k: int) -> NDArray[np.uint8]:
        """Sequence k in `LETTERS`."""
        letters = LETTERS[self.ranks[k]]
        letters.flags.writeable = False
        return letters


def encoded(
    seqs: Sequence[Any], sub_score: Any, gap_cost: Any, atol: Any, longest: Sequence[int] = ()
) -> Coded:
    """The sequences by scikit-bio's rules.  ``longest``: the lengths of the longest ones that are
    compared, if they are not those of ``seqs``.  Raises NotOurs, and what scikit-bio's own encoding
    raises."""
    indices, submat, _ = encode_sequences(seqs, sub_score)
    dtype = submat.dtype.type
    tolerance = float(_prep_atol(atol, dtype=dtype))
    gap_open, gap_extend = prep_gapcost(gap_cost, dtype=dtype)
    return coded(indices, submat, float(gap_open), float(gap_extend), tolerance, longest)


def coded(
    indices: Sequence[NDArray[np.intp]],
    submat: NDArray[Any],
    gap_open: float,
    gap_extend: float,
    atol: float,
    longest: Sequence[int] = (),
) -> Coded:
    """`encoded`, of indices into scikit-bio's matrix."""
    if any(one.ndim != 1 for one in indices):
        raise NotOurs("no sequence")
    there = np.zeros(len(submat), np.bool_)
    for one in indices:
        there[one] = True
    symbols = there.nonzero()[0]
    if len(symbols) > len(LETTERS):
        raise NotOurs("symbols")
    values = submat[symbols[:, None], symbols]
    made = _scores(values.tobytes(), values.dtype.str, gap_open, gap_extend)
    if isinstance(made, str):  # a refusal is kept, too
        raise NotOurs(made)
    of, unit = made
    if 2 * unit * atol >= 1:
        raise NotOurs("atol")
    # a bound on every number in scikit-bio's matrices
    m, n = sorted(longest or map(len, indices))[-2:]
    most = m * max(abs(of.highest), abs(of.lowest)) + 3 * of.gap_open + (m + n + 2) * of.gap_extend
    if most >= _EXACT[submat.dtype]:
        raise NotOurs("totals")
    table = (there.cumsum() - 1).astype(np.uint8)
    return Coded([table[one] for one in indices], of, unit, atol)


@lru_cache(maxsize=256)
def _scores(
    values: bytes, kind: str, gap_open: float, gap_extend: float
) -> tuple[Scoring, int] | str:
    """The scoring of these float scores, made whole by a power of two; or why there is none."""
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
    matrix, letters = (numbers * unit).reshape(size, size), STAND_INS[:size]
    costs = int(gap_open * unit), int(gap_extend * unit)
    return make_scoring((matrix, letters), costs), unit


class ErrorsOfOurs:
    """Raises scikit-bio's errors as ones of this package, from the same built-in exceptions."""

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, PyswError | NotOurs):
            kinds = type(error).__mro__
            built_in = next(base for base in kinds if base.__module__ == "builtins")
            raise _input_error(built_in)(*map(str, error.args[:1])) from error


@cache
def _input_error(built_in: type) -> type[Exception]:
    if issubclass(InputError, built_in):
        return InputError
    return type(f"Input{built_in.__name__}", (InputError, built_in), {"__doc__": "As theirs."})
