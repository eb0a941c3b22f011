"""The path, ahead of itself: the tiles that it is likely to lead through, computed side by side.

`traceback` walks one grid cell at a time, because only the walk tells where the next one is left.
Here the kept rows and columns say where the path probably crosses them: where a cell on them
promises most.  The cells between, each up to a little beyond that place, are computed in one
launch, with finer rows and columns, those in turn likewise, and at last with moves.  What the walk
finds is exact all the same: wherever the path leaves what was guessed, it goes on from there as if
nothing had been.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

from ..errors import DeviceError
from ..planning.parameters import Tuning
from ..scoring.precision import UNREACHABLE_BELOW
from ..tiles.contract import Engine, Part, TileBatch, TileSet
from ..tiles.special_lines import RestartPoints
from ..tiles.tile import Area, Hit, Traced
from .path_prediction import Cell, Lines, SetLines, swept_lines
from .problem import Problem
from .traceback_state import Path, path_bytes


class Guess(NamedTuple):
    """Where a path probably goes on: in ``cell``, which it enters (backward) at a place with an H
    (None: not known), up to ``margin`` cells beyond."""

    row: int
    column: int
    h: int | None
    cell: Cell
    margin: int


class Step(NamedTuple):
    """Tiles with moves, and where the path probably goes on after them."""

    parts: list[Part]
    moves: Any
    rest: Guess | None

    def has(self, row: int, column: int) -> bool:
        """Does the path come to the first of the tiles at this cell?"""
        area = self.parts[0].area
        return area.row < row <= area.row_end and area.column < column <= area.column_end


class SpeculativeTraceback:
    """Walks a path by tiles computed side by side; see :meth:`trace`."""

    @classmethod
    def of(
        cls, engine: Engine, problem: Problem, grid: RestartPoints, path: Path, stack: ExitStack
    ) -> SpeculativeTraceback | None:
        """For a path from where it is now; None where tiles are better done one by one.  ``stack``
        gives the device's memory back."""
        if problem.forbidden is not None or engine.tile_batches is None:
            return None
        tuning = engine.plan.tuning.speculation
        if min(path.row, path.column) < tuning.least_sides * tuning.side:
            return None
        query, target = problem.query.slice(0, path.row), problem.target.slice(0, path.column)
        rows = len(problem.query)
        try:
            whole = query, target, problem.scoring, problem.floor, rows
            tiles = engine.tile_batches.start(*whole)
        except DeviceError:
            return None
        if tiles is None:
            return None
        stack.enter_context(tiles)
        ahead = cls(tiles, engine.plan.tuning, problem, grid, path)
        return ahead if ahead.levels else None

    def __init__(
        self, engine: TileBatch, tuning: Tuning, problem: Problem, grid: RestartPoints, path: Path
    ) -> None:
        self.engine, self.problem, self.tuning = engine, problem, tuning.speculation
        engine.meanwhile = lambda busy: path.meanwhile(path, busy)
        self.match, self.gap_open = max(0, problem.scoring.highest), problem.scoring.gap_open
        spacing = self.tuning.spacing
        self.lines = swept_lines(grid, path.row, path.column, self.match, spacing)
        self.levels = list(self._levels(self.lines.side))
        trace, share = tuning.traceback, tuning.speculation_memory
        most = max(1, path_bytes(trace, len(problem.query), len(problem.target)))
        inner = max(0, len(self.levels) - 1)
        free = max(0, most - engine.held_bytes)
        # less where the grid has more than its share
        scale = min(most, free / (1 - trace.grid_share))
        shares = [share.inner * share.next**k for k in range(inner)]
        rest = sum(shares) + share.moves
        first = min(share.first * most, share.left * (free - rest * scale))
        sizes = [first, *(part * scale for part in [*shares, share.moves])]
        self.level_bytes = [int(min(size, engine.most_bytes)) for size in sizes]
        # of a launch with moves the moves have their share, and the edges of two launches the rest
        side = self.tuning.side
        moves, edges = engine.moves_bytes(side, side), 2 * self._edge_bytes(side, side)
        self.moves_share = moves / (moves + edges)
        room, crossed = self.moves_share * self.level_bytes[-1], side * (path.row + path.column) / 2
        self.moves_capacity = int(min(room, crossed))  # 4 bits for each cell of the tiles of a path
        self.end, self.sets = Hit(0, 0, 0), list[SetLines]()
        self.refused: int | None = None  # the level of a tile that was computed for another path
        self.most_tiles = [self.tuning.most_tiles] * len(sizes)
        self.failed = False
        self._begun: Step | None = None  # tiles with moves that were begun before they were needed
        self._slot = 0  # of the two that tiles with moves take in turn

    def _levels(self, side: int) -> Iterator[tuple[int, int]]:
        """How far special rows and columns are apart, from the first finer ones on."""
        quantum, cells = self.engine.row_quantum, self.tuning.first_cells
        least = self.tuning.side
        while side > least + least // 2:
            step, cells = max(least, -(-side // cells)), self.tuning.cells
            if step < 2 * least:
                step = least
            yield -(-step // quantum) * quantum, step
            side = step

    def trace(self, path: Path, end: Hit, after: Callable[[Path], None]) -> bool:
        """Walk ``path``, which ends at ``end``, as far as guesses go; says whether that is
        anywhere.  ``after`` is called after each part of it."""
        before = path.row, path.column
        self.end, self.sets, self.refused, self.after = end, [], None, after
        self._begun = None
        if self.failed:
            return False
        try:
            self._trace(self.lines, path)
        except DeviceError:  # one by one needs less memory
            self.failed = True
            self.engine.free()
        path.add_cost(*self.engine.cost())
        return path.ended or (path.row, path.column) != before

    def _trace(self, lines: Lines, path: Path) -> int:
        """Walk ``path`` through tiles between ``lines``, which are of the last of the sets; says in
        which of its tiles it was last."""
        tile, level = 0, len(self.sets)
        while not path.ended:
            cell = lines.cell(path.row, path.column, tile)
            if cell is None:
                break
            before = path.row, path.column
            path.between(path)
            if level == len(self.levels):
                step = self._begun
                if step is None or not step.has(*before):
                    step = self._begin(lines, Guess(*before, None, cell, 0))
                parts, last = step.parts, self._step(lines, step, path)
            else:
                guess = Guess(*before, self._h_at(lines, path), cell, 0)
                parts, _ = self._parts(lines, level, guess)
                finer = SetLines(self._finer(level, parts))
                self.sets.append(finer)
                last = self._trace(finer, path)
                self.sets.pop()
                self._begun = None
            tile = parts[last].inside
            # after a wrong guess fewer tiles, which may be computed again
            used = last + 1 if last + 1 < len(parts) else self.most_tiles[level]
            most, few = self.tuning.most_tiles, self.tuning.few_tiles
            self.most_tiles[level] = min(most, max(few, 2 * used))
            if self.refused is not None:
                if self.refused < level:
                    break
                self.refused = None
            if (path.row, path.column) == before:
                break
        return tile

    def _h_at(self, lines: Lines, path: Path) -> int | None:
        """H where the path is now, if that is easily known."""
        if (path.row, path.column) == (self.end.row, self.end.column):
            return self.end.score
        return lines.h_at(path.row, path.column)

    def _parts(self, lines: Lines, level: int, guess: Guess) -> tuple[list[Part], Guess | None]:
        """The tiles of a launch, from a guess backward, and where the path probably goes on; None
        where nothing says."""
        row, column, h, cell, margin = guess
        quantum = self.engine.row_quantum
        parts: list[Part] = []
        used = 0
        while len(parts) < self.most_tiles[level]:
            area, tile = cell.area, cell.tile
            row_end = min(area.row_end, row + margin)
            column_end = min(area.column_end, column + margin)
            row_end = area.row + -(-(row_end - area.row) // quantum) * quantum
            around = Area(area.row, row_end, area.column, column_end)
            used += self._bytes(level, around)
            if parts and used > self.level_bytes[level]:
                break
            known = None
            if h is not None and self._prunes(level, around):
                known = h - self.tuning.slack * self.match - self.gap_open
            offset = row_end - row + column_end - column + margin
            parts.append(Part(around, tile, known, offset))
            entry = lines.entry(cell, min(row, area.row_end), min(column, area.column_end))
            row, column, h = entry.row, entry.column, entry.h
            if self.problem.floor is not None and h <= self.tuning.begun * self.match:
                return parts, None
            following = lines.cell(row, column, tile) if h >= UNREACHABLE_BELOW else None
            if following is None:
                return parts, None
            side = max(area.row_end - area.row, area.column_end - area.column)
            cell = following
            margin = max(self.tuning.least_margin, int(side * self.tuning.margin))
        return parts, Guess(row, column, h, cell, margin)

    def _prunes(self, level: int, area: Area) -> bool:
        """Is a tile of this level computed only where it can matter?"""
        side = max(area.row_end - area.row, area.column_end - area.column)
        return level < len(self.levels) and side >= self.tuning.pruned_side

    def _bytes(self, level: int, area: Area) -> int:
        rows, columns = area.row_end - area.row, area.column_end - area.column
        if level == len(self.levels):
            moves, edges = self.engine.moves_bytes(rows, columns), self._edge_bytes(rows, columns)
            return int(max(moves / self.moves_share, 2 * edges / (1 - self.moves_share)))
        return self.engine.kept_bytes(rows, columns, self.levels[level])

    def _edge_bytes(self, rows: int, columns: int) -> int:
        """Memory of the edges of a tile with moves."""
        return self.engine.kept_bytes(rows, columns, (rows + 1, columns))

    def _finer(self, level: int, parts: list[Part]) -> TileSet:
        steps = self.levels[level]
        if self.sets:
            inside: TileSet = self.engine.inside(level, self.sets[-1].tiles, parts, steps)
            return inside
        grid = self.lines.grid
        sides = [(grid.corner(p.area), *grid.sides(p.area)) for p in parts]
        begun: TileSet = self.engine.begin(level, parts, sides, steps)
        return begun

    def _begin(self, lines: Lines, guess: Guess) -> Step:
        """Begin to compute tiles with moves."""
        parts, rest = self._parts(lines, len(self.levels), guess)
        self._slot = 1 - self._slot
        outer = self.sets[-1].tiles
        return Step(parts, self.engine.moves(outer, parts, self._slot, self.moves_capacity), rest)

    def _step(self, lines: Lines, step: Step, path: Path) -> int:
        """Walk through tiles with moves, as far as they are right; says which was the last.  What
        probably follows is begun meanwhile."""
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
        path.moves.append(trace.moves)
        path.row, path.column = trace.row, trace.column
        path.state, path.ended = trace.state, trace.ended
        path.add_cost(*self.engine.cost())
        self.after(path)
        return last

    def _right(self, part: Part, row: int, column: int) -> bool:
        """Is what the tiles around this one were computed for right for a path that comes to this
        cell?  What is pruned in a tile cannot reach an H that is ``known`` near its last corner: a
        path that leaves it with less, or elsewhere, may have led through that."""
        tile = part.inside
        for level in range(len(self.sets) - 1, -1, -1):
            lines, outer = self.sets[level], self.sets[level - 1] if level else self.lines
            here = lines.tiles.parts[tile]
            if tile != lines.at and here.known is not None:
                h, end = outer.h_at(row, column), here.area
                offset = end.row_end - row + end.column_end - column
                if h is None or h - self.gap_open < here.known or offset > here.offset:
                    self.refused = level
                    return False
            lines.at, tile = tile, here.inside
        return True
