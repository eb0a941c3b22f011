"""A search in a diagonal band that a later process can continue.

The job and the plan decide which tiles are computed, and each tile depends only on those before
it.  So a later run repeats the same search.  Its engine reads the tiles that earlier runs saved
(edges, best cells and costs), which takes far less time than computing them.  Tiles saved with
another plan cannot be used and are computed again.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from .._version import __version__
from ..drivers.band_doubling import Banded, assumed_score, find_end_banded
from ..drivers.path import Path
from ..drivers.progress import PairProgress
from ..planning.plan import Plan
from ..results.stats import Stats
from ..tiles.codec import result_facts, result_of
from ..tiles.contract import Engine
from ..tiles.edges import Edge
from ..tiles.tile import Hit, TileJob, TileResult
from ..tiles.tile_map import TileMap
from . import interval
from .container import DamagedFile, SealedFile
from .edges import SlabWriter, StoredEdge, Writer, writing
from .store import Store
from .traceback import Clock, SavedTraceback


class FoundInBand(NamedTuple):
    """The result of a search in a diagonal band."""

    #: The best end.
    end: Hit
    #: The canonical path to it; None where none is asked for.
    path: Path | None
    #: What the job cost, earlier runs included.
    stats: Stats
    #: The scores and the pruned parts of the matrix.
    tiles: TileMap


class _DiskFull(Exception):
    """The folder may not take as many bytes as the tiles need."""


def search_band(
    engine: Engine,
    store: Store,
    plan: Plan,
    max_cost: Any,
    *,
    progress: PairProgress,
    disk_size: int | None,
    stop_at: float | None,
) -> FoundInBand | None:
    """Search a global comparison in a diagonal band, as :func:`find_end_banded` does.

    None: no band saves work, or the folder cannot hold its tiles.  A file in the folder ("whole")
    says so to later runs.
    """
    if store.has("whole") or store.has("rows-*"):
        return None
    clock = Clock(store, stop_at)
    tuning, used = plan.tuning.saving, store.used()
    budget = interval.size_of(tuning, disk_size, used, store.free()) - used
    budget -= interval.reserved(tuning)
    progress.run.muted = True  # while saved tiles are read
    banded = _find_end(engine, clock, plan, max_cost, budget, progress)
    progress.run.muted = False
    if banded is None or banded.end is None:
        store.save_arrays("whole", {}, {})
        store.drop("band")
        return None
    return _found(engine, clock, plan, banded.end, banded, progress)


def _find_end(
    engine: Engine,
    clock: Clock,
    plan: Plan,
    max_cost: Any,
    budget: int,
    progress: PairProgress,
) -> Banded | None:
    """Find the end with tiles that are saved as they are computed; None where the folder cannot
    hold them.  ``budget``: bytes that it may still take."""
    store = clock.store
    problem, save = store.job.problem, store.job.output == "path"
    assumed = assumed_score(problem, max_cost)
    try:
        with writing() as writer:
            files = _TileFiles(clock, _config(engine, plan, assumed, save), writer, budget)
            saving = _SavingEngine(engine, files, progress)
            banded = find_end_banded(
                saving,
                problem,
                assumed=assumed,
                save=save,
                progress=progress,
            )
            files.seal()
        return banded
    except _DiskFull:
        return None


def _found(
    engine: Engine,
    clock: Clock,
    plan: Plan,
    end: Hit,
    banded: Banded,
    progress: PairProgress,
) -> FoundInBand:
    """The result for the ``end`` that was found in a band, with the path to it."""
    problem = clock.store.job.problem
    shape = len(problem.query), len(problem.target)
    last = banded.sweeps[-1]
    stats = Stats(pruned=last.pruned_cells)
    for swept in banded.sweeps:
        stats.add_cost(swept)
    path = None
    if banded.grid is not None and clock.store.job.better(end):
        trace = SavedTraceback(clock, end, progress)
        path = trace.path(engine, problem, banded.grid)
        stats.add_cost(path)
    progress.finished()
    stats.seconds, stats.device_bytes = clock.seconds(), engine.peak_bytes
    return FoundInBand(end, path, stats, TileMap.of(shape, last.tops, last.pruned, last.thinned))


def _config(engine: Engine, plan: Plan, assumed: int | None, save: bool) -> dict[str, Any]:
    """What decides, beside the job, which tiles are computed and what they hold."""
    return {
        "version": __version__,
        "row_quantum": engine.row_quantum,
        "plan": [plan.engine, plan.lanes, plan.B, plan.T, plan.alpha, plan.alpha_fixed, plan.chunk],
        "tile_cells": plan.tile_cells,
        "assumed": assumed,
        "save": save,
    }


class _TileFiles:
    """The files ``band-NUMBER`` of a checkpoint, each with some tiles.

    Tiles have the numbers 0, 1, ... in the order in which the search asks for them.  Files of
    another ``config`` are removed.  ``budget``: bytes that new files may take.
    """

    def __init__(self, clock: Clock, config: dict[str, Any], writer: Writer, budget: int) -> None:
        self.clock, self.store, self.writer = clock, clock.store, writer
        self._config, self._budget = config, budget
        #: The saved tiles by number: the file of each, and what it says of the tile.
        self._saved: dict[int, tuple[SealedFile, dict[str, Any]]] = {}
        #: The file that is being written, and what it will say of its tiles.
        self._file: SlabWriter | None = None
        self._facts: list[dict[str, Any]] = []
        #: The files that this run has sealed.
        self._sealed: list[SlabWriter] = []
        self._sealed_at = time.monotonic()
        #: The number of the next file.
        self._next = 0
        for file in self.store.sealed("band"):
            if file.facts["config"] != config:
                self.store.drop("band")
                self._saved = {}
                break
            clock.before = max(clock.before, file.facts["seconds"])
            self._next = max(self._next, 1 + int(file.path.name.partition("-")[2]))
            self._saved |= {facts["number"]: (file, facts) for facts in file.facts["tiles"]}

    @property
    def age(self) -> float:
        """Seconds since a file was sealed."""
        return time.monotonic() - self._sealed_at

    def seal(self) -> None:
        """Complete the current file, so that a later run can read its tiles."""
        if self._file is None:
            return
        seconds = self.clock.seconds()
        self._file.seal({"config": self._config, "tiles": self._facts, "seconds": seconds})
        self._sealed.append(self._file)
        self._file, self._facts, self._sealed_at = None, [], time.monotonic()
        if sum(file.bytes for file in self._sealed) > self._budget:
            raise _DiskFull

    def save(self, number: int, identity: list[int], result: TileResult) -> None:
        """Put a tile into the current file."""
        if self._file is None:
            path = self.store.folder / f"band-{self._next:06}"
            self._file = SlabWriter(self.writer, path, {"job": self.store.job.key})
            self._next += 1
        facts, edges = result_facts(result)
        for side, edge in edges.items():
            self._file.put(f"{number} {side}", 0, edge)
        self._facts.append({"number": number, "what": identity, **facts})

    def read(self, number: int, identity: list[int]) -> TileResult | None:
        """A saved tile; None if there is none with this identity, or it is damaged."""
        if number not in self._saved or self._saved[number][1]["what"] != identity:
            return None
        file, facts = self._saved[number]
        edges: dict[str, Edge] = {}
        try:
            for side, length in facts["edges"].items():
                pieces = [(0, file, piece) for piece in file.named(f"{number} {side}")]
                edges[side] = StoredEdge(pieces).read(0, length)
        except DamagedFile:
            return None
        return result_of(facts, edges)


class _SavingEngine(Engine):
    """An engine that saves each tile in a checkpoint, and reads the tiles that are there.

    From the first tile on that is computed, ``progress`` is told.
    """

    def __init__(self, engine: Engine, files: _TileFiles, progress: PairProgress) -> None:
        self.engine, self.files = engine, files
        self.name, self.plan, self.row_quantum = engine.name, engine.plan, engine.row_quantum
        self.captures_inside, self.peak_bytes = engine.captures_inside, engine.peak_bytes
        self._progress = progress
        #: The number of the next tile.
        self._next = 0

    @property
    def for_moves(self) -> Engine:
        """The wrapped engine's.  Tiles with moves are not saved: the traceback saves the moves."""
        return self.engine.for_moves

    def strip_rows(self, rows: int, columns: int) -> int:
        """See `Engine`."""
        return self.engine.strip_rows(rows, columns)

    def moves_bytes(self, rows: int, columns: int) -> int:
        """See `Engine`."""
        return self.engine.moves_bytes(rows, columns)

    def tile(self, job: TileJob) -> TileResult:
        """Read the tile from the checkpoint, or compute and save it."""
        number, self._next = self._next, self._next + 1
        identity = [*job.size, job.corner, int(job.above.h[-1]), int(job.left.h[-1])]
        files, clock = self.files, self.files.clock
        result = files.read(number, identity)
        if result is not None:
            return result
        self._progress.run.unmute()
        result = self.engine.tile(job)
        self.peak_bytes = self.engine.peak_bytes
        files.save(number, identity, result)
        late = clock.late()
        if late or files.age >= self.plan.tuning.saving.least_seconds:
            files.seal()
        if late:
            files.writer.flush()
            run = self._progress.run
            done = f"{100 * run.done / max(1, run.total):.1f}% of the cells"
            raise clock.stopped(f"about {done}{files.store.what} are")
        return result
