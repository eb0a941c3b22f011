"""The device memory of a tile in strips, in sections, and of tiles in a pipeline."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from ..scoring.scoring import Scoring
from . import pipelines, sizes
from .geometry import Grid, fit, may_be_wide
from .memory_parts import Compared, DeviceFacts, EngineMemory, Memory, TileMemory, TileShape
from .path_grid import captures_inside, lines_fit, strip_rows
from .plan import Plan
from .score_files import (
    narrow_score,
    planned,
    seldom_waits,
    striped,
    wide_score,
    widths_of,
)
from .sections import Sections, SectionsLayout, cut_tile, first_overlap, sooner_by_rows, span

#: Parts of memory with their bytes, one entry a buffer.
Requests = list[tuple[str, int]]
#: Words of the descriptor of a section (`pysw_cl.engines.wavefront.descriptors.TileWord`).
TILE_WORDS = 14


def scores_bytes(scoring: Scoring, score: str) -> tuple[int, int]:
    """Bytes of a scoring as a score file takes it, and letters of a row of query profiles."""
    q, t = scoring.matrix.shape
    return {"match": (0, 0), "permute4": (4 * (q + 1), 0)}.get(
        score, (4 * (q + 1) * (t + 1), t + 1)
    )


@dataclass(frozen=True)
class Strips:
    """The strips of a tile, and the groups that sweep them."""

    plan: Plan
    grid: Grid
    score: str
    widths: tuple[int, ...]
    local: bool
    #: Groups, or warps of groups, at once.
    strip_groups: int
    #: Are more strips than groups in flight?
    shared: bool = False

    def scratch(self, scoring: Scoring, chunk: int, defers: bool, crosses: bool) -> Requests:
        """What the groups work in, whose blocks have ``chunk`` columns at most.  ``defers``: is the
        best cell found by a second sweep of its block?  ``crosses``: are there special columns?"""
        T, alpha = self.grid.T, self.plan.alpha
        groups = sizes.strip_places(self.strip_groups, self.shared)
        narrow = bool(self.widths)
        again = narrow and defers
        table, letters = scores_bytes(scoring, self.score)
        deferred = narrow and crosses
        stripes = narrow and striped(self.plan, self.grid.form, self.score, self.local)
        profile = sizes.profile_bytes(T, letters, alpha, stripes)
        if self.plan.lane_set.local_profile:
            profile = 0
        return [
            (
                "state",
                sizes.state_bytes(T, alpha, groups, narrow and not again, deferred, stripes),
            ),
            ("state", sizes.stage_bytes(chunk, groups)),
            ("state", groups * profile),
            ("state", sizes.argmax_bytes(T, alpha, groups, chunk) if again else 0),
            ("scratch", sizes.record_bytes(self.strip_groups)),
            *([("scratch", table)] if table else []),
        ]


@dataclass(frozen=True)
class StripMemory:
    """The memory of the wavefront: see `EngineMemory`.  ``row_scan``: the memory of tiles that are
    computed sooner row by row, and the plan of that."""

    plan: Plan
    compared: Compared
    device: DeviceFacts
    row_scan: tuple[EngineMemory, Plan] | None = None

    @property
    def captures(self) -> bool:
        """See `EngineMemory`."""
        return captures_inside(self.plan)

    @property
    def row_quantum(self) -> int:
        """See `EngineMemory`."""
        return self.plan.strip_rows

    def strip_rows(self, rows: int, columns: int) -> int:
        """See `EngineMemory`."""
        return strip_rows(self.plan, rows, columns)

    def in_memory(self, m: int, n: int, rows: int, columns: int) -> bool:
        """Does the device hold so many special rows and columns of an m x n tile?"""
        return lines_fit(self.plan, m, n, rows, columns, self.device.memory, self.device.largest)

    def tile(self, tile: TileShape) -> TileMemory:
        """The memory of a tile, in the way that the engine computes it."""
        m, n = tile.m, tile.n
        sections = self._cut(tile)
        if sections is not None:
            return TileMemory(self._in_sections(tile, sections))
        wide = n > self.plan.tuning.sweep.longest_side
        if wide and not self.in_memory(m, n, 0, 0):
            return self.tile(replace(tile, n=n - n // 2, columns=(), right=True))
        if self.row_scan is not None and not tile.moves:
            scan, plan = self.row_scan
            if sooner_by_rows(self.plan, plan, m, n, tile.after):
                return TileMemory(scan.tile(tile).whole)
        if tile.rows or tile.columns:
            fits = self.captures and self.in_memory(m, n, len(tile.rows), len(tile.columns))
            if not fits:
                return self._parts(tile, tile.columns)
            if self._planned(tile)[0] is None:
                return self._parts(tile, ())
        return self._in_strips(tile)

    def _parts(self, tile: TileShape, columns: tuple[int, ...]) -> TileMemory:
        """The largest part of a tile that is cut at its special rows and at these columns; the
        host keeps the cells of the cuts."""
        m = max(b - a for a, b in pairwise((0, *tile.rows, tile.m)))
        n = max(b - a for a, b in pairwise((0, *columns, tile.n)))
        kept = () if columns else tile.columns
        part = replace(tile, m=m, n=n, rows=(), columns=kept, bottom=True, right=True, first=False)
        return TileMemory(self.tile(part).whole)

    def _planned(self, tile: TileShape, alone: bool = True) -> tuple[Plan | None, str]:
        narrow = None if tile.moves else self.narrow_score(self.plan, tile.n)
        compared, size = self.compared, (tile.m, tile.n)
        best, scoring = tile.best and alone, compared.scoring
        return planned(self.plan, scoring, size, tile.rows, narrow, compared.local, best)

    def narrow_score(self, plan: Plan, columns: int) -> str | None:
        """The score file of narrow lanes; None if there are none, or if they cannot compute it."""
        if plan.lane_set.narrow is None:
            return None
        four = self.device.byte_permute and self.compared.four
        return narrow_score(plan, self.compared.scoring, columns, four, self.compared.local)

    def _warps(self, plan: Plan, B: int) -> int:
        return sizes.warps_of(plan.lane_set, self.device.schedulers, self.device.units, B)

    def _strips(self, tile: TileShape, plan: Plan, score: str, piped: bool) -> Strips:
        """The strips of a tile; ``plan`` is the tile's unless moves are stored."""
        form, B = plan.form, plan.B
        if tile.moves and form == "two-phase":
            form, B = "ticketed", 1
        grid = fit(tile.m, tile.n, B, plan.T, plan.alpha, form, self.device.least_T)
        compared, apart = self.compared, tile.moves
        widths = widths_of(plan, compared.scoring, compared.local, tile.best, apart)
        warps = self._warps(plan, plan.B if piped else grid.B) if grid.form == "ticketed" else 1
        local = self.compared.local
        shared = plan.lane_set.shares_strips(grid.form, tile.moves)
        return Strips(plan, grid, score, widths, local, -(-grid.B // warps) * warps, shared)

    def _in_strips(self, tile: TileShape) -> TileMemory:
        """A tile in strips that follow each other."""
        fits, score = self._planned(tile)
        plan = self.plan.for_moves(tile.m, tile.n) if tile.moves else fits
        assert plan is not None
        either = self._either(plan, tile)
        ways = [self._strips(tile, one, score, piped=False) for one in either]
        asked = [Memory.of(self._requests(tile, way, piped=False)) for way in ways]
        whole, strips = max(zip(asked, ways, strict=True), key=lambda way: way[0].total)
        T, kept = strips.grid.T, len(tile.rows)
        rows, columns = Memory(), Memory()
        if kept:  # special rows are in the buffer of the bus
            bus = sizes.bus_bytes(tile.n, T, 2)
            rows = Memory(horizontal_bus=bus, special_rows=kept * bus // 2)
        if tile.columns:
            columns = Memory(special_columns=8 * strips.grid.padded_rows * len(tile.columns))
        return TileMemory(whole + Memory(largest=rows.total), rows, columns)

    def _either(self, fits: Plan, tile: TileShape) -> list[Plan]:
        """The plans of which one computes a tile: ``fits``, or, if those are lanes of 11 bits that
        may have to be built meanwhile, the usual one."""
        if fits.lanes != self.plan.lane_set.mixed:
            return [fits]
        seconds = fits.cost.tile(fits, fits.alpha, tile.m, tile.n)
        usual = self._planned(tile, alone=False)[0]
        if usual is None or seconds >= self.plan.tuning.engine.mixed_build:
            return [fits]
        return [fits, usual]

    def _requests(self, tile: TileShape, strips: Strips, piped: bool) -> Requests:
        """The buffers of a tile in strips; without those that the tiles of a pipeline share."""
        plan, grid = strips.plan, strips.grid
        padded, chunk = grid.padded_rows, min(plan.chunk, grid.n + grid.T)
        ticketed = grid.form == "ticketed"
        right = 4 * padded if tile.right else 4
        made: Requests = [
            ("vertical_bus", right),
            ("vertical_bus", right),
            ("special_columns", 8 * padded * len(tile.columns)),
            ("scratch", 4),  # the count of collected cells
            ("vertical_bus", 4 * (padded + 1)),
            ("vertical_bus", 4 * padded),
            ("letters", padded),
            *strips.scratch(
                self.compared.scoring, chunk, tile.best and ticketed, bool(tile.columns)
            ),
            ("scratch", 4 * len(grid.bus_lines(()))),
            ("scratch", 4 * max(1, len(tile.columns))),
        ]
        if not piped:
            made += [
                ("horizontal_bus", sizes.bus_bytes(grid.n, grid.T, 2)),
                ("scratch", 4),  # the best score
                *self._target(tile.n, plan, grid.T),
            ]
            if tile.rows:
                made.append(("special_rows", sizes.bus_bytes(grid.n, grid.T, len(tile.rows))))
        if ticketed:
            moves = sizes.moves_bytes(grid.m, grid.n, grid.T, grid.alpha) if tile.moves else 0
            made += [("moves" if tile.moves else "scratch", int(moves))]
            made.append(("scratch", sizes.progress_bytes(grid.strips, strips.shared)))
            made += [] if piped else [("scratch", 4)]
        return made

    @staticmethod
    def _target(n: int, plan: Plan, T: int) -> Requests:
        """The target's letters, for wide and for narrow lanes."""
        return [("letters", n), *([("letters", n + 2 * T)] if plan.lane_set.backwards else [])]

    # Sections

    def _cut(self, tile: TileShape) -> Sections | None:
        """The sections of a tile, where no score of its edges exceeds that of its top edge."""
        compared, plan, (m, n) = self.compared, self.plan, (tile.m, tile.n)
        level = tile.first and compared.free_ends[0]
        if tile.moves or tile.rows or not (compared.local or level):
            return None
        if not plan.may_be_cut(m, n):
            return None
        scoring, narrow = compared.scoring, self.narrow_score(plan, n)
        return cut_tile(
            plan,
            scoring,
            (m, n),
            tile.columns,
            span(scoring, m, 0, compared.local),
            first_overlap(plan, scoring, m),
            narrow=narrow,
            best=compared.local and tile.best,
            after=tile.after,
            largest=self.device.largest,
            related=lambda: False,  # unrelated letters need more memory
        )

    def _in_sections(self, tile: TileShape, sections: Sections) -> Memory:
        """A tile in sections, of which none is swept again."""
        plan, compared = sections.plan, self.compared
        grid = Grid(tile.m, tile.n, plan.B, plan.T, plan.alpha, "ticketed")
        chunk = min(plan.chunk, tile.n + grid.T)
        letters = compared.scoring.matrix.shape[1] + 1
        _, groups = sections.warps(grid.strips, letters, self.device.schedulers, self.device.units)
        score = self.narrow_score(plan, tile.n) or wide_score(compared.scoring)
        widths = widths_of(plan, compared.scoring, compared.local, tile.best, apart=True)
        level = tile.first and (compared.local or compared.free_ends[0])
        flat = level and grid.strips == 1 and not tile.bottom
        stores_right = not sections.proven or tile.right or bool(tile.columns)
        layout = SectionsLayout.of(
            sections, grid.T, grid.padded_rows, chunk, groups if flat else 0, stores_right, level
        )
        bus, checked = 4 * layout.columns_at["left"], 0
        if not sections.proven:  # places and outcomes of the comparison
            checked = max(1, sum(sections.start(k) > 0 for k in range(sections.count)))
        strips = Strips(plan, grid, score, widths, compared.local, groups)
        requests = [
            ("letters", grid.padded_rows),
            *self._target(tile.n, plan, grid.T),
            *strips.scratch(compared.scoring, chunk, tile.best, not sections.proven),
            *(4 * [("scratch", 4)]),  # best score, overlap, ticket, unused arguments
            ("scratch", 4 * (grid.strips + 1)),
            ("scratch", 4 * (grid.strips * sections.count + 1)),
            ("scratch", 8 * TILE_WORDS * sections.count),
            *((("scratch", 16 * checked), ("scratch", 4 * checked)) if checked else ()),
            ("horizontal_bus", bus),
            ("vertical_bus", 4 * layout.words - bus),
        ]
        return Memory.of(requests) + Memory(largest=4 * layout.words)

    # Pipelines

    def pipeline(self, tile: TileShape, ends: Iterable[int]) -> Memory | None:
        """The memory of a pipeline of tiles as wide as ``tile``, which is as high as the matrix,
        with these special rows; None where tiles are computed one by one."""
        plan, (m, n) = self.plan, (tile.m, tile.n)
        if not self.captures or not self.device.speculative:
            return None
        usual, score = self._planned(replace(tile, rows=()), alone=False)
        most = plan.tile_shape(m, n)
        rows = pipelines.pipeline_rows(plan, m, n, self.device.schedulers, self.device.units)
        if rows is None or usual is None or usual.lane_set.narrow is None or most[0] >= m:
            return None
        least, quantum = rows
        height = max(1, min(least, most[0]) // quantum) * quantum
        if height % usual.strip_rows or not may_be_wide(height, n, most):
            return None
        fits = self._planned(replace(tile, rows=(height,)), seldom_waits(plan, n))[0] or usual
        places = (0, *ends, m)
        highest = min(height, max(b - a for a, b in pairwise(places)))
        count = sum(-(-(b - a) // height) for a, b in pairwise(places))
        part = replace(tile, m=highest, rows=(), bottom=True)
        slots = pipelines.pipeline_slots(plan)
        shared = [
            ("horizontal_bus", pipelines.pipeline_bus_bytes(fits, n)),
            ("scratch", 4),
            ("scratch", plan.tuning.pipeline.most_tiles * self.device.part_align),
            *self._target(n, fits, fits.T),
        ]
        if shared[0][1] > self.device.largest or count < 2:
            return None
        either = self._either(fits, replace(tile, rows=()))
        ways = [self._strips(part, one, score, piped=True) for one in either]
        strips = max(ways, key=lambda way: Memory.of(self._requests(part, way, True)).total)
        one = [
            (kind, sizes.pooled_bytes(max(size, 4), self.device.largest))
            for kind, size in self._requests(part, strips, piped=True)
        ]
        return Memory.of(shared + min(slots, count) * one)
