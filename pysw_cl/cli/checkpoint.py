"""What the command line says and takes where a checkpoint is concerned."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from ..api import amounts
from ..errors import InputError


def size(text: str) -> int:
    """Bytes from ``10G``, ``500MB``, ``1048576``: powers of 1024."""
    return int(_asked(amounts.size, text))


def seconds(text: str) -> float:
    """Seconds from ``2h``, ``90m``, ``30s``, ``1d``, ``3600``."""
    return _asked(amounts.seconds, text)


def _asked(amount: Callable[[str], float], text: str) -> float:
    try:
        return amount(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


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
