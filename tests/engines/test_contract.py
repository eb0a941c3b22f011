"""The tile contract on every engine: tiles, views, edges, where the best is, walks.

What may end a sweep early, or skip cells, is in test_contract_limits.py; the schedule behind the
edges is in test_schedule_checker.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pipes import EdgePipe

import numpy as np
import pytest
from contract_engines import (
    assert_edge,
    assert_tile,
    column_of,
    counted,
    every_engine,
    frozen,
    full_matrices,
    make_engine,
    places,
    random_edge,
    random_job,
    row_of,
    run_sweep,
)
from helpers import match_scoring, random_pair, random_scoring, tune

from pysw_cl.engines.reference import ReferenceEngine
from pysw_cl.errors import InternalError
from pysw_cl.scoring.precision import UNREACHABLE, UNREACHABLE_BELOW
from pysw_cl.sequences.view import Codes, View
from pysw_cl.tiles.edges import Border, Edge, EdgeArray, Edges, Source
from pysw_cl.tiles.graph import Rectangle
from pysw_cl.tiles.sweep import sweep
from pysw_cl.tiles.tile import Want

SCORING = match_scoring(2, -1, 3, 1)
OPENING = SCORING.gap_open
REFERENCE = ReferenceEngine()
#: (m, n) at the limits of lanes, strips and blocks of the plans.
SIZES = [(1, 1), (1, 40), (40, 1), (30, 3), (8, 8), (9, 16), (41, 40), (70, 33), (23, 90)]
COMPLEMENT = np.arange(256, dtype=np.uint8)
COMPLEMENT[:4] = [3, 2, 1, 0]

both_floors = pytest.mark.parametrize("local", [True, False], ids=["local", "global"])


# --- one tile ------------------------------------------------------------------------------------


@every_engine
@both_floors
def test_tile_is_the_reference(name: str, local: bool) -> None:
    """Edges and best cell, from edges that hold anything they may; what came in stays as it was."""
    rng = np.random.default_rng(1)
    for m, n in SIZES:
        job = random_job(rng, m, n, SCORING, local, base=int(rng.integers(-9, 9)), best=local)
        job.query.setflags(write=False)
        job.target.setflags(write=False)
        kept = [a.copy() for a in (job.top.h, job.top.x, job.left.h, job.left.x)]
        found = make_engine(name).tile(job)
        assert_tile(found, REFERENCE.tile(job), OPENING)
        assert counted(name, found.cells) == m * n
        assert found.moves is None
        for before, after in zip(kept, (job.top.h, job.top.x, job.left.h, job.left.x), strict=True):
            np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("name", ["reference", "default", "ticketed", "one-lane", "two-phase-3"])
@both_floors
def test_tile_with_other_scorings(name: str, local: bool) -> None:
    """Matrices, linear gaps, no extension cost, extension above opening, no wanted bottom."""
    rng = np.random.default_rng(2)
    for k in range(16):
        scoring = random_scoring(rng, 4 if k % 2 else 7, linear=k % 4 == 0)
        m, n = (int(v) for v in rng.integers(1, 70, 2))
        job = random_job(rng, m, n, scoring, local, best=True, bottom=k % 5 > 0)
        assert_tile(make_engine(name).tile(job), REFERENCE.tile(job), scoring.gap_open)


@every_engine
def test_corner_is_given(name: str) -> None:
    """H(0, 0) is in neither edge, and only the diagonal of cell (1, 1) can come from it."""
    edge = frozen(Edge(np.full(20, -50, np.int32), np.full(20, -50 - OPENING, np.int32)))
    codes = np.zeros(20, np.uint8)
    for corner in (-50, 0, 1000, UNREACHABLE):
        found, bottom, right = run_sweep(name, codes, codes, SCORING, None, corner, edge, edge)
        assert found.hits == []
        beside_it = -50 + 19 * 2 - OPENING - 1  # a diagonal from an edge and one gap letter
        assert bottom.h[-1] == right.h[-1] == max(corner + 20 * 2, beside_it)


@every_engine
def test_unreachable_cells_are_the_sentinel_again(name: str) -> None:
    """Whatever NEG drifts to inside a tile, an edge says exactly NEG; the rest is unaffected."""
    rng = np.random.default_rng(3)
    for m, n, reachable in [(40, 50, 20), (40, 50, 50), (5, 30, 1), (70, 9, 4)]:
        job = random_job(rng, m, n, match_scoring(9, -9, 3, 1), False)
        top = job.top.restored()
        lost = np.arange(n) < reachable
        h, x = (np.where(lost, np.int32(UNREACHABLE), part) for part in (top.h, top.x))
        left = np.full(m, UNREACHABLE, np.int32)
        job = replace(
            job, corner=UNREACHABLE, top=frozen(Edge(h, x)), left=frozen(Edge(left, left))
        )
        found = make_engine(name).tile(job)
        assert_tile(found, REFERENCE.tile(job), OPENING)
        assert found.bottom is not None
        np.testing.assert_array_equal(found.bottom.h == UNREACHABLE, lost)
        np.testing.assert_array_equal(found.bottom.x == UNREACHABLE, lost)
        assert (found.bottom.h[~lost] >= UNREACHABLE_BELOW).all()
        assert (found.right.h == UNREACHABLE).all() == (reachable == n)


@every_engine
@pytest.mark.parametrize("base", [-1_000_000_000, 1_000_000_000])
def test_edge_values_are_absolute(name: str, base: int) -> None:
    rng = np.random.default_rng(4)
    job = random_job(rng, 37, 45, SCORING, False, base=base)
    zero = replace(
        job,
        corner=job.corner - base,
        top=Edge(job.top.h - np.int32(base), job.top.x - np.int32(base)),
        left=Edge(job.left.h - np.int32(base), job.left.x - np.int32(base)),
    )
    found, wanted = make_engine(name).tile(job), REFERENCE.tile(zero)
    assert found.bottom is not None
    assert wanted.bottom is not None
    for high, low in ((found.bottom, wanted.bottom), (found.right, wanted.right)):
        shifted = Edge(low.h + np.int32(base), low.x + np.int32(base))
        assert_edge(high, shifted, OPENING)


# --- views ---------------------------------------------------------------------------------------

VIEWS: dict[str, Callable[[Codes], tuple[View, Codes]]] = {
    "range": lambda c: (View(c, 5, 42), c[5:42]),
    "reversed": lambda c: (View(c, 5, 42, True), c[5:42][::-1]),
    "complemented": lambda c: (View(c, 5, 42, table=COMPLEMENT), 3 - c[5:42]),
    "both": lambda c: (View(c, 3, None, True, COMPLEMENT), (3 - c[3:])[::-1]),
    "slice": lambda c: (View(c, 3, 48, True, COMPLEMENT).slice(2, 30), (3 - c[3:48])[::-1][2:30]),
}


@every_engine
@pytest.mark.parametrize("kind", VIEWS)
def test_views(name: str, kind: str) -> None:
    rng = np.random.default_rng(5)
    (query, plain_query), (target, plain_target) = map(VIEWS[kind], random_pair(rng, 4, 50, 60))
    border = Border(False, OPENING, 1)
    args = SCORING, None, 0, border, border
    _, bottom, right = run_sweep(name, query, target, *args, shape=(16, 20))
    full = full_matrices(plain_query, plain_target, SCORING, None, Edges(0, border, border))
    assert_edge(bottom, row_of(full, len(query)), OPENING)
    assert_edge(right, column_of(full, len(target)), OPENING)


@every_engine
@both_floors
def test_transposed(name: str, local: bool) -> None:
    """The transposed problem has the transposed edges: E and F change places."""
    rng = np.random.default_rng(6)
    job = random_job(rng, 45, 33, SCORING, local)
    top, left = job.top, job.left
    args = SCORING, job.floor, job.corner
    _, bottom, right = run_sweep(name, job.query, job.target, *args, top, left)
    _, across, down = run_sweep(name, job.target, job.query, *args, left, top, shape=(16, 20))
    assert_edge(across, right, OPENING)
    assert_edge(down, bottom, OPENING)


def test_a_view_reads_beyond_32_bits() -> None:
    codes = np.broadcast_to(np.uint8(2), (1 << 33,))
    for reverse in (False, True):
        view = View(codes, (1 << 32) + 7, None, reverse)
        assert len(view) == (1 << 32) - 7
        assert view.slice(1 << 31, 1 << 32 - 1).read(0, 3).tolist() in ([], [2, 2, 2])
        assert view.read((1 << 32) - 17, (1 << 32) - 12).tolist() == [2] * 5


# --- sources and sinks ---------------------------------------------------------------------------


@every_engine
@both_floors
@pytest.mark.parametrize("shape", [None, (8, 11), (25, 200)])
def test_special_rows_and_columns(name: str, local: bool, shape: tuple[int, int] | None) -> None:
    """Anywhere, off the engine's quantum too, the first and the last included."""
    rng = np.random.default_rng(7)
    m, n = 43, 58
    job = random_job(rng, m, n, SCORING, local)
    rows = {i: EdgeArray(n) for i in (1, 7, 8, 9, 30, m)}
    columns = {j: EdgeArray(m) for j in (1, 2, 29, n)}
    top, left = job.top, job.left
    run_sweep(
        name, job.query, job.target, SCORING, job.floor, job.corner, top, left,
        rows=rows, columns=columns, shape=shape,
    )  # fmt: skip
    edges = Edges(job.corner, top, left)
    full = full_matrices(job.query, job.target, SCORING, job.floor, edges)
    for i, sink in rows.items():
        assert_edge(sink.read(0, n), row_of(full, i), OPENING)
    for j, sink in columns.items():
        assert_edge(sink.read(0, m), column_of(full, j), OPENING)


