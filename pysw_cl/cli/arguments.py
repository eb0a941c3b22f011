"""The options of the command: one table says what each is called, how its text is read, and what
it is for.  The library's argument that it becomes has its name, or the one in the table.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any, NamedTuple

from ..results.formats import FORMATS
from . import parser as read
from .parser import Parser


class Option(NamedTuple):
    """What is declared of an option, in words of `argparse`."""

    #: What reads its value: a function, the values that there are, or bool: it has none.
    type: Any
    metavar: str | None
    default: Any
    help: str | None
    #: The argument that it becomes, if that is called otherwise.
    dest: str | None = None


_RANGE = (
    "compare only these letters of each {}, counted from 1 and END included, as in samtools; "
    "START- goes on to the end"
)
OPTIONS = {
    # pairs and results
    "--pairs": Option(bool, None, False, "align record i of QUERY with record i of TARGET only"),
    "--skip-bad": Option(bool, None, False,
        "leave out records that are empty or have letters that the scoring does not have; each is "
        "named on standard error (default: they are an error)"),
    "--min-score": Option(read.number, "N", None, "leave out results that score less"),
    "--top": Option(read.count, "N", None,
        "the N best targets of each query, the best first; the order of the file where scores are "
        "equal"),
    "--alignments": Option(read.count, "K", None,
        "up to K local alignments a pair that share no aligned pair of letters, best first, which "
        "score at least 1 or --min-score; pairs are compared one after the other then, not many "
        "together, which takes several times as long"),
    "--second-best": Option(bool, None, False,
        "also the highest score of an end outside the best alignment's part of both sequences "
        "(with --strand both, on the other strand, too): the tag XS in SAM and PAF, whose mapping "
        "quality is 0 where it equals the score; a column of tsv, a field of jsonl"),
    # comparison
    "--mode": Option(read.mode, "{local,global}", "local",
        "default: local; --free-ends makes a global comparison a semi-global one"),
    "--free-ends": Option(read.free_ends, "ENDS", False,
        "which end gaps are free in global mode, 0 or 1 each: one value for all, two for gaps in "
        "the query and in the target, or four for query start, query end, target start, target "
        "end; 1,0 fits a short query into a long target (default: 0)"),
    "--strand": Option(("plus", "minus", "both"), None, "plus",
        "align each query as it is, its reverse complement, or whichever of them scores more; "
        "nucleotides only (default: plus)"),
    "--left-align": Option(bool, None, False,
        "move every gap to the left, along the target, as far as the score stays the same, as "
        "minimap2 and VCF have them"),
    "--query-range": Option(read.letter_range, "START-END", None, _RANGE.format("query")),
    "--target-range": Option(read.letter_range, "START-END", None, _RANGE.format("target")),
    "--max-cost": Option(read.max_cost, "N", "auto",
        "in global mode, how far below the best conceivable score the first band of the matrix "
        "reaches; auto: find out; none: compute all cells; never changes a result; with N several "
        "pairs are compared one after the other, not many together (default: auto)"),
    # places
    "-k": Option(read.count, "K", 200, "how many for each pair (default: 200)"),
    "--min-separation": Option(int, "LETTERS", 0,
        "leave out an end that is nearer than this, in both sequences, to a better one"),
    "--places": Option(bool, None, False,
        "one end for each alignment, of alignments that share no aligned pair of letters, as align "
        "--alignments K finds them (default: every cell is an end)"),
    # scoring
    "--match": Option(read.number, "N", None, "score of two equal letters (default: 1)"),
    "--mismatch": Option(read.number, "N", None, "score of two others (default: -3)"),
    "--matrix": Option(None, "NAME", None,
        "a named substitution matrix, for example BLOSUM62, or a file with one in NCBI's format"),
    "--gap-open": Option(read.number, "N", None,
        "paid once by every gap; a gap of k letters costs open + k * extend (default: what is "
        "usual for the matrix, 11 for BLOSUM62; 3 without one)"),
    "--gap-extend": Option(read.number, "N", None,
        "per letter (default: what is usual for the matrix, 1 for BLOSUM62; 2 without one)"),
    "--wildcard": Option(None, "LETTER", None,
        "a letter that scores 0 against everything, and so do those that are scored as it is (O "
        "with X, U with C or T)"),
    "--unknown-as": Option(None, "LETTER", "error",
        "take letters outside the alphabet as this one, such as X for proteins (default: they are "
        "errors)", "unknown"),
    "--allow-odd-scoring": Option(bool, None, False,
        "take scores that are errors otherwise: in local mode without a positive one, in global "
        "mode a mismatch above the match"),
    # output
    "--output": Option(("score", "ends", "path"), None, "path",
        "how much to compute (default: path)"),
    "--paths": Option(bool, None, False,
        "write the best alignment that ends at each place, in a format of align, in the place of "
        "the table"),
    "--outfmt": Option(read.outfmt, "{" + ",".join(FORMATS) + "}", None,
        "; ".join(f"{name}: {one.about}" for name, one in FORMATS.items())
        + " (default: what the end of the name of -o says, else paf, which needs --output path, "
        "and tsv for less)"),
    "--width": Option(read.count, "N", None,
        "letters on a line of --outfmt pair and fasta (default: 60)"),
    "--limit": Option(read.count, "N", None,
        "columns of an alignment that --outfmt pair shows (default: all)"),
    "-o": Option(None, "FILE", None,
        "write the results to FILE, which appears when all are there (default: standard output)",
        "out"),
    "-v --verbose": Option(bool, None, False,
        "say on standard error which device and plan are used, and what the run cost"),
    # run
    "--device": Option(None, None, "auto",
        "auto, cpu, gpu, or platform:device as indices or parts of names, as `devices` lists them; "
        "cpu/4: in at most four threads (default: auto)"),
    "--threads": Option(read.count, "N", None,
        "compute in at most so many threads, on a CPU (default: one for each of its cores)"),
    "--engine": Option(None, None, "auto",
        "auto, wavefront, rowscan or reference (default: auto)"),
    "--plan": Option(read.plan, "KEY=VALUE,...", None,
        "set B, T, alpha, lanes, form, engine or another parameter by hand, such as "
        "B=4,traceback.pieces=8"),
    "--checkpoint": Option(None, "DIR", None,
        "save rows there, and go on if a run was interrupted; of several pairs each has a folder "
        "in it"),
    "--disk-size": Option(read.size, "SIZE", None,
        "bytes that DIR may take, like 500M or 10G (default: 10G, or less for 128 rows)"),
    "--stop-after": Option(read.seconds, "TIME", None,
        "stop at the next row after this time, like 90m or 2h, with exit code 3"),
    "-q --quiet": Option(bool, None, False, "no progress bar, even on a terminal"),
}  # fmt: skip

#: Options that several subcommands have, by their groups.
DEVICE = "--device --threads"
SCORES = "--match --mismatch --matrix --gap-open --gap-extend"
SCORING = f"{SCORES} --wildcard --unknown-as --allow-odd-scoring"
FORMAT = "--outfmt --width --limit"


def declare(parser: Parser, title: str, names: str, **other: Any) -> None:
    """Declare some of `OPTIONS` in the group with this title ("options": that of ``--help``);
    ``other``: what is said otherwise of them."""
    add = parser.group(title)
    for name in names.split():
        flags = next(key for key in OPTIONS if name in key.split())
        option = {**OPTIONS[flags]._asdict(), **other}
        known = {key: value for key, value in option.items() if value is not None}
        kind = known.pop("type", None)
        if kind is bool:
            known["action"] = "store_true"
        elif kind is not None:
            known["choices" if isinstance(kind, tuple) else "type"] = kind
        add(*flags.split(), **known)


def declare_compared(parser: Parser) -> None:
    """Declare what `align` and `plot` have in common: two files, and how they are compared."""
    parser.add_argument("query", metavar="QUERY")
    parser.add_argument("target", metavar="TARGET")
    declare(parser, "comparison", "--mode --free-ends")
    declare(parser, "scoring", SCORING)
    ranges = "--query-range --target-range"
    declare(parser, "comparison", f"--strand --left-align {ranges} --max-cost")
    declare(parser, "output", "--output")
    declare(parser, "run", DEVICE)


def declare_run(
    parser: Parser, run: Callable[[Namespace], int], checkpoint: dict[str, str] | None = None
) -> None:
    """Declare where results go and how they are computed; ``run`` is the subcommand.

    ``checkpoint``: what is said otherwise of ``--checkpoint``, if it has that option."""
    declare(parser, "output", f"{FORMAT} -o -v")
    declare(parser, "run", "--plan")
    if checkpoint is not None:
        declare(parser, "run", "--checkpoint", **checkpoint)
    declare(parser, "run", "--disk-size --stop-after -q")
    parser.set_defaults(run=run)


def limit_threads(args: Namespace) -> None:
    """Let ``--threads`` be part of the device's name, and hold for the host."""
    threads = getattr(args, "threads", None)
    if threads is not None:
        from ..sequences import parallel

        args.device = f"{args.device or 'auto'}/{threads}"
        parallel.AT_ONCE = min(parallel.AT_ONCE, threads)
