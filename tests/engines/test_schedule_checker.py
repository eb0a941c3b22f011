"""The wavefront's schedule, cell by cell: what the counting engine sees of it.

The engine raises by itself where a lane uses a cell that it does not need, where the bus is read
before it is written, where two groups of a launch touch the same bus cell, and where the groups
of a ticketed launch wait for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from helpers import match_scoring
from hypothesis import given, settings, strategies as st
from schedule_checker import ORDERS, ScheduleChecker, TileCount
from schedule_launches import Ticketed, TicketedLaunch, block_columns
from schedule_tile import ScheduleTile, StripSweep

from pysw_cl.drivers.problem import FreeEnds, Problem
from pysw_cl.drivers.traceback import trace_back
from pysw_cl.errors import InternalError
from pysw_cl.planning.geometry import LONG, SHORT, Grid, Launch, fit
from pysw_cl.planning.plan import Plan
from pysw_cl.sequences.view import View
from pysw_cl.tiles.edges import Edge, EdgeArray, Edges
from pysw_cl.tiles.graph import Rectangle
from pysw_cl.tiles.special_lines import SweptGrid
from pysw_cl.tiles.sweep import sweep
from pysw_cl.tiles.tile import Hit, TileJob, TileResult

SCORING = match_scoring(1, -1, 1, 1)
#: (m, n, B, T, alpha): what is at a limit of some kind.
SHAPES = [
    pytest.param(1, 1, 3, 4, 2, id="one cell"),
    pytest.param(1, 50, 3, 4, 2, id="one row"),
    pytest.param(50, 1, 3, 4, 2, id="one column"),
    pytest.param(40, 3, 2, 4, 2, id="fewer columns than lanes"),
    pytest.param(70, 15, 2, 16, 2, id="fewer columns than lanes, many strips"),
    pytest.param(40, 7, 1, 4, 2, id="just too few columns for two phases"),
    pytest.param(40, 8, 1, 4, 2, id="exactly two phases, one block"),
    pytest.param(40, 24, 3, 4, 2, id="exactly two phases, three blocks"),
    pytest.param(40, 25, 3, 4, 2, id="one column more"),
    pytest.param(80, 40, 5, 4, 2, id="whole strips"),
    pytest.param(81, 40, 5, 4, 2, id="one row in the last strip"),
    pytest.param(79, 40, 5, 4, 2, id="one row of padding"),
    pytest.param(74, 41, 5, 4, 2, id="tap in the middle of a lane"),
    pytest.param(20, 60, 5, 4, 3, id="fewer strips than blocks"),
    pytest.param(90, 33, 2, 1, 3, id="one lane"),
    pytest.param(30, 20, 2, 4, 1, id="one row a lane"),
    pytest.param(200, 40, 1, 16, 2, id="a chain through all strips"),
]
FORMS = ("two-phase", "ticketed")


def plan(B: int, T: int, alpha: int, form: str, chunk: int = 5) -> Plan:
    return Plan(engine="counting", form=form, B=B, T=T, alpha=alpha, chunk=chunk)


def counting_edges(m: int, n: int) -> Edges:
    """Borders with H(i, j) = i + j, and X that tells the place along the edge."""

    def border(length: int) -> EdgeArray:
        places = np.arange(1, length + 1, dtype=np.int32)
        return Edge(places, -places)

    return Edges(0, border(n), border(m), EdgeArray(n), EdgeArray(m))


def view(length: int) -> View:
    return View(np.zeros(length, np.uint8))


def count(engine: ScheduleChecker, m: int, n: int, bottom: bool = True) -> TileCount:
    edges = counting_edges(m, n)
    query, target = view(m).read(0, m), view(n).read(0, n)
    sides = edges.top.read(0, n), edges.left.read(0, m)
    result = engine.tile(TileJob(query, target, SCORING, None, 0, *sides, bottom=bottom))
    assert (result.bottom is not None) == bottom
    assert list(result.cells.values()) == [m * n]
    return engine.counts[-1]


def check(seen: TileCount) -> None:
    """Once each, written before read, and busy lanes wherever the grid promises them."""
    grid = seen.grid
    assert seen.cells.shape == (grid.m, grid.n)
    assert (seen.cells == 1).all()

    inner = slice(1, grid.strips)
    written, read = seen.written[inner], seen.read[inner]
    assert (written >= 0).all()
    assert (read >= 0).all()
    if grid.form == "two-phase":
        later = read[..., 0] > written[..., 0]
        same_group = (read[..., :2] == written[..., :2]).all(axis=-1)
        assert (later | (same_group & (read[..., 2] > written[..., 2]))).all()
    assert (seen.written[0] == -1).all()  # the host's
    assert (seen.written[-1] >= 0).all()  # the bottom edge
    assert (seen.read[-1] == -1).all()

    assert sum(int(chain.sum()) for chain in seen.busy) == grid.strips * grid.T * grid.n
    if grid.n >= grid.T:
        for chain in seen.busy:
            assert (chain[grid.T - 1 : len(chain) - grid.T + 1] == grid.T).all()
            ramp = np.arange(1, grid.T)
            assert np.array_equal(chain[: grid.T - 1], ramp)
            assert np.array_equal(chain[len(chain) - grid.T + 1 :], ramp[::-1])


@pytest.mark.parametrize(("m", "n", "B", "T", "alpha"), SHAPES)
@pytest.mark.parametrize("form", FORMS)
def test_every_cell_once_in_good_order(
    m: int, n: int, B: int, T: int, alpha: int, form: str
) -> None:
    engine = ScheduleChecker(plan(B, T, alpha, form), again=True)
    seen = count(engine, m, n)
    check(seen)
    assert seen.grid.form == (form if n >= max(2, T // 2) else "ticketed")
    check(count(engine, m, n, bottom=False))


@settings(max_examples=80, deadline=None)
@given(
    st.integers(1, 80), st.integers(1, 80), st.integers(1, 6), st.integers(1, 8),
    st.integers(1, 4), st.integers(1, 12), st.sampled_from(FORMS), st.booleans(),
)  # fmt: skip
def test_every_cell_once_at_random(
    m: int, n: int, B: int, T: int, alpha: int, chunk: int, form: str, again: bool
) -> None:
    check(count(ScheduleChecker(plan(B, T, alpha, form, chunk), again=again), m, n))


def test_delegation_leaves_no_lane_idle_inside_a_chain() -> None:
    """Two-phase: one ramp up and one down for a whole chain.  Ticketed: one for each strip."""
    m, n, B, T, alpha = 96, 30, 3, 4, 2
    chains = count(ScheduleChecker(plan(B, T, alpha, "two-phase")), m, n).busy
    assert [len(chain) for chain in chains] == [4 * n + T - 1] * B
    assert [int((chain < T).sum()) for chain in chains] == [2 * (T - 1)] * B
    strips = count(ScheduleChecker(plan(B, T, alpha, "ticketed")), m, n).busy
    assert [len(strip) for strip in strips] == [n + T - 1] * 12


def test_what_a_block_owes_is_done_in_the_next_short_phase() -> None:
    """The last T - 1 columns of strip s come from block 0 of strip s + B, one diagonal later."""
    m, n, B, T, alpha = 80, 50, 3, 4, 2
    seen = count(ScheduleChecker(plan(B, T, alpha, "two-phase")), m, n)
    launches = list(seen.grid.launches())
    for strip in range(seen.grid.strips):
        for column in range(n):
            number, group, step = seen.written[strip + 1, column].tolist()
            launch = launches[number]
            assert launch.first <= group < launch.first + launch.count
            if column < n - (T - 1):
                assert launch.diagonal - group == strip
                start, _ = block_columns(seen.grid, group)
                assert launch.phase == (SHORT if step < start + T else LONG)
            else:
                assert (launch.diagonal - B, group, launch.phase) == (strip, 0, SHORT)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_ticketed_groups_in_any_order(order: str, chunk: int) -> None:
    for seed in range(3 if order == "random" else 1):
        engine = ScheduleChecker(plan(4, 4, 2, "ticketed", chunk), order=order, seed=seed)
        check(count(engine, 75, 37))
        check(count(engine, 41, 3))  # each strip waits for the whole strip above
    groups = {int(g) for g in engine.counts[0].written[1:, 0, 1]}
    assert groups == ({0} if order == "one_by_one" else groups)
    if order == "random":
        assert len(groups) > 1


#: Columns of thin tiles, beside T = 8 lanes, and of one that is not.
THIN = [1, 2, 7, 8, 9, 40]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("warps", [1, 3])
@pytest.mark.parametrize("n", THIN)
def test_portions_of_the_bus_in_thin_tiles(n: int, warps: int, order: str) -> None:
    """As narrow lanes take them, with and without a second sweep, inner rows and columns, moves."""
    for chunk in (1, 5, 20, 1000):
        how = {"order": order, "portions": True, "warps": warps, "again": chunk == 5}
        engine = ScheduleChecker(plan(4, 8, 2, "ticketed", chunk), **how)
        check(count(engine, 75, n))
        check(count(engine, 100, n, bottom=False))
        inner = tuple(sorted({1, n // 2, n - 1} - {0, n}))
        query, target = view(75).read(0, 75), view(n).read(0, n)
        sides = (Edge(np.zeros(length, np.int32), np.zeros(length, np.int32)) for length in (n, 75))
        engine.tile(TileJob(query, target, SCORING, None, 0, *sides, rows=(16, 48), columns=inner))
        check(engine.counts[-1])


@pytest.mark.parametrize("form", FORMS)
def test_portions_of_the_bus_in_wide_tiles(form: str) -> None:
    for again in (False, True):
        engine = ScheduleChecker(plan(3, 4, 2, form, 5), portions=True, again=again)
        for m, n in ((80, 50), (75, 24), (9, 100), (1, 1), (40, 3)):
            check(count(engine, m, n))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("n", THIN)
def test_tiles_side_by_side(n: int, order: str) -> None:
    """One ticket counter for tiles of different sizes; warps of a group share a ticket."""
    for warps, chunk, portions in ((1, 3, False), (2, 5, True), (4, 1000, True)):
        engine = ScheduleChecker(
            plan(4, 8, 2, "ticketed", chunk), order=order, portions=portions, warps=warps
        )
        sizes = [(75, n), (16, 3), (1, 30), (130, n), (17, 8)]
        for seen, (m, columns) in zip(engine.batch(sizes), sizes, strict=True):
            check(seen)
            assert seen.cells.shape == (m, columns)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("n", THIN)
def test_tiles_below_each_other(n: int, order: str) -> None:
    """A chain: each tile begins when the strips of the one above it are all in the hands of groups;
    the host reads each bottom row before its line of the ring is written again."""
    rows = [32, 16, 48, 16, 16, 32, 9]
    for warps, chunk, portions in ((1, 3, False), (2, 5, True), (1, 1000, True)):
        engine = ScheduleChecker(
            plan(2, 8, 2, "ticketed", chunk), order=order, portions=portions, warps=warps
        )
        for places in (2, 3, 8):
            tiles = engine.pipelined(rows, n, places)
            assert [seen.cells.shape for seen in tiles] == [(m, n) for m in rows]
            for seen in tiles:
                assert (seen.cells == 1).all()
                assert (seen.read[0] >= 0).all()


def test_minimum_size() -> None:
    """T is halved, twice at most, until 2 T columns are there; then B shrinks to n / 2 T."""
    for n in range(1, 60):
        grid = fit(100, n, 5, 4, 2, "two-phase")
        T = 4 if n >= 8 else 2 if n >= 4 else 1
        if n < 2:
            assert (grid.form, grid.B, grid.T) == ("ticketed", 1, 1)
        else:
            assert (grid.form, grid.B, grid.T) == ("two-phase", min(5, n // (2 * T)), T)
        assert grid.alpha == 2
        if grid.form == "two-phase":
            widths = [end - start for start, end in (block_columns(grid, k) for k in range(grid.B))]
            assert sum(widths) == n
            assert min(widths) >= 2 * grid.T
    assert fit(100, 3, 5, 4, 2, "two-phase", least_T=2).T == 2
    assert fit(100, 3, 5, 4, 2, "two-phase", least_T=2).form == "ticketed"
    assert fit(100, 9, 5, 8, 2, "two-phase", least_T=8).T == 8
    narrow = fit(10**6, 7, 5, 16, 8, "two-phase")
    assert (narrow.form, narrow.B, narrow.T) == ("ticketed", 1, 4)
    assert fit(17, 3, 5, 4, 2, "ticketed").B == 3  # no more groups than strips


def test_last_row_is_tapped_where_it_is() -> None:
    for m in range(1, 30):
        grid = fit(m, 40, 2, 4, 2, "two-phase")
        lane, r = grid.last_row_outlet
        assert (grid.strips - 1) * grid.strip_rows + lane * grid.alpha + r + 1 == m


BROKEN: dict[str, Callable[[list[Launch]], list[Launch]]] = {
    "a short phase after its long one": lambda x: [*x[:6], x[7], x[6], *x[8:]],
    "no drain at the end": lambda x: [launch for launch in x if launch.diagonal < 10],
    "no long phase": lambda x: [launch for launch in x if launch.phase == SHORT],
    "each launch twice": lambda x: [launch for launch in x for _ in range(2)],
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_schedule_is_noticed(how: str) -> None:
    class Broken(Grid):
        def launches(self) -> Iterator[Launch]:
            return iter(BROKEN[how](list(super().launches())))

    class Breaking(ScheduleChecker):
        grid_of = staticmethod(Broken)

    with pytest.raises(InternalError):
        count(Breaking(plan(3, 4, 2, "two-phase")), 80, 50)


class Unchecked(Grid):
    """A grid of blocks of any width."""

    def __post_init__(self) -> None:
        """Nothing is checked."""


class Narrow(ScheduleChecker):
    """An engine that keeps B and T, however few columns there are."""

    grid_of = staticmethod(Unchecked)


def test_blocks_that_are_too_narrow_are_noticed() -> None:
    """What n >= 2 B T is for: in narrower blocks a long phase meets columns still owed."""
    check(count(Narrow(plan(3, 4, 2, "two-phase")), 80, 24))
    with pytest.raises(InternalError):
        count(Narrow(plan(3, 4, 2, "two-phase")), 80, 11)


class Careless(ScheduleTile):
    """A tile whose lanes look into the portion after the last column, too."""

    def entering(self, w: StripSweep, j: int, start: int, count: bool) -> int:
        """Whatever lies there."""
        assert w.portion is not None
        return w.portion[j - start]


class Entering(ScheduleChecker):
    """An engine of careless tiles."""

    tile_of = Careless


def test_what_nobody_put_into_a_portion_is_noticed() -> None:
    """The first lane takes what lies there after the last column, and in packed lanes it shares a
    word with the second.  (In a wide tile earlier blocks have overwritten that place.)"""
    for n in (1, 2, 7):
        engine = Entering(plan(4, 8, 2, "ticketed", 1000), portions=True)
        with pytest.raises(InternalError, match="has not put there"):
            count(engine, 75, n)


@pytest.mark.parametrize("n", THIN)
@pytest.mark.parametrize("chained", [False, True])
def test_a_strip_that_does_not_wait_is_noticed(n: int, chained: bool) -> None:
    """One column too few, between strips of a tile and between tiles of a chain."""

    class Hasty(TicketedLaunch):
        def far(self, tile: int, strip: int) -> int | None:
            seen = super().far(tile, strip)
            return seen if seen is None or (strip > 0) == chained else seen + 1

    class Early(ScheduleChecker):
        launch_of = Hasty

    engine = Early(plan(4, 8, 2, "ticketed", 1), order="latest")
    with pytest.raises(InternalError):
        engine.pipelined([64, 64, 64], n, 8)


class LateHost(Ticketed):
    """A run whose host reads lines when all is done, and waits for no room."""

    def _may_begin(self, k: int, read: int) -> bool:
        return super()._may_begin(k, k)

    def _read(self, read: int, begun: int) -> int:
        done = begun == len(self.launches) and not self.launches[-1].running
        return super()._read(read, begun) if done else read


class Late(ScheduleChecker):
    """An engine with such a host."""

    run_of = LateHost


def test_a_line_that_the_host_reads_too_late_is_noticed() -> None:
    ScheduleChecker(plan(2, 8, 2, "ticketed", 5)).pipelined([32] * 6, 20, 2)
    engine = Late(plan(2, 8, 2, "ticketed", 5))
    with pytest.raises(InternalError, match="is not row 32"):
        engine.pipelined([32] * 6, 20, 2)


class Watched(ScheduleChecker):
    """A counting engine that checks that its tiles' corners and edges fit together."""

    def tile(self, job: TileJob) -> TileResult:
        assert job.corner == job.top.h[0] - 1 == job.left.h[0] - 1
        assert (np.diff(job.top.h) == 1).all()
        assert (np.diff(job.left.h) == 1).all()
        return super().tile(job)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(1000, 1000), (16, 20), (8, 7), (30, 64), (1, 1000)])
