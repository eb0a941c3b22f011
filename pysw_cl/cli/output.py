"""Where results and messages go: results to a stream, in one of the formats; messages to standard
error."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TextIO, TypeVar

from ..errors import printable
from .progress import room_for_output

if TYPE_CHECKING:
    from ..api.bar import ProgressBar
    from ..results.formats.row import Row
    from ..results.formats.writer import Writer

T = TypeVar("T")


class Results:
    """Writes rows in a format to a stream.  A progress bar makes room for them."""

    def __init__(self, stream: TextIO, writer: Writer, bar: ProgressBar | None) -> None:
        self._stream, self._writer, self._bar = stream, writer, bar
        self._header = writer.header()

    def write(self, rows: Iterable[Row]) -> None:
        """Write some results."""
        self._put(self._writer.text(rows))

    def end(self) -> None:
        """Write what is held for the last, and what has to be there even without a result."""
        self._put(self._writer.end(), always=bool(self._header))

    def _put(self, text: str, always: bool = False) -> None:
        if not text and not always:
            return
        with room_for_output(self._bar if self._stream is sys.stdout else None):
            self._stream.write(self._header + text)
            self._stream.flush()
        self._header = ""


#: Seconds in which pairs are compared one after the other before that is said.
PATIENCE = 1.0


def patiently(items: Iterable[T], note: str, bar: ProgressBar | None) -> Iterator[T]:
    """The items; once they have taken a while, and there is another one, ``note`` is said."""
    said_at: float | None = time.monotonic() + PATIENCE
    for k, item in enumerate(items):
        if k and said_at is not None and time.monotonic() > said_at:
            say(note, bar)
            said_at = None
        yield item


def say(message: str, bar: ProgressBar | None = None) -> None:
    """A line on standard error, for which a progress bar makes room."""
    with contextlib.nullcontext() if bar is None else bar.hidden():
        print("pysw-cl:", printable(message), file=sys.stderr)
