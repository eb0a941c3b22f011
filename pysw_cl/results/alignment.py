"""Results as users get them: what other libraries, files and notebooks show of them; and tables of
them: dictionaries, a structured NumPy array, a pandas DataFrame."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, is_iterable, whole_number
from ..scoring.statistics import MOST_LETTERS
from ..sequences.lent import refuse_masked
from ..sequences.sequence import as_sequence
from ..sequences.view import PLACES
from .aligned_pair import FIELDS, MORE_FIELDS, AlignedPair
from .cigar import merged
from .pair_paths import as_table

if TYPE_CHECKING:
    from ..scoring.statistics.law import ScoreStatistics

#: What an integer is that is not known, in arrays; it is None in dictionaries, NA in pandas.
UNKNOWN = -1
#: The fields whose integers may be unknown, and those of text.
COUNTS = (*PLACES, "matches", "columns")
TEXTS = ("query_name", "target_name", "strand", "cigar")
#: The fields, and those that only some results have.
ALL = (*FIELDS, *MORE_FIELDS)

Columns = dict[str, NDArray[Any]]


class Alignment(AlignedPair):
    """The best alignment of a query and a target, or the part of it that was asked for.

    ``score`` is exact: an int, or a float when the scoring has halves.  Coordinates are 0-based
    and half-open; the starts are None for output "ends" and "score", the ends for "score", and
    ``runs`` is None unless the output is "path".  ``runs`` covers the aligned region only; gaps
    at free ends lie outside it.  ``query`` and ``target`` are whole `Sequence` objects, ``plan``
    is the plan of the run, and ``stats`` its cost.  ``execution`` says how its largest tile was
    computed (None: not on a device, in parts, with a checkpoint, of `align_top` or `trace_ends`).

    ``strand`` is "plus", or "minus" where the query's reverse complement is aligned: coordinates
    are those of both sequences as given, and ``runs`` follow the target.  So they go through the
    query from ``query_end`` down to ``query_start``, each letter complemented.
    ``free_ends``: which terminal gaps of a global alignment cost nothing, in `align`'s order.
    ``second_best`` is the highest score of an end outside the aligned letters, if it was asked for.
    Hits of a search may have ``expect``, how many unrelated sequences of a search of that size
    score as much (BLAST's E-value), and ``bits``, the bit score; both are not rounded.
    ``tiles`` is a map of the highest scores and the pruned parts of the matrix.

    A gap of length k costs ``gap_open + k * gap_extend``.  ``print`` shows the pairwise text."""

    def evalue(
        self, db_letters: int | None = None, statistics: ScoreStatistics | None = None
    ) -> float:
        """The E-value: how many alignments with unrelated sequences, ``db_letters`` letters in all
        (default: the target's), score as much.  ``statistics``: what `pysw_cl.score_statistics` has
        for the scoring; by default NCBI's.  Raises InputError for a global alignment, and where
        NCBI has none."""
        from ..scoring.statistics import law as laws
        from ..scoring.statistics.published import published

        law = published(self.scoring) if statistics is None else statistics
        if self.mode != "local" or not isinstance(law, laws.ScoreStatistics):
            raise InputError(
                "E-values are for mode='local'; for a scoring that NCBI has no parameters of give "
                "statistics=pysw_cl.score_statistics(...), which fits them"
            )
        letters = max(1, len(self.target))
        if db_letters is not None:
            letters = whole_number(db_letters, "db_letters", 1, most=MOST_LETTERS)
        return float(law.evalues(self.score, len(self.query), max(1, len(self.target)), letters))

    def to_numpy(self) -> NDArray[Any]:
        """What the result says as a structured array of one row; see `pysw_cl.to_numpy`."""
        return to_numpy(self)

    def to_pandas(self) -> Any:
        """What the result says as a DataFrame of one row; see `pysw_cl.to_pandas`."""
        return to_pandas(self)

    def to_skbio(self) -> Any:
        """The path as scikit-bio's `PairAlignPath`, whose ranges are those of the aligned region.

        scikit-bio's I and D are swapped against SAM's.  Raises InputError without a path, without
        scikit-bio, and on the minus strand, as its paths are of sequences as they are given."""
        runs = self.path
        if self.strand == "minus":
            raise InputError(
                "scikit-bio's paths have no strand; align the reverse complement itself"
            )
        try:
            from skbio.alignment import PairAlignPath
        except ImportError as error:
            raise InputError(f"this needs scikit-bio: pip install scikit-bio ({error})") from None
        moves, lengths, _ = merged(runs)  # its states have the same numbers
        ranges = [[self.query_start, self.query_end], [self.target_start, self.target_end]]
        return PairAlignPath(lengths, moves, ranges=np.array(ranges, np.intp))

    def to_biopython(self) -> Any:
        """The result as Biopython's `Alignment`, target first as in its own, with its ``score``.

        On the minus strand the query's coordinates fall, as in its own.  Sequences without a name
        are called "target" and "query".  Raises InputError without a path and without Biopython."""
        coordinates = self.corners()
        try:
            from Bio import Align
            from Bio.Seq import Seq
            from Bio.SeqRecord import SeqRecord
        except ImportError as error:
            raise InputError(f"this needs Biopython: pip install biopython ({error})") from None
        records = [
            SeqRecord(Seq(one.read().tobytes()), id=one.name or what, description=one.description)
            for one, what in ((self.target, "target"), (self.query, "query"))
        ]
        made: Any = getattr(Align, "Alignment")(records, coordinates)  # noqa: B009 - untyped there
        made.score = self.score
        return made

    def to_paf(self) -> str:
        """The line of a PAF file, without its line end; "" for an alignment without columns.
        Raises InputError without a path."""
        from .formats.paf import Writer
        from .formats.writer import Setting, row_of

        return Writer(Setting()).text([row_of(self)]).rstrip("\n")

    def plot(self, path: str | os.PathLike[str] | None = None, *, ax: Any = None) -> Any:
        """Draw the path over the matrix, with the highest score of each tile and the pruned areas:
        into a file (.png, .pdf, .svg), on matplotlib's axes ``ax``, or, without either, on a new
        figure, which notebooks show.  Returns the axes; None if there is only a file.  Raises
        InputError without matplotlib (the extra ``plot``) or for an unknown format, and FormatError
        for a file that cannot be written."""
        from .plot import draw, drawn

        return drawn(partial(draw, self), path, ax)

    def plot_timeline(self, path: str | os.PathLike[str] | None = None, *, ax: Any = None) -> Any:
        """Draw ``stats.spans``, what each device computed when, and the share of the time in which
        it was busy.  As `plot`; raises InputError for a run without ``timeline=True``, too."""
        from .plot import draw_timeline, drawn

        return drawn(partial(draw_timeline, self.stats), path, ax)

    def __str__(self) -> str:
        from .formats import pair

        return pair.text(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: at most 1,200 columns, coloured."""
        from .formats import pair

        return pair.html(self)


def to_dicts(results: Any, pairs: Iterable[Any] | None = None) -> list[dict[str, Any]]:
    """A dictionary for each result, with what is not known as None; else as `to_pandas`."""
    columns, values = columns_of(results, pairs), list[list[Any]]()
    for name, column in columns.items():
        plain = column.astype(object)
        if name == "identity" or name in COUNTS:
            plain[np.isnan(column) if name == "identity" else column == UNKNOWN] = None
        values.append(plain.tolist())
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
            made[name] = pandas.arrays.IntegerArray(column, unknown)
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
    if name == "identity" or float in map(type, values):
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
