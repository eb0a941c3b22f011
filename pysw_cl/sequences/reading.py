"""The sequences of a file, FASTA or FASTQ.

Files are parsed in pieces, so that a record may be as long as a chromosome, and as many bytes at
once as one read gives, so that records of a slow pipe are not delayed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from io import BufferedReader

import numpy as np

from ..errors import FormatError, SequenceError, file_name
from .alphabet import PIECE, Letters, show_byte
from .lent import Own
from .opening import opened
from .sequence import GOOD, Sequence, check_letters

_BOM = b"\xef\xbb\xbf"
_SAM = re.compile(rb"@(HD|SQ|RG|PG|CO)\t")
UPPER = bytes(range(256)).upper()
BLANKS = b" \t\r\n\v\f"
#: What is done with a record that is left out: it is told what is wrong with it.
OnBad = Callable[[SequenceError], object]
_QUALITIES = bytes(range(33, 127))
NO_LETTERS = "has no sequence; it needs at least one letter"


def read_sequences(path: str | os.PathLike[str], on_bad: OnBad | None = None) -> Iterator[Sequence]:
    """The records of a FASTA or FASTQ file one by one, plain or compressed with gzip, bzip2, xz or
    zstd (all found by content); '-' is standard input.

    Letters are made upper case; Windows line ends, blanks and empty lines are dropped.  The name is
    the header up to the first blank, the description the rest.  Records of FASTQ have four lines
    and keep their qualities.  Raises FileError for a file that cannot be read, FormatError for one
    that has no record, starts with other text, or is damaged, and SequenceError, which names the
    record and its first line, for one without letters, with characters that are not letters, or,
    of FASTQ, that is cut off or has another number of qualities.  With ``on_bad`` such a record is
    left out: its error is given to ``on_bad``, and reading goes on with the next record."""
    return _read(path, on_bad)


def read_records(path: str | os.PathLike[str]) -> Iterator[Sequence]:
    """`read_sequences` with the records of FASTA that are a header alone."""
    return _read(path, None, empty=True)


def read_fasta(path: str | os.PathLike[str], on_bad: OnBad | None = None) -> Iterator[Sequence]:
    """`read_sequences` for FASTA alone: any other file raises FormatError."""
    return _read(path, on_bad, fastq=False)


def _read(
    path: str | os.PathLike[str], on_bad: OnBad | None, fastq: bool = True, empty: bool = False
) -> Iterator[Sequence]:
    if isinstance(path, str) and not path:
        raise FormatError("the name of a file is empty")
    path = file_name(path, "path")
    letters = os.fsencode(path).isalpha() and os.fsencode(path).isupper()
    hint = "; this takes the name of a file, not letters" if letters else ""
    with opened(path, hint) as (file, where):
        header, number = _first_line(file, where, fastq)
        given, is_fastq = (file, header, number, where, on_bad or _raised), header[:1] == b"@"
        yield from _fastq_records(*given) if is_fastq else _fasta_records(*given, empty)


def _raised(error: SequenceError) -> None:
    raise error


def _first_line(file: BufferedReader, where: str, fastq: bool) -> tuple[bytes, int]:
    """The first line that is not empty, which begins with > or @, and its number."""
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


def _fasta_records(
    file: BufferedReader, header: bytes, number: int, where: str, on_bad: OnBad, empty: bool
) -> Iterator[Sequence]:
    """The records of a FASTA file, called ``where``, whose first line is read already; ``empty``:
    those that are a header alone, too."""
    piece, at = b"", 0  # the bytes read last; those before ``at`` are parsed
    while header:
        name, description = split_header(header)
        whole = header.find(b"\r", 0, -2) < 0
        line, new_line, header = number, True, b""
        number += 1
        # a record that lies in this piece, as most do, and is sound
        end = piece.find(b"\n>", at) + 1
        letters = piece[at:end].translate(UPPER, BLANKS)
        sound = letters and not piece.startswith(b">", at) and not letters.translate(None, GOOD)
        if whole and sound:
            number += piece.count(b"\n", at, end)
            header, piece, at = _header(file, piece, end)
            yield Sequence(name, description, np.frombuffer(letters, np.uint8))
            continue
        place = what(name, line, where)
        record = _Letters(place, on_bad)
        if not whole:
            wrong = f"{place} has a carriage return within its header, so that letters may stand "
            record.refuse(SequenceError(f"{wrong}there; end all lines with a line feed"))
        while True:
            if at == len(piece):
                piece, at = file.read1(PIECE), 0
                if not piece:
                    break
            starts = new_line and piece.startswith(b">", at)
            end = at if starts else piece.find(b"\n>", at) + 1 or len(piece)
            record.add(piece[at:end])
            number += piece.count(b"\n", at, end)
            at, new_line = end, piece.endswith(b"\n")
            if at < len(piece):
                header, piece, at = _header(file, piece, at)
                break
        if not (record.letters or record.refused or empty):
            record.refuse(SequenceError(f"{place} {NO_LETTERS}"))
        found = [] if record.refused else [Sequence(name, description, record.done())]
        del record
        while found:  # no variable has the letters, so that they may be let go
            yield found.pop()


def split_header(header: bytes) -> tuple[str, str]:
    """The name and the description in a header line, whose first byte is a mark."""
    parts = (*header[1:].split(maxsplit=1), b"", b"")[:2]
    name, description = (part.strip().decode("utf-8", "surrogateescape") for part in parts)
    return name, description


def shown(line: bytes) -> str:
    """The beginning of a line for a message."""
    return ascii(line[:30].strip(BLANKS).decode("latin-1"))


def what(name: str, number: int, where: str) -> str:
    """What messages call the record of this name, whose header is line ``number``."""
    return f"record {name!r} of {where} (line {number:,})"


def _header(file: BufferedReader, piece: bytes, at: int) -> tuple[bytes, bytes, int]:
    """The header line at ``at``, the piece in which it ends, and where it ends there."""
    start = b""
    while (stop := piece.find(b"\n", at)) < 0:
        start, piece, at = start + piece[at:], file.read1(PIECE), 0
        if not piece:
            return start, b"", 0
    return start + piece[at : stop + 1], piece, stop + 1


class _Letters:
    """The letters of one record, checked and in upper case, in one array that grows in place: the
    system moves large blocks of memory by remapping their pages."""

    def __init__(self, place: str, on_bad: OnBad) -> None:
        self._place, self._on_bad, self.letters = place, on_bad, Own()
        #: Was something wrong with them?
        self.refused = False

    def add(self, piece: bytes) -> None:
        clean = b"" if self.refused else piece.translate(UPPER, BLANKS)
        if clean.translate(None, GOOD):
            try:
                check_letters(np.frombuffer(clean, np.uint8), self._place, len(self.letters), True)
            except SequenceError as error:
                self.refuse(error)
        else:
            self.letters += clean

    def done(self) -> Letters:
        return np.frombuffer(memoryview(self.letters).toreadonly(), np.uint8)

    def refuse(self, error: SequenceError) -> None:
        self._on_bad(error)
        self.refused, self.letters = True, Own()


def _fastq_records(
    file: BufferedReader, header: bytes, number: int, where: str, on_bad: OnBad
) -> Iterator[Sequence]:
    """The records of a FASTQ file (Cock et al. 2010, Nucleic Acids Res 38, 1767-1771), as
    `_fasta_records` takes it.  Letters or qualities on several lines, which that paper allows and
    advises against, are refused.  After a bad record the next one begins with @, and has + on the
    second line after that."""
    lines = [header]  # whole ones that are not parsed
    damaged = False  # what follows a bad record may be the rest of it
    for more in _lines(file):
        lines += more
        at = 0
        while len(lines) - at >= 4:
            four = lines[at : at + 4]
            begins = four[0].startswith(b"@") and four[2].startswith(b"+")
            if (damaged and not begins) or not four[0].strip(BLANKS):
                at += 1
                continue
            try:
                record = _record(four, number + at, where)
            except SequenceError as error:
                on_bad(error)
                at, damaged = at + 1, True
            else:
                at, damaged = at + 4, False
                yield record
        number += at
        del lines[:at]
    while lines and not lines[0].strip(BLANKS):
        lines, number = lines[1:], number + 1
    if lines and not damaged:
        wrong = _no_record(lines[0], number, where)
        if lines[0].startswith(b"@"):
            place = what(split_header(lines[0])[0], number, where)
            ends = f"the file ends after {len(lines)} of its 4 lines"
            wrong = SequenceError(f"{place} is cut off: {ends}")
        on_bad(wrong)


def _lines(file: BufferedReader) -> Iterator[list[bytes]]:
    """The lines of a file without their ends, as many at once as one read gives."""
    started: list[bytes] = []  # the pieces of a line that is not read to its end
    while piece := file.read1(PIECE):
        first, *others = piece.split(b"\n")
        started.append(first)
        if others:
            yield [b"".join(started), *others[:-1]]
            started = others[-1:]
    if last := b"".join(started):
        yield [last]


def _record(four: list[bytes], number: int, where: str) -> Sequence:
    """The record of four lines, the first of which has this number.  Raises SequenceError."""
    header, letters, plus, quality = four
    letters, quality = letters.translate(UPPER, BLANKS), quality.strip(BLANKS)
    if not header.startswith(b"@"):
        raise _no_record(header, number, where)
    name, description = split_header(header)

    def wrong(said: str) -> SequenceError:
        return SequenceError(f"{what(name, number, where)} {said}")

    if not plus.startswith(b"+"):
        raise wrong(
            f"has {shown(plus)} in place of '+' in line {number + 2:,}; a record of FASTQ has four "
            "lines, and its letters are in one of them"
        )
    if plus.rstrip(BLANKS) != b"+" and (again := split_header(plus)[0]) not in ("", name):
        raise wrong(f"is called {again!r} in line {number + 2:,}")
    if not letters:
        raise wrong(NO_LETTERS)
    if len(letters) != len(quality):
        raise wrong(
            f"has {len(letters):,} letters and {len(quality):,} qualities (line {number + 3:,}); "
            "it needs one quality a letter, in one line"
        )
    arrays = np.frombuffer(letters, np.uint8), np.frombuffer(quality, np.uint8)
    if letters.translate(None, GOOD):
        check_letters(arrays[0], what(name, number, where), from_file=True)
    if bad := quality.translate(None, _QUALITIES):
        raise wrong(
            f"has {show_byte(bad[0])} at position {quality.index(bad[:1]) + 1} of its qualities, "
            "which are characters from '!' to '~'"
        )
    return Sequence(name, description, *arrays)


def _no_record(line: bytes, number: int, where: str) -> SequenceError:
    return SequenceError(
        f"line {number:,} of {where} is {shown(line)}, and a record of FASTQ begins with '@'"
    )
