"""Arguments that several subcommands have, and how their texts are read."""

from __future__ import annotations

import argparse
import re
from math import isfinite
from typing import Any, NamedTuple

from ..errors import InputError
from ..results.formats import ALIASES, FORMATS, format_named
from . import region
from .parser import Parser


def add_compared(parser: Parser) -> None:
    """Declare what `align` and `plot` have in common: two files, and how they are compared."""
    parser.add_argument("query", metavar="QUERY")
    parser.add_argument("target", metavar="TARGET")
    add = parser.group("comparison")
    add(
        "--mode",
        metavar="{local,global}",
        type=mode,
        default="local",
        help="default: local; --free-ends makes a global comparison a semi-global one",
    )
    add(
        "--free-ends",
        metavar="ENDS",
        type=free_ends,
        default=False,
        help="which end gaps are free in global mode, 0 or 1 each: one value for all, two for gaps "
        "in the query and in the target, or four for query start, query end, target start, target "
        "end; 1,0 fits a short query into a long target (default: 0)",
    )
    add_scoring(parser.group("scoring"))
    region.add_strand(add)
    add(
        "--left-align",
        action="store_true",
        help="move every gap to the left, along the target, as far as the score stays the same, as "
        "minimap2 and VCF have them",
    )
    region.add_ranges(add)
    add(
        "--max-cost",
        metavar="N",
        type=max_cost,
        default="auto",
        help="in global mode, how far below the best conceivable score the first band of the "
        "matrix reaches; auto: find out; none: compute all cells; never changes a result; with N "
        "several pairs are compared one after the other, not many together (default: auto)",
    )
    add_output(parser.group("output"))
    add_device(parser.group("run"))


def add_output(add: Any) -> None:
    """Declare ``--output`` on a parser, whose ``add_argument`` is given."""
    choices = ("score", "ends", "path")
    add("--output", choices=choices, default="path", help="how much to compute (default: path)")


def add_device(add: Any) -> None:
    """Declare ``--device`` on a parser, whose ``add_argument`` is given."""
    add(
        "--device",
        default="auto",
        help="auto, cpu, gpu, or platform:device as indices or parts of names, as `devices` lists "
        "them; cpu/4: in at most four threads (default: auto)",
    )
    add_threads(add)


def add_threads(add: Any) -> None:
    """Declare ``--threads`` on a parser, whose ``add_argument`` is given."""
    text = "compute in at most so many threads, on a CPU (default: one for each of its cores)"
    add("--threads", metavar="N", type=count, help=text)


def limit_threads(args: argparse.Namespace) -> None:
    """Let ``--threads`` be part of the device's name, and hold for the host."""
    threads = getattr(args, "threads", None)
    if threads is not None:
        from ..sequences import parallel

        args.device = f"{args.device or 'auto'}/{threads}"
        parallel.AT_ONCE = min(parallel.AT_ONCE, threads)


def add_scores(add: Any) -> None:
    """Declare scores and gap costs on a parser, whose ``add_argument`` is given."""
    add("--match", metavar="N", type=number, help="score of two equal letters (default: 1)")
    add("--mismatch", metavar="N", type=number, help="score of two others (default: -3)")
    add(
        "--matrix",
        metavar="NAME",
        help="a named substitution matrix, for example BLOSUM62, or a file with one in NCBI's "
        "format",
    )
    add(
        "--gap-open",
        metavar="N",
        type=number,
        help="paid once by every gap; a gap of k letters costs open + k * extend (default: what is "
        "usual for the matrix, 11 for BLOSUM62; 3 without one)",
    )
    add(
        "--gap-extend",
        metavar="N",
        type=number,
        help="per letter (default: what is usual for the matrix, 1 for BLOSUM62; 2 without one)",
    )


