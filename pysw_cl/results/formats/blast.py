"""BLAST's tables: the columns of ``-outfmt 6``, and ``-outfmt 7``, which has comments.

Positions are 1-based and inclusive.  On the minus strand BLAST shows the query as it is and the
subject (our target) turned.  Expect values and bit scores that are not known are -1 and 0, as
VSEARCH writes them (its manual, ``--blast6out``), so that every reader takes them as numbers.
Columns: BLAST's User Manual, appendix C, https://www.ncbi.nlm.nih.gov/books/NBK279684/."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, printable
from ...scoring.arguments import ERROR, MATCH
from ...scoring.scoring import Scoring, cached_scoring
from ...sequences.alphabet import Letters, is_nucleotide
from ..aligned_pair import NO_TARGET
from ..cigar import DIAGONAL, QUERY, TARGET, Runs, piece_runs
from . import columns, writer
from .columns import Columns, Texts, texts
from .reading import Lines, Record
from .writer import ByQuery, Row, Setting, runs_of, without_blanks

#: The columns of a table unless others are asked for; ``std`` stands for them.
STANDARD = (
    "qseqid", "sseqid", "pident", "length", "mismatch", "gapopen",
    "qstart", "qend", "sstart", "send", "evalue", "bitscore",
)  # fmt: skip
#: What is written for an expect value and for a bit score that are not known.
NO_EVALUE, NO_BITSCORE = "-1", "0"


class _Hits:
    """Results with at least one column, and what several columns of a table are made from."""

    def __init__(self, some: Columns, protein: bool, table: bytes) -> None:
        self.some, self.protein, self._table = some, protein, table
        self.minus = some.minus()
        self.matches, self.columns = some.known("matches"), some.known("columns")
        self.opened, self.gaps = some.gaps()

    @cached_property
    def rows(self) -> list[Row]:
        return list(self.some)

    def subject(self, side: int) -> Texts:
        """The first (0) or last (1) position of each subject, along the query."""
        first, last = self.some.values("target_start") + 1, self.some.values("target_end")
        return texts(np.where(self.minus == bool(side), first, last))

    @cached_property
    def letters(self) -> list[tuple[str, str]]:
        """Query and subject with gaps, along the query."""
        both = (writer.along_query(row, self._table) for row in self.rows)
        return [(query.decode("ascii"), subject.decode("ascii")) for query, subject in both]

    @cached_property
    def positives(self) -> NDArray[np.int64]:
        """Pairs of letters with a positive score."""
        return np.array([row.alignment().positives or 0 for row in self.rows], np.int64)

    def strands(self, plus: str, minus: str, protein: str) -> Texts:
        """BLAST's words for the strand of each subject."""
        plus, minus = (protein, protein) if self.protein else (plus, minus)
        return [minus if turned else plus for turned in self.minus]

    def btop(self) -> Texts:
        """BLAST's traceback operations: how many letters match, and the pairs that do not."""
        found = []
        for row, both in zip(self.rows, self.letters, strict=True):
            parts, at = [], 0
            runs = runs_of(row.cigar or "")
            for length, op in runs[::-1] if row.strand == "minus" else runs:
                if op == "=":
                    parts.append(str(length))
                else:
                    parts += (text[k] for k in range(at, at + length) for text in both)
                at += length
            found.append("".join(parts))
        return found

    def covered(self, groups: Iterable[list[Row]]) -> Texts:
        """The share of each query that is aligned in the results of its group, in percent."""
        found: dict[int, str] = {}
        for rows in groups:
            covered = reached = 0
            for start, end in sorted((row.query_start or 0, row.query_end or 0) for row in rows):
                covered += max(0, end - max(start, reached))
                reached = max(end, reached)
            share = writer.percent(covered, len(rows[0].query))
            found |= dict.fromkeys(map(id, rows), str(share))
        return [found[id(row)] for row in self.rows]

    def titles(self) -> Texts:
        found = (row.target for row in self.rows)
        return [printable(f"{of.name} {of.description}") or "target" for of in found]


def _percent(values: NDArray[Any], digits: int) -> Texts:
    return [f"{100 * value:.{digits}f}" for value in values.tolist()]


