"""BLAST's text for people, ``-outfmt 0``: of each query a line for every subject, then the aligned
letters.  The layout is BLAST's, so that its readers take it, without its statistics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

import numpy as np

from . import blast, writer
from .columns import Columns
from .pair import WIDTH
from .writer import ByQuery, Row, Setting, bits_text, by_subject, expect_text, title_of

#: Characters of a title in the table of subjects.
TITLE = 68
_NONE = "\n\n***** No hits found *****\n"


class Writer(ByQuery):
    """Writes BLAST's text."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._table = blast.Table(setting)

    def queries(self, groups: list[list[Row]]) -> str:
        return "".join(map(self._query, groups))

    def _query(self, rows: list[Row]) -> str:
        """What readers take as a file of its own."""
        setting, query, every = self.setting, rows[0].query, by_subject(rows)
        searched = setting.searched
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
        scoring = "" if setting.scoring is None else f"; {setting.scoring.in_words}"
        return "".join([*parts, f"  Database: {targets}; {setting.mode}{scoring}\n\n\n"])

    def _alignment(self, row: Row) -> str:
        i, i1, j, j1 = row.query_start, row.query_end, row.target_start, row.target_end
        assert i is not None and i1 is not None and j is not None and j1 is not None
        query, target = writer.along_query(row, self._table.letters)
        found, protein = row.alignment(), self._table.protein
        ops = found.path.columns()
        same, alike = ops == ord("="), np.isin(ops, list(b"=X"))
        alike[alike] = found.pair_scores() > 0
        score = str(row.score).removesuffix(".0")
        if row.bits is not None and row.expect is not None:
            score = f"{bits_text(row.bits)} bits ({score}),  Expect = {expect_text(row.expect, 0)}"
        match = np.frombuffer(query, np.uint8) if protein else ord("|")
        marks = np.where(same, match, np.where(alike & protein, ord("+"), ord(" ")))
        counts = {"Identities": same.sum(), "Positives": (same | alike).sum()}
        if not protein:
            del counts["Positives"]
        counts["Gaps"] = query.count(b"-") + target.count(b"-")
        size, step, strand = len(ops), 1, "" if protein else " Strand=Plus/Plus\n"
        if row.strand == "minus":
            j, step, strand, marks = j1 + 1, -1, " Strand=Plus/Minus\n", marks[::-1]
        said = (f"{x} = {n}/{size} ({writer.percent(n, size)}%)" for x, n in counts.items())
        width, digits = self.setting.width or WIDTH, len(str(max(i1, j1)))
        lines = (
            _lines(f"Query  {{:<{digits}}}  {{}}  {{}}\n", query, i, 1, width),
            _lines(f"{'':{digits + 9}}{{1}}\n", marks.astype(np.uint8).tobytes(), 0, 1, width),
            _lines(f"Sbjct  {{:<{digits}}}  {{}}  {{}}\n\n", target, j, step, width),
        )
        blocks = chain.from_iterable(zip(*lines, strict=True))
        return "".join([f" Score = {score}\n {', '.join(said)}\n{strand}\n", *blocks, "\n"])


def _lines(form: str, letters: bytes, before: int, step: int, width: int) -> Iterator[str]:
    """The lines of a sequence: the positions of the first and the last letter behind the position
    ``before``, which is both if there are gaps alone, and the letters between them."""
    for at in range(0, len(letters), width):
        part = letters[at : at + width]
        count = len(part) - part.count(b"-")
        yield form.format(before + step * bool(count), part.decode("ascii"), before + step * count)
        before += step * count


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
        title = title_of(row.target, "target")
        title = title if len(title) <= TITLE else f"{title[: TITLE - 3]}..."
        yield f"{title:{TITLE}}  {score:{width}}{expect}".rstrip() + "\n"


def _folded(title: str) -> str:
    """A title on lines that are broken at the first blank behind 60 characters, as in BLAST."""
    return re.sub("(.{60,}?) ", r"\1 \n", title)
