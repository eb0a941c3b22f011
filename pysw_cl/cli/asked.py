"""What a command line asks for, as options and resources; what is wrong with them is wrong usage.

All of it is checked here, before a file is read: an error of an option ends with exit code 2,
whoever finds it, and an error of a file or of its letters ends with 1."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import FormatError, InputError
from ..results import formats
from ..results.formats import FOREIGN, FORMATS, end_of_name, format_of_file, usual_format
from ..results.formats.writer import Setting, mode_in_words
from .parser import Outfmt

if TYPE_CHECKING:
    from ..drivers.progress import Progress
    from ..scoring.scoring import Scoring

T = TypeVar("T")


@contextmanager
def usage(args: Namespace) -> Iterator[None]:
    """What is wrong with an option in here, but for a file that it names, is a usage error."""
    try:
        yield
    except FormatError:
        raise
    except InputError as error:
        args.usage_error(str(error))


def align_asked(args: Namespace, progress: Progress | None = None) -> tuple[Any, Any]:
    """What `align`, or with --alignments `align_top`, is asked about every pair, but for its
    ranges, and what it computes with: options and resources."""
    from ..drivers.options import AlignOptions, Resources, TopOptions
    from ..drivers.resources import AlignResources

    if args.alignments is not None:
        least = 1 if args.min_score is None else args.min_score
        options: Any = options_asked(args, TopOptions, k=args.alignments, min_score=least)
        return options, made_asked(args, Resources, progress=progress)
    options = options_asked(args, AlignOptions)
    timeline = args.timeline is not None
    resources = made_asked(args, AlignResources, progress=progress, timeline=timeline)
    resources.band_cost(args.mode)
    return options, resources


def options_asked(args: Namespace, kind: type[T], **other: Any) -> T:
    """The options of this kind that the command line, or ``other``, has, but for ranges."""
    whole = {"query_range": None, "target_range": None}
    return made_asked(args, kind, **scores_asked(args), **whole, **other)


def made_asked(args: Namespace, kind: type[T], **other: Any) -> T:
    """What is made of those values of the command line, or of ``other``, that this kind has."""
    from ..scoring.scoring import made_of

    return made_of(kind, {**vars(args), "kernel_times": args.verbose, **other})


def scores_asked(args: Namespace) -> dict[str, Any]:
    if args.matrix is not None and (args.match, args.mismatch) != (None, None):
        raise InputError("--matrix cannot go with --match or --mismatch")
    match = 1 if args.match is None else args.match
    mismatch = -3 if args.mismatch is None else args.mismatch
    scores, gaps = (match, mismatch) if args.matrix is None else args.matrix, None
    given = args.gap_open, args.gap_extend
    if given != (None, None):  # one that is not given is the usual one
        from ..scoring.arguments import substitution_scores
        from ..scoring.matrices import DEFAULT_GAPS, USUAL_GAPS

        name = "" if args.matrix is None else substitution_scores(args.matrix)[1]["name"]
        both = zip(given, USUAL_GAPS.get(name, DEFAULT_GAPS), strict=True)
        gaps = tuple(usual if own is None else own for own, usual in both)
    return {"sub_score": scores, "gap_cost": gaps}


def check_together(args: Namespace) -> None:
    """End with a usage error where arguments of `align` or `plot` do not go together."""
    several, saved = args.alignments is not None, args.checkpoint is not None
    limits = args.disk_size, args.stop_after
    penalty = args.mismatch is not None and args.mismatch > 0
    picture, name = (args.picture, "PICTURE") if args.picture else (args.timeline, "--timeline")
    for is_wrong, message in (
        (picture and args.out and os.path.realpath(args.out) == os.path.realpath(picture),
         f"-o and {name} are the same file"),
        (several and args.timeline is not None, "--alignments cannot go with --timeline"),
        (args.top is not None and args.pairs,
         "--top cannot go with --pairs, where each query has one target"),
        (args.top is not None and saved, "--top cannot go with --checkpoint"),
        (several and args.top is not None, "--alignments cannot go with --top"),
        (several and saved, "--alignments cannot go with --checkpoint"),
        (several and args.cluster is not None, "--alignments cannot go with --cluster"),
        (several and args.mode != "local", "--alignments is for --mode local"),
        (several and (args.free_ends is not False or args.max_cost != "auto"),
         "--alignments cannot go with --free-ends or --max-cost, which are for --mode global"),
        (args.second_best and (several or saved),
         "--second-best cannot go with --alignments or --checkpoint"),
        (penalty, "--mismatch is a score that is added, so it is negative, as in --mismatch -3; "
         "minimap2 and bwa take positive penalties"),
        (args.mode == "local" and args.free_ends not in (False, (False,) * 2, (False,) * 4),
         "--free-ends goes with --mode global; --mode local leaves out what lowers the score"),
        (not saved and limits != (None, None), "--disk-size and --stop-after go with --checkpoint"),
        (args.cluster and args.max_cost not in ("auto", None),
         "--cluster cannot go with --max-cost N, because workers compute no bands"),
    ):  # fmt: skip
        if is_wrong:
            args.usage_error(message)
    check_output(args, args.output)
    check_files(args, QUERY=args.query, TARGET=args.target)


def check_files(args: Namespace, **read: str | None) -> None:
    """End with a usage error where two files that are read are standard input, or one of them is
    written, too.  Raises what writing a picture would raise, before anything is done."""
    if [*read.values()].count("-") > 1:
        args.usage_error(f"{' and '.join(read)} cannot both be standard input")
    options = {"-o": "out", "PICTURE": "picture", "--plot": "plot", "--timeline": "timeline"}
    made = {name: out for name, option in options.items() if (out := vars(args).get(option))}
    for (name, out), (what, path) in product(made.items(), read.items()):
        if path and Path(out).exists() and Path(path).is_file() and Path(out).samefile(path):
            args.usage_error(f"{name} {out} is {what}, which would be overwritten")
    for picture in [path for name, path in made.items() if name != "-o"]:
        from ..results.plot import check

        check(picture)


def check_output(args: Namespace, output: str) -> None:
    """Choose ``args.outfmt`` if it is not given; one that cannot show ``output`` is wrong usage."""
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
        said = f"-o {args.out} is {name}, which" if by_name else f"--outfmt {name}"
        there = f"for --output {output} there is --outfmt {usual}"
        args.usage_error(f"{said} needs --output path; {there}")


def setting_asked(
    args: Namespace, scoring: Scoring, free_ends: Iterable[bool], **more: Any
) -> Setting:
    """What is the same for all results.  What the format cannot hold is a usage error."""
    known = {**vars(args), "fields": args.outfmt.fields, "scoring": scoring, **more}
    known["mode"] = mode_in_words(known["mode"], free_ends, known.get("heuristic", ""))
    setting = made_asked(args, Setting, **known)
    with usage(args):
        formats.make_writer(args.outfmt.name, setting)
    return setting
