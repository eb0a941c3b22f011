"""The tile contract: what every engine does, and what else an engine may be able to do.

An engine is one class with one method, :meth:`Engine.tile`.  What it can do beyond that is a
capability object, which a driver asks for and does without where it is None: tiles that follow
each other on the device (:class:`Pipeline`), many tiles in one launch (:class:`TileBatches`),
edges that stay on the device in fewer bytes (:class:`EdgeCompression`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..planning.plan import Plan
from ..scoring.scoring import Scoring
from ..sequences.view import View
from .edges import DeviceEdge, Source
from .tile import Area, TileJob, TileResult, Traced

#: How far from a tile's last corner a path may leave it where that is not known.
ANYWHERE = 1 << 30


class Engine:
    """An engine computes tiles exactly; how is its private matter.

    A subclass has a ``name`` and :meth:`tile`; the rest has defaults.  ``plan`` is what it runs.
    Tiles of ``row_quantum`` rows, or a multiple, waste nothing; ``peak_bytes`` is the most device
    memory that one tile took so far.  ``captures_inside``: inner rows and columns are taken without
    cutting a tile; else a sweep cuts there, which costs as much and tells more of its progress.
    """

    name: str = ""
    plan: Plan = Plan()
    row_quantum: int = 1
    peak_bytes: int = 0
    captures_inside: bool = False

    def tile(self, job: TileJob) -> TileResult:
        """Compute one tile."""
        raise NotImplementedError

    @property
    def pipeline(self) -> Pipeline | None:
        """Tiles that follow each other on the device, if the engine can do that."""
        return None

    @property
    def tile_batches(self) -> TileBatches | None:
        """Many tiles in one launch, if the engine can do that."""
        return None

    @property
    def edge_compression(self) -> EdgeCompression | None:
        """Edges on the device in fewer bytes, if the engine can do that."""
        return None

    @property
    def for_moves(self) -> Engine:
        """The engine that computes tiles with stored moves (``TileJob.store_moves``)."""
        return self

    @property
    def kernel_seconds(self) -> dict[str, float]:
        """Seconds on the device by kernel, of all that it computed; empty unless it measures."""
        return {}

    def strip_rows(self, rows: int, columns: int) -> int:
        """Rows of a strip of a tile of this size: inner rows at multiples cost nothing."""
        return self.row_quantum

    def moves_bytes(self, rows: int, columns: int) -> int:
        """Memory that the moves of a tile of this size take when they are stored; by default
        4 bits a cell."""
        return rows * columns // 2

    def another(self, cells: int) -> Engine | None:
        """An engine that shares as little with this one as can be, for a comparison of so many
        ``cells`` whose result failed its check; None where there is none."""
        return None


class Pipeline(Protocol):
    """A capability: tiles below each other, each begun while those above it are still computed."""

    def rows(self, rows: int, columns: int) -> tuple[int, int] | None:
        """Rows of a tile for a matrix of this size, and what they are to be a multiple of; None
        where tiles had better be computed one by one."""

    def start(self, job: TileJob, rows_below: int) -> TilePipeline | None:
        """Begin with a tile that has its top edge, above so many rows; None where it and those
        below it had better be computed one by one."""


class TilePipeline(Protocol):
    """Tiles below each other on a device.  All have the target, scoring and columns of the first,
    and all but the last are whole strips high."""

    def __len__(self) -> int:
        """How many tiles were put in and not yet taken out."""

    def accepts(self) -> bool:
        """Is it time to put in the next tile?  Asks the device, and waits for nothing."""

    def put(self, job: TileJob, last: bool) -> bool:
        """Begin the tile below those that are there; its ``top`` is None.  ``last``: no tile
        follows it.  False where it cannot follow them: nothing was begun."""

    def done(self) -> bool:
        """Is the first of the tiles computed?"""

    def take(self) -> TileResult:
        """Take out the first tile; waits for it.  What of its result is still on the device is
        there until the next call."""

    def close(self) -> None:
        """Wait for what is on the device, and give its memory back."""


class EdgeCompression(Protocol):
    """A capability: edges that stay on the device in fewer bytes."""

    @property
    def cell_bytes(self) -> float:
        """Memory of a cell."""

    def fits(self, scoring: Scoring, rows: int, columns: int, lines: int) -> bool:
        """Would ``lines`` inner rows of a tile of this size, and as many columns, stay on the
        device until they are compressed, and can they be?"""

    def compressed(self, cells: DeviceEdge) -> Source | None:
        """The same cells in less memory; None where that cannot be done."""


class Part(NamedTuple):
    """A tile to be: its area in the whole matrix, in which tile of another set it lies (-1: none),
    and what an H must at least be that a path leaves it with (None: nothing is known), so many rows
    and columns ``offset`` from its last corner at most."""

    area: Area
    inside: int = -1
    known: int | None = None
    offset: int = ANYWHERE


class TileSet(Protocol):
    """Tiles that were computed in one launch, with special rows and columns, ``steps`` apart."""

    parts: list[Part]
    steps: tuple[int, int]

    def h_at(self, k: int, row: int, column: int) -> int:
        """H of a cell (of the whole matrix) of tile k on a special row or column."""

    @property
    def entry_candidates(self) -> NDArray[np.int32]:
        """For tile k and the cell (a, b) between its special rows and columns ``[k, edge, a, b]``:
        along its top (0) or left (1) edge the most that a path through a cell there can score at
        the tile's last corner, how many cells come before that one, and its H."""


