"""The best local alignments of two sequences that share no aligned pair, one after the other.

Method: Waterman & Eggert (1987, J Mol Biol 197, 723-728).  After an alignment is found, the pairs
of letters that it aligns are forbidden: no later path may take the diagonal step of their cells.
The next alignment is the best of the matrix with these forbidden pairs.  The first sweep keeps the
edges of a grid of tiles.  Only the tiles that the path crosses are computed again, and a tile next
to them only if the edge between them has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise, product

import numpy as np

from ..planning.geometry import tile_shape
from ..planning.path_grid import grid_places
from ..planning.plan import Plan
from ..sequences.view import Pairs
from ..tiles.contract import Engine, HeldMatrix
from ..tiles.edges import Edge, EdgeArray
from ..tiles.special_lines import SweptGrid
from ..tiles.sweep import sweep
from ..tiles.tile import Area, Hit, Want
from .held import held_matrix, held_path
from .problem import Problem
from .progress import TopStrand
from .traceback import trace_back
from .traceback_state import CONSUMES_QUERY, CONSUMES_TARGET, Path

#: The place of a tile in the grid: its tile row, its tile column.
Place = tuple[int, int]


@dataclass
class FoundAlignment:
    """One alignment."""

    end: Hit
    #: None: it was not wanted.
    path: Path | None
    #: Cells computed for it, by lane set.
    cells: dict[str, int]
    launches: int


def find_top(
    engine: Engine,
    problem: Problem,
    plan: Plan,
    count: int,
    least: int,
    *,
    last_path: bool = True,
    progress: TopStrand | None = None,
) -> Generator[FoundAlignment]:
    """Up to ``count`` local alignments of at least ``least`` (1 or more), best first.

    Each is the best alignment that contains no aligned pair of those before it.  Of equal ends it
    is the first in row-major order; its path is the canonical one.  ``last_path``: is the path of
    the last one wanted?  ``progress`` is told of each tile of the first sweep, and of what is
    computed later; an exception that it raises ends the search.

    Source: Waterman & Eggert (1987); see the module.
    """
    tiles: _Tiles | None = None
    touched: set[Place] = set()
    for number in range(1, count + 1):
        here = problem if tiles is None else tiles.problem
        matrix = held_matrix(engine, here, number)
        if matrix is not None:
            del tiles
            with matrix:
                yield from _held(matrix, here, range(number, count + 1), least, last_path, progress)
            return
        if tiles is None:
            tiles = _Tiles(engine, problem, plan, least, progress)
            touched = set(tiles.areas)
        tiles.compute(touched)
        if not tiles.best:
            return
        if progress is not None:
            progress.expect(tiles.peaks())
        end = min(tiles.best.values())
        path = tiles.trace(end) if last_path or number < count else None
        yield FoundAlignment(end, path, tiles.cells, tiles.launches)
        tiles.cells, tiles.launches = {}, 0
        if path is not None:
            touched = tiles.forbid(aligned_pairs(path))


def _held(
    matrix: HeldMatrix,
    problem: Problem,
    numbers: range,
    least: int,
    last_path: bool,
    progress: TopStrand | None,
) -> Iterator[FoundAlignment]:
    """As `find_top`, for a matrix that is held whole: the alignments of these ``numbers``."""
    total = len(problem.query) * len(problem.target)
    tell = progress or (lambda done, total: None)
    tell(0 if numbers[0] == 1 else total, total)
    for number in numbers:
        found = matrix.next(last_path or number != numbers[-1])
        tell(total, total)
        if found.end.score < least:
            return
        path = held_path(found, problem)
        yield FoundAlignment(found.end, path, found.cells, found.launches)


def aligned_pairs(path: Path) -> Pairs:
    """The pairs of letters that a path aligns: those of its diagonal moves (2 x pairs)."""
    moves = path.forward()
    rows = path.row + np.cumsum(moves != CONSUMES_TARGET)
    columns = path.column + np.cumsum(moves != CONSUMES_QUERY)
    diagonal = (moves != CONSUMES_TARGET) & (moves != CONSUMES_QUERY)
    return np.stack([rows[diagonal], columns[diagonal]]).astype(np.int64) - 1


@dataclass
class _Tiles:
    """The matrix as a grid of tiles, with the edges between them."""

    engine: Engine
    problem: Problem
    plan: Plan
    #: The least score that is wanted.
    least: int
    progress: TopStrand | None
    #: The best cell of each tile that has one of at least ``least``.
    best: dict[Place, Hit] = field(default_factory=dict)
    #: Cells and launches since the last alignment.
    cells: dict[str, int] = field(default_factory=dict)
    launches: int = 0

    def __post_init__(self) -> None:
        m, n = len(self.problem.query), len(self.problem.target)
        tuning = self.plan.tuning.traceback
        self.rows = grid_places(tuning, m, self.engine.row_quantum)
        self.columns = grid_places(tuning, n, 1)
        self.grid = SweptGrid.over(self.problem.edges, self.rows, self.columns)
        cells = product(enumerate(pairwise(self.rows)), enumerate(pairwise(self.columns)))
        #: All tiles in row-major order.
        self.areas = {(i, j): Area(*row, *column) for (i, row), (j, column) in cells}
        #: Cells of the first sweep, in all and so far.
        self.total, self.done = m * n, 0

    def compute(self, touched: set[Place]) -> None:
        """Compute the ``touched`` tiles, and each tile whose edges or corner change by that."""
        waiting = set(touched)
        for place, area in self.areas.items():  # a tile depends on earlier ones only
            if place in waiting:
                waiting |= self._compute(place, area)

    def _compute(self, place: Place, area: Area) -> set[Place]:
        """Compute one tile; returns the tiles whose edges or corner have changed."""
        problem, (i, j) = self.problem, place
        longest = self.plan.tuning.sweep.longest_side
        m, n = area.row_end - area.row, area.column_end - area.column
        below, beside = self.grid.rows.get(area.row_end), self.grid.columns.get(area.column_end)
        bottom = EdgeArray(n) if below is not None else None
        right = EdgeArray(m) if beside is not None else None
        result = sweep(
            self.engine,
            problem.query.slice(area.row, area.row_end),
            problem.target.slice(area.column, area.column_end),
            problem.scoring,
            problem.floor,
            replace(self.grid.edges_of(area), bottom=bottom, right=right),
            Want("all", threshold=self.least),
            shape=tile_shape(m, n, self.plan.tile_cells, longest=longest),
            progress=self._report,
            forbidden=area.pairs(problem.forbidden),
        )
        self._add(result.cells, result.launches)
        if self.done < self.total:
            self.done = min(self.done + area.cells, self.total)
        elif self.progress is not None:
            self.progress.work(sum(result.cells.values()))
        self.best.pop(place, None)
        for hit in result.hits:
            self.best[place] = Hit(hit.score, area.row + hit.row, area.column + hit.column)
        if self.progress is not None and self.best and self.done < self.total:
            score = max(hit.score for hit in self.best.values())  # it goes on as it began
            self.progress.expect([score * self.total // max(1, self.done)])

        changed = set()
        if below is not None and bottom is not None:
            before, now = below.read(area.column, area.column_end), bottom.read(0, n)
            if not _same(before, now):
                changed.add((i + 1, j))
            if before.h[-1] != now.h[-1] and beside is not None:
                changed.add((i + 1, j + 1))
            below.write(area.column, now)
        if beside is not None and right is not None:
            now = right.read(0, m)
            if not _same(beside.read(area.row, area.row_end), now):
                changed.add((i, j + 1))
            beside.write(area.row, now)
        return changed

    def peaks(self) -> list[int]:
        """The best scores of the tiles that no tile beside them exceeds, best first: about those of
        the alignments to come."""
        scores = np.zeros((len(self.rows) + 1, len(self.columns) + 1), np.int64)
        for (i, j), hit in self.best.items():
            scores[i + 1, j + 1] = hit.score
        inner = scores[1:-1, 1:-1]
        shifts = product((slice(0, -2), slice(1, -1), slice(2, None)), repeat=2)
        highest = np.max([scores[shift] for shift in shifts], axis=0)
        return sorted(inner[(inner > 0) & (inner == highest)].tolist(), reverse=True)

    def trace(self, end: Hit) -> Path:
        """The canonical path to ``end``."""
        limit = self.plan.traceback_tile_cells
        path = trace_back(self.engine, self.problem, self.grid, end, limit, self._between())
        self._add(path.cells, path.launches)
        return path

    def forbid(self, pairs: Pairs) -> set[Place]:
        """Forbid ``pairs`` from now on; returns the tiles that contain them."""
        every = self.problem.forbidden
        if every is None:
            every = pairs
        else:  # both are sorted
            n = len(self.problem.target)
            places = np.searchsorted(every[0] * n + every[1], pairs[0] * n + pairs[1])
            merged = [np.insert(old, places, new) for old, new in zip(every, pairs, strict=True)]
            every = np.stack(merged)
        self.problem = replace(self.problem, forbidden=every)
        i = np.searchsorted(self.rows, pairs[0], "right") - 1
        j = np.searchsorted(self.columns, pairs[1], "right") - 1
        return set(zip(i.tolist(), j.tolist(), strict=True))

    def _report(self, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(min(self.done + done, self.total), self.total)

    def _between(self) -> Callable[[Path], None]:
        """What reports a traceback: a row of a path takes as long as many cells of a sweep."""
        row: int | None = None

        def between(path: Path) -> None:
            nonlocal row
            if self.progress is not None:
                rows, row = (row or path.row) - path.row, path.row
                self.progress.work(rows * self.plan.traced_row)

        return between

    def _add(self, cells: dict[str, int], launches: int) -> None:
        self.launches += launches
        for kind, count in cells.items():
            self.cells[kind] = self.cells.get(kind, 0) + count


def _same(one: Edge, other: Edge) -> bool:
    return np.array_equal(one.h, other.h) and np.array_equal(one.x, other.x)
