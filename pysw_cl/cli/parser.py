"""The parser of the command line and of each subcommand, how options are read, and their table."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import wraps
from itertools import takewhile
from math import isfinite
from typing import Any, NamedTuple, NoReturn, TypeVar

from ..api import amounts
from ..errors import InputError, printable
from ..results.formats import FORMATS, format_named, make_writer
from ..results.formats.writer import Setting

T = TypeVar("T")
#: What runs a subcommand: it takes the arguments, and gives the exit code (None: 0).
Run = Callable[[argparse.Namespace], int | None]

_RANGE = re.compile(r"([0-9][0-9,]*)-([0-9][0-9,]*)?")


class Parser(argparse.ArgumentParser):
    """An argument parser that says in one line what is wrong.  ``run``: what its subcommand runs
    (None: its help); ``examples``: command lines for its help, without the program's name."""

    def __init__(self, *, run: Run | None = None, examples: Sequence[str] = (), **options: Any):
        shown = "".join(f"\n  pysw-cl {one}" for one in examples)
        epilog = f"examples:{shown}" if shown else None
        super().__init__(allow_abbrev=False, formatter_class=_Help, epilog=epilog, **options)
        self.set_defaults(usage_error=self.error, run=run or (lambda _: self.print_help()))
        self._words: list[str] = []

    def declare(self, title: str, names: str, **other: Any) -> None:
        """Declare some of `OPTIONS`, of which ``other`` is said otherwise, in the group with this
        title ("options": that of ``--help``)."""
        known = {group.title: group for group in self._action_groups}
        group = known.get(title) or self.add_argument_group(title)
        for name in names.split():
            flags = next(key for key in OPTIONS if name in key.split())
            option = {**OPTIONS[flags]._asdict(), **other}
            said = {key: value for key, value in option.items() if value is not None}
            kind = said.pop("type", None)
            if kind is bool:
                said["action"] = "store_true"
            elif kind is not None:
                said |= {"choices": kind} if isinstance(kind, tuple) else {"type": of_option(kind)}
            group.add_argument(*flags.split(), **said)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As in the base class.  Unknown arguments are an error of the subcommand that has them."""
        self._words = list(args or ())
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """End with exit code 2 and one line on standard error.  An option that does not exist is
        named before what follows from it, such as its value in the place of a file."""
        words = takewhile(lambda word: word != "--", self._words)
        if self._subparsers is not None:  # the options after a subcommand are its own
            words = takewhile(lambda word: word.startswith("-"), words)
        for word in words:
            name = word.partition("=")[0] if word.startswith("--") else word[:2]
            if re.match("--?[A-Za-z]", word) and name not in self._option_string_actions:
                message = f"there is no option {word}"
                break
        self.exit(2, f"{self.prog}: {printable(message)} (see {self.prog} --help)\n")


class _Help(argparse.HelpFormatter):
    """Help whose examples keep their lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("examples:") else super()._fill_text(text, width, indent)


class Outfmt(NamedTuple):
    name: str
    fields: tuple[str, ...] = ()


def of_option(read: Callable[[str], T]) -> Callable[[str], T]:
    """``read``, whose InputError is an error of the option that has the text."""

    @wraps(read)
    def checked(text: str) -> T:
        try:
            return read(text)
        except InputError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return checked


def outfmt(text: str) -> Outfmt:
    """The name of a format; for tables, with the names of columns after it."""
    name, *fields = text.split() or [""]
    found = format_named(name)
    if fields:
        make_writer(found, Setting(fields=tuple(fields), second_best=True, expects=True))
    return Outfmt(found, tuple(fields))


def plan(text: str) -> dict[str, int | float | str]:
    """The fields of a plan and of its tuning: numbers, or names of what they are set to."""
    found: dict[str, int | float | str] = {}
    for part in text.split(","):
        key, _, value = part.partition("=")
        if not key or not value or key in found:
            raise InputError(f"{text!r} is not KEY=VALUE,KEY=VALUE,...")
        found[key] = value
        with suppress(InputError):
            found[key] = number(value)
    return found


