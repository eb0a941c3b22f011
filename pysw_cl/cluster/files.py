"""The files of blocks, as those that need their edges see them."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from pathlib import Path as FilePath
from typing import Any

from ..checkpoint.container import (
    DamagedFile,
    SealedFile,
    StoredEdge,
    unpack_edge,
)
from ..drivers.problem import Problem
from ..scoring.precision import UNREACHABLE
from ..tiles.edges import Edge, Ints, LevelEdge, Source
from ..tiles.graph import Rectangle
from ..tiles.special_lines import RestartGrid
from ..tiles.tile import Area
from .workers import LOOK

#: The first row and the first column of a block.
Corner = tuple[int, int]
#: Seconds until a file is seen at the latest that another host has written (NFS: `acdirmax`).
SEEN = 60.0


class FileEdge(Edge):
    """An edge in the file of a block, which is read when its cells are asked for."""

    small = True

    def __init__(self, path: FilePath, name: str, cells: int = 0, highest: int = 0) -> None:
        vars(self).update(path=path, name=name, cells=cells, most=highest)

    def __len__(self) -> int:
        return int(vars(self)["cells"])

    def __reduce__(self) -> Any:
        own = vars(self)
        return FileEdge, (own["path"], own["name"], own["cells"], own["most"])

    def read(self, start: int, stop: int) -> Edge:
        with self._opened() as file:
            return StoredEdge(vars(self)["name"], [(0, file)]).read(start, stop)

    def packed(self) -> PackedEdge:
        """Its pieces as they are in the file."""
        with self._opened() as file:
            pieces = file.named(vars(self)["name"])
            return PackedEdge([(p.start, p.cells, bytes(file.read(p))) for p in pieces])

    @contextmanager
    def _opened(self) -> Iterator[SealedFile]:
        """Its file, once it is seen here, where another host wrote it; a damaged one is removed, so
        that another run computes it again."""
        path, until = vars(self)["path"], time.monotonic() + SEEN
        while not path.exists() and time.monotonic() < until:
            time.sleep(LOOK / 20)
        try:
            yield SealedFile(path)
        except DamagedFile as error:
            if not isinstance(error.__cause__, OSError):
                path.unlink(missing_ok=True)
            raise

    @property
    def h(self) -> Ints:
        return self.read(0, len(self)).h

    @property
    def x(self) -> Ints:
        return self.read(0, len(self)).x

    @property
    def highest(self) -> int:
        return int(vars(self)["most"])


@dataclass(frozen=True)
class PackedEdge(Source):
    """An edge that is sent to where it is needed.  ``pieces``: of each the first cell, how many
    there are, and these, compressed."""

    pieces: list[tuple[int, int, bytes]]

    def read(self, start: int, stop: int) -> Edge:
        every = (unpack_edge(packed, cells) for _, cells, packed in self.pieces)
        return reduce(Edge.joined, every).read(start, stop)


@dataclass(frozen=True)
class Place:
    """A strand of the job in a checkpoint, as a worker finds it."""

    #: The folder of the checkpoint, and that of the strand's part.
    folder: str
    part: str
    #: The key of the strand's job: other jobs may have the folder later, or had it before.
    job: str
    minus: bool
    beat: int | None
    #: What the worker computes on, as for `align`: the device, and the plan.
    device: Any = "auto"
    plan: Any = None
    #: Do workers see the folder?  Else they have its files in one of their own.
    shared: bool = True

    def path(self, area: Area) -> FilePath:
        """The file of a block."""
        row, _, column, _ = area
        return FilePath(self.part) / f"tile-{row:012}-{column:012}"


class Joined(Source):
    """An edge that lies in several files, or in none where tiles were skipped."""

    def __init__(self, parts: Iterable[tuple[int, Source]]) -> None:
        self._starts, self._parts = zip(*parts, strict=True)

    def read(self, start: int, stop: int) -> Edge:
        found, k = list[Edge](), bisect_right(self._starts, start) - 1
        while start < stop:
            end = self._starts[k + 1] if k + 1 < len(self._starts) else stop
            first, until = self._starts[k], min(stop, end)
            found.append(self._parts[k].read(start - first, until - first))
            start, k = until, k + 1
        return reduce(Edge.joined, found) if found else Edge.unreachable(0)


@dataclass(frozen=True)
class Cuts:
    """Where the matrix is cut into blocks, and the special rows and columns inside these."""

    rows: list[int]
    columns: list[int]
    inner_rows: list[int]
    inner_columns: list[int]

    def grid(self, place: Place, problem: Problem, there: Collection[Corner]) -> RestartGrid:
        """The special rows and columns in the files of the blocks that are ``there``, by their
        first rows and columns; others were skipped."""
        skipped = Level(problem)

        def piece(row: int, column: int, name: str) -> Source:
            path = place.path(Area(row, 0, column, 0))
            return FileEdge(path, name) if (row, column) in there else skipped

        rows, columns = dict[int, Source](), dict[int, Source]()
        for first, end in pairwise(self.rows):
            for row in [one for one in [*self.inner_rows, *self.rows[1:-1]] if first < one <= end]:
                name = "bottom" if row == end else f"row {row - first}"
                rows[row] = Joined((c, piece(first, c, name)) for c in self.columns[:-1])
        for first, end in pairwise(self.columns):
            every = [*self.inner_columns, *self.columns[1:-1]]
            for column in [one for one in every if first < one <= end]:
                name = "right" if column == end else f"column {column - first}"
                columns[column] = Joined((r, piece(r, first, name)) for r in self.rows[:-1])
        return RestartGrid(problem.edges, rows, columns)


class Level(Source):
    """The edges of tiles that are skipped."""

    def __init__(self, of: Rectangle) -> None:
        self._like = (UNREACHABLE, 0) if of.floor is None else (of.floor, of.scoring.gap_open)

    def read(self, start: int, stop: int) -> Edge:
        return LevelEdge(*self._like, stop - start)
