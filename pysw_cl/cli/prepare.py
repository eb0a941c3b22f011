"""``pysw-cl prepare``."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from .arguments import add_device
from .asked import usage
from .progress import add_quiet, progress_of


def add_to(commands: Any) -> None:
    """Declare the subcommand."""
    parser = commands.add_parser(
        "prepare",
        help="build the kernels of a device now, for images, clusters and tests",
        examples=("prepare", "prepare --device gpu --for dna,many"),
    )
    add_device(parser.group("run"))
    parser.add_argument(
        "--for",
        dest="kinds",
        metavar="KINDS",
        default="dna,protein,global,many",
        help="what to prepare for, with commas between (default: dna,protein,global,many)",
    )
    add_quiet(parser.add_argument)
    parser.set_defaults(run=run, usage_error=parser.error)


def run(args: argparse.Namespace) -> int:
    """Build the kernels; say how many there are."""
    from ..api.prepare import prepare
    from ..opencl.device import get_runtime

    started = time.perf_counter()
    kinds = [kind.strip() for kind in args.kinds.split(",")]
    with progress_of(sys.stderr, args.quiet) as bar, usage(args):
        programs = prepare(args.device, kinds, bar)
    name = get_runtime(args.device).info.name
    print(f"{programs} programs are ready on {name} ({time.perf_counter() - started:.1f} s)")
    return 0
