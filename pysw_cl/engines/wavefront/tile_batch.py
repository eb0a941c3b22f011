"""Tile batches: many tiles in one launch, along a path (docs/algorithm.md, The path ahead)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from math import lcm
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers, Pool, RetainedBuffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, KernelSpec
from ...planning.geometry import Grid
from ...planning.lane_sets import WIDTHS
from ...planning.path_grid import batch_plans, group_bytes, kept_bytes
from ...planning.plan import Plan
from ...planning.program import Given, batch_program
from ...planning.sizes import moves_bytes, profile_bytes
from ...scoring.precision import UNREACHABLE
from ...sequences.view import View
from ...tiles.contract import Part
from ...tiles.edges import DeviceEdge, EdgeArray, Ints, Source, repeated
from ...tiles.tile import Costs, Hit, Traced
from .compressed_edge import CompressedEdge
from .descriptors import TOP_LINE, SourceWord, TileWord
from .device_traceback import Found, Start, begin_pieces, one_path, pieces_of, traceback_defines
from .kernel import backwards, counted, launch_many, new_records, read_records, scores_of
from .tile_batch_layout import TILE_SET_FILES, TileSet, described

#: The distance of special rows and columns where there are none.
NO_LINES = 1 << 30, 1 << 30
#: For each `TracedWord` the `TileWord` that holds it.
TRACED = [TileWord.QUERY, TileWord.TARGET, TileWord.ROWS, TileWord.COLUMNS, TileWord.MOVES]
#: Work-groups that copy the edges of one tile.
EDGE_GROUPS = 16
TAKE_EDGES = KernelSpec("take_edges", TILE_SET_FILES, ("from", "to", "tiles", "sources"))


class Moves(NamedTuple):
    """A launch that computes tiles and stores their moves."""

    done: TileSet
    #: The buffer of the moves.
    stored: Any
    #: The launch's other buffers.
    buffers: Buffers
    event: Any
    #: Reads the records of the launch's groups.
    records: Callable[[Buffers], Ints]


class Work(NamedTuple):
    """How tiles are computed, with or without moves."""

    plan: Plan
    #: The score file.
    file: str
    #: The kernel's arguments with the letters.
    letters: dict[str, Any]


class WavefrontTileBatch(AbstractContextManager["WavefrontTileBatch"]):
    """Launches of many tiles of one matrix, on one device.

    The matrix has ``rows`` rows; ``query`` and ``target`` are the part of it where the path may be.
    ``score``: the score file of narrow lanes (`Given.narrow`).  ``room``: what the engine has on
    the device; ``note_memory`` gets the bytes beside that.  As long as this is in use (a context
    manager), the device holds the letters, and the edges and moves of the last set of each level.
    """

    def __init__(
        self,
        runtime: Runtime,
        given: Given,
        score: str,
        room: RetainedBuffers,
        note_memory: Callable[[int], None],
        query: View,
        target: View,
        rows: int,
    ) -> None:
        self.runtime, self._room, self._note_memory = runtime, room, note_memory
        self._given, self.scoring = given, given.scoring
        self._buffers = Buffers(runtime)
        self._slots: dict[int, Moves] = {}
        self._pools: dict[int, Pool] = {}
        self._cost = Costs()
        self.most_bytes = int(runtime.device.max_mem_alloc_size)  # of the tiles of a level
        self.rows, self.columns = rows, len(target)
        plans = batch_plans(given.plan.for_scores(score))
        self.row_quantum = row_quantum(given.plan, score)
        source, target_codes = given.scoring.source, target.read(0, len(target))
        target_letters = dict.fromkeys(("target", "letters"), self._buffers.of(target_codes))
        if given.plan.lane_set.backwards:
            padded = backwards(target_codes, given.plan.T, source.pads(score)[1])
            target_letters["letters"] = self._buffers.of(padded)
        codes = np.full(len(query) + self.row_quantum, 0, source.code)
        codes[: len(query)] = query.read(0, len(query))
        #: By whether moves are stored.
        self._works: dict[bool, Work] = {}
        for moves, plan, file in zip((False, True), plans, (score, source.file), strict=True):
            codes[len(query) :] = source.pads(file)[0]
            letters = {"query": self._buffers.of(codes.copy()), **target_letters}
            self._works[moves] = Work(plan, file, letters)

    def free(self, *_: object) -> None:
        """Free the device's memory.  Nothing can be computed after that."""
        for moves in self._slots.values():
            moves.buffers.free()
        for pool in self._pools.values():
            pool.forget()
        self._slots.clear()
        self._pools.clear()
        self._buffers.free()

    __exit__ = free

    @property
    def held_bytes(self) -> int:
        """Bytes in use, with the engine's other edges and the scratch memory of any launch."""
        level, moves = (sum(group_bytes(one.plan, one.plan.B)) for one in self._works.values())
        return self._room.edge_bytes + self._buffers.bytes + level + 2 * moves  # two slots

    def cost(self) -> Costs:
        """What was computed since the last call."""
        cost, self._cost = self._cost, Costs()
        return cost

    def kept_bytes(self, rows: Any, columns: Any, steps: tuple[Any, int]) -> Any:
        """Bytes of a tile's edges with its special lines, ``steps`` apart; or of many (arrays)."""
        return kept_bytes(rows, columns, steps, self._works[False].plan.T)

    def moves_bytes(self, rows: Any, columns: Any) -> Any:
        """Bytes of the moves of a tile, or of many (arrays)."""
        plan = self._works[True].plan
        return moves_bytes(rows, columns, plan.T, plan.alpha)

    def begin(
        self,
        level: int,
        parts: list[Part],
        sides: Sequence[tuple[Source, Source]],
        corner: int,
        steps: tuple[int, int],
    ) -> TileSet:
        """Compute tiles with edges of the whole matrix, H of whose ``corner`` is given.

        ``sides``: for each tile the row above it (indexed by the matrix's columns) and the column
        to its left (by its rows).  Rows below the matrix's last row get its left edge."""
        done = self._set(level, parts, steps)
        tiles = done.descriptors.tolist()
        with Buffers(self.runtime, small=True) as copies:
            for tile, part, (top, left) in zip(tiles, parts, sides, strict=True):
                area, m, n = part.area, tile[TileWord.ROWS], tile[TileWord.COLUMNS]
                stride, left_at = tile[TileWord.STRIDE], tile[TileWord.LEFT]
                line = tile[TileWord.BUS] + 2 * TOP_LINE * stride
                _send(copies, top, area.column, n, done.kept, line, line + stride)
                at = left_at + 1, left_at + m + 1
                rows = min(m, self.rows - area.row)
                _send(copies, left, area.row, rows, done.kept, *at)
                side, before = (top, area.column) if area.column else (left, area.row)
                if before:
                    _send(copies, side, before - 1, 1, done.kept, left_at)
                else:
                    copies.write(done.kept, np.array([corner], np.int32), 4 * left_at)
                if rows < m:
                    last = left.read(self.rows - 1, self.rows)
                    for place, cell in zip(at, (last.h, last.x), strict=True):
                        copies.write(done.kept, np.repeat(cell, m - rows), 4 * (place + rows))
            if not self._given.local:  # unreachable cells become the sentinel again, in place
                self._take(done, done, copies)
            self._sweep(done, copies)
        return done

    def inside(
        self, level: int, outer: TileSet, parts: list[Part], steps: tuple[int, int]
    ) -> TileSet:
        """Compute tiles whose corners are crossings of special rows and columns of ``outer``."""
        done = self._set(level, parts, steps)
        with Buffers(self.runtime, small=True) as buffers:
            self._take(outer, done, buffers)
            self._sweep(done, buffers)
        return done

    def moves(self, outer: TileSet, parts: list[Part], slot: int = 0, capacity: int = 0) -> Moves:
        """Enqueue the computation of tiles as :meth:`inside`, and store their moves.

        The next call with the same ``slot`` uses the memory again.  All slots share one buffer for
        moves, of at least ``capacity`` bytes.  The queue is in order, so moves stay valid until the
        next such launch, and a traceback that is enqueued before it reads the right ones."""
        if slot in self._slots:
            before = self._slots.pop(slot)
            self.runtime.wait(before.event)  # no traceback may have waited for it
            before.buffers.free()
        done = self._set(f"moves {slot}", parts, NO_LINES)
        stored = self._stored(done.descriptors, capacity)
        side = self.runtime.beside(0)  # copies on this queue do not wait for kernels
        if slot not in self._pools:
            self._pools[slot] = Pool(side, int(self.runtime.device.max_mem_alloc_size))
        buffers = Buffers(side, pool=self._pools[slot], aside=True)
        self._take(outer, done, buffers)
        event, records = self._launch(done, stored, buffers, slot=f" {slot}")
        self._slots[slot] = Moves(done, stored, buffers, event, records)
        return self._slots[slot]

    def trace(self, moves: Moves, row: int, column: int, state: int) -> Callable[[], Found]:
        """Enqueue the traceback of a path through tiles; returns a function that waits for it."""
        piece = self._works[True].plan.tuning.speculation.piece
        starts = pieces_of(moves.done.parts, (row, column, state), piece)
        self._cost.launches += 1
        aside = Buffers(self.runtime.beside(0))  # it does not wait for later launches
        where = self._traced(moves.done, moves.stored)
        pieces = begin_pieces(*where, starts, moves.buffers, aside, len(starts))

        def found() -> Found:
            path = one_path(pieces(), starts, len(moves.done.parts))
            self._count(moves.records(aside), True)
            return path

        return found

    def paths(self, parts: list[Part]) -> list[tuple[Hit, Traced] | None]:
        """The best end of each tile, in it, and the path to that, of tiles that are local
        comparisons of their own; None: it does not reach its `Part.known` score, above 0."""
        done = self._set("pairs", parts, NO_LINES)
        tiles = done.descriptors
        with Buffers(self.runtime) as buffers:
            buffers.write(done.kept, repeated(0, done.kept.size // 4))  # edges of H = X = 0
            stored = self._stored(tiles)
            _, records = self._launch(done, stored, buffers, best=1)
            found = records(buffers)
            self._count(found, True)
            bests = np.split(found[:, :3], tiles[1:, TileWord.FIRST])
            ends = [min(Hit(*one) for one in best.tolist()) for best in bests]
            reached = [k for k, part in enumerate(parts) if ends[k].score >= (part.known or 1)]
            corners = [part.area[::2] for part in parts]
            starts = [
                Start(corners[k][0] + ends[k].row, corners[k][1] + ends[k].column, 0, k, k + 1)
                for k in reached
            ]
            traced = begin_pieces(*self._traced(done, stored), starts, buffers, buffers)()
            self._cost.launches += 1
        paths: list[tuple[Hit, Traced] | None] = [None] * len(parts)
        for k, (one, _) in zip(reached, traced, strict=True):
            row, column = corners[k]
            paths[k] = ends[k], replace(one, row=one.row - row, column=one.column - column)
        return paths

    def _stored(self, tiles: NDArray[np.int64], capacity: int = 0) -> Any:
        """The buffer for the moves of tiles, of at least ``capacity`` bytes; sets their places."""
        sizes = self.moves_bytes(tiles[:, TileWord.ROWS], tiles[:, TileWord.COLUMNS])
        ends = np.cumsum(sizes)
        tiles[:, TileWord.MOVES] = (ends - sizes) // 4
        return self._buffers.named("moves", max(capacity, int(ends[-1])))

    def _traced(self, done: TileSet, stored: Any) -> tuple[Runtime, Any, Any, Any, bool]:
        """The first arguments of `begin_pieces`."""
        plan, tiles = self._works[True].plan, done.descriptors[:, TRACED]
        defines = traceback_defines(self.runtime, plan.T, plan.alpha)
        return self.runtime, defines, stored, tiles, self.scoring.gap_open == 0

    def _set(self, level: int | str, parts: list[Part], steps: tuple[int, int]) -> TileSet:
        """The descriptors and the memory of a set of tiles; nothing is computed yet."""
        tiles, size = described(parts, steps, self._works[False].plan, self.columns)
        kept = self._buffers.named(level, size)
        return TileSet(parts, steps, tiles, kept, self.runtime, self.scoring)

    def _take(self, outer: TileSet, done: TileSet, buffers: Buffers) -> None:
        """Enqueue the copy of the tiles' edges from special rows and columns of the outer ones,
        which may be the tiles themselves."""
        k = np.array([n if outer is done else part.inside for n, part in enumerate(done.parts)])
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
        defines = {"EDGE_GROUPS": EDGE_GROUPS, "LOCAL": int(self._given.local)}
        kernel = BoundKernel(self.runtime, TAKE_EDGES, defines)
        kernel.bind(**{"from": outer.kept}, to=done.kept, tiles=buffers.of(inner))
        kernel.bind(sources=buffers.of(sources))
        buffers.send()
        kernel.launch(EDGE_GROUPS * len(done.parts), 64)
        self._cost.launches += 1

    def _sweep(self, done: TileSet, buffers: Buffers) -> None:
        """Compute tiles without moves."""
        _, records = self._launch(done, None, buffers)
        self._count(records(buffers), False)

    def _launch(
        self, done: TileSet, moves: Any, buffers: Buffers, best: int = 0, slot: str = ""
    ) -> tuple[Any, Callable[[Buffers], Ints]]:
        """Enqueue the computation of tiles.  ``moves``: the buffer for their moves, or None;
        ``best``: 1 if each strip's best cell is looked for; ``slot`` names the scratch memory."""
        (plan, file, letters), tiles = self._works[moves is not None], done.descriptors
        grid = Grid(int(tiles[:, TileWord.ROWS].max()), 1, 1, plan.T, plan.alpha, "ticketed")
        program = batch_program(plan, self._given, file, moves is not None, best)
        tickets = -(-grid.strips // program.warps) * len(tiles)
        strip_groups = program.warps * max(1, min(plan.B // program.warps, tickets))
        strips = tiles[:, TileWord.ROWS] // grid.strip_rows
        tiles[:, TileWord.FIRST] = np.cumsum(strips) - strips
        least = [UNREACHABLE if part.known is None else part.known for part in done.parts]
        state, stages = group_bytes(plan, strip_groups)
        profile = 0
        if not plan.lane_set.local_profile:
            rows = self.scoring.source.sizes(file)[1]
            profile = profile_bytes(plan.T, rows, plan.alpha, program.striped)
        count = int(strips.sum()) if best else strip_groups
        record = buffers.of(new_records(count))
        values = {
            **scores_of(self.scoring, file, program.skewed, buffers),
            **letters,
            "state": self._buffers.named("state" + slot, state),
            "stages": self._buffers.named("stages" + slot, stages),
            "profiles": buffers.empty(strip_groups * profile),
            "argmax_scratch": None,
            "query_pad": 0,  # rows are whole strips
            "bus": done.kept,
            "alpha": plan.alpha,
            "strips": grid.strips,
            "outlet_lane": plan.T - 1,
            "outlet_row": plan.alpha - 1,
            "chunk": plan.chunk,
            "record": record,
            "shared_best": buffers.of(np.array(least, np.int32)),
            "lines": buffers.of(done.lines(grid)),
            "columns": buffers.of(done.columns),
            "moves": moves,
            "tiles": buffers.of(tiles),
            "tile_count": len(tiles),
        }
        event = launch_many(self.runtime, program, strip_groups, int(strips.sum()), values, buffers)
        self._cost.launches += 1
        self._note_memory(self._buffers.bytes + buffers.bytes)
        return event, partial(read_records, record=record, strip_groups=count)

    def _count(self, records: Ints, moves: bool) -> None:
        """Add to the cells by width, from the columns of strips that were swept."""
        plan, widths = self._works[moves].plan, zip(WIDTHS, counted(records), strict=False)
        name, rows = f"wavefront/{plan.lane_set.family}", plan.strip_rows
        cells = {f"{name}/{width}": steps * rows for width, steps in widths if steps}
        self._cost.add_cost(Costs(cells=cells))


def row_quantum(plan: Plan, score: str) -> int:
    """What the rows of a tile are a multiple of; ``score``: as for `WavefrontTileBatch`."""
    return lcm(*(one.strip_rows for one in batch_plans(plan.for_scores(score))))


def _send(copies: Buffers, edge: Source, start: int, count: int, to: Any, *places: int) -> None:
    """Copy cells of an edge, which may be on the device already, to the places of H and, if it has
    one, of X in a buffer; unreachable ones may have drifted."""
    held = edge.cells if isinstance(edge, EdgeArray) else edge
    if isinstance(held, CompressedEdge):
        held.give(start, count, to, *places)
    elif isinstance(held, DeviceEdge):
        for of, place in zip((held.h_place, held.x_place), places, strict=False):
            copies.move(held.buffer, of + start, to, place, count)
    else:
        cells = edge.read(start, start + count)
        for numbers, place in zip((cells.h, cells.x), places, strict=False):
            copies.write(to, numbers, 4 * place)
