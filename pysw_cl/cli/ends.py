"""``pysw-cl ends``."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from typing import Any

from ..results.formats import FOREIGN, end_of_name, format_of_file
from ..results.formats.writer import row_of
from .asked import check_files, check_output, made_asked, options_asked, setting_asked, usage
from .output import running
from .parser import DEVICE, FORMAT, SCORING, Outfmt
from .records import counted, every_pair, ranges, sides_of

#: What is said where there are many pairs.
ONE_BY_ONE = (
    "note: ends are found in one pair after the other; for the best end of each of many pairs "
    "there is align --output ends, which compares them together"
)
#: The columns of the table.
COLUMNS = ("query", "target", "score", "query_end", "target_end")


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "ends",
        run=run,
        help="list the places where the best local alignments end",
        description="The cells of the matrix of each QUERY with each TARGET that score most: a "
        "table of names, score, and how many letters of query and target precede the end; with "
        "--paths the alignments that end there. Pairs are compared one after the other, a few "
        "milliseconds each at least; for the best end of each of many pairs there is align "
        "--output ends.",
        examples=("ends -k 20 read.fa genome.fa", "ends --paths --outfmt sam read.fa genome.fa"),
    )
    for side in ("query", "target"):
        parser.add_argument(side, metavar=side.upper())
    parser.declare("places", "-k --min-separation --apart-in --ends --places")
    parser.declare("places", "--min-score", default=1, help="the least score (default: 1)")
    parser.declare("places", "--query-range --target-range --strand")
    parser.declare("scoring", SCORING)
    parser.declare("output", f"-o --paths {FORMAT}")
    parser.declare("run", f"{DEVICE} --engine --plan -q")
    parser.set_defaults(mode="local", verbose=False)


def run(args: Namespace) -> None:
    from ..api.advice import Tally, warn_of_letters, warn_of_phase
    from ..api.ends import best_ends_with, trace_ends_with, with_engine
    from ..api.top import align_top_with
    from ..drivers.options import EndsOptions, Resources, TraceOptions
    from ..results.formats.columns import TableRows
    from ..scoring.scoring import made_of

    check_files(args, QUERY=args.query, TARGET=args.target)
    if args.places and (args.min_separation or (args.apart_in, args.ends) != ("either", "cells")):
        args.usage_error("--places goes without --min-separation, --apart-in and --ends")
    if not args.paths and (args.outfmt, args.width, args.limit) != (None,) * 3:
        args.usage_error("--outfmt, --width and --limit go with --paths")
    if args.paths:
        check_output(args, "path")
    else:
        args.outfmt = Outfmt("tsv", COLUMNS + ("strand",) * (args.strand != "plus"))
        foreign = args.out and end_of_name(args.out) in FOREIGN
        if args.out and (foreign or format_of_file(args.out) not in (None, "tsv")):
            args.usage_error(f"-o {args.out}: without --paths a table is written, such as x.tsv")
    with usage(args):
        output = "path" if args.places and args.paths else "ends"
        options = options_asked(args, EndsOptions, output=output)
        resources = made_asked(args, Resources, plan=with_engine(args.engine, args.plan))
    tally, shown = Tally(options.scoring), "path" if args.paths else "ends"
    setting = setting_asked(args, options.scoring, (), output=shown)
    warn_of_phase(options.scoring)
    find: Any = align_top_with if args.places else best_ends_with
    with running(args) as to:
        resources = replace(resources, progress=to.bar)
        sides = sides_of(args, tally, setting.targets)
        to.begin_results(args.outfmt.name, setting)
        pairs = counted(every_pair(*sides), setting.searched)
        for query, target in to.patiently(pairs, ONE_BY_ONE):
            asked = replace(options, **ranges(args, query, target))
            found = find(query, target, asked, resources, True)
            if args.paths and not args.places and len(found):
                known = {"sub_score": options.scoring, "highest": found["score"][0].item()}
                traced = made_of(TraceOptions, {**vars(asked), **known, "output": "path"})
                unseen = replace(resources, progress=None)  # the bar shows the matrix: that is slow
                found = trace_ends_with(query, target, found, traced, unseen, known=True)
            if args.paths or args.places:
                rows = map(row_of, found)  # without a path one on the minus strand has no query_end
                to.results(row._replace(query_end=row.query_end or row.query_start) for row in rows)
            else:
                to.results(TableRows([(query, target)] * len(found), found, {}))
    warn_of_letters(tally)
