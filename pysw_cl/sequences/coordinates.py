"""Frames: the ranges of two sequences that are compared, and the strand of the query.

Inside a comparison, rows and columns are counted from the corner of a frame.  Results are counted
in the whole sequences as the user gave them.  A frame converts the first into the second.

On the minus strand the reverse complement of the query is aligned with the target as given, as in
PAF and SAM.  The query is not copied: when a tile reads its codes, the letters are read backwards
through one table that complements and encodes.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, get_args

import numpy as np

from ..errors import InputError, SequenceError, shown
from .alphabet import (
    COMPLEMENT,
    NO_CODE,
    Letters,
    Table,
    first_outside,
    is_nucleotide,
    show_byte,
)
from .sequence import Sequence, check_letters
from .view import Codes, View

Strand = Literal["plus", "minus", "both"]
STRANDS: tuple[Strand, ...] = get_args(Strand)
#: The codes of a range of at most so many letters are made when its letters are checked, and kept:
#: that takes half the time of checking first.  Codes of more would take too much memory.
MOST_KNOWN = 1 << 24


class Encoder(Protocol):
    """What turns letters into codes; :class:`pysw_cl.scoring.scoring.Scoring` is one."""

    @property
    def letters(self) -> str:
        """The alphabet."""

    @property
    def by_position(self) -> bool:
        """Are query codes the positions of a matrix?"""

    @property
    def query_encoding(self) -> Table:
        """The code of each byte of a query; NO_CODE for a letter outside the alphabet."""

    @property
    def target_encoding(self) -> Table:
        """The same for a target."""

    def knows(self, letters: Letters) -> bool:
        """Are these letters of sequences (no blanks, no gaps), all in the alphabet?"""

    def known_codes(self, letters: Letters, what: str) -> tuple[Codes, bool] | None:
        """The codes of letters of the sequence ``what``, and whether some are scored as others;
        None unless `knows` is true of them."""

    def check_letters(self, letters: Letters, what: str, first: int = 0) -> None:
        """Raise SequenceError for the first letter outside the alphabet; ``letters`` follow the
        first ``first`` letters of the sequence ``what``."""


@dataclass(frozen=True)
class Frame:
    """The part of two sequences that is compared: rows are query letters, columns target
    letters."""

    #: The letters of the whole query and the whole target (uint8, ASCII, or `Sequence.coded`).
    letters: tuple[Letters, Letters]
    #: The first letter of the query's range, from 0.
    row: int
    #: The end of the query's range, exclusive.
    row_end: int
    #: The first letter of the target's range, from 0.
    column: int
    #: The end of the target's range, exclusive.
    column_end: int
    #: The query's range is reverse-complemented.
    minus: bool = False
    #: The codes of both ranges as given, if they are known (None: made when they are read).
    known: tuple[Codes | None, Codes | None] = field(default=(None, None), compare=False)
    #: May letters be among them that are scored as others?
    others: bool = True

    @property
    def strand(self) -> str:
        """ "plus" or "minus"."""
        return "minus" if self.minus else "plus"

    @property
    def places(self) -> list[int]:
        """The ranges: row, row_end, column, column_end."""
        return [self.row, self.row_end, self.column, self.column_end]

    @property
    def shape(self) -> tuple[int, int]:
        """How many query letters and target letters are compared."""
        return self.row_end - self.row, self.column_end - self.column

    @property
    def compared(self) -> tuple[Letters, Letters]:
        """The letters of both ranges as given (uint8, ASCII)."""
        query, target = self.letters
        return query[self.row : self.row_end], target[self.column : self.column_end]

    def _views(self, query_table: Table | None, target_table: Table | None) -> tuple[View, View]:
        query, target = self.letters
        return (
            View(query, self.row, self.row_end, self.minus, query_table),
            View(target, self.column, self.column_end, False, target_table),
        )

    def codes(self, encoder: Encoder) -> tuple[View, View]:
        """The codes of query and target.  A view encodes the letters when it is read."""
        table = encoder.query_encoding
        query_table = table[COMPLEMENT] if self.minus else table
        query, target = self._views(query_table, encoder.target_encoding)
        rows, columns = self.known
        if rows is not None and not self.minus:
            query = View(rows)
        return query, target if columns is None else View(columns)

    def region(self, row: int, row_end: int, column: int, column_end: int) -> tuple[View, View]:
        """The letters of a part of the frame, those of the query on the frame's strand."""
        query, target = self._views(COMPLEMENT if self.minus else None, None)
        return query.slice(row, row_end), target.slice(column, column_end)

    def rows(self, start: Any, end: Any) -> tuple[Any, Any]:
        """Rows ``[start, end)`` of the frame, or arrays of them, as a range of the query as given.

        None means unknown.  On the minus strand start and end change places."""
        if self.minus:
            start, end = end, start
        base, sign = (self.row_end, -1) if self.minus else (self.row, 1)
        found = [None if place is None else base + sign * place for place in (start, end)]
        return found[0], found[1]

    def found(
        self, start: tuple[int, int] | None, end: tuple[int, int] | None
    ) -> dict[str, int | None]:
        """The coordinates of an alignment under the names that `Alignment` uses.

        ``start`` and ``end`` are (row, column) in the frame; None gives None."""
        (row, column), (row_end, column_end) = start or (None, None), end or (None, None)
        query_start, query_end = self.rows(row, row_end)
        return {
            "query_start": query_start,
            "query_end": query_end,
            "target_start": None if column is None else self.column + column,
            "target_end": None if column_end is None else self.column + column_end,
        }


