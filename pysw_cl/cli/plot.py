"""``pysw-cl plot``."""

from __future__ import annotations

from typing import Any

from .align import run
from .arguments import add_compared, add_run


def add_to(commands: Any) -> None:
    """Declare the subcommand."""
    parser = commands.add_parser(
        "plot",
        help="align a query against a target and draw the path over the matrix",
        description="Align the record of QUERY against the record of TARGET, write the result as "
        "align does, and draw it into PICTURE, whose suffix says the format (.png, .pdf, .svg): "
        "the path, the highest score of each tile, and what was pruned. Needs matplotlib.",
        examples=("plot human.fa chimp.fa picture.png", "plot --mode global a.fa b.fa picture.svg"),
    )
    add_compared(parser)
    parser.add_argument("picture", metavar="PICTURE")
    add_run(
        parser,
        run,
        "save rows there, and go on if a run was interrupted; draw a run that is finished",
    )
    one = {"pairs": False, "skip_bad": False, "second_best": False}
    parser.set_defaults(**one, min_score=None, top=None, alignments=None)
