"""``pysw-cl ends``."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import Any

from ..results.formats.files import written
from ..results.formats.row import shown_name
from . import region
from .arguments import add_device, add_plan, add_scoring, count, number
from .asked import advise, ends_asked, usage
from .pairs import every_pair
from .progress import add_quiet, progress_of, room_for_output
from .records import sides_of

#: The columns of the table.
COLUMNS = ("query", "target", "score", "query_end", "target_end")


def add_to(commands: Any) -> None:
    """Declare the subcommand."""
    parser = commands.add_parser(
        "ends",
        help="list the places where the best local alignments end",
        description="The cells of the matrix of each QUERY with each TARGET that score most: a "
        "table of names, score, and how many letters of query and target precede the end.",
    )
    add = parser.add_argument
    add("query", metavar="QUERY")
    add("target", metavar="TARGET")
    add("-k", metavar="K", type=count, default=200, help="how many for each pair (default: 200)")
    add(
        "--min-separation",
        metavar="LETTERS",
        type=int,
        default=0,
        help="leave out an end that is nearer than this, in both sequences, to a better one",
    )
    add("--min-score", metavar="N", type=number, default=1, help="the least score (default: 1)")
    add_scoring(add)
    region.add_ranges(add)
    add_device(add)
    add("--engine", default="auto", help="auto, wavefront, rowscan or reference (default: auto)")
    add_plan(add)
    add(
        "-o",
        dest="out",
        metavar="FILE",
        help="write the table to FILE, which appears when all is there (default: standard output)",
    )
    add_quiet(add)
    parser.set_defaults(run=run, usage_error=parser.error, mode="local")


def run(args: argparse.Namespace) -> int:
    """Print the table."""
    from ..api.advice import Tally, warn_of_letters
    from ..api.ends import best_ends_with

    with usage(args):
        options = ends_asked(args, None)[0]
    advise(args, options.scoring)
    tally = Tally(options.scoring)
    with written(args.out) as stream, progress_of(sys.stderr, args.quiet) as bar:
        resources = ends_asked(args, bar)[1]
        stream.write("\t".join(COLUMNS) + "\n")
        for query, target in every_pair(*sides_of(args, tally)):
            ranges = region.ranges(args, query, target)
            asked = replace(options, query_range=ranges[0], target_range=ranges[1])
            found = best_ends_with(query, target, asked, resources, quiet=True)
            names = f"{shown_name(query, 'query')}\t{shown_name(target, 'target')}\t"
            with room_for_output(bar if stream is sys.stdout else None):
                for row in found.tolist():
                    stream.write(names + "\t".join(map(str, row)) + "\n")
                stream.flush()
        warn_of_letters(tally)
    return 0
