"""``pysw-cl align``."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from ..errors import LettersWarning
from ..results.formats import FORMATS, make_writer
from ..results.formats.files import written
from . import region
from .arguments import add_compared, add_plan, add_results, count, number
from .asked import (
    advise,
    align_asked,
    check_together,
    plan_asked,
    setting_asked,
    top_asked,
    usage,
)
from .checkpoint import add_limits, resumable
from .compute import Run, has_batches, in_batches, one_by_one
from .output import Results, say
from .pairs import every_pair, how_many, matched_pairs, only
from .progress import add_quiet, progress_of
from .records import LeftOut, Records, letter_check
from .verbose import Report

if TYPE_CHECKING:
    from ..api.advice import Tally
    from ..results.formats.row import Row
    from ..sequences.sequence import Sequence
    from .pairs import Pair


def add_to(commands: Any) -> None:
    """Declare the subcommand."""
    parser = commands.add_parser(
        "align",
        help="align every query against every target",
        description="Align every record of QUERY against every record of TARGET. Both are FASTA "
        "files, plain or gzip; - is standard input.",
    )
    add_compared(parser)
    _add_choice(parser.add_argument)
    add_results(parser.add_argument)
    add_plan(parser.add_argument)
    parser.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="for one query and one target: save rows there, and go on if a run was interrupted",
    )
    add_limits(parser.add_argument)
    add_quiet(parser.add_argument)
    parser.set_defaults(run=run, usage_error=parser.error)


def _add_choice(add: Any) -> None:
    """Declare which pairs are aligned, and which results are printed."""
    add(
        "--pairs",
        action="store_true",
        help="align record i of QUERY with record i of TARGET only",
    )
    add(
        "--skip-bad",
        action="store_true",
        help="leave out records that are empty or have letters that the scoring does not have; "
        "each is named on standard error (default: they are an error)",
    )
    add("--min-score", metavar="N", type=number, help="leave out results that score less")
    add(
        "--top",
        metavar="N",
        type=count,
        help="the N best targets of each query, the best first; the order of the file where scores "
        "are equal",
    )
    add(
        "--alignments",
        metavar="K",
        type=count,
        help="up to K local alignments a pair that share no aligned pair of letters, best first, "
        "which score at least 1 or --min-score",
    )


def run(args: argparse.Namespace) -> int:
    """Align the pairs of records, and print the results."""
    from ..api.advice import Tally, warn_of_letters
    from ..drivers.options import ModeOptions

    _check(args)
    with usage(args):
        options = (align_asked if args.alignments is None else top_asked)(args, None)[0]
    scoring = options.scoring
    ends = options.free.flags if isinstance(options, ModeOptions) else ()
    setting = setting_asked(args, args.output, scoring, args.mode, ends)
    advise(args, scoring)
    plan = plan_asked(args)
    with (
        written(args.out) as stream,
        progress_of(sys.stderr, args.quiet) as bar,
        resumable(args.checkpoint),
    ):
        tell = partial(say, bar=bar)
        left_out = LeftOut(tell)
        report = Report(tell if args.verbose else None)
        report.begin(args.device, plan)
        tally = Tally(scoring)
        sides, listed = _sides(args, tally, left_out)
        results = Results(
            stream, make_writer(args.outfmt.name, replace(setting, targets=listed)), bar
        )
        pairs = (matched_pairs if args.pairs else every_pair)(*sides)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LettersWarning)  # of each part; it is said once below
            for rows in _rows(args, pairs, Run(bar, report, *how_many(*sides, args.pairs))):
                results.write(rows)
        results.end()
        warn_of_letters(tally)
        report.end()
        left_out.summary()
    return 0


def _rows(args: argparse.Namespace, pairs: Iterator[Pair], run: Run) -> Iterator[Iterable[Row]]:
    """The rows that are printed.  Several pairs go through the batch engine if it can do what is
    asked."""
    if args.checkpoint is not None:
        pairs = only(pairs, "a checkpoint")
    first = list(islice(pairs, 2))
    if len(first) == 1 and args.top is not None:
        say(
            "note: --top keeps the best targets of each query; for several alignments of one pair, "
            "which it once gave, there is --alignments",
            run.bar,
        )
    batches = len(first) > 1 and has_batches(args)
    if len(first) > 1:
        run.expect(batches)
    return (in_batches if batches else one_by_one)(args, chain(first, pairs), run)


def _sides(
    args: argparse.Namespace, tally: Tally, left_out: LeftOut
) -> tuple[tuple[Records, Records], list[tuple[str, int]]]:
    """The records of the two files, which are checked where they can be read again, and name and
    length of the targets, if the format lists them; those of a pipe are read for that.  The letters
    that are compared are counted by ``tally``."""
    listed: list[tuple[str, int]] = []
    lists = FORMATS[args.outfmt.name].lists_targets

    def note(side: str, record: Sequence) -> None:
        if lists and side == "target":
            listed.append((record.name, len(record)))
        if tally.needed:
            start, end = region.place(args, side, record) or (0, len(record))
            tally.add(record.letters[start:end])

    queries, targets = (
        Records(
            getattr(args, side),
            letter_check(tally.scoring, side, partial(region.place, args, side)),
            left_out if args.skip_bad else None,
            note=partial(note, side) if tally.needed or lists else None,
        )
        for side in ("query", "target")
    )
    queries.survey()
    targets.survey()
    if lists and not targets.again:
        deque(targets.read(once_more=True), 0)
    return (queries, targets), listed


def _check(args: argparse.Namespace) -> None:
    """End with a usage error where arguments do not go together."""
    several, saved = args.alignments is not None, args.checkpoint is not None
    check_together(args,
        (args.top is not None and args.pairs,
         "--top goes without --pairs, where each query has one target"),
        (args.top is not None and saved, "--top goes without --checkpoint"),
        (several and args.top is not None, "--alignments goes without --top"),
        (several and saved, "--alignments goes without --checkpoint"),
        (several and args.mode != "local", "--alignments is for --mode local"),
        (several and (args.free_ends is not False or args.max_cost != "auto"),
         "--alignments goes without --free-ends and --max-cost, which are for --mode global"),
    )  # fmt: skip