def check_strand(strand: Any, encoder: Encoder) -> None:
    """Raise InputError unless ``strand`` is "plus", or "minus" or "both" with an alphabet of
    nucleotides."""
    if not isinstance(strand, str) or strand not in STRANDS:
        raise InputError(f"strand must be 'plus', 'minus' or 'both', not {shown(strand)}")
    if strand != "plus" and not is_nucleotide(encoder.letters):
        raise InputError(
            f"strand={strand!r} takes nucleotides, and the letters of this comparison are "
            f"{encoder.letters}; leave the strand out, or choose a scoring of A, C, G and T"
        )


def as_range(given: Any, what: str) -> tuple[int, int] | None:
    """A range of the query or the target (``what``) as the user gave it; None is the whole.

    Raises InputError for anything but two whole numbers."""
    if given is None:
        return None
    try:
        start, end = (operator.index(place) for place in given)
    except Exception:
        raise InputError(
            f"{what}_range takes (start, end), two whole numbers, not {shown(given)}"
        ) from None
    return start, end


def make_frames(
    query: Sequence,
    target: Sequence,
    query_range: tuple[int, int] | None,
    target_range: tuple[int, int] | None,
    strand: str,
    encoder: Encoder,
) -> list[Frame]:
    """The frames to compare, plus before minus, with checked letters.

    Ranges are (start, end), 0-based and half-open, or None for the whole sequence; ``strand`` is
    one that `check_strand` accepts.  Raises InputError for a range that is not inside its
    sequence, and SequenceError for an empty sequence and for a letter inside a range that is not in
    the alphabet.
    """
    ranges: list[tuple[int, int]] = []
    known: list[Codes | None] = []
    others = False
    for sequence, given, what in ((query, query_range, "query"), (target, target_range, "target")):
        start, end = _checked_range(given, len(sequence), what)
        part = sequence.read(start, end)
        if encoder.by_position and what == "query":  # its positions are codes
            ranges.append((start, end))
            known.append(sequence.coded[start:end])
            continue
        told = encoder.known_codes(part, what) if len(part) <= MOST_KNOWN else None
        if not len(part) or (told is None and not encoder.knows(part)):  # then say what is wrong
            check_letters(part, what, start)
            encoder.check_letters(part, what, start)
        ranges.append((start, end))
        known.append(told and told[0])
        others |= told is None or told[1]
    codes, coded = (known[0], known[1]), encoder.by_position
    letters = query.coded if coded else query.letters, target.letters
    frame = Frame(letters, *ranges[0], *ranges[1], known=codes, others=others)
    if strand == "plus":
        return [frame]
    _check_complement(frame, encoder)
    minus = replace(frame, minus=True)
    return [minus] if strand == "minus" else [frame, minus]


def _checked_range(given: tuple[int, int] | None, length: int, what: str) -> tuple[int, int]:
    if given is None:
        return 0, length
    start, end = given
    if not 0 <= start < end <= length:
        raise InputError(
            f"{what}_range is [{start:,}, {end:,}), and the {what} has {length:,} letters; it "
            f"takes 0 <= start < end <= {length:,}, counted from 0 and without the end"
        )
    return start, end


def _check_complement(frame: Frame, encoder: Encoder) -> None:
    """Raise SequenceError for a query letter whose complement is not in the alphabet."""
    known = np.flatnonzero(encoder.query_encoding[COMPLEMENT] != NO_CODE).astype(np.uint8)
    part = frame.letters[0][frame.row : frame.row_end]
    k = first_outside(known.tobytes(), part)
    if k is not None:
        letter, other = int(part[k]), int(COMPLEMENT[part[k]])
        raise SequenceError(
            f"letter {show_byte(letter)} at position {frame.row + k + 1} of the query becomes "
            f"{show_byte(other)} on the minus strand, which is not in the alphabet "
            f"{encoder.letters}; choose a substitution matrix that has both"
        )
