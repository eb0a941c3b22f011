"""Tiles that several devices compute in turn: all groups of a device's tiles fit in its rounds."""

from __future__ import annotations

from dataclasses import replace
from heapq import heapify, heappop, heappush
from itertools import pairwise

import pytest
from test_pipelines import SCORING, gpu

from pysw_cl.planning.choose import choose_pipeline, shared_rows
from pysw_cl.planning.facts import UNLIMITED
from pysw_cl.planning.geometry import TileShape, even_cuts
from pysw_cl.planning.program import Given
from pysw_cl.planning.sizes import warps_of

#: Columns by which a strip lags behind the one above, and a tile behind that of another device.
LAG, RELAY = 192, 12_000


def rounds(groups: list[int], warps: int, devices: int, held: int, n: int) -> float:
    """When all is done, if strips without a wait take 1.  A device computes so many groups at once,
    in order, and begins a tile when all groups of its tile before have begun."""
    places = [[0.0] * held for _ in range(devices)]
    for each in places:
        heapify(each)
    begun, above, done = [0.0] * devices, 0.0, 0.0
    for k, count in enumerate(groups):
        turn = k % devices
        for i in range(count):
            begun[turn] = max(begun[turn], heappop(places[turn]))
            lag = LAG * warps + RELAY * (i == 0 < k)
            above = max(begun[turn], above + lag / n)
            done = max(above + 1, done + LAG * warps / n)
            heappush(places[turn], done)
    return done


@pytest.mark.parametrize("pieces", [1, 7, 14])
@pytest.mark.parametrize("devices", [2, 4, 8])
@pytest.mark.parametrize("m", [3_300_000, 5_000_000, 8_000_000, 12_000_000, 30_000_000])
def test_no_group_waits_for_a_round(m: int, devices: int, pieces: int) -> None:
    plan = gpu(132)
    machine = plan.machine.on(devices * plan.machine.schedulers)
    joint = replace(plan, B=devices * plan.B, machine=machine)
    device = replace(UNLIMITED, schedulers=4, units=132, speculative=True)
    given = Given(joint, SCORING, device=device)
    rows = shared_rows(given, m, m, devices, pieces)
    assert rows is not None
    ends = [0, *even_cuts(m, *rows), m]
    assert even_cuts(m, *(shared_rows(given, m, m, devices, len(ends) - 1) or (0, 0))) == ends[1:-1]
    first = TileShape(ends[1], m, best=True, bottom=True)
    found = choose_pipeline(first, m - ends[1], given)
    assert found is not None and found.plan.strip_rows == rows[1]
    B = found.plan.B // devices
    warps = warps_of(found.plan.lane_set, device, B)
    groups = [-(-(end - start) // (warps * rows[1])) for start, end in pairwise(ends)]
    least = -(-m // (devices * B * rows[1]))
    fill = devices * B * LAG / m + len(groups) * RELAY / m
    assert rounds(groups, warps, devices, B // warps, m) < least + fill + 0.05
    assert pieces / 2 < len(groups) < 2 * max(pieces, devices * least)
