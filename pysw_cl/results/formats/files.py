"""The files that results are written to and read from."""

from __future__ import annotations

import contextlib
import gzip
import os
import secrets
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from ...errors import FormatError

_GZIP = b"\x1f\x8b"
#: How hard gzip tries: about a third faster than its default, and few percent larger.
_LEVEL = 4


@contextmanager
def written(path: str | os.PathLike[str] | None) -> Iterator[TextIO]:
    """Standard output (None, ``-`` or ``/dev/stdout``), or a file.

    The file is written beside ``path`` and renamed when all is there; after an error nothing is
    left of it.  Devices and pipes are written as they are.  A file whose name ends with .gz is
    compressed.  Raises FormatError if it cannot be written."""
    stdout = ("-", "/dev/stdout")  # which may be a file with more in it
    if path is None or os.fspath(path) in stdout:
        yield sys.stdout
        return
    place = aside = Path(path)
    zipped = place.suffix == ".gz"
    if place.is_file() or not place.exists():
        place = Path(os.path.realpath(place))
        aside = place.with_name(f".{place.name[:200]}.{secrets.token_hex(4)}.part")
    try:
        into = partial(gzip.open, compresslevel=_LEVEL) if zipped else open
        file: Any = into(aside, "wt", encoding="utf-8", newline="\n")
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


@contextmanager
def opened(path: str | os.PathLike[str] | TextIO) -> Iterator[tuple[Iterable[str], str]]:
    """The lines of a file, plain or gzip, of standard input (``-``) or of a text stream, and what
    to call it.  Raises FormatError if it cannot be read."""
    if not isinstance(path, str | os.PathLike):
        yield path, str(getattr(path, "name", "the stream"))
        return
    where = "standard input" if path == "-" else os.fspath(path)
    if path == "-":
        yield sys.stdin, where
        return
    try:
        zipped = False
        if Path(path).is_file():  # a pipe is read once
            with Path(path).open("rb") as raw:
                zipped = raw.read(2) == _GZIP
        plain = gzip.open if zipped else open
        with plain(path, "rt", encoding="utf-8", errors="surrogateescape") as file:
            yield file, where
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(f"{where}: truncated or damaged gzip ({error})") from None
    except OSError as error:
        raise FormatError(f"{where}: cannot be read: {error.strerror or error}") from None
