"""Arguments that several subcommands have, and how their texts are read."""

from __future__ import annotations

import argparse
from typing import Any


def add_plan(add: Any) -> None:
    """Declare ``--plan`` on a parser, whose ``add_argument`` is given."""
    add(
        "--plan",
        metavar="KEY=VALUE,...",
        type=plan,
        help="set B, T, alpha, lanes, form or engine by hand",
    )


def plan(text: str) -> dict[str, int | str]:
    """The fields of a plan."""
    found: dict[str, int | str] = {}
    for part in text.split(","):
        key, _, value = part.partition("=")
        if not key or not value or key in found:
            raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE,KEY=VALUE,...")
        found[key] = int(value) if value.isdecimal() else value
    return found
