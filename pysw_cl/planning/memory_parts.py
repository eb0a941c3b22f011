"""What predictions of device memory are made of: parts, tiles, and facts of device and job."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..scoring.scoring import Scoring

if TYPE_CHECKING:
    from ..opencl.device import Runtime


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
    def of(cls, requests: Iterable[tuple[str, int]]) -> Memory:
        """Of buffers: the part that each belongs to, and its bytes (4 at least)."""
        parts: dict[str, int] = {}
        largest = 0
        for part, size in requests:
            parts[part] = parts.get(part, 0) + max(size, 4)
            largest = max(largest, size)
        return cls(**parts, largest=largest)


def larger(one: Memory, other: Memory) -> Memory:
    """The one with the larger total, and the largest allocation of both."""
    most = max(one, other, key=lambda memory: memory.total)
    return most + Memory(largest=max(one.largest, other.largest))


@dataclass(frozen=True)
class DeviceFacts:
    """What of a device decides how much memory a job takes."""

    #: Bytes of its memory, and of the largest allocation.
    memory: int
    largest: int
    #: Compute units, and the warp schedulers of each (0: see `DeviceTraits.schedulers`).
    units: int = 1
    schedulers: int = 0
    #: The fewest lanes of a strip.
    least_T: int = 1
    #: Has it a permutation of bytes?
    byte_permute: bool = False
    #: Does it compute tiles before they are known to be needed?
    speculative: bool = False
    #: The alignment of parts of a buffer, in bytes.
    part_align: int = 128

    @classmethod
    def of(cls, runtime: Runtime) -> DeviceFacts:
        """Of a device that is there."""
        device, traits = runtime.device, runtime.traits
        return cls(
            memory=int(device.global_mem_size),
            largest=int(device.max_mem_alloc_size),
            units=runtime.info.compute_units,
            schedulers=traits.schedulers,
            least_T=traits.least_T,
            byte_permute=traits.byte_permute,
            speculative=traits.speculative,
            part_align=max(128, int(device.mem_base_addr_align) // 8),
        )


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


@dataclass(frozen=True)
class TileShape:
    """A tile, as far as its memory goes."""

    m: int
    n: int
    #: Is the best cell looked for?  Are the last row and the last column wanted?
    best: bool = False
    bottom: bool = False
    right: bool = False
    #: Special rows and columns inside.
    rows: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    #: Are moves stored?
    moves: bool = False
    #: Is its top edge the matrix's?  May its cells be pruned?
    first: bool = False
    after: bool = False


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
