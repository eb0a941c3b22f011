"""Protein alphabets: the letters that a substitution matrix lacks, and the scores they take.

Databases have three letters that most matrices leave out.  U is selenocysteine, O is pyrrolysine,
and J is leucine or isoleucine, which mass spectrometry cannot tell apart.  NCBI's BLAST scores U as
C and O as X, and its tables of BLOSUM62 have a row for J.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..sequences.alphabet import MAX_LETTERS, folds_case
from .matrices import load_matrix

#: The twenty amino acids of the genetic code.
AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"
#: Their shares in proteins, in the order of AMINO_ACIDS: Robinson & Robinson (1991), PNAS 88,
#: 8880-8884, the background that BLAST's statistics are based on.
FREQUENCIES = (
    0.07805, 0.05129, 0.04487, 0.05364, 0.01925, 0.04264, 0.06295, 0.07377, 0.02199, 0.05142,
    0.09019, 0.05744, 0.02243, 0.03856, 0.05203, 0.07120, 0.05841, 0.01330, 0.03216, 0.06441,
)  # fmt: skip
#: How the letters that a matrix lacks are scored, in words.
STAND_INS = {"J": "J between I and L", "U": "U as C", "O": "O as X"}
#: The letters whose scores those of them take that have no own ones.
TAKEN = {"U": "C", "O": "X"}
#: The scores of J in NCBI's table of BLOSUM62 (ncbi-toolkit, sm_blosum62.c), in the order of the
#: letters that NCBI's file of BLOSUM62 has.
_BLOSUM62_J = (-1, -2, -3, -3, -1, -2, -3, -4, -3, 3, 3, -3, 2, 0, -3, -2, -1, -2, -1, 2, -3, -3,
               -1, -4)  # fmt: skip

Values = NDArray[np.float64]


def is_protein(letters: str) -> bool:
    """Whether an alphabet has the twenty amino acids and folds case."""
    return folds_case(letters) and set(AMINO_ACIDS) <= set(letters.upper())


def with_stand_ins(values: Values, letters: str) -> tuple[Values, str, str]:
    """A matrix with rows and columns for those of J, U and O that it lacks.

    ``values``: square, rows for the query; ``letters``: its alphabet.  U takes the scores of C, O
    those of X.  J takes those that NCBI has for BLOSUM62; in another matrix the mean of I and L,
    rounded up to the matrix's unit.  Returns (values, letters, the letters that were added); an
    alphabet that is not one of proteins, or has no room, is returned as it is.
    """
    upper = letters.upper()
    missing = [c for c in STAND_INS if c not in upper and (c != "O" or "X" in upper)]
    if not is_protein(letters) or len(letters) + len(missing) > MAX_LETTERS:
        return values, letters, ""
    for letter in missing:
        row, column, itself = _scores_of(letter, values, upper)
        values = np.block([[values, column[:, None]], [row[None, :], np.array([[itself]])]])
        upper += letter
    return values, letters + "".join(missing), "".join(missing)


def _scores_of(letter: str, values: Values, letters: str) -> tuple[Values, Values, float]:
    """The row and the column of a letter that a matrix lacks, and its score against itself."""
    if letter == "J":
        pair = [letters.index(c) for c in "IL"]
        blosum62, order = load_matrix("BLOSUM62")
        if letters == order and np.array_equal(values, blosum62):
            scores = np.array(_BLOSUM62_J, np.float64)
            return scores, scores, 3.0
        unit = 1 if (values == np.rint(values)).all() else 2

        def mean(x: Values) -> Values:
            return np.asarray(np.ceil(x * unit) / unit)

        corner = values[np.ix_(pair, pair)].mean()
        rows, columns = values[pair].mean(axis=0), values[:, pair].mean(axis=1)
        return mean(rows), mean(columns), float(mean(corner))
    k = letters.index(TAKEN[letter])
    return values[k], values[:, k], float(values[k, k])
