"""``pysw-cl matrix``."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from ..errors import printable
from ..results.formats import end_of_name
from ..results.formats.writer import without_blanks
from .asked import check_files, made_asked, options_asked, usage
from .output import running
from .parser import DEVICE, SCORING

#: The formats by the ends of names.
ENDS = {".tsv": "tsv", ".phy": "phylip", ".npy": "npy"}


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "matrix",
        run=run,
        help="compare all with all: a table of scores or distances",
        description="Compare every record of QUERIES with every record of TARGETS, or with each "
        "other where there is no TARGETS, and write a row for each query. Both are files of FASTA "
        "or FASTQ, or databases of makedb; - is standard input.",
        examples=(
            "matrix a.fa b.fa -o scores.tsv     names in the first row and the first column",
            "matrix a.fa b.fa -o scores.npy     NumPy's array, which may be larger than memory",
            "matrix --mode global --output distance -o distances.phy a.fa",
        ),
    )
    parser.add_argument("queries", metavar="QUERIES")
    parser.add_argument("targets", metavar="TARGETS", nargs="?")
    parser.declare("comparison", "--mode --free-ends")
    parser.declare("scoring", SCORING)
    what = "scores, or distances of Feng and Doolittle, for --mode global (default: score)"
    parser.declare("output", "--output", type=("score", "distance"), default="score", help=what)
    named = f"default: what the end of the name of -o says, {', '.join(ENDS)}, else tsv"
    parser.declare("output", "--outfmt", type=tuple(ENDS.values()), metavar=None, help=named)
    parser.declare("output", "-o -v")
    parser.declare("run", f"{DEVICE} --plan --cluster -q")


def run(args: Namespace) -> None:
    from ..database.database import Database
    from ..database.matrix import matrix_of
    from ..drivers.options import MatrixOptions, Resources
    from ..engines.registry import engine_for

    kind = args.outfmt or ENDS.get(end_of_name(args.out or ""), "tsv")
    if kind == "phylip" and (args.output != "distance" or args.targets is not None):
        args.usage_error("phylip is for --output distance, without TARGETS")
    if kind == "npy" and end_of_name(args.out or "") != ".npy":
        args.usage_error("--outfmt npy takes -o FILE.npy")
    with usage(args):
        options = options_asked(args, MatrixOptions)
        plan = None if args.cluster else engine_for(args.device, args.plan).plan
        made_asked(args, Resources, progress=None)
    check_files(args, QUERIES=args.queries, TARGETS=args.targets)
    out = args.out if kind == "npy" else None
    with running(args, to_file=out is None) as to:
        to.begin(args.cluster or args.device, plan)
        resources = made_asked(args, Resources, progress=to.bar)
        sides = [Database(path) for path in (args.queries, args.targets) if path is not None]
        targets = sides[1] if len(sides) > 1 else None
        found, stats = matrix_of(sides[0], targets, options, resources, out)
        if out is None:
            for text in lines_of(kind, [[one.name for one in side] for side in sides], found):
                to.write(text)
        to.add([stats], found.size)


def lines_of(kind: str, names: list[list[str]], matrix: Any) -> Iterator[str]:
    """The lines of a matrix; ``names``: of its rows and, unless these are the same, columns."""
    phylip, blank = kind == "phylip", " " if kind == "phylip" else "\t"
    yield f"{len(names[0])}\n" if phylip else "\t".join(["", *map(printable, names[-1])]) + "\n"
    for name, row in zip(names[0], matrix, strict=True):
        shown = without_blanks(name, "sequence") if phylip else printable(name)
        yield blank.join([shown, *map(repr, row.tolist())]) + "\n"
