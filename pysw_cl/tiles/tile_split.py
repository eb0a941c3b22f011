"""A tile computed in parts, where an engine cannot do it, or what is wanted of it, at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..scoring.precision import UNREACHABLE
from ..sequences.view import pairs_inside
from .edges import DeviceEdge, Edge
from .tile import Hit, TileJob, TileResult


def by_parts(
    tile: Callable[[TileJob], TileResult],
    job: TileJob,
    rows: tuple[int, ...],
    columns: tuple[int, ...],
) -> TileResult:
    """What ``job`` gives, from tiles cut at some ``rows`` and ``columns`` (sorted, inside it).

    ``tile`` computes one of them, with the job's other inner rows and columns.  No moves are kept.
    """
    m, n = job.size
    row_cuts, column_cuts = [0, *rows, m], [0, *columns, n]
    kept_rows = {row: _new_edge(n) for row in {*rows, *job.rows}}
    kept_columns = {column: _new_edge(m) for column in {*columns, *job.columns}}
    last_row, last_column = _new_edge(n), _new_edge(m)
    hits: list[Hit] = []
    tops: list[int] = []
    cells: dict[str, int] = {}
    launches = pruned = 0
    for row, row_end in pairwise(row_cuts):
        above = kept_rows[row] if row else job.above
        below = kept_rows.get(row_end, last_row)
        for column, column_end in pairwise(column_cuts):
            beside = kept_columns[column] if column else job.left
            corner = job.corner
            if row and column:
                corner = int(above.h[column - 1])
            elif row or column:
                corner = int(job.left.h[row - 1] if row else job.above.h[column - 1])
            done = tile(
                replace(
                    job,
                    query=job.query[row:row_end],
                    target=job.target[column:column_end],
                    corner=corner,
                    top=above.part(column, column_end),
                    left=beside.part(row, row_end),
                    threshold=_least(job, hits, row, row_end, column),
                    after=job.after and (job.after[0] + m - row_end, job.after[1] + n - column_end),
                    bottom=job.bottom or row_end < m,
                    right=job.right or column_end < n,
                    forbidden=pairs_inside(job.forbidden, row, row_end, column, column_end),
                    rows=tuple(r - row for r in job.rows if row < r < row_end),
                    columns=tuple(c - column for c in job.columns if column < c < column_end),
                )
            )
            _put(below, column, done.bottom)
            _put(kept_columns.get(column_end, last_column), row, done.right)
            for inner, edge in done.rows.items():
                _put(kept_rows[row + inner], column, edge)
            for inner, edge in done.columns.items():
                _put(kept_columns[column + inner], row, edge)
            found = [Hit(hit.score, row + hit.row, column + hit.column) for hit in done.hits]
            hits = sorted([*hits, *found])[: job.count]
            tops += [] if done.top is None else [done.top]
            launches += done.launches
            pruned += done.pruned
            for kind, count in done.cells.items():
                cells[kind] = cells.get(kind, 0) + count
    return TileResult(
        last_row if job.bottom else None,
        last_column if job.right else None,
        tuple(hits),
        max(tops, default=None),
        cells,
        launches,
        pruned=pruned,
        rows={row: kept_rows[row] for row in job.rows},
        columns={column: kept_columns[column] for column in job.columns},
    )


def _least(job: TileJob, hits: list[Hit], row: int, row_end: int, column: int) -> int | None:
    """The score that a cell of a part must have to be one of the best: that of the last one so far,
    and one more where all of the part comes after that one."""
    if len(hits) < job.count:
        return job.threshold
    last = hits[-1]
    later = last.row <= row or (row_end == row + 1 and last.column <= column)
    return last.score + int(later)


def _new_edge(length: int) -> Edge:
    return Edge(np.full(length, UNREACHABLE, np.int32), np.full(length, UNREACHABLE, np.int32))


def _put(edge_of: Edge, start: int, edge: Edge | DeviceEdge | None) -> None:
    if isinstance(edge, DeviceEdge):
        edge = edge.read(0, len(edge))
    if edge is not None:
        edge_of.h[start : start + len(edge)] = edge.h
        edge_of.x[start : start + len(edge)] = edge.x
