"""Rows and columns of a grid that are packed on the device: the same cells in less memory."""

from __future__ import annotations

import gc
from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import pytest
from helpers import Smaller, device_has, fault, spy, use_engine
from saving import key
from speculating import HOW, OneByOne, constants, every_plan, pairs, plan_of, related, watched

import pysw_cl
from pysw_cl.drivers.traceback import SpeculativeTraceback
from pysw_cl.engines.plans import make_plan
from pysw_cl.engines.wavefront.compressed_edge import CompressedEdge
from pysw_cl.engines.wavefront.engine import WavefrontEngine
from pysw_cl.errors import DeviceError
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning import parameters
from pysw_cl.planning.geometry import cuts
from pysw_cl.planning.parameters import TracebackTuning
from pysw_cl.planning.path_grid import compressible as holds, most_pieces, path_bytes, strip_rows
from pysw_cl.planning.sizes import COMPRESSED_CELL_BYTES as CELL_BYTES
from pysw_cl.scoring.scoring import make_scoring
from pysw_cl.sequences.view import View
from pysw_cl.tiles.edges import Border, DeviceEdge, Edge, Edges
from pysw_cl.tiles.graph import Rectangle
from pysw_cl.tiles.special_lines import SweptGrid
from pysw_cl.tiles.sweep import sweep
from pysw_cl.tiles.tile import Area, Want


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles go side by side on any device."""
    device_has(monkeypatch, speculative=True)


def compressing(
    base: type[WavefrontEngine] = WavefrontEngine, **how: Callable[..., Any]
) -> type[WavefrontEngine]:
    """An engine that compresses edges in another way: has these methods."""
    return type("Compressing", (base,), how)


def stays(engine: WavefrontEngine, cells: DeviceEdge) -> None:
    """Nothing could be compressed."""


def refuses(engine: WavefrontEngine, *_: Any) -> bool:
    """Nothing is to be compressed."""
    return False


def swept(local: bool, m: int = 700, n: int = 900) -> tuple[WavefrontEngine, SweptGrid]:
    """A grid that a sweep kept on the device."""
    runtime, rng = get_runtime("auto"), np.random.default_rng(7)
    lanes = "packed" if runtime.info.kind != "cpu" else "vector"
    engine = WavefrontEngine(runtime, make_plan(runtime, plan_of(lanes)))
    scoring = make_scoring((2, -3), (5, 1))
    query, target = (View(rng.integers(0, 4, length).astype(np.uint8)) for length in (m, n))
    border = Border(local, scoring.gap_open, scoring.gap_extend)
    rows, columns = cuts(m, m // 3, strip_rows(engine.plan, m, n)), cuts(n, n // 4, 1)
    grid = SweptGrid.over(Edges(0, border, border), rows, columns)
    floor, want = (0, Want("all")) if local else (None, Want("corner"))
    sweep(engine, Rectangle(query, target, scoring, floor), grid.saving(), want)
    assert grid.rows and len(grid.columns) == 3
    return engine, grid


def lines(grid: SweptGrid) -> dict[str, Edge]:
    """All cells of a grid."""
    kinds = {"row": grid.rows, "column": grid.columns}
    length = {"row": 900, "column": 700}
    return {
        f"{kind} {at}": edge.read(0, length[kind])
        for kind, edges in kinds.items()
        for at, edge in edges.items()
    }


def same(found: dict[str, Edge], wanted: dict[str, Edge]) -> None:
    assert found.keys() == wanted.keys()
    for name, edge in found.items():
        np.testing.assert_array_equal(edge.h, wanted[name].h, name)
        np.testing.assert_array_equal(edge.x, wanted[name].x, name)


@pytest.mark.parametrize("local", [True, False])
def test_a_packed_grid_is_the_same(local: bool) -> None:
    """And what it was before is given back."""
    engine, packed = swept(local)
    wanted, raw = lines(packed), engine._room.edge_bytes
    area = Area(max(packed.rows), 700, max(packed.columns), 900)
    edges = packed.edges_of(area)
    packed.compress(engine)
    gc.collect()
    both = [edge.cells for edge in (*packed.rows.values(), *packed.columns.values())]
    assert all(isinstance(edge, CompressedEdge) for edge in both)
    assert engine._room.edge_bytes == sum(
        edge.bytes for edge in both if isinstance(edge, CompressedEdge)
    )
    assert len(engine._room.edges) == sum(isinstance(edge, CompressedEdge) for edge in both)
    assert engine.peak_bytes > raw  # some are there twice meanwhile
    same(lines(packed), wanted)
    assert packed.start(700, 900) == (area.row, area.column)
    assert packed.edges_of(area).corner == edges.corner
    again = packed.edges_of(area)
    for found, want in ((again.top, edges.top), (again.left, edges.left)):
        same({"": found.read(0, 50)}, {"": want.read(0, 50)})


def test_what_cannot_be_packed_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows or all columns, which share a buffer."""
    engine, grid = swept(True)
    wanted, asked = lines(grid), list[int]()
    width = len(next(iter(grid.rows.values())))

    def but_rows(edge: DeviceEdge) -> CompressedEdge | None:
        asked.append(len(edge))
        return None if len(edge) == width else compress(edge)

    compress = engine.compressed
    with monkeypatch.context() as patch:
        patch.setattr(engine, "compressed", but_rows)
        grid.compress(engine)
    assert asked == [900, 700, 700, 700]  # the second row is not tried
    assert all(isinstance(edge.cells, DeviceEdge) for edge in grid.rows.values())
    assert all(isinstance(edge.cells, CompressedEdge) for edge in grid.columns.values())
    same(lines(grid), wanted)

    with monkeypatch.context() as patch:
        fault(patch, CompressedEdge, "__init__", DeviceError("out of memory"))
        engine, grid = swept(True)
        before = engine._room.edge_bytes
        grid.compress(engine)
        assert engine._room.edge_bytes == before
        same(lines(grid), wanted)
    for edge in (*grid.rows.values(), *grid.columns.values()):
        edge.write(0, edge.read(0, len(edge)))  # cells that the host has
    grid.compress(engine)
    same(lines(grid), wanted)


