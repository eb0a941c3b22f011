"""Frames: the ranges of two sequences that are compared, and the strand of the query.

Inside a comparison, rows and columns are counted from the corner of a frame.  Results are counted
in the whole sequences as the user gave them.  A frame converts the first into the second.

On the minus strand the reverse complement of the query is aligned with the target as given, as in
PAF and SAM.  The query is not copied: when a tile reads its codes, the letters are read backwards
through one table that complements and encodes.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from ..errors import InputError, shown
from .alphabet import (
    COMPLEMENT,
    Letters,
    Table,
    is_nucleotide,
)
from .view import Codes, View

Strand = Literal["plus", "minus", "both"]
STRANDS: tuple[Strand, ...] = get_args(Strand)


@dataclass(frozen=True)
class Frame:
    """The part of two sequences that is compared: rows are query letters, columns target
    letters."""

    #: The letters of the whole query and the whole target (uint8, ASCII, or `Scoring.coded`).
    letters: tuple[Letters, Letters]
    #: The ranges of the query and of the target: the first letter, from 0, and the end, exclusive.
    row: int
    row_end: int
    column: int
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

    def codes(self, query_table: Table, target_table: Table) -> tuple[View, View]:
        """The codes of query and target by these tables, with which a view reads letters."""
        if self.minus:
            query_table = query_table[COMPLEMENT]
        query, target = self._views(query_table, target_table)
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


def check_strand(strand: Any, letters: str) -> None:
    """Raise InputError unless ``strand`` is "plus", or "minus" or "both" with ``letters`` of
    nucleotides."""
    if not isinstance(strand, str) or strand not in STRANDS:
        raise InputError(f"strand must be 'plus', 'minus' or 'both', not {shown(strand)}")
    if strand != "plus" and not is_nucleotide(letters):
        raise InputError(
            f"strand={strand!r} takes nucleotides, and the letters of this comparison are "
            f"{letters}; leave the strand out, or choose a scoring of A, C, G and T"
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
