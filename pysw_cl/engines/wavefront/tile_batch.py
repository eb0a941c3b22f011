"""Many tiles in one launch: parts of a path, side by side (docs/algorithm.md, The path ahead)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import lcm
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers, Pool
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, KernelSpec, running, wait
from ...planning.plan import MOVES_CHUNK, Plan
from ...scoring.scoring import Scoring
from ...sequences.view import View
from ...tiles.contract import Part
from ...tiles.edges import EdgeArray, Source
from ...tiles.tile import Traced
from .arguments import Letters, Scratch, counted
from .compressed_edge import CompressedEdge
from .descriptors import TOP_LINE, SourceWord, TileWord, TracedWord
from .device_traceback import TiledMoves, traceback_defines
from .kernel import backwards, narrow_score, pads, stage_bytes, state_bytes, wide_score
from .tile import moves_bytes
from .tile_batch_launch import Scored, Tally, Work, launch_tiles, strip_groups_of
from .tile_batch_layout import TILE_SET_FILES, TileSet

Busy = Callable[[], bool]

#: How far special rows and columns are apart where there are none.
NO_LINES = 1 << 30, 1 << 30
#: Words of tiles that say of each `TracedWord` what it is.
TRACED = [
    {
        TracedWord.ROW: TileWord.QUERY,
        TracedWord.COLUMN: TileWord.TARGET,
        TracedWord.ROWS: TileWord.ROWS,
        TracedWord.COLUMNS: TileWord.COLUMNS,
        TracedWord.MOVES: TileWord.MOVES,
    }[word]
    for word in TracedWord
]
#: Work-groups that copy the edges of one tile.
PARTS = 16
#: Alpha at most, of narrow lanes and where moves are kept.
ALPHA, MOVES_ALPHA = 8, 8

TAKE_EDGES = KernelSpec("take_edges", TILE_SET_FILES, ("from", "to", "tiles", "sources"))


class Owner(Protocol):
    """The engine that these tiles are computed for."""

    runtime: Runtime
    plan: Plan

    @property
    def edge_bytes(self) -> int:
        """Memory of edges on the device."""

    def note_memory(self, size: int) -> None:
        """Count memory that is taken at once."""


@dataclass
class Moves:
    """Tiles whose moves are computed: the buffer ``dirs`` for them, what ``buffers`` the launch
    has, and what groups count."""

    done: TileSet
    dirs: Any
    buffers: Buffers
    tally: Tally


def _group_bytes(plan: Plan, strip_groups: int) -> tuple[int, int]:
    """Memory that groups have for their lanes between two blocks, and for stages."""
    return state_bytes(plan, plan.T, plan.alpha, strip_groups), stage_bytes(
        plan.chunk, strip_groups
    )


class WavefrontTileBatch:
    """Launches of many tiles of one matrix, on one device.

    ``query`` and ``target``, as far as a path may lead, of a matrix of ``rows`` rows, are on the
    device as long as this is in use (a context manager), and the edges and moves of the last set of
    each level.  ``meanwhile`` is called while the device computes, with what says whether it still
    does.
    """

    meanwhile: Callable[[Busy], None]

    def __init__(
        self,
        engine: Owner,
        query: View,
        target: View,
        scoring: Scoring,
        floor: int | None,
        rows: int,
    ) -> None:
        runtime, plan = engine.runtime, engine.plan
        self.engine, self.runtime = engine, runtime
        self._buffers = Buffers(runtime)
        self._kept: dict[int | str, Any] = {}
        self._slots: dict[int, Moves] = {}
        self._pools: dict[int, Pool] = {}
        self._cells: dict[str, int] = {}
        self._launches = 0
        self.meanwhile = lambda busy: None
        self.most_bytes = int(runtime.device.max_mem_alloc_size)  # of the tiles of a level
        self.rows, self.columns = rows, len(target)
        target_codes = target.read(0, len(target))
        score = narrow_score(plan, scoring, target_codes, runtime.traits.byte_permute)
        self.able = score is not None
        if score is None:
            return
        alpha = plan.alpha if plan.alpha_fixed else min(ALPHA, plan.alpha)
        wide = plan.without_narrow()
        moves_alpha = wide.alpha if plan.alpha_fixed else min(MOVES_ALPHA, wide.alpha)
        self.row_quantum = lcm(plan.T * alpha, wide.T * moves_alpha)
        held = self._buffers.of(target_codes)
        narrow = held
        if plan.lane_set.backwards:
            narrow = self._buffers.of(backwards(target_codes, plan.T, pads(scoring, score)[1]))
        codes = np.full(len(query) + self.row_quantum, 0, np.uint8)
        codes[: len(query)] = query.read(0, len(query))

        def work(plan: Plan, file: str) -> Work:
            codes[len(query) :] = pads(scoring, file)[0]  # another one for each score file
            letters = Letters(self._buffers.of(codes.copy()), held, narrow)
            return Work(plan, Scored(scoring, file, floor is not None), letters)

        chunk = min(MOVES_CHUNK, plan.chunk)
        self._works = {
            False: work(replace(plan, alpha=alpha), score),
            True: work(replace(wide, alpha=moves_alpha, chunk=chunk), wide_score(scoring)),
        }

    def __enter__(self) -> WavefrontTileBatch:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    def free(self) -> None:
        """Give the device's memory back; nothing is computed any more."""
        for moves in self._slots.values():
            moves.buffers.free()
        for pool in self._pools.values():
            pool.forget()
        self._slots.clear()
        self._pools.clear()
        self._kept.clear()
        self._buffers.free()

    @property
    def held_bytes(self) -> int:
        """Memory that is taken, with edges elsewhere and what any launch takes beside its tiles."""
        level, moves = (sum(_group_bytes(one.plan, one.plan.B)) for one in self._works.values())
        return self.engine.edge_bytes + self._buffers.bytes + level + 2 * moves  # of two launches

    def cost(self) -> tuple[dict[str, int], int]:
        """Cells by lane set and launches since this was asked last."""
        cost = self._cells, self._launches
        self._cells, self._launches = {}, 0
        return cost

    def kept_bytes(self, rows: int, columns: int, steps: tuple[int, int]) -> int:
        """Memory that a tile's edges take, with its special rows and columns."""
        T = self._works[False].plan.T
        lines = (columns + 2 * T) * (TOP_LINE + 1 + rows // steps[0])
        return 8 * (lines + rows * (1 + columns // steps[1]) + 64)

    def moves_bytes(self, rows: Any, columns: Any) -> Any:
        """Memory of a tile's moves, or of those of many (arrays)."""
        plan = self._works[True].plan
        return moves_bytes(rows, columns, plan.T, plan.alpha)

    def begin(
        self,
        level: int,
        parts: list[Part],
        sides: Sequence[tuple[int, Source, Source]],
        steps: tuple[int, int],
    ) -> TileSet:
        """Compute tiles of the whole matrix: a corner and what lies above and to the left of each,
        in the matrix's columns and rows.  Rows below its last one get what that one has."""
        done = self._set(level, parts, steps)
        with Buffers(self.runtime) as sent:
            for tile, part, (corner, top, left) in zip(
                done.descriptors.tolist(), parts, sides, strict=True
            ):
                area, m, n = part.area, tile[TileWord.ROWS], tile[TileWord.COLUMNS]
                stride, left_at = tile[TileWord.STRIDE], tile[TileWord.LEFT]
                line = tile[TileWord.BUS] + 2 * TOP_LINE * stride
                self._send(sent, top, area.column, n, done.kept, line, line + stride)
                at = left_at + 1, left_at + m + 1
                rows = min(m, self.rows - area.row)
                self._send(sent, left, area.row, rows, done.kept, *at)
                sent.write(done.kept, np.array([corner], np.int32), 4 * left_at)
                if rows < m:
                    last = left.read(self.rows - 1, self.rows)
                    for place, cell in zip(at, (last.h, last.x), strict=True):
                        sent.write(done.kept, np.repeat(cell, m - rows), 4 * (place + rows))
            self._run(None, done)
        return done

    def _send(
        self, sent: Buffers, edge: Source, start: int, count: int, to: Any, h_at: int, x_at: int
    ) -> None:
        """Copy cells of an edge to their places on the device, where they may be already."""
        if isinstance(edge, CompressedEdge):
            edge.give(start, count, to, h_at, x_at, self.runtime)
            return
        kept = edge.kept if isinstance(edge, EdgeArray) else None
        if kept is not None and not kept.lost:
            sent.move(kept.buffer, kept.h_place + start, to, h_at, count)
            sent.move(kept.buffer, kept.x_place + start, to, x_at, count)
            return
        cells = edge.read(start, start + count)
        sent.write(to, cells.h, 4 * h_at)
        sent.write(to, cells.x, 4 * x_at)

    def inside(
        self, level: int, outer: TileSet, parts: list[Part], steps: tuple[int, int]
    ) -> TileSet:
        """Compute tiles that begin at corners of the special rows and columns of others."""
        done = self._set(level, parts, steps)
        self._run(outer, done)
        return done

    def moves(self, outer: TileSet, parts: list[Part], slot: int = 0, room: int = 0) -> Moves:
        """Begin to compute tiles as :meth:`inside` does, with their moves, in memory that is used
        again when ``slot`` is.  All slots share the buffer of the moves, of ``room`` bytes at
        least: the queue keeps order, so those of one launch are there until the next one, and a
        walk that was enqueued before that one has seen them."""
        if slot in self._slots:
            before = self._slots.pop(slot)
            wait(self.runtime, before.tally.event)  # it may not have been walked
            before.buffers.free()
        done = self._set(f"moves {slot}", parts, NO_LINES)
        tiles = done.descriptors
        sizes = self.moves_bytes(tiles[:, TileWord.ROWS], tiles[:, TileWord.COLUMNS])
        ends = np.cumsum(sizes)
        tiles[:, TileWord.MOVES] = (ends - sizes) // 4
        dirs = self._keep("dirs", max(room, int(ends[-1])))
        side = self.runtime.beside(0)  # copies do not wait for what is computed
        if slot not in self._pools:
            self._pools[slot] = Pool(side, int(self.runtime.device.max_mem_alloc_size))
        buffers = Buffers(side, pool=self._pools[slot], aside=True)
        self._take(outer, done, buffers)
        tally = self._launch(done, dirs, buffers, f" {slot}")
        moves = self._slots[slot] = Moves(done, dirs, buffers, tally)
        return moves

    def trace(
        self, moves: Moves, row: int, column: int, state: int
    ) -> Callable[[], tuple[Traced, NDArray[np.int32]]]:
        """Begin to walk a path through tiles, whatever is enqueued after that; gives what waits for
        it.  See :meth:`pysw_cl.engines.wavefront.device_traceback.TiledMoves.begin`."""
        parts, work = moves.done.parts, self._works[True]
        tiles = moves.done.descriptors[:, TRACED]
        defines = traceback_defines(self.runtime, work.plan.T, work.plan.alpha)
        linear = work.scored.scoring.gap_open == 0
        most = row + column - min(p.area.row + p.area.column for p in parts)
        self._launches += 1
        tiled = TiledMoves(self.runtime, defines, moves.dirs, tiles, linear)
        aside = Buffers(self.runtime.beside(0))  # reads past what is enqueued after the walk
        tracing = tiled.begin((row, column, state), moves.buffers, aside, most)

        def found() -> tuple[Traced, NDArray[np.int32]]:
            self.meanwhile(partial(running, self.runtime, tracing.event))
            trace, _, entries = tracing.found()
            self._count(moves.tally.read(aside), True)
            return trace, entries

        return found

    def _keep(self, name: int | str, size: int) -> Any:
        self._kept[name] = self._buffers.again(self._kept.get(name), size)
        return self._kept[name]

    def _set(self, level: int | str, parts: list[Part], steps: tuple[int, int]) -> TileSet:
        """A set of tiles, nothing computed yet: what is said of each."""
        work = self._works[False]
        scoring, T = work.scored.scoring, work.plan.T
        tiles = np.zeros((len(parts), len(TileWord)), np.int64)
        areas = np.array([part.area[:] for part in parts], np.int64)
        m, n = areas[:, 1] - areas[:, 0], areas[:, 3] - areas[:, 2]
        words = {
            TileWord.ROWS: m,
            TileWord.COLUMNS: n,
            TileWord.QUERY: areas[:, 0],
            TileWord.TARGET: areas[:, 2],
            TileWord.LETTERS: self.columns - areas[:, 2] - n
            if work.plan.lane_set.backwards
            else areas[:, 2],
            TileWord.STRIDE: n + 2 * T,
            TileWord.KEPT: (n - 1) // steps[1],
            TileWord.OFFSET: [part.offset for part in parts],
        }
        for word, values in words.items():
            tiles[:, word] = values
        lengths = {
            TileWord.BUS: 2 * (n + 2 * T) * (TOP_LINE + 1 + m // steps[0]),
            TileWord.LEFT: 2 * m + 1,
            TileWord.CROSSED: 2 * m * tiles[:, TileWord.KEPT],
        }
        place = 0
        for word, length in lengths.items():
            rooms = -(-length // 32) * 32
            ends = place + np.cumsum(rooms)
            tiles[:, word] = ends - rooms
            place = int(ends[-1])
        kept = self._keep(level, 4 * place)
        match, extend = max(scoring.highest, 0), scoring.gap_extend
        return TileSet(parts, steps, tiles, kept, self.runtime, match, extend)

    def _take(self, outer: TileSet, done: TileSet, buffers: Buffers) -> None:
        k = np.array([part.inside for part in done.parts])
        inner, around = done.descriptors, outer.descriptors[k]
        row = inner[:, TileWord.QUERY] - around[:, TileWord.QUERY]
        column = inner[:, TileWord.TARGET] - around[:, TileWord.TARGET]
        top = outer.place_of_row(k, row) + column
        left_h, left_x = (place + row for place in outer.place_of_column(k, column))
        sources = np.empty((len(k), len(SourceWord)), np.int64)
        sources[:, SourceWord.TOP_H] = top
        sources[:, SourceWord.TOP_X] = top + around[:, TileWord.STRIDE]
        sources[:, SourceWord.LEFT_H], sources[:, SourceWord.LEFT_X] = left_h, left_x
        sources[:, SourceWord.CORNER] = np.where(column, top, left_h) - 1
        local = int(self._works[False].scored.local)
        kernel = BoundKernel(self.runtime, TAKE_EDGES, {"EDGE_GROUPS": PARTS, "LOCAL": local})
        kernel.bind(**{"from": outer.kept}, to=done.kept, tiles=buffers.of(inner))
        kernel.bind(sources=buffers.of(sources))
        buffers.send()
        kernel.launch(PARTS * len(done.parts), 64)
        self._launches += 1

    def _run(self, outer: TileSet | None, done: TileSet) -> None:
        """Compute tiles without moves, and meanwhile what there is to do."""
        with Buffers(self.runtime, small=True) as buffers:
            if outer is not None:
                self._take(outer, done, buffers)
            tally = self._launch(done, None, buffers)
            self.meanwhile(partial(running, self.runtime, tally.event))
            self._count(tally.read(buffers), False)

    def _launch(self, done: TileSet, dirs: Any, buffers: Buffers, slot: str = "") -> Tally:
        """Enqueue the computation of tiles."""
        work = self._works[dirs is not None]
        state, stages = _group_bytes(work.plan, strip_groups_of(self.runtime, work.plan, done))
        scratch = Scratch(self._keep("state" + slot, state), self._keep("stages" + slot, stages))
        tally = launch_tiles(self.runtime, work, done, dirs, scratch, buffers)
        self._launches += 1
        self.engine.note_memory(self._buffers.bytes + buffers.bytes)
        return tally

    def _count(self, records: NDArray[np.int32], moves: bool) -> None:
        """Add up cells by width, from the columns of strips that were walked."""
        plan = self._works[moves].plan
        strip, family = plan.T * plan.alpha, plan.lane_set.family
        for width, steps in zip((8, 16, 32), counted(records), strict=False):
            name = f"wavefront/{family}/{width}"
            if steps:
                self._cells[name] = self._cells.get(name, 0) + steps * strip