def test_cells_that_blocks_do_not_hold() -> None:
    """They are known from the scores before anything is computed."""
    assert holds(make_scoring((1, -3), (255, 2))) and not holds(make_scoring((1, -3), (256, 2)))
    assert holds(make_scoring((4000, -1), (20, 367))) and not holds(
        make_scoring((4000, -1), (200, 2000))
    )
    assert holds(make_scoring("BLOSUM62", (10, 0.5)))


@pytest.mark.usefixtures("ahead")
def test_a_device_with_little_memory_packs_nothing() -> None:
    """What does not stay on it while it is computed is not packed, so the grid is not cut finer."""
    runtime, scoring = get_runtime("auto"), make_scoring((1, -3), (3, 2))
    engine = WavefrontEngine(runtime, make_plan(runtime, plan_of("vector")))
    assert engine.compresses(scoring, 10_000, 10_000, 15)
    engine.runtime = copy(runtime)
    few = {"max_mem_alloc_size": 4 << 20, "global_mem_size": 4 << 20}
    engine.runtime.device = Smaller(runtime.device, **few)
    assert engine.compresses(scoring, 10_000, 10_000, 8)
    assert not engine.compresses(scoring, 10_000, 10_000, 15)


@pytest.mark.parametrize("m", [10**4, 3 * 10**6, 33 * 10**6, 10**9])
@pytest.mark.parametrize("n", [10**4, 3 * 10**6, 47 * 10**6, 10**9])
@pytest.mark.parametrize("limit", [(500_000_000, 100), (0, 100), (0, 172), (0, 20), (1 << 20, 40)])
def test_pieces_of_a_packed_grid(m: int, n: int, limit: tuple[int, int]) -> None:
    """They keep to what a path may take while they are computed, packed and read."""
    tuning = TracebackTuning(path_bytes=limit[0], side_bytes=limit[1])
    most, each = path_bytes(tuning, m, n), most_pieces(tuning, m, n, CELL_BYTES) - 1
    rows, columns, bus = 8 * each * n, 8 * each * m, 2 * 8 * n
    less = CELL_BYTES / 8
    peak = max(
        rows + columns + bus + less * rows,  # rows are there twice
        columns + less * (rows + columns),  # columns are
    )
    assert each == 1 or peak <= 0.97 * most
    assert each == 1 or less * (rows + columns) <= tuning.grid_share * most
    more = each + 1
    if 1 < each < 15:  # one more would be too much
        parts = peak - bus * (rows + columns + bus + less * rows == peak)
        too_much = parts / each * more + bus > 0.95 * most
        assert too_much or less * (rows + columns) / each * more > tuning.grid_share * most
    if limit[1] >= 100:
        assert most_pieces(tuning, m, n) <= each + 1


