"""What all writers have in common: a writer turns the results of one file into text, part by part.

Whoever has the file asks for ``header()`` once, then for ``text(rows)`` of some results at a time,
and at last for ``end()``; the file is these texts in turn.  A result is a :class:`.row.Row`,
whichever function it comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..._version import __version__
from ...errors import InputError
from ...sequences.alphabet import folds_case

if TYPE_CHECKING:
    from ...scoring.scoring import Scoring
    from .row import Letters, Row

#: The program that is named in files.
PROGRAM, VERSION = "pysw_cl", __version__


@dataclass(frozen=True)
class Setting:
    """What is the same for all results of a file."""

    #: What was computed: "score", "ends", "matches" or "path".
    output: str = "path"
    #: None: there are no results.
    scoring: Scoring | None = None
    #: The mode and the free ends; see `mode_in_words`.
    mode: str = ""
    #: The columns that are asked for; none: the usual ones.
    fields: tuple[str, ...] = ()
    #: Name and length of every target, for formats that list them.
    targets: Sequence[tuple[str, int]] = ()
    #: How many "queries" there were so far, and "targets" of each, which is known when the results
    #: of a query are; empty: the results say it.
    searched: Mapping[str, int] = field(default_factory=dict)
    #: The command line that the results come from, or "".
    command: str = ""
    #: Letters on a line (None: as is usual for the format), and columns of an alignment that are
    #: shown (None: all).
    width: int | None = None
    limit: int | None = None
    #: Do results have the score of the second best end?
    second_best: bool = False


class Writer:
    """Writes one file in one format."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    def header(self) -> str:
        """What stands before all results."""
        return ""

    def text(self, rows: Iterable[Row]) -> str:
        """The text of the next results, as far as it can be said before later ones are known."""
        return "".join(map(self.entry, rows))

    def entry(self, row: Row) -> str:
        """The text of one result."""
        raise NotImplementedError

    def end(self) -> str:
        """What stands after all results."""
        return ""


class ByQuery(Writer):
    """A writer that has to know all results of a query, which follow each other, at once."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._held: list[Row] = []

    def text(self, rows: Iterable[Row]) -> str:
        """The text of the queries that are complete."""
        groups = [self._held]
        for row in rows:
            if groups[-1] and not _same(groups[-1][0].query, row.query):
                groups.append([])
            groups[-1].append(row)
        self._held = groups.pop()
        return self.queries(groups) if groups else ""

    def end(self) -> str:
        """The text of the last query."""
        held, self._held = self._held, []
        return self.queries([held]) if held else ""

    def queries(self, groups: list[list[Row]]) -> str:
        """The text of all results of some queries, given in lists."""
        raise NotImplementedError


def _same(one: Letters, other: Letters) -> bool:
    """Are two queries one?"""
    if one is other or not one.name or one.name != other.name or len(one) != len(other):
        return one is other
    return bool((one.read() == other.read()).all())


def as_scored(scoring: Scoring | None) -> bytes:
    """The table of what bytes of aligned letters are written as: the letter of the alphabet that
    they are scored as, in upper case where case does not count; gaps stay."""
    if scoring is None:
        return bytes(range(256))
    letters = scoring.letters.upper() if folds_case(scoring.letters) else scoring.letters
    table = scoring.table(letters.encode())
    table[ord("-")] = ord("-")
    return table.tobytes()


def mode_in_words(mode: str, free_ends: Iterable[bool] = ()) -> str:
    """The mode, and the free ends, if any, as the command line takes them."""
    ends = [str(int(is_free)) for is_free in free_ends]
    return f"{mode}; free ends {','.join(ends)}" if "1" in ends else mode


def cigar_of(row: Row, what: str) -> str:
    """The CIGAR of a result.  Raises InputError if it has none."""
    if row.cigar is None:
        raise InputError(f"{what} needs a path; align with output='path', or write TSV")
    return row.cigar
