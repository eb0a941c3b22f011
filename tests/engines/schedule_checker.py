"""The schedule checker: an engine that sweeps the wavefront's schedule and computes no scores.

It repeats every step of the kernels' strip sweep and of their two forms (in cl/wavefront/), with
the same :mod:`pysw_cl.planning.geometry`.  But a lane holds the number of a
cell instead of the cell's score.  So it checks that each lane uses the cells that its recurrence
needs and meets its forbidden pairs.  It also records how often each cell is computed, when each
cell of the horizontal bus is written and read, where each cell's moves are stored, and how many
lanes are busy on each internal diagonal.  A violated rule raises InternalError.

The idea of an engine that only counts, driven like any other, is boxtree's ``constant_one``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from schedule_launches import ORDERS, Ticketed, TicketedLaunch, run_two_phase
from schedule_tile import NOTHING, ScheduleTile, TileCount

from pysw_cl.errors import InternalError
from pysw_cl.planning.geometry import Grid, fit
from pysw_cl.planning.plan import Plan
from pysw_cl.tiles.contract import Engine
from pysw_cl.tiles.edges import Edge
from pysw_cl.tiles.sweep import by_parts
from pysw_cl.tiles.tile import TileJob, TileResult, Traced


@dataclass(frozen=True)
class _Straight:
    """Stored moves for a driver's traceback: along the diagonal until the path leaves the tile."""

    def trace(self, row: int, column: int, state: int) -> Traced:
        steps = min(row, column)
        return Traced(np.zeros(steps, np.uint8), row - steps, column - steps, 0, False)

    def release(self) -> None:
        """Nothing to free."""


class ScheduleChecker(Engine):
    """An engine that sweeps the wavefront's schedule of ``plan`` (form, B, T, alpha, chunk).

    A tile adds 1 to H for each row downward and each column to the right, and keeps X.  So where
    the matrix starts with H(i, j) = i + j on its borders, every edge has i + j.  No best cell is
    found, and tracebacks go along the diagonal.  ``counts`` gets one `TileCount` for each tile.

    ``order``: one of ORDERS; ``seed``: of the random order.
    ``again``: sweep each block twice, as kernels do for a block that may hold the best cell.
    ``portions``: blocks load their portion of the bus at once, as narrow lanes do.
    ``warps``: warps of a work-group in the ticketed form.
    """

    name = "counting"
    #: What it sweeps: a tile's grid, the tile, a launch of tiles, and the run of launches.
    grid_of = staticmethod(fit)
    tile_of, launch_of, run_of = ScheduleTile, TicketedLaunch, Ticketed

    def __init__(
        self,
        plan: Plan,
        *,
        order: str = "random",
        seed: int = 0,
        again: bool = False,
        portions: bool = False,
        warps: int = 1,
    ) -> None:
        if order not in ORDERS:
            raise InternalError(f"order {order!r} is not one of {', '.join(ORDERS)}")
        self.plan = replace(plan, engine=self.name)
        self.captures_inside = plan.form == "ticketed"
        self.order, self.again, self.portions, self.warps = order, again, portions, warps
        self.counts: list[TileCount] = []
        self._rng = np.random.default_rng(seed)

    def tile(self, job: TileJob) -> TileResult:
        """Sweep one tile; see :class:`pysw_cl.tiles.tile.TileJob`."""
        plan, m, n = self.plan, len(job.query), len(job.target)
        form, B = plan.form, plan.B
        if job.store_moves and form == "two-phase":
            form, B = "ticketed", 1
        grid = self.grid_of(m, n, B, plan.T, plan.alpha, form)
        if grid.form == "two-phase" and (job.rows or job.columns):
            return by_parts(self.tile, job, job.rows, job.columns)
        if any(row % grid.strip_rows for row in job.rows):
            return by_parts(self.tile, job, job.rows, ())
        last_row_outlet = grid.last_row_outlet if job.bottom else (grid.T - 1, grid.alpha - 1)
        tile = self.tile_of(grid, last_row_outlet, job.forbidden, job.rows, job.columns)
        if grid.form == "ticketed":
            launches = self._ticketed([self._launch([tile], grid.B)])
        else:
            launches = run_two_phase(tile, self.again, self.portions)
            tile.check_line(grid.strips, tile.bottom())
        count = tile.result()
        self.counts.append(count)
        bottom = Edge(job.above.h + np.int32(m), job.above.x)
        return TileResult(
            bottom=bottom if job.bottom else None,
            right=Edge(job.left.h + np.int32(n), job.left.x),
            cells={f"counting/{grid.form}/0": int(count.cells.sum())},
            launches=launches,
            rows={i: Edge(job.above.h + np.int32(i), job.above.x.copy()) for i in job.rows},
            columns={j: Edge(job.left.h + np.int32(j), job.left.x.copy()) for j in job.columns},
            moves=_Straight() if job.store_moves else None,
        )

    def batch(self, sizes: list[tuple[int, int]]) -> list[TileCount]:
        """Sweep a tile batch: tiles of m x n cells in one ticketed launch (-D MULTI_TILE=1 of
        cl/wavefront/sections.cl).  They share its tickets and work-groups, and nothing else."""
        tiles = [self.tile_of(grid, grid.last_row_outlet) for grid in map(self._grid, sizes)]
        self._ticketed([self._launch(tiles, self.plan.B)])
        return [tile.result() for tile in tiles]

    def pipelined(self, rows: list[int], n: int, places: int) -> list[TileCount]:
        """Sweep a pipeline: tiles of n columns below each other, each begun before those above are
        done (:mod:`pysw_cl.engines.wavefront.pipeline`).

        ``rows``: the rows of each; all but the last are whole strips.  Tile k passes its bottom row
        to the next one in a bus line of its own, of a ring of ``places`` + 1 lines.
        """
        bus = np.full((2 + places + 1, n), NOTHING, np.int64)
        launches: list[TicketedLaunch] = []
        first = strips = 0
        for k, m in enumerate(rows):
            grid = self._grid((m, n))
            lines = ((np.arange(grid.strips + 1) + strips) & 1).tolist()
            lines[0], lines[-1] = (2 + (k + at) % (places + 1) for at in (0, 1))
            tile = self.tile_of(grid, grid.last_row_outlet, first_row=first, bus=bus, lines=lines)
            if not launches:
                bus[lines[0]] = tile.row_of_cells(0)
            launch = self._launch([tile], self.plan.B)
            launch.above = launches[-1] if launches else None
            launches.append(launch)
            first, strips = first + m, strips + grid.strips
        self._ticketed(launches, places)
        return [launch.tiles[0].result() for launch in launches]

    def _grid(self, size: tuple[int, int]) -> Grid:
        return self.grid_of(*size, self.plan.B, self.plan.T, self.plan.alpha, "ticketed")

    def _launch(self, tiles: list[ScheduleTile], B: int) -> TicketedLaunch:
        return self.launch_of(tiles, -(-B // self.warps), self.warps)

    def _ticketed(self, launches: list[TicketedLaunch], places: int | None = None) -> int:
        n, T = max(tile.grid.n for launch in launches for tile in launch.tiles), self.plan.T
        chunk = min(self.plan.chunk, n + T)
        settings = chunk, self.order, self.again, self.portions, self._rng, places
        return self.run_of(launches, *settings).run()
