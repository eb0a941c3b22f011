"""FASTQ: records of four lines, with qualities.

The format, and Phred scores as characters from '!' on: Cock et al. 2010, Nucleic Acids Res 38,
1767-1771.  Letters or qualities on several lines, which that paper allows and advises against, are
refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from ..errors import SequenceError
from .alphabet import first_outside, show_byte
from .fasta import (
    BLANKS,
    UPPER,
    OnBad,
    no_letters,
    read_piece,
    refuse,
    shown,
    split_header,
    what,
)
from .sequence import GOOD, Sequence, check_letters

#: The characters of qualities.
_QUALITIES = bytes(range(33, 127))


def fastq_records(
    file: BinaryIO, header: bytes, number: int, where: str, on_bad: OnBad | None
) -> Iterator[Sequence]:
    """The records of a FASTQ file, of which ``header``, line ``number``, is read already;
    ``where`` names it.

    After a bad record reading goes on with the next line that begins with @ and is followed by
    letters and a line that begins with +."""
    lines = [header]  # whole ones that are not parsed
    damaged = False  # what follows a bad record may be the rest of it
    for more in _lines(file):
        lines += more
        at = 0
        while len(lines) - at >= 4:
            four = lines[at : at + 4]
            if (
                damaged and not (four[0].startswith(b"@") and four[2].startswith(b"+"))
            ) or not four[0].strip(BLANKS):
                at += 1
                continue
            try:
                record = _record(four, number + at, where)
            except SequenceError as error:
                refuse(error, on_bad)
                at, damaged = at + 1, True
            else:
                at, damaged = at + 4, False
                yield record
        number += at
        del lines[:at]
    while lines and not lines[0].strip(BLANKS):
        lines, number = lines[1:], number + 1
    if lines and not damaged:
        place = what(split_header(lines[0])[0], number, where)
        cut_off = f"{place} is cut off: the file ends after {len(lines)} of its 4 lines"
        begins = lines[0].startswith(b"@")
        wrong = SequenceError(cut_off) if begins else _no_record(lines[0], number, where)
        refuse(wrong, on_bad)


def _lines(file: BinaryIO) -> Iterator[list[bytes]]:
    """The lines of a file without their ends, as many at once as one read gives."""
    started: list[bytes] = []  # the pieces of a line that is not read to its end
    while piece := read_piece(file):
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
    if not (
        header.startswith(b"@")
        and plus.rstrip(BLANKS) == b"+"
        and 0 < len(letters) == len(quality)
        and not letters.translate(None, GOOD)
        and not quality.translate(None, _QUALITIES)
    ):
        _check(header, letters, plus, quality, number, where)
    name, description = split_header(header)
    arrays = np.frombuffer(letters, np.uint8), np.frombuffer(quality, np.uint8)
    return Sequence(name, description, *arrays)


def _check(
    header: bytes, letters: bytes, plus: bytes, quality: bytes, number: int, where: str
) -> None:
    """Raise SequenceError for what is wrong with a record."""
    if not header.startswith(b"@"):
        raise _no_record(header, number, where)
    name, again = split_header(header)[0], split_header(plus)[0]
    place = what(name, number, where)
    if not plus.startswith(b"+"):
        raise SequenceError(
            f"{place} has {shown(plus)} in place of '+' in line {number + 2:,}; a record of FASTQ "
            "has four lines, and its letters are in one of them"
        )
    if again not in ("", name):
        raise SequenceError(f"{place} is called {again!r} in line {number + 2:,}")
    if not letters:
        raise no_letters(name, number, where)
    if len(letters) != len(quality):
        raise SequenceError(
            f"{place} has {len(letters):,} letters and {len(quality):,} qualities (line "
            f"{number + 3:,}); it needs one quality a letter, in one line"
        )
    check_letters(np.frombuffer(letters, np.uint8), place, from_file=True)
    k = first_outside(_QUALITIES, np.frombuffer(quality, np.uint8))
    if k is not None:
        raise SequenceError(
            f"{place} has {show_byte(quality[k])} at position {k + 1} of its qualities, which are "
            "characters from '!' to '~'"
        )


def _no_record(line: bytes, number: int, where: str) -> SequenceError:
    return SequenceError(
        f"line {number:,} of {where} is {shown(line)}, and a record of FASTQ begins with '@'"
    )