@every_engine
@pytest.mark.parametrize("side", ["right", "bottom"])
def test_edges_stream_between_threads(name: str, side: str) -> None:
    """Two sweeps joined by a pipe give what one gives, and the second does not wait for the first
    to end: the first refuses to go on after a tile until the second has done one."""
    engine = make_engine(name)
    rng = np.random.default_rng(8)
    step = max(engine.plan.strip_rows, 16)
    m, n = 3 * step + 5, 3 * step + 9
    query, target = random_pair(rng, 4, m, n)
    border = Border(False, OPENING, 1)
    full = full_matrices(query, target, SCORING, None, Edges(0, border, border))
    second_ran, failed = threading.Event(), []
    at = 2 * step
    pipe = EdgePipe(m if side == "right" else n)
    rest: Source
    if side == "right":
        first, second = (query, target[:at]), (query, target[at:])
        rest = Edge(*(part[at:] for part in vars(border.read(0, n)).values()))
        edges = Edges(int(full.h[0, at]), rest, pipe, EdgeArray(n - at), EdgeArray(m))
        shape = (step, n)
    else:
        first, second = (query[:at], target), (query[at:], target)
        rest = Edge(*(part[at:] for part in vars(border.read(0, m)).values()))
        edges = Edges(int(full.h[at, 0]), pipe, rest, EdgeArray(n), EdgeArray(m - at))
        shape = (at, step)

    def follow() -> None:
        try:
            sweep(
                engine, Rectangle(*map(View, second), SCORING, None), edges,
                shape=shape, progress=lambda *_: second_ran.set(),
            )  # fmt: skip
        except BaseException as error:
            failed.append(error)

    ticks: list[int] = []

    def hold(done: int, total: int) -> None:
        ticks.append(done)
        if len(ticks) == 2:
            assert done < total
            assert second_ran.wait(60), "the second sweep waits for the whole edge"

    thread = threading.Thread(target=follow)
    thread.start()
    sinks = {side: pipe}
    try:
        sweep(
            engine, Rectangle(*map(View, first), SCORING, None), Edges(0, border, border, **sinks),
            shape=shape, progress=hold,
        )  # fmt: skip
    except BaseException as error:
        pipe.close(error)
        raise
    finally:
        thread.join(60)
    assert not failed
    assert isinstance(edges.bottom, EdgeArray)
    assert isinstance(edges.right, EdgeArray)
    bottom, right = row_of(full, m), column_of(full, n)
    if side == "right":
        bottom = Edge(bottom.h[at:], bottom.x[at:])
    else:
        right = Edge(right.h[at:], right.x[at:])
    assert_edge(edges.bottom.read(0, len(bottom)), bottom, OPENING)
    assert_edge(edges.right.read(0, len(right)), right, OPENING)


