"""One comparison: the best end, and the path to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..planning.plan import Plan
from ..results.alignment import Stats
from ..tiles.contract import EdgeCompression, Engine
from ..tiles.slabs import SweepResult
from ..tiles.special_lines import RestartPoints, SweptGrid
from ..tiles.sweep import Progress
from ..tiles.tile import Hit
from ..tiles.tile_map import TileMap
from .band_doubling import Banded, assumed_score, find_end_banded
from .find_end import find_end
from .problem import Problem
from .traceback import grid_places, most_pieces, trace_back, traceback_cells
from .traceback_state import Path


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
    read_meanwhile: Callable[[Hit, Path, Callable[[], bool]], None] = lambda end, path, busy: None,
) -> tuple[Hit, Path | None, TileMap]:
    """The best end, and the path to it where wanted and where it beats the score ``beat``.

    A score alone keeps no special rows.  ``max_cost``: as for `align`, in bands; None: the whole
    matrix.  What it costs is added to ``stats``.  What ``progress`` is told may fall back from a
    band to the whole matrix: callers see to that (`rising`).  ``read_meanwhile`` is called with the
    end, the path so far and what says whether the device is busy while that computes what is walked
    next; not in every walk.
    """
    m, n = len(problem.query), len(problem.target)
    total, swept, found = m * n, SweepResult(), Banded()

    def tell(done: int) -> None:
        if progress is not None:
            progress(done, total)

    if max_cost is not None:
        assumed = assumed_score(problem, max_cost)
        found = _in_bands(engine, plan, problem, assumed, want_path, prune, progress)
        for swept in found.sweeps:
            _count(stats, swept)
    end, compression = found.end, None
    restarts: RestartPoints | None = found.grid
    if end is None:
        edges, shape = problem.edges, plan.tile_shape(m, n)
        if want_path:
            grid, compression = _grid(engine, plan, problem, shape)
            restarts = grid
            edges, total = grid.saving(), total + traceback_cells(m, n, grid)
        tell(0)
        end, swept = find_end(
            engine,
            problem,
            edges=edges,
            shape=shape,
            prune=prune,
            beat=beat,
            least=found.least,
            progress=lambda done, _: tell(done),
        )
        _count(stats, swept)
    stats.pruned += swept.pruned_cells
    tiles = TileMap.of((m, n), swept.tops, swept.pruned, swept.thinned)
    if restarts is None or (beat is not None and end.score <= beat):
        tell(total)
        return end, None, tiles
    if compression is not None and isinstance(restarts, SweptGrid):
        restarts = restarts.compressed(compression)
    path = _path(engine, plan, problem, restarts, end, (m * n, total, tell), read_meanwhile)
    tell(total)
    stats.add_cells(path.cells)
    stats.launches += path.launches
    return end, path, tiles


def _in_bands(
    engine: Engine,
    plan: Plan,
    problem: Problem,
    assumed: int | None,
    save: bool,
    prunes: bool,
    progress: Progress | None,
) -> Banded:
    """What `find_end_banded` finds, by the plan's model of cost."""
    return find_end_banded(
        engine,
        problem,
        plan,
        plan.cost,
        assumed=assumed,
        save=save,
        prunes=prunes,
        progress=progress,
    )


def _grid(
    engine: Engine, plan: Plan, problem: Problem, shape: tuple[int, int]
) -> tuple[SweptGrid, EdgeCompression | None]:
    """The special rows and columns that a sweep in tiles of this shape is to keep, and what
    compresses them afterwards, where that lets them be closer."""
    m, n = len(problem.query), len(problem.target)
    tuning, compression = plan.tuning.traceback, engine.edge_compression
    most = most_pieces(tuning, m, n)
    if compression is not None:
        more = most_pieces(tuning, m, n, compression.cell_bytes)
        able = more > most and shape == (m, n)
        if able and compression.fits(problem.scoring, m, n, more - 1):
            most = more
        else:
            compression = None
    quantum = engine.strip_rows(*shape)
    rows, columns = grid_places(tuning, m, quantum, most), grid_places(tuning, n, 1, most)
    return SweptGrid.over(problem.edges, rows, columns), compression


def _path(
    engine: Engine,
    plan: Plan,
    problem: Problem,
    restarts: RestartPoints,
    end: Hit,
    told: tuple[int, int, Callable[[int], None]],
    read_meanwhile: Callable[[Hit, Path, Callable[[], bool]], None],
) -> Path:
    """The path to ``end``.  ``told``: what is done, what there is in all, and who is told of it."""
    done, total, tell = told

    def between(path: Path) -> None:
        tell(done + path.share(end, total - done))

    return trace_back(
        engine,
        problem,
        restarts,
        end,
        plan.traceback_tile_cells,
        between,
        meanwhile=lambda path, busy: read_meanwhile(end, path, busy),
    )


def _count(stats: Stats, swept: SweepResult) -> None:
    stats.add_cells(swept.cells)
    stats.launches += swept.launches
