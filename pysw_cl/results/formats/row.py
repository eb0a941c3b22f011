"""One result as formats see it, whether it comes from `align` or from a row of `align_many`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ...errors import printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...sequences.sequence import Sequence
    from ..aligned_pair import AlignedPair

#: A sequence as formats have it.
Letters: TypeAlias = "Sequence | Plain"
_RUN = re.compile("([0-9]+)([=XMID])")


class Plain:
    """A sequence that was given as a str or bytes, which becomes an array when it is needed."""

    __slots__ = ("_letters", "given", "name")
    description = ""
    quality = None

    def __init__(self, given: str | bytes, name: str = "") -> None:
        self.given, self.name = given, name
        self._letters: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.given)

    def read(self, start: int = 0, stop: int | None = None) -> NDArray[np.uint8]:
        """Its letters from ``start`` up to ``stop`` in ASCII."""
        if self._letters is None:
            from ...sequences.sequence import as_sequence

            self._letters = as_sequence(self.given, check=False).letters
        return self._letters[start:stop]


class Row(NamedTuple):
    """A result.  What was not computed is None; else as in `Alignment`."""

    query: Letters
    target: Letters
    score: int | float
    #: "plus" or "minus".
    strand: str
    query_start: int | None
    query_end: int | None
    target_start: int | None
    target_end: int | None
    matches: int | None
    columns: int | None
    cigar: str | None
    second_best: int | float | None
    #: Makes the whole alignment from this row.
    make: Callable[[Row], AlignedPair]

    @property
    def has_both(self) -> bool:
        """Has the path a letter of the query and one of the target?  A global path may be a gap in
        one of them alone, which has no place in formats whose positions are inclusive."""
        return self.query_start != self.query_end and self.target_start != self.target_end

    def alignment(self) -> AlignedPair:
        """The whole alignment."""
        return self.make(self)


_fields = attrgetter(*Row._fields[:-1])


def row_of(found: AlignedPair) -> Row:
    """The row of an alignment."""
    return Row._make((*_fields(found), lambda _: found))


def shown_name(of: Letters, default: str) -> str:
    """A sequence's name without blanks, which would break a line of columns."""
    return without_blanks(of.name, default)


def without_blanks(name: str, default: str) -> str:
    """A name as a column can have it."""
    if name and name.isprintable() and " " not in name:
        return name
    return printable(name, "_") or default


def runs_of(cigar: str) -> list[tuple[int, str]]:
    """The runs of an extended CIGAR: length and operation of each."""
    return [(int(length), op) for length, op in _RUN.findall(cigar)]


@cache
def complement() -> bytes:
    """The table of complements, for bytes."""
    from ...sequences.alphabet import COMPLEMENT

    return COMPLEMENT.tobytes()


def bytes_of(of: Letters, start: int | None = None, end: int | None = None) -> bytes:
    """Letters of a sequence, all of them by default."""
    if isinstance(of, Plain):
        part = of.given[start:end]
        return part.encode("ascii") if isinstance(part, str) else part
    return of.read(start or 0, end).tobytes()


def aligned_texts(row: Row) -> tuple[str, str]:
    """`AlignedPair.aligned` of a row with a path, which is faster here for short ones."""
    letters = bytes_of(row.query, row.query_start, row.query_end)
    if row.strand == "minus":
        letters = letters.translate(complement())[::-1]
    query = letters.decode("ascii")
    target = bytes_of(row.target, row.target_start, row.target_end).decode("ascii")
    if row.cigar is None or not ("I" in row.cigar or "D" in row.cigar):
        return query, target
    ours: list[str] = []
    theirs: list[str] = []
    i = j = 0
    for length, op in runs_of(row.cigar):
        rows, columns = length * (op != "D"), length * (op != "I")
        ours.append(query[i : i + rows] or "-" * length)
        theirs.append(target[j : j + columns] or "-" * length)
        i, j = i + rows, j + columns
    return "".join(ours), "".join(theirs)
