"""Align one pair: find the best end, then the path to it, and the second best end.

The second best end is the highest score of an end outside the best alignment's rectangle, which are
its query letters x its target letters.  A local path may end at any cell: the sweep tells the best
cell of each tile (`Want.each_tile`), and a tile on the rectangle's border whose best cell lies
inside is searched again outside.  A global path ends in the last row or column."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from math import floor
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ..planning.execution import HeldWhole
from ..planning.path_grid import special_lines
from ..planning.plan import Plan
from ..results.stats import Stats
from ..scoring.precision import UNREACHABLE
from ..tiles.beside import SweepBeside, parts_beside
from ..tiles.contract import Engine, HeldFound, persistently
from ..tiles.edges import EdgeArray
from ..tiles.slabs import SweepResult, TileMap
from ..tiles.special_lines import RestartPoints, SweptGrid
from ..tiles.sweep import by_parts, sweep
from ..tiles.tile import Area, Hit, Limits
from .band_doubling import BandChoice, Banded, BandGrid
from .ends import trace_ends
from .job import Found, Job, path_of
from .parallel_traceback import trace_in_parts
from .problem import FoundPath, Path, PathReader, Problem
from .progress import BAND_PATH, PairProgress
from .resources import AlignResources
from .traceback import trace_back

if TYPE_CHECKING:
    from ..engines.held import HeldMatrix

#: If the second best end is wanted, the sides of the grid may be so many times shorter, and the
#: matrix is cut into tiles of about so many pieces a side: few of them are searched again.
SMALLER, PIECES = 4, 6
Range = tuple[int, int]


class Swept(NamedTuple):
    """The result of the forward sweep."""

    end: Hit
    tiles: TileMap
    #: Where the traceback can restart; None: no path is wanted, or it is found in boxes.
    restarts: RestartPoints | None
    #: The sweep itself; None: parts of it are of earlier runs.
    result: SweepResult | None = None
    compresses: bool = False
    #: The last row and column of a global comparison whose second best end is wanted.
    ends: list[EdgeArray] | None = None


class StrandStore(Protocol):
    """Where the work on one strand is saved, for a later run to go on with."""

    def known(self) -> Found | None:
        """The result, if it is finished."""

    def begin_anew(self, progress: PairProgress) -> None:
        """It is computed from the beginning, because a result failed its check."""

    def save(self, found: Found) -> None:
        """Save the result."""

    def banded(self, of: Search, assumed: int | None) -> Banded:
        """What `Search.banded` finds."""

    def sweep(self, of: Search) -> Swept:
        """A sweep of the whole matrix, whose cost is counted by the stats of the search."""

    def path(self, of: Search, end: Hit) -> FoundPath | None:
        """The path to ``end``, if others trace it."""
        return None

    def traceback(self, end: Hit, plan: Plan) -> Path:
        """The path to ``end`` as far as earlier runs traced it, which is saved as it goes on."""


def search(
    engine: Engine,
    job: Job,
    resources: AlignResources,
    progress: PairProgress,
    store: StrandStore | None = None,
) -> Found:
    """The best end of a job of one strand; the path to it, if the job's output is one and the score
    is above `Job.beat`; and the second best end.  ``store``: where it is saved."""
    max_cost = resources.band_cost(job.mode)
    prune = resources.prune and not job.second_best
    this = Search(engine, job, job.problem, prune, progress, store)
    if job.second_best:
        max_cost = None
    elif store is None and max_cost in ("auto", None) and (held := this.held()) is not None:
        return held  # (a number asks for bands)
    swept, least = (None, None) if max_cost is None else this.sweep_bands(max_cost)
    if swept is None and store is not None:
        swept = store.sweep(this)
    return this.found(swept or this.sweep_matrix(least))


@dataclass
class Search:
    """A comparison in progress: its sweeps, then its traceback."""

    engine: Engine
    job: Job
    problem: Problem
    prune: bool
    progress: PairProgress
    store: StrandStore | None
    stats: Stats = field(default_factory=Stats)

    def held(self) -> Found | None:
        """The whole search of a small matrix, in one launch; None for other matrices."""
        problem, plan, want_path = self.problem, self.engine.plan, self.job.output == "path"
        m, n = problem.shape

        def computed() -> HeldFound | None:
            matrix: HeldMatrix | None = self.engine.hold(problem, problem.free, int(want_path))
            if matrix is None:
                return None
            self.progress.sweep()
            with matrix:
                return self.engine.noted(partial(matrix.next, want_path), Area(0, m, 0, n))

        if (held := persistently(self.engine, computed)) is None:
            return None
        self.stats.add_cost(held)
        self.progress.finished()
        end = held.end
        tiles = TileMap.of((m, n), {Area(0, m, 0, n): end.score} if problem.is_local else {}, {})
        found = Found(end, None, plan, self.stats, tiles, execution=HeldWhole(plan, m, n))
        path = Path.of_held(held, problem) if self.job.better(end) else None
        return found if path is None else found._replace(path=path_of(self.job, end, path, plan))

    def sweep_bands(self, max_cost: Any) -> tuple[Swept | None, int | None]:
        """Sweep diagonal bands: the sweep that proves the best score, if any; the best found."""
        assumed, scoring = None, self.problem.scoring
        if max_cost != "auto":
            loss = floor(max_cost * scoring.scale)
            assumed = int(min(self.problem.shape) * scoring.highest - loss)
        store = self.store
        found = store.banded(self, assumed) if store else self.banded(self.engine, assumed)
        for result in found.sweeps:
            self.stats.add_cost(result)
        if found.end is None:
            return None, found.least
        last, shape = found.sweeps[-1], self.problem.shape
        self.stats.pruned = last.pruned_cells
        return Swept(found.end, last.tile_map(shape), found.grid, last), found.least

    def banded(self, engine: Engine, assumed: int | None) -> Banded:
        """What diagonal bands find that ``engine`` sweeps, one after the other (`BandChoice`), from
        the one on that proves the score ``assumed``."""
        problem, save, found = self.problem, self.job.output == "path", Banded()
        choice = BandChoice(problem, engine.plan, assumed, save, self.prune and self.store is None)
        while (one := choice.next()) is not None:
            grid, edges = None, problem.edges
            if save:
                grid = BandGrid(problem, one.band, one.places[:-1])
                edges = replace(edges, rows=grid.rows)
                self.engine.expect_path(problem, one.shape)
            wider = 0.0 if one.sure else 2 * one.work  # a band of twice the width may follow
            tell = self.progress.sweep(one.work, wider, BAND_PATH)
            limits, shape = Limits(corridor=one.band), one.shape
            swept = sweep(engine, problem, edges, problem.want, limits, shape=shape, progress=tell)
            # the sweep may end before the last row
            end = problem.best_end([*swept.hits, Hit(UNREACHABLE, *problem.shape)])
            found.sweeps.append(swept)
            if choice.proves(one, end.score):
                found.end, found.grid = end, grid
                break
        found.least = choice.best
        return found

    def sweep_matrix(self, least: int | None) -> Swept:
        """Sweep the whole matrix; ``least``: see `Problem.aim`."""
        problem, second, (m, n) = self.problem, self.job.second_best, self.problem.shape
        shape, edges = self.engine.plan.tile_shape(m, n), problem.edges
        want, limits = problem.aim(self.prune, None if second else self.job.beat, least)
        grid, compresses, ends = None, False, None
        wants_path = self.job.output == "path"
        parts = () if second else parts_beside(self.engine, problem, limits)
        if wants_path and not second and self.engine.in_boxes(problem):
            side = self.engine.plan.tuning.boxes.side(0, alone=True)
            self.engine.expect_path(problem, (min(m, side), min(n, side)))
        elif wants_path:
            grid, compresses = self._grid(shape, limits.bound is not None, len(parts) > 0)
            self.engine.expect_path(problem, grid.steps((m, n)))
            edges = grid.saving()
            if second and problem.is_local:
                shape, want = grid.tile_shape(shape, PIECES), replace(want, each_tile=True)
            elif second:
                ends = [EdgeArray(n), EdgeArray(m)]
                edges = replace(edges, bottom=ends[0], right=ends[1])
        tell = self.progress.sweep()
        if parts:
            result = SweepBeside(self.engine, parts, problem, edges, want, limits, tell).run()
        else:
            result = sweep(self.engine, problem, edges, want, limits, shape=shape, progress=tell)
        self.stats.add_cost(result)
        self.stats.pruned, tiles = result.pruned_cells, result.tile_map((m, n))
        return Swept(problem.best_end(result.hits), tiles, grid, result, compresses, ends)

    def _grid(self, shape: tuple[int, int], pruned: bool, beside: bool) -> tuple[SweptGrid, bool]:
        """The grid of special rows and columns for tiles of this shape, and is it compressed?  Only
        if it can have more lines then, all of one device (not ``beside`` another one)."""
        (m, n), tuning = self.problem.shape, self.engine.plan.tuning.traceback
        if self.job.second_best:  # tiles that have to be searched again are small, then
            tuning = replace(tuning, least_side=max(1, tuning.least_side // SMALLER))
        if max(m, n) < 2 * tuning.least_side:  # one piece
            return SweptGrid.over(self.problem.edges, [0, m], [0, n]), False
        shared = not beside and self.engine.devices > 1 and self.engine.piped_rows(self.problem, m)
        alone = not shared and not beside
        fits = partial(self.engine.compresses, self.problem.scoring, m, n) if alone else None
        rows, columns, compresses = special_lines(self.engine.plan, m, n, shape, fits, tuning)
        if shared and (piped := self.engine.piped_rows(self.problem, m, len(rows) - 1, pruned)):
            rows = [0, *piped.cuts(m), m]  # where tiles end
        return SweptGrid.over(self.problem.edges, rows, columns), compresses

    def found(self, swept: Swept) -> Found:
        """What a sweep found, with the path to it, and the second best end where wanted."""
        end, result, restarts, plan = swept.end, swept.result, swept.restarts, self.engine.plan
        execution = None if result is None else result.execution
        found = Found(end, None, plan, self.stats, swept.tiles, None, execution)
        if self.job.output != "path" or not self.job.better(end):
            self.progress.finished()
            return found
        self.engine.stage = "path"
        elsewhere = None if self.store is None else self.store.path(self, end)
        if restarts is None or elsewhere is not None:
            path_found = elsewhere or self._path_in_boxes(end)
            self.progress.finished()
            return found._replace(path=path_found)
        if swept.compresses and isinstance(restarts, SweptGrid):
            self.engine.noted(partial(restarts.compress, self.engine))
        reader = PathReader(end, self.job.frame, self.job.scoring, plan.tuning.traceback.read_moves)
        path = self.store.traceback(end, plan) if self.store else Path(end.row, end.column)
        path.between = self.progress.trace(end, path)
        path.meanwhile = reader.read_meanwhile
        about = self.engine, self.problem, restarts, end, path
        trace = partial(trace_in_parts, *about, reader)
        if self.store is not None:
            trace = partial(trace_back, *about)
        persistently(self.engine, trace, lambda: (path.row, path.column))
        self.progress.finished()
        self.stats.add_cost(path)
        second, inside = None, Area(path.row, end.row, path.column, end.column)
        if swept.ends is not None:
            second = _second_on_borders(self.problem, swept.ends, inside)
        elif self.job.second_best and result is not None:
            second = self._second_in_tiles(restarts, result.bests, inside)
        return found._replace(path=reader.found(path), second_best=second)

    def _path_in_boxes(self, end: Hit) -> FoundPath | None:
        begun = Path(end.row, end.column)
        if not end.score:  # the empty path
            return path_of(self.job, end, begun, self.engine.plan)
        about = self.job, [end], end.score, lambda count: None, self.progress.trace(end, begun)
        traced = persistently(self.engine, lambda: trace_ends(self.engine, *about))
        self.stats.add_cost(traced)
        return traced.paths[0]

    def _second_in_tiles(
        self, restarts: RestartPoints, bests: dict[Area, Hit], inside: Area
    ) -> int:
        """The highest score of a cell of a local comparison that is not ``inside``, 0 if none
        scores more.  ``bests``: the best cell of each tile."""
        best, others = 0, []
        for area, hit in bests.items():
            if not inside.holds(hit.row, hit.column):
                best = max(best, hit.score)
            elif area.around(inside) != inside:
                others.append((hit.score, area))
        for score, area in sorted(others, reverse=True):
            if score <= best:
                break
            row, column = restarts.start(area.row + 1, area.column + 1)
            whole = Area(row, area.row_end, column, area.column_end)
            job = self.problem.tile(whole, restarts.edges_of(whole), best=True, threshold=best + 1)

            def ignored(
                part: Area, row: int = row, column: int = column, area: Area = area
            ) -> bool:
                at = row + part.row + 1, column + part.column + 1
                return not area.holds(*at) or inside.holds(*at)

            rows = {at - row for at in (area.row, *inside[:2]) if row < at < whole.row_end}
            columns = {at - column for at in (area.column, *inside[2:]) if column < at < whole[3]}
            cuts = tuple(sorted(rows)), tuple(sorted(columns))
            found = by_parts(self.engine.tile, job, *cuts, ignored)
            self.stats.add_cost(found)
            best = max([best, *(hit.score for hit in found.hits)])
        return best


def _second_on_borders(problem: Problem, lines: list[EdgeArray], inside: Area) -> int:
    """The highest score of an end of a global comparison that is not ``inside``, whose last corner
    is the best end; ``lines``: the last row and the last column."""

    def highest(line: EdgeArray, border: int, last: int, across: Range, along: Range) -> int:
        h = np.append(border, line.read_h(0, len(line)))
        if across[1] == last:
            first = along[1] if across[0] == last else min(along[0] + 1, along[1])
            h[first : along[1] + 1] = np.iinfo(np.int32).min
        return int(h.max())

    (m, n), borders, found = problem.shape, problem.edges, []
    rows, columns = inside[:2], inside[2:]
    if problem.free.trail_query:
        found.append(highest(lines[0], borders.left.h_at(m - 1), m, rows, columns))
    if problem.free.trail_target:
        found.append(highest(lines[1], borders.top.h_at(n - 1), n, columns, rows))
    return max(found)
