"""How a tile is computed: decided here, for the engine, the memory forecast and the model alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import lcm
from typing import Any

from .execution import ByRows, InParts, InSections, InStrips, TileExecution
from .facts import DeviceFacts, Share
from .geometry import Grid, TileRows, TileShape, fit, lengths, may_be_wide
from .path_grid import lines_fit, special_lines
from .plan import Plan, StriplessPlan
from .program import (
    Given,
    in_mixed_lanes,
    low_strips,
    mixed_plan,
    planned,
    program_of,
    seldom_waits,
)
from .sections import Sections, filling, first_overlap, sections_of, sooner_by_rows, span
from .sizes import bus_bytes, sharing_warps, warps_of


def choose(tile: TileShape, given: Given) -> TileExecution:
    """How a tile is computed: in sections or row by row where that is sooner done, in parts where
    the device cannot do it at once, else in strips."""
    plan, device = given.plan, given.device
    if isinstance(plan, StriplessPlan):
        return ByRows(plan)
    wide = tile.moves or tile.forbidden
    narrow = None if wide else given.narrow(tile.n)
    if given.cuts and not wide:
        cut_upright = cut(tile, given)
        if (across := _transposed(tile, given, cut_upright)) is not None:
            return across
        if cut_upright is not None:
            return _in_sections(tile, given, cut_upright)
    if tile.n > plan.tuning.sweep.longest_side and not lines_fit(plan, *tile.size, 0, 0, device):
        return InParts((), (tile.n // 2,))
    scan = None if wide else given.row_scan
    if isinstance(scan, StriplessPlan) and sooner_by_rows(plan, scan, *tile.size, tile.after):
        return ByRows(scan)
    inner = len(tile.rows), len(tile.columns)
    if any(inner) and not (plan.captures_inside and lines_fit(plan, *tile.size, *inner, device)):
        return InParts(tile.rows, tile.columns)
    score = narrow or given.scoring.source.file
    fits = planned(given, tile, narrow, tile.best and not tile.collects)
    if fits is None:  # no strips end at all special rows
        return InParts(tile.rows, ())
    found = in_strips(fits, score, tile, given, linked=False)
    if fits.lanes != plan.lane_set.mixed:
        return found
    usual = planned(given, tile, narrow)
    assert usual is not None  # else there were none with other lanes
    return _when_built(found, in_strips(usual, score, tile, given, linked=False), tile)


def in_boxes(given: Given, m: int, n: int) -> bool:
    """Is the path of a comparison of m x n cells found in boxes (:mod:`pysw_cl.drivers.ends`)?
    Where a thin matrix is swept in sections: special rows would forbid these, and cost more."""
    short, long = sorted((m, n))
    widest = span(given.scoring, short, 0, True)  # of the largest box
    least = given.plan.tuning.boxes.least_aspect * short
    return widest is not None and long >= max(least, 2 * widest) and _is_cut(given, m, n)


def _is_cut(given: Given, m: int, n: int) -> bool:
    """Are the tiles of a local m x n matrix swept in sections, if they are computed one by one?"""
    if not given.local:
        return False
    rows, columns = given.plan.tile_shape(m, n)
    tile = TileShape(rows, columns, best=True, level=True, level_left=True, after=True)
    return isinstance(choose(tile, given), InSections)


#: Columns by which parts side by side overlap: as many as there are in most repeats of chromosomes,
#: but at most one of so many parts of the narrowest part.  They begin at multiples of a block.
OVERLAP, OVERLAP_PARTS, BLOCK = 1 << 15, 1 << 7, 1 << 7
#: Tiles of each device, about, where cells are pruned: more of some rows are left than of others.
SHARES = 4


def choose_turns(tile: TileShape, rows_below: int, given: Given) -> list[InStrips]:
    """`choose_pipeline` for each of several devices, as one that has all groups; none: as None."""
    joint = choose_pipeline(tile, rows_below, _as_one(given))
    if joint is None:
        return []
    plan, parts = joint.plan, _parts(joint.plan.B, given.shares)
    each = (replace(plan, B=B, machine=given.plan.machine) for B in parts)
    return [
        in_strips(own, joint.program.score, tile, replace(given, device=share.device), linked=True)
        for own, share in zip(each, given.shares, strict=True)
    ]


def choose_pipeline(tile: TileShape, rows_below: int, given: Given) -> InStrips | None:
    """How the first ``tile`` of a pipeline is computed that goes on for so many rows; `in_strips`
    says how the others are.  None where tiles are better computed one by one."""
    if given.devices > 1:
        return next(iter(choose_turns(tile, rows_below, given)), None)
    plan, device, whole = given.plan, given.device, replace(tile, m=tile.m + rows_below)
    able = device.speculative and plan.form == "ticketed" and plan.lane_set.narrow is not None
    if not able or tile.moves or tile.forbidden or tile.collects or tile.rows or not rows_below:
        return None
    narrow = given.narrow(tile.n)
    usual, score = planned(given, whole, narrow), narrow or given.scoring.source.file
    if usual is None:
        return None
    # the device's memory has to hold two tiles like this one
    bus = bus_bytes(tile.n, usual.T, pipeline_lines(usual))
    rows = (1 + 8 + 8 * tile.right + 8 * len(tile.columns)) * tile.m
    if bus > device.largest or not half_holds(device, bus, 2 * rows):
        return None
    best = tile.best and seldom_waits(plan, tile.n)
    fits = planned(given, replace(whole, rows=(tile.m,)), narrow, best)
    ends = tile.m % usual.strip_rows == 0  # with a strip
    found = in_strips(usual, score, tile, given, linked=True) if ends else None
    if fits is None or fits.lanes != plan.lane_set.mixed or tile.m % fits.strip_rows:
        return found
    mixed = in_strips(fits, score, tile, given, linked=True)
    return mixed if found is None else _when_built(mixed, found, whole)


def whole_pipeline(tile: TileShape, given: Given) -> InStrips | None:
    """How the first tile is computed of a pipeline that sweeps all of a matrix, whose shape and
    wishes ``tile`` has; None where its tiles are computed one by one."""
    plan, device, (m, n) = given.plan, given.device, tile.size
    most, alone = plan.tile_shape(m, n), given.devices == 1
    if not device.speculative or not plan.captures_inside or (alone and most[0] >= m):
        return None
    rows = pipeline_rows(given, m, n) if alone else None
    height = shared_ends(given, m, n)[0] if rows is None else rows.height(most[0])
    if height >= m or not may_be_wide(height, n, most):
        return None
    return choose_pipeline(replace(tile, m=height, rows=(), bottom=True), m - height, given)


def pipeline_rows(given: Given, m: int, n: int, pieces: int = 1) -> TileRows | None:
    """The rows of the tiles of a pipeline that computes m x n cells, and what they should be
    multiples of; None where tiles are better computed one by one.  ``depth`` tiles have at least
    the rows that the device computes at once.  Each ends where a strip of any lanes that may
    compute it ends, and where a whole group of warps does.  Of several devices: `shared_rows`."""
    if given.devices > 1:
        least = given.devices * (SHARES if given.alike_rows else 1)
        return shared_rows(_as_one(given), m, n, given.shares, max(pieces, least))
    plan, device = given.plan, given.device
    usual = plan.for_size(m, n) if _follow(given, m, n) else None
    if usual is None or usual.lane_set.narrow is None:
        return None
    mixed = in_mixed_lanes(plan) if seldom_waits(plan, n) else None
    plans = [one for one in (usual, mixed and mixed.for_size(m, n)) if one]
    wide = plan.without_narrow().strip_rows
    quantum = lcm(wide, *(p.strip_rows * warps_of(p.lane_set, device, p.B) for p in plans))
    if quantum > plan.device_rows:  # of few compute units: groups may have idle warps
        quantum = lcm(wide, *(p.strip_rows for p in plans))
    at_once = max(p.device_rows for p in plans)
    return TileRows(-(-at_once // (plan.tuning.pipeline.depth * quantum)) * quantum, quantum)


def _as_one(given: Given) -> Given:
    """Several devices as if they were one with as many groups and schedulers."""
    plan, B = given.plan, sum(one.groups for one in given.shares)
    plan = replace(plan, B=B, machine=plan.machine.on(round(B / plan.B * plan.machine.schedulers)))
    return replace(given, plan=low_strips(plan, given.alike_rows), shares=())


def _parts(B: int, shares: tuple[Share, ...]) -> list[int]:
    """How many of B groups each device has."""
    every = sum(one.groups for one in shares)
    return [max(1, B * one.groups // every) for one in shares]


def shared_ends(given: Given, m: int, n: int) -> list[int]:
    """Where the tiles end of a pipeline that several devices compute; m alone: there is none.  For
    a path there are as many as it wants special rows."""
    rows, pieces = None, 1
    if given.devices > 1:
        if given.paths:
            pieces = len(special_lines(given.plan, m, n, given.plan.tile_shape(m, n))[0]) - 1
        rows = pipeline_rows(given, m, n, pieces)
    return [m] if rows is None else [*rows.cuts(m), m]


def shared_rows(
    given: Given, m: int, n: int, shares: tuple[Share, ...], pieces: int
) -> TileRows | None:
    """As `pipeline_rows`, for several devices that compute the tiles in turn and that ``given`` has
    as one; about so many ``pieces``, if there can be.

    A device computes its strips in rounds of as many as it holds.  If a group of a tile has to wait
    for the next round, so do all tiles below it on the other devices, which hold places meanwhile.
    So there are equally many tiles in each round of each device, and all groups of them fit.  No
    tile is larger than one of a single device may be."""
    best = given.local and seldom_waits(given.plan, n)
    plan = planned(given, TileShape(m, n), given.narrow(n), best)
    if plan is None or plan.lane_set.narrow is None or not _follow(given, m, n):
        return None
    devices, unit, least = len(shares), plan.strip_rows, -(-m // plan.device_rows)
    weights, B = tuple(one.groups for one in shares), _parts(plan.B, shares)
    warps = [warps_of(plan.lane_set, x.device, b) for x, b in zip(shares, B, strict=True)]
    most = replace(given.plan, B=given.plan.B // devices).tile_shape(m, n)
    for rounds in range(least, 2 * least + 1):
        each = range(1, plan.tuning.pipeline.depth + 1)
        for tiles in sorted(each, key=lambda tiles: abs(devices * rounds * tiles - pieces)):
            rows = TileRows(max(unit, -(-m // (devices * rounds * tiles))), unit, weights)
            heights = lengths([0, *rows.cuts(m), m])
            if max(heights) > most[0] or not may_be_wide(max(heights), n, most):
                continue
            if all(
                sum(-(-one // (w * unit)) for one in heights[turn::devices][k : k + tiles])
                <= b // w
                for turn, (b, w) in enumerate(zip(B, warps, strict=True))
                for k in range(0, rounds * tiles, tiles)
            ):
                return rows
    return TileRows(max(unit, -(-m // (devices * least))), unit, weights)


def _follow(given: Given, m: int, n: int) -> bool:
    """May the tiles of m x n cells follow each other, by their size?"""
    tuning = given.plan.tuning.pipeline
    if m * n < tuning.least_cells or n > tuning.most_columns:
        return False
    # unless it is too thin for strips of all groups
    return n >= given.plan.pipeline_lag or not _is_cut(given, m, n)


def shared_columns(given: Given, m: int, n: int) -> tuple[list[int], int]:
    """Where the columns end that several GPUs sweep side by side, and by how many they overlap
    (:mod:`pysw_cl.tiles.beside`); none: their tiles follow each other instead."""
    alike = given.alike_rows or (given.seen.alike and not given.paths)
    strips = given.device.speculative and not isinstance(given.plan, StriplessPlan)
    if given.devices == 1 or alike or not strips:
        return [], 0
    return _side_by_side(given, [share.groups for share in given.shares], m, n)


def of_columns(given: Given) -> Given:
    """What decides how one of several devices computes its columns: with lanes as for all."""
    tuning = given.plan.tuning
    cells = max(1, tuning.engine.mixed_cells // given.devices)
    plan = replace(given.plan, tuning=tuning.with_values({"engine.mixed_cells": cells}))
    return replace(given, plan=plan, shares=(), holds=False)


def helped_columns(given: Given, other: Plan, m: int, n: int) -> tuple[list[int], int, int]:
    """As `shared_columns`, for a GPU and a slower device with the ``other`` plan; and how many rows
    that one best sweeps at once, so that the GPU does not wait long for it."""
    plan = given.plan
    if None in (one.machine.known(one.engine) for one in (plan, other)):
        return [], 0, 0
    speeds = [1 / one.least_cost(m, n) for one in (in_mixed_lanes(plan) or plan, other)]
    ends, overlap = _side_by_side(given, speeds, m, n)
    seconds = other.least_cost(m, n - ends[0]) if ends else 0.0
    strips = int(m * plan.tuning.sweep.beside_seconds / max(seconds, 1e-9) / other.strip_rows)
    return ends, overlap, max(1, strips) * other.strip_rows


def _side_by_side(given: Given, speeds: Sequence[float], m: int, n: int) -> tuple[list[int], int]:
    """Columns for devices of such speeds; none if too little time is saved."""
    plan, tuning, devices = given.plan, given.plan.tuning.sweep, len(speeds)
    narrowest = int(n * min(speeds) / sum(speeds))
    overlap = min(OVERLAP, narrowest // OVERLAP_PARTS)
    overlap = max(overlap, given.overlap, first_overlap(plan, given.scoring, m))
    # lanes of 11 bits keep no column of odd number
    unit = max(1, min(BLOCK, narrowest // OVERLAP_PARTS))
    overlap = -(-overlap // unit) * unit
    whole = n + overlap * (devices - 1)
    ends = [
        int(whole * sum(speeds[: k + 1]) / sum(speeds) / unit) * unit - k * overlap
        for k in range(devices)
    ]
    ends[-1] = n
    own = in_mixed_lanes(plan) or plan
    most = (1 - tuning.beside_share) * own.least_cost(m, n)
    small = not given.local or m * n < plan.tuning.pipeline.least_cells
    if small or min(lengths([0, *ends])) < overlap or own.least_cost(m, ends[0]) > most:
        return [], 0
    return ends, overlap


def pipeline_slots(plan: Plan) -> int:
    """Tiles of a pipeline that have memory at once: running, begun, or just taken out, one each at
    least."""
    return max(3, plan.tuning.pipeline.depth + plan.tuning.pipeline.more)


def pipeline_lines(plan: Plan, apart: bool = False) -> int:
    """The lines of the bus of a pipeline's tiles: two for strips, and a ring between tiles.
    ``apart``: tiles have a line above and another one below."""
    return 2 + (1 + apart) * (pipeline_slots(plan) + 1)


def half_holds(device: DeviceFacts, own: int, asked: int) -> bool:
    """Does half of the device's memory suffice for ``own`` bytes of a pipeline and ``asked`` bytes
    of its tiles?  (Pools may hold four times as many.)"""
    return own + 4 * asked <= device.memory // 2


def _when_built(mixed: InStrips, usual: InStrips, whole: TileShape) -> InStrips:
    """Lanes of 11 bits, or the usual ones until those are built: a build is not worth while for
    what is done sooner.  ``whole``: all tiles that are computed alike."""
    waits = mixed.plan.tile_cost(*whole.size) >= mixed.plan.tuning.engine.mixed_build
    return mixed if waits else replace(mixed, until_built=usual)


def in_strips(fits: Plan, score: str, tile: TileShape, given: Given, linked: bool) -> InStrips:
    """A tile in strips by the plan that ``fits`` it.  ``linked``: is it one of a pipeline?"""
    plan = fits.for_moves(*tile.size) if tile.moves else fits
    form, B = plan.form, plan.B
    if tile.moves and form == "two-phase":
        form, B = "ticketed", 1  # a single group waits for no other
    grid = fit(*tile.size, B, plan.T, plan.alpha, form, given.device.least_T)
    prunes = plan.lane_set.prunes and not tile.collects and (tile.best or not given.local)
    apart = tile.collects or tile.moves or tile.forbidden or grid.form != "ticketed"
    at_once = B if linked or plan.B_fixed else grid.B
    warps = warps_of(plan.lane_set, given.device, at_once) if form == "ticketed" else 1
    asked = {"moves": tile.moves, "forbidden": tile.forbidden, "prunes": tile.after and prunes}
    how: dict[str, Any] = {"form": grid.form, "T": grid.T, "warps": warps}
    program = program_of(plan, given, score, tile.finds, apart, **asked, **how)
    strip_groups = -(-grid.B // warps) * warps
    return InStrips(tile, program, grid, strip_groups, given.scoring.source.sizes(score), linked)


def cut(tile: TileShape, given: Given) -> Sections | None:
    """The sections of a tile; None if it is as fast without them, or computed without.  Values in
    the middle of a row are known not to be too low where H is never below 0, and where all H of the
    top edge are equal.  Elsewhere they may depend on all columns before them."""
    plan, scoring, (m, n), largest = given.plan, given.scoring, tile.size, given.device.largest
    bus = 36 * n  # three lines of the bus, and overlaps
    able = not tile.rows and (given.local or tile.level) and plan.may_be_cut(m, n)
    if not able or plan.form != "ticketed" or bus > largest:
        return None
    reach = span(scoring, m, given.seen.excess(), given.local)
    overlap = max(first_overlap(plan, scoring, m), given.overlap)
    plan = plan.for_scores(given.narrow(n))
    asked = m, n, reach, overlap, tile.columns, tile.after and plan.lane_set.prunes
    most = (largest - bus) // (16 * (m + plan.strip_rows))  # two columns of each
    found = sections_of(plan, (*asked, most))
    if found is None:
        return None
    mixed = mixed_plan(plan, given, tile, tile.best and not tile.collects)
    if mixed is not None and mixed.tile_cost(m, n) < found.cut.cost(plan, m, n):
        return None  # strips of lanes of 11 bits are sooner done
    # in so many an alignment of all rows meets few ends
    few = int(n / max(1, plan.tuning.sections.least_aspect * m))
    if found.count <= few:
        return found
    if given.seen.related():
        return sections_of(plan, (*asked, min(few, most)))
    return replace(found, square=True)


def _transposed(tile: TileShape, given: Given, sections: Sections | None) -> InSections | None:
    """A tile of few columns in sections of the transposed tile, where that is sooner done than in
    strips or in ``sections``: strips are too short for many at once."""
    plan, scoring, (m, n) = given.plan, given.scoring, tile.size
    if m <= n or not (plan.may_be_cut(m, n) and scoring.source.symmetric):
        return None
    turned, other = tile.turned, replace(given, seen=given.seen.transposed)
    found = cut(turned, other)
    if found is None:
        return None
    own = plan.for_scores(given.narrow(n))
    seconds = own.least_cost(m, n) + own.rows_cost(m) if sections is None else sections.cost(m, n)
    if (mixed := mixed_plan(own, given, tile, tile.best)) is not None:
        seconds = min(seconds, mixed.tile_cost(m, n))
    most = plan.tuning.sections.most(tile.after and plan.lane_set.prunes and sections is None)
    return None if found.cost(n, m) >= most * seconds else _in_sections(turned, other, found)


def _in_sections(tile: TileShape, given: Given, sections: Sections) -> InSections:
    plan, scoring, device = sections.plan, given.scoring, given.device
    grid = Grid(*tile.size, plan.B, plan.T, plan.alpha, "ticketed")
    letters = scoring.matrix.shape[1] + 1
    # sections that share a group have one as long as each
    at_once = min(plan.B, grid.strips * int(filling(plan, sections.count, plan.B)))
    shared = sharing_warps(plan.lane_set, letters, plan.T, plan.alpha, plan.chunk)
    warps = warps_of(plan.lane_set, device, at_once, shared)
    strip_groups = warps * -(-at_once // warps)
    score = replace(given, plan=plan).narrow(tile.n) or scoring.source.file
    flat = tile.level and grid.strips == 1 and not tile.bottom
    how: dict[str, Any] = {"warps": warps, "many": True, "sections": True, "flat": flat}
    program = program_of(plan, given, score, tile.finds, **how)
    return InSections(tile, program, grid, strip_groups, scoring.source.sizes(score), sections)
