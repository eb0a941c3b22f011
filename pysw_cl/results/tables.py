"""Results as tables: dictionaries, a structured NumPy array, a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, is_iterable
from ..sequences.lent import refuse_masked
from ..sequences.sequence import as_sequence
from ..sequences.view import PLACES
from .aligned_pair import FIELDS, MORE_FIELDS, AlignedPair
from .pair_paths import as_table

#: What an integer is that is not known, in arrays; it is None in dictionaries, NA in pandas.
UNKNOWN = -1
#: The fields whose integers may be unknown, and those of text.
COUNTS = (*PLACES, "matches", "columns")
TEXTS = ("query_name", "target_name", "strand", "cigar")
#: Those that are fractions.
FRACTIONS = ("identity", "evalue", "bits")
#: The fields, and those that only some results have.
ALL = (*FIELDS, *MORE_FIELDS)

Columns = dict[str, NDArray[Any]]


def to_dicts(results: Any, pairs: Iterable[Any] | None = None) -> list[dict[str, Any]]:
    """A dictionary for each result, with what is not known as None; else as `to_pandas`."""
    columns = columns_of(results, pairs)
    values = [_plain(*column) for column in columns.items()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]


def to_numpy(results: Any, pairs: Iterable[Any] | None = None) -> NDArray[Any]:
    """A structured array with a row for each result; else as `to_pandas`.

    Names and CIGARs are objects (str), ``strand`` is text of 5 characters, ``identity`` is float64,
    ``score`` int64 or, where one has halves, float64; all others are int64.  What is not known is
    -1, NaN or, of CIGARs, None."""
    return as_table(columns_of(results, pairs))


def to_pandas(results: Any, pairs: Iterable[Any] | None = None) -> Any:
    """A pandas DataFrame with a row for each result.

    ``results`` is an `Alignment`, an iterable of them (what `align_top` gives, a list of what
    `align` gave), or the array of `align_many`.  Alignments have the columns of `to_dict`.  Those
    of an array are its fields, and ``identity`` where it has ``matches`` and ``columns``;
    ``pairs``, which were aligned, adds names and lengths.  Names are "" for plain letters.

    Integers are int64, or pandas' Int64 in columns in which some are unknown.  Raises InputError
    without pandas, for anything else as ``results``, for ``pairs`` that are not as many as the
    rows, and for ``pairs`` with alignments, which have their sequences."""
    columns = columns_of(results, pairs)
    try:
        import pandas
    except ImportError as error:
        raise InputError(f"this needs pandas: pip install pandas ({error})") from None
    made: dict[str, Any] = {}
    for name, column in columns.items():
        made[name] = column.astype(object) if name in TEXTS else column
        if name in COUNTS and (unknown := column == UNKNOWN).any():
            made[name] = pandas.array(column, "Int64")
            made[name][unknown] = pandas.NA
    return pandas.DataFrame(made)


def columns_of(results: Any, pairs: Iterable[Any] | None) -> Columns:
    """The columns of the table of these results, as `to_numpy` has them."""
    refuse_masked(results, "array of results", InputError)
    if isinstance(results, np.ndarray) and "score" in (results.dtype.names or ()):
        return _of_rows(results.reshape(-1), pairs)
    if pairs is not None:
        raise InputError("pairs goes with the array of align_many; alignments have their sequences")
    single, said = isinstance(results, str | bytes) or not is_iterable(results), []
    for k, one in enumerate([results] if single else results):
        if not isinstance(one, AlignedPair):
            raise InputError(
                "results are an Alignment, an iterable of them, or the array of align_many; "
                f"number {k} is a {type(one).__name__}"
            )
        said.append(one.to_dict())
    more = [name for name in MORE_FIELDS if said and all(name in one for one in said)]
    return {name: _column(name, [one[name] for one in said]) for name in (*FIELDS, *more)}


def _column(name: str, values: list[Any]) -> NDArray[Any]:
    if name in TEXTS:
        return np.array(values, "U5" if name == "strand" else object)
    if name in FRACTIONS or float in map(type, values):
        return np.array(values, np.float64)  # None becomes NaN
    return np.array([UNKNOWN if value is None else value for value in values], np.int64)


def _of_rows(table: NDArray[Any], pairs: Iterable[Any] | None) -> Columns:
    names = table.dtype.names or ()
    columns: Columns = {name: table[name] for name in names}
    if "matches" in columns and "columns" in columns:
        share = columns["matches"] / np.maximum(columns["columns"], 1)
        columns["identity"] = np.where(columns["columns"] == UNKNOWN, np.nan, share)
    if pairs is not None:
        listed = of_rows(table, pairs if isinstance(pairs, list | tuple) else list(pairs), "pairs")
        for k, side in enumerate(("query", "target")):
            sequences = [pair[k] for pair in listed]
            columns[f"{side}_name"] = np.array(_names(sequences), object)
            columns[f"{side}_length"] = np.fromiter(map(len, sequences), np.int64, len(sequences))
    first = [name for name in names if name not in ALL]  # such as the number of the pair
    return {name: columns[name] for name in (*first, *ALL) if name in columns}


def of_rows(table: NDArray[Any], given: Sequence[Any], what: str) -> Sequence[Any]:
    """Those of the ``given`` that rows of `align_many`'s array are of.  InputError says ``what``
    they are if they are too few."""
    count = len(given)
    if "pair" in (table.dtype.names or ()):
        numbers = table["pair"].tolist()
        if max(numbers, default=-1) >= count:
            raise InputError(
                f"a row is of pair {max(numbers)}, and there are {count:,} {what}; give all that "
                f"align_many was given as {what}="
            )
        return [given[k] for k in numbers]
    if count != len(table):
        said = f"{count:,}" if count else "no"
        raise InputError(
            f"the array of align_many has {len(table):,} rows, and there are {said} {what}; give "
            f"those of its rows as {what}="
        )
    return given


def _names(sequences: list[Any]) -> list[str]:
    """The names of sequences.  Plain letters have none."""
    if {type(one) for one in sequences} <= {str, bytes}:
        return [""] * len(sequences)
    each = {id(one): one for one in sequences}
    known = {key: as_sequence(one, "sequence", False).name for key, one in each.items()}
    return [known[id(one)] for one in sequences]


def _plain(name: str, column: NDArray[Any]) -> list[Any]:
    """A column as Python objects; what is not known is None."""
    values = column.astype(object)
    if name == "identity" or name in COUNTS:
        values[np.isnan(column) if name == "identity" else column == UNKNOWN] = None
    found: list[Any] = values.tolist()
    return found