def add_scoring(add: Any) -> None:
    """Declare the scoring on a parser, whose ``add_argument`` is given."""
    add_scores(add)
    add(
        "--wildcard",
        metavar="LETTER",
        help="a letter that scores 0 against everything, and so do those that are scored as it is "
        "(O with X, U with C or T)",
    )
    add(
        "--unknown-as",
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


def add_formats(add: Any) -> None:
    """Declare the form of results on a parser, whose ``add_argument`` is given."""
    add(
        "--outfmt",
        metavar="{" + ",".join(FORMATS) + "}",
        type=outfmt,
        help="; ".join(f"{name}: {one.about}" for name, one in FORMATS.items())
        + " (default: what the end of the name of -o says, else paf, which needs --output path, "
        "and tsv for less)",
    )
    add(
        "--width",
        metavar="N",
        type=count,
        help="letters on a line of --outfmt pair and fasta (default: 60)",
    )
    add(
        "--limit",
        metavar="N",
        type=count,
        help="columns of an alignment that --outfmt pair shows (default: all)",
    )


def add_results(add: Any) -> None:
    """Declare where results go and in which form, on a parser whose ``add_argument`` is given."""
    add_formats(add)
    add_out(add)
    add(
        "-v",
        "--verbose",
        action="store_true",
        help="say on standard error which device and plan are used, and what the run cost",
    )


def add_out(add: Any) -> None:
    """Declare ``-o`` on a parser, whose ``add_argument`` is given."""
    add(
        "-o",
        dest="out",
        metavar="FILE",
        help="write the results to FILE, which appears when all are there (default: standard "
        "output)",
    )


class Outfmt(NamedTuple):
    """A format, and the columns that are chosen for it."""

    name: str
    fields: tuple[str, ...] = ()


def outfmt(text: str) -> Outfmt:
    """The name of a format; for BLAST's tables, with the names of columns after it."""
    name, *fields = text.split() or [""]
    try:
        found = format_named(name)
        if fields and "fields" not in FORMATS[found].takes:
            able = " and ".join(ALIASES)
            raise InputError(f"{found} has no choice of columns; {able} have")
        if fields:
            from ..results.formats.blast import fields_asked

            fields_asked(fields)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return Outfmt(found, tuple(fields))


def add_plan(add: Any) -> None:
    """Declare ``--plan`` on a parser, whose ``add_argument`` is given."""
    add(
        "--plan",
        metavar="KEY=VALUE,...",
        type=plan,
        help="set B, T, alpha, lanes, form, engine or another parameter by hand, such as "
        "B=4,traceback.pieces=8",
    )


def plan(text: str) -> dict[str, int | float | str]:
    """The fields of a plan and of its tuning, by their names: numbers, or names of what they are
    set to."""
    found: dict[str, int | float | str] = {}
    for part in text.split(","):
        key, _, value = part.partition("=")
        if not key or not value or key in found:
            raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE,KEY=VALUE,...")
        found[key] = _value(value)
    return found


def _value(text: str) -> int | float | str:
    """A whole number, a number with a point or an exponent, or a name."""
    if re.fullmatch(r"[+-]?[0-9]+", text):
        return int(text)
    if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        return float(text)
    return text


def number(text: str) -> int | float:
    """A finite number, whole if it is written so."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        found = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not isfinite(found):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return found


def mode(text: str) -> str:
    """``local`` or ``global``; the error for another word names the --free-ends that it means."""
    if text in ("local", "global"):
        return text
    from ..drivers.problem import free_ends_of

    ends = free_ends_of(text)
    hint = f"; use --mode global --free-ends {ends[1]}{ends[2]}" if ends else ""
    raise argparse.ArgumentTypeError(f"{text!r} is not local or global{hint}")


def count(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def max_cost(text: str) -> str | int | float | None:
    """``auto``, ``none`` (None) or a number."""
    if text in ("auto", "none"):
        return None if text == "none" else text
    try:
        return number(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"{text!r} is not auto, none or a number") from None


def free_ends(text: str) -> bool | tuple[bool, ...]:
    """One, two or four of 0 and 1, with commas between them."""
    truth = {"0": False, "false": False, "1": True, "true": True}
    parts = [part.strip() for part in text.lower().split(",")]
    if len(parts) not in (1, 2, 4) or not all(part in truth for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not 1, 2 or 4 of 0 and 1, like 0,1")
    ends = tuple(truth[part] for part in parts)
    return ends[0] if len(ends) == 1 else ends
