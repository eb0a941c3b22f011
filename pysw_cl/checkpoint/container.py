"""Sealed files: numbers in named pieces, each with a checksum, in a file that is whole or absent.

A file is written beside its place (``NAME.part``), synced and renamed when it is complete.  It
holds the pieces one after the other, then an index of them with some facts (JSON), then a tail of
fixed length that says where the index is.  CRC-32 covers every piece and the index, so a file that
is torn, truncated or changed is found by reading it.

Edge cells are kept as differences: H less the H before it, and H less X, in the fewest bytes that
hold them all, then deflated (RFC 1951, runs only: neighbours of an edge differ little, and that
took 8 ns a cell where the default strategy took 9 and saved less).
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CheckpointError
from ..tiles.edges import Edge, Ints

_HEAD = b"PYSWCL1\n"
_TAIL = struct.Struct("<QQI8s")  # the index: where it begins, bytes, CRC-32; and the last mark
_MARK = b"PYSWEND\n"
_EDGE = struct.Struct("<ibb")  # the first H, bytes of a difference, bytes of an H less X
_WIDTHS = {1: "<i1", 2: "<i2", 4: "<i4"}


class DamagedFile(CheckpointError):
    """A sealed file that is torn, truncated, changed or cannot be read."""


def sync_folder(folder: Path) -> None:
    """Make renames in ``folder`` last, where the system can."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def cannot_write(path: Path, error: OSError, begun: bool = True) -> CheckpointError:
    """What to raise when ``path`` could not be written; ``begun``: there is a checkpoint."""
    advice = "give a folder that can be written"
    if begun:
        advice = (
            "what was saved before is sound: free space or make the folder writable, then resume"
        )
    return CheckpointError(f"cannot write {path}: {error.strerror or error}; {advice}")


@dataclass(frozen=True)
class Piece:
    """Where a piece is: its name, the number of its first cell, cells, offset, bytes, CRC-32."""

    name: str
    start: int
    cells: int
    offset: int
    size: int
    crc: int


class SealedWriter:
    """Writes one sealed file; it appears at ``path`` only when :meth:`seal` is done.

    Raises CheckpointError when the file cannot be written (disk full, no permission).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._beside = path.with_name(path.name + ".part")
        self._pieces: list[Piece] = []
        self._offset = len(_HEAD)
        try:
            self._file = self._beside.open("wb")
            self._file.write(_HEAD)
        except OSError as error:
            raise cannot_write(path, error) from error

    def put(self, name: str, start: int, cells: int, payload: bytes) -> None:
        """Add a piece: ``cells`` cells from number ``start`` on of what ``name`` says."""
        crc = zlib.crc32(payload)
        self._pieces.append(Piece(name, start, cells, self._offset, len(payload), crc))
        self._offset += len(payload)
        try:
            self._file.write(payload)
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def seal(self, facts: Mapping[str, Any]) -> int:
        """Write index and ``facts``, sync, and give the file its name; returns its bytes."""
        pieces = [[p.name, p.start, p.cells, p.offset, p.size, p.crc] for p in self._pieces]
        index = json.dumps({"facts": facts, "pieces": pieces}, separators=(",", ":")).encode()
        tail = _TAIL.pack(self._offset, len(index), zlib.crc32(index), _MARK)
        try:
            self._file.write(index + tail)
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._beside.replace(self.path)
            sync_folder(self.path.parent)
        except OSError as error:
            raise cannot_write(self.path, error) from error
        return self._offset + len(index) + len(tail)

    def abandon(self) -> None:
        """Leave nothing behind, unless the file is sealed already."""
        try:
            self._file.close()
        except OSError:  # the buffer could not be written; nobody wants it
            pass
        finally:
            self._beside.unlink(missing_ok=True)


class SealedFile:
    """A sealed file to be read.  Raises DamagedFile when it, or a piece asked for, is not sound."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                head = _at(file, 0, len(_HEAD))
                tail = _at(file, max(0, size - _TAIL.size), _TAIL.size)
                if head != _HEAD or len(tail) < _TAIL.size:
                    raise self._damaged("its beginning or its end is missing")
                offset, length, crc, mark = _TAIL.unpack(tail)
                if mark != _MARK or offset + length + _TAIL.size != size:
                    raise self._damaged("its end is missing")
                index = _at(file, offset, length)
        except OSError as error:
            raise self._damaged(str(error.strerror or error)) from error
        if zlib.crc32(index) != crc:
            raise self._damaged("the checksum of its index is wrong")
        content = json.loads(index)
        self.size = size
        self.facts: dict[str, Any] = content["facts"]
        self.pieces = [Piece(*piece) for piece in content["pieces"]]

    def named(self, name: str) -> list[Piece]:
        """The pieces of that name, in the order in which they were written."""
        return [piece for piece in self.pieces if piece.name == name]

    def read(self, piece: Piece) -> bytes:
        """The payload of a piece, checked."""
        try:
            with self.path.open("rb") as file:
                payload = _at(file, piece.offset, piece.size)
        except OSError as error:
            raise self._damaged(str(error.strerror or error)) from error
        if len(payload) != piece.size or zlib.crc32(payload) != piece.crc:
            raise self._damaged(f"the checksum of its piece {piece.name} is wrong")
        return payload

    def check(self) -> None:
        """Read and check every piece."""
        for piece in self.pieces:
            self.read(piece)

    def _damaged(self, why: str) -> DamagedFile:
        return DamagedFile(f"{self.path} is damaged: {why}; resume again to compute it anew")


