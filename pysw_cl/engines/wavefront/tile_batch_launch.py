"""One launch of the wavefront kernel over many tiles (cl/wavefront/wavefront.cl, MULTI_TILE)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel
from ...planning.geometry import Grid
from ...planning.plan import LANE_SETS, Plan
from ...scoring.precision import Bounds
from ...scoring.scoring import Scoring
from ...tiles.tile import NEG
from .kernel import kernel_spec, may_slope, score_arguments
from .tile import RECORD_WORDS, new_progress, new_records
from .tile_batch_layout import FIRST, KEPT, ROWS, TOP_LINE, TileSet


@dataclass(frozen=True)
class Tally:
    """What the groups of a launch count, and its event."""

    event: Any
    buffer: Any
    walkers: int

    def read(self, buffers: Buffers) -> NDArray[np.int32]:
        """A row for each of them; waits for the queue of ``buffers``."""
        records = buffers.read(self.buffer, RECORD_WORDS * self.walkers)
        return records.reshape(-1, RECORD_WORDS)


def _warps(runtime: Runtime) -> int:
    """Warps of a group: few, because few strips of a tile are at work."""
    return int(runtime.advice["warps"]) or 1


def walkers_of(runtime: Runtime, plan: Plan, done: TileSet) -> int:
    """Groups, or warps of them, that walk strips of these tiles at once."""
    warps = _warps(runtime)
    most = -(-int(done.said[:, ROWS].max()) // (plan.T * plan.alpha))  # strips of a tile
    tickets = -(-most // warps) * len(done.parts)
    return warps * max(1, min(plan.B // warps, tickets))


def launch_tiles(
    runtime: Runtime,
    plan: Plan,
    done: TileSet,
    dirs: Any,
    letters: tuple[Any, Any, Any],
    how: tuple[Scoring, str, bool],
    room: tuple[Any, Any],
    buffers: Buffers,
) -> Tally:
    """Enqueue the computation of a set of tiles.

    ``dirs``: the buffer for their moves, or None.  ``letters``: buffers of the query and the
    target, and of the target as narrow lanes read it.  ``how``: the scoring, its score file and
    whether there is a floor.  ``room``: buffers for lanes between two blocks and for stages.
    """
    (scoring, score, local), moves = how, dirs is not None
    lanes, T, alpha = LANE_SETS[plan.lanes], plan.T, plan.alpha
    grid = Grid(int(done.said[:, ROWS].max()), 1, 1, T, alpha, "ticketed")  # the highest tile's
    strip, most = grid.strip_rows, grid.strips
    strips = done.said[:, ROWS] // strip
    done.said[:, FIRST] = np.cumsum(strips) - strips
    count = len(strips)
    walkers, warps = walkers_of(runtime, plan, done), _warps(runtime)
    sloped = lanes.narrow == "packed" and may_slope(plan, scoring)
    defines = {
        "T": T,
        "R": alpha,
        "LOCAL": int(local),
        "BEST": 0,
        "STORE_MOVES": int(moves),
        "FORBIDDEN_PAIRS": 0,
        "TICKETED": 1,
        "UNROLL": lanes.steps,
        "MULTI_TILE": 1,
        "WARPS": warps,
        "PRUNE": int(not moves),
    }
    if lanes.narrow == "packed":
        defines |= {"CHUNK": plan.chunk, "SKEWED_SCORES": int(sloped)}
    elif lanes.wide == "warp32":
        defines["CHUNK"] = plan.chunk
    lines = np.arange(most + 1, dtype=np.int32) & 1
    special = np.arange(0, strip * (most + 1), done.steps[0]) // strip
    lines[special] = TOP_LINE + np.arange(len(special))
    columns = np.arange(1, 1 + int(done.said[:, KEPT].max()), dtype=np.int32) * done.steps[1]
    known = np.array([NEG if p.known is None else p.known for p in done.parts], np.int32)
    bounds = Bounds.of(scoring)
    widths = tuple(width for width in lanes.widths if width != 8)  # that needs the best score
    spec = kernel_spec("ticketed", plan.lanes, score, widths, many=True)
    kernel = BoundKernel(runtime, spec, defines)
    _, target_pad, scores = score_arguments(scoring, score, sloped, buffers)
    tally = buffers.of(new_records(walkers))
    progress = buffers.of(new_progress(int(strips.sum()), T))
    none = buffers.empty(4)
    kernel.bind(
        query=letters[0],
        target=letters[1],
        letters=letters[2],
        bus=done.kept,
        **dict.fromkeys(("left_h", "left_x", "right_h", "right_x"), none),
        **dict.fromkeys(("crossed", "argmax_scratch", "hits"), none),
        profiles=buffers.empty(16 * T * walkers * scores.get("wide", 0)),
        **dict.fromkeys(("m", "n", "stride", "right", "capacity", "column_count"), 0),
        strips=most,
        outlet_lane=T - 1,
        outlet_row=alpha - 1,
        query_pad=0,
        target_pad=target_pad,
        gap_open=scoring.gap_open,
        gap_extend=scoring.gap_extend,
        chunk=plan.chunk,
        highest=bounds.highest,
        depth=bounds.depth,
        limit8=bounds.limit8,
        rows_after=0,
        columns_after=0,
        state=room[0],
        stages=room[1],
        record=tally,
        shared_best=buffers.of(known),
        lines=buffers.of(lines),
        columns=buffers.of(columns if len(columns) else np.zeros(1, np.int32)),
        ticket=buffers.of(np.zeros(1, np.int32)),
        progress=progress,
        progress_above=progress,
        progress_above_at=int(strips.sum()),
        moves=dirs if moves else none,
        tiles=buffers.of(done.said),
        tile_count=count,
        **scores,
    )
    buffers.send()
    event = kernel.launch(walkers // warps, warps * lanes.group(T), at_once=True)
    return Tally(event, tally, walkers)