#: The columns that can be written: what comments call them, and their values.
FIELDS: dict[str, tuple[str, Callable[[_Hits], Iterable[str]]]] = {
    "qseqid": ("query id", lambda hits: hits.some.names(0)),
    "qacc": ("query acc.", lambda hits: hits.some.names(0)),
    "qaccver": ("query acc.ver", lambda hits: hits.some.names(0)),
    "qlen": ("query length", lambda hits: hits.some.lengths(0)),
    "sseqid": ("subject id", lambda hits: hits.some.names(1)),
    "sallseqid": ("subject ids", lambda hits: hits.some.names(1)),
    "sacc": ("subject acc.", lambda hits: hits.some.names(1)),
    "saccver": ("subject acc.ver", lambda hits: hits.some.names(1)),
    "sallacc": ("subject accs.", lambda hits: hits.some.names(1)),
    "slen": ("subject length", lambda hits: hits.some.lengths(1)),
    "qstart": ("q. start", lambda hits: texts(hits.some.values("query_start") + 1)),
    "qend": ("q. end", lambda hits: hits.some.numbers("query_end")),
    "sstart": ("s. start", lambda hits: hits.subject(0)),
    "send": ("s. end", lambda hits: hits.subject(1)),
    "qseq": ("query seq", lambda hits: [query for query, _ in hits.letters]),
    "sseq": ("subject seq", lambda hits: [subject for _, subject in hits.letters]),
    "evalue": ("evalue", lambda hits: hits.some.shown("expect", writer.expect_text, NO_EVALUE)),
    "bitscore": ("bit score", lambda hits: hits.some.shown("bits", writer.bits_text, NO_BITSCORE)),
    "score": ("score", lambda hits: hits.some.numbers("score")),
    "length": ("alignment length", lambda hits: texts(hits.columns)),
    "pident": ("% identity", lambda hits: _percent(hits.matches / hits.columns, 3)),
    "nident": ("identical", lambda hits: texts(hits.matches)),
    "mismatch": ("mismatches", lambda hits: texts(hits.columns - hits.gaps - hits.matches)),
    "positive": ("positives", lambda hits: texts(hits.positives)),
    "gapopen": ("gap opens", lambda hits: texts(hits.opened)),
    "gaps": ("gaps", lambda hits: texts(hits.gaps)),
    "ppos": ("% positives", lambda hits: _percent(hits.positives / hits.columns, 2)),
    "frames": ("query/sbjct frames", lambda hits: hits.strands("1/1", "1/-1", "0/0")),
    "qframe": ("query frame", lambda hits: hits.strands("1", "1", "0")),
    "sframe": ("sbjct frame", lambda hits: hits.strands("1", "-1", "0")),
    "btop": ("BTOP", lambda hits: hits.btop()),
    "stitle": ("subject title", lambda hits: hits.titles()),
    "salltitles": ("subject titles", lambda hits: hits.titles()),
    "sstrand": ("subject strand", lambda hits: hits.strands("plus", "minus", "N/A")),
    "qcovs": ("% subject coverage", lambda hits: hits.covered(writer.by_subject(hits.rows))),
    "qcovhsp": ("% hsp coverage", lambda hits: hits.covered([row] for row in hits.rows)),
}
_NAMES = {title: name for name, (title, _) in FIELDS.items()}
#: Newer words of BLAST's, which Biopython does not know.
_NAMES |= {"% query coverage per subject": "qcovs", "% query coverage per hsp": "qcovhsp"}
#: Scorings by which letters match, where it is not said: three of nucleotides, two of proteins.
_USUAL: tuple[tuple[Any, ...], ...] = (
    ((1, -3), None),
    ("NUC.4.4", None),
    ((1, -3), None, None, ERROR, MATCH),
    ("BLOSUM62", None, None, "X"),
    ("BLOSUM62", None, "X", "X"),
)
_BTOP = re.compile(r"[0-9]+|[^0-9]{2}")


