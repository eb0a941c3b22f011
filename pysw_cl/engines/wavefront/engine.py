"""The OpenCL wavefront engine: CUDAlign's two-level wavefront over one tile.

Method: Sandes & de Melo, PPoPP 2010 and thesis 2011 (external diagonals, cells delegation, short
and long phase, horizontal and vertical bus); the ticketed form is described in docs/algorithm.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from ...errors import DeviceError, PlanError
from ...opencl.buffers import Buffers, RetainedBuffers
from ...opencl.device import Runtime, stopwatch
from ...opencl.program import KernelSpec, build_apart
from ...planning.choose import choose, choose_pipeline, helped_columns, in_boxes, pipeline_rows
from ...planning.execution import ByRows, InParts, InSections, InStrips, TileExecution
from ...planning.geometry import TileRows, TileShape, swapped
from ...planning.pair_batch import filled
from ...planning.path_grid import batch_plans, compresses, level_steps
from ...planning.plan import Plan
from ...planning.program import Given, Seen, batch_program
from ...planning.sizes import HELD_CELL_BYTES, held_numbers
from ...scoring.scoring import Scoring
from ...sequences.view import View
from ...tiles.contract import Beside, Engine, PairPaths, Part, persistently
from ...tiles.edges import DeviceEdge
from ...tiles.graph import Rectangle
from ...tiles.sweep import by_parts, collected
from ...tiles.tile import Area, Costs, Hit, TileJob, TileResult, Traced
from ..batch.boxes import Boxes
from ..common import FreeEnd
from ..held import HeldMatrix
from ..plans import make_plan
from ..reference import ReferenceEngine
from .compressed_edge import CompressedEdge
from .device_traceback import TRACE, DeviceMoves, traceback_defines
from .kernel import spec_of
from .pipeline import RunningPipeline
from .sections import SectionsRun
from .tile import TileRun, given_of, of_four, shape_of
from .tile_batch import EDGE_GROUPS, TAKE_EDGES, WavefrontTileBatch, row_quantum
from .tile_batch_layout import FIND_ENTRIES, FINDERS

#: Makes the row scan of a device.
RowScan = Callable[[Runtime], Engine]
#: Executions of small tiles that a thread keeps.
MOST_KNOWN = 1024
#: Tiles between the path and the lines around it may be so many times as high as wide.
HIGH = 8


class WavefrontEngine(Engine):
    """Computes tiles on one OpenCL device according to a plan."""

    def __init__(self, runtime: Runtime, plan: Plan, row_scan: RowScan | None = None) -> None:
        """``row_scan``: makes the engine for tiles that are computed sooner row by row.  None: a
        user's plan, by which all tiles are swept in strips, and no small matrix is held whole."""
        self.runtime, self.plan, self._make_row_scan = runtime, plan, row_scan
        self.captures_inside = plan.captures_inside
        self._room = RetainedBuffers()  # memory that is kept from tile to tile
        self.watch = stopwatch(runtime.times)

    def tile(self, job: TileJob, capacity: int = 0) -> TileResult:
        """Compute one tile; see :class:`pysw_cl.tiles.tile.TileJob`.  ``capacity``: at most so many
        cells are collected; 0: as many as the job asks for."""
        # where all fit, each is collected once, and sections share columns
        cuts = capacity < job.size[0] * job.size[1]
        execution = self.execution(job, cuts)
        while isinstance(execution, InSections) and (capacity or not execution.tile.collects):
            done = persistently(self, partial(self._in_sections, execution, job, capacity))
            if done is not None:
                return done
            execution = self.execution(job, cuts=not execution.sections.square)
        if isinstance(execution, InParts):
            return by_parts(self.tile, job, execution.rows, execution.columns)
        if isinstance(execution, ByRows):
            return persistently(self, partial(self._by_rows, job))
        if execution.tile.collects and not capacity:
            return collected(self.tile, job, self.plan.tuning.engine.least_hits)
        assert isinstance(execution, InStrips)
        return persistently(self, partial(self._in_strips, execution, job, capacity))

    def _in_strips(self, execution: InStrips, job: TileJob, capacity: int) -> TileResult:
        with Buffers(self.runtime, small=True, retained=self._room) as buffers:
            run = TileRun(execution, job, buffers, capacity, None)
            run.run()
            result = run.result()
            self.note_memory(buffers.bytes)
        if result.rows or result.columns:
            inner = (*result.rows.values(), *result.columns.values())
            self._room.edges.update(edge for edge in inner if isinstance(edge, DeviceEdge))
        if job.store_moves:
            result = replace(result, moves=DeviceMoves(run, self._room))
        return result

    def _by_rows(self, job: TileJob) -> TileResult:
        assert self._row_scan is not None
        done = self._row_scan.tile(job)
        self.note_memory(self._row_scan.peak_bytes)
        return done

    def execution(self, job: TileJob, cuts: bool = True) -> TileExecution:
        """How a tile is computed.  ``cuts``: may it be cut into sections?"""
        shape = shape_of(job)
        if not self.plan.may_be_cut(shape.m, shape.n):
            return self._known_execution(shape, job)
        row_scan = None if self._row_scan is None else self._row_scan.plan
        overlap = self._overlaps.get(_costs(job.scoring), 0)
        given = given_of(self.runtime, self.plan, job, row_scan, overlap)
        return choose(shape, given if cuts else replace(given, cuts=False))

    @cached_property
    def _row_scan(self) -> Engine | None:
        made = None if self._make_row_scan is None else self._make_row_scan(self.runtime)
        if made is not None:
            made.failures = self.failures
        return made

    def _known_execution(self, shape: TileShape, job: TileJob) -> TileExecution:
        """That of a small tile, which is kept by all that decides it."""
        given = given_of(self.runtime, self.plan, job)
        four, owners = given.four(), (self.plan, job.scoring, given.device)
        known: dict[Any, tuple[TileExecution, Any]] = self.runtime.kept("executions", dict)
        key = shape, *map(id, owners), given.local, four
        if key not in known:
            if len(known) >= MOST_KNOWN:
                known.clear()
            chosen = choose(shape, replace(given, seen=Seen(four)))
            known[key] = chosen, owners  # as long as these are kept no others have their ids
        return known[key][0]

    # Capabilities are made on request: if the engine held them, the reference cycle would keep its
    # memory after the last use.

    def pipeline(self, job: TileJob, rows_below: int) -> RunningPipeline | None:
        given = given_of(self.runtime, self.plan, job)
        first = choose_pipeline(shape_of(job), rows_below, given)
        if first is None:
            return None
        return RunningPipeline(self.runtime, first, given, job, self.note_memory)

    def piped_rows(
        self, whole: Rectangle, rows: int, pieces: int = 1, pruned: bool = False
    ) -> TileRows | None:
        """The rows that the device computes at once are divided among the pipeline's tiles; None
        unless the device computes speculatively."""
        if not self._speculative:
            return None
        return pipeline_rows(self._given(whole), rows, whole.shape[1], pieces)

    def beside(self, whole: Rectangle) -> Sequence[Beside]:
        if self.helper is None or not self._speculative:
            return ()
        (m, n), helper = whole.shape, self.helper
        ends, overlap, rows = helped_columns(self._given(whole), helper.plan, m, n)
        helper.failures, helper.stage = self.failures, self.stage
        parts = zip((self, helper), ends, (m, rows), strict=False)
        return [Beside(one, end, overlap, height) for one, end, height in parts]

    def leave_out(self, error: DeviceError) -> str | None:
        if self.helper is None or not error.device:
            return None
        gone, self.helper = self.helper.plan.device, None
        return gone

    def tile_batch(
        self, query: View, target: View, scoring: Scoring, floor: int | None, rows: int
    ) -> WavefrontTileBatch | None:
        """Many tiles in one launch; None unless the device computes speculatively."""
        if not self._speculative:
            return None
        four = of_four(target.read(0, len(target)))
        given = Given(self.plan, scoring, floor is not None, self.runtime.facts, Seen(four))
        score = given.narrow(len(target))
        if score is None:
            return None
        about = self._room, self.note_memory, query, target, rows
        return WavefrontTileBatch(self.runtime, given, score, *about)

    @property
    def pair_paths(self) -> PairPaths | None:
        """None unless the device computes speculatively: others have few lanes."""
        return self._pair_paths if self._speculative else None

    def _pair_paths(
        self, pairs: Sequence[Rectangle], known: Sequence[int]
    ) -> tuple[list[tuple[Hit, Traced] | None], Costs]:
        """Each pair is a tile (docs/algorithm.md, Pairs as tiles): they lie along the diagonal of
        one matrix, of which nothing else is computed.  The letters of each query are followed by
        padding up to a whole strip."""
        given = Given(self.plan, pairs[0].scoring, True, self.runtime.facts)
        source, tuning = given.scoring.source, self.plan.tuning.pairs
        quantum, pad = row_quantum(self.plan, source.file), source.pads(source.file)[0]
        queries, targets, parts, row, column = [], [], list[Part](), 0, 0
        for pair, score in zip(pairs, known, strict=True):
            m, n = pair.shape
            padded = np.full(-(-m // quantum) * quantum, pad, np.uint8)
            padded[:m] = pair.query.read(0, m)
            queries.append(padded)
            targets.append(pair.target.read(0, n))
            area = Area(row, row + len(padded), column, column + n)
            parts.append(Part(area, known=score))
            row, column = area.row_end, area.column_end
        letters = View(np.concatenate(queries)), View(np.concatenate(targets))
        about = self.runtime, given, source.file, self._room, self.note_memory
        with WavefrontTileBatch(*about, *letters, row) as batch:
            sizes = np.array([batch.moves_bytes(*part.area.shape) for part in parts], np.int64)
            share = int(tuning.moves_share * self.runtime.facts.memory)
            most = min(max(tuning.gpu_moves, share), batch.most_bytes)
            cuts = pairwise(filled(sizes, most))
            found = [path for start, stop in cuts for path in batch.paths(parts[start:stop])]
            return found, batch.cost()

    def in_boxes(self, whole: Rectangle) -> bool:
        may = self.plan.may_be_cut(*whole.shape)  # else tiles are in strips
        return may and in_boxes(self._given(whole), *whole.shape)

    def _given(self, whole: Rectangle) -> Given:
        """What decides how the tiles of a matrix are computed, if nobody looks at its letters."""
        scoring, local = whole.scoring, whole.floor is not None
        seen, overlap = Seen(scoring.source.few), self._overlaps.get(_costs(scoring), 0)
        return Given(self.plan, scoring, local, self.runtime.facts, seen, overlap=overlap)

    def compresses(self, scoring: Scoring, rows: int, columns: int, lines: int) -> bool:
        """See `Engine`.  They have half of the device's memory, if it computes speculatively."""
        return compresses(self.plan, scoring, self.runtime.facts, rows, columns, lines)

    def compressed(self, cells: DeviceEdge) -> CompressedEdge | None:
        with suppress(DeviceError):  # no memory: the edge stays uncompressed
            edge = CompressedEdge(self.runtime, cells)
            self._room.edges.add(edge)
            self.note_memory(0)
            return edge if edge.fits else None
        return None

    def hold(
        self, whole: Rectangle, free_ends: tuple[bool, bool, bool, bool], paths: int
    ) -> HeldMatrix | None:
        """Where a work-item has all lanes; None if the engine was made without a row scan."""
        holds, facts = self._make_row_scan is not None, self.runtime.facts
        given = Given(self.plan, whole.scoring, device=facts, holds=holds, paths=paths)
        if not given.is_held(*whole.shape):
            return None
        matrix = HeldMatrix(self.runtime, self.plan, whole, FreeEnd.of(free_ends))
        self.note_memory(HELD_CELL_BYTES * held_numbers(*whole.shape))
        return matrix

    def expect_path(self, whole: Rectangle, steps: tuple[int, int]) -> None:
        """Other processes build what the first path of its kind in this thread probably needs."""
        if not self.runtime.traits.builds_apart or whole.forbidden is not None:
            return
        runtime, plan, scoring = self.runtime, self.plan, whole.scoring
        expected: set[tuple[object, ...]] = runtime.kept("expected", set)
        (m, n), local, file = whole.shape, whole.floor is not None, scoring.source.file
        like = file, local, max(steps).bit_length(), min(m, n).bit_length()
        if like in expected:
            return
        expected.add(like)
        given, tuning = self._given(whole), plan.tuning.speculation
        score = given.narrow(n)
        long = min(m, n) >= tuning.least_sides * tuning.side
        more: list[tuple[KernelSpec, dict[str, int]]] = []
        if score is not None and long and level_steps(max(steps), 1, tuning):
            level, moves = batch_plans(plan.for_scores(score))
            swept = batch_program(level, given, score, moves=False)
            build_apart(runtime, [(spec_of(swept), swept.defines)])
            more = [(FIND_ENTRIES, {"FINDERS": FINDERS})]
            more += [(TAKE_EDGES, {"EDGE_GROUPS": EDGE_GROUPS, "LOCAL": int(local)})]
            stored = [batch_program(moves, given, file, moves=True)]
        else:
            tiles = (TileShape(steps[0], -(-steps[1] // k), moves=True) for k in (1, HIGH))
            found = (choose(tile, given) for tile in tiles)
            stored = [one.program for one in found if isinstance(one, InStrips)]
        for one in stored:
            trace = TRACE, traceback_defines(runtime, one.T, one.plan.alpha)
            build_apart(runtime, [*more, (spec_of(one), one.defines), trace])

    @property
    def box_paths(self) -> Boxes:
        """Paths in many boxes, as pair batches are computed."""
        return Boxes(self.runtime, self.plan, self.note_memory)

    @property
    def _speculative(self) -> bool:
        return self.captures_inside and self.runtime.traits.speculative

    @property
    def _overlaps(self) -> dict[tuple[int, ...], int]:
        """Columns that sections share at least, by `_costs`: more, once too many were refused."""
        return self.runtime.kept("overlaps", dict)

    def _in_sections(self, execution: InSections, job: TileJob, capacity: int) -> TileResult | None:
        """As :meth:`tile`; None if too many sections were refused."""
        transposed = execution.tile.transposed
        turned = job.transposed if transposed else job
        with Buffers(self.runtime, small=True, retained=self._room) as buffers:
            run = SectionsRun(execution, turned, buffers, capacity)
            if not run.run():
                growth = self.plan.tuning.sections.growth
                self._overlaps[_costs(job.scoring)] = growth * execution.sections.cut.overlap
                return None
            self.note_memory(buffers.bytes)
            result = run.result()
        if transposed:  # but for its hits, which kernels place in the tile
            result = swapped(result, "bottom right", "rows columns")
        return result

    def note_memory(self, size: int) -> None:
        """Update the peak for a job that takes ``size`` bytes beside the edges on the device."""
        self.peak_bytes = max(self.peak_bytes, size + self._room.edge_bytes)

    def another(self, cells: int) -> Engine | None:
        """The reference engine for few ``cells``; else 32-bit lanes in the two-phase form on the
        same device, or in the ticketed form if this engine is the former."""
        plan, tuning = self.plan, self.plan.tuning.engine
        if cells <= tuning.recomputed_cells:
            return ReferenceEngine()
        most = min(plan.traceback_tile_cells, tuning.recomputed_moves)
        other = replace(plan.without_narrow(), form="two-phase", traceback_tile_cells=most)
        if (other.lanes, other.form) == (plan.lanes, plan.form):
            other = replace(other, form="ticketed")
        with suppress(PlanError):
            return WavefrontEngine(self.runtime, make_plan(self.runtime, other))
        return None


def _costs(scoring: Scoring) -> tuple[int, ...]:
    return scoring.highest, scoring.lowest, scoring.gap_open, scoring.gap_extend
