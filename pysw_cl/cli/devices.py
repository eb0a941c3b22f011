"""``pysw-cl devices``, and ``prepare`` and ``demo``, which try one."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from typing import Any

from ..errors import DeviceError
from .asked import usage
from .output import progress_of
from .parser import DEVICE

#: The files that are aligned, in the folder of examples.
DEMO = ("NC_012920.1.fasta", "GU112745.1.fasta")
#: Lines that are shown: the header and three blocks of the pairwise text.
DEMO_LINES = 7 + 3 * 4


def add_to(commands: Any) -> None:
    """Declare ``devices``."""
    what = "list the OpenCL devices and what keeps one out"
    commands.add_parser("devices", run=_devices, help=what, examples=("devices",))


def _devices(args: Namespace) -> int:
    """List the devices.  Raises DeviceError if none can be used."""
    from ..opencl.listing import devices, hint

    found = devices()
    rows = [("device", "kind", "units", "name", "platform", "usable")]
    for device in found:
        usable = "yes" if device.usable else f"no: {device.reason}"
        units = str(device.compute_units)
        rows.append((device.index, device.kind, units, device.name, device.platform, usable))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows if found else ():
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())
    if any(device.usable for device in found):
        return 0
    raise DeviceError(
        f"no usable OpenCL device; {hint(' '.join(device.platform for device in found))}"
    )


def add_prepare_to(commands: Any) -> None:
    """Declare ``prepare``."""
    parser = commands.add_parser(
        "prepare",
        run=_prepare,
        help="build the kernels of a device now, for images, clusters and tests",
        examples=("prepare", "prepare --device gpu --for dna,many"),
    )
    parser.declare("run", DEVICE)
    parser.declare("options", "--for -q")


def _prepare(args: Namespace) -> int:
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


def add_demo_to(commands: Any) -> None:
    """Declare ``demo``."""
    what = "align the human and the chimpanzee mitochondrion"
    parser = commands.add_parser("demo", run=_demo, help=what, examples=("demo",))
    parser.declare("run", DEVICE)
    parser.declare("options", "-q")


def _demo(args: Namespace) -> int:
    """Align the two, and show the beginning of the result."""
    from .. import align
    from ..folders import shipped
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
