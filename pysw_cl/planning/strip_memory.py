"""The device memory of a tile of the wavefront engine, and of tiles in a pipeline."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from . import pipelines, sizes
from .choose import Given, choose, in_strips, whole_pipeline
from .execution import Buffer, ByRows, InParts, InSections, InStrips, TileShape
from .memory_parts import EngineMemory, Memory, TileMemory
from .path_grid import captures_inside, strip_rows


@dataclass(frozen=True)
class StripMemory:
    """The memory of the wavefront: see `EngineMemory`.  ``row_scan``: the memory of tiles that are
    computed row by row."""

    given: Given
    row_scan: EngineMemory | None = None

    @property
    def captures(self) -> bool:
        """See `EngineMemory`."""
        return captures_inside(self.given.plan)

    @property
    def row_quantum(self) -> int:
        """See `EngineMemory`."""
        return self.given.plan.strip_rows

    def strip_rows(self, rows: int, columns: int) -> int:
        """See `EngineMemory`."""
        return strip_rows(self.given.plan, rows, columns)

    def in_memory(self, m: int, n: int, rows: int, columns: int) -> bool:
        """Does the device hold so many special rows and columns of an m x n tile?"""
        return self.given.lines_fit(TileShape(m, n), rows, columns)

    def tile(self, tile: TileShape) -> TileMemory:
        """The memory of a tile, in the way that the engine computes it."""
        execution = choose(tile, self.given)
        if isinstance(execution, InParts):
            return self._largest_part(tile, execution)
        if isinstance(execution, ByRows):
            assert self.row_scan is not None
            return TileMemory(self.row_scan.tile(tile).whole)
        if isinstance(execution, InSections):
            return TileMemory(Memory.of(execution.buffers))
        most = max(map(Memory.of, _either(execution)), key=lambda memory: memory.total)
        rows = Memory(horizontal_bus=most.horizontal_bus, special_rows=most.special_rows)
        columns = Memory(special_columns=most.special_columns)
        return TileMemory(
            most, rows if tile.rows else Memory(), columns if tile.columns else Memory()
        )

    def _largest_part(self, tile: TileShape, cut: InParts) -> TileMemory:
        """The memory of the largest part; the host keeps the cells of the cuts."""
        m = max(b - a for a, b in pairwise((0, *cut.rows, tile.m)))
        n = max(b - a for a, b in pairwise((0, *cut.columns, tile.n)))
        kept = () if cut.columns else tile.columns
        level = tile.level and not cut.rows
        changed = {"bottom": tile.bottom or bool(cut.rows), "right": tile.right or n < tile.n}
        part = replace(tile, m=m, n=n, rows=(), columns=kept, level=level, **changed)
        return TileMemory(self.tile(part).whole)

    def pipeline(self, tile: TileShape, ends: Iterable[int]) -> Memory | None:
        """The memory of a pipeline of tiles as wide as ``tile``, which is as high as the matrix,
        with these special rows; None where tiles are computed one by one."""
        given, (m, n) = self.given, tile.size
        plan, device, begun = given.plan, given.device, whole_pipeline(tile, given)
        if begun is None:
            return None
        height, places = begun.tile.m, (0, *ends, m)
        highest = min(height, max(b - a for a, b in pairwise(places)))
        count = sum(-(-(b - a) // height) for a, b in pairwise(places))
        if count < 2:
            return None
        fits = begun.plan
        shared = [
            Buffer("bus", "horizontal_bus", pipelines.pipeline_bus_bytes(fits, n)),
            Buffer("best", "scratch", 4),
            Buffer("tickets", "scratch", plan.tuning.pipeline.most_tiles * device.part_align),
            *begun.shared_letters,
        ]
        part = replace(begun.tile, m=highest)
        every = [begun, *([] if begun.until_built is None else [begun.until_built])]
        ways = [in_strips(one.plan, one.program.score, part, given, linked=True) for one in every]
        strips = max(ways, key=lambda way: Memory.of(way.buffers).total)
        one = [
            Buffer(f"{k}", buffer.part, sizes.pooled_bytes(max(buffer.bytes, 4), device.largest))
            for k in range(min(pipelines.pipeline_slots(plan), count))
            for buffer in strips.buffers
        ]
        return Memory.of(shared + one)


def _either(execution: InStrips) -> list[list[Buffer]]:
    """The buffers of what computes a tile, and of what does until that is built."""
    later = execution.until_built
    return [execution.buffers, *([] if later is None else [later.buffers])]
