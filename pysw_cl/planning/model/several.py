"""One pair on several devices that are alike: what computes its tiles, in virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush, heapreplace
from itertools import product

from ..choose import shared_ends
from ..geometry import cuts, lengths, spread
from ..path_grid import strip_rows
from ..plan import StriplessPlan
from ..program import Given
from ..sizes import warps_of
from .runs import Work, sweep_of
from .times import lag_of

#: Seconds to copy the columns of a row that are done from one GPU to another (two H200: 0.3 ms).
COPY = 3e-4


def in_turn(
    groups: Sequence[int], places: int, devices: int, width: float, lag: float, relay: float
) -> float:
    """When all tiles are done that devices compute in turn (`pysw_cl.engines.wavefront.relay`).  A
    tile has so many ``groups``, and a device ``places`` for groups.  One takes a ``width`` of time,
    and begins a ``lag`` behind the one above it, the first of a tile also a ``relay``.  A device
    begins a tile when all groups of its tile before have begun."""
    free = [[0.0] * places for _ in range(devices)]
    begun, above, done = [0.0] * devices, 0.0, 0.0
    for k, count in enumerate(groups):
        turn = k % devices
        for i in range(count):
            begun[turn] = max(begun[turn], free[turn][0])
            above = max(begun[turn], above + lag + relay * (i == 0 < k))
            done = max(above + width, done + lag)
            heapreplace(free[turn], done)
    return done


def ways_left(sizes: Sequence[Sequence[float]]) -> list[list[float]]:
    """How much is on the longest way from each tile to the last one, itself included, by the sizes
    of all (cells, or seconds) in rows of tiles.  Where there is most left, there is most hurry."""
    below, found = [0.0] * len(sizes[0]), list[list[float]]()
    for row in reversed(sizes):
        right, ways = 0.0, list[float]()
        for size, under in zip(reversed(row), reversed(below), strict=True):
            right = size + max(right, under)
            ways.append(right)
        below = ways[::-1]
        found.append(below)
    return found[::-1]


def as_free(
    seconds: Sequence[Sequence[float]],
    devices: int,
    scheduling: float = 0.0,
    hurry: Sequence[Sequence[float]] | None = None,
) -> float:
    """When all tiles are done that free devices take, by the seconds of each in rows of tiles.  One
    needs those above and to its left.  Of those that are ready the one with most ``hurry`` is next;
    None: the uppermost (`pysw_cl.tiles.executors`).  A scheduler of all takes ``scheduling``
    seconds before each."""
    now, told, ready, done = 0.0, 0.0, [(0.0, 0)], [0] * len(seconds)
    running = list[tuple[float, int]]()
    while ready or running:
        while ready and len(running) < devices:
            row = heappop(ready)[1]
            told = max(now, told) + scheduling
            heappush(running, (told + seconds[row][done[row]], row))
        now, row = heappop(running)
        done[row] += 1
        for next_row in (row, row + 1):  # the tile to its right, and the one below
            here = done[next_row] if next_row < len(seconds) else len(seconds[0])
            above = done[next_row - 1] if next_row else len(seconds[0])
            if here < min(above, len(seconds[0])) and (next_row == row or here == done[row] - 1):
                heappush(ready, (-hurry[next_row][here] if hurry else next_row, next_row))
    return now


def device_seconds(given: Given, work: Work) -> float:
    """What the device of a plan takes for some work, its launches included."""
    machine = given.plan.machine
    launch = machine.of("call").get("launch", 0.0)
    return work.on_device.seconds(machine) + work.counts["call", "launch"] * launch


def together(given: Given, work: Work, m: int, n: int) -> dict[str, float]:
    """Seconds that the ``work`` of a sweep takes ``given.devices``, by what they go to: "cells", if
    all devices were always busy, "rounds" of strips that are not full, "tiles" beside their cells,
    the "fill" of the wavefront, "edges" on their way.  Empty: one device computes it."""
    if given.devices == 1:
        return {}
    relayed = given.device.speculative and not isinstance(given.plan, StriplessPlan)
    return (_of_relay if relayed else _of_tiles)(given, work, m, n)


def _of_relay(given: Given, work: Work, m: int, n: int) -> dict[str, float]:
    ends, devices, strips = [0, *shared_ends(given, m, n)], given.devices, work.widest
    if len(ends) == 2 or strips is None or strips.way != "strips":
        return {}
    plan, tuning = strips.plan, strips.plan.tuning.pipeline
    line = given.plan.machine.pace(strips.subject).line(plan.alpha, strips.wave.share)
    column = float(line.pace(strips.wave.busy, plan.chunk))
    warps = warps_of(plan.lane_set, given.device, plan.B)
    width, places = (n + plan.T) * column, plan.B // warps
    lag = warps * (float(lag_of(plan.T, plan.chunk, n)) * column + float(line.hop))
    groups = [-(-rows // (warps * plan.strip_rows)) for rows in lengths(ends)]
    rounds = max(-(-sum(groups[k::devices]) // places) for k in range(devices))
    # one thread copies what is done of all tiles that are computed at once, in turns
    relay = max(tuning.relay_columns * column, COPY * len(groups) / rounds)
    relay += COPY + tuning.relay_seconds
    alone, every = (in_turn(groups, places, devices, width, lag, one) for one in (0.0, relay))
    cells, full = m / plan.strip_rows / (devices * plan.B) * width, rounds * width
    return {"cells": cells, "rounds": full - cells, "fill": alone - full, "edges": every - alone}


def _of_tiles(given: Given, work: Work, m: int, n: int) -> dict[str, float]:
    plan, devices, alone = given.plan, given.devices, replace(given, shares=(), holds=False)
    if m * n < plan.tuning.sweep.spread_cells:
        return {}

    shape = spread(plan.tile_shape(m, n), m, n, devices)
    sides = cuts(m, shape[0], strip_rows(plan, *shape), tiles=True), cuts(n, shape[1], 1)
    heights, widths = map(lengths, sides)
    sizes = {*product(heights, widths)}
    known = {size: device_seconds(given, sweep_of(alone, *size)) for size in sizes}
    seconds = [[known[rows, columns] for columns in widths] for rows in heights]
    every, cells = sum(map(sum, seconds)) / devices, device_seconds(given, work) / devices
    return {"cells": cells, "tiles": every - cells, "fill": as_free(seconds, devices) - every}
