"""The parser of the command line and of each subcommand, how wrong usage ends it, and how the texts
of its options are read."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from functools import wraps
from itertools import takewhile
from math import isfinite
from typing import Any, NamedTuple, NoReturn, TypeVar

from ..api import amounts
from ..errors import InputError, printable
from ..results.formats import ALIASES, FORMATS, format_named

T = TypeVar("T")

#: Numbers in a plan: whole ones, and those with a point or an exponent.
_NUMBERS: dict[type[int | float], str] = {
    int: r"[+-]?[0-9]+",
    float: r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?",
}
_RANGE = re.compile(r"([0-9][0-9,]*)-([0-9][0-9,]*)?")


class Parser(argparse.ArgumentParser):
    """An argument parser that says in one line what is wrong, and where the options are listed.

    ``examples``: command lines that its help shows, without the program's name."""

    def __init__(self, *, examples: Sequence[str] = (), **options: Any) -> None:
        shown = "".join(f"\n  pysw-cl {one}" for one in examples)
        if shown:
            options["epilog"] = f"examples:{shown}"
        super().__init__(allow_abbrev=False, formatter_class=_Help, **options)
        self.set_defaults(usage_error=self.error)
        self._words: list[str] = []

    def group(self, title: str) -> Callable[..., Any]:
        """The method ``add_argument`` of the group of options with this title."""
        known = {group.title: group for group in self._action_groups}
        return (known.get(title) or self.add_argument_group(title)).add_argument

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As in the base class.  Unknown arguments are an error of the subcommand that has them."""
        self._words = list(args or ())
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """End with exit code 2 and one line on standard error.  An option that does not exist is
        named before what follows from it, such as its value in the place of a file."""
        words = takewhile(lambda word: word != "--", self._words)
        if self._subparsers is not None:  # the options after a subcommand are its own
            words = takewhile(lambda word: word.startswith("-"), words)
        for word in words:
            name = word.partition("=")[0] if word.startswith("--") else word[:2]
            if re.match("--?[A-Za-z]", word) and name not in self._option_string_actions:
                message = f"there is no option {word}"
                break
        self.exit(2, f"{self.prog}: {printable(message)} (see {self.prog} --help)\n")


class _Help(argparse.HelpFormatter):
    """Help whose examples keep their lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("examples:") else super()._fill_text(text, width, indent)


class Outfmt(NamedTuple):
    """A format, and the columns that are chosen for it."""

    name: str
    fields: tuple[str, ...] = ()


def _of_option(read: Callable[[str], T]) -> Callable[[str], T]:
    """``read``, whose error is one of the option that has the text."""

    @wraps(read)
    def checked(text: str) -> T:
        try:
            return read(text)
        except InputError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return checked


@_of_option
def outfmt(text: str) -> Outfmt:
    """The name of a format; for BLAST's tables, with the names of columns after it."""
    name, *fields = text.split() or [""]
    found = format_named(name)
    if fields and "fields" not in FORMATS[found].takes:
        raise InputError(f"{found} has no choice of columns; {' and '.join(ALIASES)} have")
    if fields:
        from ..results.formats.blast import fields_asked

        fields_asked(fields)
    return Outfmt(found, tuple(fields))


def plan(text: str) -> dict[str, int | float | str]:
    """The fields of a plan and of its tuning, by their names: numbers, or names of what they are
    set to."""
    found: dict[str, int | float | str] = {}
    for part in text.split(","):
        key, _, value = part.partition("=")
        if not key or not value or key in found:
            raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE,KEY=VALUE,...")
        kinds = (kind for kind, form in _NUMBERS.items() if re.fullmatch(form, value))
        found[key] = next(kinds, str)(value)
    return found


def number(text: str) -> int | float:
    """A finite number, whole if it is written so."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        found = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not isfinite(found):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return found


def mode(text: str) -> str:
    """``local`` or ``global``; the error for another word names the --free-ends that it means."""
    if text in ("local", "global"):
        return text
    from ..drivers.problem import free_ends_of

    ends = free_ends_of(text)
    hint = f"; use --mode global --free-ends {ends[1]}{ends[2]}" if ends else ""
    raise argparse.ArgumentTypeError(f"{text!r} is not local or global{hint}")


def count(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def max_cost(text: str) -> str | int | float | None:
    """``auto``, ``none`` (None) or a number."""
    if text in ("auto", "none"):
        return None if text == "none" else text
    try:
        return number(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"{text!r} is not auto, none or a number") from None


def free_ends(text: str) -> bool | tuple[bool, ...]:
    """One, two or four of 0 and 1, with commas between them."""
    truth = {"0": False, "false": False, "1": True, "true": True}
    parts = [part.strip() for part in text.lower().split(",")]
    if len(parts) not in (1, 2, 4) or not all(part in truth for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not 1, 2 or 4 of 0 and 1, like 0,1")
    ends = tuple(truth[part] for part in parts)
    return ends[0] if len(ends) == 1 else ends


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


size = _of_option(amounts.size)
seconds = _of_option(amounts.seconds)
