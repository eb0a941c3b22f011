"""BLAST's text for people, ``-outfmt 0``: of each query a line for every subject, then the aligned
letters.  The layout is BLAST's, so that its readers take it, without its statistics."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..aligned_pair import NO_TARGET
from . import blast, writer
from .columns import Columns
from .pair import WIDTH, blocks, cut, marks_of
from .writer import ByQuery, Row, Setting, bits_text, by_subject, expect_text, title_of

#: Characters of a title in the table of subjects.
TITLE = 68
_NONE = "\n\n***** No hits found *****\n"


class Writer(ByQuery):
    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._table = blast.Table(setting)

    def query(self, rows: list[Row]) -> str:
        """What readers take as a file of its own."""
        query, searched = rows[0].query, self.setting.searched
        every = by_subject(row for row in rows if row.target is not NO_TARGET)
        count = searched["targets"] if "letters" in searched else len(every)
        letters = searched.get("letters", sum(len(one[0].target) for one in every))
        targets = "1 target" if count == 1 else f"{count} targets"
        parts = [
            f"{self._table.program} {writer.PROGRAM} {writer.VERSION}\n\n\nDatabase: {targets}\n"
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
        query, target = (text.decode() for text in writer.along_query(row, self._table.letters))
        score, marks, step = str(row.score).removesuffix(".0"), marks_of(row.alignment()), 1
        if row.bits is not None and row.expect is not None:
            score = f"{bits_text(row.bits)} bits ({score}),  Expect = {expect_text(row.expect, 0)}"
        if row.strand == "minus":
            j, step, marks = j1 + 1, -1, marks[::-1]
        protein, same = self._table.protein, marks.count("|")
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
        title = cut(title_of(row.target, "target"), TITLE)
        yield f"{title:{TITLE}}  {score:{width}}{expect}".rstrip() + "\n"


def _folded(title: str) -> str:
    """A title on lines that are broken at the first blank behind 60 characters, as in BLAST."""
    return re.sub("(.{60,}?) ", r"\1 \n", title)
