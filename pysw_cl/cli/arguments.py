"""Arguments that several subcommands have, and how their texts are read."""

from __future__ import annotations

import argparse
import re
from typing import Any


def add_plan(add: Any) -> None:
    """Declare ``--plan`` on a parser, whose ``add_argument`` is given."""
    add(
        "--plan",
        metavar="KEY=VALUE,...",
        type=plan,
        help="set B, T, alpha, lanes, form, engine or another parameter by hand, such as "
        "B=4,traceback.pieces=8",
    )


def plan(text: str) -> dict[str, int | float | str]:
    """The fields of a plan and of its tuning, by their names: numbers, or names of what they are
    set to."""
    found: dict[str, int | float | str] = {}
    for part in text.split(","):
        key, _, value = part.partition("=")
        if not key or not value or key in found:
            raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE,KEY=VALUE,...")
        found[key] = _value(value)
    return found


def _value(text: str) -> int | float | str:
    """A whole number, a number with a point or an exponent, or a name."""
    if re.fullmatch(r"[+-]?[0-9]+", text):
        return int(text)
    if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        return float(text)
    return text
