"""The parser of the command line and of each subcommand, and how wrong usage ends it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any, NoReturn

from ..errors import printable


class Parser(argparse.ArgumentParser):
    """An argument parser that says in one line what is wrong, and where the options are listed.

    ``examples``: command lines that its help shows, without the program's name."""

    def __init__(self, *, examples: Sequence[str] = (), **options: Any) -> None:
        shown = "".join(f"\n  pysw-cl {one}" for one in examples)
        if shown:
            options["epilog"] = f"examples:{shown}"
        super().__init__(allow_abbrev=False, formatter_class=_Help, **options)
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
