"""The results of the pairs of a command, as rows in the order of the pairs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ..errors import RangeError, SequenceError
from ..results.formats.row import Row, row_of, rows_of
from . import region
from .asked import align_asked, many_asked, top_asked
from .batches import align_parts
from .selection import select
from .verbose import Report

if TYPE_CHECKING:
    from ..api.bar import ProgressBar
    from ..results.alignment import Alignment
    from ..sequences.sequence import Sequence
    from .pairs import Pair


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


def has_batches(args: argparse.Namespace) -> bool:
    """Can the batch engine do what is asked about each pair?"""
    whole = args.query_range is None and args.target_range is None
    cells = args.max_cost == "auto" and args.checkpoint is None
    return whole and cells and args.alignments is None and not args.second_best


def in_batches(
    args: argparse.Namespace, pairs: Iterator[Pair], run: Run
) -> Iterator[Iterable[Row]]:
    """The results that are printed, by the batch engine, in chunks.

    Where a choice is made among paths, scores are computed first, and then the paths of the chosen
    pairs, because a path takes some ten times the time of a score."""

    def rows(of: Iterator[Pair], output: str) -> Iterator[Iterable[Row]]:
        options, resources = many_asked(args, output, run.bar)
        begin = partial(run.begin, "" if of is pairs else "chosen ")
        for part, table, stats in align_parts(of, options, resources, begin):
            run.report.add(stats, len(part) if of is pairs else 0)
            free, scoring = options.free.flags, options.scoring
            yield rows_of(part, table, mode=args.mode, scoring=scoring, free_ends=free)

    least, top = args.min_score, args.top
    if args.output != "path" or (least is None and top is None):
        yield from select(rows(pairs, args.output), least, top)
        return
    chosen = select(rows(pairs, "score"), least, top)
    yield from rows(_pairs_of(chosen), "path")


def _pairs_of(chunks: Iterable[Iterable[Row]]) -> Iterator[Pair]:
    for chunk in chunks:
        for row in chunk:
            yield cast("Pair", (row.query, row.target))


def one_by_one(
    args: argparse.Namespace, pairs: Iterator[Pair], run: Run
) -> Iterator[Iterable[Row]]:
    """The results that are printed, each pair with `align` or `align_top`."""
    compute = (aligner if args.alignments is None else _top_aligner)(args, run.bar)

    def rows() -> Iterator[Iterable[Row]]:
        for query, target in pairs:
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


def aligner(args: argparse.Namespace, bar: ProgressBar | None) -> Aligner:
    """The best alignment of a pair.  What is odd about the input is said by the command, once."""
    from ..api.align import align_with

    options, resources = align_asked(args, bar)

    def compute(query: Sequence, target: Sequence) -> list[Alignment]:
        placed = _placed(args, options, query, target)
        return [align_with(query, target, placed, resources, quiet=True)]

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
