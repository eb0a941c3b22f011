"""One pair on several devices that are alike: what computes its tiles, in virtual time.  They are
those of one machine, or each is in a machine of its own: then also how its tiles are cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from heapq import heappop, heappush, heapreplace
from itertools import accumulate, product

from ...errors import InputError, shown
from ..choose import of_columns, shared_columns, shared_ends
from ..geometry import cuts, lengths
from ..path_grid import spread, strip_rows
from ..plan import Plan, StriplessPlan
from ..program import Given
from ..sizes import warps_of
from .runs import Work, sweep_of
from .times import lag_of

#: Seconds to copy the columns of a row that are done from one GPU to another (two H200: 0.3 ms).
COPY = 3e-4
#: Seconds for each row of parts side by side, beside their cells: the columns where they meet are
#: read and compared, and what a part waits for at its beginning (two and four H200: 0.3 to 3.4e-8).
COMPARED = 3e-8
#: Bytes of a cell of an edge, as it is and compressed; and seconds to compress and decompress it,
#: by 16 threads.  (In local mode a cell of random letters takes 0.3 bytes, and 17 and 8 ns on a
#: busy core of an EPYC; of similar ones 0.2 bytes, 10 and 6 ns.)
RAW, COMPRESSED, COMPRESSING = 8, 0.5, 25e-9 / 16
#: Seconds of a tile beside a GPU's, its edges and the scheduler's: letters, launches, its file (one
#: H200, tiles of 0.4 and 0.8 s).
BESIDE = 0.08
#: Seconds that a scheduler takes for each tile, one after the other (Dask: 0.3 to 1 ms).
SCHEDULING = 1e-3
#: Seconds of a large tile that are tried: at least, from so many on where there are many tiles, at
#: most; and a factor from one to the next.
LEAST, USUAL, MOST, STEP = 0.7, 5.0, 60.0, 2**0.5
#: Tiles are half as large where a way through so many takes more than this, times the share of each
#: device: few devices are busy there, whatever tiles take.
LONG = 1.2
#: Tiles for each device down and across that are enough.
ENOUGH = 3
#: Heights of tiles over their widths that are tried.
ASPECTS = 0.5, 0.7, 1.0, 1.4, 2.0
#: The share of a large tile's seconds that each further device waits, in all.
FILL = 0.2
#: Sizes of the first tiles of a side, and in turn of the last ones, as shares of the others'; and
#: how many of each size there are for each device: soon all have one, and until late.  By one of
#: them it is estimated what they take.
RISE, RISE_DEVICES, SMALLER = (0.09, 0.14, 0.22, 0.36, 0.6), 0.15, 0.6

#: Large tiles down and across for which there is place, and smaller ones of each size (`_sizes`).
Pieces = tuple[int, int, int]


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
    ways, found = [0.0] * (len(sizes[0]) + 1), list[list[float]]()  # the last one stays 0
    for row in reversed(sizes):
        for k in reversed(range(len(row))):
            ways[k] = row[k] + max(ways[k + 1], ways[k])
        found.append(ways[:-1])
    return found[::-1]


def as_free(
    seconds: Sequence[Sequence[float]],
    devices: int,
    scheduling: float = 0.0,
    hurry: Sequence[Sequence[float]] | None = None,
) -> float:
    """When all tiles are done that free devices take, by the seconds of each in rows of tiles.  One
    needs those above and to its left.  Of those that are ready the one with most ``hurry`` is next;
    None: the uppermost (`pysw_cl.tiles.graph.next_tile`).  A scheduler of all takes ``scheduling``
    seconds before each."""
    now, told, ready, running = 0.0, 0.0, [(0.0, 0)], list[tuple[float, int]]()
    done = [*[0] * len(seconds), len(seconds[0])]  # last what is above the first row, and below
    while ready or running:
        while ready and len(running) < devices:
            row = heappop(ready)[1]
            told = max(now, told) + scheduling
            heappush(running, (told + seconds[row][done[row]], row))
        now, row = heappop(running)
        done[row] += 1
        for next_row in (row, row + 1):  # the tile to its right, and the one below
            here = done[next_row]
            if here < done[next_row - 1] and (next_row == row or here == done[row] - 1):
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
    if given.device.speculative and not isinstance(given.plan, StriplessPlan):
        return _of_columns(given, work, m, n) or _of_relay(given, work, m, n)
    plan, devices, alone = given.plan, given.devices, replace(given, shares=(), holds=False)
    shape = spread(plan, m, n, devices)
    if shape is None:
        return {}
    sides = cuts(m, shape[0], strip_rows(plan, *shape), tiles=True), cuts(n, shape[1], 1)
    heights, widths = map(lengths, sides)
    known = cache(lambda *size: device_seconds(given, sweep_of(alone, *size)))
    seconds = [[known(rows, columns) for columns in widths] for rows in heights]
    every, cells = sum(map(sum, seconds)) / devices, device_seconds(given, work) / devices
    return {"cells": cells, "tiles": every - cells, "fill": as_free(seconds, devices) - every}


def _of_columns(given: Given, work: Work, m: int, n: int) -> dict[str, float]:
    ends, _ = shared_columns(given, m, n)
    if not ends:
        return {}
    own = of_columns(given)
    cells = device_seconds(own, sweep_of(own, m, n)) / given.devices
    return {"cells": cells, "tiles": device_seconds(own, work) - cells, "edges": COMPARED * m}


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


@dataclass(frozen=True)
class Network:
    """What lies between machines, or between them and a folder that they share."""

    #: Bits a second, to and from each machine; seconds until the first bit arrives.
    bits: float = 1e10
    latency: float = 1e-4

    @classmethod
    def parsed(cls, text: str) -> Network:
        """From "10Gbit,20us", whose latency may be left out.  Raises InputError."""
        written = r"(\d*\.?\d+)\s*([kMGT])bit(?:/s)?(?:\s*,\s*(\d*\.?\d+)\s*([num]?)s)?"
        found = re.fullmatch(written, text.strip()) if isinstance(text, str) else None
        if found is None or float(found[1]) == 0:
            raise InputError(f"network {shown(text)} is no speed and latency like 10Gbit,20us")
        bits = float(found[1]) * {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[found[2]]
        if found[3] is None:
            return cls(bits)
        return cls(bits, float(found[3]) * {"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0}[found[4]])

    def seconds(self, height: int, width: int) -> float:
        """Until a tile has its edges, and others those that it gives; compressed if sooner."""
        byte = 16 / self.bits  # there and back
        cell = min(RAW * byte, COMPRESSED * byte + COMPRESSING)
        return (height + width) * cell + 4 * self.latency


@dataclass(frozen=True)
class Cluster:
    """So many machines, each with a device like the others."""

    devices: int
    network: Network = Network()

    def cuts(self, given: Given, m: int, n: int) -> tuple[list[int], list[int]]:
        """Where the rows and the columns of an m x n matrix are cut into tiles, from 0 to m and to
        n, so that devices, each as `of_worker`, have it done soonest.  They compute the ready tile
        first that has most `ways_left`.

        Large tiles take less beside their cells, and of small ones soon every device has one.  So
        some sizes are tried, by what one tile in the middle takes; the first and the last are
        smaller."""
        known = cache(partial(seconds_of, given))
        ideal = known(m, n) / self.devices
        found = ideal * self.devices, (1, 1, 0)
        size = max(LEAST, min(USUAL, ideal / (ENOUGH**2 * self.devices)))
        if 2 * (ideal * self.devices * size) ** 0.5 > LONG * ideal:
            size /= 2
        while size <= MOST and ideal + FILL * (self.devices - 1) * size < found[0]:
            for aspect in ASPECTS:
                cells = min(1.0, size / self.devices / ideal)  # as a share
                height = min(1.0, max(cells, (cells * aspect * n / m) ** 0.5))
                down, across = round(1 / height), round(height / cells)
                for rise in {0, round(RISE_DEVICES * min(self.devices, down / 1.5, across / 1.5))}:
                    pieces = down, across, rise
                    found = min(found, (self._about(known, m, n, pieces, found[0]), pieces))
            size *= STEP
        down, across, rise = found[1]
        widest = sweep_of(of_worker(given), -(-m // down), -(-n // across)).widest
        rows = 1 if widest is None else widest.plan.strip_rows  # those below end whole strips
        return _cut(m, _sizes(down, rise), rows), _cut(n, _sizes(across, rise), 1)

    def _about(
        self, known: Callable[[int, int], float], m: int, n: int, pieces: Pieces, most: float
    ) -> float:
        """Seconds of a matrix in which there is place for so many large tiles, of sides as `_sizes`
        says, by those of tiles; less exact where they are more than ``most``."""
        down, across, rise = pieces

        def taken(height: float, width: float) -> float:
            rows, columns = int(-(-m * height // down)), int(-(-n * width // across))
            return known(rows, columns) + self.network.seconds(rows, columns)

        sides, tile = (_sizes(down, rise), _sizes(across, rise)), taken(1, 1) + SCHEDULING
        busy, scheduled = min(self.devices, *map(len, sides)), len(sides[0]) * len(sides[1])
        waits = (busy - 1) * tile * (FILL if rise else 1)
        waits = max(waits, tile * (down + across - 1 - down * across / busy))
        full = max(down * across * tile / busy, scheduled * SCHEDULING) + waits
        if full >= most or not rise:
            return full
        low, narrow = (1 - side.count(1.0) / sum(side) for side in sides)  # shares of smaller ones
        less = low * taken(SMALLER, 1) + narrow * taken(1, SMALLER)
        each = (1 - low) * (1 - narrow) * tile + less / SMALLER
        return full + down * across * (each - tile) / busy

    def shares(self, given: Given, work: Work, m: int, n: int) -> dict[str, float]:
        """Seconds that the ``work`` of a sweep takes them, by what they go to: "cells", if all were
        always busy at the speed of one, "tiles" beside their cells, the "fill" of the frontier,
        "edges" on their way, the "scheduler".  Empty: one computes it."""
        heights, widths = (lengths(side) for side in self.cuts(given, m, n))
        if self.devices == 1 or len(heights) * len(widths) == 1:
            return {}
        swept, between = cache(partial(seconds_of, given)), self.network.seconds
        seconds = [[swept(h, w) + between(h, w) for w in widths] for h in heights]
        hurry = ways_left(seconds)
        free, total = (as_free(seconds, self.devices, one, hurry) for one in (0.0, SCHEDULING))
        computed = sum(swept(*size) for size in product(heights, widths)) / self.devices
        every, cells = sum(map(sum, seconds)) / self.devices, device_seconds(given, work)
        cells /= self.devices
        parts = {"cells": cells, "tiles": computed - cells, "fill": free - every}
        return {**parts, "edges": every - computed, "scheduler": total - free}


def _sizes(pieces: int, rise: int) -> list[float]:
    """The sizes of the pieces of a side in which there is place for so many large ones; so many of
    each of `RISE` come first, and last."""
    first = [size for size in RISE for _ in range(rise)]
    return [*first, *[1.0] * max(1, round(pieces - 2 * sum(first))), *first[::-1]]


def _cut(length: int, shares: Sequence[float], quantum: int) -> list[int]:
    """Where a side is cut, at multiples of the ``quantum`` if pieces are long enough."""
    whole = length / sum(shares)
    unit = quantum if 4 * quantum <= whole * shares[0] else 1
    sizes = [max(1, int(whole * share / unit) * unit) for share in shares]
    sizes[len(sizes) // 2] += length - sum(sizes)
    return [0, *accumulate(sizes)]


def of_worker(given: Given) -> Given:
    """What decides how a device of a cluster computes its tiles."""
    return replace(given, plan=for_tiles(given.plan), shares=(), holds=False)


def for_tiles(plan: Plan) -> Plan:
    """The plan with which a device of a cluster computes its tiles: all by the same lanes, so that
    the build of those of 11 bits is worth while."""
    return replace(plan, tuning=plan.tuning.with_values({"engine.mixed_cells": 1 << 42}))


def seconds_of(given: Given, m: int, n: int) -> float:
    """What one device takes for a tile of m x n cells, and its host beside."""
    beside = BESIDE * given.device.speculative  # that of a CPU takes little of its seconds
    return device_seconds(given, sweep_of(of_worker(given), m, n)) + beside
