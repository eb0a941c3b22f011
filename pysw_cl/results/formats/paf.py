"""PAF, minimap2's table (docs/formats.md).  Its columns and tags: the manual page of minimap2 (Li
2018, Bioinformatics 34, 3094-3100)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import columns
from .columns import shares, texts
from .reading import Lines, Record, runs_in


class Writer(columns.Table):
    of_paths = "PAF"

    def columns(self, some: columns.Columns) -> Iterable[Iterable[str]]:
        matches, columns, scores = map(some.known, ("matches", "columns", "score"))
        gaps, letters = some.gaps()
        second, expects, bits = map(some.values, ("second_best", "expect", "bits"))
        quality = np.full(len(some), 255) if second is None else np.where(second == scores, 0, 255)
        return [
            some.names(0), some.lengths(0), some.numbers("query_start"), some.numbers("query_end"),
            some.strands(), some.names(1), some.lengths(1),
            some.numbers("target_start"), some.numbers("target_end"),
            texts(matches), texts(columns), texts(quality),
            _scores("AS", scores),
            [f"NM:i:{n}" for n in texts(columns - matches)],
            [f"de:f:{x}" for x in shares(1 - matches / (columns - letters + gaps))],
            [f"cg:Z:{cigar}" for cigar in some.values("cigar")],
            *([] if second is None else [_scores("XS", second)]),
            *([] if expects is None else [[f"EV:f:{x}" for x in expects]]),
            *([] if bits is None else [[f"BS:f:{x}" for x in bits]]),
        ]  # fmt: skip


def _scores(tag: str, scores: NDArray[Any]) -> list[str]:
    if scores.dtype.kind == "i":
        return [f"{tag}:i:{n}" for n in texts(scores)]
    return [f"{tag}:f:{x:.1f}" for x in scores]


def read(lines: Lines) -> Iterator[Record]:
    """The records of a PAF file.  ``score`` is the tag AS, ``runs`` the tag cg, whose 'M' stay; all
    tags but cg are in ``more``, with ``mapq``.  Lines of queries without an alignment (target *)
    are left out.  Raises FormatError for a damaged line."""
    for line in lines:
        if len(fields := line.split("\t")) < 12:
            raise lines.wrong(f"a line of PAF has at least 12 columns, not {len(fields)}")
        m, i0, i1, n, j0, j1, matches, columns, quality = map(int, fields[1:4] + fields[6:12])
        if fields[4] == fields[5] == "*":  # minimap2's line of a query without an alignment
            continue
        if fields[4] not in ("+", "-"):
            raise lines.wrong(f"the strand is + or -, not {fields[4][:20]!r}")
        if not (0 <= i0 <= i1 <= m and 0 <= j0 <= j1 <= n and 0 <= matches <= columns):
            raise lines.wrong("coordinates leave their sequence, or matches are more than columns")
        more = {"mapq": quality, **lines.tags(fields[12:])}
        runs, cigar = None, more.pop("cg", None)
        if cigar is not None:
            runs, *clips = runs_in(lines, cigar)
            if any(clips) or (runs.count("=XMI"), runs.count("=XMDN")) != (i1 - i0, j1 - j0):
                raise lines.wrong("the tag cg and the coordinates have different lengths")
        yield Record(
            fields[0], m, i0, i1, "minus" if fields[4] == "-" else "plus",
            fields[5], n, j0, j1, more.get("AS"), matches, columns, runs, more,
        )  # fmt: skip
