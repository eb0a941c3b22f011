"""Tile batches: many tiles in one launch, along a path (docs/algorithm.md, The path ahead)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import lcm
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.pools import Pool
from ...opencl.program import BoundKernel, KernelSpec, running, wait
from ...planning.lane_sets import WIDTHS
from ...planning.path_grid import batch_plans, group_bytes, kept_bytes
from ...planning.plan import Plan
from ...planning.program import narrow_score
from ...planning.sizes import moves_bytes
from ...scoring.scoring import Scoring
from ...sequences.view import View
from ...tiles.contract import Part
from ...tiles.edges import EdgeArray, Source
from ...tiles.tile import Traced
from .arguments import counted
from .compressed_edge import CompressedEdge
from .descriptors import TOP_LINE, SourceWord, TileWord, descriptors
from .device_traceback import begin_traceback, traceback_defines
from .kernel import backwards
from .tile import of_four
from .tile_batch_launch import Tally, Work, launch_tiles
from .tile_batch_layout import TILE_SET_FILES, TileSet

Busy = Callable[[], bool]

#: The distance of special rows and columns where there are none.
NO_LINES = 1 << 30, 1 << 30
#: For each `TracedWord` the `TileWord` that holds it.
TRACED = [TileWord.QUERY, TileWord.TARGET, TileWord.ROWS, TileWord.COLUMNS, TileWord.MOVES]
#: Work-groups that copy the edges of one tile.
EDGE_GROUPS = 16
TAKE_EDGES = KernelSpec("take_edges", TILE_SET_FILES, ("from", "to", "tiles", "sources"))


class Owner(Protocol):
    """The engine that owns the tile batch."""

    runtime: Runtime
    plan: Plan

    @property
    def edge_bytes(self) -> int:
        """Bytes of the edges on the device."""

    def note_memory(self, size: int) -> None:
        """Update the peak for ``size`` bytes that are in use."""


@dataclass
class Moves:
    """A launch that computes tiles and stores their moves."""

    done: TileSet
    #: The buffer of the moves.
    stored: Any
    #: The launch's other buffers.
    buffers: Buffers
    #: What its groups count.
    tally: Tally


class WavefrontTileBatch:
    """Launches of many tiles of one matrix, on one device.

    The matrix has ``rows`` rows; ``query`` and ``target`` are the part of it where the path may be.
    As long as this is in use (a context manager), the device holds their letters, and the edges and
    moves of the last set of each level.  ``meanwhile`` is called while the device computes; its
    argument is a function that tells whether the device still does.
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
        four = runtime.traits.byte_permute and plan.lane_set.scores.permute4
        four = four and of_four(target_codes)
        score = narrow_score(plan, scoring, len(target), four, floor is not None)
        self.able = score is not None
        if score is None:
            return
        level_plan, moves_plan = batch_plans(plan.for_scores(score))
        self.row_quantum = lcm(level_plan.strip_rows, moves_plan.strip_rows)
        target_letters = dict.fromkeys(("target", "letters"), self._buffers.of(target_codes))
        if plan.lane_set.backwards:
            padded = backwards(target_codes, plan.T, scoring.source.pads(score)[1])
            target_letters["letters"] = self._buffers.of(padded)
        codes = np.full(len(query) + self.row_quantum, 0, scoring.source.code)
        codes[: len(query)] = query.read(0, len(query))

        def work(plan: Plan, file: str) -> Work:
            codes[len(query) :] = scoring.source.pads(file)[0]
            letters = {"query": self._buffers.of(codes.copy()), **target_letters}
            return Work(plan, scoring, file, floor is not None, letters)

        #: By whether moves are stored.
        self._works = {
            False: work(level_plan, score),
            True: work(moves_plan, scoring.source.file),
        }

    def __enter__(self) -> WavefrontTileBatch:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    def free(self) -> None:
        """Free the device's memory.  Nothing can be computed after that."""
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
        """Bytes in use, with the engine's other edges and the scratch memory of any launch."""
        level, moves = (sum(group_bytes(one.plan, one.plan.B)) for one in self._works.values())
        return self.engine.edge_bytes + self._buffers.bytes + level + 2 * moves  # two slots

    def cost(self) -> tuple[dict[str, int], int]:
        """Cells by lane set and width, and launches, since the last call."""
        cost = self._cells, self._launches
        self._cells, self._launches = {}, 0
        return cost

    def kept_bytes(self, rows: int, columns: int, steps: tuple[int, int]) -> int:
        """Bytes of a tile's edges with its special rows and columns, ``steps`` apart."""
        return kept_bytes(rows, columns, steps, self._works[False].plan.T)

    def moves_bytes(self, rows: Any, columns: Any) -> Any:
        """Bytes of the moves of a tile, or of many (arrays)."""
        plan = self._works[True].plan
        return moves_bytes(rows, columns, plan.T, plan.alpha)

    def begin(
        self,
        level: int,
        parts: list[Part],
        sides: Sequence[tuple[int, Source, Source]],
        steps: tuple[int, int],
    ) -> TileSet:
        """Compute tiles with edges of the whole matrix.

        ``sides``: for each tile H of its corner, the row above it (indexed by the matrix's columns)
        and the column to its left (by its rows).  Rows of a tile below the matrix's last row get
        that row's left edge.
        """
        done = self._set(level, parts, steps)
        with Buffers(self.runtime) as copies:
            for tile, part, (corner, top, left) in zip(
                done.descriptors.tolist(), parts, sides, strict=True
            ):
                area, m, n = part.area, tile[TileWord.ROWS], tile[TileWord.COLUMNS]
                stride, left_at = tile[TileWord.STRIDE], tile[TileWord.LEFT]
                line = tile[TileWord.BUS] + 2 * TOP_LINE * stride
                self._send(copies, top, area.column, n, done.kept, line, line + stride)
                at = left_at + 1, left_at + m + 1
                rows = min(m, self.rows - area.row)
                self._send(copies, left, area.row, rows, done.kept, *at)
                copies.write(done.kept, np.array([corner], np.int32), 4 * left_at)
                if rows < m:
                    last = left.read(self.rows - 1, self.rows)
                    for place, cell in zip(at, (last.h, last.x), strict=True):
                        copies.write(done.kept, np.repeat(cell, m - rows), 4 * (place + rows))
            self._run(None, done)
        return done

    def _send(
        self, copies: Buffers, edge: Source, start: int, count: int, to: Any, h_at: int, x_at: int
    ) -> None:
        """Copy cells of an edge, which may be on the device already, to places of a buffer."""
        if isinstance(edge, CompressedEdge):
            edge.give(start, count, to, h_at, x_at)
            return
        held = edge.on_device if isinstance(edge, EdgeArray) else None
        if held is not None and not held.may_be_unreachable:
            copies.move(held.buffer, held.h_place + start, to, h_at, count)
            copies.move(held.buffer, held.x_place + start, to, x_at, count)
            return
        cells = edge.read(start, start + count)
        copies.write(to, cells.h, 4 * h_at)
        copies.write(to, cells.x, 4 * x_at)

    def inside(
        self, level: int, outer: TileSet, parts: list[Part], steps: tuple[int, int]
    ) -> TileSet:
        """Compute tiles whose corners are crossings of special rows and columns of ``outer``."""
        done = self._set(level, parts, steps)
        self._run(outer, done)
        return done

    def moves(self, outer: TileSet, parts: list[Part], slot: int = 0, capacity: int = 0) -> Moves:
        """Enqueue the computation of tiles as :meth:`inside`, and store their moves.

        The next call with the same ``slot`` uses the memory again.  All slots share one buffer for
        moves, of at least ``capacity`` bytes.  The queue is in order, so moves stay valid until the
        next such launch, and a traceback that is enqueued before it reads the right ones.
        """
        if slot in self._slots:
            before = self._slots.pop(slot)
            wait(self.runtime, before.tally.event)  # no traceback may have waited for it
            before.buffers.free()
        done = self._set(f"moves {slot}", parts, NO_LINES)
        tiles = done.descriptors
        sizes = self.moves_bytes(tiles[:, TileWord.ROWS], tiles[:, TileWord.COLUMNS])
        ends = np.cumsum(sizes)
        tiles[:, TileWord.MOVES] = (ends - sizes) // 4
        stored = self._keep("moves", max(capacity, int(ends[-1])))
        side = self.runtime.beside(0)  # copies on this queue do not wait for kernels
        if slot not in self._pools:
            self._pools[slot] = Pool(side, int(self.runtime.device.max_mem_alloc_size))
        buffers = Buffers(side, pool=self._pools[slot], aside=True)
        self._take(outer, done, buffers)
        tally = self._launch(done, stored, buffers, f" {slot}")
        moves = self._slots[slot] = Moves(done, stored, buffers, tally)
        return moves

    def trace(
        self, moves: Moves, row: int, column: int, state: int
    ) -> Callable[[], tuple[Traced, NDArray[np.int32]]]:
        """Enqueue the traceback of a path through tiles; returns a function that waits for it.  See
        :func:`pysw_cl.engines.wavefront.device_traceback.begin_traceback`."""
        parts, work = moves.done.parts, self._works[True]
        tiles = moves.done.descriptors[:, TRACED]
        defines = traceback_defines(self.runtime, work.plan.T, work.plan.alpha)
        linear = work.scoring.gap_open == 0
        most = row + column - min(p.area.row + p.area.column for p in parts)
        self._launches += 1
        aside = Buffers(self.runtime.beside(0))  # it does not wait for later launches
        where = self.runtime, defines, moves.stored, tiles, linear
        tracing = begin_traceback(*where, (row, column, state), moves.buffers, aside, most)

        def found() -> tuple[Traced, NDArray[np.int32]]:
            self.meanwhile(partial(running, self.runtime, tracing.event))
            trace, _, entries = tracing.found()
            self._count(moves.tally.read(aside), True)
            return trace, entries

        return found

    def _keep(self, name: int | str, size: int) -> Any:
        """The retained buffer of this name, which has at least ``size`` bytes."""
        self._kept[name] = self._buffers.again(self._kept.get(name), size)
        return self._kept[name]

    def _set(self, level: int | str, parts: list[Part], steps: tuple[int, int]) -> TileSet:
        """The descriptors and the memory of a set of tiles; nothing is computed yet."""
        work = self._works[False]
        scoring, T = work.scoring, work.plan.T
        areas = np.array([part.area[:] for part in parts], np.int64)
        m, n = areas[:, 1] - areas[:, 0], areas[:, 3] - areas[:, 2]
        backwards = work.plan.lane_set.backwards
        tiles = descriptors(
            len(parts),
            {
                TileWord.ROWS: m,
                TileWord.COLUMNS: n,
                TileWord.QUERY: areas[:, 0],
                TileWord.TARGET: areas[:, 2],
                TileWord.LETTERS: self.columns - areas[:, 2] - n if backwards else areas[:, 2],
                TileWord.STRIDE: n + 2 * T,
                TileWord.KEPT: (n - 1) // steps[1],
                TileWord.OFFSET: [part.offset for part in parts],
                TileWord.EXIT_ROWS: [part.exit[0] for part in parts],
                TileWord.EXIT_COLUMNS: [part.exit[1] for part in parts],
                TileWord.RATE: [int(1024 * part.rate) for part in parts],
            },
        )
        lengths = {
            TileWord.BUS: 2 * (n + 2 * T) * (TOP_LINE + 1 + m // steps[0]),
            TileWord.LEFT: 2 * m + 1,
            TileWord.CROSSED: 2 * m * tiles[:, TileWord.KEPT],
        }
        place = 0
        for word, length in lengths.items():
            sizes = -(-length // 32) * 32
            ends = place + np.cumsum(sizes)
            tiles[:, word] = ends - sizes
            place = int(ends[-1])
        kept = self._keep(level, 4 * place)
        match, extend = max(scoring.highest, 0), scoring.gap_extend
        return TileSet(parts, steps, tiles, kept, self.runtime, match, extend)

    def _take(self, outer: TileSet, done: TileSet, buffers: Buffers) -> None:
        """Enqueue the copy of the tiles' edges from special rows and columns of the outer ones."""
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
        local = int(self._works[False].local)
        kernel = BoundKernel(self.runtime, TAKE_EDGES, {"EDGE_GROUPS": EDGE_GROUPS, "LOCAL": local})
        kernel.bind(**{"from": outer.kept}, to=done.kept, tiles=buffers.of(inner))
        kernel.bind(sources=buffers.of(sources))
        buffers.send()
        kernel.launch(EDGE_GROUPS * len(done.parts), 64)
        self._launches += 1

    def _run(self, outer: TileSet | None, done: TileSet) -> None:
        """Compute tiles without moves; call ``meanwhile`` while the device does."""
        with Buffers(self.runtime, small=True) as buffers:
            if outer is not None:
                self._take(outer, done, buffers)
            tally = self._launch(done, None, buffers)
            self.meanwhile(partial(running, self.runtime, tally.event))
            self._count(tally.read(buffers), False)

    def _launch(self, done: TileSet, moves: Any, buffers: Buffers, slot: str = "") -> Tally:
        """Enqueue the computation of tiles.  ``moves``: the buffer for their moves, or None."""
        work = self._works[moves is not None]

        def keep(name: str, size: int) -> Any:
            return self._keep(name + slot, size)

        tally = launch_tiles(self.runtime, work, done, moves, keep, buffers)
        self._launches += 1
        self.engine.note_memory(self._buffers.bytes + buffers.bytes)
        return tally

    def _count(self, records: NDArray[np.int32], moves: bool) -> None:
        """Add to the cells by width, from the columns of strips that were swept."""
        plan = self._works[moves].plan
        strip, family = plan.strip_rows, plan.lane_set.family
        for width, steps in zip(WIDTHS, counted(records), strict=False):
            name = f"wavefront/{family}/{width}"
            if steps:
                self._cells[name] = self._cells.get(name, 0) + steps * strip
