"""Reads the substitution scores and gap costs that a user gives, and checks them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ScoringError
from ..sequences.alphabet import AMBIGUITY, GAPS, MAX_LETTERS, NUCLEOTIDES
from .matrices import load_matrix

_FORMS = (
    "sub_score takes (match, mismatch), a matrix name such as 'BLOSUM62', a scikit-bio "
    "SubstitutionMatrix, or (array, letters)"
)


def substitution_scores(sub_score: Any) -> tuple[NDArray[np.float64], str, str]:
    """The scores of a user's ``sub_score``: a square array (rows for the query), its letters, and
    those of them that never match.  Raises ScoringError; see `make_scoring`."""
    if isinstance(sub_score, str):
        named, letters = load_matrix(sub_score)
        return named.astype(np.float64), letters, ""
    if hasattr(sub_score, "alphabet") and sub_score.alphabet is not None:
        scores = sub_score.scores if hasattr(sub_score, "scores") else sub_score
        return _matrix(scores, sub_score.alphabet)
    if not _is_pair(sub_score):
        raise ScoringError(f"{_FORMS}; not {shown(sub_score)}")
    first, second = sub_score
    if isinstance(first, numbers.Real) and isinstance(second, numbers.Real):
        match, mismatch = (_number(v, "a substitution score") for v in (first, second))
        letters = NUCLEOTIDES + AMBIGUITY
        scores = np.full((len(letters),) * 2, mismatch)
        scores[range(4), range(4)] = match
        return scores, letters, AMBIGUITY
    if isinstance(second, str) or (
        isinstance(second, Sequence) and all(isinstance(c, str) for c in second)
    ):
        return _matrix(first, second)
    raise ScoringError(f"{_FORMS}; not {shown(sub_score)}")


def _matrix(scores: Any, alphabet: Any) -> tuple[NDArray[np.float64], str, str]:
    """A user's matrix and alphabet, checked; no letter of it never matches."""
    symbols = [c if isinstance(c, str) else str(c) for c in alphabet]
    for c in symbols:
        if len(c) != 1 or not 32 < ord(c) < 127:
            raise ScoringError(f"alphabet: {c!r} is not one printable ASCII letter")
        if c in GAPS:
            raise ScoringError(f"alphabet: {c!r} stands for a gap; leave it out of the matrix")
        if symbols.count(c) > 1:
            raise ScoringError(f"alphabet: the letter {c!r} is there twice")
    if not 1 <= len(symbols) <= MAX_LETTERS:
        raise ScoringError(f"alphabet: {len(symbols)} letters; from 1 to {MAX_LETTERS} can be used")
    try:
        if np.iscomplexobj(scores):
            raise TypeError("complex numbers")
        values = np.array(scores, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ScoringError(f"the substitution matrix is not made of numbers: {error}") from None
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise ScoringError(f"the substitution matrix has shape {values.shape}; it must be square")
    if len(values) != len(symbols):
        raise ScoringError(
            f"the substitution matrix has {len(values)} rows for {len(symbols)} letters"
        )
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row, column = (symbols[k] for k in bad[0])
        raise ScoringError(f"the score of {row} against {column} is {values[tuple(bad[0])]}")
    return values, "".join(symbols), ""


def gap_costs(gap_cost: Any) -> NDArray[np.float64]:
    """(open, extend) from a user's ``gap_cost``.  Raises ScoringError; see `make_scoring`."""
    if isinstance(gap_cost, numbers.Real):
        pair = (0.0, _number(gap_cost, "gap_cost"))
    elif _is_pair(gap_cost):
        pair = (_number(gap_cost[0], "gap_open"), _number(gap_cost[1], "gap_extend"))
    else:
        raise ScoringError(
            "gap_cost takes one number (linear) or (open, extend), where a gap of length k costs "
            f"open + k * extend; not {shown(gap_cost)}"
        )
    if min(pair) < 0:
        raise ScoringError(
            f"gap costs are given as positive numbers and are subtracted; got {shown(gap_cost)}"
        )
    return np.array(pair)


def _is_pair(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim > 0 and len(value) == 2
    return isinstance(value, Sequence) and len(value) == 2


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise ScoringError(f"{what} must be a number, not {shown(value)}")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise ScoringError(f"{what} must be a finite number, not {shown(value)}")
    return found


def shown(value: Any) -> str:
    """A value as a message shows it: at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
