"""Pairwise text: a header, then blocks of aligned letters with 1-based positions; what notebooks
show of them; and BLAST's text.

Between the letters, ``|`` is a match, ``:`` another pair with a positive score, ``.`` any other
pair, and a blank a gap.  The header names the whole scoring, and says identity (matches),
similarity (pairs with a positive score) and gaps as shares of all columns.  All is as in EMBOSS."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from itertools import groupby
from typing import Any

import numpy as np

from ...errors import printable
from ..aligned_pair import NO_TARGET, AlignedPair
from ..cigar import DIAGONAL, OP_TO_MOVE
from . import blast, writer
from .columns import Columns
from .writer import ByQuery, Row, bits_text, by_subject, expect_text, mode_in_words, title_of

#: Columns in a block, as is usual, and of each end of a long alignment that a notebook shows.
WIDTH, SHOWN = 60, 600
#: Characters of a name in front of a line, and in the first lines of a notebook.
NAME, TITLE = 20, 80
#: Characters of a title in BLAST's table of subjects, and what stands there without any.
SUBJECT, _NONE = 68, "\n\n***** No hits found *****\n"
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
    (query, target), minus = _names(found), found.strand == "minus"
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


def html(found: AlignedPair) -> str:
    """What a result says, and the columns of its path; of a long one the first and the last."""
    lines, columns = [_facts(found)], found.columns or 0
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
    colour, shown = COLOURS.get(mark), escape(text)
    return shown if colour is None else f'<span style="background:{colour}">{shown}</span>'


class Blast0(blast.Table):
    """Writes BLAST's text for people, ``-outfmt 0``: of each query a line for every subject, then
    the aligned letters.  The layout is BLAST's, so that its readers take it, without its
    statistics."""

    text, queries = ByQuery.text, ByQuery.queries

    def query(self, rows: list[Row]) -> str:
        query, searched = rows[0].query, self.setting.searched
        every = by_subject(row for row in rows if row.target is not NO_TARGET)
        count = searched["targets"] if "letters" in searched else len(every)
        letters = searched.get("letters", sum(len(one[0].target) for one in every))
        targets = "1 target" if count == 1 else f"{count} targets"
        parts = [
            f"{self.program} {writer.PROGRAM} {writer.VERSION}\n\n\nDatabase: {targets}\n"
            f"           {count:,} sequences; {letters:,} total letters\n\n\n\n"
            f"Query= {_folded(title_of(query, 'query'))}\n\nLength={len(query)}\n"
        ]
        subjects = by_subject(Columns(rows).aligned("BLAST's text", True))
        parts += [*_listed([found[0] for found in subjects])] if subjects else [_NONE]
        parts.append("\n\n")
        for found in subjects:
            target = found[0].target
            title = _folded(title_of(target, "target"))
            parts += [f">{title}\nLength={len(target)}\n\n", *map(self._alignment, found)]
        scoring = "" if self.setting.scoring is None else f"; {self.setting.scoring.in_words}"
        return "".join([*parts, f"  Database: {targets}; {self.setting.mode}{scoring}\n\n\n"])

    def _alignment(self, row: Row) -> str:
        i, i1, j, j1 = row.query_start, row.query_end, row.target_start, row.target_end
        assert i is not None and i1 is not None and j is not None and j1 is not None
        query, target = (text.decode() for text in writer.along_query(row, self.letters))
        score, marks, step = str(row.score).removesuffix(".0"), marks_of(row.alignment()), 1
        if row.bits is not None and row.expect is not None:
            score = f"{bits_text(row.bits)} bits ({score}),  Expect = {expect_text(row.expect, 0)}"
        if row.strand == "minus":
            j, step, marks = j1 + 1, -1, marks[::-1]
        protein, same = self.protein, marks.count("|")
        gaps = query.count("-") + target.count("-")
        strand = "" if protein else f" Strand=Plus/{row.strand.capitalize()}\n"
        both = zip(query if protein else marks, marks, strict=True)
        middle = "".join(a if b == "|" else "+" if b == ":" and protein else " " for a, b in both)
        counts = [("Identities", same), ("Positives", same + marks.count(":")), ("Gaps", gaps)]
        counts = counts[:: 2 - protein][row.matches is None :]  # without letters none is known
        size, digits, width = len(marks), len(str(max(i1, j1))), self.setting.width or WIDTH
        said = (f"{x} = {n}/{size} ({writer.percent(n, size)}%)" for x, n in counts)
        lines = [f" Score = {score}\n {', '.join(said)}\n{strand}\n"]
        sides = (query, i, 1), (target, j, step)
        for between, (ours, first, last), (theirs, start, end) in blocks(middle, *sides, width):
            lines.append(f"Query  {first:<{digits}}  {ours}  {last}\n")
            lines.append(f"{'':{digits + 9}}{between}\n")
            lines.append(f"Sbjct  {start:<{digits}}  {theirs}  {end}\n\n")
        return "".join([*lines, "\n"])


def _listed(best: list[Row]) -> Iterator[str]:
    """The table of subjects, each with its best result: bit scores and expect values, or scores
    where these are not known."""
    known = all(row.bits is not None and row.expect is not None for row in best)
    both = ((bits_text(row.bits or 0), expect_text(row.expect or 0, 0)) for row in best)
    said = list(both) if known else [(str(row.score), "") for row in best]
    yield f"{'':70}Score{'     E' * known}\n"
    yield f"{'Sequences producing significant alignments:':69}{'(Bits)  Value' * known}\n\n"
    width = max(6, *(len(score) for score, _ in said)) + 2
    for row, (score, expect) in zip(best, said, strict=True):
        title = cut(title_of(row.target, "target"), SUBJECT)
        yield f"{title:{SUBJECT}}  {score:{width}}{expect}".rstrip() + "\n"


def _folded(title: str) -> str:
    """A title on lines that are broken at the first blank behind 60 characters, as in BLAST."""
    return re.sub("(.{60,}?) ", r"\1 \n", title)
