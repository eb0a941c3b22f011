"""BED with six columns: target, start, end (0-based, half-open), query, score, strand.

The score is the alignment's, as ``bedtools bamtobed -tag AS`` gives it, not UCSC's grey of 0 to
1,000.  A pair without an alignment, or whose alignment is a gap in one sequence alone, has no line.

The format: https://samtools.github.io/hts-specs/BEDv1.pdf
"""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import InputError
from . import writer
from .columns import Columns, columns_of, lines_of
from .row import Row


class Writer(writer.Writer):
    """Writes BED."""

    def text(self, rows: Iterable[Row]) -> str:
        """The lines of results with a path."""
        return "".join(_lines(some.aligned("BED", both=True)) for some in columns_of(rows))


def _lines(some: Columns) -> str:
    if not len(some):
        return ""
    targets = some.names(1)
    for name in set(targets):
        if name.startswith(("#", "track", "browser")):
            raise InputError(
                f"BED cannot hold the target name {name[:60]!r}: bedtools leaves out lines that "
                "begin with '#', 'track' or 'browser'"
            )
    places = (some.numbers(f"target_{side}") for side in ("start", "end"))
    return lines_of([targets, *places, some.names(0), some.numbers("score"), some.strands()])