def fields_asked(names: Sequence[str]) -> tuple[str, ...]:
    """The columns that these names stand for.  Raises InputError for an unknown one."""
    found: list[str] = []
    for name in names:
        if name != "std" and name not in FIELDS:
            raise InputError(f"{name!r} is not a column that is known here: {', '.join(FIELDS)}")
        found += STANDARD if name == "std" else [name]
    return tuple(found) or STANDARD


class Table(columns.Table, ByQuery):
    """Writes a table without comments."""

    of_paths, of_both = "a BLAST table", True

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.fields, scoring = fields_asked(setting.fields), setting.scoring
        self.protein = scoring is not None and not is_nucleotide(scoring.letters)
        self.program = "BLASTP" if self.protein else "BLASTN"
        # not as they are given: a letter that is a digit would be a number of btop
        self.letters = writer.as_scored(scoring)

    def text(self, rows: Iterable[Row]) -> str:
        """The lines of results; if a column needs all of a query, of complete ones."""
        return (ByQuery if "qcovs" in self.fields else columns.Table).text(self, rows)

    def queries(self, groups: list[list[Row]]) -> str:
        parts = map(Columns, groups) if "qcovs" in self.fields else [chain.from_iterable(groups)]
        return "".join(columns.Table.text(self, part) for part in parts)

    def columns(self, some: columns.Columns) -> Iterable[Iterable[str]]:
        hits = _Hits(some, self.protein, self.letters)
        return [FIELDS[name][1](hits) for name in self.fields]


class CommentedTable(Table):
    """Writes a table with comments before the lines of each query.  Their first line begins with
    the name of a program of BLAST's, by which readers know the format."""

    _queries = 0
    text = ByQuery.text

    def queries(self, groups: list[list[Row]]) -> str:
        self._queries += len(groups)
        lines = iter(super().queries(groups).split("\n"))
        fields = f"# Fields: {', '.join(FIELDS[name][0] for name in self.fields)}\n"
        parts: list[str] = []
        for rows in groups:
            query, hits = rows[0].query, sum(row.has_both for row in rows)
            targets = (row.target for row in rows if row.target is not NO_TARGET)
            names = {without_blanks(target.name, "target"): None for target in targets}
            count = self.setting.searched.get("targets", len(names))
            database = next(iter(names), "1 target") if count == 1 else f"{count} targets"
            database += f"; {self.setting.heuristic}" if self.setting.heuristic else ""
            parts.append(
                f"# {self.program} {writer.PROGRAM} {writer.VERSION}\n"
                f"# Query: {writer.title_of(query, 'query')}\n# Database: {database}\n"
                f"{fields if hits else ''}# {hits} hits found\n"
            )
            parts += (f"{line}\n" for line in islice(lines, hits))
        return "".join(parts)

    def end(self) -> str:
        last, count = super().end(), self.setting.searched.get("queries", self._queries)
        return f"{last}# BLAST processed {count} queries\n"


def read(
    lines: Lines, fields: Sequence[str] = (), scoring: Scoring | None = None
) -> Iterator[Record]:
    """The records of a table.  Its columns are ``fields``, those that a comment says, or the
    standard ones; there must be qstart, qend, sstart and send.

    The path comes from btop, or from qseq and sseq, whose letters match as in ``scoring``; None: as
    in one that gives the matches of the line (`_USUAL`).  ``more``: the columns that are not said
    otherwise, evalue and bitscore as numbers.  Raises FormatError for a damaged line."""
    names, protein = fields_asked(fields), False
    for line in lines:
        values = line.split("\t")
        said: dict[str, Any] = dict(zip(names, values, strict=False))
        is_whole = len(values) == len(names)
        # the name of a query may begin as a comment
        if line.startswith("#") and not (is_whole and said.get("qstart", "").isdecimal()):
            protein = protein or line.startswith(("# BLASTP ", "# BLASTX ", "# TBLAST"))
            if line.startswith("# Fields: ") and not fields:
                titles = line.removeprefix("# Fields: ").split(", ")
                names = tuple(_NAMES.get(title, title) for title in titles)
            continue
        if not is_whole:
            raise lines.wrong(f"the table has {len(names)} columns, and the line {len(values)}")
        usual = _USUAL[3 if protein or said.get("sstrand") == "N/A" else 0 :]
        scorings = [scoring] if scoring else [cached_scoring(*one) for one in usual]
        yield _record(lines, said, scorings)


