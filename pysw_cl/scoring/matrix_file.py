"""Substitution matrices from files in NCBI's format, as BLAST, EMBOSS and parasail read them.

Lines that begin with ``#`` are comments.  The first other line has the letters of the columns, and
each further line a letter and its scores, separated by blanks.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError, FormatError, printable


def read_matrix(path: str | os.PathLike[str]) -> tuple[NDArray[np.float64], str]:
    """The matrix of a file (float64, square, rows for the query) and its letters in the order of
    the columns.

    Rows may stand in another order.  Raises FormatError, which names the line, for a file that
    cannot be read or is not in the format.
    """
    where, text = _text(path, "a matrix in NCBI's format")
    lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, words) for number, words in lines if words and words[0][0] != "#"]
    if not lines:
        raise FormatError(f"{where}: no line with the letters of a matrix (NCBI's format)")
    number, letters = lines[0]
    wrong = [word for word in letters if len(word) != 1]
    if wrong:
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
    missing = [letter for letter in letters if letter not in rows]
    if missing:
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


def read_pssm(path: str | os.PathLike[str]) -> tuple[NDArray[np.float64], str, str]:
    """The scores, the letters of the columns and the query of a file of ``psiblast
    -out_ascii_pssm``.

    A line with these letters, those of the scores first, comes before a line for each position: its
    number, its letter, the scores, and more that is not read.  Raises FormatError, which names the
    line."""
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
