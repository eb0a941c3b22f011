"""What a path needs is built while the matrix is swept (`pysw_cl.opencl.apart`)."""

from __future__ import annotations

from ...opencl.device import Runtime
from ...opencl.program import build_apart
from ...planning.choose import choose
from ...planning.execution import InStrips
from ...planning.geometry import TileShape
from ...planning.path_grid import batch_plans, level_steps
from ...planning.plan import Plan
from ...planning.program import Given, Seen, batch_program
from ...tiles.graph import Rectangle
from .device_traceback import TRACE, traceback_defines
from .kernel import spec_of
from .tile import of_four
from .tile_batch import EDGE_GROUPS, TAKE_EDGES
from .tile_batch_layout import FIND_ENTRIES, FINDERS

#: Tiles that the path meets the borders of may be so many times as high as wide.
HIGH = 8


def build_path(runtime: Runtime, plan: Plan, whole: Rectangle, steps: tuple[int, int]) -> None:
    """Let other processes build what the path through a matrix with special lines so far apart
    probably needs, if this thread has not expected one like it before."""
    local, file = whole.floor is not None, whole.scoring.source.file
    expected: set[tuple[object, ...]] = runtime.kept("expected", set)
    like = file, local, max(steps).bit_length(), min(whole.shape).bit_length()
    if like in expected or whole.forbidden is not None:
        return
    expected.add(like)
    four = of_four(whole.target.read(0, len(whole.target)))
    given = Given(plan, whole.scoring, local, runtime.facts, Seen(four))
    score, tuning = given.narrow(len(whole.target)), plan.tuning.speculation
    long = min(whole.shape) >= tuning.least_sides * tuning.side
    if score is not None and long and level_steps(max(steps), 1, tuning):
        plans = zip(batch_plans(plan.for_scores(score)), (score, file), (False, True), strict=True)
        swept, stored = (batch_program(one, given, by, moves) for one, by, moves in plans)
        edges = {"EDGE_GROUPS": EDGE_GROUPS, "LOCAL": int(local)}
        build_apart(runtime, [(spec_of(swept), swept.defines)])
        alone, more = [stored], [(FIND_ENTRIES, {"FINDERS": FINDERS}), (TAKE_EDGES, edges)]
    else:
        tiles = (TileShape(steps[0], -(-steps[1] // k), moves=True) for k in (1, HIGH))
        found = (choose(tile, given) for tile in tiles)
        alone, more = [one.program for one in found if isinstance(one, InStrips)], []
    for one in alone:
        trace = TRACE, traceback_defines(runtime, one.T, one.plan.alpha)
        build_apart(runtime, [*more, (spec_of(one), one.defines), trace])
