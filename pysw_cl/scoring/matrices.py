"""The named substitution matrices, files with one, and the letters that matrices lack.

Named are NCBI's BLOSUM and PAM series, DAYHOFF, GONNET and NUC.4.4.  Their scores are shipped in
``data/matrices.txt``, equal to NCBI's files and, where they overlap, to scikit-bio's, Biopython's
and parasail's copies.

Databases of proteins have three letters that most matrices leave out.  U is selenocysteine, O is
pyrrolysine, and J is leucine or isoleucine, which mass spectrometry cannot tell apart."""

from __future__ import annotations

import difflib
import os
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError, FormatError, ScoringError, printable
from ..sequences.alphabet import MAX_LETTERS, NUCLEOTIDES, folds_case, is_nucleotide

Values = NDArray[np.float64]

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
#: The same without a matrix, and with one that has no usual cost.
DEFAULT_GAPS = (3, 2)
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
#: letters that NCBI's file of BLOSUM62 has, and J.
_BLOSUM62_J = (-1, -2, -3, -3, -1, -2, -3, -4, -3, 3, 3, -3, 2, 0, -3, -2, -1, -2, -1, 2, -3, -3,
               -1, -4, 3)  # fmt: skip


@cache
def matrix_lines(file: str = "matrices") -> dict[str, str]:
    """What a shipped file has of each matrix, by its name; "matrices": its letters and scores."""
    text = files(__package__).joinpath(f"data/{file}.txt").read_text("ascii")
    rows = (line.partition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: rest for name, _, rest in rows}


def canonical_name(name: str) -> str:
    """A name as `matrix_lines` spells it; one that is not there is only made upper case."""
    key = name.strip().upper()
    return ALIASES.get(key, key)


def is_name(name: str) -> bool:
    """Does `load_matrix` know this name?"""
    return canonical_name(name) in matrix_lines()


@cache
def load_matrix(name: str) -> tuple[NDArray[np.int32], str]:
    """A named matrix (int32, square, symmetric, read-only) and its letters in order.  Case does not
    matter, and DNAFULL, EDNAFULL and NUC44 are NUC.4.4.  Raises ScoringError for an unknown name
    and says which known names are like it."""
    key = canonical_name(name)
    known = matrix_lines()
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
    matrix = np.zeros((len(letters), len(letters)), np.int32)
    rows, columns = np.tril_indices(len(letters))
    matrix[rows, columns] = matrix[columns, rows] = np.array(numbers, np.int32)
    matrix.flags.writeable = False
    return matrix, letters


def read_matrix(path: str | os.PathLike[str]) -> tuple[Values, str]:
    """The matrix of a file in NCBI's format, as BLAST, EMBOSS and parasail read it (float64,
    square, rows for the query), and its letters in the order of the columns.

    The first line but comments (``#``) has the letters of the columns, and each further one a
    letter and its scores, in any order.  Raises FormatError with the line."""
    where, text = _text(path, "a matrix in NCBI's format")
    lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, words) for number, words in lines if words and words[0][0] != "#"]
    if not lines:
        raise FormatError(f"{where}: no line with the letters of a matrix (NCBI's format)")
    number, letters = lines[0]
    if wrong := [word for word in letters if len(word) != 1]:
        raise FormatError(
            f"{where}: line {number} has {wrong[0][:30]!r} where the letters of the columns stand "
            "in NCBI's format, separated by blanks"
        )
    rows: dict[str, list[float]] = {}
    for number, (letter, *scores) in lines[1:]:
        if letter not in letters or letter in rows:
            again = "stands there twice" if letter in rows else "is not one of the columns"
            raise FormatError(f"{where}: line {number}: the row {letter[:30]!r} {again}")
        if len(scores) != len(letters):
            raise FormatError(
                f"{where}: line {number} has {len(scores)} scores for {len(letters)} columns"
            )
        try:
            rows[letter] = [float(score) for score in scores]
        except ValueError as error:
            raise FormatError(f"{where}: line {number}: {error}") from None
    if missing := [letter for letter in letters if letter not in rows]:
        raise FormatError(f"{where}: there is no row for {', '.join(missing)}")
    return np.array([rows[letter] for letter in letters]), "".join(letters)


