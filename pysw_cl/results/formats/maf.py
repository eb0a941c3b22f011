"""MAF, UCSC's multiple alignment format: a block for each alignment, the target's line first.

On the minus strand the start of the query is that of its reverse complement, as the format says.
The format: https://genome.ucsc.edu/FAQ/FAQformat.html#format5
"""

from __future__ import annotations

from . import writer
from .row import Row, aligned_texts, shown_name
from .writer import PROGRAM, cigar_of


class Writer(writer.Writer):
    """Writes MAF."""

    def header(self) -> str:
        """The version, the program and the scoring."""
        scoring = self.setting.scoring
        said = "" if scoring is None else f"# {self.setting.mode}; {scoring.in_words}\n"
        return f"##maf version=1 program={PROGRAM}\n{said}\n"

    def entry(self, row: Row) -> str:
        """The block of a result and an empty line."""
        if not cigar_of(row, "MAF") or not row.has_both:
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
