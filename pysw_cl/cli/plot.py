"""``pysw-cl plot``."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from functools import partial
from typing import Any

from ..results.formats import make_writer
from ..results.formats.files import written
from ..results.formats.row import row_of
from . import region
from .arguments import add_compared, add_plan, add_results
from .asked import advise, align_asked, check_together, plan_asked, setting_asked, usage
from .checkpoint import add_limits, resumable
from .compute import aligner
from .output import Results, say
from .pairs import every_pair, only
from .progress import add_quiet, progress_of
from .records import Records, letter_check
from .verbose import Report


def add_to(commands: Any) -> None:
    """Declare the subcommand."""
    parser = commands.add_parser(
        "plot",
        help="align a query against a target and draw the path over the matrix",
        description="Align the record of QUERY against the record of TARGET, write the result as "
        "align does, and draw it into PICTURE, whose suffix says the format (.png, .pdf, .svg): "
        "the path, the highest score of each tile, and what was pruned. Needs matplotlib.",
    )
    add_compared(parser)
    parser.add_argument("picture", metavar="PICTURE")
    add_results(parser.add_argument)
    add_plan(parser.add_argument)
    parser.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="save rows there, and go on if a run was interrupted; draw a run that is finished",
    )
    add_limits(parser.add_argument)
    add_quiet(parser.add_argument)
    parser.set_defaults(run=run, usage_error=parser.error)


def run(args: argparse.Namespace) -> int:
    """Align the pair of records, and print and draw the result."""
    same = args.out is not None and os.path.realpath(args.out) == os.path.realpath(args.picture)
    check_together(args, (same, "-o and PICTURE are the same file"))
    from ..results.plot import require

    require()
    with usage(args):
        options = align_asked(args, None)[0]
    scoring = options.scoring
    setting = setting_asked(args, args.output, scoring, args.mode, options.free.flags)
    advise(args, scoring)
    plan = plan_asked(args)
    with (
        written(args.out) as stream,
        progress_of(sys.stderr, args.quiet) as bar,
        resumable(args.checkpoint),
    ):
        report = Report(partial(say, bar=bar) if args.verbose else None)
        report.begin(args.device, plan)
        queries, targets = (
            Records(
                getattr(args, side),
                letter_check(scoring, side, partial(region.place, args, side)),
            )
            for side in ("query", "target")
        )
        for query, target in only(every_pair(queries, targets), "plot"):
            listed = replace(setting, targets=[(target.name, len(target))])
            results = Results(stream, make_writer(args.outfmt.name, listed), bar)
            args.plan = region.plan_of_picture(args, query, target)
            (found,) = aligner(args, bar)(query, target)
            report.add_all([found.stats])
            found.plot(args.picture)
            results.write([row_of(found)])
            results.end()
        report.end()
    return 0
