"""The command line's ranges, strand and picture: what of two records `align` is told to compare."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from ..sequences.sequence import Sequence

#: Of a query and a target, (start, end) from 0 and half-open; None for all of one.
Ranges = tuple[tuple[int, int] | None, tuple[int, int] | None]

_RANGE = re.compile(r"([0-9][0-9,]*)-([0-9][0-9,]*)?")


def add_strand(add: Callable[..., Any]) -> None:
    """Declare ``--strand`` on a parser, whose ``add_argument`` is given."""
    add(
        "--strand",
        choices=("plus", "minus", "both"),
        default="plus",
        help="align each query as it is, its reverse complement, or whichever of them scores more; "
        "nucleotides only (default: plus)",
    )


def add_ranges(add: Callable[..., Any]) -> None:
    """Declare the ranges on a parser, whose ``add_argument`` is given."""
    for side in ("query", "target"):
        add(
            f"--{side}-range",
            metavar="START-END",
            type=letter_range,
            help=f"compare only these letters of each {side}, counted from 1 and END included, as "
            "in samtools; START- goes on to the end",
        )


def letter_range(text: str) -> tuple[int, int | None]:
    """START-END, from 1 and inclusive, as (start, end) from 0 and half-open; without END None."""
    found = _RANGE.fullmatch(text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not START-END, like 1001-2000")
    start, end = (None if part is None else int(part.replace(",", "")) for part in found.groups())
    if not start or (end is not None and end < start):
        raise argparse.ArgumentTypeError(
            f"{text!r}: letters count from 1, and START is not past END"
        )
    return start - 1, end


def ranges(args: argparse.Namespace, query: Sequence, target: Sequence) -> Ranges:
    """The parts of this query and this target that are compared, None for all of one.

    Raises InputError as `place` does.
    """
    return place(args, "query", query), place(args, "target", target)


def place(args: argparse.Namespace, side: str, record: Sequence) -> tuple[int, int] | None:
    """The part that is compared of this record of a side ("query" or "target"), None for all of it.

    Raises InputError, in the numbers of the command line, for a range that leaves the record.
    """
    given: tuple[int, int | None] | None = getattr(args, f"{side}_range")
    if given is None:
        return None
    start, end = given[0], len(record) if given[1] is None else given[1]
    if not start < end <= len(record):
        shown = f"{start + 1}-{given[1] or ''}"
        raise InputError(
            f"--{side}-range {shown} goes past the end of {side} {record.name}, "
            f"which has {len(record)} letters"
        )
    return start, end


def plan_of_picture(
    args: argparse.Namespace, query: Sequence, target: Sequence
) -> dict[str, Any] | None:
    """The plan with tiles small enough for a picture of what is compared of these records."""
    from ..results.plot import picture_plan

    m, n = (
        len(record) if part is None else part[1] - part[0]
        for part, record in zip(ranges(args, query, target), (query, target), strict=True)
    )
    return picture_plan(args.plan, m, n)
