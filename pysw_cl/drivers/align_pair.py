"""Align one pair: find the best end, then the path to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import nan
from typing import Any, NamedTuple

from ..planning.execution import Execution, HeldWhole
from ..planning.path_grid import grid_pieces, special_lines
from ..planning.plan import Plan
from ..results.alignment import Stats
from ..results.cigar_builder import FoundPath, PathReader
from ..tiles.contract import EdgeCompression, Engine
from ..tiles.edges import EdgeArray, Edges
from ..tiles.slabs import SweepResult
from ..tiles.special_lines import RestartPoints, SweptGrid
from ..tiles.sweep import sweep
from ..tiles.tile import Area, Hit
from ..tiles.tile_map import TileMap
from .band_doubling import assumed_score, find_end_banded
from .find_end import aim, best_end
from .held import held_matrix, held_path
from .job import Job, path_of
from .options import AlignResources
from .problem import Problem
from .progress import PairProgress
from .second_best import second_in_tiles, second_on_borders
from .traceback import trace_back

#: If the second best end is wanted, the sides of the grid may be so many times shorter, and the
#: matrix is cut into tiles of about so many pieces a side: few of them are searched again.
SMALLER, PIECES = 4, 6


class Found(NamedTuple):
    """The result of a job of one strand, as `alignment_of` takes it."""

    end: Hit
    path: FoundPath | None
    plan: Plan
    stats: Stats
    tiles: TileMap | None
    second_best: int | None = None
    #: How most of it was computed; None: not by a device, or nobody knows any more.
    execution: Execution | None = None


def search(
    engine: Engine, job: Job, resources: AlignResources, progress: PairProgress, bands: bool = True
) -> Found:
    """The best end of a job of one strand, and the path to it.

    There is a path if the job's output is one and the score is above `Job.beat`.  Without one, the
    sweep keeps no special rows.  ``bands``: may diagonal bands be tried?  With `Job.second_best`
    all cells are computed, and of a path that was found the second best end (:mod:`.second_best`)
    is looked for.
    """
    plan, problem = engine.plan, job.problem
    stats, beat = Stats(), job.beat
    this = _Search(engine, plan, problem, job, resources.prune, progress, stats)
    max_cost = resources.band_cost(job.mode) if bands else None
    if job.second_best:
        this.prune, max_cost = False, None
    elif max_cost in ("auto", None):  # a number asks for bands
        held = this.held()
        if held is not None:
            return held
    swept, least = None, None
    if max_cost is not None:
        swept, least = this.sweep_bands(max_cost)
    if swept is None:
        matrix = this.matrix()
        want, limits = aim(problem, this.prune, None if job.second_best else beat, least)
        result = sweep(
            engine,
            problem.query,
            problem.target,
            problem.scoring,
            problem.floor,
            matrix.edges,
            replace(want, each_tile=True) if job.second_best and not matrix.ends else want,
            limits,
            shape=matrix.shape,
            progress=progress.sweep(),
        )
        this.count(result)
        end = best_end(problem, result.hits)
        swept = _Swept(end, result, matrix.grid, matrix.compression, matrix.ends)
    return this.found(swept)


class _Matrix(NamedTuple):
    """What a sweep of a whole matrix keeps; see `_Swept`."""

    edges: Edges
    #: Of its tiles.
    shape: tuple[int, int]
    grid: SweptGrid | None = None
    compression: EdgeCompression | None = None
    ends: list[EdgeArray] | None = None


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
    job: Job
    prune: bool
    progress: PairProgress
    stats: Stats

    @property
    def want_path(self) -> bool:
        """Is the path wanted?"""
        return self.job.output == "path"

    def held(self) -> Found | None:
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
        if self.job.better(end):
            path = held_path(found, self.problem)
        tiles = TileMap.of_one(
            self.problem.shape, end.score if self.problem.mode == "local" else nan
        )
        traced = None if path is None else path_of(self.job, end, path, self.plan)
        whole = HeldWhole(self.plan, *self.problem.shape)
        return Found(end, traced, self.plan, self.stats, tiles, execution=whole)

    def found(self, swept: _Swept) -> Found:
        """What a sweep found, with the path to it, and the second best end where wanted."""
        end, result, plan, stats = swept.end, swept.result, self.plan, self.stats
        stats.pruned += result.pruned_cells
        tiles = TileMap.of(self.problem.shape, result.tops, result.pruned, result.thinned)
        if swept.restarts is None or not self.job.better(end):
            self.progress.finished()
            return Found(end, None, plan, stats, tiles, None, result.execution)
        restarts, second = swept.restarts, None
        if swept.compression is not None and isinstance(restarts, SweptGrid):
            restarts = restarts.compressed(swept.compression)
        reader = PathReader(self.job.frame, self.job.scoring, plan.tuning.traceback)
        path = trace_back(
            self.engine,
            self.problem,
            restarts,
            end,
            plan.traceback_tile_cells,
            self.progress.trace(end),
            meanwhile=lambda path, busy: reader.read_meanwhile(end, path, busy),
        )
        self.progress.finished()
        stats.add_cells(path.cells)
        stats.launches += path.launches
        if self.job.second_best:
            inside = Area(path.row, end.row, path.column, end.column)
            if swept.ends is not None:
                second = second_on_borders(self.problem, swept.ends, inside, end)
            else:
                bests = result.bests
                second = second_in_tiles(self.engine, self.problem, restarts, bests, inside, stats)
        traced = reader.found(end, path)
        return Found(end, traced, plan, stats, tiles, second, result.execution)

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
            self.count(result)
        if found.end is None:
            return None, found.least
        return _Swept(found.end, found.sweeps[-1], found.grid), found.least

    def matrix(self) -> _Matrix:
        """What a sweep of the whole matrix keeps."""
        m, n = self.problem.shape
        shape = self.plan.tile_shape(m, n)
        if not self.want_path:
            return _Matrix(self.problem.edges, shape)
        grid, compression = self._grid(shape)
        edges, ends = grid.saving(), None
        if self.job.second_best and self.problem.mode == "local":
            shape = grid.tile_shape(shape, PIECES)
        elif self.job.second_best:
            ends = [EdgeArray(n), EdgeArray(m)]
            edges = replace(edges, bottom=ends[0], right=ends[1])
        return _Matrix(edges, shape, grid, compression, ends)

    def _grid(self, shape: tuple[int, int]) -> tuple[SweptGrid, EdgeCompression | None]:
        """The grid of special rows and columns for tiles of this shape, and what compresses it.  It
        is compressed only if it can have more lines then."""
        m, n = self.problem.shape
        tuning, compression = self.plan.tuning.traceback, self.engine.edge_compression
        if self.job.second_best:  # tiles that have to be searched again are small, then
            tuning = replace(tuning, least_side=max(1, tuning.least_side // SMALLER))
        if max(m, n) < 2 * tuning.least_side:  # one piece
            return SweptGrid.over(self.problem.edges, [0, m], [0, n]), None

        def fits(lines: int) -> bool:
            return compression is not None and compression.fits(self.problem.scoring, m, n, lines)

        cell_bytes = None if compression is None else compression.cell_bytes
        pieces, compresses = grid_pieces(tuning, m, n, cell_bytes, shape == (m, n), fits)
        quantum = self.engine.strip_rows(*shape)
        rows, columns = special_lines(tuning, (m, n), quantum, pieces)
        grid = SweptGrid.over(self.problem.edges, rows, columns)
        return grid, compression if compresses else None

    def count(self, result: SweepResult) -> None:
        """Add the cost of a sweep."""
        self.stats.add_cells(result.cells)
        self.stats.launches += result.launches
