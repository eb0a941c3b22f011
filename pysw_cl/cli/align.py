"""``pysw-cl align`` and ``pysw-cl plot``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import InputError, RangeError, SequenceError
from . import region
from .arguments import add_plan
from .checkpoint import add_limits, only, resumable
from .output import add_outfmt, print_result
from .pairs import every_pair
from .progress import add_quiet, progress_of

if TYPE_CHECKING:
    from ..api.bar import ProgressBar
    from ..drivers.options import AlignOptions, AlignResources, Resources, TopOptions
    from ..results.alignment import Alignment
    from ..sequences.sequence import Sequence


def add_to(commands: Any) -> None:
    """Declare the two subcommands."""
    parser = commands.add_parser(
        "align",
        help="align every query against every target",
        description="Align every record of QUERY against every record of TARGET. Both are FASTA "
        "files, plain or gzip; - is standard input.",
    )
    _add_arguments(parser)
    parser.set_defaults(picture=None)
    parser = commands.add_parser(
        "plot",
        help="align a query against a target and draw the path over the matrix",
        description="Align the record of QUERY against the record of TARGET, write the result as "
        "align does, and draw it into PICTURE, whose suffix says the format (.png, .pdf, .svg): "
        "the path, the highest score of each tile, and what was pruned. Needs matplotlib.",
    )
    _add_arguments(parser)
    parser.add_argument("picture", metavar="PICTURE")


def _add_arguments(parser: Any) -> None:
    parser.add_argument("query", metavar="QUERY")
    parser.add_argument("target", metavar="TARGET")
    add = parser.add_argument
    add("--mode", choices=("local", "global"), default="local", help="default: local")
    add(
        "--free-ends",
        metavar="ENDS",
        type=_free_ends,
        default=False,
        help="which end gaps are free in global mode, 0 or 1 each: one value for all, two for gaps "
        "in the query and in the target, or four for query start, query end, target start, target "
        "end; 1,0 fits a short query into a long target (default: 0)",
    )
    _add_scoring(add)
    region.add_options(add)
    add(
        "--max-cost",
        metavar="N",
        type=_max_cost,
        default="auto",
        help="in global mode, how far below the best conceivable score the first band of the "
        "matrix reaches; auto: find out; none: compute all cells; never changes a result "
        "(default: auto)",
    )
    add(
        "--device",
        default="auto",
        help="auto, cpu, gpu, or platform:device as indices or parts of names (default: auto)",
    )
    add(
        "--output",
        choices=("score", "ends", "path"),
        default="path",
        help="how much to compute (default: path)",
    )
    add_outfmt(add)
    _add_top(add)
    add_plan(add)
    add(
        "--checkpoint",
        metavar="DIR",
        help="for one query and one target: save rows there, and go on if a run was interrupted",
    )
    add_limits(add)
    add_quiet(add)
    parser.set_defaults(run=run, usage_error=parser.error)


def _add_scoring(add: Any) -> None:
    add("--match", metavar="N", type=_number, help="score of two equal letters (default: 1)")
    add("--mismatch", metavar="N", type=_number, help="score of two others (default: -3)")
    add("--matrix", metavar="NAME", help="a named substitution matrix, for example BLOSUM62")
    add(
        "--gap-open",
        metavar="N",
        type=_number,
        default=3,
        help="paid once by every gap; a gap of k letters costs open + k * extend (default: 3)",
    )
    add("--gap-extend", metavar="N", type=_number, default=2, help="per letter (default: 2)")
    add("--wildcard", metavar="LETTER", help="a letter that scores 0 against everything")


def _add_top(add: Any) -> None:
    add(
        "--top",
        metavar="K",
        type=_count,
        help="up to K local alignments a pair that share no aligned letters, best first",
    )
    add(
        "--min-score",
        metavar="N",
        type=_number,
        help="with --top: the least score of an alignment (default: 1)",
    )


def run(args: argparse.Namespace) -> int:
    """Align every pair of records, and print or draw the results."""
    _check(args)
    pairs = every_pair(args.query, args.target)
    if args.checkpoint is not None:
        pairs = only(pairs)
    if args.picture is not None:
        from ..results.plot import require

        require()
    with progress_of(sys.stderr, args.quiet) as bar, resumable(args.checkpoint):
        compute = _top_aligner(args, bar) if args.top is not None else _aligner(args, bar)
        for count, (query, target) in enumerate(pairs, 1):
            if args.picture is not None and count > 1:
                raise InputError("plot takes one query and one target; it has drawn the first pair")
            if bar is not None:
                bar.begin(f"pair {count:,} " if count > 1 else "")
            try:
                results = compute(query, target)
            except (SequenceError, RangeError) as error:
                raise type(error)(f"query {query.name}, target {target.name}: {error}") from error
            for result in results:
                if args.picture is not None:
                    result.plot(args.picture)
                print_result(args.outfmt, result, bar)
    return 0


def _check(args: argparse.Namespace) -> None:
    """End with a usage error where arguments do not go together."""
    top, saved = args.top is not None, args.checkpoint is not None
    scores, limits = (args.match, args.mismatch), (args.disk_size, args.stop_after)
    ranges = args.query_range, args.target_range
    wrong = [
        (args.matrix is not None and scores != (None, None),
         "--matrix goes without --match and --mismatch"),
        (args.query == args.target == "-", "QUERY and TARGET cannot both be standard input"),
        (top and args.mode != "local", "--top is for --mode local"),
        (top and (args.strand != "plus" or ranges != (None, None)),
         "--top goes without --strand, --query-range and --target-range"),
        (top and args.picture is not None, "plot draws one alignment: --top is for align"),
        (top and saved, "--top goes without --checkpoint"),
        (not top and args.min_score is not None, "--min-score goes with --top"),
        (not saved and limits != (None, None), "--disk-size and --stop-after go with --checkpoint"),
    ]  # fmt: skip
    for is_wrong, message in wrong:
        if is_wrong:
            args.usage_error(message)


#: Aligns a query with a target.
Aligner = Callable[["Sequence", "Sequence"], "list[Alignment]"]


def _aligner(args: argparse.Namespace, bar: ProgressBar | None) -> Aligner:
    """The best alignment of a pair."""
    from ..api.align import align_with

    options, resources = align_asked(args, bar)

    def compute(query: Sequence, target: Sequence) -> list[Alignment]:
        ranges = region.ranges(args, query, target)
        this = options
        if ranges != (None, None):
            this = replace(options, query_range=ranges[0], target_range=ranges[1])
        how = resources
        if args.picture is not None:
            how = replace(resources, plan=region.plan_of_picture(args.plan, query, target, ranges))
        return [align_with(query, target, this, how)]

    return compute


def _top_aligner(args: argparse.Namespace, bar: ProgressBar | None) -> Aligner:
    """The best alignments of a pair that share no aligned letters."""
    from ..api.top import align_top_with

    options, resources = top_asked(args, bar)
    return lambda query, target: align_top_with(query, target, options, resources)


def align_asked(
    args: argparse.Namespace, bar: ProgressBar | None
) -> tuple[AlignOptions, AlignResources]:
    """What `align` is asked about every pair, but for its ranges, and what it computes with."""
    from ..drivers.options import AlignOptions, AlignResources

    options = AlignOptions(
        mode=args.mode,
        free_ends=args.free_ends,
        sub_score=_sub_score(args),
        gap_cost=(args.gap_open, args.gap_extend),
        output=args.output,
        wildcard=args.wildcard,
        strand=args.strand,
    )
    resources = AlignResources(
        max_cost=args.max_cost,
        device=args.device,
        plan=args.plan,
        progress=bar,
        checkpoint=args.checkpoint,
        disk_size=args.disk_size,
        stop_after=args.stop_after,
    )
    return options, resources


def top_asked(args: argparse.Namespace, bar: ProgressBar | None) -> tuple[TopOptions, Resources]:
    """What `align_top` is asked about every pair, and what it computes with."""
    from ..drivers.options import Resources, TopOptions

    options = TopOptions(
        sub_score=_sub_score(args),
        gap_cost=(args.gap_open, args.gap_extend),
        output=args.output,
        wildcard=args.wildcard,
        k=args.top,
        min_score=1 if args.min_score is None else args.min_score,
    )
    return options, Resources(device=args.device, plan=args.plan, progress=bar)


def _sub_score(args: argparse.Namespace) -> str | tuple[int | float, int | float]:
    if args.matrix is not None:
        return str(args.matrix)
    match = 1 if args.match is None else args.match
    return match, -3 if args.mismatch is None else args.mismatch


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _max_cost(text: str) -> str | int | float | None:
    if text in ("auto", "none"):
        return None if text == "none" else text
    try:
        return _number(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not auto, none or a number") from None


def _free_ends(text: str) -> bool | tuple[bool, ...]:
    truth = {"0": False, "false": False, "1": True, "true": True}
    parts = [part.strip() for part in text.lower().split(",")]
    if len(parts) not in (1, 2, 4) or not all(part in truth for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not 1, 2 or 4 of 0 and 1, like 0,1")
    ends = tuple(truth[part] for part in parts)
    return ends[0] if len(ends) == 1 else ends
