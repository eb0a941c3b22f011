"""Aligned FASTA: for each alignment two records with gaps, the query and then the target, whose
headers say where the aligned letters are (docs/formats.md)."""

from __future__ import annotations

from . import writer
from .row import Row, aligned_texts, shown_name
from .writer import cigar_of

#: Letters on a line, unless another number is asked for.
WIDTH = 60


class Writer(writer.Writer):
    """Writes aligned FASTA."""

    def entry(self, row: Row) -> str:
        """The two records of a result."""
        if not cigar_of(row, "aligned FASTA"):
            return ""
        query, target = aligned_texts(row)
        strand = "-" if row.strand == "minus" else "+"
        return (
            f">{shown_name(row.query, 'query')} start={row.query_start} end={row.query_end} "
            f"strand={strand} score={row.score}\n{folded(query, self.setting.width)}"
            f">{shown_name(row.target, 'target')} start={row.target_start} end={row.target_end} "
            f"strand=+ score={row.score}\n{folded(target, self.setting.width)}"
        )


def folded(text: str, width: int | None) -> str:
    """Letters on lines of this width."""
    width = width or WIDTH
    return "".join(f"{text[k : k + width]}\n" for k in range(0, len(text), width))