def test_sweep_of_many_tiles(form: str, shape: tuple[int, int]) -> None:
    """Edges that start as H(i, j) = i + j end as that, special rows and columns included."""
    m, n = 45, 61
    engine = Watched(plan(2, 4, 2, form))
    edges = counting_edges(m, n)
    rows = {i: EdgeArray(n) for i in (1, 17, 32, m)}
    columns = {j: EdgeArray(m) for j in (2, 3, 60, n)}
    edges = Edges(0, edges.top, edges.left, edges.bottom, edges.right, rows, columns)
    ticks: list[tuple[int, int]] = []
    result = sweep(
        engine, Rectangle(view(m), view(n), SCORING, None), edges,
        shape=shape, progress=lambda *tick: ticks.append(tick),
    )  # fmt: skip
    assert sum(result.cells.values()) == m * n
    assert sum(int(seen.cells.sum()) for seen in engine.counts) == m * n
    for seen in engine.counts:
        check(seen)
    assert ticks[-1] == (m * n, m * n)
    along, down = np.arange(1, n + 1), np.arange(1, m + 1)
    for i, sink in [*rows.items(), (m, edges.bottom)]:
        assert isinstance(sink, EdgeArray)
        cells = sink.read(0, n)
        assert np.array_equal(cells.h, along + i) and np.array_equal(cells.x, -along)
    for j, sink in [*columns.items(), (n, edges.right)]:
        assert isinstance(sink, EdgeArray)
        cells = sink.read(0, m)
        assert np.array_equal(cells.h, down + j) and np.array_equal(cells.x, -down)


@pytest.mark.parametrize("mode", ["local", "global"])
def test_drivers_over_an_engine_that_only_counts(mode: str) -> None:
    """A score costs m n cells; a path computes little more than the grid cells it runs through."""
    m, n = 150, 170
    engine = ScheduleChecker(plan(2, 4, 2, "two-phase"))
    problem = Problem.of(view(m), view(n), SCORING, mode, FreeEnds())
    result = sweep(engine, problem, problem.edges, problem.want, shape=(64, 64))
    assert sum(result.cells.values()) == m * n

    grid = SweptGrid.over(problem.edges, [*range(0, m, 32), m], [*range(0, n, 32), n])
    result = sweep(engine, problem, grid.saving(), problem.want, shape=problem.shape)
    assert sum(result.cells.values()) == m * n
    engine.plan = replace(engine.plan, traceback_tile_cells=2000)
    path = trace_back(engine, problem, grid, Hit(0, m, n))
    assert len(path.forward()) == (m if mode == "local" else n)
    assert sum(path.cells.values()) < m * n // 2
    for seen in engine.counts:
        check(seen)