@every_engine
def test_a_closed_pipe_ends_the_sweep_that_waits_for_it(name: str) -> None:
    pipe = EdgePipe(30)
    pipe.write(0, random_edge(np.random.default_rng(9), 10, OPENING, True, 0))
    pipe.close(RuntimeError("the other side is gone"))
    codes = np.zeros(30, np.uint8)
    with pytest.raises(RuntimeError, match="other side"):
        run_sweep(name, codes, codes, SCORING, 0, 0, Border(True, OPENING, 1), pipe)


def test_a_pipe_refuses_segments_out_of_order() -> None:
    pipe = EdgePipe(30)
    with pytest.raises(InternalError, match="out of order"):
        pipe.write(5, random_edge(np.random.default_rng(9), 10, OPENING, True, 0))


# --- where the best is looked for ----------------------------------------------------------------


def brute_hits(
    h: np.ndarray, where: str, count: int, threshold: int | None, floor: int | None
) -> list[tuple[int, int, int]]:
    m, n = h.shape[0] - 1, h.shape[1] - 1
    cells = {
        "none": [],
        "all": [(i, j) for i in range(1, m + 1) for j in range(1, n + 1)],
        "last_row": [(m, j) for j in range(1, n + 1)],
        "last_column": [(i, n) for i in range(1, m + 1)],
        "corner": [(m, n)],
    }
    cells["border"] = [*cells["last_row"], *cells["last_column"][:-1]]
    least = -(1 << 40) if threshold is None else threshold
    if where == "all" and floor is not None:
        least = max(least, floor + 1)
    found = [(-int(h[i, j]), i, j) for i, j in cells[where] if h[i, j] >= least]
    return [(-score, i, j) for score, i, j in sorted(found)[:count]]