class TileBatches(Protocol):
    """A capability: many tiles of one matrix in one launch."""

    def start(
        self, query: View, target: View, scoring: Scoring, floor: int | None, rows: int
    ) -> TileBatch | None:
        """What computes them in a matrix of ``rows`` rows, from the part of it that ``query`` and
        ``target`` span; None where one by one is as good."""


class TileBatch(Protocol):
    """Launches of many tiles of one matrix.

    The edges and moves of the last set of each level stay on the device as long as this is in use
    (a context manager).  ``meanwhile`` is called while the device computes, with what says whether
    it still does.  Tiles have ``row_quantum`` rows or a multiple; ``most_bytes`` is what those of a
    level may take.
    """

    meanwhile: Callable[[Callable[[], bool]], None]
    row_quantum: int
    most_bytes: int

    def __enter__(self) -> TileBatch: ...

    def __exit__(self, *_: object) -> None: ...

    def free(self) -> None:
        """Give the device's memory back; nothing is computed any more."""

    @property
    def held_bytes(self) -> int:
        """Memory that is taken, with edges elsewhere and what any launch takes beside its tiles."""

    def cost(self) -> tuple[dict[str, int], int]:
        """Cells by lane set and launches since this was asked last."""

    def kept_bytes(self, rows: int, columns: int, steps: tuple[int, int]) -> int:
        """Memory that a tile's edges take, with its special rows and columns."""

    def moves_bytes(self, rows: Any, columns: Any) -> Any:
        """Memory of a tile's moves, or of those of many (arrays)."""

    def begin(
        self,
        level: int,
        parts: list[Part],
        sides: Sequence[tuple[int, Source, Source]],
        steps: tuple[int, int],
    ) -> Any:
        """Compute tiles of the whole matrix (a `TileSet`): a corner and what lies above and to the
        left of each, in the matrix's columns and rows.  Rows below its last one get what that one
        has."""

    def inside(self, level: int, outer: Any, parts: list[Part], steps: tuple[int, int]) -> Any:
        """Compute tiles that begin at corners of the special rows and columns of others."""

    def moves(self, outer: Any, parts: list[Part], slot: int = 0, room: int = 0) -> Any:
        """Begin to compute tiles as :meth:`inside` does, with their moves, in memory that is used
        again when ``slot`` is; the moves take at least ``room`` bytes."""

    def trace(
        self, moves: Any, row: int, column: int, state: int
    ) -> Callable[[], tuple[Traced, NDArray[np.int32]]]:
        """Begin to follow a path back through tiles with moves; gives what waits for it: where it
        got to, and for each tile the row, column and state with which the path came there and how
        many moves it had made (-1: it did not come there)."""
