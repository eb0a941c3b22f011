"""BGZF: gzip in blocks of at most 64 KiB, so that samtools and tabix index a compressed file.

Every reader of gzip reads it.  The format: https://samtools.github.io/hts-specs/SAMv1.pdf, 4.1.
"""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any, BinaryIO

#: Bytes in a block, as in htslib; what a block with them must stay below as it is written.
_SIZE, _MOST = 0xFF00, 1 << 16
#: A block begins with this and its size less 1 (two bytes), and ends with checksum and length.
_HEAD = bytes.fromhex("1f8b08040000000000ff060042430200")
_AROUND = len(_HEAD) + 2 + 8
#: An empty block, by which readers know that a file is whole.
_EOF = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


class BlockGzip(io.RawIOBase):
    """Compresses what is written to it into ``file``, which is closed with it."""

    def __init__(self, file: BinaryIO, level: int) -> None:
        self._file, self._level, self._rest = file, level, bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Take all of ``data``."""
        view, count = memoryview(data), len(data)
        if self._rest:
            missing = _SIZE - len(self._rest)
            self._rest += view[:missing]
            view = view[missing:]
            if len(self._rest) < _SIZE:
                return count
            self._put(self._rest)
        whole = len(view) - len(view) % _SIZE
        for start in range(0, whole, _SIZE):
            self._put(view[start : start + _SIZE])
        self._rest = bytearray(view[whole:])
        return count

    def close(self) -> None:
        """Write what is left and the mark of the end."""
        if self.closed:
            return
        with self._file:
            super().close()
            if self._rest:
                self._put(self._rest)
            self._file.write(_EOF)

    def _put(self, data: bytearray | memoryview) -> None:
        for level in (self._level, 0):  # what cannot be compressed is stored
            packer = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
            packed = packer.compress(data) + packer.flush()
            if len(packed) + _AROUND <= _MOST:
                break
        size = struct.pack("<H", len(packed) + _AROUND - 1)
        tail = struct.pack("<II", zlib.crc32(data), len(data))
        self._file.write(b"".join((_HEAD, size, packed, tail)))
