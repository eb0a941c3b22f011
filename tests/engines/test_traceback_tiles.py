"""Walks through many tiles in one launch: over matrices cut anywhere, listed with gaps and extras,
by one work-item and by groups; long runs of one move through windows as large as on GPUs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from aligning import needs_lanes
from contract_engines import column_of, random_job, row_of
from helpers import match_scoring, mutated, random_codes
from numpy.typing import NDArray
from test_device_traceback import FEWER_GROUPS, GROUPS, engine_of, job_of, same_walk

from pysw_cl.engines.reference import Matrices, fill
from pysw_cl.engines.wavefront.device_traceback import (
    DeviceMoves,
    Start as From,
    begin_pieces,
    one_path,
)
from pysw_cl.engines.wavefront.engine import WavefrontEngine
from pysw_cl.opencl.buffers import Buffers
from pysw_cl.opencl.device import get_runtime
from pysw_cl.scoring.scoring import Scoring
from pysw_cl.tiles.edges import Edge
from pysw_cl.tiles.tile import TileJob, Traced

#: Lanes, T and alpha: few lanes, more rows than a word of moves holds, lanes in lock step.
SHAPES = [("vector32", 4, 2), ("vector32", 8, 9), ("warp32", 0, 4), ("warp32", 0, 8)]
#: One work-item, and groups with windows as large as they are on GPUs.
LARGE = [{"TRACEBACK_GROUP_SIZE": size} for size in (1, 32, 64, 256)]
#: Their shapes.  (Each is built for seconds, so it is one that other tests have, too.)
IN_LARGE = pytest.mark.parametrize("lanes, T, alpha", [("vector32", 4, 2), ("warp32", 0, 8)])

Start = tuple[int, int, int]
Rows = list[list[int]]


def in_groups(groups: list[dict[str, int]]) -> list[dict[str, int]]:
    """Those that the device at hand builds."""
    refused = get_runtime("auto").traits.refused_lanes
    return [
        group for group in groups if group["TRACEBACK_GROUP_SIZE"] == 1 or "scalar32" not in refused
    ]


def some_rows(runtime: Any) -> int:
    return min(256, int(runtime.device.max_work_group_size))


@dataclass
class Cut:
    """A matrix of which rectangles have been computed, their moves in one buffer."""

    engine: WavefrontEngine
    job: TileJob
    dirs: Any
    whole: Matrices
    tiles: Rows  # row, column, rows, columns, place
    usual: dict[str, int]

    def trace(
        self, group: dict[str, int], tiles: Rows, start: Start, shift: int
    ) -> tuple[Traced, int]:
        """On the device, with the tiles' frame moved by ``shift`` rows and columns."""
        table = np.array(tiles, np.int64).reshape(-1, 5)
        table[:, :2] += shift
        row, column, state = start
        defines = {**self.usual, **group}
        place = From(row + shift, column + shift, state, 0, len(table))
        linear = self.job.scoring.gap_open == 0
        runtime = self.engine.runtime
        with Buffers(runtime, small=True) as buffers:
            moves = runtime, defines, self.dirs, table, linear, [place], buffers, buffers
            trace, entries = one_path(begin_pieces(*moves)(), [place], len(table))
        visited = np.nonzero(entries[:, 3] >= 0)[0]
        tile = int(visited[-1]) if trace.ended else len(table)
        return replace(trace, row=trace.row - shift, column=trace.column - shift), tile


def rectangle(job: TileJob, full: Any, row: int, column: int, rows: int, columns: int) -> TileJob:
    """A part of the matrix as a tile of its own."""
    across, down = slice(column, column + columns), slice(row, row + rows)
    top = row_of(full, row) if row else job.top
    left = column_of(full, column) if column else job.left
    return replace(
        job,
        query=job.query[down],
        target=job.target[across],
        corner=int(full.h[row, column]),
        top=Edge(top.h[across], top.x[across]),
        left=Edge(left.h[down], left.x[down]),
    )


