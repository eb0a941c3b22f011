"""How much device memory an alignment takes: predicted from its plan and size, before it runs.

Sandes & de Melo (thesis 2011, table 5.1) give such a formula for one sweep.  Here sweeps, pipelines
and tracebacks are gone through as the drivers do, and the buffers of each execution are summed
(:mod:`.execution`).  What depends on the letters is assumed: see :func:`device_memory`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from math import lcm
from typing import NamedTuple

from . import path_grid, sizes
from .choose import Given, choose, in_strips, pipeline_bus_bytes, pipeline_slots, whole_pipeline
from .execution import ByRows, HeldWhole, InParts, InSections
from .facts import DeviceFacts
from .geometry import TileShape, spans
from .plan import Plan, StriplessPlan
from .sizes import Buffer

NO_ENDS = (False, False, False, False)
#: Moves of a launch over those of the tiles along a diagonal: tiles have margins, and paths cross
#: corners of others.
BESIDE = 1.35
#: Bytes of a tile's descriptors in a launch.
TILE_BYTES = 272


@dataclass(frozen=True)
class Memory:
    """Bytes of device memory by part (`Buffer.part`), and those of the largest allocation."""

    parts: Counter[str] = field(default_factory=Counter)
    largest: int = 0

    @property
    def total(self) -> int:
        """All bytes."""
        return self.parts.total()

    def __add__(self, other: Memory) -> Memory:
        return Memory(self.parts + other.parts, max(self.largest, other.largest))

    def only(self, *parts: str) -> Memory:
        """These parts, which others have allocated."""
        return Memory(Counter({part: self.parts[part] for part in parts}))

    @classmethod
    def of(cls, buffers: Iterable[Buffer]) -> Memory:
        """Of buffers, which have 4 bytes at least unless they are of letters."""
        parts, whole = Counter[str](), Counter[str]()
        for name, part, size in buffers:
            parts[part] += size if part == "letters" else max(size, 4)
            whole[name] += size
        return cls(parts, max(whole.values(), default=0))


NONE = Memory()


def larger(one: Memory, other: Memory) -> Memory:
    """The one with the larger total, and the largest allocation of both."""
    most = max(one, other, key=lambda memory: memory.total)
    return Memory(most.parts, max(one.largest, other.largest))


def device_memory(given: Given, m: int, n: int, free_ends: tuple[bool, ...] = NO_ENDS) -> Memory:
    """The device memory that ``align`` takes for ``m`` x ``n`` letters: what ``stats.device_bytes``
    will be, without edges on the host.  ``free_ends``: of `align`, as four booleans.

    Assumed: a path goes through the largest cell of each grid, and sections overlap enough.  A
    global comparison that is found in a diagonal band may take less.
    """
    if given.is_held(m, n):
        return Memory.of(HeldWhole(given.plan, m, n).buffers)
    last_row = not given.local and free_ends[1]
    last_column = not given.local and (free_ends[3] or not last_row)
    whole = TileShape(m, n, given.local, bottom=last_row, right=last_column)
    whole = replace(whole, level=given.local or free_ends[0], after=given.local)
    given = replace(given, seen=replace(given.seen, alike=False))
    return _Job(given, whole).memory(bool(given.paths))


def too_large(memory: Memory, device: DeviceFacts) -> str | None:
    """Why a device does not hold a job that takes this memory, in words; None: it does."""
    total, largest, there, most = (
        f"{size / 2**20:,.1f} MiB"
        for size in (memory.total, memory.largest, device.memory, device.largest)
    )
    if memory.total > device.memory:
        return (
            f"{total} of device memory are needed and {there} are there; output='score' needs less "
            "than a path, and so do smaller tiles (plan: tile_cells, traceback_tile_cells)"
        )
    if memory.largest > device.largest:
        return (
            f"one buffer of {largest} is needed and the device allocates at most {most} in one "
            "piece; smaller tiles need less (plan: tile_cells, traceback_tile_cells)"
        )
    return None


class _Kind(NamedTuple):
    """The tiles of a sweep that are alike on one side."""

    length: int
    #: Places of the special lines inside, from the tile's begin.
    inner: tuple[int, ...]
    #: Does a tile follow them?  Do they begin where the matrix does?
    followed: bool
    first: bool


def _kinds(spans: list[range], inner: tuple[int, ...]) -> list[_Kind]:
    """The kinds of these tiles in their order; of those alike that follow each other, two stand for
    all."""
    found = []
    for span in spans:
        within = [place for place in inner if span.start < place < span.stop]
        marked = {0, len(span) - 1, *((place - span.start) // span.step for place in within)}
        chosen = {k for one in marked for k in (one, one + 1, one + 2) if k < len(span)}
        for start in (span[k] for k in sorted(chosen)):
            end = min(start + span.step, span.stop)
            lines = tuple(place - start for place in within if start < place < end)
            found.append(_Kind(end - start, lines, end < spans[-1].stop, start == 0))
    return found


class _Lines(NamedTuple):
    """The grid that a sweep keeps: its cuts, from 0 to the length of each side."""

    rows: list[int]
    columns: list[int]
    #: Is it compressed after the sweep?
    compressed: bool = False

    @property
    def cell(self) -> tuple[int, int]:
        """The most rows and the most columns of a grid cell."""
        return _widest(self.rows), _widest(self.columns)


def _widest(places: Iterable[int]) -> int:
    """The longest way from one of these places to the next."""
    return max(b - a for a, b in pairwise(places))


@dataclass(frozen=True)
class _Job:
    """Goes through the sweeps and tiles of a comparison."""

    given: Given
    #: What is asked of the whole matrix.
    whole: TileShape

    @property
    def plan(self) -> Plan:
        """The plan of all."""
        return self.given.plan

    def memory(self, path: bool) -> Memory:
        """The most memory that it takes at once."""
        m, n = self.whole.size
        shape = self.plan.tile_shape(m, n)
        lines = self._lines(m, n, shape) if path else _Lines([0, m], [0, n])
        most, kept = self._swept(lines, shape, self.whole)
        if not path or isinstance(self.plan, StriplessPlan):
            return most
        if lines.compressed:
            # first the rows are compressed, then the columns
            rows, columns = (
                4 * sizes.compressed_words(length)[-1] * (len(places) - 2)
                for length, places in ((n, lines.rows), (m, lines.columns))
            )
            after = Memory(Counter(special_rows=rows, special_columns=columns))
            most = larger(most, kept + Memory(Counter(special_rows=rows)))
            most, kept = larger(most, kept.only("special_columns") + after), after
        ahead = self._ahead(lines.cell, kept.total)
        beside = self._traced(*lines.cell, kept) if ahead is None else kept + ahead
        return larger(most, beside)

    def _lines(self, m: int, n: int, shape: tuple[int, int]) -> _Lines:
        """The grid of special rows and columns of a whole matrix."""
        given, tuning = self.given, self.plan.tuning.traceback
        able = self.plan.captures_inside and given.device.speculative
        able = able and path_grid.compressible(given.scoring)

        def fits(lines: int) -> bool:
            return given.lines_fit(TileShape(m, n), lines, lines)

        cell_bytes = sizes.COMPRESSED_CELL_BYTES if able and shape == (m, n) else None
        strip_rows = path_grid.strip_rows(self.plan, *shape)
        return _Lines(*path_grid.special_lines(tuning, m, n, strip_rows, cell_bytes, fits))

    def _swept(
        self, lines: _Lines, shape: tuple[int, int], matrix: TileShape
    ) -> tuple[Memory, Memory]:
        """A sweep: the most memory that it takes, and that of its special lines, which stays."""
        (m, n), inner_rows = matrix.size, tuple(lines.rows[1:-1])
        matrix = replace(matrix, columns=tuple(lines.columns[1:-1]))
        piped = self._pipeline(matrix, lines.rows)
        if piped is not None:
            return piped, NONE
        most = kept = NONE
        strip_rows, inside = path_grid.strip_rows(self.plan, *shape), self.plan.captures_inside
        down = spans(m, shape[0], strip_rows, () if inside else inner_rows, tiles=True)
        across = spans(n, shape[1], 1, () if inside else matrix.columns)
        columns = set(_kinds(across, matrix.columns))
        seen: dict[TileShape, Memory] = {}
        for row in _kinds(down, inner_rows):
            stays = NONE
            for column in columns:
                one = replace(
                    matrix,
                    m=row.length,
                    n=column.length,
                    bottom=matrix.bottom or row.followed,
                    right=matrix.right or column.followed,
                    rows=row.inner,
                    columns=column.inner,
                    level=matrix.level and row.first,
                )
                if one not in seen:
                    seen[one], rows_stay, columns_stay = self.tile(one)
                    stays += rows_stay if one.n == n else NONE
                    stays += columns_stay if one.m == m else NONE
                most = larger(most, kept + seen[one])
            kept += stays
        return most, kept

    def tile(self, tile: TileShape) -> tuple[Memory, Memory, Memory]:
        """The memory of a tile, in the way that the engine computes it; and what of it stays on the
        device with its special rows, and with its special columns."""
        execution = choose(tile, self.given)
        if isinstance(execution, InParts):  # the host keeps the cells of the cuts
            m, n = _widest((0, *execution.rows, tile.m)), _widest((0, *execution.columns, tile.n))
            part = replace(
                tile,
                m=m,
                n=n,
                rows=(),
                columns=() if execution.columns else tile.columns,
                level=tile.level and not execution.rows,
                bottom=tile.bottom or bool(execution.rows),
                right=tile.right or n < tile.n,
            )
            return self.tile(part)[0], NONE, NONE
        if isinstance(execution, ByRows):
            buffers = execution.plan.buffers(tile, self.given.scoring)
            return Memory.of(buffers), NONE, NONE
        most = Memory.of(execution.buffers)
        if isinstance(execution, InSections):
            return most, NONE, NONE
        if execution.until_built is not None:
            most = max(most, Memory.of(execution.until_built.buffers), key=lambda one: one.total)
        rows = most.only("horizontal_bus", "special_rows") if tile.rows else NONE
        return most, rows, most.only("special_columns") if tile.columns else NONE

    def _pipeline(self, tile: TileShape, places: list[int]) -> Memory | None:
        """The memory of a pipeline of tiles as wide as ``tile``, which is as high as the matrix,
        cut at these ``places``; None where tiles are computed one by one."""
        given, (_, n) = self.given, tile.size
        plan, device, begun = given.plan, given.device, whole_pipeline(tile, given)
        if begun is None:
            return None
        height = begun.tile.m
        count = sum(-(-(b - a) // height) for a, b in pairwise(places))
        if count < 2:
            return None
        shared = [
            Buffer("bus", "horizontal_bus", pipeline_bus_bytes(begun.plan, n)),
            Buffer("best", "scratch", 4),
            Buffer("tickets", "scratch", plan.tuning.pipeline.most_tiles * device.part_align),
            *begun.shared_letters,
        ]
        part = replace(begun.tile, m=min(height, _widest(places)))
        every = [begun, *([] if begun.until_built is None else [begun.until_built])]
        ways = [in_strips(one.plan, one.program.score, part, given, linked=True) for one in every]
        strips = max(ways, key=lambda way: Memory.of(way.buffers).total)
        one = [
            Buffer(f"{k}", buffer.part, sizes.pooled_bytes(max(buffer.bytes, 4), device.largest))
            for k in range(min(pipeline_slots(plan), count))
            for buffer in strips.buffers
        ]
        return Memory.of(shared + one)

    def _traced(self, rows: int, columns: int, kept: Memory) -> Memory:
        """The traceback through a grid cell, in one tile or by a finer grid."""
        plan, cells = self.plan, self.plan.traceback_tile_cells
        small = rows <= plan.strip_rows and columns <= plan.tuning.traceback.least_columns
        if small or plan.moves_bytes(rows, columns) <= cells // 2:
            return kept + self.tile(TileShape(rows, columns, moves=True))[0]
        # a path that enters the cell elsewhere may leave a part of it whose moves just fit
        high = bisect_right(range(1, rows), cells // 2, key=partial(plan.moves_bytes, n=columns))
        part = self.tile(TileShape(max(1, high), columns, moves=True))[0]
        moves_fit = Counter({**part.parts, "moves": cells // 2})
        most = kept + replace(part, parts=moves_fit)
        grid = path_grid.finer_grid(plan, rows, columns, cells)
        shape, finer = grid[0], _Lines(*grid[1:])
        swept, inner = self._swept(finer, shape, TileShape(rows, columns))
        most = larger(most, kept + swept)
        return larger(most, self._traced(*finer.cell, kept + inner))

    def _ahead(self, cell: tuple[int, int], kept: int) -> Memory | None:
        """What a path through all of the matrix takes beside the grid of the sweep, whose cells are
        at most ``cell`` and take ``kept`` bytes, where its tiles are computed before they are known
        to be needed; None where it is traced tile by tile.

        A level takes no more than its share of the path's memory, and no more than the tiles take
        that a path along the diagonal crosses.
        """
        given, (m, n) = self.given, self.whole.size
        plan, device, tuning = given.plan, given.device, given.plan.tuning.speculation
        able = device.speculative and plan.captures_inside
        score = given.narrow(n) if able else None
        if score is None or min(m, n) < tuning.least_sides * tuning.side:
            return None
        plan = plan.for_scores(score)
        level_plan, moves_plan = path_grid.batch_plans(plan)
        quantum = lcm(level_plan.strip_rows, moves_plan.strip_rows)
        levels = path_grid.level_steps(max(cell), quantum, tuning)
        if not levels:
            return None
        letters = 2 * (m + quantum) + n + (n + 2 * plan.T if plan.lane_set.backwards else 0)
        level_state, moves_state = (
            sum(path_grid.group_bytes(p, p.B)) for p in (level_plan, moves_plan)
        )
        state = level_state + 2 * moves_state
        shares = path_grid.level_shares(
            plan.tuning, m, n, kept + letters + state, len(levels), device.largest
        )
        # tiles along the diagonal of the grid, and then of each tile of a launch
        extent, edges = (m, n), []
        for most, steps, tile in zip(shares, levels, [cell, *levels], strict=False):
            tiles = max(1.0, max(extent[0] / tile[0], extent[1] / tile[1]))
            rows, columns = min(tile[0], extent[0]), min(tile[1], extent[1])
            one = path_grid.kept_bytes(rows, columns, steps, plan.T)
            count = min(tiles, max(1, most // one), tuning.most_tiles)
            edges.append(int(count * one))
            extent = int(tile[0] * count), int(tile[1] * count)
        side = tuning.side
        moves = int(sizes.moves_bytes(side, side, moves_plan.T, moves_plan.alpha))
        borders = 2 * path_grid.kept_bytes(side, side, (side + 1, side), plan.T)
        share = moves / (moves + borders)
        # 4 bits for each cell of the tiles of a whole path, and what tiles exceed it by
        capacity = int(min(share * shares[-1], BESIDE * side * (m + n) / 2))
        edges.append(int(min((1 - share) * shares[-1], capacity / moves * borders)))
        launched = min(tuning.most_tiles, 2 * max(1, capacity // moves))
        strips = -(-side // moves_plan.strip_rows)
        return Memory(
            Counter(
                letters=letters,
                state=state,
                moves=capacity,
                speculative=sum(edges),
                scratch=launched * (TILE_BYTES + 4 * strips)
                + 4 * sizes.RECORD_WORDS * moves_plan.B,
            ),
            max(capacity, *edges),
        )
