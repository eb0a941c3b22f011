"""The tile contract on every engine: a sweep of a corridor, beside which nothing is computed."""

from __future__ import annotations

import numpy as np
import pytest
from contract_engines import Stairs, counted, every_engine, full_matrices, row_of, run_sweep
from helpers import match_scoring, random_codes

from pysw_cl.tiles.edges import Border, EdgeArray, Edges
from pysw_cl.tiles.tile import Limits, Want

SCORING = match_scoring(2, -3, 3, 1)
PAID = Border(False, SCORING.gap_open, SCORING.gap_extend)


@every_engine
@pytest.mark.parametrize("columns", [7, 1000])
def test_a_corridor_is_exact_where_the_best_path_runs(name: str, columns: int) -> None:
    rng = np.random.default_rng(columns)
    query = random_codes(rng, 131, 4)
    target = np.concatenate((query[:60], query[64:], query[:1]))  # gaps of four letters and of one
    corridor, n = Stairs(len(target)), len(target)
    rows = {row: EdgeArray(n) for row in (48, 96)}
    result, bottom, _ = run_sweep(
        name,
        query,
        target,
        SCORING,
        None,
        0,
        PAID,
        PAID,
        Want("corner"),
        Limits(corridor=corridor),
        shape=(8, columns),
        rows=rows,
    )
    full = full_matrices(query, target, SCORING, None, Edges(0, PAID, PAID))
    assert [(hit.score, hit.row, hit.column) for hit in result.hits] == [
        (int(full.h[-1, -1]), len(query), n)
    ]
    computed = sum((end - row) * (last - first) for row, end, first, last in corridor.asked)
    assert counted(name, result.cells) == computed
    assert result.pruned_cells == len(query) * n - computed
    assert [row for row, *_ in corridor.seen] == [end for _, end, *_ in corridor.asked[:-1]]
    for (row, column, edge), (_, _, first, last) in zip(
        corridor.seen, corridor.asked, strict=False
    ):
        true = row_of(full, row)
        assert (column, len(edge)) == (first, last - first)
        assert (edge.h <= true.h[first:last]).all()
        assert (edge.x <= true.x[first:last]).all()
        if row in rows:
            np.testing.assert_array_equal(rows[row].read_h(first, last), edge.h)
        on_path = row - 1 if row < 60 else row - 5 if row > 66 else None
        if on_path is not None:
            assert edge.h[on_path - first] == true.h[on_path]
    assert bottom.h[-1] == full.h[-1, -1]
