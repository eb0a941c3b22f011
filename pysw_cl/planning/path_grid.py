"""The grid of special rows and columns that a traceback restarts from, the levels of tiles that
are computed ahead of it, and their memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import isqrt, lcm

from ..scoring.scoring import Scoring
from .facts import DeviceFacts
from .geometry import cuts, tile_shape
from .parameters import SpeculationTuning, TracebackTuning, Tuning
from .plan import MOVES_CHUNK, Plan
from .sizes import COMPRESSED_CELL_BYTES, GROUP_CELLS, bus_bytes, state_bytes

#: Special columns are multiples of this: turns of 11-bit lanes end with even ones (mixed.clh).
COLUMN_QUANTUM = 2
#: The most that H may rise above the lowest of a compressed group, and X be below its H.
MOST_RISE, MOST_GAP = 65535, 255
#: The largest alpha of tile batches, of narrow lanes and of lanes that store moves.
BATCH_ALPHA = 8
#: Pieces of a side at most where each is a tile of its own.
PIECES = 16
#: Lines of the bus of a tile of a tile batch, special rows not counted.
LINES = 3
#: Tiles for each device down and across, at most, where several compute them; the other way round
#: where there are so many times as many columns as rows, as their edges would be too long.  A tile
#: of a 64th of the usual cells or less would take its device no longer than the host.
SPREAD, WIDER, LEAST_TILE = (12, 2), 12, 64


def path_bytes(tuning: TracebackTuning, m: int, n: int) -> int:
    """Bytes that the traceback of an m x n matrix may take."""
    return tuning.path_bytes + tuning.side_bytes * (m + n)


def grid_places(
    tuning: TracebackTuning, length: int, quantum: int, most: int | None = None, least: int = 1
) -> list[int]:
    """The cuts of a side of this length, from 0 to ``length``: at most ``most`` pieces (None: those
    of tiles) of at least ``tuning.least_side`` and ``least``, multiples of ``quantum``."""
    most = min(PIECES, tuning.pieces) if most is None else most
    pieces = max(1, min(most, length // max(tuning.least_side, least)))
    return cuts(length, -(-length // pieces), quantum)


def most_pieces(tuning: TracebackTuning, m: int, n: int, compressed: float | None = None) -> int:
    """Pieces per side of the largest grid that fits the path's memory.  A grid of k x k pieces
    keeps (k - 1) (m + n) cells of 8 bytes.  ``compressed``: bytes of a compressed cell; None: the
    grid is not compressed.  Two more lines take memory before all rows are compressed, then all
    columns, and meanwhile both copies exist."""
    memory = path_bytes(tuning, m, n)
    lines = tuning.grid_share * memory / ((compressed or 8) * (m + n))
    if compressed is not None:
        most, both = tuning.compressing_share * memory, 8 + compressed
        lines = min(lines, (most - 2 * 8 * n) / (8 * m + both * n))
        lines = min(lines, most / (both * m + compressed * n))
    return max(2, min(tuning.pieces, 1 + int(lines)))


def special_lines(
    plan: Plan,
    m: int,
    n: int,
    shape: tuple[int, int],
    fits: Callable[[int], bool] | None = None,
    tuning: TracebackTuning | None = None,
) -> tuple[list[int], list[int], bool]:
    """The special rows and columns of an m x n matrix in tiles of this ``shape``, from 0 to m and
    to n, and whether they are compressed: only in one tile, and if there can be more of them then.
    Rows end strips.  ``fits(lines)``: can so many lines each way be compressed (None: no)?"""
    tuning = tuning or plan.tuning.traceback
    pieces, compresses = most_pieces(tuning, m, n), False
    if fits is not None and shape == (m, n):
        more = most_pieces(tuning, m, n, COMPRESSED_CELL_BYTES)
        if more > pieces and fits(more - 1):
            pieces, compresses = more, True
    quantum, down, across = strip_rows(plan, *shape), pieces, pieces
    tall = plan.T * max(plan.lane_set.tall_alphas, default=0)
    if m >= tall * pieces > 0 and not plan.alpha_fixed:
        # the highest strips take the least time, and special rows take less than columns
        quantum = lcm(quantum, tall)
        more = -(-m // max(quantum, 2 * m // (3 * pieces) // quantum * quantum))
        if 8 * (more * n + pieces * m) <= tuning.grid_share * path_bytes(tuning, m, n):
            down, across = more, max(2, 3 * pieces // 4)
    rows = grid_places(tuning, m, quantum, down)
    return rows, grid_places(tuning, n, COLUMN_QUANTUM, across), compresses


def compressible(scoring: Scoring) -> bool:
    """Do compressed groups hold all scores of a sweep?  In k steps along a row or a column H rises
    by at most k (highest + extend) + open, and falls by less (`Bounds.fits16`).  So a group is raw
    only if it has unreachable or pruned cells."""
    rise = (GROUP_CELLS - 1) * (max(0, scoring.highest) + scoring.gap_extend) + scoring.gap_open
    return rise <= MOST_RISE and scoring.gap_open <= MOST_GAP


def finer_grid(plan: Plan, m: int, n: int) -> tuple[tuple[int, int], list[int], list[int]]:
    """The grid inside a grid cell of m x n cells: the tiles of its sweep, and its rows and columns.
    Pieces have at least half the side of the largest tile with moves: a step of the path takes no
    longer in large tiles than in small ones."""
    tuning = plan.tuning
    most, least = most_pieces(tuning.traceback, m, n), isqrt(plan.traceback_tile_cells) // 2
    shape = tile_shape(m, n, m * n, longest=tuning.sweep.longest_side)
    rows = grid_places(tuning.traceback, m, strip_rows(plan, *shape), most, least)
    columns = grid_places(tuning.traceback, n, 1, most, least)
    # at least two pieces a side, however small the caller wants the tiles
    if len(rows) == 2 and len(columns) == 2:
        rows, columns = cuts(m, -(-m // 2), 1), cuts(n, -(-n // 2), 1)
    return shape, rows, columns


def strip_rows(plan: Plan, rows: int, columns: int) -> int:
    """Rows of whole strips of a tile of this size.  Special rows at multiples of it cost nothing,
    whether narrow or 32-bit lanes compute the tile."""
    fits = plan.for_size(rows, columns) if plan.captures_inside else None
    if fits is None or fits.alpha_fixed:
        return plan.strip_rows
    wide = fits.without_narrow()
    heights = range(-(-wide.alpha // 2), wide.alpha + 1)  # of lanes that may compute it, too
    return min(lcm(fits.strip_rows, wide.T * alpha) for alpha in heights)


def spread(
    plan: Plan, m: int, n: int, devices: int, most: tuple[int, int] | None = None
) -> tuple[int, int] | None:
    """Rows and columns of the tiles of m x n cells that so many devices compute at once, at most
    ``most`` (None: those of the plan): wide, as a strip takes its time beside that of its columns,
    and of whole strips of any height if there are enough.  None: one device is sooner done."""
    few, quantum = devices * SPREAD[1], plan.tall_rows
    many = min(devices * SPREAD[0], m * n * LEAST_TILE // (plan.tile_cells * few))
    if many < devices:
        return None
    down, across = few, many
    if n <= WIDER * m:
        down = min(many, max(few, m // quantum))
        across = max(few, -(-devices * many // down))
    rows = -(-m // down)
    if rows > quantum:
        rows = round(rows / quantum) * quantum
    most = most or plan.tile_shape(m, n)
    rows, columns = min(most[0], rows), min(most[1], -(-n // across))
    in_turn = -(-(-(-m // rows) * -(-n // columns)) // devices) + devices - 1
    sooner = in_turn * plan.least_cost(rows, columns) < plan.least_cost(m, n)
    return (rows, columns) if sooner else None


def lines_fit(plan: Plan, m: int, n: int, rows: int, columns: int, device: DeviceFacts) -> bool:
    """Do so many special lines of an m x n tile fit half of the memory, and one allocation?"""
    across = bus_bytes(n, plan.T, 2 + rows)
    down = 8 * (m + plan.strip_rows) * columns
    return max(across, down) <= device.largest and across + down <= device.memory // 2


def compresses(
    plan: Plan, scoring: Scoring, device: DeviceFacts, m: int, n: int, lines: int
) -> bool:
    """Does a device hold and compress so many special rows and columns of an m x n tile?"""
    able = device.speculative and plan.captures_inside and compressible(scoring)
    return able and lines_fit(plan, m, n, lines, lines, device)


def batch_plans(plan: Plan) -> tuple[Plan, Plan]:
    """The plans of tile batches, without and with stored moves."""
    most = plan.alpha if plan.alpha_fixed else BATCH_ALPHA
    moves = replace(plan.without_narrow(), chunk=min(MOVES_CHUNK, plan.chunk))
    return replace(plan, alpha=min(most, plan.alpha)), replace(moves, alpha=min(most, moves.alpha))


def group_bytes(plan: Plan, groups: int) -> tuple[int, int]:
    """Bytes of the lanes of so many groups between two blocks, and of their portions of the bus."""
    lanes, narrow = plan.lane_set, plan.lane_set.narrow is not None
    kinds = {False, bool(lanes.striped_alphas)}
    asked = plan.T, plan.alpha, groups, narrow, narrow
    return max(state_bytes(*asked, kind) for kind in kinds), 8 * groups * plan.chunk


def kept_bytes(rows: int, columns: int, steps: tuple[int, int], T: int) -> int:
    """Bytes of a tile's edges with its special rows and columns, ``steps`` apart."""
    lines = bus_bytes(columns, T, LINES + rows // steps[0])
    return lines + 8 * (rows * (1 + columns // steps[1]) + 64)


def level_steps(side: int, quantum: int, tuning: SpeculationTuning) -> list[tuple[int, int]]:
    """(rows, columns) between the special lines of each level, from grid cells of ``side`` on, down
    to tiles with moves.  Rows are a multiple of ``quantum``."""
    found, least, cells = [], tuning.side, tuning.first_cells
    while side > least + least // 2:
        side, cells = -(-side // cells), tuning.cells
        if side < 2 * least:
            side = least
        found.append((-(-side // quantum) * quantum, side))
    return found


def level_shares(tuning: Tuning, m: int, n: int, held: int, levels: int, largest: int) -> list[int]:
    """Bytes for the tiles of each of the ``levels`` without moves, and last for those with moves.
    ``held``: bytes of the path's memory that are in use already.  ``largest``: of an allocation."""
    most, share = max(1, path_bytes(tuning.traceback, m, n)), tuning.speculation_memory
    free = max(0, most - held)
    # less than ``most`` where the grid has more than its share
    scale = min(most, free / (1 - tuning.traceback.grid_share))
    inner = [share.inner * share.next**k for k in range(max(0, levels - 1))]
    first = min(share.first * most, share.left * (free - (sum(inner) + share.moves) * scale))
    found = [first, *(part * scale for part in [*inner, share.moves])]
    return [int(min(size, largest)) for size in found]
