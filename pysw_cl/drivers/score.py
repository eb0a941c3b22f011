"""The best score and where it ends: one sweep."""

from __future__ import annotations

from ..engines.base import Engine
from ..engines.sweep import Progress, SweepResult, sweep
from ..tile import NEG, Bound, Corridor, Edges, Hit, Limits
from .problem import Problem


def find_end(
    engine: Engine,
    problem: Problem,
    *,
    edges: Edges | None = None,
    shape: tuple[int, int] | None = None,
    prune: bool = True,
    corridor: Corridor | None = None,
    progress: Progress | None = None,
) -> tuple[Hit, SweepResult]:
    """The best end, first in row-major order among equals (a local comparison without a positive
    score ends at (0, 0) with 0), and the sweep that found it.  With a ``corridor`` the best of what
    its tiles reach."""
    m, n = len(problem.query), len(problem.target)
    local = problem.mode == "local"
    # an empty local alignment is known from the start; it sorts behind every positive score
    bound = Bound(0, m, n, problem.scoring.highest) if local and prune else None
    result = sweep(
        engine,
        problem.query,
        problem.target,
        problem.scoring,
        problem.floor,
        edges or problem.edges,
        problem.want,
        Limits(bound=bound, corridor=corridor),
        shape=shape,
        progress=progress,
    )
    candidates = list(result.hits)
    if corridor is not None:  # where the end itself is not reached
        candidates.append(Hit(NEG, m, n))
    borders = problem.edges
    if local:
        candidates.append(Hit(0, 0, 0))
    if problem.want.where in ("last_row", "border"):
        candidates.append(Hit(int(borders.left.read(m - 1, m).h[0]), m, 0))
    if problem.want.where in ("last_column", "border"):
        candidates.append(Hit(int(borders.top.read(n - 1, n).h[0]), 0, n))
    return min(candidates), result
