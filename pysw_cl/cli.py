"""The command line: ``pysw-cl align``, ``pysw-cl devices`` and ``pysw-cl demo``.

Results go to standard output, messages and the progress bar to standard error.  The exit code is
0, 1 for an error (one line says which), 2 for wrong usage, 130 after Ctrl-C.  NumPy and pyopencl
are imported by the command that needs them, so that ``--help`` is there at once.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import traceback
import warnings
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._version import __version__
from .errors import InternalError, PyswError, RangeError, SequenceError

if TYPE_CHECKING:
    from .progress import ProgressBar
    from .sequences import Sequence

#: Targets of up to this many letters are kept in memory between queries; more are read again.
KEEP_LETTERS = 1 << 26

DEMO = ("NC_012920.1.fasta", "GU112745.1.fasta")
DEMO_LINES = 7 + 3 * 4  # the header and three blocks of the pairwise text

EXAMPLES = """\
examples:
  pysw-cl align human.fa chimp.fa                      the best local alignment, as PAF
  pysw-cl align --outfmt pair human.fa chimp.fa        the same, to be read by people
  pysw-cl align --output score reads.fa.gz genome.fa   scores only: no path, less memory
  pysw-cl align --matrix BLOSUM62 --gap-open 10 --gap-extend 1 query.fa proteins.fa
  zcat proteins.fa.gz | pysw-cl align --matrix BLOSUM62 query.fa -
