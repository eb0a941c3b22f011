"""The files of blocks, as those that need their edges see them."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path as FilePath
from typing import Any, ClassVar

from ..checkpoint.container import (
    DamagedFile,
    Joined,
    PackedEdge,
    SealedFile,
    StoredEdge,
)
from ..drivers.problem import Problem
from ..tiles.edges import Edge, Ints, Source
from ..tiles.special_lines import RestartGrid
from ..tiles.tile import Area
from .workers import LOOK

#: The first row and the first column of a block.
Corner = tuple[int, int]
#: Seconds until a file is seen at the latest that another host has written (NFS: `acdirmax`).
SEEN = 60.0


@dataclass(frozen=True)
class FileEdge(Source):
    """An edge of so many ``cells`` in the file of a block, which is read when they are asked for.
    The client takes it for an `Edge`."""

    path: FilePath
    name: str
    cells: int = 0
    #: The highest H.
    highest: int = 0
    small: ClassVar[bool] = True

    def __len__(self) -> int:
        return self.cells

    def read(self, start: int, stop: int) -> Edge:
        with self._opened() as file:
            return StoredEdge(self.name, [(0, file)]).read(start, stop)

    @property
    def h(self) -> Ints:
        return self.read(0, self.cells).h

    def packed(self) -> Source:
        """The same, in memory, compressed, so that it can be sent."""
        with self._opened() as file:
            held = ((p, partial(bytes, file.read(p))) for p in file.named(self.name))
            return Joined((p.start, PackedEdge(p.cells, content)) for p, content in held)

    @contextmanager
    def _opened(self) -> Iterator[SealedFile]:
        """Its file, once it is seen here, where another host wrote it; a damaged one is removed, so
        that another run computes it again."""
        until = time.monotonic() + SEEN
        while not self.path.exists() and time.monotonic() < until:
            time.sleep(LOOK / 20)
        try:
            yield SealedFile(self.path)
        except DamagedFile as error:
            if not isinstance(error.__cause__, OSError):
                self.path.unlink(missing_ok=True)
            raise


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

    def path(self, area: Area) -> FilePath:
        """The file of a block."""
        row, _, column, _ = area
        return FilePath(self.part) / f"tile-{row:012}-{column:012}"


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
        skipped = problem.level(max(problem.shape))

        def piece(row: int, column: int, name: str) -> Source:
            path = place.path(Area(row, 0, column, 0))
            return FileEdge(path, name) if (row, column) in there else skipped

        rows, columns = dict[int, Source](), dict[int, Source]()
        for row in [*self.inner_rows, *self.rows[1:-1]]:
            first = self.rows[bisect_left(self.rows, row) - 1]
            name = "bottom" if row in self.rows else f"row {row - first}"
            rows[row] = Joined((c, piece(first, c, name)) for c in self.columns[:-1])
        for column in [*self.inner_columns, *self.columns[1:-1]]:
            first = self.columns[bisect_left(self.columns, column) - 1]
            name = "right" if column in self.columns else f"column {column - first}"
            columns[column] = Joined((r, piece(r, first, name)) for r in self.rows[:-1])
        return RestartGrid(problem.edges, rows, columns)
