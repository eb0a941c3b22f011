"""Pairwise text: a header, then blocks of aligned letters with 1-based positions.

Between the letters, ``|`` is a match, ``:`` another pair with a positive score, ``.`` any other
pair, and a blank a gap, as in EMBOSS.  The header names the whole scoring, so that the alignment
can be made again from it.  Identity counts matches, and similarity pairs with a positive score;
both, and gaps, are shares of all columns, as in EMBOSS.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import printable
from ...sequences.sequence import Sequence
from ..alignment import Alignment
from ..cigar import Runs
from . import writer
from .row import Row
from .writer import mode_in_words

#: Columns in a block, unless another number is asked for.
WIDTH = 60


class Writer(writer.Writer):
    """Writes pairwise text."""

    def entry(self, row: Row) -> str:
        """The text of a result and an empty line."""
        shown = text(row.alignment(), width=self.setting.width or WIDTH, limit=self.setting.limit)
        return f"{shown}\n\n"


def text(
    alignment: Alignment,
    query_name: str | None = None,
    target_name: str | None = None,
    width: int = WIDTH,
    limit: int | None = None,
) -> str:
    """The alignment as text in blocks of ``width`` columns, without a final line end.

    Without a path there is only the header.  Names default to those of the sequences.
    Positions are 1-based and inclusive, as in BLAST and EMBOSS.  On the minus strand those of the
    query fall from left to right.  The line ``coordinates`` is 0-based and half-open.  Of an
    alignment with more than ``limit`` columns (None: any number) the first ones are shown, and a
    last line says how many there are.
    """
    query = (alignment.query.name if query_name is None else query_name) or "query"
    target = (alignment.target.name if target_name is None else target_name) or "target"
    lines = _header(alignment, query, target)
    if alignment.runs is not None and len(alignment.runs):
        columns = int(alignment.runs.lengths.sum())
        if limit is None or columns <= limit:
            lines += _blocks(alignment, query, target, width)
        else:
            lines += _blocks(_beginning(alignment, limit), query, target, width)
            lines += ["", f"# the first {limit:,} of {columns:,} columns"]
    return "\n".join(lines)


def _beginning(alignment: Alignment, columns: int) -> Alignment:
    """The alignment of the first columns."""
    runs, i, j = alignment.runs, alignment.query_start, alignment.target_start
    assert runs is not None and i is not None and j is not None
    assert alignment.query_end is not None
    last = int(np.searchsorted(runs.lengths.cumsum(), columns))
    lengths = runs.lengths[: last + 1].copy()
    lengths[-1] -= lengths.sum() - columns
    shown = Runs(runs.ops[: last + 1], lengths)
    rows = shown.count("=XMI")
    places: dict[str, Any] = {"query_end": i + rows}
    if alignment.strand == "minus":
        places = {"query_start": alignment.query_end - rows}
    return replace(alignment, runs=shown, target_end=j + shown.count("=XMD"), **places)


def _header(alignment: Alignment, query: str, target: str) -> list[str]:
    lines = [
        f"# query:       {_title(query, alignment.query)}",
        f"# target:      {_title(target, alignment.target)}",
        f"# mode:        {mode_in_words(alignment.mode, alignment.free_ends)}",
        f"# scoring:     {alignment.scoring.in_words}",
        f"# score:       {alignment.score}",
    ]
    if alignment.strand == "minus":
        lines.insert(2, "# strand:      minus; the query's reverse complement is aligned")
    if alignment.target_end is not None:
        spans = (
            f"{name} [{'?' if start is None else start}, {'?' if end is None else end})"
            for name, start, end in (
                ("query", alignment.query_start, alignment.query_end),
                ("target", alignment.target_start, alignment.target_end),
            )
        )
        lines.append(f"# coordinates: {', '.join(spans)}")
    if alignment.runs is not None:
        total = int(alignment.runs.lengths.sum())
        share = f"/{total} ({{:.1%}})"
        same, gaps = alignment.runs.count("="), alignment.runs.count("ID")
        alike = alignment.positives or 0
        if alignment.matches is not None:
            lines.append(f"# identity:    {same}{share.format(same / max(1, total))}")
        lines.append(f"# similarity:  {alike}{share.format(alike / max(1, total))}")
        lines.append(f"# gaps:        {gaps}{share.format(gaps / max(1, total))}")
    return lines


def _title(name: str, sequence: Sequence) -> str:
    return f"{printable(name)}, {len(sequence)} letters"


def _blocks(alignment: Alignment, query: str, target: str, width: int) -> list[str]:
    assert alignment.runs is not None
    ops = alignment.runs.columns()
    rows, ends = [], []
    minus = alignment.strand == "minus"
    step = (-1 if minus else 1, 1)  # from one column to the next
    before = [
        (alignment.query_end or 0) + 1 if minus else alignment.query_start or 0,
        alignment.target_start or 0,
    ]
    for k, (letters, missing) in enumerate(zip(alignment.region(), b"DI", strict=True)):
        there = ops != missing
        row = np.full(len(ops), ord("-"), np.uint8)
        row[there] = letters
        rows.append(row.tobytes().decode("ascii"))
        ends.append(before[k] + step[k] * np.cumsum(there, dtype=np.int64))
    marks = np.full(len(ops), ord(" "), np.uint8)
    aligned = np.isin(ops, list(b"=XM"))
    positive = alignment.pair_scores() > 0
    marks[aligned] = np.where(positive, np.uint8(ord(":")), np.uint8(ord(".")))
    marks[ops == ord("=")] = ord("|")
    middle = marks.tobytes().decode("ascii")

    names = [printable(name)[:20] for name in (query, target)]
    margin = max(map(len, names))
    digits = len(str(max(int(end[at]) for end in ends for at in (0, -1))))
    lines = []
    for at in range(0, len(ops), width):
        last = min(at + width, len(ops)) - 1
        shown = []
        for k in range(2):
            end = int(ends[k][last])
            first = end if before[k] == end else before[k] + step[k]
            part = rows[k][at : at + width]
            shown.append(f"{names[k]:<{margin}} {first:>{digits}} {part} {end:>{digits}}")
            before[k] = end
        blank = " " * (margin + digits + 2)
        lines += ["", shown[0], (blank + middle[at : at + width]).rstrip(), shown[1]]
    return lines
