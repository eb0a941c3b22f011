"""Views: a range of a sequence, possibly reversed and mapped, without a copy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .alphabet import translated

Codes = NDArray[np.uint8]
#: Pairs of letters by their positions from 0, 2 x count: in the query and in the target.  They are
#: sorted by query position, then by target position, and no pair is there twice.
Pairs = NDArray[np.int64]


@dataclass(frozen=True)
class View:
    """A read-only range of an array of codes or letters.

    A view of letters with an encoding table is a view of codes that take no memory.
    """

    #: uint8.
    codes: Codes
    #: The first entry of the range, and its end, exclusive (None: the end of the array).
    start: int = 0
    stop: int | None = None
    #: The range is read backwards.
    reverse: bool = False
    #: Maps each entry (uint8, 256 entries; None: entries are not mapped).
    table: Codes | None = None

    def __len__(self) -> int:
        stop = len(self.codes) if self.stop is None else self.stop
        return stop - self.start

    def read(self, start: int, stop: int) -> Codes:
        """Codes ``[start, stop)`` of the view as a contiguous uint8 array."""
        if self.reverse:
            last = self.start + len(self)
            part = self.codes[last - stop : last - start][::-1]
        else:
            part = self.codes[self.start + start : self.start + stop]
        if self.table is not None:
            return translated(self.table, part)
        return np.ascontiguousarray(part)

    def slice(self, start: int, stop: int) -> View:
        """The view of ``[start, stop)`` of this view."""
        if self.reverse:
            last = self.start + len(self)
            return View(self.codes, last - stop, last - start, True, self.table)
        return View(self.codes, self.start + start, self.start + stop, False, self.table)


def pairs_inside(
    pairs: Pairs | None, row: int, row_end: int, column: int, column_end: int
) -> Pairs | None:
    """The ``pairs`` in rows ``[row, row_end)`` and columns ``[column, column_end)``, counted from
    that corner; None if there is none."""
    if pairs is None:
        return None
    first, last = np.searchsorted(pairs[0], (row, row_end))
    inside = pairs[:, first:last]
    if not inside.size:
        return None
    columns = inside[1]
    if columns.min() < column or columns.max() >= column_end:
        inside = np.compress((columns >= column) & (columns < column_end), inside, axis=1)
    return inside - np.array([[row], [column]]) if inside.size else None
