"""Sealed files: named pieces of numbers with checksums, in a file that is complete or absent.

A file is written under the name ``NAME.part``, synced when it is complete, and renamed.  It holds
the pieces one after the other, then an index of them with some facts (JSON), then a tail of fixed
length with the place of the index.  CRC-32 covers every piece and the index, so a reader notices a
file that is truncated or changed.

Edge cells are stored as differences: H minus the H before it, and H minus X.  Each kind takes the
fewest bytes that hold all its values.  Both are deflated (RFC 1951) with the strategy for runs:
neighbours of an edge differ little, and it took 8 ns a cell where the default strategy took 9 and
saved less.  A thread compresses and writes them while the device computes."""

from __future__ import annotations

import json
import os
import struct
import time
import zlib
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, takewhile
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import CheckpointError, InternalError, PyswError
from ..sequences.parallel import AT_ONCE, in_threads
from ..tiles.edges import DeviceEdge, Edge, Ints, Source

_HEAD = b"PYSWCL1\n"
_TAIL = struct.Struct("<QQI8s")  # the index: offset, bytes, CRC-32; then _MARK
_MARK = b"PYSWEND\n"
_EDGE = struct.Struct("<ibb")  # the first H, bytes of an H difference, bytes of an H - X
#: The most cells of a piece.  A reader decompresses whole pieces, as many threads as there are.
PIECE_CELLS = 1 << 17
#: The most tasks that wait for the writer; each holds some pieces of 8 bytes a cell.
WAITING = max(1, 8 // AT_ONCE)


class DamagedFile(CheckpointError):
    """A sealed file that is truncated, changed or cannot be read."""


def finish_file(file: IO[Any], part: Path, path: Path) -> None:
    """Write what is left of a file to the disk, and give it its name."""
    file.flush()
    os.fsync(file.fileno())
    file.close()
    part.replace(path)
    if os.name == "nt":  # it cannot write renames to the disk
        return
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def cannot_write(path: Path, error: OSError, begun: bool = True) -> CheckpointError:
    """The error for a ``path`` that cannot be written.  ``begun``: is anything saved there?"""
    sound = "what was saved before is sound: free space or make the folder writable, then resume"
    advice = sound if begun else "give a folder that can be written"
    return CheckpointError(f"cannot write {path}: {error.strerror or error}; {advice}")


@contextmanager
def to_write(path: Path, begun: bool = True) -> Iterator[None]:
    """Raise :func:`cannot_write` for an OSError of the block."""
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error, begun) from error


class Piece(NamedTuple):
    """The entry of a piece in the index of a file."""

    #: What it is a part of, such as "row".
    name: str
    #: The number of its first cell in that, and its number of cells.
    start: int
    cells: int
    #: Where its payload begins in the file, its bytes, and its CRC-32.
    offset: int
    size: int
    crc: int


