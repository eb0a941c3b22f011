"""Where results and messages go: results to standard output or to a file, in one of the formats;
messages to standard error."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ..errors import FormatError
from ..results.formats import writer_of
from .progress import room_for_output

if TYPE_CHECKING:
    from ..api.bar import ProgressBar
    from ..results.formats.row import Row


class Results:
    """Writes rows in a format to a stream.  A progress bar makes room for them."""

    def __init__(self, stream: TextIO, outfmt: str, output: str, bar: ProgressBar | None) -> None:
        writer = writer_of(outfmt)
        self._stream, self._output, self._bar = stream, output, bar
        self._entry: Callable[[Row, str], str] = writer.entry
        self._header: str = writer.header(output)

    def write(self, rows: Iterable[Row]) -> None:
        """Write some results."""
        output, entry = self._output, self._entry
        self._put("".join(entry(row, output) for row in rows))

    def end(self) -> None:
        """Write what has to be there even without a result."""
        if self._header:
            self._put("", always=True)

    def _put(self, text: str, always: bool = False) -> None:
        if not text and not always:
            return
        with room_for_output(self._bar if self._stream is sys.stdout else None):
            self._stream.write(self._header + text)
            self._stream.flush()
        self._header = ""


@contextmanager
def opened(path: str | None) -> Iterator[TextIO]:
    """Standard output (None, ``-`` or ``/dev/stdout``), or a file.

    The file is written beside ``path`` and renamed when all is there; after an error nothing is
    left of it.  Devices and pipes are written as they are.  Raises FormatError if it cannot be
    written."""
    if path is None or path in ("-", "/dev/stdout"):  # which may be a file with more in it
        yield sys.stdout
        return
    place = aside = Path(path)
    if place.is_file() or not place.exists():
        place = Path(os.path.realpath(place))
        aside = place.with_name(f".{place.name[:200]}.{secrets.token_hex(4)}.part")
    try:
        file = aside.open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise FormatError(f"{path}: cannot be written: {error.strerror or error}") from None
    try:
        with file:
            yield file
        if aside != place:
            if place.exists():
                aside.chmod(place.stat().st_mode & 0o7777)
            aside.replace(place)
    except BaseException:
        if aside != place:
            with contextlib.suppress(OSError):
                aside.unlink()
        raise


def say(message: str, bar: ProgressBar | None = None) -> None:
    """A line on standard error, for which a progress bar makes room."""
    with contextlib.nullcontext() if bar is None else bar.hidden():
        print("pysw-cl:", " ".join(message.split()), file=sys.stderr)
