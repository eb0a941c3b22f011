"""The records of QUERY and of TARGET, and the pairs that they make: checked before anything is
computed where that can be, held where they are few, and read again where they are many."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, SequenceError
from ..results.formats import FORMATS

if TYPE_CHECKING:
    from ..api.advice import Tally
    from ..sequences.sequence import Sequence

#: A query and a target.
Pair = tuple["Sequence", "Sequence"]
#: Is told of a bad record, which is left out; None: such a record is an error.
LeftOut = Callable[[SequenceError], None] | None
#: Bytes of the records of a file that are kept in memory; a file with more is read again.
KEEP = 1 << 29
#: Bytes of a record beside its letters.
RECORD = 400
#: Stands for a record past the end.
_END: Any = object()


class Records:
    """The records of one file.  ``look(record, again)`` raises SequenceError for one that cannot be
    aligned; ``again``: it has seen the record before.  With ``left_out``, which is told of them,
    bad records are left out: None stands in their place.  A file that can be read again is checked
    at once, and held if it has one record or few letters."""

    def __init__(
        self, path: str, look: Callable[[Sequence, bool], None], left_out: LeftOut = None
    ) -> None:
        self.path, self._look, self._left_out = path, look, left_out
        #: May the file be read again?  Neither standard input nor a pipe may.
        self.again = Path(path).is_file()
        #: How many records there are, bad ones included; None if that is not known.
        self.count: int | None = None
        #: How many letters they have, if that is known.
        self.letters = 0
        self._held: list[Sequence | None] | None = None
        if not self.again:
            return
        held: list[Sequence | None] = []
        count = size = 0
        for count, record in enumerate(self._read(), 1):
            letters = 0 if record is None else len(record)
            self.letters += letters
            size += RECORD + letters * (1 if record is None or record.quality is None else 2)
            held.append(record)
            if size > KEEP and count > 1:
                held.clear()
        self.count, self._held = count, held if len(held) == count else None

    def read(self, once_more: bool = False) -> Iterator[Sequence | None]:
        """The records in order.  ``once_more``: those of a pipe are held for another reading."""
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

        told = self.count is not None  # by the first reading
        bad: list[None] = []

        def leave_out(error: SequenceError) -> None:
            if self._left_out is None:
                raise error
            bad.append(None)
            if not told:
                self._left_out(error)

        for record in read_sequences(self.path, None if self._left_out is None else leave_out):
            try:
                if self._left_out is not None or not told:
                    self._look(record, told)
            except SequenceError as error:
                leave_out(error)
                continue
            yield from bad
            bad.clear()
            yield record
        yield from bad


def sides_of(
    args: Namespace, tally: Tally, listed: list[tuple[str, int]], left_out: LeftOut = None
) -> tuple[Records, Records]:
    """The records of QUERY and of TARGET.  ``tally`` counts the letters that are compared, and
    ``listed`` gets name and length of each target if they are needed before any result."""
    lists = FORMATS[args.outfmt.name].lists_targets

    def look(side: str, record: Sequence, again: bool) -> None:
        start, end = place(args, side, record)
        letters = record.letters[start:end]
        try:
            tally.scoring.check_letters(letters, side, start)
        except SequenceError as error:
            raise SequenceError(f"{side} {record.name}: {error}") from None
        if lists and side == "target" and not again:
            listed.append((record.name, len(record)))
        if tally.needed and not again:
            tally.add(letters)

    queries, targets = (
        Records(getattr(args, side), partial(look, side), left_out) for side in ("query", "target")
    )
    if lists and not targets.again:
        deque(targets.read(once_more=True), 0)
    return queries, targets


def place(args: Namespace, side: str, record: Sequence) -> tuple[int, int]:
    """The part that is compared of this record of a side ("query" or "target").  Raises InputError,
    in the numbers of the command line, for a range that leaves the record."""
    given: tuple[int, int | None] | None = getattr(args, f"{side}_range")
    if given is None:
        return 0, len(record)
    start, end = given[0], len(record) if given[1] is None else given[1]
    if not start < end <= len(record):
        shown = f"{start + 1}-{given[1] or ''}"
        raise InputError(
            f"--{side}-range {shown} goes past the end of {side} {record.name}, "
            f"which has {len(record)} letters"
        )
    return start, end


def ranges(args: Namespace, query: Sequence, target: Sequence) -> dict[str, Any]:
    """The options that say which parts of these records are compared.  Raises InputError."""
    sides = {"query_range": ("query", query), "target_range": ("target", target)}
    return {k: None if getattr(args, k) is None else place(args, *one) for k, one in sides.items()}


def every_pair(queries: Records, targets: Records) -> Iterator[Pair]:
    """Every query with every target, in the order of the files, without those that are left out;
    targets of a pipe are held as a whole, unless there is only one query."""
    ahead = not targets.again
    source = (record for record in queries.read() if record is not None)
    query = next(source, None)
    while query is not None:
        following = next(source, None) if ahead else None
        for target in targets.read(once_more=following is not None):
            if target is not None:
                yield query, target
        query = following if ahead else next(source, None)


def matched_pairs(queries: Records, targets: Records) -> Iterator[Pair]:
    """Record i of one with record i of the other, without the pairs of which a record is left out.
    Raises InputError for different numbers of records, at once if both are known."""
    counts = queries.count, targets.count
    if None in counts or counts[0] == counts[1]:
        q = t = 0
        for query, target in zip_longest(queries.read(), targets.read(), fillvalue=_END):
            q, t = q + (query is not _END), t + (target is not _END)
            if query not in (None, _END) and target not in (None, _END):
                yield query, target
        if q == t:
            return
        counts = q, t
    names = ["standard input" if side.path == "-" else side.path for side in (queries, targets)]
    raise InputError(
        f"--pairs aligns record i of QUERY with record i of TARGET, but {names[0]} has "
        f"{counts[0]:,} and {names[1]} has {counts[1]:,}; "
        "without --pairs every query is aligned with every target"
    )


def counted(pairs: Iterator[Pair], count: Counter[str]) -> Iterator[Pair]:
    """The pairs; counts "queries", and the "targets" of the first, which are those of any."""
    last = None
    for query, target in pairs:
        count["queries"] += query is not last
        count["targets"] += count["queries"] == 1
        last = query
        yield query, target


def how_many(queries: Records, targets: Records, matched: bool) -> tuple[int | None, int | None]:
    """How many pairs and cells there are, those that are left out included; None: not known."""
    if queries.count is None or targets.count is None:
        return None, None
    cells = None if matched else queries.letters * targets.letters
    return queries.count * (1 if matched else targets.count), cells
