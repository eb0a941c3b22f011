"""The paths that end at given cells of a local comparison.

Method: of the matrix only a box above and to the left of an end is computed, and a larger one where
that does not prove its path (docs/algorithm.md, *Many ends*).  The cells that lead into the box are
set to the most that they can be.  If the path traced back from the end still begins inside the box,
no path through those cells is as good, and it is the canonical path of the whole matrix.  So a box
takes the place of the backward search in chunks of Khajeh-Saeed & Perot (2011, GPU Computing Gems,
chapter 13), which finds out how far the paths of an end reach (kernel 2 of SSCA#1, Bader et al.
2006).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from ..planning.path_grid import special_lines, strip_rows
from ..results.cigar import FoundPath
from ..results.pair_paths import runs_of
from ..results.stats import Stats
from ..tiles.contract import BoxEnd, Engine
from ..tiles.edges import Edges
from ..tiles.special_lines import SweptGrid
from ..tiles.sweep import sweep
from ..tiles.tile import Area, Box, Costs, Hit
from .job import Job, path_of
from .problem import Path
from .traceback import trace_back

#: A box, and the numbers of the ends in it.
Group = tuple[Box, list[int]]


def trace_ends(
    engine: Engine,
    job: Job,
    ends: Sequence[Hit],
    highest: int | None = None,
    done: Callable[[int], None] = lambda count: None,
) -> TracedEnds:
    """The canonical paths of the local alignments that end at ``ends``, which are different cells
    of the job's frame.

    The score of a path is H of its end, whatever the score of the `Hit` says, from which only the
    size of the first box follows.  ``highest``: no cell of the matrix has a higher score; None:
    nothing is known.  ``done(count)`` is told of how many ends the paths are found.
    """
    found = TracedEnds(job, ends, [None] * len(ends))
    match, first = max(1, job.scoring.highest), engine.plan.tuning.boxes
    sides = [first.sides * -(-end.score // match) + first.more for end in ends]
    left = list(range(len(ends)))
    done(0)
    while left:
        groups = []
        for area, members in _grouped(ends, sides, left):
            most = match * min(area.row_end, area.column_end)
            most = most if highest is None else min(most, highest)
            groups.append((Box(area, most, match), members))
        for box, members in found.in_batches(engine.for_moves, groups):
            found.by_tiles(engine.for_moves, box, members)
        still = [k for k in left if found.paths[k] is None]
        for k in still:
            sides[k] *= 2
        left = still
        done(len(ends) - len(left))
    return found


def _grouped(
    ends: Sequence[Hit], sides: Sequence[int], chosen: Iterable[int]
) -> list[tuple[Area, list[int]]]:
    """Groups of neighbouring ends whose common box has no more cells than their own boxes: the
    common box, and their numbers."""
    groups: list[tuple[Area, list[int]]] = []
    cells = 0
    for k in sorted(chosen, key=lambda k: (ends[k].column, ends[k].row)):
        row, column, side = ends[k].row, ends[k].column, sides[k]
        own = Area(max(0, row - side), row, max(0, column - side), column)
        if groups and (both := groups[-1][0].around(own)).cells <= cells + own.cells:
            groups[-1] = both, [*groups[-1][1], k]
            cells = max(both.cells, cells)
        else:
            groups.append((own, [k]))
            cells = own.cells
    return groups


@dataclass
class TracedEnds(Costs):
    """The paths of ``ends``, in their order, as far as they are found, and what they cost."""

    job: Job
    ends: Sequence[Hit]
    paths: list[FoundPath | None]

    def in_batches(self, engine: Engine, groups: list[Group]) -> list[Group]:
        """Find paths in those boxes that the engine computes together.  Returns the others."""
        able, job = engine.box_paths, self.job
        if able is None or job.scoring.by_position:  # its codes are those of letters
            return groups
        fits = able.fits([box for box, _ in groups], [len(members) for _, members in groups])
        together = [group for group, fit in zip(groups, fits, strict=True) if fit]
        if together:
            boxes, every = zip(*together, strict=True)
            places = [
                BoxEnd(at, *self._inside(boxes[at], k))
                for at, members in enumerate(every)
                for k in members
            ]
            letters = job.frame.region(0, job.frame.shape[0], 0, job.frame.shape[1])
            paths, cells, launches = able.trace(*letters, job.scoring, boxes, places)
            self.add_cost(Stats(cells, launches))
            for place, k, path in zip(places, chain(*every), paths, strict=True):
                box = boxes[place.box]
                if box.proves(path.row, path.column):
                    row, column = box.area.row + path.row, box.area.column + path.column
                    self.paths[k] = FoundPath(row, column, runs_of(path.words), path.score)
        return [group for group, fit in zip(groups, fits, strict=True) if not fit]

    def _inside(self, box: Box, k: int) -> tuple[int, int]:
        """Row and column of end number k, counted from the corner of its box."""
        return self.ends[k].row - box.area.row, self.ends[k].column - box.area.column

    def by_tiles(self, engine: Engine, box: Box, members: list[int]) -> None:
        """Find the paths to ends in one box, as `align` finds the path of a matrix: in one tile if
        its moves can be stored, else by a sweep with special rows and columns, and tracebacks."""
        plan, problem = engine.plan, self.job.problem.inside(box.area)
        edges, (m, n) = Edges(*box.edges(self.job.scoring.gap_open)), problem.shape
        if plan.moves_bytes(m, n) <= plan.traceback_tile_cells // 2:
            tile = engine.tile(problem.tile(Area(0, m, 0, n), edges, store_moves=True))
            self.add_cost(tile)
            moves, grid = tile.moves, SweptGrid.over(edges, [], [])
        else:
            shape = plan.tile_shape(m, n)
            quantum = strip_rows(plan, *shape)
            rows, columns, _ = special_lines(plan.tuning.traceback, m, n, quantum)
            moves, grid = None, SweptGrid.over(edges, rows, columns)
            self.add_cost(sweep(engine, problem, grid.saving(), shape=shape))
        try:
            for k in members:
                end = Hit(self.ends[k].score, *self._inside(box, k))
                if moves is None:
                    path = trace_back(engine, problem, grid, end)
                    self.add_cost(path)
                else:
                    path = Path(end.row, end.column)
                    path.follow(moves.trace(end.row, end.column, 0))
                if box.proves(path.row, path.column):
                    path.row, path.column = path.row + box.area.row, path.column + box.area.column
                    self.paths[k] = path_of(self.job, self.ends[k], path, plan)
        finally:
            if moves is not None:
                moves.release()
