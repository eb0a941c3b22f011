"""What all writers have in common: one result as they see it, wherever it comes from.  A file is
the texts in turn that its `Writer` gives as ``header()``, ``text(rows)`` of some results at a time,
and ``end()``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ..._version import __version__
from ...errors import InputError, printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...scoring.scoring import Scoring
    from ...sequences.sequence import Sequence as Named
    from ..aligned_pair import AlignedPair

#: A sequence as formats have it.
Letters: TypeAlias = "Named | Plain"
#: The program that is named in files.
PROGRAM, VERSION = "pysw_cl", __version__
_RUN = re.compile("([0-9]+)([MIDNSHP=X])")


class Plain:
    """A sequence that was given as a str or bytes, which becomes an array when it is needed."""

    __slots__ = ("_letters", "given", "name")
    description = ""
    quality = None

    def __init__(self, given: str | bytes, name: str = "") -> None:
        self.given, self.name = given, name
        self._letters: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.given)

    def read(self, start: int = 0, stop: int | None = None) -> NDArray[np.uint8]:
        """Its letters from ``start`` up to ``stop`` in ASCII."""
        if self._letters is None:
            from ...sequences.sequence import as_sequence

            self._letters = as_sequence(self.given, check=False).letters
        return self._letters[start:stop]


class Row(NamedTuple):
    """A result, as in `Alignment`, or a row of `align_many`.  What was not computed is None."""

    query: Letters
    target: Letters
    score: int | float
    #: "plus" or "minus".
    strand: str
    query_start: int | None
    query_end: int | None
    target_start: int | None
    target_end: int | None
    matches: int | None
    columns: int | None
    cigar: str | None
    second_best: int | float | None
    expect: float | None
    bits: float | None
    #: Makes the whole alignment from this row.
    make: Callable[[Row], AlignedPair]

    @property
    def has_both(self) -> bool:
        """Has the path a letter of the query and one of the target?  A global path may be a gap in
        one of them alone, which has no place in formats whose positions are inclusive."""
        return self.query_start != self.query_end and self.target_start != self.target_end

    def alignment(self) -> AlignedPair:
        return self.make(self)

    def cigar_for(self, what: str) -> str:
        """The CIGAR.  Raises InputError, with the name of a format, if there is none."""
        if self.cigar is None:
            raise InputError(f"{what} needs a path; align with output='path', or write TSV")
        return self.cigar


_fields = attrgetter(*Row._fields[:-1])


def row_of(found: AlignedPair) -> Row:
    return Row._make((*_fields(found), lambda _: found))


def without_blanks(name: str, default: str) -> str:
    """A name without blanks, which would break a line of columns."""
    if name and name.isprintable() and " " not in name:
        return name
    return printable(name, "_") or default


def expect_text(value: float, digits: int = 2) -> str:
    """An expect value as BLAST writes it, with so many digits behind the point of 1e-50."""
    if value < 1e-180:
        return "0.0"
    if value < 0.0009:
        return f"{value:.{digits}e}"
    return f"{value:.{3 if value < 0.1 else 2 if value < 1 else 1 if value < 10 else 0}f}"


def bits_text(value: float) -> str:
    """A bit score as BLAST writes it: above 99.9 without the fraction, which it cuts."""
    if value > 99_999:
        return f"{value:.3e}"
    return str(int(value)) if value > 99.9 else f"{value:.1f}"


def title_of(of: Letters, default: str) -> str:
    """A name without blanks, and the description."""
    return printable(f"{without_blanks(of.name, default)} {of.description}")


def runs_of(cigar: str) -> list[tuple[int, str]]:
    """The runs of an extended CIGAR: length and operation of each."""
    return [(int(length), op) for length, op in _RUN.findall(cigar)]


@cache
def complement() -> bytes:
    """The table of complements, for bytes."""
    from ...sequences.alphabet import COMPLEMENT

    return COMPLEMENT.tobytes()


def bytes_of(of: Letters, start: int | None = None, end: int | None = None) -> bytes:
    """Letters of a sequence, all of them by default."""
    if isinstance(of, Plain):
        part = of.given[start:end]
        return part.encode("ascii") if isinstance(part, str) else part
    return of.read(start or 0, end).tobytes()


def aligned_texts(row: Row) -> tuple[str, str]:
    """`AlignedPair.aligned` of a row with a path, which is faster here for short ones."""
    letters = bytes_of(row.query, row.query_start, row.query_end)
    if row.strand == "minus":
        letters = letters.translate(complement())[::-1]
    query = letters.decode("ascii")
    target = bytes_of(row.target, row.target_start, row.target_end).decode("ascii")
    if row.cigar is None or not ("I" in row.cigar or "D" in row.cigar):
        return query, target
    ours: list[str] = []
    theirs: list[str] = []
    i = j = 0
    for length, op in runs_of(row.cigar):
        rows, columns = length * (op != "D"), length * (op != "I")
        ours.append(query[i : i + rows] or "-" * length)
        theirs.append(target[j : j + columns] or "-" * length)
        i, j = i + rows, j + columns
    return "".join(ours), "".join(theirs)


def along_query(row: Row, table: bytes) -> tuple[bytes, bytes]:
    """The letters of query and target with gaps, along the query, as ``table`` writes them."""
    query, target = (text.encode("ascii").translate(table) for text in aligned_texts(row))
    if row.strand == "minus":
        return query.translate(complement())[::-1], target.translate(complement())[::-1]
    return query, target


@dataclass(frozen=True)
class Setting:
    """What is the same for all results of a file."""

    #: What was computed: "score", "ends", "matches" or "path".
    output: str = "path"
    #: None: there are no results.
    scoring: Scoring | None = None
    #: The mode, the free ends and the heuristic, if any; see `mode_in_words`.
    mode: str = ""
    heuristic: str = ""
    #: The columns that are asked for; none: the usual ones.
    fields: tuple[str, ...] = ()
    #: Name and length of every target, for formats that list them.
    targets: list[tuple[str, int]] = field(default_factory=list)
    #: The numbers of "queries" so far, of the "targets" of each, of their "letters", if known.
    searched: Counter[str] = field(default_factory=Counter)
    #: The command line that the results come from, or "".
    command: str = ""
    #: Letters on a line (None: the usual number), and columns that are shown (None: all).
    width: int | None = None
    limit: int | None = None
    #: Do results have the score of the second best end?
    second_best: bool = False
    #: Do they have expect values and bit scores?
    expects: bool = False


class Writer:
    """Writes one file in one format.  ``entry`` is the text of one result."""

    entry: Callable[[Row], str]

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    def header(self) -> str:
        """What stands before all results."""
        return ""

    def text(self, rows: Iterable[Row]) -> str:
        """The text of the next results, as far as it can be said before later ones are known."""
        return "".join(map(self.entry, rows))

    def end(self) -> str:
        """What stands after all results."""
        return ""


class ByQuery(Writer):
    """A writer that has to know all results of a query, which follow each other, at once:
    ``query`` makes the text of those of one."""

    query: Callable[[list[Row]], str]

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._held: list[Row] = []

    def text(self, rows: Iterable[Row]) -> str:
        """The text of the queries that are complete."""
        groups = [self._held]
        for row in rows:
            if groups[-1] and not is_same(groups[-1][0].query, row.query):
                groups.append([])
            groups[-1].append(row)
        self._held = groups.pop()
        return self.queries(groups) if groups else ""

    def queries(self, groups: list[list[Row]]) -> str:
        return "".join(map(self.query, groups))

    def end(self) -> str:
        held, self._held = self._held, []
        return self.queries([held]) if held else ""


def is_same(one: Letters, other: Letters) -> bool:
    if one is other or not one.name or one.name != other.name or len(one) != len(other):
        return one is other
    return bool((one.read() == other.read()).all())


def by_subject(rows: Iterable[Row]) -> list[list[Row]]:
    """The results of one query, those of each target in a list of their own, in order."""
    found: list[list[Row]] = []
    named: dict[object, list[list[Row]]] = {}
    for row in rows:
        alike = named.setdefault(row.target.name or id(row.target), [])
        own = next((one for one in alike if is_same(one[0].target, row.target)), [])
        if not own:
            alike.append(own)
            found.append(own)
        own.append(row)
    return found


def percent(part: int, whole: int) -> int:
    """A share in percent as BLAST rounds it: never up to 100."""
    return min(99, int(100 * part / whole + 0.5)) if part < whole else 100


def as_scored(scoring: Scoring | None) -> bytes:
    """The table of what bytes of aligned letters are written as: the letter of the alphabet that
    they are scored as, in upper case where case does not count; gaps stay, and so do letters
    outside it, which a position matrix without a query has."""
    from ...sequences.alphabet import NO_CODE, folds_case

    if scoring is None:
        return bytes(range(256))
    letters = scoring.letters.upper() if folds_case(scoring.letters) else scoring.letters
    table = scoring.table(letters.encode())
    table[ord("-")] = ord("-")
    return bytes(k if code == NO_CODE else code for k, code in enumerate(table.tolist()))


def mode_in_words(mode: str, free_ends: Iterable[bool] = (), heuristic: str = "") -> str:
    """The mode, the free ends, if any, as the command line takes them, and what was left out."""
    ends = ",".join(str(int(is_free)) for is_free in free_ends)
    return "; ".join(filter(None, [mode, f"free ends {ends}" if "1" in ends else "", heuristic]))
