"""``pysw-cl plot``."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from typing import Any

from ..results.formats import make_writer
from ..results.formats.row import row_of
from . import region
from .arguments import add_compared
from .asked import advise, align_asked, check_together, plan_asked, setting_asked, usage
from .compute import aligner
from .output import Results
from .pairs import every_pair, only
from .records import sides_of
from .running import add_run, running


def add_to(commands: Any) -> None:
    """Declare the subcommand."""
    parser = commands.add_parser(
        "plot",
        help="align a query against a target and draw the path over the matrix",
        description="Align the record of QUERY against the record of TARGET, write the result as "
        "align does, and draw it into PICTURE, whose suffix says the format (.png, .pdf, .svg): "
        "the path, the highest score of each tile, and what was pruned. Needs matplotlib.",
        examples=("plot human.fa chimp.fa picture.png", "plot --mode global a.fa b.fa picture.svg"),
    )
    add_compared(parser)
    parser.add_argument("picture", metavar="PICTURE")
    add_run(
        parser,
        run,
        "save rows there, and go on if a run was interrupted; draw a run that is finished",
    )


def run(args: argparse.Namespace) -> int:
    """Align the pair of records, and print and draw the result."""
    same = args.out is not None and os.path.realpath(args.out) == os.path.realpath(args.picture)
    check_together(args, (same, "-o and PICTURE are the same file"))
    from ..api.advice import Tally, warn_of_letters
    from ..results.plot import require

    require()
    with usage(args):
        options = align_asked(args, None)[0]
    scoring = options.scoring
    setting = setting_asked(args, args.output, scoring, args.mode, options.free.flags)
    advise(args, scoring)
    plan = plan_asked(args)
    with running(args) as to:
        to.report.begin(args.device, plan)
        tally = Tally(scoring)
        sides = sides_of(args, tally)
        for query, target in only(every_pair(*sides), "plot"):
            listed = replace(setting, targets=[(target.name, len(target))])
            results = Results(to.stream, make_writer(args.outfmt.name, listed), to.bar)
            args.plan = region.plan_of_picture(args, query, target)
            (found,) = aligner(args, to.bar)(query, target)
            to.report.add_all([found.stats])
            found.plot(args.picture)
            results.write([row_of(found)])
            results.end()
        warn_of_letters(tally)
        to.report.end()
    return 0
