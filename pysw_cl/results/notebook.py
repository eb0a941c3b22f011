"""An alignment as notebooks show it: HTML of bounded size.

Letters, and the marks between them, are those of the pairwise text, so that matches, mismatches and
gaps can be told apart without colours.  The colours are those of Okabe & Ito (2008, Color Universal
Design), which people with any kind of colour vision can tell apart; they are translucent, for light
and dark pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import groupby

from ..errors import printable
from .aligned_pair import AlignedPair
from .formats.pair import blocks, digits_of

#: Columns of a line; a longer alignment shows so many columns of its start and of its end.
WIDTH, SHOWN = 60, 600
#: Characters of a name in front of a line, and in the first line.
NAME, TITLE = 20, 80
#: The background of each mark.  A match has none.
COLOURS = {
    ":": "rgba(240,228,66,.45)",
    ".": "rgba(230,159,0,.5)",
    " ": "rgba(86,180,233,.45)",
}


def html(found: AlignedPair) -> str:
    """What a result says, and the columns of its path; of a long one the first and the last."""
    lines = [_facts(found)]
    columns = found.columns or 0
    if columns:
        alike, other, gap = _span(":", ":"), _span(".", "."), _span("-", " ")
        legend = f"| match, {alike} mismatch with a positive score, {other} any other mismatch, "
        lines.append(f"{legend}{gap} gap")
        if columns <= 2 * SHOWN:
            lines += _blocks(found, found)
        else:
            lines += _blocks(found[:SHOWN], found)
            lines += ["", f"... {columns - 2 * SHOWN:,} columns are not shown ..."]
            lines += _blocks(found[-SHOWN:], found)
    style = "line-height:1.25;overflow-x:auto"
    return f'<pre style="{style}">' + "\n".join(lines) + "</pre>"


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
        name = escape(_name(sequence.name, TITLE))
        said.append(f"{what:<6}{span} of {len(sequence):,} letters{minus} {name}".rstrip())
    return "\n".join(said)


def _name(name: str, most: int) -> str:
    """A name on one line, cut if it is long."""
    text = printable(name)
    return text if len(text) <= most else text[: most - 3] + "..."


def _blocks(some: AlignedPair, whole: AlignedPair) -> Iterator[str]:
    """The lines of some columns of an alignment."""
    names = [_name(whole.query.name, NAME) or "query", _name(whole.target.name, NAME) or "target"]
    margin, digits = max(map(len, names)), digits_of(whole)
    for marks, sides in blocks(some, WIDTH):
        upper, lower = (
            f"{escape(name.ljust(margin))} {first:>{digits}} {_coloured(text, marks)} "
            f"{last:>{digits}}"
            for name, (text, first, last) in zip(names, sides, strict=True)
        )
        yield from ["", upper, (" " * (margin + digits + 2) + marks).rstrip(), lower]


def _coloured(text: str, marks: str) -> str:
    """Letters with the colours of their marks."""
    runs = groupby(zip(text, marks, strict=True), lambda both: both[1])
    return "".join(_span("".join(letter for letter, _ in run), mark) for mark, run in runs)


def _span(text: str, mark: str) -> str:
    colour = COLOURS.get(mark)
    shown = escape(text)
    return shown if colour is None else f'<span style="background:{colour}">{shown}</span>'
