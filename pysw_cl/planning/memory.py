"""How much device memory an alignment takes: predicted from its plan and size, before it runs.

Sandes & de Melo (thesis 2011, table 5.1) give such a formula for one sweep.  Here sweeps, sections,
pipelines and tracebacks are gone through as the drivers do, with the sizes by which the engines
allocate (:mod:`.sizes`).  What depends on the letters is assumed: see :func:`device_memory`.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import pairwise
from typing import NamedTuple

from ..errors import InputError
from ..scoring.scoring import Scoring
from . import sizes
from .choose import Assumed, Given, is_held
from .execution import HeldWhole, TileShape
from .facts import DeviceFacts
from .geometry import row_spans, spans
from .memory_parts import Compared, EngineMemory, Memory, larger
from .path_grid import compressible, finer_grid, grid_pieces, special_lines
from .plan import Plan, StriplessPlan
from .speculative_memory import speculative_memory
from .strip_memory import StripMemory

NO_ENDS = (False, False, False, False)


@singledispatch
def engine_memory(
    plan: Plan, compared: Compared, device: DeviceFacts, row_scan: Plan | None = None
) -> EngineMemory | None:
    """What predicts the memory of the engine that runs a plan; None: it takes none of a device.

    Engines register theirs beside their plans.  ``row_scan``: see :func:`device_memory`.
    """
    scan = None if row_scan is None else engine_memory(row_scan, compared, device)
    seen = Assumed(few=compared.four)
    given = Given(plan, compared.scoring, compared.local, device, seen, row_scan)
    return StripMemory(given, scan)


@engine_memory.register
def _(
    plan: StriplessPlan, compared: Compared, device: DeviceFacts, row_scan: Plan | None = None
) -> EngineMemory | None:
    return None


def device_memory(
    plan: Plan,
    m: int,
    n: int,
    device: DeviceFacts,
    scoring: Scoring,
    *,
    output: str = "score",
    mode: str = "local",
    free_ends: tuple[bool, bool, bool, bool] = NO_ENDS,
    prunes: bool = True,
    four_letters: bool = True,
    holds: bool = False,
    row_scan: Plan | None = None,
) -> Memory:
    """The device memory that ``align`` takes for ``m`` x ``n`` letters, in bytes by part: what
    ``stats.device_bytes`` will be, without edges on the host.

    ``output``: "score", "ends", "matches" or "path".  ``mode``, ``free_ends``: of `align`, the
    latter as four booleans.  ``prunes``: may cells be pruned?  ``four_letters``: has the target
    only the first four letters of the alphabet (A, C, G, T)?  ``holds``: may small matrices be held
    whole, and ``row_scan``: the plan for tiles that are computed sooner row by row; both only where
    `align` gets no plan.

    Assumed: a path goes through the largest cell of each grid, and sections overlap enough.  A
    global comparison that is found in a diagonal band may take less.  Raises InputError for an
    empty matrix or an unknown output or mode.
    """
    if min(m, n) < 1:
        raise InputError(f"memory is predicted for at least 1 x 1 letters, not {m} x {n}")
    if output not in ("score", "ends", "matches", "path"):
        raise InputError(f"output must be 'score', 'ends', 'matches' or 'path', not {output!r}")
    if mode not in ("local", "global"):
        raise InputError(f"mode must be 'local' or 'global', not {mode!r}")
    compared = Compared(scoring, mode == "local", free_ends, prunes, four_letters)
    path = output in ("matches", "path")
    if holds and is_held(plan, m, n, int(path), device.largest):
        return Memory.of(HeldWhole(plan, m, n).buffers)
    engine = engine_memory(plan, compared, device, row_scan)
    if engine is None:
        return Memory()
    return _Job(plan, engine, compared, device).memory(m, n, path)


def fits(memory: Memory, device_memory_bytes: int, largest_allocation: int) -> str | None:
    """None if a device of so many bytes, with such a largest allocation, holds a job that takes
    this memory; else why not, in words."""
    if memory.total > device_memory_bytes:
        return (
            f"{_size(memory.total)} of device memory are needed and {_size(device_memory_bytes)} "
            "are there; output='score' needs less than a path, and so do smaller tiles (plan: "
            "tile_cells, traceback_tile_cells)"
        )
    if memory.largest > largest_allocation:
        return (
            f"one buffer of {_size(memory.largest)} is needed and the device allocates at most "
            f"{_size(largest_allocation)} in one piece; smaller tiles need less (plan: tile_cells, "
            "traceback_tile_cells)"
        )
    return None


class _Kind(NamedTuple):
    """The tiles of a sweep that are alike on one side."""

    length: int
    #: Places of the special lines inside, from the tile's begin.
    inner: tuple[int, ...]
    #: Does a tile follow them?  Do they begin where the matrix does?
    followed: bool
    first: bool


def _kinds(spans: list[range], inner: tuple[int, ...]) -> list[_Kind]:
    """The kinds of these tiles in their order; of those alike that follow each other, two stand for
    all."""
    found = []
    for span in spans:
        within = [place for place in inner if span.start < place < span.stop]
        marked = {0, len(span) - 1, *((place - span.start) // span.step for place in within)}
        chosen = {k for one in marked for k in (one, one + 1, one + 2) if k < len(span)}
        for start in (span[k] for k in sorted(chosen)):
            end = min(start + span.step, span.stop)
            lines = tuple(place - start for place in within if start < place < end)
            found.append(_Kind(end - start, lines, end < spans[-1].stop, start == 0))
    return found


def _size(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB"


@dataclass(frozen=True)
class _Lines:
    """The grid that a sweep keeps: its cuts, from 0 to the length of each side."""

    rows: list[int]
    columns: list[int]
    #: Is it compressed after the sweep?
    compressed: bool = False

    @property
    def cell(self) -> tuple[int, int]:
        """The most rows and the most columns of a grid cell."""
        rows, columns = (
            max(b - a for a, b in pairwise(places)) for places in (self.rows, self.columns)
        )
        return rows, columns


@dataclass(frozen=True)
class _Job:
    """Goes through the sweeps and tiles of a comparison."""

    plan: Plan
    engine: EngineMemory
    compared: Compared
    device: DeviceFacts

    def memory(self, m: int, n: int, path: bool) -> Memory:
        """The most memory that it takes at once."""
        shape = self.plan.tile_shape(m, n)
        lines = self._lines(m, n, shape) if path else _Lines([0, m], [0, n])
        most, kept = self._swept(lines, shape, self.compared.local, whole=True)
        if not path or not isinstance(self.engine, StripMemory):
            return most
        if lines.compressed:
            while_compressing, kept = self._compressed(lines, kept)
            most = larger(most, while_compressing)
        ahead = speculative_memory(self.engine, m, n, lines.cell, kept.total)
        if ahead is not None:
            return larger(most, kept + ahead)
        return larger(most, self._traced(*lines.cell, kept))

    def _lines(self, m: int, n: int, shape: tuple[int, int]) -> _Lines:
        """The grid of special rows and columns of a whole matrix."""
        tuning, engine = self.plan.tuning.traceback, self.engine
        cell_bytes: float | None = None
        if isinstance(engine, StripMemory) and engine.captures and self.device.speculative:
            cell_bytes = sizes.COMPRESSED_CELL_BYTES

        def fits(lines: int) -> bool:
            held = isinstance(engine, StripMemory) and engine.in_memory(m, n, lines, lines)
            return held and compressible(self.compared.scoring)

        pieces, compressed = grid_pieces(tuning, m, n, cell_bytes, shape == (m, n), fits)
        quantum = engine.strip_rows(*shape)
        rows, columns = special_lines(tuning, (m, n), quantum, pieces)
        return _Lines(rows, columns, compressed)

    def _swept(
        self, lines: _Lines, shape: tuple[int, int], best: bool, whole: bool
    ) -> tuple[Memory, Memory]:
        """A sweep: the most memory that it takes, and that of its special lines, which stays.
        ``whole``: is it of the whole matrix, in which a best end is looked for?"""
        engine, compared = self.engine, self.compared
        m, n = lines.rows[-1], lines.columns[-1]
        last_row, last_column = whole and compared.in_last_row, whole and compared.in_last_column
        after = whole and compared.prunes and compared.local
        level = whole and (compared.local or compared.free_ends[0])
        inner_rows, inner_columns = tuple(lines.rows[1:-1]), tuple(lines.columns[1:-1])
        matrix = TileShape(
            m,
            n,
            best,
            bottom=last_row,
            right=last_column,
            columns=inner_columns,
            after=after,
        )
        if isinstance(engine, StripMemory):
            piped = engine.pipeline(matrix, inner_rows)
            if piped is not None:
                return piped, Memory()
        most = kept = Memory()
        down, across = self._tiles(lines, shape)
        columns = set(_kinds(across, inner_columns))
        seen: dict[TileShape, Memory] = {}
        done: set[tuple[_Kind, Memory]] = set()
        for row in _kinds(down, inner_rows):
            if (row, kept) in done:
                continue
            done.add((row, kept))
            stays = Memory()
            for column in columns:
                one = replace(
                    matrix,
                    m=row.length,
                    n=column.length,
                    bottom=last_row or row.followed,
                    right=last_column or column.followed,
                    rows=row.inner,
                    columns=column.inner,
                    level=level and row.first,
                )
                if one not in seen:
                    memory = engine.tile(one)
                    seen[one] = memory.whole
                    stays += memory.rows if one.n == n else Memory()
                    stays += memory.columns if one.m == m else Memory()
                most = larger(most, kept + seen[one])
            kept += stays
        return most, kept

    def _tiles(self, lines: _Lines, shape: tuple[int, int]) -> tuple[list[range], list[range]]:
        """Where the tiles of a sweep begin."""
        engine, (rows, columns) = self.engine, shape
        m, n = lines.rows[-1], lines.columns[-1]
        if engine.captures:
            return row_spans(m, rows, engine.strip_rows(rows, columns)), spans(n, columns, 1)
        inner_rows, inner_columns = tuple(lines.rows[1:-1]), tuple(lines.columns[1:-1])
        down = row_spans(m, rows, engine.row_quantum, inner_rows)
        return down, spans(n, columns, 1, inner_columns)

    def _compressed(self, lines: _Lines, kept: Memory) -> tuple[Memory, Memory]:
        """The most memory while a grid is compressed, first its rows, then its columns; and that of
        the compressed grid."""
        rows, columns = (
            4 * sizes.compressed_words(length)[-1] * (len(places) - 2)
            for length, places in ((lines.columns[-1], lines.rows), (lines.rows[-1], lines.columns))
        )
        with_rows = kept + Memory(special_rows=rows)
        plain_columns = Memory(special_columns=kept.special_columns)
        with_columns = plain_columns + Memory(special_rows=rows, special_columns=columns)
        after = Memory(special_rows=rows, special_columns=columns)
        return larger(with_rows, with_columns), after

    def _traced(self, rows: int, columns: int, kept: Memory) -> Memory:
        """The traceback through a grid cell, in one tile or by a finer grid."""
        engine, plan = self.engine, self.plan
        tuning, cells = plan.tuning.traceback, plan.traceback_tile_cells
        small = rows <= engine.row_quantum and columns <= tuning.least_columns
        if small or self._moves(rows, columns) <= cells // 2:
            return kept + engine.tile(TileShape(rows, columns, moves=True)).whole
        # a path that enters the cell elsewhere may leave a part of it whose moves just fit
        high = bisect_right(range(1, rows), cells // 2, key=lambda r: self._moves(r, columns))
        part = engine.tile(TileShape(max(1, high), columns, moves=True)).whole
        most = kept + replace(part, moves=cells // 2)
        shape, row_places, column_places = finer_grid(plan, rows, columns, cells, engine.strip_rows)
        finer = _Lines(row_places, column_places)
        swept, inner = self._swept(finer, shape, best=False, whole=False)
        most = larger(most, kept + swept)
        return larger(most, self._traced(*finer.cell, kept + inner))

    def _moves(self, rows: int, columns: int) -> int:
        """Bytes of the moves of a tile."""
        plan = self.plan.for_moves(rows, columns)
        return int(sizes.moves_bytes(rows, columns, plan.T, plan.alpha))
