"""The files that results are written to and read from."""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import secrets
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from ...errors import FormatError

#: How hard gzip tries: about a third faster than its default, and few percent larger.
_LEVEL = 4
#: What the system says if a file cannot take more.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


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
        name = os.fsdecode(os.fsencode(place.name)[:200])  # names have at most 255 bytes
        aside = place.with_name(f".{name}.{secrets.token_hex(4)}.part")
    try:  # from here on, as an interrupt may come when the file is there and is not known yet
        try:
            into = partial(gzip.open, compresslevel=_LEVEL) if zipped else open
            file: Any = into(aside, "wt", encoding="utf-8", errors="surrogateescape", newline="\n")
        except OSError as error:
            raise FormatError(f"{path}: cannot be written: {error.strerror or error}") from None
        with file:
            yield file
        if aside != place:
            if place.exists():
                aside.chmod(place.stat().st_mode & 0o7777)
            aside.replace(place)
    except BaseException as error:
        if aside != place:
            with contextlib.suppress(OSError):
                aside.unlink()
        if isinstance(error, OSError) and error.errno in _FULL:
            raise FormatError(f"{path}: cannot be written: {error.strerror}") from None
        raise


@contextmanager
def opened(path: str | os.PathLike[str] | TextIO) -> Iterator[tuple[Iterable[str], str]]:
    """The lines of a file or of standard input (``-``), plain or compressed, or of a text stream,
    and what to call it.  Raises FormatError if it cannot be read."""
    if not isinstance(path, str | os.PathLike):
        yield path, str(getattr(path, "name", "the stream"))
        return
    where = "standard input" if path == "-" else os.fspath(path)
    from ...sequences.opening import opened as unpacked

    try:
        with unpacked(os.fspath(path), where) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape")
            try:
                yield text, where
            finally:
                text.detach()
    except OSError as error:
        raise FormatError(f"{where}: cannot be read: {error.strerror or error}") from None
