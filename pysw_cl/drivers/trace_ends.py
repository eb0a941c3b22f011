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

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..planning.path_grid import special_lines
from ..results.cigar_builder import FoundPath
from ..results.pair_paths import runs_of
from ..results.stats import Stats
from ..tiles.contract import BoxEnd, Engine
from ..tiles.edges import Edges
from ..tiles.special_lines import SweptGrid
from ..tiles.tile import Area, Box, Costs, Hit, TileJob
from .job import Job, path_of
from .path import Path
from .problem import Problem
from .traceback import trace_back


@dataclass
class TracedEnds(Costs):
    """The paths of ends, in their order, and what they cost."""

    paths: list[FoundPath | None]
    cells: dict[str, int] = field(default_factory=dict)
    launches: int = 0


def trace_ends(
    engine: Engine,
    job: Job,
    ends: Sequence[Hit],
    highest: int | None = None,
    done: Callable[[int], None] = lambda ends: None,
) -> TracedEnds:
    """The canonical paths of the local alignments that end at ``ends``, which are different cells
    of the job's frame.

    The score of a path is H of its end, whatever the score of the `Hit` says, from which only the
    size of the first box follows.  ``highest``: no cell of the matrix has a higher score; None:
    nothing is known.  ``done(ends)`` is told of so many more ends whose paths are found.
    """
    found = TracedEnds([None] * len(ends))
    match, first = max(1, job.scoring.highest), engine.plan.tuning.boxes
    sides = [first.sides * -(-end.score // match) + first.more for end in ends]
    left = list(range(len(ends)))
    while left:
        groups = _grouped(ends, sides, left)
        boxes = [_box(group.area, match, highest) for group in groups]
        for group, box in _not_in_batches(engine, job, ends, groups, boxes, found):
            _by_tiles(engine.for_moves, job, [(k, ends[k]) for k in group.ends], box, found)
        still = [k for k in left if found.paths[k] is None]
        for k in still:
            sides[k] *= 2
        done(len(left) - len(still))
        left = still
    return found


class _Group(NamedTuple):
    """Ends by their numbers, and the area that has the boxes of all."""

    area: Area
    ends: list[int]


def _grouped(ends: Sequence[Hit], sides: Sequence[int], chosen: Iterable[int]) -> list[_Group]:
    """Groups of neighbouring ends whose common box has no more cells than their own boxes."""
    groups: list[_Group] = []
    cells = 0
    for k in sorted(chosen, key=lambda k: (ends[k].column, ends[k].row)):
        (row, column), side = (ends[k].row, ends[k].column), sides[k]
        own = Area(max(0, row - side), row, max(0, column - side), column)
        if groups:
            area, members = groups[-1]
            both = area.around(own)
            if both.cells <= cells + own.cells:
                groups[-1] = _Group(both, [*members, k])
                cells = max(both.cells, cells)
                continue
        groups.append(_Group(own, [k]))
        cells = own.cells
    return groups


def _box(area: Area, match: int, highest: int | None) -> Box:
    """The box of an area of the matrix."""
    most = match * min(area.row_end, area.column_end)
    return Box(area, most if highest is None else min(most, highest), match)


def _not_in_batches(
    engine: Engine,
    job: Job,
    ends: Sequence[Hit],
    groups: list[_Group],
    boxes: list[Box],
    found: TracedEnds,
) -> list[tuple[_Group, Box]]:
    """Find paths in those boxes that the engine computes together.  Returns the other boxes."""
    able = engine.for_moves.box_paths
    every = list(zip(groups, boxes, strict=True))
    if able is None or job.scoring.by_position:  # its codes are those of letters
        return every
    fits = able.fits(boxes, [len(group.ends) for group in groups])
    together = [one for one, fit in zip(every, fits, strict=True) if fit]
    if together:
        numbers, places = [], []
        for at, (group, box) in enumerate(together):
            row, column = box.area.row, box.area.column
            numbers += group.ends
            places += [BoxEnd(at, ends[k].row - row, ends[k].column - column) for k in group.ends]
        (m, n), scoring = job.frame.shape, job.scoring
        letters = job.frame.region(0, m, 0, n)
        paths, cells, launches = able.trace(*letters, scoring, [box for _, box in together], places)
        found.add_cost(Stats(cells, launches))
        for place, k, path in zip(places, numbers, paths, strict=True):
            box = together[place.box][1]
            if box.proves(path.row, path.column):
                row, column = box.area.row + path.row, box.area.column + path.column
                found.paths[k] = FoundPath(row, column, runs_of(path.words), path.score)
    return [one for one, fit in zip(every, fits, strict=True) if not fit]


def _by_tiles(
    engine: Engine, job: Job, ends: Sequence[tuple[int, Hit]], box: Box, found: TracedEnds
) -> None:
    """Find the paths to ends in one box, as `align` finds the path of a matrix."""
    area, problem = box.area, job.problem.inside(box.area)
    corner, top, left = box.edges(job.scoring.gap_open)
    edges = Edges(corner, top, left)
    inside = [Hit(end.score, end.row - area.row, end.column - area.column) for _, end in ends]
    (m, n), plan = problem.shape, engine.plan
    if engine.moves_bytes(m, n) <= plan.traceback_tile_cells // 2:
        tile = problem.tile(Area(0, m, 0, n), edges, store_moves=True)
        paths = _in_tile(engine, tile, inside, found)
    else:
        paths = _by_sweep(engine, problem, edges, inside, found)
    for (k, end), path in zip(ends, paths, strict=True):
        if box.proves(path.row, path.column):
            path.row, path.column = path.row + area.row, path.column + area.column
            found.paths[k] = path_of(job, end, path, plan)


def _in_tile(
    engine: Engine, tile: TileJob, ends: Sequence[Hit], found: TracedEnds
) -> Iterator[Path]:
    """The paths in a box whose moves can be stored."""
    result = engine.tile(tile)
    found.add_cost(result)
    moves = result.moves
    assert moves is not None
    try:
        for end in ends:
            path = Path(end.row, end.column)
            path.follow(moves.trace(end.row, end.column, 0))
            yield path
    finally:
        moves.release()


def _by_sweep(
    engine: Engine, problem: Problem, edges: Edges, ends: Sequence[Hit], found: TracedEnds
) -> Iterator[Path]:
    """The paths in a large box: of a sweep with special rows and columns, and tracebacks."""
    (m, n), plan = problem.shape, engine.plan
    shape, tuning = plan.tile_shape(m, n), plan.tuning.traceback
    rows, columns, _ = special_lines(tuning, m, n, engine.strip_rows(*shape))
    grid = SweptGrid.over(edges, rows, columns)
    found.add_cost(problem.sweep(engine, grid.saving(), shape=shape))
    for end in ends:
        path = trace_back(engine, problem, grid, end)
        found.add_cost(path)
        yield path
