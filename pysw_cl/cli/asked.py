"""What a command line asks for, as options and resources; what is wrong with them is wrong usage.

All of it is checked here, before a file is read: an error of an option ends with exit code 2,
whoever finds it, and an error of a file or of its letters ends with 1.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import FormatError, InputError
from ..results.formats import FOREIGN, FORMATS, check, end_of_name, format_of_file, usual_format
from .arguments import Outfmt

if TYPE_CHECKING:
    from ..drivers.options import (
        AlignOptions,
        AlignResources,
        EndsOptions,
        ManyOptions,
        Resources,
        TopOptions,
        TraceOptions,
    )
    from ..drivers.progress import Progress
    from ..planning.plan import Plan
    from ..results.formats.writer import Setting
    from ..scoring.scoring import Scoring


@contextmanager
def usage(args: argparse.Namespace) -> Iterator[None]:
    """What is wrong with an option in here is a usage error of the subcommand.  What is wrong with
    a file that it names is an error like that of any other file."""
    try:
        yield
    except FormatError:
        raise
    except InputError as error:
        args.usage_error(str(error))


def align_asked(
    args: argparse.Namespace, progress: Progress | None
) -> tuple[AlignOptions, AlignResources]:
    """What `align` is asked about every pair, but for its ranges, and what it computes with."""
    from ..drivers.options import AlignOptions, AlignResources

    second = getattr(args, "second_best", False)
    turned = _turned(args)
    options = AlignOptions(**_compared(args), output=args.output, **turned, second_best=second)
    resources = AlignResources(
        max_cost=args.max_cost,
        **_resources(args, progress),
        checkpoint=args.checkpoint,
        disk_size=args.disk_size,
        stop_after=args.stop_after,
    )
    resources.band_cost(args.mode)
    return options, resources


def many_asked(
    args: argparse.Namespace, output: str, progress: Progress | None
) -> tuple[ManyOptions, Resources]:
    """What `align_many` is asked for this ``output``, and what it computes with."""
    from ..drivers.options import ManyOptions, Resources

    second = args.second_best and output == "path"
    options = ManyOptions(**_compared(args), **_turned(args), output=output, second_best=second)
    return options, Resources(**_resources(args, progress))


def top_asked(args: argparse.Namespace, progress: Progress | None) -> tuple[TopOptions, Resources]:
    """What `align_top` is asked about every pair, but for its ranges, and what it computes with."""
    from ..drivers.options import Resources, TopOptions

    options = TopOptions(
        **_scoring(args),
        **_turned(args),
        output=args.output,
        k=args.alignments,
        min_score=1 if args.min_score is None else args.min_score,
    )
    return options, Resources(**_resources(args, progress))


def ends_asked(
    args: argparse.Namespace, progress: Progress | None
) -> tuple[EndsOptions, Resources]:
    """What `best_ends` is asked about every pair, but for its ranges, and what it computes with."""
    from ..api.ends import with_engine
    from ..drivers.options import EndsOptions, Resources

    options = EndsOptions(
        **_scoring(args),
        k=args.k,
        min_separation=args.min_separation,
        min_score=args.min_score,
        output="path" if args.places and args.paths else "ends",
        strand=args.strand,
    )
    plan = with_engine(args.engine, args.plan)
    return options, Resources(device=args.device, plan=plan, progress=progress)


def paths_asked(options: EndsOptions, highest: float) -> TraceOptions:
    """What `trace_ends` is asked about the ends that `best_ends` found with ``options``."""
    from ..drivers.options import TraceOptions

    return TraceOptions(
        highest=highest,
        sub_score=options.scoring,
        query_range=options.query_range,
        target_range=options.target_range,
        strand=options.strand,
    )


def _compared(args: argparse.Namespace) -> dict[str, Any]:
    return {**_scoring(args), "mode": args.mode, "free_ends": args.free_ends}


def _turned(args: argparse.Namespace) -> dict[str, Any]:
    """The strand, and where the gaps of paths go."""
    return {"strand": args.strand, "left_align": args.left_align}


def scores_asked(args: argparse.Namespace) -> dict[str, Any]:
    """Substitution scores and the gap cost."""
    match = 1 if args.match is None else args.match
    mismatch = -3 if args.mismatch is None else args.mismatch
    return {
        "sub_score": (match, mismatch) if args.matrix is None else args.matrix,
        "gap_cost": _gap_cost(args),
    }


def _scoring(args: argparse.Namespace) -> dict[str, Any]:
    return {
        **scores_asked(args),
        "wildcard": args.wildcard,
        "unknown": args.unknown_as,
        "allow_odd_scoring": args.allow_odd_scoring,
    }


def _gap_cost(args: argparse.Namespace) -> tuple[int | float, int | float] | None:
    """(open, extend); one that is not given is the usual one.  None: both are."""
    given = args.gap_open, args.gap_extend
    if given == (None, None):
        return None
    from ..scoring.arguments import substitution_scores, usual_gaps

    usual = usual_gaps("" if args.matrix is None else substitution_scores(args.matrix)[1]["name"])
    return usual[0] if given[0] is None else given[0], usual[1] if given[1] is None else given[1]


def _resources(args: argparse.Namespace, progress: Progress | None) -> dict[str, Any]:
    return {
        "device": args.device,
        "plan": args.plan,
        "progress": progress,
        "kernel_times": args.verbose,
    }


def plan_asked(args: argparse.Namespace) -> Plan:
    """The plan on the device, both as the command line has them.

    A plan that cannot be is a usage error.  A device that this machine does not have is none: it
    raises DeviceError."""
    from ..engines.registry import engine_for

    with usage(args):
        return engine_for(args.device, args.plan).plan


def check_together(args: argparse.Namespace, *more: tuple[bool, str]) -> None:
    """End with a usage error where arguments of `align` or `plot` do not go together.

    ``more``: what else may be wrong, and what is said then."""
    scores, limits = (args.match, args.mismatch), (args.disk_size, args.stop_after)
    penalty = args.mismatch is not None and args.mismatch > 0
    wrong = [
        *more,
        (args.matrix is not None and scores != (None, None),
         "--matrix cannot go with --match or --mismatch"),
        (penalty, "--mismatch is a score that is added, so it is negative, as in --mismatch -3; "
         "minimap2 and bwa take positive penalties"),
        (args.mode == "local" and args.free_ends not in (False, (False,) * 2, (False,) * 4),
         "--free-ends goes with --mode global; --mode local leaves out what lowers the score"),
        (args.query == args.target == "-", "QUERY and TARGET cannot both be standard input"),
        (args.checkpoint is None and limits != (None, None),
         "--disk-size and --stop-after go with --checkpoint"),
    ]  # fmt: skip
    for is_wrong, message in wrong:
        if is_wrong:
            args.usage_error(message)
    check_output(args, args.output)
    _check_files(args, query=args.query, target=args.target)


def check_output(args: argparse.Namespace, output: str) -> None:
    """Choose ``args.outfmt`` for this ``output`` where it is not given; end with a usage error for
    a format that cannot show it."""
    usual, by_name = usual_format(output), None
    if args.outfmt is None:
        by_name = None if args.out is None else format_of_file(args.out)
        if by_name is None and (end := end_of_name(args.out or "")) in FOREIGN:
            like = "sam" if end in (".bam", ".cram") and usual == "paf" else usual
            args.usage_error(
                f"-o {args.out}: no {end} is written here; let the name end in .{like}, or say "
                f"with --outfmt what the file is to hold, such as --outfmt {like}"
            )
        args.outfmt = Outfmt(by_name or usual)
    name = args.outfmt.name
    if output not in FORMATS[name].outputs:
        args.usage_error(
            f"{f'-o {args.out} is' if by_name else '--outfmt'} {name}{',' if by_name else ''} "
            f"{'which ' if by_name else ''}needs --output path; for --output {output} there is "
            f"--outfmt {usual}"
        )


def setting_asked(
    args: argparse.Namespace, output: str, scoring: Scoring, mode: str, free_ends: Iterable[bool]
) -> Setting:
    """What is the same for all results.  What the format cannot hold is a usage error."""
    from ..results.formats.writer import Setting, mode_in_words

    setting = Setting(
        output,
        scoring,
        mode_in_words(mode, free_ends),
        args.outfmt.fields,
        command=args.command,
        width=args.width,
        limit=args.limit,
    )
    with usage(args):
        check(args.outfmt.name, setting)
    return setting


def _check_files(args: argparse.Namespace, **read: str) -> None:
    """End with a usage error if -o, or the picture of ``plot``, is one of the files that are read
    (by what they are called)."""
    written = {"-o": args.out, "PICTURE": getattr(args, "picture", None)}
    for (name, out), (what, path) in product(written.items(), read.items()):
        there = out is not None and Path(out).exists() and Path(path).is_file()
        if there and Path(out).samefile(path):
            args.usage_error(f"{name} {out} is {what.upper()}, which would be overwritten")


def advise(args: argparse.Namespace, scoring: Scoring) -> None:
    """Warn about a scoring that can be used, but hardly says anything."""
    if args.mode == "local":
        from ..api.advice import warn_of_phase

        warn_of_phase(scoring)
