"""The formats of few lines (docs/formats.md): TSV, BED, JSON lines, MAF and aligned FASTA."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from ...errors import InputError
from ..aligned_pair import FIELDS
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
        query_side = query.name or "query", len(query), i0, i1
        target_side = target.name or "target", len(target), j0, j1
        sign = "-" if strand == "minus" else "+"
        values = (*query_side, sign, *target_side, score, matches, columns, identity, cigar)
        said = dict(zip(FIELDS, values, strict=True))
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
        size = row.query_end - row.query_start
        lines = (
            (shown_name(row.target, "target"), row.target_start, row.target_end - row.target_start,
             "+", len(row.target), target),
            (shown_name(row.query, "query"), start, size, "-" if minus else "+", len(row.query),
             query),
        )  # fmt: skip
        names, starts, sizes, _, wholes, _ = (
            max(len(str(value)) for value in both) for both in zip(*lines, strict=True)
        )
        shown = (
            f"s {name:<{names}} {at:>{starts}} {size:>{sizes}} {sign} {whole:>{wholes}} {text}\n"
            for name, at, size, sign, whole, text in lines
        )
        return f"a score={row.score}\n{''.join(shown)}\n"


class Fasta(Writer):
    """Writes aligned FASTA: two records with gaps, the query and then the target, whose headers
    say where the aligned letters are."""

    def entry(self, row: Row) -> str:
        if not row.cigar_for("aligned FASTA"):
            return ""
        sign, width = "-" if row.strand == "minus" else "+", self.setting.width or WIDTH
        sides = (
            (row.query, "query", row.query_start, row.query_end, sign),
            (row.target, "target", row.target_start, row.target_end, "+"),
        )
        return "".join(
            f">{shown_name(of, side)} start={start} end={end} strand={strand} score={row.score}\n"
            f"{folded(text, width)}"
            for (of, side, start, end, strand), text in zip(sides, aligned_texts(row), strict=True)
        )


def folded(text: str, width: int) -> str:
    """Letters on lines of this width."""
    return "".join(f"{text[k : k + width]}\n" for k in range(0, len(text), width))
