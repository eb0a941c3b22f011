"""The device memory of a path whose tiles are computed before they are known to be needed."""

from __future__ import annotations

from dataclasses import replace
from math import lcm

from . import sizes
from .memory_parts import Memory
from .parameters import SpeculationMemory
from .path_grid import path_bytes
from .plan import MOVES_CHUNK, Plan
from .strip_memory import StripMemory

#: The largest alpha, of narrow lanes and of lanes that store moves, in tile batches.
ALPHA, MOVES_ALPHA = 8, 8
#: Moves of a launch over those of the tiles along a diagonal: tiles have margins, and paths cross
#: corners of others.
BESIDE = 1.35
#: Bytes of a tile's descriptors in a launch.
TILE_BYTES = 272
#: Lines of the bus of a tile of a tile batch, special rows not counted.
LINES = 3


def batch_plans(plan: Plan) -> tuple[Plan, Plan]:
    """The plans of tile batches, without and with stored moves."""
    alpha = plan.alpha if plan.alpha_fixed else min(ALPHA, plan.alpha)
    wide = plan.without_narrow()
    moves_alpha = wide.alpha if plan.alpha_fixed else min(MOVES_ALPHA, wide.alpha)
    chunk = min(MOVES_CHUNK, plan.chunk)
    return replace(plan, alpha=alpha), replace(wide, alpha=moves_alpha, chunk=chunk)


def group_bytes(plan: Plan, strip_groups: int) -> tuple[int, int]:
    """Bytes of the groups' lanes between two blocks, and of their portions of the bus."""
    lanes, T, alpha = plan.lane_set, plan.T, plan.alpha
    narrow = lanes.narrow is not None
    kinds = {False, bool(lanes.striped_alphas)}
    return (
        max(sizes.state_bytes(T, alpha, strip_groups, narrow, narrow, kind) for kind in kinds),
        sizes.stage_bytes(plan.chunk, strip_groups),
    )


def kept_bytes(rows: int, columns: int, steps: tuple[int, int], T: int) -> int:
    """Bytes of a tile's edges with its special rows and columns, ``steps`` apart."""
    lines = sizes.bus_bytes(columns, T, LINES + rows // steps[0])
    return lines + 8 * (rows * (1 + columns // steps[1]) + 64)


def level_steps(
    side: int, quantum: int, least: int, first: int, later: int
) -> list[tuple[int, int]]:
    """(rows, columns) between the special lines of each level, from grid cells of ``side`` on.

    ``quantum``: rows are a multiple of it.  ``least``: side of a tile with moves.  ``first``,
    ``later``: pieces of a side of the first level's tiles, and of the others'.
    """
    found, cells = [], first
    while side > least + least // 2:
        step, cells = max(least, -(-side // cells)), later
        if step < 2 * least:
            step = least
        found.append((-(-step // quantum) * quantum, step))
        side = step
    return found


def level_shares(
    most: int, held: int, levels: int, share: SpeculationMemory, grid_share: float, largest: int
) -> list[int]:
    """Bytes for the tiles of each level, and last for those with moves.

    ``most``: bytes of the path's memory.  ``held``: what is in use of it already.  ``levels``: how
    many there are without moves.  ``largest``: bytes of an allocation at most.
    """
    free = max(0, most - held)
    # less than ``most`` where the grid has more than its share
    scale = min(most, free / (1 - grid_share))
    inner = [share.inner * share.next**k for k in range(max(0, levels - 1))]
    rest = sum(inner) + share.moves
    first = min(share.first * most, share.left * (free - rest * scale))
    found = [first, *(part * scale for part in [*inner, share.moves])]
    return [int(min(size, largest)) for size in found]


def speculative_memory(
    engine: StripMemory, m: int, n: int, cell: tuple[int, int], kept: int
) -> Memory | None:
    """What a path through all of the matrix takes beside the grid of the sweep, whose cells are at
    most ``cell`` and take ``kept`` bytes; None where it is traced tile by tile.

    A level takes no more than its share of the path's memory, and no more than the tiles take that
    a path along the diagonal crosses.
    """
    given = engine.given
    plan, device = given.plan, given.device
    tuning, trace = plan.tuning.speculation, plan.tuning.traceback
    able = device.speculative and engine.captures and plan.lane_set.narrow is not None
    score = given.narrow(n)
    if not able or score is None:
        return None
    plan = plan.for_scores(score)
    if min(m, n) < tuning.least_sides * tuning.side:
        return None
    level_plan, moves_plan = batch_plans(plan)
    quantum = lcm(level_plan.strip_rows, moves_plan.strip_rows)
    levels = level_steps(max(cell), quantum, tuning.side, tuning.first_cells, tuning.cells)
    if not levels:
        return None
    letters = 2 * (m + quantum) + n + (n + 2 * plan.T if plan.lane_set.backwards else 0)
    level_state, moves_state = (sum(group_bytes(p, p.B)) for p in (level_plan, moves_plan))
    state = level_state + 2 * moves_state
    shares = level_shares(
        max(1, path_bytes(trace, m, n)),
        kept + letters + state,
        len(levels),
        plan.tuning.speculation_memory,
        trace.grid_share,
        device.largest,
    )
    # tiles along the diagonal of the grid, and then of each tile of a launch
    sides, edges = (m, n), []
    for k, (most, steps) in enumerate(zip(shares, levels, strict=False)):
        tile = cell if k == 0 else levels[k - 1]
        tiles = max(1.0, max(sides[0] / tile[0], sides[1] / tile[1]))
        rows, columns = min(tile[0], sides[0]), min(tile[1], sides[1])
        one = kept_bytes(rows, columns, steps, plan.T)
        count = min(tiles, max(1, most // one), tuning.most_tiles)
        edges.append(int(count * one))
        sides = int(tile[0] * count), int(tile[1] * count)
    side = tuning.side
    moves = int(sizes.moves_bytes(side, side, moves_plan.T, moves_plan.alpha))
    borders = 2 * kept_bytes(side, side, (side + 1, side), plan.T)
    share = moves / (moves + borders)
    # 4 bits for each cell of the tiles of a whole path, and what tiles exceed it by
    capacity = int(min(share * shares[-1], BESIDE * side * (m + n) / 2))
    edges.append(int(min((1 - share) * shares[-1], capacity / moves * borders)))
    launched = min(tuning.most_tiles, 2 * max(1, capacity // moves))
    strips = -(-side // moves_plan.strip_rows)
    return Memory(
        letters=letters,
        state=state,
        moves=capacity,
        speculative=sum(edges),
        scratch=launched * (TILE_BYTES + 4 * strips) + sizes.record_bytes(moves_plan.B),
        largest=max(capacity, *edges),
    )
