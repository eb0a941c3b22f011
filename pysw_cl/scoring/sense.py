"""Scorings that are well-formed, but hardly what anybody means.

With gaps that are cheap enough, a global alignment of two random sequences scores more the longer
they are.  Then the best local alignment of unrelated sequences runs through nearly all of both, and
its score says nothing (the linear phase).  Where the mean global score falls instead, local scores
grow with the logarithm of the length, as statistics of alignments need (the logarithmic phase).
The sign of the mean global score tells them apart: Arratia & Waterman (1994), Ann Appl Probab 4,
200-225.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ScoringError, shown
from ..sequences.alphabet import NUCLEOTIDES, is_nucleotide
from .arguments import DEFAULT_GAPS, match_mismatch
from .matrices import USUAL_GAPS
from .protein import AMINO_ACIDS, FREQUENCIES, is_protein
from .scoring import Scoring

_ANYWAY = "allow_odd_scoring=True takes it as it is"
#: The default match and mismatch.
DEFAULT_PAIR = (1, -3)
#: Pairs of random sequences, and the letters of each: 50 ms, and an error of 0.01 a letter.
PAIRS, LETTERS = 32, 400
#: A mean is above 0 if it is by so many of its standard errors.
SURE = 3.0
#: Scores far below all others; sums of two of them fit 32 bits.
_LOW = -(1 << 29)

_found: dict[tuple[Any, ...], bool] = {}


def is_linear(scoring: Scoring) -> bool:
    """Whether a scoring is in the linear phase, estimated once a scoring from random pairs.

    Letters have the frequencies of Robinson & Robinson (1991) in protein alphabets, and are all as
    frequent in others.  The mean score a letter grows with the length, so a mean above 0 proves the
    linear phase; a scoring close to the transition may be missed.
    """
    if scoring.by_position or _usual(scoring):
        return False
    arrays = scoring.matrix.tobytes(), scoring.query_encoding.tobytes()
    key = scoring.letters, scoring.gap_open, scoring.gap_extend, *arrays
    if key not in _found:
        mean, error = mean_global_score(scoring)
        _found[key] = mean > SURE * error
    return _found[key]


def _usual(scoring: Scoring) -> bool:
    """Is it a default, which is known not to be in the linear phase?"""
    gaps = scoring.gap_open, scoring.gap_extend
    if scoring.name:
        return USUAL_GAPS.get(scoring.name) == gaps and scoring.scale == 1
    return scoring.source.compared() == DEFAULT_PAIR and gaps == DEFAULT_GAPS


def mean_global_score(
    scoring: Scoring, letters: int = LETTERS, pairs: int = PAIRS
) -> tuple[float, float]:
    """The mean score a letter of global alignments of random pairs of ``letters`` letters each, and
    its standard error, both in the scoring's own integers."""
    protein = is_protein(scoring.letters)
    usual = NUCLEOTIDES if is_nucleotide(scoring.letters) else scoring.letters
    codes = np.frombuffer((AMINO_ACIDS if protein else usual).encode(), np.uint8)
    shares = np.array(FREQUENCIES if protein else [1.0] * len(codes))
    rng = np.random.default_rng(1)
    drawn = rng.choice(codes, (2, letters, pairs), p=shares / shares.sum())
    q, t = scoring.query_encoding[drawn[0]], scoring.target_encoding[drawn[1]]
    scores = _global_scores(scoring, q, t) / letters
    return float(scores.mean()), float(scores.std(ddof=1) / np.sqrt(pairs))


def _global_scores(
    scoring: Scoring, q: NDArray[np.uint8], t: NDArray[np.uint8]
) -> NDArray[np.int32]:
    """The global scores of pairs of sequences of equal length (letters x pairs, codes), by
    anti-diagonals (Gotoh 1982).  Arrays of a diagonal are indexed by row."""
    n, pairs = q.shape
    first, extend = scoring.gap_open + scoring.gap_extend, scoring.gap_extend
    low = np.full((n + 1, pairs), _LOW, np.int32)
    before, h, e, f = low.copy(), low.copy(), low.copy(), low.copy()
    before[0] = 0
    h[:2] = e[0] = f[1] = -first
    for d in range(2, 2 * n + 1):
        e = np.maximum(e - extend, h - first)
        f[1:] = np.maximum(f[:-1] - extend, h[:-1] - first)
        f[0] = _LOW
        new = np.maximum(e, f)
        rows = np.arange(max(1, d - n), min(n, d - 1) + 1)
        steps = before[rows - 1] + scoring.matrix[q[rows - 1], t[d - rows - 1]]
        new[rows] = np.maximum(new[rows], steps)
        new[: max(0, d - n)] = _LOW
        new[d + 1 :] = _LOW
        before, h = h, new
    return h[n]


def check_sense(sub_score: Any, scoring: Scoring, mode: str) -> None:
    """Raise ScoringError for a scoring that makes no sense in a mode.

    ``sub_score``: what the user gave; ``scoring``: what became of it.  In local mode some score has
    to be positive, or the best alignment is always the empty one.  A mismatch above 0 is a penalty
    with the wrong sign: minimap2 and bwa take penalties as positive numbers, this package adds
    scores.  In global mode scores may have any sign, as in edit distances, but a mismatch must not
    score more than a match.
    """
    pair = match_mismatch(sub_score)
    if mode == "local":
        if pair is not None and pair[1] > 0:
            raise ScoringError(
                f"a mismatch scores {shown(pair[1])}: scores are added here, so a mismatch is "
                f"negative, as in (1, -3), where minimap2 and bwa take a positive penalty; "
                f"{_ANYWAY}"
            )
        if scoring.highest <= 0:
            raise ScoringError(
                "no two letters score more than 0, so the best local alignment is always empty; "
                f"give a positive match, or align with mode='global'; {_ANYWAY}"
            )
    elif pair is not None and pair[1] > pair[0]:
        raise ScoringError(
            f"a mismatch scores {shown(pair[1])}, more than a match ({shown(pair[0])}): scores are "
            f"added here, and penalties are negative; {_ANYWAY}"
        )
