"""``pysw-cl devices``."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import Any

from ..errors import DeviceError


def add_to(commands: Any) -> None:
    """Declare the subcommand."""
    parser = commands.add_parser(
        "devices", help="list the OpenCL devices and what keeps one out", examples=("devices",)
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """List the devices.  Raises DeviceError if none can be used."""
    from ..opencl.listing import devices, hint

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
    raise DeviceError(
        f"no usable OpenCL device; {hint(' '.join(device.platform for device in found))}"
    )


def _print_table(rows: Collection[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())
