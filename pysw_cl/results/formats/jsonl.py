"""JSON lines: the object of `Alignment.to_dict` on each line, in UTF-8, with ``strand`` as + or -;
names are as they were given, those of plain letters query and target."""

from __future__ import annotations

import json

from . import writer
from .row import Row

_dump = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class Writer(writer.Writer):
    """Writes JSON lines."""

    def entry(self, row: Row) -> str:
        """The line of a result."""
        query, target, score, strand, i0, i1, j0, j1, matches, columns, cigar, *_ = row
        known = matches is not None and columns is not None
        said = {
            "query_name": query.name or "query",
            "query_length": len(query),
            "query_start": i0,
            "query_end": i1,
            "strand": "-" if strand == "minus" else "+",
            "target_name": target.name or "target",
            "target_length": len(target),
            "target_start": j0,
            "target_end": j1,
            "score": score,
            "matches": matches,
            "columns": columns,
            "identity": (matches or 0) / max(1, columns or 0) if known else None,
            "cigar": cigar,
        }
        if row.second_best is not None:
            said["second_best"] = row.second_best
        line = _dump(said)
        if not line.isprintable():  # names with bytes that are no UTF-8, and control characters
            line = json.dumps(said).replace("\x7f", "\\u007f")
        return f"{line}\n"
