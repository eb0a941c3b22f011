"""The traceback, in memory linear in m + n plus one tile.

The forward sweep keeps special rows and columns.  The path is traced backward from its end, one
grid cell at a time.  The part of the grid cell above and left of the path is computed again from
its saved edges, with the moves stored.  If it is too large for that, it gets a finer grid instead.
Exact forward values decide all moves, so the path is the canonical one whatever the grid.

Where a device computes many tiles in one launch, the path is predicted: it probably crosses each
special row and column at the cell through which a path can score most.  One launch computes all
grid cells on it, each to a little beyond the crossing, with finer special rows and columns.  The
next level does the same between those, and the last level stores moves.  Where the path leaves the
predicted tiles, the traceback goes on from there with a new prediction.
"""

from __future__ import annotations

from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import DeviceError
from ..planning.parameters import Tuning
from ..planning.path_grid import finer_grid, level_shares, level_steps
from ..results.stats import Stats
from ..scoring.precision import UNREACHABLE_BELOW
from ..tiles.contract import Engine, Part
from ..tiles.special_lines import RestartPoints, SweptGrid
from ..tiles.sweep import sweep
from ..tiles.tile import Area, Hit, Traced
from .path_prediction import Cell, Entry, Lines, SetLines, SweptLines, rate_of, similarity
from .problem import Path, Problem

if TYPE_CHECKING:
    from ..engines.wavefront.tile_batch import WavefrontTileBatch
    from ..engines.wavefront.tile_batch_layout import TileSet


def trace_back(
    engine: Engine,
    problem: Problem,
    grid: RestartPoints,
    end: Hit,
    path: Path | None = None,
) -> Path:
    """The canonical path to ``end``, from saved cells of a sweep; ``path``: one to go on with."""
    path = path or Path(end.row, end.column)
    area, tiles = Area(0, end.row, 0, end.column), _tile_batch(engine, problem, path)
    with tiles or nullcontext():
        speculative = None
        if tiles is not None:
            given = engine.plan.tuning, problem, grid, end, path
            speculative = SpeculativeTraceback(tiles, *given)
        while path.inside(area):
            if speculative is None or not speculative.trace(path):
                _step(engine, problem, grid, area, path)
                path.after(path)
    path.finish(problem)
    return path


def _tile_batch(engine: Engine, problem: Problem, path: Path) -> WavefrontTileBatch | None:
    """What computes many tiles of the rest in one launch; None if single ones are better."""
    tuning = engine.plan.tuning.speculation
    short = min(path.row, path.column) < tuning.least_sides * tuning.side
    if short or problem.forbidden is not None:
        return None
    query, target = problem.query.slice(0, path.row), problem.target.slice(0, path.column)
    tiles: WavefrontTileBatch | None = None
    with suppress(DeviceError):
        tiles = engine.tile_batch(query, target, problem.scoring, problem.floor, len(problem.query))
    return tiles


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
        result = able.tile(problem.tile(cell, edges, store_moves=True))
        assert result.moves is not None
        traced = result.moves.trace(m, n, path.state)
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

    #: The matrix cell at which it comes to ``cell``.
    row: int
    column: int
    #: H there; None: not known.
    h: int | None
    #: The grid cell that it traces next.
    cell: Cell
    #: Rows and columns beyond (row, column) that are computed, too.
    margin: int


