"""The best cells of a local comparison, where alignments end, exactly and in order; and the paths
that end at given cells.

Methods: kernels 1 and 2 of SSCA#1 (Bader et al. 2006).  The first asks for the k best end points of
Smith-Waterman, with a least distance between two of them (Khajeh-Saeed & Perot 2011, GPU Computing
Gems, chapter 13).

For a path only a box above and to the left of its end is computed, and a larger one where that does
not prove the path (docs/algorithm.md, *Many ends*).  The cells that lead into the box are set to
the most that they can be.  If the path traced back from the end still begins inside the box, no
path through those cells is as good, and it is the canonical path of the whole matrix.  So a box
takes the place of Khajeh-Saeed & Perot's backward search in chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from math import ceil, log
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ..planning.geometry import tile_shape
from ..planning.path_grid import special_lines
from ..planning.sections import span
from ..results.pair_paths import runs_of
from ..tiles.contract import BoxEnd, Engine
from ..tiles.edges import Edges
from ..tiles.graph import Progress
from ..tiles.special_lines import SweptGrid
from ..tiles.sweep import sweep
from ..tiles.tile import NO_HITS, Area, Box, Cells, Costs, Hit, Want
from .end_rules import Left, Matches, apart
from .job import Job, path_of
from .options import EndsOptions
from .problem import FoundPath, Path, Problem
from .traceback import trace_back

if TYPE_CHECKING:
    from ..engines.batch.boxes import Boxes

#: The least score is guessed from this share of the target, and of a long one from so many times
#: the query's length at least, if that has so many cells.  (It is a part, so SHARE > SETTLED.)
SHARE, SETTLED, LEAST_CELLS = 64, 8, 1 << 20
#: The guess is for so many times as many cells as are wanted.
SPARE = 1.25
#: The first guess is so many times the highest substitution score below the best one.
FIRST = 8
#: So many cells are collected for each match that an alignment ends in.
EACH_MATCH = 48
#: So many times as many as will do are collected where these were too few.
MORE = 4
#: No two cells are so far apart.
FARTHEST = 1 << 40
#: So many cells may always be held at once.
HELD = 1 << 21
#: So many cells of a tile are looked at together.
TILE = 1 << 20
#: A box that does not prove a path grows so much; more if none does, or it is a single one, of
#: which few are computed.
GROWTH, GROWTH_ALONE = 2, 4
#: A box, and the numbers of the ends in it.
Group = tuple[Box, list[int]]


def best_ends(engine: Engine, problem: Problem, options: EndsOptions, progress: Progress) -> Cells:
    """The best ``k`` cells of a local comparison, by falling score and then row-major, that score
    at least ``least``, and are among `Matches` if that is asked.

    With a ``min_separation`` s above 0, a cell is left out if both its row and its column (either,
    if they are to be ``apart_in`` both) are less than s from those of a cell before it that is
    kept.  ``progress(done, total)`` is told of sweeps of the whole matrix.  A sweep gives the best
    cells, as many as are held at once, that were not looked at and are not near a cell that is
    kept; a further one follows if too few are apart."""
    (m, n), count, least = problem.shape, options.k, options.least
    separation, both = min(options.min_separation, FARTHEST), options.apart_in == "both"
    any_do = separation <= (not both)  # different cells are 1 apart, but not in both
    if not any_do:  # a square of so many rows and columns has one
        high, wide = -(-m // separation), -(-n // separation)
        count = min(count, min(high, wide) if both else high * wide)
    count = min(count, m * n)
    matches = Matches(problem, least) if options.ends == "matches" else None
    least = least if matches is None else matches.floor
    kept, last, left = NO_HITS.some, [FARTHEST, 0, 0], True
    guess, wanted = least, max(4 * count, HELD)
    each = EACH_MATCH if matches is not None else 1 if any_do else 4
    few = each * count
    most = max(HELD, few)
    if each == 4 and m * n <= 16 * HELD:  # few of so few cells may be apart
        few = most + 1
    while left and len(kept) < count and few <= most:
        few = min(few, m * n)
        found = _best(engine, problem, few, least, progress)
        left = len(found) == few < m * n
        last = found[-1].tolist() if left else []
        guess = _lower(found[:, 0], FARTHEST, last[0], wanted, least) if left else least
        if matches is not None:
            found, last = matches.among(found, last)
        kept = apart(found, count, separation, both=both)
        more = MORE * few * ceil(count / max(1, len(kept)))
        few = most + 1 if few == most else min(most, more)
    while left and len(kept) < count:
        near = separation if matches is None else separation - 1  # a pair before a match may be
        want = Want("all", wanted, guess, among=Left(last, kept, near, both, matches))
        found = _collected(engine, problem, want, progress)
        before, full = last, len(found) == wanted
        last = found[-1].tolist() if full else [guess, FARTHEST, 0]
        left = full or guess > least
        guess = _lower(found[:, 0], before[0], last[0], wanted, least)
        if matches is not None:
            found, last = matches.among(found, last if left else [])
            if left and last >= before:  # none of them is known
                last, wanted = before, 4 * wanted if full else wanted
        kept = apart(found, count, separation, kept, both)
    return kept


def _lower(scores: NDArray[Any], first: int, last: int, wanted: int, least: int) -> int:
    """The score down to which about ``wanted`` more cells are expected: ``scores``, falling, are
    those of all from ``first`` to ``last``.  Scores of cells that are not related fall by as much
    each time that their number is eight times as high; where there were far fewer than wanted, the
    next ones span twice as many scores."""
    step = max(1, (int(scores[len(scores) // 8]) if len(scores) else first) - last)
    lower = ceil(step * log(1 + wanted / max(1, len(scores)), 8))
    wide = 2 * len(scores) < wanted and first < FARTHEST
    return max(least, last - max(lower, 2 * (first - last) if wide else 0))


def _best(engine: Engine, problem: Problem, wanted: int, least: int, progress: Any = None) -> Cells:
    """The ``wanted`` best cells of at least ``least``, or all if these are fewer.

    A sweep that collects all cells above a score that somewhat more than these reach takes as long
    as one that finds the best alone.  It is guessed to be that of about the cell that stands for
    some more in the first part of the target, and there to be not far below the best one; if it
    is reached by too few it falls (`_lower`)."""
    (m, n), highest = problem.shape, problem.scoring.highest
    guess, columns = least, n // SHARE
    if n >= SHARE * m:  # alignments that run through the query have begun
        columns = max(columns, SETTLED * m)
    if m * columns >= LEAST_CELLS:
        part = replace(problem, target=problem.target.slice(0, columns))
        place = 2 + ceil(SPARE * wanted * columns / n)
        cells = _best(engine, part, place, least)
        guess = int(cells[-1, 0]) if len(cells) == place else least
    elif m * n > LEAST_CELLS:
        scores = _collected(engine, problem, Want("all", 1, least), progress)[:, 0].tolist()
        guess = max([least, *(score - FIRST * highest for score in scores)])
    while True:
        found = _collected(engine, problem, Want("all", wanted, guess), progress)
        if len(found) >= wanted or guess <= least:
            return found
        best = max([guess + highest, *found[:1, 0].tolist()])
        # (the cell before one on the diagonal is lower by one match)
        lower = min(_lower(found[:, 0], best, guess, wanted, least), guess - max(1, highest))
        guess = max(least, lower)


def _collected(engine: Engine, problem: Problem, want: Want, progress: Progress | None) -> Cells:
    """The best cells that are wanted."""
    shape = engine.plan.tile_shape(*problem.shape)
    if want.among is not None and shape[0] * shape[1] > TILE:  # all cells of a tile are looked at
        shape = tile_shape(*problem.shape, TILE)
    return sweep(engine, problem, problem.edges, want, shape=shape, progress=progress).hits.cells


def trace_ends(
    engine: Engine,
    job: Job,
    ends: Sequence[Hit],
    highest: int | None,
    done: Callable[[int], None],
    tell: Callable[[Path], None] = lambda path: None,
) -> TracedEnds:
    """The canonical paths of the local alignments that end at ``ends``, which are different cells
    of the job's frame.

    The score of a path is H of its end, whatever the score of the `Hit` says, from which only the
    size of the first box follows.  ``highest``: no cell of the matrix has a higher score; None:
    nothing is known.  ``done(count)`` is told of how many ends the paths are found, and ``tell``
    how far one is traced that takes long."""
    found = TracedEnds(job, ends, [None] * len(ends))
    match, alone = max(1, job.scoring.highest), len(ends) == 1
    sides = [engine.plan.tuning.boxes.side(-(-end.score // match), alone) for end in ends]
    left = list(range(len(ends)))
    done(0)
    while left:
        groups = []
        for area, members in _grouped(ends, sides, left):
            most = match * min(area.row_end, area.column_end)
            most = most if highest is None else min(most, highest)
            groups.append((Box(area, most, match), members))
        for box, members in groups if alone else found.in_batches(engine.for_moves, groups):
            found.by_tiles(engine.for_moves, box, members, tell)
        still = [k for k in left if found.paths[k] is None]
        growth = GROWTH_ALONE if alone or len(still) == len(left) else GROWTH
        for k in still:
            short, larger = min(ends[k].row, ends[k].column), growth * sides[k]
            widest = span(job.scoring, short, -ends[k].score, True) or FARTHEST
            sides[k] = widest if sides[k] < widest < larger else larger
        left = still
        done(len(ends) - len(left))
    return found


def _grouped(
    ends: Sequence[Hit], sides: Sequence[int], chosen: Iterable[int]
) -> list[tuple[Area, list[int]]]:
    """Groups of ends, each with a common box that has no more cells than their own boxes."""
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
        job = self.job
        able: Boxes | None = engine.box_paths
        if able is None or job.scoring.by_position:  # its codes are those of letters
            return groups
        fits = able.fits([box for box, _ in groups], [len(members) for _, members in groups])
        if together := [group for group, fit in zip(groups, fits, strict=True) if fit]:
            boxes, every = zip(*together, strict=True)
            places = [
                BoxEnd(at, *self._inside(boxes[at], k))
                for at, members in enumerate(every)
                for k in members
            ]
            letters = job.frame.region(0, job.frame.shape[0], 0, job.frame.shape[1])
            paths, cost = engine.noted(partial(able.trace, *letters, job.scoring, boxes, places))
            self.add_cost(cost)
            for place, k, path in zip(places, chain(*every), paths, strict=True):
                box = boxes[place.box]
                if box.proves(path.row, path.column):
                    row, column = box.area.row + path.row, box.area.column + path.column
                    self.paths[k] = FoundPath(row, column, runs_of(path.words), path.score)
        return [group for group, fit in zip(groups, fits, strict=True) if not fit]

    def _inside(self, box: Box, k: int) -> tuple[int, int]:
        """Row and column of end number k, counted from the corner of its box."""
        return self.ends[k].row - box.area.row, self.ends[k].column - box.area.column

    def by_tiles(
        self, engine: Engine, box: Box, members: list[int], tell: Callable[[Path], None]
    ) -> None:
        """Find the paths to ends in one box, as `align` finds the path of a matrix: in one tile if
        its moves can be stored, else by a sweep with special rows and columns, and tracebacks, of
        which ``tell`` is told."""

        def between(path: Path) -> None:
            tell(Path(path.row + box.area.row, path.column + box.area.column))

        plan, problem = engine.plan, self.job.problem.inside(box.area)
        edges, (m, n) = Edges(*box.edges(self.job.scoring.gap_open)), problem.shape
        if plan.moves_bytes(m, n) <= plan.traceback_tile_cells // 2:
            job = problem.tile(Area(0, m, 0, n), edges, store_moves=True)
            tile = engine.noted(partial(engine.tile, job))
            self.add_cost(tile)
            moves, grid = tile.moves, SweptGrid.over(edges, [], [])
        else:
            shape = plan.tile_shape(m, n)
            rows, columns, _ = special_lines(plan, m, n, shape)
            moves, grid = None, SweptGrid.over(edges, rows, columns)
            swept = sweep(
                engine, problem, grid.saving(), shape=shape, progress=lambda *_: between(Path(m, n))
            )
            self.add_cost(swept)
        try:
            inside = [self._inside(box, k) for k in members]
            traced = iter([] if moves is None else moves.each(inside))
            for k, place in zip(members, inside, strict=True):
                path = Path(*place, between=between)
                if moves is None:
                    trace_back(engine, problem, grid, Hit(self.ends[k].score, *place), path)
                    self.add_cost(path)
                else:
                    path.follow(next(traced))
                if box.proves(path.row, path.column):
                    path.row, path.column = path.row + box.area.row, path.column + box.area.column
                    self.paths[k] = path_of(self.job, self.ends[k], path, plan)
        finally:
            if moves is not None:
                moves.release()
