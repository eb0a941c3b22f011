"""Files as streams of bytes, decompressed by what they contain."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import FileError, FormatError, InputWarning, printable, warn
from .alphabet import PIECE

#: How compressed files begin: what messages call that, and xopen's name for it.
_PACKED = {
    b"\x1f\x8b": ("gzip", "gz"),
    b"BZh": ("bzip2", "bz2"),
    b"\xfd7zXZ": ("xz", "xz"),
    b"\x28\xb5\x2f\xfd": ("zstd", "zst"),
    **{bytes([k]) + b"*M\x18": ("zstd", "zst") for k in range(0x50, 0x60)},  # a frame to be skipped
}
#: The last block of BGZF, samtools' gzip (SAMv1.pdf, 4.1.2), which begins as all of its blocks do.
_BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
_ZIP = b"PK\x03\x04"
#: Bytes that say how a file is compressed.
_MOST = 6


@contextmanager
def opened(path: str, hint: str = "") -> Iterator[tuple[io.BufferedReader, str]]:
    """The bytes of a file, or of standard input (which stays open) for "-", decompressed if it is
    gzip, bzip2, xz or zstd (found by content), and what messages call it.

    One ``read1`` waits for no more than what is there.  Raises FileError for a file that cannot be
    read, with the ``hint`` if it is not there, and FormatError for another compression and, while
    it is read, for a truncated or damaged file."""
    where = "standard input" if path == "-" else printable(path)
    try:
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
                kinds = "plain, gzip, bzip2, xz and zstd files can be read"
                raise FormatError(f"{where}: compressed with zip; {kinds}")
            packed = [kind for magic, kind in _PACKED.items() if start.startswith(magic)]
            if packed:
                unpacked = stack.enter_context(_Unpacked(plain, where, *packed[0]))
                plain = stack.enter_context(io.BufferedReader(unpacked, PIECE))
            yield plain, where
    except OSError as error:
        more = hint if isinstance(error, FileNotFoundError) else ""
        raise FileError.of(error, where, "read", more) from error


class _AsItComes(io.RawIOBase):
    """Reads no more than what is there, where a buffered file would wait for all that is asked.
    ``start``: bytes that were read before; ``first`` and ``last``: what was read."""

    def __init__(self, file: io.BufferedReader, start: bytes = b"") -> None:
        self._file, self._start = file, start
        self.first = self.last = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # readinto1 reads once more, and waits, if some bytes are buffered and many are asked for
        data = self._start[: len(buffer)] or self._file.read1(len(buffer))
        self._start = self._start[len(data) :]
        if len(self.first) < len(_BGZF_END):
            self.first += data[: len(_BGZF_END)]
        self.last = (self.last + data[-len(_BGZF_END) :])[-len(_BGZF_END) :]
        buffer[: len(data)] = data
        return len(data)

    def lacks_end(self) -> bool:
        """Is this BGZF, all of which was read, without its last block?  Says so once."""
        block = self.first[:4] + self.first[10:14] == _BGZF_END[:4] + _BGZF_END[10:14]
        self.first = _BGZF_END[:1] * len(_BGZF_END)
        return block and self.last != _BGZF_END


class _Streams:
    """The bytes in a file of bzip2 or xz streams, between which xz may have zero bytes by four.
    (Python's own files take a stream that cannot be read for the end.)"""

    def __init__(self, file: _AsItComes, kind: str) -> None:
        import bz2
        import lzma

        xz = partial(lzma.LZMADecompressor, lzma.FORMAT_XZ)
        self._file, self._make = file, xz if kind == "xz" else bz2.BZ2Decompressor
        self._padded, self._stream, self._next = kind == "xz", self._make(), b""

    def read1(self, size: int) -> bytes:
        """At least one byte, at most ``size``; none at the end."""
        while True:
            if self._stream.eof and not self._begun():
                return b""
            given, self._next = self._next, b""
            if self._stream.needs_input and not given and not (given := self._file.read(PIECE)):
                raise EOFError("the file ends within a stream")
            if data := self._stream.decompress(given, size):
                return data

    def _begun(self) -> bool:
        """Go to the next stream, if there is one."""
        rest, zeros = self._stream.unused_data or self._file.read(PIECE), 0
        while self._padded and rest.startswith(b"\0"):
            stripped = rest.lstrip(b"\0")
            zeros += len(rest) - len(stripped)
            rest = stripped or self._file.read(PIECE)
        if zeros % 4:
            raise ValueError("zero bytes after a stream, and not by four")
        if rest:
            self._stream, self._next = self._make(), rest
        return bool(rest)

    def close(self) -> None:
        """Nothing is open."""


class _Unpacked(io.RawIOBase):
    """The decompressed bytes of a file; what its library raises becomes a FormatError."""

    def __init__(self, file: io.BufferedReader, where: str, kind: str, short: str) -> None:
        from xopen import xopen

        self._where, self._kind = where, kind
        source: Any = _AsItComes(file)
        self._source, self._file = source, source
        if kind in ("bzip2", "xz"):
            self._file = _Streams(source, kind)
        elif kind == "gzip" and not file.seekable():  # the library that xopen takes waits for more
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
        except Exception as error:  # each library has its own
            system = isinstance(error, OSError) and error.errno is not None
            if system or isinstance(error, MemoryError):
                raise
            raise FormatError(
                f"{self._where}: truncated or damaged {self._kind} ({error}); "
                "copy or fetch the file again"
            ) from None
        if not data and self._kind == "gzip" and self._source.lacks_end():
            said = f"{self._where}: BGZF without its last block; the file may be cut off"
            warn(said, InputWarning)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
