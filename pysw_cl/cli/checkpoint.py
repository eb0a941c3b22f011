"""What the command line says and takes where a checkpoint is concerned."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_TIMES = {"": 1, "S": 1, "M": 60, "H": 3600, "D": 86400}


def size(text: str) -> int:
    """Bytes from ``10G``, ``500MB``, ``1048576``: powers of 1024."""
    return int(_amount(text, _SIZES, "B?", "a size above 0, like 500M or 10G"))


def seconds(text: str) -> float:
    """Seconds from ``2h``, ``90m``, ``30s``, ``1d``, ``3600``."""
    return _amount(text, _TIMES, "", "a time above 0, like 90m or 2h")


def _amount(text: str, units: dict[str, int], after: str, what: str) -> float:
    found = re.fullmatch(rf"(\d+\.?\d*)([A-Z]?){after}", text.strip().upper())
    if found is None or found[2] not in units or float(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
    return float(found[1]) * units[found[2]]


def add_limits(add: Any) -> None:
    """The options that bound a run with a checkpoint."""
    add(
        "--disk-size",
        metavar="SIZE",
        type=size,
        help="bytes that DIR may take, like 500M or 10G (default: 10G, or less for 128 rows)",
    )
    add(
        "--stop-after",
        metavar="TIME",
        type=seconds,
        help="stop at the next row after this time, like 90m or 2h, with exit code 3",
    )


@contextmanager
def resumable(folder: str | None) -> Iterator[None]:
    """Says after Ctrl-C how to go on, where there is a checkpoint to go on from."""
    try:
        yield
    except KeyboardInterrupt:
        if folder is None or not Path(folder, "job.json").exists():
            raise
        how = f"continue with: pysw-cl resume {folder}"
        raise KeyboardInterrupt(f"interrupted; {how}") from None
