"""The best score and where it ends: one sweep."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..scoring.precision import UNREACHABLE
from ..tiles.contract import Engine
from ..tiles.edges import Edges
from ..tiles.slabs import SweepResult
from ..tiles.sweep import Progress, sweep
from ..tiles.tile import Bound, Corridor, Hit, Limits, Want
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
    """The best end and the sweep that found it.

    Of equal ends it is the first in row-major order.  A local comparison without a positive score
    ends at (0, 0) with score 0.  With a ``corridor`` it is the best end in the corridor's tiles.
    ``prune``: see `aim`.  ``progress``: as for :func:`sweep`.
    """
    want, limits = aim(problem, prune)
    result = sweep(
        engine,
        problem.query,
        problem.target,
        problem.scoring,
        problem.floor,
        edges or problem.edges,
        want,
        limits if corridor is None else replace(limits, corridor=corridor),
        shape=shape,
        progress=progress,
    )
    hits = list(result.hits)
    if corridor is not None:  # the sweep may end before the last row
        hits.append(Hit(UNREACHABLE, *problem.shape))
    return best_end(problem, hits), result


def aim(
    problem: Problem, prune: bool, beat: int | None = None, least: int | None = None
) -> tuple[Want, Limits]:
    """Where a sweep looks for the best end, and what it may skip.

    ``beat``: only an end above this score matters.  A local comparison without such an end may give
    any end.  ``least``: a score that some path of a global comparison has.  With ``prune``, cells
    that cannot reach either are skipped.
    """
    (m, n), local = problem.shape, problem.mode == "local"
    # the empty local alignment is known; it sorts behind every positive score
    bound, want = Bound(0, m, n, problem.scoring.highest), problem.want
    if local and beat is not None and beat > 0:  # as if found before this matrix's first cell
        bound, want = replace(bound, score=beat, row=0, column=0), replace(want, threshold=beat + 1)
    if prune and not local and least is not None:
        bound = replace(bound, score=least, row=m + 1, column=n + 1)
        return replace(want, threshold=least), Limits(bound=bound)
    return want, Limits(bound=bound if prune and local else None)


def best_end(problem: Problem, hits: Iterable[Hit]) -> Hit:
    """The best of ``hits`` and of the ends that are known without a sweep: the empty local
    alignment, and the border cells if the best end may be there."""
    m, n = problem.shape
    candidates, borders = list(hits), problem.edges
    if problem.mode == "local":
        candidates.append(Hit(0, 0, 0))
    if problem.want.where in ("last_row", "border"):
        candidates.append(Hit(int(borders.left.read(m - 1, m).h[0]), m, 0))
    if problem.want.where in ("last_column", "border"):
        candidates.append(Hit(int(borders.top.read(n - 1, n).h[0]), 0, n))
    return min(candidates)
