"""``pysw-cl demo``."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from .arguments import add_device
from .progress import add_quiet, progress_of

#: The files that are aligned, in the folder of examples.
DEMO = ("NC_012920.1.fasta", "GU112745.1.fasta")
#: Lines that are shown: the header and three blocks of the pairwise text.
DEMO_LINES = 7 + 3 * 4


def add_to(commands: Any) -> None:
    """Declare the subcommand."""
    parser = commands.add_parser(
        "demo", help="align the human and the chimpanzee mitochondrion", examples=("demo",)
    )
    add_device(parser.group("run"))
    add_quiet(parser.add_argument)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Align the two, and show the beginning of the result."""
    from .. import align
    from ..opencl.resources import shipped
    from ..sequences.reading import read_sequences

    human, chimp = (next(read_sequences(shipped("examples", name))) for name in DEMO)
    with progress_of(sys.stderr, args.quiet) as bar:
        result = align(human, chimp, device=args.device, progress=bar)
    lines = str(result).splitlines()
    print("\n".join(lines[:DEMO_LINES]))
    print(f"\n... and {len(lines) - DEMO_LINES:,} more lines.\n")
    print("Query: the human mitochondrion; target: the chimpanzee's. The chimpanzee record starts")
    print("576 bases later on the circle, so the first 576 human bases belong to its far end, and")
    print("a local alignment leaves them out. The first run on a device takes longer, because it")
    print("builds kernels, which are kept.\n")
    print(f"# time:        {result.stats.seconds:.2f} s, {result.stats.gcups:.2f} GCUPS")
    print(f"# plan:        {result.plan}")
    return 0
