"""The formats of few lines (docs/formats.md): TSV, BED, JSON lines, MAF, A3M and FASTA."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from ...errors import InputError, choice, printable
from ...sequences.alphabet import folds_case
from ..aligned_pair import FIELDS, MORE_FIELDS
from . import writer
from .columns import Columns, Table, shares
from .writer import ByQuery, Letters, Row, Setting, Writer, aligned_texts, title_of, without_blanks

_SEQUENCES = ("query", "query_length", "target", "target_length", "strand", "score")
_ENDS = (*_SEQUENCES, "query_start", "query_end", "target_end")
_COUNTS = ("matches", "columns", "identity")
#: The names of the columns of TSV for each output.
COLUMNS = {
    "score": _SEQUENCES,
    "ends": _ENDS,
    "matches": (*_ENDS, *_COUNTS),
    "path": (*_ENDS[:-1], "target_start", "target_end", *_COUNTS, "cigar"),
}
#: Letters on a line of FASTA, unless another number is asked for.
WIDTH = 60
_dump = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class Tsv(Table):
    """Writes a table with tabs, whose first line has the names of its columns."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        usual = COLUMNS[setting.output] + ("second_best",) * setting.second_best
        usual += ("evalue", "bits") * setting.expects
        for name in setting.fields:
            choice(name, "a column of these results", (*usual, "target_description"))
        self._names = setting.fields or usual

    def header(self) -> str:
        return "\t".join(self._names) + "\n"

    def columns(self, some: Columns) -> Iterable[Iterable[str]]:
        known = some.known
        made: dict[str, Callable[[], Iterable[str]]] = {
            "strand": some.strands,
            "identity": lambda: shares(known("matches") / np.maximum(known("columns"), 1)),
            "cigar": lambda: [cigar or "*" for cigar in known("cigar")],
            "evalue": lambda: map(str, known("expect")),
            "target_description": lambda: (printable(row.target.description) for row in some),
        }
        for side, name in enumerate(("query", "target")):
            made[name] = partial(some.names, side)
            made[f"{name}_length"] = partial(some.lengths, side)
        for name in ("score", "second_best", "matches", "columns", "bits"):
            made[name] = partial(some.numbers, name)
        return [made[name]() if name in made else some.shown(name) for name in self._names]


class Bed(Table):
    """Writes BED with six columns: target, start, end (0-based, half-open), query, score, strand.

    The score is the alignment's, as ``bedtools bamtobed -tag AS`` gives it, not UCSC's grey of 0 to
    1,000.  The format: https://samtools.github.io/hts-specs/BEDv1.pdf"""

    of_paths, of_both = "BED", True

    def columns(self, some: Columns) -> Iterable[Iterable[str]]:
        targets = some.names(1)
        for name in dict.fromkeys(targets):
            if name.startswith(("#", "track", "browser")):
                raise InputError(
                    f"BED cannot hold the target name {name[:60]!r}: bedtools leaves out lines "
                    "that begin with '#', 'track' or 'browser'"
                )
        places = some.numbers("target_start"), some.numbers("target_end")
        return targets, *places, some.names(0), some.numbers("score"), some.strands()


class JsonLines(Writer):
    """Writes the object of `Alignment.to_dict` on each line, in UTF-8, with ``strand`` as + or -;
    names are as they were given, those of plain letters query and target."""

    def entry(self, row: Row) -> str:
        query, target, score, strand, i0, i1, j0, j1, matches, columns, cigar, *more, _ = row
        identity = None if matches is None or columns is None else matches / max(1, columns)
        ours = query.name or "query", len(query), i0, i1, "-" if strand == "minus" else "+"
        theirs = target.name or "target", len(target), j0, j1
        values = *ours, *theirs, score, matches, columns, identity, cigar
        said = dict(zip(FIELDS, values, strict=True))
        both = zip(MORE_FIELDS, more, strict=True)
        said |= {name: value for name, value in both if value is not None}
        line = _dump(said)
        if not line.isprintable():  # names with bytes that are no UTF-8, and control characters
            line = json.dumps(said).replace("\x7f", "\\u007f")
        return f"{line}\n"


