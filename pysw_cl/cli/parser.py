"""The parser of the command line and of each subcommand, and how wrong usage ends it."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from ..errors import printable


class Parser(argparse.ArgumentParser):
    """An argument parser that says in one line what is wrong, and where the options are listed."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As in the base class.  Unknown arguments are an error of the subcommand that has them."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """End with exit code 2 and one line on standard error."""
        self.exit(2, f"{self.prog}: {printable(message)} (see {self.prog} --help)\n")
