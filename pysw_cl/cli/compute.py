"""The results of the pairs of a command, as rows in the order of the pairs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..errors import RangeError, SequenceError
from ..results.formats.row import Row, TableRows, row_of
from . import region
from .asked import align_asked, many_asked, top_asked
from .output import patiently
from .selection import select
from .verbose import Report

if TYPE_CHECKING:
    from ..api.bar import ProgressBar
    from ..results.alignment import Alignment
    from ..sequences.sequence import Sequence
    from .pairs import Pair
    from .saved_pairs import SavedPairs


@dataclass(frozen=True)
class Run:
    """Who is told how far the pairs of a command are."""

    bar: ProgressBar | None
    report: Report
    #: How many pairs there are; None if that is not known.
    pairs: int | None
    #: How many cells they have.
    cells: int | None

    def expect(self, batches: bool) -> None:
        """Several pairs are next, in batches or one after the other."""
        if self.bar is not None:
            self.bar.expect(self.pairs, self.cells if batches else None)

    def begin(self, label: str = "") -> None:
        """The next part is begun."""
        if self.bar is not None:
            self.bar.begin(label)


#: What is said of pairs that are compared one after the other.
ONE_BY_ONE = (
    "note: with {} pairs are compared one after the other; without it all go to the device together"
)


def has_batches(args: argparse.Namespace) -> bool:
    """Can the batch engine do what is asked about each pair?"""
    cells = args.max_cost in ("auto", None) and args.checkpoint is None
    return cells and args.alignments is None


def in_batches(
    args: argparse.Namespace, pairs: Iterator[Pair], run: Run
) -> Iterator[Iterable[Row]]:
    """The results that are printed, by the batch engine, in chunks."""
    from .batches import Choice, tables_of  # NumPy

    least, top = args.min_score, args.top

    def rows() -> Iterator[Iterable[Row]]:
        options, resources = many_asked(args, args.output, run.bar)
        scoring = options.scoring
        common = {"mode": args.mode, "scoring": scoring, "free_ends": options.free.flags}
        chosen = None if least is None and top is None else Choice(least, top, scoring.scale)
        ranges = args.query_range, args.target_range
        for part, table, stats in tables_of(pairs, options, resources, run.begin, ranges, chosen):
            run.report.add(stats, len(part))
            if chosen is not None:
                part = [part[k] for k in table["pair"].tolist()]
            yield TableRows(part, table, common)

    yield from select(rows(), least, top)


def one_by_one(
    args: argparse.Namespace, pairs: Iterator[Pair], run: Run, saved: SavedPairs | None = None
) -> Iterator[Iterable[Row]]:
    """The results that are printed, each pair with `align` or `align_top`."""
    if args.alignments is None:
        compute = aligner(args, run.bar, saved)
    else:
        compute = _top_aligner(args, run.bar)
    slow = "--max-cost N" if args.alignments is None else "--alignments"
    slow = slow if saved is None else "--checkpoint"

    def rows() -> Iterator[Iterable[Row]]:
        note = ONE_BY_ONE.format(slow)
        for query, target in pairs if has_batches(args) else patiently(pairs, note, run.bar):
            run.begin()
            try:
                found = compute(query, target)
            except (SequenceError, RangeError) as error:
                raise type(error)(f"query {query.name}, target {target.name}: {error}") from error
            run.report.add_all(result.stats for result in found)
            yield list(map(row_of, found))

    yield from select(rows(), args.min_score, args.top)


#: Aligns a query with a target.
Aligner = Callable[["Sequence", "Sequence"], "list[Alignment]"]


def aligner(
    args: argparse.Namespace, bar: ProgressBar | None, saved: SavedPairs | None = None
) -> Aligner:
    """The best alignment of a pair.  What is odd about the input is said by the command, once.
    ``saved``: each pair has a checkpoint there."""
    from ..api.align import align_with

    options, resources = align_asked(args, bar)

    def compute(query: Sequence, target: Sequence) -> list[Alignment]:
        placed = _placed(args, options, query, target)
        with nullcontext(resources) if saved is None else saved.next(resources) as one:
            return [align_with(query, target, placed, one, quiet=True)]

    return compute


def _top_aligner(args: argparse.Namespace, bar: ProgressBar | None) -> Aligner:
    """The best alignments of a pair that share no aligned pair of letters."""
    from ..api.top import align_top_with

    options, resources = top_asked(args, bar)

    def compute(query: Sequence, target: Sequence) -> list[Alignment]:
        placed = _placed(args, options, query, target)
        return align_top_with(query, target, placed, resources, quiet=True)

    return compute


def _placed(args: argparse.Namespace, options: Any, query: Sequence, target: Sequence) -> Any:
    """The options with the ranges of these records."""
    query_range, target_range = region.ranges(args, query, target)
    if query_range is None and target_range is None:
        return options
    return replace(options, query_range=query_range, target_range=target_range)
