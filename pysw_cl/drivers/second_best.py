"""The second best end: the highest score of an end outside the best alignment's rectangle, which
are its query letters x its target letters.

A local path may end at any cell.  The sweep, which skips none, tells the best cell of each of its
tiles (`Want.each_tile`), which counts if it lies outside.  A tile on the rectangle's border whose
best cell lies inside is searched again outside, if it may hold more than is known.  A global path
ends in the last row or column, which the sweep gives anyway.
"""

from __future__ import annotations

import numpy as np

from ..errors import InputError, flag
from ..results.alignment import Stats
from ..tiles.contract import Engine
from ..tiles.edges import EdgeArray
from ..tiles.special_lines import RestartPoints
from ..tiles.tile import Area, Hit, TileJob
from ..tiles.tile_split import by_parts
from .problem import FreeEnds, Problem


def check_second_best(given: object, output: str, mode: str, free: FreeEnds) -> bool:
    """``second_best`` as a truth value.  Raises InputError where there is no second best end."""
    wanted = flag(given, "second_best")
    if wanted and output != "path":
        raise InputError(f"second_best needs a path: output='path', not {output!r}")
    if wanted and mode == "global" and not (free.trail_query or free.trail_target):
        raise InputError(
            "second_best needs several places where an alignment can end: mode='local', or "
            "mode='global' with a free end at the query's end or the target's end"
        )
    return wanted


def second_on_borders(problem: Problem, lines: list[EdgeArray], inside: Area, end: Hit) -> int:
    """The highest score of an end of a global comparison that is not ``inside`` and not the best
    ``end``; ``lines``: the last row and the last column."""
    m, n, borders, free = len(problem.query), len(problem.target), problem.edges, problem.free
    none = int(np.iinfo(np.int32).min)
    h = np.full((2, max(m, n) + 1), none)
    if free.trail_query:
        h[0, 0], h[0, 1 : n + 1] = borders.left.h_at(m - 1), lines[0].read_h(0, n)
        if inside.row < m == inside.row_end:
            h[0, inside.column + 1 : inside.column_end + 1] = none
    if free.trail_target:
        h[1, 0], h[1, 1 : m + 1] = borders.top.h_at(n - 1), lines[1].read_h(0, m)
        if inside.column < n == inside.column_end:
            h[1, inside.row + 1 : inside.row_end + 1] = none
    for line, at_end, place in ((0, end.row == m, end.column), (1, end.column == n, end.row)):
        if at_end:
            h[line, place] = none
    return int(h.max())


def second_in_tiles(
    engine: Engine,
    problem: Problem,
    restarts: RestartPoints,
    bests: dict[Area, Hit],
    inside: Area,
    stats: Stats,
) -> int:
    """The highest score of a cell of a local comparison that is not ``inside``, 0 if none scores
    more.  ``bests``: the best cell of each tile.  What is computed again is added to ``stats``."""
    best, others = 0, []
    for area, hit in bests.items():
        if not _holds(inside, hit.row - 1, hit.column - 1):
            best = max(best, hit.score)
        elif area.around(inside) != inside:
            others.append((hit.score, area))
    for score, area in sorted(others, reverse=True):
        if score <= best:
            break
        row, column = restarts.start(area.row + 1, area.column + 1)
        whole = Area(row, area.row_end, column, area.column_end)
        edges = restarts.edges_of(whole)
        job = TileJob(
            problem.query.read(*whole[:2]),
            problem.target.read(*whole[2:]),
            problem.scoring,
            problem.floor,
            edges.corner,
            edges.top.read(0, area.column_end - column),
            edges.left.read(0, area.row_end - row),
            best=True,
            threshold=best + 1,
            bottom=False,
            right=False,
        )

        def ignored(part: Area, row: int = row, column: int = column, area: Area = area) -> bool:
            at = row + part.row, column + part.column
            return not _holds(area, *at) or _holds(inside, *at)

        rows = {place - row for place in (area.row, *inside[:2]) if row < place < whole.row_end}
        columns = {p - column for p in (area.column, *inside[2:]) if column < p < whole.column_end}
        cuts = tuple(sorted(rows)), tuple(sorted(columns))
        found = by_parts(engine.tile, job, *cuts, ignored)
        stats.add_cells(found.cells)
        stats.launches += found.launches
        best = max([best, *(hit.score for hit in found.hits)])
    return best


def _holds(area: Area, row: int, column: int) -> bool:
    return area.row <= row < area.row_end and area.column <= column < area.column_end
