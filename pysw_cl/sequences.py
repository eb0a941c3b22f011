"""Sequences from Python objects and from FASTA files, as arrays of ASCII letters."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .alphabet import GAPS, Letters, show_byte
from .errors import FormatError, SequenceError

_UPPER = bytes(range(256)).upper()
_BLANKS = b" \t\r\n\v\f"
_BUFFER = 1 << 20
_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_OTHERS = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip"}


@dataclass(frozen=True, eq=False)
class Sequence:
    """A named sequence: ``letters`` is a uint8 array of ASCII letters, in upper case when it was
    read from a file."""

    name: str
    description: str
    letters: Letters

    def __post_init__(self) -> None:
        kept = isinstance(self.letters, np.ndarray) and self.letters.dtype == np.uint8
        if not kept or self.letters.ndim != 1:
            raise SequenceError("the letters of a Sequence are a one-dimensional uint8 array")

    def __len__(self) -> int:
        return len(self.letters)

    def __repr__(self) -> str:
        return f"Sequence({self.name!r}, {len(self)} letters)"


def as_letters(x: Any, what: str = "sequence") -> Letters:
    """The letters of ``x`` as a contiguous uint8 array of ASCII values, case kept.

    ``x`` is a str, bytes, bytearray, memoryview, one-dimensional uint8 array of ASCII letters (not
    codes), a `Sequence`, or a scikit-bio (or Biopython) sequence; ``what`` names it in messages.
    The array may share memory with ``x``.  Raises SequenceError for another type or shape, an
    empty sequence, a character that is not printable ASCII, and gap characters; letters are
    checked against an alphabet by `Scoring.encode_query` and `encode_target`.
    """
    letters = _raw_letters(x, what)
    _check(letters, what)
    return letters


def as_sequence(x: Any, what: str = "sequence") -> Sequence:
    """``x`` as a `Sequence`; see `as_letters`.  The name is taken from a scikit-bio sequence's
    metadata and is empty for plain letters."""
    if isinstance(x, Sequence):
        _check(x.letters, what)
        return x
    metadata = getattr(x, "metadata", None)
    found = metadata if isinstance(metadata, dict) else {}
    name, description = (str(found.get(key) or "") for key in ("id", "description"))
    return Sequence(name, description, as_letters(x, what))


def _raw_letters(x: Any, what: str) -> Letters:
    if isinstance(x, Sequence):
        return x.letters
    if isinstance(x, str):
        try:
            return np.frombuffer(x.encode("ascii"), np.uint8)
        except UnicodeEncodeError as error:
            raise SequenceError(
                f"the {what} has the non-ASCII character {x[error.start]!r} at position "
                f"{error.start + 1}; sequences are ASCII letters"
            ) from None
    if isinstance(x, bytes | bytearray):
        return np.frombuffer(x, np.uint8)
    if isinstance(x, memoryview):
        if x.format not in ("B", "c") or x.ndim != 1:
            raise SequenceError(f"the {what} is a memoryview of {x.format!r}; it must be of bytes")
        return np.frombuffer(bytes(x) if not x.contiguous else x, np.uint8)
    values = getattr(x, "values", None)
    if isinstance(values, np.ndarray) and values.dtype == "S1":
        return np.ascontiguousarray(values).view(np.uint8)
    if isinstance(x, np.ndarray):
        if x.dtype != np.uint8 or x.ndim != 1:
            raise SequenceError(
                f"the {what} is an array of {x.dtype} and shape {x.shape}; it must be a "
                "one-dimensional uint8 array of ASCII letters"
            )
        return np.ascontiguousarray(x)
    if isinstance(x, os.PathLike):
        raise SequenceError(f"the {what} is a path; read_fasta reads the sequences of a file")
    if hasattr(type(x), "__bytes__"):
        return np.frombuffer(bytes(x), np.uint8)
    raise SequenceError(
        f"the {what} is a {type(x).__name__}; give str, bytes, a uint8 array of ASCII letters or "
        "a scikit-bio sequence"
    )


def _check(letters: Letters, what: str) -> None:
    """Raise SequenceError unless these are printable ASCII letters, one at least, no gaps."""
    if len(letters) == 0:
        raise SequenceError(f"the {what} is empty; it needs at least one letter")
    if letters.min() <= 32 or letters.max() >= 127:
        k = int(((letters <= 32) | (letters >= 127)).argmax())
        codes = "; give ASCII letters, not codes" if letters.max() <= 32 else ""
        raise SequenceError(
            f"the {what} has {show_byte(int(letters[k]))} at position {k + 1}, which is not a "
            f"letter{codes}"
        )
    for gap in GAPS:
        gaps = letters == ord(gap)
        if gaps.any():
            raise SequenceError(
                f"the {what} has the gap character {gap!r} at position {int(gaps.argmax()) + 1}; "
                "take the gaps out before aligning"
            )


def read_fasta(path: str | os.PathLike[str]) -> Iterator[Sequence]:
    """The records of a FASTA file one by one, plain or gzip (found by content); '-' is stdin.

    Letters are made upper case; Windows line ends, blanks and empty lines are dropped.  The name
    is the header up to the first blank, the description the rest.  Raises FormatError for a file
    that cannot be opened, has no record, starts with other text, or is a damaged gzip, and
    SequenceError for a record without letters or with characters that are not letters.
    """
    path = os.fspath(path)
    where = "standard input" if path == "-" else path
    found = False
    try:
        with _open(path, where) as file:
            for sequence in _records(file, where):
                found = True
                yield sequence
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(f"{where}: truncated or damaged gzip ({error})") from None
    except OSError as error:
        raise FormatError(f"{where}: cannot be read: {error.strerror or error}") from None
    if not found:
        raise FormatError(f"{where}: no FASTA record (a line that starts with '>')")


@contextmanager
def _open(path: str, where: str) -> Iterator[BinaryIO]:
    """The file's bytes, decompressed; standard input stays open afterwards."""
    with ExitStack() as stack:
        raw: Any = getattr(sys.stdin, "buffer", None)
        if path == "-" and (raw is None or raw.closed):
            raise FormatError("standard input is closed, and '-' reads it")
        if path != "-":
            raw = stack.enter_context(Path(path).open("rb", buffering=0))
        plain = io.BufferedReader(raw, _BUFFER)
        stack.callback(plain.detach)
        start = plain.peek(6)[:6]
        for magic, name in _OTHERS.items():
            if start.startswith(magic):
                raise FormatError(
                    f"{where}: compressed with {name}; only plain and gzip files can be read"
                )
        if start.startswith(_GZIP):
            unzipped = stack.enter_context(gzip.GzipFile(fileobj=plain))
            yield io.BufferedReader(unzipped, _BUFFER)
        else:
            yield plain


