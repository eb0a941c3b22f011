"""A comparison that survives its process: the sweep band by band, each saved; the path by parts.

Method: special rows (Sandes & de Melo, CUDAlign 2, IPDPS 2011).  A band is all columns of some
rows.  When it is done its last row, its parts of the special columns and the best cell so far are
on disk, and a later run goes on below it, with any plan on any device: edges hold exact values,
and the canonical path does not depend on where they lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from ..drivers.find_end import best_end
from ..drivers.traceback import grid_places, walked_cells
from ..drivers.traceback_state import Path
from ..errors import CheckpointError, DeviceError, InputError
from ..results.alignment import Stats
from ..tiles.contract import Below, Engine, TileJob
from ..tiles.special_lines import StartGrid
from ..tiles.sweep import Progress, Sweep, tile_shape
from ..tiles.tile import (
    Bound,
    Edge,
    EdgeArray,
    EdgeFrom,
    Edges,
    EdgeTee,
    Hit,
    Limits,
    Source,
    View,
    Want,
)
from ..tiles.tile_map import TileMap
from . import interval
from .edges import BandWriter, SavedBand, Writer, stored_column, writing
from .store import Store
from .traceback import Clock, SavedWalk

#: Where the best cell of a band is looked for that is not the last.
ABOVE_LAST_ROW = {
    "all": "all",
    "last_row": "none",
    "last_column": "last_column",
    "border": "last_column",
    "corner": "none",
}


@dataclass
class Done:
    """What has been found and what it cost so far, earlier runs included; ``seconds`` only up to
    where this run began."""

    best: Hit | None = None
    cells: dict[str, int] = field(default_factory=dict)
    launches: int = 0
    pruned: int = 0
    seconds: float = 0.0

    @classmethod
    def of(cls, facts: dict[str, Any]) -> Done:
        """From what :meth:`facts` gave."""
        best = facts["best"] and Hit(*facts["best"])
        return cls(best, facts["cells"], facts["launches"], facts["pruned"], facts["seconds"])

    def facts(self, seconds: float) -> dict[str, Any]:
        """As JSON can hold it; ``seconds``: of this run, too."""
        best = self.best and [self.best.score, self.best.row, self.best.column]
        return {**vars(self), "best": best, "seconds": seconds}

    def add(self, cells: dict[str, int], launches: int) -> None:
        """Count what was computed."""
        self.launches += launches
        for kind, count in cells.items():
            self.cells[kind] = self.cells.get(kind, 0) + count


@dataclass
class _Whole:
    """A sink that hands an edge on without a copy where it is all of it."""

    array: EdgeArray

    def write(self, start: int, edge: Edge) -> None:
        """Take the cells that follow the first ``start`` ones."""
        if len(edge) == len(self.array):
            self.array.take(edge)
        else:
            self.array.write(start, edge)


@dataclass
class _Band:
    """Rows [start, end) to be computed and saved, with ``done`` rows before; ``next``: the band
    below, once it is begun."""

    start: int
    end: int
    done: int
    file: BandWriter
    bottom: EdgeArray | None
    sweep: Sweep
    next: _Band | None = None


class SavedRun:
    """One run of a job whose ``store`` may hold what earlier ones did.

    ``tile_cells``, ``walk_cells``, ``busy_rows``, ``fill``: as in a plan.  ``disk_size``: bytes the
    folder may take (None: see :mod:`pysw_cl.checkpoint.interval`).  ``stop_at``: when the run ends
    at the next row, by time.monotonic.  ``maps``: of the tiles of each band, by its first row.
    """

    def __init__(
        self,
        engine: Engine,
        store: Store,
        *,
        tile_cells: int,
        walk_cells: int,
        busy_rows: int,
        fill: int,
        prune: bool = True,
        progress: Progress | None = None,
        disk_size: int | None = None,
        stop_at: float | None = None,
    ) -> None:
        self.clock = Clock(store, stop_at)
        self.engine, self.store, self.problem = engine, store, store.job.problem
        self.tile_cells, self.walk_cells, self.prune = tile_cells, walk_cells, prune
        self.busy_rows = busy_rows
        self.want_path, self.beat = store.job.output == "path", store.job.beat or 0
        self.m, self.n = len(self.problem.query), len(self.problem.target)
        self.columns = grid_places(self.n, 1)[1:-1] if self.want_path else []
        self.trusted: set[FilePath] = set()
        self.bands = self._saved()
        self.trusted |= {band.file.path for band in self.bands}
        self.done = Done()
        for band in self.bands:
            found = Done.of(band.facts["done"])
            hits = [hit for hit in (self.done.best, found.best) if hit is not None]
            self.done = max(self.done, found, key=lambda done: done.seconds)
            self.done.best = min(hits, default=None)
        self.clock.before = self.done.seconds
        self.maps: dict[int, TileMap] = {}
        for band in self.bands if self.want_path else store.bands_to(self.bands):
            if "tiles" in band.facts:  # not in format 1
                self.maps[band.start] = TileMap.of_facts(band.facts["tiles"])
        self.pace = interval.Pace(
            self.m,
            self.n,
            quantum=engine.row_quantum,
            busy_rows=busy_rows,
            fill=fill,
            disk_size=disk_size,
            used=store.used(),
            free=store.free(),
            stop_at=stop_at,
        )
        self.extra = 0
        self.progress: Progress = progress or (lambda done, total: None)

    def end(self) -> Hit:
        """The best end, first in row-major order among equals; what is not saved is computed."""
        gaps = list(self._gaps())
        if gaps and not self.bands and self.pace.rows_left() < 1:
            raise InputError(
                f"disk_size is {self.pace.disk_size:,} bytes, which is too little for one row of "
                f"{self.n:,} cells; give at least {self.pace.least_size():,}"
            )
        todo = sum(stop - start for start, stop in gaps)
        if self.want_path:
            pieces = len(self.bands) + self.pace.bands(todo), len(self.columns) + 1
            self.extra = self.m * self.n * sum(pieces) // (2 * pieces[0] * pieces[1])
        self._tell(self.m - todo, 0)
        with writing() as writer:
            for start, stop in gaps:
                todo = self._fill_gap(writer, start, stop, todo)
        return best_end(self.problem, [] if self.done.best is None else [self.done.best])

    def path(self, end: Hit) -> Path | None:
        """The canonical path to ``end``, from the rows and columns on disk; None where it does not
        matter."""
        if not (self.want_path and self.store.job.better(end)):
            self._tell(self.m, self.extra)
            return None
        bands = self._saved()
        if [band.start for band in bands] + [self.m] != [0, *(band.end for band in bands)]:
            raise CheckpointError(f"{self.store.folder} has lost rows; {self.store.how}")
        grid = StartGrid(
            self.problem.edges,
            {band.end: band.row() for band in bands if band.end < self.m},
            {column: stored_column(bands, column) for column in self.columns},
        )
        self.extra = walked_cells(self.m, self.n, grid)
        walk = SavedWalk(self.clock, end, self.extra, lambda done: self._tell(self.m, done))
        path = walk.path(self.engine, self.problem, grid, self.walk_cells)
        self._tell(self.m, self.extra)
        self.done.add(path.cells, path.launches)
        return path

    def stats(self) -> Stats:
        """What the job cost, earlier runs included, but for what they did not save."""
        done, peak = self.done, self.engine.peak_bytes
        return Stats(done.cells, done.launches, self.clock.seconds(), peak, done.pruned)

    def tiles(self) -> TileMap:
        """What the sweep did where, earlier runs included."""
        return TileMap.joined((self.m, self.n), self.maps)

    def _saved(self) -> list[SavedBand]:
        """What is on disk of use to this run."""
        bands = self.store.bands(every=self.want_path, trusted=self.trusted)
        return [band for band in bands if band.facts["columns"] == self.columns]

    def _gaps(self) -> Iterator[tuple[int, int]]:
        """Rows [start, stop) that are to be computed: all that is not saved; without a path, what
        lies below the last band."""
        at = 0
        for band in self.bands:
            if band.start > at and self.want_path:
                yield at, band.start
            at = band.end
        if at < self.m:
            yield at, self.m

    def _fill_gap(self, writer: Writer, start: int, stop: int, todo: int) -> int:
        """Compute rows [start, stop) of ``todo`` that are left, and save them; gives what is left
        then."""
        rows = (
            self.engine.chained_rows(stop - start, self.n)
            if self._shape(self.m)[1] == self.n
            else None
        )
        self.pace.chained(rows)
        chained = rows is not None
        if chained:  # all bands take it as it is
            self._target = View(self.problem.target.read(0, self.n))
        band: _Band | None = self._begin(writer, start, stop, None, todo, chained)
        try:
            while band is not None:
                self._compute(band)
                todo -= band.end - band.start
                self.pace.computed(band.end - band.start, writer.seconds)
                if todo and self.clock.late():
                    writer.flush()
                    done = f"{100 - 100 * todo / self.m:.1f}% of the cells"
                    raise self.clock.stopped(f"{done}{self.store.what} are")
                if band.next is None and band.end < stop:
                    if chained and band.sweep.below is not None:  # the engine did without
                        chained = False
                        self.pace.chained(None)
                    band.next = self._begin(writer, band.end, stop, band.bottom, todo, chained)
                band = band.next
        except BaseException:
            with suppress(DeviceError):  # what ends the run says more
                self.engine.settle()
            raise
        self.engine.settle()
        return todo

    def _shape(self, rows: int) -> tuple[int, int]:
        """Rows and columns of the tiles of so many rows."""
        return tile_shape(rows, self.n, self.tile_cells, self.busy_rows)

    def _begin(
        self,
        writer: Writer,
        start: int,
        stop: int,
        above: EdgeArray | None,
        todo: int,
        chained: bool,
    ) -> _Band:
        """The band from row ``start`` on, of a gap that ends at row ``stop``; ``above``: its row
        above, if that is not on disk.  ``chained``: the engine may begin the next one before this
        one is done."""
        problem, n = self.problem, self.n
        end = start + self.pace.height(todo, stop - start)
        file = self.store.band(writer, start, end)
        self.pace.saving(file)
        bottom = None if end == self.m else EdgeArray(n)
        edges = Edges(
            self._corner(start),
            above or self._above(start),
            EdgeFrom(problem.edges.left, start),
            bottom=None if bottom is None else EdgeTee((_Whole(bottom), file.row())),
            columns={column: file.column(column) for column in self.columns},
        )
        where = problem.want.where if end == self.m else ABOVE_LAST_ROW[problem.want.where]
        want, limits = self._known(start, end, where)
        sweep = Sweep(
            self.engine,
            problem.query.slice(start, end),
            self._target if chained else problem.target,
            problem.scoring,
            problem.floor,
            edges,
            want,
            limits,
        )
        band = _Band(start, end, self.m - todo, file, bottom, sweep)
        if chained and end < stop and self._one_tile(band):
            assert bottom is not None

            def below() -> TileJob | None:
                left = todo - (end - start)
                band.next = self._begin(writer, end, stop, bottom, left, chained)
                return band.next.sweep.promise() if self._one_tile(band.next) else None

            sweep.below = Below(stop - end, below)
        return band

    def _one_tile(self, band: _Band) -> bool:
        rows = band.end - band.start
        return self._shape(rows) == (rows, self.n)

    def _known(self, start: int, end: int, where: str) -> tuple[Want, Limits]:
        """What is looked for in a band, and what needs not be, by what is known now."""
        known, least, m = Hit(0, self.m, self.n), None, self.m
        local = self.problem.mode == "local"
        if self.done.best is not None:
            known, least = self.done.best, self.done.best.score
        elif local and self.beat > 0:  # as in `find_end`
            known, least = Hit(self.beat, 0, 0), self.beat + 1
        bound = None
        if self.prune and local:
            highest = self.problem.scoring.highest
            bound = Bound(known.score, known.row - start, known.column, highest, m - end)
        return Want(where, threshold=least), Limits(bound=bound)

    def _compute(self, band: _Band) -> None:
        """Compute a band and save it."""
        done, start, end, n = self.done, band.start, band.end, self.n
        best = [] if done.best is None else [done.best]
        band.sweep.want, band.sweep.limits = self._known(start, end, band.sweep.want.where)
        result = band.sweep.run(
            self._shape(end - start),
            lambda cells, _: self._tell(band.done, cells),
        )
        hits = [Hit(hit.score, start + hit.row, hit.column) for hit in result.hits]
        done.best = min([*best, *hits], default=None)
        done.add(result.cells, result.launches)
        done.pruned += result.pruned_cells
        tiles = TileMap.of((end - start, n), result.tops, result.pruned, result.thinned)
        self.maps[start] = tiles
        facts = {"columns": self.columns, "done": done.facts(self.clock.seconds())}
        band.file.seal({**facts, "tiles": tiles.facts()})
        self.trusted.add(band.file.path)

    def _corner(self, row: int) -> int:
        if row == 0:
            return self.problem.edges.corner
        return int(self.problem.edges.left.read(row - 1, row).h[0])

    def _above(self, row: int) -> Source:
        """The row of cells above a band, from disk."""
        if row == 0:
            return self.problem.edges.top
        return next(band.row() for band in self.bands if band.end == row)

    def _tell(self, rows: int, cells: int) -> None:
        self.progress(rows * self.n + cells, self.m * self.n + self.extra)
