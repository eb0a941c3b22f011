"""A sweep that a later process can continue: it is saved slab by slab.

Method: special rows (Sandes & de Melo, CUDAlign 2, IPDPS 2011).  When a slab, all columns of some
rows, is computed, its last row, its parts of the special columns and the best cell so far are
written to disk.  A later run continues below it, with any plan on any device: edges hold exact
values, and the canonical path does not depend on where they lie.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path as FilePath

from ..drivers.align_pair import Swept
from ..drivers.progress import PairProgress, Tell
from ..errors import CheckpointError, InputError
from ..planning.path_grid import grid_places
from ..results.stats import Stats
from ..tiles.contract import Engine
from ..tiles.slabs import Slab, Slabs, TileMap
from ..tiles.special_lines import RestartGrid
from ..tiles.sweep import sweep
from ..tiles.tile import Bound, Hit, Hits, Limits, Want
from . import interval
from .container import DamagedFile, EdgeSink, EdgeWriter, SealedFile, StoredEdge, Writer, writing
from .store import Store


class SavedSweep:
    """The sweep of a job's matrix; earlier runs may have saved slabs of it.

    ``disk_size``: bytes that the folder may take (None: see :mod:`pysw_cl.checkpoint.interval`).
    The run ends at the first special row after ``clock`` says so.  ``stats`` counts what the sweep
    cost, earlier runs included.
    """

    def __init__(
        self,
        engine: Engine,
        clock: interval.Clock,
        disk_size: int | None,
        progress: PairProgress,
        prune: bool,
        stats: Stats,
    ) -> None:
        self.engine, self.clock, self.stats = engine, clock, stats
        self._disk_size, self._progress, self._prune = disk_size, progress, prune
        self.store, self.job, self.problem = clock.store, clock.store.job, clock.store.job.problem
        self.m, self.n = self.problem.shape
        plan, self.want_path = engine.plan, self.job.output == "path"
        #: The special columns.
        self.columns: list[int] = []
        if self.want_path:
            self.columns = grid_places(plan.tuning.traceback, self.n, 1)[1:-1]
        #: Rows left to compute.
        self.todo = self.m
        #: The sound slabs of earlier runs, and the files that this run has written.
        self.slabs = _sound_slabs(self.store, self.want_path, self.columns)
        self.written: list[FilePath] = []
        #: The best cell, if one is known.
        self.best: list[Hit] = []
        #: The tile map of each slab, by its first row.
        self.maps: dict[int, TileMap] = {}
        for slab in self.slabs:
            self.maps[rows_of(slab)[0]] = TileMap.of_facts(slab.facts["tiles"])
            done = slab.facts["done"]
            self.better([Hit(*done["best"])] if done["best"] else [])
            if done["seconds"] >= clock.before:
                clock.before = done["seconds"]
                stats.cells, stats.launches = done["cells"], done["launches"]
                stats.pruned, stats.again = done["pruned"], done.get("again", 0)
        self.heights = interval.SlabHeights(
            self.m,
            self.n,
            plan,
            disk_size=disk_size,
            used=self.store.used(),
            free=self.store.free(),
            stop_at=clock.stop_at,
        )

    def swept(self) -> Swept:
        """The best end, after the slabs that are not saved were computed."""
        places = [0, *chain.from_iterable(map(rows_of, self.slabs)), self.m]
        gaps = [gap for gap in zip(places[::2], places[1::2], strict=True) if gap[0] < gap[1]]
        if not self.want_path:  # rows above those that are saved are needed no more
            gaps = [gap for gap in gaps if gap[1] == self.m]
        if gaps and not self.slabs and self.heights.rows_left() < 1:
            raise self._no_space()
        self.todo = sum(stop - start for start, stop in gaps)
        tell = self._progress.sweep(begun=1 - self.todo / self.m)
        with writing() as writer:
            for start, stop in gaps:
                self._fill_gap(writer, start, stop, tell)
        end = self.problem.best_end(self.best)
        tiles = TileMap.joined((self.m, self.n), self.maps)
        return Swept(end, tiles, self._grid() if self.want_path and self.job.better(end) else None)

    def better(self, hits: Iterable[Hit]) -> None:
        """Some cells, one of which may be the best known from now on."""
        self.best = sorted([*self.best, *hits])[:1]

    def _grid(self) -> RestartGrid:
        """The special rows and columns on disk."""
        slabs = sorted([*self.slabs, *map(SealedFile, self.written)], key=rows_of)
        starts = [(rows_of(slab)[0], slab) for slab in slabs]
        return RestartGrid(
            self.problem.edges,
            {rows_of(slab)[1]: _last_row(slab) for slab in slabs[:-1]},
            {column: StoredEdge(f"column {column}", starts) for column in self.columns},
        )

    def _no_space(self) -> InputError | CheckpointError:
        """The error where not one special row fits on the disk."""
        size, least = self.heights.disk_size, self.heights.least_size()
        little = f"is too little for one row of {self.n:,} cells"
        if self._disk_size is not None:
            return InputError(
                f"disk_size is {size:,} bytes, which {little}; give at least {least:,}"
            )
        most = self.engine.plan.tuning.saving.most_bytes
        return CheckpointError(
            f"{self.store.folder} may take {size:,} bytes, half of what is free on its disk and "
            f"{most:,} at most, which {little}; free space, take a folder on another disk, or give "
            f"a disk_size of at least {least + 100:,}"  # job.json says it, too
        )

    def _fill_gap(self, writer: Writer, start: int, stop: int, tell: Tell) -> None:
        """Compute and save rows [start, stop)."""
        edges, before = self.problem.edges, (self.m - self.todo) * self.n
        if start:
            above = next(_last_row(slab) for slab in self.slabs if rows_of(slab)[1] == start)
            edges = replace(edges, corner=edges.left.h_at(start - 1), top=above)
        sweep(
            self.engine,
            self.problem,
            edges,
            *self._aim(),
            slabs=_SavedSlabs(self, writer, start, stop),
            progress=lambda cells, _: tell(before + cells, self.m * self.n),
        )

    def _aim(self) -> tuple[Want, Limits]:
        """Where a gap is searched for the best cell, and the bound for pruning, by the best cell
        known now."""
        want, limits = self.problem.aim(self._prune, self.job.beat)
        for best in self.best:
            want = replace(want, threshold=best.score)
            if limits.bound is not None:
                limits = Limits(Bound(best.score, best.row, best.column, limits.bound.match))
        return want, limits


class _SavedSlabs(Slabs):
    """The slabs of a gap: rows [start, stop) of the matrix.  Each is saved when it is computed."""

    def __init__(self, run: SavedSweep, writer: Writer, start: int, stop: int) -> None:
        self._run, self._writer, self.start, self.stop = run, writer, start, stop
        run.heights.pipelined(None)
        #: The files of the slabs that are begun, by their first rows.
        self._files: dict[int, EdgeWriter] = {}
        #: Rows, of this gap and others, whose slab is not begun.
        self._left = run.todo

    def pipelined(self, rows: tuple[int, int] | None) -> None:
        self._run.heights.pipelined(rows)

    def shape(self, rows: int) -> tuple[int, int]:
        return self._run.engine.plan.tile_shape(rows, self._run.n)

    def begin(self, row: int) -> Slab:
        run = self._run
        end = row + run.heights.height(self._left, self.stop - row)
        self._left -= end - row
        file = self._files[row] = run.store.edges(
            self._writer, f"rows-{row:012}-{end:012}", start=row, end=end
        )
        run.heights.saving(file)
        columns = {column: EdgeSink(file, f"column {column}", row) for column in run.columns}
        return Slab(row, end, columns, None if end == run.m else EdgeSink(file, "row"))

    def computed(self, slab: Slab, hits: Hits) -> None:
        """Save a slab; raises `Stopped` if the run has to end now."""
        run, found = self._run, slab.found
        run.better(hits)
        stats = run.stats
        stats.add_cost(found)
        stats.pruned += found.pruned_cells
        tiles = run.maps[slab.start] = found.tile_map((slab.rows, run.n), slab.start)
        done = {
            "best": next(([best.score, best.row, best.column] for best in run.best), None),
            "cells": dict(stats.cells),  # it is written later
            "launches": stats.launches,
            "again": stats.again,
            "pruned": stats.pruned,
            "seconds": run.clock.seconds(),
        }
        file = self._files.pop(slab.start)
        file.seal({"columns": run.columns, "done": done, "tiles": tiles.facts()})
        run.written.append(file.path)
        run.todo -= slab.rows
        run.heights.computed(slab.rows, self._writer.seconds)
        if run.todo and run.clock.late():
            self._writer.flush()
            share = f"{100 - 100 * run.todo / run.m:.1f}% of the cells"
            raise run.clock.stopped(f"{share}{run.store.what} are")


def rows_of(slab: SealedFile) -> tuple[int, int]:
    """The rows ``[start, end)`` of a slab."""
    return slab.facts["start"], slab.facts["end"]


def _sound_slabs(store: Store, every: bool, columns: list[int]) -> list[SealedFile]:
    """The sound slabs with these special ``columns`` (others are of another plan), from top to
    bottom, without overlap.

    All of each file is read and checked.  Without ``every`` only the last one is; of the others
    only the facts are checked."""
    slabs: list[SealedFile] = []
    found = [(*rows_of(file), file) for file in store.sealed("rows-*")]
    for _, end, file in sorted(found, key=lambda slab: (-slab[1], slab[0])):
        if file.facts["columns"] != columns or (slabs and end > rows_of(slabs[-1])[0]):
            continue
        with suppress(DamagedFile):
            if every or not slabs:
                file.check()
            slabs.append(file)
    return slabs[::-1]


def _last_row(slab: SealedFile) -> StoredEdge:
    return StoredEdge("row", [(0, slab)])