def _record(lines: Lines, said: dict[str, Any], scorings: list[Scoring]) -> Record:
    def number(name: str, kind: type = int) -> Any:
        value = said.pop(name, None)
        return None if value in (None, "N/A", "") else kind(value)

    def first(*names: str) -> str:
        return next(iter([said.pop(name) for name in names if name in said]), "")

    places = [number(name) for name in ("qstart", "qend", "sstart", "send")]
    if None in places:
        raise lines.wrong("a table without qstart, qend, sstart and send says no coordinates")
    if min(places) < 1:
        raise lines.wrong("positions count from 1")
    i0, i1, j0, j1 = places
    # the positions of a single letter say no strand
    minus = (i0 > i1) != (j0 > j1) or (j0 == j1 and said.get("sstrand") == "minus")
    columns, matches, share = number("length"), number("nident"), said.get("pident")
    if matches is None and columns is not None and share is not None:
        matches = round(float(share) * columns / 100)
    runs = _runs(lines, said, minus, matches, scorings)
    score = number("score", float)
    for name in ("evalue", "bitscore", "pident", "ppos"):
        if name in said:
            said[name] = number(name, float)
    query, target = first("qseqid", "qaccver", "qacc"), first("sseqid", "saccver", "sacc")
    (i0, i1), (j0, j1) = sorted((i0, i1)), sorted((j0, j1))
    if runs is not None and (runs.count("=XI"), runs.count("=XD")) != (i1 - i0 + 1, j1 - j0 + 1):
        raise lines.wrong("the path and the positions have different lengths")
    return Record(
        query, number("qlen"), i0 - 1, i1, "minus" if minus else "plus",
        target, number("slen"), j0 - 1, j1,
        int(score) if score is not None and score == int(score) else score,
        matches, columns, runs, said,
    )  # fmt: skip


def _runs(
    lines: Lines, said: dict[str, Any], minus: bool, matches: int | None, scorings: list[Scoring]
) -> Runs | None:
    """The path along the target, if the line has one."""
    if "btop" in said:
        parts = _BTOP.findall(said["btop"])
        if "".join(parts) != said.pop("btop"):
            raise lines.wrong("btop has numbers and pairs of letters")
        # the letters of a pair in btop are no match, also where they are equal, as N and N
        by_gap = {0: "D", 1: "I", -1: "X"}
        cigar = (f"{a}=" if a.isdecimal() else f"1{by_gap[a.find('-')]}" for a in parts)
        runs = Runs.of_cigar("".join(cigar)).merged()
    elif "qseq" in said and "sseq" in said:
        if len(said["qseq"]) != len(said["sseq"]) or not said["qseq"]:
            raise lines.wrong("qseq and sseq have different lengths, or none")
        texts = (said[name].encode("ascii") for name in ("qseq", "sseq"))
        query, subject = (np.frombuffer(text, np.uint8) for text in texts)
        runs = _by_letters(query, subject, matches, scorings)
    else:
        return None
    return Runs(runs.ops[::-1], runs.lengths[::-1]) if minus else runs


def _by_letters(
    query: Letters, subject: Letters, matches: int | None, scorings: list[Scoring]
) -> Runs:
    """The path of aligned letters, by the first scoring that has them and, if one does, gives so
    many matches.  Raises SequenceError for a letter that no scoring has."""
    moves = np.where(subject == ord("-"), np.uint8(QUERY), np.uint8(DIAGONAL))
    moves[query == ord("-")] = TARGET
    pairs = query[moves == DIAGONAL], subject[moves == DIAGONAL]
    letters = np.concatenate(pairs)
    able = [scoring for scoring in scorings if scoring.knows(letters)]
    if not able:
        scorings[-1].check_letters(letters, "aligned letters")
    found = [piece_runs(scoring, moves, *pairs) for scoring in able]
    return next((runs for runs in found if runs.count("=") == matches), found[0])