def cut_of(engine: WavefrontEngine, job: TileJob, places: Rows, buffers: Buffers) -> Cut:
    """Compute the rectangles (row, column, rows, columns) of the matrix, moves included."""
    import pyopencl as cl

    borders = [(e.h.astype(np.int64), e.x.astype(np.int64)) for e in (job.top, job.left)]
    full = fill(job.query, job.target, job.scoring, job.floor, job.corner, *borders)
    sizes = [engine.plan.moves_bytes(rows, columns) for _, _, rows, columns in places]
    # moves begin at any word
    begins = np.cumsum([0, *(size + 4 * (k % 3) for k, size in enumerate(sizes))]).tolist()
    dirs = buffers.empty(begins[-1])
    tiles, usual = [], {}
    for place, size, begin in zip(places, sizes, begins, strict=False):
        kept = engine.tile(rectangle(job, full, *place)).moves
        assert isinstance(kept, DeviceMoves)
        usual = kept._defines
        queue = engine.runtime.queue
        cl.enqueue_copy(queue, dirs, kept._dirs, byte_count=size, dst_offset=begin).wait()
        kept.release()
        tiles.append([*place, begin // 4])
    return Cut(engine, job, dirs, full, tiles, usual)


def has(tile: list[int], row: int, column: int) -> bool:
    return 0 < row - tile[0] <= tile[2] and 0 < column - tile[1] <= tile[3]


def expected(whole: Matrices, tiles: Rows, start: Start) -> tuple[Traced, int, set[int]]:
    """What the walk over the whole matrix does as long as a tile has the cell: the walk, the tile,
    the tiles that it came to."""
    row, column, state = start
    linear, count = whole.gap_open == 0, len(tiles)
    all_of_it = whole.trace(row, column, state)
    index, made, visited = -1, 0, set()
    for made in range(len(all_of_it.moves) + 1):
        if index < 0 or not has(tiles[index], row, column):
            later = range(index + 1, count)
            index = next((k for k in later if has(tiles[k], row, column)), count)
            if index == count:
                break
            visited.add(index)
        if made == len(all_of_it.moves):
            assert all_of_it.ended
            return all_of_it, index, visited
        state = int(all_of_it.moves[made])
        row, column = row - (state != 1), column - (state != 2)
    state = 0 if linear else state
    return Traced(all_of_it.moves[:made], row, column, state, False), count, visited


def grid(rng: np.random.Generator, m: int, n: int, pieces: int) -> Rows:
    """The matrix cut at random rows and columns."""
    sides = []
    for length in (m, n):
        inner = rng.choice(np.arange(1, length), min(pieces, length) - 1, replace=False)
        ends = [0, *sorted(inner.tolist()), length]
        sides.append(list(zip(ends[:-1], np.diff(ends).tolist(), strict=True)))
    return [[r, c, rows, columns] for r, rows in sides[0] for c, columns in sides[1]]


def lists_of(rng: np.random.Generator, cut: Cut, start: Start) -> list[Rows]:
    """The tiles in ways that a path may find them: all of them backwards, those on its way only,
    those with others in between, without one of them, all in any order."""
    backwards = cut.tiles[::-1]
    visited = expected(cut.whole, backwards, start)[2]
    needed = [backwards[k] for k in sorted(visited)]
    others = [tile for k, tile in enumerate(backwards) if k not in visited]
    mixed = list(needed)
    for k in rng.permutation(len(others)):
        mixed.insert(int(rng.integers(0, len(mixed) + 1)), others[k])
    lacking = list(needed)
    if len(lacking) > 1:
        lacking.pop(int(rng.integers(0, len(lacking))))
    return [
        backwards,
        needed,
        mixed,
        lacking,
        [cut.tiles[k] for k in rng.permutation(len(cut.tiles))],
    ]


def check(cut: Cut, lists: list[Rows], start: Start, groups: list[dict[str, int]]) -> None:
    for tiles in lists:
        wanted, tile, _ = expected(cut.whole, tiles, start)
        for shift, group in enumerate(groups):
            found, at = cut.trace(group, tiles, start, 100 * shift)
            same_walk(found, wanted)
            assert at == tile


@pytest.mark.parametrize("lanes, T, alpha", SHAPES)
@pytest.mark.parametrize("local", [True, False], ids=["local", "global"])
def test_matrices_cut_anywhere(lanes: str, T: int, alpha: int, local: bool) -> None:
    engine, rng = engine_of(lanes, T, alpha), np.random.default_rng(20)
    usual = FEWER_GROUPS[lanes, T, alpha] if lanes == "vector32" else GROUPS
    groups = in_groups([*usual, {"TRACEBACK_GROUP_SIZE": 256}] if usual is GROUPS else usual)
    groups = [
        group for group in groups if group["TRACEBACK_GROUP_SIZE"] <= some_rows(engine.runtime)
    ]
    for m, n, pieces in [(1, 1, 1), (40, 50, 3), (200, 170, 4), (90, 260, 7), (150, 150, 1)]:
        job = job_of(rng, m, n, local, related=m > 60)
        with Buffers(engine.runtime) as buffers:
            cut = cut_of(engine, job, grid(rng, m, n, pieces), buffers)
            ends = [(m, n, 0), (m, 1, 2), (1, n, 1)]
            ends += [
                (int(rng.integers(1, m + 1)), int(rng.integers(1, n + 1)), k) for k in range(3)
            ]
            for start in ends:
                check(cut, lists_of(rng, cut, start), start, groups)


def test_rectangles_that_overlap() -> None:
    """A later tile is taken where the path leaves one, not where another one begins."""
    engine, rng = engine_of("vector32", 4, 2), np.random.default_rng(21)
    for local in (True, False):
        m, n = 150, 140
        job = job_of(rng, m, n, local, related=True)
        places = [[0, 0, m, n]]
        for _ in range(12):
            row, column = int(rng.integers(0, m - 1)), int(rng.integers(0, n - 1))
            rows, columns = int(rng.integers(1, m - row + 1)), int(rng.integers(1, n - column + 1))
            places.append([row, column, rows, columns])
        with Buffers(engine.runtime) as buffers:
            cut = cut_of(engine, job, places, buffers)
            for _ in range(10):
                count = int(rng.integers(1, 10))
                tiles = [cut.tiles[k] for k in rng.integers(1, len(places), count)]
                last = tiles[0]
                start = last[0] + last[2], last[1] + last[3], int(rng.integers(0, 3))
                check(cut, [tiles, [*tiles, cut.tiles[0]]], start, in_groups(GROUPS[:3]))


def test_gaps_that_may_go_either_way() -> None:
    """Unrelated letters and cheap linear gaps: short gaps and ties everywhere."""
    engine, rng = engine_of("vector32", 4, 2), np.random.default_rng(26)
    for local in (True, False):
        m, n = 120, 160
        job = random_job(
            rng, m, n, match_scoring(3, -2, 0, 1), local, store_moves=True, right=False
        )
        target = rng.integers(0, 4, n).astype(np.uint8)
        job = replace(job, bottom=False, target=target)
        with Buffers(engine.runtime) as buffers:
            cut = cut_of(engine, job, grid(rng, m, n, 3), buffers)
            for _ in range(20):
                start = int(rng.integers(m // 2, m + 1)), int(rng.integers(n // 2, n + 1)), 0
                check(cut, [cut.tiles[::-1]], start, in_groups(GROUPS))


def test_no_tile_has_the_start() -> None:
    engine, rng = engine_of("vector32", 4, 2), np.random.default_rng(22)
    job = job_of(rng, 30, 30, False, related=True)
    with Buffers(engine.runtime) as buffers:
        cut = cut_of(engine, job, [[10, 10, 20, 20]], buffers)
        for group in in_groups(GROUPS):
            for start in [(10, 30, 0), (30, 10, 1), (0, 0, 2)]:
                trace, tile = cut.trace(group, cut.tiles, start, 3)
                state = start[2] if job.scoring.gap_open else 0
                assert (len(trace.moves), trace.row, trace.column, trace.state) == (
                    0,
                    *start[:2],
                    state,
                )
                assert not trace.ended and tile == 1


def two_by_two(m: int, n: int) -> Rows:
    row, column = m // 2 + 3, n // 2 - 5
    return [[0, 0, row, column], [0, column, row, n - column],
            [row, 0, m - row, column], [row, column, m - row, n - column]]  # fmt: skip


@IN_LARGE
@pytest.mark.parametrize("local", [True, False], ids=["local", "global"])
def test_long_paths_through_large_windows(lanes: str, T: int, alpha: int, local: bool) -> None:
    """Equal letters; gaps of hundreds, for affine and linear costs; and a path that ends at the
    floor, or another way, inside a window."""
    engine, rng = engine_of(lanes, T, alpha), np.random.default_rng(23)
    groups = in_groups(LARGE)
    size = 1500
    letters = random_codes(rng, size, 4)
    joined = np.concatenate
    middle = size // 2
    gapped = joined([letters[: middle - 350], letters[middle:]])
    after_noise = joined([random_codes(rng, 333, 4), letters[333:]])
    affine, linear = match_scoring(5, -4, 6, 1), match_scoring(9, -2, 0, 1)
    cases: list[tuple[Scoring, NDArray[np.uint8], NDArray[np.uint8]]] = [
        (affine, letters, letters),
        (affine, letters, gapped),
        (linear, gapped, letters),
        (affine, letters, after_noise),
        (linear, letters, mutated(rng, letters, size, 4)),
    ]
    for scoring, query, target in cases:
        m, n = len(query), len(target)
        job = random_job(rng, m, n, scoring, local, store_moves=True, right=False)
        job = replace(job, bottom=False, query=query, target=target)
        with Buffers(engine.runtime) as buffers:
            cut = cut_of(engine, job, two_by_two(m, n), buffers)
            starts = [(m, n, 0), (m - 1, n - 7, 1), (m // 3, n - 1, 2)]
            for start in starts:
                check(cut, [cut.tiles[::-1]], start, groups)


def test_many_tiles_with_equal_letters() -> None:
    """Thousands of diagonal moves, in more tiles than the group has work-items."""
    needs_lanes("vector32")
    engine = engine_of("vector32", 4, 2)
    scoring = match_scoring(2, -3, 5, 1)
    rng, side, count = np.random.default_rng(24), 60, 50
    letters = random_codes(rng, side, 4)
    job = random_job(rng, side, side, scoring, False, store_moves=True, right=False)
    job = replace(job, bottom=False, query=letters, target=letters, corner=10_000)
    with Buffers(engine.runtime) as buffers:
        cut = cut_of(engine, job, [[0, 0, side, side]], buffers)
        tiles = [[k * side, k * side, side, side, 0] for k in range(count)][::-1]
        for group in in_groups([*LARGE[:2], GROUPS[3]]):
            trace, tile = cut.trace(group, tiles, (side * count, side * count, 0), 5)
            assert trace.moves.tolist() == [0] * (side * count)
            assert (trace.row, trace.column, trace.state, trace.ended) == (0, 0, 0, False)
            assert tile == count


@IN_LARGE
def test_windows_follow_each_other(lanes: str, T: int, alpha: int) -> None:
    """Relatives of thousands of letters with short gaps, where the next window is loaded ahead, in
    one tile; and equal ones."""
    engine, rng = engine_of(lanes, T, alpha), np.random.default_rng(25)
    size = 4000
    letters = random_codes(rng, size, 4)
    for change in (0.0, 0.01, 0.05):
        kept = rng.random(size) >= change / 2
        other = np.where(rng.random(size) < change, rng.integers(0, 4, size), letters)
        copies = np.where(kept, 1 + (rng.random(size) < change / 2), 0)
        target = np.repeat(other, copies).astype(np.uint8)
        n = len(target)
        job = random_job(
            rng, size, n, match_scoring(2, -3, 4, 1), True, store_moves=True, right=False
        )
        job = replace(job, bottom=False, query=letters, target=target)
        kept_moves = engine.tile(job).moves
        assert isinstance(kept_moves, DeviceMoves)
        usual, traces = kept_moves._defines, []
        for group in in_groups(LARGE):
            kept_moves._defines = {**usual, **group}
            traces.append(kept_moves.trace(size, n, 0))
            same_walk(traces[-1], traces[0])
        assert len(traces[0].moves) > 0.98 * size
        assert change or not traces[0].moves[: size - 100].any()
        kept_moves.release()
