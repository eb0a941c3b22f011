"""Align one pair: find the best end, then the path to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import nan
from typing import Any, NamedTuple

from ..planning.path_grid import grid_pieces, special_lines
from ..planning.plan import Plan
from ..results.alignment import Stats
from ..tiles.contract import EdgeCompression, Engine
from ..tiles.edges import EdgeArray
from ..tiles.slabs import SweepResult
from ..tiles.special_lines import RestartPoints, SweptGrid
from ..tiles.tile import Area, Hit
from ..tiles.tile_map import TileMap
from .band_doubling import assumed_score, find_end_banded
from .find_end import find_end
from .held import held_matrix, held_path
from .problem import Problem
from .progress import PairProgress
from .second_best import second_in_tiles, second_on_borders
from .traceback import trace_back
from .traceback_state import Path

#: If the second best end is wanted, the sides of the grid may be so many times shorter, and the
#: matrix is cut into tiles of about so many pieces a side: few of them are searched again.
SMALLER, PIECES = 4, 6


def search(
    engine: Engine,
    plan: Plan,
    problem: Problem,
    want_path: bool,
    *,
    prune: bool,
    max_cost: Any,
    beat: int | None,
    progress: PairProgress,
    stats: Stats,
    read_meanwhile: Callable[[Hit, Path, Callable[[], bool]], None] = lambda end, path, busy: None,
    second_best: bool = False,
) -> tuple[Hit, Path | None, TileMap, int | None]:
    """The best end, the path to it, the map of the tiles, and the score of the second best end.

    There is a path if ``want_path`` is set and the score is above ``beat``.  Without one, the sweep
    keeps no special rows.  ``max_cost``: as for `align`, for diagonal bands; None sweeps the whole
    matrix.  Cells and launches are added to ``stats``.

    ``progress`` is told of each tile.  ``read_meanwhile(end, path, busy)`` may be called with the
    path so far while the device computes the next tiles of the traceback; ``busy()`` says whether
    it still does.

    ``second_best``: all cells are computed, and of a path that was found the second best end
    (:mod:`.second_best`) is looked for; else its score is None.
    """
    this = _Search(engine, plan, problem, want_path, prune, progress, stats, second_best)
    if second_best:
        this.prune, max_cost = False, None
    elif max_cost in ("auto", None):  # a number asks for bands
        held = this.held(beat)
        if held is not None:
            return *held, None
    swept, least = None, None
    if max_cost is not None:
        swept, least = this.sweep_bands(max_cost)
    if swept is None:
        swept = this.sweep_matrix(None if second_best else beat, least)
    end, result = swept.end, swept.result
    stats.pruned += result.pruned_cells
    shape = len(problem.query), len(problem.target)
    tiles = TileMap.of(shape, result.tops, result.pruned, result.thinned)
    if swept.restarts is None or (beat is not None and end.score <= beat):
        progress.finished()
        return end, None, tiles, None
    restarts, second = swept.restarts, None
    if swept.compression is not None and isinstance(restarts, SweptGrid):
        restarts = restarts.compressed(swept.compression)
    path = this.trace(restarts, end, read_meanwhile)
    if second_best:
        inside = Area(path.row, end.row, path.column, end.column)
        if swept.ends is not None:
            second = second_on_borders(problem, swept.ends, inside, end)
        else:
            second = second_in_tiles(engine, problem, restarts, result.bests, inside, stats)
    return end, path, tiles, second


class _Swept(NamedTuple):
    """The result of the forward sweep."""

    end: Hit
    result: SweepResult
    #: Where the traceback can restart; None: no path is wanted.
    restarts: RestartPoints | None
    #: What compresses the grid before the traceback; None: nothing does.
    compression: EdgeCompression | None = None
    #: The last row and column of a global comparison whose second best end is wanted.
    ends: list[EdgeArray] | None = None


@dataclass
class _Search:
    """A comparison in progress: its sweeps, then its traceback."""

    engine: Engine
    plan: Plan
    problem: Problem
    want_path: bool
    prune: bool
    progress: PairProgress
    stats: Stats
    second_best: bool = False

    def held(self, beat: int | None) -> tuple[Hit, Path | None, TileMap] | None:
        """The whole search of a small matrix, in one launch; None for other matrices."""
        matrix = held_matrix(self.engine, self.problem, int(self.want_path))
        if matrix is None:
            return None
        self.progress.sweep()
        with matrix:
            found = matrix.next(self.want_path)
        self.stats.add_cells(found.cells)
        self.stats.launches += found.launches
        self.progress.finished()
        end, path = found.end, None
        if beat is None or end.score > beat:
            path = held_path(found, self.problem)
        m, n = len(self.problem.query), len(self.problem.target)
        return end, path, TileMap.of_one((m, n), end.score if self.problem.mode == "local" else nan)

    def sweep_bands(self, max_cost: Any) -> tuple[_Swept | None, int | None]:
        """Sweep diagonal bands.  Returns the sweep that proves the best score (None: no band does)
        and the best score that was found (None: none)."""
        found = find_end_banded(
            self.engine,
            self.problem,
            self.plan,
            self.plan.cost,
            assumed=assumed_score(self.problem, max_cost),
            save=self.want_path,
            prunes=self.prune,
            progress=self.progress,
        )
        for result in found.sweeps:
            self._count(result)
        if found.end is None:
            return None, found.least
        return _Swept(found.end, found.sweeps[-1], found.grid), found.least

    def sweep_matrix(self, beat: int | None, least: int | None) -> _Swept:
        """Sweep the whole matrix; ``beat`` and ``least`` are those of :func:`find_end`."""
        m, n = len(self.problem.query), len(self.problem.target)
        edges, shape = self.problem.edges, self.plan.tile_shape(m, n)
        grid: SweptGrid | None = None
        compression: EdgeCompression | None = None
        ends = None
        if self.want_path:
            grid, compression = self._grid(shape)
            edges = grid.saving()
            if self.second_best and self.problem.mode == "local":
                shape = grid.tile_shape(shape, PIECES)
            elif self.second_best:
                ends = [EdgeArray(n), EdgeArray(m)]
                edges = replace(edges, bottom=ends[0], right=ends[1])
        end, result = find_end(
            self.engine,
            self.problem,
            edges=edges,
            shape=shape,
            prune=self.prune,
            beat=beat,
            least=least,
            each_tile=self.second_best and ends is None,
            progress=self.progress.sweep(),
        )
        self._count(result)
        return _Swept(end, result, grid, compression, ends)

    def _grid(self, shape: tuple[int, int]) -> tuple[SweptGrid, EdgeCompression | None]:
        """The grid of special rows and columns for tiles of this shape, and what compresses it.  It
        is compressed only if it can have more lines then."""
        m, n = len(self.problem.query), len(self.problem.target)
        tuning, compression = self.plan.tuning.traceback, self.engine.edge_compression
        if self.second_best:  # tiles that have to be searched again are small, then
            tuning = replace(tuning, least_side=max(1, tuning.least_side // SMALLER))

        def fits(lines: int) -> bool:
            return compression is not None and compression.fits(self.problem.scoring, m, n, lines)

        cell_bytes = None if compression is None else compression.cell_bytes
        pieces, compresses = grid_pieces(tuning, m, n, cell_bytes, shape == (m, n), fits)
        quantum = self.engine.strip_rows(*shape)
        rows, columns = special_lines(tuning, (m, n), quantum, pieces)
        grid = SweptGrid.over(self.problem.edges, rows, columns)
        return grid, compression if compresses else None

    def trace(
        self,
        restarts: RestartPoints,
        end: Hit,
        read_meanwhile: Callable[[Hit, Path, Callable[[], bool]], None],
    ) -> Path:
        """The canonical path to ``end``."""
        path = trace_back(
            self.engine,
            self.problem,
            restarts,
            end,
            self.plan.traceback_tile_cells,
            self.progress.trace(end),
            meanwhile=lambda path, busy: read_meanwhile(end, path, busy),
        )
        self.progress.finished()
        self.stats.add_cells(path.cells)
        self.stats.launches += path.launches
        return path

    def _count(self, result: SweepResult) -> None:
        self.stats.add_cells(result.cells)
        self.stats.launches += result.launches
