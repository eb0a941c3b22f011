"""Tiles that several devices compute in turn: all groups of a device's tiles fit in its rounds."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from test_pipelines import SCORING, gpu

from pysw_cl.planning.choose import choose_pipeline, choose_turns, shared_rows
from pysw_cl.planning.facts import UNLIMITED, Share
from pysw_cl.planning.geometry import TileShape, may_be_wide
from pysw_cl.planning.model.several import in_turn
from pysw_cl.planning.program import Given
from pysw_cl.planning.sizes import warps_of

#: Columns by which a strip lags behind the one above, and a tile behind that of another device.
LAG, RELAY = 192, 12_000


@pytest.mark.parametrize("pieces", [1, 9])
@pytest.mark.parametrize("groups", [(1056, 528), (100, 1056, 352)])
def test_devices_of_different_speed(groups: tuple[int, ...], pieces: int) -> None:
    """Tiles are in proportion to what their devices hold, which is enough in every round."""
    device = replace(UNLIMITED, schedulers=4, units=132, speculative=True)
    plan, shares = gpu(132), tuple(Share(device, one) for one in groups)
    given = Given(replace(plan, B=sum(groups)), SCORING, device=device)
    rows = shared_rows(given, 9_000_000, 9_000_000, shares, pieces)
    assert rows is not None and rows.weights == groups
    ends = [0, *rows.cuts(9_000_000), 9_000_000]
    heights = [end - start for start, end in pairwise(ends)]
    whole = len(heights) // len(groups) * len(groups)
    assert whole == len(heights)
    for turn, part in enumerate(groups):
        own = heights[turn :: len(groups)]
        wanted = 9_000_000 * part / sum(groups) / len(own)
        assert all(abs(one - wanted) <= rows.unit for one in own)
    first, given = TileShape(ends[1], 9_000_000, best=True, bottom=True), replace(given, plan=plan)
    given = replace(given, shares=shares)
    choices = choose_turns(first, 9_000_000 - ends[1], given)
    B = [one.plan.B for one in choices]
    assert len(B) == len(groups) and all(
        abs(one / sum(B) - part / sum(groups)) < 0.01 for one, part in zip(B, groups, strict=True)
    )


@pytest.mark.parametrize("pieces", [1, 7, 14])
@pytest.mark.parametrize("devices", [2, 4, 8])
@pytest.mark.parametrize("m", [3_300_000, 5_000_000, 8_000_000, 12_000_000, 30_000_000])
def test_no_group_waits_for_a_round(m: int, devices: int, pieces: int) -> None:
    plan = gpu(132)
    machine = plan.machine.on(devices * plan.machine.schedulers)
    joint = replace(plan, B=devices * plan.B, machine=machine)
    device = replace(UNLIMITED, schedulers=4, units=132, speculative=True)
    given = Given(joint, SCORING, device=device)
    shares = (Share(device, plan.B),) * devices
    rows = shared_rows(given, m, m, shares, pieces)
    assert rows is not None
    ends = [0, *rows.cuts(m), m]
    again = shared_rows(given, m, m, shares, len(ends) - 1)
    assert again is not None and again.cuts(m) == ends[1:-1]
    first = TileShape(ends[1], m, best=True, bottom=True)
    found = choose_pipeline(first, m - ends[1], given)
    assert found is not None and found.plan.strip_rows == rows[1]
    B = found.plan.B // devices
    warps = warps_of(found.plan.lane_set, device, B)
    groups = [-(-(end - start) // (warps * rows[1])) for start, end in pairwise(ends)]
    least = -(-m // (devices * B * rows[1]))
    fill = devices * B * LAG / m + len(groups) * RELAY / m
    lag, relay = LAG * warps / m, RELAY / m
    assert in_turn(groups, B // warps, devices, 1.0, lag, relay) < least + fill + 0.05
    most = plan.tile_shape(m, m)
    assert all(b - a <= most[0] and may_be_wide(b - a, m, most) for a, b in pairwise(ends))
    each = 1 + (not may_be_wide(m // (devices * least), m, most))  # tiles of a round
    assert pieces / 2 < len(groups) < 2 * max(pieces, each * devices * least)
