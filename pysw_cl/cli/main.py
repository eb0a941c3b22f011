"""The command line: ``pysw-cl align``, ``resume``, ``plot``, ``devices`` and ``demo``.

Results go to standard output, messages and the progress bar to standard error.  The exit code is
0, 1 for an error (one line says which), 2 for wrong usage, 3 for a run that was told to stop
before it was finished and can be resumed, 130 after Ctrl-C.  NumPy and pyopencl
are imported by the command that needs them, so that ``--help`` is there at once.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import (
    InputError,
    InternalError,
    PyswError,
    RangeError,
    RecomputedWarning,
    SequenceError,
    Stopped,
)
from . import checkpoint as cli_checkpoint
from .arguments import make_parser
from .region import region

if TYPE_CHECKING:
    from ..results.alignment import Alignment
    from ..sequences.sequence import Sequence
    from .progress import ProgressBar

#: Targets of up to this many letters are kept in memory between queries; more are read again.
KEEP_LETTERS = 1 << 26

#: The exit code of a run that ended by --stop-after.
STOPPED = 3

DEMO = ("NC_012920.1.fasta", "GU112745.1.fasta")
DEMO_LINES = 7 + 3 * 4  # the header and three blocks of the pairwise text


def main(argv: Iterable[str] | None = None) -> int:
    """Run the command line with ``argv`` (default: the process's own); return the exit code."""
    nowhere = sys.stdout is None  # closed by the caller
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:
            setattr(sys, stream, open(os.devnull, "w"))  # noqa: PTH123, SIM115
    if nowhere:
        return _fail("standard output is closed, and results go there")
    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("ignore")  # compiler chatter is no message to the user
            warnings.simplefilter("always", RecomputedWarning)
        warnings.showwarning = _show_warning
        return _run(argv)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print("pysw-cl: warning:", " ".join(str(message).split()), file=sys.stderr)


def _run(argv: Iterable[str] | None) -> int:
    """Run the command line, and turn whatever ends it into a message and an exit code."""
    try:
        args = make_parser(RUNS).parse_args(None if argv is None else list(argv))
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except SystemExit as stop:  # argparse: 0 after --help, 2 after a usage error
        return stop.code if isinstance(stop.code, int) else 2
    except KeyboardInterrupt as stop:
        return _fail(str(stop) or "interrupted", 130)
    except Stopped as stop:
        return _fail(str(stop), STOPPED)
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


def _align(args: argparse.Namespace) -> int:
    sub_score = args.matrix
    if args.matrix is None:
        match = 1 if args.match is None else args.match
        sub_score = (match, -3 if args.mismatch is None else args.mismatch)
    elif args.match is not None or args.mismatch is not None:
        args.usage_error("--matrix goes without --match and --mismatch")
    if args.query == args.target == "-":
        args.usage_error("QUERY and TARGET cannot both be standard input")
    if args.top is not None and args.mode != "local":
        args.usage_error("--top is for --mode local")
    if args.top is not None and any((args.strand != "plus", args.query_range, args.target_range)):
        args.usage_error("--top goes without --strand, --query-range and --target-range")
    if args.top is not None and args.picture is not None:
        args.usage_error("plot draws one alignment: --top is for align")
    if args.top is not None and args.checkpoint is not None:
        args.usage_error("--top goes without --checkpoint")
    if args.top is None and args.min_score is not None:
        args.usage_error("--min-score goes with --top")
    saving: dict[str, Any] = {}
    pairs = _pairs(args.query, args.target)
    if args.checkpoint is not None:
        saving = {"checkpoint": args.checkpoint, **cli_checkpoint.limits(args)}
        pairs = cli_checkpoint.only(pairs)
    elif args.disk_size is not None or args.stop_after is not None:
        args.usage_error("--disk-size and --stop-after go with --checkpoint")
    if args.picture is not None:
        from ..results.plot import require

        require()
    run = _aligner(args, sub_score, saving)

    with _progress() as progress, cli_checkpoint.resumable(args.checkpoint):
        for count, (query, target) in enumerate(pairs, 1):
            if args.picture is not None and count > 1:
                raise InputError("plot takes one query and one target; it has drawn the first pair")
            if progress is not None:
                progress.begin(f"pair {count:,} " if count > 1 else "")
            try:
                results = run(query, target, progress)
            except (SequenceError, RangeError) as error:
                raise type(error)(f"query {query.name}, target {target.name}: {error}") from error
            for result in results:
                if args.picture is not None:
                    result.plot(args.picture)
                _print_result(args, result, progress)
    return 0


def _print_result(
    args: argparse.Namespace, result: Alignment, progress: ProgressBar | None
) -> None:
    from ..results.formats import paf

    if progress is not None and sys.stdout.isatty():
        progress.clear()
    print(paf.line(result) if args.outfmt == "paf" else f"{result}\n", flush=True)


def _resume(args: argparse.Namespace) -> int:
    from .. import resume

    with _progress() as progress, cli_checkpoint.resumable(args.checkpoint):
        result = resume(
            args.checkpoint,
            device=args.device,
            plan=args.plan,
            progress=progress,
            **cli_checkpoint.limits(args),
        )
        _print_result(args, result, progress)
    return 0


def _aligner(
    args: argparse.Namespace, sub_score: Any, saving: dict[str, Any]
) -> Callable[[Sequence, Sequence, ProgressBar | None], list[Alignment]]:
    """What is run on each pair, and gives its alignments."""
    from .. import align, align_top

    options = {
        "sub_score": sub_score,
        "gap_cost": (args.gap_open, args.gap_extend),
        "output": args.output,
        "wildcard": args.wildcard,
        "device": args.device,
        "plan": args.plan,
    }
    if args.top is not None:
        options |= {"k": args.top, "min_score": 1 if args.min_score is None else args.min_score}
        return lambda query, target, progress: align_top(
            query, target, progress=progress, **options
        )
    options |= {"mode": args.mode, "free_ends": args.free_ends, "max_cost": args.max_cost}
    options |= saving
    return lambda query, target, progress: [
        align(query, target, progress=progress, **(options | region(args, query, target)))
    ]


def _pairs(query_path: str, target_path: str) -> Iterator[tuple[Sequence, Sequence]]:
    """Every query with every target, in the order of the files.

    Only one query is held at a time.  Targets are held while they are few; a file with more is
    read again for each query, and input that cannot be read twice is held as a whole, unless
    there is only one query.
    """
    from ..sequences.sequence import read_fasta

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
    from .. import devices

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
    from .. import align
    from ..opencl.resources import shipped
    from ..sequences.sequence import read_fasta

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


RUNS = {"align": _align, "resume": _resume, "devices": _devices, "demo": _demo}
