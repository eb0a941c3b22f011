"""The plan of the row scan: its tiles and its lanes."""

from __future__ import annotations

import pytest
from helpers import match_scoring

from pysw_cl.engines.rowscan.plan import MOST_DECAY, RowscanPlan

SIDE = 1 << 23  # the longest side of a tile


@pytest.mark.parametrize(
    ("m", "n", "cells", "shape"),
    [
        (64, 2 * SIDE, 1 << 46, (64, 2 * SIDE)),  # a short query: all of the target
        (1024, 4 * SIDE, 1 << 33, (1024, SIDE)),
        (1, 100, 10, (1, 100)),  # no side is cut below what one row needs
        (1 << 20, 1 << 20, 1 << 33, (1 << 13, 1 << 20)),
        (3 * SIDE, 3 * SIDE, 1 << 60, (SIDE, SIDE)),
    ],
)
def test_tiles_are_wide(m: int, n: int, cells: int, shape: tuple[int, int]) -> None:
    assert RowscanPlan(tile_cells=cells).tile_shape(m, n) == shape


def test_lanes_are_short_where_gaps_cost_much() -> None:
    """What a gap loses in a segment stays in range; every group has a segment."""
    plan = RowscanPlan(B=2)
    assert plan.for_tile(match_scoring(1, -1, 3, 1), 1 << 20).alpha == plan.alpha
    costly = plan.for_tile(match_scoring(1, -1, 3, 1 << 20), 1 << 20)
    assert costly.T * costly.alpha * (1 << 20) <= MOST_DECAY < 2 * costly.T * costly.alpha << 20
    short = plan.for_tile(match_scoring(1, -1, 3, 1), 256)
    assert short.T * short.alpha * short.B <= 512
