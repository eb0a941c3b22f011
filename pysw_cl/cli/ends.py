"""``pysw-cl ends``."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from ..results.formats import FOREIGN, FORMATS, end_of_name, format_of_file, make_writer
from ..results.formats.files import written
from ..results.formats.row import row_of, shown_name
from . import region
from .arguments import add_device, add_formats, add_out, add_plan, add_scoring, count, number
from .asked import advise, check_output, ends_asked, paths_asked, setting_asked, usage
from .output import Results, patiently
from .pairs import counted, every_pair
from .progress import add_quiet, progress_of, room_for_output
from .records import sides_of

if TYPE_CHECKING:
    from ..api.bar import ProgressBar
    from ..drivers.options import EndsOptions, Resources
    from ..results.alignment import Alignment
    from ..sequences.sequence import Sequence

#: What is said where there are many pairs.
ONE_BY_ONE = (
    "note: ends are found in one pair after the other; for the best end of each of many pairs "
    "there is align --output ends, which compares them together"
)
#: The columns of the table.
COLUMNS = ("query", "target", "score", "query_end", "target_end")
SIGNS = {"plus": "+", "minus": "-"}


def add_to(commands: Any) -> None:
    """Declare the subcommand."""
    parser = commands.add_parser(
        "ends",
        help="list the places where the best local alignments end",
        description="The cells of the matrix of each QUERY with each TARGET that score most: a "
        "table of names, score, and how many letters of query and target precede the end; with "
        "--paths the alignments that end there. Pairs are compared one after the other, a few "
        "milliseconds each at least; for the best end of each of many pairs there is align "
        "--output ends.",
        examples=("ends -k 20 read.fa genome.fa", "ends --paths --outfmt sam read.fa genome.fa"),
    )
    add = parser.add_argument
    add("query", metavar="QUERY")
    add("target", metavar="TARGET")
    add = parser.group("places")
    add("-k", metavar="K", type=count, default=200, help="how many for each pair (default: 200)")
    add(
        "--min-separation",
        metavar="LETTERS",
        type=int,
        default=0,
        help="leave out an end that is nearer than this, in both sequences, to a better one",
    )
    add(
        "--places",
        action="store_true",
        help="one end for each alignment, of alignments that share no aligned pair of letters, as "
        "align --alignments K finds them (default: every cell is an end)",
    )
    add("--min-score", metavar="N", type=number, default=1, help="the least score (default: 1)")
    region.add_ranges(add)
    region.add_strand(add)
    add_scoring(parser.group("scoring"))
    _add_output(parser.group("output"))
    add = parser.group("run")
    add_device(add)
    add("--engine", default="auto", help="auto, wavefront, rowscan or reference (default: auto)")
    add_plan(add)
    add_quiet(add)
    parser.set_defaults(run=run, usage_error=parser.error, mode="local")


def _add_output(add: Any) -> None:
    """Declare where results go, and in which form."""
    add_out(add)
    add(
        "--paths",
        action="store_true",
        help="write the best alignment that ends at each place, in a format of align, in the place "
        "of the table",
    )
    add_formats(add)


def run(args: argparse.Namespace) -> int:
    """Print the table, or the alignments."""
    from ..api.advice import Tally, warn_of_letters
    from ..api.ends import best_ends_with
    from ..api.top import align_top_with

    _check(args)
    with usage(args):
        options = ends_asked(args, None)[0]
    show = _alignments if args.paths else _table
    advise(args, options.scoring)
    tally = Tally(options.scoring)
    listed: list[tuple[str, int]] | None = [] if _lists_targets(args) else None
    with written(args.out) as stream, progress_of(sys.stderr, args.quiet) as bar:
        resources = ends_asked(args, bar)[1]
        sides = sides_of(args, tally, None, listed)
        output = Output(stream, bar, listed or [], Counter())
        with show(args, options, resources, output) as put:
            pairs = counted(every_pair(*sides), output.searched)
            for query, target in patiently(pairs, ONE_BY_ONE, bar):
                ranges = region.ranges(args, query, target)
                asked = replace(options, query_range=ranges[0], target_range=ranges[1])
                find = align_top_with if args.places else best_ends_with
                put(query, target, asked, find(query, target, asked, resources, True))
        warn_of_letters(tally)
    return 0


class Output(NamedTuple):
    """Where results go, who makes room for them, the targets that a header lists, and how many
    there are."""

    stream: TextIO
    bar: ProgressBar | None
    targets: list[tuple[str, int]]
    searched: Counter[str]


#: Prints the ends of a query in a target, found with these options.
Put = Callable[["Sequence", "Sequence", "EndsOptions", Any], None]


def _lists_targets(args: argparse.Namespace) -> bool:
    return args.paths and FORMATS[args.outfmt.name].lists_targets


@contextmanager
def _table(
    args: argparse.Namespace, options: EndsOptions, resources: Resources, out: Output
) -> Iterator[Put]:
    """Prints a line for each end."""
    stranded = options.strand != "plus"
    out.stream.write("\t".join(COLUMNS + ("strand",) * stranded) + "\n")

    def put(query: Sequence, target: Sequence, asked: EndsOptions, found: Any) -> None:
        rows = map(_place, found) if args.places else found.tolist()
        names = f"{shown_name(query, 'query')}\t{shown_name(target, 'target')}\t"
        with room_for_output(out.bar if out.stream is sys.stdout else None):
            for score, query_end, target_end, *strand in rows:
                row = [score, query_end, target_end, *(SIGNS[one] for one in strand if stranded)]
                out.stream.write(names + "\t".join(map(str, row)) + "\n")
            out.stream.flush()

    yield put


def _place(found: Alignment) -> tuple[Any, ...]:
    """Where an alignment ends, as a row of `best_ends`."""
    end = found.query_start if found.strand == "minus" else found.query_end
    return found.score, end, found.target_end, found.strand


@contextmanager
def _alignments(
    args: argparse.Namespace, options: EndsOptions, resources: Resources, out: Output
) -> Iterator[Put]:
    """Prints the alignment of each end in a format."""
    from ..api.trace_ends import trace_ends_with

    setting = setting_asked(args, "path", options.scoring, "local", (False,) * 4)
    writer = make_writer(
        args.outfmt.name, replace(setting, targets=out.targets, searched=out.searched)
    )
    results = Results(out.stream, writer, out.bar)
    unseen = replace(resources, progress=None)  # the bar shows the matrix, which takes the time

    def put(query: Sequence, target: Sequence, asked: EndsOptions, found: Any) -> None:
        if args.places or not len(found):
            results.write(map(row_of, found))
            return
        traced = paths_asked(asked, found["score"][0].item())
        paths = trace_ends_with(query, target, found, traced, unseen, known=True)
        results.write(map(row_of, paths))

    yield put
    results.end()


def _check(args: argparse.Namespace) -> None:
    """End with a usage error where arguments do not go together; choose the format."""
    if args.places and args.min_separation:
        args.usage_error("--places goes without --min-separation")
    formed = (args.outfmt, args.width, args.limit) != (None,) * 3
    if formed and not args.paths:
        args.usage_error("--outfmt, --width and --limit go with --paths")
    if args.paths:
        check_output(args, "path")
    elif args.out and (
        format_of_file(args.out) not in (None, "tsv") or end_of_name(args.out) in FOREIGN
    ):
        args.usage_error(f"-o {args.out}: without --paths a table is written, such as x.tsv")
