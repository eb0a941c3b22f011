"""Arguments that several subcommands have.

``add`` is the method ``add_argument`` of a parser, or of a group of its options."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any

from ..results.formats import FORMATS
from . import parser as read
from .parser import Parser
from .progress import add_quiet


def add_compared(parser: Parser) -> None:
    """Declare what `align` and `plot` have in common: two files, and how they are compared."""
    parser.add_argument("query", metavar="QUERY")
    parser.add_argument("target", metavar="TARGET")
    add = parser.group("comparison")
    add(
        "--mode",
        metavar="{local,global}",
        type=read.mode,
        default="local",
        help="default: local; --free-ends makes a global comparison a semi-global one",
    )
    add(
        "--free-ends",
        metavar="ENDS",
        type=read.free_ends,
        default=False,
        help="which end gaps are free in global mode, 0 or 1 each: one value for all, two for gaps "
        "in the query and in the target, or four for query start, query end, target start, target "
        "end; 1,0 fits a short query into a long target (default: 0)",
    )
    add_scoring(parser.group("scoring"))
    add_strand(add)
    add(
        "--left-align",
        action="store_true",
        help="move every gap to the left, along the target, as far as the score stays the same, as "
        "minimap2 and VCF have them",
    )
    add_ranges(add)
    add(
        "--max-cost",
        metavar="N",
        type=read.max_cost,
        default="auto",
        help="in global mode, how far below the best conceivable score the first band of the "
        "matrix reaches; auto: find out; none: compute all cells; never changes a result; with N "
        "several pairs are compared one after the other, not many together (default: auto)",
    )
    add_output(parser.group("output"))
    add_device(parser.group("run"))


def add_strand(add: Callable[..., Any]) -> None:
    """Declare ``--strand``."""
    add(
        "--strand",
        choices=("plus", "minus", "both"),
        default="plus",
        help="align each query as it is, its reverse complement, or whichever of them scores more; "
        "nucleotides only (default: plus)",
    )


def add_ranges(add: Callable[..., Any]) -> None:
    """Declare the parts of sequences that are compared."""
    for side in ("query", "target"):
        add(
            f"--{side}-range",
            metavar="START-END",
            type=read.letter_range,
            help=f"compare only these letters of each {side}, counted from 1 and END included, as "
            "in samtools; START- goes on to the end",
        )


def add_output(add: Callable[..., Any]) -> None:
    """Declare ``--output``."""
    choices = ("score", "ends", "path")
    add("--output", choices=choices, default="path", help="how much to compute (default: path)")


def add_device(add: Callable[..., Any]) -> None:
    """Declare ``--device`` and ``--threads``."""
    add(
        "--device",
        default="auto",
        help="auto, cpu, gpu, or platform:device as indices or parts of names, as `devices` lists "
        "them; cpu/4: in at most four threads (default: auto)",
    )
    add_threads(add)


def add_threads(add: Callable[..., Any]) -> None:
    """Declare ``--threads``."""
    text = "compute in at most so many threads, on a CPU (default: one for each of its cores)"
    add("--threads", metavar="N", type=read.count, help=text)


def limit_threads(args: Namespace) -> None:
    """Let ``--threads`` be part of the device's name, and hold for the host."""
    threads = getattr(args, "threads", None)
    if threads is not None:
        from ..sequences import parallel

        args.device = f"{args.device or 'auto'}/{threads}"
        parallel.AT_ONCE = min(parallel.AT_ONCE, threads)


def add_scores(add: Callable[..., Any]) -> None:
    """Declare scores and gap costs."""
    add("--match", metavar="N", type=read.number, help="score of two equal letters (default: 1)")
    add("--mismatch", metavar="N", type=read.number, help="score of two others (default: -3)")
    add(
        "--matrix",
        metavar="NAME",
        help="a named substitution matrix, for example BLOSUM62, or a file with one in NCBI's "
        "format",
    )
    add(
        "--gap-open",
        metavar="N",
        type=read.number,
        help="paid once by every gap; a gap of k letters costs open + k * extend (default: what is "
        "usual for the matrix, 11 for BLOSUM62; 3 without one)",
    )
    add(
        "--gap-extend",
        metavar="N",
        type=read.number,
        help="per letter (default: what is usual for the matrix, 1 for BLOSUM62; 2 without one)",
    )


def add_scoring(add: Callable[..., Any]) -> None:
    """Declare the scoring."""
    add_scores(add)
    add(
        "--wildcard",
        metavar="LETTER",
        help="a letter that scores 0 against everything, and so do those that are scored as it is "
        "(O with X, U with C or T)",
    )
    add(
        "--unknown-as",
        dest="unknown",
        metavar="LETTER",
        default="error",
        help="take letters outside the alphabet as this one, such as X for proteins (default: they "
        "are errors)",
    )
    add(
        "--allow-odd-scoring",
        action="store_true",
        help="take scores that are errors otherwise: in local mode without a positive one, in "
        "global mode a mismatch above the match",
    )


def add_formats(add: Callable[..., Any]) -> None:
    """Declare the form of results."""
    add(
        "--outfmt",
        metavar="{" + ",".join(FORMATS) + "}",
        type=read.outfmt,
        help="; ".join(f"{name}: {one.about}" for name, one in FORMATS.items())
        + " (default: what the end of the name of -o says, else paf, which needs --output path, "
        "and tsv for less)",
    )
    add(
        "--width",
        metavar="N",
        type=read.count,
        help="letters on a line of --outfmt pair and fasta (default: 60)",
    )
    add(
        "--limit",
        metavar="N",
        type=read.count,
        help="columns of an alignment that --outfmt pair shows (default: all)",
    )


def add_out(add: Callable[..., Any]) -> None:
    """Declare ``-o``."""
    add(
        "-o",
        dest="out",
        metavar="FILE",
        help="write the results to FILE, which appears when all are there (default: standard "
        "output)",
    )


def add_plan(add: Callable[..., Any]) -> None:
    """Declare ``--plan``."""
    add(
        "--plan",
        metavar="KEY=VALUE,...",
        type=read.plan,
        help="set B, T, alpha, lanes, form, engine or another parameter by hand, such as "
        "B=4,traceback.pieces=8",
    )


def add_run(parser: Parser, run: Callable[[Namespace], int], checkpoint: str | None = None) -> None:
    """Declare where results go and how they are computed; ``run`` is the subcommand.

    ``checkpoint``: the help of ``--checkpoint``, if it has that option."""
    add = parser.group("run")
    add_output_file = parser.group("output")
    add_formats(add_output_file)
    add_out(add_output_file)
    add_output_file(
        "-v",
        "--verbose",
        action="store_true",
        help="say on standard error which device and plan are used, and what the run cost",
    )
    add_plan(add)
    if checkpoint is not None:
        add("--checkpoint", metavar="DIR", help=checkpoint)
    add(
        "--disk-size",
        metavar="SIZE",
        type=read.size,
        help="bytes that DIR may take, like 500M or 10G (default: 10G, or less for 128 rows)",
    )
    add(
        "--stop-after",
        metavar="TIME",
        type=read.seconds,
        help="stop at the next row after this time, like 90m or 2h, with exit code 3",
    )
    add_quiet(add)
    parser.set_defaults(run=run, usage_error=parser.error)
