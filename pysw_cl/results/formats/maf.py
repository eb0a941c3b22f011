"""MAF, UCSC's multiple alignment format: a block for each alignment, the target's line first.

On the minus strand the start of the query is that of its reverse complement, as the format says:
``start`` counts from the end of the query as given.  ``start`` is 0-based, ``size`` counts letters
without gaps.  A pair without an alignment has no block.

The format: https://genome.ucsc.edu/FAQ/FAQformat.html#format5
"""

from __future__ import annotations

from . import writer
from .row import Row, aligned_texts, shown_name
from .writer import PROGRAM, path_of


class Writer(writer.Writer):
    """Writes MAF."""

    def header(self) -> str:
        """The version, the program and the scoring."""
        scoring = self.setting.scoring
        said = "" if scoring is None else f"# {self.setting.mode}; {scoring.in_words}\n"
        return f"##maf version=1 program={PROGRAM}\n{said}\n"

    def entry(self, row: Row) -> str:
        """The block of a result and an empty line."""
        if not path_of(row, "MAF"):
            return ""
        assert row.query_start is not None and row.query_end is not None
        assert row.target_start is not None and row.target_end is not None
        query, target = aligned_texts(row)
        minus = row.strand == "minus"
        start = len(row.query) - row.query_end if minus else row.query_start
        target_size, query_size = row.target_end - row.target_start, row.query_end - row.query_start
        lines = [
            (shown_name(row.target, "target"), row.target_start, target_size, "+", row.target),
            (shown_name(row.query, "query"), start, query_size, "-" if minus else "+", row.query),
        ]
        names, starts, sizes, lengths = (
            max(len(str(value)) for value in values)
            for values in zip(*((a, b, c, len(e)) for a, b, c, _, e in lines), strict=True)
        )
        shown = (
            f"s {name:<{names}} {first:>{starts}} {size:>{sizes}} {strand} {len(of):>{lengths}} "
            f"{text}\n"
            for (name, first, size, strand, of), text in zip(lines, (target, query), strict=True)
        )
        return f"a score={row.score}\n{''.join(shown)}\n"