def _text(path: str | os.PathLike[str], what: str) -> tuple[str, str]:
    """The name of a file of ``what``, as messages show it, and its text."""
    where = printable(os.fspath(path))
    try:
        return where, Path(path).read_text("ascii")
    except OSError as error:
        raise FileError.of(error, where, "read") from error
    except UnicodeDecodeError:
        raise FormatError(f"{where}: not {what}, which is ASCII text") from None


def read_pssm(path: str | os.PathLike[str]) -> tuple[Values, str, str]:
    """The scores, the letters of the columns and the query of a file of ``psiblast
    -out_ascii_pssm``.

    A line with these letters, those of the scores first, comes before a line for each position: its
    number, its letter, the scores, and more that is not read.  Raises FormatError with the line."""
    where, text = _text(path, "a position matrix of psiblast -out_ascii_pssm")
    letters, query, ended = "", "", False
    rows: list[list[float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not letters:
            if len(words) > 1 and all(len(word) == 1 for word in words):
                letters = "".join(dict.fromkeys(words))
            continue
        if ended or not words or words[0] != str(len(rows) + 1):
            if not rows or (words and words[0][0].isdigit()):
                raise FormatError(f"{where}: line {number} is not position {len(rows) + 1}")
            ended = True
            continue
        scores = words[2 : 2 + len(letters)]
        try:
            if len(words[1]) != 1 or len(scores) != len(letters):
                raise ValueError(f"no letter and {len(letters)} scores")
            rows.append([float(score) for score in scores])
        except (ValueError, IndexError) as error:
            raise FormatError(f"{where}: line {number}: {error}") from None
        query += words[1]
    if not rows:
        raise FormatError(f"{where}: no scores of positions (psiblast -out_ascii_pssm)")
    return np.array(rows), letters, query


@cache
def is_protein(letters: str) -> bool:
    """Whether an alphabet has the twenty amino acids and folds case."""
    return folds_case(letters) and set(AMINO_ACIDS) <= set(letters.upper())


def background(letters: str) -> dict[str, float]:
    """How frequent letters are in random sequences: in proteins `FREQUENCIES`, else all alike."""
    if is_protein(letters):
        return dict(zip(AMINO_ACIDS, FREQUENCIES, strict=True))
    return dict.fromkeys(NUCLEOTIDES if is_nucleotide(letters) else letters, 1.0)


def with_stand_ins(values: Values, letters: str) -> tuple[Values, str, str]:
    """A matrix with rows and columns for those of J, U and O that it lacks.

    ``values``: square, rows for the query; ``letters``: its alphabet.  As in NCBI's BLAST, U takes
    the scores of C, O those of X, and J in BLOSUM62 those of NCBI's table; in another matrix J
    takes the mean of I and L, rounded up to the matrix's unit.  Returns (values, letters, the
    letters that were added); an alphabet not of proteins, or without room, is returned as it is."""
    upper = letters.upper()
    missing = [c for c in STAND_INS if c not in upper and (c != "O" or "X" in upper)]
    if not is_protein(letters) or len(letters) + len(missing) > MAX_LETTERS:
        return values, letters, ""
    if "J" in missing:
        values = _with_j(values, upper)
    places = [*range(len(values)), *(upper.index(TAKEN[c]) for c in missing if c != "J")]
    return values[np.ix_(places, places)], letters + "".join(missing), "".join(missing)


def _with_j(values: Values, letters: str) -> Values:
    pair, made = [letters.index(c) for c in "IL"], np.pad(values, (0, 1))
    blosum62, order = load_matrix("BLOSUM62")
    if letters == order and np.array_equal(values, blosum62):
        made[-1] = made[:, -1] = _BLOSUM62_J
        return made
    unit = 1 if (values == np.rint(values)).all() else 2
    made[-1] = made[pair].mean(axis=0)
    made[:, -1] = made[:, pair].mean(axis=1)
    made[-1], made[:, -1] = (np.ceil(x * unit) / unit for x in (made[-1], made[:, -1]))
    return made
