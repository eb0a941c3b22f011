"""The command line: its parser, and what ends it.  Each subcommand is a file beside this one.

Results go to standard output, messages and the progress bar to standard error.  The exit code is
0, 1 for an error (one line says which), 2 for wrong usage (one line, too), 3 for a run that was
told to stop before it was finished and can be resumed, and 128 + its number after a signal
(`ending`): 130 after Ctrl-C.  NumPy and pyopencl are imported by the command that needs them, so
that ``--help`` is there at once."""

from __future__ import annotations

import argparse
import io
import logging
import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

from .. import errors
from .._version import __version__
from ..errors import InternalError, PyswError, Stopped, printable
from ..opencl import early
from ..results.formats.files import whole
from . import align, cluster, devices, ending, ends, makedb, matrix, predict, resume, search, tune
from .parser import Parser
from .ssca1 import add_to as add_ssca1_to

#: Declare the subcommands, in the order of the help: their arguments, and what they run.
COMMANDS = (
    align.add_to, align.add_plot_to, ends.add_to, search.add_to, makedb.add_to, matrix.add_to,
    resume.add_to, predict.add_to, devices.add_to, cluster.add_to, devices.add_prepare_to,
    tune.add_to, add_ssca1_to, devices.add_profile_to, devices.add_demo_to,
)  # fmt: skip
EXAMPLES = (
    "align human.fa chimp.fa             the best local alignment, as PAF",
    "plot human.fa chimp.fa picture.png  the path over the matrix",
    "align --help                        proteins, both strands, SAM, long runs and more",
)


def main(argv: Iterable[str] | None = None) -> int:
    """Run the command line with ``argv`` (default: the process's own); return the exit code."""
    if argv is None:
        ending.prepare()
    ending.checkpoint = None
    nowhere = sys.stdout is None  # closed by the caller
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:
            setattr(sys, stream, open(os.devnull, "w"))  # noqa: PTH123, SIM115
    if nowhere:
        return _fail("standard output is closed, and results go there")
    if isinstance(sys.stdout, io.TextIOWrapper):  # as in files, whatever the locale says
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    out, err = whole(sys.stdout, "standard output"), whole(sys.stderr, "standard error")
    with warnings.catch_warnings(), redirect_stdout(out), redirect_stderr(err):
        if not sys.warnoptions:
            warnings.simplefilter("ignore")  # compiler chatter is no message to the user
            shown = errors.RecomputedWarning, errors.InputWarning, errors.ProfileWarning
            for kind in (*shown, errors.CacheWarning):
                warnings.simplefilter("always", kind)
        warnings.showwarning = _show_warning
        return _run(argv)


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command line; what it parses says what is ``run``."""
    what = "Exact pairwise sequence alignment on any OpenCL device."
    parser = Parser(prog="pysw-cl", description=what, examples=EXAMPLES)
    parser.add_argument("--version", action="version", version=f"pysw-cl {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND")
    for add_to in COMMANDS:
        add_to(commands)
    return parser


def limit_threads(args: argparse.Namespace) -> None:
    """Let ``--threads`` be part of the device's name, and hold for the host."""
    if getattr(args, "threads", None) is not None:
        from ..sequences import parallel

        args.device = f"{args.device or 'auto'}/{args.threads}"
        parallel.AT_ONCE = min(parallel.AT_ONCE, args.threads)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    wipe = "\r\033[K" if sys.stderr.isatty() else ""  # a progress bar may stand there
    print(f"{wipe}pysw-cl: warning:", printable(str(message)), file=sys.stderr)


def _run(argv: Iterable[str] | None) -> int:
    """Run the command line, and turn whatever ends it into a message and an exit code."""
    try:
        words = sys.argv[1:] if argv is None else list(argv)
        try:
            parser = make_parser()
            args = parser.parse_args(words)
            args.parse = parser.parse_args  # for `resume`, which reads a saved command
            args.command = shlex.join(["pysw-cl", *words])  # for files that name it
            limit_threads(args)
            if argv is None:  # the process is the command's
                logging.disable()  # Dask tells of each try to reach its scheduler
                early.begin(None if getattr(args, "cluster", 0) else getattr(args, "device", None))
            code: int = args.run(args) or 0
        except SystemExit as stop:  # argparse: 0 after --help, 2 after a usage error
            code = stop.code if isinstance(stop.code, int) else 2
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:  # without the signals of `ending`
        return _fail(ending.said("interrupted"), 130)
    except BrokenPipeError:
        return _fail("")
    except PyswError as error:
        bug = " (a bug in pysw-cl; please report it)" if isinstance(error, InternalError) else ""
        return _fail(f"{error}{bug}", 3 if isinstance(error, Stopped) else 1)
    except OSError as error:
        place = f"{error.filename}: " if error.filename is not None else ""
        return _fail(f"{place}{error.strerror or error}")
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
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if message:
        with suppress(OSError):  # nobody can be told
            print("pysw-cl:", printable(message), file=sys.stderr)
    return code
