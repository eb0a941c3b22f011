"""The progress bar of the command line, on standard error where that is a terminal."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from ..api.bar import ProgressBar

#: Seconds that whoever reads a pipe has to write to the terminal, before the bar is drawn again.
PIPE_SECONDS = 0.1


@contextmanager
def progress_of(stream: TextIO, quiet: bool = False) -> Iterator[ProgressBar | None]:
    """A progress bar on a stream that is a terminal, wiped at the end; else, and if ``quiet``,
    None."""
    if quiet or not stream.isatty():
        yield None
        return
    from ..api.bar import ProgressBar

    with closing(ProgressBar(stream)) as bar:
        yield bar


@contextmanager
def room_for_output(bar: ProgressBar | None) -> Iterator[None]:
    """A context to write to standard output in.  The bar makes room meanwhile, unless standard
    output is a file: a pipe may lead to the same terminal."""
    is_file = False
    with suppress(OSError, ValueError):  # a stream of Python's own has no number
        is_file = stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)
    if bar is None or is_file:
        yield
        return
    with bar.hidden(0.0 if sys.stdout.isatty() else PIPE_SECONDS):
        yield
        sys.stdout.flush()
