"""PAF, minimap2's tab-separated format: one line per alignment.

Columns: query name, length, start, end, strand (+ or -), target name, length, start, end,
matches, alignment columns with gaps, mapping quality (always 255, which means unknown); then
the tags AS (score; AS:i, or AS:f where scores have halves), NM (mismatches and gap letters) and
cg (CIGAR with '=' and 'X').  Coordinates are 0-based and half-open in the whole sequences as given,
for every strand and range.  On strand - the reverse complement of the query is aligned, and the
CIGAR follows the target, as in minimap2 and SAM.

A value that was not computed is ``*``, because a number would pass for a result.  With output
"ends" these are the starts (on strand - the end of the query instead), matches and columns; with
"score" also both ends.  Both have neither NM nor cg.
"""

from __future__ import annotations

from ..alignment import Alignment


def line(
    alignment: Alignment, query_name: str | None = None, target_name: str | None = None
) -> str:
    """One PAF line, without its line end; names default to those of the sequences."""
    score = alignment.score
    columns = [
        _name(alignment.query.name if query_name is None else query_name, "query"),
        len(alignment.query),
        alignment.query_start,
        alignment.query_end,
        "-" if alignment.strand == "minus" else "+",
        _name(alignment.target.name if target_name is None else target_name, "target"),
        len(alignment.target),
        alignment.target_start,
        alignment.target_end,
        alignment.matches,
        alignment.columns,
        255,
        f"AS:f:{score:.1f}" if isinstance(score, float) else f"AS:i:{score}",
    ]
    if alignment.runs is not None:
        columns += [f"NM:i:{alignment.runs.count('XID')}", f"cg:Z:{alignment.cigar}"]
    return "\t".join("*" if column is None else str(column) for column in columns)


def _name(name: str, default: str) -> str:
    """A name without blanks, which would break the line."""
    return "_".join(name.split()) or default
