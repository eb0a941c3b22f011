"""BED with six columns: target, start, end (0-based, half-open), query, score, strand.

The score is the alignment's, as ``bedtools bamtobed -tag AS`` gives it, not UCSC's grey of 0 to
1,000.  The format: https://samtools.github.io/hts-specs/BEDv1.pdf
"""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import InputError
from . import columns


class Writer(columns.Table):
    """Writes BED."""

    of_paths, of_both = "BED", True

    def columns(self, some: columns.Columns) -> Iterable[Iterable[str]]:
        """The columns of results with a path."""
        targets = some.names(1)
        for name in dict.fromkeys(targets):
            if name.startswith(("#", "track", "browser")):
                raise InputError(
                    f"BED cannot hold the target name {name[:60]!r}: bedtools leaves out lines "
                    "that begin with '#', 'track' or 'browser'"
                )
        places = some.numbers("target_start"), some.numbers("target_end")
        return targets, *places, some.names(0), some.numbers("score"), some.strands()
