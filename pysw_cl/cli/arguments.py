"""The command line's arguments: its parser, and how their texts are read."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from .._version import __version__
from . import checkpoint as cli_checkpoint
from .region import add_options

EXAMPLES = """\
examples:
  pysw-cl align human.fa chimp.fa                      the best local alignment, as PAF
  pysw-cl align --outfmt pair human.fa chimp.fa        the same, to be read by people
  pysw-cl align --output score reads.fa.gz genome.fa   scores only: no path, less memory
  pysw-cl align --matrix BLOSUM62 --gap-open 10 --gap-extend 1 query.fa proteins.fa
  pysw-cl align --strand both --target-range 5001-9000 read.fa genome.fa
  pysw-cl plot human.fa chimp.fa picture.png           the path over the matrix
  pysw-cl align --top 5 a.fa b.fa                      up to five that share no aligned pair
  pysw-cl align --checkpoint job --stop-after 2h chr1.fa chr2.fa      a long run by parts
  pysw-cl resume job                                   the next part, or the result
  zcat proteins.fa.gz | pysw-cl align --matrix BLOSUM62 query.fa -
"""


def make_parser(
    runs: Mapping[str, Callable[[argparse.Namespace], int]],
) -> argparse.ArgumentParser:
    """The parser; ``runs`` says what each command runs with the arguments it was given."""
    parser = argparse.ArgumentParser(
        prog="pysw-cl",
        description="Exact pairwise sequence alignment on any OpenCL device.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"pysw-cl {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_align(commands, runs)
    _add_plot(commands, runs)
    _add_resume(commands, runs)
    devices = commands.add_parser("devices", help="list the OpenCL devices and what keeps one out")
    devices.set_defaults(run=runs["devices"])
    demo = commands.add_parser("demo", help="align the human and the chimpanzee mitochondrion")
    demo.add_argument("--device", default="auto", help="as for align")
    demo.set_defaults(run=runs["demo"])
    return parser


def _add_align(commands: Any, runs: Mapping[str, Any]) -> None:
    parser = commands.add_parser(
        "align",
        help="align every query against every target",
        description="Align every record of QUERY against every record of TARGET. Both are FASTA "
        "files, plain or gzip; - is standard input.",
    )
    _add_arguments(parser, runs)
    parser.set_defaults(picture=None)


def _add_plot(commands: Any, runs: Mapping[str, Any]) -> None:
    parser = commands.add_parser(
        "plot",
        help="align a query against a target and draw the path over the matrix",
        description="Align the record of QUERY against the record of TARGET, write the result as "
        "align does, and draw it into PICTURE, whose suffix says the format (.png, .pdf, .svg): "
        "the path, the highest score of each tile, and what was pruned. Needs matplotlib.",
    )
    _add_arguments(parser, runs)
    parser.add_argument("picture", metavar="PICTURE")


def _add_arguments(parser: Any, runs: Mapping[str, Any]) -> None:
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
    add_options(add)
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
    _add_outfmt(add)
    _add_top(add)
    _add_plan(add)
    add(
        "--checkpoint",
        metavar="DIR",
        help="for one query and one target: save rows there, and go on if a run was interrupted",
    )
    cli_checkpoint.add_limits(add)
    parser.set_defaults(run=runs["align"], usage_error=parser.error)


def _add_resume(commands: Any, runs: Mapping[str, Any]) -> None:
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
    _add_outfmt(add)
    _add_plan(add)
    cli_checkpoint.add_limits(add)
    parser.set_defaults(run=runs["resume"])


def _add_outfmt(add: Any) -> None:
    add(
        "--outfmt",
        choices=("paf", "pair"),
        default="paf",
        help="paf: a line per alignment; pair: aligned text (default: paf)",
    )


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


def _add_plan(add: Any) -> None:
    add(
        "--plan",
        metavar="KEY=VALUE,...",
        type=_plan,
        help="set B, T, alpha, lanes, form or engine by hand",
    )


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


def _plan(text: str) -> dict[str, int | str]:
    plan: dict[str, int | str] = {}
    for part in text.split(","):
        key, _, value = part.partition("=")
        if not key or not value or key in plan:
            raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE,KEY=VALUE,...")
        plan[key] = int(value) if value.isdecimal() else value
    return plan
