"""Paths by tiles that are computed side by side, ahead of the walk, are those of tiles one by one,
wherever the guess is wrong, too; and such tiles hold what the reference engine gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from aligning import needs_lanes
from contract_engines import column_of, full_matrices, random_edge, row_of
from helpers import match_scoring, mutated, random_codes, random_pair, random_scoring
from numpy.typing import NDArray
from saving import key

import pysw_cl
from pysw_cl.drivers import ahead, pace, traceback
from pysw_cl.drivers import path as path_module
from pysw_cl.drivers.ahead import Ahead, Entry, GridLines, SetLines
from pysw_cl.drivers.path import path_bytes
from pysw_cl.engines.base import TileJob
from pysw_cl.engines.reference import Matrices, ReferenceEngine
from pysw_cl.engines.sweep import Area
from pysw_cl.engines.tile_set import Part, SideBySide, TileSet
from pysw_cl.engines.wavefront import WavefrontEngine
from pysw_cl.errors import DeviceError
from pysw_cl.opencl.buffers import Buffers
from pysw_cl.opencl.device import get_runtime
from pysw_cl.plan import make_plan
from pysw_cl.scoring import Scoring
from pysw_cl.tile import NEG, REACH, Edge, EdgeArray, Edges, Ints, KeptEdge, View

PLANS: dict[str, dict[str, Any]] = {
    "vector": {"lanes": "vector", "T": 8, "alpha": 4, "chunk": 16, "B": 2},
    "packed": {"lanes": "packed", "alpha": 3, "chunk": 32, "B": 4},
}
every_plan = pytest.mark.parametrize("lanes", list(PLANS))


@dataclass
class Seen:
    """What happened in walks: cells of the grid walked one by one, sets of tiles of each level,
    crossings that were looked at and refused, tiles of a set at most."""

    alone: int = 0
    levels: list[int] = field(default_factory=list)
    looked: int = 0
    refused: int = 0
    walked: int = 0
    engines: list[SideBySide] = field(default_factory=list)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Tiles go side by side on any device, and only where a path's part of the matrix is."""
    monkeypatch.setitem(get_runtime("auto").advice, "ahead", True)
    found = Seen()
    step, right, run_set = traceback._step, Ahead._right, SideBySide._set
    begin, walk = SideBySide.__enter__, SideBySide.walk

    def counted_step(*args: Any) -> None:
        found.alone += 1
        step(*args)

    def counted_right(self: Ahead, *args: Any) -> bool:
        good = right(self, *args)
        found.looked, found.refused = found.looked + 1, found.refused + (not good)
        return good

    def checked_set(self: SideBySide, level: Any, parts: list[Part], *args: Any) -> TileSet:
        found.levels.append(level if isinstance(level, int) else -1)
        rows = self._query[True].size
        for part in parts:
            assert 0 <= part.area.row < part.area.row_end <= rows
            assert 0 <= part.area.column < part.area.column_end <= self.columns
        return run_set(self, level, parts, *args)

    def entered(self: SideBySide) -> SideBySide:
        found.engines.append(self)
        return begin(self)

    def counted_walk(self: SideBySide, *args: Any) -> Any:
        found.walked += 1
        return walk(self, *args)

    monkeypatch.setattr(traceback, "_step", counted_step)
    monkeypatch.setattr(Ahead, "_right", counted_right)
    monkeypatch.setattr(SideBySide, "_set", checked_set)
    monkeypatch.setattr(SideBySide, "__enter__", entered)
    monkeypatch.setattr(SideBySide, "walk", counted_walk)
    return found


def plan_of(lanes: str) -> dict[str, Any]:
    needs_lanes(lanes)
    wishes = PLANS[lanes]
    warp = {"T": 2 * int(get_runtime("auto").advice["warp"])} if lanes == "packed" else {}
    return {"form": "ticketed", **wishes, **warp}


def constants(patch: pytest.MonkeyPatch, **more: Any) -> None:
    """Every level and stage on pairs of a few thousand letters."""
    values = {"SIDE": 128, "LEAST_SIDES": 2, "PRUNED_SIDE": 0, "SLACK": 20, "BEGUN": 8}
    values |= {"LEAST_MARGIN": 20, "MARGIN": 1 / 16, "MOST_TILES": 1024}
    for name, value in (values | more).items():
        if name in ("PATH_BYTES", "SIDE_BYTES"):
            patch.setattr(path_module, name, value)
        else:
            patch.setattr(traceback if name == "LEAST_SIDE" else ahead, name, value)
    if "LEAST_SIDE" not in more:
        patch.setattr(traceback, "LEAST_SIDE", 1100)