def number(text: str) -> int | float:
    """A finite number, whole if it is written so."""
    with suppress(ValueError):
        return int(text)
    try:
        found = float(text)
    except ValueError:
        raise InputError(f"{text!r} is not a number") from None
    if not isfinite(found):
        raise InputError(f"{text!r} is not a finite number")
    return found


def mode(text: str) -> str:
    """``local`` or ``global``; the error for another word names the --free-ends that it means."""
    if text in ("local", "global"):
        return text
    from ..drivers.problem import free_ends_of

    ends = free_ends_of(text)
    hint = f"; use --mode global --free-ends {ends[1]}{ends[2]}" if ends else ""
    raise InputError(f"{text!r} is not local or global{hint}")


def count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def max_cost(text: str) -> str | int | float | None:
    """``auto``, ``none`` (None) or a number."""
    if text in ("auto", "none"):
        return None if text == "none" else text
    try:
        return number(text)
    except InputError:
        raise InputError(f"{text!r} is not auto, none or a number") from None


def free_ends(text: str) -> bool | tuple[bool, ...]:
    """One, two or four of 0 and 1, with commas between them."""
    truth = {"0": False, "false": False, "1": True, "true": True}
    parts = [part.strip() for part in text.lower().split(",")]
    if len(parts) not in (1, 2, 4) or not truth.keys() >= set(parts):
        raise InputError(f"{text!r} is not 1, 2 or 4 of 0 and 1, like 0,1")
    ends = tuple(truth[part] for part in parts)
    return ends[0] if len(ends) == 1 else ends


def letter_range(text: str) -> tuple[int, int | None]:
    """START-END, from 1 and inclusive, as (start, end) from 0 and half-open; without END None."""
    if (found := _RANGE.fullmatch(text.strip())) is None:
        raise InputError(f"{text!r} is not START-END, like 1001-2000")
    start, end = (None if part is None else int(part.replace(",", "")) for part in found.groups())
    if not start or (end is not None and end < start):
        raise InputError(f"{text!r}: letters count from 1, and START is not past END")
    return start - 1, end


class Option(NamedTuple):
    """What is declared of an option, in words of `argparse`."""

    #: What reads its value: a function, the values that there are, or bool: it has none.
    type: Any
    metavar: str | None
    help: str
    default: Any = None
    #: The argument that it becomes, if that is called otherwise.
    dest: str | None = None


