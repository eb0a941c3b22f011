"""The results of the pairs of a command one after the other, and which of them are printed."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from heapq import nlargest
from itertools import groupby
from typing import TYPE_CHECKING

from ..errors import RangeError, SequenceError
from ..results.formats.row import Row, row_of
from .asked import align_asked
from .output import Running
from .records import ranges

if TYPE_CHECKING:
    from ..results.alignment import Alignment
    from ..sequences.sequence import Sequence
    from .records import Pair
    from .saved_pairs import SavedPairs

#: What is said of pairs that are compared one after the other.
ONE_BY_ONE = (
    "note: with {} pairs are compared one after the other; without it all go to the device together"
)


def has_batches(args: argparse.Namespace) -> bool:
    """Can the batch engine do what is asked about each pair?"""
    cells = args.max_cost in ("auto", None) and args.checkpoint is None
    return cells and args.alignments is None


def one_by_one(
    args: argparse.Namespace, pairs: Iterable[Pair], to: Running, saved: SavedPairs | None = None
) -> Iterator[Iterable[Row]]:
    """The results, each pair with `align` or `align_top`.  ``saved``: each has a checkpoint."""
    compute = aligner(args, to, saved)
    slow = "--max-cost N" if args.alignments is None else "--alignments"
    note = ONE_BY_ONE.format(slow if saved is None else "--checkpoint")
    for query, target in pairs if has_batches(args) else to.patiently(pairs, note):
        to.begin_part()
        try:
            found = compute(query, target)
        except (SequenceError, RangeError) as error:
            raise type(error)(f"query {query.name}, target {target.name}: {error}") from error
        to.add(result.stats for result in found)
        yield list(map(row_of, found))


def drawn(args: argparse.Namespace, pairs: Iterable[Pair], to: Running) -> Iterator[Iterable[Row]]:
    """The results, which are drawn, too: with tiles that are small enough for that."""
    from ..results.plot import picture_plan

    for query, target in pairs:
        parts = ranges(args, query, target).values()
        sizes = (
            len(one) if part is None else part[1] - part[0]
            for one, part in zip((query, target), parts, strict=True)
        )
        args.plan = picture_plan(args.plan, *sizes)
        found = aligner(args, to)(query, target)
        to.add(result.stats for result in found)
        found[0].plot(args.picture)
        yield list(map(row_of, found))


def aligner(
    args: argparse.Namespace, to: Running, saved: SavedPairs | None = None
) -> Callable[[Sequence, Sequence], list[Alignment]]:
    """What finds the best alignment of a pair, or the best ones that share no aligned pair of
    letters.  What is odd about the input is said by the command, once."""
    from ..api.align import align_with
    from ..api.top import align_top_with

    options, resources = align_asked(args, to.bar)

    def compute(query: Sequence, target: Sequence) -> list[Alignment]:
        parts = ranges(args, query, target)
        placed = options if set(parts.values()) == {None} else replace(options, **parts)
        if args.alignments is not None:
            return align_top_with(query, target, placed, resources, quiet=True)
        with nullcontext(resources) if saved is None else saved.next(resources) as one:
            return [align_with(query, target, placed, one, quiet=True)]

    return compute


def select(
    chunks: Iterable[Iterable[Row]], least: float | None, top: int | None
) -> Iterator[Iterable[Row]]:
    """The rows that score at least ``least``; with ``top``, of each query at most so many, the best
    first, and equal scores in the order they came in.

    The rows of a query come one after the other.  At most ``top`` of them, and those of a
    chunk, are held."""
    best: list[Row] = []
    for chunk in chunks:
        if least is not None:
            chunk = [row for row in chunk if row.score >= least]
        if top is None:
            yield chunk
            continue
        done: list[Row] = []
        for _, rows in groupby(chunk, lambda row: id(row.query)):
            some = list(rows)
            if best and best[0].query is not some[0].query:
                done, best = done + best, []
            best = nlargest(top, best + some, key=lambda row: row.score)
        yield done
    yield best
