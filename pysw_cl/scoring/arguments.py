"""Reads the substitution scores and gap costs that a user gives, and checks them."""

from __future__ import annotations

import hashlib
import numbers
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ScoringError, is_number, shown
from ..sequences.alphabet import AMBIGUITY, BASES, GAPS, MAX_LETTERS, looks_like_path, spellings
from ..sequences.coded import Alphabet
from ..sequences.lent import refuse_masked
from . import matrices
from .matrices import DEFAULT_GAPS, USUAL_GAPS, Values, is_name, load_matrix

#: Every score and gap cost, after scaling, is smaller than this.
SCORE_LIMIT = 1 << 20
#: The ``unknown`` that makes letters outside the alphabet errors.
ERROR = "error"
#: What ambiguity letters do beside (match, mismatch).
IUPAC = MISMATCH, MATCH = "mismatch", "match"
#: A square array of scores, rows for the query, and what else `Scoring` has of them, by its fields.
Substitutions = tuple[Values, dict[str, Any]]


def substitution_scores(sub_score: Any, iupac: str = MISMATCH) -> Substitutions:
    """What a user's ``sub_score`` means.  Raises ScoringError; see `make_scoring`."""
    if not isinstance(iupac, str) or iupac not in IUPAC:
        raise ScoringError(f"iupac must be {MISMATCH!r} or {MATCH!r}, not {shown(iupac)}")
    if iupac == MATCH and match_mismatch(sub_score) is None:
        raise ScoringError(
            "iupac='match' goes with sub_score=(match, mismatch) (in the shell: --match and "
            "--mismatch), not with a matrix, which has scores of its own for ambiguity letters"
        )
    file = isinstance(sub_score, os.PathLike)
    if isinstance(sub_score, str) and not is_name(sub_score):  # the name of a matrix is that matrix
        file = looks_like_path(sub_score) or os.path.isfile(sub_score)  # noqa: PTH113
    if file:
        return _matrix_of(*matrices.read_matrix(sub_score))
    if isinstance(sub_score, str):
        return _matrix_of(*load_matrix(sub_score), matrices.canonical_name(sub_score))
    if hasattr(sub_score, "alphabet") and sub_score.alphabet is not None:
        scores = sub_score.scores if hasattr(sub_score, "scores") else sub_score
        return _matrix_of(scores, sub_score.alphabet)
    first, second = sub_score if _is_pair(sub_score) else (None, None)
    if match_mismatch(sub_score) is not None:
        match, mismatch = (_number(v, "a substitution score") for v in (first, second))
        words, bases = f"match {match:g}, mismatch {mismatch:g}", np.array([*BASES.values()])
        known: dict[str, Any] = {"letters": "".join(BASES), "never_match": AMBIGUITY}
        same = np.eye(len(bases), dtype=bool) & (np.arange(len(bases)) < 4)
        if iupac == MATCH:
            same = np.bitwise_and.outer(bases, bases) != 0
            words += ", IUPAC letters match that have a base in common"
            known |= {"never_match": "", "sets": True}
        return np.where(same, match, mismatch), known | {"substitutions": words}
    if isinstance(second, Alphabet):
        values, letters = _matrix(first, second.letters)
        words = _words(values, str(second))
        return values, {"letters": letters, "substitutions": words, "alphabet": second}
    if isinstance(second, Sequence) and all(isinstance(c, str) for c in second):
        return _matrix_of(first, second)
    raise ScoringError(
        "sub_score takes (match, mismatch), a matrix name such as 'BLOSUM62', a file in NCBI's "
        "format, a scikit-bio SubstitutionMatrix, one of Biopython's matrices, (array, letters), "
        f"or (array, Alphabet); not {shown(sub_score)}"
    )


def match_mismatch(sub_score: Any) -> tuple[Any, Any] | None:
    """(match, mismatch) if that is what ``sub_score`` is: two numbers; else None."""
    if _is_pair(sub_score) and all(isinstance(v, numbers.Real) for v in sub_score):
        return sub_score[0], sub_score[1]
    return None


def _matrix_of(scores: Any, alphabet: Any, name: str = "") -> Substitutions:
    """A matrix; one of proteins with the letters that it lacks.  One that is equal to a named
    matrix has its name, so that the usual gap cost is the same however it is given."""
    values, letters = _matrix(scores, alphabet)
    for usual in () if name else USUAL_GAPS:
        known, order = load_matrix(usual)
        if letters == order and np.array_equal(values, known):
            name = usual
    words = f"matrix {name}" if name else _words(values, letters)
    values, letters, added = matrices.with_stand_ins(values, letters)
    return values, {"letters": letters, "name": name, "stand_ins": added, "substitutions": words}


def _words(values: Values, letters: str) -> str:
    digest = hashlib.sha256(values.tobytes()).hexdigest()[:8]
    return f"a matrix of {letters} (SHA-256 {digest}...)"


