"""The sequences of a file, FASTA or FASTQ."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import BinaryIO

from ..errors import FileError, FormatError, file_name, printable
from .alphabet import PIECE
from .fasta import BLANKS, OnBad, fasta_records, shown
from .fastq import fastq_records
from .opening import opened
from .sequence import Sequence

_BOM = b"\xef\xbb\xbf"
_SAM = re.compile(rb"@(HD|SQ|RG|PG|CO)\t")


def read_sequences(path: str | os.PathLike[str], on_bad: OnBad | None = None) -> Iterator[Sequence]:
    """The records of a FASTA or FASTQ file one by one, plain or compressed with gzip, bzip2, xz or
    zstd (all found by content); '-' is standard input.

    Letters are made upper case; Windows line ends, blanks and empty lines are dropped.  The name is
    the header up to the first blank, the description the rest.  Records of FASTQ have four lines
    and keep their qualities.  Raises FileError for a file that cannot be read, FormatError for one
    that has no record, starts with other text, or is damaged, and SequenceError for a record
    without letters or with characters that are not letters, and for one of FASTQ that is cut off,
    or has more or fewer qualities than letters; it names the record and its first line.  With
    ``on_bad`` such a record is left out: its error is given to ``on_bad``, and reading goes on with
    the next record.
    """
    return _read(path, on_bad, True)


def read_fasta(path: str | os.PathLike[str], on_bad: OnBad | None = None) -> Iterator[Sequence]:
    """`read_sequences` for FASTA alone: any other file raises FormatError."""
    return _read(path, on_bad, False)


def _read(path: str | os.PathLike[str], on_bad: OnBad | None, fastq: bool) -> Iterator[Sequence]:
    if isinstance(path, str) and not path:
        raise FormatError("the name of a file is empty")
    path = file_name(path, "path")
    where = "standard input" if path == "-" else printable(path)
    try:
        with opened(path, where) as file:
            header, number = _first_line(file, where, fastq)
            records = fastq_records if header.startswith(b"@") else fasta_records
            yield from records(file, header, number, where, on_bad)
    except OSError as error:
        name = os.fsencode(path)
        letters = isinstance(error, FileNotFoundError) and name.isalpha() and name.isupper()
        hint = "; this takes the name of a file, not letters" if letters else ""
        raise FileError.of(error, where, "read", hint) from error


def _first_line(file: BinaryIO, where: str, fastq: bool) -> tuple[bytes, int]:
    """The header of the first record, which begins with > or @, and its number; empty lines may
    come before it."""
    line, number = file.readline(PIECE).removeprefix(_BOM), 1
    while line and not line.strip(BLANKS):
        line, number = file.readline(PIECE), number + 1
    sam = _SAM.match(line)
    if line.startswith(b">") or (fastq and line.startswith(b"@") and not sam):
        return line if line.endswith(b"\n") else line + file.readline(), number
    one = "FASTA record starts with '>'" + (", one of FASTQ with '@'" if fastq else "")
    if line:
        looks = "SAM" if sam else "FASTQ, which read_sequences reads" if line[:1] == b"@" else ""
        raise FormatError(
            f"{where}: line {number} is {shown(line)} before the first record; a {one}"
            f"{looks and f' (this looks like {looks})'}"
        )
    kinds = "FASTA or FASTQ record" if fastq else "FASTA record"
    raise FormatError(f"{where}: no {kinds}; a {one}")
