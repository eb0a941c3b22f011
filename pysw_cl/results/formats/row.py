"""One result as formats see it, whether it comes from `align` or from a row of `align_many`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ...errors import InputError, printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..aligned_pair import AlignedPair


class Letters(Protocol):
    """What formats ask of a sequence; a `Sequence` is one."""

    @property
    def name(self) -> str:
        """Its name, or ""."""

    @property
    def description(self) -> str:
        """The rest of its header, or ""."""

    def read(self, start: int = 0, stop: int | None = None) -> NDArray[np.uint8]:
        """Its letters from ``start`` up to ``stop`` in ASCII."""

    @property
    def quality(self) -> NDArray[np.uint8] | None:
        """Its qualities as FASTQ writes them, or None."""

    def __len__(self) -> int: ...


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
    #: Makes the whole Alignment from this row.
    make: Callable[[Row], AlignedPair]

    @property
    def has_both(self) -> bool:
        """Has the path a letter of the query and one of the target?  A global path may be a gap in
        one of them alone, which has no place in formats whose positions are inclusive."""
        return self.query_start != self.query_end and self.target_start != self.target_end

    @property
    def mapq(self) -> int:
        """The mapping quality: 0 where another end scores as much, else 255, which is not known."""
        return 0 if self.second_best == self.score else 255

    def alignment(self) -> AlignedPair:
        """The result as an Alignment."""
        return self.make(self)


#: The fields of a Row that `align_many` may give.
_FIELDS: tuple[str, ...] = Row._fields[2:-1]
#: The coordinates of a result.
PLACES = ("query_start", "query_end", "target_start", "target_end")
#: Rows that are Python objects at once.
AT_ONCE = 1 << 14
_RUN = re.compile("([0-9]+)([=XMID])")
_row = partial(tuple.__new__, Row)


def row_of(found: AlignedPair) -> Row:
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
        found.second_best,
        lambda _: found,
    )


class TableRows:
    """The rows of ``pairs``, from the table of `align_many` with the same order; an iterable.

    ``pairs`` are as `align_many` takes them; ``names``: (name of the query, name of the target) of
    each, for those that have none or others.  ``common``: fields of `Alignment` that all of them
    have, with ``mode`` and ``scoring``."""

    def __init__(
        self,
        pairs: Sequence[tuple[Any, Any]],
        table: NDArray[Any],
        common: dict[str, Any],
        names: Sequence[tuple[str, str]] | None = None,
    ) -> None:
        self.pairs, self.table, self.common, self.names = pairs, table, common, names

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[Row]:
        make = repeat(partial(_alignment, self.common))
        for part in self.parts():
            values = [_values(part.table, name) for name in _FIELDS]
            yield from map(_row, zip(*part.letters(), *values, make, strict=False))

    def parts(self) -> Iterator[TableRows]:
        """The rows, not too many at once."""
        for start in range(0, len(self.pairs), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            names = None if self.names is None else self.names[some]
            yield TableRows(self.pairs[some], self.table[some], self.common, names)

    def check_letters(self) -> None:
        """Raise InputError for a path that does not score what its row says with the letters of its
        pair, if these are in memory that may have changed."""
        if "cigar" not in (self.table.dtype.names or ()):
            return
        import numpy as np

        in_buffers = {bytearray, memoryview, np.ndarray}
        for k, pair in enumerate(self.pairs):
            if not in_buffers.isdisjoint(map(type, pair)):
                (row,) = TableRows([pair], self.table[k : k + 1], self.common)
                if (scores := row.alignment().rescore()) != row.score:
                    raise InputError(
                        f"row {k} has the score {row.score}, but its path scores {scores} with the "
                        "letters of its pair; they have changed, or the pairs are others"
                    )

    def letters(self) -> tuple[list[Letters], list[Letters]]:
        """Queries and targets.  The same object in rows that follow each other is one here, too."""
        from ...sequences.sequence import Sequence, as_sequence

        def made(given: Any, name: str) -> Letters:
            if type(given) in (str, bytes):
                return Plain(given, name)
            of = given if type(given) is Sequence else as_sequence(given, check=False)
            return replace(of, name=name) if name else of

        names: Iterable[tuple[str, str]] = repeat(("", "")) if self.names is None else self.names
        found: tuple[list[Letters], list[Letters]] = ([], [])
        given: list[Any] = [None, None]
        for pair, named in zip(self.pairs, names, strict=False):
            for k in range(2):
                if pair[k] is given[k] and not (named[k] and found[k][-1].name != named[k]):
                    found[k].append(found[k][-1])
                    continue
                given[k] = pair[k]
                found[k].append(made(pair[k], named[k]))
        return found


def _values(table: NDArray[Any], name: str) -> Iterable[Any]:
    """A field of all rows.  A table without strands is of strand plus; a coordinate that is not
    known is -1 in a table."""
    if name not in (table.dtype.names or ()):
        return repeat("plus" if name == "strand" else None)
    values: list[Any] = table[name].tolist()
    if name in PLACES and (table[name] == -1).any():
        return [None if value == -1 else value for value in values]
    return values


def _alignment(common: dict[str, Any], row: Row) -> AlignedPair:
    from ...sequences.sequence import Sequence
    from ..aligned_pair import AlignedPair
    from ..cigar import Runs

    query, target = (
        x if isinstance(x, Sequence) else Sequence(x.name, "", x.read())
        for x in (row.query, row.target)
    )
    return AlignedPair(
        score=row.score,
        query=query,
        target=target,
        query_start=row.query_start,
        query_end=row.query_end,
        target_start=row.target_start,
        target_end=row.target_end,
        runs=None if row.cigar is None else Runs.of_cigar(row.cigar),
        strand=row.strand,
        second_best=row.second_best,
        **common,
    )


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


def aligned_texts(row: Row, gap: str = "-") -> tuple[str, str]:
    """The aligned letters of query and target with gaps, as in `convert.aligned`: the query is
    reverse complemented on the minus strand.  For a row with a path."""
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
        if op == "D":
            ours.append(gap * length)
        else:
            ours.append(query[i : i + length])
            i += length
        if op == "I":
            theirs.append(gap * length)
        else:
            theirs.append(target[j : j + length])
            j += length
    return "".join(ours), "".join(theirs)
