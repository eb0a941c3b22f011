"""``pysw-cl ssca1``."""

from __future__ import annotations

import json
from argparse import Namespace
from contextlib import nullcontext
from typing import Any

from ..errors import InputError
from ..results.formats.files import written
from .asked import usage
from .parser import count, of_option
from .predict import length


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "ssca1",
        run=run,
        help="run the SSCA#1 benchmark",
        description="Run the kernels of SSCA#1. If --verify finds a fault, the exit code is 1.",
        examples=("ssca1 --scale 24 --verify", "ssca1 --variant paper --lengths 1024,4M"),
    )
    add = parser.add_argument_group("benchmark").add_argument
    for name, kind, usual, what, text in (
        ("--variant", None, "ornl", "NAME", "whose rules: ornl, spec or paper (default: ornl)"),
        ("--scale", count, 22, "N", "sequences of 2^(N/2) codons (default: 22)"),
        ("--length", count, None, "N", "sequences of N codons"),
        ("--lengths", _lengths, (1024, 4_000_000), "MATCH,MAIN", "of paper (default: 1024,4M)"),
        ("--ranks", count, 1, "N", "as many processes as make the sequences of ornl (default: 1)"),
        ("--seed", int, None, "N", "that of the sequences (default: the published one)"),
        ("--report", None, None, "FILE", "write what was found to FILE, as JSON"),
    ):  # fmt: skip
        add(name, type=kind and of_option(kind), default=usual, metavar=what, help=text)
    add("--kernels", choices=[f"1-{k}" for k in "12345"], default="1-5", help="default: 1-5")
    add("--verify", action="store_true", help="look for what is wrong")
    parser.declare("run", "--device")


def run(args: Namespace) -> int:
    from .. import ssca1
    from ..scoring.scoring import names_of

    asked = vars(args) | {"kernels": int(args.kernels[-1])}
    with written(args.report) if args.report else nullcontext() as file:
        with usage(args):
            found = ssca1.run(**{name: asked[name] for name in names_of(ssca1.run)})
        if file is not None:
            file.write(json.dumps(found.facts()) + "\n")
    print(found.text(), end="")
    return int(any("lost" not in fault for fault in found.faults or ()))


def _lengths(text: str) -> tuple[int, ...]:
    both = tuple(length(part) or 0 for part in text.split(","))
    if len(both) != 2 or 0 in both:
        raise InputError(f"{text!r} is not MATCH,MAIN, like 1024,4M")
    return both