class Pieces:
    """Writes the pieces of a sealed file, then its end, to a ``file`` that is empty."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._pieces, self._offset = file, list[Piece](), file.write(_HEAD)

    def put(self, name: str, start: int, cells: int, payload: bytes) -> None:
        """Add a piece: the ``cells`` cells of ``name`` from number ``start`` on."""
        size, crc = len(payload), zlib.crc32(payload)
        self._pieces.append(Piece(name, start, cells, self._offset, size, crc))
        self._offset += size
        self._file.write(payload)

    def end(self, facts: Mapping[str, Any]) -> int:
        """Write the index, with these ``facts``; gives the size of the file in bytes."""
        index = json.dumps({**facts, "pieces": self._pieces}, separators=(",", ":")).encode()
        tail = _TAIL.pack(self._offset, len(index), zlib.crc32(index), _MARK)
        self._file.write(index + tail)
        return self._offset + len(index) + len(tail)


class SealedWriter:
    """Writes one sealed file, which appears at ``path`` by `seal`.  Raises CheckpointError.
    ``part``: what its name ends in until then, where others may write the same file."""

    def __init__(self, path: Path, part: str = ".part") -> None:
        self.path, self._part = path, path.with_name(path.name + part)
        with to_write(path):
            self._file = self._part.open("wb")
            self._pieces = Pieces(self._file)

    def put(self, name: str, start: int, cells: int, payload: bytes) -> None:
        with to_write(self.path):
            self._pieces.put(name, start, cells, payload)

    def seal(self, facts: Mapping[str, Any]) -> int:
        """Write the index and ``facts``, sync and rename the file; gives its size in bytes."""
        with to_write(self.path):
            size = self._pieces.end({"name": self.path.name, "facts": facts})
            finish_file(self._file, self._part, self.path)
        return size

    def close(self) -> None:
        """Remove the file if it is not sealed."""
        with suppress(OSError):  # the buffer could not be written, and the file is removed
            self._file.close()
        self._part.unlink(missing_ok=True)


class SealedFile:
    """Reads a sealed file.  Raises ``error`` if it, or a piece that is read, is not sound."""

    #: What is raised, and what to do then.
    error: type[PyswError] = DamagedFile
    advice = "resume again to compute it anew"

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._opened() as file:
            size = file.seek(0, os.SEEK_END)
            head = _at(file, 0, len(_HEAD))
            tail = _at(file, max(0, size - _TAIL.size), _TAIL.size)
            if head != _HEAD or len(tail) < _TAIL.size:
                raise self._damaged("its beginning or its end is missing")
            offset, length, crc, mark = _TAIL.unpack(tail)
            if mark != _MARK or offset + length + _TAIL.size != size:
                raise self._damaged("its end is missing")
            index = _at(file, offset, length)
        if zlib.crc32(index) != crc:
            raise self._damaged("the checksum of its index is wrong")
        content = json.loads(index)
        if (name := content.get("name", path.name)) != path.name:
            raise self._damaged(f"it is the file {name}")
        self.facts: dict[str, Any] = content["facts"]
        self.pieces = [Piece(*piece) for piece in content["pieces"]]

    def named(self, name: str) -> list[Piece]:
        """The pieces of that name, in the order in which they were written."""
        return [piece for piece in self.pieces if piece.name == name]

    def read(self, piece: Piece) -> Any:
        """The payload of a piece, its checksum checked."""
        payload = self._payload(piece)
        if len(payload) != piece.size or zlib.crc32(payload) != piece.crc:
            raise self._damaged(f"the checksum of its piece {piece.name} is wrong")
        return payload

    def _payload(self, piece: Piece) -> Any:
        with self._opened() as file:
            return _at(file, piece.offset, piece.size)

    def check(self) -> None:
        for piece in self.pieces:
            self.read(piece)

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        try:
            with self.path.open("rb") as file:
                yield file
        except OSError as error:
            raise self._damaged(str(error.strerror or error)) from error

    def _damaged(self, why: str) -> PyswError:
        return self.error(f"{self.path} is damaged: {why}; {self.advice}")


def is_sealed(path: Path) -> bool:
    """Can a file be read, and does it begin as sealed ones do?"""
    with suppress(OSError):
        if path.is_file():  # a pipe can be read once
            with path.open("rb") as file:
                return file.read(len(_HEAD)) == _HEAD
    return False


def _at(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size)


def pack_bytes(data: bytes | memoryview, strategy: int = zlib.Z_RLE) -> bytes:
    deflate = zlib.compressobj(1, zlib.DEFLATED, -15, 9, strategy)
    return deflate.compress(data) + deflate.flush()


def unpack_bytes(payload: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(zlib.decompress(payload, -15), np.uint8)


def _narrow(values: Ints) -> tuple[int, bytes]:
    low, high = int(values.min()), int(values.max())
    width = next(w for w in (1, 2, 4) if -(1 << (8 * w - 1)) <= low and high < 1 << (8 * w - 1))
    return width, values.astype(f"<i{width}").tobytes()


def pack_edge(edge: Edge) -> bytes:
    """An edge of at least one cell, compressed; differences wrap, so nothing is lost."""
    step, gap = np.diff(edge.h, prepend=edge.h[:1]), edge.h - edge.x
    (wide_step, steps), (wide_gap, gaps) = _narrow(step), _narrow(gap)
    return _EDGE.pack(int(edge.h[0]), wide_step, wide_gap) + pack_bytes(steps + gaps)


def unpack_edge(payload: bytes, cells: int) -> Edge:
    """The edge of so many cells that `pack_edge` compressed."""
    first, wide_step, wide_gap = _EDGE.unpack_from(payload)
    raw = unpack_bytes(payload[_EDGE.size :])
    steps = raw[: cells * wide_step].view(f"<i{wide_step}").astype(np.int32)
    gaps = raw[cells * wide_step :].view(f"<i{wide_gap}").astype(np.int32)
    steps[0] = first
    h = np.cumsum(steps, dtype=np.int32)
    return Edge(h, h - gaps)


class Writer:
    """A thread that performs tasks in order; ``seconds``: how long it has worked.  After an error
    it performs no more tasks, and each later :meth:`do` and :meth:`flush` raises that error.
    ``file``: the one written last, which :meth:`close` closes."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.file: SealedWriter | None = None
        self._error: BaseException | None = None
        self._thread = ThreadPoolExecutor(1, "checkpoint writer")
        self._tasks: deque[Future[None]] = deque()

    def do(self, task: Callable[..., object], *given: Any) -> None:
        """Add a task; blocks while many wait."""
        self.flush(WAITING)
        self._tasks.append(self._thread.submit(self._perform, task, *given))

    def flush(self, most: int = 0) -> None:
        """Wait until all tasks are done, or all but so many."""
        while len(self._tasks) > most:
            self._tasks.popleft().result()
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Perform the waiting tasks, then end the thread."""
        self._thread.shutdown()
        if self.file is not None:
            self.file.close()

    def _perform(self, task: Callable[..., object], *given: Any) -> None:
        if self._error is not None:
            return
        started = time.perf_counter()
        try:
            task(*given)
        except BaseException as error:
            self._error = error
        self.seconds += time.perf_counter() - started


@contextmanager
def writing() -> Iterator[Writer]:
    """A writer for a ``with`` block; the block ends when all is written."""
    with closing(Writer()) as writer:
        yield writer
        writer.flush()


class EdgeWriter:
    """Writes edges to a sealed file by a thread.  ``bytes``: its size, 0 until it is sealed.
    ``highest``: the highest H of each edge."""

    def __init__(self, writer: Writer, path: Path, part: str = ".part") -> None:
        self._writer, self.path, self._part = writer, path, part
        self.bytes, self.highest = 0, dict[str, int]()
        self._file: SealedWriter | None = None

    def put(self, name: str, start: int, edge: Edge) -> None:
        """Write the cells of an edge that follow its first ``start`` ones."""
        self.highest[name] = max(edge.highest, self.highest.get(name, edge.highest))
        for at in range(0, len(edge), PIECE_CELLS * AT_ONCE):
            self._writer.do(self._put, name, start + at, edge.read(at, at + PIECE_CELLS * AT_ONCE))

    def seal(self, facts: Mapping[str, Any]) -> None:
        self._writer.do(self._seal, facts)

    def _opened(self) -> SealedWriter:
        if self._file is None:
            self._file = self._writer.file = SealedWriter(self.path, self._part)
        return self._file

    def _put(self, name: str, start: int, edge: Edge) -> None:
        file, places = self._opened(), range(0, len(edge), PIECE_CELLS)
        parts = [edge.read(at, at + PIECE_CELLS) for at in places]
        for at, part, packed in zip(places, parts, in_threads(pack_edge, parts), strict=True):
            file.put(name, start + at, len(part), packed)

    def _seal(self, facts: Mapping[str, Any]) -> None:
        self.bytes = self._opened().seal(facts)


@dataclass(frozen=True)
class EdgeSink:
    """A sink that writes an edge to a file, where it begins after ``first`` cells."""

    file: EdgeWriter
    name: str
    first: int = 0

    def write(self, start: int, edge: Edge | DeviceEdge) -> None:
        self.file.put(self.name, start - self.first, edge.read(0, len(edge)))


@dataclass(frozen=True)
class PackedEdge(Source):
    """An edge of so many ``cells``; ``content`` gives them compressed."""

    cells: int
    content: Callable[[], bytes]

    def read(self, start: int, stop: int) -> Edge:
        return unpack_edge(self.content(), self.cells).read(start, stop)


class Joined(Source):
    """An edge in parts that follow each other, each with the number of cells before it."""

    def __init__(self, parts: Iterable[tuple[int, Source]]) -> None:
        self._parts = list(parts)

    def read(self, start: int, stop: int) -> Edge:
        k = max(0, bisect_right(self._parts, start, key=itemgetter(0)) - 1)
        some = pairwise([*takewhile(lambda part: part[0] < stop, self._parts[k:]), (stop, self)])
        spans = ((part, max(0, start - first), end - first) for (first, part), (end, _) in some)
        found = [*in_threads(lambda span: span[0].read(*span[1:]), spans)]
        if sum(map(len, found)) < stop - start:
            raise InternalError(f"cells {start} to {stop} of an edge are not on disk")
        first, *others = found or [Edge.unreachable(0)]
        return first.joined(*others) if others else first


def stored_edge(name: str, files: Iterable[tuple[int, SealedFile]]) -> Joined:
    """The edge of a name in files, each with the number of cells before its first one."""
    return Joined(
        (at + piece.start, PackedEdge(piece.cells, partial(file.read, piece)))
        for at, file in files
        for piece in file.named(name)
    )
