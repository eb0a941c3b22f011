"""One comparison: the best end, and the path to it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..engines.base import Engine
from ..engines.packed_edge import PACKED_BYTES
from ..engines.sweep import Progress, SavedGrid, SweepResult, tile_shape
from ..plan import Plan
from ..results import Stats
from ..tile import Hit
from ..tile_map import TileMap
from .banded import assumed_score, find_end_banded, rising
from .path import Path
from .problem import Problem
from .score import find_end
from .traceback import Restarts, grid_places, most_pieces, walk_back, walked_cells


def search(
    engine: Engine,
    plan: Plan,
    problem: Problem,
    want_path: bool,
    *,
    prune: bool,
    max_cost: Any,
    beat: int | None,
    progress: Progress | None,
    stats: Stats,
    look: Callable[[Hit, Path], None] = lambda end, path: None,
) -> tuple[Hit, Path | None, TileMap]:
    """The best end, and the path to it where wanted and where it beats the score ``beat``.

    A score alone keeps no special rows.  ``max_cost``: as for `align`, in bands; None: the whole
    matrix.  What it costs is added to ``stats``.  ``look`` is called with the end and the path so
    far while the device computes what is walked next; not in every walk.
    """
    m, n = len(problem.query), len(problem.target)
    total = m * n
    if max_cost is not None and progress is not None:
        progress = rising(progress)

    def tell(done: int) -> None:
        if progress is not None:
            progress(done, total)

    end: Hit | None = None
    restarts: Restarts | None = None
    swept, least = SweepResult(), None
    if max_cost is not None:
        banded = find_end_banded(
            engine,
            problem,
            plan,
            assumed=assumed_score(problem, max_cost),
            save=want_path,
            prunes=prune,
            progress=progress,
        )
        end, restarts, least = banded.end, banded.grid, banded.least
        for swept in banded.sweeps:
            _count(stats, swept)
    if end is None:
        edges, shape = problem.edges, tile_shape(m, n, plan.tile_cells, plan.busy_rows)
        grid: SavedGrid | None = None
        chained = engine.chained_rows(m, n) if want_path and shape[1] == n else None
        if want_path:
            grid = _grid(engine, problem, shape, chained and chained[0])
            edges, total = grid.saving(), total + walked_cells(m, n, grid)
        tell(0)
        end, swept = find_end(
            engine,
            problem,
            edges=edges,
            shape=shape,
            prune=prune,
            beat=beat,
            least=least,
            progress=lambda done, _: tell(done),
            follow=chained is not None,
        )
        _count(stats, swept)
        restarts = grid and grid.sound()
    stats.pruned += swept.pruned_cells
    tiles = TileMap.of((m, n), swept.tops, swept.pruned, swept.thinned)
    if restarts is None or (beat is not None and end.score <= beat):
        tell(total)
        return end, None, tiles
    last = end

    def between(path: Path) -> None:
        tell(m * n + path.share(last, total - m * n))

    path = walk_back(
        engine,
        problem,
        restarts,
        end,
        plan.walk_cells,
        between,
        meanwhile=lambda path: look(last, path),
    )
    tell(total)
    stats.add_cells(path.cells)
    stats.launches += path.launches
    return end, path, tiles


def _grid(engine: Engine, problem: Problem, shape: tuple[int, int], apart: int | None) -> SavedGrid:
    """Special rows and columns for a path, in tiles of this ``shape``; ``apart``: how far special
    rows are where tiles end at each and follow each other."""
    m, n, lost = len(problem.query), len(problem.target), problem.floor is None
    if apart is None:
        most = most_pieces(m, n)
        rows = grid_places(m, engine.strip_rows(*shape), most)
        return SavedGrid.over(problem.edges, rows, grid_places(n, 1, most))
    most = most_pieces(m, n, PACKED_BYTES)
    apart *= -(-m // (most * apart))
    columns = grid_places(n, 1, most)
    make = partial(engine.packed_edges, lost=lost)
    return SavedGrid.over(problem.edges, [*range(0, m, apart), m], columns, make)


def _count(stats: Stats, swept: SweepResult) -> None:
    stats.add_cells(swept.cells)
    stats.launches += swept.launches
