"""Kept moves walked back on the device: alone and by groups through windows of any size, over tiles
of every lane set, as the reference engine walks them; and the plans of such tiles."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from aligning import needs_lanes
from contract_engines import random_job
from helpers import match_scoring, mutated, random_scoring

from pysw_cl.engines.plans import default_plan, make_plan
from pysw_cl.engines.reference import ReferenceEngine
from pysw_cl.engines.wavefront.device_traceback import DeviceMoves
from pysw_cl.engines.wavefront.engine import WavefrontEngine
from pysw_cl.opencl.device import Runtime, get_runtime
from pysw_cl.planning.facts import DeviceTraits
from pysw_cl.planning.geometry import fit
from pysw_cl.planning.model.times import GENERIC, Machine
from pysw_cl.planning.parameters import TracebackTuning
from pysw_cl.planning.path_grid import grid_places
from pysw_cl.planning.plan import Plan
from pysw_cl.planning.sizes import moves_bytes
from pysw_cl.tiles.tile import StoredMoves, TileJob, Traced

REFERENCE = ReferenceEngine()
#: T and alpha: one lane, few, one row, more rows than a word of moves holds, many.
SHAPES = {
    "vector32": [(1, 3), (4, 2), (8, 1), (8, 9), (16, 16)],
    "scalar32": [(2, 2), (2, 3)],
    "warp32": [(0, 1), (0, 4), (0, 8)],
}
#: How a walk may read moves: where they are, or a group through windows: high, as small as they
#: may be, small, wide.
GROUPS: list[dict[str, int]] = [
    {"TRACEBACK_GROUP_SIZE": 1},
    {"TRACEBACK_GROUP_SIZE": 64, "WINDOW_WORDS": 300},
    {"TRACEBACK_GROUP_SIZE": 2, "WINDOW_DIAGONALS": 1, "WINDOW_WORDS": 1},
    {"TRACEBACK_GROUP_SIZE": 4, "WINDOW_DIAGONALS": 3, "WINDOW_WORDS": 20},
    {"TRACEBACK_GROUP_SIZE": 32, "WINDOW_DIAGONALS": 40, "WINDOW_WORDS": 1},
]
#: A CPU builds a kernel of a large group for seconds: all are tried for one shape, small ones for
#: one with more rows than a word, and for others one work-item and the smallest group and windows,
#: unless long tests run.
FEWER_GROUPS = {
    ("vector32", 4, 2): GROUPS,
    ("vector32", 8, 9): [GROUPS[0], GROUPS[2], GROUPS[3]],
}


def engine_of(lanes: str, T: int, alpha: int) -> WavefrontEngine:
    """T = 0: what the lane set runs on the device."""
    needs_lanes(lanes)
    runtime = get_runtime("auto")
    T = T or 2 * runtime.traits.warp_width
    wishes = {"lanes": lanes, "T": T, "alpha": alpha, "chunk": 9, "B": 2, "form": "ticketed"}
    return WavefrontEngine(runtime, make_plan(runtime, wishes))


def same_walk(found: Traced, wanted: Traced) -> None:
    assert found.moves.tolist() == wanted.moves.tolist()
    assert (found.row, found.column, found.state, found.ended) == (
        wanted.row, wanted.column, wanted.state, wanted.ended,
    )  # fmt: skip


def both(engine: WavefrontEngine, job: TileJob) -> tuple[DeviceMoves, StoredMoves]:
    mine, wanted = engine.tile(job).moves, REFERENCE.tile(job).moves
    assert isinstance(mine, DeviceMoves)
    assert wanted is not None
    return mine, wanted


def check(
    engine: WavefrontEngine, job: TileJob, groups: list[dict[str, int]], rng: Any, traces: int = 8
) -> None:
    """From the last cell and some others, in any state, in every way of reading."""
    m, n = len(job.query), len(job.target)
    mine, wanted = both(engine, job)
    usual = mine._defines
    if "scalar32" in get_runtime("auto").traits.refused_lanes:  # nor does it build groups
        groups = [group for group in groups if group["TRACEBACK_GROUP_SIZE"] == 1]
    starts = [(m, n, 0), (m, 1, 2), (1, n, 1)]
    starts += [tuple(int(rng.integers(least, k)) for least, k in ((1, m + 1), (1, n + 1), (0, 3)))
               for _ in range(traces)]  # fmt: skip
    for group in groups:
        mine._defines = {**usual, **group}
        for start in starts:
            same_walk(mine.trace(*start), wanted.trace(*start))
    mine.release()


def job_of(rng: np.random.Generator, m: int, n: int, local: bool, related: bool) -> TileJob:
    """A tile with kept moves; related letters make paths that run through all of it."""
    job = random_job(rng, m, n, random_scoring(rng, 4), local, store_moves=True, right=False)
    job = replace(job, bottom=False)
    if related:
        job = replace(job, target=mutated(rng, job.query, n, 4))
    return job


CASES = [(lanes, T, alpha) for lanes, shapes in SHAPES.items() for T, alpha in shapes]


def check_sizes(lanes: str, T: int, alpha: int, local: bool, groups: list[dict[str, int]]) -> None:
    engine, rng = engine_of(lanes, T, alpha), np.random.default_rng(5)
    for m, n in [(1, 1), (1, 70), (70, 1), (33, 40), (150, 90), (90, 200)]:
        check(engine, job_of(rng, m, n, local, related=m > 40), groups, rng)


@pytest.mark.parametrize("lanes, T, alpha", CASES)
@pytest.mark.parametrize("local", [True, False], ids=["local", "global"])
def test_random_tiles(lanes: str, T: int, alpha: int, local: bool) -> None:
    fewer = FEWER_GROUPS.get((lanes, T, alpha), [GROUPS[0], GROUPS[2]])
    on_cpu = get_runtime("auto").info.kind == "cpu"
    check_sizes(lanes, T, alpha, local, fewer if on_cpu else GROUPS)


@pytest.mark.long
@pytest.mark.parametrize("lanes, T, alpha", [*CASES, ("scalar32", 32, 3)])
@pytest.mark.parametrize("local", [True, False], ids=["local", "global"])
def test_random_tiles_in_every_way(lanes: str, T: int, alpha: int, local: bool) -> None:
    check_sizes(lanes, T, alpha, local, GROUPS)


def test_long_gaps() -> None:
    """Gaps that go through several windows and strips, and leave the tile on either side."""
    engine, rng = engine_of("vector32", 4, 2), np.random.default_rng(6)
    scoring = match_scoring(5, -4, 3, 0)  # a gap goes on for nothing
    for m, n in [(300, 40), (40, 300)]:
        job = replace(job_of(rng, m, n, False, True), scoring=scoring)
        longer, shorter = ("query", "target") if m > n else ("target", "query")
        kept = np.concatenate([getattr(job, longer)[:10], getattr(job, longer)[-30:]])
        job = replace(job, **{shorter: kept})
        check(engine, job, GROUPS, rng)


@pytest.mark.parametrize("size", [2, pytest.param(16, marks=pytest.mark.long)])
def test_windows_of_every_size(size: int) -> None:
    """A window may end at any lane and diagonal, on any side of a strip."""
    engine, rng = engine_of("vector32", 4, 2), np.random.default_rng(7)
    job = job_of(rng, 37, 45, False, related=True)
    sizes = [(diagonals, words) for diagonals in (1, 2, 7) for words in (1, 99)]
    if size == 2:  # without (1, 1), which is one of GROUPS, and with fewer words for each work-item
        sizes = [(1, 39), (2, 1), (7, 1), (7, 39)]
    groups = [
        {"TRACEBACK_GROUP_SIZE": size, "WINDOW_DIAGONALS": d, "WINDOW_WORDS": w} for d, w in sizes
    ]
    check(engine, job, groups, rng, traces=12)


def test_memory_of_moves_goes_from_tile_to_tile() -> None:
    """A released tile's memory is the next one's, unless that needs more; others keep theirs."""
    engine, rng = engine_of("vector32", 4, 2), np.random.default_rng(8)
    small, large = (job_of(rng, k, k, False, related=True) for k in (20, 60))
    first, _ = both(engine, large)
    held = first._dirs
    first.release()
    first.release()  # nothing is left to give back
    second, wanted = both(engine, small)
    third, wanted_too = both(engine, small)
    assert second._dirs is held and third._dirs is not held
    for mine, right in ((second, wanted), (third, wanted_too)):
        same_walk(mine.trace(20, 20, 0), right.trace(20, 20, 0))
    third.release()
    second.release()
    fourth, wanted = both(engine, large)  # what is kept is too small
    same_walk(fourth.trace(60, 60, 0), wanted.trace(60, 60, 0))


MOVES = Machine({"moves/warp32": {"step": 7.5e-8, "row": 1.5e-8, "block": 1e-6}})
WARPS = Plan(
    lanes="packed",
    T=64,
    alpha=25,
    B=12 * 132,
    chunk=128,
    traceback_tile_cells=1 << 28,
    machine=MOVES,
)


def test_plans_of_tiles_with_moves() -> None:
    """Fewer rows a lane where that is sooner and the moves fit; what was asked for stays."""
    for side in (1, 300, 4096, 11_000, 11_600, 16_000, 50_000):
        plan = WARPS.for_moves(side, side)
        assert (plan.lanes, plan.T, plan.chunk) == ("warp32", 64, 32)
        grid = fit(side, side, plan.B, plan.T, plan.alpha, "ticketed")
        kept = moves_bytes(side, side, grid.T, grid.alpha)
        limit = WARPS.traceback_tile_cells // 2
        assert plan.alpha == (4 if side < 11_500 else 8)
        assert kept <= limit or plan.alpha == 8
    assert replace(WARPS, form="two-phase").for_moves(4096, 4096).alpha == 8  # strips in turn
    assert replace(WARPS, chunk=9).for_moves(4096, 4096).chunk == 9
    unknown = replace(WARPS, machine=GENERIC).for_moves(300, 300)
    assert (unknown.alpha, unknown.chunk) == (8, 32)  # nobody knows how long fewer rows take
    asked = replace(WARPS, alpha=6, alpha_fixed=True).for_moves(4096, 4096)
    assert (asked.alpha, asked.chunk) == (6, 128)
    vectors = Plan().for_moves(4096, 4096)
    assert vectors == Plan().without_narrow()


def test_an_engine_says_what_a_tile_will_keep() -> None:
    """The driver's question and the tile's answer are of one plan."""
    engine, rng = engine_of("vector32", 8, 9), np.random.default_rng(9)
    job = job_of(rng, 80, 31, False, related=True)
    mine, _ = both(engine, job)
    assert mine._dirs.size == engine.plan.moves_bytes(80, 31)


def test_finer_grids_are_no_finer_than_tiles_need() -> None:
    """Pieces of at least half a tile's side, as far as the number of pieces allows."""
    for length, least, pieces in [
        (65536, 1, 16),
        (65536, 8192, 8),
        (20_000, 8192, 2),
        (9, 8192, 1),
    ]:
        places = grid_places(TracebackTuning(), length, 64, None, least)
        assert len(places) - 1 == pieces
        assert pieces == 1 or places[1] >= max(least, TracebackTuning().least_side)


