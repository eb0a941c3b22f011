"""The pairs of records that the two files of a command line make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

from ..errors import InputError
from .records import Records

if TYPE_CHECKING:
    from ..sequences.sequence import Sequence

    #: A query and a target.
    Pair = tuple[Sequence, Sequence]


class _End:
    """What stands for a record past the end."""


_END = _End()


def every_pair(queries: Records, targets: Records) -> Iterator[Pair]:
    """Every query with every target, in the order of the files, without those that are left out.

    Targets of a pipe are held as a whole, unless there is only one query."""
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

    Raises InputError for different numbers of records: before the first pair where both are known,
    else where one ends."""
    if None not in (queries.count, targets.count) and queries.count != targets.count:
        raise _unmatched(queries, targets, (queries.count, targets.count))
    sources = queries.read(), targets.read()
    for done, (query, target) in enumerate(zip_longest(*sources, fillvalue=_END)):
        if isinstance(query, _End) or isinstance(target, _End):
            counts = tuple(
                done + (0 if record is _END else 1 + sum(1 for _ in source))
                for record, source in zip((query, target), sources, strict=True)
            )
            raise _unmatched(queries, targets, counts)
        if query is not None and target is not None:
            yield query, target


def counted(pairs: Iterator[Pair], count: Counter[str]) -> Iterator[Pair]:
    """The pairs; counts "queries", and the "targets" of the first, which are those of any."""
    last = None
    for query, target in pairs:
        count["queries"] += query is not last
        count["targets"] += count["queries"] == 1
        last = query
        yield query, target


def how_many(queries: Records, targets: Records, matched: bool) -> tuple[int | None, int | None]:
    """How many pairs there are, those that are left out included, and how many cells they have;
    None for what is not known."""
    if queries.count is None or targets.count is None:
        return None, None
    if matched:
        return queries.count, None
    return queries.count * targets.count, queries.letters * targets.letters


def only(pairs: Iterator[Pair], what: str) -> Iterator[Pair]:
    """The only pair that there is.  Raises InputError if there are more; ``what`` takes one."""
    first = next(pairs, None)
    if next(pairs, None) is not None:
        raise InputError(
            f"{what} is for one query and one target, and the files have more records; give files "
            "with one record each"
        )
    if first is not None:
        yield first


def _unmatched(queries: Records, targets: Records, counts: tuple[int | None, ...]) -> InputError:
    names = ["standard input" if side.path == "-" else side.path for side in (queries, targets)]
    return InputError(
        f"--pairs aligns record i of QUERY with record i of TARGET, but {names[0]} has "
        f"{counts[0]:,} and {names[1]} has {counts[1]:,}; "
        "without --pairs every query is aligned with every target"
    )
