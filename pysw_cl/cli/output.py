"""What the subcommands that compare run in, and where they write: results to a stream, in one of
the formats; messages, and what ``--verbose`` tells, to standard error."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from ..errors import PyswError, printable
from ..results.formats import make_writer
from ..results.formats.files import written
from . import ending

if TYPE_CHECKING:
    from ..api.bar import ProgressBar
    from ..planning.plan import Plan
    from ..results.formats.writer import Row, Setting, Writer
    from ..results.stats import Stats

T = TypeVar("T")

#: Seconds in which pairs are compared one after the other before that is said; and that whoever
#: reads a pipe has to write to the terminal, before the bar is drawn again.
PATIENCE, PIPE_SECONDS = 1.0, 0.1


@contextlib.contextmanager
def progress_of(stream: TextIO, quiet: bool = False) -> Iterator[ProgressBar | None]:
    """A progress bar, wiped at the end; None if ``quiet``, or the stream is no terminal."""
    if quiet or not stream.isatty():
        yield None
        return
    from ..api.bar import ProgressBar

    with contextlib.closing(ProgressBar(stream)) as bar:
        yield bar


@contextlib.contextmanager
def running(args: Namespace, to_file: bool = True) -> Iterator[Running]:
    """Runs a subcommand: at the end its results are complete, what they cost is told, their file
    appears, and the bar is wiped.  ``to_file``: does this write to what ``-o`` names?"""
    ending.checkpoint = getattr(args, "checkpoint", None)
    out = args.out if to_file else None
    with written(out) as stream, progress_of(sys.stderr, args.quiet) as bar:
        to = Running(stream, bar, args.verbose)
        yield to
        to.end()


def in_columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows of texts, each column as wide as it has to be."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


class Running:
    """What a subcommand writes and counts: results go to ``stream``, ``bar`` draws how far it is,
    if that is drawn, and with ``verbose`` it is told what is computed and what that cost."""

    def __init__(self, stream: TextIO, bar: ProgressBar | None, verbose: bool) -> None:
        self.stream, self.bar, self._verbose = stream, bar, verbose
        self._pairs = self._left_out = 0
        self._stats: Stats | None = None
        self._writer: Writer | None = None
        self._header = ""

    def tell(self, message: str) -> None:
        """A line on standard error, for which a progress bar makes room."""
        with contextlib.nullcontext() if self.bar is None else self.bar.hidden():
            print("pysw-cl:", printable(message), file=sys.stderr)

    def write(self, text: str) -> None:
        """Write some results.  The bar makes room for them, unless they go to a file: a pipe may
        lead to the same terminal."""
        bar = self.bar if self.stream is sys.stdout else None
        with contextlib.suppress(OSError, ValueError):  # a stream of Python's own has no number
            if bar is not None and stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode):
                bar = None
        seconds = 0.0 if sys.stdout.isatty() else PIPE_SECONDS
        with contextlib.nullcontext() if bar is None else bar.hidden(seconds):
            self.stream.write(text)
            self.stream.flush()

    def begin_results(self, name: str, setting: Setting) -> None:
        """The results are written in a format from now on."""
        self._writer = make_writer(name, setting)
        self._header = self._writer.header()

    def results(self, rows: Iterable[Row]) -> None:
        assert self._writer is not None
        if text := self._writer.text(rows):
            self.write(self._header + text)
            self._header = ""

    def patiently(self, items: Iterable[T], note: str) -> Iterator[T]:
        """The items; once they have taken a while, and there is another one, ``note`` is told."""
        tell_at: float | None = time.monotonic() + PATIENCE
        for k, item in enumerate(items):
            if k and tell_at is not None and time.monotonic() > tell_at:
                self.tell(note)
                tell_at = None
            yield item

    def leave_out(self, error: PyswError) -> None:
        self._left_out += 1
        self.tell(f"left out: {error}")

    def begin(self, device: Any, plan: Plan | None) -> None:
        """Tell the device, by what the command line calls it, and the plan; None: of a cluster."""
        if not self._verbose:
            return
        if plan is None:
            self.tell(f"cluster: {device}")
            return
        if plan.device:
            from ..opencl.device import get_runtime
            from ..opencl.several import devices_of

            for one in devices_of(device):
                self.tell(f"device: {get_runtime(one).info}")
        self.tell(f"plan: {plan}")

    def begin_part(self) -> None:
        """The next pairs are computed from now on."""
        if self.bar is not None:
            self.bar.begin()

    def add(self, costs: Iterable[Stats], pairs: int = 1) -> None:
        """So many more pairs are done, at these costs."""
        self._pairs += pairs
        for stats in costs if self._verbose else ():
            self._stats = stats if self._stats is None else self._stats.plus(stats)

    def end(self) -> None:
        """Write what is held for the last, and what has to be there even without a result; tell
        what all of them cost, and how many records were left out."""
        if self._writer is not None and (text := self._header + self._writer.end()):
            self.write(text)
        if self._stats is not None:
            pairs = "1 pair" if self._pairs == 1 else f"{self._pairs:,} pairs"
            self.tell(f"{pairs}: {self._stats}")
        if self._left_out:
            were = "record was" if self._left_out == 1 else "records were"
            self.tell(f"{self._left_out:,} {were} left out")
