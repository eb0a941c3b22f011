"""What predictions of device memory are made of: parts, tiles, and facts of a comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import NamedTuple, Protocol

from ..scoring.scoring import Scoring
from .execution import Buffer, TileShape


@dataclass(frozen=True)
class Memory:
    """Bytes of device memory, by part (Sandes & de Melo's thesis has such a table, 5.1)."""

    #: The codes of both sequences.
    letters: int = 0
    #: Lines of H and F^ between strips.
    horizontal_bus: int = 0
    #: Left and right edges.
    vertical_bus: int = 0
    #: The lanes of strips between two blocks, and what groups have beside them; the cells of a
    #: matrix that is held whole.
    state: int = 0
    #: Special rows and columns that are kept.
    special_rows: int = 0
    special_columns: int = 0
    #: Stored moves.
    moves: int = 0
    #: Edges of tiles that are computed before they are known to be needed.
    speculative: int = 0
    #: Scores, records, tickets, progress reports.
    scratch: int = 0
    #: The largest single allocation; no part of the total.
    largest: int = 0

    @property
    def total(self) -> int:
        """All bytes."""
        return sum(getattr(self, one.name) for one in fields(self) if one.name != "largest")

    def __add__(self, other: Memory) -> Memory:
        both = {
            one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)
        }
        return Memory(**{**both, "largest": max(self.largest, other.largest)})

    @classmethod
    def of(cls, buffers: Iterable[Buffer]) -> Memory:
        """Of buffers, which have 4 bytes at least unless they are of letters."""
        parts, sizes = Counter[str](), Counter[str]()
        for name, part, size in buffers:
            parts[part] += size if part == "letters" else max(size, 4)
            sizes[name] += size
        return cls(**parts, largest=max(sizes.values(), default=0))


def larger(one: Memory, other: Memory) -> Memory:
    """The one with the larger total, and the largest allocation of both."""
    most = max(one, other, key=lambda memory: memory.total)
    return most + Memory(largest=max(one.largest, other.largest))


@dataclass(frozen=True)
class Compared:
    """What of a comparison decides how much memory it takes."""

    scoring: Scoring
    #: Is it local?
    local: bool
    #: In the order of `free_ends`.
    free_ends: tuple[bool, bool, bool, bool]
    #: May cells be pruned?
    prunes: bool
    #: Has the target none but the first four letters of the alphabet?
    four: bool

    @property
    def in_last_row(self) -> bool:
        """Is the best end looked for in the last row?"""
        return not self.local and self.free_ends[1]

    @property
    def in_last_column(self) -> bool:
        """Is it looked for in the last column?"""
        return not self.local and (self.free_ends[3] or not self.free_ends[1])


class TileMemory(NamedTuple):
    """The memory of a tile, and what of it stays on the device with its special lines."""

    whole: Memory
    rows: Memory = Memory()
    columns: Memory = Memory()


class EngineMemory(Protocol):
    """How much memory an engine takes for a tile."""

    @property
    def captures(self) -> bool:
        """Are special rows and columns captured inside a tile?"""

    @property
    def row_quantum(self) -> int:
        """Tiles waste no work if their height is a multiple of it."""

    def strip_rows(self, rows: int, columns: int) -> int:
        """See `pysw_cl.tiles.contract.Engine`."""

    def tile(self, tile: TileShape) -> TileMemory:
        """The memory of one tile."""