class Maf(Writer):
    """Writes MAF, UCSC's multiple alignment format: a block for each alignment, the target's line
    first.  On the minus strand the start of the query is that of its reverse complement, as the
    format says.  The format: https://genome.ucsc.edu/FAQ/FAQformat.html#format5"""

    def header(self) -> str:
        scoring = self.setting.scoring
        said = "" if scoring is None else f"# {self.setting.mode}; {scoring.in_words}\n"
        return f"##maf version=1 program={writer.PROGRAM}\n{said}\n"

    def entry(self, row: Row) -> str:
        if not row.cigar_for("MAF") or not row.has_both:
            return ""
        ours, theirs, score, strand, i0, i1, j0, j1, *_ = row
        assert i0 is not None and i1 is not None and j0 is not None and j1 is not None
        query, target = aligned_texts(row)
        sign, i = ("-", len(ours) - i1) if strand == "minus" else ("+", i0)
        upper = without_blanks(theirs.name, "target"), j0, j1 - j0, "+", len(theirs), target
        lower = without_blanks(ours.name, "query"), i, i1 - i0, sign, len(ours), query
        names, *others = ([*map(str, both)] for both in zip(upper, lower, strict=True))
        wide = max(map(len, names))
        columns = [[name.ljust(wide) for name in names]]
        columns += ([x.rjust(max(map(len, both))) for x in both] for both in others)
        above, below = map(" ".join, zip(*columns, strict=True))
        return f"a score={score}\ns {above}\ns {below}\n\n"


class Fasta(Writer):
    """Writes aligned FASTA: the query and then the target, with gaps; headers say the places."""

    def entry(self, row: Row) -> str:
        if not row.cigar_for("aligned FASTA"):
            return ""
        query, target = aligned_texts(row)
        sign, width = "-" if row.strand == "minus" else "+", self.setting.width or WIDTH
        ours = f"start={row.query_start} end={row.query_end} strand={sign} score={row.score}"
        theirs = f"start={row.target_start} end={row.target_end} strand=+ score={row.score}"
        return (
            f">{without_blanks(row.query.name, 'query')} {ours}\n{folded(query, width)}"
            f">{without_blanks(row.target.name, 'target')} {theirs}\n{folded(target, width)}"
        )


class A3m(ByQuery):
    """Writes A3M, HH-suite's alignment with a query: the query, then of each result a letter or a
    gap for each of its letters, and between these, in lower case, the others.  Several queries have
    NUL between them, as in the databases of HH-suite and MMseqs2."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        if setting.scoring is not None and not folds_case(setting.scoring.letters):
            raise InputError("A3M has insertions in lower case; in this scoring case counts")
        self._table, self._before = writer.as_scored(setting.scoring), ""

    def query(self, rows: list[Row]) -> str:
        query = rows[0].query
        letters = writer.bytes_of(query).translate(self._table).decode("ascii")
        records = [f"{self._before}>{title_of(query, 'query')}\n{letters}\n"]
        self._before = "\0"
        for row in rows:
            if row.cigar_for("A3M") and row.has_both:
                _, of, _, strand, i0, i1, j0, j1, *_ = row
                assert i0 is not None and i1 is not None and j0 is not None
                both = zip(*writer.along_query(row, self._table), strict=True)
                text = bytes(b | 32 if a == ord("-") else b for a, b in both).decode("ascii")
                place = f"{j1}-{j0 + 1}" if strand == "minus" else f"{j0 + 1}-{j1}"
                name = printable(f"{without_blanks(of.name, 'target')}/{place} {of.description}")
                records.append(f">{name}\n{'-' * i0}{text}{'-' * (len(query) - i1)}\n")
        return "".join(records)


class HitSequences(Writer):
    """Writes the targets of results as FASTA: whole, and each of them once."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._written: dict[str, list[Letters]] = {}

    def entry(self, row: Row) -> str:
        target, alike = row.target, self._written.setdefault(row.target.name, [])
        if not len(target) or any(writer.is_same(one, target) for one in alike):
            return ""
        alike.append(target)
        letters = folded(writer.bytes_of(target).decode("ascii"), self.setting.width or WIDTH)
        return f">{title_of(target, 'target')}\n{letters}"


def folded(text: str, width: int) -> str:
    return "".join(f"{text[k : k + width]}\n" for k in range(0, len(text), width))
