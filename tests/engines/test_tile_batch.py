"""Tiles side by side hold what the reference engine gives, and are walked as its moves are; edges
that stay where they were computed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from contract_engines import column_of, full_matrices, random_edge, row_of
from helpers import match_scoring, mutated, random_codes, random_pair, random_scoring
from numpy.typing import NDArray
from speculating import (
    every_plan,
    plan_of,
)

from pysw_cl.drivers.path_prediction import promise, rate_of
from pysw_cl.engines.plans import make_plan
from pysw_cl.engines.reference import Matrices, ReferenceEngine
from pysw_cl.engines.wavefront.descriptors import TileWord
from pysw_cl.engines.wavefront.tile_batch import WavefrontTileBatch
from pysw_cl.engines.wavefront.tile_batch_layout import TileSet
from pysw_cl.opencl.buffers import Buffers, RetainedBuffers
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning.program import Given, Seen
from pysw_cl.scoring.precision import UNREACHABLE, UNREACHABLE_BELOW
from pysw_cl.scoring.scoring import Scoring
from pysw_cl.sequences.view import View
from pysw_cl.tiles.contract import ANYWHERE, Part
from pysw_cl.tiles.edges import DeviceEdge, Edge, EdgeArray, Edges, Ints
from pysw_cl.tiles.tile import Area, TileJob, Traced


def tiles_of(
    lanes: str, query: NDArray[np.uint8], target: NDArray[np.uint8], scoring: Scoring, local: bool
) -> WavefrontTileBatch:
    runtime = get_runtime("auto")
    plan = make_plan(runtime, plan_of(lanes))
    given = Given(plan, scoring, local, runtime.facts, Seen(bool(target.max() < 4)))
    score, noted = given.narrow(len(target)), lambda size: None
    assert score is not None
    about = RetainedBuffers(), noted, View(query), View(target), len(query)
    return WavefrontTileBatch(runtime, given, score, *about)


def small_scoring(rng: np.random.Generator, lanes: str) -> Scoring:
    """One that narrow lanes take, with gaps that cost something: random edges fall, which they do
    in no matrix where gaps cost nothing."""
    if lanes == "vector":
        scoring = random_scoring(rng, 4)
        while scoring.gap_open + scoring.gap_extend == 0:
            scoring = random_scoring(rng, 4)
        return scoring
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
            h[lost] = x[lost] = UNREACHABLE
        edges.append(Edge(h, x))
    return 30, edges[0], edges[1]


#: The special rows and columns of a tile, by their kind and place.
Kept = dict[tuple[str, int], Edge]


@dataclass
class Whole:
    """A tile of the matrix, as the definition gives it."""

    area: Area
    full: Matrices

    def check(self, tiles: TileSet, k: int, area: Area, rows: int) -> Kept:
        """Tile k of a set, which is this area: edges, special rows and columns."""
        tile, (row_step, column_step) = tiles.descriptors[k], tiles.steps
        m, n = area.row_end - area.row, area.column_end - area.column
        assert tile[[TileWord.ROWS, TileWord.COLUMNS]].tolist() == [m, n]
        real = min(m, rows - area.row)
        at, before = area.row - self.area.row, area.column - self.area.column
        kept: Kept = {}
        for row in range(0, real + 1, row_step):
            place = tiles.place_of_row(k, row)
            wanted = row_of(self.full, at + row).read(before, before + n)
            kept["row", row] = self.same(tiles, place, place + int(tile[TileWord.STRIDE]), wanted)
        for column in range(0, n, column_step):
            places = tiles.place_of_column(k, column)
            wanted = column_of(self.full, before + column).read(at, at + real)
            kept["column", column] = self.same(tiles, *places, wanted)
            for row in {
                min(row_step, real),
                int(np.random.default_rng(column).integers(1, real + 1)),
            }:
                h = int(self.full.h[at + row, before + column])
                found = tiles.h_at(k, area.row + row, area.column + column)
                assert found == h or max(found, h) < UNREACHABLE_BELOW
        return kept

    def same(self, tiles: TileSet, h_at: int, x_at: int, wanted: Edge) -> Edge:
        with Buffers(tiles.runtime) as buffers:
            found = Edge(*(buffers.read(tiles.kept, len(wanted), at) for at in (h_at, x_at)))
        np.testing.assert_array_equal(found.restored().h, wanted.restored().h)
        np.testing.assert_array_equal(found.restored().x, wanted.restored().x)
        return found


def check_entries(rng: np.random.Generator, tiles: TileSet, kept: list[Kept], rows: int) -> None:
    """From any cell of a set, each entry into a rectangle is one that promises most."""
    k = int(rng.integers(len(tiles.parts)))
    area, (row_step, column_step) = tiles.parts[k].area, tiles.steps
    row = int(rng.integers(area.row, min(rows, area.row_end))) + 1
    column = int(rng.integers(area.column, area.column_end)) + 1
    match, extend = max(0, tiles.scoring.highest), tiles.scoring.gap_extend
    entries = tiles.entries(k, row, column, 50)().tolist()
    before, first = None, True
    for tile, *entry in entries:
        area = tiles.parts[tile].area
        assert area.holds(row, column) and not any(
            part.area.holds(row, column) for part in tiles.parts[k:tile]
        )
        k, r, c = tile, row - area.row, column - area.column
        a, b = (r - 1) // row_step * row_step, (c - 1) // column_step * column_step
        down, across = r - a, c - b
        top = kept[k]["row", a].h[b : b + across]
        left = kept[k]["column", b].h[a : a + down]
        if first and r % row_step == 0:
            before = int(kept[k]["row", r].h[c - 1])
        elif first and ("column", c) in kept[k]:
            before = int(kept[k]["column", c].h[r - 1])
        straight, h = min(down, across), None
        if straight > 1 and down != across:
            h = before
        edge = top[across - straight - 1] if down < across else left[down - straight - 1]
        rate = rate_of(h, int(edge), 2 * straight, match, extend)
        possible = [
            top + promise(np.arange(across)[::-1].astype(float), down, rate, match, extend),
            left + promise(np.arange(down)[::-1].astype(float), across, rate, match, extend),
        ]
        most = max(float(some.max()) for some in possible)
        row, column, before, first = *entry, False
        on_top = row == area.row + a and column > area.column + b
        at = column - area.column - b - 1 if on_top else row - area.row - a - 1
        assert before == (top if on_top else left)[at]
        if most > UNREACHABLE_BELOW:
            assert possible[not on_top][at] >= most - 2 - 1e-4 * abs(most)
    if len(entries) < 50 and (before is None or before >= UNREACHABLE_BELOW):
        assert not any(part.area.holds(row, column) for part in tiles.parts[k:])


def part_of(rng: np.random.Generator, area: Area) -> Part:
    """A tile that a path leaves anywhere near its corner."""
    return Part(area, offset=int(rng.choice([0, 30, ANYWHERE])))


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
                if area.column or area.row:
                    edge, before = (top, area.column) if area.column else (left, area.row)
                    corner = int(edge.h[before - 1])
                real = area.row, min(area.row_end, m)
                edges = Edges(
                    corner,
                    top.read(area.column, area.column_end),
                    left.read(*real),
                )
                codes = query[slice(*real)], target[area.column : area.column_end]
                floor = 0 if local else None
                wholes.append(Whole(area, full_matrices(*codes, scoring, floor, edges)))
            steps = quantum * int(rng.integers(1, 3)), int(rng.integers(1, 300))
            given = [(top, left) for _, top, left in sides]
            given_parts = [part_of(rng, area) for area in areas]
            outer = tiles.begin(0, given_parts, given, 30, steps)
            kept = [whole.check(outer, k, whole.area, m) for k, whole in enumerate(wholes)]
            for _ in range(5):
                check_entries(rng, outer, kept, m)

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
            sources = top, left
            steps = quantum, 70
            outer = tiles.begin(0, [Part(area)], [sources], corner, steps)
            parts = [
                Part(Area(row, row + quantum, column, min(column + 70, n)), 0)
                for row in range(0, area.row_end, quantum)
                for column in range(0, n, 70)
            ][::-1]
            job = TileJob(query, target, scoring, 0 if local else None, corner, top, left,
                          store_moves=True)  # fmt: skip
            directions = ReferenceEngine().tile(job).moves
            assert directions is not None
            for start in ((m, n, 0), (m, n // 2, 2), (m // 2, n, 1), (m // 2, n // 2, 0)):
                trace, entries = tiles.trace(tiles.moves(outer, parts), *start)()
                wanted = directions.trace(*start)
                assert trace.moves.tolist() == wanted.moves.tolist()
                assert (trace.row, trace.column, trace.state, trace.ended) == (
                    wanted.row, wanted.column, wanted.state, wanted.ended,
                )  # fmt: skip
                entered = [entry for entry in entries.tolist() if entry[3] >= 0]
                assert entered[0][:2] == list(start[:2]) and entered[0][3] == 0
                rows = start[0] - np.cumsum(np.append(0, trace.moves != 1))
                columns = start[1] - np.cumsum(np.append(0, trace.moves != 2))
                for part, (row, column, state, made) in zip(parts, entries.tolist(), strict=True):
                    inside = (rows > part.area.row) & (rows <= part.area.row_end)
                    inside &= (columns > part.area.column) & (columns <= part.area.column_end)
                    if not inside.any():
                        assert made == -1
                        continue
                    assert made == inside.argmax()
                    assert (row, column) == (rows[made], columns[made])
                    if scoring.gap_open and 0 < made < len(trace.moves):
                        again = directions.trace(row, column, state)
                        assert again.moves.tolist() == trace.moves[made:].tolist()
                for size in (1, 2, 3):
                    work = tiles._works[True]
                    tuning = work.plan.tuning.with_values({"speculation.piece": size})
                    tiles._works[True] = work._replace(plan=replace(work.plan, tuning=tuning))
                    check_pieces(rng, tiles, outer, parts, start, trace, entries)


def check_pieces(
    rng: np.random.Generator,
    tiles: WavefrontTileBatch,
    outer: TileSet,
    parts: list[Part],
    start: tuple[int, int, int],
    trace: Traced,
    entries: Ints,
) -> None:
    """Pieces of a path that are traced side by side make all of it, wherever they start at first:
    where it is, or beside it, or in another state."""
    right = [
        part._replace(start=(row, column)) if made >= 0 and (state == 0 or not k) else part
        for k, (part, (row, column, state, made)) in enumerate(
            zip(parts, entries.tolist(), strict=True)
        )
    ]
    wrong = [
        part._replace(start=(part.area.row_end, int(rng.integers(*part.area[2:])) + 1))
        for part in parts
    ]
    for begun in (right, wrong):
        found, came = tiles.trace(tiles.moves(outer, begun), *start)()
        assert found.moves.tolist() == trace.moves.tolist()
        assert (found.row, found.column, found.ended) == (trace.row, trace.column, trace.ended)
        assert came.tolist() == entries.tolist()


def kept_edge(lost: bool, length: int = 50) -> tuple[DeviceEdge, Edge]:
    """An edge in a buffer, and what it says: with some unreachable cells that have drifted."""
    rng = np.random.default_rng(length)
    cells = random_edge(rng, length, 7, False, 100)
    h, x = cells.h.copy(), cells.x.copy()
    if lost:
        h[10:20] = UNREACHABLE + np.arange(10)
        x[10:20] = UNREACHABLE - 3
    buffer = np.concatenate([np.full(5, 9, np.int32), h, np.full(3, 9, np.int32), x])

    def read(buffer: Any, count: int, place: int) -> Ints:
        part: Ints = buffer[place : place + count].copy()
        return part

    return DeviceEdge(length, buffer, 5, 8 + length, read, lost), Edge(h, x).restored()


@pytest.mark.parametrize("lost", [False, True])
def test_an_edge_that_stays_where_it_was_computed(lost: bool) -> None:
    kept, wanted = kept_edge(lost)
    assert len(kept) == len(wanted)
    for start, stop in ((0, 50), (0, 1), (49, 50), (7, 13), (12, 18), (5, 5)):
        part = kept.read(start, stop)
        np.testing.assert_array_equal(part.h, wanted.h[start:stop])
        np.testing.assert_array_equal(part.x, wanted.x[start:stop])
        assert len(kept.read_h(start, stop)) == stop - start


def test_an_array_of_an_edge_that_was_kept_elsewhere() -> None:
    kept, wanted = kept_edge(True)
    array = EdgeArray(50)
    array.write(0, kept)
    np.testing.assert_array_equal(array.read(8, 22).h, wanted.h[8:22])
    assert array.cells is kept
    array.write(20, Edge(np.full(3, 77, np.int32), np.full(3, 70, np.int32)))
    assert array.cells is not kept  # it is an array from now on
    assert array.read(19, 24).h.tolist() == [wanted.h[19], 77, 77, 77, wanted.h[23]]
    x = array.read(0, 50).x
    assert x[20:23].tolist() == [70] * 3 and x[10] == UNREACHABLE
    array.write(0, wanted)
    assert array.h_at(20) == wanted.h[20]
