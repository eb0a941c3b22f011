"""FASTA, parsed in pieces of the file, so that a record may be as long as a chromosome."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

import numpy as np

from ..errors import SequenceError
from .alphabet import PIECE, Letters
from .lent import Own
from .sequence import GOOD, Sequence, check_letters

UPPER = bytes(range(256)).upper()
BLANKS = b" \t\r\n\v\f"


#: What is done with a record that is left out: it is told what is wrong with it.
OnBad = Callable[[SequenceError], object]


def fasta_records(
    file: BinaryIO, header: bytes, number: int, where: str, on_bad: OnBad | None
) -> Iterator[Sequence]:
    """The records of a FASTA file, of which ``header``, line ``number``, is read already;
    ``where`` names it.

    Line ends are removed and case is folded for a whole piece at once, not line by line.  A record
    takes the memory of its letters and of a few pieces."""
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
        record = _Letters((name, line, where), on_bad is not None)
        if not whole:
            record.refuse(
                SequenceError(
                    f"{what(name, line, where)} has a carriage return within its header, so that "
                    "letters may stand there; end all lines with a line feed"
                )
            )
        while True:
            if at == len(piece):
                piece, at = read_piece(file), 0
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
        wrong = record.wrong
        if wrong is None:
            yield Sequence(name, description, record.done())
        else:
            refuse(wrong, on_bad)


def read_piece(file: BinaryIO) -> bytes:
    """The next bytes, as many as one read gives, so that records of a slow pipe are not delayed."""
    return file.read1(PIECE)  # type: ignore[attr-defined, no-any-return]


def split_header(header: bytes) -> tuple[str, str]:
    """The name and the description in a header line, whose first byte is a mark."""
    words = header[1:].split(maxsplit=1)
    name, description = (*words, b"", b"")[:2]
    texts = (part.strip().decode("utf-8", "surrogateescape") for part in (name, description))
    return next(texts), next(texts)


def refuse(error: SequenceError, on_bad: OnBad | None) -> None:
    """Tell ``on_bad`` of a bad record, or raise what is wrong with it."""
    if on_bad is None:
        raise error
    on_bad(error)


def shown(line: bytes) -> str:
    """The beginning of a line for a message."""
    return ascii(line[:30].strip(BLANKS).decode("latin-1"))


def what(name: str, number: int, where: str) -> str:
    """What messages call the record of this name, whose header is line ``number``."""
    return f"record {name!r} of {where} (line {number:,})"


def no_letters(name: str, number: int, where: str) -> SequenceError:
    """The error of a record without letters."""
    return SequenceError(
        f"{what(name, number, where)} has no sequence; it needs at least one letter"
    )


def _header(file: BinaryIO, piece: bytes, at: int) -> tuple[bytes, bytes, int]:
    """The header line at ``at``, the piece in which it ends, and where it ends there."""
    start = b""
    while (stop := piece.find(b"\n", at)) < 0:
        start, piece, at = start + piece[at:], read_piece(file), 0
        if not piece:
            return start, b"", 0
    return start + piece[at : stop + 1], piece, stop + 1


class _Letters:
    """Collects the letters of one record, checked and in upper case.

    They are in one array that grows in place: the system moves large blocks of memory by remapping
    their pages, and memory that is only reserved is not touched.  What is wrong with them is raised
    at once, or, with ``late``, kept as `wrong`.
    """

    def __init__(self, place: tuple[str, int, str], late: bool) -> None:
        self._place, self._late, self._all = place, late, Own()
        self._wrong: SequenceError | None = None

    def add(self, piece: bytes) -> None:
        """Take the next bytes of the file."""
        clean = b"" if self._wrong else piece.translate(UPPER, BLANKS)
        if clean.translate(None, GOOD):
            try:
                letters = np.frombuffer(clean, np.uint8)
                check_letters(letters, what(*self._place), len(self._all), True)
            except SequenceError as error:
                self.refuse(error)
        else:
            self._all += clean

    def refuse(self, error: SequenceError) -> None:
        """Raise what is wrong with the record, or keep it until the record has been read."""
        if not self._late:
            raise error
        self._wrong, self._all = error, Own()

    @property
    def wrong(self) -> SequenceError | None:
        """What is wrong with the record."""
        if self._wrong is None and not self._all:
            return no_letters(*self._place)
        return self._wrong

    def done(self) -> Letters:
        """All letters, read-only."""
        letters = np.frombuffer(self._all, np.uint8)
        letters.setflags(write=False)
        return letters