@every_plan
@pytest.mark.parametrize("shape", [(2100, 40_000), (40_000, 2100), (9000, 9000)])
def test_memory_stays_below_its_limit(
    lanes: str, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of wide and tall matrices, too, and where nothing could be packed."""
    plan, rng = plan_of(lanes), np.random.default_rng(4)
    watched(monkeypatch)
    constants(monkeypatch, path_bytes=400_000, side_bytes=150, least_side=100)
    grids: list[SweptGrid] = []
    planned: list[float] = []

    def made(_: None, path: SpeculativeTraceback, *args: Any) -> None:
        planned.append(path.engine.held_bytes + sum(path.level_bytes))

    spy(monkeypatch, SweptGrid, "compress", after=lambda _, grid, *__: grids.append(grid))
    spy(monkeypatch, SpeculativeTraceback, "__init__", after=made)
    a, b = related(rng, max(shape))
    a, b = a[: shape[0]], b[: shape[1]]
    tuning = parameters.usual.traceback
    limit = path_bytes(tuning, len(a), len(b))
    found = pysw_cl.align(a, b, plan=plan, **HOW)
    assert len(grids[0].columns) > most_pieces(tuning, len(a), len(b)) - 1
    assert all(isinstance(edge.cells, CompressedEdge) for edge in grids[0].columns.values())
    assert found.stats.device_bytes <= limit
    use_engine(monkeypatch, compressing(compressed=stays))
    again = pysw_cl.align(a, b, plan=plan, **HOW)
    assert not any(isinstance(edge.cells, CompressedEdge) for edge in grids[1].columns.values())
    assert again.stats.device_bytes <= limit
    assert key(again) == key(found)
    assert len(planned) == 2 and max(planned) <= limit


MODES: list[dict[str, Any]] = [
    {"mode": "local"},
    {"mode": "local", "prune": False},
    {"mode": "global", "max_cost": None},
    {"mode": "global", "max_cost": None, "prune": False},
    {"mode": "global", "free_ends": True, "max_cost": None},
    {"mode": "global", "free_ends": (True, False, False, True), "max_cost": None},
]


@every_plan
@pytest.mark.parametrize("side_by_side", [True, False])
def test_paths_are_the_same_with_a_packed_grid(
    lanes: str, side_by_side: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By tiles side by side, and one by one."""
    plan, rng = plan_of(lanes), np.random.default_rng(9)
    watched(monkeypatch)
    constants(monkeypatch, path_bytes=0, side_bytes=60, least_side=200)
    base = WavefrontEngine if side_by_side else OneByOne
    use_engine(monkeypatch, base)
    made: list[int] = []

    def counted(edge: CompressedEdge | None, *_: Any) -> None:
        made.append(edge is not None)

    spy(monkeypatch, WavefrontEngine, "compressed", after=counted)
    scorings: list[dict[str, Any]] = [
        {"sub_score": (1, -3), "gap_cost": (3, 2)},
        {"sub_score": (2, -1.5), "gap_cost": 1},
        {"sub_score": (5, -4), "gap_cost": (255, 1)},
    ]
    for k, mode in enumerate(MODES):
        for kind in ("similar", "long gap", "rotated"):
            a, b = pairs(kind, rng, int(rng.integers(2000, 3500)))
            options = {"plan": plan, **mode, **scorings[k % 3], **HOW}
            before = len(made)
            found = pysw_cl.align(a, b, **options)
            assert sum(made[before:]) == len(made) - before >= 4
            with monkeypatch.context() as patch:
                use_engine(patch, compressing(base, compresses=refuses))
                assert key(pysw_cl.align(a, b, **options)) == key(found), (a, b, options)
            assert most_pieces(parameters.usual.traceback, len(a), len(b), CELL_BYTES) > 2
