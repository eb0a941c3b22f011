"""Sequences from Python objects and from FASTA files, as arrays of ASCII letters."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..errors import FormatError, SequenceError
from .alphabet import GAPS, PIECE, PRINTABLE, Letters, first_outside, looks_like_path, show_byte

_UPPER = bytes(range(256)).upper()
_BLANKS = b" \t\r\n\v\f"
_GOOD = bytes(PRINTABLE)
_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_OTHERS = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip"}


@dataclass(frozen=True, eq=False)
class Sequence:
    """A named sequence."""

    #: Its name, or "".
    name: str
    #: The rest of its FASTA header, or "".
    description: str
    #: A one-dimensional uint8 array of ASCII letters; in upper case if read from a file.
    letters: Letters

    def __post_init__(self) -> None:
        is_bytes = isinstance(self.letters, np.ndarray) and self.letters.dtype == np.uint8
        if not is_bytes or self.letters.ndim != 1:
            raise SequenceError("the letters of a Sequence are a one-dimensional uint8 array")

    def __len__(self) -> int:
        return len(self.letters)

    def __repr__(self) -> str:
        return f"Sequence({self.name!r}, {len(self)} letters)"


def as_letters(x: Any, what: str = "sequence") -> Letters:
    """The letters of ``x`` as a contiguous uint8 array of ASCII values, in their case.

    ``x`` is a str, bytes, bytearray, memoryview, one-dimensional uint8 array of ASCII letters (not
    codes), a `Sequence`, or a scikit-bio (or Biopython) sequence; ``what`` names it in messages.
    The array may share memory with ``x``.  Raises SequenceError for another type or shape, an
    empty sequence, a character that is not printable ASCII, and gap characters; letters are
    checked against an alphabet by `Scoring.encode_query` and `encode_target`.
    """
    letters = _raw_letters(x, what)
    check_letters(letters, what)
    return letters


def as_sequence(x: Any, what: str = "sequence", check: bool = True) -> Sequence:
    """``x`` as a `Sequence`; see `as_letters`.  The name is taken from a scikit-bio sequence's
    metadata or from a Biopython SeqRecord and is empty for plain letters.  Without ``check``, the
    caller has to call `check_letters`."""
    if isinstance(x, Sequence):
        if check:
            check_letters(x.letters, what)
        return x
    metadata = getattr(x, "metadata", None)
    found = metadata if isinstance(metadata, dict) else _header_of(x)
    name, description = (str(found.get(key) or "") for key in ("id", "description"))
    return Sequence(name, description, as_letters(x, what) if check else _raw_letters(x, what))


def _header_of(x: Any) -> dict[str, str]:
    """Name and description of a Biopython SeqRecord, whose description repeats the name; those of
    anything else are not known."""
    if not hasattr(x, "letter_annotations"):
        return {}
    name, description = (
        "" if text.startswith("<unknown") else text for text in (x.id, x.description)
    )
    return {"id": name, "description": description.removeprefix(name).strip()}


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
        raise SequenceError(
            f"the {what} is the name of a file; read_fasta reads the sequences of a file"
        )
    if hasattr(type(x), "__bytes__"):
        return np.frombuffer(bytes(x), np.uint8)
    one = " (read_fasta gives the records of a file one by one: take one of them)"
    raise SequenceError(
        f"the {what} is a {type(x).__name__}; give str, bytes, a uint8 array of ASCII letters or "
        f"a scikit-bio sequence{one if isinstance(x, list | tuple | Iterator) else ''}"
    )


def check_letters(letters: Letters, what: str, first: int = 0, from_file: bool = False) -> None:
    """Raise SequenceError unless these are printable ASCII letters, one at least, no gaps;
    ``first`` letters of the sequence come before them.  Unless they are ``from_file``, they may be
    the name of one by mistake, and the message says so."""
    if len(letters) == 0:
        raise SequenceError(f"the {what} is empty; it needs at least one letter")
    k = first_outside(_GOOD, letters)
    if k is None:
        return
    byte, where = int(letters[k]), f"at position {first + k + 1}"
    if not from_file and looks_like_path(letters[:PIECE].tobytes().decode("latin-1")):
        raise SequenceError(
            f"the {what} looks like the name of a file; read_fasta reads the sequences of a file"
        )
    if not from_file and first == 0 and letters[0] == ord(">"):
        raise SequenceError(
            f"the {what} begins with '>', as a FASTA record does; give its letters only"
        )
    if chr(byte) in GAPS:
        raise SequenceError(
            f"the {what} has the gap character {chr(byte)!r} {where}; "
            "take the gaps out before aligning"
        )
    codes = "; give ASCII letters, not codes" if letters[:PIECE].max() <= 32 else ""
    raise SequenceError(f"the {what} has {show_byte(byte)} {where}, which is not a letter{codes}")


def read_fasta(
    path: str | os.PathLike[str], on_bad: Callable[[SequenceError], object] | None = None
) -> Iterator[Sequence]:
    """The records of a FASTA file one by one, plain or gzip (found by content); '-' is stdin.

    Letters are made upper case; Windows line ends, blanks and empty lines are dropped.  The name
    is the header up to the first blank, the description the rest.  Raises FormatError for a file
    that cannot be opened, has no record, starts with other text, or is a damaged gzip, and
    SequenceError for a record without letters or with characters that are not letters.  With
    ``on_bad`` such a record is left out: its error, which names it, is given to ``on_bad``, and
    reading goes on with the next record.
    """
    path = os.fspath(path)
    where = "standard input" if path == "-" else path
    if not path:
        raise FormatError("the name of a file is empty")
    try:
        with _open(path, where) as file:
            yield from _records(file, where, on_bad)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(f"{where}: truncated or damaged gzip ({error})") from None
    except OSError as error:
        name = os.fsencode(path)
        letters = isinstance(error, FileNotFoundError) and name.isalpha() and name.isupper()
        hint = "; this takes the name of a FASTA file, not letters" if letters else ""
        raise FormatError(f"{where}: cannot be read: {error.strerror or error}{hint}") from None


@contextmanager
def _open(path: str, where: str) -> Iterator[BinaryIO]:
    """The file's bytes, decompressed; standard input stays open afterwards."""
    with ExitStack() as stack:
        raw: Any = getattr(sys.stdin, "buffer", None)
        if path == "-" and (raw is None or raw.closed):
            raise FormatError("standard input is closed, and '-' reads it")
        if path != "-":
            raw = stack.enter_context(Path(path).open("rb", buffering=0))
        plain = io.BufferedReader(raw, PIECE)
        stack.callback(plain.detach)
        start = plain.peek(6)[:6]
        for magic, name in _OTHERS.items():
            if start.startswith(magic):
                raise FormatError(
                    f"{where}: compressed with {name}; only plain and gzip files can be read"
                )
        if start.startswith(_GZIP):
            unzipped = stack.enter_context(gzip.GzipFile(fileobj=plain))
            yield io.BufferedReader(unzipped, PIECE)
        else:
            yield plain


