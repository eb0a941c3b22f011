"""Where results go: standard output, in one of the formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .progress import room_for_output

if TYPE_CHECKING:
    from ..api.bar import ProgressBar
    from ..results.alignment import Alignment


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

    text = paf.line(result) if outfmt == "paf" else f"{result}\n"
    with room_for_output(bar):
        print(text, flush=True)