@pytest.mark.parametrize(
    "form, cells", [("ticketed", 1 << 28), ("two-phase", 1 << 24)], ids=lambda x: str(x)
)
def test_large_tiles_with_moves_where_their_side_decides(form: str, cells: int) -> None:
    runtime = get_runtime("auto")
    info = replace(runtime.info, lanes="packed", form=form)
    own = {"facts": runtime.facts, "profile": runtime.profile, "made_once": runtime.made_once}
    like = SimpleNamespace(info=info, **own)
    assert default_plan(cast(Runtime, like)).traceback_tile_cells == cells
    assert default_plan(runtime).traceback_tile_cells == 1 << 24 or runtime.info.lanes == "packed"


@pytest.mark.parametrize("memory, most", [(8 << 30, 500_000_000), (80 << 30, 5 << 29)])
def test_memory_of_a_path_where_tiles_are_computed_ahead(memory: int, most: int) -> None:
    """A 32nd of the device's, if that is more than elsewhere."""
    runtime = get_runtime("auto")
    facts = replace(runtime.facts, speculative=True, memory=memory)
    own = {"info": runtime.info, "profile": runtime.profile, "made_once": runtime.made_once}
    plan = default_plan(cast(Runtime, SimpleNamespace(facts=facts, **own)))
    assert plan.tuning.traceback.path_bytes == most


def test_who_walks() -> None:
    """One work-item on CPUs, a group elsewhere."""
    runtime = get_runtime("auto")
    cpu = runtime.info.kind == "cpu"
    assert (runtime.traits.traceback_group_size == 1) == cpu
    assert DeviceTraits().traceback_group_size > 1