def _records(lines: BinaryIO, where: str) -> Iterator[Sequence]:
    """Parse FASTA lines; letters are joined and cleaned once per record."""
    header: bytes | None = None
    body: list[bytes] = []
    for number, line in enumerate(lines, 1):
        if number == 1:
            line = line.removeprefix(_BOM)
        if line.startswith(b">"):
            if header is not None:
                yield _record(header, body, where)
            header, body = line[1:], []
        elif header is not None:
            body.append(line)
        elif line.strip(_BLANKS):
            hint = " (this looks like FASTQ)" if line.startswith(b"@") else ""
            text = line[:30].strip(_BLANKS).decode("ascii", "backslashreplace")
            raise FormatError(
                f"{where}: line {number} is {text!r} before the first record; a FASTA record "
                f"starts with '>'{hint}"
            )
    if header is not None:
        yield _record(header, body, where)


def _record(header: bytes, body: list[bytes], where: str) -> Sequence:
    """One record, checked."""
    words = header.decode("utf-8", "replace").split(maxsplit=1)
    name, description = (*words, "", "")[:2]
    letters = np.frombuffer(b"".join(body).translate(_UPPER, _BLANKS), np.uint8)
    what = f"record {name!r} of {where}"
    if len(letters) == 0:
        raise SequenceError(f"{what} has no sequence; it needs at least one letter")
    _check(letters, what)
    return Sequence(name, description.strip(), letters)
