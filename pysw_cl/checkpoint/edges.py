"""Edges on disk: slabs in sealed files, written by a thread while the device computes."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any

from ..errors import InternalError
from ..sequences.parallel import AT_ONCE, in_threads
from ..tiles.edges import DeviceEdge, Edge, Source
from .container import Piece, SealedFile, SealedWriter, pack_edge, unpack_edge

#: The most cells of a piece.  A reader decompresses whole pieces.
PIECE_CELLS = 1 << 20
#: The most tasks that wait for the writer; each holds some pieces of 8 bytes a cell.
WAITING = max(1, 8 // AT_ONCE)


class Writer:
    """A thread that performs tasks in order; ``seconds``: how long it has worked.

    After an error it performs no more tasks, and each later :meth:`do` and :meth:`flush` raises
    that error.  ``file`` is the file being written; :meth:`close` abandons it if it is not sealed.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.file: SealedWriter | None = None
        self._error: BaseException | None = None
        self._thread = ThreadPoolExecutor(1, "checkpoint writer")
        self._tasks: deque[Future[None]] = deque()

    def do(self, task: Callable[[], object]) -> None:
        """Add a task; blocks while many wait."""
        self.flush(WAITING)
        self._tasks.append(self._thread.submit(self._perform, task))

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
            self.file.abandon()

    def _perform(self, task: Callable[[], object]) -> None:
        if self._error is not None:
            return
        started = time.perf_counter()
        try:
            task()
        except BaseException as error:
            self._error = error
        self.seconds += time.perf_counter() - started


@contextmanager
def writing() -> Iterator[Writer]:
    """A writer for a ``with`` block; the block ends when all is written."""
    with closing(Writer()) as writer:
        yield writer
        writer.flush()


class SlabWriter:
    """Writes the file of one slab: sinks for its last row and its parts of special columns.

    ``bytes``: the size of the file, 0 until it is sealed.  The file is created when the first
    cells are written.
    """

    def __init__(self, writer: Writer, path: Path, facts: Mapping[str, Any]) -> None:
        self._writer, self.path, self._facts = writer, path, facts
        self.bytes = 0
        self._opened = False

    def seal(self, facts: Mapping[str, Any]) -> None:
        """Complete the file; the slab is computed."""
        self._begin()
        self._writer.do(lambda: self._seal({**self._facts, **facts}))

    def put(self, name: str, start: int, edge: Edge) -> None:
        """Write the cells of an edge that follow its first ``start`` ones."""
        self._begin()
        for at in range(0, len(edge), PIECE_CELLS * AT_ONCE):
            part = edge.read(at, at + PIECE_CELLS * AT_ONCE)
            self._writer.do(partial(self._put, name, start + at, part))

    def _begin(self) -> None:
        if not self._opened:
            self._opened = True
            self._writer.do(self._open)

    def _open(self) -> None:
        self._writer.file = SealedWriter(self.path)

    def _put(self, name: str, start: int, edge: Edge) -> None:
        assert self._writer.file is not None
        places = range(0, len(edge), PIECE_CELLS)
        parts = [edge.read(at, at + PIECE_CELLS) for at in places]
        for at, part, packed in zip(places, parts, in_threads(pack_edge, parts), strict=True):
            self._writer.file.put(name, start + at, len(part), packed)

    def _seal(self, facts: Mapping[str, Any]) -> None:
        assert self._writer.file is not None
        self.bytes = self._writer.file.seal(facts)
        self._writer.file = None


@dataclass(frozen=True)
class EdgeSink:
    """A sink that writes an edge to the file of a slab, where it begins after ``first`` cells."""

    slab: SlabWriter
    name: str
    first: int = 0

    def write(self, start: int, edge: Edge | DeviceEdge) -> None:
        """Write the cells that follow the first ``start`` ones."""
        self.slab.put(self.name, start - self.first, edge.read(0, len(edge)))


class SavedSlab:
    """A slab on disk: rows ``[start, end)``, and the ``facts`` that it was sealed with."""

    def __init__(self, file: SealedFile) -> None:
        self.file, self.facts = file, file.facts
        self.start, self.end = int(file.facts["start"]), int(file.facts["end"])

    def row(self) -> StoredEdge:
        """Its last row."""
        return StoredEdge([(0, self.file, piece) for piece in self.file.named("row")])


def stored_column(slabs: Sequence[SavedSlab], column: int) -> StoredEdge:
    """A special column through adjoining slabs, the first of which begins at row 0."""
    parts = [(s.start, s.file, p) for s in slabs for p in s.file.named(f"column {column}")]
    return StoredEdge(parts)


class StoredEdge(Source):
    """A source that reads pieces of files.  Each part is (the number of cells of the edge before
    the file's first cell, file, piece)."""

    def __init__(self, parts: list[tuple[int, SealedFile, Piece]]) -> None:
        self._parts = parts
        self._starts = [before + piece.start for before, _, piece in parts]

    def read(self, start: int, stop: int) -> Edge:
        """Cells ``start+1 .. stop``."""
        parts: list[Edge] = []
        index, at = bisect_right(self._starts, start) - 1, start
        while at < stop:
            part = Edge.unreachable(0)
            if 0 <= index < len(self._parts):
                _, file, piece = self._parts[index]
                edge, before = unpack_edge(file.read(piece), piece.cells), self._starts[index]
                part = edge.read(at - before, min(stop - before, len(edge)))
            if not len(part):
                raise InternalError(f"cells {start} to {stop} of an edge are not on disk")
            parts.append(part)
            at, index = at + len(part), index + 1
        return reduce(Edge.joined, parts)
