"""The named substitution matrices: NCBI's BLOSUM and PAM series, DAYHOFF, GONNET and NUC.4.4.

Their scores are shipped in ``data/matrices.txt``, equal to NCBI's files and, where they overlap,
to scikit-bio's, Biopython's and parasail's copies.
"""

from __future__ import annotations

import difflib
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from ..errors import ScoringError

#: Other names of the same matrices (EMBOSS and parasail).
ALIASES = {"DNAFULL": "NUC.4.4", "EDNAFULL": "NUC.4.4", "NUC44": "NUC.4.4"}
#: The usual (open, extend) of a matrix, in its units.  Proteins: the costs that BLAST takes for it
#: (NCBI's blast_stat.c; Pearson 2013, Curr Protoc Bioinformatics 43, 3.5.1, table 1).  BLAST's
#: BLOSUM80 is in half bits and NCBI's file in thirds of a bit, so its (10, 1) is 3/2 of that here,
#: the extension rounded up.  NUC.4.4: those of FASTA for its +5/-4.
USUAL_GAPS = {
    "BLOSUM45": (14, 2),
    "BLOSUM50": (13, 2),
    "BLOSUM62": (11, 1),
    "BLOSUM80": (15, 2),
    "BLOSUM90": (10, 1),
    "PAM30": (9, 1),
    "PAM70": (10, 1),
    "PAM250": (14, 2),
    "NUC.4.4": (12, 4),
}


@cache
def _lines() -> dict[str, str]:
    text = files(__package__).joinpath("data/matrices.txt").read_text("ascii")
    rows = (line.partition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: rest for name, _, rest in rows}


def matrix_names() -> list[str]:
    """The names that `load_matrix` knows, aliases left out."""
    return list(_lines())


def canonical_name(name: str) -> str:
    """A name as `matrix_names` spells it; one that is not there is only made upper case."""
    key = name.strip().upper()
    return ALIASES.get(key, key)


def is_name(name: str) -> bool:
    """Does `load_matrix` know this name?"""
    return canonical_name(name) in _lines()


@cache
def load_matrix(name: str) -> tuple[NDArray[np.int32], str]:
    """A named matrix (int32, square, symmetric, read-only) and its letters in order.

    Case does not matter, and DNAFULL, EDNAFULL and NUC44 are NUC.4.4.  Raises ScoringError for an
    unknown name and says which known names are like it.
    """
    key = canonical_name(name)
    known = _lines()
    if key not in known:
        close = difflib.get_close_matches(key, [*known, *ALIASES], n=4, cutoff=0.5)
        blosum = "/".join(name[6:] for name in known if name.startswith("BLOSUM"))
        others = ", ".join(name for name in known if not name.startswith(("BLOSUM", "PAM")))
        hint = f"known are BLOSUM{blosum}, PAM10 to PAM500 in tens, {others}"
        if close:
            hint = "did you mean " + ", ".join(close) + "?"
        raise ScoringError(
            f"there is no substitution matrix named {name!r}, and no file of that name; {hint}"
        )
    letters, *numbers = known[key].split()
    size = len(letters)
    matrix = np.zeros((size, size), np.int32)
    matrix[np.tril_indices(size)] = np.array(numbers, np.int32)
    matrix = (matrix + np.tril(matrix, -1).T).astype(np.int32)
    matrix.flags.writeable = False
    return matrix, letters
