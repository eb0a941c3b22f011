"""What readers have in common: the lines of a file, which errors name, and their records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ...errors import FormatError
from ..cigar import Runs
from .writer import runs_of

_CIGAR, _PADDING = re.compile(r"(?:[0-9]+[MIDNSHP=X])+"), re.compile(r"[0-9]+P")
_CLIPPED = re.compile(r"(?=.)((?:[0-9]+[SH])*)((?:[0-9]+[MIDNP=X])*)((?:[0-9]+[SH])*)")
_TAG = re.compile(r"([A-Za-z][A-Za-z0-9]):([AifZHB]):(.*)", re.DOTALL)


class Record(NamedTuple):
    """An alignment that was read from a file; None for what the file does not say.

    Coordinates are 0-based and half-open in the whole sequences as given, on either strand, and
    ``runs`` follow the target, as in `Alignment`."""

    query_name: str
    query_length: int | None
    query_start: int
    query_end: int
    #: "plus" or "minus".
    strand: str
    target_name: str
    target_length: int | None
    target_start: int
    target_end: int
    score: int | float | None
    matches: int | None
    columns: int | None
    #: The path; a file may have 'M' for '=' and 'X', and 'N' for letters of the target that are
    #: skipped (an intron), which are no columns.
    runs: Runs | None
    #: What else the file says, by its own names.
    more: dict[str, Any]

    @property
    def cigar(self) -> str | None:
        """The path as a CIGAR, or None."""
        return None if self.runs is None else self.runs.cigar

    @property
    def identity(self) -> float | None:
        """Matches divided by columns, or None."""
        matches, columns = self.matches, self.columns
        return None if matches is None or columns is None else matches / max(1, columns)


class Lines:
    """The lines of a file that are not empty, without their ends; an error can name the last."""

    def __init__(self, stream: Iterable[str], where: str) -> None:
        self._stream, self.where, self.number = stream, where, 0

    def __iter__(self) -> Iterator[str]:
        for line in self._stream:
            self.number += 1
            if text := line.rstrip("\r\n"):
                yield text

    def wrong(self, what: str) -> FormatError:
        """The error of the line that was read last."""
        return FormatError(f"{self.where}: line {self.number}: {what}")

    def records(self, found: Iterator[Record]) -> Iterator[Record]:
        """What a reader finds; an error of its own is one of the line."""
        try:
            yield from found
        except (ValueError, KeyError, OverflowError) as error:
            if isinstance(error, FormatError):
                raise
            raise self.wrong(f"no {error}" if isinstance(error, KeyError) else str(error)) from None

    def tags(self, columns: Iterable[str]) -> dict[str, Any]:
        """Typed tags, as SAM and PAF have them: numbers as numbers, others as text."""
        found: dict[str, Any] = {}
        for column in columns:
            if (tag := _TAG.fullmatch(column)) is None:
                raise self.wrong(f"{column[:40]!r} is not a tag, like AS:i:42")
            found[tag[1]] = {"i": int, "f": float}.get(tag[2], str)(tag[3])
        return found


def runs_in(lines: Lines, cigar: str) -> tuple[Runs, int, int, int]:
    """The runs of a CIGAR of a file, without 'P', how many letters are clipped before and after
    them, and how many of these the file lacks (H).  Raises FormatError for what is no CIGAR."""
    if (parts := _CLIPPED.fullmatch(cigar)) is None:
        if _CIGAR.fullmatch(cigar):
            raise lines.wrong(f"the CIGAR {cigar[:40]!r} has clips inside")
        raise lines.wrong(f"{cigar[:40]!r} is not a CIGAR")
    before, after = (sum(length for length, _ in runs_of(part)) for part in parts.group(1, 3))
    hard = sum(length for length, op in runs_of(parts[1] + parts[3]) if op == "H")
    return Runs.of_cigar(_PADDING.sub("", parts[2])), before, after, hard


def known_matches(runs: Runs, differences: Any) -> tuple[Runs, int | None]:
    """A path and its matches: those that it names or, of one with 'M', what its columns and its
    ``differences`` (the tag NM) leave.  Where these say that each 'M' is a match, it is a '='."""
    if not (runs.ops == ord("M")).any():
        return runs, runs.count("=")
    if not isinstance(differences, int):
        return runs, None
    matches = runs.count("=XMID") - differences
    if matches == runs.count("=M"):
        ops = runs.ops.copy()
        ops[ops == ord("M")] = ord("=")
        runs = Runs(ops, runs.lengths).merged()
    return runs, matches
