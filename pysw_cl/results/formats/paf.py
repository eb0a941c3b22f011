"""PAF, minimap2's tab-separated format: one line per alignment.

Columns: query name, length, start, end, strand (+ or -), target name, length, start, end,
matches, alignment columns with gaps, mapping quality (always 255, which means unknown); then
the tags AS (score; AS:i, or AS:f where scores have halves), NM (mismatches and gap letters) and
cg (CIGAR with '=' and 'X').  Coordinates are 0-based and half-open in the whole sequences as given,
for every strand and range.  On strand - the reverse complement of the query is aligned, and the
CIGAR follows the target, as in minimap2 and SAM.

A pair without an alignment (no column) has no line, as in minimap2.  All columns are part of the
format, so it needs a path; :mod:`.tsv` has formats for less.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import InputError
from .row import Row, row_of, shown_name

if TYPE_CHECKING:
    from ..alignment import Alignment


def line(
    alignment: Alignment, query_name: str | None = None, target_name: str | None = None
) -> str:
    """One PAF line, without its line end; empty for an alignment without columns.

    Names default to those of the sequences.  Raises InputError without a path."""
    row = row_of(alignment)
    query, target = row.query, row.target
    if query_name is not None:
        query = replace(query, name=query_name)
    if target_name is not None:
        target = replace(target, name=target_name)
    return entry(row._replace(query=query, target=target), "path").rstrip("\n")


def header(output: str) -> str:
    """PAF has none."""
    return ""


def entry(row: Row, output: str) -> str:
    """The line of a result with a path."""
    if row.columns is None or row.matches is None:
        raise InputError("PAF needs a path; align with output='path', or write TSV")
    if not row.columns:
        return ""
    score = row.score
    shown = f"AS:f:{score:.1f}" if isinstance(score, float) else f"AS:i:{score}"
    return (
        f"{shown_name(row.query, 'query')}\t{len(row.query)}\t{row.query_start}\t{row.query_end}\t"
        f"{'-' if row.strand == 'minus' else '+'}\t"
        f"{shown_name(row.target, 'target')}\t{len(row.target)}\t"
        f"{row.target_start}\t{row.target_end}\t{row.matches}\t{row.columns}\t255\t"
        f"{shown}\tNM:i:{row.columns - row.matches}\tcg:Z:{row.cigar}\n"
    )
