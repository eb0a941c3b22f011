"""The best cells of a local comparison: where alignments end, exactly, in order.

Method: kernel 1 of SSCA#1 (Bader et al. 2006), which asks for the k best end points of
Smith-Waterman, with a least distance between two of them (Khajeh-Saeed & Perot 2011, GPU Computing
Gems, chapter 13).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..tiles.contract import Engine
from ..tiles.slabs import SweepResult
from ..tiles.sweep import sweep
from ..tiles.tile import Hit, Limits, Want
from .problem import Problem

#: The least score is guessed from this share of the target, if that has so many cells.
SHARE, LEAST_CELLS = 64, 1 << 20
#: So many cells at least are compared with those that are kept at once; what is left, one by one.
BLOCK = 1 << 12
#: No two cells are so far apart.
FARTHEST = 1 << 40
#: More cells than these are not collected.
MOST = 1 << 24

#: The best cells as rows of score, row and column, and the sweeps that found them.
Cells = NDArray[np.int64]


def best_ends(
    engine: Engine,
    problem: Problem,
    count: int,
    separation: int,
    least: int,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Cells, list[SweepResult]]:
    """The ``count`` best cells of a local comparison, by falling score and then row-major, of those
    that score at least ``least``.

    With a ``separation`` s above 0, a cell is left out if both its row and its column are less than
    s from those of a cell before it that is kept.  ``progress(done, total)`` is told of sweeps of
    the whole matrix.  Raises InputError if more cells have to be compared than fit in memory.
    """
    sweeps: list[SweepResult] = []
    wanted = count if separation <= 1 else 4 * count
    while True:
        hits = _best(engine, problem, wanted, least, sweeps, progress)
        cells = np.array([(hit.score, hit.row, hit.column) for hit in hits], np.int64)
        kept = apart(cells.reshape(-1, 3), count, separation)
        if len(kept) == count or len(hits) < wanted:
            return kept, sweeps
        if wanted > MOST:
            raise InputError(
                f"the {wanted:,} best cells hold only {len(kept):,} that are {separation:,} apart; "
                "give a higher min_score, a smaller k or a smaller min_separation"
            )
        wanted *= 8


def apart(cells: Cells, count: int, separation: int) -> Cells:
    """The first ``count`` of sorted ``cells`` of which no two are nearer than ``separation``, where
    the distance is the greater one of rows and columns."""
    if separation <= 1:  # different cells are 1 apart
        return cells[:count]
    separation = min(separation, FARTHEST)
    kept: list[int] = []
    start = 0
    while start < len(cells) and len(kept) < count:
        end = min(len(cells), start + max(BLOCK, 4 * len(kept)))
        left = start + np.flatnonzero(~_near(cells[start:end], cells[kept], separation))
        kept += _apart(left, cells, separation)[: count - len(kept)]
        start = end
    return cells[kept]


def _apart(places: NDArray[np.int64], cells: Cells, separation: int) -> list[int]:
    """Those of some ``places`` whose cells are not near one before them, as `apart` says."""
    kept: list[int] = []
    squares: dict[tuple[int, int], tuple[int, int]] = {}
    for place, row, column in zip(places.tolist(), *cells[places, 1:].T.tolist(), strict=True):
        a, b = row // separation, column // separation
        around = (squares.get((a + x, b + y)) for x in (-1, 0, 1) for y in (-1, 0, 1))
        if not any(
            abs(row - cell[0]) < separation and abs(column - cell[1]) < separation
            for cell in around
            if cell is not None
        ):
            kept.append(place)
            squares[a, b] = row, column
    return kept


def _near(cells: Cells, kept: Cells, separation: int) -> NDArray[np.bool_]:
    """Which cells are nearer than ``separation`` to one that is ``kept``?

    Of squares with sides of ``separation`` each has at most one cell that is kept, and what is near
    to a cell is in its own square or in one of the eight around it."""
    near = np.zeros(len(cells), np.bool_)
    if not len(kept):
        return near
    wide = int(max(cells[:, 2].max(), kept[:, 2].max())) // separation + 3

    def squares(of: Cells) -> Cells:
        return (of[:, 1] // separation + 1) * wide + of[:, 2] // separation + 1

    order = np.argsort(squares(kept))
    kept, known = kept[order], squares(kept)[order]
    own = squares(cells)
    for around in (row * wide + column for row in (-1, 0, 1) for column in (-1, 0, 1)):
        place = np.minimum(np.searchsorted(known, own + around), len(known) - 1)
        distance = np.abs(cells[:, 1:] - kept[place, 1:]).max(axis=1)
        near |= (known[place] == own + around) & (distance < separation)
    return near


def _best(
    engine: Engine,
    problem: Problem,
    wanted: int,
    least: int,
    sweeps: list[SweepResult],
    progress: Callable[[int, int], None] | None = None,
) -> list[Hit]:
    """The ``wanted`` best cells of at least ``least``, or all if there are fewer."""
    guess = _guess(engine, problem, wanted, least, sweeps)
    hits = _collected(engine, problem, wanted, guess, sweeps, progress)
    if len(hits) < wanted and guess > least:
        hits = _collected(engine, problem, wanted, least, sweeps, progress)
    return hits


def _guess(
    engine: Engine, problem: Problem, wanted: int, least: int, sweeps: list[SweepResult]
) -> int:
    """A score that probably somewhat more than ``wanted`` cells reach: that of about the cell that
    stands for twice as many in the first part of the target.  A sweep that collects all cells above
    a good guess takes as long as one that finds the best alone."""
    columns = len(problem.target) // SHARE
    if len(problem.query) * columns < LEAST_CELLS:
        return least
    part = replace(problem, target=problem.target.slice(0, columns))
    place = 2 + -(-2 * wanted // SHARE)
    hits = _best(engine, part, place, least, sweeps)
    return hits[-1].score if len(hits) == place else least


def _collected(
    engine: Engine,
    problem: Problem,
    wanted: int,
    least: int,
    sweeps: list[SweepResult],
    progress: Callable[[int, int], None] | None,
) -> list[Hit]:
    """The ``wanted`` best cells that score at least ``least``, the best first."""
    found = sweep(
        engine,
        problem.query,
        problem.target,
        problem.scoring,
        problem.floor,
        problem.edges,
        Want("all", wanted, least),
        Limits(),
        shape=engine.plan.tile_shape(len(problem.query), len(problem.target)),
        progress=progress,
    )
    sweeps.append(found)
    return found.hits
