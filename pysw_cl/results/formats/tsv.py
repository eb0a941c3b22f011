"""TSV: a table with tabs between its columns, and their names in its first line.

Columns for every output: ``query``, ``query_length``, ``target``, ``target_length``, ``strand`` (+
or -) and ``score``.  Output "ends" adds ``query_start``, ``query_end`` and ``target_end``: the path
ends at the query's end on strand + and at its start on strand -, so the other one of the two is
empty.  Output "path" adds ``query_start``, ``query_end``, ``target_start``, ``target_end``,
``matches``, ``columns`` (gaps included), ``identity`` (matches divided by columns) and ``cigar``
(with '=' and 'X'; ``*``, as in SAM, for an alignment without columns).  Coordinates are 0-based and
half-open in the whole sequences as given.  Every pair has a line, also one whose score is 0.
"""

from __future__ import annotations

from .row import Row, shown_name

_ALWAYS = ("query", "query_length", "target", "target_length", "strand", "score")
#: The names of the columns for each output.
COLUMNS = {
    "score": _ALWAYS,
    "ends": (*_ALWAYS, "query_start", "query_end", "target_end"),
    "path": (
        *_ALWAYS,
        "query_start",
        "query_end",
        "target_start",
        "target_end",
        "matches",
        "columns",
        "identity",
        "cigar",
    ),
}


def header(output: str) -> str:
    """The line with the names of the columns."""
    return "\t".join(COLUMNS[output]) + "\n"


def entry(row: Row, output: str) -> str:
    """The line of a result."""
    text = (
        f"{shown_name(row.query, 'query')}\t{len(row.query)}\t"
        f"{shown_name(row.target, 'target')}\t{len(row.target)}\t"
        f"{'-' if row.strand == 'minus' else '+'}\t{row.score}"
    )
    if output == "ends":
        known = (row.query_start, row.query_end, row.target_end)
        text += "".join("\t" if value is None else f"\t{value}" for value in known)
    elif output == "path":
        identity = (row.matches or 0) / max(1, row.columns or 0)
        text += (
            f"\t{row.query_start}\t{row.query_end}\t{row.target_start}\t{row.target_end}"
            f"\t{row.matches}\t{row.columns}\t{identity:.4f}\t{row.cigar or '*'}"
        )
    return text + "\n"