def _at(file: Any, offset: int, size: int) -> bytes:
    file.seek(offset)
    data: bytes = file.read(size)
    return data


def pack_bytes(values: NDArray[np.uint8]) -> bytes:
    """Bytes, deflated."""
    return _deflated(np.ascontiguousarray(values).data)


def pack_letters(letters: NDArray[np.uint8]) -> bytes:
    """Letters as bytes, deflated without a search for runs, of which they have few."""
    return _deflated(np.ascontiguousarray(letters).data, zlib.Z_HUFFMAN_ONLY)


def unpack_bytes(payload: bytes) -> NDArray[np.uint8]:
    """What `pack_bytes` or `pack_letters` packed."""
    return np.frombuffer(zlib.decompress(payload, -15), np.uint8)


def _deflated(data: bytes | memoryview, strategy: int = zlib.Z_RLE) -> bytes:
    deflate = zlib.compressobj(1, zlib.DEFLATED, -15, 9, strategy)
    return deflate.compress(data) + deflate.flush()


def _narrow(values: Ints) -> tuple[int, bytes]:
    low, high = int(values.min()), int(values.max())
    width = next(w for w in _WIDTHS if -(1 << (8 * w - 1)) <= low and high < 1 << (8 * w - 1))
    return width, values.astype(_WIDTHS[width]).tobytes()


def pack_edge(edge: Edge) -> bytes:
    """At least one cell of an edge; differences wrap in 32 bits, so every value is kept exactly."""
    step, gap = np.zeros_like(edge.h), edge.h - edge.x
    np.subtract(edge.h[1:], edge.h[:-1], out=step[1:])
    (wide_step, steps), (wide_gap, gaps) = _narrow(step), _narrow(gap)
    return _EDGE.pack(int(edge.h[0]), wide_step, wide_gap) + _deflated(steps + gaps)


def unpack_edge(payload: bytes, cells: int) -> Edge:
    """The edge of so many cells that `pack_edge` packed."""
    first, wide_step, wide_gap = _EDGE.unpack_from(payload)
    raw = unpack_bytes(payload[_EDGE.size :])
    steps = raw[: cells * wide_step].view(_WIDTHS[wide_step]).astype(np.int32)
    gaps = raw[cells * wide_step :].view(_WIDTHS[wide_gap]).astype(np.int32)
    steps[0] = first
    h = np.cumsum(steps, dtype=np.int32)
    return Edge(h, h - gaps)
