"""Results as columns of text, for formats that are tables: a line is put together from ready
strings, which takes a fraction of the time of formatting each row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...sequences.sequence import Sequence
from .row import AT_ONCE, Row, TableRows, shown_name, without_blanks

Texts = list[str]
#: Numbers below this are written by a table of their texts.
_KNOWN = 1 << 16
#: Fewer numbers than this are not worth it.
_FEW = 200


class Columns:
    """Some results, a column at a time."""

    def __init__(self, rows: TableRows | list[Row]) -> None:
        self._rows = rows
        self._list = None if isinstance(rows, TableRows) else rows

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self) -> list[Row]:
        """The results as rows."""
        if self._list is None:
            self._list = list(self._rows)
        return self._list

    def values(self, name: str) -> Any:
        """A field of `Row`: an array; a list of CIGARs; None if no row has it."""
        if isinstance(self._rows, TableRows):
            table = self._rows.table
            if name not in (table.dtype.names or ()):
                return None
            return table[name].tolist() if name == "cigar" else table[name]
        found = [getattr(row, name) for row in self._rows]
        if any(value is None for value in found):
            return None
        return found if name == "cigar" else np.array(found)

    def known(self, name: str) -> Any:
        """A field that all rows have.  Raises InputError if one lacks it."""
        found = self.values(name)
        if found is None:
            raise InputError(
                f"a result has no {name}: all results of a file have to have the same output"
            )
        return found

    def minus(self) -> NDArray[np.bool_]:
        """Is each query on the minus strand?"""
        strands = self.values("strand")
        if strands is None:
            return np.zeros(len(self), np.bool_)
        return np.asarray(strands == "minus")

    def aligned(self, what: str, both: bool = False) -> Columns:
        """Those with at least one column; with ``both`` those with `Row.has_both`.  Raises
        InputError, with the name of a format, if there is no path."""
        columns = self.values("columns")
        if len(self) and (columns is None or self.values("cigar") is None):
            raise InputError(f"{what} needs a path; align with output='path', or write TSV")
        if not len(self):
            return self
        chosen = columns != 0
        for side in ("query", "target") if both else ():
            chosen &= self.values(f"{side}_start") != self.values(f"{side}_end")
        if chosen.all():
            return self
        kept = np.flatnonzero(chosen)
        rows = self._rows
        if not isinstance(rows, TableRows):
            return Columns([rows[k] for k in kept.tolist()])
        pairs, names = (
            [of[k] for k in kept.tolist()] for of in (rows.pairs, rows.names or rows.pairs)
        )
        return Columns(
            TableRows(pairs, rows.table[kept], rows.common, names if rows.names else None)
        )

    # Columns of text

    def names(self, side: int) -> Texts:
        """The names of the queries (0) or targets (1) without blanks."""
        default = "target" if side else "query"
        rows = self._rows
        if not isinstance(rows, TableRows):
            return [shown_name(row.target if side else row.query, default) for row in rows]
        if rows.names is not None:
            return [without_blanks(pair[side], default) for pair in rows.names]
        kinds = {type(pair[side]) for pair in rows.pairs}
        if kinds <= {str, bytes}:
            return [default] * len(rows)
        if kinds == {Sequence}:
            return [shown_name(pair[side], default) for pair in rows.pairs]
        return [shown_name(of, default) for of in rows.letters()[side]]

    def lengths(self, side: int) -> Texts:
        """The lengths of the queries (0) or targets (1)."""
        pairs: Any = self._rows.pairs if isinstance(self._rows, TableRows) else self._rows
        return texts(np.fromiter((len(pair[side]) for pair in pairs), np.int64, len(pairs)))

    def strands(self) -> Texts:
        """+ and -."""
        return ["-" if minus else "+" for minus in self.minus().tolist()]

    def numbers(self, name: str) -> Texts:
        """A field of `Row` that all rows have."""
        return texts(self.known(name))

    def places(self, name: str) -> Texts:
        """A coordinate; empty where it is not known."""
        values = self.values(name)
        if values is None:
            if isinstance(self._rows, TableRows):
                return [""] * len(self)
            found = [getattr(row, name) for row in self._rows]
            return ["" if value is None else str(value) for value in found]
        return ["" if value == -1 else str(value) for value in values.tolist()]

    def gaps(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of each path the number of gaps, and of their letters."""
        found = [cigar.count("I") + cigar.count("D") for cigar in self.values("cigar")]
        rows, columns = (
            self.values(f"{side}_end") - self.values(f"{side}_start")
            for side in ("query", "target")
        )
        return np.array(found, np.int64), 2 * self.values("columns") - rows - columns


def columns_of(rows: Iterable[Row]) -> Iterator[Columns]:
    """Results as columns, not too many at once."""
    if isinstance(rows, TableRows):
        yield from map(Columns, rows.parts())
        return
    source = iter(rows)
    while some := list(islice(source, AT_ONCE)):
        yield Columns(some)


def lines_of(columns: Iterable[Iterable[str]]) -> str:
    """The lines of a table with tabs, each with its line end."""
    text = "\n".join(map("\t".join, zip(*columns, strict=True)))
    return f"{text}\n" if text else ""


def texts(values: NDArray[Any]) -> Texts:
    """Numbers as text."""
    if (
        len(values) > _FEW
        and values.dtype == np.int64
        and values.min() >= 0
        and values.max() < _KNOWN
    ):
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