"""


def main(argv: Iterable[str] | None = None) -> int:
    """Run the command line with ``argv`` (default: the process's own); return the exit code."""
    nowhere = sys.stdout is None  # closed by the caller
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:
            setattr(sys, stream, open(os.devnull, "w"))  # noqa: PTH123, SIM115
    if nowhere:
        return _fail("standard output is closed, and results go there")
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # compiler chatter is no message to the user
    try:
        args = _parser().parse_args(None if argv is None else list(argv))
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except SystemExit as stop:  # argparse: 0 after --help, 2 after a usage error
        return stop.code if isinstance(stop.code, int) else 2
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except BrokenPipeError:
        return _fail("")
    except OSError as error:
        place = f"{error.filename}: " if error.filename is not None else ""
        return _fail(f"{place}{error.strerror or error}")
    except InternalError as error:
        return _fail(f"{error} (a bug in pysw-cl; please report it)")
    except PyswError as error:
        return _fail(str(error))
    except ImportError as error:
        return _fail(f"cannot load what this needs: {error}")
    except MemoryError as error:
        return _fail(f"out of memory: {error}".removesuffix(": "))
    except Exception as error:  # never a traceback: one line that can be reported
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        name = type(error).__name__
        return _fail(f"internal error, {name} at {where}: {error} (please report it)")


def _fail(message: str, code: int = 1) -> int:
    """Say ``message`` in one line, leave what was written so far written, and return ``code``."""
    try:
        sys.stdout.flush()
    except OSError:  # nobody reads any more: keep the interpreter from trying again at its end
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if message:
        print("pysw-cl:", " ".join(message.split()), file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pysw-cl",
        description="Exact pairwise sequence alignment on any OpenCL device.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"pysw-cl {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_align(commands)
    devices = commands.add_parser("devices", help="list the OpenCL devices and what keeps one out")
    devices.set_defaults(run=_devices)
    demo = commands.add_parser("demo", help="align the human and the chimpanzee mitochondrion")
    demo.add_argument("--device", default="auto", help="as for align")
    demo.set_defaults(run=_demo)
    return parser


def _add_align(commands: Any) -> None:
    parser = commands.add_parser(
        "align",
        help="align every query against every target",
        description="Align every record of QUERY against every record of TARGET. Both are FASTA "
        "files, plain or gzip; - is standard input.",
    )
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
    add(
        "--outfmt",
        choices=("paf", "pair"),
        default="paf",
        help="paf: a line per alignment; pair: aligned text (default: paf)",
    )
    add(
        "--plan",
        metavar="KEY=VALUE,...",
        type=_plan,
        help="set B, T, alpha, lanes, form or engine by hand",
    )
    parser.set_defaults(run=_align, usage_error=parser.error)


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


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


def _align(args: argparse.Namespace) -> int:
    sub_score = args.matrix
    if args.matrix is None:
        match = 1 if args.match is None else args.match
        sub_score = (match, -3 if args.mismatch is None else args.mismatch)
    elif args.match is not None or args.mismatch is not None:
        args.usage_error("--matrix goes without --match and --mismatch")
    if args.query == args.target == "-":
        args.usage_error("QUERY and TARGET cannot both be standard input")

    from . import align
    from .formats import paf

    with _progress() as progress:
        for count, (query, target) in enumerate(_pairs(args.query, args.target), 1):
            if progress is not None:
                progress.begin(f"pair {count:,} " if count > 1 else "")
            try:
                result = align(
                    query,
                    target,
                    mode=args.mode,
                    free_ends=args.free_ends,
                    sub_score=sub_score,
                    gap_cost=(args.gap_open, args.gap_extend),
                    output=args.output,
                    wildcard=args.wildcard,
                    max_cost=args.max_cost,
                    device=args.device,
                    plan=args.plan,
                    progress=progress,
                )
            except (SequenceError, RangeError) as error:
                raise type(error)(f"query {query.name}, target {target.name}: {error}") from error
            if progress is not None and sys.stdout.isatty():
                progress.clear()
            print(paf.line(result) if args.outfmt == "paf" else f"{result}\n", flush=True)
    return 0


def _pairs(query_path: str, target_path: str) -> Iterator[tuple[Sequence, Sequence]]:
    """Every query with every target, in the order of the files.

    Only one query is held at a time.  Targets are held while they are few; a file with more is
    read again for each query, and input that cannot be read twice is held as a whole, unless
    there is only one query.
    """
    from .sequences import read_fasta

    again = Path(target_path).is_file()  # neither standard input nor a pipe
    queries = iter(read_fasta(query_path))
    held: list[Sequence] | None = None
    query = next(queries, None)
    while query is not None:
        following = None if again else next(queries, None)
        if held is not None:
            for target in held:
                yield query, target
        else:
            held, letters = [], 0
            for target in read_fasta(target_path):
                letters += len(target.letters)
                if held is not None and (letters <= KEEP_LETTERS if again else following):
                    held.append(target)
                else:
                    held = None
                yield query, target
        query = next(queries, None) if again else following


@contextlib.contextmanager
def _progress() -> Iterator[ProgressBar | None]:
    """A progress bar on standard error when that is a terminal, wiped at the end, else None."""
    from .progress import ProgressBar

    if not sys.stderr.isatty():
        yield None
        return
    bar = ProgressBar(sys.stderr)
    try:
        yield bar
    finally:
        bar.clear()


def _devices(args: argparse.Namespace) -> int:
    from . import devices

    found = devices()
    rows = [("device", "kind", "units", "name", "platform", "usable")]
    for device in found:
        usable = "yes" if device.usable else f"no: {device.reason}"
        units = str(device.compute_units)
        rows.append((device.index, device.kind, units, device.name, device.platform, usable))
    if found:
        _print_table(rows)
    if any(device.usable for device in found):
        return 0
    return _fail('no usable OpenCL device; pip install "pysw-cl[pocl]" adds one for the CPU')


def _print_table(rows: Collection[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def _demo(args: argparse.Namespace) -> int:
    from . import align
    from ._kernels import shipped
    from .sequences import read_fasta

    human, chimp = (next(read_fasta(shipped("examples", name))) for name in DEMO)
    with _progress() as progress:
        result = align(human, chimp, device=args.device, progress=progress)
    lines = str(result).splitlines()
    print("\n".join(lines[:DEMO_LINES]))
    print(f"\n... and {len(lines) - DEMO_LINES:,} more lines.\n")
    print("Query: the human mitochondrion; target: the chimpanzee's. The chimpanzee record starts")
    print("576 bases later on the circle, so the first 576 human bases belong to its far end, and")
    print("a local alignment leaves them out.\n")
    print(f"# time:        {result.stats.seconds:.2f} s, {result.stats.gcups:.2f} GCUPS")
    print(f"# plan:        {result.plan}")
    return 0
