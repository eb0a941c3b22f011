"""Where results go: standard output, in one of the formats."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..results.alignment import Alignment
    from .progress import ProgressBar


def add_outfmt(add: Any) -> None:
    """Declare ``--outfmt`` on a parser, whose ``add_argument`` is given."""
    add(
        "--outfmt",
        choices=("paf", "pair"),
        default="paf",
        help="paf: a line per alignment; pair: aligned text (default: paf)",
    )


def print_result(outfmt: str, result: Alignment, bar: ProgressBar | None) -> None:
    """Print a result in this format.  A progress bar on the same terminal makes room for it."""
    from ..results.formats import paf

    if bar is not None and sys.stdout.isatty():
        bar.clear()
    print(paf.line(result) if outfmt == "paf" else f"{result}\n", flush=True)
