"""How much device memory an alignment takes: predicted from its plan and size, before it runs.

Sweeps, pipelines and tracebacks are gone through as the drivers do, and the buffers of executions
are summed (:mod:`.execution`).  Sandes & de Melo (thesis 2011, table 5.1) do so for one sweep."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import lcm
from typing import NamedTuple

from . import path_grid, sizes
from .choose import choose, in_boxes, in_strips, pipeline_lines, pipeline_slots, whole_pipeline
from .execution import ByRows, HeldWhole, InParts, InStrips
from .facts import DeviceFacts
from .geometry import TileShape, lengths, places_inside, spans
from .plan import StriplessPlan
from .program import Given
from .sections import span as widest_path

NO_ENDS = (False, False, False, False)
#: Moves of a launch over those of tiles along a diagonal, because of margins and corners.
BESIDE = 1.35
#: Bytes of a tile's descriptors in a launch.
TILE_BYTES = 272


class Memory(NamedTuple):
    """Bytes of device memory, and those of the largest allocation."""

    total: int = 0
    largest: int = 0

    def or_more(self, other: Memory, beside: int = 0) -> Memory:
        """The most of this and the ``other``, which is in use ``beside`` so many bytes."""
        return Memory(max(self.total, beside + other.total), max(self.largest, other.largest))

    @classmethod
    def of(cls, buffers: Mapping[str, int]) -> Memory:
        return cls(sum(buffers.values()), max(buffers.values(), default=0))


def device_memory(given: Given, m: int, n: int, free_ends: tuple[bool, ...] = NO_ENDS) -> Memory:
    """The device memory that ``align`` takes for ``m`` x ``n`` letters: what ``stats.device_bytes``
    will be, without edges on the host.  ``free_ends``: of `align`, as four booleans.

    Assumed: a path goes through the largest cell of each grid, and sections overlap enough.  A
    global comparison that is found in a diagonal band may take less."""
    if given.is_held(m, n):
        return Memory.of(HeldWhole(given.plan, m, n).buffers)
    last_row = not given.local and free_ends[1]
    last_column = not given.local and (free_ends[3] or not last_row)
    whole = TileShape(m, n, given.local, bottom=last_row, right=last_column)
    level = given.local or free_ends[0], given.local or free_ends[2]
    whole = replace(whole, level=level[0], level_left=level[1], after=given.local)
    plan, unlike = given.plan, replace(given, seen=replace(given.seen, alike=False))
    shape, most = plan.tile_shape(m, n), Memory()
    if given.paths and in_boxes(given, m, n):
        most, *_ = _sweep(unlike, [0, m], [0, n], shape, whole)
        widest = widest_path(given.scoring, min(m, n), 0, True) or 0
        m, n = min(m, widest), min(n, widest)
        shape, whole = plan.tile_shape(m, n), TileShape(m, n)
    rows, columns, compressed = [0, m], [0, n], False
    if given.paths:
        fits = partial(path_grid.compresses, plan, given.scoring, given.device, m, n)
        rows, columns, compressed = path_grid.special_lines(plan, m, n, shape, fits)
    swept, *kept = _sweep(unlike, rows, columns, shape, whole)
    most = most.or_more(swept)
    if not given.paths or isinstance(plan, StriplessPlan):
        return most
    if compressed:  # first the rows, then the columns
        sides = (n, rows), (m, columns)
        less = [4 * sizes.compressed_words(side)[-1] * (len(lines) - 2) for side, lines in sides]
        most = most.or_more(Memory(sum(kept) + less[0]))
        most, kept = most.or_more(Memory(kept[1] + sum(less))), less
    cell = max(lengths(rows)), max(lengths(columns))
    ahead = _ahead(unlike, m, n, cell, sum(kept))
    return most.or_more(_trace(unlike, *cell) if ahead is None else ahead, sum(kept))


def too_large(memory: Memory, device: DeviceFacts) -> str | None:
    """Why a device does not hold a job that takes this memory, in words; None: it does."""
    numbers = *memory, device.memory, device.largest
    total, largest, there, most = (f"{number / 2**20:,.1f} MiB" for number in numbers)
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


def _samples(spans: list[range], inner: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Where tiles begin and end, in their order; of those alike that follow each other, two stand
    for all.  ``inner``: places of special lines."""
    for span in spans:
        within = (place // span.step for place in places_inside(inner, span.start, span.stop))
        for k in sorted({one + more for one in {0, len(span) - 1, *within} for more in range(3)}):
            if k < len(span):
                yield span[k], min(span[k] + span.step, span.stop)


def _sweep(
    given: Given, rows: list[int], columns: list[int], shape: tuple[int, int], matrix: TileShape
) -> tuple[Memory, int, int]:
    """A sweep in tiles of this ``shape`` with special ``rows`` and ``columns``, from 0 to the
    length of each side: the most memory that it takes, and the bytes of these, which stay."""
    plan, (m, n), inner_rows = given.plan, matrix.size, tuple(rows[1:-1])
    matrix = replace(matrix, columns=tuple(columns[1:-1]))
    piped = _pipeline(given, matrix, rows)
    if piped is not None:
        return piped, 0, 0
    strip_rows, inside = path_grid.strip_rows(plan, *shape), plan.captures_inside
    down = spans(m, shape[0], strip_rows, () if inside else inner_rows, tiles=True)
    across = spans(n, shape[1], 1, () if inside else matrix.columns)
    most, kept_rows, kept_columns = Memory(), 0, 0
    seen: dict[TileShape, Memory] = {}
    for top, end in _samples(down, inner_rows):
        kept = kept_rows + kept_columns
        for left, right in _samples(across, matrix.columns):
            one = replace(
                matrix,
                m=end - top,
                n=right - left,
                bottom=matrix.bottom or end < m,
                right=matrix.right or right < n,
                rows=places_inside(inner_rows, top, end),
                columns=places_inside(matrix.columns, left, right),
                level=matrix.level and top == 0,
                level_left=matrix.level_left and left == 0,
            )
            if one not in seen:
                buffers, stay = _tile(given, one)
                seen[one] = Memory.of(buffers)
                if stay and one.rows and one.n == n:
                    kept_rows += buffers["bus"]
                if stay and one.columns and one.m == m:
                    kept_columns += buffers.get("crossed", 0)
            most = most.or_more(seen[one], kept)
    return most, kept_rows, kept_columns


def _tile(given: Given, tile: TileShape) -> tuple[Mapping[str, int], bool]:
    """The buffers of a tile as it is computed; do its special lines stay on the device?"""
    execution = choose(tile, given)
    if isinstance(execution, InParts):  # the host keeps the cells of the cuts
        m = max(lengths((0, *execution.rows, tile.m)))
        n = max(lengths((0, *execution.columns, tile.n)))
        part = replace(
            tile,
            m=m,
            n=n,
            rows=(),
            columns=() if execution.columns else tile.columns,
            level=tile.level and not execution.rows,
            level_left=tile.level_left and not execution.columns,
            bottom=tile.bottom or bool(execution.rows),
            right=tile.right or n < tile.n,
        )
        return _tile(given, part)[0], False
    if isinstance(execution, ByRows):
        return execution.plan.buffers(tile, given.scoring), False
    until_built = execution.until_built if isinstance(execution, InStrips) else None
    ways = [one.buffers for one in (execution, until_built) if one is not None]
    return max(ways, key=Memory.of), isinstance(execution, InStrips)


def _pipeline(given: Given, tile: TileShape, places: list[int]) -> Memory | None:
    """The memory of a pipeline of tiles, cut at ``places``; None: they come one by one."""
    plan, device, begun = given.plan, given.device, whole_pipeline(tile, given)
    if begun is None:
        return None
    height = begun.tile.m
    count = sum(-(-rows // height) for rows in lengths(places))
    if shared := given.devices > 1:
        count, places = max(2, -(-tile.m // height // given.devices)), [0, height]
    part = replace(begun.tile, m=min(height, max(lengths(places))))
    both = filter(None, (begun, begun.until_built))
    ways = (in_strips(one.plan, one.program.score, part, given, linked=True) for one in both)
    own = max((one.buffers for one in ways), key=Memory.of).values()
    pooled = sum(sizes.pooled_bytes(size, device.largest) for size in own)
    buffers = {
        "bus": sizes.bus_bytes(tile.n, begun.plan.T, pipeline_lines(begun.plan, shared)),
        "best": 4,
        "tickets": plan.tuning.pipeline.most_tiles * device.part_align,
        **begun.shared_letters,
        **{f"tile {k}": pooled for k in range(min(pipeline_slots(plan), count))},
    }
    return Memory.of(buffers)


def _trace(given: Given, rows: int, columns: int) -> Memory:
    """The traceback through a grid cell, in one tile or by a finer grid."""
    plan, cells = given.plan, given.plan.traceback_tile_cells
    small = rows <= plan.strip_rows and columns <= plan.tuning.traceback.least_columns
    if small or plan.moves_bytes(rows, columns) <= cells // 2:
        return Memory.of(_tile(given, TileShape(rows, columns, moves=True))[0])
    # a path that enters the cell elsewhere may leave a part of it whose moves just fit
    high = bisect_right(range(1, rows), cells // 2, key=partial(plan.moves_bytes, n=columns))
    buffers, _ = _tile(given, TileShape(max(1, high), columns, moves=True))
    part = Memory.of(buffers)
    most = part._replace(total=part.total - buffers.get("moves", 0) + cells // 2)
    shape, *grid = path_grid.finer_grid(plan, rows, columns)
    swept, *kept = _sweep(given, grid[0], grid[1], shape, TileShape(rows, columns))
    cell = (max(lengths(places)) for places in grid)
    return most.or_more(swept).or_more(_trace(given, *cell), sum(kept))


def _ahead(given: Given, m: int, n: int, cell: tuple[int, int], kept: int) -> Memory | None:
    """What a path through all of the matrix takes beside the grid of the sweep, whose cells are at
    most ``cell`` and take ``kept`` bytes, where its tiles are speculative; None where it is traced
    tile by tile.  A level takes at most its share of the path's memory, and what the tiles take
    that a path along the diagonal crosses."""
    plan, device, tuning = given.plan, given.device, given.plan.tuning.speculation
    score = given.narrow(n) if device.speculative and plan.captures_inside else None
    if score is None or min(m, n) < tuning.least_sides * tuning.side:
        return None
    plan = plan.for_scores(score)
    level_plan, moves_plan = path_grid.batch_plans(plan)
    quantum = lcm(level_plan.strip_rows, moves_plan.strip_rows)
    levels = path_grid.level_steps(max(cell), quantum, tuning)
    if not levels:
        return None
    letters = 2 * (m + quantum) + n + (n + 2 * plan.T if plan.lane_set.backwards else 0)
    plans = level_plan, moves_plan, moves_plan
    state = sum(sum(path_grid.group_bytes(one, one.B)) for one in plans)
    held = kept + letters + state
    shares = path_grid.level_shares(plan.tuning, m, n, held, len(levels), device.largest)
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
    scratch = launched * (TILE_BYTES + 4 * strips) + 4 * sizes.RECORD_WORDS * moves_plan.B
    return Memory(letters + state + capacity + sum(edges) + scratch, max(capacity, *edges))
