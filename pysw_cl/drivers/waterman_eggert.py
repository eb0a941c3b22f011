"""The best local alignments of two sequences that share no aligned pair, one after the other.

Method: Waterman & Eggert (1987, J Mol Biol 197, 723-728).  After an alignment is found, the pairs
of letters that it aligns are forbidden: no later path may take the diagonal step of their cells.
The next alignment is the best of the matrix with these forbidden pairs.  The first sweep keeps the
edges of a grid of tiles.  Only the tiles that the path crosses are computed again, and a tile next
to them only if the edge between them has changed."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np

from ..planning.execution import Execution, HeldWhole
from ..planning.geometry import tile_shape
from ..planning.path_grid import grid_places
from ..results.cigar import DIAGONAL, QUERY, TARGET
from ..results.stats import Stats
from ..sequences.view import Pairs
from ..tiles.contract import Engine, persistently
from ..tiles.edges import EdgeArray
from ..tiles.slabs import SweepResult
from ..tiles.special_lines import SweptGrid
from ..tiles.sweep import sweep
from ..tiles.tile import Area, Costs, Hit, Want
from .job import Found, Job
from .problem import Path, Problem
from .progress import Tell, TopProgress
from .traceback import trace_back

if TYPE_CHECKING:
    from ..engines.held import HeldMatrix

#: The place of a tile in the grid: its tile row, its tile column.
Place = tuple[int, int]


def find_top(
    engine: Engine, job: Job, count: int, least: int, progress: TopProgress
) -> Generator[tuple[Found, Path | None]]:
    """Up to ``count`` local alignments of at least ``least`` (1 or more) of a ``job`` of one
    strand, best first, each with its path (None: not known, and the job's output is no path).

    Each is the best alignment that contains no aligned pair of those before it.  Of equal ends it
    is the first in row-major order; its path is the canonical one.  Its ``stats`` have the cells
    and launches that it took.  An exception that ``progress`` raises ends the search."""
    tiles: _Tiles | None = None
    problem, plan, wanted = job.problem, engine.plan, job.output == "path"

    def one(end: Hit, cost: Costs, execution: Execution | None) -> Found:
        stats = Stats(cost.cells, cost.launches, again=cost.again)
        return Found(end, None, plan, stats, None, None, execution)

    for number in range(1, count + 1):
        here = problem if tiles is None else tiles.problem
        hold = partial(engine.hold, here, here.free, number)
        matrix: HeldMatrix | None = persistently(engine, hold)
        if matrix is not None:
            del tiles
            whole = HeldWhole(plan, *here.shape)
            with matrix:
                for more in range(number, count + 1):
                    tell = progress.sweep(more == 1)
                    found = matrix.next(wanted or more < count)
                    tell(1, 1)
                    if found.end.score < least:
                        return
                    yield one(found.end, found, whole), Path.of_held(found, here)
            return
        if tiles is None:
            tiles = _Tiles(engine, problem, least)
            touched = set(tiles.areas)
        tiles.compute(touched, progress.sweep(number == 1))
        if not tiles.best:
            return
        end = min(tiles.best.values())
        path = tiles.trace(end, progress) if wanted or number < count else None
        swept, tiles.swept = tiles.swept, SweepResult()
        yield one(end, swept, swept.execution), path
        if path is not None:
            touched = tiles.forbid(aligned_pairs(path))


def aligned_pairs(path: Path) -> Pairs:
    """The pairs of letters that a path aligns: those of its diagonal moves (2 x pairs)."""
    moves = path.forward()
    rows = path.row + np.cumsum(moves != TARGET)
    columns = path.column + np.cumsum(moves != QUERY)
    diagonal = moves == DIAGONAL
    return np.stack([rows[diagonal], columns[diagonal]]).astype(np.int64) - 1


@dataclass
class _Tiles:
    """The matrix as a grid of tiles, with the edges between them."""

    engine: Engine
    problem: Problem
    least: int
    #: The best cell of each tile that has one of at least ``least``.
    best: dict[Place, Hit] = field(default_factory=dict)
    #: What was swept and traced since the last alignment.
    swept: SweepResult = field(default_factory=SweepResult)

    def __post_init__(self) -> None:
        m, n = self.problem.shape
        tuning = self.engine.plan.tuning.traceback
        self.rows = grid_places(tuning, m, self.engine.plan.strip_rows)
        self.columns = grid_places(tuning, n, 1)
        self.grid = SweptGrid.over(self.problem.edges, self.rows, self.columns)
        cells = product(enumerate(pairwise(self.rows)), enumerate(pairwise(self.columns)))
        #: All tiles in row-major order.
        self.areas = {(i, j): Area(*row, *column) for (i, row), (j, column) in cells}

    def compute(self, touched: set[Place], tell: Tell) -> None:
        """Compute the ``touched`` tiles, and each tile whose edges or corner change by that."""
        waiting, tiles = set(touched), len(self.areas)
        for number, (place, area) in enumerate(self.areas.items()):
            if place in waiting:  # a tile depends on earlier ones only
                tell_tile = partial(lambda k, done, of: tell(k + done / of, tiles), number)
                waiting |= self._compute(place, area, tell_tile)

    def _compute(self, place: Place, area: Area, tell: Tell) -> set[Place]:
        """Compute one tile; returns the tiles whose edges or corner have changed."""
        plan, (i, j) = self.engine.plan, place
        m, n = area.shape
        below, beside = self.grid.rows.get(area.row_end), self.grid.columns.get(area.column_end)
        bottom = None if below is None else EdgeArray(n)
        right = None if beside is None else EdgeArray(m)
        result = sweep(
            self.engine,
            self.problem.inside(area),
            replace(self.grid.edges_of(area), bottom=bottom, right=right),
            Want("all", threshold=self.least),
            shape=tile_shape(m, n, plan.tile_cells, longest=plan.tuning.sweep.longest_side),
            progress=tell,
        )
        self.swept.add_cost(result)
        self.swept.add_execution(result.execution, result.most)
        self.best.pop(place, None)
        for hit in result.hits:
            self.best[place] = Hit(hit.score, area.row + hit.row, area.column + hit.column)

        changed, corner = set(), False
        for kept, made, start, neighbour in (
            (below, bottom, area.column, (i + 1, j)),
            (beside, right, area.row, (i, j + 1)),
        ):
            if kept is not None and made is not None:
                before, now = kept.read(start, start + len(made)), made.read(0, len(made))
                if not (np.array_equal(before.h, now.h) and np.array_equal(before.x, now.x)):
                    changed.add(neighbour)
                corner |= before.h[-1] != now.h[-1]
                kept.write(start, now)
        if corner and below is not None and beside is not None:
            changed.add((i + 1, j + 1))
        return changed

    def trace(self, end: Hit, progress: TopProgress) -> Path:
        path = Path(end.row, end.column, between=progress.trace(end))
        trace = partial(trace_back, self.engine, self.problem, self.grid, end, path)
        persistently(self.engine, trace, lambda: (path.row, path.column))
        self.swept.add_cost(path)
        return path

    def forbid(self, pairs: Pairs) -> set[Place]:
        """Forbid ``pairs`` from now on; returns the tiles that contain them."""
        before, n = self.problem.forbidden, len(self.problem.target)
        every = pairs[:, :0] if before is None else before  # both are sorted
        places = np.searchsorted(every[0] * n + every[1], pairs[0] * n + pairs[1])
        self.problem = replace(self.problem, forbidden=np.insert(every, places, pairs, axis=1))
        i = np.searchsorted(self.rows, pairs[0], "right") - 1
        j = np.searchsorted(self.columns, pairs[1], "right") - 1
        return set(zip(i.tolist(), j.tolist(), strict=True))
