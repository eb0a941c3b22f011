"""The traceback, in memory linear in m + n plus one tile.

The forward sweep keeps special rows and columns.  The path is traced backward from its end, one
grid cell at a time.  The part of the grid cell above and left of the path is computed again from
its saved edges, with the moves stored.  If it is too large for that, it gets a finer grid instead.
Exact forward values decide all moves, so the path is the canonical one whatever the grid.

Where a device computes many tiles in one launch, the path is predicted: it probably crosses each
special row and column at the cell through which a path can score most.  One launch computes all
grid cells on it, each to a little beyond the crossing, with finer special rows and columns.  The
next level does the same between those, and the last level stores moves.  Where the path leaves the
predicted tiles, the traceback goes on from there with a new prediction."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import DeviceError
from ..planning.parameters import TracebackTuning, Tuning
from ..planning.path_grid import finer_grid, level_shares, level_steps
from ..tiles.contract import Engine, Part
from ..tiles.special_lines import RestartPoints, SweptGrid
from ..tiles.sweep import sweep
from ..tiles.tile import Area, Hit, Traced
from .path_prediction import Lines, Places, SetLines, SweptLines, rate_of, similarity
from .problem import Path, Problem

if TYPE_CHECKING:
    from ..engines.wavefront.tile_batch import WavefrontTileBatch
    from ..engines.wavefront.tile_batch_layout import TileSet


def trace_back(
    engine: Engine, problem: Problem, grid: RestartPoints, end: Hit, path: Path | None = None
) -> Path:
    """The canonical path to ``end``, from saved cells of a sweep; ``path``: one to go on with."""
    path, tuning = path or Path(end.row, end.column), engine.plan.tuning
    area = Area(0, end.row, 0, end.column)
    while path.inside(area):
        # what computes many tiles of the rest in one launch, if single ones are not better
        ahead, tiles = None, None
        least = tuning.speculation.least_sides * tuning.speculation.side
        if min(path.row, path.column) >= least and problem.forbidden is None:
            rest = problem.query.slice(0, path.row), problem.target.slice(0, path.column)
            with suppress(DeviceError):
                tiles = engine.tile_batch(*rest, problem.scoring, problem.floor, len(problem.query))
        with tiles or nullcontext():
            if tiles is not None:
                ahead = SpeculativeTraceback(tiles, tuning, problem, grid, end, path)
            less = min(tuning.traceback.path_bytes, TracebackTuning().path_bytes)
            spare = tuning.traceback.path_bytes > less
            while path.inside(area) and not (spare and ahead is not None and ahead.lacked):
                if ahead is None or not engine.noted(partial(ahead.trace, path)):
                    _step(engine, problem, grid, area, path)
                    path.after(path)
        if path.inside(area):  # memory lacked: go on with what any path may take
            tuning = tuning.with_values({"traceback.path_bytes": less})
    path.finish(problem)
    return path


def _step(engine: Engine, problem: Problem, grid: RestartPoints, area: Area, path: Path) -> None:
    """Trace ``path`` back through one cell of ``grid``, with its moves if these can be stored, else
    with a finer grid.  ``area`` is the grid's part of the matrix; the grid's rows and columns are
    counted from the area's corner."""
    path.between(path)
    row, column = grid.start(path.row - area.row, path.column - area.column)
    edges = grid.edges_of(Area(row, path.row - area.row, column, path.column - area.column))
    cell = Area(area.row + row, path.row, area.column + column, path.column)
    m, n = cell.shape
    able, most = engine.for_moves, engine.plan.traceback_tile_cells  # of 4 bits each
    plan, high = able.plan, able.plan.strip_rows
    small = m <= high and n <= plan.tuning.traceback.least_columns
    small = small or (m + high) * (n + plan.T) * plan.most_moves_bytes <= most // 2
    if small or plan.moves_bytes(m, n) <= most // 2:
        result = engine.noted(partial(able.tile, problem.tile(cell, edges, store_moves=True)))
        assert result.moves is not None
        traced = engine.noted(partial(result.moves.trace, m, n, path.state))
        result.moves.release()
        path.follow(traced, cell.row, cell.column)
        path.add_cost(result)
        return
    shape, rows, columns = finer_grid(engine.plan, m, n)
    finer = SweptGrid.over(edges, rows, columns)
    path.add_cost(sweep(engine, problem.inside(cell), finer.saving(), shape=shape))
    while path.inside(cell):
        _step(engine, problem, finer, cell, path)


