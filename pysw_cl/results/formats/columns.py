"""Results as columns of text, of which tables are put together much faster than row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, islice, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...sequences.sequence import Sequence as Named, as_sequence
from ...sequences.view import PLACES
from ..aligned_pair import AlignedPair
from ..cigar import Runs
from ..pair_paths import as_table
from .writer import Letters, Plain, Row, Writer, without_blanks

Texts = list[str]
#: Results that are Python objects at once.
AT_ONCE = 1 << 14
#: Numbers below this are written by a table of their texts; fewer than this are not worth it.
_KNOWN, _FEW = 1 << 16, 200
_row = partial(tuple.__new__, Row)


@dataclass(eq=False, repr=False)
class Columns:
    """Some results, a column at a time."""

    #: Queries and targets, in what may have more.
    pairs: Sequence[Any]

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.pairs)

    def parts(self) -> Iterator[Columns]:
        """The results, not too many at once."""
        yield self

    def some(self, chosen: list[int]) -> Columns:
        return Columns([self.pairs[k] for k in chosen])

    def letters(self) -> tuple[list[Letters], list[Letters]]:
        """Queries and targets.  The same object in rows that follow each other is one here, too."""
        return [row[0] for row in self.pairs], [row[1] for row in self.pairs]

    def each(self, name: str) -> list[Any]:
        """A field of `Row` as Python objects, None where it is not known."""
        return [getattr(row, name) for row in self.pairs]

    def values(self, name: str) -> Any:
        """A field of `Row`: an array; a list of CIGARs; None if no row has it."""
        found = self.each(name)
        if any(value is None for value in found):
            return None
        return found if name == "cigar" else np.array(found)

    def known(self, name: str) -> Any:
        """A field that all rows have.  Raises InputError if one lacks it."""
        if (found := self.values(name)) is None:
            says = "all results of a file have to have the same output"
            if name == "matches" and self.values("cigar") is not None:
                says = "a PositionMatrix has them with query=, its letters"
            raise InputError(f"a result has no {name}: {says}")
        return found

    def minus(self) -> NDArray[np.bool_]:
        """Is each query on the minus strand?"""
        strands = self.values("strand")
        return np.zeros(len(self), np.bool_) if strands is None else np.asarray(strands == "minus")

    def aligned(self, what: str, both: bool) -> Columns:
        """Those with at least one column; with ``both`` those with `Row.has_both`.  Raises
        InputError, with the name of a format, if there is no path."""
        columns = self.values("columns")
        if columns is None or self.values("cigar") is None:
            raise InputError(f"{what} needs a path; align with output='path', or write TSV")
        chosen = columns != 0
        for side in ("query", "target") if both else ():
            chosen &= self.values(f"{side}_start") != self.values(f"{side}_end")
        return self if chosen.all() else self.some(np.flatnonzero(chosen).tolist())

    def names(self, side: int) -> Texts:
        """The names of the queries (0) or targets (1) without blanks."""
        return [without_blanks(row[side].name, "target" if side else "query") for row in self.pairs]

    def lengths(self, side: int) -> Texts:
        """The lengths of the queries (0) or targets (1)."""
        return texts(np.fromiter((len(pair[side]) for pair in self.pairs), np.int64, len(self)))

    def strands(self) -> Texts:
        """+ and -."""
        return ["-" if minus else "+" for minus in self.minus().tolist()]

    def numbers(self, name: str) -> Texts:
        """A field of `Row` that all rows have."""
        return texts(self.known(name))

    def shown(self, name: str, text: Callable[[Any], str] = str, unknown: str = "") -> Texts:
        """A field that only some rows may have."""
        return [unknown if value is None else text(value) for value in self.each(name)]

    def gaps(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of each path the number of gaps, and of their letters."""
        found = [cigar.count("I") + cigar.count("D") for cigar in self.values("cigar")]
        i0, i1, j0, j1 = map(self.values, PLACES)
        return np.array(found, np.int64), 2 * self.values("columns") - (i1 - i0) - (j1 - j0)


