"""What the subcommands that align have in common: their last arguments, and what they run in."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TextIO

from ..results.formats.files import written
from . import ending
from .arguments import add_plan, add_results
from .checkpoint import add_limits
from .output import say
from .parser import Parser
from .progress import add_quiet, progress_of
from .verbose import Report

if TYPE_CHECKING:
    from ..api.bar import ProgressBar


def add_run(
    parser: Parser,
    run: Callable[[argparse.Namespace], int],
    checkpoint: str | None = None,
) -> None:
    """Declare where results go and how they are computed; ``run`` is the subcommand.

    ``checkpoint``: the help of ``--checkpoint``, if it has that option."""
    add = parser.group("run")
    add_results(parser.group("output"))
    add_plan(add)
    if checkpoint is not None:
        add("--checkpoint", metavar="DIR", help=checkpoint)
    add_limits(add)
    add_quiet(add)
    parser.set_defaults(run=run, usage_error=parser.error)


@dataclass(frozen=True)
class Running:
    """Where a running subcommand writes."""

    #: Results.
    stream: TextIO
    #: How far it is, if that is drawn.
    bar: ProgressBar | None
    #: Lines on standard error.
    tell: Callable[[str], None]
    #: What ``--verbose`` tells.
    report: Report


@contextmanager
def running(args: argparse.Namespace) -> Iterator[Running]:
    """Runs a subcommand: its file of results appears at the end, its bar is wiped, and signals
    say how to go on."""
    ending.checkpoint = args.checkpoint
    with written(args.out) as stream, progress_of(sys.stderr, args.quiet) as bar:
        tell = partial(say, bar=bar)
        yield Running(stream, bar, tell, Report(tell if args.verbose else None))