def check_want(name: str, local: bool, where: str, counts: tuple[int, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, n = (int(v) for v in rng.integers(1, 60, 2))
    job = random_job(rng, m, n, SCORING, local, base=3)
    top, left = job.top, job.left
    edges = Edges(job.corner, top, left)
    full = full_matrices(job.query, job.target, SCORING, job.floor, edges)
    best = int(full.h[1:, 1:].max())
    for count in counts:
        for threshold in (None, best + 1, best, best - 3):
            wanted = brute_hits(full.h, where, count, threshold, job.floor)
            for shape in (None, (24, 20)):
                result, _, _ = run_sweep(
                    name, job.query, job.target, SCORING, job.floor, job.corner, top, left,
                    Want(where, count, threshold), shape=shape,
                )  # fmt: skip
                assert places(result.hits) == wanted


@every_engine
@both_floors
@pytest.mark.parametrize("where", ["none", "last_row", "last_column", "border", "corner"])
def test_best_on_an_edge(name: str, local: bool, where: str) -> None:
    """The best by score, then row-major, in one tile and in many; thresholds count when met."""
    check_want(name, local, where, (1, 5), seed=10)


@every_engine
@both_floors
def test_best_of_all_cells(name: str, local: bool) -> None:
    for seed in range(4):
        check_want(name, local, "all", (1,), seed)


@every_engine
@both_floors
def test_several_best_of_all_cells(name: str, local: bool) -> None:
    check_want(name, local, "all", (2, 5, 100), seed=11)


def test_more_equal_cells_than_the_list_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The threshold rises, or the list grows where it cannot, until the k best are known."""
    tune(monkeypatch, {"engine.least_hits": 4})
    for name in ("default", "reference"):
        check_want(name, True, "all", (2, 5), seed=12)


# --- walks ---------------------------------------------------------------------------------------


@every_engine
@both_floors
@pytest.mark.parametrize("opening", [0, 3])
def test_walks(name: str, local: bool, opening: int) -> None:
    """From any cell, at H or inside a gap, the canonical moves."""
    rng = np.random.default_rng(11)
    scoring = match_scoring(2, -1, opening, 1)
    for m, n in [(1, 1), (30, 3), (35, 41), (64, 20)]:
        job = random_job(rng, m, n, scoring, local, store_moves=True, bottom=False)
        found, wanted = make_engine(name).tile(job), REFERENCE.tile(job)
        assert_tile(found, wanted, opening)
        assert found.moves is not None
        assert wanted.moves is not None
        for _ in range(25):
            row, column, state = (int(rng.integers(1, k)) for k in (m + 1, n + 1, 4))
            mine = found.moves.trace(row, column, state - 1)
            right = wanted.moves.trace(row, column, state - 1)
            assert mine.moves.tolist() == right.moves.tolist()
            assert (mine.row, mine.column, mine.state, mine.ended) == (
                right.row, right.column, right.state, right.ended,
            )  # fmt: skip
        found.moves.release()
