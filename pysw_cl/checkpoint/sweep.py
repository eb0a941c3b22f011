"""A comparison that a later process can continue: the sweep is saved slab by slab, the path in
parts.

Method: special rows (Sandes & de Melo, CUDAlign 2, IPDPS 2011).  A slab is all columns of some
rows.  When it is computed, its last row, its parts of the special columns and the best cell so far
are written to disk.  A later run continues below it, with any plan on any device: edges hold exact
values, and the canonical path does not depend on where they lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from ..drivers.path import Path
from ..drivers.progress import PairProgress, Tell
from ..errors import CheckpointError, InputError
from ..planning.path_grid import grid_places
from ..planning.plan import Plan
from ..results.stats import Stats
from ..tiles.contract import Engine
from ..tiles.edges import EdgeFrom, Edges, Source
from ..tiles.slabs import Slab
from ..tiles.special_lines import RestartGrid
from ..tiles.sweep import sweep
from ..tiles.tile import Bound, Costs, Hit, Hits, Limits, Want
from ..tiles.tile_map import TileMap
from . import interval
from .edges import EdgeSink, SavedSlab, SlabWriter, Writer, stored_column, writing
from .store import Store
from .traceback import Clock, SavedTraceback

#: Where the best cell is looked for in a slab that is not the last, for each ``Want.where``.
ABOVE_LAST_ROW = {
    "all": "all",
    "last_row": "none",
    "last_column": "last_column",
    "border": "last_column",
    "corner": "none",
}


@dataclass
class Done(Costs):
    """What was found so far and what it cost, earlier runs included."""

    #: The best cell.
    best: Hit | None = None
    #: Computed cells by lane set.
    cells: dict[str, int] = field(default_factory=dict)
    #: Kernel launches.
    launches: int = 0
    #: Skipped cells.
    pruned: int = 0
    #: The time of earlier runs, without this one.
    seconds: float = 0.0

    @classmethod
    def of(cls, facts: dict[str, Any]) -> Done:
        """From the result of :meth:`facts`."""
        best = facts["best"] and Hit(*facts["best"])
        return cls(best, facts["cells"], facts["launches"], facts["pruned"], facts["seconds"])

    def facts(self, seconds: float) -> dict[str, Any]:
        """As JSON; ``seconds``: the time of the job with this run."""
        best = self.best and [self.best.score, self.best.row, self.best.column]
        return {**vars(self), "best": best, "seconds": seconds}


class SavedRun:
    """One run of a job; its ``store`` may hold slabs and path of earlier runs.

    ``plan`` decides the tiles.  ``disk_size``: bytes that the folder may take (None: see
    :mod:`pysw_cl.checkpoint.interval`).  ``stop_at``: the run ends at the first special row after
    this time, by time.monotonic.  ``maps``: the tile map of each slab, by its first row.
    ``trusted``: files that this run has checked or written.
    """

    def __init__(
        self,
        engine: Engine,
        store: Store,
        plan: Plan,
        *,
        prune: bool,
        progress: PairProgress,
        disk_size: int | None,
        stop_at: float | None,
    ) -> None:
        self.clock, self.plan, self.prune = Clock(store, stop_at), plan, prune
        self._disk_size = disk_size
        self.engine, self.store, self.problem = engine, store, store.job.problem
        tuning = plan.tuning
        self.columns = grid_places(tuning.traceback, self.n, 1)[1:-1] if self.want_path else []
        self.trusted: set[FilePath] = set()
        self.slabs = self._saved()
        self.trusted |= {slab.file.path for slab in self.slabs}
        self.done = Done()
        for slab in self.slabs:
            found = Done.of(slab.facts["done"])
            hits = [hit for hit in (self.done.best, found.best) if hit is not None]
            self.done = max(self.done, found, key=lambda done: done.seconds)
            self.done.best = min(hits, default=None)
        self.clock.before = self.done.seconds
        self.maps: dict[int, TileMap] = {}
        for slab in self.slabs:
            self.maps[slab.start] = TileMap.of_facts(slab.facts["tiles"])
        self.heights = interval.SlabHeights(
            self.m,
            self.n,
            quantum=engine.row_quantum,
            device_rows=plan.device_rows,
            pipeline_lag=plan.pipeline_lag,
            disk_size=disk_size,
            used=store.used(),
            free=store.free(),
            stop_at=stop_at,
            tuning=tuning.saving,
        )
        self.progress = progress

    @property
    def m(self) -> int:
        """Rows of the matrix."""
        return len(self.problem.query)

    @property
    def n(self) -> int:
        """Columns of the matrix."""
        return len(self.problem.target)

    @property
    def want_path(self) -> bool:
        """Is the path asked for?"""
        return self.store.job.output == "path"

    def end(self) -> Hit:
        """The best end, first in row-major order among equals.  Computes the slabs that are not
        saved."""
        gaps = list(self._gaps())
        if gaps and not self.slabs and self.heights.rows_left() < 1:
            raise self._no_space()
        todo = sum(stop - start for start, stop in gaps)
        tell = self.progress.sweep(begun=1 - todo / self.m)
        with writing() as writer:
            for start, stop in gaps:
                todo = self._fill_gap(writer, start, stop, todo, tell)
        return self.problem.best_end([] if self.done.best is None else [self.done.best])

    def _no_space(self) -> InputError | CheckpointError:
        """The error where not one special row fits on the disk."""
        size, least = self.heights.disk_size, self.heights.least_size()
        little = f"is too little for one row of {self.n:,} cells"
        if self._disk_size is not None:
            return InputError(
                f"disk_size is {size:,} bytes, which {little}; give at least {least:,}"
            )
        most = self.plan.tuning.saving.most_bytes
        return CheckpointError(
            f"{self.store.folder} may take {size:,} bytes, half of what is free on its disk and "
            f"{most:,} at most, which {little}; free space, take a folder on another disk, or give "
            f"a disk_size of at least {least + 100:,}"  # job.json says it, too
        )

    def path(self, end: Hit) -> Path | None:
        """The canonical path to ``end``, from the special rows and columns on disk; None where no
        path is asked for, or the other strand is better."""
        if not (self.want_path and self.store.job.better(end)):
            self.progress.finished()
            return None
        slabs = self._saved()
        if [slab.start for slab in slabs] + [self.m] != [0, *(slab.end for slab in slabs)]:
            raise CheckpointError(f"{self.store.folder} has lost rows; {self.store.how}")
        grid = RestartGrid(
            self.problem.edges,
            {slab.end: slab.row() for slab in slabs if slab.end < self.m},
            {column: stored_column(slabs, column) for column in self.columns},
        )
        trace = SavedTraceback(self.clock, end, self.progress)
        path = trace.path(self.engine, self.problem, grid)
        self.progress.finished()
        self.done.add_cost(path)
        return path

    def stats(self) -> Stats:
        """What the job cost, with what earlier runs saved."""
        done, peak = self.done, self.engine.peak_bytes
        return Stats(done.cells, done.launches, self.clock.seconds(), peak, done.pruned)

    def tiles(self) -> TileMap:
        """The tile map of the sweep, earlier runs included."""
        return TileMap.joined((self.m, self.n), self.maps)

    def _saved(self) -> list[SavedSlab]:
        return self.store.slabs(self.want_path, self.columns, self.trusted)

    def _gaps(self) -> Iterator[tuple[int, int]]:
        """The rows [start, stop) to compute: all that are not saved; without a path only those
        below the last slab."""
        at = 0
        for slab in self.slabs:
            if slab.start > at and self.want_path:
                yield at, slab.start
            at = slab.end
        if at < self.m:
            yield at, self.m

    def _fill_gap(self, writer: Writer, start: int, stop: int, todo: int, tell: Tell) -> int:
        """Compute and save rows [start, stop); ``todo`` rows are left in all.  Gives how many are
        left then."""
        problem, before = self.problem, (self.m - todo) * self.n
        slabs = _SavedSlabs(self, writer, start, stop, todo)
        want, limits = self._known(start, stop)
        left = EdgeFrom(problem.edges.left, start)
        sweep(
            self.engine,
            problem.query.slice(start, stop),
            problem.target,
            problem.scoring,
            problem.floor,
            Edges(self._corner(start), self._above(start), left),
            want,
            limits,
            slabs=slabs,
            progress=lambda cells, _: tell(before + cells, self.m * self.n),
        )
        return slabs.todo

    def shape(self, rows: int) -> tuple[int, int]:
        """Rows and columns of the tiles of so many rows."""
        return self.plan.tile_shape(rows, self.n)

    def _known(self, start: int, stop: int) -> tuple[Want, Limits]:
        """Where a gap is searched for the best cell, and the bound for pruning, by the best cell
        known now."""
        known, least, m = Hit(0, self.m, self.n), None, self.m
        local, where = self.problem.mode == "local", self.problem.want.where
        if self.done.best is not None:
            known, least = self.done.best, self.done.best.score
        elif local and (beat := self.store.job.beat or 0) > 0:  # as in `aim`
            known, least = Hit(beat, 0, 0), beat + 1
        bound = None
        if self.prune and local:
            highest = self.problem.scoring.highest
            bound = Bound(known.score, known.row - start, known.column, highest, m - stop)
        where = where if stop == m else ABOVE_LAST_ROW[where]
        return Want(where, threshold=least), Limits(bound=bound)

    def _corner(self, row: int) -> int:
        return self.problem.edges.left.h_at(row - 1) if row else self.problem.edges.corner

    def _above(self, row: int) -> Source:
        """The special row above a gap, from disk."""
        if row == 0:
            return self.problem.edges.top
        return next(slab.row() for slab in self.slabs if slab.end == row)


@dataclass
class _SavedSlabs:
    """The slabs of a gap: rows [start, stop) of the matrix.  Each is saved when it is computed."""

    run: SavedRun
    writer: Writer
    start: int
    stop: int
    #: Rows left to compute, in this gap and others.
    todo: int

    def __post_init__(self) -> None:
        #: The best cell before this gap.
        self._best = self.run.done.best
        #: The files of the slabs that are begun, by their first rows.
        self._files: dict[int, SlabWriter] = {}
        #: Rows whose slab is not begun.
        self._left = self.todo

    def shape(self, rows: int) -> tuple[int, int]:
        """See :class:`pysw_cl.tiles.slabs.Slabs`."""
        return self.run.shape(rows)

    def pipelined(self, rows: tuple[int, int] | None) -> None:
        """See :class:`pysw_cl.tiles.slabs.Slabs`."""
        self.run.heights.pipelined(rows)

    def begin(self, row: int) -> Slab:
        """See :class:`pysw_cl.tiles.slabs.Slabs`."""
        run, start = self.run, self.start + row
        end = start + run.heights.height(self._left, self.stop - start)
        self._left -= end - start
        file = self._files[row] = run.store.slab(self.writer, start, end)
        run.heights.saving(file)
        columns = {column: EdgeSink(file, f"column {column}", row) for column in run.columns}
        bottom = None if end == run.m else EdgeSink(file, "row")
        return Slab(row, end - self.start, columns, bottom)

    def computed(self, slab: Slab, hits: Hits) -> None:
        """Save a slab; raises `Stopped` if the run has to end now."""
        run, found, start = self.run, slab.found, self.start + slab.start
        best = [Hit(hit.score, self.start + hit.row, hit.column) for hit in hits]
        run.done.best = min([*best, *([self._best] if self._best else [])], default=None)
        run.done.add_cost(found)
        run.done.pruned += found.pruned_cells
        run.maps[start] = TileMap.of(
            (slab.rows, run.n),
            {area.down(-slab.start): top for area, top in found.tops.items()},
            [area.down(-slab.start) for area in found.pruned],
            {area.down(-slab.start): count for area, count in found.thinned.items()},
        )
        file = self._files.pop(slab.start)
        facts = {"columns": run.columns, "done": run.done.facts(run.clock.seconds())}
        file.seal({**facts, "tiles": run.maps[start].facts()})
        run.trusted.add(file.path)
        self.todo -= slab.rows
        run.heights.computed(slab.rows, self.writer.seconds)
        if self.todo and run.clock.late():
            self.writer.flush()
            share = f"{100 - 100 * self.todo / run.m:.1f}% of the cells"
            raise run.clock.stopped(f"{share}{run.store.what} are")
