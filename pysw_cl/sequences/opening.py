"""Files as streams of bytes, decompressed by what they contain."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import FormatError
from .alphabet import PIECE

#: How compressed files begin: what messages call that, and xopen's name for it.
_PACKED = {
    b"\x1f\x8b": ("gzip", "gz"),
    b"BZh": ("bzip2", "bz2"),
    b"\xfd7zXZ": ("xz", "xz"),
    b"\x28\xb5\x2f\xfd": ("zstd", "zst"),
}
_ZIP = b"PK\x03\x04"
#: Bytes that say how a file is compressed.
_MOST = 6


@contextmanager
def opened(path: str, where: str) -> Iterator[BinaryIO]:
    """The bytes of a file, or of standard input for "-", decompressed if it is gzip, bzip2, xz or
    zstd (found by content).

    One ``read1`` waits for no more than what is there, so that records of a slow pipe are not
    delayed.  Standard input stays open afterwards.  Raises FormatError, which names the file as
    ``where``, for another compression and, while it is read, for a truncated or damaged file;
    OSError for one that cannot be read.
    """
    with ExitStack() as stack:
        raw: Any = getattr(sys.stdin, "buffer", None)
        if path == "-" and (raw is None or raw.closed):
            raise FormatError("standard input is closed, and '-' reads it")
        if path != "-":
            raw = stack.enter_context(Path(path).open("rb", buffering=0))
        if raw.seekable():
            plain = io.BufferedReader(raw, PIECE)
            start = plain.peek(_MOST)[:_MOST]
        else:  # a pipe, whose first bytes may come one by one
            pipe = raw if path == "-" else io.BufferedReader(raw, PIECE)
            start = pipe.read(_MOST)
            plain = io.BufferedReader(_AsItComes(pipe, start), PIECE)
        stack.callback(plain.detach)
        if start.startswith(_ZIP):
            raise FormatError(
                f"{where}: compressed with zip; plain, gzip, bzip2, xz and zstd files can be read"
            )
        packed = next((kind for magic, kind in _PACKED.items() if start.startswith(magic)), None)
        if packed is None:
            yield plain
        else:
            unpacked = stack.enter_context(_Unpacked(plain, where, *packed))
            yield stack.enter_context(io.BufferedReader(unpacked, PIECE))


class _AsItComes(io.RawIOBase):
    """Reads no more than what is there, where a buffered file would wait for all that is asked.

    ``start``: bytes of the file that were read before."""

    def __init__(self, file: io.BufferedReader, start: bytes = b"") -> None:
        self._file, self._start = file, start

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # readinto1 reads once more, and waits, if some bytes are buffered and many are asked for
        data = self._start[: len(buffer)] or self._file.read1(len(buffer))
        self._start = self._start[len(data) :]
        buffer[: len(data)] = data
        return len(data)


class _Unpacked(io.RawIOBase):
    """The decompressed bytes of a file; what its library raises becomes a FormatError."""

    def __init__(self, file: io.BufferedReader, where: str, kind: str, short: str) -> None:
        from xopen import xopen

        self._where, self._kind = where, kind
        source: Any = _AsItComes(file)
        self._file: Any
        if kind == "gzip" and not file.seekable():  # the library that xopen takes fills its buffer
            self._file = gzip.GzipFile(fileobj=source)
        else:  # without threads no other program is started
            self._file = xopen(source, "rb", threads=0, format=short)
            if isinstance(self._file, io.BufferedReader):  # it waits until its buffer is full
                self._file = self._file.detach()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._file.read1(len(buffer))
        except MemoryError:
            raise
        except Exception as error:  # each library has its own
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise FormatError(
                f"{self._where}: truncated or damaged {self._kind} ({error})"
            ) from None
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
