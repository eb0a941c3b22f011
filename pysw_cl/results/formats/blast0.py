"""BLAST's text for people, ``-outfmt 0``: of each query a line for every subject, then the aligned
letters.  The layout is BLAST's, so that its readers take it, without its statistics."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
        searched, every = self.setting.searched, [one[0].target for one in by_subject(rows)]
        count = searched["targets"] if "letters" in searched else len(every)
        targets = "1 target" if count == 1 else f"{count} targets"
        letters = searched.get("letters", sum(map(len, every)))
        query, some = rows[0].query, Columns(rows).aligned("BLAST's text", True)
        parts = [
            f"{self._table.program} {writer.PROGRAM} {writer.VERSION}\n\n\n"
            f"Database: {targets}\n"
            f"           {count:,} sequences; {letters:,} total letters\n\n\n\n"
            f"Query= {_folded(title_of(query, 'query'))}\n\nLength={len(query)}\n"
        ]
        subjects = by_subject(some)
        parts += [*_listed([found[0] for found in subjects])] if subjects else [_NONE]
        parts.append("\n\n")
        for found in subjects:
            target = found[0].target
            title = _folded(title_of(target, "target"))
            parts += [f">{title}\nLength={len(target)}\n\n", *map(self._alignment, found)]
        scoring = "" if self.setting.scoring is None else f"; {self.setting.scoring.in_words}"
        parts.append(f"  Database: {targets}; {self.setting.mode}{scoring}\n\n\n")
        return "".join(parts)

    def _alignment(self, row: Row) -> str:
        query, target = writer.along_query(row, self._table.letters)
        found, protein = row.alignment(), self._table.protein
        ops = found.path.columns()
        same, alike = ops == ord("="), np.isin(ops, list(b"=X"))
        alike[alike] = found.pair_scores() > 0
        raw = str(row.score).removesuffix(".0")
        score = f" Score = {raw}"
        strand = "" if protein else f" Strand=Plus/{row.strand.capitalize()}\n"
        if row.bits is not None and row.expect is not None:
            score = f" Score = {bits_text(row.bits)} bits ({raw}),  "
            score += f"Expect = {expect_text(row.expect, 0)}"
        match = np.frombuffer(query, np.uint8) if protein else ord("|")
        marks = np.where(same, match, np.where(alike & protein, ord("+"), ord(" ")))
        counts = [("Identities", same.sum()), ("Positives", (same | alike).sum())]
        counts = [*counts[: 1 + protein], ("Gaps", query.count(b"-") + target.count(b"-"))]
        said = (f"{x} = {n}/{len(ops)} ({writer.percent(n, len(ops))}%)" for x, n in counts)
        middle = marks[:: -1 if row.strand == "minus" else 1].astype(np.uint8).tobytes()
        blocks = self._blocks(row, query, middle, target)
        return "".join([f"{score}\n {', '.join(said)}\n{strand}\n", *blocks, "\n"])

    def _blocks(self, row: Row, query: bytes, middle: bytes, target: bytes) -> Iterator[str]:
        i, i1, j, j1 = row.query_start, row.query_end, row.target_start, row.target_end
        assert i is not None and i1 is not None and j is not None and j1 is not None
        digits, width = len(str(max(i1, j1))), self.setting.width or WIDTH
        j, step = (j1 + 1, -1) if row.strand == "minus" else (j, 1)
        for at in range(0, len(query), width):
            ours, marks, theirs = (text[at : at + width] for text in (query, middle, target))
            first, i = _places(ours, i, 1)
            yield f"Query  {first:<{digits}}  {ours.decode()}  {i}\n"
            first, j = _places(theirs, j, step)
            yield f"{'':{digits + 9}}{marks.decode()}\n"
            yield f"Sbjct  {first:<{digits}}  {theirs.decode()}  {j}\n\n"


def _places(letters: bytes, before: int, step: int) -> tuple[int, int]:
    """The positions of the first and the last letter behind the position ``before``, which is both
    if there are gaps alone."""
    count = len(letters) - letters.count(b"-")
    return before + step * bool(count), before + step * count


def _listed(best: list[Row]) -> Iterator[str]:
    """The table of subjects, each with its best result: bit scores and expect values, or scores
    where these are not known."""
    bits = [bits_text(row.bits) for row in best if row.bits is not None]
    expects = [expect_text(row.expect, 0) for row in best if row.expect is not None]
    known = len(bits) == len(expects) == len(best)
    scores = bits if known else [str(row.score) for row in best]
    yield f"{'':70}Score{'     E' * known}\n"
    yield f"{'Sequences producing significant alignments:':69}{'(Bits)  Value' * known}\n\n"
    width = max(6, *map(len, scores)) + 2
    for k, row in enumerate(best):
        title = title_of(row.target, "target")
        title = title if len(title) <= TITLE else f"{title[: TITLE - 3]}..."
        yield f"{title:{TITLE}}  {scores[k]:{width}}{expects[k] if known else ''}".rstrip() + "\n"


def _folded(title: str) -> str:
    """A title on lines that are broken at the first blank behind 60 characters, as in BLAST."""
    return re.sub("(.{60,}?) ", r"\1 \n", title)