class Guess(NamedTuple):
    """Where the traceback probably goes on."""

    #: The matrix cell at which it comes to the next grid cell, and H there; None: not known.
    row: int
    column: int
    h: int | None
    #: The tile of the lines that has it, or one before.
    tile: int
    #: Rows and columns beyond (row, column) that are computed, too.
    margin: int


class Step(NamedTuple):
    """A launch of tiles with moves."""

    parts: list[Part]
    moves: Any
    #: Where the path probably goes on after these tiles; None: not known.
    rest: Guess | None


class SpeculativeTraceback:
    """Traces a path back through tiles that are computed many in one launch."""

    def __init__(
        self,
        engine: WavefrontTileBatch,
        tuning: Tuning,
        problem: Problem,
        grid: RestartPoints,
        end: Hit,
        path: Path,
    ) -> None:
        self.engine, self.problem, self.tuning, self.end = engine, problem, tuning.speculation, end
        self.match, self.gap_open = max(0, problem.scoring.highest), problem.scoring.gap_open
        self.lines = SweptLines(grid, path.row, path.column, problem.scoring, self.tuning.spacing)
        #: (rows, columns) between the special lines of each level, coarsest first.
        self.levels = level_steps(self.lines.side, engine.row_quantum, self.tuning)
        m, n, levels = len(problem.query), len(problem.target), len(self.levels)
        #: Bytes that the tiles of each level may take; the last is the level with moves.
        self.level_bytes = level_shares(tuning, m, n, engine.held_bytes, levels, engine.most_bytes)
        side = self.tuning.side
        moves, edges = engine.moves_bytes(side, side), 2 * self._edge_bytes(side, side)
        #: The moves' share of the last level's bytes; the rest is for the edges of two launches.
        self.moves_share = moves / (moves + edges)
        # 4 bits for each cell of the tiles of a whole path
        longest = side * (path.row + path.column) / 2
        self.moves_capacity = int(min(self.moves_share * self.level_bytes[-1], longest))
        cells, few = [(self.lines.side, self.lines.side), *self.levels], self.tuning.few_tiles
        sizes = zip(self.level_bytes, cells, strict=False)  # of more levels than there are, if none
        holds = [most / self._bytes(k, *cell) for k, (most, cell) in enumerate(sizes)]
        #: Tiles of a launch at most, by level: of those that a path only grazes there are more.
        self._most = [min(self.tuning.most_tiles, few + int(1.5 * count)) for count in holds]
        self.most_tiles = list(self._most)
        #: From where on another device traces the path; behind, so many tiles are computed ahead.
        self._until, self._behind = path.until, 1
        self.lacked = False
        #: Which of two buffers the last tiles with moves have.
        self._slot = 0
        #: The tile sets that the path is in, one a level, coarsest first.
        self._sets: list[SetLines] = []
        #: The level of a tile whose pruning was not valid for the path that came to it.
        self._refused: int | None = None
        #: Tiles with moves that are computed before they are known to be needed.
        self._begun: Step | None = None

    def trace(self, path: Path) -> bool:
        """Trace ``path`` back as far as predictions lead.  Returns whether it moved."""
        before = path.row, path.column
        if self.lacked or not self.levels:
            return False
        try:
            self._trace(self.lines, path)
        except DeviceError:  # fewer tiles need less memory, and single ones
            self.lacked = True
            self.engine.free()
        path.add_cost(self.engine.cost())
        return path.ended or (path.row, path.column) != before

    def _trace(self, lines: Lines, path: Path) -> int:
        """Trace ``path`` through the grid cells of ``lines``, the special lines of the finest set
        so far.  Returns the tile of that set in which it was last."""
        tile, level = 0, len(self._sets)
        while path.row and path.column and not path.ended:
            before = path.row, path.column
            path.between(path)
            if level == len(self.levels):
                step = self._begun
                if step is None or not step.parts[0].area.holds(*before):
                    step = self._begin(lines, Guess(*before, None, tile, 0))
                if step is None:
                    break
                parts, last = step.parts, self._step(lines, step, path)
            else:
                at_end = before == (self.end.row, self.end.column)
                h = self.end.score if at_end else lines.h_at(*before)
                parts, _ = self._parts(lines, level, Guess(*before, h, tile, 0))
                if not parts:
                    break
                finer = SetLines(self._finer(level, parts))
                self._sets.append(finer)
                last = self._trace(finer, path)
                self._sets.pop()
                self._begun = None
            tile = parts[last].inside
            # after a wrong prediction fewer tiles, because they may be computed again
            used = last + 1 if last + 1 < len(parts) else self.most_tiles[level]
            self.most_tiles[level] = min(self._most[level], max(self.tuning.few_tiles, 2 * used))
            if self._refused is not None:
                if self._refused < level:
                    break
                self._refused = None
            if (path.row, path.column) == before:
                break
        return tile

    def _parts(self, lines: Lines, level: int, guess: Guess) -> tuple[list[Part], Guess | None]:
        """The tiles of a launch, from a guess backward, and where the path probably goes on."""
        row, column, h, tile, margin = guess
        tuning, match, most = self.tuning, self.match, self.most_tiles[level]
        way = self._own(row, column, lines.way(row, column, h, tile, most + 1))
        if not len(way):
            return [], None
        areas, values = way[:, 1:5].reshape(-1, 2, 2), way[:, 7]
        corners, sides = areas[:, :, 0], np.diff(areas)[:, :, 0]
        places = np.vstack([[(row, column)], way[:, 5:7]])
        letters = -np.diff(places.sum(axis=1))
        first = values[0] + match / 2 * letters[0] if h is None else h
        before = np.append(first, values[:-1])
        rates = rate_of(before, values, letters, match, self.problem.scoring.gap_extend)
        unlike = np.maximum(0.0, 1 - 2 * similarity(rates, match))
        reach = tuning.margin * (1 + (tuning.unlike_margin - 1) * unlike)
        margins = np.append(margin, (reach * np.sqrt(sides.max(axis=1))).astype(np.int64))
        around = self._in_strips(areas, places[:-1] + margins[:-1, None] - corners)
        offsets = (around[:, :, 1] - places[:-1]).sum(axis=1) + margins[:-1]
        pruned = np.diff(around)[:, :, 0].max(axis=1) >= tuning.pruned_side
        pruned &= (unlike == 0) & (level < len(self.levels))  # else it prunes nothing
        pruned[0] &= h is not None
        known = before - tuning.slack * match - self.gap_open
        after, tiles, beside = self._beside(lines, way, np.where(unlike > 0, margins[1:], -1))
        # as many of the way's cells, with the tile beside each, as the level's memory holds
        order = np.argsort(np.append(2 * np.arange(len(way)), 2 * after - 1), kind="stable")
        ends = np.nonzero(order < len(way))[0] + 1
        shapes = np.diff(np.concatenate([around, beside])[order])[:, :, 0]
        used = np.cumsum(self._bytes(level, *shapes.T))[ends - 1]
        taken = 1 + int(((used <= self.level_bytes[level])[1:] & (ends[:-1] < most)).sum())
        rest: Guess | None = None
        begun = values <= tuning.begun * match
        if self.problem.floor is not None and begun[:taken].any():
            taken = int(begun.argmax()) + 1
        elif taken < len(way):
            last = way[taken - 1].tolist()
            rest = Guess(last[5], last[6], last[7], last[0], int(margins[taken]))
        parts = [
            Part(Area(*area), tile, int(least) if prunes else None, offset, (row, column))
            for area, tile, prunes, least, offset, (row, column) in zip(
                around[:taken].reshape(-1, 4).tolist(),
                *(one[:taken].tolist() for one in (way[:, 0], pruned, known, offsets, places)),
                strict=True,
            )
        ]
        given = zip(beside.reshape(-1, 4).tolist(), tiles.tolist(), strict=True)
        aside = [Part(Area(*area), tile) for area, tile in given]
        order = order[: ends[taken - 1]]
        return [parts[k] if k < len(way) else aside[k - len(way)] for k in order.tolist()], rest

    def _own(self, row: int, column: int, way: Places) -> Places:
        """The way from a cell on as far as no other device traces it."""
        if self._until == (0, 0):
            return way
        if row > self._until[0] or column > self._until[1]:
            # with the first cell beyond, in which the paths may meet
            front = (way[:, 2] <= self._until[0]) & (way[:, 4] <= self._until[1])
            return way[: int(front.argmax()) + 1] if front.any() else way
        self._behind *= 2  # the paths did not meet there
        return way[: self._behind // 2]

    def _in_strips(self, areas: Places, sizes: Places) -> Places:
        """The first rows and columns of areas, if they have so many, in whole strips."""
        corners, quantum = areas[:, :, 0], self.engine.row_quantum
        sizes = np.minimum(sizes, areas[:, :, 1] - corners)
        sizes[:, 0] = -(-sizes[:, 0] // quantum) * quantum
        return np.stack([corners, corners + sizes], axis=2)

    def _beside(self, lines: Lines, way: Places, reach: Places) -> tuple[Places, Places, Places]:
        """The tiles that the path comes to if it enters a grid cell by the other one of its edges;
        none where it probably does not: it enters more than ``reach`` cells from their corner.  The
        numbers of the grid cells that follow, and the tiles and the areas of these."""
        corners, entries = way[:, 1:5:2], way[:, 5:7]
        k = np.nonzero((entries - corners).sum(axis=1)[:-1] <= reach[:-1])[0]
        above = entries[k, 0] == corners[k, 0]
        others = lines.cells(corners[k] + np.stack([above, ~above], axis=1), way[k, 0])
        there = others[:, 0] >= 0
        k, above, areas = k[there], above[there], others[there, 1:].reshape(-1, 2, 2)
        sizes = np.diff(areas)[:, :, 0]  # of its right edge or its bottom, from the corner on
        sizes[np.arange(len(k)), 1 - above] = reach[k]
        return k + 1, others[there, 0], self._in_strips(areas, sizes)

    def _bytes(self, level: int, rows: Any, columns: Any) -> Any:
        """Bytes that tiles of this level take of the level's memory."""
        if level == len(self.levels):
            moves, edges = self.engine.moves_bytes(rows, columns), self._edge_bytes(rows, columns)
            return np.maximum(moves / self.moves_share, 2 * edges / (1 - self.moves_share))
        return self.engine.kept_bytes(rows, columns, self.levels[level])

    def _edge_bytes(self, rows: Any, columns: Any) -> Any:
        return self.engine.kept_bytes(rows, columns, (rows + 1, columns))

    def _finer(self, level: int, parts: list[Part]) -> TileSet:
        """Compute tiles with the special lines of this level."""
        steps, grid = self.levels[level], self.lines.grid
        if self._sets:
            return self.engine.inside(level, self._sets[-1].tiles, parts, steps)
        sides = [grid.sides(part.area) for part in parts]
        return self.engine.begin(level, parts, sides, grid.edges.corner, steps)

    def _begin(self, lines: Lines, guess: Guess) -> Step | None:
        """Start a launch of tiles with moves, if there are any."""
        parts, rest = self._parts(lines, len(self.levels), guess)
        if not parts:
            return None
        self._slot = 1 - self._slot
        moves = self.engine.moves(self._sets[-1].tiles, parts, self._slot, self.moves_capacity)
        if rest is not None and isinstance(lines, SetLines):
            lines.ask(rest.row, rest.column, rest.tile, self.most_tiles[-1] + 1)
        return Step(parts, moves, rest)

    def _step(self, lines: Lines, step: Step, path: Path) -> int:
        """Trace ``path`` through tiles with moves, as far as they are valid for it.  Returns the
        last of them.  The launch that probably follows is started meanwhile."""
        parts, start, last = step.parts, (path.row, path.column, path.state), 0
        tracing, self._begun = self.engine.trace(step.moves, *start), None
        if step.rest is not None and len(parts) < self.most_tiles[-1]:
            self._begun = self._begin(lines, step.rest)
        trace, entries = tracing()
        for k, (row, column, state, made) in enumerate(entries.tolist()):
            if made < 0:
                continue
            last = k
            if not self._right(parts[k], row, column):
                trace = Traced(trace.moves[:made], row, column, state, False)
                break
        path.follow(trace)
        path.add_cost(self.engine.cost())
        path.meanwhile(path)
        path.after(path)
        return last

    def _right(self, part: Part, row: int, column: int) -> bool:
        """Are this tile and the pruned tiles around it valid for a path that comes to this cell?

        A cell is pruned if it cannot contribute to an H of at least ``known`` near the tile's last
        corner.  A path that leaves the tile with a lower H, or elsewhere, may cross pruned cells.
        """
        tile = part.inside
        for level in range(len(self._sets) - 1, -1, -1):
            lines, outer = self._sets[level], self._sets[level - 1] if level else self.lines
            here = lines.tiles.parts[tile]
            if tile != lines.at and here.known is not None:
                h, end = outer.h_at(row, column), here.area
                offset = end.row_end - row + end.column_end - column
                if h is None or h - self.gap_open < here.known or offset > here.offset:
                    self._refused = level
                    return False
            lines.at, tile = tile, here.inside
        return True
