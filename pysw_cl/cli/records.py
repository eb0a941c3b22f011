"""The records of QUERY and of TARGET: checked before anything is computed where that can be, held
where they are few, and read again where they are many."""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SequenceError
from . import region

if TYPE_CHECKING:
    from ..api.advice import Tally
    from ..scoring.scoring import Scoring
    from ..sequences.sequence import Sequence

#: Bytes of the records of a file that are kept in memory; a file with more is read again.
KEEP = 1 << 29
#: Bytes of a record beside its letters.
RECORD = 400


class LeftOut:
    """Tells which records are left out because they are bad, and counts them."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say, self.count = say, 0

    def __call__(self, error: SequenceError) -> None:
        self.count += 1
        self._say(f"left out: {error}")

    def summary(self) -> None:
        """Tell how many there were, if any."""
        if self.count:
            were = "record was" if self.count == 1 else "records were"
            self._say(f"{self.count:,} {were} left out")


class Records:
    """The records of one file.  ``check`` raises SequenceError for one that cannot be aligned.

    With ``left_out``, which is told of them, bad records are left out: None stands in their place.
    ``note`` is told of every other one, once.  ``keep``: bytes that are kept in memory (default:
    `KEEP`).
    """

    def __init__(
        self,
        path: str,
        check: Callable[[Sequence], None],
        left_out: LeftOut | None = None,
        keep: int | None = None,
        note: Callable[[Sequence], None] | None = None,
    ) -> None:
        self.path, self._check, self._left_out = path, check, left_out
        self._keep = KEEP if keep is None else keep
        self._note = note
        #: May the file be read again?  Neither standard input nor a pipe may.
        self.again = Path(path).is_file()
        #: How many records there are, bad ones included; None if that is not known.
        self.count: int | None = None
        #: How many letters the survey found.
        self.letters = 0
        self._held: list[Sequence | None] | None = None

    def survey(self) -> None:
        """Read a file that can be read again, so that it is known to be sound, and hold it if it
        has one record or few letters."""
        if not self.again:
            return
        held: list[Sequence | None] | None = []
        count = size = 0
        for record in self._read():
            count += 1
            letters = 0 if record is None else len(record)
            self.letters += letters
            size += RECORD + letters * (1 if record is None or record.quality is None else 2)
            if size > self._keep and count > 1:
                held = None
            if held is not None:
                held.append(record)
        self.count, self._held = count, held

    def read(self, once_more: bool = False) -> Iterator[Sequence | None]:
        """The records in order.  ``once_more``: they will be read another time, so those of a pipe
        are held."""
        if self._held is not None:
            yield from self._held
        elif self.again or not once_more:
            yield from self._read()
        else:
            held = []
            for record in self._read():
                held.append(record)
                yield record
            self._held = held

    def _read(self) -> Iterator[Sequence | None]:
        from ..sequences.reading import read_sequences

        told = self.count is not None  # by the survey
        bad = 0

        def leave_out(error: SequenceError) -> None:
            nonlocal bad
            bad += 1
            if self._left_out is not None and not told:
                self._left_out(error)

        for record in read_sequences(self.path, None if self._left_out is None else leave_out):
            try:
                if self._left_out is not None or not told:
                    self._check(record)
            except SequenceError as error:
                if self._left_out is None:
                    raise
                leave_out(error)
            else:
                if self._note is not None and not told:
                    self._note(record)
                yield from _nothing(bad)
                bad = 0
                yield record
        yield from _nothing(bad)


def _nothing(count: int) -> Iterator[None]:
    for _ in range(count):
        yield None


def letter_check(
    scoring: Scoring,
    side: str,
    part_of: Callable[[Sequence], tuple[int, int] | None],
) -> Callable[[Sequence], None]:
    """Checks that a record of this side ("query" or "target") has only letters that the scoring
    has.  ``part_of`` gives the part of a record that is compared; None: all of it."""

    def check(record: Sequence) -> None:
        start, end = part_of(record) or (0, len(record))
        try:
            scoring.check_letters(record.letters[start:end], side, start)
        except SequenceError as error:
            raise SequenceError(f"{side} {record.name}: {error}") from None

    return check


def sides_of(
    args: argparse.Namespace,
    tally: Tally,
    left_out: LeftOut | None = None,
    targets_of: list[tuple[str, int]] | None = None,
) -> tuple[Records, Records]:
    """The records of QUERY and of TARGET, which are checked where they can be read again.  The
    letters that are compared are counted by ``tally``; ``left_out``: as for `Records`.

    ``targets_of`` gets name and length of each target; those of a pipe are read for that, and held.
    """

    def note(side: str, record: Sequence) -> None:
        if targets_of is not None and side == "target":
            targets_of.append((record.name, len(record)))
        if tally.needed:
            start, end = region.place(args, side, record) or (0, len(record))
            tally.add(record.letters[start:end])

    noted = tally.needed or targets_of is not None
    queries, targets = (
        Records(
            getattr(args, side),
            letter_check(tally.scoring, side, partial(region.place, args, side)),
            left_out,
            note=partial(note, side) if noted else None,
        )
        for side in ("query", "target")
    )
    queries.survey()
    targets.survey()
    if targets_of is not None and not targets.again:
        deque(targets.read(once_more=True), 0)
    return queries, targets
