"""TSV: a table with tabs, whose first line has the names of its columns (docs/formats.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from . import columns
from .columns import shares

_SEQUENCES = ("query", "query_length", "target", "target_length", "strand", "score")
_ENDS = (*_SEQUENCES, "query_start", "query_end", "target_end")
_COUNTS = ("matches", "columns", "identity")
#: The names of the columns for each output.
COLUMNS = {
    "score": _SEQUENCES,
    "ends": _ENDS,
    "matches": (*_ENDS, *_COUNTS),
    "path": (*_ENDS[:-1], "target_start", "target_end", *_COUNTS, "cigar"),
}


class Writer(columns.Table):
    """Writes a table."""

    def header(self) -> str:
        """The line with the names of the columns."""
        return "\t".join(self._names()) + "\n"

    def _names(self) -> tuple[str, ...]:
        return COLUMNS[self.setting.output] + ("second_best",) * self.setting.second_best

    def columns(self, some: columns.Columns) -> Iterable[Iterable[str]]:
        """The columns of results."""
        made: dict[str, Callable[[], Iterable[str]]] = {
            "query": lambda: some.names(0),
            "query_length": lambda: some.lengths(0),
            "target": lambda: some.names(1),
            "target_length": lambda: some.lengths(1),
            "strand": some.strands,
            "score": lambda: some.numbers("score"),
            "second_best": lambda: some.numbers("second_best"),
            "matches": lambda: some.numbers("matches"),
            "columns": lambda: some.numbers("columns"),
            "identity": lambda: shares(
                some.known("matches") / np.maximum(some.known("columns"), 1)
            ),
            "cigar": lambda: [cigar or "*" for cigar in some.known("cigar")],
        }
        return [made[name]() if name in made else some.places(name) for name in self._names()]
