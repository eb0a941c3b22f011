"""Views: ranges of sequences, possibly reversed and mapped, without a copy; and frames: the ranges
of two sequences that are compared, and the strand of the query.

Inside a comparison, rows and columns are counted from the corner of a frame; results are counted in
the whole sequences as the user gave them.  On the minus strand the reverse complement of the query
is aligned with the target as given, as in PAF and SAM.  The query is not copied: its letters are
read backwards through one table that complements and encodes."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, choice, shown
from .alphabet import COMPLEMENT, Letters, Table, is_nucleotide, translated

Codes = NDArray[np.uint8]
#: Pairs of letters by their positions from 0, 2 x count: in the query and in the target.  They are
#: sorted by query position, then by target position, and no pair is there twice.
Pairs = NDArray[np.int64]
#: The names of the coordinates of a result.
PLACES = ("query_start", "query_end", "target_start", "target_end")
Strand = Literal["plus", "minus", "both"]
STRANDS: tuple[Strand, ...] = get_args(Strand)
#: The strands of a query that are compared, by what is asked for.
COMPARED = {"plus": ("plus",), "minus": ("minus",), "both": ("plus", "minus")}


@dataclass(frozen=True)
class View:
    """A read-only range of an array of codes, or of letters (uint8)."""

    codes: Codes
    #: The first entry of the range, and its end, exclusive (None: the end of the array).
    start: int = 0
    stop: int | None = None
    #: Is the range read backwards?
    reverse: bool = False
    #: Maps each entry (uint8, 256 entries), such as letters to codes; None: it stays.
    table: Codes | None = None

    def __len__(self) -> int:
        return (len(self.codes) if self.stop is None else self.stop) - self.start

    def read(self, start: int, stop: int) -> Codes:
        """Codes ``[start, stop)`` of the view as a contiguous uint8 array."""
        first = self.start + (len(self) - stop if self.reverse else start)
        part = self.codes[first : first + stop - start][:: -1 if self.reverse else 1]
        if self.table is not None:
            return translated(self.table, part)
        return np.ascontiguousarray(part)

    def slice(self, start: int, stop: int) -> View:
        first = self.start + (len(self) - stop if self.reverse else start)
        return View(self.codes, first, first + stop - start, self.reverse, self.table)


def pairs_inside(
    pairs: Pairs | None, row: int, row_end: int, column: int, column_end: int
) -> Pairs | None:
    """The ``pairs`` in these rows and columns, counted from their corner; None if there is none."""
    if pairs is None:
        return None
    first, last = np.searchsorted(pairs[0], (row, row_end))
    inside = pairs[:, first:last]
    kept = (inside[1] >= column) & (inside[1] < column_end)
    inside = np.compress(kept, inside, axis=1)
    return inside - np.array([[row], [column]]) if inside.size else None


@dataclass(frozen=True)
class Frame:
    """The part of two sequences that is compared: rows are query letters, columns target ones."""

    #: The letters of the whole query and the whole target (uint8, ASCII, or `Scoring.coded`).
    letters: tuple[Letters, Letters]
    #: The ranges of the query and of the target: the first letter, from 0, and the end, exclusive.
    row: int
    row_end: int
    column: int
    column_end: int
    #: Is the query's range reverse-complemented?
    minus: bool = False
    #: The codes of both ranges as given; None: they are made when they are read.
    known: tuple[Codes | None, Codes | None] = field(default=(None, None), compare=False)
    #: May letters be among them that are scored as others?
    others: bool = True

    @property
    def strand(self) -> str:
        return "minus" if self.minus else "plus"

    @property
    def places(self) -> list[int]:
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

    def codes(self, query_table: Table, target_table: Table) -> tuple[View, View]:
        """The codes of query and target by these tables, with which a view reads letters."""
        (query, target), (rows, columns) = self.letters, self.known
        if self.minus:
            first = View(query, self.row, self.row_end, True, query_table[COMPLEMENT])
        elif rows is not None:
            first = View(rows)
        else:
            first = View(query, self.row, self.row_end, table=query_table)
        given = View(target, self.column, self.column_end, table=target_table)
        return first, given if columns is None else View(columns)

    def region(self, row: int, row_end: int, column: int, column_end: int) -> tuple[View, View]:
        """The letters of a part of the frame, those of the query on the frame's strand."""
        query, target = self.letters
        rows, table = self.rows(row, row_end), COMPLEMENT if self.minus else None
        places = self.column + column, self.column + column_end
        return View(query, *rows, self.minus, table), View(target, *places)

    def rows(self, start: Any, end: Any) -> tuple[Any, Any]:
        """Rows ``[start, end)`` of the frame, or arrays of them (None: unknown), as a range of the
        query as given: on the minus strand start and end change places."""
        if self.minus:
            base = self.row_end
            return None if end is None else base - end, None if start is None else base - start
        base = self.row
        return None if start is None else base + start, None if end is None else base + end

    def found(
        self, start: tuple[int, int] | None, end: tuple[int, int] | None
    ) -> dict[str, int | None]:
        """The coordinates of an `Alignment` between (row, column) in the frame, or None."""
        (row, column), (row_end, column_end) = start or (None, None), end or (None, None)
        first = None if column is None else self.column + column
        last = None if column_end is None else self.column + column_end
        return dict(zip(PLACES, (*self.rows(row, row_end), first, last), strict=True))


def check_strand(strand: Any, letters: str) -> None:
    """Raise InputError unless ``strand`` is "plus", or another one and ``letters`` nucleotides."""
    choice(strand, "strand", STRANDS)
    if strand != "plus" and not is_nucleotide(letters):
        raise InputError(
            f"strand={strand!r} takes nucleotides, and the letters of this comparison are "
            f"{letters}; leave the strand out, or choose a scoring of A, C, G and T"
        )


def as_range(given: Any, name: str) -> tuple[int, int] | None:
    """A range that the user gave as ``name``; None: the whole.  Raises InputError."""
    if given is None:
        return None
    try:
        start, end = (operator.index(place) for place in given)
    except Exception:
        raise InputError(
            f"{name} takes (start, end), two whole numbers, not {shown(given)}"
        ) from None
    return start, end