@dataclass(eq=False, repr=False)
class TableRows(Columns):
    """The rows of ``pairs``, as `align_many` takes them, from its table with the same order; an
    iterable."""

    table: NDArray[Any]
    #: The fields of `Alignment` that all of them have, with ``mode`` and ``scoring``.
    common: dict[str, Any]
    #: Other names of (query, target) of each.
    given: Sequence[tuple[str, str]] | None = None

    def __iter__(self) -> Iterator[Row]:
        make = repeat(partial(_alignment, self.common))
        for part in self.parts():
            values = map(part.each, Row._fields[2:-1])
            yield from map(_row, zip(*part.letters(), *values, make, strict=False))

    def parts(self) -> Iterator[TableRows]:
        for start in range(0, len(self.pairs), AT_ONCE):
            yield self.some(slice(start, start + AT_ONCE))

    def some(self, chosen: list[int] | slice) -> TableRows:
        def of(listed: Sequence[Any]) -> Sequence[Any]:
            return listed[chosen] if isinstance(chosen, slice) else [listed[k] for k in chosen]

        given = None if self.given is None else of(self.given)
        return TableRows(of(self.pairs), self.table[chosen], self.common, given)

    def extended(self, more: Mapping[str, NDArray[Any]]) -> TableRows:
        known = {name: self.table[name] for name in self.table.dtype.names or ()}
        return TableRows(self.pairs, as_table({**known, **more}), self.common, self.given)

    def each(self, name: str) -> list[Any]:
        if name not in (self.table.dtype.names or ()):
            return ["plus" if name == "strand" else None] * len(self)
        values: list[Any] = self.table[name].tolist()
        if name in PLACES and (self.table[name] == -1).any():
            return [None if value == -1 else value for value in values]
        return values

    def values(self, name: str) -> Any:
        if name not in (self.table.dtype.names or ()):
            return None
        return self.table[name].tolist() if name == "cigar" else self.table[name]

    def names(self, side: int) -> Texts:
        default = "target" if side else "query"
        if self.given is not None:
            return [without_blanks(pair[side], default) for pair in self.given]
        kinds = {type(pair[side]) for pair in self.pairs}
        if kinds <= {str, bytes}:
            return [default] * len(self)
        known = self.pairs if kinds == {Named} else zip(*self.letters(), strict=True)
        return [without_blanks(pair[side].name, default) for pair in known]

    def letters(self) -> tuple[list[Letters], list[Letters]]:
        def made(given: Any, name: str) -> Letters:
            if type(given) in (str, bytes):
                return Plain(given, name)
            of = given if type(given) is Named else as_sequence(given, check=False)
            return replace(of, name=name) if name else of

        names: Iterable[tuple[str, str]] = repeat(("", "")) if self.given is None else self.given
        found: tuple[list[Letters], list[Letters]] = ([], [])
        last: list[Any] = [None, None]
        for pair, named in zip(self.pairs, names, strict=False):
            for k in range(2):
                again = pair[k] is last[k] and named[k] in ("", found[k][-1].name)
                found[k].append(found[k][-1] if again else made(pair[k], named[k]))
                last[k] = pair[k]
        return found

    def check_letters(self) -> None:
        """Raise InputError for a path with another score by letters that may have changed."""
        if "cigar" not in (self.table.dtype.names or ()):
            return
        in_buffers = {bytearray, memoryview, np.ndarray}
        for k, pair in enumerate(self.pairs):
            if not in_buffers.isdisjoint(map(type, pair)):
                (row,) = self.some([k])
                if (scores := row.alignment().rescore()) != row.score:
                    raise InputError(
                        f"row {k} has the score {row.score}, but its path scores {scores} with the "
                        "letters of its pair; they have changed, or the pairs are others"
                    )


def _alignment(common: dict[str, Any], row: Row) -> AlignedPair:
    query, target = (x if isinstance(x, Named) else Named(x.name, "", x.read()) for x in row[:2])
    runs = None if row.cigar is None else Runs.of_cigar(row.cigar)
    names = (*PLACES, "score", "strand", "second_best", "expect", "bits")
    more = {name: getattr(row, name) for name in names}
    return AlignedPair(query=query, target=target, runs=runs, **more, **common)


def columns_of(rows: Iterable[Row], most: int = AT_ONCE) -> Iterator[Columns]:
    """Results as columns, at most so many at once."""
    if isinstance(rows, Columns):
        yield from rows.parts()
        return
    source = iter(rows)
    while some := list(islice(source, most)):
        yield Columns(some)


class Table(Writer):
    """Writes a table with tabs; ``columns`` makes the columns of at least one result."""

    columns: Callable[[Columns], Iterable[Iterable[str]]]

    #: The name of a format that needs paths, and has no line for one without columns.
    of_paths = ""
    #: Has it none either for a path that is a gap in one sequence alone?
    of_both = False

    def text(self, rows: Iterable[Row]) -> str:
        parts = columns_of(rows)
        if self.of_paths:
            parts = (some.aligned(self.of_paths, self.of_both) for some in parts)
        lines = (map("\t".join, zip(*self.columns(x), strict=True)) for x in filter(len, parts))
        return "".join(f"{line}\n" for line in chain.from_iterable(lines))


def texts(values: NDArray[Any]) -> Texts:
    many = len(values) > _FEW and values.dtype == np.int64
    if many and values.min() >= 0 and values.max() < _KNOWN:
        found: Texts = _known()[values].tolist()
        return found
    return list(map(str, values.tolist()))


def shares(values: NDArray[np.float64]) -> Texts:
    """Numbers between 0 and 1 with four digits."""
    found: Texts = _shares()[np.rint(values * 10_000).astype(np.int64)].tolist()
    return found


@cache
def _known() -> NDArray[np.object_]:
    return np.array([str(k) for k in range(_KNOWN)], object)


@cache
def _shares() -> NDArray[np.object_]:
    return np.array([f"{k / 10_000:.4f}" for k in range(10_001)], object)
