"""The speculative traceback: tiles that the path probably runs through, computed in one launch.

The plain traceback (`traceback`) takes one grid cell at a time, because the path through one cell
decides the next.  Here the path is predicted: it probably crosses each special row and column at
the cell through which a path can score most.  One launch computes all grid cells on the predicted
path, each to a little beyond the crossing, with finer special rows and columns.  The next level
does the same between those, and the last level stores moves.  The result is exact: where the path
leaves the predicted tiles, the traceback goes on from there with a new prediction.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..errors import DeviceError
from ..planning.parameters import Tuning
from ..planning.path_grid import level_shares, level_steps
from ..results.stats import Stats
from ..scoring.precision import UNREACHABLE_BELOW
from ..tiles.contract import Engine, Part, TileBatch, TileSet
from ..tiles.special_lines import RestartPoints
from ..tiles.tile import Area, Hit, Traced
from .path_prediction import Cell, Entry, Lines, SetLines, SweptLines, rate_of, similarity
from .problem import Path, Problem


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

    def has(self, row: int, column: int) -> bool:
        """Is this cell in the first of the tiles?"""
        area = self.parts[0].area
        return area.row < row <= area.row_end and area.column < column <= area.column_end


@dataclass
class _Run:
    """The state of one call of :meth:`SpeculativeTraceback.trace`."""

    #: The end of the path.
    end: Hit
    #: Called after each launch with moves that the path was traced through.
    after: Callable[[Path], None]
    #: The tile sets that the path is in, one a level, coarsest first.
    sets: list[SetLines] = field(default_factory=list)
    #: The level of a tile whose pruning was not valid for the path that came to it.
    refused: int | None = None
    #: Tiles with moves that are computed before they are known to be needed.
    begun: Step | None = None


class SpeculativeTraceback:
    """Traces a path back through tile batches; see :meth:`trace`."""

    @classmethod
    def of(
        cls, engine: Engine, problem: Problem, grid: RestartPoints, path: Path, stack: ExitStack
    ) -> SpeculativeTraceback | None:
        """The speculative traceback of the rest of ``path``; None if single tiles are better.
        ``stack`` frees the device's memory."""
        if problem.forbidden is not None:
            return None
        tuning = engine.plan.tuning.speculation
        if min(path.row, path.column) < tuning.least_sides * tuning.side:
            return None
        query, target = problem.query.slice(0, path.row), problem.target.slice(0, path.column)
        whole = query, target, problem.scoring, problem.floor, len(problem.query)
        try:
            tiles = engine.tile_batch(*whole)
        except DeviceError:
            return None
        if tiles is None:
            return None
        stack.enter_context(tiles)
        made = cls(tiles, engine.plan.tuning, problem, grid, path)
        return made if made.levels else None

    def __init__(
        self, engine: TileBatch, tuning: Tuning, problem: Problem, grid: RestartPoints, path: Path
    ) -> None:
        self.engine, self.problem, self.tuning = engine, problem, tuning.speculation
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
        #: Did the device run out of memory?
        self.failed = False
        #: Which of two buffers the last tiles with moves have.
        self._slot = 0
        self._run = _Run(Hit(0, 0, 0), lambda path: None)

    def trace(self, path: Path, end: Hit, after: Callable[[Path], None]) -> bool:
        """Trace ``path``, which ends at ``end``, back as far as predictions lead.  Returns whether
        it moved.  ``after`` is called after each launch that it was traced through."""
        before = path.row, path.column
        self._run = _Run(end, after)
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
        run = self._run
        tile, level = 0, len(run.sets)
        while not path.ended:
            cell = lines.cell(path.row, path.column, tile)
            if cell is None:
                break
            before = path.row, path.column
            path.between(path)
            if level == len(self.levels):
                step = run.begun
                if step is None or not step.has(*before):
                    step = self._begin(lines, Guess(*before, None, cell, 0))
                parts, last = step.parts, self._step(lines, step, path)
            else:
                at_end = before == (run.end.row, run.end.column)
                h = run.end.score if at_end else lines.h_at(*before)
                parts, _ = self._parts(lines, level, Guess(*before, h, cell, 0))
                finer = SetLines(self._finer(level, parts))
                run.sets.append(finer)
                last = self._trace(finer, path)
                run.sets.pop()
                run.begun = None
            tile = parts[last].inside
            # after a wrong prediction fewer tiles, because they may be computed again
            used = last + 1 if last + 1 < len(parts) else self.most_tiles[level]
            most, few = self.tuning.most_tiles, self.tuning.few_tiles
            self.most_tiles[level] = min(most, max(few, 2 * used))
            if run.refused is not None:
                if run.refused < level:
                    break
                run.refused = None
            if (path.row, path.column) == before:
                break
        return tile

    def _parts(self, lines: Lines, level: int, guess: Guess) -> tuple[list[Part], Guess | None]:
        """The tiles of a launch, from a guess backward, and where the path probably goes on after
        them (None: not known)."""
        row, column, h, cell, margin = guess
        match, extend = self.match, self.problem.scoring.gap_extend
        parts: list[Part] = []
        beside: list[Part] = []
        used = 0
        while len(parts) < self.most_tiles[level]:
            area, tile = cell.area, cell.tile
            around = self._part_of(area, row + margin - area.row, column + margin - area.column)
            used += sum(self._bytes(level, one) for one in (around, *(p.area for p in beside)))
            if parts and used > self.level_bytes[level]:
                break
            known = None
            pruned = level < len(self.levels) and max(around.shape) >= self.tuning.pruned_side
            if h is not None and pruned:
                known = h - self.tuning.slack * match - self.gap_open
            exit = around.row_end - row, around.column_end - column
            entry = lines.entry(cell, min(row, area.row_end), min(column, area.column_end), h)
            letters = row + column - entry.row - entry.column
            rate = rate_of(h, entry.h, letters, match, extend)
            parts += [*beside, Part(around, tile, known, sum(exit) + margin, exit, rate)]
            row, column, h = entry.row, entry.column, entry.h
            if self.problem.floor is not None and h <= self.tuning.begun * match:
                return parts, None
            following = lines.cell(row, column, tile) if h >= UNREACHABLE_BELOW else None
            if following is None:
                return parts, None
            unlike = max(0.0, 1 - 2 * similarity(rate, match))
            margin = self._margin(max(area.shape), unlike)
            beside = self._beside(lines, cell, entry, margin) if unlike else []
            cell = following
        return parts, Guess(row, column, h, cell, margin)

    def _part_of(self, area: Area, rows: int, columns: int) -> Area:
        """The first rows and columns of an area, if it has so many, in whole strips."""
        quantum = self.engine.row_quantum
        rows = -(-min(rows, area.shape[0]) // quantum) * quantum
        columns = min(columns, area.shape[1])
        return Area(area.row, area.row + rows, area.column, area.column + columns)

    def _margin(self, side: int, unlike: float) -> int:
        """Rows and columns beyond a predicted crossing that are computed, too.  ``unlike``: how
        little alike the sequences are there, from 0 to 1."""
        more = 1 + (self.tuning.unlike_margin - 1) * unlike
        return int(max(self.tuning.least_margin, side * self.tuning.margin) * more)

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
        exit = (part.shape[0] - 1, 0) if above else (0, part.shape[1] - 1)
        return [Part(part, other.tile, exit=exit, rate=self.match / 2)]

    def _bytes(self, level: int, area: Area) -> int:
        """Bytes that a tile of this level takes of the level's memory."""
        rows, columns = area.shape
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
        found: TileSet
        if self._run.sets:
            found = self.engine.inside(level, self._run.sets[-1].tiles, parts, steps)
        else:
            sides = [(grid.corner(p.area), *grid.sides(p.area)) for p in parts]
            found = self.engine.begin(level, parts, sides, steps)
        return found

    def _begin(self, lines: Lines, guess: Guess) -> Step:
        """Start a launch of tiles with moves."""
        parts, rest = self._parts(lines, len(self.levels), guess)
        self._slot = 1 - self._slot
        outer = self._run.sets[-1].tiles
        return Step(parts, self.engine.moves(outer, parts, self._slot, self.moves_capacity), rest)

    def _step(self, lines: Lines, step: Step, path: Path) -> int:
        """Trace ``path`` through tiles with moves, as far as they are valid for it.  Returns the
        last of them.  The launch that probably follows is started meanwhile."""
        parts, start, last = step.parts, (path.row, path.column, path.state), 0
        tracing, self._run.begun = self.engine.trace(step.moves, *start), None
        if step.rest is not None and len(parts) < self.most_tiles[-1]:
            self._run.begun = self._begin(lines, step.rest)
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
        self._run.after(path)
        return last

    def _right(self, part: Part, row: int, column: int) -> bool:
        """Are this tile and the pruned tiles around it valid for a path that comes to this cell?

        A cell is pruned if it cannot contribute to an H of at least ``known`` near the tile's last
        corner.  A path that leaves the tile with a lower H, or elsewhere, may cross pruned cells.
        """
        tile = part.inside
        for level in range(len(self._run.sets) - 1, -1, -1):
            lines, outer = self._run.sets[level], self._run.sets[level - 1] if level else self.lines
            here = lines.tiles.parts[tile]
            if tile != lines.at and here.known is not None:
                h, end = outer.h_at(row, column), here.area
                offset = end.row_end - row + end.column_end - column
                if h is None or h - self.gap_open < here.known or offset > here.offset:
                    self._run.refused = level
                    return False
            lines.at, tile = tile, here.inside
        return True
