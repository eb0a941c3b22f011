"""``pysw-cl resume``."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from .arguments import add_plan
from .checkpoint import add_limits, resumable
from .output import add_outfmt, print_result
from .progress import add_quiet, progress_of


def add_to(commands: Any) -> None:
    """Declare the subcommand."""
    parser = commands.add_parser(
        "resume",
        help="go on with a run that saved to a checkpoint",
        description="Go on with an alignment that was run with --checkpoint DIR and interrupted, "
        "or print its result if it is finished. Device and plan are those it began with, unless "
        "others are given; the result is the same with any.",
    )
    parser.add_argument("checkpoint", metavar="DIR")
    add = parser.add_argument
    add("--device", help="as for align (default: as the run began)")
    add_outfmt(add)
    add_plan(add)
    add_limits(add)
    add_quiet(add)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Go on with a saved run, and print its result."""
    from ..api.align import resume_with
    from ..drivers.options import ResumeResources

    with progress_of(sys.stderr, args.quiet) as bar, resumable(args.checkpoint):
        given = ResumeResources(
            checkpoint=args.checkpoint,
            device=args.device,
            plan=args.plan,
            progress=bar,
            disk_size=args.disk_size,
            stop_after=args.stop_after,
        )
        print_result(args.outfmt, resume_with(given), bar)
    return 0
