"""A sweep that a later process can continue: it is saved slab by slab.

Method: special rows (Sandes & de Melo, CUDAlign 2, IPDPS 2011).  When a slab, all columns of some
rows, is computed, its last row, its parts of the special columns and the best cell so far are
written to disk.  A later run continues below it, with any plan on any device: edges hold exact
values, and the canonical path does not depend on where they lie.

More special rows lose less work when a run ends, and shorten the traceback.  Fewer take less disk
space and less time to save."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from math import ceil

from ..drivers.align_pair import Search, Swept
from ..drivers.progress import Tell
from ..errors import CheckpointError, InputError, Stopped
from ..planning.geometry import TileRows
from ..planning.parameters import SavingTuning
from ..planning.path_grid import grid_places
from ..planning.plan import Plan
from ..tiles.slabs import Slab, Slabs, TileMap
from ..tiles.special_lines import RestartGrid
from ..tiles.sweep import sweep
from ..tiles.tile import Bound, Hit, Hits, Limits
from .container import DamagedFile, EdgeSink, EdgeWriter, Joined, SealedFile, stored_edge, writing
from .store import Store


def reserved(tuning: SavingTuning) -> int:
    """Bytes that stay reserved for the last slab, which has no special row, and the result."""
    return 2 * tuning.file_bytes


class SavedRun:
    """A run that saves to ``store``: when it has to stop (``stop_at``, by time.monotonic), and how
    many bytes the folder may take (``disk_size``).  ``before``: seconds of earlier runs."""

    def __init__(self, store: Store, stop_at: float | None, disk_size: int | None) -> None:
        self.store, self.stop_at, self.disk_size = store, stop_at, disk_size
        self.started, self.before = time.monotonic(), 0.0

    def space(self, tuning: SavingTuning) -> tuple[int, int]:
        """Bytes that the folder may take in all (by default the lesser of ``most_bytes`` and what
        it takes now with half of what is free on its disk), and takes now."""
        used, size = self.store.used(), self.disk_size
        if size is None:
            size = min(tuning.most_bytes, used + self.store.free() // 2)
        return size, used

    def seconds(self) -> float:
        """The seconds of the job so far, earlier runs included."""
        return self.before + time.monotonic() - self.started

    def late(self) -> bool:
        return self.stop_at is not None and time.monotonic() >= self.stop_at

    def stopped(self, what: str) -> Stopped:
        """The exception to raise then; its message says that ``what`` is done."""
        return Stopped(f"stopped as asked; {what} done; {self.store.how}")


class SlabHeights:
    """Chooses the heights of the slabs of m x n cells: even, and whole strips of the plan where
    possible.  Without a ``disk_size`` there are at most ``most_rows`` special rows.  Speed and file
    size are predicted from the last slab."""

    def __init__(self, m: int, n: int, plan: Plan, run: SavedRun) -> None:
        self._stop_at, self._tuning = run.stop_at, plan.tuning.saving
        tuning = self._tuning
        #: Bytes that the folder may take in all, and takes.
        self.disk_size, self._used = run.space(tuning)
        #: Bytes of a special row: an estimate, later those of the last slab on disk.
        self._row_bytes = ceil(tuning.cell_bytes * n) + tuning.file_bytes
        #: Slabs that were begun, up to the last one whose size is unknown.
        self.begun: list[EdgeWriter] = []
        #: Seconds that one row of the last slab took (0 before there is one), that the writer took
        #: for a slab on average, the slabs so far, and the height chosen last.
        self._row_seconds = self._save_seconds = 0.0
        self._slabs = self._height = 0
        self._own_quantum = plan.strip_rows
        #: The least height that keeps the number of special rows within ``tuning.most_rows``.
        self._fewest = ceil(m / tuning.most_rows) if run.disk_size is None else 1
        #: The least height of a slab alone: its work is many times that of filling the device.
        filling = plan.device_rows * ceil(tuning.fill_times * plan.pipeline_lag / n)
        self._alone = max(self._fewest, min(filling, m))
        self.pipelined(None)

    def pipelined(self, rows: tuple[int, int] | None) -> None:
        """From now on slabs follow each other in a pipeline, each begun before the last is done: of
        at least so many rows, in multiples of the second number (None: in no pipeline)."""
        self._in_pipeline = rows is not None
        least, self.quantum = rows or (self._alone, self._own_quantum)
        self._least, self._since = max(self._fewest, least), time.monotonic()

    def rows_left(self) -> int:
        """Special rows that still fit on the disk."""
        while self.begun and self.begun[0].bytes:
            self._row_bytes = self.begun.pop(0).bytes
            self._used += self._row_bytes
        left = self.disk_size - self._used - reserved(self._tuning)
        return max(0, left // self._row_bytes - len(self.begun))

    def least_size(self) -> int:
        """The least ``disk_size`` with space for one more row."""
        return self._used + reserved(self._tuning) + self._row_bytes

    def height(self, todo: int, rows: int) -> int:
        """The height of the next slab: ``todo`` rows are left, ``rows`` up to a saved slab."""
        height = ceil(rows / max(1, rows // self._shortest(todo)))
        if self._stop_at is not None and self._row_seconds and not self._in_pipeline:
            height = min(height, int((self._stop_at - time.monotonic()) / self._row_seconds))
        self._height = min(rows, ceil(max(1, height) / self.quantum) * self.quantum)
        return self._height

    def computed(self, height: int, busy: float) -> None:
        """The next slab is computed; ``busy``: seconds that the writer has worked in all."""
        self._slabs += 1
        now = time.monotonic()
        self._row_seconds, self._since = (now - self._since) / height, now
        self._save_seconds = busy / self._slabs

    def _shortest(self, todo: int) -> int:
        """The least height of the next slab: that of the device and of the disk space, and long
        enough that saving costs little.  It grows by ``tuning.most_growth`` times at most."""
        height = max(self._least, ceil(todo / (self.rows_left() + 1)))
        if self._row_seconds:
            tuning, saving = self._tuning, self._save_seconds
            seconds = max(tuning.least_seconds, tuning.least_times * saving)
            if self._in_pipeline:
                seconds = tuning.least_times_beside * saving
            most = tuning.most_growth * self._height
            height = max(height, min(most, ceil(seconds / self._row_seconds)))
        return height


class SavedSweep(Slabs):
    """The sweep of a job's matrix, and its slabs, each of which is saved when it is computed.

    Earlier runs may have saved slabs of it; the rows that they left are gaps, and ``start`` and
    ``stop`` are those of the gap that is being computed.  The run ends at the first special row
    after it is late.  The search's stats count what the sweep cost, earlier runs included."""

    def __init__(self, search: Search, run: SavedRun) -> None:
        self._search, self._run, self._store = search, run, run.store
        self._shape = m, n = search.problem.shape
        plan, stats = search.engine.plan, search.stats
        self._want_path = search.job.output == "path"
        self._columns = grid_places(plan.tuning.traceback, n, 1)[1:-1] if self._want_path else []
        #: The sound slabs of earlier runs.
        self._slabs = _sound_slabs(self._store, self._want_path, self._columns)
        #: The files of the slabs that this run has begun, by their first rows.
        self._files: dict[int, EdgeWriter] = {}
        self._best: list[Hit] = []
        #: The tile map of each slab, by its first row.
        self._maps: dict[int, TileMap] = {}
        for slab in self._slabs:
            self._maps[rows_of(slab)[0]] = TileMap.of_facts(slab.facts["tiles"])
            done = slab.facts["done"]
            self._better([Hit(*done["best"])] if done["best"] else [])
            if done["seconds"] >= run.before:
                run.before = done["seconds"]
                stats.cells, stats.launches = done["cells"], done["launches"]
                stats.pruned, stats.again = done["pruned"], done.get("again", 0)
        self._heights = SlabHeights(m, n, plan, run)

    def swept(self) -> Swept:
        """The best end, after the slabs that are not saved were computed."""
        m, n = self._shape
        places = [0, *chain.from_iterable(map(rows_of, self._slabs)), m]
        gaps = [gap for gap in zip(places[::2], places[1::2], strict=True) if gap[0] < gap[1]]
        if not self._want_path:  # rows above those that are saved are needed no more
            gaps = [gap for gap in gaps if gap[1] == m]
        if gaps and not self._slabs and self._heights.rows_left() < 1:
            raise self._no_space()
        #: Rows to compute, and those among them whose slab is not begun.
        self._todo = self._left = sum(stop - start for start, stop in gaps)
        tell = self._search.progress.sweep(begun=1 - self._todo / m)
        with writing() as self._writer:
            for self.start, self.stop in gaps:
                self._fill_gap(tell)
        end, tiles = self._search.problem.best_end(self._best), TileMap.joined((m, n), self._maps)
        grid = self._grid() if self._want_path and self._search.job.better(end) else None
        return Swept(end, tiles, grid)

    def _better(self, hits: Iterable[Hit]) -> None:
        """Some cells, one of which may be the best known from now on."""
        self._best = sorted([*self._best, *hits])[:1]

    def _grid(self) -> RestartGrid:
        """The special rows and columns on disk."""
        written = [SealedFile(file.path) for file in self._files.values()]
        slabs = sorted([*self._slabs, *written], key=rows_of)
        starts = [(rows_of(slab)[0], slab) for slab in slabs]
        return RestartGrid(
            self._search.problem.edges,
            {rows_of(slab)[1]: _last_row(slab) for slab in slabs[:-1]},
            {column: stored_edge(f"column {column}", starts) for column in self._columns},
        )

    def _no_space(self) -> InputError | CheckpointError:
        """The error where not one special row fits on the disk."""
        size, least = self._heights.disk_size, self._heights.least_size()
        little = f"is too little for one row of {self._shape[1]:,} cells"
        if self._run.disk_size is not None:
            return InputError(
                f"disk_size is {size:,} bytes, which {little}; give at least {least:,}"
            )
        most = self._search.engine.plan.tuning.saving.most_bytes
        return CheckpointError(
            f"{self._store.folder} may take {size:,} bytes, half of what is free on its disk and "
            f"{most:,} at most, which {little}; free space, take a folder on another disk, or give "
            f"a disk_size of at least {least + 100:,}"  # job.json says it, too
        )

    def _fill_gap(self, tell: Tell) -> None:
        """Compute and save the rows of a gap.  The best cell known is the bound for pruning."""
        self._heights.pipelined(None)
        this, (m, n), edges = self._search, self._shape, self._search.problem.edges
        before, start = (m - self._todo) * n, self.start
        if start:
            above = next(_last_row(slab) for slab in self._slabs if rows_of(slab)[1] == start)
            edges = replace(edges, corner=edges.left.h_at(start - 1), top=above)
        want, limits = this.problem.aim(this.prune, this.job.beat)
        for best in self._best:
            want = replace(want, threshold=best.score)
            if limits.bound is not None:
                limits = Limits(Bound(best.score, best.row, best.column, limits.bound.match))

        def progress(cells: int, _: int) -> None:
            tell(before + cells, m * n)

        sweep(this.engine, this.problem, edges, want, limits, slabs=self, progress=progress)

    # The slabs of the gap

    def pipelined(self, rows: TileRows | None, devices: int = 1) -> None:
        self._heights.pipelined(None if rows is None else rows[:2])

    def shape(self, rows: int) -> tuple[int, int]:
        return self._search.engine.plan.tile_shape(rows, self._shape[1])

    def begin(self, row: int) -> Slab:
        end = row + self._heights.height(self._left, self.stop - row)
        self._left -= end - row
        file = EdgeWriter(self._writer, self._store.folder / f"rows-{row:012}-{end:012}")
        self._files[row] = file
        self._heights.begun.append(file)
        columns = {column: EdgeSink(file, f"column {column}", row) for column in self._columns}
        return Slab(row, end, columns, None if end == self._shape[0] else EdgeSink(file, "row"))

    def computed(self, slab: Slab, hits: Hits) -> None:
        """Save a slab; raises `Stopped` if the run has to end now."""
        run, found, stats, (m, n) = self._run, slab.found, self._search.stats, self._shape
        self._better(hits)
        stats.add_cost(found)
        stats.pruned += found.pruned_cells
        tiles = self._maps[slab.start] = found.tile_map((slab.rows, n), slab.start)
        done = {
            "best": next(([best.score, best.row, best.column] for best in self._best), None),
            "cells": dict(stats.cells),  # it is written later
            "launches": stats.launches,
            "again": stats.again,
            "pruned": stats.pruned,
            "seconds": run.seconds(),
        }
        place = {"job": self._store.job.key, "start": slab.start, "end": slab.end}
        facts = {"columns": self._columns, "done": done, "tiles": tiles.facts()}
        self._files[slab.start].seal(place | facts)
        self._todo -= slab.rows
        self._heights.computed(slab.rows, self._writer.seconds)
        if self._todo and run.late():
            self._writer.flush()
            share = f"{100 - 100 * self._todo / m:.1f}% of the cells"
            raise run.stopped(f"{share}{self._store.what} are")


def rows_of(slab: SealedFile) -> tuple[int, int]:
    """The rows ``[start, end)`` of a slab."""
    return slab.facts["start"], slab.facts["end"]


def _sound_slabs(store: Store, every: bool, columns: list[int]) -> list[SealedFile]:
    """The sound slabs with these special ``columns`` (others are of another plan), from top to
    bottom, without overlap.  All of each file is read and checked.  Without ``every`` only the last
    one is; of the others only the facts are checked."""
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


def _last_row(slab: SealedFile) -> Joined:
    return stored_edge("row", [(0, slab)])