def alphabet_of(alphabet: Any) -> str:
    symbols = [c if isinstance(c, str) else str(c) for c in alphabet]
    for c in symbols:
        if len(c) != 1 or not 32 < ord(c) < 127:
            raise ScoringError(f"alphabet: {c!r} is not one printable ASCII letter")
        if c in GAPS:
            raise ScoringError(f"alphabet: {c!r} stands for a gap; leave it out of the matrix")
        if symbols.count(c) > 1:
            raise ScoringError(f"alphabet: the letter {c!r} stands there twice")
    if not 1 <= len(symbols) <= MAX_LETTERS:
        raise ScoringError(
            f"alphabet: it has {len(symbols)} letters; it may have 1 to {MAX_LETTERS}"
        )
    return "".join(symbols)


def numbers_of(scores: Any, what: str) -> Values:
    """The numbers of a user's matrix; ``what`` names it."""
    refuse_masked(scores, what, ScoringError)
    try:
        if np.iscomplexobj(scores):
            raise TypeError("complex numbers")
        return np.array(scores, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ScoringError(f"the {what} is not made of numbers: {error}") from None


def _matrix(scores: Any, alphabet: Any) -> tuple[Values, str]:
    symbols, values = alphabet_of(alphabet), numbers_of(scores, "substitution matrix")
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise ScoringError(f"the substitution matrix has shape {values.shape}; it must be square")
    if len(values) != len(symbols):
        raise ScoringError(
            f"the substitution matrix has {len(values)} rows for {len(symbols)} letters"
        )
    if len(bad := np.argwhere(~np.isfinite(values))):
        row, column = (symbols[k] for k in bad[0])
        raise ScoringError(
            f"the score of {row} against {column} is {values[tuple(bad[0])]}, no finite number"
        )
    return values, symbols


def gap_costs(gap_cost: Any, matrix: str = "") -> Values:
    """(open, extend) of a user's ``gap_cost``; None: those of ``matrix``.  Raises ScoringError."""
    if gap_cost is None:
        pair: tuple[float, float] = USUAL_GAPS.get(matrix, DEFAULT_GAPS)
    elif isinstance(gap_cost, numbers.Real):
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


def integers(values: Values, gaps: Values) -> tuple[NDArray[np.int32], int, int, int]:
    """Scores, the costs of opening and of extending a gap as integers, and by what they were
    multiplied: 2 if there are halves.  Raises ScoringError for other fractions and large ones."""

    def whole(factor: int) -> bool:
        every = np.append(values, gaps) * factor
        return bool((every == np.rint(every)).all())

    largest = max(np.abs(values).max(), gaps.max())
    if largest < SCORE_LIMIT and not whole(2):
        factor = next((k for k in (10, 100, 1000) if whole(k)), None)
        more = "" if factor is None else f"; multiply all of them by {factor}"
        raise ScoringError(
            f"substitution scores and gap costs must be whole numbers or halves{more}"
        )
    scale = 1 if whole(1) else 2
    if largest * scale >= SCORE_LIMIT:
        raise ScoringError(
            f"substitution scores and gap costs must be smaller than {SCORE_LIMIT // scale}; "
            f"got {largest:.12g}"
        )
    opening, extension = np.rint(gaps * scale).astype(int).tolist()
    return np.rint(values * scale).astype(np.int32), opening, extension, scale


def letter_index(letter: Any, letters: str, what: str = "unknown") -> int:
    """The index of a letter, in any accepted spelling, among ``letters``; ``what`` it is for."""
    if not isinstance(letter, str) or len(letter) != 1:
        more = f"'{ERROR}' or one letter" if what == "unknown" else "one letter"
        raise ScoringError(f"{what} must be {more}, not {shown(letter)}")
    if (index := dict(spellings(letters)).get(letter)) is None:
        raise ScoringError(f"{what}: the letter {letter!r} is not in the alphabet {letters}")
    return index


def check_sense(sub_score: Any, highest: int, mode: str) -> None:
    """Raise ScoringError for scores that are well-formed, but hardly what anybody means in a mode.
    In global mode they may have any sign, as in edit distances.  ``highest``: of all scores."""
    pair, anyway = match_mismatch(sub_score), "allow_odd_scoring=True takes it as it is"
    if mode == "local":
        if pair is not None and pair[1] > 0:
            raise ScoringError(
                f"a mismatch scores {shown(pair[1])}: scores are added here, so a mismatch is "
                f"negative, as in (1, -3), where minimap2 and bwa take a positive penalty; "
                f"{anyway}"
            )
        if highest <= 0:
            raise ScoringError(
                "no two letters score more than 0, so the best local alignment is always empty; "
                f"give a positive match, or align with mode='global'; {anyway}"
            )
    elif pair is not None and pair[1] > pair[0]:
        raise ScoringError(
            f"a mismatch scores {shown(pair[1])}, more than a match ({shown(pair[0])}): scores are "
            f"added here, and penalties are negative; {anyway}"
        )


def _is_pair(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim > 0 and len(value) == 2
    return isinstance(value, Sequence) and len(value) == 2


def _number(value: Any, what: str) -> float:
    if not is_number(value):
        raise ScoringError(f"{what} must be a finite number, not {shown(value)}")
    return float(value)
