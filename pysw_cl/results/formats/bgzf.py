"""BGZF: gzip in blocks of at most 64 KiB, so that samtools and tabix index a compressed file.

Every reader of gzip reads it.  The format: https://samtools.github.io/hts-specs/SAMv1.pdf, 4.1.
"""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any, BinaryIO

#: Bytes in a block, as in htslib: compressed they never have more than 64 KiB.
_SIZE = 0xFF00
#: A block begins with this and its size less 1 (two bytes), and ends with checksum and length.
_HEAD = bytes.fromhex("1f8b08040000000000ff060042430200")
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
        self._rest += data
        whole = len(self._rest) - len(self._rest) % _SIZE
        for start in range(0, whole, _SIZE):
            self._put(self._rest[start : start + _SIZE])
        del self._rest[:whole]
        return len(data)

    def close(self) -> None:
        """Write what is left and the mark of the end."""
        if not self.closed:
            super().close()
            with self._file:
                if self._rest:
                    self._put(self._rest)
                self._file.write(_EOF)

    def _put(self, data: bytearray) -> None:
        packer = zlib.compressobj(self._level, zlib.DEFLATED, -zlib.MAX_WBITS)
        packed = packer.compress(data) + packer.flush()
        size = struct.pack("<H", len(packed) + len(_HEAD) + 9)
        self._file.write(_HEAD + size + packed + struct.pack("<II", zlib.crc32(data), len(data)))
