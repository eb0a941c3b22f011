"""The plan of the row scan: its tiles and its lanes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helpers import match_scoring
from profiles_made import H200

from pysw_cl.api.calibrate import rounded
from pysw_cl.engines.rowscan.plan import MOST_DECAY, RowscanPlan
from pysw_cl.planning.model.times import GENERIC
from pysw_cl.planning.profiles.profile import profile_for

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
    assert plan.for_tile(match_scoring(1, -1, 3, 1), 9, 1 << 20).alpha == plan.alpha
    costly = plan.for_tile(match_scoring(1, -1, 3, 1 << 20), 9, 1 << 20)
    assert costly.T * costly.alpha << 20 <= MOST_DECAY
    short = plan.for_tile(match_scoring(1, -1, 3, 1), 9, 256)
    assert short.T * short.alpha * short.B <= 512


def test_groups_by_the_tile() -> None:
    """Few for short queries, whose segments wait for each other; not fewer than are known."""
    times, scoring = profile_for(H200)[0].times, match_scoring(1, -1, 3, 1)
    plan = RowscanPlan(
        lanes="warp32", T=64, alpha=24, B=1584, machine=GENERIC.having(times).on(528)
    )
    long = 8_000_000
    assert [plan.for_tile(scoring, m, long).B for m in (20, 500, 3000)] == [528, 1056, 1584]
    fixed = replace(plan, B_fixed=True)
    assert fixed.for_tile(scoring, 20, long).B == 1584
    two = {"24@1": 1e-6, "24@3": 1e-6}
    known = GENERIC.having({"rowscan/warp32": two})
    assert replace(plan, machine=known.on(528)).groups == (528, 1584)
    unknown = replace(plan, machine=GENERIC.on(528))
    assert unknown.groups == (1584,) and unknown.for_tile(scoring, 20, long).B == 1584


def test_what_was_measured_is_kept_even_if_it_took_no_time() -> None:
    times = {"rowscan/warp32": {"24@1": 1.23456e-6, "24@2": 0.0, "hop@1": 0.0}}
    assert rounded(times) == {"rowscan/warp32": {"24@1": 1.235e-6, "24@2": 0.0}}
