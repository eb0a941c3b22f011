"""What of two sequences is compared, and which way round: ranges and strands.

Inside a comparison rows and columns count from a frame's corner; results count in the whole
sequences as they were given.  A frame is where the two meet.

On the minus strand the query is turned: its reverse complement is aligned with the target as it
is, as in PAF and SAM.  Nothing is copied for it: codes are made from the letters when a tile reads
them, backwards and through a table that complements and encodes at once.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import InputError, SequenceError
from ..scoring.scoring import Scoring
from ..tiles.tile_map import TileMap
from .alphabet import COMPLEMENT, NO_CODE, Letters, Table, first_outside, is_nucleotide, show_byte
from .sequence import Sequence, check_letters
from .view import View

STRANDS = ("plus", "minus", "both")


@dataclass(frozen=True)
class Frame:
    """Letters ``[row, row_end)`` of a query, turned when ``minus``, and ``[column, column_end)``
    of a target; ``letters`` are those of the two whole sequences."""

    letters: tuple[Letters, Letters]
    row: int
    row_end: int
    column: int
    column_end: int
    minus: bool = False

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
        """How many letters of the query and of the target are compared."""
        return self.row_end - self.row, self.column_end - self.column

    def _views(self, query_table: Table | None, target_table: Table | None) -> tuple[View, View]:
        query, target = self.letters
        return (
            View(query, self.row, self.row_end, self.minus, query_table),
            View(target, self.column, self.column_end, False, target_table),
        )

    def codes(self, scoring: Scoring) -> tuple[View, View]:
        """The codes of both sides, made from the letters when they are read."""
        table = scoring.query_encoding
        query_table = table[COMPLEMENT] if self.minus else table
        return self._views(query_table, scoring.target_encoding)

    def region(self, row: int, row_end: int, column: int, column_end: int) -> tuple[View, View]:
        """The letters of a part of the frame, as they are aligned."""
        query, target = self._views(COMPLEMENT if self.minus else None, None)
        return query.slice(row, row_end), target.slice(column, column_end)

    def rows(self, start: int | None, end: int | None) -> tuple[int | None, int | None]:
        """Rows ``[start, end)`` of the frame as a range of the query; None stays unknown, and
        changes sides where the query is turned."""
        if self.minus:
            start, end = end, start
        base, sign = (self.row_end, -1) if self.minus else (self.row, 1)
        found = [None if place is None else base + sign * place for place in (start, end)]
        return found[0], found[1]

    def found(
        self, start: tuple[int, int] | None, end: tuple[int, int] | None
    ) -> dict[str, int | None]:
        """The coordinates of an alignment, as `Alignment` has them, from the (row, column) where
        it starts and ends; None for what was not asked for."""
        (row, column), (row_end, column_end) = start or (None, None), end or (None, None)
        query_start, query_end = self.rows(row, row_end)
        return {
            "query_start": query_start,
            "query_end": query_end,
            "target_start": None if column is None else self.column + column,
            "target_end": None if column_end is None else self.column + column_end,
        }

    def map(self, tiles: TileMap, scale: int) -> TileMap:
        """A map of the frame's rows and columns as one of the whole sequences; ``scale`` divides
        its scores."""
        corner = self.row_end if self.minus else self.row
        return tiles.placed(corner, self.column, scale, self.minus)


def check_strand(strand: Any, scoring: Scoring) -> None:
    """Raise InputError unless this is a strand that a comparison with this scoring has: "plus", and
    "minus" or "both" of nucleotides."""
    if not isinstance(strand, str) or strand not in STRANDS:
        raise InputError(f"strand must be 'plus', 'minus' or 'both', not {strand!r}")
    if strand != "plus" and not is_nucleotide(scoring.letters):
        raise InputError(
            f"strand={strand!r} takes nucleotides, and the letters of this comparison are "
            f"{scoring.letters}; leave the strand out, or choose a scoring of A, C, G and T"
        )


def as_range(given: Any, what: str) -> tuple[int, int] | None:
    """The range that is given for the query or the target (``what``), or None for all of it.
    Raises InputError for anything but two whole numbers."""
    if given is None:
        return None
    try:
        start, end = (operator.index(place) for place in given)
    except (TypeError, ValueError):
        raise InputError(
            f"{what}_range takes (start, end), two whole numbers, not {given!r}"
        ) from None
    return start, end


def make_frames(
    query: Sequence,
    target: Sequence,
    query_range: tuple[int, int] | None,
    target_range: tuple[int, int] | None,
    strand: str,
    scoring: Scoring,
) -> list[Frame]:
    """The frames to be compared, plus before minus, their letters checked.

    Ranges are (start, end), 0-based and half-open, or None for the whole sequence; ``strand`` is
    one that `check_strand` lets pass.  Raises InputError for a range that does not lie in its
    sequence, and SequenceError for an empty sequence and for letters inside the ranges that are not
    of the scoring's alphabet.
    """
    places: list[tuple[int, int]] = []
    for sequence, given, what in ((query, query_range, "query"), (target, target_range, "target")):
        start, end = _place(given, len(sequence), what)
        part = sequence.letters[start:end]
        check_letters(part, what, start)
        scoring.check_letters(part, what, start)
        places.append((start, end))
    frame = Frame((query.letters, target.letters), *places[0], *places[1])
    if strand == "plus":
        return [frame]
    _check_complement(frame, scoring)
    minus = replace(frame, minus=True)
    return [minus] if strand == "minus" else [frame, minus]


def _place(given: tuple[int, int] | None, length: int, what: str) -> tuple[int, int]:
    if given is None:
        return 0, length
    start, end = given
    if not 0 <= start < end <= length:
        raise InputError(
            f"{what}_range is [{start:,}, {end:,}), and the {what} has {length:,} letters; it "
            f"takes 0 <= start < end <= {length:,}, counted from 0 and without the end"
        )
    return start, end


def _check_complement(frame: Frame, scoring: Scoring) -> None:
    """An alphabet may have a letter and not its complement."""
    known = np.flatnonzero(scoring.query_encoding[COMPLEMENT] != NO_CODE).astype(np.uint8)
    part = frame.letters[0][frame.row : frame.row_end]
    k = first_outside(known.tobytes(), part)
    if k is not None:
        letter, other = int(part[k]), int(COMPLEMENT[part[k]])
        raise SequenceError(
            f"letter {show_byte(letter)} at position {frame.row + k + 1} of the query becomes "
            f"{show_byte(other)} on the minus strand, which is not in the alphabet "
            f"{scoring.letters}; choose a substitution matrix that has both"
        )
