"""The formats of few lines (docs/formats.md): TSV, BED, JSON lines, MAF and aligned FASTA."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from ...errors import InputError
from .columns import Columns, Table, shares
from .writer import PROGRAM, Row, Writer, aligned_texts, shown_name

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

    def header(self) -> str:
        return "\t".join(self._names()) + "\n"

    def _names(self) -> tuple[str, ...]:
        return COLUMNS[self.setting.output] + ("second_best",) * self.setting.second_best

    def columns(self, some: Columns) -> Iterable[Iterable[str]]:
        made: dict[str, Callable[[], Iterable[str]]] = {
            "query": lambda: some.names(0),
            "query_length": lambda: some.lengths(0),
            "target": lambda: some.names(1),
            "target_length": lambda: some.lengths(1),
            "strand": some.strands,
            "identity": lambda: shares(
                some.known("matches") / np.maximum(some.known("columns"), 1)
            ),
            "cigar": lambda: [cigar or "*" for cigar in some.known("cigar")],
        }
        for name in ("score", "second_best", "matches", "columns"):
            made[name] = partial(some.numbers, name)
        return [made[name]() if name in made else some.places(name) for name in self._names()]


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
        query, target, score, strand, i0, i1, j0, j1, matches, columns, cigar, second, _ = row
        known = matches is not None and columns is not None
        identity = (matches or 0) / max(1, columns or 0) if known else None
        said = {
            "query_name": query.name or "query", "query_length": len(query),
            "query_start": i0, "query_end": i1, "strand": "-" if strand == "minus" else "+",
            "target_name": target.name or "target", "target_length": len(target),
            "target_start": j0, "target_end": j1, "score": score, "matches": matches,
            "columns": columns, "identity": identity, "cigar": cigar,
        }  # fmt: skip
        if second is not None:
            said["second_best"] = second
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
        return f"##maf version=1 program={PROGRAM}\n{said}\n"

    def entry(self, row: Row) -> str:
        if not row.cigar_for("MAF") or not row.has_both:
            return ""
        assert row.query_start is not None and row.query_end is not None
        assert row.target_start is not None and row.target_end is not None
        query, target = aligned_texts(row)
        minus = row.strand == "minus"
        start = len(row.query) - row.query_end if minus else row.query_start
        target_size, query_size = row.target_end - row.target_start, row.query_end - row.query_start
        upper, lower = shown_name(row.target, "target"), shown_name(row.query, "query")
        names = max(len(upper), len(lower))
        starts = len(str(max(row.target_start, start)))
        sizes = len(str(max(target_size, query_size)))
        lengths = len(str(max(len(row.target), len(row.query))))
        return (
            f"a score={row.score}\n"
            f"s {upper:<{names}} {row.target_start:>{starts}} {target_size:>{sizes}} + "
            f"{len(row.target):>{lengths}} {target}\n"
            f"s {lower:<{names}} {start:>{starts}} {query_size:>{sizes}} {'-' if minus else '+'} "
            f"{len(row.query):>{lengths}} {query}\n\n"
        )


class Fasta(Writer):
    """Writes aligned FASTA: two records with gaps, the query and then the target, whose headers
    say where the aligned letters are."""

    def entry(self, row: Row) -> str:
        if not row.cigar_for("aligned FASTA"):
            return ""
        query, target = aligned_texts(row)
        sign, width = "-" if row.strand == "minus" else "+", self.setting.width or WIDTH
        return (
            f">{shown_name(row.query, 'query')} start={row.query_start} end={row.query_end} "
            f"strand={sign} score={row.score}\n{folded(query, width)}"
            f">{shown_name(row.target, 'target')} start={row.target_start} end={row.target_end} "
            f"strand=+ score={row.score}\n{folded(target, width)}"
        )


def folded(text: str, width: int) -> str:
    """Letters on lines of this width."""
    return "".join(f"{text[k : k + width]}\n" for k in range(0, len(text), width))
