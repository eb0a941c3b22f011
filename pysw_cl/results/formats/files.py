"""The files that results are written to and read from."""

from __future__ import annotations

import errno
import io
import os
import secrets
import select
import struct
import sys
import threading
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from ...errors import FileError
from . import PACKED

#: Bytes in a block, as in htslib: compressed they never have more than 64 KiB.
_SIZE = 0xFF00
#: A block begins with this and its size less 1 (two bytes), and ends with checksum and length.
_HEAD = bytes.fromhex("1f8b08040000000000ff060042430200")
#: How hard gzip tries: about a third faster than its default, and few percent larger.
_LEVEL = 4
#: What the system says if a file cannot take more, or cannot have its name.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENAMETOOLONG)
#: The files that are written beside their places; the lock is held while one is begun.
_unfinished: set[Path] = set()
_beginning = threading.Lock()


class BlockGzip(io.RawIOBase):
    """Compresses what is written to it into ``file``, which is closed with it, as BGZF: gzip in
    blocks of at most 64 KiB, which every reader of gzip reads, and samtools and tabix index.  The
    format: https://samtools.github.io/hts-specs/SAMv1.pdf, 4.1."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._rest = file, bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._rest += data
        whole = len(self._rest) - len(self._rest) % _SIZE
        for start in range(0, whole, _SIZE):
            self._put(self._rest[start : start + _SIZE])
        del self._rest[:whole]
        return len(data)

    def close(self) -> None:
        """Write what is left, and an empty block, by which readers know that the file is whole."""
        if not self.closed:
            super().close()
            with self._file:
                if self._rest:
                    self._put(self._rest)
                self._put(bytearray())

    def _put(self, data: bytearray) -> None:
        packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        packed = packer.compress(data) + packer.flush()
        size = struct.pack("<H", len(packed) + len(_HEAD) + 9)
        self._file.write(_HEAD + size + packed + struct.pack("<II", zlib.crc32(data), len(data)))


class _Patient(io.FileIO):
    """An open file, called ``title`` in errors; it waits for a full pipe that does not block."""

    title = ""

    def write(self, data: Any) -> int:
        try:
            while (count := super().write(data)) is None:
                select.select([], [self], [])
            return count
        except OSError as error:
            error.filename = self.title
            raise


def whole(stream: TextIO, title: str) -> TextIO:
    """A stream to the same open file, which takes all that is written or raises OSError; ``stream``
    itself if there is no such file.  (An unbuffered stream of Python's does not look at how much
    was taken; any stream loses what a full pipe that does not block refuses.)"""
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    try:
        file = _Patient(stream.fileno(), "w", closefd=False)
        stream.flush()
    except (OSError, ValueError):
        return stream
    file.title, lines = title, stream.line_buffering or stream.write_through
    buffer = io.BufferedWriter(file)
    return io.TextIOWrapper(buffer, stream.encoding, stream.errors, line_buffering=lines)


def _made(path: Path, suffix: str) -> Any:
    """A new file for bytes, which are compressed as the suffix says: .gz in blocks (BGZF)."""
    if suffix in PACKED[1:]:
        from xopen import xopen

        return xopen(path, "wb", threads=0, format=suffix[1:])
    plain = path.open("wb")
    return BlockGzip(plain) if suffix in PACKED else plain


@contextmanager
def written(path: str | os.PathLike[str] | TextIO | None, binary: bool = False) -> Iterator[Any]:
    """Standard output (None, ``-`` or ``/dev/stdout``), a text stream, or a file, which is written
    beside ``path`` and renamed when all is there; after an error nothing is left of it.  Devices
    and pipes are written as they are.  A file whose name ends as one of `PACKED` is compressed.
    Raises FormatError if it cannot be written."""
    if path is None or str(path) in ("-", "/dev/stdout"):  # which may be a file with more in it
        path = sys.stdout
    if not isinstance(path, str | os.PathLike):
        raw = isinstance(getattr(path, "buffer", None), io.RawIOBase)
        stream = whole(path, getattr(path, "name", "the stream")) if raw else path
        yield stream
        if raw:
            stream.flush()
        return
    place = aside = Path(path)
    suffix = place.suffix.lower()
    if os.path.isfile(place) or not os.path.lexists(place):  # noqa: PTH113
        place = Path(os.path.realpath(place))
        name = os.fsdecode(os.fsencode(place.name)[:200])  # names have at most 255 bytes
        aside = place.with_name(f".{name}.{secrets.token_hex(4)}.part")
    file: Any = None
    try:  # from here on, as an interrupt may come when the file is there and is not known yet
        with nullcontext() if aside == place else _beginning:
            _unfinished.update({aside} - {place})
            made = _made(aside, suffix)
        file = made if binary else io.TextIOWrapper(made, "utf-8", "surrogateescape", newline="\n")
        with file:
            yield file
        if aside != place:
            if place.exists():
                aside.chmod(place.stat().st_mode & 0o7777)
            aside.replace(place)
    except BaseException as error:
        if aside != place:
            with suppress(OSError):
                aside.unlink()
        refused = file is None or getattr(error, "errno", None) in _FULL
        if refused and isinstance(error, OSError) and not isinstance(error, FileError):
            raise FileError.of(error, str(path), "written") from error
        raise
    finally:
        _unfinished.discard(aside)


@contextmanager
def temporary_folder() -> Iterator[str]:
    """A folder that is there meanwhile."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # others may write to it
        _unfinished.add(Path(folder))
        yield folder
        _unfinished.discard(Path(folder))


def remove_unfinished() -> None:
    """Remove what is there only until all is written, and let no other file be begun: the process
    ends."""
    from shutil import rmtree

    _beginning.acquire(timeout=1)
    for path in list(_unfinished):
        with suppress(OSError):
            path.unlink() if path.is_file() else rmtree(path)


@contextmanager
def opened(path: str | os.PathLike[str] | TextIO) -> Iterator[tuple[Iterable[str], str]]:
    """The lines of a file or of standard input (``-``), plain or compressed, or of a text stream,
    and what to call it.  Raises FormatError if it cannot be read."""
    if not isinstance(path, str | os.PathLike):
        yield path, str(getattr(path, "name", "the stream"))
        return
    from ...sequences.opening import opened as unpacked

    with unpacked(os.fspath(path)) as (file, where):
        text = io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape")
        try:
            yield text, where
        finally:
            text.detach()