def _records(
    file: BinaryIO, where: str, on_bad: Callable[[SequenceError], object] | None
) -> Iterator[Sequence]:
    """Parse FASTA in pieces of the file.

    Line ends are removed and case is folded for a whole piece at once, not line by line.  A record
    takes the memory of its letters and of a few pieces."""
    header = _first_header(file, where)
    piece, at = b"", 0  # the bytes read last; those before ``at`` are parsed
    while header:
        words = header[1:].decode("utf-8", "replace").split(maxsplit=1)
        name, description = (*words, "", "")[:2]
        record = _Letters(f"record {name!r} of {where}", on_bad is not None)
        new_line, header = True, b""
        while True:
            if at == len(piece):
                piece, at = _read(file), 0
                if not piece:
                    break
            starts = new_line and piece.startswith(b">", at)
            end = at if starts else piece.find(b"\n>", at) + 1 or len(piece)
            record.add(piece[at:end])
            at, new_line = end, piece.endswith(b"\n")
            if at < len(piece):
                header, piece, at = _header(file, piece, at)
                break
        if on_bad is None or (wrong := record.wrong) is None:
            yield Sequence(name, description.strip(), record.done())
        else:
            on_bad(wrong)


def _read(file: BinaryIO) -> bytes:
    """The next bytes, as many as one read gives, so that records of a slow pipe are not delayed."""
    return file.read1(PIECE)  # type: ignore[attr-defined, no-any-return]


def _first_header(file: BinaryIO, where: str) -> bytes:
    """The header line of the first record, after empty lines."""
    line, number = file.readline(PIECE).removeprefix(_BOM), 1
    while line and not line.strip(_BLANKS):
        line, number = file.readline(PIECE), number + 1
    if line.startswith(b">"):
        return line if line.endswith(b"\n") else line + file.readline()
    if line:
        hint = " (this looks like FASTQ)" if line.startswith(b"@") else ""
        text = ascii(line[:30].strip(_BLANKS).decode("latin-1"))
        raise FormatError(
            f"{where}: line {number} is {text} before the first record; a FASTA record "
            f"starts with '>'{hint}"
        )
    raise FormatError(f"{where}: no FASTA record (a line that starts with '>')")


def _header(file: BinaryIO, piece: bytes, at: int) -> tuple[bytes, bytes, int]:
    """The header line at ``at``, the piece in which it ends, and where it ends there."""
    start = b""
    while (stop := piece.find(b"\n", at)) < 0:
        start, piece, at = start + piece[at:], _read(file), 0
        if not piece:
            return start, b"", 0
    return start + piece[at : stop + 1], piece, stop + 1


class _Letters:
    """Collects the letters of one record, checked and in upper case.

    They are in one array that grows in place: the system moves large blocks of memory by remapping
    their pages, and memory that is only reserved is not touched.  What is wrong with them is raised
    at once, or, with ``late``, by `done`.
    """

    def __init__(self, what: str, late: bool) -> None:
        self._what, self._late, self._all = what, late, bytearray()
        self._wrong: SequenceError | None = None

    def add(self, piece: bytes) -> None:
        """Take the next bytes of the file."""
        clean = b"" if self._wrong else piece.translate(_UPPER, _BLANKS)
        if not clean:
            return
        try:
            check_letters(np.frombuffer(clean, np.uint8), self._what, len(self._all), True)
        except SequenceError as error:
            if not self._late:
                raise
            self._wrong, self._all = error, bytearray()
        else:
            self._all += clean

    @property
    def wrong(self) -> SequenceError | None:
        """What is wrong with the record."""
        if self._wrong is None and not self._all:
            return SequenceError(f"{self._what} has no sequence; it needs at least one letter")
        return self._wrong

    def done(self) -> Letters:
        """All letters, read-only.  Raises what is wrong with them."""
        if self.wrong is not None:
            raise self.wrong
        letters = np.frombuffer(self._all, np.uint8)
        letters.setflags(write=False)
        return letters
