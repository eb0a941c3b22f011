"""Computes a tile in parts, where an engine cannot compute it whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..scoring.precision import LOCAL_LIMIT, UNREACHABLE
from .edges import DeviceEdge, Edge
from .tile import NO_HITS, Area, Costs, Hits, TileJob, TileResult

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
    """The result of ``job``, computed in parts that are cut at ``rows`` and ``columns``.

    The cuts are sorted and inside the tile.  ``tile`` computes one part, with the special rows and
    columns of the job that lie inside it.  No moves are stored.  The best cells of ``ignored``
    parts do not count.
    """
    m, n = job.size
    parts = _Parts(job, rows, columns)
    for row, row_end in pairwise([0, *rows, m]):
        for column, column_end in pairwise([0, *columns, n]):
            area = Area(row, row_end, column, column_end)
            part = parts.job_of(area)
            # (without the search for a best cell, another kernel would have to be built)
            parts.take(area, tile(replace(part, threshold=NEVER) if ignored(area) else part))
    return parts.result()


def collected(
    tile: Callable[..., TileResult],
    job: TileJob,
    least_hits: int,
) -> TileResult:
    """The result of ``job`` with its ``count`` best cells.

    ``tile(job)`` computes any tile, and ``tile(job, capacity)`` collects at most ``capacity`` cells
    of at least the job's threshold, and says how many there were (`TileResult.reached`).  If they
    exceed the capacity, which is ``least_hits`` or more, the threshold rises to the count-th best
    collected cell: ``count`` cells reach it.  If it cannot rise, because too many cells have equal
    scores, the tile is halved; of equal cells those of the first half come first.
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


class _Parts(Costs):
    """The parts of a tile: the edges between them, and what was found in them so far."""

    def __init__(self, job: TileJob, rows: tuple[int, ...], columns: tuple[int, ...]) -> None:
        self.job = job
        self.m, self.n = m, n = job.size
        #: The cells of each cut, each special line, and the tile's last row and column.
        self.rows = {row: _new_edge(n) for row in {*rows, *job.rows, m}}
        self.columns = {column: _new_edge(m) for column in {*columns, *job.columns, n}}
        self.hits = NO_HITS
        #: The highest score of each part that looked for it.
        self.tops: list[int] = []
        self.cells: dict[str, int] = {}
        self.launches = self.pruned = 0

    def job_of(self, area: Area) -> TileJob:
        """The job of one part; those above it and to its left are done."""
        job = self.job
        row, row_end, column, column_end = area
        above = self.rows[row] if row else job.above
        left = self.columns[column] if column else job.left
        corner = job.corner
        if column:
            corner = int(above.h[column - 1])
        elif row:
            corner = int(job.left.h[row - 1])
        after = job.after and (job.after[0] + self.m - row_end, job.after[1] + self.n - column_end)
        return replace(
            job,
            query=job.query[row:row_end],
            target=job.target[column:column_end],
            corner=corner,
            top=above.read(column, column_end),
            left=left.read(row, row_end),
            threshold=self._threshold(area),
            after=after,
            bottom=job.bottom or row_end < self.m,
            right=job.right or column_end < self.n,
            forbidden=area.pairs(job.forbidden),
            rows=tuple(r - row for r in job.rows if row < r < row_end),
            columns=tuple(c - column for c in job.columns if column < c < column_end),
        )

    def _threshold(self, area: Area) -> int | None:
        """The score that a cell of a part must reach to be one of the best: that of the last of
        them, and one more where every cell of the part comes after it."""
        if len(self.hits) < self.job.count:
            return self.job.threshold
        last = self.hits[-1]
        one_row = area.row_end == area.row + 1
        later = last.row <= area.row or (one_row and last.column <= area.column)
        return int(last.score) + int(later)

    def take(self, area: Area, done: TileResult) -> None:
        """Take the result of one part."""
        row, column = area.row, area.column
        _write(self.rows[area.row_end], column, done.bottom)
        _write(self.columns[area.column_end], row, done.right)
        for inner, edge in done.rows.items():
            _write(self.rows[row + inner], column, edge)
        for inner, edge in done.columns.items():
            _write(self.columns[column + inner], row, edge)
        found = done.hits.moved(row, column)
        self.hits = Hits(np.concatenate([self.hits.cells, found]), self.job.count)
        self.tops += [] if done.top is None else [done.top]
        self.pruned += done.pruned
        self.add_cost(done)

    def result(self) -> TileResult:
        """The result of the whole tile."""
        job = self.job
        return TileResult(
            self.rows[self.m] if job.bottom else None,
            self.columns[self.n] if job.right else None,
            self.hits,
            max(self.tops, default=None),
            self.cells,
            self.launches,
            pruned=self.pruned,
            rows={row: self.rows[row] for row in job.rows},
            columns={column: self.columns[column] for column in job.columns},
        )


def _new_edge(length: int) -> Edge:
    """Unreachable cells, to be written over."""
    return Edge(np.full(length, UNREACHABLE, np.int32), np.full(length, UNREACHABLE, np.int32))


def _write(to: Edge, start: int, edge: Edge | DeviceEdge | None) -> None:
    """Write the cells that follow the first ``start`` ones of ``to``."""
    if isinstance(edge, DeviceEdge):
        edge = edge.read(0, len(edge))
    if edge is not None:
        to.h[start : start + len(edge)] = edge.h
        to.x[start : start + len(edge)] = edge.x
