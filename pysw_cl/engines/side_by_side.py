"""Many tiles in one launch: parts of a path, side by side (docs/algorithm.md, The path ahead)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import lcm
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..grid import Grid
from ..opencl.buffers import Buffers
from ..opencl.device import Runtime
from ..opencl.program import BoundKernel, KernelSpec
from ..plan import LANE_SETS, MOVES_CHUNK, Plan
from ..precision import Bounds
from ..scoring import Scoring
from ..tile import NEG, EdgeArray, Source, View
from .base import Walk
from .packed_edge import PackedEdge
from .tile_kernel import (
    backwards,
    kernel_spec,
    may_slope,
    narrow_score,
    score_arguments,
    state_bytes,
    wide_score,
)
from .tile_run import RECORD_WORDS, moves_bytes, new_progress, new_records
from .tile_set import (
    APART,
    BUS,
    COLUMNS,
    CROSSED,
    FIRST,
    KEPT,
    LEFT,
    LETTERS,
    MOVES,
    QUERY,
    ROWS,
    STRIDE,
    TARGET,
    TOP_LINE,
    WORDS,
    Part,
    TileSet,
)
from .walks import walk_defines, walk_tiles

#: What cl/tile_set.cl is told of where a tile's edges come from.
SOURCE_WORDS = 5
#: How far special rows and columns are apart where there are none.
NO_LINES = 1 << 30, 1 << 30
#: Work-groups that copy the edges of one tile.
PARTS = 16
#: Alpha at most, of narrow lanes and where moves are kept.
ALPHA, MOVES_ALPHA = 8, 8

TAKE_EDGES = KernelSpec(
    "take_edges", ("base.clh", "tile_set.cl"), ("from", "to", "tiles", "sources")
)


class Owner(Protocol):
    """The engine that these tiles are computed for."""

    runtime: Runtime
    plan: Plan

    @property
    def edge_bytes(self) -> int:
        """Memory of edges on the device."""

    def took(self, size: int) -> None:
        """Count memory that is taken at once."""


class SideBySide:
    """Launches of many tiles of one matrix, on one device.

    ``query`` and ``target``, as far as a path may lead, of a matrix of ``rows`` rows, are on the
    device as long as this is in use (a context manager), and the edges and moves of the last set of
    each level.  ``meanwhile`` is called while the device computes.
    """

    meanwhile: Callable[[], None]

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
        self.engine, self.runtime, self.scoring, self.floor = engine, runtime, scoring, floor
        self._buffers = Buffers(runtime)
        self._kept: dict[int | str, Any] = {}
        self._cells: dict[str, int] = {}
        self._launches = 0
        self.meanwhile = lambda: None
        self.most_bytes = int(runtime.device.max_mem_alloc_size)  # of the tiles of a level
        alpha = plan.alpha if plan.fixed else min(ALPHA, plan.alpha)
        wide = plan.without_narrow()
        moves_alpha = wide.alpha if plan.fixed else min(MOVES_ALPHA, wide.alpha)
        self._plans = {
            False: replace(plan, alpha=alpha),
            True: replace(wide, alpha=moves_alpha, chunk=min(MOVES_CHUNK, plan.chunk)),
        }
        self.rows = rows
        target_codes = target.read(0, len(target))
        score = narrow_score(plan, scoring, target_codes, bool(runtime.advice["permute"]))
        self.able = score is not None
        if score is None:
            return
        self._scores = {False: score, True: wide_score(scoring)}
        self.row_quantum = lcm(plan.T * alpha, wide.T * moves_alpha)
        codes = np.full(len(query) + self.row_quantum, 0, np.uint8)
        codes[: len(query)] = query.read(0, len(query))
        self._query: dict[bool, Any] = {}  # padding has another code for each score file
        for moves, name in self._scores.items():
            codes[len(query) :] = score_arguments(scoring, name, False, self._buffers)[0]
            self._query[moves] = self._buffers.of(codes.copy())
        self._target = self._letters = self._buffers.of(target_codes)
        self.columns, self._backwards = len(target), LANE_SETS[plan.lanes].narrow == "vector"
        if self._backwards:
            pad = score_arguments(scoring, score, False, self._buffers)[1]
            self._letters = self._buffers.of(backwards(target_codes, plan.T, pad))

    def __enter__(self) -> SideBySide:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    def free(self) -> None:
        """Give the device's memory back; nothing is computed any more."""
        self._kept.clear()
        self._buffers.free()

    @property
    def held_bytes(self) -> int:
        """Memory that is taken, with edges elsewhere and what any launch takes beside its tiles."""
        groups = [
            state_bytes(Grid(1, 1, 1, plan.T, plan.alpha, "ticketed"), plan.B)
            + 8 * plan.B * plan.chunk
            for plan in self._plans.values()
        ]
        return self.engine.edge_bytes + self._buffers.bytes + max(groups)

    def cost(self) -> tuple[dict[str, int], int]:
        """Cells by lane set and launches since this was asked last."""
        cost = self._cells, self._launches
        self._cells, self._launches = {}, 0
        return cost

    def kept_bytes(self, rows: int, columns: int, steps: tuple[int, int]) -> int:
        """Memory that a tile's edges take, with its special rows and columns."""
        T = self._plans[False].T
        lines = (columns + 2 * T) * (TOP_LINE + 1 + rows // steps[0])
        return 8 * (lines + rows * (1 + columns // steps[1]) + 64)

    def moves_bytes(self, rows: int, columns: int) -> int:
        """Memory of a tile's moves."""
        plan = self._plans[True]
        return moves_bytes(Grid(rows, columns, 1, plan.T, plan.alpha, "ticketed"))

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
            for said, part, (corner, top, left) in zip(
                done.said.tolist(), parts, sides, strict=True
            ):
                area, m, n = part.area, said[ROWS], said[COLUMNS]
                line = said[BUS] + 2 * TOP_LINE * said[STRIDE]
                self._send(sent, top, area.column, n, done.kept, line, line + said[STRIDE])
                at = said[LEFT] + 1, said[LEFT] + m + 1
                rows = min(m, self.rows - area.row)
                self._send(sent, left, area.row, rows, done.kept, *at)
                sent.write(done.kept, np.array([corner], np.int32), 4 * said[LEFT])
                if rows < m:
                    last = left.read(self.rows - 1, self.rows)
                    for place, cell in zip(at, (last.h, last.x), strict=True):
                        sent.write(done.kept, np.repeat(cell, m - rows), 4 * (place + rows))
            self._run(done, None)
        return done

    def _send(
        self, sent: Buffers, edge: Source, start: int, count: int, to: Any, h_at: int, x_at: int
    ) -> None:
        """Copy cells of an edge to their places on the device, where they may be already."""
        if isinstance(edge, PackedEdge):
            edge.give(start, count, to, h_at, x_at, self.runtime)
            return
        kept = edge.kept if isinstance(edge, EdgeArray) else None
        if kept is not None and not kept.lost:
            sent.move(kept.buffer, kept.h_at + start, to, h_at, count)
            sent.move(kept.buffer, kept.x_at + start, to, x_at, count)
            return
        cells = edge.read(start, start + count)
        sent.write(to, cells.h, 4 * h_at)
        sent.write(to, cells.x, 4 * x_at)

    def inside(
        self, level: int, outer: TileSet, parts: list[Part], steps: tuple[int, int]
    ) -> TileSet:
        """Compute tiles that begin at corners of the special rows and columns of others."""
        done = self._set(level, parts, steps)
        self._take(outer, done)
        self._run(done, None)
        return done

    def walk(
        self, outer: TileSet, parts: list[Part], row: int, column: int, state: int
    ) -> tuple[Walk, NDArray[np.int32]]:
        """Compute tiles as :meth:`inside` does, with their moves, and walk a path through them; see
        :func:`pysw_cl.engines.walks.walk_tiles`."""
        done = self._set("moves", parts, NO_LINES)
        self._take(outer, done)
        sizes = [self.moves_bytes(int(said[ROWS]), int(said[COLUMNS])) for said in done.said]
        done.said[:, MOVES] = np.concatenate(([0], np.cumsum(sizes[:-1]))) // 4
        dirs = self._keep("dirs", sum(sizes))
        self._run(done, dirs)
        tiles = done.said[:, [QUERY, TARGET, ROWS, COLUMNS, MOVES]]
        plan = self._plans[True]
        defines = walk_defines(self.runtime, plan.T, plan.alpha)
        linear = self.scoring.gap_open == 0
        most = row + column - min(p.area.row + p.area.column for p in parts)
        self._launches += 1
        start = row, column, state
        walk, _, entries = walk_tiles(self.runtime, defines, dirs, tiles, start, linear, most)
        return walk, entries

    def _keep(self, name: int | str, size: int) -> Any:
        self._kept[name] = self._buffers.again(self._kept.get(name), size)
        return self._kept[name]

    def _set(self, level: int | str, parts: list[Part], steps: tuple[int, int]) -> TileSet:
        """A set of tiles, nothing computed yet: what is said of each."""
        T = self._plans[False].T
        said = np.zeros((len(parts), WORDS), np.int64)
        for words, part in zip(said, parts, strict=True):
            area = part.area
            words[:QUERY] = area.row_end - area.row, area.column_end - area.column
            words[QUERY], words[TARGET], words[APART] = area.row, area.column, part.apart
        m, n = said[:, ROWS], said[:, COLUMNS]
        said[:, LETTERS] = said[:, TARGET]
        if self._backwards:
            said[:, LETTERS] = self.columns - said[:, TARGET] - n
        said[:, STRIDE] = n + 2 * T
        said[:, KEPT] = (n - 1) // steps[1]
        lengths = (
            (BUS, 2 * said[:, STRIDE] * (TOP_LINE + 1 + m // steps[0])),
            (LEFT, 2 * m + 1),
            (CROSSED, 2 * m * said[:, KEPT]),
        )
        place = 0
        for word, length in lengths:
            rooms = -(-length // 32) * 32
            ends = place + np.cumsum(rooms)
            said[:, word] = ends - rooms
            place = int(ends[-1])
        kept = self._keep(level, 4 * place)
        match, extend = max(self.scoring.highest, 0), self.scoring.gap_extend
        return TileSet(parts, steps, said, kept, self.runtime, match, extend)

    def _take(self, outer: TileSet, done: TileSet) -> None:
        sources = np.empty((len(done.parts), SOURCE_WORDS), np.int64)
        for source, part in zip(sources, done.parts, strict=True):
            k, around = part.inside, outer.parts[part.inside].area
            row, column = part.area.row - around.row, part.area.column - around.column
            top = outer.place_of_row(k, row) + column
            left_h, left_x = (place + row for place in outer.place_of_column(k, column))
            corner = top - 1 if column else left_h - 1
            source[:] = top, top + outer.said[k, STRIDE], left_h, left_x, corner
        local = int(self.floor is not None)
        kernel = BoundKernel(self.runtime, TAKE_EDGES, {"PARTS": PARTS, "LOCAL": local})
        with Buffers(self.runtime, small=True) as buffers:
            kernel.bind(**{"from": outer.kept}, to=done.kept, tiles=buffers.of(done.said))
            kernel.bind(sources=buffers.of(sources))
            buffers.send()
            kernel.launch(PARTS * len(done.parts), 64)
            self.runtime.queue.finish()
        self._launches += 1

    def _run(self, done: TileSet, dirs: Any) -> None:
        moves = dirs is not None
        plan, score, runtime = self._plans[moves], self._scores[moves], self.runtime
        lanes, T, alpha = LANE_SETS[plan.lanes], plan.T, plan.alpha
        grid = Grid(int(done.said[:, ROWS].max()), 1, 1, T, alpha, "ticketed")  # the highest tile's
        strip, most = grid.strip_rows, grid.strips
        strips = done.said[:, ROWS] // strip
        done.said[:, FIRST] = np.cumsum(strips) - strips
        count = len(strips)
        warps = int(runtime.advice["warps"]) or 1  # few, because few strips of a tile are at work
        tickets = -(-most // warps) * count
        groups = max(1, min(plan.B // warps, tickets))
        walkers = groups * warps
        sloped = lanes.narrow == "packed" and may_slope(plan, self.scoring)
        defines = {
            "T": T,
            "R": alpha,
            "LOCAL": int(self.floor is not None),
            "BEST": 0,
            "DIRS": int(moves),
            "BLOCKED": 0,
            "TICKETED": 1,
            "STEPS": lanes.steps,
            "MANY": 1,
            "WARPS": warps,
            "COLUMNS": int(not moves),
            "PRUNE": int(not moves and self.floor is not None),
        }
        if lanes.narrow == "packed":
            defines |= {"CHUNK": plan.chunk, "SLOPED": int(sloped)}
        elif lanes.wide == "warp32":
            defines["CHUNK"] = plan.chunk
        lines = np.arange(most + 1, dtype=np.int32) & 1
        special = np.arange(0, strip * (most + 1), done.steps[0]) // strip
        lines[special] = TOP_LINE + np.arange(len(special))
        columns = np.arange(1, 1 + int(done.said[:, KEPT].max()), dtype=np.int32) * done.steps[1]
        known = np.array([NEG if p.known is None else p.known for p in done.parts], np.int32)
        bounds = Bounds.of(self.scoring)
        widths = tuple(width for width in lanes.widths if width != 8)  # that needs the best score
        spec = kernel_spec("ticketed", plan.lanes, score, widths, many=True)
        kernel = BoundKernel(runtime, spec, defines)
        with Buffers(runtime, small=True) as buffers:
            _, target_pad, scores = score_arguments(self.scoring, score, sloped, buffers)
            tally = buffers.of(new_records(walkers))
            progress = buffers.of(new_progress(int(strips.sum()), T))
            none = buffers.empty(4)
            kernel.bind(
                query=self._query[moves],
                target=self._target,
                letters=self._letters,
                bus=done.kept,
                **dict.fromkeys(("left_h", "left_x", "right_h", "right_x"), none),
                **dict.fromkeys(("crossed", "late", "hits"), none),
                profiles=buffers.empty(16 * T * walkers * scores.get("wide", 0)),
                **dict.fromkeys(("m", "n", "stride", "right", "capacity", "column_count"), 0),
                strips=most,
                tap_lane=T - 1,
                tap_r=alpha - 1,
                query_pad=0,
                target_pad=target_pad,
                gap_open=self.scoring.gap_open,
                gap_extend=self.scoring.gap_extend,
                chunk=plan.chunk,
                highest=bounds.highest,
                depth=bounds.depth,
                limit8=bounds.limit8,
                rows_after=0,
                columns_after=0,
                state=self._keep("state", state_bytes(grid, walkers)),
                stages=self._keep("stages", 8 * walkers * plan.chunk),
                record=tally,
                known=buffers.of(known),
                lines=buffers.of(lines),
                columns=buffers.of(columns if len(columns) else np.zeros(1, np.int32)),
                ticket=buffers.of(np.zeros(1, np.int32)),
                progress=progress,
                before=progress,
                before_at=int(strips.sum()),
                dirs=dirs if moves else none,
                tiles=buffers.of(done.said),
                tile_count=count,
                **scores,
            )
            buffers.send()
            kernel.launch(groups, warps * lanes.group(T), at_once=True)
            self._launches += 1
            self.engine.took(self._buffers.bytes + buffers.bytes)
            self.meanwhile()
            walked = buffers.read(tally, RECORD_WORDS * walkers).reshape(-1, RECORD_WORDS)
        self._count(walked, strip, lanes.narrow or lanes.wide.removesuffix("32"))

    def _count(self, records: NDArray[np.int32], strip: int, family: str) -> None:
        """Add up cells by width, from the columns of strips that were walked."""
        walked = np.ascontiguousarray(records[:, 4:]).view(np.int64).sum(axis=0).tolist()
        for width, steps in zip((8, 16, 32), walked, strict=False):
            name = f"wavefront/{family}/{width}"
            if steps:
                self._cells[name] = self._cells.get(name, 0) + steps * strip
