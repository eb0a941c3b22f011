"""One result as formats see it, whether it comes from `align` or from a row of `align_many`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...sequences import sequence
    from ..alignment import Alignment


class Row(NamedTuple):
    """A result.  What was not computed is None; else as in `Alignment`."""

    query: sequence.Sequence
    target: sequence.Sequence
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
    #: Makes the whole Alignment from this row.
    make: Callable[[Row], Alignment]

    def alignment(self) -> Alignment:
        """The result as an Alignment."""
        return self.make(self)


#: The fields of a Row that `align_many` may give.
_FIELDS: tuple[str, ...] = Row._fields[2:-1]
#: The coordinates of a result.
PLACES = ("query_start", "query_end", "target_start", "target_end")


def row_of(found: Alignment) -> Row:
    """The row of an Alignment."""
    return Row(
        found.query,
        found.target,
        found.score,
        found.strand,
        found.query_start,
        found.query_end,
        found.target_start,
        found.target_end,
        found.matches,
        found.columns,
        found.cigar,
        lambda _: found,
    )


def rows_of(
    pairs: Sequence[tuple[sequence.Sequence, sequence.Sequence]],
    table: NDArray[Any],
    **common: Any,
) -> Iterator[Row]:
    """The rows of ``pairs``, from the table of `align_many` with the same order.

    ``common``: fields of `Alignment` that all of them have, with ``mode`` and ``scoring``."""
    values = [_values(table, name) for name in _FIELDS]
    halves = zip(*pairs, strict=True) if len(pairs) else ((), ())
    return map(Row._make, zip(*halves, *values, repeat(partial(_alignment, common))))


def _values(table: NDArray[Any], name: str) -> Iterable[Any]:
    """A field of all rows.  A table without strands is of strand plus; a coordinate that is not
    known is -1 in a table."""
    if name not in (table.dtype.names or ()):
        return repeat("plus" if name == "strand" else None)
    values: list[Any] = table[name].tolist()
    if name in PLACES and (table[name] == -1).any():
        return [None if value == -1 else value for value in values]
    return values


def _alignment(common: dict[str, Any], row: Row) -> Alignment:
    from ..alignment import Alignment
    from ..cigar import Runs

    return Alignment(
        score=row.score,
        query=row.query,
        target=row.target,
        query_start=row.query_start,
        query_end=row.query_end,
        target_start=row.target_start,
        target_end=row.target_end,
        runs=None if row.cigar is None else Runs.of_cigar(row.cigar),
        strand=row.strand,
        **common,
    )


def shown_name(of: sequence.Sequence, default: str) -> str:
    """A sequence's name without blanks, which would break a line of columns."""
    return "_".join(of.name.split()) or default
