"""The text formats of results: a registry with a row for each, and a file for each beside this one.

The file of a format has two functions.  ``header(output)`` is what stands before all results of one
command, and ``entry(row, output)`` is the text of one result, a :class:`.row.Row`; both end with a
line end unless they are empty.  Files are imported when their format is used, because a command
line names the formats before it needs NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Format:
    """A row of the registry."""

    #: What it is, in half a line.
    about: str
    #: The values of ``output`` that it can show; of these it is the default for ``usual``.
    outputs: tuple[str, ...] = ("score", "ends", "path")
    #: The values of ``output`` for which it is the default.
    usual: tuple[str, ...] = ()


FORMATS = {
    "paf": Format("a line for each alignment, as minimap2 writes it", ("path",), ("path",)),
    "tsv": Format("a table whose first line names the columns", usual=("score", "ends")),
    "pair": Format("aligned text, to be read by people"),
}


def usual_format(output: str) -> str:
    """The name of the default format for this ``output``."""
    return next(name for name, one in FORMATS.items() if output in one.usual)


def writer_of(name: str) -> Any:
    """The module of a format, with ``header`` and ``entry``."""
    return import_module(f".{name}", __name__)