def text(codes: NDArray[Any], letters: str = "ACGT") -> str:
    return "".join(letters[code] for code in codes)


def pairs(kind: str, rng: np.random.Generator, length: int) -> tuple[str, str]:
    """Two related sequences."""
    letters = 2 if kind == "few letters" else 4
    a = rng.integers(0, letters, length)
    if kind == "repeats":
        a = np.resize(a[:97], length)
    b = a.copy()
    b[rng.integers(0, length, length // 20)] = rng.integers(0, letters, length // 20)
    for _ in range(length // 100):
        at = int(rng.integers(0, len(b)))
        b = np.delete(b, at) if rng.random() < 0.5 else np.insert(b, at, rng.integers(0, letters))
    if kind == "long gap":
        at = int(rng.integers(length // 4, 3 * length // 4))
        b = np.insert(b, at, rng.integers(0, letters, int(rng.integers(1, length // 3))))
    if kind == "rotated":
        b = np.roll(b, length // 3)
    if kind == "inside":
        a, b = (np.concatenate([s[:-300], rng.integers(0, letters, 700)]) for s in (a, b))
    if kind == "unrelated":
        b = rng.integers(0, letters, length)
    return text(a), text(b)


def both(
    seen: Seen, a: str, b: str, plan: dict[str, Any], **options: Any
) -> tuple[pysw_cl.Alignment, pysw_cl.Alignment]:
    """Side by side, and one by one."""
    options = {"output": "path", "device": "auto", "plan": plan, **options}
    found = pysw_cl.align(a, b, **options)
    with pytest.MonkeyPatch.context() as alone:
        alone.setattr(WavefrontEngine, "side_by_side", lambda *_: None)
        before = seen.alone
        wanted = pysw_cl.align(a, b, **options)
        seen.alone = before
    assert key(found) == key(wanted), (a, b, options)
    return found, wanted


KINDS = ["similar", "inside", "long gap", "rotated", "few letters", "repeats", "unrelated"]
MODES: list[dict[str, Any]] = [
    {"mode": "local"},
    {"mode": "local", "prune": False},
    {"mode": "global", "max_cost": None},
    {"mode": "global", "free_ends": True, "max_cost": None},
]
SCORINGS: list[dict[str, Any]] = [
    {"sub_score": (1, -3), "gap_cost": (3, 2)},
    {"sub_score": (2, -1), "gap_cost": 1},
    {"sub_score": (1, -1), "gap_cost": (10, 1)},
]
ODD: list[dict[str, Any]] = [
    {},
    {"MARGIN": 0, "LEAST_MARGIN": 0, "SLACK": 0},
    {"PATH_BYTES": 0, "SIDE_BYTES": 0},
    {"MOST_TILES": 2, "SIDE": 300, "BEGUN": 64},
    {"PATH_BYTES": 1 << 20, "SIDE_BYTES": 20, "LEAST_SIDE": 400},
    {"LEAST_MARGIN": 1, "PRUNED_SIDE": 700},
]


@every_plan
def test_paths_are_those_of_tiles_one_by_one(
    lanes: str, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, rng = plan_of(lanes), np.random.default_rng(5)
    count = 0
    for k, kind in enumerate(KINDS):
        for j, mode in enumerate(MODES):
            constants(monkeypatch, **ODD[(k + j) % len(ODD)])
            a, b = pairs(kind, rng, int(rng.integers(2300, 5000)))
            both(seen, a, b, plan, **mode, **SCORINGS[(k + 2 * j) % len(SCORINGS)])
            count += kind != "unrelated" or mode["mode"] == "global"
    assert len(seen.engines) >= count - 2
    assert seen.alone < count  # where the path is near its start, mostly
    assert {-1, 0, 1} <= set(seen.levels)
    assert seen.looked > 100


@every_plan
@pytest.mark.parametrize("side", [128, 256])
def test_a_guess_that_is_wrong(
    lanes: str, side: int, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the grid is cut another path promises more, to the right of the one that is best: that
    one comes to a tile that was pruned for the other."""
    plan, rng = plan_of(lanes), np.random.default_rng(1)
    constants(monkeypatch, LEAST_SIDE=1500, SLACK=0, SIDE=side)
    strip = plan["T"] * plan["alpha"]
    cut = -(-1500 // strip) * strip
    query = rng.integers(0, 4, 3000)
    query[cut - 600 : cut] = query[cut : cut + 600]
    noisy = query[cut - 600 : cut].copy()
    noisy[::6] = (noisy[::6] + 1) % 4
    query[cut - 900 : cut - 600] = noisy[300:]
    target = np.concatenate([noisy, query[cut:]])
    found, _ = both(seen, text(query), text(target), plan, sub_score=(1, -3), gap_cost=(10, 2))
    assert found.query_end == 3000 and found.target_end == len(target)
    assert seen.refused


@every_plan
def test_guesses_of_any_kind(lanes: str, seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a path enters a cell is guessed at random, often near what is true, with any H."""
    plan, rng = plan_of(lanes), np.random.default_rng(6)

    def guessing(kind: Any) -> Any:
        entry = kind.entry

        def guess(self: Any, cell: Any, row: int, column: int) -> Entry:
            here, area = entry(self, cell, row, column), cell.area
            row, column = min(row, area.row_end), min(column, area.column_end)
            h = here.h + int(rng.choice([0, -300, 5, 40, 2000]))
            if rng.random() < 0.8:
                return Entry(here.row, here.column, h)
            if rng.random() < 0.5:
                return Entry(area.row, int(rng.integers(area.column + 1, column + 1)), h)
            return Entry(int(rng.integers(area.row + 1, row + 1)), area.column, h)

        return guess

    for kind in (GridLines, SetLines):
        monkeypatch.setattr(kind, "entry", guessing(kind))
    for k in range(12):
        slack = int(rng.choice([0, 10, 1024]))
        constants(monkeypatch, SLACK=slack, LEAST_SIDE=int(rng.choice([600, 1500])))
        a, b = pairs(KINDS[k % 4], rng, int(rng.integers(2300, 6000)))
        mode = MODES[0] if k % 3 else MODES[2]
        both(seen, a, b, plan, **mode, **SCORINGS[k % len(SCORINGS)])
    assert seen.refused > 10


@every_plan
def test_wrong_guesses_cost_little(lanes: str, seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path through noise is rarely where it is guessed."""
    plan, rng = plan_of(lanes), np.random.default_rng(8)
    constants(monkeypatch)
    a, b = pairs("unrelated", rng, 14000)
    found, alone = both(seen, a, b, plan, **MODES[2], **SCORINGS[0])
    walked, least = (sum(x.stats.cells.values()) - len(a) * len(b) for x in (found, alone))
    assert walked < 5 * least


@every_plan
@pytest.mark.parametrize("across", [False, True])
def test_a_path_that_ends_just_behind_a_cut(
    lanes: str, across: bool, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tiles, which reach a little beyond the guess, do not reach beyond the path's end."""
    plan, rng = plan_of(lanes), np.random.default_rng(2)
    constants(monkeypatch, LEAST_SIDE=1500)
    a = rng.integers(0, 4, 1545)
    q, t = (np.concatenate([a, rng.integers(0, 4, length)]) for length in (1455, 1000))
    query, target = (text(t), text(q)) if across else (text(q), text(t))
    both(seen, query, target, plan, sub_score=(1, -3), gap_cost=(3, 2))
    assert seen.walked


def tiles_of(
    lanes: str, query: NDArray[np.uint8], target: NDArray[np.uint8], scoring: Scoring, local: bool
) -> SideBySide:
    runtime = get_runtime("auto")
    engine = WavefrontEngine(runtime, make_plan(runtime, plan_of(lanes)))
    floor = 0 if local else None
    tiles = SideBySide(engine, View(query), View(target), scoring, floor, len(query))
    assert tiles.able
    return tiles


def small_scoring(rng: np.random.Generator, lanes: str) -> Scoring:
    """One that narrow lanes take."""
    if lanes == "vector":
        return random_scoring(rng, 4)
    opening, extend = (int(rng.integers(least, 6)) for least in (0, 1))
    return match_scoring(int(rng.integers(1, 4)), -int(rng.integers(1, 5)), opening, extend)


def random_sides(
    rng: np.random.Generator, m: int, n: int, opening: int, local: bool
) -> tuple[int, Edge, Edge]:
    """A corner and edges of a whole matrix; if global, unreachable cells in them."""
    edges = []
    for length in (n, m):
        edge = random_edge(rng, length, opening, local, 30)
        h, x = edge.h.copy(), edge.x.copy()
        if not local and rng.random() < 0.6:
            lost = slice(int(rng.integers(0, length)), int(rng.integers(0, length)))
            h[lost] = x[lost] = NEG
        edges.append(Edge(h, x))
    return 30, edges[0], edges[1]


@dataclass
class Whole:
    """A tile of the matrix, as the definition gives it."""

    area: Area
    full: Matrices

    def check(self, tiles: TileSet, k: int, area: Area, rows: int) -> None:
        """Tile k of a set, which is this area: edges, special rows and columns, peaks."""
        said, (row_step, column_step) = tiles.said[k], tiles.steps
        m, n = area.row_end - area.row, area.column_end - area.column
        assert said[:2].tolist() == [m, n]
        real = min(m, rows - area.row)
        at, before = area.row - self.area.row, area.column - self.area.column
        kept: dict[tuple[str, int], Edge] = {}
        for row in range(0, real + 1, row_step):
            place = tiles.place_of_row(k, row)
            wanted = row_of(self.full, at + row).part(before, before + n)
            kept["row", row] = self.same(tiles, place, place + int(said[5]), wanted)
        for column in range(0, n, column_step):
            places = tiles.place_of_column(k, column)
            wanted = column_of(self.full, before + column).part(at, at + real)
            kept["column", column] = self.same(tiles, *places, wanted)
            for row in {
                min(row_step, real),
                int(np.random.default_rng(column).integers(1, real + 1)),
            }:
                h = int(self.full.h[at + row, before + column])
                found = tiles.h_at(k, area.row + row, area.column + column)
                assert found == h or max(found, h) < REACH
        if real == m:
            self.peaks(tiles, k, (m, n), kept)

    def same(self, tiles: TileSet, h_at: int, x_at: int, wanted: Edge) -> Edge:
        with Buffers(tiles.runtime) as buffers:
            found = Edge(*(buffers.read(tiles.kept, len(wanted), at) for at in (h_at, x_at)))
        np.testing.assert_array_equal(found.restored().h, wanted.restored().h)
        np.testing.assert_array_equal(found.restored().x, wanted.restored().x)
        return found

    def peaks(
        self, tiles: TileSet, k: int, size: tuple[int, int], kept: dict[tuple[str, int], Edge]
    ) -> None:
        """The best cell of each piece of a kept line, and what it promises."""
        (m, n), steps = size, tiles.steps
        for a in range(-(-m // steps[0])):
            for b in range(-(-n // steps[1])):
                row, column = a * steps[0], b * steps[1]
                for left, edge, first, step, along, across in (
                    (0, kept["row", row], column, steps[1], n - column, m - row),
                    (1, kept["column", column], row, steps[0], m - row, n - column),
                ):
                    h = edge.h[first : first + step].astype(np.int64)
                    promise = h + tiles.match * np.minimum(across, along - 1 - np.arange(len(h)))
                    most, place = tiles.peaks[k, left, a, b].tolist()
                    assert most == promise.max() == promise[place]


def random_area(rng: np.random.Generator, m: int, n: int, quantum: int) -> Area:
    """Some of a matrix, whole strips: they may end below it."""
    row, column = int(rng.integers(0, m)), int(rng.integers(0, n))
    strips = int(rng.integers(1, -(-(m - row) // quantum) + 1))
    return Area(row, row + strips * quantum, column, int(rng.integers(column + 1, n + 1)))


@every_plan
@pytest.mark.parametrize("local", [True, False])
def test_a_set_of_tiles_is_what_the_reference_gives(lanes: str, local: bool) -> None:
    """Tiles anywhere in a matrix, at its borders, of one column, with rows below it; then tiles
    inside them, in their special rows and columns."""
    rng = np.random.default_rng(7 + local)
    for case in range(6):
        scoring = small_scoring(rng, lanes)
        m, n = (int(k) for k in rng.integers(64, 700, 2))
        if case == 0:
            m, n, scoring = 300, 1, match_scoring(1, -1, 2, 1)
        query, target = random_pair(rng, 4, m, n)
        with tiles_of(lanes, query, target, scoring, local) as tiles:
            quantum = tiles.row_quantum
            areas = [random_area(rng, m, n, quantum) for _ in range(int(rng.integers(1, 5)))]
            areas.append(Area(0, -(-m // quantum) * quantum, 0, n))
            sides = [random_sides(rng, m, n, scoring.gap_open, local) for _ in areas]
            wholes = []
            for area, (corner, top, left) in zip(areas, sides, strict=True):
                real = area.row, min(area.row_end, m)
                edges = Edges(
                    corner,
                    EdgeArray.of(top.part(area.column, area.column_end)),
                    EdgeArray.of(left.part(*real)),
                )
                codes = query[slice(*real)], target[area.column : area.column_end]
                floor = 0 if local else None
                wholes.append(Whole(area, full_matrices(*codes, scoring, floor, edges)))
            steps = quantum * int(rng.integers(1, 3)), int(rng.integers(1, 300))
            given = [(corner, EdgeArray.of(top), EdgeArray.of(left)) for corner, top, left in sides]
            outer = tiles.begin(0, [Part(area) for area in areas], given, steps)
            for k, whole in enumerate(wholes):
                whole.check(outer, k, whole.area, m)

            parts = []
            for k, area in enumerate(areas):
                row = area.row + steps[0] * int(
                    rng.integers(0, -(-(min(area.row_end, m) - area.row) // steps[0]))
                )
                column = area.column + steps[1] * int(
                    rng.integers(0, -(-(area.column_end - area.column) // steps[1]))
                )
                size = min(steps[0], area.row_end - row), min(steps[1], area.column_end - column)
                parts.append(Part(Area(row, row + size[0], column, column + size[1]), k))
            finer = tiles.inside(1, outer, parts, (quantum, int(rng.integers(1, 60))))
            for k, part in enumerate(parts):
                wholes[k].check(finer, k, part.area, m)


@every_plan
@pytest.mark.parametrize("local", [True, False])
def test_walks_through_sets_of_tiles(lanes: str, local: bool) -> None:
    """Through all cells of a tile's special rows and columns: moves, and how each was entered."""
    rng = np.random.default_rng(3)
    for _ in range(4):
        scoring = small_scoring(rng, lanes)
        m, n = (int(k) for k in rng.integers(300, 600, 2))
        query = random_codes(rng, m, 4)
        target = mutated(rng, query, n, 4)
        with tiles_of(lanes, query, target, scoring, local) as tiles:
            quantum = tiles.row_quantum
            area = Area(0, -(-m // quantum) * quantum, 0, n)
            corner, top, left = random_sides(rng, m, n, scoring.gap_open, True)
            sources = EdgeArray.of(top), EdgeArray.of(left)
            steps = quantum, 70
            outer = tiles.begin(0, [Part(area)], [(corner, *sources)], steps)
            parts = [
                Part(Area(row, row + quantum, column, min(column + 70, n)), 0)
                for row in range(0, area.row_end, quantum)
                for column in range(0, n, 70)
            ][::-1]
            job = TileJob(query, target, scoring, 0 if local else None, corner, top, left,
                          directions=True)  # fmt: skip
            directions = ReferenceEngine().tile(job).directions
            assert directions is not None
            for start in ((m, n, 0), (m, n // 2, 2), (m // 2, n, 1), (m // 2, n // 2, 0)):
                walk, entries = tiles.walk(outer, parts, *start)
                wanted = directions.walk(*start)
                assert walk.moves.tolist() == wanted.moves.tolist()
                assert (walk.row, walk.column, walk.state, walk.ended) == (
                    wanted.row, wanted.column, wanted.state, wanted.ended,
                )  # fmt: skip
                entered = [entry for entry in entries.tolist() if entry[3] >= 0]
                assert entered[0][:2] == list(start[:2]) and entered[0][3] == 0
                rows = start[0] - np.cumsum(np.append(0, walk.moves != 1))
                columns = start[1] - np.cumsum(np.append(0, walk.moves != 2))
                for part, (row, column, state, made) in zip(parts, entries.tolist(), strict=True):
                    inside = (rows > part.area.row) & (rows <= part.area.row_end)
                    inside &= (columns > part.area.column) & (columns <= part.area.column_end)
                    if not inside.any():
                        assert made == -1
                        continue
                    assert made == inside.argmax()
                    assert (row, column) == (rows[made], columns[made])
                    if scoring.gap_open and 0 < made < len(walk.moves):
                        again = directions.walk(row, column, state)
                        assert again.moves.tolist() == walk.moves[made:].tolist()


def kept_edge(lost: bool, length: int = 50) -> tuple[KeptEdge, Edge]:
    """An edge in a buffer, and what it says: with some unreachable cells that have drifted."""
    rng = np.random.default_rng(length)
    cells = random_edge(rng, length, 7, False, 100)
    h, x = cells.h.copy(), cells.x.copy()
    if lost:
        h[10:20] = NEG + np.arange(10)
        x[10:20] = NEG - 3
    buffer = np.concatenate([np.full(5, 9, np.int32), h, np.full(3, 9, np.int32), x])

    def read(buffer: Any, count: int, place: int) -> Ints:
        part: Ints = buffer[place : place + count].copy()
        return part

    return KeptEdge(length, buffer, 5, 8 + length, read, lost), Edge(h, x).restored()


@pytest.mark.parametrize("lost", [False, True])
def test_an_edge_that_stays_where_it_was_computed(lost: bool) -> None:
    kept, wanted = kept_edge(lost)
    assert len(kept) == len(wanted)
    for start, stop in ((0, 50), (0, 1), (49, 50), (7, 13), (12, 18), (5, 5)):
        part = kept.read(start, stop)
        np.testing.assert_array_equal(part.h, wanted.h[start:stop])
        np.testing.assert_array_equal(part.x, wanted.x[start:stop])
        assert len(kept.read_h(start, stop)) == stop - start
    np.testing.assert_array_equal(kept.h, wanted.h)
    np.testing.assert_array_equal(kept.x, wanted.x)


def test_an_array_of_an_edge_that_was_kept_elsewhere() -> None:
    kept, wanted = kept_edge(True)
    array = EdgeArray(50)
    array.take(kept)
    np.testing.assert_array_equal(array.read(8, 22).h, wanted.h[8:22])
    assert array.kept is kept
    array.write(20, Edge(np.full(3, 77, np.int32), np.full(3, 70, np.int32)))
    assert array.kept is None  # it is an array from now on
    assert array.read(19, 24).h.tolist() == [wanted.h[19], 77, 77, 77, wanted.h[23]]
    assert array.x[20:23].tolist() == [70] * 3 and array.x[10] == NEG
    array.take(wanted)
    assert array.read(0, 50).h is not None and array.h[20] == wanted.h[20]
    with pytest.raises(pysw_cl.errors.InternalError):
        array.take(kept_edge(False, 49)[0])


def related(rng: np.random.Generator, length: int) -> tuple[str, str]:
    return pairs("similar", rng, length)


HOW: dict[str, Any] = {"output": "path", "device": "auto"}


@every_plan
def test_progress_never_falls(lanes: str, seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(lanes)
    constants(monkeypatch, MOST_TILES=3)
    told: list[tuple[int, int]] = []
    a, b = related(np.random.default_rng(4), 4000)
    pysw_cl.align(a, b, plan=plan, progress=lambda *now: told.append(now), **HOW)
    assert seen.walked > 5 and seen.alone < 3
    done, totals = zip(*told, strict=True)
    assert list(done) == sorted(done)
    assert set(totals) == {totals[0]} and done[-1] == totals[0] > len(a) * len(b)
    assert sum(len(a) * len(b) < now < totals[0] for now in done) > 5


@every_plan
def test_an_interrupt_gives_the_memory_back(
    lanes: str, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(lanes)
    constants(monkeypatch, MOST_TILES=3)
    a, b = related(np.random.default_rng(4), 4000)

    def progress(done: int, total: int) -> None:
        if seen.walked == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pysw_cl.align(a, b, plan=plan, progress=progress, **HOW)
    assert seen.walked == 2
    assert [tiles._buffers.bytes for tiles in seen.engines] == [0]


def failing(calls: int, original: Callable[..., Any]) -> Callable[..., Any]:
    """A function that raises DeviceError from its call number ``calls`` on."""
    count = 0

    def call(*args: Any) -> Any:
        nonlocal count
        count += 1
        if count >= calls:
            raise DeviceError("out of memory")
        return original(*args)

    return call


@pytest.mark.parametrize(
    ("name", "calls"), [("__init__", 1), ("_keep", 1), ("_keep", 4), ("_run", 3), ("_take", 7)]
)
def test_where_memory_lacks_tiles_go_one_by_one(
    name: str, calls: int, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of("vector")
    constants(monkeypatch, MOST_TILES=3)
    a, b = related(np.random.default_rng(4), 4000)
    wanted = pysw_cl.align(a, b, plan=plan, **HOW)
    assert seen.alone < 3
    monkeypatch.setattr(SideBySide, name, failing(calls, getattr(SideBySide, name)))
    found = pysw_cl.align(a, b, plan=plan, **HOW)
    assert key(found) == key(wanted)
    assert seen.alone >= 3
    assert all(tiles._buffers.bytes == 0 for tiles in seen.engines)


@every_plan
@pytest.mark.parametrize("limit", [(0, 400), (1 << 20, 100), (1 << 22, 50)])
def test_memory_stays_below_its_limit(
    lanes: str, limit: tuple[int, int], seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(lanes)
    constants(monkeypatch, PATH_BYTES=limit[0], SIDE_BYTES=limit[1])
    rng = np.random.default_rng(4)
    a, b = related(rng, 6000)
    held: list[int] = []
    took = WavefrontEngine.took

    def counted(self: WavefrontEngine, size: int) -> None:
        took(self, size)
        held.append(self._room.edge_bytes)

    monkeypatch.setattr(WavefrontEngine, "took", counted)
    found = pysw_cl.align(a, b, plan=plan, **HOW)
    assert seen.walked and not seen.alone
    assert found.stats.device_bytes <= path_bytes(len(a), len(b))
    # the first grid is on the device all the time
    cut = [EdgeArray(len(b)), EdgeArray(len(a))]
    assert max(held) >= 8 * sum(map(len, cut)) and held[-1] == max(held)
    assert found.stats.device_bytes > max(held)


def test_a_level_is_no_larger_than_one_buffer_may_be(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, most = plan_of("vector"), 1 << 18
    constants(monkeypatch)
    a, b = related(np.random.default_rng(4), 6000)
    init, keep = SideBySide.__init__, SideBySide._keep
    sizes: list[int] = []

    def small(self: SideBySide, *args: Any) -> None:
        init(self, *args)
        self.most_bytes = most

    def kept(self: SideBySide, name: Any, size: int) -> Any:
        sizes.append(size)
        return keep(self, name, size)

    monkeypatch.setattr(SideBySide, "__init__", small)
    monkeypatch.setattr(SideBySide, "_keep", kept)
    pysw_cl.align(a, b, plan=plan, **HOW)
    assert max(sizes) <= most and seen.walked > 5 and not seen.alone


@every_plan
def test_a_walk_that_is_saved_goes_on_where_it_was(
    lanes: str, seen: Seen, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """Each part of it is saved, and a later run begins behind the last one."""
    plan = plan_of(lanes)
    constants(monkeypatch, MOST_TILES=3)
    for name, value in {"LEAST_SECONDS": 0, "LEAST_TIMES": 0}.items():
        monkeypatch.setattr(pace, name, value)
    a, b = related(np.random.default_rng(4), 4000)
    wanted = pysw_cl.align(a, b, plan=plan, **HOW)
    parts = seen.walked
    seen.walked = 0

    def progress(done: int, total: int) -> None:
        if seen.walked == 3:
            seen.walked = 0
            raise KeyboardInterrupt

    runs = 0
    while True:
        runs += 1
        try:
            found = pysw_cl.align(
                a, b, plan=plan, progress=progress, checkpoint=tmp_path / "saved", **HOW
            )
        except KeyboardInterrupt:
            continue
        break
    assert key(found) == key(wanted)
    assert 2 < runs <= parts