_PART = (
    "compare only these letters of each {}, counted from 1 and END included, as in samtools; "
    "START- goes on to the end"
)
OPTIONS = {
    # pairs and results
    "--pairs": Option(bool, None, "align record i of QUERY with record i of TARGET only"),
    "--skip-bad": Option(bool, None, "leave out records that are empty or have letters that the "
        "scoring does not have; each is named on standard error (default: they are an error)"),
    "--min-score": Option(number, "N", "leave out results that score less"),
    "--top": Option(count, "N", "the N best targets of each query, the best first; the order of "
        "the file where scores are equal"),
    "--ties": Option(bool, None, "also all hits that are as good as the last of the N best"),
    "--stats": Option(("auto", "library", "none"), None, "where E-values and bit scores come from: "
        "auto: NCBI's parameters, or ones that are fitted to random sequences, once a scoring; for "
        "mode local; library: the scores of this search, in any mode; none: leave them out "
        "(default: auto)", "auto", "evalues"),
    "--db-letters": Option(int, "N", "E-values of a search of N letters, of which DB may be a part "
        "(default: those of DB)"),
    "--max-evalue": Option(number, "E", "leave out hits with a higher E-value"),
    "--min-bits": Option(number, "N", "leave out hits with a lower bit score"),
    "--min-identity": Option(number, "SHARE", "leave out hits of which a smaller share of the "
        "columns, 0 to 1, are matches"),
    "--min-coverage": Option(number, "SHARE", "leave out hits that align a smaller share of the "
        "query's letters, 0 to 1"),
    "--exclude-self": Option(bool, None, "leave out sequences with the query's name and letters"),
    "--alignments": Option(count, "K", "up to K local alignments a pair that share no aligned pair "
        "of letters, best first, which score at least 1 or --min-score; pairs are compared one "
        "after the other then, not many together, which takes several times as long"),
    "--prefilter": Option(("kmer",), None, "a heuristic, which may miss hits: score only subjects "
        "that share K equal letters in a row with the query; scores are exact, and E-values those "
        "of all of DB (default: score all)"),
    "--kmer-length": Option(count, "K", "so many letters (default: 5, of nucleotides 11)"),
    "--second-best": Option(bool, None, "also the highest score of an end outside the best "
        "alignment's part of both sequences (with --strand both, on the other strand, too): the "
        "tag XS in SAM and PAF, whose mapping quality is 0 where it equals the score; a column of "
        "tsv, a field of jsonl"),
    # comparison
    "--mode": Option(mode, "{local,global}", "default: local; --free-ends makes a global "
        "comparison a semi-global one", "local"),
    "--free-ends": Option(free_ends, "ENDS", "which end gaps are free in global mode, 0 or 1 each: "
        "one value for all, two for gaps in the query and in the target, or four for query start, "
        "query end, target start, target end; 1,0 fits a short query into a long target (default: "
        "0)", False),
    "--strand": Option(("plus", "minus", "both"), None, "align each query as it is, its reverse "
        "complement, or whichever of them scores more; nucleotides only (default: plus)", "plus"),
    "--left-align": Option(bool, None, "move every gap to the left, along the target, as far as "
        "the score stays the same, as minimap2 and VCF have them"),
    "--query-range": Option(letter_range, "START-END", _PART.format("query")),
    "--target-range": Option(letter_range, "START-END", _PART.format("target")),
    "--max-cost": Option(max_cost, "N", "in global mode, how far below the best conceivable score "
        "the first band of the matrix reaches; auto: find out; none: compute all cells; never "
        "changes a result; with N several pairs are compared one after the other, not many "
        "together (default: auto)", "auto"),
    # places
    "-k": Option(count, "K", "how many for each pair (default: 200)", 200),
    "--min-separation": Option(int, "LETTERS", "leave out an end that is nearer than this, in both "
        "sequences, to a better one", 0),
    "--apart-in": Option(("either", "both"), None, "ends are LETTERS apart in at least one of the "
        "sequences, or in both (default: either)", "either"),
    "--ends": Option(("cells", "matches"), None, "every cell is an end; or only those of "
        "alignments that end in a match and cannot go on with another (default: cells)", "cells"),
    "--places": Option(bool, None, "one end for each alignment, of alignments that share no "
        "aligned pair of letters, as align --alignments K finds them (default: every cell is an "
        "end)"),
    # scoring
    "--match": Option(number, "N", "score of two equal letters (default: 1)"),
    "--mismatch": Option(number, "N", "score of two others (default: -3)"),
    "--matrix": Option(None, "NAME", "a named substitution matrix, for example BLOSUM62, or a file "
        "with one in NCBI's format"),
    "--gap-open": Option(number, "N", "paid once by every gap; a gap of k letters costs open + k * "
        "extend (default: what is usual for the matrix, 11 for BLOSUM62; 3 without one)"),
    "--gap-extend": Option(number, "N", "per letter (default: what is usual for the matrix, 1 for "
        "BLOSUM62; 2 without one)"),
    "--wildcard": Option(None, "LETTER", "a letter that scores 0 against everything, and so do "
        "those that are scored as it is (O with X, U with C or T)"),
    "--iupac": Option(("mismatch", "match"), None, "whether ambiguity letters of nucleotides match "
        "nothing, not even themselves, or each letter with which they have a base in common, so "
        "that R, which is A or G, matches all but C, T, U and Y (default: mismatch)", "mismatch"),
    "--unknown-as": Option(None, "LETTER", "take letters outside the alphabet as this one, such as "
        "X for proteins (default: they are errors)", "error", "unknown"),
    "--allow-odd-scoring": Option(bool, None, "take scores that are errors otherwise: in local "
        "mode without a positive one, in global mode a mismatch above the match"),
    # output
    "--output": Option(("score", "ends", "path"), None, "how much to compute (default: path)",
        "path"),
    "--paths": Option(bool, None, "write the best alignment that ends at each place, in a format "
        "of align, in the place of the table"),
    "--outfmt": Option(outfmt, "{" + ",".join(FORMATS) + "}",
        "; ".join(f"{name}: {one.about}" for name, one in FORMATS.items())
        + " (default: what the end of the name of -o says, else paf, which needs --output path, "
        "and tsv for less)"),
    "--width": Option(count, "N", "letters on a line of --outfmt pair, blast0, fasta and hits "
        "(default: 60)"),
    "--limit": Option(count, "N", "columns of an alignment that --outfmt pair shows "
        "(default: all)"),
    "-o": Option(None, "FILE", "write the results to FILE, which appears when all are there "
        "(default: standard output)", None, "out"),
    "-v --verbose": Option(bool, None, "say on standard error which device and plan are used, and "
        "what the run cost"),
    # run
    "--device": Option(None, None, "auto, cpu, gpu, or platform:device as indices or parts of "
        "names, as `devices` lists them; cpu/4: in at most four threads; for one large pair also "
        "several that compute it together: all, or a list such as 0:0,0:1 (default: auto)", "auto"),
    "--threads": Option(count, "N", "compute in at most so many threads, on a CPU (default: one "
        "for each of its cores)"),
    "--network": Option(None, "SPEED,LATENCY", "each device of NxNAME is in a machine of its own, "
        "and this is between them, like 10Gbit,20us (default: all are in one machine)"),
    "--cluster": Option(None, "ADDRESS", "compute on the workers of the Dask scheduler there, such "
        "as tcp://host:8786 (docs/cluster.md), each with --device, --threads and --plan"),
    "--engine": Option(None, None, "auto, wavefront, rowscan or reference (default: auto)", "auto"),
    "--plan": Option(plan, "KEY=VALUE,...", "set B, T, alpha, lanes, form, engine or another "
        "parameter by hand, such as B=4,traceback.pieces=8"),
    "--checkpoint": Option(None, "DIR", "save rows there, and go on if a run was interrupted; of "
        "several pairs each has a folder in it"),
    "--disk-size": Option(amounts.size, "SIZE", "bytes that DIR may take, like 500M or 10G "
        "(default: 10G, or less for 128 rows)"),
    "--stop-after": Option(amounts.seconds, "TIME", "stop at the next row after this time, like "
        "90m or 2h, with exit code 3"),
    "--for": Option(None, "KINDS", "what to prepare for, with commas between (default: "
        "dna,protein,global,many)", "dna,protein,global,many", "kinds"),
    "--budget": Option(amounts.seconds, "TIME", "how long it may take, like 30s or 5m (default: "
        "60s)", 60.0),
    "--plot": Option(None, "FILE", "draw the time over B into FILE (.png, .svg, .pdf); needs "
        "matplotlib"),
    "--timeline": Option(None, "FILE", "of one pair, draw what each device computes when into FILE "
        "(as plot's PICTURE)"),
    "-q --quiet": Option(bool, None, "no progress bar, even on a terminal"),
}  # fmt: skip

#: Options that several subcommands have, by their groups.
DEVICE = "--device --threads"
SCORES = "--match --mismatch --matrix --gap-open --gap-extend"
SCORING = f"{SCORES} --wildcard --iupac --unknown-as --allow-odd-scoring"
FORMAT = "--outfmt --width --limit"


def declare_compared(parser: Parser) -> None:
    """Declare what `align` and `plot` have in common: two files, and how they are compared."""
    parser.add_argument("query", metavar="QUERY")
    parser.add_argument("target", metavar="TARGET")
    parser.declare("comparison", "--mode --free-ends")
    parser.declare("scoring", SCORING)
    parser.declare("comparison", "--strand --left-align --query-range --target-range --max-cost")
    parser.declare("output", "--output")
    parser.declare("run", DEVICE)
