"""What users call for files: ``write`` and ``read`` for results, and ``write_sequences``."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, TextIO

import numpy as np

from .. import errors
from ..drivers.options import ManyOptions
from ..errors import InputError, items, shown
from ..results import formats
from ..results.alignment import Alignment, of_rows
from ..results.formats.columns import AT_ONCE, TableRows, columns_of
from ..results.formats.files import opened, written
from ..results.formats.reading import Lines, Record
from ..results.formats.short import WIDTH, folded
from ..results.formats.writer import Letters, Row, Setting, mode_in_words, row_of, without_blanks
from ..scoring.scoring import make_scoring, names_of
from ..sequences.alphabet import PIECE, is_nucleotide
from ..sequences.lent import refuse_masked
from ..sequences.sequence import Sequence as NamedSequence, as_sequence, check_letters

#: Where results are written and read: the name of a file, ``-``, or a text stream.
Place = str | os.PathLike[str] | TextIO
#: Arguments by their names.
Asked = dict[str, Any]
#: The formats of sequences, and the ends of the names of their files.
_ENDS = {"fasta": (".fa", ".fasta", ".fna", ".ffn", ".faa"), "fastq": (".fq", ".fastq")}
#: Arguments of `align_many` that do not decide what its rows mean.
_ELSE = ("device", "plan", "progress", "output", "strand", "second_best")


def write(
    results: Any,
    path: Place,
    format: str | None = None,
    *,
    pairs: Sequence[tuple[Any, Any]] | None = None,
    names: Sequence[tuple[str, str]] | None = None,
    targets: Iterable[Any] | None = None,
    fields: Sequence[str] = (),
    width: int | None = None,
    limit: int | None = None,
    db_letters: int | None = None,
    **asked: Any,
) -> None:
    """Write results into a file that other programs read.

    Parameters
    ----------
    results : Alignment, iterable of them, or array
        What `align`, `align_top` and `resume` give, lists of these, an iterator, which is written
        while it goes on; or the array of `align_many`, with ``pairs``.
    path : str, path or text stream
        Where to: the name of a file, "-" for standard output, or a stream.  A file appears, or is
        replaced, when all is written; one that ends with .gz is compressed.
    format : str, optional
        "paf", "tsv", "pair", "sam", "blast6" (or "6"), "blast7" ("7"), "blast0" ("0"), "maf",
        "fasta", "a3m", "hits", "bed" or "jsonl"; by default what the end of the file's name says.
    pairs : sequence of (query, target)
        For an array: the pairs that it was computed from, all of them, also those without a row
        because of ``min_score``.
    names : sequence of (query name, target name), optional
        With ``pairs``: what they are called, where they are plain letters.
    targets : iterable of sequences or of (name, length), optional
        For "sam", whose header has all targets, in this order.  By default those of the results,
        which an iterator has to be read to its end for.
    fields : sequence of str, optional
        For "blast6" and "blast7": the columns, by BLAST's names; for "tsv": by its own.
    width, limit : int, optional
        For "pair", "blast0", "fasta", "hits" the letters on a line; for "pair" the columns shown.
    db_letters : int, optional
        With this, formats that have a place for E-values and bit scores have those of a search of
        so many letters, by `score_statistics`; those of `search` stay as they are.  Where no law
        holds, as in mode "global", a warning says why, and they are left out.
    **asked
        With ``pairs``: the arguments that `align_many` was given.

    Raises InputError for results that the format cannot hold, such as proteins in SAM, for results
    without a path where it needs one, and for nucleotides and proteins together; and FileError if
    the file cannot be written."""
    path = place_of(path, "write")
    name = _format(path, format)
    rows, setting = _rows(results, pairs, names, asked, formats.FORMATS[name].lists_queries)
    if db_letters is not None:
        from .statistics import PairExpects

        expects = PairExpects(db_letters, asked)
        rows, setting = expects.rows(rows), expects.setting(setting)
    setting = replace(setting, fields=_fields(fields), width=width, limit=limit)
    if formats.FORMATS[name].lists_targets:
        if targets is None:
            rows = rows if isinstance(rows, TableRows) else list(rows)
            targets = _targets_of(rows)
        setting = replace(setting, targets=[_named(one) for one in items(targets, "targets")])
    writer = formats.make_writer(name, setting)
    with written(path) as stream:
        stream.write(writer.header())
        # those of an iterator one by one, as they come
        for part in columns_of(rows, AT_ONCE if isinstance(rows, list) else 1):
            stream.write(writer.text(part))
        stream.write(writer.end())


def read(
    path: Place, format: str | None = None, *, fields: Sequence[str] = (), **asked: Any
) -> Iterator[Record]:
    """The alignments of a PAF, SAM or BLAST table file one by one, plain or compressed with gzip,
    bzip2, xz or zstd.

    Parameters
    ----------
    path : str, path or text stream
        The name of a file, "-" for standard input, or a stream.
    format : "paf", "sam", "blast6" or "blast7", optional
        By default what the end of the file's name says.
    fields : sequence of str, optional
        The columns of a BLAST table that has others than the standard ones and no comments.
    **asked
        For a BLAST table whose paths are in qseq and sseq alone: the arguments of the scoring
        (sub_score, wildcard, iupac, unknown) that says which letters match.  By default U is T,
        case does not count, and ambiguity letters match as often as the line says, or never.

    Yields
    ------
    Record
        Named tuples with the names, lengths, coordinates (0-based, half-open, of the sequences as
        given), ``strand``, ``score``, ``matches``, ``columns``, ``runs`` (the path, along the
        target) and ``more``; None for what the file does not say.

    Raises InputError for a format that is not known or has no reader, FileError for a file that
    cannot be read, and FormatError for a damaged one, with the number of the line."""
    path = place_of(path, "__iter__")
    name = _format(path, format)
    reader = formats.reader_of(name)
    wanted, given = _fields(fields), dict[str, Any]()
    if "fields" in formats.FORMATS[name].takes:
        given = {"fields": wanted, "scoring": make_scoring(**asked) if asked else None}
    elif wanted or asked:
        raise InputError(f"{name} has no choice of {'fields' if wanted else next(iter(asked))}")
    return _records(path, reader, given)


def _records(path: Place, reader: Any, given: dict[str, Any]) -> Iterator[Record]:
    with opened(path) as (stream, where):
        lines = Lines(stream, where)
        yield from lines.records(reader(lines, **given))


def place_of(path: Any, needs: str) -> Any:
    """The name of a file, or a stream with the attribute ``needs``.  Raises InputError."""
    if isinstance(path, io.RawIOBase | io.BufferedIOBase):
        raise InputError("path must be the name of a file or a stream of text, not one of bytes")
    named = isinstance(path, str | bytes | os.PathLike) or not hasattr(path, needs)
    return errors.file_name(path, "path") if named else path


def _fields(fields: Any) -> tuple[str, ...]:
    return () if fields is None else tuple(errors.texts(fields, "fields"))


def _format(path: Place, format: str | None) -> str:
    """The name of the format, which the name of the file says if it is not given."""
    if format is not None:
        return formats.format_named(format)
    place = path if isinstance(path, str) else ""
    found = formats.format_of_file(place)
    if found is None:
        ends = ", ".join(one.extensions[0] for one in formats.FORMATS.values())
        says = f"the name {place!r} says no format ({ends})"
        if place in ("", "-"):
            says = "a stream has no name that says the format"
        raise InputError(f"{says}; give format=, such as 'paf'")
    return found


def _rows(
    results: Any, pairs: Any, names: Any, asked: Asked, empty: bool
) -> tuple[Iterable[Row], Setting]:
    """Results as rows, and what is the same for all of them.  ``empty``: with `Hits.nothing`."""
    if isinstance(results, np.ndarray) and results.dtype.names:
        return _table_rows(results, pairs, names, asked)
    if pairs is not None or names is not None or asked:
        given = next(iter(asked), "pairs" if pairs is not None else "names")
        raise InputError(f"{given} goes with the array of align_many; other results know it")
    source = _alignments(results, empty)
    first = next(source, None)
    if first is None:
        return [], Setting()
    mode = mode_in_words(first.mode, first.free_ends, first.heuristic)
    ends = "score" if first.target_end is None else "ends"
    output = "path" if first.runs is not None else ends
    second, expects = first.second_best is not None, first.expect is not None
    alike = output, first.scoring, mode, first.heuristic
    setting = Setting(*alike, second_best=second, expects=expects)
    rows = map(row_of, chain([first], _alike(first, source)))
    return list(rows) if isinstance(results, list | tuple) else rows, setting


def _table_rows(table: Any, pairs: Any, names: Any, asked: Asked) -> tuple[TableRows, Setting]:
    refuse_masked(table, "array of results", InputError)
    fields = table.dtype.names or ()
    if "score" not in fields:
        raise InputError("an array of results is one of align_many, with a field 'score'")
    pairs = of_rows(table, _twos(() if pairs is None else pairs, "pairs"), "pairs")
    names = None if names is None else of_rows(table, _twos(names, "names"), "names")
    if others := [name for name in asked if name not in {*names_of(ManyOptions), *_ELSE}]:
        raise InputError(f"align_many has no argument {others[0]!r}, so write has none")
    options = ManyOptions(**{name: value for name, value in asked.items() if name not in _ELSE})
    common = {"mode": options.mode, "scoring": options.scoring, "free_ends": options.free}
    shown = (("path", "cigar"), ("matches", "matches"), ("ends", "target_end"))
    output = next((output for output, field in shown if field in fields), "score")
    mode = mode_in_words(options.mode, options.free)
    rows = TableRows(pairs, table, common, names)
    rows.check_letters()
    return rows, Setting(output, options.scoring, mode, second_best="second_best" in fields)


def _twos(value: Any, what: str) -> Any:
    """A list of pairs (of text, for "names").  Raises InputError for anything else."""
    found = value if isinstance(value, Sequence) else items(value, what)
    kind = str if what == "names" else object
    for pair in found:
        two = isinstance(pair, list | tuple) and len(pair) == 2
        if not (two and isinstance(pair[0], kind) and isinstance(pair[1], kind)):
            raise InputError(f"{what} must be a list of pairs, and has {shown(pair)}")
    return found


def _alike(first: Alignment, others: Iterator[Alignment]) -> Iterator[Alignment]:
    """Results that are of nucleotides or of proteins, as the first is.  Raises InputError for
    another one: a file says of all its results what it says of the first."""
    letters = first.scoring.letters
    for one in others:
        other = one.scoring.letters
        if other != letters and is_nucleotide(other) != is_nucleotide(letters):
            raise InputError(
                "results of nucleotides and of proteins do not go into one file; write two"
            )
        yield one


def _alignments(results: Any, empty: bool, depth: int = 3) -> Iterator[Alignment]:
    """The alignments in an object, in lists of them, or in lists of lists."""
    if isinstance(results, Alignment):
        yield results
    elif empty and getattr(results, "nothing", None) is not None and not results:
        yield results.nothing
    elif depth == 0 or isinstance(results, str | bytes) or not errors.is_iterable(results):
        kind = type(results).__name__
        raise InputError(f"results are alignments or the array of align_many, not {kind}")
    else:
        for one in results:
            yield from _alignments(one, empty, depth - 1)


def _targets_of(rows: Iterable[Row]) -> list[tuple[str, int]]:
    """Names and lengths of the targets of results, in their order."""
    found: dict[str, Letters] = {}
    for target in chain.from_iterable(part.letters()[1] for part in columns_of(rows)):
        name = without_blanks(target.name, "target")
        known = found.setdefault(name, target)
        if known is not target and not np.array_equal(known.read(), target.read()):
            raise InputError(
                f"two targets have the name {name!r}, and the header of SAM lists targets by name; "
                "give them names: Sequence objects, or names= with pairs="
            )
    return [(name, len(target)) for name, target in found.items()]


def _named(target: Any) -> tuple[str, int]:
    if isinstance(target, tuple) and len(target) == 2:
        return str(target[0]), errors.whole_number(target[1], "the length of a target", 1)
    found = target if hasattr(target, "name") else as_sequence(target, "target")
    return found.name, len(found)


def write_sequences(
    sequences: Iterable[Any], path: Place, format: str | None = None, *, width: int = WIDTH
) -> None:
    """Write sequences into a FASTA or FASTQ file, which `read_sequences` reads.

    Parameters
    ----------
    sequences : iterable of sequences
        Whatever `align` takes, one by one as they come, or one alone.  One without a name has its
        number, from 1.  In names blanks become _ and control characters what URLs have for them.
    path : str, path or text stream
        Where to, as for `write`; a file that ends with .gz, .bz2, .xz or .zst is compressed.
    format : "fasta" or "fastq", optional
        By default what the end of the file's name says.  FASTQ needs `Sequence.quality`.
    width : int, optional
        Letters on a line of FASTA.

    Raises InputError for what is no sequence or cannot be in such a file, saying which one, and
    FileError if the file cannot be written."""
    place = place_of(path, "write")
    if format is None:
        end = formats.end_of_name(place) if isinstance(place, str) else ""
        format = next((kind for kind, ends in _ENDS.items() if end in ends), None)
        if format is None:
            says = f"the name {place!r} says" if isinstance(place, str) else "a stream says"
            raise InputError(f"{says} no format (.fa, .fq); give format='fasta' or 'fastq'")
    errors.choice(format, "format", _ENDS)
    width = errors.whole_number(width, "width", 1)
    kind = type(sequences)  # scikit-bio's and Biopython's are iterables of letters, too
    alone = issubclass(kind, str | NamedSequence) or hasattr(kind, "metadata")
    if alone or hasattr(kind, "__bytes__"):
        sequences = [sequences]
    if not errors.is_iterable(sequences):
        raise InputError(f"sequences must be an iterable of sequences, not {shown(sequences)}")
    with written(place) as stream:
        is_raw = getattr(stream, "errors", "") == "surrogateescape"  # takes bytes that are no text
        for number, given in enumerate(sequences, 1):
            one = as_sequence(given, f"sequence {number}", check=False)
            letters, quality = one.read(), one.quality
            check_letters(letters, f"sequence {number}")
            name = errors.printable(one.name, "_", is_raw) or str(number)
            title = f"{name} {errors.printable(one.description, ' ', is_raw)}".rstrip()
            if format == "fastq":
                if quality is None:
                    raise InputError(f"sequence {number}, {name!r}, has no qualities; write FASTA")
                both = (line.tobytes().decode("ascii") for line in (letters, quality))
                stream.write("@{}\n{}\n+\n{}\n".format(title, *both))
                continue
            if (letters == ord(">")).any():
                raise InputError(f"sequence {number}, {name!r}, has '>', which begins a record")
            stream.write(f">{title}\n")
            step = max(1, PIECE // width) * width
            for k in range(0, len(letters), step):
                stream.write(folded(letters[k : k + step].tobytes().decode("ascii"), width))