class Step(NamedTuple):
    """A launch of tiles with moves."""

    parts: list[Part]
    #: The moves, on the device.
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
        engine.meanwhile = lambda busy: path.meanwhile(path, busy)
        self.match, self.gap_open = max(0, problem.scoring.highest), problem.scoring.gap_open
        spacing = self.tuning.spacing
        self.lines = SweptLines(grid, path.row, path.column, problem.scoring, spacing)
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
        #: Bytes of the buffer for moves.
        self.moves_capacity = int(min(self.moves_share * self.level_bytes[-1], longest))
        #: Tiles of a launch at most, by level.
        self.most_tiles = [self.tuning.most_tiles] * len(self.level_bytes)
        #: Are single tiles better: is there too little for levels, or too little memory?
        self.failed = not self.levels
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
        if self.failed:
            return False
        try:
            self._trace(self.lines, path)
        except DeviceError:  # single tiles need less memory
            self.failed = True
            self.engine.free()
        path.add_cost(Stats(*self.engine.cost()))
        return path.ended or (path.row, path.column) != before

    def _trace(self, lines: Lines, path: Path) -> int:
        """Trace ``path`` through the grid cells of ``lines``, the special lines of the finest set
        so far.  Returns the tile of that set in which it was last."""
        tile, level = 0, len(self._sets)
        while not path.ended:
            cell = lines.cell(path.row, path.column, tile)
            if cell is None:
                break
            before = path.row, path.column
            path.between(path)
            if level == len(self.levels):
                step = self._begun
                if step is None or not step.parts[0].area.holds(*before):
                    step = self._begin(lines, Guess(*before, None, cell, 0))
                parts, last = step.parts, self._step(lines, step, path)
            else:
                at_end = before == (self.end.row, self.end.column)
                h = self.end.score if at_end else lines.h_at(*before)
                parts, _ = self._parts(lines, level, Guess(*before, h, cell, 0))
                finer = SetLines(self._finer(level, parts))
                self._sets.append(finer)
                last = self._trace(finer, path)
                self._sets.pop()
                self._begun = None
            tile = parts[last].inside
            # after a wrong prediction fewer tiles, because they may be computed again
            used = last + 1 if last + 1 < len(parts) else self.most_tiles[level]
            most, few = self.tuning.most_tiles, self.tuning.few_tiles
            self.most_tiles[level] = min(most, max(few, 2 * used))
            if self._refused is not None:
                if self._refused < level:
                    break
                self._refused = None
            if (path.row, path.column) == before:
                break
        return tile

    def _parts(self, lines: Lines, level: int, guess: Guess) -> tuple[list[Part], Guess | None]:
        """The tiles of a launch, from a guess backward, and where the path probably goes on."""
        row, column, h, cell, margin = guess
        match, extend = self.match, self.problem.scoring.gap_extend
        parts: list[Part] = []
        beside: list[Part] = []
        used, sizes = 0, dict[tuple[int, int], int]()  # bytes by shape: most tiles have the same
        while len(parts) < self.most_tiles[level]:
            area, tile = cell.area, cell.tile
            around = self._part_of(area, row + margin - area.row, column + margin - area.column)
            for one in (around, *[part.area for part in beside]):
                shape = one.shape
                if shape not in sizes:
                    sizes[shape] = self._bytes(level, *shape)
                used += sizes[shape]
            if parts and used > self.level_bytes[level]:
                break
            entry = lines.entry(cell, min(row, area.row_end), min(column, area.column_end), h)
            letters = row + column - entry.row - entry.column
            rate = rate_of(h, entry.h, letters, match, extend)
            unlike, known = max(0.0, 1 - 2 * similarity(rate, match)), None
            pruned = level < len(self.levels) and max(around.shape) >= self.tuning.pruned_side
            if h is not None and pruned and not unlike:  # else it prunes nothing
                known = h - self.tuning.slack * match - self.gap_open
            offset = around.row_end - row + around.column_end - column + margin
            parts += [*beside, Part(around, tile, known, offset, (row, column))]
            row, column, h = entry.row, entry.column, entry.h
            if self.problem.floor is not None and h <= self.tuning.begun * match:
                return parts, None
            following = lines.cell(row, column, tile) if h >= UNREACHABLE_BELOW else None
            if following is None:
                return parts, None
            reach = max(self.tuning.least_margin, max(area.shape) * self.tuning.margin)
            margin = int(reach * (1 + (self.tuning.unlike_margin - 1) * unlike))
            beside = self._beside(lines, cell, entry, margin) if unlike else []
            cell = following
        return parts, Guess(row, column, h, cell, margin)

    def _part_of(self, area: Area, rows: int, columns: int) -> Area:
        """The first rows and columns of an area, if it has so many, in whole strips."""
        quantum = self.engine.row_quantum
        rows = -(-min(rows, area.shape[0]) // quantum) * quantum
        columns = min(columns, area.shape[1])
        return Area(area.row, area.row + rows, area.column, area.column + columns)

    def _beside(self, lines: Lines, cell: Cell, entry: Entry, reach: int) -> list[Part]:
        """The tile that the path comes to if it enters a grid cell by the other one of its edges;
        none if it probably does not: it enters more than ``reach`` cells from their corner."""
        row, column = cell.area.row, cell.area.column
        above = entry.row == row
        if entry.row + entry.column - row - column > reach:
            return []
        other = lines.cell(row + above, column + (not above), cell.tile)
        if other is None:
            return []
        rows, columns = other.area.shape  # of its right edge or its bottom, from the corner on
        part = self._part_of(other.area, *((reach, columns) if above else (rows, reach)))
        return [Part(part, other.tile)]

    def _bytes(self, level: int, rows: int, columns: int) -> int:
        """Bytes that a tile of this level takes of the level's memory."""
        if level == len(self.levels):
            moves, edges = self.engine.moves_bytes(rows, columns), self._edge_bytes(rows, columns)
            return int(max(moves / self.moves_share, 2 * edges / (1 - self.moves_share)))
        return self.engine.kept_bytes(rows, columns, self.levels[level])

    def _edge_bytes(self, rows: int, columns: int) -> int:
        """Memory of the edges of a tile with moves."""
        return self.engine.kept_bytes(rows, columns, (rows + 1, columns))

    def _finer(self, level: int, parts: list[Part]) -> TileSet:
        """Compute tiles with the special lines of this level."""
        steps, grid = self.levels[level], self.lines.grid
        if self._sets:
            return self.engine.inside(level, self._sets[-1].tiles, parts, steps)
        sides = [(grid.corner(p.area), *grid.sides(p.area)) for p in parts]
        return self.engine.begin(level, parts, sides, steps)

    def _begin(self, lines: Lines, guess: Guess) -> Step:
        """Start a launch of tiles with moves."""
        parts, rest = self._parts(lines, len(self.levels), guess)
        self._slot = 1 - self._slot
        outer = self._sets[-1].tiles
        return Step(parts, self.engine.moves(outer, parts, self._slot, self.moves_capacity), rest)

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
            if self._right(parts[k], row, column):
                continue
            trace = Traced(trace.moves[:made], row, column, state, False)
            break
        path.follow(trace)
        path.add_cost(Stats(*self.engine.cost()))
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
