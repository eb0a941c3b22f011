"""``pysw-cl prepare``."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

#: Letters of the line that shows how far it is.
LINE = 60


def add_to(commands: Any) -> None:
    """Declare the subcommand."""
    parser = commands.add_parser(
        "prepare", help="build the kernels of a device now, for images, clusters and tests"
    )
    parser.add_argument("--device", default="auto", help="as for align")
    parser.add_argument(
        "--for",
        dest="kinds",
        metavar="KINDS",
        default="dna,protein,global,many",
        help="what to prepare for, with commas between (default: dna,protein,global,many)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Build the kernels; say how many there are."""
    from ..api.prepare import prepare
    from ..opencl.device import get_runtime

    started = time.perf_counter()
    shown = sys.stderr.isatty()

    def progress(done: int, total: int) -> None:
        if shown:
            line = f"preparing: {done} of {total} pairs".ljust(LINE)  # longer than a build's line
            end = "\n" if done == total else ""
            print(f"\r{line}", end=end, file=sys.stderr, flush=True)

    kinds = [kind.strip() for kind in args.kinds.split(",")]
    programs = prepare(args.device, kinds, progress)
    name = get_runtime(args.device).info.name
    print(f"{programs} programs are ready on {name} ({time.perf_counter() - started:.1f} s)")
    return 0
