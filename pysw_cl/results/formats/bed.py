"""BED with six columns: the part of the target that each alignment covers, for bedtools and UCSC.

The columns: target, start, end (0-based, half-open), query, score, and strand (+ or -).  The score
is that of the alignment, as ``bedtools bamtobed -tag AS`` gives it, not scaled to UCSC's 0 to 1,000
of grey.  Lines are in the order of the results; ``sort -k1,1 -k2,2n`` sorts them.  A pair without
an alignment, or whose alignment is a gap in one sequence alone, has none.

The format: https://samtools.github.io/hts-specs/BEDv1.pdf
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...errors import InputError
from . import writer
from .columns import Columns, columns_of, lines_of
from .row import Row

#: How lines begin that are no features.
_NO_FEATURE = re.compile("#|(?:track|browser)")


class Writer(writer.Writer):
    """Writes BED."""

    def text(self, rows: Iterable[Row]) -> str:
        """The lines of results with a path."""
        return "".join(_lines(some.aligned("BED", both=True)) for some in columns_of(rows))


def _lines(some: Columns) -> str:
    if not len(some):
        return ""
    targets = some.names(1)
    if wrong := next(filter(_NO_FEATURE.match, targets), None):
        raise InputError(
            f"BED cannot hold the target name {wrong[:60]!r}: bedtools leaves out lines that begin "
            "with '#', 'track' or 'browser'"
        )
    places = (some.numbers(f"target_{side}") for side in ("start", "end"))
    return lines_of([targets, *places, some.names(0), some.numbers("score"), some.strands()])
