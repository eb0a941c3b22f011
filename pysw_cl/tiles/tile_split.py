"""Computes a tile in parts, where an engine cannot compute it whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..scoring.precision import LOCAL_LIMIT
from ..sequences.view import View
from .edges import EdgeArray, Edges
from .graph import Rectangle, SweepState
from .slabs import BestCells, Slab, Slabs
from .tile import Area, Hits, TileJob, TileResult, Want

#: No cell of a local comparison has this score.
NEVER = LOCAL_LIMIT
#: So many cells are collected at most where fewer were too few.
MANY = 1 << 20


def by_parts(
    tile: Callable[[TileJob], TileResult],
    job: TileJob,
    rows: tuple[int, ...],
    columns: tuple[int, ...],
    ignored: Callable[[Area], bool] = lambda area: False,
) -> TileResult:
    """The result of ``job``, computed by ``tile`` in parts that are cut at ``rows`` and ``columns``
    (sorted, inside the tile), without moves.  The best cells of ``ignored`` parts do not count."""
    m, n = job.size
    bottom, right = EdgeArray(n), EdgeArray(m)
    special_rows = {row: EdgeArray(n) for row in job.rows}
    special_columns = {column: EdgeArray(m) for column in job.columns}
    sinks = bottom if job.bottom else None, right if job.right else None
    edges = Edges(job.corner, job.above, job.left, *sinks, special_rows, special_columns)
    whole = Rectangle(View(job.query), View(job.target), job.scoring, job.floor, job.forbidden)
    state = SweepState(whole, edges, _PartCells(job), Slabs(m, edges, (m, n)))
    slab = Slab(0, m, special_columns)
    for parts in state.rows(slab, [0, *rows, m], lambda *_: [0, *columns, n]):
        for area in parts.areas:
            part = parts.begin(area)
            assert part is not None
            # (without the search for a best cell, another kernel would have to be built)
            parts.take(area, tile(replace(part, threshold=NEVER) if ignored(area) else part))
    found = TileResult(
        bottom.read(0, n) if job.bottom else None,
        right.read(0, m) if job.right else None,
        state.best.hits,
        max(slab.found.tops.values(), default=None),
        pruned=slab.found.pruned_cells,
        rows={row: edge.read(0, n) for row, edge in special_rows.items()},
        columns={column: edge.read(0, m) for column, edge in special_columns.items()},
    )
    found.add_cost(slab.found)
    return found


class _PartCells(BestCells):
    """The best cells of a tile that is computed in parts."""

    def __init__(self, job: TileJob) -> None:
        want = Want("all" if job.best else "none", job.count, job.threshold)
        super().__init__(*job.size, job.floor, want, None)
        self._after = job.after

    def after(self, area: Area) -> tuple[int, int] | None:
        rows, columns = self.m - area.row_end, self.n - area.column_end
        return self._after and (self._after[0] + rows, self._after[1] + columns)

    def threshold(self, area: Area) -> int | None:
        """That of the last of the best cells, and one more where all cells of the part come after
        it."""
        if len(self.hits) < self.want.count:
            return self.want.threshold
        self.hits = Hits(self.hits.cells, self.want.count)
        last, one_row = self.hits[-1], area.row_end == area.row + 1
        later = last.row <= area.row or (one_row and last.column <= area.column)
        return int(last.score) + int(later)


def collected(tile: Callable[..., TileResult], job: TileJob, least_hits: int) -> TileResult:
    """The result of ``job`` with its ``count`` best cells.

    ``tile(job)`` computes any tile, and ``tile(job, capacity)`` collects at most ``capacity`` cells
    that reach the job's threshold, and counts all (`TileResult.reached`).  If they exceed the
    capacity, which is ``least_hits`` or more, the threshold rises to the count-th best of them.  If
    it cannot, because too many scores are equal, the tile is halved; of equal cells those of the
    first half come first.
    """
    m, n = job.size
    least, capacity = job.threshold, max(min(4 * job.count, m * n), least_hits)
    while True:
        done = tile(replace(job, threshold=least), capacity)
        hits = Hits(done.hits.some, job.count)
        if done.reached <= capacity:
            return replace(done, hits=hits)
        if len(hits) < job.count or (least is not None and hits[-1].score <= least):
            # one row is halved by columns
            halves = ((m // 2,), ()) if m > 1 else ((), (n // 2,))
            return by_parts(tile, replace(job, threshold=least), *halves)
        least, capacity = hits[-1].score, max(capacity, min(4 * capacity, MANY))
