"""Pairwise text: a header, then blocks of aligned letters with 1-based positions; and what
notebooks show of them.

Between the letters, ``|`` is a match, ``:`` another pair with a positive score, ``.`` any other
pair, and a blank a gap.  The header names the whole scoring, and says identity (matches),
similarity (pairs with a positive score) and gaps as shares of all columns.  All is as in EMBOSS."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import groupby
from typing import Any

import numpy as np

from ...errors import printable
from ..aligned_pair import AlignedPair
from ..cigar import DIAGONAL, OP_TO_MOVE
from . import writer
from .writer import Row, bits_text, expect_text, mode_in_words

#: Columns in a block, as is usual, and of each end of a long alignment that a notebook shows.
WIDTH, SHOWN = 60, 600
#: Characters of a name in front of a line, and in the first lines of a notebook.
NAME, TITLE = 20, 80
#: The background of each mark; a match has none.  Those of Okabe & Ito (2008, Color Universal
#: Design), which any kind of colour vision tells apart, translucent for light and dark pages.
COLOURS = {":": "rgba(240,228,66,.45)", ".": "rgba(230,159,0,.5)", " ": "rgba(86,180,233,.45)"}
#: Letters with gaps, and the positions of the first and the last one.
Part = tuple[str, int, int]


class Writer(writer.Writer):
    def entry(self, row: Row) -> str:
        return text(row.alignment(), self.setting.width or WIDTH, self.setting.limit) + "\n\n"


def text(found: AlignedPair, width: int = WIDTH, limit: int | None = None) -> str:
    """The alignment as text in blocks of ``width`` columns, without a final line end.

    Without a path there is only the header.  Positions are 1-based and inclusive, as in BLAST and
    EMBOSS.  On the minus strand those of the query fall from left to right.  The line
    ``coordinates`` is 0-based and half-open.  Of an alignment with more than ``limit`` columns
    (None: any number) the first ones are shown, and a last line says how many there are."""
    lines, columns = _header(found), found.columns or 0
    if columns:
        some = found if limit is None or columns <= limit else found[:limit]
        lines += _lines(some, [name[:NAME] for name in _names(found)], digits_of(some), width)
        if some is not found:
            lines += ["", f"# the first {limit:,} of {columns:,} columns"]
    return "\n".join(lines)


def _lines(
    some: AlignedPair, names: list[str], digits: int, width: int, html: bool = False
) -> Iterator[str]:
    """The lines of the columns of an alignment, an empty one before each block."""
    margin = max(map(len, names))
    upper, lower = (escape(name.ljust(margin)) if html else name.ljust(margin) for name in names)
    minus, (query, target) = some.strand == "minus", some.aligned
    start = (some.query_end or 0) + 1 if minus else some.query_start or 0
    sides = (query, start, -1 if minus else 1), (target, some.target_start or 0, 1)
    for marks, (ours, i0, i1), (theirs, j0, j1) in blocks(marks_of(some), *sides, width):
        if html:
            ours, theirs = _coloured(ours, marks), _coloured(theirs, marks)
        yield ""
        yield f"{upper} {i0:>{digits}} {ours} {i1:>{digits}}"
        yield (" " * (margin + digits + 2) + marks).rstrip()
        yield f"{lower} {j0:>{digits}} {theirs} {j1:>{digits}}"


def _names(found: AlignedPair) -> tuple[str, str]:
    return printable(found.query.name) or "query", printable(found.target.name) or "target"


def _header(found: AlignedPair) -> list[str]:
    query, target = _names(found)
    minus = found.strand == "minus"
    lines = [
        f"# query:       {query}, {len(found.query)} letters",
        f"# target:      {target}, {len(found.target)} letters",
        *["# strand:      minus; the query's reverse complement is aligned"] * minus,
        f"# mode:        {mode_in_words(found.mode, found.free_ends, found.heuristic)}",
        f"# scoring:     {found.scoring.in_words}",
        f"# score:       {found.score}",
    ]
    if found.expect is not None and found.bits is not None:
        lines.append(f"# E-value:     {expect_text(found.expect)}, {bits_text(found.bits)} bits")
    if found.target_end is not None:
        places = (found.query_start, found.query_end, found.target_start, found.target_end)
        shown = ["?" if place is None else place for place in places]
        lines.append("# coordinates: query [{}, {}), target [{}, {})".format(*shown))
    if found.runs is not None:
        total = found.columns or 0
        counts = {"identity": found.matches, "similarity": found.positives}
        counts["gaps"] = found.runs.count("ID")
        lines += (
            f"# {name + ':':<12} {count}/{total} ({count / max(1, total):.1%})"
            for name, count in counts.items()
            if count is not None
        )
    return lines


def digits_of(found: AlignedPair) -> int:
    """How many digits the positions of `blocks` have at most."""
    behind = found.strand == "minus" and found.path.ops[0] == ord("D")
    return len(str(max((found.query_end or 0) + behind, found.target_end or 0)))


def blocks(marks: str, upper: Part, lower: Part, width: int) -> Iterator[tuple[str, Part, Part]]:
    """The columns of a path, ``width`` at a time: the marks between the letters, and what `_parts`
    gives of both lines.  Each is its letters, the position before the first one, and the step."""
    some = (marks[at : at + width] for at in range(0, len(marks), width))
    return zip(some, _parts(*upper, width), _parts(*lower, width), strict=True)


def marks_of(found: AlignedPair) -> str:
    """The mark of each column, along the target."""
    ops = found.path.columns()
    codes = np.full(len(ops), ord(" "), np.uint8)
    alike = found.pair_scores() > 0
    codes[OP_TO_MOVE[ops] == DIAGONAL] = np.where(alike, np.uint8(ord(":")), np.uint8(ord(".")))
    codes[ops == ord("=")] = ord("|")
    return codes.tobytes().decode("ascii")


def _parts(letters: str, before: int, step: int, width: int) -> Iterator[Part]:
    """Letters with gaps, ``width`` at a time, and the positions of the first and the last one
    behind the position ``before``; where there is none, twice that of the letter before."""
    for at in range(0, len(letters), width):
        part = letters[at : at + width]
        count = len(part) - part.count("-")
        yield part, before + step * bool(count), before + step * count
        before += step * count


# What notebooks show: HTML of bounded size


def html(found: AlignedPair) -> str:
    """What a result says, and the columns of its path; of a long one the first and the last."""
    lines = [_facts(found)]
    columns = found.columns or 0
    if columns:
        alike, other, gap = _span(":", ":"), _span(".", "."), _span("-", " ")
        legend = f"| match, {alike} mismatch with a positive score, {other} any other mismatch, "
        lines.append(f"{legend}{gap} gap")
        layout: Any = [cut(name, NAME) for name in _names(found)], digits_of(found), WIDTH, True
        if columns <= 2 * SHOWN:
            lines += _lines(found, *layout)
        else:
            lines += _lines(found[:SHOWN], *layout)
            lines += ["", f"... {columns - 2 * SHOWN:,} columns are not shown ..."]
            lines += _lines(found[-SHOWN:], *layout)
    return '<pre style="line-height:1.25;overflow-x:auto">' + "\n".join(lines) + "</pre>"


def _facts(found: AlignedPair) -> str:
    """The sequences, where they are aligned, and how well."""
    said = [f"<b>{found.mode} alignment, score {found.score}</b>"]
    if found.matches is not None:
        said[0] += f", {found.matches:,} of {found.columns:,} columns match"
    for what in ("query", "target"):
        sequence = getattr(found, what)
        places = [getattr(found, f"{what}_{end}") for end in ("start", "end")]
        shown = ["?" if place is None else f"{place:,}" for place in places]
        span = "" if places == [None, None] else f" [{shown[0]}, {shown[1]})"
        minus = ", reverse complement" if what == "query" and found.strand == "minus" else ""
        name = escape(cut(sequence.name, TITLE))
        said.append(f"{what:<6}{span} of {len(sequence):,} letters{minus} {name}".rstrip())
    return "\n".join(said)


def cut(name: str, most: int) -> str:
    """A name on one line, cut if it is long."""
    text = printable(name)
    return text if len(text) <= most else text[: most - 3] + "..."


def _coloured(text: str, marks: str) -> str:
    runs = groupby(zip(text, marks, strict=True), lambda both: both[1])
    return "".join(_span("".join(letter for letter, _ in run), mark) for mark, run in runs)


def _span(text: str, mark: str) -> str:
    colour = COLOURS.get(mark)
    shown = escape(text)
    return shown if colour is None else f'<span style="background:{colour}">{shown}</span>'
